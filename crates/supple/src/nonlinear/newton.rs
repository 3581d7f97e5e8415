//! Newton's method with a sparse Cholesky solve and a backtracking line search. The exact Hessian is taken where it is
//! positive definite, which makes the last iterations quadratic; where it is not (a cloth about to fold), every
//! element's part is projected to positive semi-definite, so that the direction still descends.
//!
//! ```text
//! solve H dx = -g;   α = 1, ½, ¼ … until E(x + α dx) <= E(x) + c α gᵀdx;   x += α dx
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::DVec3;

use crate::energy::Curvature;
use crate::linear::{BlockMatrix, BlockPattern, Cholesky, Factorisation, Simd};

/// What is minimised, over all vertex positions; held vertices have a zero gradient.
pub trait Objective {
    /// Its value in joules.
    fn value(&self, x: &[DVec3]) -> f64;
    /// Its gradient in newtons, zero at held vertices.
    fn gradient(&self, x: &[DVec3], gradient: &mut [DVec3]);
    /// Its Hessian over the vertices that are not held.
    fn hessian(&self, x: &[DVec3], curvature: Curvature, hessian: &mut BlockMatrix);
}

/// Why the iteration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The gradient fell below the tolerance.
    Converged,
    /// No further decrease is possible in floating point.
    Stalled,
    /// The iteration limit was reached.
    IterationLimit,
    /// The time budget was used up.
    Deadline,
}

/// How a minimisation went.
#[derive(Debug, Clone, PartialEq)]
pub struct NewtonOutcome {
    /// Newton iterations, each with one factorisation and solve.
    pub iterations: u32,
    /// Norm of the gradient at the start of every iteration and at the end, over the reference.
    pub residuals: Vec<f64>,
    /// Why it ended.
    pub stop: Stop,
    /// Time in assembling and in the linear solver.
    pub assembly_time: Duration,
    /// Time in factorisations and solves.
    pub solve_time: Duration,
}

impl NewtonOutcome {
    /// The last residual.
    pub fn residual(&self) -> f64 {
        self.residuals.last().copied().unwrap_or(0.0)
    }
}

/// Armijo's constant of sufficient decrease.
const SUFFICIENT_DECREASE: f64 = 1e-4;
/// Halvings before the line search gives up.
const MAX_HALVINGS: u32 = 40;
/// Diagonal shifts tried when a factorisation meets a pivot that rounding made non-positive.
const MAX_SHIFTS: u32 = 6;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Fraction of the reference gradient to reach.
    pub tolerance: f64,
    /// Norm of the gradient that counts as 1, in newtons.
    pub reference: f64,
    /// Largest number of iterations.
    pub max_iterations: u32,
    /// When the budget ends; an iteration that would likely pass it is not begun.
    pub deadline: Option<Instant>,
}

/// Newton's method on one sparsity pattern, with its matrix, factor and vectors.
pub struct Newton {
    matrix: BlockMatrix,
    cholesky: Cholesky,
    gradient: Vec<DVec3>,
    direction: Vec<DVec3>,
    trial: Vec<DVec3>,
    /// Iterations for which the exact Hessian is not tried, since it was indefinite just before.
    projected_for: u32,
}

/// Iterations with the projected Hessian after the exact one was found indefinite: folds take a few to settle.
const PROJECTED_RUN: u32 = 2;

impl Newton {
    /// Analyses the pattern.
    pub fn new(pattern: BlockPattern, vertices: usize, simd: Simd) -> Result<Self, String> {
        let pattern = Arc::new(pattern);
        Ok(Self {
            matrix: BlockMatrix::zero(pattern.clone()),
            direction: vec![DVec3::ZERO; pattern.unknowns()],
            cholesky: Cholesky::new(pattern, None, simd)?,
            gradient: vec![DVec3::ZERO; vertices],
            trial: vec![DVec3::ZERO; vertices],
            projected_for: 0,
        })
    }

    /// Memory of matrix and factor in bytes.
    pub fn bytes(&self) -> usize {
        self.cholesky.bytes() + 72 * self.matrix.blocks().len()
    }

