//! Generated shapes against their geometry: areas, volumes, topology, angles, and rejected parameters.

use std::collections::HashMap;
use std::f64::consts::PI;

use glam::{DVec2, DVec3};
use proptest::prelude::*;

use super::*;
use crate::test_measure::{
    area, assert_closed_manifold, assert_conforming, euler_characteristic, tet_volume, volume,
};

fn cloth(size: [f64; 2], vertices: [u32; 2], pattern: GridPattern, seed: u64) -> ClothGrid {
    ClothGrid { size, vertices, pattern, seed }
}

/// The points of a mesh seen from above, x to the right and -z up.
fn from_above(mesh: &SurfaceMesh) -> Vec<DVec2> {
    mesh.positions.iter().map(|p| DVec2::new(p.x, -p.z)).collect()
}

fn angles([a, b, c]: [DVec2; 3]) -> [f64; 3] {
    [[a, b, c], [b, c, a], [c, a, b]].map(|[p, q, r]| (q - p).angle_to(r - p).to_degrees())
}

#[test]
fn regular_and_crossed_cloth_have_the_grid_s_counts_and_face_up() {
    for pattern in [GridPattern::Regular, GridPattern::Crossed] {
        let mesh = cloth([2.0, 1.0], [5, 4], pattern, 0).surface(1.0).unwrap();
        assert_eq!((mesh.positions.len(), mesh.face_count()), (20, 24));
        assert!((area(&mesh) - 2.0).abs() < 1e-14);
        assert_eq!(euler_characteristic(&mesh), 1);
        let points = from_above(&mesh);
        assert!(mesh.triangles().iter().all(|t| {
            let [a, b, c] = t.map(|v| points[v as usize]);
            (b - a).perp_dot(c - a) > 0.0
        }));
    }
}

#[test]
fn crossed_cloth_has_no_preferred_diagonal() {
    let mesh = cloth([1.0, 1.0], [9, 9], GridPattern::Crossed, 0).surface(1.0).unwrap();
    let points = from_above(&mesh);
    let mut balance = 0i32;
    for t in mesh.triangles() {
        for k in 0..3 {
            let edge = points[t[k] as usize] - points[t[(k + 1) % 3] as usize];
            let lean = edge.x * edge.y;
            balance += if lean > 1e-9 {
                1
            } else if lean < -1e-9 {
                -1
            } else {
                0
            };
        }
    }
    assert_eq!(balance, 0);
}

