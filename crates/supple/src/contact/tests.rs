//! Colliders against analytic shapes, files and motions.

use std::path::{Path, PathBuf};

use glam::{DVec3, dvec3};
use proptest::prelude::*;

use super::*;
use crate::scene::{Collider, ColliderShape, Keyframe, MeshShape, Motion};
use supple_mesh::SurfaceMesh;
use supple_mesh::format::write_obj;
use supple_mesh::test_support::sphere;

fn posed(shape: ColliderShape, motion: Option<Motion>, end: f64) -> PosedCollider {
    let collider = Collider { motion, ..Collider::new("c", shape) };
    PosedCollider::new(&collider, &ColliderMeshes::default(), [0.0, end], None).unwrap()
}

fn cuboid() -> ColliderShape {
    ColliderShape::Box { center: dvec3(0.1, -0.2, 0.3), size: dvec3(1.0, 2.0, 0.5) }
}

fn capsule() -> ColliderShape {
    ColliderShape::Capsule { from: dvec3(-0.5, 0.0, 0.1), to: dvec3(0.7, 0.4, 0.0), radius: 0.3 }
}

/// Components up to `size` in both directions.
pub(super) fn vector(size: f64) -> impl Strategy<Value = DVec3> {
    prop::array::uniform3(-size..size).prop_map(DVec3::from)
}

fn point() -> impl Strategy<Value = DVec3> {
    vector(2.0)
}

/// The smallest distance to many points of a surface.
fn sampled(point: DVec3, surface: impl Fn(f64, f64) -> DVec3) -> f64 {
    let steps = || (0..=60).map(|i| f64::from(i) / 60.0);
    let all = steps().flat_map(|u| steps().map(move |v| (u, v)));
    all.map(|(u, v)| surface(u, v).distance(point)).fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn distance_to_a_box_is_that_to_its_nearest_side(p in point()) {
        let ColliderShape::Box { center, size } = cuboid() else { unreachable!() };
        let side = |axis: usize, sign: f64| {
            sampled(p, |u, v| {
                let mut corner = dvec3(u - 0.5, u - 0.5, v - 0.5);
                corner[(axis + 1) % 3] = u - 0.5;
                corner[(axis + 2) % 3] = v - 0.5;
                corner[axis] = 0.5 * sign;
                center + corner * size
            })
        };
        let nearest = (0..3).flat_map(|axis| [side(axis, 1.0), side(axis, -1.0)]).fold(f64::INFINITY, f64::min);
        let inside = ((p - center).abs() - 0.5 * size).max_element() < 0.0;
        let found = posed(cuboid(), None, 1.0).separation(p);
        prop_assert_eq!(found.distance < 0.0, inside);
        prop_assert!(found.distance.abs() <= nearest + 1e-12 && nearest - found.distance.abs() < 0.03);
    }

    #[test]
    fn distance_to_a_capsule_is_that_to_its_axis_less_the_radius(p in point()) {
        let ColliderShape::Capsule { from, to, radius } = capsule() else { unreachable!() };
        let to_axis = (0..=2000).map(|i| from.lerp(to, f64::from(i) / 2000.0).distance(p)).fold(9.0, f64::min);
        let found = posed(capsule(), None, 1.0).separation(p).distance;
        prop_assert!((found - (to_axis - radius)).abs() < 1e-3);
    }

    #[test]
    fn normals_are_the_gradients_of_distances(p in point(), turn in point()) {
        let motion = Motion {
            pivot: dvec3(0.2, 0.1, 0.0),
            keyframes: vec![Keyframe::at(0.0).rotate(60.0 * turn).translate(0.1 * turn).scale(1.3)],
        };
        for shape in [cuboid(), capsule()] {
            let collider = posed(shape, Some(motion.clone()), 1.0);
            let step = 1e-6;
            let slope = |axis: DVec3| {
                let at = |by: f64| collider.separation(p + by * axis).distance;
                (at(step) - at(-step)) / (2.0 * step)
            };
            let gradient = dvec3(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z));
            let found = collider.separation(p);
            // Inside, two sides can be equally near: there is no gradient.
            prop_assume!((gradient.length() - 1.0).abs() < 1e-4);
            prop_assert!(found.normal.distance(gradient) < 1e-4, "{} {gradient}", found.normal);
        }
    }
}

#[test]
fn points_on_a_capsules_axis_are_pushed_sideways() {
    let ColliderShape::Capsule { from, to, radius } = capsule() else { unreachable!() };
    let found = posed(capsule(), None, 1.0).separation(from.lerp(to, 0.4));
    assert!((found.distance + radius).abs() < 1e-12);
    assert!((found.normal.length() - 1.0).abs() < 1e-12 && found.normal.dot(to - from).abs() < 1e-12);
}

