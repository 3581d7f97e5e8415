//! The smoothers of a level (Xian 2019, section 4.5) on a matrix of `W x W` blocks in single precision: coloured symmetric block
//! Gauss-Seidel (Fratarcangeli 2016) and damped block Jacobi, with 3x3 blocks on vertices and 12x12 on coarse nodes.
//!
//! Rows stand colour by colour; a row's blocks to earlier colours come before those to later ones. A forward sweep leaves
//! behind what the later colours gave to each row, `U x_old`. The row's own equation was solved exactly at its time, so
//! the residual after the sweep is `U x_old - U x_new`: half a product instead of a whole one, and a sweep from zero needs
//! only the other half.
//!
//! The damping of Jacobi is `ω = 4 / (3 β)` with the bound `β = max_i Σ_j |D_i⁻¹ A_ij|` on the largest eigenvalue of `D⁻¹ A`
//! (rows' sums of absolute values), so that `ω < 2 / λ_max` for certain, and the smoothing is positive definite.

use rayon::prelude::*;

use super::changes::Changes;
use super::coarse_matrix::Numbers;
use super::entry::Entry;
use crate::linear::{BlockPattern, Direction, Schedule, by_colour, colour};
use crate::simd::{Kernel, Simd, dispatch};

/// Which iteration smooths.
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
type Block<const W: usize> = [[f32; W]; W];

/// The numbers of a node: `R` right-hand sides.
type Node<const W: usize, const R: usize> = [[f32; R]; W];

/// Numbers that one task should handle at least, for a task to pay.
const TASK: usize = 16 * 1024;

