//! One-level preconditioners, and the dense and triangular solves they use.

pub(crate) mod cholesky_factor;
pub(crate) mod domain_inverse;
pub(crate) mod incomplete_cholesky;
pub(crate) mod schwarz;
