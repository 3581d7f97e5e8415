//! Hierarchical position based dynamics (Müller 2008, *Hierarchical Position Based Dynamics*): cloth and soft bodies in real
//! time. No matrix: constraints are projected one after the other, coarse levels propagate corrections across the whole mesh.
//!
//! | section of the paper | here |
//! | --- | --- |
//! | 3 position based simulation | [`HpbdStepper`], `collision` |
//! | 5 the projection of a constraint | `constraint` |
//! | 5 sweeps in both directions | `constraint::schedule` |
//! | 6.2 particle restriction, parents | `hierarchy::restriction` |
//! | 6.3 constraint restriction | `hierarchy::collapse` |
//! | 6.1 the levels | `hierarchy` |
//! | 7 the hierarchical solver | `solver` |
//! | 8 tearing | `tear`, `dependent_particles`; topology in `body::tear`, criterion in `simulation::edit::tearing` |
//! | 9 coarser grids of a regular mesh | `hierarchy::grid_levels` |
//!
//! Differences from the paper:
//! - Constraints have a compliance in SI units (XPBD, Macklin et al. 2016) from the scene's material, unless
//!   `stiffness` selects the paper's factor from 0 to 1. Limits of coarse levels then yield as far as the material does
//!   (see `solver`).
//! - The projections of a level run on all threads, by strips of the mesh (see `schedule`), bit-identical for any number of
//!   threads, and distances eight at a time (see `distance_sweep`).
//! - A tear removes only those coarse constraints whose edges no longer join their ends (see `tear`).
//! - Solids: tetrahedra by the distances of their edges and their volumes, through the same hierarchy (the paper's outlook).
//! - A particle whose collapse would tear or fold the triangle mesh of the coarser level is kept.

mod collision;
mod constraint;
mod contact_forces;
mod declaration;
mod dependent_particles;
mod drag;
mod hierarchy;
mod inspection;
mod options;
mod positions;
mod progress;
mod solver;
mod stepper;
mod tear;

pub use constraint::{ConstraintSide, Distance, Fold, Volume};
pub use declaration::Hpbd;
pub use hierarchy::RestLengths;
pub use options::HpbdOptions;
pub use stepper::HpbdStepper;
