//! What every law must hold, on stretched, turned, inverted and flattened deformation gradients.

use glam::{DMat3, DQuat, DVec3};

use super::*;
use crate::simd::{LaneVec3, WIDTH};

/// A law by its functions, so that one test runs over all.
struct AnyLaw {
    name: &'static str,
    energy: fn(LaneMat3, &LaneLame) -> Lanes,
    stress: fn(LaneMat3, &LaneLame) -> LaneMat3,
    differential: fn(LaneMat3, LaneMat3, &LaneLame, Curvature) -> LaneMat3,
    tangent: fn(LaneMat3, &LaneLame, Curvature) -> Tangent,
}

fn any<L: Law>(name: &'static str) -> AnyLaw {
    AnyLaw {
        name,
        energy: L::energy,
        stress: L::stress,
        differential: L::stress_differential,
        tangent: L::tangent,
    }
}

fn laws() -> [AnyLaw; 5] {
    [
        any::<Linear>("linear"),
        any::<Corotated>("corotated"),
        any::<NeoHookean>("neo-hookean"),
        any::<StVenantKirchhoff>("stvk"),
        any::<Arap>("arap"),
    ]
}

fn lame(poisson: f64) -> LaneLame {
    let mu = 1.0 / (2.0 * (1.0 + poisson));
    let lambda = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
    LaneLame { mu: Lanes::splat(mu), lambda: Lanes::splat(lambda) }
}

fn noise(k: usize) -> f64 {
    ((k as f64 + 0.5) * 12.9898).sin() * 43_758.545_3 % 1.0
}

fn matrix(seed: usize) -> DMat3 {
    DMat3::from_cols_array(&std::array::from_fn(|i| noise(9 * seed + i)))
}

