//! Measurements of meshes shared by tests.

use std::collections::{HashMap, HashSet};

use glam::DVec3;

use super::{SurfaceMesh, TetMesh};

/// Area in square metres.
pub(crate) fn area(mesh: &SurfaceMesh) -> f64 {
    let area = |t: [DVec3; 3]| 0.5 * (t[1] - t[0]).cross(t[2] - t[0]).length();
    triangles(mesh).map(area).sum()
}

/// Enclosed volume in cubic metres; positive if the faces point outward.
pub(crate) fn volume(mesh: &SurfaceMesh) -> f64 {
    triangles(mesh).map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).sum()
}

/// Total volume in cubic metres.
pub(crate) fn tet_volume(mesh: &TetMesh) -> f64 {
    (0..mesh.tets.len()).map(|t| mesh.volume(t)).sum()
}

/// Vertices in use minus edges plus faces.
pub(crate) fn euler_characteristic(mesh: &SurfaceMesh) -> i64 {
    let vertices: HashSet<u32> = mesh.corners.iter().copied().collect();
    let edges: HashSet<[u32; 2]> = directed_edges(mesh).map(|[a, b]| [a.min(b), a.max(b)]).collect();
    vertices.len() as i64 - edges.len() as i64 + mesh.face_count() as i64
}

/// Panics unless every edge has one face on each side, in opposite directions, and the faces of every vertex form
/// one fan.
pub(crate) fn assert_closed_manifold(mesh: &SurfaceMesh) {
    let mut seen = HashSet::new();
    for edge in directed_edges(mesh) {
        assert!(seen.insert(edge), "edge {edge:?} occurs twice in the same direction");
    }
    assert!(seen.iter().all(|&[a, b]| seen.contains(&[b, a])), "an edge has one face only");
    assert_one_fan_a_vertex(mesh);
}

/// From one outgoing edge of a vertex, turning from face to face reaches all of them.
fn assert_one_fan_a_vertex(mesh: &SurfaceMesh) {
    let mut previous: HashMap<[u32; 2], u32> = HashMap::new();
    let mut degree: HashMap<u32, (u32, u32)> = HashMap::new();
    for face in mesh.faces() {
        for k in 0..face.len() {
            let (before, v, after) =
                (face[(k + face.len() - 1) % face.len()], face[k], face[(k + 1) % face.len()]);
            previous.insert([v, after], before);
            degree.entry(v).or_insert((0, after)).0 += 1;
        }
    }
    for (&v, &(count, first)) in &degree {
        let (mut steps, mut at) = (0, first);
        loop {
            at = previous[&[v, at]];
            steps += 1;
            if at == first {
                break;
            }
        }
        assert_eq!(steps, count, "vertex {v} has more than one fan");
    }
}

/// Panics unless every inner triangle has two elements on opposite sides and all volumes are positive.
pub(crate) fn assert_conforming(mesh: &TetMesh) {
    let mut seen = HashSet::new();
    for (t, &[a, b, c, d]) in mesh.tets.iter().enumerate() {
        assert!(mesh.volume(t) > 0.0, "element {t} has volume {}", mesh.volume(t));
        for face in [[a, c, b], [a, b, d], [b, c, d], [a, d, c]] {
            assert!(seen.insert(rotated(face)), "face {face:?} has two elements on the same side");
        }
    }
    let used: HashSet<u32> = mesh.tets.iter().flatten().copied().collect();
    assert_eq!(used.len(), mesh.positions.len(), "every vertex is in use");
    assert!(used.iter().all(|&v| (v as usize) < mesh.positions.len()));
}

/// Smallest and largest dihedral angle in degrees.
pub(crate) fn dihedral_range(mesh: &TetMesh) -> (f64, f64) {
    let mut range = (180.0f64, 0.0f64);
    for tet in &mesh.tets {
        let p = tet.map(|v| mesh.positions[v as usize]);
        for [i, j, k, l] in
            [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2], [1, 2, 0, 3], [1, 3, 0, 2], [2, 3, 0, 1]]
        {
            let axis = p[j] - p[i];
            let (u, w) = ((p[k] - p[i]).reject_from(axis), (p[l] - p[i]).reject_from(axis));
            let angle = u.angle_between(w).to_degrees();
            range = (range.0.min(angle), range.1.max(angle));
        }
    }
    range
}

fn triangles(mesh: &SurfaceMesh) -> impl Iterator<Item = [DVec3; 3]> {
    mesh.triangles().into_iter().map(|t| t.map(|v| mesh.positions[v as usize]))
}

fn directed_edges(mesh: &SurfaceMesh) -> impl Iterator<Item = [u32; 2]> {
    mesh.faces().flat_map(|face| (0..face.len()).map(|k| [face[k], face[(k + 1) % face.len()]]))
}

/// The same cyclic order, starting at the least vertex.
fn rotated([a, b, c]: [u32; 3]) -> [u32; 3] {
    match a.min(b).min(c) {
        least if least == a => [a, b, c],
        least if least == b => [b, c, a],
        _ => [c, a, b],
    }
}
