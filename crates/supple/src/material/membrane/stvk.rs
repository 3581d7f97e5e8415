//! St. Venant-Kirchhoff sheet in plane stress: with the Green strain `E = ½(FᵀF - I)` (2x2),
//!
//! ```text
//! Ψ = μ |E|² + λ/2 tr² E,      P = F (2μ E + λ tr(E) I).
//! ```

use super::{LaneSheet, Membrane, PrincipalModes, SheetTangent, isotropic_tangent};
use crate::energy::Curvature;
use crate::geometry::svd::svd32;
use crate::geometry::symmetric_eigen::SquareMatrix;
use crate::simd::{LaneVec3, Lanes};

/// St. Venant-Kirchhoff sheet.
#[derive(Debug, Clone, Copy, Default)]
pub struct StVenantKirchhoffSheet;

#[inline(always)]
fn green_strain([a, b]: [LaneVec3; 2]) -> SquareMatrix<2> {
    let shear = a.dot(b) * 0.5;
    [[(a.dot(a) - 1.0) * 0.5, shear], [shear, (b.dot(b) - 1.0) * 0.5]]
}

impl Membrane for StVenantKirchhoffSheet {
    #[inline(always)]
    fn energy(f: [LaneVec3; 2], sheet: &LaneSheet) -> Lanes {
        let [[a, c], [_, b]] = green_strain(f);
        let trace = a + b;
        sheet.lame.mu * (a * a + c * c * 2.0 + b * b) + sheet.lame.lambda * trace * trace * 0.5
    }

    #[inline(always)]
    fn stress(f: [LaneVec3; 2], sheet: &LaneSheet) -> [LaneVec3; 2] {
        let [[a, c], [_, b]] = green_strain(f);
        let twice = sheet.lame.mu * 2.0;
        let bulk = sheet.lame.lambda * (a + b);
        [f[0] * (twice * a + bulk) + f[1] * (twice * c), f[0] * (twice * c) + f[1] * (twice * b + bulk)]
    }

    #[inline(always)]
    fn tangent(f: [LaneVec3; 2], sheet: &LaneSheet, curvature: Curvature) -> SheetTangent {
        let svd = svd32(f);
        let (mu, lambda) = (sheet.lame.mu, sheet.lame.lambda);
        let squares = [svd.sigma[0] * svd.sigma[0], svd.sigma[1] * svd.sigma[1]];
        let product = svd.sigma[0] * svd.sigma[1];
        let sum = squares[0] + squares[1];
        let base = lambda * (sum - 2.0) * 0.5 - mu;
        let diagonal = |i: usize| (mu * 3.0 + lambda) * squares[i] + base;
        let modes = PrincipalModes {
            scaling: [[diagonal(0), lambda * product], [lambda * product, diagonal(1)]],
            twist: mu * (sum - product) + base,
            flip: mu * (sum + product) + base,
            normal: [mu * squares[0] + base, mu * squares[1] + base],
        };
        isotropic_tangent(&svd, modes, curvature)
    }
}
