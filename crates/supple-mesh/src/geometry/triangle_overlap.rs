//! Whether two triangles overlap, decided without rounding: every decision is the sign of an orientation
//! determinant, evaluated by Shewchuk's adaptive predicates (1997). Shared corners are identified by
//! their index, so that touching neighbours are distinguished from a true overlap.

use glam::DVec3;
use robust::{Coord, Coord3D};

/// True where two triangles, given by vertex indices, overlap beyond the vertices and edges they share:
/// - without a common vertex: where they have a point in common, touching included;
/// - with one: where they meet anywhere else;
/// - with two: where one is folded flat onto the other;
/// - with three: always.
///
/// Triangles without area overlap nothing.
pub fn triangles_overlap(positions: &[DVec3], first: [u32; 3], second: [u32; 3]) -> bool {
    let corners = |t: [u32; 3]| t.map(|v| positions[v as usize]);
    let (Some(a), Some(b)) =
        (ProjectedTriangle::new(corners(first)), ProjectedTriangle::new(corners(second)))
    else {
        return false;
    };
    let shared_first = [0, 1, 2].map(|i| second.contains(&first[i]));
    let shared_second = [0, 1, 2].map(|i| first.contains(&second[i]));
    match shared_first.iter().filter(|&&s| s).count() {
        0 => disjoint_indices_overlap(&a, &b),
        1 => {
            let opposite = |flat: &ProjectedTriangle, shared: [bool; 3]| {
                let at = shared.iter().position(|&s| s).unwrap_or(0);
                [flat.corners[(at + 1) % 3], flat.corners[(at + 2) % 3]]
            };
            b.meets_segment(opposite(&a, shared_first)) || a.meets_segment(opposite(&b, shared_second))
        }
        2 => folded_onto(&a, shared_first, &b, shared_second),
        _ => true,
    }
}

/// A triangle with area, and an axis along which its projection has area too.
struct ProjectedTriangle {
    corners: [DVec3; 3],
    /// The coordinates kept by the projection.
    plane: [usize; 2],
}

impl ProjectedTriangle {
    fn new(corners: [DVec3; 3]) -> Option<Self> {
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).abs();
        // The most likely axis first; the exact test decides.
        let mut axes = [0, 1, 2];
        axes.sort_by(|&i: &usize, &j: &usize| normal[j].total_cmp(&normal[i]));
        axes.into_iter().map(|axis| [(axis + 1) % 3, (axis + 2) % 3]).find_map(|plane| {
            let [a, b, c] = corners.map(|p| project(p, plane));
            (robust::orient2d(a, b, c) != 0.0).then_some(Self { corners, plane })
        })
    }

    /// The side of the triangle's plane on which a point lies: -1, 0 or 1.
    fn side(&self, p: DVec3) -> i32 {
        let [a, b, c] = self.corners;
        orientation(a, b, c, p)
    }

    /// True where all points lie strictly on one side.
    fn separates(&self, points: &[DVec3; 3]) -> bool {
        let first = self.side(points[0]);
        first != 0 && points[1..].iter().all(|&p| self.side(p) == first)
    }

    /// True where a closed segment and the closed triangle have a point in common.
    fn meets_segment(&self, [p, q]: [DVec3; 2]) -> bool {
        match (self.side(p), self.side(q)) {
            (0, 0) => self.meets_coplanar_segment([p, q]),
            (s, t) if s == t => false,
            _ => {
                let [a, b, c] = self.corners;
                let turns = [orientation(p, q, a, b), orientation(p, q, b, c), orientation(p, q, c, a)];
                turns.iter().all(|&t| t >= 0) || turns.iter().all(|&t| t <= 0)
            }
        }
    }

    fn meets_coplanar_segment(&self, segment: [DVec3; 2]) -> bool {
        let corners = self.corners.map(|p| project(p, self.plane));
        let [p, q] = segment.map(|p| project(p, self.plane));
        let edges = [[corners[0], corners[1]], [corners[1], corners[2]], [corners[2], corners[0]]];
        edges.iter().any(|&edge| segments_meet(edge, [p, q])) || inside(corners, p)
    }
}

fn disjoint_indices_overlap(a: &ProjectedTriangle, b: &ProjectedTriangle) -> bool {
    if a.separates(&b.corners) || b.separates(&a.corners) {
        return false;
    }
    edges_of(&a.corners).iter().any(|&edge| b.meets_segment(edge))
        || edges_of(&b.corners).iter().any(|&edge| a.meets_segment(edge))
}

