//! Contact of surfaces with themselves, with each other and with hard colliders: a barrier that keeps them apart, with friction.
//!
//! A pair of a vertex and a triangle or of two edges (four points, [`crate::contact::PrimitivePair`]) at a distance `d` below its
//! activation distance `D` has the energy of incremental potential contact (Li et al. 2020)
//!
//! ```text
//! E = k m b(d),     b(d) = -(d - D)² ln(d/D),
//! ```
//!
//! which is twice continuously differentiable at `D` and infinite at contact. `∂d/∂pᵢ = wᵢ n`, so the gradient is
//! `k m b' wᵢ n`. The Hessian is approximated by `k m b'' wᵢ wⱼ n nᵀ`, which is positive semi-definite. The omitted term, `b'` times
//! the Hessian of the distance, is negative where it is large, and small where it is positive: its size is
//! `D` over the length of an edge. The mollifier `m = c (2 - c)` with `c = |e₁ × e₂|² / (10⁻³ |ē₁|² |ē₂|²)`, at most 1,
//! fades out pairs of almost parallel edges (ē: the edges at the start), since their closest points jump.
//!
//! The stiffness `k = P A / D` gives about the pressure `P` at half the activation distance on the area `A` that a point represents.
//!
//! Friction acts on pairs that were near at the step's start, with force, normal and weights lagged from then; adhesive friction
//! (`adhesion`) stores their slip. Friction by impulses is not part of the energy. Tangled pairs have no barrier but a
//! spring that separates them by one thickness per step.
//!
//! Colliders are surfaces of driven points (`collider/obstacles.rs`): pairs with them are the same, but only the body's side moves. Spheres,
//! capsules and planes meet vertices and triangles by their exact distance (`distance/solids.rs`), as contacts of up to three points. All of
//! them are where they are after a fraction of the step, [`SelfContact::pose`]; the friction of a contact with a collider acts on the slip
//! relative to the collider's own motion.
//!
//! Bodies that start nearer to each other than the thickness acquire it gradually (`start_gaps`).

mod potential;
mod start_gaps;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::body::Embedding;
use crate::contact::ccd::time_of_impact::additive_advance;
use crate::contact::collider::obstacles::{Obstacles, Solid};
use crate::contact::friction::adhesion::Adhesion;
use crate::contact::friction::impulses::{FrictionImpulses, NormalImpulse};
use crate::contact::friction::{Friction, FrictionConstraint, across};
use crate::contact::{Candidate, Candidates, ClosestPoints, ColliderMeshes, PrimitivePair, Surfaces, Tangle};
use crate::energy::outer;
use crate::energy::{Energy, PointVisitor};
use crate::material::HessianMode;
use crate::scene::{Collider, FrictionModel};
use potential::{Mollifier, barrier};
use start_gaps::StartGaps;
use supple_core::Aabb;
use supple_core::Error;
use supple_core::parallel::{self, CHUNK, Found};
use supple_core::simd::Simd;
use supple_core::state::{StateReader, StateWriter};
use supple_linear::{BlockMatrix, PointHessians, ScalarMatrix};

/// The part of a system that contact needs.
#[derive(Debug, Default)]
pub struct ContactProperties {
    /// The surfaces of bodies; those of colliders follow when a step begins.
    pub surfaces: Surfaces,
    /// The points of bodies as combinations of unknowns.
    pub points: Arc<Embedding>,
    /// Stiffness `k` of each point of a body in N/m.
    pub stiffness: Vec<f64>,
    /// Friction coefficient of each point of a body.
    pub friction: Vec<f64>,
    /// The distance in metres below which surfaces repel each other.
    pub thickness: f64,
    /// Whether tangled surfaces are separated or ignored.
    pub untangle: bool,
    /// The friction model.
    pub friction_model: FrictionModel,
    /// The instruction sets that the broad phase may use.
    pub simd: Simd,
}

/// Contact statistics for reports.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ContactSummary {
    /// Active pairs.
    pub pairs: u32,
    /// Of these, pairs of a body and a collider.
    pub with_colliders: u32,
    /// The smallest distance of any of them in metres; `None` without any.
    pub closest: Option<f64>,
    /// Pairs of triangles that cross each other.
    pub crossings: u32,
}

/// Contact of a system's surfaces with each other.
#[derive(Debug, Default)]
pub struct SelfContact {
    properties: ContactProperties,
    friction_constraints: Vec<FrictionConstraint>,
    /// The slip of pairs since first contact: for adhesive friction.
    adhesion: Adhesion,
    untangling_springs: Vec<UntanglingSpring>,
    friction: Friction,
    /// Whether intersections are possible.
    tangled: bool,
    tangle: Tangle,
    start_gaps: StartGaps,
    obstacles: Obstacles,
    /// The control points of the colliders after the fraction `pose` of the step.
    driven: Vec<DVec3>,
    pose: f64,
    /// Points that are released from contact with a collider since they are inside: collider and point, sorted.
    released: Vec<[u32; 2]>,
    /// Spheres, capsules and planes where they are now, by collider.
    solids: Vec<(u32, Solid)>,
    detection: Mutex<Detection>,
}

