//! Detection of matrix rows that have changed since the last update (Xian 2019, section 4.3: attachments and contacts
//! change a few). Rows are compared by 64-bit hashes of their bits, eight bytes per row instead of a second copy of
//! the matrix.
//!
//! Under Newton's method all rows change every time. A few sampled rows show this before the others are hashed.

use supple_core::parallel::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::numbers::Numbers;

/// Number of rows sampled first.
const SAMPLE: usize = 64;
/// If more than one row in this many has changed, a full update is as fast.
const FEW: usize = 8;

/// What has changed since the last update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Changes {
    /// Perhaps everything.
    All,
    /// These rows, ascending.
    Rows(Vec<u32>),
}

impl Changes {
    /// The changes on the next coarser level of `count` nodes.
    pub(super) fn of_parents(self, parents: &[u32], count: usize) -> Self {
        let Self::Rows(rows) = self else { return Self::All };
        let mut parents: Vec<u32> = rows.iter().map(|&row| parents[row as usize]).collect();
        parents.sort_unstable();
        parents.dedup();
        if parents.len() == count { Self::All } else { Self::Rows(parents) }
    }

    /// Whether a row may have changed.
    pub(super) fn include(&self, row: usize) -> bool {
        match self {
            Self::All => true,
            Self::Rows(rows) => rows.binary_search(&(row as u32)).is_ok(),
        }
    }

    /// Whether there is nothing to do.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Rows(rows) if rows.is_empty())
    }
}

/// The rows of the last matrix by their hashes.
#[derive(Debug, Clone, Default)]
pub(super) struct Fingerprint {
    sample: Vec<u64>,
    /// Of all rows, or of none while everything changes.
    rows: Vec<u64>,
}

impl Fingerprint {
    /// The changes since the last call, on the same pattern.
    pub(super) fn changes(&mut self, matrix: Numbers<'_>) -> Changes {
        let unknowns = matrix.pattern.unknowns();
        let hash = |row: usize| xxh3_64(bytemuck::cast_slice(matrix.row(row)));
        let sample: Vec<u64> = (0..unknowns).step_by(unknowns.div_ceil(SAMPLE).max(1)).map(hash).collect();
        let before = std::mem::replace(&mut self.sample, sample);
        if !before.iter().zip(&self.sample).any(|(old, new)| old == new) {
            self.rows.clear();
            return Changes::All;
        }
        let rows: Vec<u64> = (0..unknowns).into_par_iter().with_min_len(512).map(hash).collect();
        let before = std::mem::replace(&mut self.rows, rows);
        let pairs = before.iter().zip(&self.rows).zip(0..);
        let changed: Vec<u32> = pairs.filter(|((old, new), _)| old != new).map(|(_, row)| row).collect();
        if before.len() != unknowns || FEW * changed.len() > unknowns {
            Changes::All
        } else {
            Changes::Rows(changed)
        }
    }

    /// Forgets the last matrix, which was not applied completely.
    pub(super) fn forget(&mut self) {
        self.sample.clear();
        self.rows.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        8 * (self.sample.len() + self.rows.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::DMat3;

    use super::*;
    use crate::{BlockMatrix, BlockPattern};

    fn chain(nodes: u32) -> BlockMatrix {
        let pairs: Vec<[u32; 2]> = (1..nodes).map(|v| [v - 1, v]).collect();
        let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; nodes as usize], &pairs)));
        (0..nodes).for_each(|v| matrix.add_diagonal(v, f64::from(2 + v) * DMat3::IDENTITY));
        matrix
    }

    fn changes(fingerprint: &mut Fingerprint, matrix: &BlockMatrix) -> Changes {
        let entries = bytemuck::cast_slice(matrix.blocks());
        let numbers = Numbers { width: 3, functions: 1, pattern: matrix.pattern(), entries };
        fingerprint.changes(numbers)
    }

    #[test]
    fn only_rows_with_other_numbers_have_changed() {
        let mut matrix = chain(1000);
        let mut fingerprint = Fingerprint::default();
        assert_eq!(changes(&mut fingerprint, &matrix), Changes::All);
        // The first matrix that resembles the previous one is hashed completely.
        matrix.add_diagonal(500, DMat3::IDENTITY);
        assert_eq!(changes(&mut fingerprint, &matrix), Changes::All);
        assert!(changes(&mut fingerprint, &matrix).is_nothing());
        matrix.add_diagonal(7, DMat3::IDENTITY);
        matrix.add_pair(20, 21, DMat3::IDENTITY);
        assert_eq!(changes(&mut fingerprint, &matrix), Changes::Rows(vec![7, 20, 21]));
        let parents: Vec<u32> = (0..1000).map(|v| v / 20).collect();
        let coarse = Changes::Rows(vec![7, 20, 21]).of_parents(&parents, 50);
        assert_eq!(coarse, Changes::Rows(vec![0, 1]));
    }

    #[test]
    fn a_matrix_that_comes_back_after_another_has_changed_everywhere() {
        let (matrix, mut other) = (chain(300), chain(300));
        other.shift_diagonal(0.5);
        let mut fingerprint = Fingerprint::default();
        for matrix in [&matrix, &matrix, &other, &matrix] {
            assert_eq!(changes(&mut fingerprint, matrix), Changes::All);
        }
        changes(&mut fingerprint, &matrix);
        fingerprint.forget();
        assert_eq!(changes(&mut fingerprint, &matrix), Changes::All);
    }
}
