//! Limited-memory BFGS (Nocedal and Wright 2006, algorithm 7.4), started from a preconditioner instead of a multiple of
//! the identity: with the inverse of the Hessian at the step's start it is the quasi-Newton method of Liu et al. 2017.
//!
//! ```text
//! q = g;  newest to oldest: a = sᵀq / yᵀs, q -= a y;   r = M⁻¹ q;   oldest to newest: r += (a - yᵀr / yᵀs) s;   d = -r
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use glam::DVec3;

use super::descent::{Descent, DescentWorkspace};
use super::error::MinimiseError;
use super::objective::{Minimiser, Objective, Outcome, StoppingCriteria, Termination};
use super::preconditioning::Preconditioning;
use super::refresh::Refresh;
use supple_linear::vectors::{add, dot};
use supple_linear::{BlockPattern, Preconditioner, SolverState};

/// A step and the change of the gradient.
struct CurvaturePair {
    step: Vec<DVec3>,
    change: Vec<DVec3>,
    /// `changeᵀ step`, positive.
    product: f64,
    /// The first loop's coefficient.
    coefficient: f64,
}

/// L-BFGS on one sparsity pattern.
pub struct Lbfgs {
    preconditioning: Preconditioning,
    memory: usize,
    pairs: VecDeque<CurvaturePair>,
    spare: Vec<CurvaturePair>,
    work: DescentWorkspace,
    before: Vec<DVec3>,
    q: Vec<DVec3>,
}

impl Lbfgs {
    /// L-BFGS with `memory` pairs; the preconditioner is refreshed by the policy `refresh`.
    pub fn new(
        pattern: Arc<BlockPattern>,
        vertices: usize,
        preconditioner: Box<dyn Preconditioner>,
        refresh: Refresh,
        memory: usize,
    ) -> Self {
        let zero = vec![DVec3::ZERO; pattern.unknowns()];
        Self {
            work: DescentWorkspace::new(&pattern, vertices),
            preconditioning: Preconditioning::new(pattern, preconditioner, refresh),
            memory: memory.max(1),
            pairs: VecDeque::new(),
            spare: Vec::new(),
            before: zero.clone(),
            q: zero,
        }
    }

    fn find_direction(&mut self, descent: &mut Descent<'_>) {
        self.q.copy_from_slice(&self.work.gradient);
        for pair in self.pairs.iter_mut().rev() {
            pair.coefficient = dot(&pair.step, &self.q) / pair.product;
            add(&mut self.q, -pair.coefficient, &pair.change);
        }
        self.preconditioning.apply(descent, &self.q, &mut self.work.direction);
        for pair in &self.pairs {
            let back = dot(&pair.change, &self.work.direction) / pair.product;
            add(&mut self.work.direction, pair.coefficient - back, &pair.step);
        }
        self.work.direction.iter_mut().for_each(|d| *d = -*d);
    }

    /// Stores the last step, of this length along the direction, by which the gradient changed from `before`.
    fn remember(&mut self, length: f64) {
        let mut pair = self.take_pair();
        for (i, (step, change)) in pair.step.iter_mut().zip(&mut pair.change).enumerate() {
            *step = length * self.work.direction[i];
            *change = self.work.gradient[i] - self.before[i];
        }
        pair.product = dot(&pair.step, &pair.change);
        // Without positive curvature along the step the update would lose definiteness.
        let scale = dot(&pair.step, &pair.step).sqrt() * dot(&pair.change, &pair.change).sqrt();
        if pair.product > 1e-10 * scale {
            self.pairs.push_back(pair);
        } else {
            self.spare.push(pair);
        }
    }

    fn take_pair(&mut self) -> CurvaturePair {
        let oldest = if self.pairs.len() == self.memory { self.pairs.pop_front() } else { None };
        let unknowns = self.before.len();
        oldest.or_else(|| self.spare.pop()).unwrap_or_else(|| CurvaturePair {
            step: vec![DVec3::ZERO; unknowns],
            change: vec![DVec3::ZERO; unknowns],
            product: 0.0,
            coefficient: 0.0,
        })
    }
}

impl Minimiser for Lbfgs {
    fn minimise(
        &mut self,
        objective: &dyn Objective,
        x: &mut [DVec3],
        limits: &StoppingCriteria<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), MinimiseError> {
        let mut descent = Descent::begin(objective, x, limits, &mut self.work, outcome)?;
        self.spare.extend(self.pairs.drain(..));
        let mut last_length = None;
        loop {
            let stop = descent.check_convergence(&mut self.work)?;
            if let Some(length) = last_length {
                self.remember(length);
            }
            if let Some(stop) = stop {
                return descent.end(stop);
            }
            if self.preconditioning.refresh_if_due(&mut descent)? {
                self.spare.extend(self.pairs.drain(..));
            }
            self.find_direction(&mut descent);
            descent.outcome.iterations += 1;
            self.before.copy_from_slice(&self.work.gradient);
            last_length = descent.line_search(&mut self.work, 1.0);
            if last_length.is_none() && self.pairs.is_empty() {
                return descent.end(Termination::Stalled);
            }
            if last_length.is_none() {
                // The stored curvature was misleading: restart from the preconditioner alone.
                self.spare.extend(self.pairs.drain(..));
            }
        }
    }
}

impl SolverState for Lbfgs {
    fn inner(&self) -> Option<&dyn SolverState> {
        Some(&self.preconditioning)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn SolverState> {
        Some(&mut self.preconditioning)
    }

    fn bytes(&self) -> usize {
        let pairs = self.pairs.len() + self.spare.len();
        self.preconditioning.bytes() + 48 * self.before.len() * (pairs + 1)
    }
}
