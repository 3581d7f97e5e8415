//! Smooth normals that keep creases: a vertex is split where the rest shape has an edge, so boxes stay crisp while
//! cloth, flat at rest, is smooth no matter how it folds, and no crease flickers through an animation.

use glam::{DVec3, Vec3};

/// Faces that meet at a larger angle (degrees between their normals) at rest are separated by a crease.
const CREASE_DEGREES: f64 = 50.0;

/// The vertices to draw: each is a vertex of the mesh with the faces around it that lie on one side of its creases.
pub(super) struct SplitVertices {
    /// The mesh's vertex of each drawn vertex.
    pub source: Vec<u32>,
    /// The triangles with drawn vertices as corners, in the mesh's order.
    pub triangles: Vec<[u32; 3]>,
}

/// Splits the vertices of a mesh at the creases of its rest shape.
pub(super) fn split_at_creases(rest: &[DVec3], triangles: &[[u32; 3]]) -> SplitVertices {
    let normals: Vec<DVec3> = triangles
        .iter()
        .map(|t| {
            let [a, b, c] = t.map(|v| rest[v as usize]);
            (b - a).cross(c - a).normalize_or_zero()
        })
        .collect();
    let (starts, corners) = corners_around_vertices(rest.len(), triangles);
    let mut split = SplitVertices { source: Vec::with_capacity(rest.len()), triangles: triangles.to_vec() };
    let mut sides = Vec::new();
    for (vertex, range) in starts.windows(2).enumerate() {
        let around = &corners[range[0] as usize..range[1] as usize];
        let count = label_sides(around, &normals, &mut sides);
        let first = split.source.len() as u32;
        split.source.extend(std::iter::repeat_n(vertex as u32, count as usize));
        for (&corner, &side) in around.iter().zip(&sides) {
            split.triangles[corner as usize / 3][corner as usize % 3] = first + side;
        }
    }
    split
}

/// For each vertex its corners (three times the triangle plus the index in it), as one list with starts.
fn corners_around_vertices(vertices: usize, triangles: &[[u32; 3]]) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; vertices + 1];
    for &v in triangles.as_flattened() {
        starts[v as usize + 1] += 1;
    }
    for v in 0..vertices {
        starts[v + 1] += starts[v];
    }
    let mut next = starts.clone();
    let mut corners = vec![0; triangles.len() * 3];
    for (corner, &v) in triangles.as_flattened().iter().enumerate() {
        corners[next[v as usize] as usize] = corner as u32;
        next[v as usize] += 1;
    }
    (starts, corners)
}

/// A vertex with more faces than these is the tip of a cone, or a fault of the mesh: it has no creases, and comparing all pairs
/// of its faces would take long.
const MOST_FACES: usize = 300;

/// Numbers the sides of the creases at a vertex from 0, one label for each corner; returns how many there are.
fn label_sides(around: &[u32], normals: &[DVec3], sides: &mut Vec<u32>) -> u32 {
    const UNSEEN: u32 = u32::MAX;
    let limit = CREASE_DEGREES.to_radians().cos();
    let normal = |i: usize| normals[around[i] as usize / 3];
    sides.clear();
    if around.len() > MOST_FACES {
        sides.resize(around.len(), 0);
        return 1;
    }
    sides.resize(around.len(), UNSEEN);
    let mut count = 0;
    let mut open = Vec::new();
    for seed in 0..around.len() {
        if sides[seed] != UNSEEN {
            continue;
        }
        sides[seed] = count;
        open.push(seed);
        while let Some(i) = open.pop() {
            for (j, side) in sides.iter_mut().enumerate() {
                // A face without area is assigned to no side.
                let smooth = normal(i).dot(normal(j)) >= limit || normal(j) == DVec3::ZERO;
                if *side == UNSEEN && smooth {
                    *side = count;
                    open.push(j);
                }
            }
        }
        count += 1;
    }
    count
}

