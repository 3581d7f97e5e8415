//! One conformance test over every energy: derivatives against finite differences, invariances,
//! projections, and agreement of assembled matrix and products; on random, inverted and flattened elements.

use std::sync::Arc;

use glam::{DMat3, DQuat, DVec2, DVec3};

use crate::energy::Energy;
use crate::energy::attachment::{Attachments, SoftConstraint};
use crate::energy::bending::dihedral::{DihedralBending, HingeMaterial};
use crate::energy::bending::hinge::hinges;
use crate::energy::bending::quadratic::QuadraticBending;
use crate::energy::conformance::*;
use crate::energy::element::spring::{Resists, Spring, Springs};
use crate::energy::element::tetrahedron::{Solid, Tetrahedra};
use crate::energy::element::triangle::Triangles;
use crate::energy::element::{Element, ElementSum};
use crate::energy::inertia::Inertia;
use crate::energy::pressure::Pressure;
use crate::energy::strain_limit::{StrainLimits, StretchLimit};
use crate::material::HessianMode;
use crate::material::Lame;
use crate::material::law::SolidLaw;
use crate::material::membrane::{Sheet, SheetLaw};
use supple_core::simd::Simd;
use supple_core::small_matrix::reference_eigenvalues;
use supple_linear::{BlockMatrix, BlockPattern};
use supple_mesh::closed::NotClosed;

/// An energy at some positions, and its known properties.
struct Case {
    name: String,
    energy: Box<dyn Energy>,
    x: Vec<DVec3>,
    /// Rotations change the value.
    feels_rotation: bool,
    /// Its forces are external: they do not sum to zero, and moving everything changes the value.
    external: bool,
    /// No element is so flat that its derivatives are not defined.
    differentiable: bool,
}

fn noise_vector(k: usize) -> DVec3 {
    DVec3::new(noise(3 * k), noise(3 * k + 1), noise(3 * k + 2))
}

fn sum<E: Element<K> + 'static, const K: usize>(elements: E, vertices: usize) -> Box<dyn Energy> {
    Box::new(ElementSum::new(elements, vertices, Simd::Auto))
}

/// The six tetrahedra of a unit cube and one more on its side: ten corners are not a multiple of eight elements.
fn cube() -> (Vec<DVec3>, Vec<[u32; 4]>) {
    let mut rest: Vec<DVec3> =
        (0..8u32).map(|i| DVec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64)).collect();
    rest.push(DVec3::new(1.7, 0.4, 0.6));
    rest.iter_mut().enumerate().for_each(|(i, p)| *p += 0.1 * noise_vector(i));
    let tets = vec![
        [0, 1, 3, 7],
        [0, 3, 2, 7],
        [0, 2, 6, 7],
        [0, 6, 4, 7],
        [0, 4, 5, 7],
        [0, 5, 1, 7],
        [1, 3, 7, 8],
        [1, 7, 5, 8],
        [1, 3, 5, 8],
    ];
    (rest, tets)
}

/// Kinds of deformation: slight, strong, partly inverted, flattened, and rotated.
fn deformations(rest: &[DVec3]) -> Vec<(&'static str, Vec<DVec3>)> {
    let turn = DMat3::from_quat(DQuat::from_rotation_x(1.1) * DQuat::from_rotation_z(-0.7));
    let by = |size: f64, seed: usize, map: DMat3| -> Vec<DVec3> {
        rest.iter().enumerate().map(|(i, &p)| map * p + size * noise_vector(seed + i)).collect()
    };
    let scale = |x, y, z| DMat3::from_diagonal(DVec3::new(x, y, z));
    vec![
        ("small", by(0.03, 100, turn)),
        ("large", by(0.35, 200, turn * scale(1.2, 1.4, 0.8))),
        ("stretched", by(0.05, 300, turn * scale(1.5, 1.4, 1.6))),
        ("inverted", by(0.1, 400, turn * scale(1.1, 0.9, -0.7))),
        ("flat", by(0.0, 0, turn * scale(1.2, 0.8, 0.0))),
    ]
}

fn solid(e: usize, damping: f64) -> Solid {
    let e = e as f64;
    Solid { lame: Lame { lambda: 40.0 + 7.0 * e, mu: 30.0 - 2.0 * e }, damping }
}

