//! Nonlinear conjugate gradients, preconditioned (Polak and Ribière's formula, never negative; Nocedal and Wright 2006,
//! section 5.2; Hager and Zhang 2006):
//!
//! ```text
//! z = M⁻¹ g;   β = max(0, zᵀ(g - g₀) / z₀ᵀg₀);   d = -z + β d₀;   α₀ = -gᵀd / dᵀH d, then a line search
//! ```
//!
//! `H` is the projected Hessian from when the preconditioner was last refreshed; it only gives the initial guess of `α`.

use std::sync::Arc;

use glam::DVec3;

use super::descent::{Descent, DescentWorkspace};
use super::error::MinimiseError;
use super::objective::{Minimiser, Objective, Outcome, StoppingCriteria, Termination};
use super::preconditioning::Preconditioning;
use super::refresh::Refresh;
use supple_linear::vectors::dot;
use supple_linear::{BlockPattern, Preconditioner, SolverState};

/// Nonlinear conjugate gradients on one sparsity pattern.
pub struct NonlinearCg {
    preconditioning: Preconditioning,
    work: DescentWorkspace,
    before: Vec<DVec3>,
    z: Vec<DVec3>,
}

impl NonlinearCg {
    /// The method with a preconditioner that is refreshed by the policy `refresh`.
    pub fn new(
        pattern: Arc<BlockPattern>,
        vertices: usize,
        preconditioner: Box<dyn Preconditioner>,
        refresh: Refresh,
    ) -> Self {
        let zero = vec![DVec3::ZERO; pattern.unknowns()];
        Self {
            work: DescentWorkspace::new(&pattern, vertices),
            preconditioning: Preconditioning::new(pattern, preconditioner, refresh),
            before: zero.clone(),
            z: zero,
        }
    }

    /// Updates the direction by the new gradient; `scale` is `zᵀg` of the previous iteration, `None` to restart.
    /// Returns the new `zᵀg`.
    fn turn(&mut self, descent: &mut Descent<'_>, scale: Option<f64>) -> f64 {
        self.preconditioning.apply(descent, &self.work.gradient, &mut self.z);
        let zg = dot(&self.z, &self.work.gradient);
        let beta = scale.map_or(0.0, |scale| ((zg - dot(&self.z, &self.before)) / scale).max(0.0));
        for (d, z) in self.work.direction.iter_mut().zip(&self.z) {
            *d = beta * *d - *z;
        }
        if dot(&self.work.direction, &self.work.gradient) >= 0.0 {
            self.work.direction.iter_mut().zip(&self.z).for_each(|(d, z)| *d = -*z);
        }
        zg
    }

    fn first_length(&mut self) -> f64 {
        let slope = dot(&self.work.direction, &self.work.gradient);
        let length = -slope / self.preconditioning.curvature(&self.work.direction);
        if length.is_finite() && length > 0.0 { length } else { 1.0 }
    }
}

impl Minimiser for NonlinearCg {
    fn minimise(
        &mut self,
        objective: &dyn Objective,
        x: &mut [DVec3],
        limits: &StoppingCriteria<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), MinimiseError> {
        let mut descent = Descent::begin(objective, x, limits, &mut self.work, outcome)?;
        let mut scale = None;
        loop {
            if let Some(stop) = descent.check_convergence(&mut self.work)? {
                return descent.end(stop);
            }
            if self.preconditioning.refresh_if_due(&mut descent)? {
                scale = None;
            }
            let restarted = scale.is_none();
            scale = Some(self.turn(&mut descent, scale));
            self.before.copy_from_slice(&self.work.gradient);
            let length = self.first_length();
            descent.outcome.iterations += 1;
            if descent.line_search(&mut self.work, length).is_none() {
                if restarted {
                    return descent.end(Termination::Stalled);
                }
                scale = None;
            }
        }
    }
}

impl SolverState for NonlinearCg {
    fn inner(&self) -> Option<&dyn SolverState> {
        Some(&self.preconditioning)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn SolverState> {
        Some(&mut self.preconditioning)
    }

    fn bytes(&self) -> usize {
        self.preconditioning.bytes() + 48 * self.z.len()
    }
}
