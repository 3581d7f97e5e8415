//! The coarsest level (Xian 2019, section 4.5): a dense Cholesky factorisation, in double precision.

use super::numbers::{Numbers, stride};
use crate::DenseFactor;
use supple_core::simd::Simd;

/// The coarsest level's factor.
#[derive(Debug, Clone, Default)]
pub(super) struct CoarsestSolver {
    factor: DenseFactor,
    simd: Simd,
    /// Right-hand sides: 3 where the matrix does not couple directions.
    sides: usize,
    /// The stride between the numbers of one of them.
    stride: usize,
    x: Vec<f64>,
}

impl CoarsestSolver {
    pub(super) fn new(simd: Simd) -> Self {
        Self { simd, ..Self::default() }
    }

    /// Factorises a matrix, times `scale`, with ones for functions that a rank-deficient node does not have. `false`
    /// if it is not positive definite.
    pub(super) fn fill(&mut self, numbers: Numbers<'_>, scale: f64) -> bool {
        let width = numbers.width;
        let size = width * numbers.functions;
        let rows = size * numbers.pattern.unknowns();
        let columns = self.factor.clear(rows);
        for i in 0..numbers.pattern.unknowns() {
            let (start, others) = numbers.pattern.row(i);
            for (slot, &j) in (start..).zip(others) {
                for c in 0..size {
                    let target = &mut columns[(size * j as usize + c) * rows + size * i..][..size];
                    target
                        .iter_mut()
                        .zip(0..)
                        .for_each(|(target, r)| *target = numbers.entry(slot, r, c) * scale);
                }
            }
        }
        for missing in (0..rows).map(|i| i * (rows + 1)) {
            if numbers.functions > 1 && columns[missing] == 0.0 {
                columns[missing] = 1.0;
            }
        }
        (self.sides, self.stride) = (3 / width, stride(width) / width);
        self.x.resize(rows, 0.0);
        self.factor.factorise(self.simd)
    }

    /// `x = A⁻¹ b`.
    pub(super) fn solve(&mut self, b: &[f32], x: &mut [f32]) {
        for side in 0..self.sides {
            let own = b.iter().skip(side).step_by(self.stride);
            self.x.iter_mut().zip(own).for_each(|(x, b)| *x = f64::from(*b));
            self.factor.solve(&mut self.x);
            let own = x.iter_mut().skip(side).step_by(self.stride);
            own.zip(&self.x).for_each(|(x, exact)| *x = *exact as f32);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.factor.bytes() + 8 * self.x.len()
    }
}
