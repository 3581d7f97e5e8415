//! Stable neo-Hookean (Smith, de Goes & Kim 2018, equation 14): with `I = |F|²` and `J = det F`,
//!
//! ```text
//! Ψ = μ'/2 (I - 3) + λ'/2 (J - α)² - μ'/2 log(I + 1) - Ψ₀,     α = 1 + 3 μ'/(4 λ'),
//! P = m F + p cof F,     m = μ' I/(I + 1),     p = λ' (J - α),
//! ```
//!
//! with `μ' = 4/3 μ` and `λ' = λ + 5/6 μ` (section 3.4), so that small strains behave as linear elasticity with the Lamé
//! parameters λ and μ exactly. Finite for inverted and flattened elements; `Ψ₀` makes the energy at rest zero.
//!
//! Twists are `m + p σₖ` and flips `m - p σₖ` for the axis `k` left out of the pair.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use super::tangent::{PAIRS, TangentModes};
use super::{LaneLame, Law};
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};

/// Stable neo-Hookean.
#[derive(Debug, Clone, Copy, Default)]
pub struct NeoHookean;

/// The parameters of the energy.
struct Parameters {
    mu: Lanes,
    lambda: Lanes,
    alpha: Lanes,
}

impl Parameters {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn new(lame: &LaneLame) -> Self {
        let mu = lame.mu * (4.0 / 3.0);
        let lambda = lame.lambda + lame.mu * (5.0 / 6.0);
        // A material with zero stiffness must not divide zero by zero.
        let alpha = mu * 0.75 / lambda.max(Lanes::splat(f64::MIN_POSITIVE)) + 1.0;
        Self { mu, lambda, alpha }
    }
}

impl Law for NeoHookean {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy(&self, f: LaneMat3, lame: &LaneLame) -> Lanes {
        let Parameters { mu, lambda, alpha } = Parameters::new(lame);
        let (norm, j) = (f.norm_squared(), f.determinant());
        // Differences to the values at rest, where I + 1 = 4 and J = 1, so that small strains lose no digits.
        let shear = norm - 3.0 - ((norm + 1.0) * 0.25).ln();
        let volume = (j - 1.0) * (j + 1.0 - alpha * 2.0);
        (mu * shear + lambda * volume) * 0.5
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stress(&self, f: LaneMat3, lame: &LaneLame) -> LaneMat3 {
        let Parameters { mu, lambda, alpha } = Parameters::new(lame);
        let norm = f.norm_squared();
        f * (mu * norm / (norm + 1.0)) + f.cofactor() * (lambda * (f.determinant() - alpha))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn modes(&self, sigma: LaneVec3, lame: &LaneLame) -> TangentModes {
        let Parameters { mu, lambda, alpha } = Parameters::new(lame);
        let [a, b, c] = sigma.0;
        let others = [b * c, a * c, a * b];
        let norm = sigma.dot(sigma);
        let m = mu * norm / (norm + 1.0);
        let p = lambda * (a * others[0] - alpha);
        let q = mu * 2.0 / ((norm + 1.0) * (norm + 1.0));
        let mut scaling = [[m; 3]; 3];
        let (mut twist, mut flip) = ([m; 3], [m; 3]);
        for i in 0..3 {
            for j in 0..3 {
                let both = q * sigma[i] * sigma[j] + lambda * others[i] * others[j];
                scaling[i][j] = both + if i == j { m } else { p * sigma[3 - i - j] };
            }
        }
        for k in 0..3 {
            let (i, j) = PAIRS[k];
            let volumetric = p * sigma[3 - i - j];
            twist[k] = m + volumetric;
            flip[k] = m - volumetric;
        }
        TangentModes { scaling, twist, flip, scaling_can_be_indefinite: true }
    }
}
