//! How far a displacement goes before anything meets.

use glam::DVec3;

use super::near_solids::NearSolids;
use super::{ContactProperties, ContactSystem, Detection, place};
use crate::body::Embedding;
use crate::contact::Candidates;
use crate::contact::broad_phase::candidates::Collision;
use crate::contact::ccd::time_of_impact::additive_advance;
use crate::contact::collider::obstacles::Solid;
use supple_core::Aabb;
use supple_core::parallel::{self, CHUNK, Found};

impl ContactSystem {
    /// The collision-free fraction of the straight displacement from one state to another, up to rounding.
    pub fn collision_free_step(&self, from: &[DVec3], to: &[DVec3]) -> f64 {
        if self.is_empty() {
            return 1.0;
        }
        let points = &self.properties.points;
        let mut found = self.lock();
        let Detection { candidates, from: at, to: end, near_ways, .. } = &mut *found;
        place(points, from, &self.driven, at);
        place(points, to, &self.driven, end);
        let bounded = bound_displacement(at, end, self.properties.surfaces.body_points());
        bounded * self.free_displacement((candidates, near_ways), [at, end], [self.pose; 2], 0.0)
    }

    /// Calls `visit` with the unknowns of every pair that would meet on the straight displacement between two states, and with the
    /// collision-free fraction of it; `false` if the displacement is not finite or leaves the scene.
    pub fn collisions(&self, [from, to]: [&[DVec3]; 2], visit: &mut dyn FnMut(&[u32], f64)) -> bool {
        if self.is_empty() {
            return true;
        }
        let points = &self.properties.points;
        let mut found = self.lock();
        let Detection {
            candidates,
            from: at,
            to: end,
            collisions,
            solid_collisions,
            vertices,
            near_ways,
            ..
        } = &mut *found;
        place(points, from, &self.driven, at);
        place(points, to, &self.driven, end);
        let bodies = self.properties.surfaces.body_points();
        if !end[..bodies].iter().all(|p| p.is_finite()) || bound_displacement(at, end, bodies) < 1.0 {
            return false;
        }
        candidates.collisions(&self.properties.surfaces, self.widest(), [at, end], collisions);
        self.find_solid_collisions([at, end], near_ways, solid_collisions);
        for Collision { points: of, free } in collisions.iter().chain(solid_collisions.iter()) {
            distinct_unknowns(points, of, vertices);
            visit(vertices, *free);
        }
        true
    }

    /// Finds the vertices and triangles that meet a sphere, capsule or plane where it is now.
    fn find_solid_collisions(
        &self,
        way: [&[DVec3]; 2],
        near: &mut NearSolids,
        collisions: &mut Found<Collision>,
    ) {
        let surfaces = &self.properties.surfaces;
        let still = self.solids.iter().map(|(_, solid)| [*solid; 2]);
        near.update(surfaces, still, way, self.widest());
        let (near, triangles) = (&*near, surfaces.body_triangles());
        let [of_vertices, of_triangles] = near.chunks();
        collisions.fill_chunks(of_vertices + of_triangles, |chunk, list| {
            let listed = match chunk.checked_sub(of_vertices) {
                None => near.vertices(chunk),
                Some(chunk) => near.triangles(chunk),
            };
            list.extend(listed.iter().filter_map(|&[i, k]| {
                let (index, solid) = self.solids[k as usize];
                let still = SolidWay { start: solid, stop: solid, slack: 0.0 };
                let (free, points) = if chunk < of_vertices {
                    (self.free_vertex(i as usize, index as usize, &still, way, 1.0), [i; 4])
                } else {
                    let [a, b, c] = triangles[i as usize];
                    (self.free_triangle([a, b, c], index as usize, &still, way, 1.0), [a, b, c, a])
                };
                (free < 1.0).then_some(Collision { points, free })
            }));
        });
    }

    /// The collision-free fraction of a vertex' displacement, up to `until`.
    fn free_vertex(
        &self,
        p: usize,
        index: usize,
        way: &SolidWay,
        [at, end]: [&[DVec3]; 2],
        until: f64,
    ) -> f64 {
        let surfaces = &self.properties.surfaces;
        if surfaces.stands_for[p] != p as u32 || !self.meets(p as u32, index) {
            return until;
        }
        let reach = surfaces.collider_reach(surfaces.body(p as u32), index);
        way.free_vertex([at[p], end[p]], reach, until)
    }

