//! Whole bodies against theory: patch tests of irregular meshes, bent strips against plates, undamped rigid motion.

use glam::{DMat3, DVec3};

use crate::energy::Energy;
use crate::energy::bending::dihedral::{DihedralBending, HingeMaterial};
use crate::energy::bending::hinge::hinges;
use crate::energy::bending::quadratic::QuadraticBending;
use crate::energy::conformance::noise;
use crate::energy::element::tetrahedron::{Solid, Tetrahedra};
use crate::energy::element::triangle::Triangles;
use crate::energy::element::{Element, ElementSum};
use crate::material::law::{LaneLame, Law, SolidLaw};
use crate::material::membrane::{LaneSheet, Membrane, Sheet, SheetLaw};
use crate::material::{Lame, Material};
use supple_core::simd::{LaneMat3, LaneVec3, Lanes, Simd};

/// A cube of `n³` cells of six tetrahedra; inner vertices are displaced by up to a quarter of a cell.
fn irregular_cube(n: usize) -> (Vec<DVec3>, Vec<[u32; 4]>, Vec<bool>) {
    let m = n + 1;
    let (mut rest, mut inner) = (Vec::new(), Vec::new());
    for k in 0..m * m * m {
        let cell = [k % m, k / m % m, k / (m * m)];
        let is_inner = cell.iter().all(|&c| 0 < c && c < n);
        let wobble = if is_inner { 0.25 } else { 0.0 };
        rest.push(
            DVec3::from_array([0, 1, 2].map(|c| cell[c] as f64 + wobble * noise(3 * k + c))) / n as f64,
        );
        inner.push(is_inner);
    }
    let corner = |x: usize, y: usize, z: usize| ((z * m + y) * m + x) as u32;
    let mut tets = Vec::new();
    for cell in 0..n * n * n {
        let (x, y, z) = (cell % n, cell / n % n, cell / (n * n));
        let at = |bits: usize| corner(x + (bits & 1), y + (bits >> 1 & 1), z + (bits >> 2));
        for [a, b] in [[1, 3], [3, 2], [2, 6], [6, 4], [4, 5], [5, 1]] {
            tets.push([at(0), at(a), at(b), at(7)]);
        }
    }
    (rest, tets, inner)
}

fn gradient(energy: &dyn Energy, x: &[DVec3]) -> Vec<DVec3> {
    let mut gradient = vec![DVec3::ZERO; x.len()];
    energy.add_gradient(x, &mut gradient);
    gradient
}

fn stretched() -> DMat3 {
    DMat3::from_rotation_z(0.4) * DMat3::from_cols_array(&[1.2, 0.1, 0.0, 0.05, 0.9, -0.1, 0.0, 0.2, 1.1])
}

/// Under an affine map inner nodes feel no force, and the force on the face x = 1 is the law's stress on its normal.
fn tet_patch(law: SolidLaw) {
    let (rest, tets, inner) = irregular_cube(4);
    let lame = Lame { lambda: 120.0, mu: 80.0 };
    let elements = Tetrahedra::new(law, &rest, &tets, |_| Solid { lame, damping: 0.0 });
    let energy = ElementSum::new(elements, rest.len(), Simd::Auto);
    let map = stretched();
    let x: Vec<DVec3> = rest.iter().map(|&p| map * p).collect();
    let forces = gradient(&energy, &x);
    let inside = forces.iter().zip(&inner).filter(|(_, inner)| **inner).map(|(f, _)| f.length());
    assert!(inner.iter().any(|i| *i) && inside.fold(0.0, f64::max) < 1e-12 * 120.0, "{law:?}");
    // A linear function along x has the gradient (1, 0, 0): the forces weighted by it are P times the unit volume.
    let total: DVec3 = forces.iter().zip(&rest).map(|(f, p)| *f * p.x).sum();
    let stress = law.stress(LaneMat3::from_fn(|_| map), &LaneLame::from_fn(|_| lame)).lane(0);
    assert!((total - stress.x_axis).length() < 1e-10, "{law:?}: {total} {stress}");
}

#[test]
fn affine_maps_leave_inner_nodes_of_solids_at_rest() {
    SolidLaw::ALL.into_iter().for_each(tet_patch);
}

