//! The signed distance of a triangle mesh. A closed mesh is a solid: inside is where its winding number is nonzero (Jacobson
//! 2013). An open mesh is a shell in front of its faces: a point that slipped less than the shell's thickness behind
//! them is pushed back, one further behind is free, unless it was in contact or in front when the step started.

use glam::DVec3;

use crate::contact::Separation;
use supple_mesh::geometry::triangle::Ray;
use supple_mesh::geometry::{Aabb, ClosestPoint, TriangleTree, WindingNumber};

/// A triangle mesh at one time.
#[derive(Debug, Clone)]
pub(crate) struct SignedMesh {
    winding: WindingNumber,
    /// Angle-weighted vertex normals (Bærentzen and Aanæs 2005), zero where no triangle is.
    normals: Vec<DVec3>,
    /// Vertices on the boundary of an open mesh.
    rim: Vec<bool>,
    closed: bool,
}

impl SignedMesh {
    /// A mesh whose triangles share vertices wherever they meet. A closed mesh is oriented outwards.
    pub(crate) fn new(positions: &[DVec3], mut triangles: Vec<[u32; 3]>) -> Self {
        let rim = rim(positions.len(), &triangles);
        let closed = !rim.contains(&true);
        let volume: f64 = triangles.iter().map(|t| signed_volume(&t.map(|v| positions[v as usize]))).sum();
        if closed && volume < 0.0 {
            triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        let normals = vertex_normals(positions, &triangles);
        Self { winding: WindingNumber::new(TriangleTree::new(positions, triangles)), normals, rim, closed }
    }

    /// Sets new positions of the same vertices.
    pub(crate) fn refit(&mut self, positions: &[DVec3]) {
        self.winding.refit(positions);
        self.normals = vertex_normals(positions, self.tree().triangles());
    }

    /// The triangles; those of a closed mesh face outwards.
    pub(crate) fn triangles(&self) -> &[[u32; 3]] {
        self.tree().triangles()
    }

    /// Whether it has a boundary.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed
    }

    /// The box around all triangles.
    pub(crate) fn bounds(&self) -> Aabb {
        self.tree().bvh().bounds()
    }

    /// Distance and normal; beyond `shell` metres outside the mesh's box only a lower bound of the distance.
    pub(crate) fn separation(&self, point: DVec3, shell: f64) -> Separation {
        let far = self.bounds().distance_squared(point);
        let outside = Separation { distance: far.sqrt(), normal: DVec3::Y };
        if far > shell * shell {
            return outside;
        }
        let Some(closest) = self.closest(point) else { return outside };
        let offset = point - closest.point;
        let smooth = self.normal(&closest);
        let behind = if self.closed {
            far == 0.0 && self.winding.is_inside(point)
        } else {
            closest.distance < shell && offset.dot(smooth) < 0.0 && !self.is_on_rim(&closest)
        };
        let sign = if behind { -1.0 } else { 1.0 };
        Separation { distance: sign * closest.distance, normal: (sign * offset).normalize_or(smooth) }
    }

    /// The nearest point of a mesh, and the signed distance to it; that of an open mesh is positive.
    pub(crate) fn nearest(&self, point: DVec3) -> Option<(ClosestPoint, Separation)> {
        let closest = self.closest(point)?;
        let offset = point - closest.point;
        let inside = self.closed && self.winding.is_inside(point);
        let sign = if inside { -1.0 } else { 1.0 };
        let normal = (sign * offset).normalize_or(self.normal(&closest));
        Some((closest, Separation { distance: sign * closest.distance, normal }))
    }

    /// The same for a point that came from `from`: where it passed through an open mesh from the front, or was in contact and did not
    /// come back, it is behind, however deep.
    pub(crate) fn separation_after(&self, from: DVec3, point: DVec3, shell: f64) -> Separation {
        let found = self.separation(point, shell);
        if self.closed || found.distance < 0.0 || !self.went_behind(from, point, shell) {
            return found;
        }
        let Some(closest) = self.closest(point) else { return found };
        let (offset, smooth) = (point - closest.point, self.normal(&closest));
        if offset.dot(smooth) >= 0.0 || self.is_on_rim(&closest) {
            return found;
        }
        Separation { distance: -closest.distance, normal: (-offset).normalize_or(smooth) }
    }

