//! Staggered multigrid for nearly incompressible solids (Zhu, Sifakis, Teran and Brandt 2010, *An efficient multigrid method
//! for the simulation of high resolution elastic solids*): displacements on the faces of a lattice, pressures in its cells,
//! and cycles whose rate depends neither on the resolution nor on Poisson's ratio.
//!
//! | section of the paper | here |
//! | --- | --- |
//! | 3 discretisation, 4.1 augmentation | `rows`, `kernels` |
//! | 4.2 distributive smoothing, algorithm 2 | `kernels`, [`LatticeLevel::distributive_sweep`] |
//! | 5.1 cells and variables, figure 4 | [`Lattice`], [`voxelise`] |
//! | 5.2 the box smoother | [`BoxSmoother`] |
//! | 5.3 symmetric boundary discretisation and its smoother | `rows`, `classes`, `band` |
//! | 6 transfers, sweeps where lattices differ | `transfer`, `discrepancy` |
//! | algorithm 1 | [`Hierarchy`] |
//! | 7 co-rotational elasticity | `gradients`, `corotation`, `frame` |
//! | 8 dynamics, kinematic cells | [`StaggeredStepper`], [`Prescribed`] |
//! | 9.2 forces on points, 9.3 trilinear and tricubic embedding | [`LatticePoints`] |
//! | 9.4 parallel sweeps | `planes`, `spans`, `band` |
//!
//! Differences from the paper:
//! - Equations near prescribed values are smoothed by distribution restricted to unknowns, only those near traction by
//!   Gauss-Seidel with eliminated pressures: with the latter everywhere, cycles stall from Poisson's ratio 0.475 on.
//! - Points are relaxed in red-black order instead of lexicographically or by coloured blocks: better smoothing, and
//!   bit-identical for any number of threads without colouring blocks.
//! - Cycles in single precision precondition a flexible GMRES on the whole mixed system in double precision, because cycles
//!   alone slow down on weakly constrained bodies. [`solve_by_cycles`] is the paper's method.
//! - W-cycles: coarse lattices are too soft at free faces, and V-cycles over-correct increasingly with depth.
//! - Stresses of coarse cells are weighted by the fill fraction of the cells; otherwise coarse lattices swell thin limbs.
//! - Coarsening stops where limbs would be one or two cells thick. The coarsest lattice may still be singular where a feature
//!   is a cell thick: zero pivots are left out.
//! - Forces on points (contact, soft pins, dragging) have their Hessian in the products of GMRES, not in the cycle; in scenes with contact, in
//!   a dense block beside it (`contact_block`).
//! - Contact of surfaces by a barrier and continuous collision detection, in parts of a step (`contact_step`).
//! - Co-rotational elasticity (section 7) is the linear operator plus a correction in whole cells, solved by Newton's method
//!   with the exact derivative instead of frozen rotations; cycles are those of the linear operator. The rotation of a whole
//!   body is factored out of its displacements.

mod body;
mod contact_block;
mod contact_rows;
mod contact_step;
mod coupled_newton;
mod coupled_solve;
mod declaration;
mod inspection;
mod lattice;
mod multigrid;
mod operator;
mod options;
mod solve;
mod stepper;
#[cfg(test)]
mod tests;

pub use declaration::StaggeredMultigrid;
pub use lattice::embedding::{Interpolation, LatticePoints};
pub use lattice::prescribed::{Prescribed, PrescribedEntry};
pub use lattice::voxels::{LatticePlacement, voxelise};
pub use lattice::{Cell, Lattice, MARGIN, PRESSURE, Variable};
pub use multigrid::box_smoother::BoxSmoother;
pub use multigrid::hierarchy::{Hierarchy, LatticeCycleOptions};
pub use multigrid::level::LatticeLevel;
pub use operator::rows::{Coefficients, LatticeOperator, Row};
pub use options::StaggeredOptions;
pub use solve::{Addition, GmresWorkspace, Limits, Solve, solve, solve_by_cycles};
pub use stepper::StaggeredStepper;
