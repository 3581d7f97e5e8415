//! Newton's method with any linear solver and a line search (`descent.rs`). The exact Hessian is used where it is positive definite,
//! which makes the last iterations quadratic; where it is not (a cloth about to fold), every element's part is projected
//! to positive semi-definite, so that the direction still descends.
//!
//! ```text
//! solve H dx = -g;   α = 1, ½, ¼ … until E(x + α dx) <= E(x) + c α gᵀdx;   x += α dx
//! ```
//!
//! An iterative solver makes it inexact: its tolerance is relative to `g`. Where a stationary one diverges on the projected
//! Hessian, the direction is `-D⁻¹ g` with the Hessian's diagonal blocks `D`: slow, but it descends, and the next iteration
//! tries the solver again.
//!
//! How tightly is worth it depends on what the last direction achieved (Eisenstat & Walker 1996, choice 2): where the model is good, `|g|`
//! falls much and the next solve is tight, `η = γ (|g| / |g before|)²`; where a cloth forms folds, it is loose.
//!
//! It ends when `|g|` is small, or when `dx` is (`short_step.rs`): where a stiff sheet wrinkles, a direction of a tenth of a millimetre
//! still changes `|g|` many times over, without any visible effect. Then it starts with the projected Hessian, since no final
//! iterations have to be quadratic.

use std::sync::Arc;
use std::time::Instant;

use glam::DVec3;

use super::descent::{Descent, DescentMethod, DescentWorkspace, descend, is_usable_direction};
use super::error::MinimiseError;
use super::objective::{Minimiser, Objective, Outcome, StoppingCriteria, Termination};
use super::preconditioning::{FIRST_SHIFT, MAX_SHIFTS};
use super::refresh::{Refresh, Staleness};
use super::short_step::ShortStep;
use crate::material::HessianMode;
use supple_linear::vectors::dot;
use supple_linear::{
    BlockJacobi, BlockMatrix, BlockPattern, LinearSolver, LinearTermination, Preconditioner, SolveOutcome,
    SolverState, StopRule,
};

/// Iterations with the projected Hessian after the exact one failed: folds take a few to settle.
const PROJECTED_RUN: u32 = 8;

/// Relative residuals of linear solves that adapt, from the tightest to the loosest, and the factor γ.
const TIGHTEST: f64 = 1e-2;
const LOOSEST: f64 = 0.1;
const FORCING: f64 = 0.9;

/// The outcome of a linear solve.
#[derive(PartialEq, Eq)]
enum Found {
    /// A direction to search along.
    Direction,
    /// The matrix is not positive definite, or the solver rejects it.
    NotDefinite,
    /// The iteration diverged.
    Diverged,
}

/// Newton's method on one sparsity pattern.
pub struct Newton {
    matrix: BlockMatrix,
    solver: Box<dyn LinearSolver>,
    /// Solves short directions tightly in place of a stationary solver, which hardly reaches small residuals.
    tight: Option<Box<dyn LinearSolver>>,
    inner: StopRule,
    /// Whether the tolerance of linear solves adapts.
    adapts: bool,
    /// The age of the solver's preparation.
    prepared: Staleness,
    /// The matrix it was built from, if it spans steps.
    prepared_from: Option<BlockMatrix>,
    /// Provides directions where the solver diverges.
    diagonal: BlockJacobi,
    /// Workspace for a product.
    product: Vec<DVec3>,
    work: DescentWorkspace,
    rhs: Vec<DVec3>,
    /// Iterations for which the exact Hessian is not tried, since it failed just before.
    projected_for: u32,
    /// The budget ended before the solver had any direction.
    out_of_time: bool,
    /// The relative residual of the direction; `None` if it is of another matrix, or none was solved: that does not bound the error.
    direction_residual: Option<f64>,
    short_step: ShortStep,
    /// Whether the exact Hessian was tried at this iterate, and whether it is positive definite.
    tried_exact: bool,
    is_exact: bool,
    /// A direction by the projected Hessian while the exact one is tried.
    projected: Vec<DVec3>,
}

