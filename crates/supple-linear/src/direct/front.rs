//! The dense part of the multifrontal method: the Cholesky factorisation of the first columns of a front and the
//! update passed to the parent. Right-looking: a panel of columns is factored, then its outer product is subtracted
//! from everything to its right. Every number is computed by one thread in a fixed order, so results are
//! bit-identical for any number of threads.

use std::cell::Cell;

use supple_core::parallel::prelude::*;

use super::dense_kernels::{
    COLUMN_PADDING, FactorDiagonal, Isa, MatrixRows, Pack, Packed, SolveRows, SubtractProduct, TILE_ROWS,
    Unpack,
};
use super::plain_front;
use supple_core::simd::Simd;

/// Columns factored at once: a tile's rows of them stay in the first-level cache.
const PANEL: usize = 128;
/// Rows or columns of a block that one thread computes; packed, they stay in the second-level cache.
const BLOCK: usize = 4 * TILE_ROWS;
/// Columns that one thread copies.
const COPIED: usize = 16;

/// Whether a front is computed in parallel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FrontThreads {
    /// By the calling thread.
    One,
    /// By all threads of the pool.
    All,
}

impl FrontThreads {
    /// Calls `work` on every chunk of `data`, with its index.
    fn over_chunks(self, data: &mut [f64], length: usize, work: impl Fn(usize, &mut [f64]) + Sync) {
        let length = length.max(1);
        match self {
            Self::One => data.chunks_mut(length).enumerate().for_each(|(i, chunk)| work(i, chunk)),
            Self::All => data.par_chunks_mut(length).enumerate().for_each(|(i, chunk)| work(i, chunk)),
        }
    }
}

/// A front: `columns` columns to eliminate with `rows` rows in all (the columns' own first), and the square `update`
/// below them, all column by column; only the lower triangles are used.
pub(super) struct DenseFront<'a> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) factor: &'a mut [f64],
    pub(super) update: &'a mut [f64],
}

impl DenseFront<'_> {
    /// Factorises the columns in place and subtracts their outer product from the update. `false` if a pivot is not
    /// positive.
    pub(super) fn eliminate(self, simd: Simd, threads: FrontThreads) -> bool {
        match simd {
            Simd::Baseline => plain_front::eliminate(self),
            Simd::Auto => self.eliminate_with(Isa::detect(), threads),
        }
    }

    fn eliminate_with(mut self, isa: Isa, threads: FrontThreads) -> bool {
        let mut workspace = WORKSPACE.take();
        let mut starts = (0..self.columns).step_by(PANEL);
        let done = starts.all(|start| self.eliminate_panel(start, isa, threads, &mut workspace));
        WORKSPACE.set(workspace);
        done
    }

    fn eliminate_panel(
        &mut self,
        start: usize,
        isa: Isa,
        threads: FrontThreads,
        space: &mut Vec<CacheLine>,
    ) -> bool {
        let width = PANEL.min(self.columns - start);
        let end = start + width;
        let panel = FrontPanel { width, padded: width.next_multiple_of(COLUMN_PADDING), isa, threads };
        let right_rows = MatrixRows { stride: self.rows, first: end, count: self.columns - end };
        let below_rows = MatrixRows { first: self.columns, count: self.rows - self.columns, ..right_rows };
        let lengths = [
            panel.padded,
            panel.padded * panel.padded,
            panel.packed_len(right_rows.count),
            panel.packed_len(below_rows.count),
        ];
        let [reciprocals, diagonal, right, below] = split(space, lengths);
        let (columns, rest) = self.factor[start * self.rows..].split_at_mut(width * self.rows);
        let rows = MatrixRows { first: start, count: width, ..right_rows };
        if !isa.run(FactorDiagonal { matrix: columns, rows, packed: diagonal, reciprocals }) {
            return false;
        }
        let factor = DiagonalBlock { factor: diagonal, reciprocals };
        let right = panel.solve_rows(columns, right_rows, right, &factor);
        let below = panel.solve_rows(columns, below_rows, below, &factor);
        panel.subtract(rest, self.rows, &[(end, right), (self.columns, below)]);
        panel.subtract(self.update, below_rows.count, &[(0, below)]);
        true
    }
}

/// The packed factor of a diagonal block.
struct DiagonalBlock<'a> {
    factor: &'a [f64],
    reciprocals: &'a [f64],
}

/// Columns that are factorised together.
struct FrontPanel {
    width: usize,
    /// The width, with padding.
    padded: usize,
    isa: Isa,
    threads: FrontThreads,
}

impl FrontPanel {
    /// Numbers of packed rows.
    fn packed_len(&self, rows: usize) -> usize {
        rows.next_multiple_of(self.isa.panel_rows()) * self.padded
    }

