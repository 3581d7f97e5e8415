//! A triangle mesh in a bounding-volume hierarchy: picking by a ray and closest points, at current positions.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::triangle::{self, Ray};
use super::{Aabb, Bvh};

/// The intersection of a ray with a mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RayHit {
    /// The triangle.
    pub triangle: u32,
    /// The weights of its corners.
    pub barycentric: [f64; 3],
    /// The distance from the ray's origin in metres.
    pub distance: f64,
}

/// The point of a mesh closest to another point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosestPoint {
    /// The triangle.
    pub triangle: u32,
    /// The weights of its corners.
    pub barycentric: [f64; 3],
    /// The point, in metres.
    pub point: DVec3,
    /// The distance in metres; if signed, negative inside.
    pub distance: f64,
}

/// Triangles with a hierarchy over them.
#[derive(Debug, Clone, Default)]
pub struct TriangleTree {
    triangles: Vec<[u32; 3]>,
    corners: Vec<[DVec3; 3]>,
    bvh: Bvh,
}

impl TriangleTree {
    /// Builds the tree. Triangles with a NaN corner are never found by a query.
    ///
    /// # Panics
    /// If a triangle refers to a vertex that does not exist.
    pub fn new(positions: &[DVec3], triangles: Vec<[u32; 3]>) -> Self {
        let corners: Vec<[DVec3; 3]> =
            triangles.par_iter().with_min_len(4096).map(|t| t.map(|v| positions[v as usize])).collect();
        let boxes: Vec<Aabb> = corners.par_iter().with_min_len(4096).map(|c| Aabb::of_points(c)).collect();
        Self { bvh: Bvh::build(&boxes), triangles, corners }
    }

    /// Updates the positions of the same vertices.
    ///
    /// # Panics
    /// If there are fewer positions than the triangles refer to.
    pub fn refit(&mut self, positions: &[DVec3]) {
        let pairs = self.corners.par_iter_mut().zip(&self.triangles).with_min_len(4096);
        pairs.for_each(|(corners, t)| *corners = t.map(|v| positions[v as usize]));
        self.bvh.refit(|t| Aabb::of_points(&self.corners[t as usize]));
    }

    /// The triangles in their original order.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The corners of triangle `t` in metres.
    pub fn corners(&self, t: u32) -> &[DVec3; 3] {
        &self.corners[t as usize]
    }

    /// The hierarchy over the triangles' boxes.
    pub fn bvh(&self) -> &Bvh {
        &self.bvh
    }

    /// The first triangle a ray hits, from either side.
    pub fn pick(&self, ray: &Ray) -> Option<RayHit> {
        let meet = |t: u32| triangle::intersect_ray(self.corners(t), ray);
        let (found, t) = self.bvh.cast_ray(ray, f64::INFINITY, |t| Some(meet(t)?.0))?;
        let (_, barycentric) = meet(found)?;
        Some(RayHit { triangle: found, barycentric, distance: t * ray.direction.length() })
    }

    /// The closest point within `limit` metres.
    pub fn closest_point(&self, query: DVec3, limit: f64) -> Option<ClosestPoint> {
        let nearest = |t: u32| triangle::closest_point(self.corners(t), query);
        let distance = |t: u32| nearest(t).point.distance_squared(query);
        let (found, distance_squared) = self.bvh.nearest(query, limit * limit, distance)?;
        let closest = nearest(found);
        Some(ClosestPoint {
            triangle: found,
            barycentric: closest.barycentric,
            point: closest.point,
            distance: distance_squared.sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::sphere;

    #[test]
    fn picking_a_sphere_from_outside_and_inside_gives_its_radius() {
        let (positions, triangles) = sphere(24, 2.0);
        let tree = TriangleTree::new(&positions, triangles);
        for direction in [DVec3::X, DVec3::new(0.3, -0.8, 0.2), DVec3::new(-1.0, 0.1, 0.9)] {
            let outside = Ray { origin: 5.0 * direction.normalize(), direction: -3.0 * direction };
            let hit = tree.pick(&outside).expect("aimed at the centre");
            assert!((hit.distance - 3.0).abs() < 0.03, "{}", hit.distance);
            let inside = tree.pick(&Ray { origin: DVec3::ZERO, direction }).expect("from the centre");
            assert!((inside.distance - 2.0).abs() < 0.03);
            let on_it = triangle::combine(tree.corners(inside.triangle), inside.barycentric);
            assert!(on_it.distance(inside.distance * direction.normalize()) < 1e-12);
        }
        assert!(tree.pick(&Ray { origin: 5.0 * DVec3::X, direction: DVec3::X }).is_none());
    }

    #[test]
    fn picking_and_closest_points_follow_moved_vertices() {
        let (positions, triangles) = sphere(12, 1.0);
        let mut tree = TriangleTree::new(&positions, triangles);
        let shift = DVec3::new(3.0, 0.0, 0.0);
        tree.refit(&positions.iter().map(|&p| p + shift).collect::<Vec<_>>());
        let hit = tree.pick(&Ray { origin: DVec3::ZERO, direction: DVec3::X }).expect("moved into the ray");
        assert!((hit.distance - 2.0).abs() < 0.05);
        let closest = tree.closest_point(DVec3::ZERO, f64::INFINITY).expect("not empty");
        assert!((closest.distance - 2.0).abs() < 0.05);
        assert!(tree.closest_point(DVec3::ZERO, 1.5).is_none());
    }

    #[test]
    fn closest_points_are_those_of_all_triangles() {
        let (positions, triangles) = sphere(10, 1.0);
        let tree = TriangleTree::new(&positions, triangles.clone());
        for q in [DVec3::ZERO, DVec3::new(0.4, 0.1, -0.2), DVec3::new(2.0, 2.0, 1.0), positions[7]] {
            let brute = (0..triangles.len() as u32)
                .map(|t| triangle::closest_point(tree.corners(t), q).point.distance(q))
                .fold(f64::INFINITY, f64::min);
            assert_eq!(tree.closest_point(q, f64::INFINITY).map(|c| c.distance), Some(brute));
        }
    }

    #[test]
    fn an_empty_mesh_has_no_hits() {
        let tree = TriangleTree::new(&[], Vec::new());
        assert!(tree.pick(&Ray { origin: DVec3::ZERO, direction: DVec3::X }).is_none());
        assert!(tree.closest_point(DVec3::ZERO, f64::INFINITY).is_none());
    }
}
