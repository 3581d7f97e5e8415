//! Separates sheets of a surface that touch in an edge or a vertex.
//!
//! Surface nets place one vertex per cell, even if two sheets pass through it. Such sheets share vertices and edges
//! of four faces. Here every fan of faces gets its own vertex (at the same position), so that the mesh is a closed
//! manifold by its connectivity.

use glam::DVec3;

use crate::groups::UnionFind;

/// A side of a triangle: its first and last corner.
#[derive(Clone, Copy)]
struct TriangleSide {
    edge: [u32; 2],
    from: u32,
    to: u32,
}

/// Gives each fan of triangles around a vertex its own copy of it, and new vertices to edges that still occur twice.
/// Every edge must have as many triangles in one direction as in the other.
pub(super) fn separate_sheets(positions: &mut Vec<DVec3>, triangles: &mut Vec<[u32; 3]>) {
    let corners = triangles.as_flattened();
    let mut fans = UnionFind::new(corners.len());
    for edge in sorted_sides(corners).chunk_by(|a, b| a.edge == b.edge) {
        for [forward, backward] in pair_sides(edge, corners, positions) {
            fans.join(forward.from, backward.to);
            fans.join(forward.to, backward.from);
        }
    }
    number_fans(&mut fans, positions, triangles);
    while split_doubled_edges(positions, triangles) {}
}

/// All sides, grouped by edge.
fn sorted_sides(corners: &[u32]) -> Vec<TriangleSide> {
    let mut sides: Vec<TriangleSide> =
        (0..corners.len() as u32).map(|corner| side(corners, corner)).collect();
    sides.sort_by_key(|side| side.edge);
    sides
}

/// Two sheets may share both ends of an edge and be one fan around each. Then all pairs of triangles at the edge except
/// one get a vertex in its middle. True if there was such an edge: a triangle is split once per round.
fn split_doubled_edges(positions: &mut Vec<DVec3>, triangles: &mut Vec<[u32; 3]>) -> bool {
    let corners = triangles.as_flattened().to_vec();
    let mut cut = vec![false; triangles.len()];
    let mut any = false;
    for edge in sorted_sides(&corners).chunk_by(|a, b| a.edge == b.edge).filter(|edge| edge.len() > 2) {
        any = true;
        for pair in pair_sides(edge, &corners, positions).into_iter().skip(1) {
            if pair.iter().any(|side| cut[side.from as usize / 3]) {
                continue;
            }
            let middle = positions.len() as u32;
            let [a, b] = edge[0].edge.map(|v| positions[v as usize]);
            positions.push(a.midpoint(b));
            for side in pair {
                let (t, corner) = (side.from as usize / 3, side.from as usize % 3);
                let triangle = triangles[t];
                cut[t] = true;
                triangles[t][(corner + 1) % 3] = middle;
                triangles.push([middle, triangle[(corner + 1) % 3], triangle[(corner + 2) % 3]]);
            }
        }
    }
    any
}

fn side(corners: &[u32], corner: u32) -> TriangleSide {
    let next = corner - corner % 3 + (corner + 1) % 3;
    let (a, b) = (corners[corner as usize], corners[next as usize]);
    TriangleSide { edge: [a.min(b), a.max(b)], from: corner, to: next }
}

/// The sides of an edge in pairs that bound a wedge of the inside.
fn pair_sides(edge: &[TriangleSide], corners: &[u32], positions: &[DVec3]) -> Vec<[TriangleSide; 2]> {
    let is_forward = |side: &TriangleSide| corners[side.from as usize] == side.edge[0];
    if let [a, b] = edge {
        return vec![if is_forward(a) { [*a, *b] } else { [*b, *a] }];
    }
    let [low, high] = edge[0].edge.map(|v| positions[v as usize]);
    let axis = (high - low).normalize_or_zero();
    let across = axis.any_orthonormal_vector();
    let angle = |side: &TriangleSide| {
        let third = side.from - side.from % 3 + (side.from + 2) % 3;
        let out = positions[corners[third as usize] as usize] - low;
        out.dot(axis.cross(across)).atan2(out.dot(across))
    };
    let mut around: Vec<(f64, TriangleSide)> = edge.iter().map(|side| (angle(side), *side)).collect();
    around.sort_by(|a, b| a.0.total_cmp(&b.0));
    pair_around(around.into_iter().map(|(_, side)| side).collect(), is_forward)
}

/// Sorted by angle, the inside lies before every forward side: it is paired with the nearest backward one before it,
/// as brackets are.
fn pair_around(
    mut around: Vec<TriangleSide>,
    is_forward: impl Fn(&TriangleSide) -> bool,
) -> Vec<[TriangleSide; 2]> {
    let mut pairs = Vec::new();
    while let Some(k) = (0..around.len()).find(|&k| {
        let before = (k + around.len() - 1) % around.len();
        is_forward(&around[k]) && !is_forward(&around[before])
    }) {
        let before = (k + around.len() - 1) % around.len();
        pairs.push([around[k], around[before]]);
        around.remove(k.max(before));
        around.remove(k.min(before));
    }
    pairs
}

/// The first fan of a vertex keeps it, the others get copies at the end.
fn number_fans(fans: &mut UnionFind, positions: &mut Vec<DVec3>, triangles: &mut [[u32; 3]]) {
    const NONE: u32 = u32::MAX;
    let corners = triangles.as_flattened_mut();
    let mut taken = vec![false; positions.len()];
    let mut vertex_of_fan = vec![NONE; corners.len()];
    for (corner, corner_vertex) in corners.iter_mut().enumerate() {
        let fan = fans.find(corner as u32) as usize;
        if vertex_of_fan[fan] == NONE {
            let vertex = *corner_vertex as usize;
            vertex_of_fan[fan] = if taken[vertex] { positions.len() as u32 } else { vertex as u32 };
            if std::mem::replace(&mut taken[vertex], true) {
                positions.push(positions[vertex]);
            }
        }
        *corner_vertex = vertex_of_fan[fan];
    }
}
