//! Properties of every law, tested on stretched, rotated, inverted and flattened deformation gradients.

use glam::{DMat3, DQuat, DVec3};

use super::*;
use crate::energy::conformance::noise;
use supple_core::simd::{LaneVec3, WIDTH};
use supple_core::small_matrix::reference_eigenvalues;

// Not inlined into every test, since kernels take long to compile.
#[inline(never)]
fn energy(law: SolidLaw, f: LaneMat3, lame: &LaneLame) -> Lanes {
    law.energy(f, lame)
}

#[inline(never)]
fn stress(law: SolidLaw, f: LaneMat3, lame: &LaneLame) -> LaneMat3 {
    law.stress(f, lame)
}

#[inline(never)]
fn tangent(law: SolidLaw, f: LaneMat3, lame: &LaneLame, mode: HessianMode) -> Tangent {
    law.tangent(f, lame, mode)
}

#[inline(never)]
fn block(tangent: &Tangent, a: LaneVec3, b: LaneVec3) -> LaneMat3 {
    tangent.block(tangent.turned(a), tangent.turned(b))
}

/// The change of stress `∂P/∂F : δF`, by the blocks along the coordinate axes from which elements are assembled.
fn apply(tangent: &Tangent, df: LaneMat3) -> LaneMat3 {
    let axis = |k: usize| LaneVec3::from_fn(|_| DVec3::AXES[k]);
    let column =
        |i| (0..3).fold(LaneVec3::default(), |sum, j| sum + block(tangent, axis(i), axis(j)) * df.0[j]);
    LaneMat3([0, 1, 2].map(column))
}

fn lame(poisson: f64) -> LaneLame {
    let mu = 1.0 / (2.0 * (1.0 + poisson));
    let lambda = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
    LaneLame { mu: Lanes::splat(mu), lambda: Lanes::splat(lambda) }
}

fn matrix(seed: usize) -> DMat3 {
    DMat3::from_cols_array(&std::array::from_fn(|i| noise(9 * seed + i)))
}

fn turn(seed: usize) -> DMat3 {
    let [x, y, z, w] = [0, 1, 2, 3].map(|i| noise(1000 + 4 * seed + i));
    DMat3::from_quat(DQuat::from_xyzw(x, y, z, w).normalize())
}

/// Eight deformation gradients that are neither flat nor inverted: their rotations take a different code path.
fn regular_gradients() -> LaneMat3 {
    let stretches = |k: f64| DVec3::new(1.0 + 0.9 * k.sin(), 0.8 + 0.1 * k.cos(), 0.7);
    LaneMat3::from_fn(|i| turn(20 + i) * DMat3::from_diagonal(stretches(100.0 * i as f64)) * turn(40 + i))
}

/// Eight deformation gradients: near rest, large, inverted, flat to a plane and nearly to a line.
fn gradients() -> LaneMat3 {
    let stretch = |x, y, z| DMat3::from_diagonal(DVec3::new(x, y, z));
    let list = [
        turn(1),
        DMat3::IDENTITY + 0.3 * matrix(2),
        turn(3) * stretch(1.8, 1.1, 0.6) * turn(4),
        turn(5) * stretch(1.3, 0.9, -0.4) * turn(6),
        turn(7) * stretch(1.2, 0.7, 0.0) * turn(8),
        turn(9) * stretch(1.1, 0.2, 0.05) * turn(10),
        turn(11) * stretch(0.5, 0.4, 0.3),
        turn(12) * stretch(3.5, 0.8, -0.2) * turn(13),
    ];
    LaneMat3::from_fn(|i| list[i])
}

fn size(m: LaneMat3, lane: usize) -> f64 {
    m.lane(lane).to_cols_array().iter().fold(0.0, |s: f64, v| s.max(v.abs()))
}

fn near(a: LaneMat3, b: LaneMat3, tolerance: f64, law: SolidLaw) {
    for lane in 0..WIDTH {
        // Without any strain only rounding is left, times moduli of about one.
        let scale = size(a, lane).max(size(b, lane)).max(1e-2);
        assert!(
            size(a - b, lane) <= tolerance * scale,
            "{law:?}, lane {lane}: {} {}",
            a.lane(lane),
            b.lane(lane)
        );
    }
}