impl Newton {
    /// Newton's method over a pattern of `vertices` vertices, solving by `solver` to the tolerance `inner`, whose preparation is
    /// refreshed by the policy `refresh`.
    pub fn new(
        pattern: Arc<BlockPattern>,
        vertices: usize,
        solver: Box<dyn LinearSolver>,
        inner: StopRule,
        refresh: Refresh,
    ) -> Self {
        let prepared = Staleness::new(refresh);
        Self {
            work: DescentWorkspace::new(&pattern, vertices),
            rhs: vec![DVec3::ZERO; pattern.unknowns()],
            prepared_from: prepared.spans_steps().then(|| BlockMatrix::zero(pattern.clone())),
            matrix: BlockMatrix::zero(pattern),
            solver,
            tight: None,
            inner,
            adapts: false,
            prepared,
            diagonal: BlockJacobi::default(),
            product: Vec::new(),
            projected_for: 0,
            out_of_time: false,
            direction_residual: None,
            short_step: ShortStep::default(),
            tried_exact: false,
            is_exact: false,
            projected: Vec::new(),
        }
    }

    /// The same, with a tolerance of linear solves that follows the convergence.
    pub fn with_forcing(mut self) -> Self {
        self.adapts = true;
        self
    }

    /// The same, with another solver for the directions that have to be solved tightly.
    pub fn with_tight_solver(mut self, solver: Box<dyn LinearSolver>) -> Self {
        self.tight = Some(solver);
        self
    }

    /// The relative residual to which the next direction is solved.
    fn forcing(&self, residuals: &[f64]) -> f64 {
        match residuals {
            _ if !self.adapts => self.inner.tolerance,
            [.., before, now] => (FORCING * (now / before).powi(2)).clamp(TIGHTEST, LOOSEST),
            _ => LOOSEST,
        }
    }

    /// Finds the direction, with the exact Hessian if it is due and definite.
    fn find_direction(&mut self, descent: &mut Descent<'_>) -> Result<(), MinimiseError> {
        if self.prepared.is_due(descent.x) {
            self.prepared.end();
        }
        self.tried_exact = self.projected_for == 0;
        self.is_exact = false;
        if self.tried_exact {
            self.assemble(descent, HessianMode::Exact);
            if self.solve(descent, true) == Found::Direction {
                self.is_exact = true;
                return Ok(());
            }
            self.projected_for = PROJECTED_RUN;
            // A preparation from an earlier matrix is as good for the projected one.
            if self.prepared.is_new() || !self.prepared.spans_steps() {
                self.prepared.end();
            }
        }
        self.projected_for -= 1;
        self.assemble(descent, HessianMode::PsdProjected);
        let (mut shift, mut shifted) = (FIRST_SHIFT * self.matrix.largest_diagonal(), false);
        for _ in 0..MAX_SHIFTS {
            match self.solve(descent, false) {
                Found::Direction => {
                    if shifted {
                        self.direction_residual = None;
                    }
                    return Ok(());
                }
                Found::Diverged if self.prepared.is_new() => return self.descend_by_diagonal(),
                Found::Diverged => {}
                Found::NotDefinite => {
                    self.matrix.shift_diagonal(shift);
                    shift *= 100.0;
                    shifted = true;
                }
            }
            self.prepared.end();
        }
        Err(MinimiseError::Unsolvable(
            "the Hessian could not be solved: masses or stiffnesses differ by more than double precision allows",
        ))
    }

    /// The direction `-D⁻¹ g` with the matrix's diagonal blocks.
    fn descend_by_diagonal(&mut self) -> Result<(), MinimiseError> {
        self.direction_residual = None;
        self.diagonal.update(&self.matrix)?;
        self.diagonal.apply(&self.rhs, &mut self.work.direction);
        Ok(())
    }

    fn assemble(&mut self, descent: &mut Descent<'_>, mode: HessianMode) {
        let started = Instant::now();
        self.matrix.clear();
        descent.objective.hessian(descent.x, mode, &mut self.matrix);
        descent.outcome.assembly_time += started.elapsed();
    }

    /// Prepares the solver for the matrix; returns whether it accepts it.
    fn prepare(&mut self, descent: &Descent<'_>) -> bool {
        if self.prepared.spans_steps() {
            self.solver.forget();
        }
        if self.solver.prepare(&self.matrix).is_err() {
            return false;
        }
        self.prepared.begin(descent.x);
        if let Some(kept) = &mut self.prepared_from {
            kept.copy_from(&self.matrix);
        }
        true
    }

