//! The declaration of implicit dynamics: five methods that minimise the same objective over the same degrees of freedom.

use super::ImplicitStepper;
use super::optimize::projective_obstacle;
use crate::body::Body;
use crate::scene::{LinearUse, Method, MethodName, MethodTraits, StepperDeclaration};
use crate::scene_state::SceneState;
use crate::stepper::{Stepper, StepperKind};
use supple_core::Error;

/// Implicit Euler, or equilibrium, by the methods of `optimize`.
pub struct ImplicitDynamics;

const METHODS: [MethodName; 5] = [
    MethodName {
        name: "newton",
        title: "Accurate",
        about: "Newton's method: few, expensive iterations until every step is solved",
    },
    MethodName {
        name: "projective",
        title: "Soft tissue, springs",
        about: "Projective dynamics: many cheap iterations with a constant matrix, for springs and soft tissue",
    },
    MethodName {
        name: "lbfgs",
        title: "Accurate, less setup",
        about: "Limited-memory BFGS: the same solution as Newton's method by more iterations without new matrices",
    },
    MethodName {
        name: "nonlinear-cg",
        title: "Least memory",
        about: "Nonlinear conjugate gradients: the same solution as Newton's method with the least memory",
    },
    MethodName {
        name: "accelerated-gradient",
        title: "Simplest",
        about: "Chebyshev-accelerated gradient descent: very cheap iterations, slow with contact",
    },
];

impl Method {
    /// Newton with line search.
    pub const NEWTON: Self = Self::new(METHODS[0].name, &ImplicitDynamics);
    /// Projective dynamics.
    pub const PROJECTIVE: Self = Self::new(METHODS[1].name, &ImplicitDynamics);
    /// Limited-memory BFGS.
    pub const LBFGS: Self = Self::new(METHODS[2].name, &ImplicitDynamics);
    /// Nonlinear conjugate gradients.
    pub const NONLINEAR_CG: Self = Self::new(METHODS[3].name, &ImplicitDynamics);
    /// Accelerated gradient descent.
    pub const ACCELERATED_GRADIENT: Self = Self::new(METHODS[4].name, &ImplicitDynamics);
}

impl StepperDeclaration for ImplicitDynamics {
    fn methods(&self) -> &'static [MethodName] {
        &METHODS
    }

    fn traits(&self, method: Method) -> MethodTraits {
        let solves = method == Method::NEWTON || method == Method::PROJECTIVE;
        MethodTraits {
            linear: if solves { LinearUse::Solver } else { LinearUse::Preconditioner },
            velocity_tolerance: method == Method::NEWTON,
            spectral_radius: method == Method::ACCELERATED_GRADIENT,
            contact_matrix: method == Method::PROJECTIVE,
            renews_by_itself: method == Method::PROJECTIVE,
            ..MethodTraits::default()
        }
    }
}

impl StepperKind for ImplicitDynamics {
    fn can_take(&self, method: Method, body: &Body) -> Result<(), Error> {
        let obstacle = if method == Method::PROJECTIVE { projective_obstacle(body) } else { None };
        obstacle.map_or(Ok(()), |obstacle| {
            let name = &body.name;
            Err(Error::Invalid(format!(
                "projective dynamics does not support {obstacle} (body `{name}`); use `method = \"newton\"`"
            )))
        })
    }

    fn build(&self, scene_state: &SceneState) -> Result<Box<dyn Stepper>, Error> {
        Ok(Box::new(ImplicitStepper::new(scene_state)))
    }
}
