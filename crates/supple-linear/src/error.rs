//! Errors of linear solvers, each with its remedy.

use thiserror::Error;

/// Why a linear solver could not be created, or cannot solve with a matrix. Rows, unknowns and levels count from 0. Failure to converge is
/// not an error but a [`crate::LinearTermination`].
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum LinearError {
    /// No solver has this name.
    #[error("there is no linear solver `{name}`; available: {}", crate::LinearKind::ALL.map(crate::LinearKind::name).join(", "))]
    UnknownSolver {
        /// The requested name.
        name: String,
    },
    /// An option that the solver does not have, or a value outside of its range: the text names both.
    #[error("{0}")]
    InvalidOption(String),
    /// An invalid matrix: the text gives the row and column.
    #[error("{0}")]
    InvalidMatrix(String),
    /// Positions that do not match the matrix, or are not finite: the text says which.
    #[error("{0}")]
    InvalidPositions(String),
    /// The right-hand side has another length than the matrix.
    #[error("a right-hand side of {entries} numbers for a matrix of {rows} rows")]
    InvalidRhs {
        /// Its length.
        entries: usize,
        /// Rows of the matrix.
        rows: usize,
    },
    /// A number of the right-hand side is not finite.
    #[error("number {index} of the right-hand side is {value}; all must be finite")]
    RhsNotFinite {
        /// Its place, from 0.
        index: usize,
        /// The number.
        value: f64,
    },
    /// The solver needs the blocks of the matrix, but this operator only provides products.
    #[error("{solver} needs the assembled matrix, but this system only provides products; use jacobi")]
    NotAssembled {
        /// The solver.
        solver: &'static str,
    },
    /// A number of the matrix is not finite.
    #[error("{solver}: the matrix row of unknown {row} is not finite")]
    NotFinite {
        /// The solver.
        solver: &'static str,
        /// The row of blocks.
        row: usize,
    },
    /// A diagonal block is not positive definite.
    #[error(
        "the diagonal block of unknown {row} is not positive definite, so the matrix is not; \
         is the unknown without mass and stiffness, or a value not finite?"
    )]
    IndefiniteDiagonal {
        /// The unknown.
        row: usize,
    },
    /// A domain's matrix is not positive definite, though the diagonal block where that was found is.
    #[error(
        "the matrix of the domain around unknown {row} is singular to rounding, or not positive definite, or not finite, \
         though the diagonal block there is definite; is a part of the system held by nothing? Try jacobi, or hold it"
    )]
    IndefiniteDomain {
        /// An unknown of the domain.
        row: usize,
    },
    /// A coarse level of a multilevel method is not positive definite.
    #[error(
        "{solver}: the matrix is not positive definite or not finite, as its coarse level {level} shows; \
         is a value not finite, or a stiffness negative?"
    )]
    IndefiniteLevel {
        /// The solver.
        solver: &'static str,
        /// The level, 0 the finest.
        level: usize,
    },
    /// The matrix as a whole is not positive definite: the text describes the evidence.
    #[error("{solver}: {found}")]
    NotPositiveDefinite {
        /// The solver.
        solver: &'static str,
        /// The evidence.
        found: &'static str,
    },
    /// The coarsest level is too large for a dense factor.
    #[error(
        "galerkin: the coarsest level has {nodes} nodes, {unknowns} unknowns, but is factored densely, which is limited to \
         {limit} unknowns; add a smaller number to `levels`, or use \"auto\""
    )]
    CoarsestTooLarge {
        /// Its nodes.
        nodes: usize,
        /// Its scalar unknowns.
        unknowns: usize,
        /// The maximum number of scalar unknowns.
        limit: usize,
    },
    /// There is not enough memory for a factor.
    #[error("sparse Cholesky: no memory for a factor of {gigabytes:.1} GB; use a coarser mesh")]
    OutOfMemory {
        /// The factor's size.
        gigabytes: f64,
    },
    /// An error of a solver outside of this crate.
    #[error("{0}")]
    Unsolvable(String),
}
