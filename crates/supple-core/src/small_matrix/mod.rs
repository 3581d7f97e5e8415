//! Decompositions of small matrices, eight at a time in SIMD lanes.

pub mod polar;
#[doc(hidden)]
pub mod reference_eigenvalues;
pub mod svd;
pub mod symmetric_eigen;