    /// Whether the straight path from `from` ends behind an open mesh, judged by the first triangle in its path.
    fn went_behind(&self, from: DVec3, point: DVec3, shell: f64) -> bool {
        let ray = Ray { origin: from, direction: point - from };
        let first = if from == point { None } else { self.tree().pick(&ray) };
        match first.filter(|hit| hit.distance <= ray.direction.length()) {
            Some(hit) => {
                let [a, b, c] = *self.tree().corners(hit.triangle);
                ray.direction.dot((b - a).cross(c - a)) < 0.0
            }
            None => self.separation(from, shell).distance < 0.0,
        }
    }

    /// The displacement of the material point nearest to `point` until `later`, a later time of the same mesh.
    pub(crate) fn displacement(&self, later: &Self, point: DVec3) -> DVec3 {
        let Some(closest) = self.closest(point) else { return DVec3::ZERO };
        let corners = later.tree().corners(closest.triangle);
        supple_mesh::geometry::triangle::combine(corners, closest.barycentric) - closest.point
    }

    fn tree(&self) -> &TriangleTree {
        self.winding.tree()
    }

    fn closest(&self, point: DVec3) -> Option<ClosestPoint> {
        self.tree().closest_point(point, f64::INFINITY)
    }

    fn normal(&self, closest: &ClosestPoint) -> DVec3 {
        let corners = self.tree().triangles()[closest.triangle as usize];
        let normals = corners.map(|v| self.normals[v as usize]);
        let smooth = supple_mesh::geometry::triangle::combine(&normals, closest.barycentric);
        smooth.normalize_or(DVec3::Y)
    }

    /// Whether the nearest point is on the boundary: there is no behind around it.
    fn is_on_rim(&self, closest: &ClosestPoint) -> bool {
        let corners = self.tree().triangles()[closest.triangle as usize];
        let mut touched = corners.iter().zip(closest.barycentric).filter(|(_, weight)| *weight > 0.0);
        closest.barycentric.contains(&0.0) && touched.all(|(&v, _)| self.rim[v as usize])
    }
}

/// Vertices of edges whose triangles are not balanced between both orientations.
fn rim(vertices: usize, triangles: &[[u32; 3]]) -> Vec<bool> {
    let around = |t: &[u32; 3]| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]];
    let mut edges: Vec<[u32; 3]> = triangles
        .iter()
        .flat_map(around)
        .filter(|[a, b]| a != b)
        .map(|[a, b]| [a.min(b), a.max(b), u32::from(a < b)])
        .collect();
    edges.sort_unstable();
    let mut rim = vec![false; vertices];
    for same in edges.chunk_by(|a, b| a[..2] == b[..2]) {
        let forward = same.iter().filter(|edge| edge[2] == 1).count();
        if 2 * forward != same.len() {
            rim[same[0][0] as usize] = true;
            rim[same[0][1] as usize] = true;
        }
    }
    rim
}

fn signed_volume(&[a, b, c]: &[DVec3; 3]) -> f64 {
    a.dot(b.cross(c)) / 6.0
}

