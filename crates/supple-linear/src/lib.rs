//! Linear systems of elasticity: the 3x3-block matrix, and what solves it. Knows no scene and no body: this is the crate to take for
//! a matrix of your own. Three lines solve a symmetric positive-definite system:
//!
//! ```
//! # fn main() -> Result<(), supple_linear::LinearError> {
//! let matrix = supple_linear::SparseMatrix::from_triplets(2, [(0, 0, 3.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 3.0)])?;
//! let solution = supple_linear::solve(&matrix, &[2.0, 2.0], "mas")?;
//! println!("{:?} after {} iterations", solution.x, solution.report.iterations);
//! # Ok(())
//! # }
//! ```
//!
//! The matrix comes from triplets, from the arrays of a CSR matrix ([`SparseMatrix::from_csr`]) or from a Matrix Market or SciPy file
//! ([`load_matrix`]). [`SolveOptions`] has tolerances, positions of the unknowns and the options of the solvers. To keep a solver
//! for many matrices of one pattern, take [`linear_solver`] and [`io::System`].
//!
//! | folder | what it is |
//! | --- | --- |
//! | `matrix` | the matrix by full rows; the same where every block is a multiple of the identity; what is added to a fixed pattern |
//! | `krylov` | conjugate gradients under every symmetric preconditioner, flexible GMRES, Lanczos |
//! | `relaxation` | block Jacobi, coloured Gauss-Seidel, Chebyshev, stationary iterations |
//! | `preconditioner` | one-level Schwarz, incomplete Cholesky, a factor as a preconditioner |
//! | [`multigrid`] | the cycle over the levels of any multigrid family, and [`multigrid::galerkin`] (Xian 2019) |
//! | [`mas`] | multilevel additive Schwarz (Wu 2022) |
//! | `direct` | the multifrontal sparse Cholesky factorisation and its orderings |
//! | `ordering` | orders of nodes along a curve or through a graph, colourings |
//! | [`io`] | reading of users' systems |
//! | `options`, `factory` | solvers by name, with their options |

mod direct;
mod error;
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
mod solve;
mod solver;
mod solver_state;
pub mod vectors;

pub use direct::Ordering;
pub use direct::cholesky::{Cholesky, Factorisation, ScalarCholesky};
pub use error::LinearError;
pub use factory::{linear_solver, preconditioner};
pub use io::{CsrArrays, SparseMatrix, load_matrix};
pub use krylov::conjugate_gradient::{ConjugateGradient, PreconditionedSolver};
pub use krylov::flexible_gmres::{FlexibleGmres, FlexibleSystem, GmresOutcome};
pub use krylov::lanczos::{LanczosVectors, Tridiagonal};
pub use levels::Levels;
pub use matrix::block_matrix::{BlockMatrix, BlockPattern, ExtraBlock};
pub use matrix::extra_rows::ExtraRows;
pub use matrix::point_hessians::PointHessians;
pub use matrix::scalar_matrix::{ScalarMatrix, WithBlocks};
pub use multigrid::cycle::{CycleTimes, Direction, Level, cycle};
pub use operator::{LinearOperator, Preconditioner};
pub use options::{Iteration, LinearKind, LinearOptions};
pub use ordering::node_order::{CouplingGraph, graph_order, local_order, morton_order};
pub use preconditioner::cholesky_factor::CholeskyFactor;
pub use preconditioner::incomplete_cholesky::{Fill, IncompleteCholesky};
pub use preconditioner::schwarz::{EXPLICIT_DOMAIN, Schwarz, SchwarzOptions};
pub use regions::Regions;
pub use relaxation::block_jacobi::BlockJacobi;
pub use relaxation::chebyshev::{Chebyshev, ChebyshevOptions};
pub use relaxation::gauss_seidel::GaussSeidel;
pub use relaxation::stationary::StationarySolver;
pub use solve::{Solution, SolveOptions, SolveReport, solve};
pub use solver::{History, HistoryPoint, LinearSolver, LinearTermination, SolveOutcome, StopRule};
pub use solver_state::SolverState;

pub use direct::DenseFactor;
pub(crate) use matrix::pivot::inverses as definite_inverses;
pub(crate) use matrix::triangular::ColourSchedule;
pub(crate) use operator::assembled;
pub(crate) use ordering::colouring::{by_colour, colour};
pub(crate) use relaxation::block_jacobi::domain_not_definite;

pub use supple_core::simd::Simd;
pub use supple_core::{Error, FileError};