fn tet_cases(law: SolidLaw, damping: f64, cases: &mut Vec<Case>) {
    let (rest, tets) = cube();
    for (how, x) in deformations(&rest) {
        let mut elements = Tetrahedra::new(law, &rest, &tets, |e| solid(e, damping));
        elements.begin_step(&rest, 0.01);
        cases.push(Case {
            name: format!("{law:?} tetrahedra, {how}, damping {damping}"),
            energy: sum(elements, rest.len()),
            x,
            feels_rotation: law == SolidLaw::Linear,
            external: false,
            differentiable: true,
        });
    }
}

/// A square of 3x3 vertices, its middle moved.
fn square() -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let mut rest: Vec<DVec3> = (0..9u32).map(|i| DVec3::new((i % 3) as f64, 0.0, (i / 3) as f64)).collect();
    rest[4] += DVec3::new(0.2, 0.0, -0.15);
    let cell = |a: u32| [[a, a + 3, a + 1], [a + 1, a + 3, a + 4]];
    (rest, [0, 1, 3, 4].into_iter().flat_map(cell).collect())
}

fn corners(rest: &[DVec3], triangles: &[[u32; 3]]) -> Vec<[DVec3; 3]> {
    triangles.iter().map(|t| t.map(|v| rest[v as usize])).collect()
}

fn sheet(t: usize, damping: f64) -> Sheet {
    let t = t as f64;
    Sheet { lame: Lame { lambda: 20.0 + t, mu: 30.0 - t }, warp: 90.0, weft: 50.0 + t, shear: 12.0, damping }
}

fn sheet_case(name: String, how: &str, energy: Box<dyn Energy>, x: Vec<DVec3>) -> Case {
    // Here "flat" collapses triangles to lines: their tension along the line is defined, but nothing across it.
    let differentiable = how != "flat";
    Case { name, energy, x, feels_rotation: false, external: false, differentiable }
}

fn triangle_cases(law: SheetLaw, damping: f64, cases: &mut Vec<Case>) {
    let (rest, triangles) = square();
    for (how, x) in deformations(&rest) {
        let corners = corners(&rest, &triangles);
        let mut elements = Triangles::new(law, &triangles, &corners, |_| None, |t| sheet(t, damping));
        elements.begin_step(&rest, 0.01);
        let name = format!("{law:?} triangles, {how}, damping {damping}");
        cases.push(sheet_case(name, how, sum(elements, rest.len()), x));
    }
}

fn bending_cases(cases: &mut Vec<Case>) {
    let (flat, triangles) = square();
    let curved: Vec<DVec3> =
        flat.iter().map(|p| DVec3::new(p.x, 0.3 * p.x * p.x - 0.1 * p.x * p.z, p.z)).collect();
    for (shape, rest) in [("flat", flat), ("curved", curved)] {
        let hinges = hinges(&triangles, &corners(&rest, &triangles));
        for (how, x) in deformations(&rest) {
            let material = |damping| move |h| HingeMaterial { bend_stiffness: 2.0 + h as f64, damping };
            for damping in [0.0, 0.02] {
                let mut dihedral = DihedralBending::new(&hinges, material(damping));
                dihedral.begin_step(&rest, 0.01);
                let name = format!("dihedral bending of {shape} sheet, {how}, damping {damping}");
                cases.push(sheet_case(name, how, sum(dihedral, 9), x.clone()));
                let mut quadratic = QuadraticBending::new(&hinges, material(damping));
                quadratic.begin_step(&rest, 0.01);
                let name = format!("quadratic bending of {shape} sheet, {how}, damping {damping}");
                cases.push(sheet_case(name, how, sum(quadratic, 9), x.clone()));
            }
        }
    }
}

fn limit_cases(cases: &mut Vec<Case>) {
    let (rest, triangles) = square();
    for (how, x) in deformations(&rest) {
        let limit = |_| StretchLimit { stretch: 1.1, stiffness: 70.0 };
        let limits = StrainLimits::new(&triangles, &corners(&rest, &triangles), limit);
        cases.push(sheet_case(format!("strain limit, {how}"), how, sum(limits, rest.len()), x));
    }
}

/// An octahedron, its corners moved.
fn closed_surface() -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let axes = [DVec3::X, DVec3::Y, -DVec3::X, -DVec3::Y, DVec3::Z, -DVec3::Z];
    let rest = axes.iter().enumerate().map(|(i, &a)| a + 0.2 * noise_vector(i) + DVec3::ONE).collect();
    let around = |i: u32| [[i, (i + 1) % 4, 4], [(i + 1) % 4, i, 5]];
    (rest, (0..4).flat_map(around).collect())
}

