//! Collisions with colliders: unilateral constraints of one particle, found at the step's start along the particle's trajectory
//! (Müller 2008, section 3, line 7) and projected on every level that has the particle.
//!
//! In the collider's own frame a particle moves from its co-moving position to its prediction. Distances bound how
//! far it may move along that path without touching (sphere tracing), so that nothing tunnels through thin colliders. Where it
//! touches, or ends nearby, a plane keeps it outside: `C = n·(p - q) >= 0`. Planes are tangents; when all other
//! constraints are done, particles that are still inside are moved out by the distance itself.
//!
//! Friction removes at most `μ` times the plane's push in this step from the slip relative to the collider (Macklin 2014):
//! all of it where the particle sticks.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::body::Body;
use crate::contact::PosedCollider;
use crate::contact::barrier::PUSH_SPEED;
use crate::solvers::hpbd::collision::points::Points;
use crate::solvers::hpbd::collision::pushes::Pushes;
use crate::solvers::hpbd::positions::Positions;
use supple_core::parallel::Found;

/// Steps of a march; a path that is not at its end by then counts as touching.
const MARCHES: usize = 64;

/// A point near a collider.
#[derive(Debug, Clone, Copy)]
struct Touch {
    point_number: u32,
    collider: u32,
    /// A point of the plane and its normal.
    point: DVec3,
    normal: DVec3,
    /// Its co-moving position.
    carried: DVec3,
    friction: f64,
    /// How deep it may still be at the step's end, below the collider's thickness, in metres: where it started inside.
    left: f64,
}

/// How far a particle is from touching anything.
#[derive(Debug, Clone, Copy, Default)]
struct ParticleClearance {
    from: DVec3,
    distance: f64,
    /// How deep the particle may still be, in metres.
    left: f64,
}

/// All collisions of a step.
#[derive(Debug, Default)]
pub(crate) struct Collisions {
    pub(crate) colliders: Vec<PosedCollider>,
    /// Friction coefficient of every particle, used where neither the scene's pairs nor the collider specify one.
    pub(crate) friction: Vec<f64>,
    touches: Found<Touch>,
    /// How far each plane has pushed in this step, and how much slip friction has removed, in metres.
    spent: Vec<[f64; 2]>,
    clearances: Vec<ParticleClearance>,
    points: Points,
    /// How far what starts inside is pushed out in this step at most, in metres.
    longest_push: f64,
    /// What they have pushed.
    pub(crate) pushes: Pushes,
}

impl Collisions {
    /// For the bodies whose first particles are given.
    pub(crate) fn set_bodies(&mut self, bodies: &[Body], first: &[u32]) {
        self.points = Points::new(bodies, first);
    }

    /// Finds collisions on the path from `start` to the predicted positions. `reach` is how much farther
    /// constraints are expected to move the particles. The step has `dt` seconds.
    pub(crate) fn find(
        &mut self,
        start: &[DVec3],
        predicted: &[DVec3],
        weights: &[f64],
        [reach, dt]: [f64; 2],
    ) {
        self.longest_push = PUSH_SPEED * dt;
        let points = &self.points;
        let count = if self.colliders.is_empty() { 0 } else { points.embedded() + start.len() };
        let mut touches = std::mem::take(&mut self.touches);
        touches.look(count, |i, found| {
            if points.give(i, |p| weights[p]) > 0.0 {
                let [start, predicted] = [start, predicted].map(|x| points.at(i, |p| x[p]));
                let touch = |(number, collider)| {
                    let touch = self.touch(collider, i, start, predicted, reach)?;
                    Some(Touch { collider: number, ..touch })
                };
                found.extend(self.colliders_of(i).filter_map(touch));
            }
        });
        self.touches = touches;
        self.spent.clear();
        self.spent.resize(self.touches.len(), [0.0; 2]);
        let mut clearances = std::mem::take(&mut self.clearances);
        clearances.resize(count, ParticleClearance::default());
        clearances.par_iter_mut().enumerate().with_min_len(1024).for_each(|(i, clearance)| {
            let from = points.at(i, |p| predicted[p]);
            let free = |collider: &PosedCollider| collider.separation(from).distance - collider.thickness;
            let distance =
                self.colliders_of(i).map(|(_, collider)| free(collider)).fold(f64::INFINITY, f64::min);
            *clearance = ParticleClearance { from, distance, left: 0.0 };
        });
        for touch in self.touches.iter().filter(|touch| touch.left > 0.0) {
            let clearance = &mut clearances[touch.point_number as usize];
            clearance.left = clearance.left.max(touch.left);
        }
        self.clearances = clearances;
    }

