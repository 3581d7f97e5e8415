//! Sums over material points, `Σ_p w_p w_pᵀ ⊗ B_p`, added to a matrix row by row: every row is summed by one thread,
//! in the order of the points, so no locks are needed and the result is bit-identical for any number of threads.
//! Couplings outside the matrix's pattern are produced once each, no matter how many points contribute.

use glam::DMat3;

use crate::matrix::block_matrix::{BlockPattern, ExtraBlock};

/// Points as vertices and weights, each with a symmetric 3x3 block.
#[derive(Debug, Clone, Default)]
pub struct PointHessians {
    starts: Vec<u32>,
    members: Vec<(u32, f64)>,
    blocks: Vec<DMat3>,
    /// The start of each row's part of `in_row`, and the end.
    row_starts: Vec<u32>,
    /// The points of each row with the weight of the row's vertex.
    in_row: Vec<(u32, f64)>,
    /// Couplings outside the pattern, by parts of the rows.
    outside: Vec<RowRange>,
}

/// Couplings of some rows outside the pattern, and a buffer for the sums of one row.
#[derive(Debug, Clone, Default)]
struct RowRange {
    outside: Vec<ExtraBlock>,
    row: Vec<(u32, DMat3)>,
}

/// Rows per task.
const ROWS: usize = 256;

impl PointHessians {
    /// Removes all points.
    pub fn clear(&mut self) {
        self.starts.clear();
        self.members.clear();
        self.blocks.clear();
    }

