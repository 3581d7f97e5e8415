//! Collisions of surfaces with themselves and each other: particles against triangles, found by a spatial hash of the particles
//! (Müller 2008, section 3, line 7; the constraint is that of Müller 2006, section 4.4).
//!
//! Where a particle is near a triangle when the step begins, `q = Σ bᵢ aᵢ` is the triangle's nearest point and `n` the direction
//! from there to the particle. The constraint keeps them apart on this side,
//!
//! ```text
//! C = n·(p - Σ bᵢ aᵢ) - d >= 0,
//! ```
//!
//! with `d` the thickness, or the distance at the start where that is smaller. Pairs are as near to each other as twice the way that
//! the prediction brings them together and a tenth of an edge more, since constraints move particles too; half of the
//! longest edge at most. So nothing passes through as long as no pair comes together faster. Friction takes back of the slip at
//! most `μ` times what the constraint has pushed. Edges against edges are not looked at.
//!
//! What is near is looked for in a wider circle and remembered (Verlet 1967), until particles have moved against each other by so
//! much that another could have come near. Which pairs a step has, and their order, do not depend on when that was.

use glam::DVec3;
use rayon::prelude::*;

use super::particle_hash::ParticleHash;
use super::positions::{Positions, TASK};
use crate::body::{Body, Elements};
use crate::energy::chunks::Found;
use crate::geometry::triangle::closest_point;
use crate::simulation::Setup;

/// A particle near a triangle.
#[derive(Debug, Clone, Copy)]
struct Pair {
    particle: u32,
    corners: [u32; 3],
    /// The nearest point of the triangle.
    barycentric: DVec3,
    normal: DVec3,
    distance: f64,
    friction: f64,
}

/// How much farther than the prediction says pairs are looked for, over the longest edge.
const SPARE: f64 = 0.1;

/// How much wider the circle is in which triangles look for particles that they remember, over the longest edge.
const SKIN: f64 = 0.25;
/// Particles that are remembered together.
const TOGETHER: usize = 6;

/// Particles that may come near a triangle, in order of their numbers; a triangle with many has several of these.
#[derive(Debug, Clone, Copy)]
struct Near {
    triangle: u32,
    count: u32,
    particles: [u32; TOGETHER],
}

/// What was near when it was last looked for.
#[derive(Debug, Default)]
struct Remembered {
    near: Found<Near>,
    /// Where the particles were then; nothing when it must be looked for again.
    at: Vec<DVec3>,
    /// The longest way then.
    longest: f64,
}

/// Where particles go in a small step before constraints act.
pub(super) struct Way<'a> {
    pub(super) from: &'a [DVec3],
    pub(super) to: &'a [DVec3],
    /// The longest of all ways, in metres.
    pub(super) longest: f64,
}

impl Way<'_> {
    fn of(&self, particle: u32) -> DVec3 {
        self.to[particle as usize] - self.from[particle as usize]
    }
}

/// All such collisions of a step.
#[derive(Debug, Default)]
pub(super) struct SelfCollisions {
    /// Over all particles.
    triangles: Vec<[u32; 3]>,
    /// The body of each triangle and of each particle.
    body_of_triangle: Vec<u32>,
    body_of_particle: Vec<u32>,
    touches_itself: Vec<bool>,
    between_bodies: bool,
    thickness: f64,
    /// Where the particles were at the start.
    start: Vec<DVec3>,
    /// The longest edge at the start of each body and of what its triangles may meet.
    edges: Vec<f64>,
    widest: Vec<f64>,
    /// Of most triangles the longest edge, or the thickness.
    cell: f64,
    hash: ParticleHash,
    remembered: Remembered,
    pairs: Found<Pair>,
    /// How far each pair was pushed apart in this step, and how far friction has held back, in metres.
    spent: Vec<[f64; 2]>,
}

impl SelfCollisions {
    /// Of the bodies of a setup whose surfaces are particles; the first particle of each is given.
    pub(super) fn new(setup: &Setup, first: &[u32]) -> Self {
        let mut found = Self {
            between_bodies: setup.contact.between_bodies && setup.bodies.len() > 1,
            thickness: setup.contact.thickness,
            ..Self::default()
        };
        for ((body, &first), number) in setup.bodies.iter().zip(first).zip(0..) {
            found.touches_itself.push(body.self_contact);
            found.start.extend_from_slice(&body.start);
            found.body_of_particle.resize(found.start.len(), number);
            if body.self_contact || found.between_bodies {
                found.triangles.extend(particle_triangles(body).map(|t| t.map(|p| p + first)));
                found.body_of_triangle.resize(found.triangles.len(), number);
            }
        }
        found.measure();
        found
    }

