//! Sheets of a surface that touch in an edge or a vertex, taken apart.
//!
//! Surface nets put one vertex into a cell, also where two sheets pass through it. Such sheets share vertices and edges
//! of four faces. Here every fan of faces gets a vertex of its own (at the same place), so that the mesh is a closed
//! manifold by its connectivity.

use glam::DVec3;

use crate::mesh::groups::Groups;

/// A side of a triangle: the corner it starts at and the one it ends at.
#[derive(Clone, Copy)]
struct Side {
    edge: [u32; 2],
    from: u32,
    to: u32,
}

/// Gives each fan of triangles around a vertex its own copy of it. Every edge must have as many triangles in one
/// direction as in the other.
pub(super) fn separate_sheets(positions: &mut Vec<DVec3>, triangles: &mut [[u32; 3]]) {
    let corners: Vec<u32> = triangles.as_flattened().to_vec();
    let mut sides: Vec<Side> = (0..corners.len() as u32).map(|corner| side(&corners, corner)).collect();
    sides.sort_by_key(|side| side.edge);
    let mut fans = Groups::new(corners.len());
    for edge in sides.chunk_by(|a, b| a.edge == b.edge) {
        for [forward, backward] in pair_sides(edge, &corners, positions) {
            fans.join(forward.from, backward.to);
            fans.join(forward.to, backward.from);
        }
    }
    number_fans(&mut fans, positions, triangles);
}

fn side(corners: &[u32], corner: u32) -> Side {
    let next = corner - corner % 3 + (corner + 1) % 3;
    let (a, b) = (corners[corner as usize], corners[next as usize]);
    Side { edge: [a.min(b), a.max(b)], from: corner, to: next }
}

/// The sides of an edge in pairs that bound a wedge of the inside.
fn pair_sides(edge: &[Side], corners: &[u32], positions: &[DVec3]) -> Vec<[Side; 2]> {
    let is_forward = |side: &Side| corners[side.from as usize] == side.edge[0];
    if let [a, b] = edge {
        return vec![if is_forward(a) { [*a, *b] } else { [*b, *a] }];
    }
    let [low, high] = edge[0].edge.map(|v| positions[v as usize]);
    let axis = (high - low).normalize_or_zero();
    let across = axis.any_orthonormal_vector();
    let angle = |side: &Side| {
        let third = side.from - side.from % 3 + (side.from + 2) % 3;
        let out = positions[corners[third as usize] as usize] - low;
        out.dot(axis.cross(across)).atan2(out.dot(across))
    };
    let mut around: Vec<(f64, Side)> = edge.iter().map(|side| (angle(side), *side)).collect();
    around.sort_by(|a, b| a.0.total_cmp(&b.0));
    pair_around(around.into_iter().map(|(_, side)| side).collect(), is_forward)
}

/// Sorted by angle, the inside lies before every forward side: it is paired with the nearest backward one before it,
/// as brackets are.
fn pair_around(mut around: Vec<Side>, is_forward: impl Fn(&Side) -> bool) -> Vec<[Side; 2]> {
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
fn number_fans(fans: &mut Groups, positions: &mut Vec<DVec3>, triangles: &mut [[u32; 3]]) {
    const NONE: u32 = u32::MAX;
    let corners = triangles.as_flattened_mut();
    let mut taken = vec![false; positions.len()];
    let mut vertex_of_fan = vec![NONE; corners.len()];
    for corner in 0..corners.len() {
        let fan = fans.find(corner as u32) as usize;
        if vertex_of_fan[fan] == NONE {
            let vertex = corners[corner] as usize;
            vertex_of_fan[fan] = if taken[vertex] { positions.len() as u32 } else { vertex as u32 };
            if std::mem::replace(&mut taken[vertex], true) {
                positions.push(positions[vertex]);
            }
        }
        corners[corner] = vertex_of_fan[fan];
    }
}