/// Two triangles with a common edge overlap where they are coplanar and on the same side of it.
fn folded_onto(
    a: &ProjectedTriangle,
    shared_a: [bool; 3],
    b: &ProjectedTriangle,
    shared_b: [bool; 3],
) -> bool {
    let apex = |flat: &ProjectedTriangle, shared: [bool; 3]| {
        flat.corners[shared.iter().position(|&s| !s).unwrap_or(0)]
    };
    let apex_b = apex(b, shared_b);
    if a.side(apex_b) != 0 {
        return false;
    }
    let i = shared_a.iter().position(|&s| !s).unwrap_or(0);
    let edge = [a.corners[(i + 1) % 3], a.corners[(i + 2) % 3]].map(|p| project(p, a.plane));
    let side = |p: DVec3| sign(robust::orient2d(edge[0], edge[1], project(p, a.plane)));
    side(apex(a, shared_a)) == side(apex_b)
}

fn edges_of(&[a, b, c]: &[DVec3; 3]) -> [[DVec3; 2]; 3] {
    [[a, b], [b, c], [c, a]]
}

fn project(p: DVec3, plane: [usize; 2]) -> Coord<f64> {
    Coord { x: p[plane[0]], y: p[plane[1]] }
}

/// The exact sign of the volume of four points: positive where the last lies behind the triangle of the others.
pub fn orientation(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> i32 {
    let of = |p: DVec3| Coord3D { x: p.x, y: p.y, z: p.z };
    sign(robust::orient3d(of(a), of(b), of(c), of(d)))
}

fn sign(value: f64) -> i32 {
    i32::from(value > 0.0) - i32::from(value < 0.0)
}

fn inside([a, b, c]: [Coord<f64>; 3], p: Coord<f64>) -> bool {
    let turns = [robust::orient2d(a, b, p), robust::orient2d(b, c, p), robust::orient2d(c, a, p)];
    turns.iter().all(|&t| t >= 0.0) || turns.iter().all(|&t| t <= 0.0)
}

/// True where two closed segments of a plane have a point in common.
fn segments_meet([a, b]: [Coord<f64>; 2], [p, q]: [Coord<f64>; 2]) -> bool {
    let turn = |a, b, c| sign(robust::orient2d(a, b, c));
    let (abp, abq, pqa, pqb) = (turn(a, b, p), turn(a, b, q), turn(p, q, a), turn(p, q, b));
    if abp * abq < 0 && pqa * pqb < 0 {
        return true;
    }
    (abp == 0 && in_box(a, b, p))
        || (abq == 0 && in_box(a, b, q))
        || (pqa == 0 && in_box(p, q, a))
        || (pqb == 0 && in_box(p, q, b))
}

/// For a point on the line through `a` and `b`: whether it lies between them.
fn in_box(a: Coord<f64>, b: Coord<f64>, p: Coord<f64>) -> bool {
    let between = |a: f64, b: f64, p: f64| a.min(b) <= p && p <= a.max(b);
    between(a.x, b.x, p.x) && between(a.y, b.y, p.y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DISJOINT: ([u32; 3], [u32; 3]) = ([0, 1, 2], [3, 4, 5]);

    fn v(x: f64, y: f64, z: f64) -> DVec3 {
        DVec3::new(x, y, z)
    }

    fn coarse_points() -> impl Strategy<Value = Vec<DVec3>> {
        // Small integers: coplanar, touching and degenerate cases are frequent.
        let point = [-3i32..4, -3i32..4, -3i32..4].prop_map(|[x, y, z]| v(x.into(), y.into(), z.into()));
        prop::collection::vec(point, 6)
    }

    fn fine_points() -> impl Strategy<Value = Vec<DVec3>> {
        let point = [-1.0..1.0f64, -1.0..1.0f64, -1.0..1.0f64].prop_map(DVec3::from_array);
        prop::collection::vec(point, 6)
    }

    /// Distance of two triangles by alternating projections onto both convex sets: an independent method.
    fn distance(p: &[DVec3], a: [u32; 3], b: [u32; 3]) -> f64 {
        let corners = |t: [u32; 3]| t.map(|v| p[v as usize]);
        let mut at = p[a[0] as usize];
        let mut gap = f64::INFINITY;
        for _ in 0..2000 {
            let on_b = super::super::triangle::closest_point(&corners(b), at).point;
            let on_a = super::super::triangle::closest_point(&corners(a), on_b).point;
            gap = on_a.distance(on_b);
            if at == on_a {
                break;
            }
            at = on_a;
        }
        gap
    }

    proptest! {
        #[test]
        fn the_answer_does_not_depend_on_the_order_of_triangles_or_corners(p in coarse_points(), share in 0usize..3) {
            let second = match share { 0 => [3, 4, 5], 1 => [2, 4, 5], _ => [1, 2, 5] };
            let expected = triangles_overlap(&p, [0, 1, 2], second);
            for a in [[0, 1, 2], [1, 2, 0], [2, 1, 0]] {
                let [x, y, z] = second;
                for b in [[x, y, z], [z, x, y], [x, z, y]] {
                    prop_assert_eq!(triangles_overlap(&p, a, b), expected);
                    prop_assert_eq!(triangles_overlap(&p, b, a), expected);
                }
            }
        }

        #[test]
        fn triangles_overlap_where_their_distance_vanishes(p in fine_points()) {
            let gap = distance(&p, DISJOINT.0, DISJOINT.1);
            // Alternating projections converge slowly at touching; between the bounds nothing is asserted.
            if triangles_overlap(&p, DISJOINT.0, DISJOINT.1) {
                prop_assert!(gap < 1e-2, "overlap reported at distance {gap}");
            } else {
                prop_assert!(gap > 1e-9, "no overlap reported at distance {gap}");
            }
        }

        #[test]
        fn overlap_on_the_integer_grid_agrees_with_scaled_copies(p in coarse_points(), k in 1u32..40) {
            // Powers of two scale without rounding, so exact predicates must not change their result.
            let scaled: Vec<DVec3> = p.iter().map(|&p| p * f64::from(k).exp2().recip()).collect();
            prop_assert_eq!(triangles_overlap(&p, DISJOINT.0, DISJOINT.1), triangles_overlap(&scaled, DISJOINT.0, DISJOINT.1));
        }
    }

    #[test]
    fn neighbours_that_only_touch_do_not_overlap() {
        let p =
            [v(0., 0., 0.), v(1., 0., 0.), v(0., 1., 0.), v(1., 1., 0.), v(-1., -1., 0.), v(-1., 0., 0.3)];
        assert!(!triangles_overlap(&p, [0, 1, 2], [2, 1, 3]), "flat quad");
        assert!(!triangles_overlap(&p, [0, 1, 2], [0, 4, 5]), "one common vertex");
    }

    #[test]
    fn a_flat_fold_over_a_shared_edge_is_an_overlap_and_a_sharp_one_is_not() {
        let p = [v(0., 0., 0.), v(1., 0., 0.), v(0., 1., 0.), v(0.2, 0.3, 0.), v(0.2, 0.3, 1e-300)];
        assert!(triangles_overlap(&p, [0, 1, 2], [1, 0, 3]));
        assert!(!triangles_overlap(&p, [0, 1, 2], [1, 0, 4]));
        assert!(triangles_overlap(&p, [0, 1, 2], [2, 1, 0]), "the same triangle turned");
    }

    #[test]
    fn a_vertex_poking_through_a_neighbour_that_shares_one_vertex_is_an_overlap() {
        let p =
            [v(0., 0., 0.), v(2., 0., 0.), v(0., 2., 0.), v(0.5, 0.5, 1.), v(0.5, 0.5, -1.), v(3., 3., -1.)];
        assert!(triangles_overlap(&p, [0, 1, 2], [0, 3, 4]), "the opposite edge passes through");
        let flat = [v(0., 0., 0.), v(2., 0., 0.), v(0., 2., 0.), v(1., 0.5, 0.), v(0.5, 1., 0.)];
        assert!(triangles_overlap(&flat, [0, 1, 2], [0, 3, 4]), "coplanar sectors");
    }

    #[test]
    fn coplanar_triangles_one_inside_the_other_overlap() {
        let p = [v(0., 0., 1.), v(4., 0., 1.), v(0., 4., 1.), v(1., 1., 1.), v(1.5, 1., 1.), v(1., 1.5, 1.)];
        assert!(triangles_overlap(&p, DISJOINT.0, DISJOINT.1));
        let away: Vec<DVec3> =
            p.iter().enumerate().map(|(i, &p)| if i < 3 { p } else { p + 5.0 * DVec3::X }).collect();
        assert!(!triangles_overlap(&away, DISJOINT.0, DISJOINT.1));
    }

    #[test]
    fn the_last_bit_decides() {
        let touching = 0.1f64;
        let base = [v(0., 0., touching), v(1., 0., touching), v(0., 1., touching)];
        let apex = |z: f64| [base[0], base[1], base[2], v(0.25, 0.25, z), v(0.3, 0.3, 1.), v(0.3, 0.2, 1.)];
        assert!(triangles_overlap(&apex(touching), DISJOINT.0, DISJOINT.1));
        assert!(!triangles_overlap(&apex(touching.next_up()), DISJOINT.0, DISJOINT.1));
    }

    #[test]
    fn triangles_without_area_overlap_nothing() {
        let p =
            [v(0., 0., 0.), v(1., 0., 0.), v(0., 1., 0.), v(0.2, 0.2, -1.), v(0.2, 0.2, 0.), v(0.2, 0.2, 1.)];
        assert!(!triangles_overlap(&p, DISJOINT.0, DISJOINT.1));
        assert!(!triangles_overlap(&p, DISJOINT.0, [3, 3, 5]));
    }
}
