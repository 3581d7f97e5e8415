//! Newton's method with any linear solver and a line search. The exact Hessian is taken where it is positive definite,
//! which makes the last iterations quadratic; where it is not (a cloth about to fold), every element's part is projected
//! to positive semi-definite, so that the direction still descends.
//!
//! ```text
//! solve H dx = -g;   α = 1, ½, ¼ … until E(x + α dx) <= E(x) + c α gᵀdx;   x += α dx
//! ```
//!
//! An iterative solver makes it inexact: its tolerance is relative to `g`.
//!
//! It ends when `|g|` is small, or when `dx` is: where a stiff sheet wrinkles, a direction of a tenth of a millimetre still
//! changes `|g|` many times over, and nobody would see it. Then it begins with the projected Hessian, since there are no last
//! iterations that would have to be quadratic.

use std::sync::Arc;
use std::time::Instant;

use glam::DVec3;

use super::objective::{Descent, Limits, Minimiser, Objective, Outcome, Stop, Workspace, dot};
use super::preconditioning::{FIRST_SHIFT, MAX_SHIFTS};
use super::refresh::{Age, Refresh};
use crate::energy::Curvature;
use crate::linear::{BlockMatrix, BlockPattern, CycleTimes, End, LinearSolver, Regions, StopRule};

/// Iterations with the projected Hessian after the exact one led astray: folds take a few to settle.
const PROJECTED_RUN: u32 = 8;

/// Newton's method on one sparsity pattern.
pub struct Newton {
    matrix: BlockMatrix,
    solver: Box<dyn LinearSolver>,
    inner: StopRule,
    /// How old the solver's preparation is.
    prepared: Age,
    work: Workspace,
    rhs: Vec<DVec3>,
    /// Iterations for which the exact Hessian is not tried, since it led astray just before.
    projected_for: u32,
    /// The budget ended before the solver had any direction.
    out_of_time: bool,
}

impl Newton {
    /// Newton's method over a pattern of `vertices` vertices, solving by `solver` until `inner`, whose preparation is
    /// renewed as `refresh` says.
    pub fn new(
        pattern: Arc<BlockPattern>,
        vertices: usize,
        solver: Box<dyn LinearSolver>,
        inner: StopRule,
        refresh: Refresh,
    ) -> Self {
        Self {
            work: Workspace::new(&pattern, vertices),
            rhs: vec![DVec3::ZERO; pattern.unknowns()],
            matrix: BlockMatrix::zero(pattern),
            solver,
            inner,
            prepared: Age::new(refresh),
            projected_for: 0,
            out_of_time: false,
        }
    }

    /// Finds the direction, with the exact Hessian if it is due and definite.
    fn find_direction(&mut self, descent: &mut Descent<'_>) -> Result<(), String> {
        if self.prepared.is_due(descent.x) {
            self.prepared.end();
        }
        if self.projected_for == 0 {
            self.assemble(descent, Curvature::Exact);
            if self.solve(descent, true)? {
                return Ok(());
            }
            self.projected_for = PROJECTED_RUN;
            self.prepared.end();
        }
        self.projected_for -= 1;
        self.assemble(descent, Curvature::Projected);
        let mut shift = FIRST_SHIFT * self.matrix.largest_diagonal();
        for _ in 0..MAX_SHIFTS {
            if self.solve(descent, false)? {
                return Ok(());
            }
            self.matrix.shift_diagonal(shift);
            shift *= 100.0;
            self.prepared.end();
        }
        Err("the Hessian could not be solved: masses or stiffnesses differ by more than double precision holds".into())
    }

    fn assemble(&mut self, descent: &mut Descent<'_>, curvature: Curvature) {
        let begun = Instant::now();
        self.matrix.clear();
        descent.objective.hessian(descent.x, curvature, &mut self.matrix);
        descent.outcome.assembly_time += begun.elapsed();
    }

    /// Solves for the direction; `false` if the matrix is not positive definite.
    fn solve(&mut self, descent: &mut Descent<'_>, must_be_definite: bool) -> Result<bool, String> {
        let begun = Instant::now();
        let due = self.prepared.is_due(descent.x);
        let refused = due && self.solver.prepare(&self.matrix).is_err();
        let prepared = Instant::now();
        descent.outcome.update_time += prepared - begun;
        if refused {
            return Ok(false);
        }
        if due {
            self.prepared.begin(descent.x);
        }
        self.prepared.serve();
        for (b, g) in self.rhs.iter_mut().zip(&self.work.gradient) {
            *b = -*g;
        }
        self.work.direction.fill(DVec3::ZERO);
        let stop = StopRule { deadline: descent.limits.deadline, ..self.inner };
        let solved = self.solver.solve(&self.matrix, &self.rhs, &mut self.work.direction, &stop);
        descent.outcome.solve_time += prepared.elapsed();
        descent.outcome.linear_iterations += solved.iterations as u32;
        let descends = dot(&self.work.gradient, &self.work.direction) < 0.0;
        if solved.end == End::Deadline && !descends {
            self.out_of_time = true;
            return Ok(true);
        }
        let usable = match solved.end {
            End::NegativeCurvature => !must_be_definite && solved.iterations > 0,
            End::IndefinitePreconditioner | End::NotFinite => false,
            End::Converged | End::Iterations | End::Deadline | End::Stalled => true,
        };
        Ok(usable && descends)
    }
}

impl Minimiser for Newton {
    fn minimise(
        &mut self,
        objective: &dyn Objective,
        x: &mut [DVec3],
        limits: &Limits,
        outcome: &mut Outcome,
    ) -> Result<(), String> {
        let mut descent = Descent::begin(objective, x, limits, outcome)?;
        self.projected_for = if limits.settled > 0.0 { PROJECTED_RUN } else { 0 };
        self.prepared.end();
        self.out_of_time = false;
        self.solver.forget();
        loop {
            if let Some(stop) = descent.look(&mut self.work)? {
                return descent.end(stop);
            }
            if descent.gradient_grew() {
                self.projected_for = self.projected_for.max(PROJECTED_RUN);
            }
            self.find_direction(&mut descent)?;
            if self.out_of_time {
                return descent.end(Stop::Deadline);
            }
            descent.outcome.iterations += 1;
            let settled = self.work.farthest_move() <= limits.settled;
            if descent.line_search(&mut self.work, 1.0).is_none() {
                return descent.end(Stop::Stalled);
            }
            if settled {
                descent.look(&mut self.work)?;
                return descent.end(Stop::Converged);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.solver.bytes() + 72 * self.matrix.blocks().len() + self.matrix.pattern().bytes()
    }

    fn cycle_times(&self) -> CycleTimes {
        self.solver.cycle_times()
    }

    fn begin_step(&mut self, positions: &[DVec3]) {
        self.solver.begin_step(positions);
    }

    fn save(&self) -> Vec<u32> {
        self.solver.save()
    }

    fn restore(&mut self, saved: &[u32]) {
        self.solver.restore(saved);
    }

    fn regions(&self) -> Vec<Regions> {
        self.solver.regions()
    }
}
