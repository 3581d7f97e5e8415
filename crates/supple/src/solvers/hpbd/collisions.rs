//! Collisions with colliders: constraints of one particle and one side, found at the step's start along the particle's way
//! (Müller 2008, section 3, line 7) and projected on every level that has the particle.
//!
//! In the collider's own frame a particle goes from where it would ride along to where it is predicted. Distances tell how
//! far it may go on that way without touching (sphere tracing), so that nothing tunnels through thin colliders. Where it
//! touches, or ends nearby, a plane keeps it outside: `C = n·(p - q) >= 0`. Planes are tangents; when all other
//! constraints are done, what is still inside is moved out by the distance itself.
//!
//! Friction removes of the slip against the collider at most `μ` times what the plane has pushed in the step (Macklin 2014):
//! all of it where the particle sticks.

use glam::DVec3;
use rayon::prelude::*;

use super::positions::Positions;
use crate::contact::PosedCollider;
use crate::energy::chunks::Found;

/// Steps of a march; a way that is still not at its end then touches.
const MARCHES: usize = 64;

/// A particle near a collider.
#[derive(Debug, Clone, Copy)]
struct Touch {
    particle: u32,
    /// A point of the plane and its normal.
    point: DVec3,
    normal: DVec3,
    /// Where the particle would be if it rode along.
    carried: DVec3,
    friction: f64,
}

/// How far a particle at some place is from touching anything.
#[derive(Debug, Clone, Copy, Default)]
struct Clearance {
    from: DVec3,
    distance: f64,
}

/// All collisions of a step.
#[derive(Debug, Default)]
pub(super) struct Collisions {
    pub(super) colliders: Vec<PosedCollider>,
    /// Friction coefficient of every particle, where the collider gives none.
    pub(super) friction: Vec<f64>,
    touches: Found<Touch>,
    /// How far the plane of each has pushed in this step, and how far friction has held back, in metres.
    spent: Vec<[f64; 2]>,
    clearances: Vec<Clearance>,
}

impl Collisions {
    /// Looks for collisions on the way from `start` to where the particles are predicted. `reach` is how much farther
    /// constraints are expected to move them.
    pub(super) fn find(&mut self, start: &[DVec3], predicted: &[DVec3], weights: &[f64], reach: f64) {
        let mut touches = std::mem::take(&mut self.touches);
        touches.look(start.len(), |i, found| {
            if weights[i] > 0.0 {
                let touch = |collider| self.touch(collider, i, start[i], predicted[i], reach);
                found.extend(self.colliders.iter().filter_map(touch));
            }
        });
        self.touches = touches;
        self.spent.clear();
        self.spent.resize(self.touches.iter().count(), [0.0; 2]);
        let mut clearances = std::mem::take(&mut self.clearances);
        clearances.resize(if self.colliders.is_empty() { 0 } else { start.len() }, Clearance::default());
        clearances.par_iter_mut().enumerate().with_min_len(1024).for_each(|(i, clearance)| {
            let free =
                |collider: &PosedCollider| collider.separation(predicted[i]).distance - collider.thickness;
            let distance = self.colliders.iter().map(free).fold(f64::INFINITY, f64::min);
            *clearance = Clearance { from: predicted[i], distance };
        });
        self.clearances = clearances;
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
        let way = predicted - carried;
        let length = way.length();
        let (mut at, mut done) = (carried, 0.0);
        let mut found = collider.separation(at);
        for _ in 0..MARCHES {
            let free = found.distance - collider.thickness;
            if free <= 1e-3 * collider.thickness || done >= length {
                break;
            }
            done = (done + free.max(1e-3 * collider.thickness)).min(length);
            at = carried + way * (done / length);
            found = collider.separation(at);
        }
        let free = found.distance - collider.thickness;
        let touch = Touch {
            particle: i as u32,
            point: at - free * found.normal,
            normal: found.normal,
            carried,
            friction: collider.friction.unwrap_or(self.friction[i]),
        };
        // A march that ends before its way does has touched, however little particles move by themselves.
        let touches = done < length || free <= reach.max(1e-3 * collider.thickness);
        touches.then_some(touch)
    }

    /// Projects every particle for which `on_level` holds to its side of the planes, and holds it back by friction.
    pub(super) fn project(&mut self, positions: &Positions, on_level: impl Fn(u32) -> bool) {
        let touches = self.touches.iter().zip(&mut self.spent);
        for (touch, [pushed, held]) in touches.filter(|(touch, _)| on_level(touch.particle)) {
            let p = positions.get(touch.particle as usize);
            let depth = (touch.point - p).dot(touch.normal).max(0.0);
            *pushed += depth;
            if *pushed > 0.0 {
                let out = p + depth * touch.normal;
                let back = touch.held_back(out, *pushed, *held);
                *held += back.length();
                positions.set(touch.particle as usize, out - back);
            }
        }
    }

    /// Moves out what is still inside.
    pub(super) fn finish(&self, positions: &Positions) {
        for (i, clearance) in self.clearances.iter().enumerate().filter(|(i, _)| positions.weight(*i) > 0.0) {
            let p = positions.get(i);
            if p.distance(clearance.from) < clearance.distance {
                continue;
            }
            for collider in &self.colliders {
                let p = positions.get(i);
                let found = collider.separation(p);
                let depth = collider.thickness - found.distance;
                if depth > 0.0 {
                    positions.set(i, p + depth * found.normal);
                }
            }
        }
    }

    /// The number of particles in contact, and the deepest penetration of a collider's shape in metres.
    pub(super) fn count_and_depth(&self, positions: &[DVec3]) -> (u32, f64) {
        let (mut count, mut deepest) = (0, 0.0_f64);
        for (i, clearance) in self.clearances.iter().enumerate() {
            if positions[i].distance(clearance.from) * (1.0 + 1e-9) + 1e-12 < clearance.distance {
                continue;
            }
            for collider in &self.colliders {
                let distance = collider.separation(positions[i]).distance;
                count += u32::from(distance < collider.thickness * (1.0 + 1e-6));
                deepest = deepest.max(-distance);
            }
        }
        (count, deepest)
    }
}

impl Touch {
    /// The slip that friction takes back when the plane has pushed and friction has held by so many metres.
    fn held_back(&self, at: DVec3, pushed: f64, held: f64) -> DVec3 {
        let moved = at - self.carried;
        let slip = moved - moved.dot(self.normal) * self.normal;
        let (length, limit) = (slip.length(), (self.friction * pushed - held).max(0.0));
        if length <= limit { slip } else { slip * (limit / length) }
    }
}