    fn measure(&mut self) {
        let side = |&[a, b, c]: &[u32; 3]| {
            let [a, b, c] = [a, b, c].map(|p| self.start[p as usize]);
            a.distance(b).max(b.distance(c)).max(c.distance(a))
        };
        let mut edges = vec![0.0_f64; self.touches_itself.len()];
        let mut whole = 0.0;
        for (triangle, &body) in self.triangles.iter().zip(&self.body_of_triangle) {
            let side = side(triangle);
            edges[body as usize] = edges[body as usize].max(side);
            whole += side;
        }
        // Cells are as wide as triangles usually are: one large body must not fill them with the particles of a fine one.
        self.cell = (whole / self.triangles.len().max(1) as f64).max(self.thickness);
        let longest = edges.iter().copied().fold(0.0, f64::max);
        self.widest = edges.iter().map(|&own| if self.between_bodies { longest } else { own }).collect();
        self.edges = edges;
    }

    /// Follows a split of a particle of the last body: its clones come last, and these elements of the body have new corners.
    pub(super) fn split(
        &mut self,
        particle: u32,
        clones: usize,
        changed: impl Iterator<Item = (usize, [u32; 3])>,
    ) {
        let (start, body) = (self.start[particle as usize], self.body_of_particle[particle as usize]);
        self.start.resize(self.start.len() + clones, start);
        self.body_of_particle.resize(self.start.len(), body);
        let first = self.body_of_triangle.partition_point(|other| *other < body);
        if first < self.triangles.len() {
            changed.for_each(|(element, corners)| self.triangles[first + element] = corners);
        }
        self.remembered.at.clear();
    }

    /// Looks for particles near triangles where a small step begins.
    pub(super) fn find(&mut self, way: &Way<'_>, weights: &[f64], friction: &[f64]) {
        self.spent.clear();
        if self.triangles.is_empty() {
            return;
        }
        let remembers = self.remembers(way);
        let lasts = remembers || self.will_last(way);
        if !remembers {
            self.hash.fill(way.from, self.cell);
            self.remembered.at.clear();
        }
        if lasts && !remembers {
            self.look_around(way);
        }
        let (mut pairs, mut remembered) =
            (std::mem::take(&mut self.pairs), std::mem::take(&mut self.remembered));
        if lasts {
            pairs.look_through(&mut remembered.near, |near, found| {
                self.pairs_of(near, way, weights, friction, found);
            });
        } else {
            pairs.look(self.triangles.len(), |t, found| {
                self.pairs_around(t, way, weights, friction, found);
            });
        }
        self.spent.resize(pairs.len(), [0.0; 2]);
        (self.pairs, self.remembered) = (pairs, remembered);
    }

    /// How far from a triangle of bodies with this longest edge a particle may be that is its pair.
    fn farthest(&self, longest_way: f64, edge: f64) -> f64 {
        (2.0 * longest_way + SPARE * edge).min(0.5 * edge) + self.thickness
    }

    /// Whether all that is near is among what is remembered: two particles have come nearer by no more than twice what either has
    /// moved beside what all have.
    fn remembers(&self, way: &Way<'_>) -> bool {
        let at = &self.remembered.at;
        if at.len() != way.from.len() {
            return false;
        }
        let nearer = nearer(way.from, at);
        // A body without triangles here has no edge, and nothing is looked for around it.
        self.widest.iter().filter(|edge| **edge > 0.0).all(|&edge| {
            let then = self.farthest(self.remembered.longest, edge) + SKIN * edge;
            self.farthest(way.longest, edge) + nearer <= then
        })
    }

    /// Whether what is looked for now will still do after two steps like this one: a wider circle costs more than it saves where
    /// steps are long.
    fn will_last(&self, way: &Way<'_>) -> bool {
        let edges = self.widest.iter().copied().filter(|edge| *edge > 0.0);
        2.0 * nearer(way.to, way.from) <= SKIN * edges.fold(f64::INFINITY, f64::min)
    }

