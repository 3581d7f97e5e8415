//! The coarsest level (Xian 2019, section 4.5): a dense Cholesky factorisation, in double precision.

use super::coarse_matrix::Numbers;
use crate::linear::DenseFactor;
use crate::simd::Simd;

/// The coarsest level's factor.
#[derive(Debug, Clone, Default)]
pub(super) struct Bottom {
    factor: DenseFactor,
    simd: Simd,
    x: Vec<f64>,
}

impl Bottom {
    pub(super) fn new(simd: Simd) -> Self {
        Self { simd, ..Self::default() }
    }

    /// Factors a matrix, times `scale`, with ones for functions that a rank-deficient node does not have. `false` if it is
    /// not positive definite.
    pub(super) fn fill(&mut self, numbers: Numbers<'_>, scale: f64) -> bool {
        let size = 3 * numbers.functions;
        let rows = size * numbers.pattern.unknowns();
        let columns = self.factor.clear(rows);
        for i in 0..numbers.pattern.unknowns() {
            let (start, others) = numbers.pattern.row(i);
            for (slot, &j) in (start..).zip(others) {
                for (k, block) in numbers.at(slot).iter().enumerate() {
                    let (f, g) = (k / numbers.functions, k % numbers.functions);
                    let corner = (size * j as usize + 3 * g) * rows + size * i + 3 * f;
                    for (c, column) in block.to_cols_array_2d().iter().enumerate() {
                        let target = &mut columns[corner + c * rows..][..3];
                        target.iter_mut().zip(column).for_each(|(target, entry)| *target = entry * scale);
                    }
                }
            }
        }
        for missing in (0..rows).map(|i| i * (rows + 1)) {
            if numbers.functions > 1 && columns[missing] == 0.0 {
                columns[missing] = 1.0;
            }
        }
        self.x.resize(rows, 0.0);
        self.factor.factorise(self.simd)
    }

    /// `x = A⁻¹ b`.
    pub(super) fn solve(&mut self, b: &[f32], x: &mut [f32]) {
        self.x.iter_mut().zip(b).for_each(|(x, b)| *x = f64::from(*b));
        self.factor.solve(&mut self.x);
        x.iter_mut().zip(&self.x).for_each(|(x, exact)| *x = *exact as f32);
    }

    pub(super) fn bytes(&self) -> usize {
        self.factor.bytes() + 8 * self.x.len()
    }
}