fn vertex_normals(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for t in triangles {
        let corners = t.map(|v| positions[v as usize]);
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize_or_zero();
        for i in 0..3 {
            let (to_next, to_last) = (corners[(i + 1) % 3] - corners[i], corners[(i + 2) % 3] - corners[i]);
            let angle = to_next.cross(to_last).length().atan2(to_next.dot(to_last));
            normals[t[i] as usize] += angle * normal;
        }
    }
    normals.iter_mut().for_each(|normal| *normal = normal.normalize_or_zero());
    normals
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use supple_mesh::test_support::sphere;

    fn square() -> SignedMesh {
        let corners = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0]].map(DVec3::from);
        SignedMesh::new(&corners, vec![[0, 1, 2], [0, 2, 3]])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_fine_mesh_of_a_sphere_has_the_distance_of_the_sphere(
            x in -1.6..1.6f64, y in -1.6..1.6f64, z in -1.6..1.6f64, inwards in any::<bool>(),
        ) {
            let point = DVec3::new(x, y, z);
            prop_assume!(point.length() > 0.2);
            let (positions, mut triangles) = sphere(48, 1.0);
            if inwards {
                triangles.iter_mut().for_each(|t| t.swap(0, 1));
            }
            let found = SignedMesh::new(&positions, triangles).separation(point, 10.0);
            // A chord of 1/48 of a half turn is at most 1 - cos(π/96) within the sphere, twice that at a cell's centre.
            prop_assert!((found.distance - (point.length() - 1.0)).abs() < 2e-3);
            if (point.length() - 1.0).abs() > 0.05 {
                prop_assert!(found.normal.dot(point.normalize()) > 0.99);
            }
        }
    }

    #[test]
    fn an_open_mesh_keeps_points_in_front_and_frees_those_far_behind() {
        let mesh = square();
        let at = |y: f64| mesh.separation(DVec3::new(0.3, y, 0.4), 0.01);
        assert_eq!((at(0.005).distance, at(0.005).normal), (0.005, DVec3::Y));
        assert_eq!((at(-0.005).distance, at(-0.005).normal), (-0.005, DVec3::Y));
        assert!(at(-0.02).distance >= 0.01);
        assert_eq!(at(0.0).normal, DVec3::Y);
    }

    #[test]
    fn a_point_that_went_through_an_open_mesh_is_behind_it_at_any_depth() {
        let mesh = square();
        let at = |y: f64| DVec3::new(0.3, y, 0.4);
        let between = |from: f64, to: f64| mesh.separation_after(at(from), at(to), 0.01);
        for from in [0.2, 0.005, 0.0, -0.005] {
            let found = between(from, -0.3);
            assert!(
                (found.distance + 0.3).abs() < 1e-15 && found.normal == DVec3::Y,
                "from {from}: {found:?}"
            );
        }
        // A point that was free behind stays free, even where it comes near, and one that comes back is in front.
        assert!(between(-0.2, -0.3).distance > 0.0);
        assert!(between(-0.2, -0.02).distance > 0.0);
        assert!((between(-0.005, 0.3).distance - 0.3).abs() < 1e-15);
        // Next to the mesh there is nothing to pass through.
        let beside = mesh.separation_after(DVec3::new(1.5, 0.1, 0.5), DVec3::new(1.5, -0.1, 0.5), 0.01);
        assert!(beside.distance > 0.4);
    }

    #[test]
    fn beside_the_rim_of_an_open_mesh_nothing_is_pulled_in() {
        let beside = square().separation(DVec3::new(1.004, -0.003, 0.5), 0.01);
        assert!((beside.distance - 0.005).abs() < 1e-15);
        assert!(beside.normal.distance(DVec3::new(0.8, -0.6, 0.0)) < 1e-12);
    }

    #[test]
    fn a_point_beyond_the_box_gets_a_lower_bound_of_its_distance() {
        let (positions, triangles) = sphere(24, 1.0);
        let mesh = SignedMesh::new(&positions, triangles);
        let corner = DVec3::splat(1.5);
        let found = mesh.separation(corner, 0.01).distance;
        assert!(found > 0.01 && found <= corner.length() - 0.99);
    }

    #[test]
    fn what_rides_on_a_triangle_moves_with_it() {
        let start = square();
        let mut end = start.clone();
        let lifted = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]].map(DVec3::from);
        end.refit(&lifted);
        let moved = start.displacement(&end, DVec3::new(0.25, 0.001, 0.5));
        assert!(moved.distance(DVec3::new(0.0, 0.25, 0.0)) < 1e-12);
    }
}
