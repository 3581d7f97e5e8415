//! Sparse Cholesky factorisation by `faer`: the pattern is analysed once, ordered by approximate minimum degree on
//! the graph of blocks, and refactored for each matrix. It runs on one thread, so that its bits never depend on the
//! number of threads.

use std::sync::Arc;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::perm::PermRef;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::amd;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, Spec};
use glam::DVec3;

use super::{BlockMatrix, BlockPattern, Simd};

/// How a factorisation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factorisation {
    /// The factor is ready.
    Done,
    /// A pivot was not positive: the matrix is not positive definite, or not finite.
    NotPositiveDefinite,
}

/// A sparse Cholesky solver for matrices of one pattern.
pub struct Cholesky {
    pattern: Arc<BlockPattern>,
    symbolic: SymbolicCholesky<usize>,
    scalar: SymbolicSparseColMat<usize>,
    values: Vec<f64>,
    factor: Vec<f64>,
    workspace: MemBuffer,
}

impl Cholesky {
    /// Analyses a pattern. Fails only when memory runs out; the text says so.
    pub fn new(pattern: Arc<BlockPattern>, simd: Simd) -> Result<Self, String> {
        let scalar = scalar_pattern(&pattern);
        let symbolic =
            analyse(&pattern, &scalar, simd).map_err(|error| format!("sparse Cholesky: {error}"))?;
        let requirement = symbolic
            .factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default())
            .or(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
        let out_of_memory = |_| {
            let gigabytes = symbolic.len_val() as f64 * 8e-9;
            format!("sparse Cholesky: no memory for a factor of {gigabytes:.1} GB; use a coarser mesh")
        };
        let workspace = MemBuffer::try_new(requirement).map_err(out_of_memory)?;
        let mut factor = Vec::new();
        factor.try_reserve_exact(symbolic.len_val()).map_err(|error| out_of_memory_text(&error))?;
        factor.resize(symbolic.len_val(), 0.0);
        let values = vec![0.0; scalar.row_idx().len()];
        Ok(Self { pattern, symbolic, scalar, values, factor, workspace })
    }

    /// The pattern it was made for.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// Memory held by the factor and its copy of the matrix, in bytes.
    pub fn bytes(&self) -> usize {
        8 * (self.factor.len() + self.values.len() + self.scalar.row_idx().len())
    }

    /// Factors a matrix on this pattern.
    pub fn factorise(&mut self, matrix: &BlockMatrix) -> Factorisation {
        copy_scalars(matrix, &mut self.values);
        let a = SparseColMatRef::new(self.scalar.as_ref(), &self.values);
        let result = self.symbolic.factorize_numeric_llt(
            &mut self.factor,
            a,
            Side::Lower,
            Default::default(),
            Par::Seq,
            MemStack::new(&mut self.workspace),
            Spec::default(),
        );
        if result.is_ok() { Factorisation::Done } else { Factorisation::NotPositiveDefinite }
    }

    /// Solves with the last factorisation, in place.
    pub fn solve(&mut self, x: &mut [DVec3]) {
        let scalars: &mut [f64] = bytemuck::cast_slice_mut(x);
        let rows = scalars.len();
        LltRef::new(&self.symbolic, &self.factor).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(scalars, rows, 1),
            Par::Seq,
            MemStack::new(&mut self.workspace),
        );
    }
}

fn out_of_memory_text(error: &std::collections::TryReserveError) -> String {
    format!("sparse Cholesky: no memory for the factor ({error}); use a coarser mesh")
}

fn analyse(
    pattern: &BlockPattern,
    scalar: &SymbolicSparseColMat<usize>,
    simd: Simd,
) -> Result<SymbolicCholesky<usize>, faer::sparse::FaerError> {
    let (forward, inverse) = block_ordering(pattern)?;
    // The simplicial kernels are plain scalar loops, the supernodal ones choose their instructions by the machine.
    let supernodal_flop_ratio_threshold = match simd {
        Simd::Auto => SupernodalThreshold::AUTO,
        Simd::Baseline => SupernodalThreshold::FORCE_SIMPLICIAL,
    };
    factorize_symbolic_cholesky(
        scalar.as_ref(),
        Side::Lower,
        SymmetricOrdering::Custom(PermRef::new_checked(&forward, &inverse, scalar.nrows())),
        CholeskySymbolicParams { supernodal_flop_ratio_threshold, ..Default::default() },
    )
}