/// A level's matrix of blocks of `W x W`, ordered and stored for sweeps on `R` right-hand sides.
#[derive(Debug, Clone, Default)]
pub(super) struct Relaxation<const W: usize, const R: usize> {
    pub(super) schedule: Schedule,
    smoother: Smoother,
    simd: Simd,
    /// Where each row's blocks begin, and where those to later colours begin: `2 k` and `2 k + 1`.
    starts: Vec<usize>,
    /// Places of the columns.
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
    /// Orders the rows of a pattern; within a colour they stand as in `order`.
    pub(super) fn new(pattern: &BlockPattern, order: &[u32], smoother: Smoother, simd: Simd) -> Self {
        let (colours, count) = match smoother {
            Smoother::GaussSeidel => colour(pattern.graph()),
            Smoother::Jacobi => (vec![0; pattern.unknowns()], usize::from(pattern.unknowns() > 0)),
        };
        let (order, starts) = by_colour(&colours, count, order);
        let neighbours = pattern.block_count().div_ceil(pattern.unknowns().max(1));
        let chunk = (TASK / (W * W * neighbours.max(1))).max(1);
        let schedule = Schedule::new(order, starts, chunk);
        let mut matrix = Self { schedule, smoother, simd, damping: 1.0, ..Self::default() };
        matrix.sort_columns(pattern);
        let zero = [[0.0; W]; W];
        matrix.blocks.resize(matrix.columns.len(), zero);
        matrix.diagonals.resize(pattern.unknowns(), zero);
        matrix.inverses.resize(pattern.unknowns(), zero);
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

    /// Takes over the numbers of a matrix, times `scale`, where they have changed. `Err` gives the node whose diagonal block is
    /// not positive definite.
    pub(super) fn fill<E: Entry>(
        &mut self,
        numbers: Numbers<'_, E>,
        scale: f64,
        changes: &Changes,
    ) -> Result<(), u32> {
        match changes {
            Changes::All => self.fill_all(numbers, scale)?,
            Changes::Rows(nodes) => nodes.iter().try_for_each(|&node| self.fill_row(numbers, scale, node))?,
        }
        if self.smoother == Smoother::Jacobi {
            self.damp(changes);
        }
        Ok(())
    }

    fn fill_row<E: Entry>(&mut self, numbers: Numbers<'_, E>, scale: f64, node: u32) -> Result<(), u32> {
        let row = self.schedule.place[node as usize] as usize;
        let range = self.starts[2 * row]..self.starts[2 * row + 2];
        for (block, &slot) in self.blocks[range.clone()].iter_mut().zip(&self.slots[range]) {
            *block = rounded(joined(numbers.at(slot as usize), scale));
        }
        let own = numbers.at(numbers.pattern.diagonal_slot(node as usize));
        self.diagonals[row] = rounded(joined(own, scale));
        self.inverses[row] = inverted(own, scale).ok_or(node)?;
        Ok(())
    }

    fn fill_all<E: Entry>(&mut self, numbers: Numbers<'_, E>, scale: f64) -> Result<(), u32> {
        let copies = self.blocks.par_iter_mut().zip(&self.slots).with_min_len(256);
        copies.for_each(|(block, &slot)| *block = rounded(joined(numbers.at(slot as usize), scale)));
        let Self { schedule, diagonals, inverses, .. } = self;
        let rows = diagonals.par_iter_mut().zip(inverses.par_iter_mut()).zip(&schedule.order);
        let refused = rows.with_min_len(64).filter_map(|((diagonal, inverse), &node)| {
            let own = numbers.at(numbers.pattern.diagonal_slot(node as usize));
            *diagonal = rounded(joined(own, scale));
            match inverted(own, scale) {
                Some(found) => *inverse = found,
                None => return Some(node),
            }
            None
        });
        refused.min().map_or(Ok(()), Err)
    }

    /// Chooses Jacobi's damping from `β`, an upper bound of the eigenvalues of `D⁻¹ A`.
    fn damp(&mut self, changes: &Changes) {
        let mut sums = std::mem::take(&mut self.sums);
        sums.resize(self.inverses.len(), 0.0);
        match changes {
            Changes::All => {
                let rows = sums.par_iter_mut().enumerate().with_min_len(256);
                rows.for_each(|(row, sum)| *sum = self.row_sum(row));
            }
            Changes::Rows(nodes) => {
                let rows = nodes.iter().map(|&node| self.schedule.place[node as usize] as usize);
                rows.for_each(|row| sums[row] = self.row_sum(row));
            }
        }
        self.damping = 4.0 / (3.0 * sums.iter().copied().fold(1.0, f32::max));
        self.sums = sums;
    }

    fn row_sum(&self, row: usize) -> f32 {
        let mut sums = [1.0; W];
        for block in &self.blocks[self.starts[2 * row]..self.starts[2 * row + 2]] {
            for column in block {
                let mut product = [[0.0]; W];
                add_product(&mut product, &self.inverses[row], &column.map(|entry| [entry]));
                sums.iter_mut().zip(product).for_each(|(sum, [entry])| *sum += entry.abs());
            }
        }
        sums.into_iter().fold(0.0, f32::max)
    }

    /// One sweep of `A x = b`. A forward one may start `from_zero`, and leaves in `later` what [`Self::residual`] needs.
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

    /// `r = b - A x` after forward sweeps; `r` holds what the last of them left there.
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

/// Which blocks a sweep looks at: from zero, the unknowns of later colours are still zero.
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
    /// Gauss-Seidel solved every row at its time; only later colours have changed since.
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

/// `y += A x`. The product is summed by itself, so that one block of a row waits for the one before by a single addition.
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

/// Entries by rows of functions, times `scale`, as one block by columns.
fn joined<E: Entry, const W: usize>(entries: &[E], scale: f64) -> [[f64; W]; W] {
    let functions = W / E::WIDTH;
    let mut out = [[0.0; W]; W];
    for (k, entry) in entries.iter().enumerate() {
        let (f, g) = (k / functions, k % functions);
        for c in 0..E::WIDTH {
            for r in 0..E::WIDTH {
                out[E::WIDTH * g + c][E::WIDTH * f + r] = entry.at(r, c) * scale;
            }
        }
    }
    out
}

fn rounded<const W: usize>(block: [[f64; W]; W]) -> Block<W> {
    block.map(|column| column.map(|entry| entry as f32))
}

/// The inverse of a diagonal block, with ones for functions that a rank-deficient node does not have. `None` if it is not
/// positive definite beyond rounding.
fn inverted<E: Entry, const W: usize>(entries: &[E], scale: f64) -> Option<Block<W>> {
    if let [entry] = entries {
        let inverse = (*entry * scale).inverse()?;
        return Some(rounded(joined(&[inverse], 1.0)));
    }
    let mut matrix = joined(entries, scale);
    invert(&mut matrix)?;
    Some(rounded(matrix))
}

/// Gauss-Jordan elimination in place, without pivoting, of the matrix scaled to a diagonal of ones.
fn invert<const W: usize>(matrix: &mut [[f64; W]; W]) -> Option<()> {
    let scales: [f64; W] = std::array::from_fn(|i| match matrix[i][i] {
        0.0 => 1.0,
        diagonal => 1.0 / diagonal.sqrt(),
    });
    for (i, j) in (0..W).flat_map(|i| (0..W).map(move |j| (i, j))) {
        let missing = i == j && matrix[i][i] == 0.0;
        matrix[i][j] = if missing { 1.0 } else { matrix[i][j] * scales[i] * scales[j] };
    }
    for k in 0..W {
        let pivot = matrix[k][k];
        if !(pivot > 1e-12 && pivot.is_finite()) {
            return None;
        }
        let mut row = matrix[k].map(|entry| entry / pivot);
        row[k] = 1.0 / pivot;
        for (_, other) in matrix.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = std::mem::replace(&mut other[k], 0.0);
            other.iter_mut().zip(&row).for_each(|(entry, row)| *entry -= factor * row);
        }
        matrix[k] = row;
    }
    for (i, j) in (0..W).flat_map(|i| (0..=i).map(move |j| (i, j))) {
        let entry = 0.5 * (matrix[i][j] + matrix[j][i]) * scales[i] * scales[j];
        (matrix[i][j], matrix[j][i]) = (entry, entry);
    }
    Some(())
}
