//! One cycle over any hierarchy of levels (Xian 2019, algorithm 2, nested; Zhu 2010, algorithm 1): the families of multigrid
//! solvers provide their levels, the cycle is the same.
//!
//! ```text
//! smooth A x = b forward from x = 0;   r = b - A x;   b' = R r
//! solve A' x' = b' by as many cycles of the coarser levels as the cycle index, directly on the coarsest
//! x += P x';   smooth A x = b backward
//! ```
//!
//! A cycle index of 1 makes a V-cycle, 2 a W-cycle.
//!
//! With `R = Pᵀ` and a backward smoothing that is the adjoint of the forward one, the cycle is a symmetric operator.

use std::time::{Duration, Instant};

/// Times of cycles so far, by stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CycleTimes {
    /// Smoothing.
    pub smoothing: Duration,
    /// The residuals that end it.
    pub residual: Duration,
    /// Restriction of residuals.
    pub restriction: Duration,
    /// Prolongation of corrections.
    pub prolongation: Duration,
    /// The coarsest level.
    pub coarsest: Duration,
}

impl CycleTimes {
    /// The time since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            smoothing: self.smoothing.saturating_sub(earlier.smoothing),
            residual: self.residual.saturating_sub(earlier.residual),
            restriction: self.restriction.saturating_sub(earlier.restriction),
            prolongation: self.prolongation.saturating_sub(earlier.prolongation),
            coarsest: self.coarsest.saturating_sub(earlier.coarsest),
        }
    }

    /// All stages together.
    pub fn total(&self) -> Duration {
        self.smoothing + self.residual + self.restriction + self.prolongation + self.coarsest
    }
}

/// The order of a smoothing. Backward reverses the order of forward, so that both together are symmetric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Before the coarser levels.
    Forward,
    /// After them.
    Backward,
}

/// A level of a hierarchy. It owns its matrix `A`, right-hand side `b`, unknowns `x` and residual `r`. Conjugate gradients
/// need `R = Pᵀ` and a backward smoothing that is the adjoint of the forward one.
pub trait Level {
    /// How often a cycle of this level visits the coarser one, unless that is the coarsest, which is solved exactly.
    fn cycle_index(&self) -> usize {
        1
    }

    /// Smooths `A x = b`. The forward smoothing starts from `x = 0`, whatever `x` holds. On levels that may be visited several
    /// times in a cycle it starts from the current `x`, and `restrict` of the finer level sets that to zero.
    fn smooth(&mut self, direction: Direction);

    /// Hook for changes to `x` between the forward smoothing and the residual.
    fn before_restriction(&mut self) {}

    /// `r = b - A x`.
    fn residual(&mut self);

    /// Sets the coarser level's `b = R r`.
    fn restrict(&mut self, coarser: &mut Self);

    /// `x += P x'` with the coarser level's `x'`.
    fn prolong_add(&mut self, coarser: &mut Self);

    /// Hook for changes to `x` after the coarser level's correction.
    fn after_prolongation(&mut self) {}

    /// Solves `A x = b` on the coarsest level.
    fn solve_coarsest(&mut self);
}