#[test]
fn stress_is_the_derivative_of_the_energy() {
    let h = 1e-6;
    for law in SolidLaw::ALL {
        for (f, poisson) in
            [0.0, 0.3, 0.49].into_iter().flat_map(|p| [(gradients(), p), (regular_gradients(), p)])
        {
            let lame = lame(poisson);
            let mut numeric = LaneMat3::default();
            for j in 0..3 {
                for i in 0..3 {
                    let moved = |by: f64| {
                        let mut g = f;
                        g.0[j].0[i] += Lanes::splat(by);
                        energy(law, g, &lame)
                    };
                    numeric.0[j].0[i] = (moved(h) - moved(-h)) * (0.5 / h);
                }
            }
            near(numeric, stress(law, f, &lame), 1e-7, law);
        }
    }
}

#[test]
fn the_exact_tangent_is_the_derivative_of_the_stress() {
    let h = Lanes::splat(1e-6);
    for law in SolidLaw::ALL {
        for seed in 0..9 {
            let (f, df) = (gradients(), LaneMat3::from_fn(|i| matrix(50 + 8 * seed + i)));
            let lame = lame(0.3);
            let moved = |by: Lanes| stress(law, f + df * by, &lame);
            let numeric = (moved(h) - moved(-h)) * (Lanes::splat(0.5) / h);
            near(numeric, apply(&tangent(law, f, &lame, HessianMode::Exact), df), 1e-6, law);
        }
    }
}

#[test]
fn blocks_of_the_tangent_are_linear_in_both_gradients() {
    for law in SolidLaw::ALL {
        let tangent = tangent(law, gradients(), &lame(0.4), HessianMode::PsdProjected);
        let of = |seed: usize| LaneVec3::from_fn(|i| matrix(seed + i).col(0));
        let (a, b, d) = (of(1), of(20), of(40));
        let product = apply(&tangent, d.outer(b)) * a;
        near(product.outer(d), (block(&tangent, a, b) * d).outer(d), 1e-12, law);
    }
}

#[test]
fn rotations_cost_nothing_and_turn_the_stress() {
    let q = LaneMat3::from_fn(|i| turn(60 + i));
    for law in SolidLaw::ALL.into_iter().filter(|law| *law != SolidLaw::Linear) {
        let lame = lame(0.3);
        for f in [gradients(), regular_gradients()] {
            near(stress(law, q * f, &lame), q * stress(law, f, &lame), 1e-12, law);
            // Isotropy: rotating the material before it deforms changes nothing.
            near(stress(law, f * q, &lame), stress(law, f, &lame) * q, 1e-12, law);
        }
        assert!(energy(law, q, &lame).0.iter().all(|e| e.abs() < 1e-14), "{law:?}");
    }
}

/// The smallest and the largest eigenvalue of `∂P/∂F` as a 9x9 matrix.
fn extreme_eigenvalues(tangent: &Tangent, lane: usize) -> (f64, f64) {
    let columns: Vec<[f64; 9]> = (0..9)
        .map(|k| {
            let mut unit = [0.0; 9];
            unit[k] = 1.0;
            let df = DMat3::from_cols_array(&unit);
            apply(tangent, LaneMat3::from_fn(|_| df)).lane(lane).to_cols_array()
        })
        .collect();
    let values = reference_eigenvalues::eigenvalues(9, |i, j| 0.5 * (columns[j][i] + columns[i][j]));
    (values[0], values[8])
}

