//! The declaration of octree flesh: its name, its options, and bodies divided into octants.

use crate::scene::{Method, MethodName, MethodTraits, OptionTable, StepperDeclaration};
use crate::scene_state::SceneState;
use crate::solvers::octree::OctreeOptions;
use crate::solvers::octree::stepper::octree_stepper;
use crate::stepper::{Stepper, StepperKind};
use supple_core::Error;

/// Octree flesh (Milne 2016).
pub struct OctreeFlesh;

const NAME: MethodName = MethodName {
    name: "octree",
    title: "Solids, any surface",
    about: "Octrees with multigrid (Milne 2016): solid inside, fine along the surface, tolerates faulty meshes",
};

impl Method {
    /// Octree flesh (Milne 2016).
    pub const OCTREE: Self = Self::new(NAME.name, &OctreeFlesh);
}

impl StepperDeclaration for OctreeFlesh {
    fn methods(&self) -> &'static [MethodName] {
        &[NAME]
    }

    fn traits(&self, _method: Method) -> MethodTraits {
        MethodTraits { octants: true, no_springs: true, ..MethodTraits::default() }
    }

    fn options(&self) -> Option<OptionTable> {
        Some(OptionTable::of::<OctreeOptions>())
    }
}

impl StepperKind for OctreeFlesh {
    fn build(&self, scene_state: &SceneState) -> Result<Box<dyn Stepper>, Error> {
        Ok(Box::new(octree_stepper(scene_state)))
    }
}
