//! The discrete operator on a staggered lattice: rows, stencils, kernels, corotation and strain energy.

pub(crate) mod corotation;
pub(crate) mod gradients;
pub(crate) mod kernels;
pub(crate) mod rows;
pub(crate) mod stencils;
pub(crate) mod strain_energy;