#[test]
fn projected_tangents_are_positive_and_equal_the_exact_ones_where_those_are() {
    for law in SolidLaw::ALL {
        for poisson in [0.0, 0.3, 0.49] {
            let (f, lame) = (gradients(), lame(poisson));
            let exact = tangent(law, f, &lame, HessianMode::Exact);
            let projected = tangent(law, f, &lame, HessianMode::PsdProjected);
            for lane in 0..WIDTH {
                let (low, high) = extreme_eigenvalues(&projected, lane);
                // Everything may be clamped, so the scale is the modulus.
                assert!(low >= -1e-12 * high.max(0.1), "{law:?} lane {lane}: {low} {high}");
                if extreme_eigenvalues(&exact, lane).0 >= 0.0 {
                    let df = LaneMat3::from_fn(|_| matrix(70));
                    let difference = size(apply(&exact, df) - apply(&projected, df), lane);
                    assert!(difference <= 1e-13 * high.max(0.1), "{law:?} lane {lane}");
                }
            }
        }
    }
}

#[test]
fn small_strains_behave_as_linear_elasticity_to_second_order() {
    for law in SolidLaw::ALL {
        for poisson in [0.0, 0.2, 0.35, 0.45, 0.49] {
            if law == SolidLaw::Arap && poisson != 0.0 {
                continue;
            }
            let lame = lame(poisson);
            let error = |size: f64| {
                let gradient = |i: usize| {
                    let m = matrix(80 + i);
                    0.5 * (m + m.transpose())
                };
                let f = LaneMat3::from_fn(|i| DMat3::IDENTITY + size * gradient(i));
                let difference = stress(law, f, &lame) - stress(SolidLaw::Linear, f, &lame);
                (0..WIDTH).map(|lane| self::size(difference, lane)).fold(0.0, f64::max)
            };
            let (coarse, fine) = (error(1e-3), error(1e-4));
            assert!(coarse < 2e-4 && fine <= 0.0102 * coarse + 1e-13, "{law:?} {poisson}: {coarse} {fine}");
        }
    }
}

#[test]
fn flattened_and_vanished_elements_stay_finite() {
    let list =
        [DMat3::ZERO, DMat3::from_diagonal(DVec3::X), DMat3::from_diagonal(DVec3::new(1.0, 1.0, -1.0))];
    let f = LaneMat3::from_fn(|i| list[i % 3]);
    for law in SolidLaw::ALL {
        for mode in [HessianMode::Exact, HessianMode::PsdProjected] {
            let lame = lame(0.45);
            let df = apply(&tangent(law, f, &lame, mode), LaneMat3::from_fn(matrix));
            let finite = |m: LaneMat3| (0..WIDTH).all(|i| m.lane(i).is_finite());
            assert!(finite(df) && finite(stress(law, f, &lame)), "{law:?}");
            assert!(energy(law, f, &lame).0.iter().all(|e| e.is_finite()));
        }
    }
}

/// A law used directly is bit-identical to the one chosen at run time.
fn are_bit_identical<L: Law>(law: L, chosen: SolidLaw) {
    let (f, lame) = (gradients(), lame(0.4));
    let df = LaneMat3::from_fn(|i| matrix(90 + i));
    for f in [f, regular_gradients()] {
        assert_eq!(law.energy(f, &lame), energy(chosen, f, &lame));
        assert_eq!(law.stress(f, &lame), stress(chosen, f, &lame));
        assert_eq!(law.energy_and_stress(f, &lame), chosen.energy_and_stress(f, &lame));
        assert_eq!(law.energy_and_stress(f, &lame), (law.energy(f, &lame), law.stress(f, &lame)));
    }
    for mode in [HessianMode::Exact, HessianMode::PsdProjected] {
        let chosen = apply(&tangent(chosen, f, &lame, mode), df);
        assert_eq!(apply(&law.tangent(f, &lame, mode), df), chosen);
    }
}

#[test]
fn laws_by_name_are_those_chosen_at_run_time() {
    are_bit_identical(Linear, SolidLaw::Linear);
    are_bit_identical(Corotated, SolidLaw::Corotated);
    are_bit_identical(NeoHookean, SolidLaw::NeoHookean);
    are_bit_identical(StVenantKirchhoff, SolidLaw::StVenantKirchhoff);
    are_bit_identical(Arap, SolidLaw::Arap);
}