    /// The same of a triangle; that of its vertices is enough for a plane.
    fn free_triangle(
        &self,
        t: [u32; 3],
        index: usize,
        way: &SolidWay,
        [at, end]: [&[DVec3]; 2],
        until: f64,
    ) -> f64 {
        if !matches!(way.start, Solid::Round { .. }) || !self.meets_triangle(t, index) {
            return until;
        }
        let surfaces = &self.properties.surfaces;
        let reach = surfaces.collider_reach(surfaces.body(t[0]), index);
        let [from, to] = [at, end].map(|x| t.map(|p| x[p as usize]));
        way.free_triangle([from, to], reach, until)
    }

    /// Calls `visit` with the unknowns that each contact couples at `x`.
    pub fn contact_links(&self, x: &[DVec3], visit: &mut dyn FnMut(&[u32])) {
        if self.is_empty() {
            return;
        }
        let mut found = self.normal_contacts(x);
        let mut vertices = std::mem::take(&mut found.vertices);
        for contact in found.contacts() {
            distinct_unknowns(&self.properties.points, &contact.points, &mut vertices);
            visit(&vertices);
        }
        found.vertices = vertices;
    }

    /// The collision-free fraction of a displacement of all points, and of the colliders between two fractions of the step.
    pub(super) fn free_displacement(
        &self,
        (candidates, near): (&mut Candidates, &mut NearSolids),
        [at, end]: [&[DVec3]; 2],
        poses: [f64; 2],
        slack: f64,
    ) -> f64 {
        let ContactProperties { surfaces, .. } = &self.properties;
        let free = candidates.collision_free_step(surfaces, self.widest(), [at, end], slack);
        free.min(self.free_of_solids([at, end], near, poses, slack, free))
    }

    /// The largest activation distance.
    pub(super) fn widest(&self) -> f64 {
        self.properties.surfaces.largest_reach(self.properties.thickness)
    }

    /// The fraction of a displacement, up to `until`, before a vertex or triangle meets a sphere, capsule or plane.
    fn free_of_solids(
        &self,
        [at, end]: [&[DVec3]; 2],
        near: &mut NearSolids,
        poses: [f64; 2],
        slack: f64,
        until: f64,
    ) -> f64 {
        let surfaces = &self.properties.surfaces;
        let bodies = surfaces.body_points();
        let way = |&(index, solid): &(u32, Solid)| {
            let pose =
                |driven: &[DVec3], pose| self.obstacles.solid(index as usize, driven, pose).unwrap_or(solid);
            [pose(&at[bodies..], poses[0]), pose(&end[bodies..], poses[1])]
        };
        near.update(surfaces, self.solids.iter().map(way), [at, end], self.widest() + slack);
        let near = &*near;
        let mut least = until;
        for (k, entry) in self.solids.iter().enumerate() {
            let ([start, stop], index) = (way(entry), entry.0 as usize);
            let way = SolidWay { start, stop, slack };
            let of_solid = |listed: &[[u32; 2]], until: f64, free: &dyn Fn(usize, f64) -> f64| {
                let own = listed.iter().filter(|[_, solid]| *solid == k as u32);
                own.fold(until, |until, &[i, _]| free(i as usize, until))
            };
            let free_vertex = |p: usize, until: f64| self.free_vertex(p, index, &way, [at, end], until);
            let of_vertices = |range: std::ops::Range<usize>| {
                of_solid(near.vertices(range.start / CHUNK), least, &free_vertex)
            };
            let free = parallel::fold(bodies, CHUNK, least, of_vertices, f64::min);
            let triangles = surfaces.body_triangles();
            let free_triangle =
                |t: usize, until: f64| self.free_triangle(triangles[t], index, &way, [at, end], until);
            let of_triangles = |range: std::ops::Range<usize>| {
                of_solid(near.triangles(range.start / CHUNK), free, &free_triangle)
            };
            least = match start {
                Solid::Round { .. } => parallel::fold(triangles.len(), CHUNK, free, of_triangles, f64::min),
                Solid::HalfSpace { .. } => free,
            };
        }
        least
    }

    /// Whether a point of a body meets a sphere, capsule or plane: it belongs to a triangle, its body does not ignore it, and it is not
    /// released.
    pub(super) fn meets(&self, point: u32, collider: usize) -> bool {
        let surfaces = &self.properties.surfaces;
        self.properties.stiffness[point as usize] > 0.0
            && surfaces.touches_collider(surfaces.body(point), collider)
            && !self.released.has_point(collider as u32, point)
    }