/// Contacts found at some positions, kept so that evaluations allocate nothing.
#[derive(Debug, Default)]
struct Detection {
    candidates: Candidates,
    /// The positions at which `normal_contacts` were found.
    at: Vec<DVec3>,
    normal_contacts: Found<NormalContact>,
    /// The same with spheres, capsules and planes.
    solid_contacts: Found<NormalContact>,
    /// Whether both are valid.
    known: bool,
    /// The ends of a displacement.
    from: Vec<DVec3>,
    to: Vec<DVec3>,
    /// Positions of unknowns, as workspace.
    unknowns: Vec<DVec3>,
    weights: Vec<(u32, f64)>,
    sums: PointHessians,
}

impl Detection {
    /// All contacts, in an order that depends on the surfaces alone.
    fn contacts(&self) -> impl Iterator<Item = &NormalContact> {
        self.normal_contacts.iter().chain(self.solid_contacts.iter())
    }
}

/// A pair nearer than its activation distance.
#[derive(Debug, Clone, Copy)]
struct NormalContact {
    kind: ContactKind,
    points: [u32; 4],
    weights: [f64; 4],
    normal: DVec3,
    distance: f64,
    /// `k b`, `k b'` and `k b''`.
    barrier: [f64; 3],
    fade: Mollifier,
    /// How the nearest point of a triangle moves over a sphere or capsule as the triangle tilts.
    tilts: [[f64; 4]; 2],
}

/// What meets what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContactKind {
    /// Two primitives of surfaces.
    Pair(PrimitivePair),
    /// A vertex, the first point, and the sphere, capsule or plane of this number.
    VertexSolid(u32),
    /// A triangle, the first three points, and the sphere or capsule of this number.
    TriangleSolid(u32),
}

impl ContactKind {
    /// The collider that is a sphere, capsule or plane.
    fn solid(self) -> Option<usize> {
        match self {
            Self::Pair(_) => None,
            Self::VertexSolid(solid) | Self::TriangleSolid(solid) => Some(solid as usize),
        }
    }
}

/// A spring on `Σ wᵢ pᵢ` of an edge that passes through a triangle.
#[derive(Debug, Clone, Copy)]
struct UntanglingSpring {
    points: [u32; 5],
    weights: [f64; 5],
    target: DVec3,
    stiffness: f64,
}

impl NormalContact {
    /// `k m b`, `k m b'` and `k m b''`.
    fn barrier(&self) -> [f64; 3] {
        self.barrier.map(|b| self.fade.value * b)
    }

    /// The gradient by each of its points.
    fn gradient(&self) -> [DVec3; 4] {
        let slope = self.barrier()[1];
        let mut gradient = self.weights.map(|w| slope * w * self.normal);
        if self.fade.value < 1.0 {
            let [first, second] = self.fade.by_edge.map(|edge| self.barrier[0] * edge);
            gradient[0] -= first;
            gradient[1] += first;
            gradient[2] -= second;
            gradient[3] += second;
        }
        gradient
    }
}

impl SelfContact {
    /// Contact of these surfaces.
    pub fn new(properties: ContactProperties) -> Self {
        // Without contact between bodies, candidates are for colliders alone, which are not known yet.
        let candidates = match properties.surfaces.may_touch_any() {
            true => Candidates::new(&properties.surfaces, properties.simd),
            false => Candidates::default(),
        };
        let detection = Mutex::new(Detection { candidates, ..Detection::default() });
        Self { properties, detection, ..Self::default() }
    }

    /// Whether no contact is possible.
    pub fn is_empty(&self) -> bool {
        let surfaces = &self.properties.surfaces;
        surfaces.is_empty() || (self.obstacles.len() == 0 && !surfaces.may_touch_any())
    }

