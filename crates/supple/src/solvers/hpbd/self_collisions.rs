//! Collisions of surfaces with themselves and each other: particles against triangles, found by a spatial hash of the particles
//! (Müller 2008, section 3, line 7; the constraint is that of Müller 2006, section 4.4).
//!
//! Where a surface lies inside a lattice, its points take part as particles do (see `points`).
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
//! Around each triangle particles are looked for as far away as the fastest of them there may come from, which bounds of the ways in
//! large cells tell (see `way_bounds`): a cloth that moves as a whole, however fast, is searched closely.
//!
//! What is near is looked for in a wider circle and remembered (Verlet 1967), until particles have moved against each other by so
//! much that another could have come near. Which pairs a step has, and their order, do not depend on when that was.

use glam::DVec3;
use rayon::prelude::*;

use super::particle_hash::ParticleHash;
use super::points::Points;
use super::positions::{Positions, TASK};
use super::way_bounds::WayBounds;
use crate::body::{Body, Elements};
use crate::energy::chunks::Found;
use crate::geometry::triangle::closest_point;
use crate::simulation::Setup;

/// A particle near a triangle; both by numbers of points.
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

const NONE: u32 = u32::MAX;

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

/// How a triangle moves before constraints act.
struct Motion {
    /// The mean way of its corners, and how far from it any of them goes.
    mean: DVec3,
    apart: f64,
    /// The longest edge of its body.
    edge: f64,
}

impl Way<'_> {
    fn of(&self, particle: u32) -> DVec3 {
        self.to[particle as usize] - self.from[particle as usize]
    }
}

/// All such collisions of a step.
#[derive(Debug, Default)]
pub(super) struct SelfCollisions {
    points: Points,
    /// Over all points.
    triangles: Vec<[u32; 3]>,
    /// The body of each triangle and of each point; [`NONE`] for points that do not collide.
    body_of_triangle: Vec<u32>,
    body_of_point: Vec<u32>,
    touches_itself: Vec<bool>,
    between_bodies: bool,
    thickness: f64,
    /// Where the points were at the start.
    start: Vec<DVec3>,
    /// Where they are when a small step begins, and where they go, if there are others than particles.
    way: [Vec<DVec3>; 2],
    /// The longest edge at the start of each body and of what its triangles may meet.
    edges: Vec<f64>,
    widest: Vec<f64>,
    /// Of most triangles the longest edge, or the thickness.
    cell: f64,
    hash: ParticleHash,
    way_bounds: WayBounds,
    remembered: Remembered,
    pairs: Found<Pair>,
    /// How far each pair was pushed apart in this step, and how far friction has held back, in metres.
    spent: Vec<[f64; 2]>,
}

