//! Singular values of deformation gradients, in lanes.
//!
//! `F = U Σ Vᵀ` with rotations `U` and `V` (determinant +1) and `σ₁ >= σ₂ >= |σ₃|`: for an inverted element the
//! smallest singular value is negative, so that `R = U Vᵀ` is the nearest *rotation* (Irving, Teran & Fedkiw 2004).
//! Found by one-sided Jacobi rotations of the columns of `F` (Hestenes 1958), which never form `FᵀF`'s rounding
//! errors, in a fixed number of sweeps without branches. Flattened elements (rank 2, 1 or 0) get an arbitrary
//! rotation that completes `U`.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `crate::simd`")]

use super::symmetric_eigen::jacobi_rotation;
use crate::simd::{LaneMat3, LaneVec3, Lanes};

/// `F = U Σ Vᵀ` of a 3x3 matrix.
pub struct Svd {
    /// Left rotation.
    pub u: LaneMat3,
    /// Singular values, descending; the last has the sign of the determinant.
    pub sigma: LaneVec3,
    /// Right rotation.
    pub v: LaneMat3,
}

/// `F = U Σ Vᵀ` of a 3x2 matrix.
pub struct Svd32 {
    /// Left rotation; its last column is normal to both columns of `F`.
    pub u: LaneMat3,
    /// Singular values, descending, not negative.
    pub sigma: [Lanes; 2],
    /// The columns of the right rotation.
    pub v: [[Lanes; 2]; 2],
}

/// Enough for convergence to rounding; it is quadratic.
const SWEEPS: usize = 5;

/// The pairs of columns in a sweep.
const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

/// Relative length below which a column is rounding noise and gives no direction.
const NOISE: f64 = 1e-14;

/// The singular value decomposition of a 3x3 matrix.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn svd(f: LaneMat3) -> Svd {
    let mut b = f.0;
    let mut v = LaneMat3::identity().0;
    for _ in 0..SWEEPS {
        for k in 0..3 {
            let (p, q) = PAIRS[k];
            let (c, s) = jacobi_rotation(b[p].dot(b[p]), b[p].dot(b[q]), b[q].dot(b[q]));
            rotate(&mut b, p, q, c, s);
            rotate(&mut v, p, q, c, s);
        }
    }
    for k in 0..3 {
        let (p, q) = PAIRS[k];
        let wrong = b[p].dot(b[p]).less(b[q].dot(b[q]), Lanes::splat(1.0), Lanes::default());
        quarter_turn(&mut b, p, q, wrong);
        quarter_turn(&mut v, p, q, wrong);
    }
    let u = completed(b[0], b[1]);
    let sigma = LaneVec3([u.0[0].dot(b[0]), u.0[1].dot(b[1]), u.0[2].dot(b[2])]);
    Svd { u, sigma, v: LaneMat3(v) }
}

/// The singular value decomposition of a 3x2 matrix given by its columns.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn svd32([a, b]: [LaneVec3; 2]) -> Svd32 {
    let (c, s) = jacobi_rotation(a.dot(a), a.dot(b), b.dot(b));
    let (p, q) = (a * c - b * s, a * s + b * c);
    let wrong = p.dot(p).less(q.dot(q), Lanes::splat(1.0), Lanes::default());
    let (first, second) = (select_vector(wrong, q, p), select_vector(wrong, -p, q));
    let v0 = [select(wrong, s, c), select(wrong, c, -s)];
    let u = completed(first, second);
    Svd32 { u, sigma: [u.0[0].dot(first), u.0[1].dot(second)], v: [v0, [-v0[1], v0[0]]] }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn rotate(columns: &mut [LaneVec3; 3], p: usize, q: usize, c: Lanes, s: Lanes) {
    (columns[p], columns[q]) = (columns[p] * c - columns[q] * s, columns[p] * s + columns[q] * c);
}

/// Exchanges two columns where `swapped` is one, with a sign that keeps the determinant.
#[cfg_attr(not(debug_assertions), inline(always))]
fn quarter_turn(columns: &mut [LaneVec3; 3], p: usize, q: usize, swapped: Lanes) {
    let (a, b) = (columns[p], columns[q]);
    (columns[p], columns[q]) = (select_vector(swapped, b, a), select_vector(swapped, -a, b));
}

/// `then` where `condition` is one, else `otherwise`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn select(condition: Lanes, then: Lanes, otherwise: Lanes) -> Lanes {
    Lanes::default().less(condition, then, otherwise)
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn select_vector(condition: Lanes, then: LaneVec3, otherwise: LaneVec3) -> LaneVec3 {
    LaneVec3([
        select(condition, then[0], otherwise[0]),
        select(condition, then[1], otherwise[1]),
        select(condition, then[2], otherwise[2]),
    ])
}

/// The rotation whose first two columns are along `first` and `second`, which are nearly orthogonal; both may vanish,
/// or only `second`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn completed(first: LaneVec3, second: LaneVec3) -> LaneMat3 {
    let (one, tiny) = (Lanes::splat(1.0), Lanes::splat(1e-150));
    let length = first.length();
    let x_axis = LaneVec3([one, Lanes::default(), Lanes::default()]);
    let along = first * (one / length.max(tiny));
    let u0 = select_vector(tiny.less(length, one, Lanes::default()), along, x_axis);
    let across = second - u0 * u0.dot(second);
    let across_length = across.length();
    let noise = (length * NOISE).max(tiny);
    let is_known = noise.less(across_length, one, Lanes::default());
    let u1 = select_vector(is_known, across * (one / across_length.max(tiny)), perpendicular(u0));
    // Repeated, since a short second column has lost digits against the first.
    let again = u1 - u0 * u0.dot(u1);
    let u1 = again * (one / again.length());
    LaneMat3([u0, u1, u0.cross(u1)])
}

