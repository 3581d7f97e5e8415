//! Nonlinear methods over one objective, inertia plus energies.

mod accelerated_gradient;
mod correction;
pub(crate) mod descent;
mod error;
mod lbfgs;
mod newton;
mod nonlinear_cg;
mod objective;
mod outer_loop;
mod preconditioning;
pub(crate) mod projective;
mod projective_contact;
mod refresh;
pub(crate) mod short_step;
mod truncated_step;
mod truncation;

pub use crate::stepper::IterationRecord;
pub use accelerated_gradient::AcceleratedGradient;
pub(crate) use correction::TightNewton;
pub(crate) use descent::{Descent, DescentMethod, DescentWorkspace, descend};
pub use error::MinimiseError;
pub use lbfgs::Lbfgs;
pub use newton::Newton;
pub use nonlinear_cg::NonlinearCg;
pub use objective::{Cuts, Evaluated, Minimiser, Objective, Outcome, StoppingCriteria, Termination};
pub(crate) use outer_loop::{StepRule, Stopping, iterate};
pub use projective::Projective;
pub(crate) use projective::obstacle as projective_obstacle;
pub use refresh::Refresh;
pub(crate) use truncation::StepFractions;