fn save(folder: &Path, name: &str, positions: &[DVec3], triangles: &[[u32; 3]]) -> PathBuf {
    let path = folder.join(name);
    let mut bytes = Vec::new();
    write_obj(&SurfaceMesh::from_triangles(positions.to_vec(), triangles), &mut bytes).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

fn mesh(file: impl Into<MeshShape>) -> Collider {
    Collider { thickness: 0.01, ..Collider::new("mesh", ColliderShape::Mesh(file.into())) }
}

/// A unit square in the plane y = `height`, facing up.
fn square(height: f64) -> (Vec<DVec3>, [[u32; 3]; 2]) {
    let corners = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]];
    (corners.map(|[x, z]| dvec3(x, height, z)).to_vec(), [[0, 1, 2], [0, 2, 3]])
}

/// Three files in which a square rises by a metre each.
fn rising(folder: &Path) {
    for k in 0..3u32 {
        let (positions, triangles) = square(f64::from(k));
        save(folder, &format!("rise_{k:03}.obj"), &positions, &triangles);
    }
}

fn refused(collider: &Collider, until: f64) -> String {
    ColliderMeshes::new(10.0).load(collider, Path::new(""), until).unwrap_err().to_string()
}

#[test]
fn a_mesh_of_a_sphere_that_turns_and_grows_is_a_sphere() {
    let folder = tempfile::tempdir().unwrap();
    let (positions, triangles) = sphere(40, 0.5);
    let motion = Motion {
        pivot: DVec3::ZERO,
        keyframes: vec![
            Keyframe::at(0.0).scale(1.0),
            Keyframe::at(1.0).scale(2.0).translate([0.0, 3.0, 0.0]),
        ],
    };
    let collider = Collider {
        motion: Some(motion.clone()),
        ..mesh(save(folder.path(), "ball.obj", &positions, &triangles))
    };
    let ball = ColliderShape::Sphere { center: DVec3::ZERO, radius: 0.5 };
    let mut meshes = ColliderMeshes::new(30.0);
    meshes.load(&collider, Path::new(""), 99.0).unwrap();
    let found = PosedCollider::new(&collider, &meshes, [0.0, 1.0], None).unwrap();
    let exact = posed(ball, Some(motion), 1.0);
    for p in [dvec3(0.3, 3.2, 0.1), dvec3(0.9, 3.4, 0.2), dvec3(-0.5, 2.0, 0.3)] {
        let (a, b) = (found.separation(p), exact.separation(p));
        assert!((a.distance - b.distance).abs() < 6e-3, "{} {}", a.distance, b.distance);
        assert!(found.carry(p).distance(exact.carry(p)) < 1e-12);
    }
}

#[test]
fn a_file_sequence_is_linear_between_frames_and_carries_points() {
    let folder = tempfile::tempdir().unwrap();
    rising(folder.path());
    for path in [folder.path().join("rise_###.obj"), folder.path().to_owned()] {
        let collider = mesh(path);
        let mut meshes = ColliderMeshes::new(10.0);
        meshes.load(&collider, Path::new(""), 0.2).unwrap();
        let mut before = None;
        for (start, end) in [(0.0, 0.05), (0.05, 0.15), (0.15, 0.4)] {
            let posed = PosedCollider::new(&collider, &meshes, [start, end], before.take()).unwrap();
            let height = |time: f64| (10.0 * time).min(2.0);
            let resting = dvec3(0.3, height(start) + 0.002, 0.6);
            assert!((posed.start_separation(resting).distance - 0.002).abs() < 1e-9);
            let carried = posed.carry(resting);
            assert!((carried.y - height(end) - 0.002).abs() < 1e-9 && carried.x == 0.3);
            assert!((posed.separation(carried).distance - 0.002).abs() < 1e-9);
            before = Some(posed);
        }
    }
}

#[test]
fn a_sequence_that_ends_too_early_or_changes_its_triangles_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    rising(folder.path());
    let pattern = folder.path().join("rise_###.obj");
    assert!(refused(&mesh(&pattern), 0.5).contains("ends after 0.2000 s, but the scene needs 0.5000 s"));
    let (positions, triangles) = square(1.0);
    save(folder.path(), "rise_001.obj", &positions, &triangles[..1]);
    let problem = refused(&mesh(&pattern), 0.2);
    assert!(problem.contains("rise_001.obj") && problem.contains("same triangles"), "{problem}");
    save(folder.path(), "rise_001.obj", &[positions.clone(), positions].concat(), &triangles);
    let problem = refused(&mesh(&pattern), 0.2);
    assert!(problem.contains("8 vertices, but the first frame of this sequence has 4"), "{problem}");
}

#[test]
fn missing_files_and_meshes_without_area_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(refused(&mesh(folder.path().join("none.obj")), 0.0).contains("none.obj"));
    assert!(refused(&mesh(folder.path().join("none_##.obj")), 0.0).contains("there are no mesh files"));
    assert!(refused(&mesh(folder.path()), 0.0).contains("there are no mesh files"));
    let flat = save(folder.path(), "flat.obj", &[DVec3::ZERO, DVec3::X, 2.0 * DVec3::X], &[[0, 1, 2]]);
    assert!(refused(&mesh(flat), 0.0).contains("no triangle with an area"));
}