/// A strip of `n` by `m` cells of two triangles in the plane z = 0, from the origin, with these sides.
fn strip(n: usize, m: usize, size: [f64; 2], wobble: f64) -> (Vec<DVec3>, Vec<[u32; 3]>, Vec<bool>) {
    let (mut rest, mut inner) = (Vec::new(), Vec::new());
    for k in 0..(n + 1) * (m + 1) {
        let (i, j) = (k % (n + 1), k / (n + 1));
        let is_inner = 0 < i && i < n && 0 < j && j < m;
        let by = if is_inner { wobble } else { 0.0 };
        let (x, y) = (i as f64 + by * noise(2 * k), j as f64 + by * noise(2 * k + 1));
        rest.push(DVec3::new(size[0] * x / n as f64, size[1] * y / m as f64, 0.0));
        inner.push(is_inner);
    }
    let cell = |c: usize| (c / n * (n + 1) + c % n) as u32;
    let row = (n + 1) as u32;
    let cells = (0..n * m).map(cell);
    (rest, cells.flat_map(|a| [[a, a + 1, a + row + 1], [a, a + row + 1, a + row]]).collect(), inner)
}

fn corners(rest: &[DVec3], triangles: &[[u32; 3]]) -> Vec<[DVec3; 3]> {
    triangles.iter().map(|t| t.map(|v| rest[v as usize])).collect()
}

fn triangle_patch(law: SheetLaw) {
    let (rest, triangles, inner) = strip(5, 4, [1.0, 1.0], 0.25);
    let sheet =
        Sheet { lame: Lame { lambda: 30.0, mu: 50.0 }, warp: 90.0, weft: 60.0, shear: 20.0, damping: 0.0 };
    let elements = Triangles::new(law, &triangles, &corners(&rest, &triangles), |_| None, |_| sheet);
    let energy = ElementSum::new(elements, rest.len(), Simd::Auto);
    let map = stretched();
    let x: Vec<DVec3> = rest.iter().map(|&p| map * p).collect();
    let forces = gradient(&energy, &x);
    let inside = forces.iter().zip(&inner).filter(|(_, inner)| **inner).map(|(f, _)| f.length());
    assert!(inner.iter().any(|i| *i) && inside.fold(0.0, f64::max) < 1e-12 * 90.0, "{law:?}");
    let f = [map.x_axis, map.y_axis].map(|column| LaneVec3::from_fn(|_| column));
    let stress = law.stress(f, &LaneSheet::from_fn(|_| sheet));
    let total: DVec3 = forces.iter().zip(&rest).map(|(f, p)| *f * p.x).sum();
    assert!((total - stress[0].lane(0)).length() < 1e-10, "{law:?}: {total}");
}

#[test]
fn affine_maps_leave_inner_nodes_of_sheets_at_rest() {
    SheetLaw::ALL.into_iter().for_each(triangle_patch);
}

/// The stress of a material stretched by `strain` along x, free to contract laterally, must be Young's modulus times the strain.
#[test]
fn young_and_poisson_of_the_material_are_those_of_the_sheet_and_the_solid() {
    let material = Material { stretch_stiffness: [100.0; 2], poisson_ratio: 0.3, ..Material::default() };
    let strain = 1e-5;
    let across = 1.0 - 0.3 * strain;
    let sheet = LaneSheet::from_fn(|_| Sheet::from(&material));
    let vector = |x: f64, y: f64| LaneVec3::from_fn(|_| DVec3::new(x, y, 0.0));
    let f = [vector(1.0 + strain, 0.0), vector(0.0, across)];
    for law in [SheetLaw::Corotated, SheetLaw::StVenantKirchhoff] {
        let stress = law.stress(f, &sheet);
        assert!((stress[0].lane(0).x / strain - 100.0).abs() < 1e-2);
        assert!(stress[1].lane(0).y.abs() < 1e-2 * strain * 100.0);
    }
    let lame = LaneLame::from_fn(|_| material.solid_lame());
    let f = LaneMat3::from_diagonal(LaneVec3([1.0 + strain, across, across].map(Lanes::splat)));
    for law in [SolidLaw::Corotated, SolidLaw::NeoHookean, SolidLaw::StVenantKirchhoff] {
        let stress = law.stress(f, &lame);
        let young = material.young_modulus;
        assert!((stress.lane(0).x_axis.x / strain / young - 1.0).abs() < 1e-3);
        assert!(stress.lane(0).y_axis.y.abs() < 1e-3 * strain * young);
    }
}

