//! Surfaces filled with tetrahedra: intact ones, broken ones, and those that cannot be filled.

use proptest::prelude::*;

use super::*;
use crate::generate::{BoxShape, ClothGrid, CylinderShape, GridPattern, SphereShape, TorusShape};
use crate::test_measure::{
    area, assert_closed_manifold, assert_conforming, dihedral_range, euler_characteristic, tet_volume, volume,
};

fn sphere(cells: u32) -> SurfaceMesh {
    SphereShape { radius: 1.0, cells }.surface(1.0).unwrap()
}

/// Joins meshes without merging vertices.
fn joined(meshes: &[SurfaceMesh]) -> SurfaceMesh {
    let mut all = SurfaceMesh::default();
    for mesh in meshes {
        let first = all.positions.len() as u32;
        all.positions.extend(&mesh.positions);
        mesh.faces().for_each(|face| all.push_face(&face.iter().map(|v| v + first).collect::<Vec<_>>()));
    }
    all
}

fn moved(mut mesh: SurfaceMesh, by: DVec3) -> SurfaceMesh {
    mesh.positions.iter_mut().for_each(|p| *p += by);
    mesh
}

fn assert_sound(mesh: &TetMesh) {
    assert_conforming(mesh);
    let (least, most) = dihedral_range(mesh);
    assert!(least > 10.7 && most < 164.8, "dihedral angles from {least} to {most} degrees");
}

#[test]
fn a_sphere_and_a_torus_keep_their_volume_area_and_genus() {
    let torus =
        TorusShape { major_radius: 1.0, minor_radius: 0.35, segments: 40, rings: 16 }.surface(1.0).unwrap();
    for (surface, euler) in [(sphere(8), 2), (torus, 0)] {
        let filled = tetrahedralise(&surface, 0.12).unwrap();
        assert_sound(&filled.mesh);
        assert!(filled.notes.is_empty(), "{:?}", filled.notes);
        let (boundary, _) = filled.mesh.boundary_surface();
        assert_closed_manifold(&boundary);
        assert_eq!(euler_characteristic(&boundary), euler);
        assert!((tet_volume(&filled.mesh) / volume(&surface) - 1.0).abs() < 0.03);
        assert!((area(&boundary) / area(&surface) - 1.0).abs() < 0.03);
    }
}

#[test]
fn boundary_vertices_lie_on_the_surface() {
    let surface = CylinderShape { radius: 0.5, height: 1.0, segments: 24, rings: 3, closed: true }
        .surface(1.0)
        .unwrap();
    let mesh = tetrahedralise(&surface, 0.13).unwrap().mesh;
    let tree = TriangleTree::new(&surface.positions, surface.triangles());
    for v in mesh.boundary_triangles().into_iter().flatten() {
        let closest = tree.closest_point(mesh.positions[v as usize], 1.0).unwrap();
        assert!(closest.distance < 1e-9, "{} m off", closest.distance);
    }
}

#[test]
fn faces_on_lattice_planes_are_no_trouble() {
    let surface = BoxShape { size: [1.0, 0.5, 0.5], cells: [2, 1, 1] }.surface(1.0).unwrap();
    for cell in [0.125, 0.1, 0.25] {
        let filled = tetrahedralise(&surface, cell).unwrap();
        assert_sound(&filled.mesh);
        assert!((tet_volume(&filled.mesh) / 0.25 - 1.0).abs() < 0.08, "{}", tet_volume(&filled.mesh));
    }
}

#[test]
fn inward_faces_are_turned_and_said() {
    let mut surface = sphere(6);
    surface.corners.reverse();
    let filled = tetrahedralise(&surface, 0.2).unwrap();
    assert!(filled.notes[0].contains("inward"), "{:?}", filled.notes);
    assert!(tet_volume(&filled.mesh) > 3.5);
}

#[test]
fn small_holes_are_bridged_and_said() {
    let whole = sphere(8);
    let faces: Vec<[u32; 3]> =
        whole.triangles().into_iter().enumerate().filter(|(i, _)| i % 97 != 3).map(|f| f.1).collect();
    let holey = SurfaceMesh::from_triangles(whole.positions.clone(), &faces);
    let filled = tetrahedralise(&holey, 0.15).unwrap();
    assert_sound(&filled.mesh);
    assert!(filled.notes.iter().any(|note| note.contains("not closed")), "{:?}", filled.notes);
    assert!((tet_volume(&filled.mesh) / volume(&whole) - 1.0).abs() < 0.04);
    assert_closed_manifold(&filled.mesh.boundary_surface().0);
}

#[test]
fn overlapping_parts_become_one_body() {
    let pair = joined(&[sphere(6), moved(sphere(6), DVec3::new(0.9, 0.0, 0.0))]);
    let filled = tetrahedralise(&pair, 0.15).unwrap();
    assert_sound(&filled.mesh);
    assert_eq!(euler_characteristic(&filled.mesh.boundary_surface().0), 2);
    // Two unit balls 0.9 apart: twice the volume less the lens pi (4 + d) (2 - d)^2 / 12.
    let lens = std::f64::consts::PI * 4.9 * 1.21 / 12.0;
    let expected = 2.0 * 4.0 / 3.0 * std::f64::consts::PI - lens;
    assert!((tet_volume(&filled.mesh) / expected - 1.0).abs() < 0.06);
    assert!(filled.notes.iter().any(|note| note.contains("overlaps")), "{:?}", filled.notes);
}

