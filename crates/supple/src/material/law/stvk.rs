//! St. Venant-Kirchhoff: linear in the Green strain `E = ½(FᵀF - I)`,
//!
//! ```text
//! Ψ = μ |E|² + λ/2 tr² E,      P = F S,      S = 2μ E + λ tr(E) I.
//! ```
//!
//! Valid for large rotations with small strains. It softens under compression, collapses below `σ = 1/√3` and does not
//! distinguish an inverted element from its mirror image.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use super::tangent::{PAIRS, TangentModes};
use super::{LaneLame, Law};
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};

/// St. Venant-Kirchhoff.
#[derive(Debug, Clone, Copy, Default)]
pub struct StVenantKirchhoff;

#[cfg_attr(not(debug_assertions), inline(always))]
fn green_strain(f: LaneMat3) -> LaneMat3 {
    (f.transpose() * f - LaneMat3::identity()) * Lanes::splat(0.5)
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn response(strain: LaneMat3, lame: &LaneLame) -> LaneMat3 {
    strain * (lame.mu * 2.0) + LaneMat3::scaled_identity(lame.lambda * strain.trace())
}

impl Law for StVenantKirchhoff {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy(&self, f: LaneMat3, lame: &LaneLame) -> Lanes {
        let strain = green_strain(f);
        strain.contract(response(strain, lame)) * 0.5
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stress(&self, f: LaneMat3, lame: &LaneLame) -> LaneMat3 {
        f * response(green_strain(f), lame)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn modes(&self, sigma: LaneVec3, lame: &LaneLame) -> TangentModes {
        let squares = [sigma[0] * sigma[0], sigma[1] * sigma[1], sigma[2] * sigma[2]];
        let base = lame.lambda * (squares[0] + squares[1] + squares[2] - 3.0) * 0.5 - lame.mu;
        let mut scaling = [[Lanes::default(); 3]; 3];
        let (mut twist, mut flip) = ([Lanes::default(); 3], [Lanes::default(); 3]);
        for i in 0..3 {
            for j in 0..3 {
                scaling[i][j] = lame.lambda * sigma[i] * sigma[j];
            }
            scaling[i][i] += lame.mu * squares[i] * 3.0 + base;
        }
        for k in 0..3 {
            let (i, j) = PAIRS[k];
            let (sum, product) = (squares[i] + squares[j], sigma[i] * sigma[j]);
            twist[k] = lame.mu * (sum - product) + base;
            flip[k] = lame.mu * (sum + product) + base;
        }
        TangentModes { scaling, twist, flip, scaling_can_be_indefinite: true }
    }
}
