//! Sparse symmetric matrices of 3x3 blocks, and scalar matrices that represent them.

pub(crate) mod block_matrix;
pub(crate) mod extra_rows;
pub(crate) mod pivot;
pub(crate) mod point_hessians;
pub(crate) mod scalar_matrix;
pub(crate) mod triangular;