#[test]
fn texture_coordinates_are_an_unmirrored_copy_of_the_rest_shape() {
    let mesh = cloth([3.0, 2.0], [7, 5], GridPattern::Irregular, 3).surface(1.0).unwrap();
    let uvs = mesh.uvs.as_ref().unwrap();
    assert_eq!(uvs.indices, mesh.corners);
    for (uv, p) in uvs.values.iter().zip(from_above(&mesh)) {
        assert!((DVec2::from_array(*uv) * DVec2::new(3.0, 2.0) - DVec2::new(1.5, 1.0) - p).length() < 1e-14);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn irregular_cloth_is_delaunay_without_slivers_and_keeps_its_sides(
        nx in 2u32..24, nz in 2u32..24, seed in any::<u64>(),
    ) {
        let size = [0.1 * f64::from(nx), 0.1 * f64::from(nz)];
        let grid = cloth(size, [nx + 1, nz + 1], GridPattern::Irregular, seed);
        let mesh = grid.surface(1.0).unwrap();
        let (points, triangles) = (from_above(&mesh), mesh.triangles());
        prop_assert!((area(&mesh) - size[0] * size[1]).abs() < 1e-12 * size[0] * size[1]);
        prop_assert_eq!(euler_characteristic(&mesh), 1);
        for t in &triangles {
            let corners = t.map(|v| points[v as usize]);
            prop_assert!(angles(corners).iter().all(|&angle| angle > 15.0), "{corners:?} {:?}", angles(corners));
        }
        prop_assert!(no_circle_holds_a_point(&points, &triangles));
        prop_assert_eq!(&mesh, &grid.surface(1.0).unwrap());
        prop_assert_ne!(mesh, ClothGrid { seed: seed ^ 1, ..grid }.surface(1.0).unwrap());
    }

    #[test]
    fn boxes_have_exact_volume_area_and_outward_faces(
        size in [0.1..3.0, 0.1..3.0, 0.1..3.0], cells in [1u32..6, 1u32..6, 1u32..6],
    ) {
        let shape = BoxShape { size, cells };
        let [x, y, z] = size;
        let mesh = shape.surface(1.0).unwrap();
        assert_closed_manifold(&mesh);
        prop_assert_eq!(euler_characteristic(&mesh), 2);
        prop_assert!((volume(&mesh) - x * y * z).abs() < 1e-12);
        prop_assert!((area(&mesh) - 2.0 * (x * y + y * z + z * x)).abs() < 1e-12);
        let tets = shape.tets(1.0).unwrap();
        assert_conforming(&tets);
        assert_closed_manifold(&tets.boundary_surface().0);
        prop_assert!((tet_volume(&tets) - x * y * z).abs() < 1e-12);
        prop_assert_eq!(tets.tets.len() as u32, 5 * cells[0] * cells[1] * cells[2]);
        prop_assert!((area(&tets.boundary_surface().0) - area(&mesh)).abs() < 1e-12);
    }

    #[test]
    fn cylinders_have_the_area_and_volume_of_their_prism(
        radius in 0.1..2.0, height in 0.1..2.0, segments in 3u32..60, rings in 1u32..5,
    ) {
        let closed = CylinderShape { radius, height, segments, rings, closed: true };
        let mesh = closed.surface(1.0).unwrap();
        assert_closed_manifold(&mesh);
        prop_assert_eq!(euler_characteristic(&mesh), 2);
        let n = f64::from(segments);
        let base = 0.5 * n * radius * radius * (2.0 * PI / n).sin();
        let side = 2.0 * n * radius * (PI / n).sin() * height;
        prop_assert!((volume(&mesh) - base * height).abs() < 1e-12 * base * height);
        prop_assert!((area(&mesh) - side - 2.0 * base).abs() < 1e-11);
        let tube = CylinderShape { closed: false, ..closed }.surface(1.0).unwrap();
        prop_assert!((area(&tube) - side).abs() < 1e-12);
        prop_assert_eq!(euler_characteristic(&tube), 0);
        prop_assert_eq!(mesh.uvs.unwrap().indices.len(), mesh.corners.len());
    }

    #[test]
    fn spheres_have_the_icosahedral_counts(cells in 1u32..12, radius in 0.1..3.0) {
        let mesh = SphereShape { radius, cells }.surface(1.0).unwrap();
        assert_closed_manifold(&mesh);
        prop_assert_eq!(mesh.positions.len() as u32, 10 * cells * cells + 2);
        prop_assert_eq!(mesh.face_count() as u32, 20 * cells * cells);
        prop_assert!(mesh.positions.iter().all(|p| (p.length() - radius).abs() < 1e-12));
        prop_assert!(mesh.faces().all(|f| f.iter().map(|&v| mesh.positions[v as usize]).sum::<DVec3>().dot(normal(&mesh, f)) > 0.0));
    }
}

fn normal(mesh: &SurfaceMesh, face: &[u32]) -> DVec3 {
    let [a, b, c] = [face[0], face[1], face[2]].map(|v| mesh.positions[v as usize]);
    (b - a).cross(c - a)
}

/// By brute force, from circumcentres.
fn no_circle_holds_a_point(points: &[DVec2], triangles: &[[u32; 3]]) -> bool {
    triangles.iter().all(|t| {
        let [a, b, c] = t.map(|v| points[v as usize]);
        let (b, c) = (b - a, c - a);
        let center = (c.perp() * b.length_squared() - b.perp() * c.length_squared()) / (-2.0 * b.perp_dot(c));
        let radius = center.length();
        points.iter().all(|p| (*p - a - center).length() > radius * (1.0 - 1e-6))
    })
}

#[test]
fn spheres_and_tori_converge_to_their_area_and_volume_at_second_order() {
    let sphere = |resolution| SphereShape { radius: 0.7, cells: 8 }.surface(resolution).unwrap();
    let torus = |resolution| {
        TorusShape { major_radius: 1.0, minor_radius: 0.3, segments: 32, rings: 12 }
            .surface(resolution)
            .unwrap()
    };
    let order = |exact: f64, coarse: f64, fine: f64| ((exact - coarse) / (exact - fine)).log2();
    let (ball_area, ball_volume) = (4.0 * PI * 0.49, 4.0 / 3.0 * PI * 0.343);
    assert!((order(ball_area, area(&sphere(1.0)), area(&sphere(2.0))) - 2.0).abs() < 0.1);
    assert!((order(ball_volume, volume(&sphere(1.0)), volume(&sphere(2.0))) - 2.0).abs() < 0.1);
    let (ring_area, ring_volume) = (4.0 * PI * PI * 0.3, 2.0 * PI * PI * 0.09);
    assert!((order(ring_area, area(&torus(1.0)), area(&torus(2.0))) - 2.0).abs() < 0.1);
    assert!((order(ring_volume, volume(&torus(1.0)), volume(&torus(2.0))) - 2.0).abs() < 0.1);
    assert_closed_manifold(&torus(1.0));
    assert_eq!(euler_characteristic(&torus(1.0)), 0);
}

#[test]
fn round_shapes_have_texture_coordinates_that_only_jump_at_seams() {
    let mesh =
        TorusShape { major_radius: 1.0, minor_radius: 0.3, segments: 8, rings: 6 }.surface(1.0).unwrap();
    let uvs = mesh.uvs.unwrap();
    let mut values: HashMap<u32, Vec<u32>> = HashMap::new();
    for (&vertex, &uv) in mesh.corners.iter().zip(&uvs.indices) {
        let known = values.entry(vertex).or_default();
        if !known.contains(&uv) {
            known.push(uv);
        }
    }
    let seams = values.values().filter(|v| v.len() > 1).count();
    assert_eq!(seams, 8 + 6 - 1);
    for quad in uvs.indices.chunks(4) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| DVec2::from_array(uvs.values[quad[k] as usize]));
        assert!(((b - a).perp_dot(d - a) - 1.0 / 48.0).abs() < 1e-12 && (a + c - b - d).length() < 1e-12);
    }
}