#[test]
fn thin_parts_that_vanish_are_said() {
    let rod = CylinderShape { radius: 0.02, height: 6.0, segments: 8, rings: 20, closed: true }
        .surface(1.0)
        .unwrap();
    let knobs =
        [-2.5, 2.5].map(|y| moved(SphereShape { radius: 0.3, cells: 4 }.surface(1.0).unwrap(), y * DVec3::Y));
    let dumbbell = joined(&[rod, knobs[0].clone(), knobs[1].clone()]);
    let filled = tetrahedralise(&dumbbell, 0.1).unwrap();
    assert_sound(&filled.mesh);
    let plate = BoxShape { size: [1.0, 0.03, 1.0], cells: [4, 1, 4] }.surface(1.0).unwrap();
    let block =
        moved(BoxShape { size: [0.3; 3], cells: [1; 3] }.surface(1.0).unwrap(), DVec3::new(0.02, 0.13, 0.01));
    let filled = tetrahedralise(&joined(&[plate, block]), 0.11).unwrap();
    assert!(filled.notes.iter().any(|note| note.contains("thinner than a cell")), "{:?}", filled.notes);
}

#[test]
fn sheets_enclose_no_volume() {
    let cloth = ClothGrid { size: [1.0, 1.0], vertices: [9, 9], pattern: GridPattern::Regular, seed: 0 };
    let message = tetrahedralise(&cloth.surface(1.0).unwrap(), 0.1).unwrap_err().to_string();
    assert!(message.contains("encloses no volume") && message.contains("32 edges are open"), "{message}");
    let message = tetrahedralise(&SurfaceMesh::default(), 0.1).unwrap_err().to_string();
    assert!(message.contains("no faces"), "{message}");
}

#[test]
fn strips_and_loose_triangles_enclose_no_clear_volume() {
    // A strip with a half twist: its faces have no consistent orientation.
    let (segments, mut strip) = (48u32, SurfaceMesh::default());
    for i in 0..segments {
        let angle = std::f64::consts::TAU * f64::from(i) / f64::from(segments);
        let out = DVec3::new(angle.cos(), 0.0, angle.sin());
        let across = 0.3 * ((0.5 * angle).cos() * out + (0.5 * angle).sin() * DVec3::Y);
        strip.positions.extend([out + across, out - across]);
    }
    for i in 0..segments {
        let (a, b) = (2 * i, 2 * i + 1);
        let [c, d] = if i + 1 < segments { [a + 3, a + 2] } else { [0, 1] };
        strip.push_face(&[a, b, c, d]);
    }
    let triangle =
        SurfaceMesh::from_triangles(vec![DVec3::ZERO, DVec3::X, DVec3::Y + 0.4 * DVec3::Z], &[[0, 1, 2]]);
    for surface in [strip, triangle] {
        let message = tetrahedralise(&surface, 0.05).unwrap_err().to_string();
        assert!(message.contains("encloses no") && message.contains("edges are open"), "{message}");
    }
}

#[test]
fn cells_that_are_too_coarse_or_too_fine_are_refused_with_the_numbers() {
    let message =
        |cell: f64| tetrahedralise(&moved(sphere(4), DVec3::splat(0.3)), cell).unwrap_err().to_string();
    assert!(message(1e-3).contains("the limit is 2e8"));
    assert!(message(f64::NAN).contains("positive length"));
    let shell = BoxShape { size: [1.0, 0.01, 1.0], cells: [1; 3] }.surface(1.0).unwrap();
    let offset = moved(shell, DVec3::new(0.0, 0.2, 0.0));
    let rod = joined(&[offset.clone(), moved(offset, DVec3::new(0.0, 0.5, 0.0))]);
    let coarse = tetrahedralise(&rod, 0.4).unwrap_err().to_string();
    assert!(coarse.contains("smaller cell"), "{coarse}");
}

#[test]
fn vertices_that_are_no_numbers_or_missing_are_named() {
    let mut surface = sphere(2);
    surface.positions[7].y = f64::NAN;
    assert!(tetrahedralise(&surface, 0.2).unwrap_err().to_string().contains("vertex 7"));
    let mut surface = sphere(2);
    surface.corners[5] = 1000;
    assert!(tetrahedralise(&surface, 0.2).unwrap_err().to_string().contains("vertex 1000"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn triangle_soups_are_filled_or_refused_but_never_break(
        points in prop::collection::vec([-1.0..1.0, -1.0..1.0, -1.0..1.0], 4..12),
        faces in prop::collection::vec([0usize..12, 0usize..12, 0usize..12], 4..30),
    ) {
        let triangles: Vec<[u32; 3]> = faces.iter().map(|f| f.map(|v| (v % points.len()) as u32)).collect();
        let soup = SurfaceMesh::from_triangles(points.into_iter().map(DVec3::from_array).collect(), &triangles);
        match tetrahedralise(&soup, 0.2) {
            Ok(filled) => assert_sound(&filled.mesh),
            Err(error) => prop_assert!(matches!(error, Error::Invalid(_)), "{error}"),
        }
    }
}
