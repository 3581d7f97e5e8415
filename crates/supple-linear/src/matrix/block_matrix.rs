//! A symmetric matrix of 3x3 blocks. The sparsity is analysed once and stored by full rows, so that products read
//! memory in order and every row is computed by one thread; the numbers are refilled in each iteration.
//!
//! Pairs of unknowns outside the analysed sparsity, which contacts create from step to step, are stored in a separate
//! list (Wu 2022, section 4.2) instead of triggering a new analysis.

use std::borrow::Cow;
use std::sync::Arc;

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use crate::LinearOperator;
use crate::matrix::extra_rows::ExtraRows;
use crate::matrix::point_hessians::PointHessians;
use crate::ordering::node_order::CouplingGraph;
use supple_core::state_words as words;

/// The sparsity pattern. Hard-pinned vertices have no row: they are not unknowns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockPattern {
    unknown_of_vertex: Vec<u32>,
    row_starts: Vec<usize>,
    columns: Vec<u32>,
    /// The slot of each row's diagonal block.
    diagonal: Vec<usize>,
}

const PINNED: u32 = u32::MAX;

/// Rows per task.
const ROWS: usize = 512;

impl BlockPattern {
    /// A hash of the block positions, in two words.
    fn hash(&self) -> [u32; 2] {
        let mut hash = Xxh3::new();
        self.row_starts.iter().for_each(|start| hash.update(&(*start as u64).to_le_bytes()));
        self.columns.iter().for_each(|column| hash.update(&column.to_le_bytes()));
        let hash = hash.digest();
        [hash as u32, (hash >> 32) as u32]
    }

    /// The pattern of a system with one unknown 3-vector per vertex that is not `pinned`, coupled by `pairs` of
    /// vertices (in any order, repeats allowed).
    pub fn new(pinned: &[bool], pairs: &[[u32; 2]]) -> Self {
        let mut unknown_of_vertex = vec![PINNED; pinned.len()];
        let mut count = 0;
        for (unknown, _) in unknown_of_vertex.iter_mut().zip(pinned).filter(|(_, pinned)| !**pinned) {
            *unknown = count;
            count += 1;
        }
        let unknowns = |pair: &[u32; 2]| {
            let [i, j] = pair.map(|v| unknown_of_vertex[v as usize]);
            (i != PINNED && j != PINNED && i != j).then_some([i as usize, j as usize])
        };
        let mut starts = vec![0; count as usize + 1];
        for [i, j] in pairs.iter().filter_map(unknowns) {
            starts[i + 1] += 1;
            starts[j + 1] += 1;
        }
        for i in 0..count as usize {
            starts[i + 1] += starts[i] + 1;
        }
        let mut columns = vec![0; starts[count as usize]];
        let mut next = starts.clone();
        let mut put = |i: usize, j: usize| {
            columns[next[i]] = j as u32;
            next[i] += 1;
        };
        (0..count as usize).for_each(|i| put(i, i));
        for [i, j] in pairs.iter().filter_map(unknowns) {
            put(i, j);
            put(j, i);
        }
        Self::without_repeats(unknown_of_vertex, &starts, &mut columns)
    }

    fn without_repeats(unknown_of_vertex: Vec<u32>, starts: &[usize], columns: &mut [u32]) -> Self {
        let count = starts.len() - 1;
        let mut rows: Vec<&mut [u32]> = Vec::with_capacity(count);
        let mut rest = columns;
        for i in 0..count {
            let (row, later) = rest.split_at_mut(starts[i + 1] - starts[i]);
            rows.push(row);
            rest = later;
        }
        rows.par_iter_mut().with_min_len(ROWS).for_each(|row| row.sort_unstable());
        let mut pattern =
            Self { unknown_of_vertex, row_starts: vec![0], columns: Vec::new(), diagonal: Vec::new() };
        for (i, row) in rows.iter().enumerate() {
            for &column in row.chunk_by(|a, b| a == b).map(|same| &same[0]) {
                if column as usize == i {
                    pattern.diagonal.push(pattern.columns.len());
                }
                pattern.columns.push(column);
            }
            pattern.row_starts.push(pattern.columns.len());
        }
        pattern
    }

    /// The number of unknown 3-vectors: block rows and columns.
    pub fn unknowns(&self) -> usize {
        self.diagonal.len()
    }

