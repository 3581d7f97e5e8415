//! Rows of equal coefficients share one entry of a table: a boundary has many rows and few kinds of them.

use std::collections::HashMap;

use super::rows::Row;

/// The numbers of one kind of row.
#[derive(Debug, Clone, Copy)]
struct Stencil {
    /// Where its part on the unknowns starts, where that ends and its part on the right-hand side starts, and its end.
    range: [u32; 3],
    scale: f64,
}

/// Kinds of rows.
#[derive(Debug, Default)]
pub(super) struct Stencils {
    stencils: Vec<Stencil>,
    offsets: Vec<i32>,
    coefficients: Vec<f64>,
    narrow: Vec<f32>,
    known: HashMap<Vec<u64>, u32>,
}

impl Stencils {
    /// The index of a row on the unknowns, a row on the right-hand side and a factor.
    pub(super) fn insert(&mut self, unknowns: &Row, known: &Row, scale: f64) -> u32 {
        let mut key = vec![unknowns.entries.len() as u64, scale.to_bits()];
        for &(offset, value) in unknowns.entries.iter().chain(&known.entries) {
            key.extend([offset as u64, value.to_bits()]);
        }
        if let Some(index) = self.known.get(&key) {
            return *index;
        }
        let index = self.stencils.len() as u32;
        self.known.insert(key, index);
        let start = self.offsets.len();
        for &(offset, value) in unknowns.entries.iter().chain(&known.entries) {
            self.offsets.push(offset as i32);
            self.coefficients.push(value);
            self.narrow.push(value as f32);
        }
        let range = [start, start + unknowns.entries.len(), self.offsets.len()].map(|x| x as u32);
        self.stencils.push(Stencil { range, scale });
        index
    }

    /// Forgets what is only needed to insert more.
    pub(super) fn close(&mut self) {
        self.known = HashMap::new();
    }

    /// The factor of a kind.
    #[inline]
    pub(super) fn scale(&self, index: u32) -> f32 {
        self.stencils[index as usize].scale as f32
    }

    /// The part on the unknowns.
    #[inline]
    pub(super) fn unknowns(&self, index: u32) -> (&[i32], &[f32]) {
        let [start, end, _] = self.stencils[index as usize].range.map(|x| x as usize);
        (&self.offsets[start..end], &self.narrow[start..end])
    }

    /// The part on the unknowns in double precision.
    #[inline]
    pub(super) fn wide_unknowns(&self, index: u32) -> (&[i32], &[f64]) {
        let [start, end, _] = self.stencils[index as usize].range.map(|x| x as usize);
        (&self.offsets[start..end], &self.coefficients[start..end])
    }

    /// The part on the right-hand side.
    #[inline]
    pub(super) fn known(&self, index: u32) -> (&[i32], &[f32]) {
        let [_, start, end] = self.stencils[index as usize].range.map(|x| x as usize);
        (&self.offsets[start..end], &self.narrow[start..end])
    }

    /// Number of kinds.
    pub(super) fn len(&self) -> usize {
        self.stencils.len()
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.offsets.len() * 16 + self.stencils.len() * size_of::<Stencil>()
    }
}

/// A part of a stencil applied at a cell.
#[inline]
pub(super) fn apply((offsets, coefficients): (&[i32], &[f32]), field: &[f32], cell: u32) -> f32 {
    let mut sum = 0.0;
    for (&offset, &value) in offsets.iter().zip(coefficients) {
        sum += value * field[(cell as i32 + offset) as usize];
    }
    sum
}

/// A part of a stencil applied at a cell, in double precision.
#[inline]
pub(super) fn apply_wide<T: Copy + Into<f64>>(
    (offsets, coefficients): (&[i32], &[f64]),
    field: &[T],
    cell: u32,
) -> f64 {
    let mut sum = 0.0;
    for (&offset, &value) in offsets.iter().zip(coefficients) {
        sum += value * field[(cell as i32 + offset) as usize].into();
    }
    sum
}

/// Cells whose entries of one field have rows of the table.
#[derive(Debug, Default, Clone)]
pub(super) struct RowList {
    /// The cells, ascending.
    pub(super) cells: Vec<u32>,
    /// The kind of each row.
    pub(super) kinds: Vec<u32>,
}

impl RowList {
    pub(super) fn push(&mut self, cell: usize, kind: u32) {
        self.cells.push(cell as u32);
        self.kinds.push(kind);
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.cells.iter().copied().zip(self.kinds.iter().copied())
    }

    /// The rows of cells in a range.
    pub(super) fn within(&self, cells: std::ops::Range<usize>) -> impl Iterator<Item = (u32, u32)> + '_ {
        let start = self.cells.partition_point(|c| (*c as usize) < cells.start);
        let end = self.cells.partition_point(|c| (*c as usize) < cells.end);
        self.cells[start..end].iter().copied().zip(self.kinds[start..end].iter().copied())
    }

    pub(super) fn bytes(&self) -> usize {
        self.len() * 8
    }
}
