//! What linear solvers work on and with.

use glam::{DMat3, DVec3};

use crate::{BlockMatrix, CycleTimes, Regions, ScalarMatrix};

/// A symmetric positive-definite matrix over 3-vectors, known at least by its products.
pub trait LinearOperator: Sync {
    /// The number of unknown 3-vectors.
    fn unknowns(&self) -> usize;
    /// `y = A x`.
    fn apply(&self, x: &[DVec3], y: &mut [DVec3]);
    /// The diagonal blocks.
    fn diagonal(&self, diagonal: &mut [DMat3]);
    /// The assembled matrix, where there is one.
    fn blocks(&self) -> Option<&BlockMatrix> {
        None
    }
    /// The same matrix with one number a block, where every block is a multiple of the identity.
    fn scalars(&self) -> Option<&ScalarMatrix> {
        None
    }
}

/// An approximate inverse, symmetric and positive definite, so that conjugate gradients may use it.
pub trait Preconditioner: Send {
    /// Prepares for a matrix. An error says what the preconditioner cannot do with it.
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), String>;
    /// `z = M⁻¹ r`.
    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]);
    /// Forgets what matrices before taught beyond their common pattern: what follows must not depend on them, so that a run
    /// that was resumed here has the same bits.
    fn forget(&mut self) {}
    /// Memory in bytes.
    fn bytes(&self) -> usize;
    /// What its multigrid cycles have taken so far; nothing without cycles.
    fn cycle_times(&self) -> CycleTimes {
        CycleTimes::default()
    }

    /// A step begins with the unknowns at `positions`. Says whether its structure follows them anew, so that it must be
    /// updated before it is used again.
    fn begin_step(&mut self, _positions: &[DVec3]) -> bool {
        false
    }

    /// What it keeps from step to step and later bits depend on, for checkpoints.
    fn save(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Takes over what was saved; what does not fit is made anew when the next step begins.
    fn restore(&mut self, _saved: &[u32]) {}

    /// How it divides the unknowns, the finest level first; nothing before the first update.
    fn regions(&self) -> Vec<Regions> {
        Vec::new()
    }
}

/// The assembled matrix, or the error of a solver that cannot do without.
pub(crate) fn assembled<'a>(
    operator: &'a dyn LinearOperator,
    solver: &str,
) -> Result<&'a BlockMatrix, String> {
    operator.blocks().ok_or_else(|| {
        format!(
            "{solver} needs the assembled matrix, and this system is known by its products only; use jacobi"
        )
    })
}

impl Preconditioner for Box<dyn Preconditioner> {
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), String> {
        (**self).update(operator)
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        (**self).apply(r, z);
    }

    fn forget(&mut self) {
        (**self).forget();
    }

    fn bytes(&self) -> usize {
        (**self).bytes()
    }

    fn cycle_times(&self) -> CycleTimes {
        (**self).cycle_times()
    }

    fn begin_step(&mut self, positions: &[DVec3]) -> bool {
        (**self).begin_step(positions)
    }

    fn save(&self) -> Vec<u32> {
        (**self).save()
    }

    fn restore(&mut self, saved: &[u32]) {
        (**self).restore(saved);
    }

    fn regions(&self) -> Vec<Regions> {
        (**self).regions()
    }
}
