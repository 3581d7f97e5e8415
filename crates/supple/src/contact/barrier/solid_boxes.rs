//! Boxes around runs of vertices and triangles, so that those far from a sphere, capsule or plane are not tested one by one.

use glam::DVec3;

use crate::contact::Surfaces;
use crate::contact::collider::obstacles::Solid;
use supple_core::Aabb;

/// Vertices or triangles in a box: neighbours in a mesh often follow each other.
const RUN: usize = 32;

/// The boxes of all runs on a displacement.
#[derive(Debug, Default)]
pub(super) struct SolidBoxes {
    vertices: Vec<Aabb>,
    triangles: Vec<Aabb>,
}

impl SolidBoxes {
    /// Around the displacement of the bodies' points between two positions.
    pub(super) fn fill(&mut self, surfaces: &Surfaces, [from, to]: [&[DVec3]; 2]) {
        let bodies = surfaces.body_points();
        let runs = from[..bodies].chunks(RUN).zip(to[..bodies].chunks(RUN));
        self.vertices.clear();
        self.vertices.extend(runs.map(|(from, to)| Aabb::of_points(from).union(Aabb::of_points(to))));
        self.triangles.clear();
        self.triangles.extend(surfaces.body_triangles().chunks(RUN).map(|run| {
            run.as_flattened().iter().fold(Aabb::EMPTY, |bounds, &p| {
                let [a, b] = [from[p as usize], to[p as usize]];
                bounds.union(Aabb { low: a.min(b), high: a.max(b) })
            })
        }));
    }

    /// Whether a vertex may come within `reach` metres of a solid that goes from one place to another.
    pub(super) fn vertex_may_meet(&self, vertex: usize, way: [&Solid; 2], reach: f64) -> bool {
        may_meet(&self.vertices[vertex / RUN], way, reach)
    }

    /// The same of a triangle.
    pub(super) fn triangle_may_meet(&self, triangle: usize, way: [&Solid; 2], reach: f64) -> bool {
        may_meet(&self.triangles[triangle / RUN], way, reach)
    }
}

fn may_meet(bounds: &Aabb, way: [&Solid; 2], reach: f64) -> bool {
    // What is not finite is never far away.
    match way {
        [Solid::Round { from, to, radius }, Solid::Round { from: a, to: b, radius: r }] => {
            let axis = Aabb::of_points(&[*from, *to, *a, *b]);
            let far = radius.max(*r) + reach;
            let gap = bounds.gap_squared(&axis);
            gap.is_nan() || gap <= far * far
        }
        [Solid::HalfSpace { point, normal }, Solid::HalfSpace { point: p, normal: n }] if normal == n => {
            let lowest = DVec3::select(normal.cmpgt(DVec3::ZERO), bounds.low, bounds.high);
            let height = normal.dot(lowest - *point).min(normal.dot(lowest - *p));
            height.is_nan() || height <= reach
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector() -> impl Strategy<Value = DVec3> {
        prop::array::uniform3(-1.0..1.0f64).prop_map(DVec3::from)
    }

    proptest! {
        #[test]
        fn what_comes_near_on_the_way_is_never_left_out(
            (from, to) in (vector(), vector()),
            (a, b, c, d) in (vector(), vector(), vector(), vector()),
            (radius, reach, part) in (0.0..0.5f64, 0.0..0.5f64, 0.0..1.0f64),
        ) {
            let surfaces = Surfaces::of_one(vec![from], vec![[0, 0, 0]]);
            let mut boxes = SolidBoxes::default();
            boxes.fill(&surfaces, [&[from], &[to]]);
            let normal = (b - a).normalize_or(DVec3::Y);
            let ways = [
                [Solid::Round { from: a, to: b, radius }, Solid::Round { from: c, to: d, radius }],
                [Solid::HalfSpace { point: a, normal }, Solid::HalfSpace { point: c, normal }],
            ];
            for [start, stop] in ways {
                let distance = start.towards(stop, part).to_vertex(from.lerp(to, part)).distance;
                if distance < reach {
                    prop_assert!(boxes.vertex_may_meet(0, [&start, &stop], reach));
                    prop_assert!(boxes.triangle_may_meet(0, [&start, &stop], reach));
                }
            }
        }
    }
}
