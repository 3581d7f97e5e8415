//! The exact distance of vertices and triangles to half-spaces, and to everything within a radius of a segment (spheres and capsules).
//!
//! All of these are convex, so the nearest point of a triangle is unique but for triangles that lie flat. With the weights `w` of
//! that point, `d = φ(Σ wᵢ pᵢ)` and `∂d/∂pᵢ = wᵢ n`, as for pairs of primitives: the change of the weights does not contribute.

use glam::DVec3;

use crate::contact::collider::obstacles::Solid;
use crate::contact::distance::closest_points::PrimitivePair;
use supple_core::Aabb;
use supple_mesh::geometry::triangle::closest_point;

/// What of a triangle and of the axis of a capsule are near each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NearAxis {
    /// The triangle and this end of the axis.
    End(usize),
    /// The edge from this corner to the next, and the axis.
    Edge(usize),
}

/// A place of a triangle that may touch a sphere or capsule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SolidFeature {
    pub(crate) found: SolidDistance,
    pub(crate) near: NearAxis,
}

/// The nearest point of a vertex or triangle to a solid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SolidDistance {
    /// The distance in metres, negative inside.
    pub(crate) distance: f64,
    /// Unit normal away from the solid.
    pub(crate) normal: DVec3,
    /// The weights of the triangle's corners.
    pub(crate) weights: [f64; 3],
}

impl Solid {
    /// Of a vertex.
    pub(crate) fn to_vertex(self, p: DVec3) -> SolidDistance {
        let (distance, normal) = match self {
            Self::HalfSpace { point, normal } => (normal.dot(p - point), normal),
            Self::Round { from, to, radius } => {
                let axis = to - from;
                let along = (p - from).dot(axis) / axis.length_squared();
                let along = if along.is_finite() { along.clamp(0.0, 1.0) } else { 0.0 };
                outside(p - (from + along * axis), radius, axis)
            }
        };
        SolidDistance { distance, normal, weights: [1.0, 0.0, 0.0] }
    }

    /// Of a triangle.
    pub(crate) fn to_triangle(self, corners: &[DVec3; 3]) -> SolidDistance {
        match self {
            Self::HalfSpace { .. } => {
                let of = corners.map(|corner| self.to_vertex(corner));
                let lowest =
                    (0..3).fold(0, |best, i| if of[i].distance < of[best].distance { i } else { best });
                let mut weights = [0.0; 3];
                weights[lowest] = 1.0;
                SolidDistance { weights, ..of[lowest] }
            }
            Self::Round { from, to, radius } => {
                let (weights, offset) = segment_to_triangle([from, to], corners);
                let (distance, normal) = outside(offset, radius, to - from);
                SolidDistance { distance, normal, weights }
            }
        }
    }

    /// The same, if the triangle may be nearer than `reach` metres.
    pub(crate) fn to_triangle_if_near(self, corners: &[DVec3; 3], reach: f64) -> Option<SolidDistance> {
        self.may_be_near(corners, reach).then(|| self.to_triangle(corners))
    }

    fn may_be_near(self, corners: &[DVec3; 3], reach: f64) -> bool {
        let Self::Round { from, to, radius } = self else { return true };
        let axis = Aabb { low: from.min(to), high: from.max(to) };
        let far = radius + reach;
        Aabb::of_points(corners).gap_squared(&axis) <= far * far
    }

    /// Calls `visit` with the places of a triangle that are nearer to a sphere or capsule than `reach` metres: those nearest to each end of
    /// the axis, and on each edge the nearest to the axis. The nearest place of all is one of them, but where a triangle is parallel to the
    /// axis it jumps from edge to edge, and a force there would jump with it. Each of these places moves continuously, but for edges that
    /// are themselves parallel to the axis.
    pub(crate) fn features(self, corners: &[DVec3; 3], reach: f64, mut visit: impl FnMut(SolidFeature)) {
        let Self::Round { from, to, radius } = self else { return };
        if !self.may_be_near(corners, reach) {
            return;
        }
        let mut consider = |weights: [f64; 3], offset: DVec3, near: NearAxis| {
            let (distance, normal) = outside(offset, radius, to - from);
            if distance < reach {
                visit(SolidFeature { found: SolidDistance { distance, normal, weights }, near });
            }
        };
        let ends = if from == to { &[from][..] } else { &[from, to] };
        for (number, end) in ends.iter().enumerate() {
            let nearest = closest_point(&corners.map(|c| c - *end), DVec3::ZERO);
            consider(nearest.barycentric, nearest.point, NearAxis::End(number));
        }
        for i in (0..3).filter(|_| from != to) {
            let (weights, offset) = edge_to_segment(corners, i, [from, to]);
            consider(weights, offset, NearAxis::Edge(i));
        }
    }

