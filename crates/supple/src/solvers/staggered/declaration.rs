//! The declaration of staggered multigrid: its name, its options, and what it does not support.

use crate::body::Body;
use crate::scene::{
    FrictionModel, Method, MethodName, MethodTraits, Model, OptionTable, Scene, StepperDeclaration,
    Unsupported,
};
use crate::scene_state::SceneState;
use crate::solvers::staggered::{StaggeredOptions, StaggeredStepper};
use crate::stepper::{Stepper, StepperKind};
use supple_core::Error;
use supple_mesh::closed::closed_parts;

/// Staggered multigrid (Zhu 2010).
pub struct StaggeredMultigrid;

const NAME: MethodName = MethodName {
    name: "staggered",
    title: "Solids that keep volume",
    about: "Multigrid on staggered lattices (Zhu 2010): rubber and flesh that keep their volume, with many cells",
};

impl Method {
    /// Staggered multigrid (Zhu 2010).
    pub const STAGGERED: Self = Self::new(NAME.name, &StaggeredMultigrid);
}

impl StepperDeclaration for StaggeredMultigrid {
    fn methods(&self) -> &'static [MethodName] {
        &[NAME]
    }

    fn traits(&self, _method: Method) -> MethodTraits {
        MethodTraits { no_springs: true, ..MethodTraits::default() }
    }

    fn options(&self) -> Option<OptionTable> {
        Some(OptionTable::of::<StaggeredOptions>())
    }

    fn unsupported(&self, scene: &Scene) -> Vec<Unsupported> {
        let mut found = Vec::new();
        for (i, body) in scene.bodies.iter().enumerate() {
            let keys = [
                ("model", !matches!(body.model, None | Some(Model::Linear | Model::Corotated))),
                ("region", !body.regions.is_empty()),
                ("pressure", body.pressure.is_some()),
            ];
            for (key, _) in keys.iter().filter(|(_, is_set)| *is_set) {
                let what = match *key {
                    "model" => format!("`model = \"{}\"`", body.model.unwrap_or_default().name()),
                    key => format!("`{key}`"),
                };
                let what = format!("{what} of body `{}` with `staggered`", body.name);
                found.push(Unsupported::new(format!("body.{i}.{key}"), what));
            }
        }
        if scene.contact.friction_model == FrictionModel::Impulse {
            let what = "`friction_model = \"impulse\"` with `staggered`";
            found.push(Unsupported::new("contact.friction_model", what));
        }
        for (i, pin) in scene.pins.iter().enumerate().filter(|(_, pin)| pin.during.is_some()) {
            let what = format!("`during` of a pin on `{}` with `staggered`", pin.body);
            found.push(Unsupported::new(format!("pin.{i}.during"), what));
        }
        found
    }
}

impl StepperKind for StaggeredMultigrid {
    fn can_take(&self, _method: Method, body: &Body) -> Result<(), Error> {
        let is_open = body.is_cloth()
            && closed_parts(&body.surface_triangles, body.surface_start.len()).contains(&false);
        if !is_open {
            return Ok(());
        }
        let name = &body.name;
        Err(Error::Invalid(format!(
            "`staggered` fills closed surfaces with cells, and that of body `{name}` is open; use another method for cloth, such as `newton`"
        )))
    }

    fn build(&self, scene_state: &SceneState) -> Result<Box<dyn Stepper>, Error> {
        Ok(Box::new(StaggeredStepper::new(scene_state)))
    }
}
