//! The extreme eigenvalues of `D⁻¹ A` with a (block) diagonal `D` by Lanczos' method in the inner product of `D` (Saad 2003,
//! section 6.6):
//!
//! ```text
//! w = D⁻¹ A q - β q_before    α = wᵀ D q    w -= α q    β = |w|_D    q_before = q    q = w / β
//! ```
//!
//! The coefficients make a tridiagonal matrix, whose extreme eigenvalues come by bisection on Sturm counts. The vectors are the
//! caller's, in any precision.

use glam::{DMat3, DVec3};

use crate::vectors::{CHUNK, noise};
use crate::{BlockJacobi, LinearOperator};
use supple_core::parallel::prelude::*;

/// An invariant subspace is found where `β` falls below this fraction of `α`, in double precision.
const INVARIANT: f64 = 1e-12;

/// An eigenvalue above `-ROUNDING` times the largest may be a positive one with rounding errors.
const ROUNDING: f64 = 1e-14;

/// Halvings of an interval that contains an eigenvalue.
const HALVINGS: usize = 100;

/// The three vectors of Lanczos' method, and the matrix.
pub trait LanczosVectors {
    /// Fills `q` with noise and `q_before` with zeros; gives `qᵀ D q`.
    fn start(&mut self) -> f64;
    /// `q *= factor`.
    fn scale(&mut self, factor: f64);
    /// `w = D⁻¹ A q - beta q_before`; gives `wᵀ D q`.
    fn apply(&mut self, beta: f64) -> f64;
    /// `w -= alpha q`; gives `wᵀ D w`.
    fn orthogonalise(&mut self, alpha: f64) -> f64;
    /// `q_before = q`, `q = factor w`.
    fn advance(&mut self, factor: f64);
}

/// The tridiagonal matrix that Lanczos' method has built.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tridiagonal {
    diagonal: Vec<f64>,
    off_diagonal: Vec<f64>,
}

impl Tridiagonal {
    /// Performs this many steps of Lanczos' method, or fewer where they span an invariant subspace: where `β` falls below the
    /// fraction `invariant` of `α`, which depends on the precision of the vectors. Returns `false`, and holds nothing of use, after
    /// a start of zero and where a coefficient is not finite. Memory is kept from one call to the next.
    pub fn build(&mut self, vectors: &mut dyn LanczosVectors, steps: usize, invariant: f64) -> bool {
        self.diagonal.clear();
        self.off_diagonal.clear();
        self.diagonal.reserve(steps);
        self.off_diagonal.reserve(steps);
        let start = vectors.start().sqrt();
        if start == 0.0 || !start.is_finite() {
            return false;
        }
        vectors.scale(1.0 / start);
        let mut beta = 0.0;
        for _ in 0..steps {
            let alpha = vectors.apply(beta);
            beta = vectors.orthogonalise(alpha).sqrt();
            self.diagonal.push(alpha);
            if !alpha.is_finite() || !beta.is_finite() {
                return false;
            }
            if beta <= invariant * alpha.abs() {
                return true;
            }
            self.off_diagonal.push(beta);
            vectors.advance(1.0 / beta);
        }
        self.off_diagonal.pop();
        true
    }

    /// Its largest eigenvalue, if that is positive: from below, the largest of the matrix it was built from.
    pub fn largest(&self) -> f64 {
        bisect([0.0, self.bound()], |at| self.below(at) == self.diagonal.len())
    }

    /// Its smallest eigenvalue; 0 if that is negative beyond rounding.
    pub fn smallest(&self) -> f64 {
        let bound = self.bound();
        if self.below(-ROUNDING * bound) > 0 {
            return 0.0;
        }
        bisect([0.0, bound], |at| self.below(at) >= 1)
    }

    /// No eigenvalue is larger (Gershgorin).
    fn bound(&self) -> f64 {
        let next = |i: usize| self.off_diagonal.get(i).map_or(0.0, |entry| entry.abs());
        let row = |(i, d): (usize, &f64)| d + (next(i) + if i == 0 { 0.0 } else { next(i - 1) });
        self.diagonal.iter().enumerate().map(row).fold(0.0, f64::max)
    }

    /// How many eigenvalues lie below `at`: the negative pivots of `T - at I`.
    fn below(&self, at: f64) -> usize {
        let mut pivot = 1.0;
        let mut count = 0;
        for (i, &d) in self.diagonal.iter().enumerate() {
            let coupling = if i == 0 { 0.0 } else { self.off_diagonal[i - 1] * self.off_diagonal[i - 1] };
            pivot = d - at - coupling / pivot;
            if pivot == 0.0 {
                pivot = f64::MIN_POSITIVE;
            }
            count += usize::from(pivot < 0.0);
        }
        count
    }
}

