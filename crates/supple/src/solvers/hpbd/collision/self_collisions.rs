//! Collisions of surfaces with themselves and each other: particles against triangles, found by a spatial hash of the particles
//! (Müller 2008, section 3, line 7; the constraint is that of Müller 2006, section 4.4).
//!
//! Where a surface is embedded in a lattice, its points take part as particles do (see `points`).
//!
//! Where a particle is near a triangle when the step starts, `q = Σ bᵢ aᵢ` is the triangle's nearest point and `n` the direction
//! from there to the particle. The constraint keeps them apart on this side,
//!
//! ```text
//! C = n·(p - Σ bᵢ aᵢ) - d >= 0,
//! ```
//!
//! with `d` the thickness, or the distance at the start where that is smaller. Where the motions of particle and triangle differ by
//! at most `m`, the prediction brings them together by at most
//!
//! ```text
//! c = max(maxᵢ n·Δaᵢ - n·Δp, 0) <= m,
//! ```
//!
//! since no point of the triangle is ahead of `q` along `n`. They are a pair if they are nearer than `m + c`, the thickness and a tenth of
//! an edge, since constraints move particles too; half of the longest edge and the thickness at most. So nothing passes through as long
//! as no pair approaches faster. Friction removes at most `μ` times the constraint's push from the slip. Edges against
//! edges are not tested.
//!
//! Pairs are projected one after the other. Most are inactive, and all threads determine which: a sweep contains those that were already pushed in
//! this step, or whose gap exceeds the required one by no more than a thickness and the same tenth of an edge when it starts.
//!
//! Candidates are searched around patches of triangles (see `patches`), within a larger radius where that pays, and cached (Verlet
//! 1967) until particles have moved relative to each other by so much that others could have come near. The pairs of a step, and
//! their order, do not depend on when that was.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::body::{Body, Elements};
use crate::contact::forces::{ContactSite, Support};
use crate::dynamics::ContactImpulse;
use crate::scene::{Meeting, Participant};
use crate::scene_state::SceneState;
use crate::solvers::hpbd::collision::particle_hash::ParticleHash;
use crate::solvers::hpbd::collision::patches::{BLOCK, ParticlePatch, PatchSurface, Patches, Surroundings};
use crate::solvers::hpbd::collision::points::Points;
use crate::solvers::hpbd::collision::pushes::ByKind;
use crate::solvers::hpbd::positions::{Positions, TASK};
use supple_core::simd::{Kernel, LaneVec3, Lanes, Simd, WIDTH, dispatch};
use supple_mesh::geometry::triangle::closest_point;

/// A particle near a triangle; both by indices of points.
#[derive(Debug, Clone, Copy)]
struct CollisionPair {
    particle: u32,
    corners: [u32; 3],
    /// The nearest point of the triangle.
    barycentric: DVec3,
    normal: DVec3,
    distance: f64,
    friction: f64,
}

/// What was done about a pair.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    /// How far it was pushed apart, and how much slip friction has removed, in metres.
    pushed: f64,
    held: f64,
    /// Along the normal and by friction: the mass times the displacement of the particle, in kg·m.
    moved: ByKind<DVec3>,
}

const NONE: u32 = u32::MAX;

/// The margin of the pair search beyond the prediction, over the longest edge.
const SPARE: f64 = 0.1;

/// The additional radius in which patches search for cached particles, over the longest edge.
const SKIN: f64 = 0.25;
/// The relative margin of that radius against rounding.
const ROUNDING: f64 = 1e-9;

/// A block of triangles: the particles near them, and their pairs.
#[derive(Debug, Default)]
struct Block {
    near: Patches,
    /// The candidate pairs of the current patch, by its lanes.
    close: Vec<Close>,
    pairs: Vec<CollisionPair>,
    /// What was done about each pair in this small step.
    spent: Vec<Spent>,
    /// The pairs that take part in a sweep.
    active: Vec<u32>,
}

/// A particle within range of the triangle of a lane, or nearly.
#[derive(Debug, Clone, Copy)]
struct Close {
    lane: u32,
    particle: u32,
    reach: f64,
    /// The part of the range that does not depend on the direction of approach.
    around: f64,
}

