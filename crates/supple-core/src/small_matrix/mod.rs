//! Decompositions of small matrices, eight at a time in SIMD lanes.

pub mod polar;
pub mod svd;
pub mod symmetric_eigen;
