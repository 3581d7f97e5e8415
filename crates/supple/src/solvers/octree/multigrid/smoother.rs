//! Smoothers of the levels: damped Jacobi (Milne 2016, section 7), or Jacobi accelerated by Chebyshev polynomials.
//!
//! Both are steps `d = m d + ω D⁻¹ (b - A x)`, `x += d`, with numbers `m` and `ω` for each step. They are polynomials in
//! `D⁻¹ A` and so self-adjoint, as conjugate gradients require of a cycle. The Chebyshev polynomial is the one that is
//! smallest on the upper part `[a, b]` of the spectrum (Saad 2003, *Iterative Methods for Sparse Linear Systems*,
//! algorithm 12.1); between 0 and `a` it stays below one, so that a cycle is positive definite where `b` is not below the
//! largest eigenvalue.

use serde::{Deserialize, Serialize};

/// The smoother of all levels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Smoother {
    /// One step of damped Jacobi.
    #[default]
    Jacobi,
    /// Steps of Jacobi's method, accelerated by Chebyshev polynomials: a cycle costs more and reduces more.
    Chebyshev,
}

/// Steps of Chebyshev's method.
const STEPS: usize = 2;
/// The upper end of the spectrum that Chebyshev's method reduces, over that for which Jacobi's method would be damped: the estimate of
/// the largest eigenvalue comes from below.
const UPPER: f64 = 1.9;
/// Its lower end as a fraction of the upper one.
const LOWER: f64 = 0.12;

/// The numbers of one step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct SmootherStep {
    /// `m`.
    pub(crate) momentum: f32,
    /// `ω`.
    pub(crate) relaxation: f32,
}

impl Smoother {
    /// Its steps where Jacobi's method would be damped by this factor.
    pub(crate) fn steps(self, damping: f32, steps: &mut Vec<SmootherStep>) {
        steps.clear();
        match self {
            Self::Jacobi => steps.push(SmootherStep { momentum: 0.0, relaxation: damping }),
            Self::Chebyshev => chebyshev(UPPER / f64::from(damping), steps),
        }
    }
}

/// The steps for a spectrum that ends at `end`.
fn chebyshev(end: f64, steps: &mut Vec<SmootherStep>) {
    let (middle, half) = (0.5 * end * (1.0 + LOWER), 0.5 * end * (1.0 - LOWER));
    let mut rho = half / middle;
    steps.push(SmootherStep { momentum: 0.0, relaxation: (1.0 / middle) as f32 });
    for _ in 1..STEPS {
        let next = 1.0 / (2.0 * middle / half - rho);
        steps.push(SmootherStep { momentum: (next * rho) as f32, relaxation: (2.0 * next / half) as f32 });
        rho = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The remaining fraction of an error with this eigenvalue.
    fn left(steps: &[SmootherStep], eigenvalue: f64) -> f64 {
        let (mut error, mut d) = (1.0, 0.0);
        for step in steps {
            d = f64::from(step.momentum) * d - f64::from(step.relaxation) * eigenvalue * error;
            error += d;
        }
        error
    }

    /// Chebyshev polynomials have the same magnitude at all their peaks, `1 / T_n(middle / half)`, and nowhere more.
    #[test]
    fn no_eigenvalue_of_the_upper_part_keeps_more_than_chebyshevs_bound() {
        let mut steps = Vec::new();
        Smoother::Chebyshev.steps(1.0, &mut steps);
        let ratio = (1.0 + LOWER) / (1.0 - LOWER);
        let bound = 1.0 / (STEPS as f64 * ratio.acosh()).cosh();
        let part = |k: u32| UPPER * (LOWER + (1.0 - LOWER) * f64::from(k) / 1000.0);
        let worst = (0..=1000).map(|k| left(&steps, part(k)).abs()).fold(0.0, f64::max);
        assert!((worst / bound - 1.0).abs() < 1e-5, "{worst} {bound}");
        let below = (1..1000).map(|k| left(&steps, 1e-3 * UPPER * LOWER * f64::from(k)));
        assert!(below.into_iter().all(|left| (0.0..1.0).contains(&left)));
    }
}