/// The state for which particles near triangles are cached.
#[derive(Debug, Default)]
struct CandidateCache {
    /// The positions of the particles then; empty when the search must be repeated.
    at: Vec<DVec3>,
    /// The largest displacement then.
    longest: f64,
}

/// The displacements of particles in a small step before constraints act.
pub(crate) struct Trajectory<'a> {
    pub(crate) from: &'a [DVec3],
    pub(crate) to: &'a [DVec3],
    /// The largest of all displacements, in metres.
    pub(crate) longest: f64,
}

/// The parameters of a pair search.
#[derive(Clone, Copy)]
struct Query<'a> {
    trajectory: &'a Trajectory<'a>,
    /// The inverse masses and friction coefficients of the particles.
    weights: &'a [f64],
    friction: &'a [f64],
}

/// The motion of a patch's triangles before constraints act.
struct PatchMotion {
    /// The mean displacement of the corners, and the largest deviation from it.
    mean: LaneVec3,
    apart: Lanes,
}

impl Trajectory<'_> {
    #[inline(always)]
    fn of(&self, particle: u32) -> DVec3 {
        self.to[particle as usize] - self.from[particle as usize]
    }
}

/// All such collisions of a step.
#[derive(Debug, Default)]
pub(crate) struct SelfCollisions {
    points: Points,
    /// Over all points.
    triangles: Vec<[u32; 3]>,
    /// The body of each triangle and of each point; [`NONE`] for points that do not collide.
    body_of_triangle: Vec<u32>,
    body_of_point: Vec<u32>,
    /// For each body how it meets each other one and itself, one row after the other.
    meetings: Vec<Meeting>,
    bodies: usize,
    thickness: f64,
    /// The initial positions of the points.
    start: Vec<DVec3>,
    /// Their positions at the start of a small step, and their predictions, if there are points other than particles.
    trajectory: [Vec<DVec3>; 2],
    /// The longest initial edge of each body and of the triangles it may collide with.
    edges: Vec<f64>,
    widest: Vec<f64>,
    /// The longest edge of most triangles, or the thickness.
    cell: f64,
    hash: ParticleHash,
    cache: CandidateCache,
    blocks: Vec<Block>,
}

