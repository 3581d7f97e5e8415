//! How near two primitives are: a vertex and a triangle, or two edges. Both are four points `pᵢ`, and the vector
//! between their closest points is `r = Σ wᵢ pᵢ` with weights that sum to zero. Since the closest points minimise the
//! distance `d = |r|`, its gradient is `∂d/∂pᵢ = wᵢ n`, `n = r/d`: the change of the weights does not contribute.

use glam::DVec3;

use supple_core::Aabb;
use supple_mesh::geometry::triangle::closest_point;

/// Edges whose directions differ by less than the square root of this, in radians, count as parallel in the closest-point search.
const PARALLEL: f64 = 1e-8;

/// The kind of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrimitivePair {
    /// The first point is a vertex, the other three a triangle.
    VertexTriangle,
    /// Two edges, two points each.
    EdgeEdge,
}

/// The closest points of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosestPoints {
    /// The weights of the four points.
    pub weights: [f64; 4],
    /// From the second primitive's closest point to that of the first, in metres.
    pub offset: DVec3,
}

impl PrimitivePair {
    /// The closest points of four points.
    pub fn closest(self, points: &[DVec3; 4]) -> ClosestPoints {
        match self {
            Self::VertexTriangle => vertex_triangle(points),
            Self::EdgeEdge => edge_edge(points),
        }
    }

    /// The distance of four points in metres.
    pub fn distance(self, points: &[DVec3; 4]) -> f64 {
        self.closest(points).offset.length()
    }

    /// Whether the boxes around both primitives are farther apart than this many metres; faster than the distance, which may be
    /// even larger.
    pub fn is_surely_farther(self, &[a, b, c, d]: &[DVec3; 4], metres: f64) -> bool {
        let around = |low: DVec3, high: DVec3| Aabb { low, high };
        let [first, second] = match self {
            Self::VertexTriangle => [around(a, a), around(b.min(c).min(d), b.max(c).max(d))],
            Self::EdgeEdge => [around(a.min(b), a.max(b)), around(c.min(d), c.max(d))],
        };
        first.gap_squared(&second) > metres * metres
    }

    /// Upper bound on the rate of change of the distance for these displacements: the sum of the largest ones on both sides,
    /// after the common motion is subtracted.
    pub fn approach(self, moves: &[DVec3; 4]) -> f64 {
        let common = 0.25 * (moves[0] + moves[1] + moves[2] + moves[3]);
        let [a, b, c, d] = moves.map(|m| (m - common).length_squared());
        match self {
            Self::VertexTriangle => a.sqrt() + b.max(c).max(d).sqrt(),
            Self::EdgeEdge => a.max(b).sqrt() + c.max(d).sqrt(),
        }
    }
}

fn vertex_triangle(&[vertex, a, b, c]: &[DVec3; 4]) -> ClosestPoints {
    let nearest = closest_point(&[a - vertex, b - vertex, c - vertex], DVec3::ZERO);
    let [wa, wb, wc] = nearest.barycentric;
    ClosestPoints { weights: [1.0, -wa, -wb, -wc], offset: -nearest.point }
}

fn edge_edge(points: &[DVec3; 4]) -> ClosestPoints {
    let &[a, b, c, d] = points;
    let (first, second, between) = (b - a, d - c, a - c);
    let (ff, ss, fs) = (first.length_squared(), second.length_squared(), first.dot(second));
    let (fb, sb) = (first.dot(between), second.dot(between));
    let determinant = ff * ss - fs * fs;
    let parallel = determinant <= PARALLEL * ff * ss;
    let (s, t) = ((fs * sb - ss * fb) / determinant, (ff * sb - fs * fb) / determinant);
    let inside = determinant > 0.0 && (0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t);
    let crossing =
        || ClosestPoints { weights: [1.0 - s, s, t - 1.0, -t], offset: between + s * first - t * second };
    match (inside, parallel) {
        (true, false) => crossing(),
        // Rounding spoils the interior solution of almost parallel edges: an end may be nearer.
        (true, true) => nearer(crossing(), nearest_end(points)),
        (false, _) => nearest_end(points),
    }
}

/// The closest points where at least one of them is the end of an edge.
fn nearest_end(&[a, b, c, d]: &[DVec3; 4]) -> ClosestPoints {
    let of_first = |end: DVec3, weights: [f64; 2]| {
        let (t, offset) = end_to_edge(end, c, d);
        ClosestPoints { weights: [weights[0], weights[1], t - 1.0, -t], offset }
    };
    let of_second = |end: DVec3, weights: [f64; 2]| {
        let (s, offset) = end_to_edge(end, a, b);
        ClosestPoints { weights: [1.0 - s, s, -weights[0], -weights[1]], offset: -offset }
    };
    let first = nearer(of_first(a, [1.0, 0.0]), of_first(b, [0.0, 1.0]));
    let second = nearer(of_second(c, [1.0, 0.0]), of_second(d, [0.0, 1.0]));
    nearer(first, second)
}

