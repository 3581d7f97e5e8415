//! Distances between the primitives of eight triangles and those of others, in single precision. They cull pairs before the
//! exact test: they are slightly too small rather than too large.

use supple_core::simd::{F32x8, SingleVec3};

/// No division by squares below this: a triangle without area, an edge without length.
const TINY: f32 = 1e-30;
/// The amount subtracted by [`surely`], as a fraction of a distance and of the edges' lengths. Closest points of two edges at the angle `φ` have
/// a relative error of `ε / sin²φ` in single precision, their distance one of `ε / sin φ`; below `sin²φ = ε` the ends of the edges are as
/// near as their interiors up to `√ε` of a length. So errors stay below a small multiple of `√ε = 2.4e-4`.
const ERROR: f32 = 1e-3;

/// Eight triangles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaneTriangles {
    pub(crate) corners: [SingleVec3; 3],
    /// From corner `i` to the next.
    edges: [SingleVec3; 3],
    /// One over the squared lengths of the edges.
    over: [F32x8; 3],
    pub(crate) low: SingleVec3,
    pub(crate) high: SingleVec3,
}

impl LaneTriangles {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn new(corners: [SingleVec3; 3]) -> Self {
        let [a, b, c] = corners;
        let edges = [b - a, c - b, a - c];
        let over = [one_over_square(edges[0]), one_over_square(edges[1]), one_over_square(edges[2])];
        Self { corners, edges, over, low: a.min(b).min(c), high: a.max(b).max(c) }
    }

    /// One of the triangles in all lanes, moved by `shift`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn one(&self, i: usize, shift: SingleVec3) -> Self {
        let Self { corners: [a, b, c], edges: [e, f, g], over: [x, y, z], low, high } = self;
        Self {
            corners: [a.splat_of(i) + shift, b.splat_of(i) + shift, c.splat_of(i) + shift],
            edges: [e.splat_of(i), f.splat_of(i), g.splat_of(i)],
            over: [F32x8::splat(x.0[i]), F32x8::splat(y.0[i]), F32x8::splat(z.0[i])],
            low: low.splat_of(i) + shift,
            high: high.splat_of(i) + shift,
        }
    }

    /// The box around an edge.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn edge_box(&self, i: usize) -> [SingleVec3; 2] {
        let (a, b) = (self.corners[i], self.corners[(i + 1) % 3]);
        [a.min(b), a.max(b)]
    }

    /// Squared distances from points.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn to_point(self, point: SingleVec3) -> F32x8 {
        let Self { corners: [a, b, c], edges: [e, f, g], over: [x, y, z], .. } = self;
        let rim =
            end_to_edge(point, a, e, x).min(end_to_edge(point, b, f, y)).min(end_to_edge(point, c, g, z));
        let normal = e.cross(f);
        let sides = [e.cross(point - a), f.cross(point - b), g.cross(point - c)];
        let inside = sides[0].dot(normal).min(sides[1].dot(normal)).min(sides[2].dot(normal));
        let height = (point - a).dot(normal);
        let flat = height * height / normal.dot(normal).max(F32x8::splat(TINY));
        inside.less(F32x8::ZERO, rim, flat.min(rim))
    }

    /// Squared distances between edge `i` and edge `j` of others.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn edge_to_edge(&self, i: usize, other: &Self, j: usize) -> F32x8 {
        let (a, first, over_first) = (self.corners[i], self.edges[i], self.over[i]);
        let (c, second, over_second) = (other.corners[j], other.edges[j], other.over[j]);
        let between = a - c;
        let (ff, ss, fs) = (first.dot(first), second.dot(second), first.dot(second));
        let (fb, sb) = (first.dot(between), second.dot(between));
        let over = F32x8::splat(1.0) / (ff * ss - fs * fs).max(F32x8::splat(TINY));
        let (s, t) = (((fs * sb - ss * fb) * over).saturate(), ((ff * sb - fs * fb) * over).saturate());
        let off = between + first * s - second * t;
        let b = self.corners[(i + 1) % 3];
        let d = other.corners[(j + 1) % 3];
        let of_first = end_to_edge(a, c, second, over_second).min(end_to_edge(b, c, second, over_second));
        let of_second = end_to_edge(c, a, first, over_first).min(end_to_edge(d, a, first, over_first));
        off.dot(off).min(of_first).min(of_second)
    }

    /// The longest edge of the first `count` triangles.
    pub(crate) fn longest_edge(&self, count: usize) -> f32 {
        let squares = self.edges.iter().map(|edge| edge.dot(*edge));
        squares.flat_map(|square| square.0.into_iter().take(count)).fold(0.0, f32::max).sqrt()
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn one_over_square(edge: SingleVec3) -> F32x8 {
    F32x8::splat(1.0) / edge.dot(edge).max(F32x8::splat(TINY))
}

/// Squared distances of points from edges.
#[cfg_attr(not(debug_assertions), inline(always))]
fn end_to_edge(end: SingleVec3, from: SingleVec3, edge: SingleVec3, over: F32x8) -> F32x8 {
    let away = end - from;
    let off = away - edge * (away.dot(edge) * over).saturate();
    off.dot(off)
}

/// Squared distances between boxes; 0 where they share a point.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn gap_squared([low, high]: [SingleVec3; 2], [from, to]: [SingleVec3; 2]) -> F32x8 {
    let apart = (low - to).max(from - high).max(SingleVec3::ZERO);
    apart.dot(apart)
}

