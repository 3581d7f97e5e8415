//! The smoothers of a level (Xian 2019, section 4.5) on a matrix of `W x W` blocks in single precision: coloured symmetric block
//! Gauss-Seidel (Fratarcangeli 2016) and damped block Jacobi, with 3x3 blocks on vertices and 12x12 on coarse nodes.
//!
//! Rows are stored colour by colour; a row's blocks to earlier colours come before those to later ones. A forward
//! sweep stores the contribution of later colours to each row, `U x_old`. The row's own equation was solved exactly
//! when it was visited, so the residual after the sweep is `U x_old - U x_new`: half a product instead of a full one,
//! and a sweep from zero only needs the other half.
//!
//! The damping of Jacobi is `ω = 4 / (3 β)` with the bound `β = max_i Σ_j |D_i⁻¹ A_ij|` on the largest eigenvalue of
//! `D⁻¹ A` (rows' sums of absolute values), so that `ω < 2 / λ_max` is guaranteed, and the smoothing is positive
//! definite.

use supple_core::parallel::prelude::*;

use super::changes::Changes;
use super::fill::{Fill, Part};
use super::numbers::Numbers;
use crate::{BlockPattern, ColourSchedule, Direction, by_colour, colour};
use supple_core::simd::{Kernel, Simd, dispatch};

/// The smoothing iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Smoother {
    /// Coloured symmetric block Gauss-Seidel.
    #[default]
    GaussSeidel,
    /// Block Jacobi, damped as much as the matrix needs.
    Jacobi,
}

/// A block by columns.
pub(super) type Block<const W: usize> = [[f32; W]; W];

/// The numbers per node: `R` right-hand sides.
type Node<const W: usize, const R: usize> = [[f32; R]; W];

/// Minimum number of products per task for a task to pay off.
const TASK: usize = 16 * 1024;

/// A level's matrix of blocks of `W x W`, ordered and stored for sweeps on `R` right-hand sides.
#[derive(Debug, Clone, Default)]
pub(super) struct Relaxation<const W: usize, const R: usize> {
    pub schedule: ColourSchedule,
    smoother: Smoother,
    simd: Simd,
    /// The start of each row's blocks, and the start of those to later colours: `2 k` and `2 k + 1`.
    starts: Vec<usize>,
    /// Slots of the columns.
    columns: Vec<u32>,
    /// Slots of the blocks in the pattern.
    slots: Vec<u32>,
    blocks: Vec<Block<W>>,
    diagonals: Vec<Block<W>>,
    inverses: Vec<Block<W>>,
    /// Jacobi: the largest sum of absolute values of `D_i⁻¹ A_ij` in each row.
    sums: Vec<f32>,
    damping: f32,
}

impl<const W: usize, const R: usize> Relaxation<W, R> {
    /// Orders the rows of a pattern; within a colour they keep the order of `order`.
    pub(super) fn new(pattern: &BlockPattern, order: &[u32], smoother: Smoother, simd: Simd) -> Self {
        let (colours, count) = match smoother {
            Smoother::GaussSeidel => colour(pattern.graph()),
            Smoother::Jacobi => (vec![0; pattern.unknowns()], usize::from(pattern.unknowns() > 0)),
        };
        let (order, starts) = by_colour(&colours, count, order);
        let neighbours = pattern.block_count().div_ceil(pattern.unknowns().max(1));
        let chunk = (TASK / (W * W * R * neighbours.max(1))).max(1);
        let schedule = ColourSchedule::new(order, starts, chunk);
        let mut matrix = Self { schedule, smoother, simd, damping: 1.0, ..Self::default() };
        matrix.sort_columns(pattern);
        let zero = [[0.0; W]; W];
        matrix.blocks.resize(matrix.columns.len(), zero);
        matrix.diagonals.resize(pattern.unknowns(), zero);
        matrix.inverses.resize(pattern.unknowns(), zero);
        if smoother == Smoother::Jacobi {
            matrix.sums.resize(pattern.unknowns(), 0.0);
        }
        matrix
    }

    fn sort_columns(&mut self, pattern: &BlockPattern) {
        let place = &self.schedule.place;
        self.starts.push(0);
        for (own, &node) in self.schedule.order.iter().enumerate() {
            let (start, columns) = pattern.row(node as usize);
            let mut push = |earlier: bool| {
                for (slot, &j) in (start..).zip(columns).filter(|(_, j)| **j != node) {
                    if ((place[j as usize] as usize) < own) == earlier {
                        self.columns.push(place[j as usize]);
                        self.slots.push(slot as u32);
                    }
                }
                self.starts.push(self.columns.len());
            };
            push(true);
            push(false);
        }
    }

