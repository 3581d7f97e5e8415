//! Elasticity of octants: kernels over batches of elements, stiffness products, energies and principal stretches.

pub(crate) mod blocks;
pub(crate) mod elasticity;
pub(crate) mod energy;
pub(crate) mod principal;
pub(crate) mod springs;
pub(crate) mod stiffness;
pub(crate) mod wide;
