//! Krylov methods: conjugate gradients, and the Lanczos process for extreme eigenvalues.

pub(crate) mod conjugate_gradient;
pub(crate) mod lanczos;
