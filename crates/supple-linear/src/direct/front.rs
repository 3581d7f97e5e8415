//! The dense part of the multifrontal method: the Cholesky factorisation of the first columns of a front and the update
//! it leaves for the parent. Blocks have fixed sizes, each is computed by one thread, so the bits do not depend on the
//! number of threads.

use std::mem::MaybeUninit;

use faer::dyn_stack::MemStack;
use faer::linalg::cholesky::llt::factor::cholesky_in_place;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::prelude::IntoConst;
use faer::{Accum, MatMut, MatRef, Par, Spec};

use super::plain_front;
use supple_core::simd::Simd;

/// Columns factored at once.
const PANEL: usize = 128;
/// Rows or columns of a block that one thread computes.
const BLOCK: usize = 192;
/// Columns of a product taken at once: more do not stay in the second-level cache.
const DEPTH: usize = 256;

/// How a front is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Threads {
    /// By the calling thread.
    One,
    /// By all threads of the pool.
    All,
}

/// A front: `columns` columns to eliminate with `rows` rows in all (the columns' own first), and the square `update`
/// below them, all column by column; of both only the lower triangle counts.
pub(super) struct Front<'a> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) factor: &'a mut [f64],
    pub(super) update: &'a mut [f64],
}

impl Front<'_> {
    /// Factors the columns in place and subtracts their outer product from the update. `false` if a pivot is not
    /// positive.
    pub(super) fn eliminate(self, simd: Simd, threads: Threads) -> bool {
        if simd == Simd::Baseline {
            return plain_front::eliminate(self);
        }
        let below = self.rows - self.columns;
        let mut factor = MatMut::from_column_major_slice_mut(self.factor, self.rows, self.columns);
        if !factor_columns(factor.as_mut(), threads) {
            return false;
        }
        if below > 0 {
            let factor = factor.as_ref().subrows(self.columns, below);
            let update = MatMut::from_column_major_slice_mut(self.update, below, below);
            subtract_square(update, factor, threads);
        }
        true
    }
}

fn factor_columns(mut factor: MatMut<f64>, threads: Threads) -> bool {
    let (rows, columns) = factor.shape();
    for start in (0..columns).step_by(PANEL) {
        let width = PANEL.min(columns - start);
        let (done, rest) =
            factor.as_mut().submatrix_mut(start, 0, rows - start, columns).split_at_col_mut(start);
        let done = done.into_const();
        let mut panel = rest.subcols_mut(0, width);
        if start > 0 {
            let left = done.subrows(0, width);
            over_rows(panel.as_mut(), done, threads, &|block, right| {
                subtract_product(block, right, left);
            });
        }
        let (mut diagonal, below) = panel.split_at_row_mut(width);
        if !factor_diagonal(diagonal.as_mut()) {
            return false;
        }
        let diagonal = diagonal.into_const();
        over_rows(below, done.subrows(width, rows - start - width), threads, &|block, _| {
            solve_lower_triangular_in_place(diagonal, block.transpose_mut(), Par::Seq);
        });
    }
    true
}

fn factor_diagonal(mut diagonal: MatMut<f64>) -> bool {
    // Room for one column and its alignment.
    let mut memory = [MaybeUninit::<u8>::uninit(); 8 * PANEL + 512];
    let stack = MemStack::new(&mut memory);
    let done = cholesky_in_place(diagonal.as_mut(), Default::default(), Par::Seq, stack, Spec::default());
    done.is_ok() && (0..diagonal.nrows()).all(|i| diagonal[(i, i)].is_finite())
}

/// Calls `work` on every block of rows of both matrices.
fn over_rows(
    target: MatMut<f64>,
    other: MatRef<f64>,
    threads: Threads,
    work: &(impl Fn(MatMut<f64>, MatRef<f64>) + Sync),
) {
    let rows = target.nrows();
    if rows == 0 {
        return;
    }
    if threads == Threads::One || rows <= BLOCK {
        return work(target, other);
    }
    let half = (rows / BLOCK).div_ceil(2) * BLOCK;
    let (first, second) = target.split_at_row_mut(half);
    let (other_first, other_second) = other.split_at_row(half);
    supple_core::parallel::join(
        || over_rows(first, other_first, threads, work),
        || over_rows(second, other_second, threads, work),
    );
}

/// `target -= a bᵀ`.
fn subtract_product(mut target: MatMut<f64>, a: MatRef<f64>, b: MatRef<f64>) {
    for start in (0..a.ncols()).step_by(DEPTH) {
        let [a, b] = [a, b].map(|m| m.subcols(start, DEPTH.min(m.ncols() - start)));
        matmul(target.as_mut(), Accum::Add, a, b.transpose(), -1.0, Par::Seq);
    }
}

/// The lower triangle of `target -= a aᵀ`.
fn subtract_square(mut target: MatMut<f64>, a: MatRef<f64>, threads: Threads) {
    let n = target.nrows();
    if threads == Threads::One || n <= BLOCK {
        let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
        for start in (0..a.ncols()).step_by(DEPTH) {
            let a = a.subcols(start, DEPTH.min(a.ncols() - start));
            let target = target.as_mut();
            triangular_matmul(target, lower, Accum::Add, a, full, a.transpose(), full, -1.0, Par::Seq);
        }
        return;
    }
    let half = (n / BLOCK).div_ceil(2) * BLOCK;
    let (first, _, corner, second) = target.split_at_mut(half, half);
    let (a_first, a_second) = a.split_at_row(half);
    supple_core::parallel::join(
        || over_rows(corner, a_second, threads, &|block, rows| subtract_product(block, rows, a_first)),
        || {
            supple_core::parallel::join(
                || subtract_square(first, a_first, threads),
                || subtract_square(second, a_second, threads),
            )
        },
    );
}
