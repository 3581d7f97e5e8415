//! Block Jacobi: the inverses of the 3x3 diagonal blocks. The simplest preconditioner; the baseline of
//! Wu 2022 (figures 18 to 20) and Xian 2019 (figure 12).

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::matrix::pivot;
use crate::vectors::CHUNK;
use crate::{BlockMatrix, LinearError, LinearOperator, Preconditioner, SolverState};

/// The inverted diagonal blocks.
#[derive(Debug, Clone, Default)]
pub struct BlockJacobi {
    inverses: Vec<DMat3>,
}

impl BlockJacobi {
    /// The inverted diagonal blocks of the last matrix.
    pub fn inverses(&self) -> &[DMat3] {
        &self.inverses
    }
}

impl Preconditioner for BlockJacobi {
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), LinearError> {
        self.inverses.resize(operator.unknowns(), DMat3::ZERO);
        operator.diagonal(&mut self.inverses);
        match first_without(&mut self.inverses) {
            Some(row) => Err(LinearError::IndefiniteDiagonal { row }),
            None => Ok(()),
        }
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        let parts = z.par_chunks_mut(CHUNK).zip(r.par_chunks(CHUNK)).zip(self.inverses.par_chunks(CHUNK));
        parts.for_each(|((z, r), inverses)| {
            for (z, (r, inverse)) in z.iter_mut().zip(r.iter().zip(inverses)) {
                *z = *inverse * *r;
            }
        });
    }
}

impl SolverState for BlockJacobi {
    fn bytes(&self) -> usize {
        72 * self.inverses.len()
    }
}

/// Inverts in place; returns the first block without an inverse.
fn first_without(blocks: &mut [DMat3]) -> Option<usize> {
    let invert = |(chunk, blocks): (usize, &mut [DMat3])| {
        let mut bad = None;
        for (i, block) in blocks.iter_mut().enumerate() {
            *block = pivot::inverse(block).unwrap_or_else(|| {
                bad = bad.or(Some(chunk * CHUNK + i));
                DMat3::IDENTITY
            });
        }
        bad
    };
    blocks.par_chunks_mut(CHUNK).enumerate().filter_map(invert).min()
}

/// The error about a domain whose matrix cannot be inverted, found at the node `row`: its own block may be fine.
pub(crate) fn domain_not_definite(matrix: &BlockMatrix, row: usize) -> LinearError {
    match pivot::inverse(&matrix.diagonal_block(row)) {
        None => LinearError::IndefiniteDiagonal { row },
        Some(_) => LinearError::IndefiniteDomain { row },
    }
}
