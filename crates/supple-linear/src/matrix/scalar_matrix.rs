//! A symmetric matrix in which every block is a multiple of the identity, as in projective dynamics (Bouaziz 2014):
//! one number per block instead of nine, on the same pattern.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::{BlockMatrix, BlockPattern, LinearOperator};

/// Rows per task.
const ROWS: usize = 512;

/// One number per block of a [`BlockPattern`], and a list of those outside it.
#[derive(Debug, Clone)]
pub struct ScalarMatrix {
    pattern: Arc<BlockPattern>,
    values: Vec<f64>,
    outside: Vec<(u32, u32, f64)>,
}

impl ScalarMatrix {
    /// The zero matrix on a pattern.
    pub fn zero(pattern: Arc<BlockPattern>) -> Self {
        let values = vec![0.0; pattern.block_count()];
        Self { pattern, values, outside: Vec::new() }
    }

    /// Its pattern.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// The number of every stored block, row by row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Sets every number to zero and removes those outside the pattern.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
        self.outside.clear();
    }

    /// Adds to the diagonal of a vertex; does nothing if it is pinned.
    pub fn add_diagonal(&mut self, vertex: u32, value: f64) {
        if let Some(i) = self.pattern.unknown(vertex) {
            self.values[self.pattern.diagonal_slot(i)] += value;
        }
    }

    /// Adds at (a, b) and (b, a), for two different vertices; does nothing if one is pinned.
    pub fn add_pair(&mut self, a: u32, b: u32, value: f64) {
        let (Some(i), Some(j)) = (self.pattern.unknown(a), self.pattern.unknown(b)) else { return };
        match (self.pattern.slot(i, j), self.pattern.slot(j, i)) {
            (Some(here), Some(mirrored)) => {
                self.values[here] += value;
                self.values[mirrored] += value;
            }
            _ => self.outside.push((i as u32, j as u32, value)),
        }
    }

    /// Adds another matrix on the same pattern.
    pub fn add(&mut self, other: &Self) {
        let numbers = self.values.par_iter_mut().zip(&other.values).with_min_len(ROWS * 16);
        numbers.for_each(|(value, other)| *value += other);
        self.outside.extend_from_slice(&other.outside);
    }

    /// The numbers of a matrix in which every block is a multiple of the identity; `None` for any other.
    pub fn of_blocks(matrix: &BlockMatrix) -> Option<Self> {
        let number = |block: &DMat3| {
            let value = block.x_axis.x;
            (*block == DMat3::from_diagonal(DVec3::splat(value))).then_some(value)
        };
        let values = matrix.blocks().iter().map(number).collect::<Option<Vec<f64>>>()?;
        let outside = matrix.outside().iter().map(|o| Some((o.row, o.column, number(&o.block)?)));
        let outside = outside.collect::<Option<Vec<_>>>()?;
        Some(Self { pattern: matrix.pattern().clone(), values, outside })
    }

    /// The same with full blocks, for solvers that need them.
    pub fn to_blocks(&self) -> BlockMatrix {
        let mut matrix = BlockMatrix::zero(self.pattern.clone());
        self.write_to(&mut matrix);
        matrix
    }

    /// Replaces a matrix with full blocks on the same pattern by this one.
    pub fn write_to(&self, matrix: &mut BlockMatrix) {
        matrix.clear();
        let numbers = matrix.blocks_mut().par_iter_mut().zip(&self.values).with_min_len(ROWS * 8);
        numbers.for_each(|(block, &value)| *block = DMat3::from_diagonal(DVec3::splat(value)));
        for &(row, column, value) in &self.outside {
            matrix.push_outside(row, column, DMat3::from_diagonal(DVec3::splat(value)));
        }
    }
}

impl LinearOperator for ScalarMatrix {
    fn unknowns(&self) -> usize {
        self.pattern.unknowns()
    }

    fn apply(&self, x: &[DVec3], y: &mut [DVec3]) {
        y.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, part)| {
            for (k, sum) in part.iter_mut().enumerate() {
                let (start, columns) = self.pattern.row(chunk * ROWS + k);
                let terms = columns.iter().zip(&self.values[start..start + columns.len()]);
                *sum = terms.fold(DVec3::ZERO, |sum, (&j, &value)| sum + value * x[j as usize]);
            }
        });
        for &(row, column, value) in &self.outside {
            y[row as usize] += value * x[column as usize];
            y[column as usize] += value * x[row as usize];
        }
    }

    fn diagonal(&self, diagonal: &mut [DMat3]) {
        for (i, block) in diagonal.iter_mut().enumerate() {
            *block = DMat3::from_diagonal(DVec3::splat(self.values[self.pattern.diagonal_slot(i)]));
        }
    }
}

/// A scalar matrix together with its full blocks, for solvers that need them; products read the scalars.
pub struct WithBlocks<'a> {
    /// One number per block.
    pub scalars: &'a ScalarMatrix,
    /// The same as 3x3 blocks.
    pub blocks: &'a BlockMatrix,
}

impl LinearOperator for WithBlocks<'_> {
    fn unknowns(&self) -> usize {
        self.scalars.unknowns()
    }

    fn apply(&self, x: &[DVec3], y: &mut [DVec3]) {
        self.scalars.apply(x, y);
    }

    fn diagonal(&self, diagonal: &mut [DMat3]) {
        self.scalars.diagonal(diagonal);
    }

    fn blocks(&self) -> Option<&BlockMatrix> {
        Some(self.blocks)
    }

    fn scalars(&self) -> Option<&ScalarMatrix> {
        Some(self.scalars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_and_diagonal_are_those_of_the_full_blocks() {
        let pattern = Arc::new(BlockPattern::new(&[false, true, false, false], &[[0, 2], [2, 3], [1, 2]]));
        let mut matrix = ScalarMatrix::zero(pattern);
        (0..4).for_each(|v| matrix.add_diagonal(v, 4.0 + f64::from(v)));
        matrix.add_pair(0, 2, -1.5);
        matrix.add_pair(3, 2, 0.5);
        matrix.add_pair(1, 2, 9.0);
        matrix.add_pair(0, 3, 0.25);
        let full = matrix.to_blocks();
        assert_eq!(full.outside().len(), 1);
        let again = ScalarMatrix::of_blocks(&full).unwrap();
        assert_eq!((again.values, again.outside), (matrix.values.clone(), matrix.outside.clone()));
        let mut coupled = full.clone();
        coupled.add_diagonal(2, DMat3::from_diagonal(DVec3::X));
        assert!(ScalarMatrix::of_blocks(&coupled).is_none());
        let x = [DVec3::new(1.0, 2.0, -1.0), DVec3::new(0.5, -3.0, 2.0), DVec3::new(4.0, 0.0, 1.0)];
        let mut y = [DVec3::ZERO; 3];
        matrix.apply(&x, &mut y);
        assert_eq!(y.to_vec(), full.multiply(&x));
        let mut diagonals = [[DMat3::ZERO; 3]; 2];
        matrix.diagonal(&mut diagonals[0]);
        full.diagonal(&mut diagonals[1]);
        assert_eq!(diagonals[0], diagonals[1]);
        assert_eq!(diagonals[0][1], 6.0 * DMat3::IDENTITY);
    }
}
