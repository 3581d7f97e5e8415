//! The mesh check on meshes with known defects.

use std::f64::consts::TAU;

use glam::DVec3;
use proptest::prelude::*;
use supple_mesh::check::{Finding, FindingKind, Fit, MeshReport, Severity, check_surface, check_tets};
use supple_mesh::octree::{Grading, fill};
use supple_mesh::{SurfaceMesh, TetMesh};

use FindingKind::*;

fn v(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

/// A box of 6 quads, facing outwards.
fn quad_box(low: DVec3, high: DVec3) -> SurfaceMesh {
    let mut mesh = SurfaceMesh::default();
    for corner in 0..8 {
        let pick = |axis: usize| if corner >> axis & 1 == 0 { low[axis] } else { high[axis] };
        mesh.positions.push(v(pick(0), pick(1), pick(2)));
    }
    for quad in [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]] {
        mesh.push_face(&quad);
    }
    mesh
}

fn cube() -> SurfaceMesh {
    quad_box(DVec3::ZERO, DVec3::ONE)
}

/// A torus of `n` by `m` vertices: closed, genus 1.
fn torus(n: u32, m: u32) -> SurfaceMesh {
    let mut positions = Vec::new();
    for i in 0..n {
        for j in 0..m {
            let (a, b) = (TAU * f64::from(i) / f64::from(n), TAU * f64::from(j) / f64::from(m));
            let ring = 1.0 + 0.3 * b.cos();
            positions.push(v(ring * a.cos(), ring * a.sin(), 0.3 * b.sin()));
        }
    }
    let at = |i: u32, j: u32| (i % n) * m + j % m;
    let mut triangles = Vec::new();
    for i in 0..n {
        for j in 0..m {
            triangles.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
            triangles.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
    }
    SurfaceMesh::from_triangles(positions, &triangles)
}

/// A sphere of `n` rings and `2 n` segments: closed, genus 0.
fn sphere(n: u32, radius: f64, center: DVec3) -> SurfaceMesh {
    let segments = 2 * n;
    let mut positions = vec![center + v(0., 0., radius), center - v(0., 0., radius)];
    for ring in 1..n {
        let down = 0.5 * TAU * f64::from(ring) / f64::from(n);
        for s in 0..segments {
            let around = TAU * f64::from(s) / f64::from(segments);
            positions
                .push(center + radius * v(down.sin() * around.cos(), down.sin() * around.sin(), down.cos()));
        }
    }
    let at = |ring: u32, s: u32| 2 + (ring - 1) * segments + s % segments;
    let mut triangles = Vec::new();
    for s in 0..segments {
        triangles.push([0, at(1, s), at(1, s + 1)]);
        triangles.push([1, at(n - 1, s + 1), at(n - 1, s)]);
        for ring in 1..n - 1 {
            triangles.push([at(ring, s), at(ring + 1, s), at(ring + 1, s + 1)]);
            triangles.push([at(ring, s), at(ring + 1, s + 1), at(ring, s + 1)]);
        }
    }
    SurfaceMesh::from_triangles(positions, &triangles)
}

fn turned(mesh: &SurfaceMesh) -> SurfaceMesh {
    let mut turned = SurfaceMesh { positions: mesh.positions.clone(), ..SurfaceMesh::default() };
    for face in mesh.faces() {
        turned.push_face(&face.iter().rev().copied().collect::<Vec<_>>());
    }
    turned
}

fn joined(parts: &[SurfaceMesh]) -> SurfaceMesh {
    let mut all = SurfaceMesh::default();
    for part in parts {
        let base = all.positions.len() as u32;
        all.positions.extend(&part.positions);
        part.faces().for_each(|face| all.push_face(&face.iter().map(|v| v + base).collect::<Vec<_>>()));
    }
    all
}

fn fit(report: &MeshReport, family: &str) -> Fit {
    report.families.iter().find(|f| f.family == family).expect("every family has a verdict").fit
}

fn first(report: &MeshReport, kind: FindingKind) -> &Vec<Vec<u32>> {
    &report.finding(kind).expect("found").first
}

#[test]
fn a_cube_is_clean_and_measures_one_cubic_metre() {
    let report = check_surface(&cube());
    assert!(report.findings.is_empty(), "{report}");
    assert!(report.closed && report.manifold && report.oriented);
    assert_eq!((report.faces, report.triangles, report.component_count), (6, 12, 1));
    assert_eq!(report.components[0].genus, Some(0));
    assert!((report.area - 6.0).abs() < 1e-12 && (report.volume.unwrap() - 1.0).abs() < 1e-12);
    assert!(report.families.iter().all(|f| f.fit == Fit::Yes));
}

#[test]
fn three_triangles_on_one_edge_are_a_non_manifold_edge() {
    let p = vec![v(0., 0., 0.), v(0., 0., 1.), v(1., 0., 0.), v(-1., 1., 0.), v(-1., -1., 0.)];
    let report = check_surface(&SurfaceMesh::from_triangles(p, &[[0, 1, 2], [0, 1, 3], [1, 0, 4]]));
    assert_eq!(first(&report, NonManifoldEdges), &[vec![0, 1]]);
    assert_eq!(report.count(BoundaryEdges), 6);
    assert_eq!(report.count(NonManifoldVertices), 0, "both ends lie on the edge and are reported with it");
    assert!(report.finding(NonManifoldEdges).unwrap().message.contains("through 2 vertices"));
    assert!(!report.manifold && fit(&report, "galerkin") == Fit::Caveat && fit(&report, "octree") == Fit::No);
}

#[test]
fn triangles_that_meet_in_one_vertex_are_a_non_manifold_vertex_and_two_loops() {
    let p = vec![v(0., 0., 0.), v(1., 0., 0.), v(1., 1., 0.), v(-1., 0., 0.), v(-1., -1., 0.)];
    let report = check_surface(&SurfaceMesh::from_triangles(p, &[[0, 1, 2], [0, 3, 4]]));
    assert_eq!(first(&report, NonManifoldVertices), &[vec![0]]);
    assert_eq!((report.boundary_loops, report.component_count), (2, 1));
    assert_eq!(report.count(SelfIntersections), 0);
}

#[test]
fn a_moebius_strip_has_one_loop_and_cannot_be_oriented() {
    let n = 20u32;
    let mut mesh = SurfaceMesh::default();
    for i in 0..n {
        let a = TAU * f64::from(i) / f64::from(n);
        let across = v(a.cos() * (a / 2.0).cos(), a.sin() * (a / 2.0).cos(), (a / 2.0).sin());
        let middle = v(a.cos(), a.sin(), 0.0);
        mesh.positions.extend([middle - 0.3 * across, middle + 0.3 * across]);
    }
    for i in 0..n - 1 {
        mesh.push_face(&[2 * i, 2 * i + 2, 2 * i + 3, 2 * i + 1]);
    }
    mesh.push_face(&[2 * n - 2, 1, 0, 2 * n - 1]);
    let report = check_surface(&mesh);
    assert_eq!((report.boundary_loops, report.count(Misoriented), report.euler_characteristic), (1, 1, 0));
    assert!(report.finding(Misoriented).unwrap().message.contains("only one side"));
    assert!(!report.components[0].orientable && fit(&report, "octree") == Fit::No);
}

#[test]
fn turned_faces_are_found_and_the_least_number_to_turn_back_is_named() {
    let good = sphere(8, 1.0, DVec3::ZERO);
    let mut mesh = SurfaceMesh { positions: good.positions.clone(), ..SurfaceMesh::default() };
    for (f, face) in good.faces().enumerate() {
        let mut face = face.to_vec();
        if f == 20 || f == 77 {
            face.reverse();
        }
        mesh.push_face(&face);
    }
    let report = check_surface(&mesh);
    assert_eq!(report.count(Misoriented), 6, "three edges each");
    assert!(report.finding(Misoriented).unwrap().message.contains("flipping 2 faces"));
    assert_eq!((report.volume, report.components[0].genus), (None, Some(0)));
    assert_eq!(fit(&report, "octree"), Fit::Caveat);
}

#[test]
fn a_sphere_turned_inside_out_is_found_and_a_hollow_one_is_not() {
    let (big, small) = (sphere(10, 1.0, DVec3::ZERO), sphere(8, 0.5, v(0.1, 0., 0.)));
    let inside_out = check_surface(&turned(&big));
    assert_eq!(inside_out.count(InsideOut), 1);
    assert!(inside_out.volume.unwrap() < 0.0 && fit(&inside_out, "octree") == Fit::Caveat);

    let hollow = check_surface(&joined(&[big.clone(), turned(&small)]));
    assert!(hollow.findings.is_empty(), "{hollow}");

    let apart = sphere(8, 0.5, v(3., 0., 0.));
    let one_wrong = check_surface(&joined(&[big.clone(), turned(&apart)]));
    assert_eq!(first(&one_wrong, InsideOut), &[vec![big.face_count() as u32]]);
}

#[test]
fn a_bar_through_the_wall_of_a_tetrahedron_crosses_it_in_eight_pairs() {
    let p = vec![v(-9., -9., 0.), v(9., -9., 0.), v(0., 9., 0.), v(0., 0., 9.)];
    let big = SurfaceMesh::from_triangles(p, &[[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]);
    // The bar's four sides stand on the wall z = 0, each cut along a diagonal: both halves intersect it.
    let bar = quad_box(v(-0.5, -0.5, -1.0), v(0.5, 0.5, 1.0));
    let report = check_surface(&joined(&[big, bar]));
    assert_eq!(report.count(SelfIntersections), 8, "{report}");
    assert!(first(&report, SelfIntersections).iter().all(|pair| pair[0] == 0 && pair[1] >= 4));
}

#[test]
fn a_spike_through_a_neighbour_and_a_flat_fold_are_self_intersections() {
    let p = vec![v(0., 0., 0.), v(1., 0., 0.), v(0., 1., 0.), v(0.3, 0.2, 0.)];
    let fold = check_surface(&SurfaceMesh::from_triangles(p, &[[0, 1, 2], [1, 0, 3]]));
    assert_eq!(first(&fold, SelfIntersections), &[vec![0, 1]]);
    let p = vec![v(0., 0., 0.), v(1., 0., 0.), v(0., 1., 0.), v(0.3, 0.3, 1.), v(0.3, 0.3, -1.)];
    let spike = check_surface(&SurfaceMesh::from_triangles(p, &[[0, 1, 2], [0, 3, 4]]));
    assert_eq!(spike.count(SelfIntersections), 1);
}

#[test]
fn unwelded_triangles_are_reported_with_what_welding_gives() {
    let cube = cube();
    let positions: Vec<DVec3> =
        cube.triangles().as_flattened().iter().map(|&v| cube.positions[v as usize]).collect();
    let triangles: Vec<[u32; 3]> = (0..12).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    let report = check_surface(&SurfaceMesh::from_triangles(positions, &triangles));
    let welding = report.finding(DuplicatePositions).unwrap();
    assert_eq!((welding.count, welding.severity), (36 - 8, Severity::Warning));
    assert!(welding.message.contains("8 vertices: closed and manifold"), "{}", welding.message);
    assert_eq!((report.count(BoundaryEdges), report.component_count), (36, 12));
    assert_eq!(report.count(SelfIntersections), 0, "touching neighbours are not reported");
    assert_eq!((fit(&report, "octree"), fit(&report, "mas")), (Fit::Yes, Fit::Caveat));
}

#[test]
fn faces_without_area_duplicates_and_unused_vertices_are_named() {
    let mut mesh = cube();
    mesh.positions.extend([v(0.5, 0., 0.), v(2., 0., 0.)]);
    mesh.push_face(&[0, 8, 1]);
    mesh.push_face(&[0, 1, 1]);
    mesh.push_face(&[2, 0, 1, 3]);
    let report = check_surface(&mesh);
    assert_eq!(first(&report, Degenerate), &[vec![6], vec![7]]);
    assert_eq!(first(&report, Duplicates), &[vec![8]]);
    assert_eq!(first(&report, Unreferenced), &[vec![9]]);
    assert_eq!(report.size, 1.0, "unused vertices do not count for the size");
}

#[test]
fn bent_and_concave_polygons_are_distinguished() {
    let quad = |p: [DVec3; 4]| {
        let mut mesh = SurfaceMesh { positions: p.to_vec(), ..SurfaceMesh::default() };
        mesh.push_face(&[0, 1, 2, 3]);
        check_surface(&mesh)
    };
    let bent = quad([v(0., 0., 0.), v(1., 0., 0.3), v(1., 1., 0.), v(0., 1., 0.3)]);
    assert_eq!((bent.count(NonPlanar), bent.count(Concave)), (1, 0));
    let concave = quad([v(0., 0., 0.), v(1., 0., 0.), v(0.2, 0.2, 0.), v(0., 1., 0.)]);
    assert_eq!((concave.count(NonPlanar), concave.count(Concave)), (0, 1));
}

#[test]
fn a_flat_sheet_is_cloth_and_no_solid() {
    let p = vec![v(0., 0., 0.), v(1., 0., 0.), v(1., 0., 1.), v(0., 0., 1.)];
    let report = check_surface(&SurfaceMesh::from_triangles(p, &[[0, 2, 1], [0, 3, 2]]));
    assert_eq!((fit(&report, "galerkin"), fit(&report, "hpbd")), (Fit::Yes, Fit::Yes));
    assert_eq!((fit(&report, "octree"), fit(&report, "staggered")), (Fit::No, Fit::No));
}

#[test]
fn a_sphere_with_a_small_hole_is_a_solid_with_care() {
    let full = sphere(12, 1.0, DVec3::ZERO);
    let triangles = full.triangles();
    let report = check_surface(&SurfaceMesh::from_triangles(full.positions, &triangles[1..]));
    assert_eq!((report.boundary_loops, report.count(BoundaryEdges)), (1, 3));
    assert_eq!((fit(&report, "octree"), fit(&report, "newton")), (Fit::Caveat, Fit::Yes));
}

#[test]
fn a_garment_in_centimetres_gets_a_warning_with_the_scale() {
    let report = check_surface(&sphere(6, 85.0, DVec3::ZERO));
    let size = report.finding(Size).unwrap();
    assert_eq!(size.severity, Severity::Warning);
    assert!(size.message.contains("centimetres: set scale = 0.01"), "{}", size.message);
    assert!(check_surface(&sphere(6, 0.85, DVec3::ZERO)).finding(Size).is_none());
}

#[test]
fn any_broken_input_gives_a_report_with_an_error() {
    let points = SurfaceMesh { positions: vec![DVec3::ONE; 3], ..SurfaceMesh::default() };
    let mut nan = cube();
    nan.positions[3].y = f64::NAN;
    nan.positions[4].x = f64::INFINITY;
    let missing = SurfaceMesh::from_triangles(vec![DVec3::ZERO], &[[0, 1, 2], [9, 9, u32::MAX]]);
    let mut starts = cube();
    starts.face_starts = vec![0, 4, 2, 1000];
    let mut lines = SurfaceMesh { positions: vec![DVec3::ZERO, DVec3::X], ..SurfaceMesh::default() };
    lines.push_face(&[0, 1]);
    lines.push_face(&[]);
    for mesh in [SurfaceMesh::default(), points, nan, missing, starts, lines] {
        let report = check_surface(&mesh);
        assert_eq!(report.worst(), Some(Severity::Error), "{report}");
        assert!(report.families.iter().all(|f| f.fit == Fit::No));
        assert!(serde_json::to_string(&report).is_ok() && !report.to_string().is_empty());
    }
    let broken_tets = [[0, 1, 2, 3], [0, 0, 1, 2], [1, 2, 3, 4]];
    for (position, tets) in
        [(DVec3::NAN, &broken_tets[..1]), (DVec3::ZERO, &broken_tets[..]), (DVec3::ONE, &[])]
    {
        let mesh = TetMesh { positions: vec![position; 4], tets: tets.to_vec(), regions: None };
        let report = check_tets(&mesh);
        assert_eq!(report.worst(), Some(Severity::Error), "{report}");
        assert!(serde_json::to_string(&report).is_ok() && !report.to_string().is_empty());
    }
}

#[test]
fn a_hopeless_soup_ends_after_the_stated_limit() {
    // Slightly tilted large triangles through a common region: nearly all pairs intersect.
    let positions: Vec<DVec3> = (0..6000)
        .map(|i| {
            let angle = TAU * f64::from(i % 3) / 3.0;
            let tilt = 0.1 * (f64::from(i / 3) * (1.0 + f64::from(i % 3))).sin();
            v(angle.cos(), angle.sin(), tilt)
        })
        .collect();
    let triangles: Vec<[u32; 3]> = (0..2000).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    let report = check_surface(&SurfaceMesh::from_triangles(positions, &triangles));
    let crossings = report.finding(SelfIntersections).unwrap();
    assert!((1_000_000..2000 * 1999 / 2).contains(&crossings.count), "{}", crossings.count);
    assert!(crossings.message.contains("there may be more"), "{}", crossings.message);
}

#[test]
fn the_report_is_the_same_for_any_number_of_threads() {
    let mesh =
        joined(&[sphere(16, 1.0, DVec3::ZERO), torus(24, 12), turned(&sphere(9, 0.7, v(0.9, 0.1, 0.)))]);
    let with = |threads: usize| {
        let pool =
            supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| check_surface(&mesh))
    };
    let one = with(1);
    assert!(one.count(SelfIntersections) > 0);
    assert_eq!(one, with(3));
}

/// A cube of 6 tetrahedra around its diagonal.
fn tet_cube() -> TetMesh {
    let positions = cube().positions;
    let tets = vec![[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]];
    TetMesh { positions, tets, regions: None }
}

#[test]
fn a_cube_of_tetrahedra_is_clean_with_the_angles_of_its_cut() {
    let report = check_tets(&tet_cube());
    assert!(report.findings.is_empty(), "{report}");
    assert_eq!((report.faces, report.component_count, report.components[0].genus), (12, 1, Some(0)));
    assert!((report.volume.unwrap() - 1.0).abs() < 1e-12 && (report.area - 6.0).abs() < 1e-12);
    // Each element is the orthoscheme with edges 1, 1, 1 in a chain: angles 45, 60 and 90 degrees.
    let quality = report.quality.as_ref().unwrap();
    assert!((quality.dihedral_min - 45.0).abs() < 1e-9 && (quality.dihedral_max - 90.0).abs() < 1e-9);
    assert!((quality.mean_ratio_min - 12.0 * 0.5f64.powf(2.0 / 3.0) / 10.0).abs() < 1e-12);
    assert!(report.families.iter().all(|f| f.fit == Fit::Yes));
}

#[test]
fn inverted_flat_thin_and_repeated_elements_are_named() {
    let mut mesh = tet_cube();
    mesh.tets[2].swap(0, 1);
    mesh.tets.push([3, 1, 0, 7]);
    mesh.positions.extend([v(3., 0., 0.), v(4., 0., 0.), v(3., 1., 0.), v(4., 1., 0.), v(4., 1., 1e-3)]);
    mesh.tets.push([8, 9, 10, 11]);
    mesh.tets.push([8, 9, 10, 12]);
    let report = check_tets(&mesh);
    assert_eq!(first(&report, Inverted), &[vec![2], vec![6]]);
    assert_eq!(first(&report, Duplicates), &[vec![6]]);
    assert_eq!(first(&report, ZeroVolume), &[vec![7]]);
    assert_eq!(first(&report, Slivers), &[vec![8]]);
    assert_eq!(fit(&report, "galerkin"), Fit::No);
}

#[test]
fn inverted_elements_leave_the_boundary_oriented() {
    let mut mesh = tet_cube();
    mesh.tets.iter_mut().for_each(|tet| tet.swap(2, 3));
    let report = check_tets(&mesh);
    assert_eq!(report.count(Inverted), 6);
    assert!(report.oriented && report.finding(InsideOut).is_none());
    assert_eq!((fit(&report, "mas"), fit(&report, "octree")), (Fit::No, Fit::Yes));
}

#[test]
fn three_elements_on_a_triangle_and_elements_that_share_an_edge_only_are_not_manifold() {
    let p = vec![v(0., 0., 0.), v(1., 0., 0.), v(0., 1., 0.), v(0., 0., 1.), v(0., 0., -1.), v(1., 1., 1.)];
    let mesh = TetMesh { positions: p, tets: vec![[0, 1, 2, 3], [0, 2, 1, 4], [0, 1, 2, 5]], regions: None };
    assert_eq!(first(&check_tets(&mesh), NonManifoldFaces), &[vec![0, 1, 2]]);
    let p = vec![v(0., 0., 0.), v(0., 0., 1.), v(1., 0., 0.), v(0., 1., 0.), v(-1., 0., 0.), v(0., -1., 0.)];
    let mesh = TetMesh { positions: p, tets: vec![[0, 2, 3, 1], [0, 4, 5, 1]], regions: None };
    assert_eq!(first(&check_tets(&mesh), NonManifoldEdges), &[vec![0, 1]]);
}

/// Properties that must not depend on the order of items in a file.
fn counts(report: &MeshReport) -> (Vec<(FindingKind, usize)>, usize, i64, usize) {
    let mut kinds: Vec<(FindingKind, usize)> =
        report.findings.iter().map(|f: &Finding| (f.kind, f.count)).collect();
    kinds.sort_by_key(|k| format!("{:?}", k.0));
    (kinds, report.boundary_loops, report.euler_characteristic, report.component_count)
}

fn damaged() -> SurfaceMesh {
    // Triangles only: a square's first corner determines the diagonal along which it is split.
    let block = SurfaceMesh::from_triangles(cube().positions, &cube().triangles());
    let mut mesh = joined(&[torus(9, 7), turned(&sphere(5, 0.5, v(1., 0., 0.))), block]);
    mesh.push_face(&[0, 1, 100]);
    mesh.push_face(&[3, 40, 41]);
    mesh.push_face(&[41, 40, 3]);
    mesh.push_face(&[70, 70, 71]);
    mesh.positions.push(v(0.5, 0.5, 0.5));
    mesh
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn spheres_and_tori_of_any_resolution_are_clean_with_their_genus(n in 3u32..12, m in 3u32..12) {
        let round = check_surface(&sphere(n, 1.0, DVec3::ZERO));
        prop_assert!(round.findings.is_empty(), "{}", round);
        prop_assert_eq!(round.components[0].genus, Some(0));
        let ring = check_surface(&torus(n, m));
        prop_assert!(ring.findings.is_empty(), "{}", ring);
        prop_assert_eq!(ring.components[0].genus, Some(1));
        prop_assert!(ring.volume.unwrap() > 0.0);
    }

    #[test]
    fn counts_do_not_depend_on_the_order_of_vertices_faces_and_corners(
        order in Just((0..damaged().positions.len() as u32).collect::<Vec<_>>()).prop_shuffle(),
        faces in Just((0..damaged().face_count()).collect::<Vec<_>>()).prop_shuffle(),
        turn in 0usize..4,
    ) {
        let mesh = damaged();
        let mut shuffled = SurfaceMesh { positions: vec![DVec3::ZERO; order.len()], ..SurfaceMesh::default() };
        for (v, &to) in order.iter().enumerate() {
            shuffled.positions[to as usize] = mesh.positions[v];
        }
        for &f in &faces {
            let mut face: Vec<u32> = mesh.face(f).iter().map(|&v| order[v as usize]).collect();
            let by = turn % face.len();
            face.rotate_left(by);
            shuffled.push_face(&face);
        }
        prop_assert_eq!(counts(&check_surface(&shuffled)), counts(&check_surface(&mesh)));
    }
}

/// Triangles are found by their boxes, which cannot tell copies apart: unless these are left out, each would be tested with
/// all others.
#[test]
fn hundreds_of_copies_of_a_surface_fill_the_same_volume_and_cross_nothing() {
    let once = torus(24, 12);
    let mut often = once.clone();
    for _ in 1..300 {
        once.faces().for_each(|face| often.push_face(face));
    }
    let report = check_surface(&often);
    assert_eq!(report.count(Duplicates), 299 * once.face_count());
    assert_eq!(report.count(SelfIntersections), 0);
    let tets = |mesh: &SurfaceMesh| supple_mesh::tetrahedralise(mesh, 0.2).unwrap().mesh;
    assert_eq!(tets(&often), tets(&once));
    let octants =
        |mesh: &SurfaceMesh| fill(&mesh.positions, mesh.triangles(), 0.1, Grading::Layers(1)).unwrap();
    assert_eq!(octants(&often), octants(&once));
}

#[test]
fn a_polygon_that_goes_around_a_vertex_thousands_of_times_is_found_and_harmless() {
    let mut mesh = cube();
    let around: Vec<u32> = (0..100_000).flat_map(|i| [0, 1 + i % 7]).collect();
    mesh.push_face(&around);
    let report = check_surface(&mesh);
    assert_eq!(report.count(Degenerate), 1);
    assert_eq!(report.count(SelfIntersections), 0);
    // Every triangle of the polygon has that vertex twice, so they enclose nothing.
    let filled = fill(&mesh.positions, mesh.triangles(), 0.1, Grading::Layers(1)).unwrap();
    assert_eq!(
        filled.tree,
        fill(&cube().positions, cube().triangles(), 0.1, Grading::Layers(1)).unwrap().tree
    );
}

/// Long triangles through each other, in which no part is far from any point.
#[test]
fn a_tangle_of_long_triangles_is_reported_though_it_is_not_sampled_to_the_end() {
    let mut mesh = SurfaceMesh::default();
    let count = 5_000u32;
    let turn = |i: u32, speed: f64| f64::from(i) * speed;
    mesh.positions =
        (0..count).map(|i| v(turn(i, 2.4).cos(), turn(i, 1.7).sin(), turn(i, 0.9).cos())).collect();
    let polygon: Vec<u32> = (0..count).collect();
    mesh.push_face(&polygon);
    let report = check_surface(&mesh);
    assert_eq!((report.faces, report.vertices), (1, count as usize));
}
