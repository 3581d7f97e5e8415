//! St. Venant-Kirchhoff sheet in plane stress: with the Green strain `E = ½(FᵀF - I)` (2x2),
//!
//! ```text
//! Ψ = μ |E|² + λ/2 tr² E,      P = F (2μ E + λ tr(E) I).
//! ```

use super::{LaneSheet, PrincipalModes};
use supple_core::simd::{LaneVec3, Lanes};
use supple_core::small_matrix::symmetric_eigen::SquareMatrix;

/// St. Venant-Kirchhoff sheet.
#[derive(Debug, Clone, Copy, Default)]
pub struct StVenantKirchhoffSheet;

#[cfg_attr(not(debug_assertions), inline(always))]
fn green_strain([a, b]: [LaneVec3; 2]) -> SquareMatrix<2> {
    let shear = a.dot(b) * 0.5;
    [[(a.dot(a) - 1.0) * 0.5, shear], [shear, (b.dot(b) - 1.0) * 0.5]]
}

#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn modes(sigma: [Lanes; 2], sheet: &LaneSheet) -> PrincipalModes {
    let (mu, lambda) = (sheet.lame.mu, sheet.lame.lambda);
    let squares = [sigma[0] * sigma[0], sigma[1] * sigma[1]];
    let (sum, product) = (squares[0] + squares[1], sigma[0] * sigma[1]);
    let base = lambda * (sum - 2.0) * 0.5 - mu;
    let steep = mu * 3.0 + lambda;
    PrincipalModes {
        scaling: [
            [steep * squares[0] + base, lambda * product],
            [lambda * product, steep * squares[1] + base],
        ],
        twist: mu * (sum - product) + base,
        flip: mu * (sum + product) + base,
        normal: [mu * squares[0] + base, mu * squares[1] + base],
    }
}

impl StVenantKirchhoffSheet {
    /// Energy density in J/m² of undeformed area.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn energy(&self, f: [LaneVec3; 2], sheet: &LaneSheet) -> Lanes {
        let [[a, c], [_, b]] = green_strain(f);
        let trace = a + b;
        sheet.lame.mu * (a * a + c * c * 2.0 + b * b) + sheet.lame.lambda * trace * trace * 0.5
    }

    /// First Piola-Kirchhoff stress in N/m.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn stress(&self, f: [LaneVec3; 2], sheet: &LaneSheet) -> [LaneVec3; 2] {
        let [[a, c], [_, b]] = green_strain(f);
        let twice = sheet.lame.mu * 2.0;
        let bulk = sheet.lame.lambda * (a + b);
        [f[0] * (twice * a + bulk) + f[1] * (twice * c), f[0] * (twice * c) + f[1] * (twice * b + bulk)]
    }
}
