//! One triangle against a point or a ray.

use glam::DVec3;
use robust::Coord;

use supple_core::Aabb;

/// A half-line: the points `origin + t * direction` for `t >= 0`. The direction need not have unit length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// The origin in metres.
    pub origin: DVec3,
    /// The direction.
    pub direction: DVec3,
}

impl Ray {
    /// The point at parameter `t`.
    pub fn at(&self, t: f64) -> DVec3 {
        self.origin + t * self.direction
    }

    /// A lower bound of the parameter at which the ray enters a box, 0 if it starts inside; `None` if it
    /// misses. Widened by the rounding of the slab test (Ize 2013), so that no hit on the box's content is lost.
    pub fn entry_into(&self, bounds: &Aabb) -> Option<f64> {
        const SLACK: f64 = 4.0 * f64::EPSILON;
        let (mut enter, mut leave) = (0.0f64, f64::INFINITY);
        for axis in 0..3 {
            let (origin, direction) = (self.origin[axis], self.direction[axis]);
            let (low, high) = (bounds.low[axis] - origin, bounds.high[axis] - origin);
            if direction == 0.0 {
                if !(low <= 0.0 && high >= 0.0) {
                    return None;
                }
                continue;
            }
            let (a, b) = (low / direction, high / direction);
            enter = enter.max(a.min(b) * (1.0 - SLACK));
            leave = leave.min(a.max(b) * (1.0 + SLACK));
        }
        (enter <= leave).then_some(enter)
    }
}

/// The point of a triangle closest to another point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosestOnTriangle {
    /// The point, in metres.
    pub point: DVec3,
    /// The weights of the three corners; they are not negative and sum to 1.
    pub barycentric: [f64; 3],
}

/// The point of a triangle closest to `query`. Triangles without area are treated as segments.
pub fn closest_point(triangle: &[DVec3; 3], query: DVec3) -> ClosestOnTriangle {
    if let Some(barycentric) = inner_projection(triangle, query) {
        return ClosestOnTriangle { point: combine(triangle, barycentric), barycentric };
    }
    let nearer = |a: ClosestOnTriangle, b: ClosestOnTriangle| {
        if b.point.distance_squared(query) < a.point.distance_squared(query) { b } else { a }
    };
    let first = nearer(closest_on_edge(triangle, 0, query), closest_on_edge(triangle, 1, query));
    nearer(first, closest_on_edge(triangle, 2, query))
}

/// Weights of the orthogonal projection onto the triangle's plane, if it is inside the triangle.
fn inner_projection(&[a, b, c]: &[DVec3; 3], query: DVec3) -> Option<[f64; 3]> {
    let (ab, ac, aq) = (b - a, c - a, query - a);
    let normal = ab.cross(ac);
    let scale = normal.length_squared();
    let (wb, wc) = (aq.cross(ac).dot(normal) / scale, ab.cross(aq).dot(normal) / scale);
    let wa = 1.0 - wb - wc;
    (wa >= 0.0 && wb >= 0.0 && wc >= 0.0 && scale > 0.0).then_some([wa, wb, wc])
}

fn closest_on_edge(triangle: &[DVec3; 3], i: usize, query: DVec3) -> ClosestOnTriangle {
    let j = (i + 1) % 3;
    let edge = triangle[j] - triangle[i];
    let length_squared = edge.length_squared();
    let along = if length_squared > 0.0 { (query - triangle[i]).dot(edge) / length_squared } else { 0.0 };
    let along = along.clamp(0.0, 1.0);
    let mut barycentric = [0.0; 3];
    barycentric[i] = 1.0 - along;
    barycentric[j] = along;
    ClosestOnTriangle { point: combine(triangle, barycentric), barycentric }
}

/// The point with these weights.
pub fn combine(&[a, b, c]: &[DVec3; 3], [wa, wb, wc]: [f64; 3]) -> DVec3 {
    wa * a + wb * b + wc * c
}

/// The intersection of a ray with a triangle: the ray's parameter and the weights of the corners. Both sides count.
/// Watertight after Woop, Benthin and Wald 2013: a ray that passes through a shared edge or vertex hits at least one
/// of the triangles, since the signs of the edge functions are exact. A ray within the triangle's plane does not hit
/// it.
pub fn intersect_ray(triangle: &[DVec3; 3], ray: &Ray) -> Option<(f64, [f64; 3])> {
    let z = largest_axis(ray.direction);
    let depth = ray.direction[z];
    if depth == 0.0 || !ray.direction.is_finite() {
        return None;
    }
    let (x, y) = if depth < 0.0 { ((z + 2) % 3, (z + 1) % 3) } else { ((z + 1) % 3, (z + 2) % 3) };
    let shear = [ray.direction[x] / depth, ray.direction[y] / depth];
    let local = triangle.map(|corner| corner - ray.origin);
    let flat = local.map(|p| Coord { x: p[x] - shear[0] * p[z], y: p[y] - shear[1] * p[z] });
    let around = |p: Coord<f64>, q: Coord<f64>| robust::orient2d(p, q, Coord { x: 0.0, y: 0.0 });
    let weights = [around(flat[1], flat[2]), around(flat[2], flat[0]), around(flat[0], flat[1])];
    if weights.iter().any(|&w| w < 0.0) && weights.iter().any(|&w| w > 0.0) {
        return None;
    }
    let sum: f64 = weights.iter().sum();
    let barycentric = weights.map(|w| w / sum);
    let t = (0..3).map(|i| barycentric[i] * local[i][z]).sum::<f64>() / depth;
    (sum != 0.0 && t >= 0.0 && t.is_finite()).then_some((t, barycentric))
}

