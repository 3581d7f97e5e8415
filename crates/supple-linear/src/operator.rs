//! Operators and preconditioners of linear solvers.

use glam::{DMat3, DVec3};

use crate::{BlockMatrix, LinearError, ScalarMatrix, SolverState};

/// A symmetric positive-definite matrix over 3-vectors, given at least by its products.
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
    /// The same matrix with one number per block, if every block is a multiple of the identity.
    fn scalars(&self) -> Option<&ScalarMatrix> {
        None
    }
}

/// An approximate inverse, symmetric and positive definite, so that conjugate gradients may use it.
pub trait Preconditioner: SolverState + Send {
    /// Prepares for a matrix. An error if the preconditioner does not support it.
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), LinearError>;
    /// `z = M⁻¹ r`.
    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]);
}

/// The assembled matrix, or the error of a solver that cannot do without.
pub(crate) fn assembled<'a>(
    operator: &'a dyn LinearOperator,
    solver: &'static str,
) -> Result<&'a BlockMatrix, LinearError> {
    operator.blocks().ok_or(LinearError::NotAssembled { solver })
}

impl Preconditioner for Box<dyn Preconditioner> {
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), LinearError> {
        (**self).update(operator)
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        (**self).apply(r, z);
    }
}

impl SolverState for Box<dyn Preconditioner> {
    fn inner(&self) -> Option<&dyn SolverState> {
        Some(&**self)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn SolverState> {
        Some(&mut **self)
    }

    fn bytes(&self) -> usize {
        (**self).bytes()
    }
}
