//! Nonlinear methods over one objective, inertia plus energies, and the stepper that uses them.

mod accelerated_gradient;
mod descent;
mod implicit;
mod lbfgs;
mod method;
mod newton;
mod nonlinear_cg;
mod objective;
mod preconditioning;
mod projective;
mod refresh;
mod system;

pub use accelerated_gradient::AcceleratedGradient;
pub(crate) use descent::{Descent, Workspace};
pub use implicit::ImplicitStepper;
pub use lbfgs::Lbfgs;
pub use newton::Newton;
pub use nonlinear_cg::NonlinearCg;
pub use objective::{Evaluated, IterationRecord, Limits, Minimiser, Objective, Outcome, Stop};
pub use projective::Projective;
pub(crate) use projective::obstacle as projective_obstacle;
pub use refresh::Refresh;
pub(crate) use system::System;
