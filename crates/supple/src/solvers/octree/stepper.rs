//! The stepper of octrees: the engine's implicit one, with octants as elements, Newton's method over the levels of their hierarchy, and,
//! if a scene selects it, the paper's method to push back penetrations.

use std::sync::Arc;

use glam::DVec3;

use crate::body::Embedding;
use crate::contact::barrier::ContactSummary;
use crate::dynamics::ImplicitStepper;
use crate::dynamics::elasticity::{ContactResponse, Elasticity};
use crate::dynamics::method::Nodes;
use crate::dynamics::optimize::{MinimiseError, Minimiser};
use crate::energy::Energy;
use crate::scene_state::SceneState;
use crate::solvers::octree::element::energy::{OctreeEnergy, forest, trees};
use crate::solvers::octree::forest::Forest;
use crate::solvers::octree::inspection::show_octants;
use crate::solvers::octree::newton::OctreeNewton;
use crate::solvers::octree::options::{OctreeOptions, SelfCollisionModel};
use crate::solvers::octree::self_collision::SelfCollision;
use crate::stepper::{HierarchyLevel, Slice};

/// A stepper for the octrees of a scene state's bodies, at their start.
pub(crate) fn octree_stepper(scene_state: &SceneState) -> ImplicitStepper {
    ImplicitStepper::with_elasticity(scene_state, Box::new(OctreeElasticity::default()))
}

/// The octants of all bodies.
#[derive(Default)]
struct OctreeElasticity {
    forest: Option<Arc<Forest>>,
}

impl Elasticity for OctreeElasticity {
    fn energies(&mut self, scene_state: &SceneState, _first_unknown: &[u32]) -> Vec<Box<dyn Energy>> {
        let forest = Arc::new(forest(scene_state));
        self.forest = Some(forest.clone());
        vec![Box::new(OctreeEnergy::new(forest))]
    }

    fn minimiser(&self, scene_state: &SceneState, nodes: Nodes) -> Result<Box<dyn Minimiser>, MinimiseError> {
        let forest = self
            .forest
            .as_ref()
            .ok_or(MinimiseError::Unsolvable("the bodies of a scene have no octants yet"))?;
        let options: OctreeOptions = scene_state.solver.options.get();
        let made = OctreeNewton::new(forest, &trees(scene_state), &nodes.pattern, &options)?;
        Ok(Box::new(made))
    }

    fn is_assembled(&self) -> bool {
        false
    }

    fn contact(
        &self,
        scene_state: &SceneState,
        points: &Arc<Embedding>,
        friction: &[f64],
    ) -> Option<Box<dyn ContactResponse>> {
        let options: OctreeOptions = scene_state.solver.options.get();
        let asked = options.self_collision == SelfCollisionModel::Intersection;
        let pushes = asked && !scene_state.surfaces().is_empty();
        pushes
            .then(|| Box::new(SelfCollision::new(scene_state, points, friction)) as Box<dyn ContactResponse>)
    }

    fn draw_cells(
        &self,
        levels: &mut [HierarchyLevel],
        scene_state: &SceneState,
        x: &[DVec3],
        slice: &Slice,
    ) {
        show_octants(levels, scene_state, x, slice);
    }
}

impl ContactResponse for SelfCollision {
    fn begin_step(&mut self, x: &[DVec3], dt: f64) {
        self.begin_step(x, dt);
    }

    fn update(&mut self, x: &[DVec3]) -> bool {
        self.detect_at_step_end(x)
    }

    fn summary(&self, x: &[DVec3]) -> ContactSummary {
        self.summary(x)
    }

    fn energy(&self) -> &dyn Energy {
        self
    }
}
