//! Linear elasticity: with the small strain `ε = ½(F + Fᵀ) - I`,
//!
//! ```text
//! Ψ = μ |ε|² + λ/2 tr² ε,      P = 2μ ε + λ tr(ε) I.
//! ```
//!
//! Valid for small displacements only: a rotation by the angle `θ` counts as a strain of `cos θ - 1`.

use super::tangent::{TangentModes, uniform_scaling};
use super::{LaneLame, Law};
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};
use supple_core::small_matrix::svd::Svd;

/// Linear elasticity.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linear;

#[cfg_attr(not(debug_assertions), inline(always))]
fn response(strain: LaneMat3, lame: &LaneLame) -> LaneMat3 {
    strain * (lame.mu * 2.0) + LaneMat3::scaled_identity(lame.lambda * strain.trace())
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn symmetric(f: LaneMat3) -> LaneMat3 {
    (f + f.transpose()) * Lanes::splat(0.5)
}

impl Law for Linear {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy(&self, f: LaneMat3, lame: &LaneLame) -> Lanes {
        let strain = symmetric(f) - LaneMat3::identity();
        strain.contract(response(strain, lame)) * 0.5
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stress(&self, f: LaneMat3, lame: &LaneLame) -> LaneMat3 {
        response(symmetric(f) - LaneMat3::identity(), lame)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn axes(&self, _f: LaneMat3) -> Svd {
        let one = LaneMat3::identity();
        Svd { u: one, sigma: LaneVec3([Lanes::splat(1.0); 3]), v: one }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn modes(&self, _stretches: LaneVec3, lame: &LaneLame) -> TangentModes {
        let twice = lame.mu * 2.0;
        TangentModes {
            scaling: uniform_scaling(twice, lame.lambda),
            twist: [Lanes::default(); 3],
            flip: [twice; 3],
            scaling_can_be_indefinite: false,
        }
    }
}
