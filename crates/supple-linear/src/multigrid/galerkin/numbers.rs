//! The numbers of a level's matrix. Two functions are coupled by a 3x3 block, or by one number that represents a
//! multiple of the identity.
//!
//! The matrices of projective dynamics only have such numbers, and so do all coarse matrices: `Uᵀ (a ⊗ I₃) U = (UᵀaU)
//! ⊗ I₃`, since the functions of a node do not mix directions. Stored as numbers, every level is a ninth as large,
//! and its three directions are three right-hand sides of one matrix.

use crate::BlockPattern;

/// A matrix by blocks of its pattern. A block is stored as `[f][e][g]`: functions of the row, entries of their 3x3
/// blocks by columns, functions of the column. So a block of vertices is a plain 3x3 matrix, and the four functions
/// of a coarse node fill a register.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    /// How many unknowns of each function are coupled: 3, or 1 if directions are separate right-hand sides.
    pub width: usize,
    /// Functions per node.
    pub functions: usize,
    pub pattern: &'a BlockPattern,
    pub entries: &'a [f64],
}

impl<'a> Numbers<'a> {
    /// The entries at a slot of the pattern.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn at(&self, slot: usize) -> &'a [f64] {
        let size = (self.width * self.functions).pow(2);
        &self.entries[slot * size..][..size]
    }

    /// The number of a slot's block at a row and a column within the block.
    pub(super) fn entry(&self, slot: usize, row: usize, column: usize) -> f64 {
        let [f, g] = [row / self.width, column / self.width];
        let [r, c] = [row % self.width, column % self.width];
        self.at(slot)[((f * self.width + c) * self.width + r) * self.functions + g]
    }

    /// The numbers of a row of blocks.
    pub(super) fn row(&self, i: usize) -> &'a [f64] {
        let (start, columns) = self.pattern.row(i);
        let size = (self.width * self.functions).pow(2);
        &self.entries[start * size..][..columns.len() * size]
    }

    /// The largest number on the diagonal of a vertex's own block.
    pub(super) fn largest(&self, vertex: usize) -> f64 {
        let block = self.at(self.pattern.diagonal_slot(vertex));
        block.iter().step_by(self.width + 1).copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Numbers per function in the vectors of a level: the three directions, and if they are not coupled one more that
/// stays zero, so that together they fill a register.
pub(super) fn stride(width: usize) -> usize {
    if width == 3 { 3 } else { 4 }
}
