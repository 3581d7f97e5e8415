//! Read-only views of a simulation: hierarchies, stress, and the linear system of a step.

pub(crate) mod hierarchy;
pub(crate) mod step_system;
pub(crate) mod stress;
