//! A preconditioner `M = L D Lᵀ` given by its factors, with unit lower block-triangular `L`: incomplete Cholesky and
//! symmetric Gauss-Seidel are both of this form. It is applied in parallel by colours: rows are ordered so that a
//! colour's chunks do not couple with each other (Iwashita, Nakashima, Takahashi 2012, algebraic block
//! multi-colouring), so a solve has as many barriers as colours, and is bit-identical for any number of threads.
//!
//! `L` is stored in `f32`: its entries are ratios of stiffnesses, and the solve is bound by memory. Where every block
//! is a multiple of the identity, one number per block is stored, a ninth of the memory.

use std::fmt::Debug;
use std::ops::Mul;

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

/// The order in which rows can be processed in parallel.
#[derive(Debug, Clone, Default)]
pub(crate) struct ColourSchedule {
    /// The node of each slot.
    pub order: Vec<u32>,
    /// The slot of each node.
    pub place: Vec<u32>,
    /// The first slot of every colour, and the end.
    pub colours: Vec<usize>,
    /// Slots per chunk. Within a colour, slots of different chunks are not coupled.
    pub chunk: usize,
}

impl ColourSchedule {
    pub(crate) fn new(order: Vec<u32>, colours: Vec<usize>, chunk: usize) -> Self {
        let mut place = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&node, at)| place[node as usize] = at);
        Self { order, place, colours, chunk }
    }

    pub(crate) fn bytes(&self) -> usize {
        8 * (self.order.len() + self.colours.len())
    }
}

/// A block of a factor: nine numbers, or one for a multiple of the identity.
pub(crate) trait FactorBlock:
    Copy + Debug + Send + Sync + Mul<DVec3, Output = DVec3> + Mul<Self, Output = Self>
{
    /// Its stored form.
    type Stored: Copy + Debug + Send + Sync;
    fn narrow(self) -> Self::Stored;
    fn wide(stored: &Self::Stored) -> Self;
}

impl FactorBlock for DMat3 {
    type Stored = [f32; 9];

    fn narrow(self) -> [f32; 9] {
        self.to_cols_array().map(|e| e as f32)
    }

    #[inline]
    fn wide(stored: &[f32; 9]) -> Self {
        Self::from_cols_array(&stored.map(f64::from))
    }
}

impl FactorBlock for f64 {
    type Stored = f32;

    fn narrow(self) -> f32 {
        self as f32
    }

    #[inline]
    fn wide(stored: &f32) -> Self {
        f64::from(*stored)
    }
}

/// Blocks by rows; columns are slots.
#[derive(Debug, Clone)]
pub(crate) struct FactorRows<B: FactorBlock> {
    starts: Vec<usize>,
    columns: Vec<u32>,
    blocks: Vec<B::Stored>,
}

impl<B: FactorBlock> Default for FactorRows<B> {
    fn default() -> Self {
        Self { starts: vec![0], columns: Vec::new(), blocks: Vec::new() }
    }
}

impl<B: FactorBlock> FactorRows<B> {
    pub(crate) fn clear(&mut self) {
        self.starts.truncate(1);
        self.columns.clear();
        self.blocks.clear();
    }

    pub(crate) fn push(&mut self, column: u32, block: B) {
        self.columns.push(column);
        self.blocks.push(block.narrow());
    }

    /// Overwrites all blocks: `block(k)` is the one that was pushed at index `k`.
    pub(crate) fn refill(&mut self, block: impl Fn(usize) -> B + Sync) {
        let blocks = self.blocks.par_iter_mut().enumerate().with_min_len(1024);
        blocks.for_each(|(k, stored)| *stored = block(k).narrow());
    }

    pub(crate) fn end_row(&mut self) {
        self.starts.push(self.columns.len());
    }

    #[inline]
    fn row(&self, place: usize) -> impl Iterator<Item = (usize, B)> {
        let range = self.starts[place]..self.starts[place + 1];
        self.columns[range.clone()].iter().map(|&c| c as usize).zip(self.blocks[range].iter().map(B::wide))
    }

    fn bytes(&self) -> usize {
        8 * self.starts.len() + (4 + size_of::<B::Stored>()) * self.columns.len()
    }
}

/// The factors.
#[derive(Debug, Clone)]
pub(crate) struct Triangular<B: FactorBlock> {
    pub schedule: ColourSchedule,
    /// `L` without its diagonal.
    pub lower: FactorRows<B>,
    /// `Lᵀ` without its diagonal.
    pub upper: FactorRows<B>,
    /// `D⁻¹`.
    pub pivots: Vec<B>,
    y: Vec<DVec3>,
}

impl<B: FactorBlock> Triangular<B> {
    /// No factors yet.
    pub(crate) fn new(schedule: ColourSchedule) -> Self {
        let (lower, upper) = (FactorRows::default(), FactorRows::default());
        Self { schedule, lower, upper, pivots: Vec::new(), y: Vec::new() }
    }

    /// Clears the factors, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.lower.clear();
        self.upper.clear();
        self.pivots.clear();
    }

    /// `z = (L D Lᵀ)⁻¹ r`.
    pub(crate) fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
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

    pub(crate) fn bytes(&self) -> usize {
        let vectors = size_of::<B>() * self.pivots.len() + 24 * self.y.len();
        self.schedule.bytes() + self.lower.bytes() + self.upper.bytes() + vectors
    }
}

/// `y = r - L y` on one colour, whose chunks only depend on earlier colours and themselves.
fn forward<B: FactorBlock>(
    schedule: &ColourSchedule,
    lower: &FactorRows<B>,
    [start, end]: [usize; 2],
    r: &[DVec3],
    y: &mut [DVec3],
) {
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

/// `y = D⁻¹ y - Lᵀ y` on one colour, whose chunks only depend on later colours and themselves.
fn backward<B: FactorBlock>(
    chunk: usize,
    upper: &FactorRows<B>,
    pivots: &[B],
    [start, end]: [usize; 2],
    y: &mut [DVec3],
) {
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