    /// Minimises from `x`. An error says what is not finite or could not be factored.
    pub(super) fn minimise(
        &mut self,
        objective: &dyn Objective,
        x: &mut [DVec3],
        limits: Limits,
    ) -> Result<NewtonOutcome, String> {
        let mut outcome = NewtonOutcome {
            iterations: 0,
            residuals: Vec::new(),
            stop: Stop::Converged,
            assembly_time: Duration::ZERO,
            solve_time: Duration::ZERO,
        };
        self.projected_for = 0;
        let mut value = finite_value(objective, x)?;
        let mut slowest = Duration::ZERO;
        loop {
            let begun = Instant::now();
            objective.gradient(x, &mut self.gradient);
            let norm = gradient_norm(&self.gradient);
            if !norm.is_finite() {
                return Err(describe_non_finite(&self.gradient, "force"));
            }
            outcome.residuals.push(norm / limits.reference);
            if let Some(stop) = self.should_stop(norm, &outcome, &limits, slowest) {
                outcome.stop = stop;
                return Ok(outcome);
            }
            self.find_direction(objective, x, &mut outcome)?;
            outcome.iterations += 1;
            match self.line_search(objective, x, value) {
                Some(lower) => value = lower,
                None => {
                    outcome.stop = Stop::Stalled;
                    return Ok(outcome);
                }
            }
            slowest = slowest.max(begun.elapsed());
        }
    }

    fn should_stop(
        &self,
        norm: f64,
        outcome: &NewtonOutcome,
        limits: &Limits,
        slowest: Duration,
    ) -> Option<Stop> {
        if norm <= limits.tolerance * limits.reference {
            Some(Stop::Converged)
        } else if outcome.iterations >= limits.max_iterations {
            Some(Stop::IterationLimit)
        } else {
            let late = limits.deadline.is_some_and(|deadline| Instant::now() + slowest > deadline);
            late.then_some(Stop::Deadline)
        }
    }

    fn find_direction(
        &mut self,
        objective: &dyn Objective,
        x: &[DVec3],
        outcome: &mut NewtonOutcome,
    ) -> Result<(), String> {
        let begun = Instant::now();
        let exact = self.projected_for == 0;
        self.assemble(objective, x, if exact { Curvature::Exact } else { Curvature::Projected });
        let assembled = Instant::now();
        outcome.assembly_time += assembled - begun;
        if !exact {
            self.projected_for -= 1;
            self.factorise_shifted()?;
        } else if self.cholesky.factorise(&self.matrix) == Factorisation::NotPositiveDefinite {
            self.projected_for = PROJECTED_RUN;
            self.assemble(objective, x, Curvature::Projected);
            self.factorise_shifted()?;
        }
        for (v, g) in self.gradient.iter().enumerate() {
            if let Some(unknown) = self.matrix.pattern().unknown(v as u32) {
                self.direction[unknown] = -*g;
            }
        }
        self.cholesky.solve(&mut self.direction);
        outcome.solve_time += assembled.elapsed();
        if self.direction.iter().all(|d| d.is_finite()) {
            Ok(())
        } else {
            Err("the linear solver returned values that are not finite".into())
        }
    }

    fn assemble(&mut self, objective: &dyn Objective, x: &[DVec3], curvature: Curvature) {
        self.matrix.clear();
        objective.hessian(x, curvature, &mut self.matrix);
    }

    /// Factors the Hessian; where rounding has eaten its definiteness, with a growing multiple of the identity.
    fn factorise_shifted(&mut self) -> Result<(), String> {
        let largest = (0..self.matrix.pattern().unknowns())
            .map(|j| self.matrix.diagonal_block(j).to_cols_array().into_iter().fold(0.0, f64::max))
            .fold(0.0, f64::max);
        let mut shift = 1e-12 * largest;
        for _ in 0..MAX_SHIFTS {
            if self.cholesky.factorise(&self.matrix) == Factorisation::Done {
                return Ok(());
            }
            self.matrix.shift_diagonal(shift);
            shift *= 100.0;
        }
        Err("the Hessian could not be factored: masses or stiffnesses differ by more than double precision holds".into())
    }

