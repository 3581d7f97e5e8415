//! Sparse Cholesky under the interface of the iterative solvers: conjugate gradients with the factor as preconditioner. The
//! factor of the matrix itself is exact, so one iteration solves and the residual is checked; one that was kept from an
//! earlier matrix takes a few.

use std::sync::Arc;

use glam::DVec3;

use crate::{
    Cholesky, Factorisation, LinearError, LinearOperator, Preconditioner, Simd, SolverState, assembled,
};

/// A sparse Cholesky factor as a preconditioner.
pub struct CholeskyFactor {
    positions: Option<Arc<[DVec3]>>,
    simd: Simd,
    factor: Option<Cholesky>,
}

impl CholeskyFactor {
    /// Nothing factored yet; `positions` of the unknowns lead to a better order of elimination.
    pub fn new(positions: Option<Arc<[DVec3]>>, simd: Simd) -> Self {
        Self { positions, simd, factor: None }
    }
}

impl Preconditioner for CholeskyFactor {
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), LinearError> {
        let matrix = assembled(operator, "cholesky")?;
        // The factorisation rejects such a matrix, too, but does not say where.
        if let Some(row) = matrix.first_row_not_finite() {
            return Err(LinearError::NotFinite { solver: "sparse Cholesky", row });
        }
        let known = self.factor.take().filter(|factor| Arc::ptr_eq(factor.pattern(), matrix.pattern()));
        let mut factor = match known {
            Some(factor) => factor,
            // A factor created after a restart includes contacts in its ordering, as in an uninterrupted run.
            None => {
                let mut made = Cholesky::new(matrix.pattern().clone(), self.positions.as_deref(), self.simd)?;
                made.forget();
                made
            }
        };
        let done = factor.factorise(matrix);
        self.factor = Some(factor);
        match done {
            Factorisation::Done => Ok(()),
            Factorisation::NotPositiveDefinite => Err(LinearError::NotPositiveDefinite {
                solver: "sparse Cholesky",
                found: "a pivot is not positive; the matrix is not positive definite, or not finite",
            }),
        }
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        z.copy_from_slice(r);
        if let Some(factor) = &mut self.factor {
            factor.solve(z);
        }
    }
}

impl SolverState for CholeskyFactor {
    fn forget(&mut self) {
        if let Some(factor) = &mut self.factor {
            factor.forget();
        }
    }

    fn bytes(&self) -> usize {
        self.factor.as_ref().map_or(0, Cholesky::bytes)
    }
}