    /// Remembers which particles are in a wide circle around each triangle.
    fn look_around(&mut self, way: &Way<'_>) {
        let mut remembered = std::mem::take(&mut self.remembered);
        remembered.near.look(self.triangles.len(), |t, found| {
            let edge = self.widest[self.body_of_triangle[t] as usize];
            let radius = self.farthest(way.longest, edge) + SKIN * edge;
            let at = self.triangles[t].map(|p| way.from[p as usize]);
            let [low, high] = bounds(&at, radius);
            let surroundings = Surroundings::new(&at);
            let first = found.len();
            let mut near = Near { triangle: t as u32, count: 0, particles: [0; TOGETHER] };
            self.hash.for_each_in(low, high, |particle, p| {
                if surroundings.lower_bound(p) < radius * radius && self.may_touch(t, particle) {
                    near.particles[near.count as usize] = particle;
                    near.count += 1;
                    if near.count as usize == TOGETHER {
                        found.push(near);
                        near.count = 0;
                    }
                }
            });
            if near.count > 0 {
                found.push(near);
            }
            sort(&mut found[first..]);
        });
        remembered.at.extend_from_slice(way.from);
        remembered.longest = way.longest;
        self.remembered = remembered;
    }

    /// How near a particle must be to a triangle to be its pair, by how fast the two may close in.
    fn reach<'a>(&'a self, triangle: usize, way: &'a Way<'_>) -> impl Fn(u32) -> f64 + 'a {
        let ways = self.triangles[triangle].map(|p| way.of(p));
        let mean = (ways[0] + ways[1] + ways[2]) / 3.0;
        let apart = ways.map(|way| way.distance_squared(mean)).into_iter().fold(0.0, f64::max).sqrt();
        let own_edge = self.edges[self.body_of_triangle[triangle] as usize];
        move |particle| {
            let edge = own_edge.max(self.edges[self.body_of_particle[particle as usize] as usize]);
            let together = way.of(particle).distance(mean) + apart;
            (2.0 * together + SPARE * edge + self.thickness).min(self.farthest(way.longest, edge))
        }
    }

    /// The pairs of a triangle among the particles around it, in the order in which what is remembered has them.
    fn pairs_around(
        &self,
        triangle: usize,
        way: &Way<'_>,
        weights: &[f64],
        friction: &[f64],
        found: &mut Vec<Pair>,
    ) {
        let corners = self.triangles[triangle];
        let at = corners.map(|p| way.from[p as usize]);
        let surroundings = Surroundings::new(&at);
        let reach = self.reach(triangle, way);
        let edge = self.widest[self.body_of_triangle[triangle] as usize];
        let [low, high] = bounds(&at, self.farthest(way.longest, edge));
        let first = found.len();
        self.hash.for_each_in(low, high, |particle, p| {
            let reach = reach(particle);
            if surroundings.lower_bound(p) < reach * reach && self.may_touch(triangle, particle) {
                found.extend(self.pair(particle, corners, p, &at, weights, friction, reach));
            }
        });
        found[first..].sort_unstable_by_key(|pair| pair.particle);
    }

    /// The pairs of a triangle among those that it remembers.
    fn pairs_of(&self, near: &Near, way: &Way<'_>, weights: &[f64], friction: &[f64], found: &mut Vec<Pair>) {
        let corners = self.triangles[near.triangle as usize];
        let at = corners.map(|p| way.from[p as usize]);
        let surroundings = Surroundings::new(&at);
        let reach = self.reach(near.triangle as usize, way);
        for &particle in &near.particles[..near.count as usize] {
            let (p, reach) = (way.from[particle as usize], reach(particle));
            if surroundings.lower_bound(p) < reach * reach {
                found.extend(self.pair(particle, corners, p, &at, weights, friction, reach));
            }
        }
    }

    fn may_touch(&self, triangle: usize, particle: u32) -> bool {
        let [of_triangle, of_particle] =
            [self.body_of_triangle[triangle], self.body_of_particle[particle as usize]];
        let meet = if of_triangle == of_particle {
            self.touches_itself[of_triangle as usize]
        } else {
            self.between_bodies
        };
        meet && !self.triangles[triangle].contains(&particle)
    }

    #[expect(clippy::too_many_arguments, reason = "one place calls it, in the inner loop")]
    fn pair(
        &self,
        particle: u32,
        corners: [u32; 3],
        p: DVec3,
        at: &[DVec3; 3],
        weights: &[f64],
        friction: &[f64],
        reach: f64,
    ) -> Option<Pair> {
        let nearest = closest_point(at, p);
        let apart = p - nearest.point;
        let distance = apart.length();
        let all_held =
            weights[particle as usize] == 0.0 && corners.iter().all(|&c| weights[c as usize] == 0.0);
        if !(distance > 1e-9 && distance < reach) || all_held {
            return None;
        }
        let barycentric = DVec3::from_array(nearest.barycentric);
        let [a, b, c] = corners.map(|c| self.start[c as usize]);
        let at_start = barycentric.x * a + barycentric.y * b + barycentric.z * c;
        let apart_at_start = self.start[particle as usize].distance(at_start);
        let friction_of_triangle = DVec3::from_array(corners.map(|c| friction[c as usize]));
        Some(Pair {
            particle,
            corners,
            barycentric,
            normal: apart / distance,
            distance: self.thickness.min(apart_at_start),
            friction: 0.5 * (friction[particle as usize] + barycentric.dot(friction_of_triangle)),
        })
    }

    /// Pushes apart what has come too near, and holds back what slips.
    pub(super) fn project(&mut self, positions: &Positions, x: &[DVec3]) {
        for (pair, [pushed, held]) in self.pairs.iter().zip(&mut self.spent) {
            pair.project(positions, x, pushed, held);
        }
    }

    /// Pairs that are pushed apart in this step.
    pub(super) fn count(&self) -> u32 {
        self.spent.iter().filter(|[pushed, _]| *pushed > 0.0).count() as u32
    }
}

