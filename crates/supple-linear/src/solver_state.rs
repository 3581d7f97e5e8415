//! What solvers keep from solve to solve, whatever they solve with.

use glam::DVec3;

use crate::{CycleTimes, Regions};

/// What a solver or preconditioner keeps between solves: its memory, what checkpoints hold of it, how it follows the steps of a
/// simulation, and what it tells about itself. All but `bytes` have defaults: nothing is kept, or what `inner` keeps. So a solver
/// around another one implements `inner`, `inner_mut` and the methods to which it has something to add.
pub trait SolverState {
    /// The part that keeps the state of a solver that wraps another.
    fn inner(&self) -> Option<&dyn SolverState> {
        None
    }

    /// The same part.
    fn inner_mut(&mut self) -> Option<&mut dyn SolverState> {
        None
    }

    /// Memory in bytes beside the matrix, that of the inner part included.
    fn bytes(&self) -> usize;

    /// What its multigrid cycles have taken so far; nothing without cycles.
    fn cycle_times(&self) -> CycleTimes {
        self.inner().map_or_else(CycleTimes::default, |inner| inner.cycle_times())
    }

    /// Forgets what earlier matrices taught beyond their common pattern: what follows must not depend on them, so that a
    /// resumed run is bit-identical.
    fn forget(&mut self) {
        if let Some(inner) = self.inner_mut() {
            inner.forget();
        }
    }

    /// A step begins with the unknowns at `positions`. Says whether its structure follows them anew, so that it must be
    /// prepared before it is used again.
    fn begin_step(&mut self, positions: &[DVec3]) -> bool {
        self.inner_mut().is_some_and(|inner| inner.begin_step(positions))
    }

    /// What it keeps from step to step and later results depend on, for checkpoints.
    fn save(&self) -> Vec<u32> {
        self.inner().map_or_else(Vec::new, |inner| inner.save())
    }

    /// Takes over what was saved; what does not fit is made anew when the next step begins.
    fn restore(&mut self, saved: &[u32]) {
        if let Some(inner) = self.inner_mut() {
            inner.restore(saved);
        }
    }

    /// How it divides the unknowns, the finest level first; nothing before the first preparation.
    fn regions(&self) -> Vec<Regions> {
        self.inner().map_or_else(Vec::new, |inner| inner.regions())
    }
}