fn pressure_cases(cases: &mut Vec<Case>) {
    let (rest, triangles) = closed_surface();
    for gauge in [60.0, -20.0] {
        for (how, x) in deformations(&rest) {
            let energy = Pressure::new(&triangles, &rest, gauge, Simd::Auto).unwrap();
            cases.push(Case {
                name: format!("pressure {gauge} Pa, {how}"),
                energy: Box::new(energy),
                x,
                feels_rotation: false,
                external: false,
                differentiable: true,
            });
        }
    }
}

/// Springs longer and shorter than at rest.
fn spring_cases(cases: &mut Vec<Case>) {
    let (rest, tets) = cube();
    let deformed = deformations(&rest).swap_remove(1).1;
    for resists in [Resists::Both, Resists::Compression] {
        for (how, size) in [("stretched", 1.0), ("compressed", 0.3)] {
            let spring = |ends| Spring { ends, rest: 0.9, stiffness: 40.0, damping: 0.01, resists };
            let mut springs = Springs::new(tets.iter().map(|t| spring([t[0], t[3]])).collect());
            springs.begin_step(&rest, 0.01);
            let x = deformed.iter().map(|p| size * *p).collect();
            let name = format!("springs that resist {resists:?}, {how}");
            cases.push(sheet_case(name, how, sum(springs, rest.len()), x));
        }
    }
}

/// External energies on points: attachments, wind, contact with friction, and inertia.
fn external_cases(cases: &mut Vec<Case>) {
    let mut external = |name: &str, energy: Box<dyn Energy>, x: Vec<DVec3>| {
        let name = name.to_owned();
        cases.push(Case { name, energy, x, feels_rotation: true, external: true, differentiable: true });
    };
    let (rest, _) = cube();
    let x = deformations(&rest).swap_remove(1).1;
    let mut attachments = Attachments::default();
    attachments.attach([(0, 0.2), (2, 0.5), (7, 0.3)], SoftConstraint { target: DVec3::Y, stiffness: 7.0 });
    attachments.attach([(1, 1.0)], SoftConstraint { target: DVec3::Z, stiffness: 2.0 });
    external("attachments", Box::new(attachments), x.clone());
    let mass = (0..x.len()).map(|i| 0.1 + 0.05 * i as f64).collect();
    let inertia = Inertia { target: rest, mass, rate: 900.0, gravity: DVec3::new(0.0, -9.81, 0.0) };
    external("inertia and weight", Box::new(inertia), x);
    let (wind, mut x) = crate::energy::wind::tests::sheet();
    x[1] += DVec3::new(0.01, -0.02, 0.01);
    external("wind", Box::new(wind), x.to_vec());
    for slip in [0.03, 0.1] {
        let (contacts, mut x) = crate::contact::collider::penalty::tests::on_a_plane(0.6);
        x[0] += DVec3::new(slip, -1e-4, 0.3 * slip);
        x[1] += DVec3::new(-slip, -2e-4, slip);
        external(&format!("contact sliding by {slip} m"), Box::new(contacts), x.to_vec());
    }
}

fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for damping in [0.0, 0.02] {
        SolidLaw::ALL.into_iter().for_each(|law| tet_cases(law, damping, &mut cases));
        SheetLaw::ALL.into_iter().for_each(|law| triangle_cases(law, damping, &mut cases));
    }
    bending_cases(&mut cases);
    limit_cases(&mut cases);
    pressure_cases(&mut cases);
    spring_cases(&mut cases);
    external_cases(&mut cases);
    cases
}

fn gradient(energy: &dyn Energy, x: &[DVec3]) -> Vec<DVec3> {
    let mut gradient = vec![DVec3::ZERO; x.len()];
    energy.add_gradient(x, &mut gradient);
    gradient
}

fn largest(vectors: &[DVec3]) -> f64 {
    vectors.iter().map(|v| v.length()).fold(0.0, f64::max)
}

#[test]
fn gradients_are_derivatives_of_values_and_sum_to_zero() {
    for Case { name, energy, x, differentiable, external, .. } in all() {
        let scale = largest(&gradient(&*energy, &x)).max(1e-3);
        let total = total_force(&*energy, &x).length();
        assert!(external || total < 1e-11 * scale, "{name}: forces sum to {total}");
        if differentiable {
            let error = gradient_error(&*energy, &x);
            // Where the gradient is small, finite differences only see the rounding of the value.
            let floor = 1e-9 * energy.value(&x).abs() / scale;
            assert!(error < 1e-6 + floor, "{name}: {error}");
        }
    }
}