impl Pair {
    fn project(&self, positions: &Positions, x: &[DVec3], pushed: &mut f64, held: &mut f64) {
        let corners = self.corners.map(|c| c as usize);
        let [a, b, c] = corners.map(|c| positions.get(c));
        let weights = self.barycentric;
        let apart = positions.get(self.particle as usize) - (weights.x * a + weights.y * b + weights.z * c);
        let depth = self.distance - apart.dot(self.normal);
        let by = if depth > 0.0 { depth * self.normal } else { DVec3::ZERO };
        *pushed += depth.max(0.0);
        if *pushed <= 0.0 {
            return;
        }
        // The slip since the step began.
        let [a, b, c] = corners.map(|c| x[c]);
        let before = x[self.particle as usize] - (weights.x * a + weights.y * b + weights.z * c);
        let moved = apart + by - before;
        let slip = moved - moved.dot(self.normal) * self.normal;
        let limit = (self.friction * *pushed - *held).max(0.0);
        let length = slip.length();
        let back = if length <= limit { slip } else { slip * (limit / length) };
        *held += back.length();
        self.move_apart(positions, by - back);
    }

    /// Changes the vector between the two by moving each by its inverse mass.
    fn move_apart(&self, positions: &Positions, by: DVec3) {
        let particle = self.particle as usize;
        let own = positions.weight(particle);
        let part = |k: usize| self.barycentric[k] * positions.weight(self.corners[k] as usize);
        let give = own + (0..3).map(|k| self.barycentric[k] * part(k)).sum::<f64>();
        if give <= 0.0 {
            return;
        }
        positions.set(particle, positions.get(particle) + by * (own / give));
        for k in 0..3 {
            let corner = self.corners[k] as usize;
            positions.set(corner, positions.get(corner) - by * (part(k) / give));
        }
    }
}

/// The box around a triangle, so much wider on every side.
fn bounds(&[a, b, c]: &[DVec3; 3], radius: f64) -> [DVec3; 2] {
    [a.min(b).min(c) - radius, a.max(b).max(c) + radius]
}

