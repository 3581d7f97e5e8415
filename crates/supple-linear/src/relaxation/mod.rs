//! Relaxation: block Jacobi, coloured Gauss-Seidel, Chebyshev acceleration, and the stationary iteration over them.

pub(crate) mod block_jacobi;
pub(crate) mod chebyshev;
pub(crate) mod gauss_seidel;
pub(crate) mod stationary;
