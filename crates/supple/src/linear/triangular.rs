//! A preconditioner `M = L D Lᵀ` given by its factors, with unit lower block-triangular `L`: incomplete Cholesky and symmetric
//! Gauss-Seidel are both of this form. It is applied in parallel by colours: rows are ordered so that a colour's chunks do
//! not couple with each other (Iwashita, Nakashima, Takahashi 2012, algebraic block multi-colouring), so a solve has as
//! many barriers as colours, and its bits do not depend on threads.
//!
//! `L` is stored in `f32`: its entries are ratios of stiffnesses, and the solve is bound by memory.

use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Which rows may be handled at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schedule {
    /// The node at each place.
    pub order: Vec<u32>,
    /// The place of each node.
    pub place: Vec<u32>,
    /// The first place of every colour, and the end.
    pub colours: Vec<usize>,
    /// Places in a chunk. Within a colour, places of different chunks are not coupled.
    pub chunk: usize,
}

impl Schedule {
    pub(crate) fn new(order: Vec<u32>, colours: Vec<usize>, chunk: usize) -> Self {
        let mut place = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&node, at)| place[node as usize] = at);
        Self { order, place, colours, chunk }
    }

    pub(crate) fn bytes(&self) -> usize {
        8 * (self.order.len() + self.colours.len())
    }
}

/// Blocks by rows; columns are places.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    starts: Vec<usize>,
    columns: Vec<u32>,
    blocks: Vec<[f32; 9]>,
}

impl Default for Rows {
    fn default() -> Self {
        Self { starts: vec![0], columns: Vec::new(), blocks: Vec::new() }
    }
}

impl Rows {
    pub(super) fn clear(&mut self) {
        self.starts.truncate(1);
        self.columns.clear();
        self.blocks.clear();
    }

    pub(super) fn push(&mut self, column: u32, block: &DMat3) {
        self.columns.push(column);
        self.blocks.push(narrow(block));
    }

    /// Writes all blocks anew: `block(k)` is the one that was pushed as number `k`.
    pub(super) fn refill(&mut self, block: impl Fn(usize) -> DMat3 + Sync) {
        let blocks = self.blocks.par_iter_mut().enumerate().with_min_len(1024);
        blocks.for_each(|(k, stored)| *stored = narrow(&block(k)));
    }

    pub(super) fn end_row(&mut self) {
        self.starts.push(self.columns.len());
    }

    #[inline]
    fn row(&self, place: usize) -> impl Iterator<Item = (usize, DMat3)> {
        let range = self.starts[place]..self.starts[place + 1];
        let wide = |block: &[f32; 9]| DMat3::from_cols_array(&block.map(f64::from));
        self.columns[range.clone()].iter().map(|&c| c as usize).zip(self.blocks[range].iter().map(wide))
    }

    fn bytes(&self) -> usize {
        8 * self.starts.len() + 40 * self.columns.len()
    }
}

fn narrow(block: &DMat3) -> [f32; 9] {
    block.to_cols_array().map(|e| e as f32)
}

/// The factors.
#[derive(Debug, Clone, Default)]
pub(super) struct Triangular {
    pub schedule: Schedule,
    /// `L` without its diagonal.
    pub lower: Rows,
    /// `Lᵀ` without its diagonal.
    pub upper: Rows,
    /// `D⁻¹`.
    pub pivots: Vec<DMat3>,
    y: Vec<DVec3>,
}

impl Triangular {
    /// Forgets the factors, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.lower.clear();
        self.upper.clear();
        self.pivots.clear();
    }

    /// `z = (L D Lᵀ)⁻¹ r`.
    pub(super) fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        self.y.resize(r.len(), DVec3::ZERO);
        let Self { schedule, lower, upper, pivots, y } = self;
        for colour in schedule.colours.windows(2) {
            forward(schedule, lower, [colour[0], colour[1]], r, y);
        }
        for colour in schedule.colours.windows(2).rev() {
            backward(schedule.chunk, upper, pivots, [colour[0], colour[1]], y);
        }
        z.par_iter_mut().zip(&schedule.place).with_min_len(4096).for_each(|(z, &p)| *z = y[p as usize]);
    }

    pub(super) fn bytes(&self) -> usize {
        let vectors = 72 * self.pivots.len() + 24 * self.y.len();
        self.schedule.bytes() + self.lower.bytes() + self.upper.bytes() + vectors
    }
}

/// `y = r - L y` on one colour, whose chunks only look back at earlier colours and into themselves.
fn forward(schedule: &Schedule, lower: &Rows, [start, end]: [usize; 2], r: &[DVec3], y: &mut [DVec3]) {
    let (done, rest) = y.split_at_mut(start);
    rest[..end - start].par_chunks_mut(schedule.chunk).enumerate().for_each(|(k, part)| {
        let first = start + k * schedule.chunk;
        for i in 0..part.len() {
            let own = r[schedule.order[first + i] as usize];
            part[i] = lower.row(first + i).fold(own, |sum, (column, block)| {
                sum - block * if column < start { done[column] } else { part[column - first] }
            });
        }
    });
}

/// `y = D⁻¹ y - Lᵀ y` on one colour, whose chunks only look at later colours and into themselves.
fn backward(chunk: usize, upper: &Rows, pivots: &[DMat3], [start, end]: [usize; 2], y: &mut [DVec3]) {
    let (rest, done) = y.split_at_mut(end);
    rest[start..].par_chunks_mut(chunk).enumerate().for_each(|(k, part)| {
        let first = start + k * chunk;
        for i in (0..part.len()).rev() {
            let own = pivots[first + i] * part[i];
            part[i] = upper.row(first + i).fold(own, |sum, (column, block)| {
                sum - block * if column >= end { done[column - end] } else { part[column - first] }
            });
        }
    });
}
