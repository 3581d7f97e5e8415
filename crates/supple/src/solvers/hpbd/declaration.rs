//! The declaration of position based dynamics: its name, its options, and what it does not support.

use crate::scene::{
    Method, MethodName, MethodTraits, Mode, OptionTable, Scene, StepperDeclaration, Unsupported,
};
use crate::scene_state::SceneState;
use crate::solvers::hpbd::{HpbdOptions, HpbdStepper};
use crate::stepper::{Stepper, StepperKind};
use supple_core::Error;

/// Hierarchical position based dynamics (Müller 2008).
pub struct Hpbd;

const NAME: MethodName = MethodName {
    name: "hpbd",
    title: "Fast, approximate",
    about: "Hierarchical position based dynamics (Müller 2008): a fixed time per frame, appearance over accuracy",
};

impl Method {
    /// Hierarchical position based dynamics (Müller 2008).
    pub const HPBD: Self = Self::new(NAME.name, &Hpbd);
}

impl StepperDeclaration for Hpbd {
    fn methods(&self) -> &'static [MethodName] {
        &[NAME]
    }

    fn traits(&self, _method: Method) -> MethodTraits {
        MethodTraits {
            tears: true,
            fixed_work: true,
            own_friction: true,
            no_stress: Some("it has springs in place of an elastic law"),
            ..MethodTraits::default()
        }
    }

    fn options(&self) -> Option<OptionTable> {
        Some(OptionTable::of::<HpbdOptions>())
    }

    fn unsupported(&self, scene: &Scene) -> Vec<Unsupported> {
        let mut found = Vec::new();
        if scene.time.mode == Mode::Quasistatic {
            found.push(Unsupported::new("time.mode", "`mode = \"quasistatic\"` with `hpbd`"));
        }
        if !scene.seams.is_empty() {
            found.push(Unsupported::new("seam", "`[[seam]]` with `hpbd`"));
        }
        for (i, body) in scene.bodies.iter().enumerate().filter(|(_, body)| body.pressure.is_some()) {
            let what = format!("`pressure` of body `{}` with `hpbd`", body.name);
            found.push(Unsupported::new(format!("body.{i}.pressure"), what));
        }
        found
    }
}

impl StepperKind for Hpbd {
    fn build(&self, scene_state: &SceneState) -> Result<Box<dyn Stepper>, Error> {
        Ok(Box::new(HpbdStepper::new(scene_state)))
    }
}