/// One cycle for `A x = b` on the first of the levels, the finest; adds its time to `times`.
pub fn cycle<L: Level>(levels: &mut [L], times: &mut CycleTimes) {
    let Some((level, coarser)) = levels.split_first_mut() else { return };
    let mut clock = Instant::now();
    let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed();
    let Some(next) = coarser.first_mut() else {
        level.solve_coarsest();
        times.coarsest += lap();
        return;
    };
    level.smooth(Direction::Forward);
    level.before_restriction();
    times.smoothing += lap();
    level.residual();
    times.residual += lap();
    level.restrict(next);
    times.restriction += lap();
    let visits = if coarser.len() == 1 { 1 } else { level.cycle_index() };
    (0..visits).for_each(|_| cycle(coarser, times));
    lap();
    level.prolong_add(&mut coarser[0]);
    times.prolongation += lap();
    level.after_prolongation();
    level.smooth(Direction::Backward);
    times.smoothing += lap();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `-u'' = f` on `n` inner points with spacing `h`, by Gauss-Seidel and linear interpolation.
    struct Line {
        h: f64,
        x: Vec<f64>,
        b: Vec<f64>,
        r: Vec<f64>,
    }

    impl Line {
        fn levels(finest: usize) -> Vec<Self> {
            let sizes = std::iter::successors(Some(finest), |n| (*n > 1).then_some(n / 2));
            let zero = |n: usize| vec![0.0; n];
            sizes.map(|n| Self { h: 1.0 / (n + 1) as f64, x: zero(n), b: zero(n), r: zero(n) }).collect()
        }

        fn neighbours(&self, i: usize) -> f64 {
            let before = if i == 0 { 0.0 } else { self.x[i - 1] };
            before + self.x.get(i + 1).copied().unwrap_or(0.0)
        }

        fn relax(&mut self, i: usize) {
            self.x[i] = 0.5 * (self.h * self.h * self.b[i] + self.neighbours(i));
        }
    }

    impl Level for Line {
        fn smooth(&mut self, direction: Direction) {
            if direction == Direction::Forward {
                self.x.fill(0.0);
                (0..self.x.len()).for_each(|i| self.relax(i));
            } else {
                (0..self.x.len()).rev().for_each(|i| self.relax(i));
            }
        }
        fn residual(&mut self) {
            for i in 0..self.x.len() {
                self.r[i] = self.b[i] - (2.0 * self.x[i] - self.neighbours(i)) / (self.h * self.h);
            }
        }
        fn restrict(&mut self, coarser: &mut Self) {
            for (k, b) in coarser.b.iter_mut().enumerate() {
                *b = 0.25 * self.r[2 * k] + 0.5 * self.r[2 * k + 1] + 0.25 * self.r[2 * k + 2];
            }
        }
        fn prolong_add(&mut self, coarser: &mut Self) {
            for (k, e) in coarser.x.iter().enumerate() {
                self.x[2 * k] += 0.5 * e;
                self.x[2 * k + 1] += e;
                self.x[2 * k + 2] += 0.5 * e;
            }
        }
        fn solve_coarsest(&mut self) {
            self.x[0] = 0.5 * self.h * self.h * self.b[0];
        }
    }

    fn cycled(levels: &mut [Line], b: &[f64]) -> Vec<f64> {
        levels[0].b.copy_from_slice(b);
        cycle(levels, &mut CycleTimes::default());
        levels[0].x.clone()
    }

    fn wave(n: usize, seed: usize) -> Vec<f64> {
        (0..n).map(|i| (1.3 * (i + seed) as f64 + 0.1 * ((i * i + seed) % 31) as f64).sin()).collect()
    }

    #[test]
    fn a_cycle_of_symmetric_parts_is_symmetric() {
        let mut levels = Line::levels(63);
        let (a, b) = (wave(63, 1), wave(63, 50));
        let (ma, mb) = (cycled(&mut levels, &a), cycled(&mut levels, &b));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        assert!((dot(&a, &mb) - dot(&b, &ma)).abs() < 1e-13 * dot(&a, &ma).abs());
        assert!(dot(&a, &ma) > 0.0);
    }

    /// For this model problem a V(1,1)-cycle reduces the error to less than a fifth whatever the size (Trottenberg,
    /// Oosterlee and Schüller 2001, section 2.5).
    #[test]
    fn convergence_does_not_depend_on_the_number_of_levels() {
        for n in [15, 127, 1023] {
            let mut levels = Line::levels(n);
            let b = wave(n, 3);
            let (mut x, mut r) = (vec![0.0; n], b.clone());
            let mut norms = Vec::new();
            for _ in 0..8 {
                let correction = cycled(&mut levels, &r);
                x.iter_mut().zip(&correction).for_each(|(x, e)| *x += e);
                levels[0].x.copy_from_slice(&x);
                levels[0].b.copy_from_slice(&b);
                levels[0].residual();
                r.copy_from_slice(&levels[0].r);
                norms.push(r.iter().map(|r| r * r).sum::<f64>().sqrt());
            }
            assert!((norms[7] / norms[3]).powf(0.25) < 0.2, "{n}: {norms:?}");
        }
    }
}