/// Minimum degree on the blocks' graph (a third of the rows, a ninth of the entries), each block then taken as
/// three consecutive rows.
fn block_ordering(pattern: &BlockPattern) -> Result<(Vec<usize>, Vec<usize>), faer::sparse::FaerError> {
    let n = pattern.unknowns();
    let mut starts = vec![0];
    let mut rows: Vec<usize> = Vec::with_capacity(pattern.block_count() / 2 + n);
    for j in 0..n {
        rows.extend(lower(pattern, j).1.iter().map(|&row| row as usize));
        starts.push(rows.len());
    }
    let graph = SymbolicSparseColMatRef::new_checked(n, n, &starts, None, &rows);
    let (mut forward, mut inverse) = (vec![0; n], vec![0; n]);
    let requirement = amd::order_maybe_unsorted_scratch::<usize>(n, rows.len());
    let mut memory = MemBuffer::try_new(requirement).map_err(|_| faer::sparse::FaerError::OutOfMemory)?;
    let stack = MemStack::new(&mut memory);
    amd::order_maybe_unsorted(&mut forward, &mut inverse, graph, Default::default(), stack)?;
    let thrice = |order: Vec<usize>| order.into_iter().flat_map(|i| (0..3).map(move |c| 3 * i + c)).collect();
    Ok((thrice(forward), expand_inverse(&inverse)))
}

fn expand_inverse(inverse: &[usize]) -> Vec<usize> {
    inverse.iter().flat_map(|&i| (0..3).map(move |c| 3 * i + c)).collect()
}

/// The rows of column `j` from its diagonal down, with the slot of the diagonal. The pattern is symmetric: they stand
/// in row `j`, transposed.
fn lower(pattern: &BlockPattern, j: usize) -> (usize, &[u32]) {
    let (start, columns) = pattern.row(j);
    let diagonal = pattern.diagonal_slot(j);
    (diagonal, &columns[diagonal - start..])
}

/// The lower triangle of the scalar matrix: of a diagonal block its own lower triangle, of the others everything.
fn scalar_pattern(pattern: &BlockPattern) -> SymbolicSparseColMat<usize> {
    let n = pattern.unknowns();
    let mut starts = Vec::with_capacity(3 * n + 1);
    let mut scalar_rows = Vec::with_capacity(9 * pattern.block_count());
    starts.push(0);
    for j in 0..n {
        let (_, rows) = lower(pattern, j);
        for c in 0..3 {
            scalar_rows.extend((c..3).map(|r| 3 * j + r));
            for &row in &rows[1..] {
                scalar_rows.extend((0..3).map(|r| 3 * row as usize + r));
            }
            starts.push(scalar_rows.len());
        }
    }
    SymbolicSparseColMat::new_checked(3 * n, 3 * n, starts, None, scalar_rows)
}

fn copy_scalars(matrix: &BlockMatrix, values: &mut [f64]) {
    let pattern = matrix.pattern();
    let mut place = 0;
    for j in 0..pattern.unknowns() {
        let (start, rows) = lower(pattern, j);
        let blocks = &matrix.blocks()[start..start + rows.len()];
        for c in 0..3 {
            for (k, block) in blocks.iter().enumerate() {
                let column = block.row(c).to_array();
                let part = if k == 0 { &column[c..] } else { &column[..] };
                values[place..place + part.len()].copy_from_slice(part);
                place += part.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DMat3;

    /// A chain of blocks with random coupling, made strictly diagonally dominant.
    fn chain(n: usize) -> BlockMatrix {
        let pairs: Vec<[u32; 2]> =
            (1..n as u32).flat_map(|i| [[i - 1, i], [i, i.saturating_sub(7)]]).collect();
        let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; n], &pairs)));
        for (k, [a, b]) in pairs.into_iter().enumerate().filter(|(_, [a, b])| a != b) {
            let block = DMat3::from_cols_array(&std::array::from_fn(|e| ((k * 9 + e) as f64).sin()));
            matrix.add_pair(a, b, block);
        }
        for v in 0..n as u32 {
            matrix.add_diagonal(v, DMat3::from_diagonal(DVec3::splat(20.0)));
        }
        matrix
    }

    fn residual(simd: Simd) -> f64 {
        let matrix = chain(200);
        let exact: Vec<DVec3> = (0..200).map(|i| DVec3::new(i as f64, (i as f64).cos(), 1.0)).collect();
        let mut x = matrix.multiply(&exact);
        let mut cholesky = Cholesky::new(matrix.pattern().clone(), simd).unwrap();
        assert_eq!(cholesky.factorise(&matrix), Factorisation::Done);
        cholesky.solve(&mut x);
        x.iter().zip(&exact).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
    }

    #[test]
    fn solve_inverts_the_product() {
        assert!(residual(Simd::Auto) < 1e-11);
        assert!(residual(Simd::Baseline) < 1e-11);
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let mut matrix = chain(10);
        matrix.add_diagonal(4, DMat3::from_diagonal(DVec3::new(0.0, -100.0, 0.0)));
        let mut cholesky = Cholesky::new(matrix.pattern().clone(), Simd::Auto).unwrap();
        assert_eq!(cholesky.factorise(&matrix), Factorisation::NotPositiveDefinite);
    }
}
