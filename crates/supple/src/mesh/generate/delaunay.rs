//! A triangulation made Delaunay by flipping edges (Lawson 1977).

use glam::DVec2;

const NO_TRIANGLE: u32 = u32::MAX;

/// Flips the inner edges of a planar triangulation (counter-clockwise, without folds) until no triangle's circumcircle
/// holds the opposite corner of a neighbour, up to rounding. The boundary stays.
pub(super) fn flip_to_delaunay(points: &[DVec2], triangles: &mut [[u32; 3]]) {
    let mut neighbors = neighbors(triangles);
    let mut pending: Vec<u32> = (0..triangles.len() as u32).rev().collect();
    while let Some(t) = pending.pop() {
        for corner in 0..3 {
            let other = neighbors[t as usize][corner];
            if other != NO_TRIANGLE && is_illegal(points, triangles, t, corner, other) {
                flip(triangles, &mut neighbors, t, corner, other);
                pending.extend([t, other]);
                break;
            }
        }
    }
}

/// For each triangle and corner, the triangle across the opposite edge.
fn neighbors(triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let mut edges: Vec<([u32; 2], u32, usize)> = Vec::with_capacity(3 * triangles.len());
    for (t, triangle) in triangles.iter().enumerate() {
        for corner in 0..3 {
            let (a, b) = (triangle[(corner + 1) % 3], triangle[(corner + 2) % 3]);
            edges.push(([a.min(b), a.max(b)], t as u32, corner));
        }
    }
    edges.sort_unstable();
    let mut neighbors = vec![[NO_TRIANGLE; 3]; triangles.len()];
    for pair in edges.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        let [(_, t, i), (_, u, j)] = [pair[0], pair[1]];
        neighbors[t as usize][i] = u;
        neighbors[u as usize][j] = t;
    }
    neighbors
}

fn corner_towards(neighbors: [u32; 3], triangle: u32) -> usize {
    neighbors.iter().position(|&n| n == triangle).expect("neighbours know each other")
}

fn is_illegal(points: &[DVec2], triangles: &[[u32; 3]], t: u32, corner: usize, other: u32) -> bool {
    let triangle = triangles[t as usize];
    let shared = [triangle[(corner + 1) % 3], triangle[(corner + 2) % 3]];
    let opposite = triangles[other as usize].into_iter().find(|v| !shared.contains(v));
    let opposite = opposite.expect("two triangles share two vertices");
    in_circle(triangle.map(|v| points[v as usize]), points[opposite as usize])
}

/// True where `p` lies inside the circumcircle of a counter-clockwise triangle by more than rounding: cocircular points
/// are left alone, so that the flipping ends.
fn in_circle([a, b, c]: [DVec2; 3], p: DVec2) -> bool {
    let (a, b, c) = (a - p, b - p, c - p);
    let (aa, bb, cc) = (a.length_squared(), b.length_squared(), c.length_squared());
    let determinant = aa * b.perp_dot(c) - bb * a.perp_dot(c) + cc * a.perp_dot(b);
    determinant > 1e-12 * (aa + bb + cc).powi(2)
}

/// Replaces the edge of `t` opposite its `corner`, shared with `other`, by the other diagonal.
fn flip(triangles: &mut [[u32; 3]], neighbors: &mut [[u32; 3]], t: u32, corner: usize, other: u32) {
    let far = corner_towards(neighbors[other as usize], t);
    let [ti, oi] = [t as usize, other as usize];
    let (a, b, c) = (triangles[ti][corner], triangles[ti][(corner + 1) % 3], triangles[ti][(corner + 2) % 3]);
    let d = triangles[oi][far];
    let (across_b, across_c) = (neighbors[ti][(corner + 1) % 3], neighbors[ti][(corner + 2) % 3]);
    // In `other` the shared edge runs backwards: its corners after `d` are `c`, `b`.
    let (beside_c, beside_b) = (neighbors[oi][(far + 1) % 3], neighbors[oi][(far + 2) % 3]);
    triangles[ti] = [a, b, d];
    neighbors[ti] = [beside_c, other, across_c];
    triangles[oi] = [a, d, c];
    neighbors[oi] = [beside_b, across_b, t];
    relink(neighbors, beside_c, other, t);
    relink(neighbors, across_b, t, other);
}

fn relink(neighbors: &mut [[u32; 3]], triangle: u32, old: u32, new: u32) {
    if triangle != NO_TRIANGLE {
        let corner = corner_towards(neighbors[triangle as usize], old);
        neighbors[triangle as usize][corner] = new;
    }
}
