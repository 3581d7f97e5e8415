//! Linear systems of elasticity: the 3x3-block matrix, and what solves it. Knows no scene and no body: this is the crate to take for
//! a matrix of your own.
//!
//! | folder | what it is |
//! | --- | --- |
//! | `matrix` | the matrix by full rows; the same where every block is a multiple of the identity; what is added to a fixed pattern |
//! | `krylov` | conjugate gradients under every symmetric preconditioner, Lanczos |
//! | `relaxation` | block Jacobi, coloured Gauss-Seidel, Chebyshev, stationary iterations |
//! | `preconditioner` | one-level Schwarz, incomplete Cholesky, a factor as a preconditioner |
//! | [`multigrid`] | the cycle over the levels of any multigrid family, and [`multigrid::galerkin`] (Xian 2019) |
//! | [`mas`] | multilevel additive Schwarz (Wu 2022) |
//! | `direct` | the multifrontal sparse Cholesky factorisation and its orderings |
//! | `ordering` | orders of nodes along a curve or through a graph, colourings |
//! | [`io`] | reading of users' systems |
//! | `options`, `factory` | solvers by name, with their options |

mod direct;
mod factory;
pub mod io;
mod krylov;
mod levels;
pub mod mas;
mod matrix;
pub mod multigrid;
mod operator;
mod options;
mod ordering;
mod preconditioner;
mod regions;
mod relaxation;
mod solver;
mod vectors;

pub use direct::Ordering;
pub use direct::cholesky::{Cholesky, Factorisation, ScalarCholesky};
pub use factory::{linear_solver, preconditioner};
pub use krylov::conjugate_gradient::{ConjugateGradient, PreconditionedSolver};
pub use levels::Levels;
pub use matrix::block_matrix::{BlockMatrix, BlockPattern, ExtraBlock};
pub use matrix::extra_rows::ExtraRows;
pub use matrix::point_hessians::PointHessians;
pub use matrix::scalar_matrix::{ScalarMatrix, WithBlocks};
pub use multigrid::cycle::{CycleTimes, Direction, Level, v_cycle};
pub use operator::{LinearOperator, Preconditioner};
pub use options::{Iteration, LinearKind, LinearOptions};
pub use ordering::node_order::{Graph, graph_order, local_order, morton_order};
pub use preconditioner::cholesky_factor::CholeskyFactor;
pub use preconditioner::incomplete_cholesky::{Fill, IncompleteCholesky};
pub use preconditioner::schwarz::{EXPLICIT_DOMAIN, Schwarz, SchwarzOptions};
pub use regions::Regions;
pub use relaxation::block_jacobi::BlockJacobi;
pub use relaxation::chebyshev::{Chebyshev, ChebyshevOptions};
pub use relaxation::gauss_seidel::GaussSeidel;
pub use relaxation::stationary::StationarySolver;
pub use solver::{History, HistoryPoint, LinearSolver, LinearTermination, SolveOutcome, StopRule};

pub use direct::DenseFactor;
pub(crate) use matrix::pivot::inverses as definite_inverses;
pub(crate) use matrix::triangular::Schedule;
pub(crate) use operator::assembled;
pub(crate) use ordering::colouring::{by_colour, colour};
pub(crate) use relaxation::block_jacobi::{domain_not_definite, not_definite};

pub use supple_core::simd::Simd;
pub use supple_core::{Error, FileError};