/// By how much two of these points can have come nearer to each other at most.
fn nearer(now: &[DVec3], then: &[DVec3]) -> f64 {
    let moved = now.par_iter().zip(then).with_min_len(TASK).map(|(now, then)| *now - *then);
    let none = || (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let (low, high) = moved
        .fold(none, |(low, high), by| (low.min(by), high.max(by)))
        .reduce(none, |a, b| (a.0.min(b.0), a.1.max(b.1)));
    (high - low).length()
}

/// Puts all particles of one triangle in order: how the hash finds them depends on where its cells are.
fn sort(near: &mut [Near]) {
    if let [one] = near {
        one.particles[..one.count as usize].sort_unstable();
        return;
    }
    // By a heap in place, since steps allocate nothing.
    let count: usize = near.iter().map(|n| n.count as usize).sum();
    (0..count / 2).rev().for_each(|root| sink(near, root, count));
    for end in (1..count).rev() {
        swap(near, 0, end);
        sink(near, 0, end);
    }
}

/// Lets the particle at `root` sink to its place in the heap of the first `end`.
fn sink(near: &mut [Near], mut root: usize, end: usize) {
    while 2 * root + 1 < end {
        let left = 2 * root + 1;
        let right_is_larger = left + 1 < end && get(near, left + 1) > get(near, left);
        let larger = left + usize::from(right_is_larger);
        if get(near, root) >= get(near, larger) {
            return;
        }
        swap(near, root, larger);
        root = larger;
    }
}

/// The particle at a place in the list of one triangle.
fn get(near: &[Near], place: usize) -> u32 {
    near[place / TOGETHER].particles[place % TOGETHER]
}

fn swap(near: &mut [Near], i: usize, j: usize) {
    let (a, b) = (get(near, i), get(near, j));
    near[i / TOGETHER].particles[i % TOGETHER] = b;
    near[j / TOGETHER].particles[j % TOGETHER] = a;
}

/// The least area of a triangle with a plane, over the product of two sides.
const LEAST_AREA: f64 = 1e-6;

/// What tells particles that are surely far from a triangle: they are as far from its plane and, within it, from the lines along its
/// sides as the planes say, and no nearer to the triangle.
struct Surroundings {
    corner: DVec3,
    normal: DVec3,
    /// Within the plane, out of the triangle, across each side.
    out: [DVec3; 3],
    /// Where the sides are along them, from the corner.
    sides: [f64; 3],
}

impl Surroundings {
    fn new(&[a, b, c]: &[DVec3; 3]) -> Self {
        let across = (b - a).cross(c - a);
        // A triangle with hardly any area has no plane that rounding leaves right.
        let has_plane = across.length() > LEAST_AREA * (b - a).length() * (c - a).length();
        let normal = if has_plane { across.normalize() } else { DVec3::ZERO };
        let out = [b - a, c - b, a - c].map(|side| side.cross(normal).normalize_or_zero());
        Self { corner: a, normal, out, sides: [0.0, out[1].dot(b - a), 0.0] }
    }

    /// At most the square of the distance of a point.
    fn lower_bound(&self, p: DVec3) -> f64 {
        let from = p - self.corner;
        let height = from.dot(self.normal);
        let beyond = (0..3).map(|k| from.dot(self.out[k]) - self.sides[k]).fold(0.0, f64::max);
        height * height + beyond * beyond
    }
}

/// The triangles of a body's surface, by its particles; none where the surface lies inside other elements.
fn particle_triangles(body: &Body) -> impl Iterator<Item = [u32; 3]> {
    let vertex = |point: u32| match body.embedding.weights(point as usize) {
        [(vertex, _)] => Some(*vertex),
        _ => None,
    };
    let of_surface = move |t: &[u32; 3]| Some([vertex(t[0])?, vertex(t[1])?, vertex(t[2])?]);
    let cloth = match &body.elements {
        Elements::Triangles(triangles) => triangles.as_slice(),
        Elements::Tets(_) | Elements::Octants(_) => &[],
    };
    let solid = match &body.elements {
        Elements::Triangles(_) | Elements::Octants(_) => &[][..],
        Elements::Tets(_) => body.surface_triangles.as_slice(),
    };
    cloth.iter().copied().chain(solid.iter().filter_map(of_surface))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point() -> impl Strategy<Value = DVec3> {
        prop::array::uniform3(-1.0..1.0).prop_map(DVec3::from_array)
    }

    proptest! {
        #[test]
        fn no_particle_is_nearer_than_the_surroundings_say(
            corners in prop::array::uniform3(point()),
            p in point(),
            flat in 0..4,
        ) {
            let [a, b, c] = corners;
            // Triangles without area have no planes that could hide anything.
            let corners = match flat {
                0 => [a, b, a + 0.3 * (b - a)],
                1 => [a, a, a],
                _ => [a, b, c],
            };
            let distance = closest_point(&corners, p).point.distance_squared(p);
            prop_assert!(Surroundings::new(&corners).lower_bound(p) <= distance + 1e-9);
        }
    }
}
