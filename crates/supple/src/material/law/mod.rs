//! Constitutive laws of solids: energy density, stress and its derivative as functions of the deformation gradient
//! `F`, eight at a time. A law is independent of the element type, so tetrahedra, octants and cells share it.
//!
//! All laws have the same small-strain limit, linear elasticity with the given Lamé parameters:
//! `Ψ = μ |ε|² + λ/2 tr² ε + O(ε³)`; only `arap` has that of `λ = 0`.

mod arap;
mod corotated;
mod linear;
mod neo_hookean;
mod solid_law;
mod stvk;
mod tangent;

pub use arap::Arap;
pub use corotated::Corotated;
pub use linear::Linear;
pub use neo_hookean::NeoHookean;
pub use solid_law::SolidLaw;
pub use stvk::StVenantKirchhoff;
pub use tangent::{Tangent, TangentModes};

use super::Lame;
use crate::material::HessianMode;
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};
use supple_core::small_matrix::svd::{Svd, svd};

/// The Lamé parameters of eight elements, in Pa.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneLame {
    /// First parameter λ.
    pub lambda: Lanes,
    /// Shear modulus μ.
    pub mu: Lanes,
}

impl LaneLame {
    /// `value(i)` in lane `i`.
    pub fn from_fn(value: impl Fn(usize) -> Lame) -> Self {
        Self { lambda: Lanes::from_fn(|i| value(i).lambda), mu: Lanes::from_fn(|i| value(i).mu) }
    }
}

/// A constitutive law. Every method must be `#[cfg_attr(not(debug_assertions), inline(always))]`.
pub trait Law: Send + Sync + 'static {
    /// Energy density Ψ in J/m³ of undeformed volume, zero at rest.
    fn energy(&self, f: LaneMat3, lame: &LaneLame) -> Lanes;
    /// First Piola-Kirchhoff stress `P = ∂Ψ/∂F` in Pa.
    fn stress(&self, f: LaneMat3, lame: &LaneLame) -> LaneMat3;
    /// Both, bit-identical to the separate evaluations.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy_and_stress(&self, f: LaneMat3, lame: &LaneLame) -> (Lanes, LaneMat3) {
        (self.energy(f, lame), self.stress(f, lame))
    }
    /// The axes in which the derivative of the stress is simple, and the stretches along them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn axes(&self, f: LaneMat3) -> Svd {
        svd(f)
    }
    /// The eigenvalues of that derivative at these stretches.
    fn modes(&self, stretches: LaneVec3, lame: &LaneLame) -> TangentModes;
    /// The derivative of the stress at `F`, exact or projected to positive semi-definite.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tangent(&self, f: LaneMat3, lame: &LaneLame, mode: HessianMode) -> Tangent {
        let Svd { u, sigma, v } = self.axes(f);
        Tangent::new(u, v, self.modes(sigma, lame), mode)
    }
    /// The stiffness `k` in Pa with which projective dynamics pulls `F` to its projection, `½ k |F - p|²`; `None` for laws
    /// that are not a distance to a set.
    fn projective_stiffness(&self, _lame: &LaneLame) -> Option<Lanes> {
        None
    }
}

#[cfg(test)]
mod tests;