fn turn(seed: usize) -> DMat3 {
    let [x, y, z, w] = [0, 1, 2, 3].map(|i| noise(1000 + 4 * seed + i));
    DMat3::from_quat(DQuat::from_xyzw(x, y, z, w).normalize())
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

fn near(a: LaneMat3, b: LaneMat3, tolerance: f64, name: &str) {
    for lane in 0..WIDTH {
        let scale = size(a, lane).max(size(b, lane)).max(1e-3);
        assert!(
            size(a - b, lane) <= tolerance * scale,
            "{name}, lane {lane}: {} {}",
            a.lane(lane),
            b.lane(lane)
        );
    }
}

#[test]
fn stress_is_the_derivative_of_the_energy() {
    let (f, h) = (gradients(), 1e-6);
    for law in laws() {
        for poisson in [0.0, 0.3, 0.49] {
            let lame = lame(poisson);
            let mut numeric = LaneMat3::default();
            for j in 0..3 {
                for i in 0..3 {
                    let moved = |by: f64| {
                        let mut g = f;
                        g.0[j].0[i] += Lanes::splat(by);
                        (law.energy)(g, &lame)
                    };
                    numeric.0[j].0[i] = (moved(h) - moved(-h)) * (0.5 / h);
                }
            }
            near(numeric, (law.stress)(f, &lame), 1e-7, law.name);
        }
    }
}

#[test]
fn the_exact_differential_is_the_derivative_of_the_stress_and_of_the_tangent() {
    let h = Lanes::splat(1e-6);
    for law in laws() {
        for seed in 0..9 {
            let (f, df) = (gradients(), LaneMat3::from_fn(|i| matrix(50 + 8 * seed + i)));
            let lame = lame(0.3);
            let stress = |by: Lanes| (law.stress)(f + df * by, &lame);
            let numeric = (stress(h) - stress(-h)) * (Lanes::splat(0.5) / h);
            let exact = (law.differential)(f, df, &lame, Curvature::Exact);
            near(numeric, exact, 1e-6, law.name);
            near((law.tangent)(f, &lame, Curvature::Exact).apply(df), exact, 1e-11, law.name);
        }
    }
}

#[test]
fn blocks_of_the_tangent_are_its_products() {
    for law in laws() {
        let tangent = (law.tangent)(gradients(), &lame(0.4), Curvature::Projected);
        let of = |seed: usize| LaneVec3::from_fn(|i| matrix(seed + i).col(0));
        let (a, b, d) = (of(1), of(20), of(40));
        let product = tangent.apply(d.outer(b)) * a;
        let block = tangent.block(tangent.turned(a), tangent.turned(b)) * d;
        near(product.outer(d), block.outer(d), 1e-12, law.name);
    }
}

#[test]
fn rotations_cost_nothing_and_turn_the_stress() {
    let q = LaneMat3::from_fn(|i| turn(60 + i));
    for law in laws().into_iter().filter(|law| law.name != "linear") {
        let (f, lame) = (gradients(), lame(0.3));
        near((law.stress)(q * f, &lame), q * (law.stress)(f, &lame), 1e-12, law.name);
        // Isotropy: turning the material before it deforms changes nothing.
        near((law.stress)(f * q, &lame), (law.stress)(f, &lame) * q, 1e-12, law.name);
        assert!((law.energy)(q, &lame).0.iter().all(|e| e.abs() < 1e-14), "{}", law.name);
    }
}

/// The smallest and the largest eigenvalue of `∂P/∂F` as a 9x9 matrix.
fn extreme_eigenvalues(tangent: &Tangent, lane: usize) -> (f64, f64) {
    let columns: Vec<[f64; 9]> = (0..9)
        .map(|k| {
            let mut unit = [0.0; 9];
            unit[k] = 1.0;
            let df = DMat3::from_cols_array(&unit);
            tangent.apply(LaneMat3::from_fn(|_| df)).lane(lane).to_cols_array()
        })
        .collect();
    let matrix = faer::Mat::from_fn(9, 9, |i, j| 0.5 * (columns[j][i] + columns[i][j]));
    let values = matrix.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
    (values[0], values[8])
}

#[test]
fn projected_tangents_are_positive_and_equal_the_exact_ones_where_those_are() {
    for law in laws() {
        for poisson in [0.0, 0.3, 0.49] {
            let (f, lame) = (gradients(), lame(poisson));
            let exact = (law.tangent)(f, &lame, Curvature::Exact);
            let projected = (law.tangent)(f, &lame, Curvature::Projected);
            for lane in 0..WIDTH {
                let (low, high) = extreme_eigenvalues(&projected, lane);
                // Everything may be clamped, so the scale is the modulus.
                assert!(low >= -1e-12 * high.max(0.1), "{} lane {lane}: {low} {high}", law.name);
                if extreme_eigenvalues(&exact, lane).0 >= 0.0 {
                    let df = LaneMat3::from_fn(|_| matrix(70));
                    let difference = size(exact.apply(df) - projected.apply(df), lane);
                    assert!(difference <= 1e-13 * high.max(0.1), "{} lane {lane}", law.name);
                }
            }
        }
    }
}

#[test]
fn small_strains_behave_as_linear_elasticity_to_second_order() {
    for law in laws() {
        for poisson in [0.0, 0.2, 0.35, 0.45, 0.49] {
            if law.name == "arap" && poisson != 0.0 {
                continue;
            }
            let lame = lame(poisson);
            let error = |size: f64| {
                let gradient = |i: usize| {
                    let m = matrix(80 + i);
                    0.5 * (m + m.transpose())
                };
                let f = LaneMat3::from_fn(|i| DMat3::IDENTITY + size * gradient(i));
                let difference = (law.stress)(f, &lame) - Linear::stress(f, &lame);
                (0..WIDTH).map(|lane| self::size(difference, lane)).fold(0.0, f64::max)
            };
            let (coarse, fine) = (error(1e-3), error(1e-4));
            assert!(
                coarse < 2e-4 && fine <= 0.0102 * coarse + 1e-13,
                "{} {poisson}: {coarse} {fine}",
                law.name
            );
        }
    }
}

#[test]
fn flattened_and_vanished_elements_stay_finite() {
    let list =
        [DMat3::ZERO, DMat3::from_diagonal(DVec3::X), DMat3::from_diagonal(DVec3::new(1.0, 1.0, -1.0))];
    let f = LaneMat3::from_fn(|i| list[i % 3]);
    for law in laws() {
        for curvature in [Curvature::Exact, Curvature::Projected] {
            let lame = lame(0.45);
            let df = (law.differential)(f, LaneMat3::from_fn(matrix), &lame, curvature);
            let finite = |m: LaneMat3| (0..WIDTH).all(|i| m.lane(i).is_finite());
            assert!(finite(df) && finite((law.stress)(f, &lame)), "{}", law.name);
            assert!((law.energy)(f, &lame).0.iter().all(|e| e.is_finite()));
        }
    }
}