impl SelfCollisions {
    /// Of the bodies of a setup; the first particle of each is given.
    pub(super) fn new(setup: &Setup, first: &[u32]) -> Self {
        let mut found = Self {
            points: Points::new(&setup.bodies, first),
            between_bodies: setup.contact.between_bodies && setup.bodies.len() > 1,
            thickness: setup.contact.thickness,
            ..Self::default()
        };
        let particles: Vec<DVec3> = setup.bodies.iter().flat_map(|body| &body.start).copied().collect();
        found.points.place(&particles, &mut found.start);
        found.body_of_point = vec![NONE; found.start.len()];
        let embedded = found.points.embedded() as u32;
        for ((body, &first), number) in setup.bodies.iter().zip(first).zip(0..) {
            found.touches_itself.push(body.self_contact);
            let in_lattice = found.points.first_embedded(number as usize);
            let points = match in_lattice {
                Some(first) => first..first + body.embedding.len() as u32,
                None => embedded + first..embedded + first + body.start.len() as u32,
            };
            if body.self_contact || found.between_bodies {
                let triangles = surface(body, in_lattice.is_some());
                found.triangles.extend(triangles.map(|t| t.map(|p| p + points.start)));
                found.body_of_triangle.resize(found.triangles.len(), number);
            }
            found.body_of_point[points.start as usize..points.end as usize].fill(number);
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
        let embedded = self.points.embedded();
        let point = embedded + particle as usize;
        let (start, body) = (self.start[point], self.body_of_point[point]);
        self.start.resize(self.start.len() + clones, start);
        self.body_of_point.resize(self.start.len(), body);
        let first = self.body_of_triangle.partition_point(|other| *other < body);
        if first < self.triangles.len() {
            changed.for_each(|(element, corners)| {
                self.triangles[first + element] = corners.map(|p| p + embedded as u32);
            });
        }
        self.remembered.at.clear();
    }

    /// Looks for particles near triangles where a small step begins.
    pub(super) fn find(&mut self, way: &Way<'_>, weights: &[f64], friction: &[f64]) {
        self.spent.clear();
        if self.triangles.is_empty() {
            return;
        }
        if self.points.embedded() == 0 {
            return self.find_among_points(way, weights, friction);
        }
        let [mut from, mut to] = std::mem::take(&mut self.way);
        self.points.place(way.from, &mut from);
        self.points.place(way.to, &mut to);
        let way = Way { from: &from, to: &to, longest: way.longest };
        self.find_among_points(&way, weights, friction);
        self.way = [from, to];
    }

    fn find_among_points(&mut self, way: &Way<'_>, weights: &[f64], friction: &[f64]) {
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
            self.way_bounds.fill(way.from, way.to, self.cell);
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

    /// How a triangle moves.
    fn motion(&self, triangle: usize, way: &Way<'_>) -> Motion {
        let ways = self.triangles[triangle].map(|p| way.of(p));
        let mean = (ways[0] + ways[1] + ways[2]) / 3.0;
        let apart = ways.map(|way| way.distance_squared(mean)).into_iter().fold(0.0, f64::max).sqrt();
        let edge = self.edges[self.body_of_triangle[triangle] as usize];
        Motion { mean, apart, edge }
    }

    /// How near a particle must be to a triangle to be its pair, by how fast the two may close in.
    #[inline]
    fn reach(&self, motion: &Motion, particle: u32, way: &Way<'_>) -> f64 {
        let body = self.body_of_point[particle as usize];
        let edge = self.edges.get(body as usize).map_or(motion.edge, |edge| edge.max(motion.edge));
        let together = way.of(particle).distance(motion.mean) + motion.apart;
        (2.0 * together + SPARE * edge + self.thickness).min(self.farthest(way.longest, edge))
    }

    /// No less than the reach of any particle around a triangle, given the widest that it can be.
    fn widest_reach(&self, at: &[DVec3; 3], motion: &Motion, widest: f64, edge: f64) -> f64 {
        let [low, high] = bounds(at, widest);
        let together = self.way_bounds.farthest_in(low, high, motion.mean) + motion.apart;
        // Rounding must not leave out a particle at the edge.
        widest.min((2.0 * together + SPARE * edge + self.thickness) * (1.0 + 1e-9))
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
        let motion = self.motion(triangle, way);
        let edge = self.widest[self.body_of_triangle[triangle] as usize];
        let radius = self.widest_reach(&at, &motion, self.farthest(way.longest, edge), edge);
        let surroundings = Surroundings::new(&at);
        let [low, high] = bounds(&at, radius);
        let first = found.len();
        self.hash.for_each_in(low, high, |particle, p| {
            let near = surroundings.lower_bound(p);
            if near < radius * radius && self.may_touch(triangle, particle) {
                let reach = self.reach(&motion, particle, way);
                if near < reach * reach {
                    found.extend(self.pair(particle, corners, p, &at, weights, friction, reach));
                }
            }
        });
        found[first..].sort_unstable_by_key(|pair| pair.particle);
    }

    /// The pairs of a triangle among those that it remembers.
    fn pairs_of(&self, near: &Near, way: &Way<'_>, weights: &[f64], friction: &[f64], found: &mut Vec<Pair>) {
        let corners = self.triangles[near.triangle as usize];
        let at = corners.map(|p| way.from[p as usize]);
        let surroundings = Surroundings::new(&at);
        let motion = self.motion(near.triangle as usize, way);
        for &particle in &near.particles[..near.count as usize] {
            let (p, reach) = (way.from[particle as usize], self.reach(&motion, particle, way));
            if surroundings.lower_bound(p) < reach * reach {
                found.extend(self.pair(particle, corners, p, &at, weights, friction, reach));
            }
        }
    }

    fn may_touch(&self, triangle: usize, particle: u32) -> bool {
        let [of_triangle, of_particle] =
            [self.body_of_triangle[triangle], self.body_of_point[particle as usize]];
        let meet = if of_triangle == of_particle {
            self.touches_itself[of_triangle as usize]
        } else {
            self.between_bodies && of_particle != NONE
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
        let held = |point: &u32| self.points.all(*point as usize, |p| weights[p as usize] == 0.0);
        let all_held = held(&particle) && corners.iter().all(held);
        if !(distance > 1e-9 && distance < reach) || all_held {
            return None;
        }
        let barycentric = DVec3::from_array(nearest.barycentric);
        let [a, b, c] = corners.map(|c| self.start[c as usize]);
        let at_start = barycentric.x * a + barycentric.y * b + barycentric.z * c;
        let apart_at_start = self.start[particle as usize].distance(at_start);
        let friction = |point: u32| self.points.friction(point as usize, friction);
        let friction_of_triangle = DVec3::from_array(corners.map(friction));
        Some(Pair {
            particle,
            corners,
            barycentric,
            normal: apart / distance,
            distance: self.thickness.min(apart_at_start),
            friction: 0.5 * (friction(particle) + barycentric.dot(friction_of_triangle)),
        })
    }

    /// Pushes apart what has come too near, and holds back what slips.
    pub(super) fn project(&mut self, positions: &Positions, x: &[DVec3]) {
        for (pair, [pushed, held]) in self.pairs.iter().zip(&mut self.spent) {
            pair.project(&self.points, positions, x, pushed, held);
        }
    }

    /// Pairs that are pushed apart in this step.
    pub(super) fn count(&self) -> u32 {
        self.spent.iter().filter(|[pushed, _]| *pushed > 0.0).count() as u32
    }
}

impl Pair {
    fn project(&self, points: &Points, positions: &Positions, x: &[DVec3], pushed: &mut f64, held: &mut f64) {
        let apart = self.apart(points, |p| positions.get(p));
        let depth = self.distance - apart.dot(self.normal);
        let by = if depth > 0.0 { depth * self.normal } else { DVec3::ZERO };
        *pushed += depth.max(0.0);
        if *pushed <= 0.0 {
            return;
        }
        // The slip since the step began.
        let moved = apart + by - self.apart(points, |p| x[p]);
        let slip = moved - moved.dot(self.normal) * self.normal;
        let limit = (self.friction * *pushed - *held).max(0.0);
        let length = slip.length();
        let back = if length <= limit { slip } else { slip * (limit / length) };
        *held += back.length();
        self.move_apart(points, positions, by - back);
    }

    /// The vector from the triangle to the particle.
    #[inline]
    fn apart(&self, points: &Points, x: impl Fn(usize) -> DVec3) -> DVec3 {
        let [a, b, c] = self.corners.map(|corner| points.at(corner as usize, &x));
        let weights = self.barycentric;
        points.at(self.particle as usize, &x) - (weights.x * a + weights.y * b + weights.z * c)
    }

    /// The points with their parts of that vector.
    fn parts(&self) -> [(usize, f64); 4] {
        let [a, b, c] = self.corners.map(|corner| corner as usize);
        let weights = self.barycentric;
        [(self.particle as usize, 1.0), (a, -weights.x), (b, -weights.y), (c, -weights.z)]
    }

    /// Changes the vector between the two by moving each by its inverse mass.
    fn move_apart(&self, points: &Points, positions: &Positions, by: DVec3) {
        let parts = self.parts();
        let mut give = 0.0;
        for (point, part) in parts {
            points.for_each_part(point, |p, a| {
                // What of the whole vector is this particle's: points inside one cell share particles.
                let shares = parts.iter().map(|&(other, of_other)| of_other * points.part_of(other, p));
                give += part * a * positions.weight(p) * shares.sum::<f64>();
            });
        }
        if give <= 0.0 {
            return;
        }
        for (point, part) in parts {
            points.for_each_part(point, |p, a| {
                positions.set(p, positions.get(p) + by * (part * a * positions.weight(p) / give));
            });
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

/// The triangles of a body's surface: by its particles, or where it lies inside a lattice by its own points.
fn surface(body: &Body, is_in_lattice: bool) -> impl Iterator<Item = [u32; 3]> {
    let point = move |point: u32| match body.embedding.weights(point as usize) {
        [(vertex, _)] if !is_in_lattice => *vertex,
        _ => point,
    };
    let (cloth, solid) = match &body.elements {
        Elements::Triangles(triangles) => (triangles.as_slice(), &[][..]),
        Elements::Tets(_) => (&[][..], body.surface_triangles.as_slice()),
        Elements::Octants(_) => (&[][..], &[][..]),
    };
    cloth.iter().copied().chain(solid.iter().map(move |t| t.map(point)))
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
