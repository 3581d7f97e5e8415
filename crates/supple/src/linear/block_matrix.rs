//! A symmetric matrix of 3x3 blocks, its lower triangle stored by block columns. The sparsity is analysed once; the
//! numbers are filled in anew each iteration.

use std::sync::Arc;

use glam::{DMat3, DVec3};

/// Which blocks of the lower triangle exist. Vertices that are held exactly have no row: they are not unknowns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockPattern {
    unknown_of_vertex: Vec<u32>,
    column_starts: Vec<usize>,
    rows: Vec<u32>,
}

const HELD: u32 = u32::MAX;

impl BlockPattern {
    /// The pattern of a system with one unknown 3-vector for each vertex that is not `held`, coupled by `pairs` of
    /// vertices (in any order, repeats allowed).
    pub fn new(held: &[bool], pairs: &[[u32; 2]]) -> Self {
        let mut unknown_of_vertex = vec![HELD; held.len()];
        let mut count = 0;
        for (unknown, _) in unknown_of_vertex.iter_mut().zip(held).filter(|(_, held)| !**held) {
            *unknown = count;
            count += 1;
        }
        let mut entries: Vec<[u32; 2]> = (0..count).map(|i| [i, i]).collect();
        for pair in pairs {
            let [i, j] = pair.map(|v| unknown_of_vertex[v as usize]);
            if i != HELD && j != HELD && i != j {
                entries.push([i.min(j), i.max(j)]);
            }
        }
        entries.sort_unstable();
        entries.dedup();
        let mut column_starts = vec![0; count as usize + 1];
        for [column, _] in &entries {
            column_starts[*column as usize + 1] += 1;
        }
        for j in 0..count as usize {
            column_starts[j + 1] += column_starts[j];
        }
        Self { unknown_of_vertex, column_starts, rows: entries.into_iter().map(|[_, row]| row).collect() }
    }

    /// The number of unknown 3-vectors: block rows and columns.
    pub fn unknowns(&self) -> usize {
        self.column_starts.len() - 1
    }

    /// The number of stored blocks.
    pub fn block_count(&self) -> usize {
        self.rows.len()
    }

    /// The block row of a vertex, `None` if it is held.
    pub fn unknown(&self, vertex: u32) -> Option<usize> {
        let unknown = self.unknown_of_vertex[vertex as usize];
        (unknown != HELD).then_some(unknown as usize)
    }

    /// The rows of column `j`, ascending from the diagonal, with the slot of the first.
    pub fn column(&self, j: usize) -> (usize, &[u32]) {
        let range = self.column_starts[j]..self.column_starts[j + 1];
        (range.start, &self.rows[range])
    }

    /// Where each column's rows start in [`BlockPattern::rows`].
    pub(super) fn column_starts(&self) -> &[usize] {
        &self.column_starts
    }

    /// The block rows of all columns, one after the other.
    pub(super) fn rows(&self) -> &[u32] {
        &self.rows
    }

    fn slot(&self, row: usize, column: usize) -> usize {
        let (start, rows) = self.column(column);
        let place = rows.binary_search(&(row as u32));
        start + place.expect("a block outside the analysed pattern: an energy under-reported its couplings")
    }
}

/// The numbers on a [`BlockPattern`].
#[derive(Debug, Clone)]
pub struct BlockMatrix {
    pattern: Arc<BlockPattern>,
    blocks: Vec<DMat3>,
}

impl BlockMatrix {
    /// The zero matrix on a pattern.
    pub fn zero(pattern: Arc<BlockPattern>) -> Self {
        let blocks = vec![DMat3::ZERO; pattern.block_count()];
        Self { pattern, blocks }
    }

    /// Its pattern.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// The stored blocks, column by column.
    pub fn blocks(&self) -> &[DMat3] {
        &self.blocks
    }

    /// Sets every block to zero.
    pub fn clear(&mut self) {
        self.blocks.fill(DMat3::ZERO);
    }

    /// Adds to the diagonal block of a vertex; nothing if it is held.
    pub fn add_diagonal(&mut self, vertex: u32, block: DMat3) {
        if let Some(i) = self.pattern.unknown(vertex) {
            let slot = self.pattern.column_starts[i];
            self.blocks[slot] += block;
        }
    }

    /// Adds `block` at (a, b) and its transpose at (b, a), for two different vertices; nothing if one is held.
    pub fn add_pair(&mut self, a: u32, b: u32, block: DMat3) {
        let (Some(i), Some(j)) = (self.pattern.unknown(a), self.pattern.unknown(b)) else { return };
        if i > j {
            let slot = self.pattern.slot(i, j);
            self.blocks[slot] += block;
        } else {
            let slot = self.pattern.slot(j, i);
            self.blocks[slot] += block.transpose();
        }
    }

    /// Adds `shift` times the identity.
    pub fn shift_diagonal(&mut self, shift: f64) {
        for &slot in &self.pattern.column_starts[..self.pattern.unknowns()] {
            self.blocks[slot] += DMat3::from_diagonal(DVec3::splat(shift));
        }
    }

    /// The product with a vector of unknowns.
    pub fn multiply(&self, x: &[DVec3]) -> Vec<DVec3> {
        let mut y = vec![DVec3::ZERO; x.len()];
        for j in 0..self.pattern.unknowns() {
            let (start, rows) = self.pattern.column(j);
            y[j] += self.blocks[start] * x[j];
            for (block, &row) in self.blocks[start + 1..].iter().zip(&rows[1..]) {
                let i = row as usize;
                y[i] += *block * x[j];
                y[j] += block.transpose() * x[i];
            }
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_vertices_have_no_row() {
        let pattern = BlockPattern::new(&[false, true, false], &[[0, 1], [2, 0], [0, 2]]);
        assert_eq!(pattern.unknowns(), 2);
        assert_eq!((pattern.unknown(0), pattern.unknown(1), pattern.unknown(2)), (Some(0), None, Some(1)));
        assert_eq!(pattern.column(0), (0, &[0, 1][..]));
        assert_eq!(pattern.column(1), (2, &[1][..]));
    }

    #[test]
    fn product_is_that_of_the_full_symmetric_matrix() {
        let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&[false; 3], &[[2, 0], [1, 2]])));
        let block = DMat3::from_cols_array(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0]);
        matrix.add_pair(0, 2, block);
        matrix.add_pair(2, 1, 2.0 * block);
        matrix.add_diagonal(1, DMat3::IDENTITY);
        let x = [DVec3::new(1.0, -2.0, 0.5), DVec3::new(0.0, 3.0, 1.0), DVec3::new(-1.0, 1.0, 2.0)];
        let expected = [
            block * x[2],
            x[1] + 2.0 * block.transpose() * x[2],
            block.transpose() * x[0] + 2.0 * block * x[1],
        ];
        assert_eq!(matrix.multiply(&x), expected);
    }
}
