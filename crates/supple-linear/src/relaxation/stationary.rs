//! The loop of iterations that correct `x` by the residual alone: residual, check, correction. With a preconditioner as the
//! correction, `x += M⁻¹ (b - A x)`, it makes solvers of Gauss-Seidel sweeps and of V-cycles.

use glam::DVec3;

use crate::solver::{History, LinearTermination, SolveOutcome, StopRule};
use crate::vectors::{add, copy, difference, is_zero, norm, solve_in_units, unit_of_extreme};
use crate::{HistoryPoint, LinearError, LinearOperator, LinearSolver, Preconditioner, SolverState};

/// A residual that has grown by this factor over its start will not come back.
const DIVERGED: f64 = 1e6;

/// The loop's vectors, reused from solve to solve.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stationary {
    r: Vec<DVec3>,
    z: Vec<DVec3>,
    history: History,
}

impl Stationary {
    /// Calls `correct(iteration, r, x, scratch)` until a rule stops it.
    pub(crate) fn solve(
        &mut self,
        matrix: &dyn LinearOperator,
        rhs: &[DVec3],
        x: &mut [DVec3],
        stop: &StopRule,
        mut correct: impl FnMut(usize, &[DVec3], &mut [DVec3], &mut [DVec3]),
    ) -> SolveOutcome {
        let n = matrix.unknowns();
        self.r.resize(n, DVec3::ZERO);
        self.z.resize(n, DVec3::ZERO);
        let scale = norm(rhs);
        if let Some(unit) = unit_of_extreme(rhs, scale) {
            return solve_in_units(unit, rhs, x, |rhs, x| self.solve(matrix, rhs, x, stop, correct));
        }
        self.history.start();
        if scale == 0.0 {
            x.fill(DVec3::ZERO);
            self.history.push(0.0);
            return SolveOutcome::of_zero();
        }
        let mut iterations = 0;
        loop {
            let relative_residual = if iterations == 0 && is_zero(x) {
                // The residual is the right-hand side, without a product.
                copy(&mut self.r, rhs);
                if scale.is_finite() { 1.0 } else { f64::NAN }
            } else {
                matrix.apply(x, &mut self.z);
                difference(rhs, &self.z, &mut self.r).sqrt() / scale
            };
            self.history.push(relative_residual);
            let first = self.history.points()[0].relative_residual;
            if let Some(end) = why_stop(stop, iterations, relative_residual, first) {
                return SolveOutcome { iterations, relative_residual, end };
            }
            correct(iterations, &self.r, x, &mut self.z);
            iterations += 1;
        }
    }

    pub(crate) fn history(&self) -> &[HistoryPoint] {
        self.history.points()
    }

    pub(crate) fn bytes(&self) -> usize {
        48 * self.r.len()
    }
}

/// Corrections by a preconditioner of its own, as a [`LinearSolver`].
pub struct StationarySolver<P> {
    preconditioner: P,
    iteration: Stationary,
}

impl<P: Preconditioner> StationarySolver<P> {
    /// A solver that repeats `x += M⁻¹ (b - A x)`.
    pub fn new(preconditioner: P) -> Self {
        Self { preconditioner, iteration: Stationary::default() }
    }
}

impl<P: Preconditioner> LinearSolver for StationarySolver<P> {
    fn prepare(&mut self, matrix: &dyn LinearOperator) -> Result<(), LinearError> {
        self.preconditioner.update(matrix)
    }

    fn solve(
        &mut self,
        matrix: &dyn LinearOperator,
        rhs: &[DVec3],
        x: &mut [DVec3],
        stop: &StopRule,
    ) -> SolveOutcome {
        let preconditioner = &mut self.preconditioner;
        self.iteration.solve(matrix, rhs, x, stop, |_, r, x, z| {
            preconditioner.apply(r, z);
            add(x, 1.0, z);
        })
    }

    fn history(&self) -> &[HistoryPoint] {
        self.iteration.history()
    }
}

impl<P: Preconditioner> SolverState for StationarySolver<P> {
    fn inner(&self) -> Option<&dyn SolverState> {
        Some(&self.preconditioner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn SolverState> {
        Some(&mut self.preconditioner)
    }

    fn bytes(&self) -> usize {
        self.iteration.bytes() + self.preconditioner.bytes()
    }
}

fn why_stop(stop: &StopRule, iterations: usize, residual: f64, first: f64) -> Option<LinearTermination> {
    match stop.reason(iterations, residual) {
        Some(reason @ (LinearTermination::NotFinite | LinearTermination::Converged)) => Some(reason),
        _ if residual > DIVERGED * first => Some(LinearTermination::Stalled),
        reason => reason,
    }
}
