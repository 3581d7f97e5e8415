//! Linear systems of implicit dynamics: the 3x3-block matrix and what solves it.

mod block_matrix;
mod cholesky;
mod direct;
mod operator;

pub use block_matrix::{BlockMatrix, BlockPattern, OutsideBlock};
pub use cholesky::{Cholesky, Factorisation, ScalarCholesky};
pub use direct::Ordering;
pub use operator::{LinearOperator, Preconditioner};

pub use crate::simd::Simd;
