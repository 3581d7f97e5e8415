//! Accelerated gradient descent (Wang and Yang 2016): preconditioned steps of fixed length, combined by Chebyshev
//! weights, with the objective evaluated only occasionally.
//!
//! ```text
//! y = x - α M⁻¹ g;   x' = ω (y - x₀) + x₀;   ω = 1 in the first iterations, then 2/(2 - ρ²), then 4/(4 - ρ² ω)
//! ```
//!
//! `x₀` is the iterate before `x`. Every eighth iteration the objective must have decreased; otherwise the iteration returns
//! to where it was last evaluated, with a shorter step and initially without acceleration (section 4.2).

use std::sync::Arc;

use glam::DVec3;

use super::descent::{Descent, DescentWorkspace};
use super::error::MinimiseError;
use super::objective::{Minimiser, Objective, Outcome, StoppingCriteria, Termination};
use super::preconditioning::Preconditioning;
use super::refresh::Refresh;
use supple_linear::{BlockPattern, Preconditioner, SolverState};

/// Iterations between two evaluations of the objective.
const CHECKED_EVERY: u32 = 8;
/// Plain iterations before the acceleration.
const DELAY: u32 = 10;
/// The factor by which the step shrinks where the objective grew.
const SHRINK: f64 = 0.7;
/// A step shorter than this cannot move anything.
const SHORTEST: f64 = 1e-8;

/// Accelerated gradient descent on one sparsity pattern.
pub struct AcceleratedGradient {
    preconditioning: Preconditioning,
    spectral_radius: f64,
    work: DescentWorkspace,
    z: Vec<DVec3>,
    /// The last move, `x - x₀`.
    moved: Vec<DVec3>,
    checked: Vec<DVec3>,
    step: f64,
    omega: f64,
    /// Iterations since the acceleration was restarted.
    age: u32,
}

impl AcceleratedGradient {
    /// The method with a preconditioner refreshed by the policy `refresh`, and `spectral_radius` ρ below 1.
    pub fn new(
        pattern: Arc<BlockPattern>,
        vertices: usize,
        preconditioner: Box<dyn Preconditioner>,
        refresh: Refresh,
        spectral_radius: f64,
    ) -> Self {
        let zero = vec![DVec3::ZERO; pattern.unknowns()];
        Self {
            work: DescentWorkspace::new(&pattern, vertices),
            preconditioning: Preconditioning::new(pattern, preconditioner, refresh),
            spectral_radius,
            z: zero.clone(),
            moved: zero,
            checked: vec![DVec3::ZERO; vertices],
            step: 1.0,
            omega: 1.0,
            age: 0,
        }
    }

    fn restart(&mut self) {
        self.age = 0;
        self.omega = 1.0;
        self.moved.fill(DVec3::ZERO);
    }

    fn next_omega(&mut self) -> f64 {
        let squared = self.spectral_radius * self.spectral_radius;
        self.omega = match self.age {
            age if age < DELAY => 1.0,
            DELAY => 2.0 / (2.0 - squared),
            _ => 4.0 / (4.0 - squared * self.omega),
        };
        self.age += 1;
        self.omega
    }

    fn advance(&mut self, descent: &mut Descent<'_>) {
        self.preconditioning.apply(descent, &self.work.gradient, &mut self.z);
        let omega = self.next_omega();
        for ((d, z), moved) in self.work.direction.iter_mut().zip(&self.z).zip(&mut self.moved) {
            // x' - x = ω (x - x₀ - α z) - (x - x₀)
            *moved = omega * (*moved - self.step * *z) - *moved;
            *d = *moved;
        }
        descent.step_without_line_search(&mut self.work);
        self.moved.copy_from_slice(&self.work.direction);
    }

    /// Evaluates the objective; backtracks where it has grown. `false` if no step is short enough.
    fn check(&mut self, descent: &mut Descent<'_>, last: &mut f64) -> bool {
        let value = descent.objective.value(descent.x);
        if value <= *last + 1e-14 * last.abs() {
            *last = value;
            self.checked.copy_from_slice(descent.x);
            return true;
        }
        self.backtrack(descent)
    }

    /// Returns to where the objective was last evaluated, for shorter steps from there. `false` if it is there already, or
    /// no step is short enough.
    fn backtrack(&mut self, descent: &mut Descent<'_>) -> bool {
        let strayed = *descent.x != self.checked[..];
        descent.x.copy_from_slice(&self.checked);
        self.step *= SHRINK;
        self.restart();
        strayed && self.step > SHORTEST
    }
}

impl Minimiser for AcceleratedGradient {
    fn minimise(
        &mut self,
        objective: &dyn Objective,
        x: &mut [DVec3],
        limits: &StoppingCriteria<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), MinimiseError> {
        let mut descent = Descent::begin(objective, x, limits, &mut self.work, outcome)?;
        self.checked.copy_from_slice(descent.x);
        self.step = 1.0;
        self.restart();
        let mut last = descent.value;
        loop {
            let due =
                descent.outcome.iterations.is_multiple_of(CHECKED_EVERY) && descent.outcome.iterations > 0;
            if due && !self.check(&mut descent, &mut last) {
                return descent.end(Termination::Stalled);
            }
            let looked = match descent.check_convergence(&mut self.work) {
                // Unchecked steps may lead to non-finite positions.
                Err(_) if self.backtrack(&mut descent) => continue,
                looked => looked?,
            };
            if let Some(stop) = looked {
                // Between two evaluations the objective may have grown: the returned one never has.
                if stop != Termination::Converged && descent.objective.value(descent.x) > last {
                    descent.x.copy_from_slice(&self.checked);
                    descent.reevaluate(&mut self.work)?;
                }
                return descent.end(stop);
            }
            match self.preconditioning.refresh_if_due(&mut descent) {
                Err(_) if self.backtrack(&mut descent) => continue,
                Err(problem) => return Err(problem),
                Ok(true) => self.restart(),
                Ok(false) => {}
            }
            self.advance(&mut descent);
            descent.outcome.iterations += 1;
        }
    }
}

impl SolverState for AcceleratedGradient {
    fn inner(&self) -> Option<&dyn SolverState> {
        Some(&self.preconditioning)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn SolverState> {
        Some(&mut self.preconditioning)
    }

    fn bytes(&self) -> usize {
        self.preconditioning.bytes() + 48 * self.z.len() + 24 * self.checked.len()
    }
}
