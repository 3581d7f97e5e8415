//! Co-rotated linear elasticity: linear in the stretch, after the nearest rotation `R` has been factored out,
//!
//! ```text
//! Ψ = μ |F - R|² + λ/2 tr²(RᵀF - I) = μ Σ (σᵢ - 1)² + λ/2 (Σ σᵢ - 3)²,
//! P = 2μ (F - R) + λ tr(RᵀF - I) R.
//! ```
//!
//! With signed singular values it resists inversion and recovers from it. Its Hessian is exact (the derivative of the rotation
//! is in the twists): scaling `2μ I + λ 1 1ᵀ`, flips `2μ`, twists `2μ + 2 (λ (Σ σ - 3) - 2μ)/(σᵢ + σⱼ)`.

use super::tangent::{TangentModes, uniform_scaling};
use super::{LaneLame, Law};
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};
use supple_core::small_matrix::polar::polar_rotation;

/// Co-rotated linear elasticity.
#[derive(Debug, Clone, Copy, Default)]
pub struct Corotated;

/// Smallest sum of two singular values in twists: where it is zero (an inverted element, as far inside out as it is wide)
/// the rotation is not unique, and the Hessian is unbounded.
const SMALLEST_SUM: f64 = 1e-8;

impl Law for Corotated {
    // Close to the stiffness of both terms, which makes the iteration a quasi-Newton method (Liu et al. 2017). The upper bound is
    // 2μ + 3λ, for pure changes of volume; steps that it would shorten are left to the line search.
    fn projective_stiffness(&self, lame: &LaneLame) -> Option<Lanes> {
        Some(lame.mu * 2.0 + lame.lambda)
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
        let r = polar_rotation(f);
        let strain = f - r;
        // tr(RᵀF - I), computed from small numbers where the strain is small.
        let trace = r.contract(strain);
        let energy = lame.mu * strain.norm_squared() + lame.lambda * trace * trace * 0.5;
        (energy, strain * (lame.mu * 2.0) + r * (lame.lambda * trace))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn modes(&self, sigma: LaneVec3, lame: &LaneLame) -> TangentModes {
        let twice = lame.mu * 2.0;
        let excess = (lame.lambda * (sigma[0] + sigma[1] + sigma[2] - 3.0) - twice) * 2.0;
        let sum = |i: usize, j: usize| (sigma[i] + sigma[j]).max(Lanes::splat(SMALLEST_SUM));
        TangentModes {
            scaling: uniform_scaling(twice, lame.lambda),
            twist: [twice + excess / sum(0, 1), twice + excess / sum(0, 2), twice + excess / sum(1, 2)],
            flip: [twice; 3],
            scaling_can_be_indefinite: false,
        }
    }
}