/// Where a condition that fails at the low end and holds at the high end begins to hold.
fn bisect([mut low, mut high]: [f64; 2], holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The vectors of a search with the block diagonal of a matrix, kept from one to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spectrum {
    q: Vec<DVec3>,
    before: Vec<DVec3>,
    w: Vec<DVec3>,
    diagonal: Vec<DMat3>,
    tridiagonal: Tridiagonal,
}

impl Spectrum {
    /// The smallest and largest eigenvalue found by this many steps; from inside the spectrum. `None` if the matrix is not
    /// positive definite or not finite.
    pub(crate) fn extremes(
        &mut self,
        matrix: &dyn LinearOperator,
        jacobi: &BlockJacobi,
        steps: usize,
    ) -> Option<[f64; 2]> {
        let unknowns = matrix.unknowns();
        self.diagonal.resize(unknowns, DMat3::ZERO);
        matrix.diagonal(&mut self.diagonal);
        self.w.resize(unknowns, DVec3::ZERO);
        let inverses = jacobi.inverses();
        let mut tridiagonal = std::mem::take(&mut self.tridiagonal);
        let search = &mut Search { matrix, inverses, of: self };
        let found = tridiagonal.build(search, steps.min(3 * unknowns), INVARIANT);
        let [smallest, largest] =
            if found { [tridiagonal.smallest(), tridiagonal.largest()] } else { [0.0; 2] };
        self.tridiagonal = tridiagonal;
        (smallest > 0.0 && largest.is_finite()).then_some([smallest, largest])
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        (3 * size_of::<DVec3>() + size_of::<DMat3>()) * self.w.len()
    }
}

struct Search<'a> {
    matrix: &'a dyn LinearOperator,
    inverses: &'a [DMat3],
    of: &'a mut Spectrum,
}

/// `aᵀ D b`, chunk by chunk.
fn weighted(diagonal: &[DMat3], a: &[DVec3], b: &[DVec3]) -> f64 {
    let part = |range: std::ops::Range<usize>| range.map(|i| a[i].dot(diagonal[i] * b[i])).sum::<f64>();
    supple_core::parallel::fold(a.len(), CHUNK, 0.0, part, |a, b| a + b)
}

impl LanczosVectors for Search<'_> {
    fn start(&mut self) -> f64 {
        let Spectrum { q, before, diagonal, .. } = self.of;
        noise(q, diagonal.len());
        before.clear();
        before.resize(diagonal.len(), DVec3::ZERO);
        weighted(diagonal, q, q)
    }

    fn scale(&mut self, factor: f64) {
        self.of.q.iter_mut().for_each(|q| *q *= factor);
    }

    fn apply(&mut self, beta: f64) -> f64 {
        let Spectrum { q, before, w, diagonal, .. } = self.of;
        self.matrix.apply(q, w);
        let parts =
            w.par_chunks_mut(CHUNK).zip(self.inverses.par_chunks(CHUNK)).zip(before.par_chunks(CHUNK));
        parts.for_each(|((w, inverses), before)| {
            for ((w, inverse), before) in w.iter_mut().zip(inverses).zip(before) {
                *w = *inverse * *w - beta * *before;
            }
        });
        weighted(diagonal, w, q)
    }

    fn orthogonalise(&mut self, alpha: f64) -> f64 {
        let Spectrum { q, w, diagonal, .. } = self.of;
        crate::vectors::add(w, -alpha, q);
        weighted(diagonal, w, w)
    }

    fn advance(&mut self, factor: f64) {
        let Spectrum { q, before, w, .. } = self.of;
        std::mem::swap(before, q);
        std::mem::swap(q, w);
        self.scale(factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockMatrix, BlockPattern, Preconditioner};
    use std::sync::Arc;

    fn chain(n: u32, diagonal: f64) -> BlockMatrix {
        let pairs: Vec<[u32; 2]> = (1..n).map(|i| [i - 1, i]).collect();
        let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; n as usize], &pairs)));
        pairs.iter().for_each(|&[a, b]| matrix.add_pair(a, b, -DMat3::IDENTITY));
        (0..n).for_each(|v| matrix.add_diagonal(v, diagonal * DMat3::IDENTITY));
        matrix
    }

    fn extremes(matrix: &BlockMatrix, steps: usize) -> Option<[f64; 2]> {
        let mut jacobi = BlockJacobi::default();
        jacobi.update(matrix).unwrap();
        Spectrum::default().extremes(matrix, &jacobi, steps)
    }

    #[test]
    fn extremes_of_a_chain_are_those_of_the_formula() {
        let [smallest, largest] = extremes(&chain(40, 2.0), 200).unwrap();
        // The eigenvalues of tridiag(-1, 2, -1) / 2 are 1 - cos(k π / (n + 1)).
        let cosine = (std::f64::consts::PI / 41.0).cos();
        assert!((smallest - (1.0 - cosine)).abs() < 1e-8 && (largest - (1.0 + cosine)).abs() < 1e-8);
    }

    #[test]
    fn indefinite_matrices_have_no_extremes() {
        assert_eq!(extremes(&chain(40, 1.5), 60), None);
    }

    /// The smallest eigenvalue of the chain with a diagonal of `2 cos(π / (n + 1)) + s` is `s` over the diagonal.
    #[test]
    fn nearly_singular_matrices_have_their_smallest_eigenvalue() {
        for shift in [1e-3, 1e-6, 1e-9] {
            let diagonal = 2.0 * (std::f64::consts::PI / 13.0).cos() + shift;
            let [smallest, _] = extremes(&chain(12, diagonal), 60).unwrap();
            assert!((smallest * diagonal / shift - 1.0).abs() < 1e-4, "{shift}: {smallest}");
        }
    }

    #[test]
    fn numbers_that_are_not_finite_have_no_extremes() {
        let mut matrix = chain(40, 2.0);
        matrix.add_pair(20, 21, DMat3::IDENTITY * f64::MAX);
        assert_eq!(extremes(&matrix, 60), None);
    }
}