    /// Solves for the direction.
    fn solve(&mut self, descent: &mut Descent<'_>, must_be_definite: bool) -> Found {
        let started = Instant::now();
        let refused = self.prepared.is_due(descent.x) && !self.prepare(descent);
        let prepared = Instant::now();
        descent.outcome.update_time += prepared - started;
        if refused {
            return Found::NotDefinite;
        }
        self.prepared.mark_used();
        for (b, g) in self.rhs.iter_mut().zip(&self.work.gradient) {
            *b = -*g;
        }
        self.work.direction.fill(DVec3::ZERO);
        let tolerance = self.forcing(&descent.outcome.residuals);
        let stop = StopRule { tolerance, deadline: descent.limits.deadline, ..self.inner };
        let solved = self.solver.solve(&self.matrix, &self.rhs, &mut self.work.direction, &stop);
        descent.outcome.linear_iterations += solved.iterations as u32;
        let found = self.judge(&solved, must_be_definite);
        descent.outcome.solve_time += prepared.elapsed();
        found
    }

    /// Whether the direction moves no vertex noticeably, however tightly it is solved.
    fn is_short(&mut self, descent: &mut Descent<'_>) -> bool {
        self.direction_residual.is_some_and(|residual| self.solve_on(descent, residual).0)
    }

    /// Whether a direction that is short by the projected Hessian is so by the exact one as well, where that is positive definite: about to
    /// fold, a cloth has modes that are much softer than the projected Hessian makes them. If it is not, the direction becomes that of the
    /// exact Hessian. The preparation is that for the projected one, at the same iterate: so close that it serves both.
    fn is_confirmed(&mut self, descent: &mut Descent<'_>) -> bool {
        if self.tried_exact {
            return true;
        }
        self.tried_exact = true;
        self.assemble(descent, HessianMode::Exact);
        self.projected.clone_from(&self.work.direction);
        let (is_short, end) = self.solve_on(descent, f64::INFINITY);
        let is_definite = matches!(
            end,
            LinearTermination::Converged | LinearTermination::Stalled | LinearTermination::Iterations
        );
        self.is_exact = is_definite && dot(&self.work.gradient, &self.work.direction) < 0.0;
        if self.is_exact {
            return is_short;
        }
        self.work.direction.clone_from(&self.projected);
        true
    }

    /// Continues the solve of a short direction from a relative residual; returns whether it stays short, and how the last solve ended.
    fn solve_on(&mut self, descent: &mut Descent<'_>, residual: f64) -> (bool, LinearTermination) {
        let started = Instant::now();
        let Self { solver, tight, matrix, rhs, work, inner, short_step, .. } = self;
        let (limit, deadline) = (descent.limits.step_tolerance, descent.limits.deadline);
        let prepared = tight.as_mut().map_or(Ok(()), |tight| tight.prepare(matrix));
        if prepared.is_err() {
            return (false, LinearTermination::IndefinitePreconditioner);
        }
        let solver = tight.as_mut().unwrap_or(solver);
        let (mut iterations, mut end) = (0, LinearTermination::Converged);
        let mut solve = |direction: &mut [DVec3], tolerance: f64| {
            let solved = solver.solve(matrix, rhs, direction, &StopRule { tolerance, deadline, ..*inner });
            iterations += solved.iterations as u32;
            end = solved.end;
            ends_small(end).then_some(solved.relative_residual)
        };
        let is_short = short_step.is_short(&mut work.direction, residual, limit, &mut solve);
        descent.outcome.linear_iterations += iterations;
        descent.outcome.solve_time += started.elapsed();
        (is_short, end)
    }

    /// Classifies the direction of a solve.
    fn judge(&mut self, solved: &SolveOutcome, must_be_definite: bool) -> Found {
        let descends = dot(&self.work.gradient, &self.work.direction) < 0.0;
        if solved.end == LinearTermination::Deadline && !descends {
            self.out_of_time = true;
            return Found::Direction;
        }
        let residual = solved.relative_residual;
        self.direction_residual = ends_small(solved.end).then_some(residual);
        match solved.end {
            LinearTermination::IndefinitePreconditioner => Found::NotDefinite,
            LinearTermination::NegativeCurvature
                if must_be_definite || solved.iterations == 0 || !descends =>
            {
                Found::NotDefinite
            }
            LinearTermination::NegativeCurvature => Found::Direction,
            LinearTermination::NotFinite => Found::Diverged,
            // Converged, or stopped by a limit.
            _ => {
                let (rhs, direction) = (&self.rhs, &self.work.direction);
                let good = is_usable_direction(&self.matrix, rhs, direction, residual, &mut self.product);
                match good {
                    true => Found::Direction,
                    false if residual > 1.0 => Found::Diverged,
                    false => Found::NotDefinite,
                }
            }
        }
    }
}

