//! The extreme eigenvalues of `D⁻¹ A` with the block diagonal `D`, from the coefficients of conjugate gradients: `k`
//! steps build the `k x k` tridiagonal matrix of Lanczos (Saad 2003, section 6.7.3), whose extreme eigenvalues are
//! found by bisection on Sturm counts.

use glam::DVec3;

use crate::vectors::{Sums, noise, turn};
use crate::{BlockJacobi, LinearOperator, Preconditioner};

/// The vectors of a search, reused from one to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spectrum {
    r: Vec<DVec3>,
    x: Vec<DVec3>,
    z: Vec<DVec3>,
    q: Vec<DVec3>,
    p: Vec<DVec3>,
    sums: Sums,
    /// The tridiagonal matrix.
    diagonal: Vec<f64>,
    off_diagonal: Vec<f64>,
}

impl Spectrum {
    /// The smallest and largest eigenvalue found by this many steps, from inside the spectrum. `None` if the matrix
    /// is not positive definite or not finite.
    pub(crate) fn extremes(
        &mut self,
        matrix: &dyn LinearOperator,
        jacobi: &mut BlockJacobi,
        steps: usize,
    ) -> Option<[f64; 2]> {
        self.lanczos(matrix, jacobi, steps)?;
        let Self { diagonal, off_diagonal, .. } = self;
        let reach = |i: usize| {
            let before = if i == 0 { 0.0 } else { off_diagonal[i - 1] };
            before.abs() + off_diagonal.get(i).map_or(0.0, |after| after.abs())
        };
        let high = (0..diagonal.len()).map(|i| diagonal[i] + reach(i)).fold(0.0, f64::max);
        let smallest = bisect([0.0, high], |at| below(diagonal, off_diagonal, at) >= 1);
        let largest = bisect([0.0, high], |at| below(diagonal, off_diagonal, at) == diagonal.len());
        (smallest > 0.0 && largest.is_finite()).then_some([smallest, largest])
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        5 * size_of::<DVec3>() * self.r.len() + self.sums.bytes()
    }

    fn start(&mut self, unknowns: usize) {
        noise(&mut self.r, unknowns);
        for vector in [&mut self.x, &mut self.z, &mut self.q] {
            vector.resize(unknowns, DVec3::ZERO);
        }
        self.sums.resize(unknowns);
        self.diagonal.clear();
        self.off_diagonal.clear();
    }

    fn lanczos(&mut self, matrix: &dyn LinearOperator, jacobi: &mut BlockJacobi, steps: usize) -> Option<()> {
        self.start(matrix.unknowns());
        let Self { r, x, z, q, p, sums, diagonal, off_diagonal } = self;
        jacobi.apply(r, z);
        p.clone_from(z);
        let mut rz = sums.dot(r, z);
        let first = rz;
        let (mut alpha_before, mut beta) = (1.0, 0.0);
        for _ in 0..steps.min(3 * r.len()) {
            matrix.apply(p, q);
            let alpha = rz / sums.dot(p, q);
            if !alpha.is_finite() || alpha <= 0.0 {
                return None;
            }
            diagonal.push(1.0 / alpha + beta / alpha_before);
            sums.advance(alpha, (x, p), (r, q));
            jacobi.apply(r, z);
            let next = sums.dot(r, z);
            if next <= 1e-24 * first {
                break;
            }
            (beta, alpha_before, rz) = (next / rz, alpha, next);
            off_diagonal.push(beta.sqrt() / alpha);
            turn(p, beta, z);
        }
        off_diagonal.truncate(diagonal.len().saturating_sub(1));
        (!diagonal.is_empty()).then_some(())
    }
}

/// How many eigenvalues lie below `at`: the negative pivots of `T - at I`.
fn below(diagonal: &[f64], off_diagonal: &[f64], at: f64) -> usize {
    let mut pivot = 1.0;
    let mut count = 0;
    for (i, &d) in diagonal.iter().enumerate() {
        let coupling = if i == 0 { 0.0 } else { off_diagonal[i - 1] * off_diagonal[i - 1] };
        pivot = d - at - coupling / pivot;
        if pivot == 0.0 {
            pivot = f64::MIN_POSITIVE;
        }
        count += usize::from(pivot < 0.0);
    }
    count
}

/// The point at which a condition that is false at the low end and true at the high end becomes true.
fn bisect([mut low, mut high]: [f64; 2], holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockMatrix, BlockPattern};
    use glam::DMat3;
    use std::sync::Arc;

    #[test]
    fn extremes_of_a_chain_are_those_of_the_formula() {
        let n = 40u32;
        let pairs: Vec<[u32; 2]> = (1..n).map(|i| [i - 1, i]).collect();
        let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; n as usize], &pairs)));
        pairs.iter().for_each(|&[a, b]| matrix.add_pair(a, b, -DMat3::IDENTITY));
        (0..n).for_each(|v| matrix.add_diagonal(v, 2.0 * DMat3::IDENTITY));
        let mut jacobi = BlockJacobi::default();
        jacobi.update(&matrix).unwrap();
        let [smallest, largest] = Spectrum::default().extremes(&matrix, &mut jacobi, 200).unwrap();
        // The eigenvalues of tridiag(-1, 2, -1) / 2 are 1 - cos(k π / (n + 1)).
        let cosine = (std::f64::consts::PI / f64::from(n + 1)).cos();
        assert!((smallest - (1.0 - cosine)).abs() < 1e-8 && (largest - (1.0 + cosine)).abs() < 1e-8);
    }
}