impl SelfCollisions {
    /// For the bodies of a scene state; the first particle of each is given.
    pub(crate) fn new(scene_state: &SceneState, first: &[u32]) -> Self {
        let mut found = Self {
            points: Points::new(&scene_state.bodies, first),
            meetings: meetings(scene_state),
            bodies: scene_state.bodies.len(),
            thickness: scene_state.contact.thickness(),
            ..Self::default()
        };
        let particles: Vec<DVec3> = scene_state.bodies.iter().flat_map(|body| &body.start).copied().collect();
        found.points.place(&particles, &mut found.start);
        found.body_of_point = vec![NONE; found.start.len()];
        let embedded = found.points.embedded() as u32;
        for ((body, &first), number) in scene_state.bodies.iter().zip(first).zip(0..) {
            let in_lattice = found.points.first_embedded(number as usize);
            let points = match in_lattice {
                Some(first) => first..first + body.embedding.len() as u32,
                None => embedded + first..embedded + first + body.start.len() as u32,
            };
            if found.meetings_of(number).iter().any(|meeting| meeting.collides) {
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
        let mut edges = vec![0.0_f64; self.bodies];
        let mut whole = 0.0;
        for (triangle, &body) in self.triangles.iter().zip(&self.body_of_triangle) {
            let side = side(triangle);
            edges[body as usize] = edges[body as usize].max(side);
            whole += side;
        }
        // Cells are as wide as typical triangles: one large body must not fill them with the particles of a fine one.
        self.cell = (whole / self.triangles.len().max(1) as f64).max(self.thickness);
        let widest = |(body, &own): (usize, &f64)| {
            let met =
                self.meetings_of(body as u32).iter().zip(&edges).filter(|(meeting, _)| meeting.collides);
            met.map(|(_, edge)| *edge).fold(own, f64::max)
        };
        self.widest = edges.iter().enumerate().map(widest).collect();
        self.edges = edges;
    }

    /// Updates after a split of a particle of the last body: its clones come last, and these elements of the body have new corners.
    pub(crate) fn split(
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
        self.cache.at.clear();
    }

    /// Finds particles near triangles at the start of a small step.
    pub(crate) fn find(
        &mut self,
        trajectory: &Trajectory<'_>,
        weights: &[f64],
        friction: &[f64],
        simd: Simd,
    ) {
        if self.triangles.is_empty() {
            return;
        }
        if self.points.embedded() == 0 {
            return self.find_among_points(Query { trajectory, weights, friction }, simd);
        }
        let [mut from, mut to] = std::mem::take(&mut self.trajectory);
        self.points.place(trajectory.from, &mut from);
        self.points.place(trajectory.to, &mut to);
        let trajectory = Trajectory { from: &from, to: &to, longest: trajectory.longest };
        self.find_among_points(Query { trajectory: &trajectory, weights, friction }, simd);
        self.trajectory = [from, to];
    }

    fn find_among_points(&mut self, query: Query<'_>, simd: Simd) {
        let mut blocks = std::mem::take(&mut self.blocks);
        if !self.is_cache_valid(query.trajectory) {
            self.search_candidates(query.trajectory, &mut blocks);
        }
        blocks.par_iter_mut().for_each(|block| {
            block.pairs.clear();
            dispatch(simd, PairsOf { collisions: self, query, block });
            block.spent.clear();
            block.spent.resize(block.pairs.len(), Spent::default());
        });
        self.blocks = blocks;
    }

    /// The largest distance of a pair's particle from a triangle of bodies with this longest edge.
    fn farthest(&self, longest_way: f64, edge: f64) -> f64 {
        (2.0 * longest_way + SPARE * edge).min(0.5 * edge) + self.thickness
    }

    /// Whether all near particles are in the cache: two particles have come nearer by no more than twice the larger displacement,
    /// after the common motion is subtracted.
    fn is_cache_valid(&self, trajectory: &Trajectory<'_>) -> bool {
        let at = &self.cache.at;
        if at.len() != trajectory.from.len() {
            return false;
        }
        let nearer = nearer(trajectory.from, at);
        // A body without triangles here has no edge, and no particles are searched around it.
        self.widest.iter().filter(|edge| **edge > 0.0).all(|&edge| {
            let then = self.farthest(self.cache.longest, edge) + SKIN * edge;
            self.farthest(trajectory.longest, edge) + nearer <= then
        })
    }

    /// Whether a search now will still be valid after two steps like this one: a larger radius costs more than it saves where
    /// steps are long.
    fn will_last(&self, trajectory: &Trajectory<'_>) -> bool {
        let edges = self.widest.iter().copied().filter(|edge| *edge > 0.0);
        2.0 * nearer(trajectory.to, trajectory.from) <= SKIN * edges.fold(f64::INFINITY, f64::min)
    }

    /// Finds the particles near triangles; within a larger radius if that pays.
    fn search_candidates(&mut self, trajectory: &Trajectory<'_>, blocks: &mut Vec<Block>) {
        self.hash.fill(trajectory.from, self.cell);
        self.cache.at.clear();
        let lasts = self.will_last(trajectory);
        if lasts {
            self.cache.at.extend_from_slice(trajectory.from);
            self.cache.longest = trajectory.longest;
        }
        let radius = |body: u32| {
            let edge = self.widest[body as usize];
            let skin = if lasts { SKIN * edge } else { 0.0 };
            (self.farthest(trajectory.longest, edge) + skin) * (1.0 + ROUNDING)
        };
        let (triangles, body_of_triangle) = (&self.triangles, &self.body_of_triangle);
        let surface = PatchSurface {
            triangles,
            body_of_triangle,
            at: trajectory.from,
            hash: &self.hash,
            cell: self.cell,
        };
        blocks.resize_with(triangles.len().div_ceil(BLOCK), Block::default);
        blocks.par_iter_mut().enumerate().for_each(|(b, block)| {
            let range = [b * BLOCK, triangles.len().min((b + 1) * BLOCK)];
            block.near.search(&surface, range, radius, |body, particle| self.meet(body, particle));
        });
    }

    /// Whether a particle may collide with triangles of a body.
    fn meet(&self, body: u32, particle: u32) -> bool {
        match self.body_of_point[particle as usize] {
            NONE => false,
            own => self.meetings_of(body)[own as usize].collides,
        }
    }

    /// How a body meets all bodies.
    fn meetings_of(&self, body: u32) -> &[Meeting] {
        &self.meetings[body as usize * self.bodies..][..self.bodies]
    }

    /// The motion of a patch's triangles, and the particles around them.
    #[inline(always)]
    fn triangles_of(&self, patch: ParticlePatch, trajectory: &Trajectory<'_>) -> (PatchMotion, Surroundings) {
        let (mut at, mut displacements) = ([LaneVec3::default(); 3], [LaneVec3::default(); 3]);
        for lane in 0..WIDTH {
            // Lanes without a triangle have the last.
            let triangle = patch.first as usize + lane.min(patch.count as usize - 1);
            for k in 0..3 {
                let corner = self.triangles[triangle][k];
                let (p, w) = (trajectory.from[corner as usize], trajectory.of(corner));
                (at[k].0[0].0[lane], at[k].0[1].0[lane], at[k].0[2].0[lane]) = (p.x, p.y, p.z);
                (
                    displacements[k].0[0].0[lane],
                    displacements[k].0[1].0[lane],
                    displacements[k].0[2].0[lane],
                ) = (w.x, w.y, w.z);
            }
        }
        let mean = (displacements[0] + displacements[1] + displacements[2]) * Lanes::splat(1.0 / 3.0);
        let off = [displacements[0] - mean, displacements[1] - mean, displacements[2] - mean];
        let apart = off[0].dot(off[0]).max(off[1].dot(off[1])).max(off[2].dot(off[2])).sqrt();
        (PatchMotion { mean, apart }, Surroundings::new(at[0], at[1], at[2]))
    }

    /// How near a particle must be to each triangle of a patch to be its pair, by how fast the two may approach; and how near if they
    /// do not.
    #[inline(always)]
    fn reach(
        &self,
        motion: &PatchMotion,
        particle: u32,
        own_edge: f64,
        trajectory: &Trajectory<'_>,
    ) -> (Lanes, Lanes) {
        let body = self.body_of_point[particle as usize] as usize;
        let edge = if body < self.edges.len() { self.edges[body].max(own_edge) } else { own_edge };
        let apart = splat(trajectory.of(particle)) - motion.mean;
        let together = apart.length() + motion.apart;
        let around = together + (SPARE * edge + self.thickness);
        ((around + together).min(Lanes::splat(self.farthest(trajectory.longest, edge))), around)
    }

    /// The pairs of a patch, in order of its triangles and their particles.
    fn add_pairs(
        &self,
        patch: ParticlePatch,
        query: &Query<'_>,
        close: &[Close],
        pairs: &mut Vec<CollisionPair>,
    ) {
        for lane in 0..patch.count {
            let corners = self.triangles[(patch.first + lane) as usize];
            let at = corners.map(|p| query.trajectory.from[p as usize]);
            for near in close.iter().filter(|near| near.lane == lane) {
                if !corners.contains(&near.particle) {
                    pairs.extend(self.pair(near, corners, &at, query));
                }
            }
        }
    }

    fn pair(
        &self,
        near: &Close,
        corners: [u32; 3],
        at: &[DVec3; 3],
        query: &Query<'_>,
    ) -> Option<CollisionPair> {
        let &Close { particle, reach, around, .. } = near;
        let Query { trajectory, weights, friction } = *query;
        let p = trajectory.from[particle as usize];
        let nearest = closest_point(at, p);
        let apart = p - nearest.point;
        let distance = apart.length();
        if !(distance > 1e-9 && distance < reach) {
            return None;
        }
        let along = |point: u32| trajectory.of(point).dot(apart);
        let [a, b, c] = corners;
        let together = along(a).max(along(b)).max(along(c)) - along(particle);
        if distance >= around + together.max(0.0) / distance {
            return None;
        }
        let held = |point: &u32| self.points.all(*point as usize, |p| weights[p as usize] == 0.0);
        if held(&particle) && corners.iter().all(held) {
            return None;
        }
        let barycentric = DVec3::from_array(nearest.barycentric);
        let [a, b, c] = corners.map(|c| self.start[c as usize]);
        let at_start = barycentric.x * a + barycentric.y * b + barycentric.z * c;
        let apart_at_start = self.start[particle as usize].distance(at_start);
        let friction = |point: u32| self.points.friction(point as usize, friction);
        let friction_of_triangle = DVec3::from_array(corners.map(friction));
        let of_pair = self.friction_between([particle, corners[0]]);
        Some(CollisionPair {
            particle,
            corners,
            barycentric,
            normal: apart / distance,
            distance: self.thickness.min(apart_at_start),
            friction: of_pair
                .unwrap_or_else(|| 0.5 * (friction(particle) + barycentric.dot(friction_of_triangle))),
        })
    }

    /// The friction that the scene gives for the bodies of two points.
    fn friction_between(&self, points: [u32; 2]) -> Option<f64> {
        let [a, b] = points.map(|point| self.body_of_point[point as usize]);
        self.meetings.get(a as usize * self.bodies + b as usize)?.friction
    }

    /// Pushes apart particles that are too near, and applies friction.
    pub(crate) fn project(&mut self, positions: &Positions, x: &[DVec3]) {
        let points = &self.points;
        let slack = self.thickness + SPARE * self.widest.iter().copied().fold(0.0, f64::max);
        self.blocks.par_iter_mut().for_each(|Block { pairs, spent, active, .. }| {
            active.clear();
            let takes_part =
                |pair: &CollisionPair, pushed: f64| pushed > 0.0 || pair.depth(points, positions) > -slack;
            let all = (0..).zip(pairs.iter().zip(&*spent));
            let chosen = all.filter(|(_, (pair, spent))| takes_part(pair, spent.pushed));
            active.extend(chosen.map(|(number, _): (u32, _)| number));
        });
        for Block { pairs, spent, active, .. } in &mut self.blocks {
            for number in active.iter().map(|number| *number as usize) {
                pairs[number].project(points, positions, x, &mut spent[number]);
            }
        }
    }

    /// Pairs that are pushed apart in this step.
    pub(crate) fn count(&self) -> u32 {
        let spent = self.blocks.iter().flat_map(|block| &block.spent);
        spent.filter(|spent| spent.pushed > 0.0).count() as u32
    }

    /// Adds the impulses of pairs in a small step of `length` seconds.
    pub(crate) fn add_impulses(&self, length: f64, impulses: &mut Vec<ContactImpulse>) {
        let pairs = self.blocks.iter().flat_map(|block| block.pairs.iter().zip(&block.spent));
        impulses.extend(pairs.filter(|(_, spent)| spent.pushed > 0.0).map(|(pair, spent)| {
            let parts = pair.parts();
            let site = ContactSite {
                points: parts.map(|(point, _)| point as u32),
                weights: parts.map(|(_, part)| part),
                support: Support::Points,
            };
            ContactImpulse { site, impulses: spent.moved.map(|moved| moved / length) }
        }));
    }
}

/// How every body meets every other one and itself.
fn meetings(scene_state: &SceneState) -> Vec<Meeting> {
    let SceneState { bodies, contact, .. } = scene_state;
    let of_body = |a| bodies.iter().map(move |b| contact.meeting(Participant::from(a), b.into()));
    bodies.iter().flat_map(of_body).collect()
}

impl CollisionPair {
    /// By how much it is too near; negative if it is not.
    #[inline(always)]
    fn depth(&self, points: &Points, positions: &Positions) -> f64 {
        self.distance - self.apart(points, |p| positions.get(p)).dot(self.normal)
    }

    fn project(&self, points: &Points, positions: &Positions, x: &[DVec3], spent: &mut Spent) {
        let Spent { pushed, held, moved: kept } = spent;
        let apart = self.apart(points, |p| positions.get(p));
        let depth = self.distance - apart.dot(self.normal);
        let by = if depth > 0.0 { depth * self.normal } else { DVec3::ZERO };
        *pushed += depth.max(0.0);
        if *pushed <= 0.0 {
            return;
        }
        // The slip since the start of the step.
        let moved = apart + by - self.apart(points, |p| x[p]);
        let slip = moved - moved.dot(self.normal) * self.normal;
        let limit = (self.friction * *pushed - *held).max(0.0);
        let length = slip.length();
        let back = if length <= limit { slip } else { slip * (limit / length) };
        *held += back.length();
        let mass = self.move_apart(points, positions, by - back);
        kept[0] += mass * by;
        kept[1] -= mass * back;
    }

    /// The vector from the triangle to the particle.
    #[inline(always)]
    fn apart(&self, points: &Points, x: impl Fn(usize) -> DVec3) -> DVec3 {
        let [a, b, c] = self.corners.map(|corner| points.at(corner as usize, &x));
        let weights = self.barycentric;
        points.at(self.particle as usize, &x) - (weights.x * a + weights.y * b + weights.z * c)
    }

    /// The points with their weights in that vector.
    fn parts(&self) -> [(usize, f64); 4] {
        let [a, b, c] = self.corners.map(|corner| corner as usize);
        let weights = self.barycentric;
        [(self.particle as usize, 1.0), (a, -weights.x), (b, -weights.y), (c, -weights.z)]
    }

    /// Changes the vector between the two by moving each by its inverse mass. Returns the mass that this vector has.
    fn move_apart(&self, points: &Points, positions: &Positions, by: DVec3) -> f64 {
        let parts = self.parts();
        let mut give = 0.0;
        if points.embedded() == 0 {
            // Most scenes have particles alone, and this runs on one thread.
            parts.iter().for_each(|&(p, part)| give += part * positions.weight(p) * part);
            for (p, part) in parts.into_iter().filter(|_| give > 0.0) {
                positions.set(p, positions.get(p) + by * (part * positions.weight(p) / give));
            }
            return if give > 0.0 { 1.0 / give } else { 0.0 };
        }
        for (point, part) in parts {
            points.for_each_part(point, |p, a| {
                // This particle's weight in the vector: points inside one cell share particles.
                let shares = parts.iter().map(|&(other, of_other)| of_other * points.part_of(other, p));
                give += part * a * positions.weight(p) * shares.sum::<f64>();
            });
        }
        if give <= 0.0 {
            return 0.0;
        }
        for (point, part) in parts {
            points.for_each_part(point, |p, a| {
                positions.set(p, positions.get(p) + by * (part * a * positions.weight(p) / give));
            });
        }
        1.0 / give
    }
}

/// The pairs of a block.
struct PairsOf<'a> {
    collisions: &'a SelfCollisions,
    query: Query<'a>,
    block: &'a mut Block,
}

impl Kernel for PairsOf<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { collisions, query, block: Block { near, close, pairs, .. } } = self;
        for (patch, particles) in near.iter() {
            close.clear();
            let (motion, surroundings) = collisions.triangles_of(patch, query.trajectory);
            let edge = collisions.edges[collisions.body_of_triangle[patch.first as usize] as usize];
            for &particle in particles {
                let (reach, around) = collisions.reach(&motion, particle, edge, query.trajectory);
                let bound = surroundings.lower_bound(splat(query.trajectory.from[particle as usize]));
                let spare = reach * reach - bound;
                for lane in 0..WIDTH {
                    if spare.0[lane] > 0.0 {
                        let (reach, around) = (reach.0[lane], around.0[lane]);
                        close.push(Close { lane: lane as u32, particle, reach, around });
                    }
                }
            }
            collisions.add_pairs(patch, &query, close, pairs);
        }
    }
}