/// A distance in metres that is not too large, from a squared one between primitives with edges of at most `edges` metres in total and
/// coordinates of at most `size` metres.
pub(crate) fn surely(squared: f32, edges: f32, size: f32) -> f64 {
    let distance = (1.0 - ERROR) * squared.sqrt() - ERROR * edges - 8.0 * f32::EPSILON * size;
    f64::from(distance.max(0.0))
}

/// The largest squared distance for which [`surely`] may return a distance in metres.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn at_most(distance: F32x8, edges: f32, size: f32) -> F32x8 {
    let more = F32x8::splat((1.0 + 2.0 * ERROR) * (2.0 * ERROR * edges + 16.0 * f32::EPSILON * size));
    let distance = distance * F32x8::splat(1.0 + 2.0 * ERROR) + more;
    distance * distance
}

#[cfg(test)]
mod tests {
    use glam::DVec3;
    use proptest::prelude::*;

    use super::*;
    use crate::contact::distance::closest_points::PrimitivePair;
    use crate::contact::tests::vector;
    use supple_core::simd::WIDTH;

    fn lanes(triangles: &[[DVec3; 3]; WIDTH]) -> LaneTriangles {
        let mut corners = [SingleVec3::ZERO; 3];
        for (i, triangle) in triangles.iter().enumerate() {
            (0..3).for_each(|k| corners[k].set(i, triangle[k].as_vec3().to_array()));
        }
        LaneTriangles::new(corners)
    }

    /// Triangles of all kinds: ordinary ones, slivers, edges almost parallel to those of the first.
    fn triangles() -> impl Strategy<Value = [[DVec3; 3]; WIDTH]> {
        let ordinary = prop::array::uniform3(vector(1.0));
        let all = prop::array::uniform8(ordinary);
        (all, prop::array::uniform8(-7.0..0.0f64), vector(1.0)).prop_map(|(mut all, powers, shift)| {
            let [a, b, _] = all[0];
            for (k, power) in powers.into_iter().enumerate().skip(1).step_by(2) {
                let off = 10f64.powf(power);
                let aside = all[k].map(|p| off * p);
                all[k] = [a + shift + aside[0], b + shift + aside[1], a + shift + aside[2]];
            }
            all
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn distances_are_never_overestimated_and_hardly_underestimated(all in triangles()) {
            let own = lanes(&all);
            let one = own.one(0, SingleVec3::ZERO);
            let check = |kind: PrimitivePair, points: [DVec3; 4], squared: f32| {
                let (exact, bound) = (kind.distance(&points), surely(squared, 8.0, 4.0));
                prop_assert!(bound <= exact, "{kind:?} {points:?}: {bound} {exact}");
                // A triangle without a plane may be reported too near.
                let [_, a, b, c] = points;
                let area = (b - a).cross(c - a).length();
                if kind == PrimitivePair::EdgeEdge || area > 1e-3 {
                    prop_assert!(bound >= exact * 0.99 - 0.03, "{kind:?} {points:?}: {bound} {exact}");
                }
                let bound = at_most(F32x8::splat(exact as f32), 8.0, 4.0).0[0];
                prop_assert!(squared <= bound, "{kind:?} {points:?}: {squared} {bound}");
                Ok(())
            };
            for k in 0..3 {
                let (to_others, to_one) = (own.to_point(one.corners[k]), one.to_point(own.corners[k]));
                for (l, t) in all.iter().enumerate().skip(1) {
                    check(PrimitivePair::VertexTriangle, [all[0][k], t[0], t[1], t[2]], to_others.0[l])?;
                    check(PrimitivePair::VertexTriangle, [t[k], all[0][0], all[0][1], all[0][2]], to_one.0[l])?;
                }
                for j in 0..3 {
                    let between = one.edge_to_edge(k, &own, j);
                    for (l, t) in all.iter().enumerate().skip(1) {
                        let points = [all[0][k], all[0][(k + 1) % 3], t[j], t[(j + 1) % 3]];
                        check(PrimitivePair::EdgeEdge, points, between.0[l])?;
                    }
                }
            }
        }

        #[test]
        fn boxes_are_no_farther_apart_than_what_is_in_them(all in triangles()) {
            let own = lanes(&all);
            let one = own.one(0, SingleVec3::ZERO);
            let gap = gap_squared([own.low, own.high], [one.low, one.high]);
            for (l, t) in all.iter().enumerate().skip(1) {
                for vertex in all[0] {
                    let exact = PrimitivePair::VertexTriangle.distance(&[vertex, t[0], t[1], t[2]]);
                    prop_assert!(f64::from(gap.0[l].sqrt()) <= exact + 1e-5);
                }
            }
        }
    }
}