    /// Updates the numbers of a matrix, times `scale`, where they have changed. `Err` contains the node whose
    /// diagonal block is not positive definite.
    pub(super) fn fill(&mut self, numbers: Numbers<'_>, scale: f64, changes: &Changes) -> Result<(), u32> {
        let refused = if numbers.functions == 1 {
            self.fill_by::<1>(numbers, scale, changes)
        } else {
            self.fill_by::<4>(numbers, scale, changes)
        };
        if self.smoother == Smoother::Jacobi {
            self.damping = 4.0 / (3.0 * self.sums.iter().copied().fold(1.0, f32::max));
        }
        refused.map_or(Ok(()), Err)
    }

    /// Returns the first node that is rejected.
    fn fill_by<const F: usize>(
        &mut self,
        numbers: Numbers<'_>,
        scale: f64,
        changes: &Changes,
    ) -> Option<u32> {
        let simd = self.simd;
        match changes {
            Changes::All => {
                let parts = self.parts().into_par_iter();
                parts.filter_map(|part| dispatch(simd, Fill::<W, F> { part, numbers, scale })).min()
            }
            Changes::Rows(nodes) => {
                let refused = |node: &u32| {
                    let part = self.part(self.schedule.place[*node as usize] as usize);
                    dispatch(simd, Fill::<W, F> { part, numbers, scale })
                };
                nodes.iter().filter_map(refused).min()
            }
        }
    }

    /// All rows, in parts that are worth a task.
    fn parts(&mut self) -> Vec<Part<'_, W>> {
        let Self { schedule, starts, slots, blocks, diagonals, inverses, sums, .. } = self;
        let (mut slots, mut blocks, mut sums) = (&slots[..], &mut blocks[..], &mut sums[..]);
        let chunks = schedule.order.chunks(schedule.chunk).zip(diagonals.chunks_mut(schedule.chunk));
        let parts = chunks.zip(inverses.chunks_mut(schedule.chunk)).enumerate();
        let part = |(k, ((nodes, diagonals), inverses)): (usize, _)| {
            let nodes: &[u32] = nodes;
            let first = k * schedule.chunk;
            let starts = &starts[2 * first..=2 * (first + nodes.len())];
            let count = starts[2 * nodes.len()] - starts[0];
            let own_sums = sums.split_off_mut(..nodes.len().min(sums.len())).unwrap_or_default();
            let own_slots = slots.split_off(..count).unwrap_or_default();
            let own_blocks = blocks.split_off_mut(..count).unwrap_or_default();
            Part { nodes, starts, slots: own_slots, blocks: own_blocks, diagonals, inverses, sums: own_sums }
        };
        parts.map(part).collect()
    }

    /// One row.
    fn part(&mut self, row: usize) -> Part<'_, W> {
        let starts = &self.starts[2 * row..=2 * row + 2];
        let (range, own) = (starts[0]..starts[2], row..row + 1);
        Part {
            nodes: &self.schedule.order[own.clone()],
            starts,
            slots: &self.slots[range.clone()],
            blocks: &mut self.blocks[range],
            diagonals: &mut self.diagonals[own.clone()],
            inverses: &mut self.inverses[own.clone()],
            sums: self.sums.get_mut(own).unwrap_or_default(),
        }
    }

    /// One sweep of `A x = b`. A forward one may start `from_zero`, and stores the data for [`Self::residual`] in `later`.
    pub(super) fn sweep(
        &self,
        direction: Direction,
        from_zero: bool,
        b: &[Node<W, R>],
        x: &mut [Node<W, R>],
        later: &mut [Node<W, R>],
    ) {
        match (self.smoother, direction) {
            (Smoother::Jacobi, _) => self.jacobi(from_zero, b, x, later),
            (Smoother::GaussSeidel, Direction::Forward) => {
                for colour in self.schedule.colours.windows(2) {
                    let sides = if from_zero { Sides::Earlier } else { Sides::Both };
                    self.relax([colour[0], colour[1]], sides, b, x, later);
                }
            }
            (Smoother::GaussSeidel, Direction::Backward) => {
                for colour in self.schedule.colours.windows(2).rev() {
                    self.relax([colour[0], colour[1]], Sides::Both, b, x, later);
                }
            }
        }
    }

    /// `r = b - A x` after forward sweeps; `r` contains the data stored by the last of them.
    pub(super) fn residual(&self, b: &[Node<W, R>], x: &[Node<W, R>], r: &mut [Node<W, R>]) {
        let solved = self.smoother == Smoother::GaussSeidel;
        let chunk = self.schedule.chunk;
        r.par_chunks_mut(chunk).enumerate().for_each(|(k, r)| {
            dispatch(self.simd, Residual { matrix: self, first: k * chunk, solved, b, x, r });
        });
    }

    /// Gauss-Seidel on the rows of one colour.
    fn relax(
        &self,
        [start, end]: [usize; 2],
        sides: Sides,
        b: &[Node<W, R>],
        x: &mut [Node<W, R>],
        later: &mut [Node<W, R>],
    ) {
        let (before, rest) = x.split_at_mut(start);
        let (own, after) = rest.split_at_mut(end - start);
        let (before, after, chunk) = (&*before, &*after, self.schedule.chunk);
        let parts = own.par_chunks_mut(chunk).zip(later[start..end].par_chunks_mut(chunk));
        parts.enumerate().for_each(|(k, (own, later))| {
            let first = start + k * chunk;
            dispatch(self.simd, Relax { matrix: self, first, end, sides, b, before, after, own, later });
        });
    }

    /// `x += ω D⁻¹ (b - A x)`.
    fn jacobi(&self, from_zero: bool, b: &[Node<W, R>], x: &mut [Node<W, R>], r: &mut [Node<W, R>]) {
        if from_zero {
            x.fill([[0.0; R]; W]);
            r.copy_from_slice(b);
        } else {
            self.residual(b, x, r);
        }
        let rows = x.par_iter_mut().zip(&*r).zip(&self.inverses).with_min_len(256);
        rows.for_each(|((x, r), inverse)| {
            let mut step = [[0.0; R]; W];
            add_product(&mut step, inverse, r);
            let pairs = x.as_flattened_mut().iter_mut().zip(step.as_flattened());
            pairs.for_each(|(x, step)| *x += self.damping * step);
        });
    }

    pub(super) fn bytes(&self) -> usize {
        let blocks = self.blocks.len() + self.diagonals.len() + self.inverses.len();
        self.schedule.bytes()
            + 4 * self.sums.len()
            + 8 * self.starts.len()
            + 8 * self.columns.len()
            + 4 * W * W * blocks
    }
}