    /// The curvature of the distance of a triangle where it is negative: its Hessian is `-Σ uᵢ uⱼ n nᵀ` over the two lists `u` of weights,
    /// with what is positive left out.
    ///
    /// A triangle that touches a ball of the radius `r` with its inside, and whose corners move by `hᵢ` along `n`, tilts by
    /// `g = Σ hᵢ ∇wᵢ`. Its plane is then at the distance `(r + h) cos|g| - r` from the ball, so that `d = h - r |g|²/2`. On an edge only the
    /// tilt along it counts, at a corner none; along the axis of a capsule there is nothing to roll over.
    pub(crate) fn tilts(self, corners: &[DVec3; 3], found: &SolidDistance) -> [[f64; 3]; 2] {
        let Self::Round { from, to, radius } = self else { return [[0.0; 3]; 2] };
        let arm = (radius + found.distance).max(0.0).sqrt();
        let near: Vec3Mask = found.weights.map(|w| w > 0.0);
        let gradients = weight_gradients(corners, near);
        let along = found.normal.any_orthonormal_vector();
        let mut tangents = [along, found.normal.cross(along)];
        let foot = corners.iter().zip(found.weights).map(|(c, w)| w * *c).sum::<DVec3>();
        let on_axis = foot - (radius + found.distance) * found.normal;
        let axis = to - from;
        let at = (on_axis - from).dot(axis) / axis.length_squared();
        if at > 1e-9 && at < 1.0 - 1e-9 {
            tangents = [axis.cross(found.normal).normalize_or_zero(), DVec3::ZERO];
        }
        tangents.map(|t| gradients.map(|gradient| arm * gradient.dot(t)))
    }

    /// The larger displacement of its two control points to another position of the same solid, and the change of its radius.
    pub(crate) fn moved_to(self, other: Self, common: DVec3) -> f64 {
        match (self, other) {
            (Self::Round { from, to, radius }, Self::Round { from: f, to: t, radius: r }) => {
                (f - from - common).length().max((t - to - common).length()) + (r - radius).abs()
            }
            _ => f64::INFINITY,
        }
    }

    /// The solid on the straight way to another position of it.
    pub(crate) fn towards(self, other: Self, part: f64) -> Self {
        match (self, other) {
            (Self::Round { from, to, radius }, Self::Round { from: f, to: t, radius: r }) => Self::Round {
                from: from.lerp(f, part),
                to: to.lerp(t, part),
                radius: radius + part * (r - radius),
            },
            (Self::HalfSpace { point, normal }, Self::HalfSpace { point: p, normal: n }) => Self::HalfSpace {
                point: point.lerp(p, part),
                normal: (point + normal).lerp(p + n, part) - point.lerp(p, part),
            },
            _ => self,
        }
    }
}

type Vec3Mask = [bool; 3];

/// The gradients of the weights of a triangle's corners in its plane; along an edge or at a corner if only these are `near`.
fn weight_gradients(corners: &[DVec3; 3], near: Vec3Mask) -> [DVec3; 3] {
    let mut gradients = [DVec3::ZERO; 3];
    match near.iter().filter(|near| **near).count() {
        3 => {
            let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
            let area = normal.length_squared();
            if area > 0.0 {
                gradients =
                    std::array::from_fn(|i| normal.cross(corners[(i + 2) % 3] - corners[(i + 1) % 3]) / area);
            }
        }
        2 => {
            let far = near.iter().position(|near| !near).unwrap_or(0);
            let [i, j] = [(far + 1) % 3, (far + 2) % 3];
            let edge = corners[j] - corners[i];
            let gradient = edge / edge.length_squared();
            if gradient.is_finite() {
                (gradients[i], gradients[j]) = (-gradient, gradient);
            }
        }
        _ => {}
    }
    gradients
}

/// Distance and normal of a point `offset` from the nearest point of an axis.
fn outside(offset: DVec3, radius: f64, axis: DVec3) -> (f64, DVec3) {
    let length = offset.length();
    let sideways = || axis.try_normalize().map_or(DVec3::Y, |axis| axis.any_orthonormal_vector());
    (length - radius, offset.try_normalize().unwrap_or_else(sideways))
}

/// The nearest point of a triangle to a segment, as weights, and the vector from the segment to it; zero where the segment passes
/// through.
fn segment_to_triangle([from, to]: [DVec3; 2], corners: &[DVec3; 3]) -> ([f64; 3], DVec3) {
    let mut best = ([1.0, 0.0, 0.0], DVec3::INFINITY);
    let mut consider = |weights: [f64; 3], offset: DVec3| {
        if offset.length_squared() < best.1.length_squared() {
            best = (weights, offset);
        }
    };
    for end in [from, to] {
        let nearest = closest_point(&corners.map(|c| c - end), DVec3::ZERO);
        consider(nearest.barycentric, nearest.point);
    }
    if from == to {
        return best;
    }
    for i in 0..3 {
        let (weights, offset) = edge_to_segment(corners, i, [from, to]);
        consider(weights, offset);
    }
    let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
    let [before, after] = [from, to].map(|p| normal.dot(p - corners[0]));
    if before * after < 0.0 {
        let place = from + before / (before - after) * (to - from);
        let nearest = closest_point(corners, place);
        consider(nearest.barycentric, nearest.point - place);
    }
    best
}