/// Where on an edge the point nearest to `end` is, and the vector from there to `end`.
fn end_to_edge(end: DVec3, from: DVec3, to: DVec3) -> (f64, DVec3) {
    let (edge, away) = (to - from, end - from);
    let length = edge.length_squared();
    let t = if length > 0.0 { (away.dot(edge) / length).clamp(0.0, 1.0) } else { 0.0 };
    (t, away - t * edge)
}

fn nearer(a: ClosestPoints, b: ClosestPoints) -> ClosestPoints {
    if b.offset.length_squared() < a.offset.length_squared() { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points() -> impl Strategy<Value = [DVec3; 4]> {
        // Coarse and fine numbers: parallel, touching and degenerate cases occur.
        let coordinate = prop_oneof![-1.0..1.0f64, (-2i32..3).prop_map(|i| 0.5 * f64::from(i))];
        let point = prop::array::uniform3(coordinate).prop_map(DVec3::from);
        prop::array::uniform4(point)
    }

    /// The smallest distance over a grid of weights: an upper bound that is at most a cell too large.
    fn sampled(kind: PrimitivePair, p: &[DVec3; 4]) -> f64 {
        const CELLS: usize = 40;
        let part = |i: usize| i as f64 / CELLS as f64;
        let mut least = f64::INFINITY;
        for i in 0..=CELLS {
            for j in 0..=CELLS {
                let (s, t) = (part(i), part(j));
                let between = match kind {
                    PrimitivePair::VertexTriangle if i + j > CELLS => continue,
                    PrimitivePair::VertexTriangle => p[0] - p[1] - s * (p[2] - p[1]) - t * (p[3] - p[1]),
                    PrimitivePair::EdgeEdge => p[0] + s * (p[1] - p[0]) - p[2] - t * (p[3] - p[2]),
                };
                least = least.min(between.length());
            }
        }
        least
    }

    proptest! {
        #[test]
        fn closest_points_are_on_both_pieces_and_nearer_than_any_others(p in points()) {
            for kind in [PrimitivePair::VertexTriangle, PrimitivePair::EdgeEdge] {
                let ClosestPoints { weights, offset } = kind.closest(&p);
                let [a, b, c, d] = weights;
                let (first, second) = match kind {
                    PrimitivePair::VertexTriangle => (vec![a], vec![-b, -c, -d]),
                    PrimitivePair::EdgeEdge => (vec![a, b], vec![-c, -d]),
                };
                for side in [first, second] {
                    prop_assert!(side.iter().all(|w| *w >= -1e-12));
                    prop_assert!((side.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                }
                let between: DVec3 = weights.iter().zip(&p).map(|(w, p)| *w * *p).sum();
                prop_assert!(between.distance(offset) < 1e-12);
                let sampled = sampled(kind, &p);
                prop_assert!(offset.length() <= sampled + 1e-12, "{} {sampled}", offset.length());
                prop_assert!(offset.length() >= sampled - 0.15);
            }
        }

        #[test]
        fn what_is_surely_farther_is_farther(p in points(), metres in 0.0..2.0f64) {
            for kind in [PrimitivePair::VertexTriangle, PrimitivePair::EdgeEdge] {
                prop_assert!(!kind.is_surely_farther(&p, metres) || kind.distance(&p) > metres - 1e-12);
            }
            // Along an axis the boxes are as far apart as the primitives.
            let shifted = [p[0], p[1] + 9.0 * DVec3::X, p[2] + 9.0 * DVec3::X, p[3] + 9.0 * DVec3::X];
            prop_assert!(PrimitivePair::VertexTriangle.is_surely_farther(&shifted, 6.9));
        }

        #[test]
        fn distances_change_no_faster_than_the_bound(p in points(), moves in points(), common in points()) {
            for kind in [PrimitivePair::VertexTriangle, PrimitivePair::EdgeEdge] {
                let moves = moves.map(|m| 0.1 * m + common[0]);
                let after: [DVec3; 4] = std::array::from_fn(|i| p[i] + moves[i]);
                let change = (kind.distance(&after) - kind.distance(&p)).abs();
                prop_assert!(change <= kind.approach(&moves) + 1e-9, "{change}");
            }
        }
    }
}