/// The blocks used by a sweep: from zero, the unknowns of later colours are still zero.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sides {
    Earlier,
    Both,
}

/// Gauss-Seidel on consecutive rows of one colour.
struct Relax<'a, const W: usize, const R: usize> {
    matrix: &'a Relaxation<W, R>,
    first: usize,
    /// The end of the colour.
    end: usize,
    sides: Sides,
    b: &'a [Node<W, R>],
    before: &'a [Node<W, R>],
    after: &'a [Node<W, R>],
    own: &'a mut [Node<W, R>],
    later: &'a mut [Node<W, R>],
}

impl<const W: usize, const R: usize> Kernel for Relax<'_, W, R> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let Relaxation { starts, columns, blocks, inverses, .. } = self.matrix;
        for (k, (x, later)) in self.own.iter_mut().zip(self.later).enumerate() {
            let row = self.first + k;
            let (start, middle, end) = (starts[2 * row], starts[2 * row + 1], starts[2 * row + 2]);
            let mut known = [[0.0; R]; W];
            for (block, &column) in blocks[start..middle].iter().zip(&columns[start..middle]) {
                add_product(&mut known, block, &self.before[column as usize]);
            }
            *later = [[0.0; R]; W];
            if self.sides == Sides::Both {
                for (block, &column) in blocks[middle..end].iter().zip(&columns[middle..end]) {
                    add_product(later, block, &self.after[column as usize - self.end]);
                }
            }
            let mut right = [[0.0; R]; W];
            for i in 0..W {
                for d in 0..R {
                    right[i][d] = self.b[row][i][d] - known[i][d] - later[i][d];
                }
            }
            *x = [[0.0; R]; W];
            add_product(x, &inverses[row], &right);
        }
    }
}

/// The residual of consecutive rows.
struct Residual<'a, const W: usize, const R: usize> {
    matrix: &'a Relaxation<W, R>,
    first: usize,
    /// Gauss-Seidel solved every row exactly when visited; only later colours have changed since.
    solved: bool,
    b: &'a [Node<W, R>],
    x: &'a [Node<W, R>],
    r: &'a mut [Node<W, R>],
}

impl<const W: usize, const R: usize> Kernel for Residual<'_, W, R> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let Relaxation { starts, columns, blocks, diagonals, .. } = self.matrix;
        for (k, r) in self.r.iter_mut().enumerate() {
            let row = self.first + k;
            let mut sum = [[0.0; R]; W];
            let mut start = starts[2 * row + 1];
            if !self.solved {
                start = starts[2 * row];
                *r = self.b[row];
                add_product(&mut sum, &diagonals[row], &self.x[row]);
            }
            let end = starts[2 * row + 2];
            for (block, &column) in blocks[start..end].iter().zip(&columns[start..end]) {
                add_product(&mut sum, block, &self.x[column as usize]);
            }
            for i in 0..W {
                for d in 0..R {
                    r[i][d] -= sum[i][d];
                }
            }
        }
    }
}

/// `y += A x`. The product is summed separately, so that consecutive blocks of a row depend on each other by a single
/// addition only.
#[cfg_attr(not(debug_assertions), inline(always))]
fn add_product<const W: usize, const R: usize>(y: &mut Node<W, R>, block: &Block<W>, x: &Node<W, R>) {
    let mut product: Node<W, R> = std::array::from_fn(|r| x[0].map(|x| block[0][r] * x));
    for c in 1..W {
        for r in 0..W {
            for d in 0..R {
                product[r][d] += block[c][r] * x[c][d];
            }
        }
    }
    for r in 0..W {
        for d in 0..R {
            y[r][d] += product[r][d];
        }
    }
}
