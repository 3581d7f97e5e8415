//! The interface of linear solvers: stopping rules, outcomes, and the common trait.

use std::time::{Duration, Instant};

use glam::DVec3;

use crate::{LinearError, LinearOperator, SolverState};

/// When an iteration stops: whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopRule {
    /// Stop when `|b - A x| <= tolerance |b|`; 0 never stops by the residual.
    pub tolerance: f64,
    /// Stop after this many iterations.
    pub max_iterations: usize,
    /// Stop at this moment, after the current iteration.
    pub deadline: Option<Instant>,
}

impl StopRule {
    /// Until the relative residual is reached, at most `max_iterations`.
    pub fn tolerance(tolerance: f64, max_iterations: usize) -> Self {
        Self { tolerance, max_iterations, deadline: None }
    }

    /// Exactly this many iterations, for real-time loops.
    pub fn iterations(count: usize) -> Self {
        Self { tolerance: 0.0, max_iterations: count, deadline: None }
    }

    /// The same, but no longer than `time` from now.
    pub fn within(mut self, time: Duration) -> Self {
        self.deadline = Instant::now().checked_add(time);
        self
    }

    /// Why to stop after this many iterations at this relative residual; nothing if there is no reason to.
    pub(super) fn reason(&self, iterations: usize, residual: f64) -> Option<LinearTermination> {
        if !residual.is_finite() {
            Some(LinearTermination::NotFinite)
        } else if residual <= self.tolerance || residual == 0.0 {
            Some(LinearTermination::Converged)
        } else if iterations >= self.max_iterations {
            Some(LinearTermination::Iterations)
        } else {
            self.is_late().then_some(LinearTermination::Deadline)
        }
    }

    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// Why a solve ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinearTermination {
    /// The residual is small enough.
    Converged,
    /// All iterations are used up.
    Iterations,
    /// Time is up.
    Deadline,
    /// A direction with `pᵀ A p <= 0` was met: the matrix is not positive definite. The vector is the one before, or the
    /// preconditioned right-hand side if it was the first direction (Nocedal and Wright 2006, algorithm 7.1).
    NegativeCurvature,
    /// The preconditioner is not positive definite on a residual.
    IndefinitePreconditioner,
    /// Rounding lets the residual fall no further, or a stationary iteration grows.
    Stalled,
    /// A number is not finite. Conjugate gradients leave the last finite vector, stationary iterations the current one.
    NotFinite,
}

/// The outcome of a solve. Failure to converge is a result, not an error.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SolveOutcome {
    /// Iterations done.
    pub iterations: usize,
    /// `|b - A x| / |b|`: recomputed if the solve converged, else from the iteration.
    pub relative_residual: f64,
    /// Why it ended.
    pub end: LinearTermination,
}

impl SolveOutcome {
    /// An outcome, for solvers outside of this crate.
    pub fn new(iterations: usize, relative_residual: f64, end: LinearTermination) -> Self {
        Self { iterations, relative_residual, end }
    }

    /// Whether the residual is small enough.
    pub fn converged(&self) -> bool {
        self.end == LinearTermination::Converged
    }

    /// Why the result is unusable; `None` if it is an improvement over zero, converged or not.
    pub fn problem(&self) -> Option<&'static str> {
        match self.end {
            // The residual of conjugate gradients may rise at first: stopping there is not divergence.
            LinearTermination::Stalled if self.relative_residual > 1.0 => Some(
                "the iteration diverged: the residual is above that of x = 0; the matrix may be singular, or not positive \
                 definite; try cholesky",
            ),
            LinearTermination::Converged
            | LinearTermination::Iterations
            | LinearTermination::Deadline
            | LinearTermination::Stalled => None,
            LinearTermination::NegativeCurvature => Some(
                "a direction of negative curvature was found: the matrix is not positive definite, so there is no minimum",
            ),
            LinearTermination::IndefinitePreconditioner => Some(
                "the preconditioner is not positive definite: the matrix is not, or too nearly singular; try cholesky",
            ),
            LinearTermination::NotFinite => Some(
                "the iteration produced numbers that are not finite; the matrix's entries may be too large or too small",
            ),
        }
    }

    /// The outcome for a right-hand side of zeros, whose solution is zero.
    pub(super) fn of_zero() -> Self {
        Self { iterations: 0, relative_residual: 0.0, end: LinearTermination::Converged }
    }
}

/// A point of a solve's history.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct HistoryPoint {
    /// Seconds since the solve began.
    pub seconds: f64,
    /// Relative residual.
    pub relative_residual: f64,
}

/// The residual after every iteration, the start included.
#[derive(Debug, Clone)]
pub struct History {
    points: Vec<HistoryPoint>,
    begin: Instant,
}

impl Default for History {
    fn default() -> Self {
        Self { points: Vec::new(), begin: Instant::now() }
    }
}

impl History {
    /// Forgets the last solve, keeps the memory.
    pub fn start(&mut self) {
        self.points.clear();
        self.begin = Instant::now();
    }

    /// Adds a point.
    pub fn push(&mut self, relative_residual: f64) {
        self.points.push(HistoryPoint { seconds: self.begin.elapsed().as_secs_f64(), relative_residual });
    }

    /// All points since the start.
    pub fn points(&self) -> &[HistoryPoint] {
        &self.points
    }
}

/// A solver of symmetric positive-definite systems over 3-vectors.
pub trait LinearSolver: SolverState + Send {
    /// Prepares for a matrix. Analyses are kept while the pattern stays. An error if it does not support it.
    fn prepare(&mut self, matrix: &dyn LinearOperator) -> Result<(), LinearError>;

    /// Solves `A x = b` from the guess in `x`. The matrix may have changed a little since `prepare`: iterative solvers
    /// then work with the older preconditioner.
    fn solve(
        &mut self,
        matrix: &dyn LinearOperator,
        rhs: &[DVec3],
        x: &mut [DVec3],
        stop: &StopRule,
    ) -> SolveOutcome;

    /// The residuals of the last solve.
    fn history(&self) -> &[HistoryPoint];
}