    /// The number of vertices, including pinned ones.
    pub fn vertices(&self) -> usize {
        self.unknown_of_vertex.len()
    }

    /// The number of stored blocks.
    pub fn block_count(&self) -> usize {
        self.columns.len()
    }

    /// The block row of a vertex, `None` if it is pinned.
    pub fn unknown(&self, vertex: u32) -> Option<usize> {
        let unknown = self.unknown_of_vertex[vertex as usize];
        (unknown != PINNED).then_some(unknown as usize)
    }

    /// The columns of row `i`, ascending, with the slot of the first.
    pub fn row(&self, i: usize) -> (usize, &[u32]) {
        let range = self.row_starts[i]..self.row_starts[i + 1];
        (range.start, &self.columns[range])
    }

    /// The coupling graph; every unknown is also coupled with itself.
    pub fn graph(&self) -> CouplingGraph<'_> {
        CouplingGraph::new(&self.row_starts, &self.columns)
    }

    /// The slot of the diagonal block of row `i`.
    pub fn diagonal_slot(&self, i: usize) -> usize {
        self.diagonal[i]
    }

    /// The slot of the block at (row, column), `None` if it lies outside the pattern.
    pub fn slot(&self, row: usize, column: usize) -> Option<usize> {
        let (start, columns) = self.row(row);
        columns.binary_search(&(column as u32)).ok().map(|place| start + place)
    }

    /// Whether another pattern is this one, or has the same couplings.
    pub fn is_same(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(self, other) || self == other
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        4 * (self.unknown_of_vertex.len() + self.columns.len())
            + 8 * (self.row_starts.len() + self.diagonal.len())
    }
}

/// A block outside the pattern: at (row, column), its transpose at (column, row).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExtraBlock {
    /// Block row.
    pub row: u32,
    /// Block column, different from the row.
    pub column: u32,
    /// The numbers.
    pub block: DMat3,
}

/// The numbers on a [`BlockPattern`].
#[derive(Debug, Clone)]
pub struct BlockMatrix {
    pattern: Arc<BlockPattern>,
    blocks: Vec<DMat3>,
    outside: Vec<ExtraBlock>,
    /// The same by rows, if they have been gathered.
    outside_rows: ExtraRows,
}

impl BlockMatrix {
    /// The zero matrix on a pattern.
    pub fn zero(pattern: Arc<BlockPattern>) -> Self {
        let blocks = vec![DMat3::ZERO; pattern.block_count()];
        Self { pattern, blocks, outside: Vec::new(), outside_rows: ExtraRows::default() }
    }

    /// Its pattern.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// The stored blocks, row by row.
    pub fn blocks(&self) -> &[DMat3] {
        &self.blocks
    }

    /// The stored blocks for filling in. The caller must write the transpose of (i, j) at (j, i).
    pub fn blocks_mut(&mut self) -> &mut [DMat3] {
        &mut self.blocks
    }

    /// The blocks outside the pattern, in insertion order.
    pub fn outside(&self) -> &[ExtraBlock] {
        &self.outside
    }

    /// Sets every block to zero and removes those outside the pattern.
    pub fn clear(&mut self) {
        self.blocks.fill(DMat3::ZERO);
        self.outside.clear();
        self.outside_rows.clear();
    }

    /// Adds sums over material points, on all threads.
    pub fn add_points(&mut self, sums: &mut PointHessians) {
        if !sums.is_empty() {
            self.outside_rows.clear();
            sums.add_to(&self.pattern, &mut self.blocks, &mut self.outside);
        }
    }

    /// Gathers the blocks outside the pattern into rows, once all have been added: this speeds up products.
    pub fn gather_extra_blocks(&mut self) {
        self.outside_rows.gather(self.pattern.unknowns(), &self.outside);
    }

