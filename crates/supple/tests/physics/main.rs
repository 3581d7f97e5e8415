//! Behaviour of simulations, against theory, independent methods and conservation laws; one module per behaviour or
//! solver.

mod air;
mod bars;
mod colliders;
mod contact_forces;
mod driven_pins;
mod dynamics;
mod friction_models;
mod galerkin;
mod hierarchy;
mod hpbd;
mod hpbd_tear;
mod mas;
mod mass_spring;
mod nothing_passes;
mod octree;
mod octree_self_collision;
mod pinches;
mod seams;
mod self_contact;
mod staggered;
mod state_audit;
mod statics;
mod stress;
mod truncation;
mod unclean_starts;
