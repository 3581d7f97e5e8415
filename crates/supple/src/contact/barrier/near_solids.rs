//! The vertices and triangles near spheres, capsules and planes, listed once and kept while nothing has moved far: a step evaluates contact
//! hundreds of times at places that are millimetres apart.
//!
//! With the positions `y` at which the lists were made, and `m` the farthest that a point or solid is from there on a displacement, everything
//! that comes within `r` on it was within `r + m` then. So lists of what is within `w` hold as long as `r + m <= w`. What is listed beyond that
//! changes no result, only what is tested.

use glam::DVec3;

use crate::contact::Surfaces;
use crate::contact::collider::obstacles::Solid;
use supple_core::Aabb;
use supple_core::parallel::{self, CHUNK, Found};

/// Vertices or triangles in a box: neighbours in a mesh often follow each other.
const RUN: usize = 32;
/// How far beyond what is asked for lists reach, at least and at most, in multiples of the activation distance.
const MARGIN: [f64; 2] = [8.0, 64.0];
/// Lists that reach farther than this multiple of what new ones would are rebuilt, since they are longer than needed.
const TOO_WIDE: f64 = 4.0;

/// Lists of what is near each solid.
#[derive(Debug, Default)]
pub(super) struct NearSolids {
    /// Where the points of bodies and the solids were.
    at: Vec<DVec3>,
    solids: Vec<Solid>,
    /// What was nearer than this distance in metres is listed.
    within: f64,
    /// Vertex or triangle, and index of the solid, both ascending; by chunks of vertices and of triangles.
    vertices: Found<[u32; 2]>,
    triangles: Found<[u32; 2]>,
    runs: Runs,
}

/// Boxes around runs of vertices and triangles.
#[derive(Debug, Default)]
struct Runs {
    vertices: Vec<Aabb>,
    triangles: Vec<Aabb>,
}

impl NearSolids {
    /// Makes sure that everything is listed that comes within `reach` metres of a solid while points go from one place to another and
    /// solids from one to another, along straight ways.
    pub(super) fn update(
        &mut self,
        surfaces: &Surfaces,
        ways: impl ExactSizeIterator<Item = [Solid; 2]> + Clone,
        [from, to]: [&[DVec3]; 2],
        reach: f64,
    ) {
        let bodies = surfaces.body_points();
        let (from, to) = (&from[..bodies], &to[..bodies]);
        if self.at.len() == bodies && self.solids.len() == ways.len() {
            let solids = self.solids.iter().zip(ways.clone());
            let moved = solids.map(|(solid, way)| farthest_change(*solid, way)).fold(0.0, larger);
            let moved = larger(moved, larger(farthest([&self.at, from]), farthest([&self.at, to])));
            let length = larger(farthest([from, to]), longest(ways.clone()));
            let is_narrow = self.within <= TOO_WIDE * (reach + length + MARGIN[0] * reach);
            if reach + moved <= self.within && is_narrow {
                return;
            }
        }
        let length = larger(farthest([from, to]), longest(ways.clone()));
        // What is not finite is near everything.
        let length = if length.is_nan() { f64::INFINITY } else { length };
        self.within = reach + length + length.clamp(MARGIN[0] * reach, MARGIN[1] * reach);
        self.at.clear();
        self.at.extend_from_slice(from);
        self.solids.clear();
        self.solids.extend(ways.map(|[start, _]| start));
        self.runs.fill(surfaces, from);
        self.find(surfaces);
    }

    fn find(&mut self, surfaces: &Surfaces) {
        let Self { at, solids, within, vertices, triangles, runs } = self;
        let (within, indices) = (*within, || 0..solids.len());
        vertices.look(at.len(), |p, list| {
            let is_near = |k: usize| {
                let distance = || solids[k].to_vertex(at[p]).distance;
                may_meet(&runs.vertices[p / RUN], solids[k], within) && is_within(distance(), within)
            };
            list.extend(indices().filter(|&k| is_near(k)).map(|k| [p as u32, k as u32]));
        });
        let all = surfaces.body_triangles();
        triangles.look(all.len(), |t, list| {
            let corners = all[t].map(|p| at[p as usize]);
            let is_near = |k: usize| {
                may_meet(&runs.triangles[t / RUN], solids[k], within)
                    && may_meet(&Aabb::of_points(&corners), solids[k], within)
            };
            list.extend(indices().filter(|&k| is_near(k)).map(|k| [t as u32, k as u32]));
        });
    }

    /// The numbers of chunks of vertices and of triangles.
    pub(super) fn chunks(&self) -> [usize; 2] {
        [self.vertices.chunks(), self.triangles.chunks()]
    }

    /// What is listed of a chunk of [`CHUNK`] vertices.
    pub(super) fn vertices(&self, chunk: usize) -> &[[u32; 2]] {
        self.vertices.chunk(chunk)
    }

    /// What is listed of a chunk of triangles.
    pub(super) fn triangles(&self, chunk: usize) -> &[[u32; 2]] {
        self.triangles.chunk(chunk)
    }
}

impl Runs {
    fn fill(&mut self, surfaces: &Surfaces, at: &[DVec3]) {
        self.vertices.clear();
        self.vertices.extend(at.chunks(RUN).map(Aabb::of_points));
        self.triangles.clear();
        self.triangles.extend(surfaces.body_triangles().chunks(RUN).map(|run| {
            let points = run.as_flattened().iter().map(|&p| at[p as usize]);
            points.fold(Aabb::EMPTY, |bounds, p| bounds.union(Aabb { low: p, high: p }))
        }));
    }
}