/// Some unit vector perpendicular to a unit vector (Duff et al. 2017).
#[cfg_attr(not(debug_assertions), inline(always))]
fn perpendicular(n: LaneVec3) -> LaneVec3 {
    let [x, y, z] = n.0;
    let one = Lanes::splat(1.0);
    let sign = z.less(Lanes::default(), -one, one);
    let a = -one / (sign + z);
    LaneVec3([sign * x * x * a + 1.0, sign * x * y * a, -(sign * x)])
}

#[cfg(test)]
pub(crate) mod tests {
    use glam::{DMat3, DQuat, DVec3};

    use super::*;
    use crate::simd::WIDTH;
    use crate::small_matrix::reference_eigenvalues::eigenvalues;

    fn random(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub(crate) fn rotation(seed: &mut u64) -> DMat3 {
        let q = DQuat::from_xyzw(random(seed), random(seed), random(seed), random(seed));
        DMat3::from_quat(q.normalize())
    }

    /// Random, inverted, flattened, repeated and badly scaled ones.
    pub(crate) fn samples() -> Vec<DMat3> {
        let seed = &mut 7;
        let stretches = [
            [1.0, 1.0, 1.0],
            [1.0, 1.0, -1.0],
            [-1.0, -1.0, -1.0],
            [2.0, 2.0, 1.0],
            [2.0, 1.0, 1.0],
            [1.0, 0.5, 0.0],
            [1.0, 1.0, 0.0],
            [3.0, 0.0, 0.0],
            [0.0, 0.0, 0.0],
            [1.0, 1e-7, 1e-9],
            [1.0, 1e-9, -1e-9],
            [1.0, 1e-15, 1e-16],
            [1e6, 1.0, 1e-6],
            [1.0 + 1e-12, 1.0, 1.0 - 1e-12],
            [1e-30, 1e-31, 1e-32],
        ];
        let mut list: Vec<DMat3> =
            (0..200).map(|_| DMat3::from_cols_array(&std::array::from_fn(|_| 2.0 * random(seed)))).collect();
        for s in stretches {
            list.push(DMat3::from_diagonal(DVec3::from_array(s)));
            list.extend(
                (0..8).map(|_| rotation(seed) * DMat3::from_diagonal(DVec3::from_array(s)) * rotation(seed)),
            );
        }
        while !list.len().is_multiple_of(WIDTH) {
            list.push(DMat3::IDENTITY);
        }
        list
    }

    pub(crate) fn size(m: DMat3) -> f64 {
        m.to_cols_array().iter().fold(0.0, |s: f64, v| s.max(v.abs()))
    }

    pub(crate) fn is_rotation(m: DMat3) {
        assert!(size(m.transpose() * m - DMat3::IDENTITY) < 1e-12, "{m}");
        assert!((m.determinant() - 1.0).abs() < 1e-12, "{m}");
    }

    #[test]
    fn rotations_and_singular_values_give_the_matrix_back() {
        for batch in samples().chunks(WIDTH) {
            let Svd { u, sigma, v } = svd(LaneMat3::from_fn(|i| batch[i]));
            for (i, &f) in batch.iter().enumerate() {
                let (u, s, v) = (u.lane(i), sigma.lane(i), v.lane(i));
                is_rotation(u);
                is_rotation(v);
                let back = u * DMat3::from_diagonal(s) * v.transpose();
                assert!(size(back - f) <= 1e-13 * size(f), "{f} {back}");
                assert!(s.x >= s.y && s.y >= s.z.abs() - 1e-13 * s.x, "{s}");
            }
        }
    }

    #[test]
    fn singular_values_are_those_of_an_independent_solver() {
        for batch in samples().chunks(WIDTH) {
            let sigma = svd(LaneMat3::from_fn(|i| batch[i])).sigma;
            for (i, f) in batch.iter().enumerate() {
                // Those of F and their negatives are the eigenvalues of the matrix with blocks 0, Fᵀ, F, 0.
                let entry = |r: usize, c: usize| if r >= 3 && c < 3 { f.col(c)[r - 3] } else { 0.0 };
                let expected: Vec<f64> = eigenvalues(6, entry).into_iter().rev().take(3).collect();
                let ours = sigma.lane(i).abs().to_array();
                assert!(ours.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-13 * expected[0]), "{f}");
            }
        }
    }

    #[test]
    fn three_by_two_matrices_come_back_too() {
        for batch in samples().chunks(WIDTH) {
            let f = LaneMat3::from_fn(|i| batch[i]);
            let columns = [f.0[0], f.0[1]];
            let Svd32 { u, sigma, v } = svd32(columns);
            for i in 0..WIDTH {
                is_rotation(u.lane(i));
                let scale = size(batch[i]);
                assert!(sigma[0].0[i] >= sigma[1].0[i] && sigma[1].0[i] >= -1e-14 * scale);
                for j in 0..2 {
                    let back = u.0[0].lane(i) * sigma[0].0[i] * v[0][j].0[i]
                        + u.0[1].lane(i) * sigma[1].0[i] * v[1][j].0[i];
                    assert!((back - columns[j].lane(i)).length() <= 1e-13 * scale, "{}", batch[i]);
                }
            }
        }
    }
}