/// Normals of drawn vertices: the mean over their faces, weighted by the angle at the vertex (Thürmer and Wüthrich
/// 1998), so that they do not depend on how polygons were triangulated.
pub(super) fn vertex_normals(positions: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Vec3> {
    let mut sums = vec![Vec3::ZERO; positions.len()];
    for triangle in triangles {
        let p = triangle.map(|v| positions[v as usize]);
        let Some(normal) = (p[1] - p[0]).cross(p[2] - p[0]).try_normalize() else { continue };
        let edges = [p[1] - p[0], p[2] - p[1], p[0] - p[2]].map(Vec3::normalize_or_zero);
        for corner in 0..3 {
            let cosine = -edges[corner].dot(edges[(corner + 2) % 3]);
            sums[triangle[corner] as usize] += normal * cosine.clamp(-1.0, 1.0).acos();
        }
    }
    for sum in &mut sums {
        *sum = sum.normalize_or_zero();
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube() -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let positions =
            (0..8).map(|i| DVec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64)).collect();
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        (positions, quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect())
    }

    #[test]
    fn a_cube_gets_the_normals_of_its_faces() {
        let (positions, triangles) = cube();
        let split = split_at_creases(&positions, &triangles);
        assert_eq!(split.source.len(), 24);
        let drawn: Vec<_> = split.source.iter().map(|&v| positions[v as usize].as_vec3()).collect();
        for (normal, position) in vertex_normals(&drawn, &split.triangles).iter().zip(&drawn) {
            let outward = (*position - Vec3::splat(0.5)).dot(*normal);
            assert!((normal.abs().max_element() - 1.0).abs() < 1e-6 && outward > 0.0);
        }
    }

    #[test]
    fn cloth_flat_at_rest_gets_no_crease_when_it_folds() {
        let rest = [DVec3::ZERO, DVec3::X, DVec3::Z, -DVec3::X];
        let triangles = [[0, 2, 1], [0, 3, 2]];
        let split = split_at_creases(&rest, &triangles);
        assert_eq!(split.source, [0, 1, 2, 3]);
        assert_eq!(split.triangles, triangles);
        let folded = [Vec3::ZERO, Vec3::X, Vec3::Z, Vec3::NEG_Y];
        let normal = vertex_normals(&folded, &split.triangles)[0];
        assert!((normal - Vec3::new(-1.0, 1.0, 0.0).normalize()).length() < 1e-6, "{normal}");
    }

    #[test]
    fn normals_do_not_depend_on_the_cut_of_a_quad() {
        let p = [Vec3::ZERO, Vec3::X, Vec3::new(1.0, 1.0, 0.0), Vec3::Y, Vec3::new(-1.0, 0.2, 0.5)];
        let one = vertex_normals(&p, &[[0, 1, 2], [0, 2, 3], [0, 3, 4]]);
        let other = vertex_normals(&p, &[[0, 1, 3], [1, 2, 3], [0, 3, 4]]);
        assert!((one[0] - other[0]).length() < 1e-6);
    }

    #[test]
    fn unusable_positions_give_no_normal() {
        let p = [Vec3::ZERO, Vec3::NAN, Vec3::Y, Vec3::X];
        let normals = vertex_normals(&p, &[[0, 1, 2], [0, 3, 2]]);
        assert!(normals.iter().all(|n| n.is_finite()) && normals[0].z > 0.99);
    }

    #[test]
    fn a_vertex_of_tens_of_thousands_of_faces_is_one_vertex() {
        let rim = |i: u32| DVec3::new(f64::from(i).cos(), f64::from(i % 7), f64::from(i).sin());
        let positions: Vec<DVec3> = std::iter::once(DVec3::ZERO).chain((0..30_000).map(rim)).collect();
        let triangles: Vec<[u32; 3]> = (1..30_000).map(|i| [0, i, i + 1]).collect();
        let split = split_at_creases(&positions, &triangles);
        assert_eq!(split.source.iter().filter(|&&vertex| vertex == 0).count(), 1);
    }
}