#[test]
fn evaluated_together_values_and_gradients_have_the_bits_that_they_have_alone() {
    for Case { name, energy, x, .. } in all() {
        let mut together = vec![DVec3::ZERO; x.len()];
        let value = energy.value_and_gradient(&x, &mut together);
        assert_eq!(value.to_bits(), energy.value(&x).to_bits(), "{name}");
        assert_eq!(together, gradient(&*energy, &x), "{name}");
    }
}

#[test]
fn sums_over_many_chunks_are_bit_identical_with_gradients() {
    let count = 3000;
    let place =
        |v: u32| DVec3::new((f64::from(v) * 1.3).sin(), f64::from(v) * 0.7, (f64::from(v) * 0.9).cos());
    let x: Vec<DVec3> = (0..count).map(place).collect();
    let spring = |v: u32| Spring {
        ends: [v, v + 1],
        rest: 0.4,
        stiffness: 7.0 + f64::from(v % 13),
        damping: 0.0,
        resists: Resists::Both,
    };
    let springs = Springs::new((0..count - 1).map(spring).collect());
    let energy = ElementSum::new(springs, count as usize, Simd::Auto);
    let value = energy.value_and_gradient(&x, &mut vec![DVec3::ZERO; x.len()]);
    assert_eq!(value.to_bits(), energy.value(&x).to_bits());
}

#[test]
fn exact_hessians_are_derivatives_of_gradients() {
    for Case { name, mut energy, x, differentiable, .. } in all() {
        if differentiable {
            let error = hessian_error(&mut *energy, &x);
            assert!(error < 2e-6, "{name}: {error}");
        }
    }
}

#[test]
fn turning_and_moving_everything_changes_nothing() {
    let turn = DMat3::from_quat(DQuat::from_rotation_y(2.1) * DQuat::from_rotation_x(0.4));
    let shift = DVec3::new(3.0, -1.0, 2.0);
    for Case { name, energy, x, feels_rotation, external, differentiable } in all() {
        // Where an element is so flat that its rotation is not unique, its force is not either.
        if !differentiable || external {
            continue;
        }
        let turn = if feels_rotation { DMat3::IDENTITY } else { turn };
        let moved: Vec<DVec3> = x.iter().map(|&p| turn * p + shift).collect();
        let (here, there) = (energy.value(&x), energy.value(&moved));
        assert!((here - there).abs() < 1e-11 * here.abs().max(1.0), "{name}: {here} {there}");
        let turned: Vec<DVec3> = gradient(&*energy, &x).iter().map(|&g| turn * g).collect();
        let difference: Vec<DVec3> =
            gradient(&*energy, &moved).iter().zip(&turned).map(|(a, b)| *a - *b).collect();
        assert!(largest(&difference) < 1e-10 * largest(&turned).max(1e-2), "{name}");
    }
}

/// Eigenvalues of the dense Hessian, ascending.
fn eigenvalues(hessian: &[Vec<f64>]) -> Vec<f64> {
    reference_eigenvalues::eigenvalues(hessian.len(), |i, j| 0.5 * (hessian[j][i] + hessian[i][j]))
}

#[test]
fn projected_hessians_are_symmetric_and_positive_and_finite() {
    for Case { name, mut energy, x, .. } in all() {
        let hessian = dense_hessian(&mut *energy, &x, HessianMode::PsdProjected);
        let scale = hessian.iter().flatten().fold(1e-6, |m: f64, v| m.max(v.abs()));
        for (i, column) in hessian.iter().enumerate() {
            let skew = column.iter().zip(&hessian).map(|(value, other)| (value - other[i]).abs());
            assert!(skew.fold(0.0, f64::max) <= 1e-12 * scale, "{name}: not symmetric");
        }
        let least = eigenvalues(&hessian)[0];
        assert!(least >= -1e-12 * scale, "{name}: {least} of {scale}");
    }
}

/// One element at a time, so that "positive already" is a statement about an element.
#[test]
fn projection_leaves_elements_alone_that_are_positive_already() {
    let (rest, tets) = cube();
    let mut positive = 0;
    for tet in &tets[..6] {
        let swollen = rest.iter().map(|p| 1.2 * *p).collect();
        for x in deformations(&rest).into_iter().map(|(_, x)| x).chain([swollen]) {
            let one = || Tetrahedra::new(SolidLaw::NeoHookean, &rest, &[*tet], |e| solid(e, 0.0));
            let mut energy = ElementSum::new(one(), rest.len(), Simd::Auto);
            let exact = dense_hessian(&mut energy, &x, HessianMode::Exact);
            let values = eigenvalues(&exact);
            if values[0] < -1e-12 * values[values.len() - 1] {
                continue;
            }
            positive += 1;
            let projected = dense_hessian(&mut energy, &x, HessianMode::PsdProjected);
            let difference = exact.iter().flatten().zip(projected.iter().flatten());
            let worst = difference.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst <= 1e-12 * values[values.len() - 1], "{worst}");
        }
    }
    assert!(positive >= 6, "only {positive} elements were positive: the test is void");
}

