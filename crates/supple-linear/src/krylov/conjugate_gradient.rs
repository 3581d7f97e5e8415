//! Preconditioned conjugate gradients (Hestenes and Stiefel 1952; Saad 2003, algorithm 9.1):
//!
//! ```text
//! α = rᵀz / pᵀAp    x += α p    r -= α A p    z = M⁻¹ r    β = rᵀz / (rᵀz before)    p = z + β p
//! ```
//!
//! The residual of the recurrence drifts from `b - A x` by rounding. When it is small enough, the true one is
//! computed, and the iteration continues from it if that is not small enough yet.

use glam::DVec3;

use crate::solver::{History, LinearTermination, SolveOutcome, StopRule};
use crate::vectors::{
    add, advance, copy, difference, dot, is_zero, norm, solve_in_units, turn, unit_of_extreme,
};
use crate::{HistoryPoint, LinearError, LinearOperator, LinearSolver, Preconditioner, SolverState};

/// How often the iteration may continue from the true residual before it counts as stalled.
const RESTARTS: usize = 8;

/// At residuals below this fraction of the right-hand side a product of the wrong sign is due to rounding, not to
/// an indefinite matrix.
const ROUNDING: f64 = 1e-12;

/// The iteration's vectors, reused from solve to solve.
#[derive(Debug, Clone, Default)]
pub struct ConjugateGradient {
    r: Vec<DVec3>,
    z: Vec<DVec3>,
    p: Vec<DVec3>,
    q: Vec<DVec3>,
    history: History,
}

/// The scalars of a solve in progress.
struct CgState {
    iterations: usize,
    /// `|b|`.
    scale: f64,
    /// `rᵀ r`.
    rr: f64,
    /// The recurrence may drift: at this `rᵀ r` the true residual was last computed.
    checked: f64,
    restarts: usize,
}

impl CgState {
    fn relative(&self) -> f64 {
        self.rr.sqrt() / self.scale
    }

    fn end(&self, end: LinearTermination) -> SolveOutcome {
        SolveOutcome { iterations: self.iterations, relative_residual: self.relative(), end }
    }
}

impl ConjugateGradient {
    /// Solves `A x = b` from the guess in `x`.
    pub fn solve(
        &mut self,
        matrix: &dyn LinearOperator,
        preconditioner: &mut dyn Preconditioner,
        rhs: &[DVec3],
        x: &mut [DVec3],
        stop: &StopRule,
    ) -> SolveOutcome {
        self.resize(matrix.unknowns());
        let scale = norm(rhs);
        if let Some(unit) = unit_of_extreme(rhs, scale) {
            return solve_in_units(unit, rhs, x, |rhs, x| self.solve(matrix, preconditioner, rhs, x, stop));
        }
        self.history.start();
        if scale == 0.0 {
            x.fill(DVec3::ZERO);
            self.history.push(0.0);
            return SolveOutcome::of_zero();
        }
        let rr = if is_zero(x) {
            copy(&mut self.r, rhs);
            scale * scale
        } else {
            self.true_residual(matrix, rhs, x)
        };
        let mut state = CgState { iterations: 0, scale, rr, checked: rr, restarts: 0 };
        self.history.push(state.relative());
        loop {
            let end = self.descend(matrix, preconditioner, x, stop, &mut state);
            if end != LinearTermination::Converged {
                return state.end(end);
            }
            if self.is_truly_small(matrix, rhs, x, stop, &mut state) {
                return state.end(LinearTermination::Converged);
            }
            if state.restarts == RESTARTS || state.rr >= state.checked {
                return state.end(LinearTermination::Stalled);
            }
            state.restarts += 1;
            state.checked = state.rr;
        }
    }

    /// The residuals of the last solve.
    pub fn history(&self) -> &[HistoryPoint] {
        self.history.points()
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        4 * 24 * self.r.len()
    }