/// Whether a linear solve ended with as small a residual as it was to, or as rounding allows.
fn ends_small(end: LinearTermination) -> bool {
    matches!(end, LinearTermination::Converged | LinearTermination::Stalled)
}

impl Minimiser for Newton {
    fn minimise(
        &mut self,
        objective: &dyn Objective,
        x: &mut [DVec3],
        limits: &StoppingCriteria<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), MinimiseError> {
        self.projected_for = if limits.step_tolerance > 0.0 { PROJECTED_RUN } else { 0 };
        self.out_of_time = false;
        if !self.prepared.spans_steps() {
            self.prepared.end();
            self.solver.forget();
        }
        descend(self, objective, x, limits, outcome)
    }
}

impl DescentMethod for Newton {
    fn work(&mut self) -> &mut DescentWorkspace {
        &mut self.work
    }

    fn step(&mut self, descent: &mut Descent<'_>) -> Result<Option<Termination>, MinimiseError> {
        if descent.gradient_grew() {
            self.projected_for = self.projected_for.max(PROJECTED_RUN);
        }
        self.find_direction(descent)?;
        if self.out_of_time {
            return Ok(Some(Termination::Deadline));
        }
        descent.outcome.iterations += 1;
        let is_short =
            descent.is_balanced(&self.work) && self.is_short(descent) && self.is_confirmed(descent);
        if is_short && self.is_exact && descent.take_last_step(&mut self.work) {
            descent.check_convergence(&mut self.work)?;
            return Ok(Some(Termination::Converged));
        }
        // The first direction holds all that acts in the step: without it slow motion would never begin.
        if is_short && descent.outcome.iterations > 1 {
            return Ok(Some(Termination::Converged));
        }
        let length = descent.line_search(&mut self.work, 1.0);
        Ok(length.is_none().then_some(Termination::Stalled))
    }
}

impl SolverState for Newton {
    fn inner(&self) -> Option<&dyn SolverState> {
        Some(&*self.solver)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn SolverState> {
        Some(&mut *self.solver)
    }

    fn bytes(&self) -> usize {
        let matrices = 1 + usize::from(self.prepared_from.is_some());
        let blocks = 72 * matrices * self.matrix.blocks().len();
        self.solver.bytes() + self.diagonal.bytes() + blocks + self.matrix.pattern().bytes()
    }

    fn begin_step(&mut self, positions: &[DVec3]) -> bool {
        self.prepared.begin_step();
        let rebuilt = self.solver.begin_step(positions);
        if rebuilt {
            self.prepared.end();
        }
        rebuilt
    }

    fn save(&self) -> Vec<u32> {
        self.prepared.save(self.solver.save(), self.prepared_from.as_ref().unwrap_or(&self.matrix))
    }

    fn restore(&mut self, saved: &[u32]) {
        let matrix = self.prepared_from.as_mut().unwrap_or(&mut self.matrix);
        let (of_solver, known) = self.prepared.restore(saved, matrix);
        self.solver.restore(of_solver);
        self.solver.forget();
        if known && self.solver.prepare(matrix).is_err() {
            self.prepared.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::objective::tests::{Diverging, Wells, limits};
    use super::*;

    #[test]
    fn a_linear_solver_that_diverges_does_not_lead_astray() {
        for growth in [1e3, 1e9, f64::NAN] {
            let wells = Wells::new(8);
            let (inner, refresh) = (StopRule::tolerance(1e-2, 50), Refresh::from(1));
            let solver = Box::new(Diverging { growth });
            let mut newton = Newton::new(wells.pattern(), 8, solver, inner, refresh);
            let mut x = vec![DVec3::ONE; 8];
            let mut outcome = Outcome::default();
            newton.minimise(&wells, &mut x, &limits(), &mut outcome).unwrap();
            assert_eq!(outcome.stop, Termination::Converged, "{growth}: {:?}", outcome.residuals);
        }
    }
}
