//! Linear systems of implicit dynamics: the 3x3-block matrix and what solves it.
//!
//! | file | what it is |
//! | --- | --- |
//! | `block_matrix`, `scalar_matrix` | the matrix by full rows; the same where every block is a multiple of the identity |
//! | `conjugate_gradient` | the Krylov method under every symmetric preconditioner |
//! | `block_jacobi`, `schwarz`, `incomplete_cholesky`, `gauss_seidel` | preconditioners |
//! | `gauss_seidel`, `chebyshev` | stationary solvers |
//! | `cholesky`, `cholesky_factor` | sparse Cholesky, and it as a solver like the others |
//! | `direct` | the multifrontal factorisation under it, and its orderings |
//! | `vcycle` | the V-cycle over the levels of any multigrid family |
//! | `factory` | the words of scenes and of the command line |

mod block_jacobi;
mod block_matrix;
mod chebyshev;
mod cholesky;
mod cholesky_factor;
mod colouring;
mod conjugate_gradient;
mod direct;
mod domain_inverse;
mod factory;
pub mod file;
mod gauss_seidel;
mod incomplete_cholesky;
mod node_order;
mod operator;
mod outside_rows;
mod pivot;
mod point_sums;
mod regions;
mod scalar_matrix;
mod schwarz;
mod solver;
mod spectrum;
mod stationary;
mod triangular;
mod vcycle;
mod vectors;

pub use block_jacobi::BlockJacobi;
pub use block_matrix::{BlockMatrix, BlockPattern, OutsideBlock};
pub use chebyshev::{Chebyshev, ChebyshevOptions};
pub use cholesky::{Cholesky, Factorisation, ScalarCholesky};
pub use cholesky_factor::CholeskyFactor;
pub use conjugate_gradient::{ConjugateGradient, PreconditionedSolver};
pub use direct::Ordering;
pub use factory::{linear_solver, preconditioner};
pub use gauss_seidel::GaussSeidel;
pub use incomplete_cholesky::{Fill, IncompleteCholesky};
pub use node_order::{Graph, graph_order, local_order, morton_order};
pub(crate) use operator::assembled;
pub use operator::{LinearOperator, Preconditioner};
pub use outside_rows::OutsideRows;
pub use point_sums::PointSums;
pub use regions::Regions;
pub use scalar_matrix::{ScalarMatrix, WithBlocks};
pub use schwarz::{EXPLICIT_DOMAIN, Schwarz, SchwarzOptions};
pub use solver::{End, History, HistoryPoint, LinearSolver, SolveOutcome, StopRule};
pub use vcycle::{CycleTimes, Direction, Level, v_cycle};

pub(crate) use block_jacobi::{domain_not_definite, not_definite};
pub(crate) use colouring::{by_colour, colour};
pub(crate) use direct::DenseFactor;
pub(crate) use pivot::inverses as definite_inverses;
pub use stationary::StationarySolver;
pub(crate) use triangular::Schedule;

pub use supple_core::simd::Simd;
