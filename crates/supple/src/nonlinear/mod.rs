//! Nonlinear methods over one objective: inertia plus energies.

mod implicit;
mod newton;

pub use implicit::ImplicitStepper;
pub use newton::{Newton, NewtonOutcome, Objective, Stop};