    /// Adds a point: each vertex occurs once.
    pub fn push(&mut self, point: &[(u32, f64)], block: DMat3) {
        self.starts.push(self.members.len() as u32);
        self.members.extend_from_slice(point);
        self.blocks.push(block);
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    fn members(&self, point: usize) -> &[(u32, f64)] {
        let end = self.starts.get(point + 1).map_or(self.members.len(), |&end| end as usize);
        &self.members[self.starts[point] as usize..end]
    }

    /// Finds the points of each row.
    fn sort_by_row(&mut self, pattern: &BlockPattern) {
        let rows = pattern.unknowns();
        self.row_starts.clear();
        self.row_starts.resize(rows + 1, 0);
        for row in self.members.iter().filter_map(|&(v, _)| pattern.unknown(v)) {
            self.row_starts[row + 1] += 1;
        }
        for row in 0..rows {
            self.row_starts[row + 1] += self.row_starts[row];
        }
        self.in_row.resize(self.row_starts[rows] as usize, (0, 0.0));
        // Filled from the starts, which become the ends; then shifted back.
        for point in 0..self.blocks.len() {
            let end = self.starts.get(point + 1).map_or(self.members.len(), |&end| end as usize);
            for member in self.starts[point] as usize..end {
                let (v, weight) = self.members[member];
                if let Some(row) = pattern.unknown(v) {
                    let place = &mut self.row_starts[row];
                    self.in_row[*place as usize] = (point as u32, weight);
                    *place += 1;
                }
            }
        }
        self.row_starts.copy_within(0..rows, 1);
        self.row_starts[0] = 0;
    }

    /// Adds all to the blocks of a pattern, and couplings outside of it to a list, below the diagonal and sorted.
    pub fn add_to(&mut self, pattern: &BlockPattern, blocks: &mut [DMat3], outside: &mut Vec<ExtraBlock>) {
        self.sort_by_row(pattern);
        let rows = pattern.unknowns();
        let mut parts = std::mem::take(&mut self.outside);
        parts.resize_with(parts.len().max(rows.div_ceil(ROWS)), RowRange::default);
        self.add_rows(pattern, 0, rows, blocks, &mut parts[..rows.div_ceil(ROWS)]);
        for part in &mut parts[..rows.div_ceil(ROWS)] {
            outside.append(&mut part.outside);
        }
        self.outside = parts;
    }

    /// The rows from `first` to `end`, whose blocks are `blocks`.
    fn add_rows(
        &self,
        pattern: &BlockPattern,
        first: usize,
        end: usize,
        blocks: &mut [DMat3],
        parts: &mut [RowRange],
    ) {
        if parts.len() > 1 {
            let (left, right) = parts.split_at_mut(parts.len() / 2);
            let middle = first + ROWS * left.len();
            let (low, high) = blocks.split_at_mut(pattern.row(middle).0 - pattern.row(first).0);
            supple_core::parallel::join(
                || self.add_rows(pattern, first, middle, low, left),
                || self.add_rows(pattern, middle, end, high, right),
            );
            return;
        }
        let [part] = parts else { return };
        let begin = if first < end { pattern.row(first).0 } else { 0 };
        for row in first..end {
            self.sum_row(pattern, row, &mut part.row);
            for &(column, sum) in &part.row {
                match pattern.slot(row, column as usize) {
                    Some(slot) => blocks[slot - begin] += sum,
                    None if (column as usize) < row => {
                        part.outside.push(ExtraBlock { row: row as u32, column, block: sum });
                    }
                    None => {}
                }
            }
        }
    }

    /// The columns of a row with their sums, sorted.
    fn sum_row(&self, pattern: &BlockPattern, row: usize, sums: &mut Vec<(u32, DMat3)>) {
        sums.clear();
        let range = self.row_starts[row] as usize..self.row_starts[row + 1] as usize;
        for &(point, own) in &self.in_row[range] {
            let block = self.blocks[point as usize];
            for &(v, weight) in self.members(point as usize) {
                let Some(column) = pattern.unknown(v).map(|column| column as u32) else { continue };
                // The product of weights first: bit-identical on both sides of the diagonal.
                let part = (own * weight) * block;
                match sums.iter_mut().find(|(known, _)| *known == column) {
                    Some((_, sum)) => *sum += part,
                    None => sums.push((column, part)),
                }
            }
        }
        sums.sort_unstable_by_key(|(column, _)| *column);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::DVec3;
    use proptest::prelude::*;

    use super::*;
    use crate::matrix::block_matrix::BlockMatrix;

    proptest! {
        #[test]
        fn sums_by_rows_are_those_by_points(
            points in prop::collection::vec(
                (prop::collection::btree_map(0u32..700, -1.0..1.0f64, 1..6), prop::array::uniform3(-1.0..1.0f64)), 0..60),
            pairs in prop::collection::vec([0u32..700, 0u32..700], 0..200),
            pinned in prop::collection::vec(0usize..700, 0..5),
        ) {
            let mut is_pinned = vec![false; 700];
            pinned.iter().for_each(|&v| is_pinned[v] = true);
            let pattern = Arc::new(BlockPattern::new(&is_pinned, &pairs));
            let (mut by_rows, mut by_points) = (BlockMatrix::zero(pattern.clone()), BlockMatrix::zero(pattern.clone()));
            let mut sums = PointHessians::default();
            for (point, n) in &points {
                let n = DVec3::from(*n);
                let block = DMat3::from_cols(n * n.x, n * n.y, n * n.z);
                let point: Vec<(u32, f64)> = point.iter().map(|(v, w)| (*v, *w)).collect();
                sums.push(&point, block);
                for (i, &(a, wa)) in point.iter().enumerate() {
                    by_points.add_diagonal(a, wa * wa * block);
                    point[..i].iter().for_each(|&(b, wb)| by_points.add_pair(a, b, wa * wb * block));
                }
            }
            by_rows.add_points(&mut sums);
            let distinct = by_rows.outside().windows(2).all(|o| (o[0].row, o[0].column) < (o[1].row, o[1].column));
            prop_assert!(distinct);
            let x: Vec<DVec3> = (0..pattern.unknowns()).map(|i| DVec3::new(1.0, (i as f64).sin(), 0.5)).collect();
            let expected = by_points.multiply(&x);
            let far = |y: Vec<DVec3>| y.iter().zip(&expected).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            prop_assert!(far(by_rows.multiply(&x)) < 1e-12);
            by_rows.gather_extra_blocks();
            prop_assert!(far(by_rows.multiply(&x)) < 1e-12);
        }
    }
}
