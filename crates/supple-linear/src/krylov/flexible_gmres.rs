//! Flexible GMRES with restarts (Saad 1993): for systems that are not definite, and preconditioners that change from one
//! application to the next.
//!
//! ```text
//! z_j = M_j⁻¹ v_j    w = A z_j    w -= Σ (wᵀ v_i) v_i    v_{j+1} = w / |w|    x += Z y with y = argmin |β e_1 - H y|
//! ```

use crate::solver::{LinearTermination, StopRule};
use crate::vectors::{add_numbers, dot_numbers};
use supple_core::parallel::prelude::*;

/// Numbers that one task scales.
const CHUNK: usize = 1 << 14;

/// A restart ends when its estimated residual is this share of the one to reach: the true one may be larger.
const MARGIN: f64 = 0.5;

/// The problem of flexible GMRES: a system `A x = b`, its preconditioner, and the current `x`.
pub trait FlexibleSystem {
    /// An entry of a correction, which may be of single precision.
    type Correction: Copy + Default + Send;

    /// The number of scalar unknowns.
    fn unknowns(&self) -> usize;

    /// `r = b - A x`; returns its norm.
    fn residual(&mut self, r: &mut [f64]) -> f64;

    /// `z = M⁻¹ v` by any approximate inverse, and `w = A z`.
    fn precondition(&mut self, v: &[f64], z: &mut [Self::Correction], w: &mut [f64]);

    /// `x += weight z`.
    fn correct(&mut self, weight: f64, z: &[Self::Correction]);
}

/// The bases of flexible GMRES, reused from solve to solve. Memory is allocated for as many iterations as are done.
#[derive(Debug, Clone, Default)]
pub struct FlexibleGmres<Z> {
    /// In double precision: below the rounding of its basis GMRES does not get.
    basis: Vec<Vec<f64>>,
    corrections: Vec<Vec<Z>>,
    product: Vec<f64>,
}

/// The outcome of a solve.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GmresOutcome {
    /// Norm of the residual before every iteration, and at the end; between restarts as the method estimates it.
    pub residuals: Vec<f64>,
    /// Why it ended.
    pub end: LinearTermination,
}

impl<Z: Copy + Default + Send> FlexibleGmres<Z> {
    /// Solves from the `x` of the system, with a restart after `restart` iterations. The tolerance is relative to the first
    /// residual. One iteration is done whatever the deadline.
    pub fn solve<S: FlexibleSystem<Correction = Z>>(
        &mut self,
        system: &mut S,
        stop: &StopRule,
        restart: usize,
    ) -> GmresOutcome {
        let unknowns = system.unknowns();
        self.product.resize(unknowns, 0.0);
        let mut residuals: Vec<f64> = Vec::new();
        let mut goal = f64::INFINITY;
        loop {
            let first = vector(&mut self.basis, 0, unknowns);
            let norm = system.residual(first);
            match residuals.last_mut() {
                None => {
                    goal = stop.tolerance * norm;
                    residuals.push(norm);
                }
                Some(estimate) => *estimate = norm,
            }
            let done = residuals.len() - 1;
            if let Some(end) = why_stop(stop, norm, goal, done) {
                return GmresOutcome { residuals, end };
            }
            first.par_chunks_mut(CHUNK).for_each(|part| part.iter_mut().for_each(|r| *r /= norm));
            let steps = restart.max(1).min(stop.max_iterations - done);
            let weights = self.arnoldi(system, stop, (norm, goal, steps), &mut residuals);
            for (z, weight) in self.corrections.iter().zip(&weights) {
                system.correct(*weight, z);
            }
        }
    }

    /// The iterations between two restarts, at most `steps`, from a residual of this norm to one below the goal: the weights of
    /// the corrections that make the residual smallest.
    fn arnoldi<S: FlexibleSystem<Correction = Z>>(
        &mut self,
        system: &mut S,
        stop: &StopRule,
        (norm, goal, steps): (f64, f64, usize),
        residuals: &mut Vec<f64>,
    ) -> Vec<f64> {
        let unknowns = system.unknowns();
        let mut problem = LeastSquares::new(norm);
        for step in 0..steps {
            let z = vector(&mut self.corrections, step, unknowns);
            system.precondition(&self.basis[step], z, &mut self.product);
            let mut column = Vec::with_capacity(step + 2);
            for v in &self.basis[..=step] {
                let product = dot_numbers(&self.product, v);
                add_numbers(&mut self.product, -product, v);
                column.push(product);
            }
            let rest = dot_numbers(&self.product, &self.product).sqrt();
            column.push(rest);
            let estimate = problem.add(column);
            residuals.push(estimate);
            if rest == 0.0 || estimate <= MARGIN * goal || !estimate.is_finite() || stop.is_late() {
                break;
            }
            let next = vector(&mut self.basis, step + 1, unknowns);
            let parts = next.par_chunks_mut(CHUNK).zip(self.product.par_chunks(CHUNK));
            let factor = 1.0 / rest;
            parts.for_each(|(next, w)| next.iter_mut().zip(w).for_each(|(next, w)| *next = w * factor));
        }
        problem.solve()
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        let corrections = self.corrections.iter().map(Vec::len).sum::<usize>();
        8 * self.basis.iter().map(Vec::len).sum::<usize>() + size_of::<Z>() * corrections
    }
}

