//! The sub-matrices of all domains on all levels (Wu 2022, algorithm 1), and the coarse matrices
//! `A_(l+1) = Cᵀ A_(l) C` they are taken from.
//!
//! A level's rows are read once: blocks inside a domain go to its dense matrix, and all blocks, summed over the nodes
//! of two supernodes, to the next level's rows. Each domain owns the rows of its supernodes, so no locks are needed,
//! and a row can be recomputed without its neighbours.

use glam::DMat3;

use super::inverse::{InverseTile, at};
use super::modes::Modes;
use super::supernodes::SupernodeLevel;
use crate::{BlockMatrix, ExtraRows};
use supple_core::simd::WIDTH;

/// A row of a coarse matrix: its blocks in sequence, each by rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CoarseRow {
    pub columns: Vec<u32>,
    pub blocks: Vec<f64>,
}

impl CoarseRow {
    fn clear(&mut self) {
        self.columns.clear();
        self.blocks.clear();
    }

    /// The block of a column, created as zero if missing.
    fn block(&mut self, column: u32, numbers: usize) -> &mut [f64] {
        let slot = self.columns.iter().position(|&known| known == column).unwrap_or_else(|| {
            self.columns.push(column);
            self.blocks.resize(self.blocks.len() + numbers, 0.0);
            self.columns.len() - 1
        });
        &mut self.blocks[slot * numbers..(slot + 1) * numbers]
    }

    pub(super) fn bytes(&self) -> usize {
        4 * self.columns.len() + 8 * self.blocks.len()
    }
}

/// The rows of a level's matrix.
pub(super) enum LevelRows<'a> {
    /// The finest level's.
    Fine(&'a BlockMatrix, &'a ExtraRows),
    /// A coarser level's, with the unknowns per node.
    Coarse(&'a [CoarseRow], usize),
}

impl LevelRows<'_> {
    /// Unknowns per node.
    pub(super) fn unknowns(&self) -> usize {
        match self {
            Self::Fine(..) => 3,
            Self::Coarse(_, unknowns) => *unknowns,
        }
    }

    /// Calls `take(column, block)` for all blocks of a row; a column may occur repeatedly.
    fn of(&self, node: u32, mut take: impl FnMut(u32, &[f64])) {
        match self {
            Self::Fine(matrix, outside) => {
                let (start, columns) = matrix.pattern().row(node as usize);
                for (&column, block) in columns.iter().zip(&matrix.blocks()[start..]) {
                    take(column, &by_rows(block));
                }
                let (columns, blocks) = outside.row(node as usize);
                for (&column, block) in columns.iter().zip(blocks) {
                    take(column, &by_rows(block));
                }
            }
            Self::Coarse(rows, unknowns) => {
                let row = &rows[node as usize];
                let blocks = row.blocks.chunks_exact(unknowns * unknowns);
                row.columns.iter().zip(blocks).for_each(|(&column, block)| take(column, block));
            }
        }
    }

    /// The dense matrix of a domain as the tiles of its lower triangle.
    pub(super) fn dense(&self, level: &SupernodeLevel, domain: usize, tiles: &mut [InverseTile]) {
        let places = level.places_of(domain);
        let size = self.unknowns();
        for place in places.clone() {
            let first_row = size * (place - places.start);
            self.of(level.order[place], |column, block| {
                let other = level.place[column as usize] as usize;
                if places.contains(&other) && other <= place {
                    add_block(tiles, first_row, size * (other - places.start), block, size);
                }
            });
        }
    }

    /// The rows of a domain's supernodes.
    pub(super) fn coarsen(
        &self,
        level: &SupernodeLevel,
        domain: usize,
        modes: Modes,
        coarse: &mut [CoarseRow],
    ) {
        coarse.iter_mut().for_each(CoarseRow::clear);
        match (self, modes) {
            (_, Modes::Translations) => self.coarsen_with::<3, 3>(level, domain, coarse),
            (Self::Fine(..), Modes::Rigid) => self.coarsen_with::<3, 6>(level, domain, coarse),
            (Self::Coarse(..), Modes::Rigid) => self.coarsen_with::<6, 6>(level, domain, coarse),
            (Self::Fine(..), Modes::Affine) => self.coarsen_with::<3, 12>(level, domain, coarse),
            (Self::Coarse(..), Modes::Affine) => self.coarsen_with::<12, 12>(level, domain, coarse),
        }
    }

    fn coarsen_with<const C: usize, const M: usize>(
        &self,
        level: &SupernodeLevel,
        domain: usize,
        coarse: &mut [CoarseRow],
    ) {
        let first = level.parent_starts[domain];
        let mut sums =
            SupernodeSums::<C, M> { columns: Vec::with_capacity(32), blocks: Vec::with_capacity(32) };
        for place in level.places_of(domain) {
            sums.columns.clear();
            sums.blocks.clear();
            self.of(level.order[place], |column, block| {
                let other = level.place[column as usize] as usize;
                let sum = sums.of(level.parent[other]);
                for (row, sum) in block.as_chunks::<C>().0.iter().zip(sum) {
                    level.parent_weights[other].restrict_add(row, sum);
                }
            });
            let row = &mut coarse[(level.parent[place] - first) as usize];
            for (&column, sum) in sums.columns.iter().zip(&sums.blocks) {
                let (block, _) = row.block(column, M * M).as_chunks_mut::<M>();
                level.parent_weights[place].restrict_rows_add(sum, block);
            }
        }
    }
}

/// A node's row with its columns summed over supernodes: `A C`.
struct SupernodeSums<const C: usize, const M: usize> {
    columns: Vec<u32>,
    blocks: Vec<[[f64; M]; C]>,
}

impl<const C: usize, const M: usize> SupernodeSums<C, M> {
    fn of(&mut self, column: u32) -> &mut [[f64; M]; C] {
        let slot = self.columns.iter().position(|&known| known == column).unwrap_or_else(|| {
            self.columns.push(column);
            self.blocks.push([[0.0; M]; C]);
            self.columns.len() - 1
        });
        &mut self.blocks[slot]
    }
}

fn by_rows(block: &DMat3) -> [f64; 9] {
    block.transpose().to_cols_array()
}

/// Adds a block on the diagonal, or wholly below it, to the lower triangle.
#[inline]
fn add_block(tiles: &mut [InverseTile], row: usize, column: usize, block: &[f64], size: usize) {
    // The columns of a tile row's tiles are consecutive.
    let columns = tiles.as_flattened_mut();
    for (r, values) in block.chunks_exact(size).enumerate() {
        let values = if row == column { &values[..=r] } else { values };
        let (tile_row, lane) = ((row + r) / WIDTH, (row + r) % WIDTH);
        let first = WIDTH * at(tile_row, 0) + column;
        for (lanes, value) in columns[first..].iter_mut().zip(values) {
            lanes.0[lane] += value;
        }
    }
}
