//! Why a minimisation cannot continue.

use thiserror::Error;

use supple_linear::LinearError;

/// Why a nonlinear method could not be created, or cannot continue. Failure to converge is not an error but a
/// [`super::Termination`].
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum MinimiseError {
    /// A position, the energy or a force is not finite: the text names the vertex.
    #[error("{0}")]
    NotFinite(String),
    /// No direction can be found: the text says why.
    #[error("{0}")]
    Unsolvable(&'static str),
    /// The method is not one of implicit dynamics.
    #[error("the method `{method}` does not belong to implicit dynamics")]
    UnknownMethod {
        /// Its name.
        method: String,
    },
    /// The linear solver rejects its options or the matrix.
    #[error(transparent)]
    Linear(#[from] LinearError),
}