    /// Moves `x` along the direction as far as decreases the objective enough; returns the new value, or `None` if
    /// no step does.
    fn line_search(&mut self, objective: &dyn Objective, x: &mut [DVec3], value: f64) -> Option<f64> {
        let pattern = self.matrix.pattern();
        let unknown_or_zero = |v: usize| pattern.unknown(v as u32).map_or(DVec3::ZERO, |i| self.direction[i]);
        let slope: f64 = self.gradient.iter().enumerate().map(|(v, g)| g.dot(unknown_or_zero(v))).sum();
        // Below this the objective's own rounding hides the decrease, and the full step is the best there is.
        let rounding = 1e-14 * value.abs();
        let mut length = 1.0;
        for _ in 0..MAX_HALVINGS {
            for (v, trial) in self.trial.iter_mut().enumerate() {
                *trial = x[v] + length * unknown_or_zero(v);
            }
            let lower = objective.value(&self.trial);
            if lower <= value + SUFFICIENT_DECREASE * length * slope + rounding {
                let moved = x.iter().zip(&self.trial).any(|(a, b)| a != b);
                x.copy_from_slice(&self.trial);
                return moved.then_some(lower);
            }
            length *= 0.5;
        }
        None
    }
}

fn finite_value(objective: &dyn Objective, x: &[DVec3]) -> Result<f64, String> {
    if let Some(vertex) = x.iter().position(|p| !p.is_finite()) {
        return Err(format!("vertex {vertex} is at {}", x[vertex]));
    }
    let value = objective.value(x);
    if value.is_finite() { Ok(value) } else { Err(format!("the energy is {value}")) }
}

fn describe_non_finite(values: &[DVec3], what: &str) -> String {
    let vertex = values.iter().position(|g| !g.is_finite()).unwrap_or(0);
    format!("the {what} on vertex {vertex} is {}", values[vertex])
}

/// The Euclidean norm of all components.
pub(super) fn gradient_norm(values: &[DVec3]) -> f64 {
    values.iter().map(|g| g.length_squared()).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DMat3;

    /// A convex quartic in each coordinate: Σ (x - t)² / 2 + (x - t)⁴ / 4, minimum at t.
    struct Quartic(Vec<DVec3>);

    impl Objective for Quartic {
        fn value(&self, x: &[DVec3]) -> f64 {
            let term = |d: f64| d * d / 2.0 + d.powi(4) / 4.0;
            x.iter().zip(&self.0).flat_map(|(x, t)| (*x - *t).to_array()).map(term).sum()
        }
        fn gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
            for (g, (x, t)) in gradient.iter_mut().zip(x.iter().zip(&self.0)) {
                let d = *x - *t;
                *g = d + d * d * d;
            }
        }
        fn hessian(&self, x: &[DVec3], _curvature: Curvature, hessian: &mut BlockMatrix) {
            for (v, (x, t)) in x.iter().zip(&self.0).enumerate() {
                let d = *x - *t;
                hessian.add_diagonal(v as u32, DMat3::from_diagonal(DVec3::ONE + 3.0 * d * d));
            }
        }
    }

    #[test]
    fn newton_converges_quadratically_on_a_smooth_convex_objective() {
        let target = vec![DVec3::new(1.0, 2.0, 3.0), DVec3::new(0.5, 0.25, 2.0)];
        let mut newton = Newton::new(BlockPattern::new(&[false; 2], &[]), 2, Simd::Auto).unwrap();
        let mut x = target.iter().map(|t| *t + DVec3::splat(0.5)).collect::<Vec<_>>();
        let limits = Limits { tolerance: 1e-14, reference: 1.0, max_iterations: 30, deadline: None };
        let outcome = newton.minimise(&Quartic(target.clone()), &mut x, limits).unwrap();
        assert_eq!(outcome.stop, Stop::Converged);
        assert!(x.iter().zip(&target).all(|(a, b)| a.distance(*b) < 1e-13));
        // Cubic gradients make the last steps even better than quadratic: r' <= r² holds once r is small.
        let small: Vec<f64> = outcome.residuals.iter().copied().filter(|r| *r < 0.1 && *r > 1e-7).collect();
        assert!(small.windows(2).all(|r| r[1] <= r[0] * r[0]), "{:?}", outcome.residuals);
    }
}