/// The farthest that a point is from its other place; NaN if one is not a number.
fn farthest([a, b]: [&[DVec3]; 2]) -> f64 {
    let of = |range: std::ops::Range<usize>| range.map(|i| a[i].distance_squared(b[i])).fold(0.0, larger);
    parallel::fold(a.len(), CHUNK, 0.0, of, larger).sqrt()
}

/// The larger number; NaN if one is not a number.
fn larger(a: f64, b: f64) -> f64 {
    if a >= b || a.is_nan() { a } else { b }
}

fn longest(ways: impl Iterator<Item = [Solid; 2]>) -> f64 {
    ways.map(|[start, stop]| change(start, stop)).fold(0.0, larger)
}

fn farthest_change(solid: Solid, way: [Solid; 2]) -> f64 {
    larger(change(solid, way[0]), change(solid, way[1]))
}

/// How much the distance of a fixed point to a solid changes at most; infinite where that depends on the point.
fn change(solid: Solid, other: Solid) -> f64 {
    match (solid, other) {
        (Solid::HalfSpace { point, normal }, Solid::HalfSpace { point: p, normal: n }) if normal == n => {
            normal.dot(p - point).abs()
        }
        _ => solid.moved_to(other, DVec3::ZERO),
    }
}

/// Whether something in a box may be within `reach` metres of a solid.
fn may_meet(bounds: &Aabb, solid: Solid, reach: f64) -> bool {
    let gap = match solid {
        Solid::Round { from, to, radius } => {
            bounds.gap_squared(&Aabb::of_points(&[from, to])).sqrt() - radius
        }
        Solid::HalfSpace { point, normal } => {
            let lowest = DVec3::select(normal.cmpgt(DVec3::ZERO), bounds.low, bounds.high);
            normal.dot(lowest - point)
        }
    };
    is_within(gap, reach)
}

/// Whether a distance is at most `reach`, or not a number.
fn is_within(distance: f64, reach: f64) -> bool {
    distance.is_nan() || distance <= reach
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::tests::vector;
    use proptest::prelude::*;

    fn solids(a: DVec3, b: DVec3, radius: f64) -> [Solid; 2] {
        [
            Solid::Round { from: a, to: b, radius },
            Solid::HalfSpace { point: a, normal: (b - a).normalize_or(DVec3::Y) },
        ]
    }

    proptest! {
        /// Many displacements in turn, so that lists made for earlier ones are used: whatever comes near is listed.
        #[test]
        fn what_comes_near_on_the_way_is_never_left_out(
            start in prop::collection::vec(vector(1.0), 6),
            ways in prop::collection::vec((prop::collection::vec(vector(0.05), 6), vector(0.03), vector(0.03)), 1..8),
            (a, b) in (vector(1.0), vector(1.0)),
            (radius, reach, part) in (0.0..0.5f64, 1e-3..0.05f64, 0.0..1.0f64),
            turns in any::<bool>(),
        ) {
            let surfaces = Surfaces::of_one(start.clone(), vec![[0, 1, 2], [3, 4, 5]]);
            let mut near = NearSolids::default();
            let (mut at, mut axis) = (start, [a, b]);
            for (moves, of_a, of_b) in ways {
                let to: Vec<DVec3> = at.iter().zip(&moves).map(|(x, by)| *x + *by).collect();
                let next = [axis[0] + of_a, axis[1] + if turns { of_b } else { of_a }];
                let [begin, end] = [axis, next].map(|[a, b]| solids(a, b, radius));
                let pairs = begin.into_iter().zip(end).map(|(begin, end)| [begin, end]).collect::<Vec<_>>();
                near.update(&surfaces, pairs.iter().copied(), [&at, &to], reach);
                for (k, [begin, end]) in pairs.into_iter().enumerate() {
                    let solid = begin.towards(end, part);
                    let here = |p: usize| at[p].lerp(to[p], part);
                    for p in (0..6).filter(|&p| solid.to_vertex(here(p)).distance < reach) {
                        prop_assert!(near.vertices(0).contains(&[p as u32, k as u32]));
                    }
                    for (t, corners) in [[0, 1, 2], [3, 4, 5]].into_iter().enumerate() {
                        if solid.to_triangle(&corners.map(here)).distance < reach {
                            prop_assert!(near.triangles(0).contains(&[t as u32, k as u32]));
                        }
                    }
                }
                (at, axis) = (to, next);
            }
        }
    }

    #[test]
    fn what_is_far_is_not_listed_and_what_is_not_finite_is() {
        let near_and_far = vec![DVec3::Y * 1.01, DVec3::Y * 3.0, DVec3::X * 3.0];
        let surfaces = Surfaces::of_one(near_and_far.clone(), vec![[0, 1, 2]]);
        let ball = [Solid::Round { from: DVec3::ZERO, to: DVec3::ZERO, radius: 1.0 }; 2];
        let mut near = NearSolids::default();
        near.update(&surfaces, [ball].into_iter(), [&near_and_far; 2], 1e-2);
        assert_eq!(near.vertices(0), [[0, 0]]);
        let broken = vec![DVec3::NAN; 3];
        near.update(&surfaces, [ball].into_iter(), [&near_and_far, &broken], 1e-2);
        assert_eq!(near.vertices(0).len(), 3);
    }
}
