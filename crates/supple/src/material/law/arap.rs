//! As rigid as possible: `Ψ = μ |F - R|²`, `P = 2μ (F - R)`, with `R` the rotation nearest to `F`.
//!
//! This is the co-rotated law with `λ = 0`: the elasticity of a solid with Poisson's ratio 0 and Young's modulus `2μ`.
//! No other term preserves the volume: λ is ignored.

use super::corotated::Corotated;
use super::{LaneLame, Law, TangentModes};
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};

/// As rigid as possible.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arap;

#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn shear_only(lame: &LaneLame) -> LaneLame {
    LaneLame { lambda: Lanes::default(), mu: lame.mu }
}

impl Law for Arap {
    // Exact: the energy is the squared distance to the rotations.
    fn projective_stiffness(&self, lame: &LaneLame) -> Option<Lanes> {
        Some(lame.mu * 2.0)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy(&self, f: LaneMat3, lame: &LaneLame) -> Lanes {
        self.energy_and_stress(f, lame).0
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stress(&self, f: LaneMat3, lame: &LaneLame) -> LaneMat3 {
        self.energy_and_stress(f, lame).1
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy_and_stress(&self, f: LaneMat3, lame: &LaneLame) -> (Lanes, LaneMat3) {
        Corotated.energy_and_stress(f, &shear_only(lame))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn modes(&self, sigma: LaneVec3, lame: &LaneLame) -> TangentModes {
        Corotated.modes(sigma, &shear_only(lame))
    }
}
