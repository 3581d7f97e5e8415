//! The nearest rotation to a deformation gradient, in lanes.
//!
//! For `det F > 0` it is the limit of Newton's iteration for `XᵀX = I` (Higham 1986),
//!
//! ```text
//! X₀ = F,      X' = ½ (γ X + X⁻ᵀ/γ),      X⁻ᵀ = cof X / det X,
//! ```
//!
//! which keeps the singular vectors and maps every singular value `σ` to `½ (γ σ + 1/(γ σ))`: large ones are halved,
//! and once they are near 1 the error is squared in each iteration. Four iterations suffice for stretches up to a
//! fifth. `γ² = |X⁻¹|/|X|` in the first iteration brings singular values close to 1. This takes about a quarter of
//! the time of a singular value decomposition, which is still used for elements that are almost flat, where the
//! inverse loses digits, and for inverted ones, whose limit would be a reflection.

use super::svd::{Svd, svd};
use crate::simd::{LaneMat3, Lanes, WIDTH};

/// Newton's iteration is used if `27 det² / |F|⁶`, which is 1 for a scaled rotation, is at least this: singular
/// values then differ by less than a factor of 64.
const REGULAR: f64 = 1e-3;
/// A squared change after which the remaining error, half of it, is rounding.
const CONVERGED: f64 = 1e-15;
/// Maximum number of iterations, more than regular matrices need.
const MAX_ITERATIONS: usize = 20;

/// The rotation `R` of the polar decomposition `F = R S`, the nearest to `F`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn polar_rotation(f: LaneMat3) -> LaneMat3 {
    let (determinant, norm) = (f.determinant(), f.norm_squared());
    let excess = determinant * determinant * 27.0 - norm * norm * norm * REGULAR;
    let mut regular = true;
    for lane in 0..WIDTH {
        // NaN is not regular.
        regular &= determinant.0[lane] > 0.0 && excess.0[lane] > 0.0;
    }
    if regular { newton(f) } else { by_singular_values(f) }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn newton(f: LaneMat3) -> LaneMat3 {
    let (cofactor, one) = (f.cofactor(), Lanes::splat(1.0));
    let inverse = one / f.0[0].dot(cofactor.0[0]);
    // γ² = |cof F| / (det F |F|).
    let squared = (cofactor.norm_squared() / f.norm_squared()).sqrt() * inverse;
    let scale = squared.sqrt();
    let mut x = (f * scale + cofactor * (inverse / scale)) * Lanes::splat(0.5);
    for _ in 0..MAX_ITERATIONS {
        let cofactor = x.cofactor();
        let inverse = one / x.0[0].dot(cofactor.0[0]);
        let step = (cofactor * inverse - x) * Lanes::splat(0.5);
        let change = step.norm_squared();
        x += step;
        // Compared as integers, whose order is that of positive floats: compilers generate better code for one
        // integer comparison per lane.
        let mut largest = 0;
        for lane in 0..WIDTH {
            largest = largest.max(change.0[lane].to_bits());
        }
        if largest < CONVERGED.to_bits() {
            break;
        }
    }
    x
}

/// One function for all instruction sets: it is rarely needed.
#[cold]
#[inline(never)]
fn by_singular_values(f: LaneMat3) -> LaneMat3 {
    let Svd { u, v, .. } = svd(f);
    u * v.transpose()
}

#[cfg(test)]
mod tests {
    use glam::DMat3;

    use super::*;
    use crate::small_matrix::svd::tests::{is_rotation, rotation, samples, size};

    #[test]
    fn the_polar_rotation_is_the_nearest_one() {
        // For the nearest rotation RᵀF is symmetric, and no other sample rotation is nearer.
        let seed = &mut 3;
        for batch in samples().chunks(WIDTH) {
            let r = polar_rotation(LaneMat3::from_fn(|i| batch[i]));
            for (i, &f) in batch.iter().enumerate() {
                let r = r.lane(i);
                is_rotation(r);
                let s = r.transpose() * f;
                assert!(size(s - s.transpose()) <= 1e-13 * size(f));
                let distance = |q: DMat3| (f - q).to_cols_array().iter().map(|v| v * v).sum::<f64>();
                assert!((0..10).all(|_| distance(rotation(seed)) >= distance(r) - 1e-12));
            }
        }
    }

    #[test]
    fn newtons_iteration_finds_the_rotation_of_the_singular_value_decomposition() {
        let regular = |f: &&DMat3| {
            let norm: f64 = f.to_cols_array().iter().map(|v| v * v).sum();
            f.determinant() > 0.0 && 27.0 * f.determinant().powi(2) > REGULAR * norm.powi(3)
        };
        let seed = &mut 5;
        // In addition to the usual ones, some at the limit of regularity, and of other magnitudes.
        let mut edge = |scale: f64| {
            let stretches = DMat3::from_diagonal([scale, 0.7 * scale, 0.017 * scale].into());
            rotation(seed) * stretches * rotation(seed)
        };
        let more: Vec<DMat3> = [1.0, 1e-40, 1e40].into_iter().flat_map(|s| [edge(s), edge(s)]).collect();
        let list: Vec<DMat3> = samples().iter().chain(&more).filter(regular).copied().collect();
        assert!(more.iter().all(|f| list.contains(f)));
        assert!(list.len() > 10 * WIDTH, "{}", list.len());
        for batch in list.rchunks_exact(WIDTH) {
            let f = LaneMat3::from_fn(|i| batch[i]);
            let (found, expected) = (newton(f), by_singular_values(f));
            for (i, f) in batch.iter().enumerate() {
                assert!(size(found.lane(i) - expected.lane(i)) < 2e-14, "{f}");
            }
        }
    }

    #[test]
    fn one_flat_or_inverted_matrix_does_not_change_the_rotations_beside_it() {
        let seed = &mut 11;
        let f = rotation(seed) * DMat3::from_diagonal([1.3, 0.9, 0.8].into()) * rotation(seed);
        let alone = polar_rotation(LaneMat3::from_fn(|_| f));
        for other in [DMat3::ZERO, -f, DMat3::from_diagonal([1.0, 1.0, 1e-9].into())] {
            let beside = polar_rotation(LaneMat3::from_fn(|i| if i == 3 { other } else { f }));
            is_rotation(beside.lane(3));
            assert!(size(beside.lane(0) - alone.lane(0)) < 1e-14);
        }
    }
}