    /// The blocks outside the pattern by rows.
    pub fn outside_rows(&self) -> Cow<'_, ExtraRows> {
        if self.outside_rows.is_empty() && !self.outside.is_empty() {
            let mut rows = ExtraRows::default();
            rows.gather(self.pattern.unknowns(), &self.outside);
            return Cow::Owned(rows);
        }
        Cow::Borrowed(&self.outside_rows)
    }

    /// The diagonal block of row `i`.
    pub fn diagonal_block(&self, i: usize) -> DMat3 {
        self.blocks[self.pattern.diagonal[i]]
    }

    /// The first block row in the pattern with a number that is not finite.
    pub fn first_row_not_finite(&self) -> Option<usize> {
        (0..self.pattern.unknowns()).into_par_iter().with_min_len(ROWS).find_first(|&i| {
            let (start, columns) = self.pattern.row(i);
            !self.blocks[start..start + columns.len()].iter().all(DMat3::is_finite)
        })
    }

    /// Adds to the diagonal block of a vertex; does nothing if it is pinned.
    pub fn add_diagonal(&mut self, vertex: u32, block: DMat3) {
        if let Some(i) = self.pattern.unknown(vertex) {
            self.blocks[self.pattern.diagonal[i]] += block;
        }
    }

    /// Adds `block` at (a, b) and its transpose at (b, a), for two different vertices; does nothing if one is pinned.
    pub fn add_pair(&mut self, a: u32, b: u32, block: DMat3) {
        let (Some(i), Some(j)) = (self.pattern.unknown(a), self.pattern.unknown(b)) else { return };
        match (self.pattern.slot(i, j), self.pattern.slot(j, i)) {
            (Some(here), Some(mirrored)) => {
                self.blocks[here] += block;
                self.blocks[mirrored] += block.transpose();
            }
            _ => self.push_outside(i as u32, j as u32, block),
        }
    }

    /// Adds a block outside the pattern.
    pub fn push_outside(&mut self, row: u32, column: u32, block: DMat3) {
        self.outside_rows.clear();
        self.outside.push(ExtraBlock { row, column, block });
    }

    /// The largest number on the diagonal.
    pub fn largest_diagonal(&self) -> f64 {
        let largest = |i: usize| self.diagonal_block(i).to_cols_array().into_iter().fold(0.0, f64::max);
        (0..self.pattern.unknowns()).map(largest).fold(0.0, f64::max)
    }

    /// Adds `shift` times the identity.
    pub fn shift_diagonal(&mut self, shift: f64) {
        for &slot in &self.pattern.diagonal {
            self.blocks[slot] += DMat3::from_diagonal(DVec3::splat(shift));
        }
    }

    /// The same matrix with the blocks outside the pattern merged into a new pattern, for solvers that need all
    /// couplings by rows. `None` if there are none.
    pub fn with_outside_merged(&self) -> Option<Self> {
        if self.outside.is_empty() {
            return None;
        }
        let inside = (0..self.pattern.unknowns()).flat_map(|i| {
            let (_, columns) = self.pattern.row(i);
            columns.iter().filter(move |&&j| (j as usize) < i).map(move |&j| [i as u32, j])
        });
        let pairs: Vec<_> = inside.chain(self.outside.iter().map(|o| [o.row, o.column])).collect();
        let mut merged =
            Self::zero(Arc::new(BlockPattern::new(&vec![false; self.pattern.unknowns()], &pairs)));
        for i in 0..self.pattern.unknowns() {
            let (start, columns) = self.pattern.row(i);
            for (&j, block) in columns.iter().zip(&self.blocks[start..]) {
                let slot =
                    merged.pattern.slot(i, j as usize).expect("the merged pattern contains every pair");
                merged.blocks[slot] = *block;
            }
        }
        self.outside.iter().for_each(|o| merged.add_pair(o.row, o.column, o.block));
        Some(merged)
    }

    /// Adds the Hessian of a material point, given by vertices and weights.
    pub fn add_point(&mut self, point: &[(u32, f64)], block: DMat3) {
        for (i, &(a, wa)) in point.iter().enumerate() {
            self.add_diagonal(a, wa * wa * block);
            point[..i].iter().for_each(|&(b, wb)| self.add_pair(a, b, wa * wb * block));
        }
    }

    /// Copies the numbers of a matrix on the same pattern, without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.blocks.clone_from(&other.blocks);
        self.outside.clone_from(&other.outside);
        self.outside_rows.clear();
    }

    /// Adds its numbers to the words of a checkpoint, and a hash of the pattern, which is stored elsewhere.
    pub fn save(&self, words: &mut Vec<u32>) {
        let block = |words: &mut Vec<u32>, block: &DMat3| {
            block.to_cols_array().into_iter().for_each(|number| words::push(words, number));
        };
        words.extend([self.blocks.len() as u32, self.outside.len() as u32]);
        words.extend(self.pattern.hash());
        self.blocks.iter().for_each(|stored| block(words, stored));
        for outside in &self.outside {
            words.extend([outside.row, outside.column]);
            block(words, &outside.block);
        }
    }

    /// Restores the numbers saved from a matrix on the same pattern; `None` if the pattern differs.
    pub fn restore(&mut self, saved: &[u32]) -> Option<()> {
        let (&[blocks, more, ref hash @ ..], rest) = saved.split_first_chunk::<4>()?;
        let whole = 18 * blocks as usize + 20 * more as usize == rest.len();
        if blocks as usize != self.blocks.len() || *hash != self.pattern.hash() || !whole {
            return None;
        }
        let (inside, outside) = rest.split_at(18 * blocks as usize);
        let (inside, outside) = (inside.as_chunks::<18>().0, outside.as_chunks::<20>().0);
        self.clear();
        let block = |words: &[u32]| DMat3::from_cols_array(&words::numbers(words));
        self.blocks.iter_mut().zip(inside).for_each(|(stored, words)| *stored = block(words));
        let unknowns = self.pattern.unknowns() as u32;
        for &[row, column, ref words @ ..] in outside {
            if row.max(column) >= unknowns || row == column {
                return None;
            }
            self.push_outside(row, column, block(words));
        }
        Some(())
    }

    /// The product with a vector of unknowns.
    pub fn multiply(&self, x: &[DVec3]) -> Vec<DVec3> {
        let mut y = vec![DVec3::ZERO; x.len()];
        self.apply(x, &mut y);
        y
    }

    fn row_product(&self, i: usize, x: &[DVec3]) -> DVec3 {
        let (start, columns) = self.pattern.row(i);
        let blocks = &self.blocks[start..start + columns.len()];
        blocks.iter().zip(columns).fold(DVec3::ZERO, |sum, (block, &j)| sum + *block * x[j as usize])
    }
}