    fn resize(&mut self, unknowns: usize) {
        for vector in [&mut self.r, &mut self.z, &mut self.p, &mut self.q] {
            vector.resize(unknowns, DVec3::ZERO);
        }
    }

    /// `r = b - A x`; returns `rᵀ r`.
    fn true_residual(&mut self, matrix: &dyn LinearOperator, rhs: &[DVec3], x: &[DVec3]) -> f64 {
        matrix.apply(x, &mut self.q);
        difference(rhs, &self.q, &mut self.r)
    }

    fn is_truly_small(
        &mut self,
        matrix: &dyn LinearOperator,
        rhs: &[DVec3],
        x: &[DVec3],
        stop: &StopRule,
        state: &mut CgState,
    ) -> bool {
        if state.iterations > 0 {
            state.rr = self.true_residual(matrix, rhs, x);
        }
        state.relative() <= stop.tolerance
    }

    /// Iterates from the residual in `r` until the recurrence has converged or another criterion ends it.
    fn descend(
        &mut self,
        matrix: &dyn LinearOperator,
        preconditioner: &mut dyn Preconditioner,
        x: &mut [DVec3],
        stop: &StopRule,
        state: &mut CgState,
    ) -> LinearTermination {
        let mut rz_before = None;
        loop {
            if let Some(end) = stop.reason(state.iterations, state.relative()) {
                return end;
            }
            preconditioner.apply(&self.r, &mut self.z);
            let rz = dot(&self.r, &self.z);
            if !rz.is_finite() {
                return LinearTermination::NotFinite;
            } else if rz <= 0.0 {
                let end = LinearTermination::IndefinitePreconditioner;
                return if state.relative() < ROUNDING { LinearTermination::Stalled } else { end };
            }
            match rz_before {
                Some(before) => turn(&mut self.p, rz / before, &self.z),
                // Not `0 p`: an earlier solve may have left numbers that are not finite.
                None => copy(&mut self.p, &self.z),
            }
            if let Err(end) = self.step(matrix, x, rz, state) {
                return end;
            }
            rz_before = Some(rz);
            state.iterations += 1;
            self.history.push(state.relative());
        }
    }

    /// One step along `p`.
    fn step(
        &mut self,
        matrix: &dyn LinearOperator,
        x: &mut [DVec3],
        rz: f64,
        state: &mut CgState,
    ) -> Result<(), LinearTermination> {
        matrix.apply(&self.p, &mut self.q);
        let curvature = dot(&self.p, &self.q);
        let alpha = rz / curvature;
        if curvature <= 0.0 && state.relative() < ROUNDING {
            return Err(LinearTermination::Stalled);
        } else if curvature <= 0.0 {
            if state.iterations == 0 {
                add(x, 1.0, &self.p);
            }
            return Err(LinearTermination::NegativeCurvature);
        } else if !alpha.is_finite() {
            return Err(LinearTermination::NotFinite);
        }
        let rr = advance(alpha, (x, &self.p), (&mut self.r, &self.q));
        if !rr.is_finite() {
            add(x, -alpha, &self.p);
            return Err(LinearTermination::NotFinite);
        }
        state.rr = rr;
        Ok(())
    }
}

/// Conjugate gradients with a preconditioner of its own, as a [`LinearSolver`].
pub struct PreconditionedSolver<P> {
    preconditioner: P,
    iteration: ConjugateGradient,
}

impl<P: Preconditioner> PreconditionedSolver<P> {
    /// A solver with a preconditioner that must be symmetric.
    pub fn new(preconditioner: P) -> Self {
        Self { preconditioner, iteration: ConjugateGradient::default() }
    }
}

impl<P: Preconditioner> LinearSolver for PreconditionedSolver<P> {
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
        self.iteration.solve(matrix, &mut self.preconditioner, rhs, x, stop)
    }

    fn history(&self) -> &[HistoryPoint] {
        self.iteration.history()
    }
}

impl<P: Preconditioner> SolverState for PreconditionedSolver<P> {
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
