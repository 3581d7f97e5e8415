//! State that solvers keep from solve to solve.

use glam::DVec3;

use crate::{CycleTimes, Regions};

/// State of a solver or preconditioner between solves: its memory, its part of checkpoints, its reaction to the steps of a
/// simulation, and its statistics. All but `bytes` have defaults: no state, or that of `inner`. So a solver
/// around another one implements `inner`, `inner_mut` and the methods that it extends.
pub trait SolverState {
    /// The part that keeps the state of a solver that wraps another.
    fn inner(&self) -> Option<&dyn SolverState> {
        None
    }

    /// The same part.
    fn inner_mut(&mut self) -> Option<&mut dyn SolverState> {
        None
    }

    /// Memory in bytes in addition to the matrix, including that of the inner part.
    fn bytes(&self) -> usize;

    /// Times of its multigrid cycles so far; `None` without cycles.
    fn cycle_times(&self) -> CycleTimes {
        self.inner().map_or_else(CycleTimes::default, |inner| inner.cycle_times())
    }

    /// Drops everything that depends on earlier matrices beyond their common pattern: later results must not depend on them, so that a
    /// resumed run is bit-identical.
    fn forget(&mut self) {
        if let Some(inner) = self.inner_mut() {
            inner.forget();
        }
    }

    /// Starts a step with the unknowns at `positions`. Returns whether its structure will be rebuilt from them, so that it must be
    /// prepared before it is used again.
    fn begin_step(&mut self, positions: &[DVec3]) -> bool {
        self.inner_mut().is_some_and(|inner| inner.begin_step(positions))
    }

    /// State that persists from step to step and affects later results, for checkpoints.
    fn save(&self) -> Vec<u32> {
        self.inner().map_or_else(Vec::new, |inner| inner.save())
    }

    /// Restores a saved state; parts that do not match are rebuilt when the next step starts.
    fn restore(&mut self, saved: &[u32]) {
        if let Some(inner) = self.inner_mut() {
            inner.restore(saved);
        }
    }

    /// Its partition of the unknowns, finest level first; empty before the first preparation.
    fn regions(&self) -> Vec<Regions> {
        self.inner().map_or_else(Vec::new, |inner| inner.regions())
    }
}