    /// Takes the colliders that are hard, in the order of the scene, for a step between two times. The control points start where they were
    /// when the last step ended.
    pub(crate) fn pose_colliders<'a>(
        &mut self,
        colliders: impl Iterator<Item = &'a Collider> + Clone,
        meshes: &ColliderMeshes,
        span: [f64; 2],
    ) -> Result<(), Error> {
        if self.properties.surfaces.is_empty() {
            return Ok(());
        }
        let others = self.obstacles.update(colliders, meshes)?;
        self.obstacles.begin(span)?;
        self.obstacles.place(0.0, &mut self.driven)?;
        self.pose = 0.0;
        self.find_solids();
        if others {
            let ContactProperties { surfaces, points, simd, .. } = &mut self.properties;
            surfaces.remove_driven();
            self.obstacles.add_to(surfaces, &self.driven);
            let count = surfaces.start.len();
            let all = Arc::make_mut(points);
            all.truncate(surfaces.body_points());
            (all.len()..count).for_each(|_| all.push([]));
            let candidates = Candidates::new(surfaces, *simd);
            *self.found_mut() = Detection { candidates, ..Detection::default() };
        }
        self.found_mut().known = false;
        Ok(())
    }

    /// The fraction of the step after which colliders are where they are.
    pub(crate) fn pose(&self) -> f64 {
        self.pose
    }

    /// Whether a step moves no collider.
    pub(crate) fn colliders_rest(&self) -> bool {
        self.obstacles.rest()
    }

    /// The farthest that a control point moves in the rest of the step, in metres.
    pub(crate) fn farthest_driven(&mut self) -> Result<f64, Error> {
        let mut end = std::mem::take(&mut self.found_mut().to);
        self.obstacles.place(1.0, &mut end)?;
        let moved = self.driven.iter().zip(&end).map(|(a, b)| a.distance_squared(*b));
        let farthest = moved.fold(0.0, f64::max).sqrt();
        self.found_mut().to = end;
        Ok(farthest)
    }

    /// Moves the colliders on towards a fraction of the step while the bodies go straight from `from` to `to`, as far as nothing
    /// meets. Returns the fraction of the bodies' displacement that was made; the colliders' is in [`Self::pose`], and is proportional.
    pub(crate) fn advance(&mut self, from: &[DVec3], to: &[DVec3], goal: f64) -> Result<f64, Error> {
        if self.is_empty() {
            self.pose = goal;
            return Ok(1.0);
        }
        let begin = self.pose;
        let mut done = 0.0;
        // The ways of colliders that turn are bent: they are made in parts, each almost straight.
        for _ in 0..MOST_PARTS {
            if self.pose >= goal {
                return Ok(1.0);
            }
            let mut next = goal.min(self.obstacles.smooth_until(self.pose));
            let bent = self.obstacles.deviation(self.pose, next)? > 0.0;
            let narrow = if bent { MOST_DEVIATION * self.least_gap(from, to, done) } else { 1.0 };
            while 2.0 * self.obstacles.deviation(self.pose, next)? > narrow && next - self.pose > LEAST_PART {
                next = 0.5 * (self.pose + next);
            }
            let whole = (next - begin) / (goal - begin);
            let free = self.free_part(from, to, [done, whole], next)?;
            done += free * (whole - done);
            let pose = if free >= 1.0 { next } else { self.pose + free * (next - self.pose) };
            self.set_pose(pose)?;
            if free < 1.0 {
                return Ok(done);
            }
        }
        Ok(done)
    }

    /// The smallest distance of any pair that may meet, but no less than a hundredth of the thickness: how far ways may be bent.
    fn least_gap(&self, from: &[DVec3], to: &[DVec3], done: f64) -> f64 {
        let mut at = std::mem::take(&mut self.lock().unknowns);
        at.clear();
        at.extend(from.iter().zip(to).map(|(a, b)| a.lerp(*b, done)));
        let mut found = self.normal_contacts(&at);
        found.unknowns = at;
        let least = found.contacts().map(|contact| contact.distance).fold(f64::INFINITY, f64::min);
        least.clamp(0.01 * self.properties.thickness, self.properties.thickness)
    }

    /// The collision-free fraction of a part of the displacement of bodies, from one fraction of it to another, and of the colliders from
    /// where they are to a fraction of the step.
    fn free_part(
        &mut self,
        from: &[DVec3],
        to: &[DVec3],
        [begin, end]: [f64; 2],
        pose: f64,
    ) -> Result<f64, Error> {
        let slack = 2.0 * self.obstacles.deviation(self.pose, pose)?;
        let mut found = std::mem::take(self.found_mut());
        let Detection { candidates, from: at, to: next, .. } = &mut found;
        let ContactProperties { surfaces, points, .. } = &self.properties;
        let part = |v: usize, part: f64| from[v].lerp(to[v], part);
        for (i, (at, next)) in resized(at, next, points.len()).enumerate() {
            let weights = points.weights(i);
            *at = weights.iter().map(|&(v, w)| w * part(v as usize, begin)).sum();
            *next = weights.iter().map(|&(v, w)| w * part(v as usize, end)).sum();
        }
        let bodies = surfaces.body_points();
        at[bodies..].copy_from_slice(&self.driven);
        let mut driven = std::mem::take(&mut self.driven);
        self.obstacles.place(pose, &mut driven)?;
        next[bodies..].copy_from_slice(&driven);
        driven.copy_from_slice(&at[bodies..]);
        self.driven = driven;
        let free = self.free_displacement(candidates, [at, next], [self.pose, pose], slack);
        *self.found_mut() = found;
        Ok(free)
    }

    /// The collision-free fraction of a displacement of all points, and of the colliders between two fractions of the step.
    fn free_displacement(
        &self,
        candidates: &mut Candidates,
        [at, end]: [&[DVec3]; 2],
        poses: [f64; 2],
        slack: f64,
    ) -> f64 {
        let ContactProperties { surfaces, .. } = &self.properties;
        let free = candidates.collision_free_step(surfaces, self.widest(), [at, end], slack);
        free.min(self.free_of_solids([at, end], poses, slack, free))
    }

    /// The largest activation distance.
    fn widest(&self) -> f64 {
        self.properties.surfaces.largest_reach(self.properties.thickness)
    }

    /// The fraction of a displacement, up to `until`, before a vertex or triangle meets a sphere, capsule or plane.
    fn free_of_solids(&self, [at, end]: [&[DVec3]; 2], poses: [f64; 2], slack: f64, until: f64) -> f64 {
        let surfaces = &self.properties.surfaces;
        let bodies = surfaces.body_points();
        let mut least = until;
        for index in 0..self.obstacles.len() {
            let Some(start) = self.obstacles.solid(index, &at[bodies..], poses[0]) else { continue };
            let Some(stop) = self.obstacles.solid(index, &end[bodies..], poses[1]) else { continue };
            let way = SolidWay { start, stop, slack };
            let touches = |p: u32| self.meets(p, index);
            let of_vertices = |range: std::ops::Range<usize>| {
                let vertices = range.filter(|&p| surfaces.stands_for[p] == p as u32 && touches(p as u32));
                vertices.fold(least, |until, p| {
                    let reach = surfaces.collider_reach(surfaces.body(p as u32), index);
                    way.free_vertex([at[p], end[p]], reach, until)
                })
            };
            least = parallel::fold(bodies, CHUNK, least, of_vertices, f64::min);
            let triangles = surfaces.body_triangles();
            let of_triangles = |range: std::ops::Range<usize>| {
                let met = range.map(|t| triangles[t]).filter(|t| t.iter().any(|p| touches(*p)));
                met.fold(least, |until, t| {
                    let reach = surfaces.collider_reach(surfaces.body(t[0]), index);
                    let [from, to] = [at, end].map(|x| t.map(|p| x[p as usize]));
                    way.free_triangle([from, to], reach, until)
                })
            };
            if matches!(start, Solid::Round { .. }) {
                least = parallel::fold(triangles.len(), CHUNK, least, of_triangles, f64::min);
            }
        }
        least
    }

    /// Whether a point of a body meets a sphere, capsule or plane: it belongs to a triangle and is not released.
    fn meets(&self, point: u32, collider: usize) -> bool {
        self.properties.stiffness[point as usize] > 0.0
            && (self.released.is_empty() || self.released.binary_search(&[collider as u32, point]).is_err())
    }

    /// Moves the colliders to a fraction of the step, whatever is in their way.
    pub(crate) fn set_pose(&mut self, pose: f64) -> Result<(), Error> {
        self.pose = pose;
        let mut driven = std::mem::take(&mut self.driven);
        self.obstacles.place(pose, &mut driven)?;
        self.driven = driven;
        self.find_solids();
        for constraint in &mut self.friction_constraints {
            if let Some(solid) = constraint.kind.solid() {
                constraint.anchor = self.obstacles.carry(solid, constraint.start_anchor, pose);
            }
        }
        self.found_mut().known = false;
        Ok(())
    }

    fn find_solids(&mut self) {
        let Self { solids, obstacles, driven, pose, .. } = self;
        solids.clear();
        let solid = |index: usize| Some((index as u32, obstacles.solid(index, driven, *pose)?));
        solids.extend((0..obstacles.len()).filter_map(solid));
    }

    fn found_mut(&mut self) -> &mut Detection {
        self.detection.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The surfaces.
    pub fn surfaces(&self) -> &Surfaces {
        &self.properties.surfaces
    }

    /// The intersections.
    pub fn tangle(&self) -> &Tangle {
        &self.tangle
    }

    /// Updates the intersections at `x`.
    pub fn update_tangle(&mut self, x: &[DVec3]) {
        let Self { properties, detection, tangle, .. } = self;
        let found = detection.get_mut().unwrap_or_else(PoisonError::into_inner);
        place(&properties.points, x, &self.driven, &mut found.at);
        *tangle = Tangle::find(&properties.surfaces, &mut found.candidates, &found.at);
        found.candidates.set_loose(&tangle.loose);
        found.known = false;
        self.tangled = !self.tangle.crossings.is_empty();
    }

    /// Sets how near bodies may come to each other at a time before they repel.
    fn set_reaches(&mut self, gaps: &StartGaps, time: f64) {
        let thickness = self.properties.thickness;
        if self.properties.surfaces.set_reaches(gaps.reaches(time, thickness)) {
            let found = self.detection.get_mut().unwrap_or_else(PoisonError::into_inner);
            found.candidates.forget();
            found.known = false;
        }
    }

    /// Starts a step of `dt` seconds that ends at `end` from `x`: lags friction and updates tangles.
    pub fn begin_step(&mut self, x: &[DVec3], [end, dt]: [f64; 2]) {
        if self.is_empty() {
            return;
        }
        let gaps = std::mem::take(&mut self.start_gaps);
        self.set_reaches(&gaps, end);
        self.start_gaps = gaps;
        let ContactProperties { friction_model, thickness, .. } = self.properties;
        self.friction = Friction::over(friction_model, dt, thickness);
        if self.tangled {
            self.update_tangle(x);
        }
        let mut untangling_springs = std::mem::take(&mut self.untangling_springs);
        let mut friction_constraints = std::mem::take(&mut self.friction_constraints);
        untangling_springs.clear();
        friction_constraints.clear();
        self.release_from_solids(x, dt, &mut untangling_springs);
        self.found_mut().known = false;
        let found = self.normal_contacts(x);
        if self.tangled && self.properties.untangle {
            self.find_untangling_springs(&found.at, &mut untangling_springs);
        }
        if self.properties.friction_model != FrictionModel::Impulse {
            friction_constraints
                .extend(found.contacts().filter_map(|contact| self.lagged_friction(contact, &found.at)));
        }
        drop(found);
        (self.untangling_springs, self.friction_constraints) = (untangling_springs, friction_constraints);
    }

    /// Ends a step at `x`: adhesive friction stores the slip of pairs.
    pub fn end_step(&mut self, x: &[DVec3]) {
        self.obstacles.end(&self.driven);
        if self.properties.friction_model != FrictionModel::Adhesive {
            return;
        }
        let mut adhesion = std::mem::take(&mut self.adhesion);
        let found = self.normal_contacts(x);
        adhesion.keep(&self.friction_constraints, &found.at, |constraint| {
            self.friction.kept(self.slip(constraint, &found.at))
        });
        drop(found);
        self.adhesion = adhesion;
    }

    /// Takes over the state from the previous contact of the same surfaces: the slip of pairs, and the initial gaps of bodies.
    pub fn take_over_anchors(&mut self, before: &mut Self) {
        self.take_over_colliders(before);
        self.adhesion = std::mem::take(&mut before.adhesion);
        self.start_gaps = std::mem::take(&mut before.start_gaps);
    }

    /// Takes over where the colliders ended.
    pub(crate) fn take_over_colliders(&mut self, before: &mut Self) {
        self.obstacles.take_over(&before.obstacles);
    }

    /// Saves the state on which later steps depend.
    pub fn save(&self, state: &mut StateWriter) {
        state.whole(u64::from(self.tangled));
        self.adhesion.save(state);
        state.numbers(&self.start_gaps.saved());
    }

    /// Restores a saved state; intersections are found when the next step starts.
    pub fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        self.tangled = state.whole()? != 0;
        self.adhesion.restore(state)?;
        self.start_gaps.restore(&state.numbers(self.start_gaps.saved_len())?);
        self.tangle = Tangle::default();
        let found = self.detection.get_mut().unwrap_or_else(PoisonError::into_inner);
        found.candidates.set_loose(&[]);
        found.known = false;
        Ok(())
    }

    /// Adds the contacts that friction impulses act on, over a step of `dt` seconds that ends at `x`.
    pub fn add_impulses(&self, x: &[DVec3], dt: f64, impulses: &mut FrictionImpulses) {
        if self.is_empty() {
            return;
        }
        let mut found = self.normal_contacts(x);
        let mut list = std::mem::take(&mut found.weights);
        for contact in found.contacts() {
            let limit = dt * self.friction_limit(contact);
            on_unknowns(&self.properties.points, &contact.points, &contact.weights, &mut list);
            if limit > 0.0 {
                let carried = self.carried(contact, &found.at);
                impulses.push(&list, NormalImpulse { normal: contact.normal, limit, carried });
            }
        }
        found.weights = list;
    }

    /// How far the collider's side of a contact moves in the whole step.
    fn carried(&self, contact: &NormalContact, at: &[DVec3]) -> DVec3 {
        let bodies = self.properties.surfaces.body_points();
        if let Some(solid) = contact.kind.solid() {
            let here = combine(&contact.points, &contact.weights, at);
            return here - self.obstacles.carry_back(solid, here, self.pose);
        }
        let driven = contact.points.iter().zip(contact.weights).filter(|(p, _)| **p as usize >= bodies);
        driven.map(|(p, w)| -w * self.obstacles.moved(*p as usize - bodies, at[*p as usize])).sum()
    }

    /// The largest friction of a pair in newtons.
    fn friction_limit(&self, contact: &NormalContact) -> f64 {
        let of_body = |p: u32| self.properties.friction.get(p as usize).copied();
        // Each side has weights that sum to one.
        let sides = contact.points.iter().zip(contact.weights);
        let bodies: f64 = sides.filter_map(|(&p, w)| Some(w.abs() * of_body(p)?)).sum();
        let friction = match self.collider_of(contact) {
            Some(collider) => self.obstacles.friction(collider).unwrap_or(bodies),
            None => 0.5 * bodies,
        };
        friction * -contact.barrier()[1]
    }

    /// The collider of a contact that has one.
    fn collider_of(&self, contact: &NormalContact) -> Option<usize> {
        let surfaces = &self.properties.surfaces;
        contact.kind.solid().or_else(|| contact.points.iter().find_map(|p| surfaces.collider(*p)))
    }

    fn lagged_friction(&self, contact: &NormalContact, at: &[DVec3]) -> Option<FrictionConstraint> {
        let NormalContact { kind, points, weights, normal, .. } = *contact;
        let limit = self.friction_limit(contact);
        let here = combine(&points, &weights, at);
        let slipped = self.adhesion.slip(kind, points, normal, at);
        let anchor = here - slipped;
        let start_anchor = anchor;
        let constraint = FrictionConstraint { kind, points, weights, normal, anchor, start_anchor, limit };
        (limit > 0.0).then_some(constraint)
    }

    fn find_untangling_springs(&self, at: &[DVec3], untangling_springs: &mut Vec<UntanglingSpring>) {
        let ContactProperties { surfaces, stiffness, thickness, .. } = &self.properties;
        for piercing in self.tangle.piercings(surfaces, at) {
            let of = piercing.points.map(|p| stiffness.get(p as usize).copied().unwrap_or(0.0));
            untangling_springs.push(UntanglingSpring {
                points: piercing.points,
                weights: piercing.weights,
                target: combine(&piercing.points, &piercing.weights, at) + *thickness * piercing.direction,
                stiffness: of.iter().sum::<f64>() / 5.0,
            });
        }
    }

    /// Releases the points that are inside spheres, capsules and planes from contact with them, and finds the springs that push them out.
    fn release_from_solids(&mut self, x: &[DVec3], dt: f64, springs: &mut Vec<UntanglingSpring>) {
        let mut at = std::mem::take(&mut self.found_mut().to);
        place(&self.properties.points, x, &self.driven, &mut at);
        let ContactProperties { surfaces, stiffness, thickness, untangle, .. } = &self.properties;
        let bodies = surfaces.body_points();
        self.released.clear();
        let push = thickness.max(PUSH_SPEED * dt);
        for index in 0..self.obstacles.len() {
            let Some(solid) = self.obstacles.solid(index, &at[bodies..], self.pose) else { continue };
            for p in (0..bodies as u32).filter(|p| stiffness[*p as usize] > 0.0) {
                let found = solid.to_vertex(at[p as usize]);
                if found.distance > 0.0 {
                    continue;
                }
                self.released.push([index as u32, p]);
                if *untangle {
                    let out = (*thickness - found.distance).min(push);
                    springs.push(UntanglingSpring {
                        points: [p; 5],
                        weights: [1.0, 0.0, 0.0, 0.0, 0.0],
                        target: at[p as usize] + out * found.normal,
                        stiffness: stiffness[p as usize],
                    });
                }
            }
            if matches!(solid, Solid::Round { .. }) {
                for t in surfaces.body_triangles() {
                    let corners = t.map(|p| at[p as usize]);
                    if solid.to_triangle_if_near(&corners, 0.0).is_some_and(|found| found.distance <= 0.0) {
                        self.released.extend(t.map(|p| [index as u32, p]));
                    }
                }
            }
        }
        self.released.sort_unstable();
        self.released.dedup();
        self.found_mut().to = at;
    }

    /// The collision-free fraction of the straight displacement from one state to another, up to rounding.
    pub fn collision_free_step(&self, from: &[DVec3], to: &[DVec3]) -> f64 {
        if self.is_empty() {
            return 1.0;
        }
        let points = &self.properties.points;
        let mut found = self.lock();
        let Detection { candidates, from: at, to: end, .. } = &mut *found;
        place(points, from, &self.driven, at);
        place(points, to, &self.driven, end);
        let bounded = bound_displacement(at, end, self.properties.surfaces.body_points());
        bounded * self.free_displacement(candidates, [at, end], [self.pose; 2], 0.0)
    }

    /// Statistics at `x`.
    pub fn summary(&self, x: &[DVec3]) -> ContactSummary {
        let mut summary =
            ContactSummary { crossings: self.tangle.crossings.len() as u32, ..Default::default() };
        if self.is_empty() {
            return summary;
        }
        for contact in self.normal_contacts(x).contacts() {
            summary.pairs += 1;
            summary.with_colliders += u32::from(self.collider_of(contact).is_some());
            summary.closest = Some(summary.closest.map_or(contact.distance, |d| d.min(contact.distance)));
        }
        summary
    }

    fn lock(&self) -> MutexGuard<'_, Detection> {
        self.detection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds all contacts at `x`.
    fn normal_contacts(&self, x: &[DVec3]) -> MutexGuard<'_, Detection> {
        let ContactProperties { surfaces, points, .. } = &self.properties;
        let mut found = self.lock();
        let Detection { candidates, at, normal_contacts, solid_contacts, known, from: next, .. } =
            &mut *found;
        place(points, x, &self.driven, next);
        // A step evaluates value, gradient and Hessian at the same positions.
        if *known && at == next {
            return found;
        }
        std::mem::swap(at, next);
        candidates.look(
            surfaces,
            self.widest(),
            at,
            normal_contacts,
            |candidate, closest, normal_contacts| {
                normal_contacts.push(self.normal_contact(candidate, &closest, at));
            },
        );
        self.find_solid_contacts(at, solid_contacts);
        *known = true;
        found
    }

    /// Finds the contacts with spheres, capsules and planes at the points' positions.
    fn find_solid_contacts(&self, at: &[DVec3], contacts: &mut Found<NormalContact>) {
        let surfaces = &self.properties.surfaces;
        let (bodies, triangles) = (surfaces.body_points(), surfaces.body_triangles());
        let count = if self.solids.is_empty() { 0 } else { bodies + triangles.len() };
        contacts.look(count, |i, list| {
            for &(index, solid) in &self.solids {
                let contact = match i.checked_sub(bodies) {
                    None => self.vertex_contact(i as u32, index as usize, solid, at),
                    Some(t) => self.triangle_contact(triangles[t], index as usize, solid, at),
                };
                list.extend(contact);
            }
        });
    }

    fn vertex_contact(&self, p: u32, index: usize, solid: Solid, at: &[DVec3]) -> Option<NormalContact> {
        let ContactProperties { surfaces, stiffness, .. } = &self.properties;
        let reach = surfaces.collider_reach(surfaces.body(p), index);
        let found = solid.to_vertex(at[p as usize]);
        let is_near = found.distance < reach && stiffness[p as usize] > 0.0 && self.meets(p, index);
        is_near.then(|| NormalContact {
            kind: ContactKind::VertexSolid(index as u32),
            points: [p; 4],
            weights: [1.0, 0.0, 0.0, 0.0],
            normal: found.normal,
            distance: found.distance,
            barrier: self.scaled_barrier(found.distance, reach, stiffness[p as usize]),
            fade: Mollifier::NONE,
            tilts: [[0.0; 4]; 2],
        })
    }

    fn triangle_contact(
        &self,
        t: [u32; 3],
        index: usize,
        solid: Solid,
        at: &[DVec3],
    ) -> Option<NormalContact> {
        if matches!(solid, Solid::HalfSpace { .. }) {
            return None;
        }
        let ContactProperties { surfaces, stiffness, .. } = &self.properties;
        let reach = surfaces.collider_reach(surfaces.body(t[0]), index);
        let corners = t.map(|p| at[p as usize]);
        let found = solid.to_triangle_if_near(&corners, reach)?;
        let [a, b, c] = t;
        let [wa, wb, wc] = found.weights;
        let is_near = found.distance < reach && t.iter().any(|p| self.meets(*p, index));
        let mean = t.iter().map(|p| stiffness[*p as usize]).sum::<f64>() / 6.0;
        is_near.then(|| NormalContact {
            kind: ContactKind::TriangleSolid(index as u32),
            points: [a, b, c, a],
            weights: [wa, wb, wc, 0.0],
            normal: found.normal,
            distance: found.distance,
            barrier: self.scaled_barrier(found.distance, reach, mean),
            fade: Mollifier::NONE,
            tilts: solid.tilts(&corners, &found).map(|[a, b, c]| [a, b, c, 0.0]),
        })
    }

    /// `k b`, `k b'` and `k b''` for a stiffness at the thickness of bodies.
    fn scaled_barrier(&self, distance: f64, reach: f64, stiffness: f64) -> [f64; 3] {
        barrier(distance, reach).map(|b| stiffness * self.properties.thickness / reach * b)
    }

    fn normal_contact(&self, candidate: &Candidate, closest: &ClosestPoints, at: &[DVec3]) -> NormalContact {
        let Candidate { kind, points, reach, .. } = *candidate;
        let corners = points.map(|p| at[p as usize]);
        let distance = closest.offset.length();
        let ContactProperties { surfaces, stiffness, .. } = &self.properties;
        let of = points.map(|p| stiffness.get(p as usize).copied().unwrap_or(0.0));
        let (stiffness, fade) = match kind {
            // A vertex of a collider meets a triangle of a body, which alone is stiff.
            PrimitivePair::VertexTriangle if surfaces.is_driven(points[0]) => {
                ((of[1] + of[2] + of[3]) / 3.0, Mollifier::NONE)
            }
            PrimitivePair::VertexTriangle => (of[0], Mollifier::NONE),
            PrimitivePair::EdgeEdge => {
                let start = points.map(|p| surfaces.start[p as usize]);
                let edges = |[a, b, c, d]: [DVec3; 4]| [b - a, d - c];
                (0.125 * of.iter().sum::<f64>(), Mollifier::of(edges(corners), edges(start)))
            }
        };
        NormalContact {
            kind: ContactKind::Pair(kind),
            points,
            weights: closest.weights,
            normal: closest.offset.normalize_or_zero(),
            distance,
            barrier: self.scaled_barrier(distance, reach, stiffness),
            fade,
            tilts: [[0.0; 4]; 2],
        }
    }

    fn slip(&self, constraint: &FrictionConstraint, at: &[DVec3]) -> DVec3 {
        across(combine(&constraint.points, &constraint.weights, at) - constraint.anchor, constraint.normal)
    }

    /// Calls `visit` with weights on points and the Hessian of their combination.
    fn hessians(&self, found: &Detection, mode: HessianMode, mut visit: impl FnMut(&[u32], &[f64], DMat3)) {
        for contact in found.contacts() {
            visit(&contact.points, &contact.weights, contact.barrier()[2] * outer(contact.normal));
            for tilt in contact.tilts.iter().filter(|tilt| **tilt != [0.0; 4]) {
                visit(&contact.points, tilt, -contact.barrier()[1] * outer(contact.normal));
            }
        }
        for constraint in &self.friction_constraints {
            let hessian = constraint.limit
                * self.friction.hessian(self.slip(constraint, &found.at), constraint.normal, mode);
            visit(&constraint.points, &constraint.weights, hessian);
        }
        for spring in &self.untangling_springs {
            visit(&spring.points, &spring.weights, DMat3::from_diagonal(DVec3::splat(spring.stiffness)));
        }
    }
}