fn largest_axis(v: DVec3) -> usize {
    let v = v.abs();
    if v.x >= v.y && v.x >= v.z {
        0
    } else if v.y >= v.z {
        1
    } else {
        2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point() -> impl Strategy<Value = DVec3> {
        [-1.0..1.0f64, -1.0..1.0f64, -1.0..1.0f64].prop_map(DVec3::from_array)
    }

    fn triangle() -> impl Strategy<Value = [DVec3; 3]> {
        [point(), point(), point()]
    }

    proptest! {
        #[test]
        fn no_sampled_point_is_nearer_than_the_closest(t in triangle(), q in point()) {
            let found = closest_point(&t, q);
            let best = found.point.distance(q);
            prop_assert!((found.barycentric.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(found.barycentric.iter().all(|&w| w >= 0.0));
            prop_assert!(combine(&t, found.barycentric).distance(found.point) < 1e-12);
            for i in 0..=20 {
                for j in 0..=20 - i {
                    let weights = [f64::from(i) / 20.0, f64::from(j) / 20.0, f64::from(20 - i - j) / 20.0];
                    prop_assert!(best <= combine(&t, weights).distance(q) + 1e-12);
                }
            }
        }

        #[test]
        fn rays_aimed_at_inner_points_hit_them(t in triangle(), o in point(), u in 0.01..1.0f64, v in 0.01..1.0f64) {
            let sum = 1.01 + u + v;
            let target = combine(&t, [1.01 / sum, u / sum, v / sum]);
            let volume = (t[1] - t[0]).cross(t[2] - t[0]).dot(o - t[0]);
            prop_assume!(volume.abs() > 1e-3);
            let (at, weights) = intersect_ray(&t, &Ray { origin: o, direction: target - o }).expect("aimed at it");
            prop_assert!((at - 1.0).abs() < 1e-9);
            prop_assert!(combine(&t, weights).distance(target) < 1e-9);
            let away = Ray { origin: o, direction: o - target };
            prop_assert!(intersect_ray(&t, &away).is_none());
        }

        #[test]
        fn rays_through_a_shared_edge_never_slip_between(
            t in triangle(), other in point(), o in point(), s in 0.0..1.0f64,
        ) {
            // Two triangles on both sides of the edge 0-1 as seen from `o`.
            let [a, b, c] = t;
            let side = |p: DVec3| (a - o).cross(b - o).dot(p - o);
            prop_assume!(side(c).abs() > 1e-6 && side(other) * side(c) < -1e-12);
            let target = a + s * (b - a);
            let ray = Ray { origin: o, direction: target - o };
            let hits = [intersect_ray(&t, &ray), intersect_ray(&[b, a, other], &ray)];
            // The target may leave the edge's ends by rounding; inside, one of the two must be hit.
            prop_assert!(hits.iter().any(Option::is_some) || !(1e-9..=1.0 - 1e-9).contains(&s));
        }
    }

    #[test]
    fn triangles_without_area_are_segments_or_points() {
        let segment = [DVec3::ZERO, DVec3::X, 2.0 * DVec3::X];
        assert_eq!(closest_point(&segment, DVec3::new(1.5, 1.0, 0.0)).point, DVec3::new(1.5, 0.0, 0.0));
        assert_eq!(
            closest_point(&[DVec3::ZERO, DVec3::ZERO, DVec3::X], 0.5 * DVec3::X + DVec3::Y).point,
            0.5 * DVec3::X
        );
        assert_eq!(closest_point(&[DVec3::ONE; 3], DVec3::ZERO).point, DVec3::ONE);
        assert!(intersect_ray(&segment, &Ray { origin: -DVec3::Z, direction: DVec3::Z }).is_none());
    }

    #[test]
    fn a_ray_without_direction_or_within_the_plane_meets_nothing() {
        let t = [DVec3::ZERO, DVec3::X, DVec3::Y];
        for direction in [DVec3::ZERO, DVec3::NAN, DVec3::X] {
            assert!(intersect_ray(&t, &Ray { origin: DVec3::new(-1.0, 0.2, 0.0), direction }).is_none());
        }
    }
}