/// In a picture frame threads keep their length and turn by γ: the frame resists with its shear stiffness times γ per metre, along both
/// threads alike.
#[test]
fn a_weave_in_a_picture_frame_resists_with_its_shear_stiffness() {
    let material = Material { shear_stiffness: 37.0, ..Material::default() };
    let sheet = LaneSheet::from_fn(|_| Sheet::from(&material));
    let half = 0.5e-4_f64;
    let vector = |x: f64, y: f64| LaneVec3::from_fn(|_| DVec3::new(x, y, 0.0));
    let f = [vector(half.cos(), half.sin()), vector(half.sin(), half.cos())];
    let [warp, weft] = SheetLaw::BaraffWitkin.stress(f, &sheet).map(|column| column.lane(0));
    let (along_warp, along_weft) = (f[0].lane(0), f[1].lane(0));
    let expected = 37.0 * (2.0 * half);
    for (traction, thread) in [(warp, along_weft), (weft, along_warp)] {
        assert!((traction.dot(thread) / expected - 1.0).abs() < 1e-6, "{traction}");
        assert!(traction.reject_from(thread).length() < 1e-6 * expected, "{traction}");
    }
}

/// `rest` rolled onto a cylinder of radius `radius` around an axis along y.
fn rolled(rest: &[DVec3], radius: f64) -> Vec<DVec3> {
    let roll = |p: &DVec3| {
        let angle = p.x / radius;
        DVec3::new(radius * angle.sin(), p.y, radius * (1.0 - angle.cos()))
    };
    rest.iter().map(roll).collect()
}

/// A strip of area A bent into a cylinder of radius R costs ½ B A/R². At the strip's ends hinges are missing, so the error
/// halves with the cell.
#[test]
fn a_strip_bent_into_a_cylinder_costs_what_plate_theory_says() {
    let (bend, radius) = (0.02, 0.7);
    let mut errors = [Vec::new(), Vec::new()];
    for n in [8, 16, 32] {
        let (rest, triangles, _) = strip(n, 4, [1.0, 0.3], 0.0);
        let hinges = hinges(&triangles, &corners(&rest, &triangles));
        let material = |_| HingeMaterial { bend_stiffness: bend, damping: 0.0 };
        let dihedral = ElementSum::new(DihedralBending::new(&hinges, material), rest.len(), Simd::Auto);
        let quadratic = ElementSum::new(QuadraticBending::new(&hinges, material), rest.len(), Simd::Auto);
        let x = rolled(&rest, radius);
        let theory = 0.5 * bend * 0.3 / (radius * radius);
        for (error, value) in errors.iter_mut().zip([dihedral.value(&x), quadratic.value(&x)]) {
            error.push((value / theory - 1.0).abs());
        }
    }
    for error in errors {
        assert!(error[2] < 0.04 && error[1] < 0.55 * error[0] && error[2] < 0.55 * error[1], "{error:?}");
    }
}

#[test]
fn sheets_curved_at_rest_cost_nothing_and_pull_nowhere() {
    let (flat, triangles, _) = strip(6, 4, [1.0, 0.6], 0.2);
    let rest = rolled(&flat, 0.4);
    let hinges = hinges(&triangles, &corners(&rest, &triangles));
    let material = |_| HingeMaterial { bend_stiffness: 1.0, damping: 0.0 };
    let dihedral = ElementSum::new(DihedralBending::new(&hinges, material), rest.len(), Simd::Auto);
    let quadratic = ElementSum::new(QuadraticBending::new(&hinges, material), rest.len(), Simd::Auto);
    let energies: [&dyn Energy; 2] = [&dihedral, &quadratic];
    for energy in energies {
        assert!(energy.value(&rest) < 1e-24 && gradient(energy, &rest).iter().all(|g| g.length() < 1e-10));
        assert!(energy.value(&flat) > 0.1, "unrolling costs energy");
    }
    assert!(!quadratic.elements().has_constant_hessian());
}

/// Whether a rigid rotation within one step meets no resistance.
fn turns_freely<E: Element<K>, const K: usize>(elements: E, rest: &[DVec3]) {
    let turn = DMat3::from_rotation_y(1.3) * DMat3::from_rotation_x(-0.8);
    let x: Vec<DVec3> = rest.iter().map(|&p| turn * p + DVec3::X).collect();
    let energy = ElementSum::new(elements, rest.len(), Simd::Auto);
    assert!(energy.value(&x) < 1e-20 && gradient(&energy, &x).iter().all(|g| g.length() < 1e-9));
}