fn why_stop(stop: &StopRule, norm: f64, goal: f64, done: usize) -> Option<LinearTermination> {
    if norm <= goal {
        Some(LinearTermination::Converged)
    } else if !norm.is_finite() {
        Some(LinearTermination::NotFinite)
    } else if done >= stop.max_iterations {
        Some(LinearTermination::Iterations)
    } else {
        (done > 0 && stop.is_late()).then_some(LinearTermination::Deadline)
    }
}

fn vector<T: Copy + Default>(of: &mut Vec<Vec<T>>, n: usize, len: usize) -> &mut Vec<T> {
    while of.len() <= n {
        of.push(vec![T::default(); len]);
    }
    of[n].resize(len, T::default());
    &mut of[n]
}

/// `min |β e_1 - H y|` by Givens rotations, a column at a time.
struct LeastSquares {
    columns: Vec<Vec<f64>>,
    rotations: Vec<(f64, f64)>,
    right: Vec<f64>,
}

impl LeastSquares {
    fn new(norm: f64) -> Self {
        Self { columns: Vec::new(), rotations: Vec::new(), right: vec![norm] }
    }

    /// Adds a column; the smallest norm with it.
    fn add(&mut self, mut column: Vec<f64>) -> f64 {
        let n = self.columns.len();
        for (i, (c, s)) in self.rotations.iter().enumerate() {
            (column[i], column[i + 1]) =
                (c * column[i] + s * column[i + 1], c * column[i + 1] - s * column[i]);
        }
        let length = column[n].hypot(column[n + 1]);
        let (c, s) = if length == 0.0 { (1.0, 0.0) } else { (column[n] / length, column[n + 1] / length) };
        column[n] = length;
        column.truncate(n + 1);
        self.rotations.push((c, s));
        self.right.push(-s * self.right[n]);
        self.right[n] *= c;
        self.columns.push(column);
        self.right[n + 1].abs()
    }

    fn solve(mut self) -> Vec<f64> {
        let n = self.columns.len();
        for i in (0..n).rev() {
            let diagonal = self.columns[i][i];
            self.right[i] = if diagonal == 0.0 { 0.0 } else { self.right[i] / diagonal };
            for k in 0..i {
                self.right[k] -= self.columns[i][k] * self.right[i];
            }
        }
        self.right.truncate(n);
        self.right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A skew system that conjugate gradients could not solve, with a preconditioner that changes from call to call.
    struct Skew {
        x: Vec<f64>,
        b: Vec<f64>,
        calls: usize,
    }

    impl Skew {
        fn new(n: usize) -> Self {
            Self { x: vec![0.0; n], b: (0..n).map(|i| (i as f64).cos()).collect(), calls: 0 }
        }

        fn product(x: impl Fn(usize) -> f64, n: usize, i: usize) -> f64 {
            let before = if i == 0 { 0.0 } else { x(i - 1) };
            let after = if i + 1 == n { 0.0 } else { x(i + 1) };
            2.0 * x(i) + 1.5 * (after - before)
        }
    }

    impl FlexibleSystem for Skew {
        type Correction = f32;

        fn unknowns(&self) -> usize {
            self.x.len()
        }

        fn residual(&mut self, r: &mut [f64]) -> f64 {
            let n = r.len();
            r.iter_mut().enumerate().for_each(|(i, r)| *r = self.b[i] - Self::product(|k| self.x[k], n, i));
            r.iter().map(|r| r * r).sum::<f64>().sqrt()
        }

        fn precondition(&mut self, v: &[f64], z: &mut [f32], w: &mut [f64]) {
            self.calls += 1;
            let factor = if self.calls.is_multiple_of(2) { 0.5 } else { 0.3 };
            z.iter_mut().zip(v).for_each(|(z, v)| *z = (factor * v) as f32);
            let n = w.len();
            w.iter_mut().enumerate().for_each(|(i, w)| *w = Self::product(|k| f64::from(z[k]), n, i));
        }

        fn correct(&mut self, weight: f64, z: &[f32]) {
            self.x.iter_mut().zip(z).for_each(|(x, z)| *x += weight * f64::from(*z));
        }
    }

    #[test]
    fn unsymmetric_systems_are_solved_with_changing_preconditioners_and_restarts() {
        for restart in [5, 100] {
            let mut system = Skew::new(200);
            let stop = StopRule::tolerance(1e-10, 1000);
            let outcome = FlexibleGmres::default().solve(&mut system, &stop, restart);
            assert_eq!(outcome.end, LinearTermination::Converged, "{restart}");
            let mut r = vec![0.0; 200];
            assert!(system.residual(&mut r) <= 1e-10 * outcome.residuals[0]);
            assert_eq!(outcome.residuals.len(), system.calls + 1);
        }
    }

    #[test]
    fn limits_of_iterations_and_time_end_it() {
        let mut system = Skew::new(200);
        let outcome = FlexibleGmres::default().solve(&mut system, &StopRule::iterations(7), 3);
        assert_eq!((outcome.residuals.len(), outcome.end), (8, LinearTermination::Iterations));
        assert!(outcome.residuals.is_sorted_by(|a, b| a >= b), "{:?}", outcome.residuals);
        let late = StopRule::tolerance(1e-10, 1000).within(std::time::Duration::ZERO);
        let outcome = FlexibleGmres::default().solve(&mut Skew::new(200), &late, 30);
        assert_eq!((outcome.residuals.len(), outcome.end), (2, LinearTermination::Deadline));
    }
}