    /// The colliders that a point's body meets, with their numbers.
    fn colliders_of(&self, point: usize) -> impl Iterator<Item = (u32, &PosedCollider)> {
        let body = self.points.body(point);
        (0..).zip(&self.colliders).filter(move |(_, collider)| collider.meets(body))
    }

    fn touch(
        &self,
        collider: &PosedCollider,
        i: usize,
        start: DVec3,
        predicted: DVec3,
        reach: f64,
    ) -> Option<Touch> {
        let carried = collider.carry(start);
        let path = predicted - carried;
        let length = path.length();
        let (mut at, mut done) = (carried, 0.0);
        let mut found = collider.separation(at);
        // What is inside comes out no faster than that.
        let farthest = if found.distance < 0.0 { self.longest_push } else { f64::INFINITY };
        for _ in 0..MARCHES {
            let free = found.distance - collider.thickness;
            if free <= 1e-3 * collider.thickness || done >= length {
                break;
            }
            done = (done + free.max(1e-3 * collider.thickness)).min(length);
            at = carried + path * (done / length);
            found = collider.separation(at);
        }
        let free = found.distance - collider.thickness;
        let touch = Touch {
            point_number: i as u32,
            collider: 0,
            point: at + (-free).min(farthest) * found.normal,
            normal: found.normal,
            carried,
            friction: collider
                .friction(self.points.body(i))
                .unwrap_or_else(|| self.points.friction(i, &self.friction)),
            left: (-free - farthest).max(0.0),
        };
        // A march that ends before its path does has touched, however little particles move by themselves.
        let touches = done < length || free <= reach.max(1e-3 * collider.thickness);
        touches.then_some(touch)
    }

    /// Projects every particle for which `on_level` is true, and points between such, to their side of the planes, and applies friction.
    pub(crate) fn project(&mut self, positions: &Positions, on_level: impl Fn(u32) -> bool) {
        let points = &self.points;
        for (touch, [pushed, held]) in self.touches.iter().zip(&mut self.spent) {
            let number = touch.point_number as usize;
            if !points.all(number, &on_level) {
                continue;
            }
            let p = points.at(number, |p| positions.get(p));
            let depth = (touch.point - p).dot(touch.normal).max(0.0);
            *pushed += depth;
            if *pushed > 0.0 {
                let out = depth * touch.normal;
                let back = touch.held_back(p + out, *pushed, *held);
                *held += back.length();
                points.move_by(number, out - back, positions);
                if out != back {
                    points.for_each_share(number, positions, |p, share| {
                        self.pushes.add(touch.collider, p, [share * out, -share * back]);
                    });
                }
            }
        }
    }

    /// Moves out particles that are still inside.
    pub(crate) fn finish(&mut self, positions: &Positions) {
        let points = &self.points;
        for (i, clearance) in self.clearances.iter().enumerate() {
            let p = points.at(i, |p| positions.get(p));
            if p.distance(clearance.from) < clearance.distance
                || points.give(i, |p| positions.weight(p)) <= 0.0
            {
                continue;
            }
            let body = points.body(i);
            for (number, collider) in (0..).zip(&self.colliders).filter(|(_, collider)| collider.meets(body))
            {
                let p = points.at(i, |p| positions.get(p));
                let found = collider.separation(p);
                let depth = collider.thickness - found.distance - clearance.left;
                if depth > 0.0 {
                    let out = depth * found.normal;
                    points.move_by(i, out, positions);
                    points.for_each_share(i, positions, |p, share| {
                        self.pushes.add(number, p, [share * out, DVec3::ZERO]);
                    });
                }
            }
        }
    }

    /// The number of particles and points in contact, and the deepest penetration of a collider's shape, in metres.
    pub(crate) fn count_and_depth(&self, positions: &[DVec3]) -> (u32, f64) {
        let (mut count, mut deepest) = (0, 0.0_f64);
        for (i, clearance) in self.clearances.iter().enumerate() {
            let p = self.points.at(i, |p| positions[p]);
            let is_free = p.distance(clearance.from) * (1.0 + 1e-9) + 1e-12 < clearance.distance;
            if is_free || !self.points.collides(i) {
                continue;
            }
            for (_, collider) in self.colliders_of(i) {
                let distance = collider.separation(p).distance;
                count += u32::from(distance < collider.thickness * (1.0 + 1e-6));
                deepest = deepest.max(-distance);
            }
        }
        (count, deepest)
    }
}

impl Touch {
    /// The slip that friction removes when the plane has pushed and friction has acted by this many metres.
    fn held_back(&self, at: DVec3, pushed: f64, held: f64) -> DVec3 {
        let moved = at - self.carried;
        let slip = moved - moved.dot(self.normal) * self.normal;
        let (length, limit) = (slip.length(), (self.friction * pushed - held).max(0.0));
        if length <= limit { slip } else { slip * (limit / length) }
    }
}