/// The same for all lanes.
#[inline(always)]
fn splat(v: DVec3) -> LaneVec3 {
    LaneVec3([Lanes::splat(v.x), Lanes::splat(v.y), Lanes::splat(v.z)])
}

/// Upper bound on how much nearer two of these points can have come to each other.
fn nearer(now: &[DVec3], then: &[DVec3]) -> f64 {
    let moved = now.par_iter().zip(then).with_min_len(TASK).map(|(now, then)| *now - *then);
    let none = || (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let (low, high) = moved
        .fold(none, |(low, high), by| (low.min(by), high.max(by)))
        .reduce(none, |a, b| (a.0.min(b.0), a.1.max(b.1)));
    (high - low).length()
}

/// The triangles of a body's surface: by its particles, or by its own points where it is embedded in a lattice.
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

    /// Bodies that collide with each other, and some with themselves.
    fn colliding(bodies: usize, itself: impl Fn(usize) -> bool) -> SelfCollisions {
        let collides = |i: usize| i / bodies != i % bodies || itself(i % bodies);
        let meetings = (0..bodies * bodies).map(|i| Meeting { collides: collides(i), friction: None });
        SelfCollisions { thickness: 0.01, meetings: meetings.collect(), bodies, ..Default::default() }
    }

    /// Two rumpled sheets that intersect, the second of which does not collide with itself.
    fn sheets(n: u32) -> SelfCollisions {
        let wobble = |k: u32, by: f64| 0.05 * (f64::from(k) * by).sin();
        let mut collisions = colliding(2, |body| body == 0);
        for body in 0..2 {
            let first = collisions.start.len() as u32;
            for k in 0..n * n {
                let (u, v) =
                    (0.1 * f64::from(k / n) + wobble(k, 12.9), 0.1 * f64::from(k % n) + wobble(k, 78.2));
                let height = 0.3 * (7.0 * u).sin() * (5.0 * v).cos() + wobble(k, 37.7);
                collisions.start.push(if body == 0 {
                    DVec3::new(u, v, height)
                } else {
                    DVec3::new(v, height, u)
                });
                collisions.body_of_point.push(if k % 17 == 3 { NONE } else { body });
            }
            for (i, j) in (0..n - 1).flat_map(|i| (0..n - 1).map(move |j| (i, j))) {
                let [a, b] = [first + i * n + j, first + (i + 1) * n + j];
                collisions.triangles.extend([[a, b, a + 1], [b, b + 1, a + 1]]);
            }
            collisions.body_of_triangle.resize(collisions.triangles.len(), body);
        }
        collisions.measure();
        collisions
    }

    /// The pairs by every particle against every triangle.
    fn all_pairs(collisions: &SelfCollisions, trajectory: &Trajectory<'_>) -> Vec<(u32, [u32; 3])> {
        let mut pairs = Vec::new();
        for (t, &corners) in collisions.triangles.iter().enumerate() {
            let displacements = corners.map(|p| trajectory.of(p));
            let mean = (displacements[0] + displacements[1] + displacements[2]) / 3.0;
            let apart =
                displacements.map(|trajectory| trajectory.distance(mean)).into_iter().fold(0.0, f64::max);
            let body = collisions.body_of_triangle[t];
            for (particle, p) in (0..).zip(trajectory.from) {
                let other = collisions.body_of_point[particle as usize];
                let edge = collisions.edges.get(other as usize).copied().unwrap_or(0.0);
                let edge = edge.max(collisions.edges[body as usize]);
                let together = trajectory.of(particle).distance(mean) + apart;
                let reach = (2.0 * together + SPARE * edge + collisions.thickness)
                    .min((2.0 * trajectory.longest + SPARE * edge).min(0.5 * edge) + collisions.thickness);
                let nearest = closest_point(&corners.map(|p| trajectory.from[p as usize]), *p).point;
                let normal = (*p - nearest).normalize_or_zero();
                let closing = displacements
                    .map(|trajectory| trajectory.dot(normal))
                    .into_iter()
                    .fold(f64::NEG_INFINITY, f64::max);
                let closing = (closing - trajectory.of(particle).dot(normal)).max(0.0);
                let reach = reach.min(together + closing + SPARE * edge + collisions.thickness);
                let may_touch = other != NONE && (other != body || body == 0) && !corners.contains(&particle);
                let distance = nearest.distance(*p);
                // Touching pairs have no direction.
                if may_touch && distance > 1e-9 && distance < reach {
                    pairs.push((particle, corners));
                }
            }
        }
        pairs
    }

    proptest! {
        #[test]
        fn nothing_comes_nearer_than_along_its_normal(points in prop::array::uniform8(prop::array::uniform3(-1.0..1.0))) {
            let [p, a, b, c, by, by_a, by_b, by_c] = points.map(DVec3::from_array);
            let nearest = closest_point(&[a, b, c], p).point;
            let (before, normal) = (p.distance(nearest), (p - nearest).normalize_or_zero());
            let moved = [a + by_a, b + by_b, c + by_c];
            let after = closest_point(&moved, p + by).point.distance(p + by);
            let closing = [by_a, by_b, by_c].map(|by| by.dot(normal)).into_iter().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(after >= before - (closing - by.dot(normal)).max(0.0) - 1e-9);
        }
    }

    /// Two layers of one triangle each and a particle above, which pushes the upper one through the lower one: they are three thicknesses
    /// farther apart than they must be when the sweep begins, but less than a tenth of an edge.
    #[test]
    fn what_a_sweep_itself_brings_too_near_is_pushed_in_the_same_sweep() {
        let layer = |height: f64| {
            [DVec3::new(0.0, height, 0.0), DVec3::new(1.0, height, 0.0), DVec3::new(0.0, height, 1.0)]
        };
        let mut collisions = colliding(3, |_| false);
        for (body, height) in [(0, 0.0), (1, -0.04)] {
            let first = collisions.start.len() as u32;
            collisions.start.extend(layer(height));
            collisions.triangles.push([first, first + 1, first + 2]);
            collisions.body_of_triangle.push(body);
            collisions.body_of_point.extend([body; 3]);
        }
        collisions.start.push(DVec3::new(0.2, 0.02, 0.2));
        collisions.body_of_point.push(2);
        collisions.measure();
        let from = collisions.start.clone();
        let (mut weights, friction) = (vec![1.0; from.len()], vec![0.0; from.len()]);
        // The particle does not yield, and neither does the lowest layer.
        weights[6] = 0.0;
        weights[3..6].fill(0.0);
        let mut to = from.clone();
        to[6].y -= 0.1;
        let trajectory = Trajectory { from: &from, to: &to, longest: 0.1 };
        collisions.find(&trajectory, &weights, &friction, Simd::Auto);
        let mut positions = Positions::default();
        positions.copy_from(&to, &weights);
        collisions.project(&positions, &from);
        // The particle alone would push them to 0.12, 0.04 and 0.04 m below where they started.
        let heights = [0, 1, 2].map(|k| positions.get(k).y);
        assert!(heights[0] < -0.02, "they are pushed: {heights:?}");
        assert!(heights.iter().all(|height| *height > -0.04), "none is below the lower layer: {heights:?}");
    }

    #[test]
    fn cached_and_fresh_pairs_match_brute_force() {
        let mut collisions = sheets(14);
        let mut from = collisions.start.clone();
        let (weights, friction) = (vec![1.0; from.len()], vec![0.3; from.len()]);
        let (mut cache, mut looked) = (0, 0);
        for step in 0..12 {
            // Short steps, for which pairs are cached, and long ones.
            let length = if step % 4 == 3 { 0.08 } else { 0.002 };
            let by = |k: u32| {
                DVec3::new(f64::from(k + step).sin(), f64::from(3 * k).cos(), f64::from(5 * k + step).sin())
            };
            let to: Vec<DVec3> = (0..).zip(&from).map(|(k, p)| *p + length * by(k)).collect();
            let longest = from.iter().zip(&to).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            let trajectory = Trajectory { from: &from, to: &to, longest };
            if collisions.is_cache_valid(&trajectory) {
                cache += 1
            } else {
                looked += 1
            }
            collisions.find(&trajectory, &weights, &friction, Simd::Auto);
            let pairs = collisions.blocks.iter().flat_map(|block| &block.pairs);
            let found: Vec<(u32, [u32; 3])> = pairs.map(|pair| (pair.particle, pair.corners)).collect();
            assert!(found == all_pairs(&collisions, &trajectory), "step {step}");
            assert!(found.len() > 100, "{} pairs", found.len());
            from = to;
        }
        assert!(cache > 2 && looked > 2, "{cache} steps cache, {looked} looked");
    }
}