/// The positions of all points: those of bodies, then the driven ones of colliders.
fn place(points: &Embedding, x: &[DVec3], driven: &[DVec3], at: &mut Vec<DVec3>) {
    at.resize(points.len(), DVec3::ZERO);
    let (bodies, colliders) = at.split_at_mut(points.len() - driven.len());
    bodies.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, at)| *at = points.position(i, x));
    colliders.copy_from_slice(driven);
}

/// Two lists of the same length, side by side.
fn resized<'a>(
    at: &'a mut Vec<DVec3>,
    next: &'a mut Vec<DVec3>,
    count: usize,
) -> impl Iterator<Item = (&'a mut DVec3, &'a mut DVec3)> {
    at.resize(count, DVec3::ZERO);
    next.resize(count, DVec3::ZERO);
    at.iter_mut().zip(next)
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

/// Parts of a bent way that are tested one by one, at most.
const MOST_PARTS: u32 = 4096;
/// The smallest part of a step that is tested by itself.
const LEAST_PART: f64 = 1e-6;
/// How far a way may be bent, over the smallest distance around it.
const MOST_DEVIATION: f64 = 0.1;
/// How fast points that are inside colliders are pushed out, in m/s.
const PUSH_SPEED: f64 = 0.3;

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

/// `Σ wᵢ pᵢ`.
fn combine(points: &[u32], weights: &[f64], at: &[DVec3]) -> DVec3 {
    points.iter().zip(weights).map(|(&p, &w)| w * at[p as usize]).sum()
}

/// The weights on unknowns of a combination of points, with duplicate unknowns merged.
fn on_unknowns(embedding: &Embedding, points: &[u32], weights: &[f64], list: &mut Vec<(u32, f64)>) {
    list.clear();
    for (&point, &weight) in points.iter().zip(weights).filter(|(_, w)| **w != 0.0) {
        for &(v, w) in embedding.weights(point as usize) {
            match list.iter_mut().find(|(known, _)| *known == v) {
                Some((_, sum)) => *sum += weight * w,
                None => list.push((v, weight * w)),
            }
        }
    }
}

impl Energy for SelfContact {
    fn value(&self, x: &[DVec3]) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let found = self.normal_contacts(x);
        let at = &found.at;
        let barrier_energies: f64 = found.contacts().map(|contact| contact.barrier()[0]).sum();
        let friction_energies = self
            .friction_constraints
            .iter()
            .map(|constraint| constraint.limit * self.friction.value(self.slip(constraint, at)));
        let untangling_energies = self.untangling_springs.iter().map(|spring| {
            let off = combine(&spring.points, &spring.weights, at) - spring.target;
            0.5 * spring.stiffness * off.length_squared()
        });
        barrier_energies + friction_energies.sum::<f64>() + untangling_energies.sum::<f64>()
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        if self.is_empty() {
            return;
        }
        let found = self.normal_contacts(x);
        let points = &self.properties.points;
        let mut scatter = |at: &[u32], weights: &[f64], force: DVec3| {
            at.iter().zip(weights).for_each(|(&p, &w)| points.scatter(p as usize, w * force, gradient));
        };
        for constraint in &self.friction_constraints {
            let force = constraint.limit * self.friction.gradient(self.slip(constraint, &found.at));
            scatter(&constraint.points, &constraint.weights, force);
        }
        for spring in &self.untangling_springs {
            let off = combine(&spring.points, &spring.weights, &found.at) - spring.target;
            scatter(&spring.points, &spring.weights, spring.stiffness * off);
        }
        for contact in found.contacts() {
            let forces = contact.gradient();
            contact
                .points
                .iter()
                .zip(forces)
                .for_each(|(&p, force)| points.scatter(p as usize, force, gradient));
        }
    }

    /// None that persist: pairs come and go, and their blocks are outside the pattern.
    fn couplings(&self, _pair: &mut dyn FnMut(u32, u32)) {}

    fn point_hessians(&self, x: &[DVec3], mode: HessianMode, visit: PointVisitor<'_>) {
        if self.is_empty() {
            return;
        }
        let mut found = self.normal_contacts(x);
        let mut list = std::mem::take(&mut found.weights);
        self.hessians(&found, mode, |points, weights, block| {
            on_unknowns(&self.properties.points, points, weights, &mut list);
            visit(&list, block);
        });
        found.weights = list;
    }

    /// The same sums as point by point, row by row on all threads.
    fn add_hessian(&self, x: &[DVec3], mode: HessianMode, hessian: &mut BlockMatrix) {
        if self.is_empty() {
            return;
        }
        let mut found = self.normal_contacts(x);
        let mut list = std::mem::take(&mut found.weights);
        let mut sums = std::mem::take(&mut found.sums);
        sums.clear();
        self.hessians(&found, mode, |points, weights, block| {
            on_unknowns(&self.properties.points, points, weights, &mut list);
            sums.push(&list, block);
        });
        hessian.add_points(&mut sums);
        (found.weights, found.sums) = (list, sums);
    }

    /// A bound by its diagonal, `wᵢ wⱼ <= |wᵢ| Σ |wⱼ|`: the factor of projective dynamics cannot store other pairs.
    fn add_projective(&self, x: &[DVec3], matrix: &mut ScalarMatrix) -> bool {
        self.point_hessians(x, HessianMode::PsdProjected, &mut |point, block| {
            let bound = block.to_cols_array().into_iter().map(|entry| entry * entry).sum::<f64>().sqrt();
            let total: f64 = point.iter().map(|(_, w)| w.abs()).sum();
            point.iter().for_each(|&(v, w)| matrix.add_diagonal(v, w.abs() * total * bound));
        });
        true
    }
}
