//! Co-rotated linear sheet in plane stress: with the principal stretches,
//!
//! ```text
//! Ψ = μ ((σ₁ - 1)² + (σ₂ - 1)²) + λ/2 (σ₁ + σ₂ - 2)².
//! ```

use super::{LaneSheet, PrincipalModes, isotropic_stress};
use supple_core::simd::{LaneVec3, Lanes};
use supple_core::small_matrix::svd::svd32;

/// Co-rotated linear sheet.
#[derive(Debug, Clone, Copy, Default)]
pub struct CorotatedSheet;

/// Smallest stretch in denominators: a sheet flattened to a line has no transverse direction.
const SMALLEST: f64 = 1e-8;

#[cfg_attr(not(debug_assertions), inline(always))]
fn tensions(sigma: [Lanes; 2], sheet: &LaneSheet) -> [Lanes; 2] {
    let bulk = sheet.lame.lambda * (sigma[0] + sigma[1] - 2.0);
    let twice = sheet.lame.mu * 2.0;
    [twice * (sigma[0] - 1.0) + bulk, twice * (sigma[1] - 1.0) + bulk]
}

#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn modes(sigma: [Lanes; 2], sheet: &LaneSheet) -> PrincipalModes {
    let smallest = Lanes::splat(SMALLEST);
    let (twice, lambda) = (sheet.lame.mu * 2.0, sheet.lame.lambda);
    let g = tensions(sigma, sheet);
    PrincipalModes {
        scaling: [[twice + lambda, lambda], [lambda, twice + lambda]],
        twist: (g[0] + g[1]) / (sigma[0] + sigma[1]).max(smallest),
        flip: twice,
        normal: [g[0] / sigma[0].max(smallest), g[1] / sigma[1].max(smallest)],
    }
}

impl CorotatedSheet {
    /// Energy density in J/m² of undeformed area, and first Piola-Kirchhoff stress in N/m.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn energy_and_stress(&self, f: [LaneVec3; 2], sheet: &LaneSheet) -> (Lanes, [LaneVec3; 2]) {
        let svd = svd32(f);
        let (a, b) = (svd.sigma[0] - 1.0, svd.sigma[1] - 1.0);
        let energy = sheet.lame.mu * (a * a + b * b) + sheet.lame.lambda * (a + b) * (a + b) * 0.5;
        (energy, isotropic_stress(&svd, tensions(svd.sigma, sheet)))
    }
}