#[test]
fn resolution_multiplies_cells_and_never_goes_below_one() {
    let grid = cloth([1.0, 1.0], [11, 21], GridPattern::Regular, 0);
    assert_eq!(grid.surface(2.0).unwrap().positions.len(), 21 * 41);
    assert_eq!(grid.surface(0.25).unwrap().positions.len(), 4 * 6);
    assert_eq!(grid.surface(1e-9).unwrap().positions.len(), 4);
}

#[test]
fn bad_parameters_are_refused_with_their_value() {
    let message = |result: Result<SurfaceMesh, Error>| result.unwrap_err().to_string();
    let size = |x: f64| cloth([x, 1.0], [3, 3], GridPattern::Regular, 0).surface(1.0);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(message(size(bad)).contains(&bad.to_string()));
        assert!(BoxShape { size: [1.0, bad, 1.0], cells: [1; 3] }.tets(1.0).is_err());
        assert!(SphereShape { radius: bad, cells: 3 }.surface(1.0).is_err());
        let sphere = SphereShape { radius: 1.0, cells: 3 };
        assert!(message(sphere.surface(bad)).contains("resolution"));
    }
    let many = cloth([1.0, 1.0], [u32::MAX, u32::MAX], GridPattern::Regular, 0);
    assert!(message(many.surface(1.0)).contains("limit"));
    let many = cloth([1.0, 1.0], [100_000, 100_000], GridPattern::Regular, 0);
    assert!(message(many.surface(1.0)).contains("1.000e10 vertices"));
    assert!(message(cloth([1.0, 1.0], [1, 5], GridPattern::Regular, 0).surface(1.0)).contains("1 x 5"));
    assert!(BoxShape { size: [1.0; 3], cells: [0, 1, 1] }.surface(1.0).is_err());
    let torus = TorusShape { major_radius: 0.2, minor_radius: 0.3, segments: 8, rings: 8 };
    assert!(message(torus.surface(1.0)).contains("intersect itself"));
    let cylinder = CylinderShape { radius: 1.0, height: 1.0, segments: 2, rings: 1, closed: true };
    assert!(message(cylinder.surface(1.0)).contains("at least 3"));
}