    /// Solves `X Lᵀ = B` for the rows `B` below the diagonal block, in place and packed.
    fn solve_rows<'p>(
        &self,
        columns: &mut [f64],
        rows: MatrixRows,
        panels: &'p mut [f64],
        diagonal: &DiagonalBlock,
    ) -> Packed<'p> {
        let (padded, isa) = (self.padded, self.isa);
        let matrix = &*columns;
        self.threads.over_chunks(panels, BLOCK * padded, |block, panels| {
            let first = block * BLOCK;
            let rows = MatrixRows { first: rows.first + first, count: BLOCK.min(rows.count - first), ..rows };
            isa.run(Pack { matrix, rows, columns: self.width, padded, panels });
            isa.run(SolveRows { factor: diagonal.factor, reciprocals: diagonal.reciprocals, panels });
        });
        let panels = &*panels;
        self.threads.over_chunks(columns, COPIED * rows.stride, |block, matrix| {
            isa.run(Unpack { panels, padded, matrix, rows, first_column: block * COPIED });
        });
        Packed { panels, columns: padded, rows: rows.count }
    }

    /// Subtracts outer products from columns that belong to the first of the packed `parts`; each is given with its first
    /// row in these columns.
    fn subtract(&self, columns: &mut [f64], stride: usize, parts: &[(usize, Packed)]) {
        let b = parts[0].1;
        let columns = &mut columns[..b.rows * stride];
        self.threads.over_chunks(columns, BLOCK * stride, |block, target| {
            for (part, &(first_row, a)) in parts.iter().enumerate() {
                let (first_column, depth, lower) = (block * BLOCK, self.width, part == 0);
                self.isa.run(SubtractProduct { target, stride, first_row, first_column, a, b, depth, lower });
            }
        });
    }
}

thread_local! {
    /// Workspace for packed panels. Taken from its cell while a front is computed: a thread that waits inside one
    /// front may start another.
    static WORKSPACE: Cell<Vec<CacheLine>> = const { Cell::new(Vec::new()) };
}

/// Packed panels are aligned to cache lines, so that no vector load spans two lines.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct CacheLine([f64; 8]);

/// Splits the workspace, which grows as needed; the lengths are multiples of a cache line except the last.
fn split<const N: usize>(workspace: &mut Vec<CacheLine>, lengths: [usize; N]) -> [&mut [f64]; N] {
    let lines = lengths.iter().sum::<usize>().div_ceil(8);
    if workspace.len() < lines {
        workspace.resize(lines, CacheLine([0.0; 8]));
    }
    let mut rest: &mut [f64] = bytemuck::cast_slice_mut(workspace);
    lengths.map(|length| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(length);
        rest = after;
        part
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries of a definite front, with NaN above its diagonals, where nothing may be read.
    fn numbers(rows: usize, columns: usize) -> (Vec<f64>, Vec<f64>) {
        let entry = |i: usize, j: usize| match i.cmp(&j) {
            std::cmp::Ordering::Less => f64::NAN,
            std::cmp::Ordering::Equal => rows as f64,
            std::cmp::Ordering::Greater => ((i * 7 + j * 13) as f64).sin(),
        };
        let below = rows - columns;
        let factor = (0..rows * columns).map(|k| entry(k % rows, k / rows)).collect();
        let update = (0..below * below).map(|k| entry(k % below.max(1), k / below.max(1))).collect();
        (factor, update)
    }

    /// The lower triangles after elimination.
    fn eliminated(rows: usize, columns: usize, eliminate: impl Fn(DenseFront) -> bool) -> Vec<f64> {
        let (mut factor, mut update) = numbers(rows, columns);
        assert!(eliminate(DenseFront { rows, columns, factor: &mut factor, update: &mut update }));
        let below = rows - columns;
        let lower = |k: &usize, height: usize| k % height >= k / height;
        let of_factor = (0..factor.len()).filter(|k| lower(k, rows)).map(|k| factor[k]);
        let of_update = (0..update.len()).filter(|k| lower(k, below)).map(|k| update[k]);
        of_factor.chain(of_update).collect()
    }

    fn instruction_sets() -> Vec<Isa> {
        let mut all = vec![Isa::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(supple_core::simd::Avx2::detect(Simd::Auto).map(Isa::Avx2));
            all.extend(supple_core::simd::Avx512::detect(Simd::Auto).map(Isa::Avx512));
        }
        all
    }

    #[test]
    fn kernels_agree_with_plain_loops_and_for_any_number_of_threads() {
        let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let sizes =
            [(1, 1), (5, 2), (8, 8), (30, 12), (47, 23), (64, 40), (180, 130), (330, 140), (300, 300)];
        for (rows, columns) in sizes {
            let expected = eliminated(rows, columns, plain_front::eliminate);
            for isa in instruction_sets() {
                let one = eliminated(rows, columns, |front| front.eliminate_with(isa, FrontThreads::One));
                let close = one.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-13 * rows as f64);
                assert!(close, "{rows} x {columns}, {isa:?}");
                let all = pool.install(|| {
                    eliminated(rows, columns, |front| front.eliminate_with(isa, FrontThreads::All))
                });
                assert!(one == all, "{rows} x {columns}, {isa:?}: differs on three threads");
            }
        }
    }

    #[test]
    fn fronts_that_are_not_definite_are_refused_whatever_the_column() {
        for isa in instruction_sets() {
            for bad in [0, 3, 8, 12, 131, 139] {
                for value in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
                    let (mut factor, mut update) = numbers(150, 140);
                    factor[bad * 150 + bad] = value;
                    let front =
                        DenseFront { rows: 150, columns: 140, factor: &mut factor, update: &mut update };
                    assert!(
                        !front.eliminate_with(isa, FrontThreads::One),
                        "{isa:?}: {value} in column {bad}"
                    );
                }
            }
        }
    }
}
