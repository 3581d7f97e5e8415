//! Dense Cholesky factorisation of one symmetric positive-definite matrix, with the kernels of a single front. For the
//! coarsest level of multigrid hierarchies.

use super::front::{DenseFront, FrontThreads};
use crate::vectors::serial_dot;
use supple_core::simd::Simd;

/// The factor `L` of `A = L Lᵀ`, column by column.
#[derive(Debug, Clone, Default)]
pub struct DenseFactor {
    rows: usize,
    columns: Vec<f64>,
}

impl DenseFactor {
    /// A matrix of zeros to be filled in and factored: the entry at (row, column) is at `column * rows + row`.
    pub fn clear(&mut self, rows: usize) -> &mut [f64] {
        self.rows = rows;
        self.columns.clear();
        self.columns.resize(rows * rows, 0.0);
        &mut self.columns
    }

    /// Factorises the lower triangle of the entries. `false` if it is not positive definite or not finite.
    pub fn factorise(&mut self, simd: Simd) -> bool {
        let front =
            DenseFront { rows: self.rows, columns: self.rows, factor: &mut self.columns, update: &mut [] };
        front.eliminate(simd, FrontThreads::All)
    }

    /// Solves in place.
    pub fn solve(&self, x: &mut [f64]) {
        let n = self.rows;
        for j in 0..n {
            let column = &self.columns[j * n..(j + 1) * n];
            let (known, below) = x.split_at_mut(j + 1);
            known[j] /= column[j];
            below.iter_mut().zip(&column[j + 1..]).for_each(|(x, l)| *x -= l * known[j]);
        }
        for j in (0..n).rev() {
            let column = &self.columns[j * n..(j + 1) * n];
            x[j] = (x[j] - serial_dot(&column[j + 1..], &x[j + 1..n])) / column[j];
        }
    }

    /// Memory of the factor in bytes.
    pub fn bytes(&self) -> usize {
        8 * self.columns.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_of_matrix_and_solution_is_the_right_hand_side() {
        for (n, simd) in [(0, Simd::Auto), (1, Simd::Auto), (150, Simd::Auto), (150, Simd::Baseline)] {
            let entry = |i: usize, j: usize| {
                let wave = ((i * j) as f64 + (i + j) as f64).sin();
                wave + if i == j { 2.0 * n as f64 } else { 0.0 }
            };
            let mut factor = DenseFactor::default();
            let columns = factor.clear(n);
            (0..n * n).for_each(|k| columns[k] = entry(k % n, k / n));
            assert!(factor.factorise(simd));
            let b: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            let mut x = b.clone();
            factor.solve(&mut x);
            for (i, b) in b.iter().enumerate() {
                let product: f64 = x.iter().enumerate().map(|(j, x)| entry(i, j) * x).sum();
                assert!((product - b).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn matrices_that_are_not_definite_are_refused() {
        let mut factor = DenseFactor::default();
        factor.clear(3);
        assert!(!factor.factorise(Simd::Auto));
        factor.clear(2).copy_from_slice(&[1.0, f64::NAN, f64::NAN, 1.0]);
        assert!(!factor.factorise(Simd::Auto));
    }
}
