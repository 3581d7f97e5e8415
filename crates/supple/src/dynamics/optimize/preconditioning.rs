//! A preconditioner for gradient methods, built from the projected Hessian and refreshed only every few iterations.

use std::sync::Arc;
use std::time::Instant;

use glam::DVec3;

use super::descent::Descent;
use super::error::MinimiseError;
use super::refresh::{Refresh, Staleness};
use crate::material::HessianMode;
use supple_linear::{BlockMatrix, BlockPattern, LinearOperator, Preconditioner, SolverState};

/// Diagonal shifts tried where rounding has destroyed the projected Hessian's definiteness.
pub(crate) const MAX_SHIFTS: u32 = 6;
/// The first of them over the largest number on the diagonal; each next is a hundred times larger.
pub(crate) const FIRST_SHIFT: f64 = 1e-12;

/// The projected Hessian of some iterations ago and its approximate inverse.
pub(crate) struct Preconditioning {
    matrix: BlockMatrix,
    preconditioner: Box<dyn Preconditioner>,
    age: Staleness,
    product: Vec<DVec3>,
}

impl Preconditioning {
    pub(crate) fn new(
        pattern: Arc<BlockPattern>,
        preconditioner: Box<dyn Preconditioner>,
        refresh: Refresh,
    ) -> Self {
        let product = vec![DVec3::ZERO; pattern.unknowns()];
        Self { matrix: BlockMatrix::zero(pattern), preconditioner, age: Staleness::new(refresh), product }
    }

    /// Refreshes the matrix and the preconditioner if it is due; returns whether it did.
    pub(crate) fn refresh_if_due(&mut self, descent: &mut Descent<'_>) -> Result<bool, MinimiseError> {
        let started = Instant::now();
        if descent.outcome.iterations == 0 && !self.age.spans_steps() {
            self.age.end();
        }
        if !self.age.is_due(descent.x) {
            self.age.mark_used();
            return Ok(false);
        }
        self.age.end();
        if descent.outcome.iterations == 0 || self.age.spans_steps() {
            self.preconditioner.forget();
        }
        self.matrix.clear();
        descent.objective.hessian(descent.x, HessianMode::PsdProjected, &mut self.matrix);
        let assembled = Instant::now();
        self.update()?;
        self.age.begin(descent.x);
        self.age.mark_used();
        descent.outcome.assembly_time += assembled - started;
        descent.outcome.update_time += assembled.elapsed();
        Ok(true)
    }

    /// Updates the preconditioner. Contact may be so much stiffer than the rest that rounding destroys the matrix's definiteness;
    /// a small multiple of its diagonal restores it.
    fn update(&mut self) -> Result<(), MinimiseError> {
        let mut shift = FIRST_SHIFT * self.matrix.largest_diagonal();
        for _ in 0..MAX_SHIFTS {
            if self.preconditioner.update(&self.matrix).is_ok() {
                return Ok(());
            }
            self.matrix.shift_diagonal(shift);
            shift *= 100.0;
        }
        Ok(self.preconditioner.update(&self.matrix)?)
    }

    /// `z = M⁻¹ r`.
    pub(crate) fn apply(&mut self, descent: &mut Descent<'_>, r: &[DVec3], z: &mut [DVec3]) {
        let started = Instant::now();
        self.preconditioner.apply(r, z);
        descent.outcome.solve_time += started.elapsed();
        descent.outcome.linear_iterations += 1;
    }

    /// `dᵀ H d` with the matrix of the last refresh.
    pub(crate) fn curvature(&mut self, d: &[DVec3]) -> f64 {
        self.matrix.apply(d, &mut self.product);
        supple_linear::vectors::dot(d, &self.product)
    }
}

impl SolverState for Preconditioning {
    fn inner(&self) -> Option<&dyn SolverState> {
        Some(&*self.preconditioner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn SolverState> {
        Some(&mut *self.preconditioner)
    }

    fn begin_step(&mut self, positions: &[DVec3]) -> bool {
        self.age.begin_step();
        let rebuilt = self.preconditioner.begin_step(positions);
        if rebuilt {
            self.age.end();
        }
        rebuilt
    }

    fn save(&self) -> Vec<u32> {
        self.age.save(self.preconditioner.save(), &self.matrix)
    }

    fn restore(&mut self, saved: &[u32]) {
        let (of_preconditioner, known) = self.age.restore(saved, &mut self.matrix);
        self.preconditioner.restore(of_preconditioner);
        self.preconditioner.forget();
        if known && self.preconditioner.update(&self.matrix).is_err() {
            self.age.end();
        }
    }

    fn bytes(&self) -> usize {
        self.preconditioner.bytes() + 72 * self.matrix.blocks().len() + self.matrix.pattern().bytes()
    }
}
