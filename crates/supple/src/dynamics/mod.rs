//! Implicit Euler: the system of all energies of a scene, and the stepper that minimises it by the methods of `optimize`.

pub(crate) mod conforming;
mod contact_projection;
mod convergence;
mod declaration;
mod driven_step;
pub(crate) mod elasticity;
mod entanglement_notes;
mod implicit;
pub(crate) mod method;
pub mod optimize;
mod system;

pub(crate) use contact_projection::{ContactImpulse, ContactProjection};
pub use declaration::ImplicitDynamics;
pub(crate) use entanglement_notes::EntanglementNotes;
pub use implicit::ImplicitStepper;
pub(crate) use system::System;