impl LinearOperator for BlockMatrix {
    fn unknowns(&self) -> usize {
        self.pattern.unknowns()
    }

    fn apply(&self, x: &[DVec3], y: &mut [DVec3]) {
        let gathered = !self.outside_rows.is_empty();
        y.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, part)| {
            for (i, value) in (chunk * ROWS..).zip(part) {
                *value = self.row_product(i, x);
                if gathered {
                    *value += self.outside_rows.row_product(i, x);
                }
            }
        });
        if gathered {
            return;
        }
        for ExtraBlock { row, column, block } in &self.outside {
            y[*row as usize] += *block * x[*column as usize];
            y[*column as usize] += block.transpose() * x[*row as usize];
        }
    }

    fn diagonal(&self, diagonal: &mut [DMat3]) {
        for (block, &slot) in diagonal.iter_mut().zip(&self.pattern.diagonal) {
            *block = self.blocks[slot];
        }
    }

    fn blocks(&self) -> Option<&BlockMatrix> {
        Some(self)
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
        assert_eq!(pattern.row(0), (0, &[0, 1][..]));
        assert_eq!(pattern.row(1), (2, &[0, 1][..]));
        assert_eq!((pattern.diagonal_slot(0), pattern.diagonal_slot(1)), (0, 3));
    }

    #[test]
    fn product_is_that_of_the_full_symmetric_matrix_inside_and_outside_the_pattern() {
        let block = DMat3::from_cols_array(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0]);
        let x = [DVec3::new(1.0, -2.0, 0.5), DVec3::new(0.0, 3.0, 1.0), DVec3::new(-1.0, 1.0, 2.0)];
        let expected = [
            block * x[2],
            x[1] + 2.0 * block.transpose() * x[2],
            block.transpose() * x[0] + 2.0 * block * x[1],
        ];
        for pairs in [&[[2, 0], [1, 2]][..], &[[1, 2]]] {
            let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&[false; 3], pairs)));
            matrix.add_pair(0, 2, block);
            matrix.add_pair(2, 1, 2.0 * block);
            matrix.add_diagonal(1, DMat3::IDENTITY);
            assert_eq!(matrix.outside().len(), 2 - pairs.len());
            assert_eq!(matrix.multiply(&x), expected);
        }
    }
}