#[test]
fn damping_does_not_resist_rigid_motion() {
    let (rest, tets, _) = irregular_cube(2);
    let lame = Lame { lambda: 100.0, mu: 80.0 };
    let mut solid = Tetrahedra::new(SolidLaw::Corotated, &rest, &tets, |_| Solid { lame, damping: 0.1 });
    solid.begin_step(&rest, 0.01);
    turns_freely(solid, &rest);
    let (flat, triangles, _) = strip(4, 3, [1.0, 0.7], 0.2);
    let sheet = Sheet { lame, warp: 90.0, weft: 60.0, shear: 20.0, damping: 0.1 };
    let mut cloth =
        Triangles::new(SheetLaw::Corotated, &triangles, &corners(&flat, &triangles), |_| None, |_| sheet);
    cloth.begin_step(&flat, 0.01);
    turns_freely(cloth, &flat);
    let hinges = hinges(&triangles, &corners(&flat, &triangles));
    let material = |_| HingeMaterial { bend_stiffness: 1.0, damping: 0.1 };
    let mut bending = DihedralBending::new(&hinges, material);
    bending.begin_step(&flat, 0.01);
    turns_freely(bending, &flat);
    let rest = rolled(&flat, 0.4);
    let hinges = self::hinges(&triangles, &corners(&rest, &triangles));
    let mut bending = QuadraticBending::new(&hinges, material);
    bending.begin_step(&rest, 0.01);
    turns_freely(bending, &rest);
}

/// Near flat, the force that damps a fold is β times the rate of the elastic one, for both bending energies.
#[test]
fn folds_are_damped_by_the_damping_time_times_the_rate_of_the_elastic_force() {
    let (flat, triangles, _) = strip(6, 4, [1.0, 0.6], 0.2);
    let hinges = hinges(&triangles, &corners(&flat, &triangles));
    let (beta, step) = (0.05, 0.02);
    let x: Vec<DVec3> = flat.iter().enumerate().map(|(i, &p)| p + 1e-6 * noise(i) * DVec3::Z).collect();
    let material = |damping| move |_| HingeMaterial { bend_stiffness: 1.0, damping };
    let forces = |damping: f64| {
        let mut dihedral = DihedralBending::new(&hinges, material(damping));
        dihedral.begin_step(&flat, step);
        let mut quadratic = QuadraticBending::new(&hinges, material(damping));
        quadratic.begin_step(&flat, step);
        let (dihedral, quadratic) = (
            ElementSum::new(dihedral, flat.len(), Simd::Auto),
            ElementSum::new(quadratic, flat.len(), Simd::Auto),
        );
        [gradient(&dihedral, &x), gradient(&quadratic, &x)]
    };
    for (elastic, both) in forces(0.0).into_iter().zip(forces(beta)) {
        let largest = elastic.iter().map(|f| f.length()).fold(0.0, f64::max);
        for (elastic, both) in elastic.into_iter().zip(both) {
            assert!((both - elastic * (1.0 + beta / step)).length() < 1e-4 * largest);
        }
    }
}

/// At small strains the damping force is β times the rate of the elastic force.
#[test]
fn damping_is_the_damping_time_times_the_rate_of_the_elastic_force() {
    let (rest, tets, _) = irregular_cube(2);
    let lame = Lame { lambda: 100.0, mu: 80.0 };
    let (beta, step) = (0.05, 0.02);
    let x: Vec<DVec3> = rest.iter().enumerate().map(|(i, &p)| p + 1e-6 * noise(i)).collect();
    let of = |damping: f64| {
        let mut solid = Tetrahedra::new(SolidLaw::NeoHookean, &rest, &tets, |_| Solid { lame, damping });
        solid.begin_step(&rest, step);
        gradient(&ElementSum::new(solid, rest.len(), Simd::Auto), &x)
    };
    let elastic = of(0.0);
    let largest = elastic.iter().map(|f| f.length()).fold(0.0, f64::max);
    for (elastic, both) in elastic.into_iter().zip(of(beta)) {
        assert!((both - elastic * (1.0 + beta / step)).length() < 1e-4 * largest);
    }
}