    /// Whether a triangle of a body meets a sphere or capsule.
    pub(super) fn meets_triangle(&self, triangle: [u32; 3], collider: usize) -> bool {
        let surfaces = &self.properties.surfaces;
        surfaces.touches_collider(surfaces.body(triangle[0]), collider)
            && !self.released.has_triangle(collider as u32, triangle)
    }
}

/// A sphere, capsule or plane on a straight way between two positions, from which it departs by no more than half of `slack` metres.
struct SolidWay {
    start: Solid,
    stop: Solid,
    slack: f64,
}

impl SolidWay {
    /// The fraction up to `until` of a vertex' way that is free.
    fn free_vertex(&self, [from, to]: [DVec3; 2], reach: f64, until: f64) -> f64 {
        let (approach, slack) = match (self.start, self.stop) {
            (Solid::HalfSpace { point, normal }, Solid::HalfSpace { point: p, normal: n }) => {
                // A plane that turns sweeps faster, and along a more bent way, the farther one is from its control points.
                let (turn, arm) = ((n - normal).length(), (from - point).length().max((to - p).length()));
                let slack = self.slack + 0.25 * turn * turn * arm;
                ((to - from - (p - point)).length() + turn * arm, if turn > 0.0 { slack } else { self.slack })
            }
            _ => {
                let common = 0.5 * (to - from);
                ((to - from - common).length() + self.start.moved_to(self.stop, common), self.slack)
            }
        };
        let distance =
            |part: f64| self.start.towards(self.stop, part).to_vertex(from.lerp(to, part)).distance - slack;
        additive_advance(distance, approach, reach, until)
    }

    /// The same of a triangle.
    fn free_triangle(&self, [from, to]: [[DVec3; 3]; 2], reach: f64, until: f64) -> f64 {
        let ways: [DVec3; 3] = std::array::from_fn(|i| to[i] - from[i]);
        let common = 0.5 * (ways[0] + ways[1] + ways[2]) / 3.0;
        let farthest = ways.iter().map(|way| (*way - common).length_squared()).fold(0.0, f64::max).sqrt();
        let approach = farthest + self.start.moved_to(self.stop, common);
        if let Solid::Round { from: a, to: b, radius } = self.start {
            let around = Aabb::of_points(&from);
            let axis = Aabb { low: a.min(b), high: a.max(b) };
            let far = radius + reach + approach * until + self.slack;
            if around.gap_squared(&axis) > far * far {
                return until;
            }
        }
        let distance = |part: f64| {
            let corners: [DVec3; 3] = std::array::from_fn(|i| from[i].lerp(to[i], part));
            self.start.towards(self.stop, part).to_triangle(&corners).distance - self.slack
        };
        additive_advance(distance, approach, reach, until)
    }
}

/// The unknowns that move some points, each once.
fn distinct_unknowns(embedding: &Embedding, points: &[u32], unknowns: &mut Vec<u32>) {
    unknowns.clear();
    for (v, _) in points.iter().flat_map(|p| embedding.weights(*p as usize)) {
        if !unknowns.contains(v) {
            unknowns.push(*v);
        }
    }
}

/// Shortens a displacement on which a point would depart from the mean motion by more than the extent of the scene, as
/// diverging methods attempt: all pairs would have to be tested. Returns the remaining fraction.
fn bound_displacement(from: &[DVec3], to: &mut [DVec3], count: usize) -> f64 {
    let box_of = |range: std::ops::Range<usize>| Aabb::of_points(&from[range]);
    let bounds = parallel::fold(count, CHUNK, Aabb::EMPTY, box_of, Aabb::union);
    let widest = (bounds.high - bounds.low).length();
    let sum = |range: std::ops::Range<usize>| range.map(|i| to[i] - from[i]).sum::<DVec3>();
    let mean = parallel::fold(count, CHUNK, DVec3::ZERO, sum, |a, b| a + b) / count.max(1) as f64;
    let far = |range: std::ops::Range<usize>| {
        range.map(|i| (to[i] - from[i] - mean).length_squared()).fold(0.0, f64::max)
    };
    let farthest = parallel::fold(count, CHUNK, 0.0, far, f64::max).sqrt();
    if farthest.is_nan() || farthest <= widest {
        return 1.0;
    }
    let left = widest / farthest;
    to[..count].iter_mut().zip(from).for_each(|(to, from)| *to = *from + left * (*to - *from));
    left
}
