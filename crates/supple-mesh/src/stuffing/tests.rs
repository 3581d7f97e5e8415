//! The guarantees of isosurface stuffing, on shapes, on adversarial fields, and under refinement.

use std::f64::consts::PI;

use proptest::prelude::*;

use super::*;
use crate::implicit::{Character, ImplicitShape};
use crate::test_measure::{
    area, assert_closed_manifold, assert_conforming, dihedral_range, euler_characteristic, tet_volume,
};

/// The paper's bounds for tetrahedra of one size, in degrees.
const ANGLES: (f64, f64) = (10.7, 164.8);

/// Signs and cuts drawn at random for each lattice point and edge, mostly at the thresholds of the warping rule: the
/// worst case of any field. For a cell of 1 m.
struct Adversary {
    seed: u64,
    /// The fraction of points that are inside.
    fill: f64,
}

impl Adversary {
    fn draw(&self, point: DVec3, salt: u64) -> f64 {
        let mut hash = self.seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for x in point.to_array() {
            hash = (hash ^ (x * 1024.0).round() as i64 as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
            hash ^= hash >> 32;
        }
        (hash >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl SignedField for Adversary {
    fn value(&self, point: DVec3) -> f64 {
        if point.abs().max_element() > 9.0 { 1.0 } else { self.draw(point, 1) - self.fill }
    }

    fn crossing(&self, inside: DVec3, outside: DVec3) -> f64 {
        let alpha = if inside.distance(outside) > 0.9 { ALPHA_LONG } else { ALPHA_SHORT };
        let (which, t) = (self.draw(inside + 0.37 * outside, 2), self.draw(inside + 0.37 * outside, 3));
        match (8.0 * which) as u32 {
            0..3 => alpha + 1e-9,
            3..6 => 1.0 - alpha - 1e-9,
            6 if t < 0.5 => alpha - 1e-9,
            6 => 1.0 - alpha + 1e-9,
            _ => t,
        }
    }
}

fn assert_angles(mesh: &TetMesh) {
    let (least, most) = dihedral_range(mesh);
    assert!(least > ANGLES.0 && most < ANGLES.1, "dihedral angles from {least} to {most} degrees");
}

fn ball(radius: f64) -> ImplicitShape {
    ImplicitShape::Sphere { center: DVec3::new(0.1, -0.2, 0.3), radius }
}

#[test]
fn no_field_breaks_the_angle_bounds_and_the_worst_comes_close_to_them() {
    let mut range = (180.0f64, 0.0f64);
    for seed in 0..12 {
        let field = Adversary { seed, fill: 0.3 + 0.04 * seed as f64 };
        let mesh = stuff(&field, (DVec3::splat(-10.0), DVec3::splat(10.0)), 1.0).unwrap();
        assert_conforming(&mesh);
        assert_angles(&mesh);
        let (least, most) = dihedral_range(&mesh);
        range = (range.0.min(least), range.1.max(most));
    }
    // The bounds are sharp: a bug in the warping or the stencils would change the extremes.
    assert!(range.0 < ANGLES.0 + 0.5 && range.1 > ANGLES.1 - 0.5, "{range:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn random_wavy_fields_give_conforming_meshes_with_vertices_on_the_zero_set(
        waves in prop::collection::vec(([-9.0..9.0, -9.0..9.0, -9.0..9.0], 0.0..6.3), 1..6),
    ) {
        let field = |p: DVec3| {
            let wave = |(k, phase): &([f64; 3], f64)| (DVec3::from_array(*k).dot(p) + phase).sin();
            (0.2 * waves.iter().map(wave).sum::<f64>()).max(p.length() - 1.0)
        };
        let made = stuff(&field, (DVec3::splat(-1.0), DVec3::splat(1.0)), 0.13);
        // A field may be positive at every lattice point.
        prop_assume!(!made.as_ref().is_err_and(|error| error.to_string().contains("no tetrahedron fits")));
        let mesh = made.unwrap();
        assert_conforming(&mesh);
        assert_angles(&mesh);
        for v in mesh.boundary_triangles().into_iter().flatten() {
            prop_assert!(field(mesh.positions[v as usize]).abs() < 1e-9);
        }
    }
}

#[test]
fn characters_are_stuffed_within_the_angle_bounds() {
    for character in [Character::Octopus, Character::SpikyBall, Character::Creature, Character::Armadillo] {
        let shape = character.shape();
        let mesh = shape.tets(0.035).unwrap();
        assert_conforming(&mesh);
        assert_angles(&mesh);
        let surface = mesh.boundary_triangles().into_iter().flatten();
        let off = surface.map(|v| shape.value(mesh.positions[v as usize]).abs()).fold(0.0, f64::max);
        assert!(off < 1e-9, "{character:?}: a vertex is {off} m off the surface");
    }
}

#[test]
fn resolved_shapes_have_closed_manifold_boundaries_of_their_genus() {
    let torus = |p: DVec3| DVec3::new(p.x, 0.0, p.z).length() - 0.7;
    let torus = |p: DVec3| torus(p).hypot(p.y) - 0.25;
    let ring = stuff(&torus, (DVec3::splat(-1.0), DVec3::splat(1.0)), 0.09).unwrap();
    for (mesh, euler) in [(ball(0.8).tets(0.11).unwrap(), 2), (ring, 0)] {
        assert_conforming(&mesh);
        assert_angles(&mesh);
        let (surface, _) = mesh.boundary_surface();
        assert_closed_manifold(&surface);
        assert_eq!(euler_characteristic(&surface), euler);
    }
}

#[test]
fn volume_and_area_of_a_ball_converge_at_second_order() {
    let (volume, surface) = (4.0 / 3.0 * PI * 0.512, 4.0 * PI * 0.64);
    let errors = [0.16, 0.08, 0.04].map(|cell| {
        let mesh = ball(0.8).tets(cell).unwrap();
        [(volume - tet_volume(&mesh)) / volume, (surface - area(&mesh.boundary_surface().0)) / surface]
    });
    for quantity in 0..2 {
        for pair in errors.windows(2) {
            let order = (pair[0][quantity] / pair[1][quantity]).log2();
            assert!((1.7..2.4).contains(&order), "observed order {order}, errors {errors:?}");
        }
    }
}

#[test]
fn a_box_on_lattice_planes_is_filled_exactly() {
    let cube = |p: DVec3| (p.abs() - 0.5).max_element();
    let mesh = stuff(&cube, (DVec3::splat(-0.5), DVec3::splat(0.5)), 0.125).unwrap();
    assert_conforming(&mesh);
    assert_angles(&mesh);
    // The lattice planes through the faces carry corners of the lattice, so only the rounding of edges is lost.
    assert!((tet_volume(&mesh) - 1.0).abs() < 0.02, "{}", tet_volume(&mesh));
}

#[test]
fn results_are_bit_identical_for_any_number_of_threads() {
    let shape = Character::Octopus.shape();
    let run = |threads: usize| {
        let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| shape.tets(0.06).unwrap())
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn blocks_known_to_lie_on_one_side_change_nothing() {
    let shape = Character::Creature.shape();
    let everywhere = |p: DVec3| shape.value(p);
    assert_eq!(stuff(&everywhere, shape.bounds(), 0.07).unwrap(), shape.tets(0.07).unwrap());
}

#[test]
fn jumps_are_cut_where_they_are() {
    let step = |p: DVec3| if p.abs().max_element() < 0.77 { -1.0 } else { 1.0 };
    let mesh = stuff(&step, (DVec3::splat(-1.0), DVec3::splat(1.0)), 0.2).unwrap();
    assert_conforming(&mesh);
    for v in mesh.boundary_triangles().into_iter().flatten() {
        assert!((mesh.positions[v as usize].abs().max_element() - 0.77).abs() < 1e-9);
    }
}

#[test]
fn impossible_requests_are_refused_with_the_numbers() {
    let message = |result: Result<TetMesh, Error>| result.unwrap_err().to_string();
    let unit = (DVec3::splat(-1.0), DVec3::splat(1.0));
    let far = message(stuff(&|_: DVec3| 1.0, unit, 0.5));
    assert!(far.contains("smaller cell") && far.contains("0.5 m"), "{far}");
    let fine = message(stuff(&|p: DVec3| p.length() - 1.0, unit, 1e-3));
    assert!(fine.contains("1.6") && fine.contains("the limit is 2e8"), "{fine}");
    let wide = message(stuff(&|p: DVec3| p.length() - 3.0, unit, 0.2));
    assert!(wide.contains("beyond its bounds"), "{wide}");
    let broken = message(stuff(&|p: DVec3| if p.x > 0.3 { f64::NAN } else { p.length() - 0.9 }, unit, 0.2));
    assert!(broken.contains("NaN"), "{broken}");
    for cell in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(message(stuff(&|p: DVec3| p.length() - 0.9, unit, cell)).contains("positive length"));
    }
    let bounds = (DVec3::NAN, DVec3::ONE);
    assert!(message(stuff(&|p: DVec3| p.length() - 0.9, bounds, 0.1)).contains("not finite"));
}
