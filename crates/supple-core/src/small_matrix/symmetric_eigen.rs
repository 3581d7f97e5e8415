//! Eigenvalues of small symmetric matrices in lanes, by cyclic Jacobi rotations (Golub & Van Loan, section 8.5) with a
//! fixed number of sweeps: no branches, and eigenvectors orthogonal to rounding whatever the eigenvalues.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `crate::simd`")]

use crate::simd::Lanes;

/// A square matrix, stored by rows.
pub type SquareMatrix<const N: usize> = [[Lanes; N]; N];

/// The eigenvalues in no particular order, and the eigenvectors as columns of a matrix by rows.
pub struct SymmetricEigen<const N: usize> {
    /// Eigenvalues.
    pub values: [Lanes; N],
    /// `vectors[i][k]` is component `i` of eigenvector `k`.
    pub vectors: SquareMatrix<N>,
}

/// Sweeps after which small matrices have converged to rounding: convergence is quadratic.
const fn sweeps(rows: usize) -> usize {
    match rows {
        0..=1 => 0,
        2 => 1,
        3 => 5,
        _ => 8,
    }
}

/// The cosine and sine of the rotation that makes the off-diagonal entry `b` of `[a b; b d]` zero, at most an eighth of
/// a turn: new columns are `c p - s q` and `s p + c q`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn jacobi_rotation(a: Lanes, b: Lanes, d: Lanes) -> (Lanes, Lanes) {
    let gap = d - a;
    let twice = b + b;
    let signed = gap.less(Lanes::default(), -twice, twice);
    let t = signed / (gap.abs() + (gap * gap + twice * twice).sqrt() + f64::MIN_POSITIVE);
    let cosine = Lanes::splat(1.0) / (t * t + 1.0).sqrt();
    (cosine, t * cosine)
}

/// Eigenvalues and eigenvectors of a symmetric matrix.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn symmetric_eigen<const N: usize>(mut a: SquareMatrix<N>) -> SymmetricEigen<N> {
    let mut vectors = [[Lanes::default(); N]; N];
    for i in 0..N {
        vectors[i][i] = Lanes::splat(1.0);
    }
    for _ in 0..sweeps(N) {
        for p in 0..N {
            for q in p + 1..N {
                let (c, s) = jacobi_rotation(a[p][p], a[p][q], a[q][q]);
                for k in 0..N {
                    (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
                }
                for k in 0..N {
                    (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                }
                for k in 0..N {
                    let (x, y) = (vectors[k][p], vectors[k][q]);
                    (vectors[k][p], vectors[k][q]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    let mut values = [Lanes::default(); N];
    for k in 0..N {
        values[k] = a[k][k];
    }
    SymmetricEigen { values, vectors }
}

impl<const N: usize> SymmetricEigen<N> {
    /// The symmetric matrix with the same eigenvectors and these eigenvalues.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn with_values(&self, values: &[Lanes; N]) -> SquareMatrix<N> {
        let mut matrix = [[Lanes::default(); N]; N];
        for i in 0..N {
            for j in 0..=i {
                let mut sum = Lanes::default();
                for k in 0..N {
                    sum += self.vectors[i][k] * values[k] * self.vectors[j][k];
                }
                (matrix[i][j], matrix[j][i]) = (sum, sum);
            }
        }
        matrix
    }
}

/// The nearest positive semi-definite matrix: negative eigenvalues become zero. A definite matrix is returned
/// bit-identical.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn positive_part<const N: usize>(a: SquareMatrix<N>) -> SquareMatrix<N> {
    let mut eigen = symmetric_eigen(a);
    for k in 0..N {
        eigen.values[k] = eigen.values[k].min(Lanes::default());
    }
    // Subtracting the negative part leaves a definite matrix untouched by rounding.
    let negative = eigen.with_values(&eigen.values);
    let mut out = a;
    for i in 0..N {
        for j in 0..N {
            out[i][j] = a[i][j] - negative[i][j];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::WIDTH;
    use crate::small_matrix::reference_eigenvalues::eigenvalues;

    fn symmetric<const N: usize>(seed: f64) -> SquareMatrix<N> {
        let entry = |i: usize, j: usize, lane: usize| {
            ((i * j + i + j) as f64 * 1.7 + seed * (lane + 1) as f64).sin() * 10f64.powi(lane as i32 % 4)
        };
        std::array::from_fn(|i| std::array::from_fn(|j| Lanes::from_fn(|lane| entry(i, j, lane))))
    }

    fn reconstructs<const N: usize>(a: SquareMatrix<N>) {
        let eigen = symmetric_eigen(a);
        let back = eigen.with_values(&eigen.values);
        for lane in 0..WIDTH {
            let scale = a.iter().flatten().fold(1e-300, |m: f64, v| m.max(v.0[lane].abs()));
            for i in 0..N {
                for j in 0..N {
                    assert!((back[i][j].0[lane] - a[i][j].0[lane]).abs() < 1e-13 * scale, "{N} {lane}");
                    let dot: f64 =
                        (0..N).map(|k| eigen.vectors[i][k].0[lane] * eigen.vectors[j][k].0[lane]).sum();
                    assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-13);
                }
            }
        }
    }

    #[test]
    fn eigenvectors_are_orthogonal_and_give_the_matrix_back() {
        for seed in 1..20 {
            let seed = f64::from(seed) * 0.77;
            reconstructs::<2>(symmetric(seed));
            reconstructs::<3>(symmetric(seed));
            reconstructs::<4>(symmetric(seed));
        }
        reconstructs::<3>([[Lanes::default(); 3]; 3]);
        reconstructs::<3>([[Lanes::splat(1.0); 3]; 3]);
    }

    #[test]
    fn eigenvalues_are_those_of_an_independent_solver() {
        let a = symmetric::<4>(0.3);
        let values = symmetric_eigen(a).values;
        for lane in 0..WIDTH {
            let expected = eigenvalues(4, |i, j| a[i][j].0[lane]);
            let mut ours = values.map(|v| v.0[lane]);
            ours.sort_by(f64::total_cmp);
            assert!(
                ours.iter()
                    .zip(&expected)
                    .all(|(a, b)| (a - b).abs() < 1e-12 * expected[3].abs().max(expected[0].abs()))
            );
        }
    }

    #[test]
    fn the_positive_part_of_a_definite_matrix_is_itself() {
        let mut a = symmetric::<3>(0.9);
        (0..3).for_each(|i| a[i][i] += Lanes::splat(1e4));
        assert_eq!(positive_part(a), a);
    }
}