#[test]
fn products_of_point_energies_without_a_matrix_are_those_of_the_matrix() {
    let mut cases = Vec::new();
    external_cases(&mut cases);
    for Case { name, mut energy, x, .. } in cases {
        let mut pairs = Vec::new();
        energy.couplings(&mut |a, b| pairs.push([a, b]));
        let pattern = Arc::new(BlockPattern::new(&vec![false; x.len()], &pairs));
        energy.bind(&pattern);
        for mode in [HessianMode::Exact, HessianMode::PsdProjected] {
            let mut matrix = BlockMatrix::zero(pattern.clone());
            energy.add_hessian(&x, mode, &mut matrix);
            let d: Vec<DVec3> = (0..x.len()).map(|i| noise_vector(500 + i)).collect();
            let mut product = vec![DVec3::ZERO; x.len()];
            energy.apply_point_hessians(&x, mode, &d, &mut product);
            let expected = matrix.multiply(&d);
            let scale = largest(&expected);
            assert!(scale > 1e-3, "{name}: the Hessian is zero");
            let apart: Vec<DVec3> = product.iter().zip(&expected).map(|(a, b)| *a - *b).collect();
            assert!(largest(&apart) <= 1e-11 * scale, "{name}, {mode:?}");
        }
    }
}

#[test]
fn open_or_twisted_surfaces_have_no_pressure() {
    let (rest, triangles) = closed_surface();
    let error = Pressure::new(&triangles[1..], &rest, 1.0, Simd::Auto).err().unwrap();
    assert!(matches!(error, NotClosed::Boundary(..)), "{error}");
    let mut twisted = triangles.clone();
    twisted[0].swap(0, 1);
    assert!(Pressure::new(&twisted, &rest, 1.0, Simd::Auto).is_err());
    let inside_out: Vec<[u32; 3]> = triangles.iter().map(|&[a, b, c]| [a, c, b]).collect();
    assert!(Pressure::new(&inside_out, &rest, 1.0, Simd::Auto).unwrap().volume(&rest) > 0.0);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "builds with debug assertions contain only the baseline kernels")]
fn instruction_sets_are_bit_identical() {
    let (rest, tets) = cube();
    let x = deformations(&rest).swap_remove(1).1;
    let of = |simd| {
        let tets = Tetrahedra::new(SolidLaw::NeoHookean, &rest, &tets, |e| solid(e, 0.0));
        let mut energy = ElementSum::new(tets, rest.len(), simd);
        (energy.value(&x), gradient(&energy, &x), dense_hessian(&mut energy, &x, HessianMode::PsdProjected))
    };
    assert_eq!(of(Simd::Auto), of(Simd::Baseline));
}

#[test]
fn warp_follows_the_texture() {
    let triangles = [[0, 1, 2]];
    let x = [DVec3::ZERO, DVec3::new(0.0, 0.0, -1.0), DVec3::X];
    let pulled: Vec<DVec3> = x.iter().map(|p| DVec3::new(p.x, 0.0, 1.1 * p.z)).collect();
    let energy = |uv: [DVec2; 3]| {
        let sheet = |_| Sheet { warp: 70.0, weft: 5.0, ..sheet(0, 0.0) };
        let one = Triangles::new(SheetLaw::BaraffWitkin, &triangles, &[x], |_| Some(uv), sheet);
        ElementSum::new(one, 3, Simd::Auto).value(&pulled)
    };
    // Half a square metre stretched by a tenth along z.
    let expected = |stiffness: f64| 0.5 * 0.5 * stiffness * 0.01;
    let along_z = [DVec2::ZERO, DVec2::X, DVec2::Y];
    let across_z = [DVec2::ZERO, DVec2::Y, DVec2::X];
    assert!((energy(along_z) - expected(70.0)).abs() < 1e-12);
    assert!((energy(across_z) - expected(5.0)).abs() < 1e-12);
    // Without a texture warp runs along x.
    assert!((energy([DVec2::ZERO; 3]) - expected(5.0)).abs() < 1e-12);
}