/// The nearest point of the edge from corner `i` to the next to a segment, as weights, and the vector from the segment to it.
fn edge_to_segment(corners: &[DVec3; 3], i: usize, [from, to]: [DVec3; 2]) -> ([f64; 3], DVec3) {
    let j = (i + 1) % 3;
    let closest = PrimitivePair::EdgeEdge.closest(&[corners[i], corners[j], from, to]);
    let mut weights = [0.0; 3];
    (weights[i], weights[j]) = (closest.weights[0], closest.weights[1]);
    (weights, closest.offset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contact::tests::vector;

    fn on(corners: &[DVec3; 3], weights: [f64; 3]) -> DVec3 {
        weights[0] * corners[0] + weights[1] * corners[1] + weights[2] * corners[2]
    }

    fn solids() -> impl Strategy<Value = Solid> {
        let round = (vector(1.0), vector(1.0), 0.05..0.5f64).prop_map(|(from, to, radius)| Solid::Round {
            from,
            to,
            radius,
        });
        let ball = (vector(1.0), 0.05..0.5f64).prop_map(|(center, radius)| Solid::Round {
            from: center,
            to: center,
            radius,
        });
        let half = (vector(1.0), vector(1.0))
            .prop_map(|(point, normal)| Solid::HalfSpace { point, normal: normal.normalize_or(DVec3::Y) });
        prop_oneof![round, ball, half]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn no_sampled_point_of_a_triangle_is_nearer(solid in solids(), corners in prop::array::uniform3(vector(1.5))) {
            let found = solid.to_triangle(&corners);
            const CELLS: usize = 30;
            let mut least = f64::INFINITY;
            for i in 0..=CELLS {
                for j in 0..=CELLS - i {
                    let weights = [i, j, CELLS - i - j].map(|n| n as f64 / CELLS as f64);
                    least = least.min(solid.to_vertex(on(&corners, weights)).distance);
                }
            }
            let cell = corners.iter().map(|c| c.distance(corners[0])).fold(0.0, f64::max) / CELLS as f64;
            prop_assert!(found.distance <= least + 1e-12);
            prop_assert!(found.distance >= least - 2.0 * cell);
            // The nearest point has that distance, unless the axis passes through the triangle.
            let at = solid.to_vertex(on(&corners, found.weights));
            prop_assert!((at.distance - found.distance).abs() < 1e-9);
        }

        #[test]
        fn the_nearest_place_of_a_triangle_is_one_of_its_features(
            solid in solids(),
            corners in prop::array::uniform3(vector(1.5)),
        ) {
            let found = solid.to_triangle(&corners);
            prop_assume!(found.distance > 0.0 && !matches!(solid, Solid::HalfSpace { .. }));
            let mut least = f64::INFINITY;
            solid.features(&corners, f64::INFINITY, |feature| least = least.min(feature.found.distance));
            prop_assert!((least - found.distance).abs() < 1e-12, "{least} {}", found.distance);
        }

        #[test]
        fn normals_are_gradients(solid in solids(), p in vector(1.5)) {
            let here = solid.to_vertex(p);
            prop_assume!(here.distance > 0.01);
            for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
                let [after, before] = [1e-6, -1e-6].map(|by| solid.to_vertex(p + by * axis).distance);
                prop_assert!(((after - before) / 2e-6 - here.normal.dot(axis)).abs() < 1e-4);
            }
        }
    }

    proptest! {
        #[test]
        fn tilts_are_the_negative_curvature_of_the_distance_to_a_ball(
            center in vector(0.2),
            radius in 0.1..0.5f64,
            h in prop::array::uniform3(-1.0..1.0f64),
        ) {
            let corners = [DVec3::new(-1.0, 0.9, -1.0), DVec3::new(1.2, 0.9, -1.0), DVec3::new(0.0, 0.9, 1.5)];
            let ball = Solid::Round { from: center, to: center, radius };
            let found = ball.to_triangle(&corners);
            let value = |step: f64| {
                let moved: [DVec3; 3] = std::array::from_fn(|i| corners[i] + step * h[i] * found.normal);
                ball.to_triangle(&moved).distance
            };
            let step = 1e-4;
            let curvature = (value(step) - 2.0 * value(0.0) + value(-step)) / (step * step);
            let tilts = ball.tilts(&corners, &found);
            let expected: f64 = tilts.iter().map(|u| -(u[0] * h[0] + u[1] * h[1] + u[2] * h[2]).powi(2)).sum();
            prop_assert!((curvature - expected).abs() < 1e-3 * (1.0 + expected.abs()), "{curvature} {expected}");
        }
    }

    #[test]
    fn a_segment_through_a_triangle_has_no_distance_from_it() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Z];
        let needle =
            Solid::Round { from: DVec3::new(0.3, -1.0, 0.3), to: DVec3::new(0.3, 1.0, 0.3), radius: 0.01 };
        assert!((needle.to_triangle(&corners).distance + 0.01).abs() < 1e-12);
    }
}
