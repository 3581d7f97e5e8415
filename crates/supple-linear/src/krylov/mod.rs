//! Krylov methods: conjugate gradients, flexible GMRES, and the Lanczos process for extreme eigenvalues.

pub(crate) mod conjugate_gradient;
pub(crate) mod flexible_gmres;
pub(crate) mod lanczos;
