//! Linear systems of implicit dynamics: the 3x3-block matrix and what solves it.

mod block_matrix;
mod cholesky;

pub use block_matrix::{BlockMatrix, BlockPattern};
pub use cholesky::{Cholesky, Factorisation};

/// Which instructions the kernels may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Simd {
    /// The best that this machine has.
    #[default]
    Auto,
    /// The same bits on every machine.
    Baseline,
}
