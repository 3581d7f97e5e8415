//! Contact of surfaces with themselves and with each other: a barrier that keeps them apart, with friction.
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
//! Bodies that start nearer to each other than the thickness acquire it gradually (`start_gaps`).

mod potential;
mod start_gaps;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::body::Embedding;
use crate::contact::friction::adhesion::Adhesion;
use crate::contact::friction::impulses::{FrictionImpulses, NormalImpulse};
use crate::contact::friction::{Friction, FrictionConstraint, across};
use crate::contact::{Candidate, Candidates, ClosestPoints, PrimitivePair, Surfaces, Tangle};
use crate::energy::outer;
use crate::energy::{Energy, PointVisitor};
use crate::material::HessianMode;
use crate::scene::FrictionModel;
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
    /// The surfaces.
    pub surfaces: Surfaces,
    /// Their points as combinations of unknowns.
    pub points: Arc<Embedding>,
    /// Stiffness `k` of each point in N/m.
    pub stiffness: Vec<f64>,
    /// Friction coefficient of each point.
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
    detection: Mutex<Detection>,
}

/// Contacts found at some positions, kept so that evaluations allocate nothing.
#[derive(Debug, Default)]
struct Detection {
    candidates: Candidates,
    /// The positions at which `normal_contacts` were found.
    at: Vec<DVec3>,
    normal_contacts: Found<NormalContact>,
    /// Whether `normal_contacts` is valid.
    known: bool,
    /// The ends of a displacement.
    from: Vec<DVec3>,
    to: Vec<DVec3>,
    weights: Vec<(u32, f64)>,
    sums: PointHessians,
}

/// A pair nearer than its activation distance.
#[derive(Debug, Clone, Copy)]
struct NormalContact {
    kind: PrimitivePair,
    points: [u32; 4],
    weights: [f64; 4],
    normal: DVec3,
    distance: f64,
    /// `k b`, `k b'` and `k b''`.
    barrier: [f64; 3],
    fade: Mollifier,
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
        let candidates = Candidates::new(&properties.surfaces, properties.simd);
        let detection = Mutex::new(Detection { candidates, ..Detection::default() });
        Self { properties, detection, ..Self::default() }
    }

    /// Whether no contact is possible.
    pub fn is_empty(&self) -> bool {
        self.properties.surfaces.is_empty()
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
        place(&properties.points, x, &mut found.at);
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
        let found = self.normal_contacts(x);
        if self.tangled && self.properties.untangle {
            self.find_untangling_springs(&found.at, &mut untangling_springs);
        }
        if self.properties.friction_model != FrictionModel::Impulse {
            friction_constraints.extend(
                found.normal_contacts.iter().filter_map(|contact| self.lagged_friction(contact, &found.at)),
            );
        }
        drop(found);
        (self.untangling_springs, self.friction_constraints) = (untangling_springs, friction_constraints);
    }

    /// Ends a step at `x`: adhesive friction stores the slip of pairs.
    pub fn end_step(&mut self, x: &[DVec3]) {
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
        self.adhesion = std::mem::take(&mut before.adhesion);
        self.start_gaps = std::mem::take(&mut before.start_gaps);
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
        for contact in found.normal_contacts.iter() {
            let limit = dt * self.friction_limit(contact);
            on_unknowns(&self.properties.points, &contact.points, &contact.weights, &mut list);
            if limit > 0.0 {
                impulses.push(&list, NormalImpulse { normal: contact.normal, limit, carried: DVec3::ZERO });
            }
        }
        found.weights = list;
    }

    /// The largest friction of a pair in newtons.
    fn friction_limit(&self, contact: &NormalContact) -> f64 {
        // Both sides have weights that sum to one.
        let of = |(&p, w): (&u32, f64)| w.abs() * self.properties.friction[p as usize];
        let sum: f64 = contact.points.iter().zip(contact.weights).map(of).sum();
        0.5 * sum * -contact.barrier()[1]
    }

    fn lagged_friction(&self, contact: &NormalContact, at: &[DVec3]) -> Option<FrictionConstraint> {
        let NormalContact { kind, points, weights, normal, .. } = *contact;
        let limit = self.friction_limit(contact);
        let slipped = self.adhesion.slip(kind, points, normal, at);
        let anchor = combine(&points, &weights, at) - slipped;
        (limit > 0.0).then_some(FrictionConstraint { kind, points, weights, normal, anchor, limit })
    }

    fn find_untangling_springs(&self, at: &[DVec3], untangling_springs: &mut Vec<UntanglingSpring>) {
        let ContactProperties { surfaces, stiffness, thickness, .. } = &self.properties;
        for piercing in self.tangle.piercings(surfaces, at) {
            let of = piercing.points.map(|p| stiffness[p as usize]);
            untangling_springs.push(UntanglingSpring {
                points: piercing.points,
                weights: piercing.weights,
                target: combine(&piercing.points, &piercing.weights, at) + *thickness * piercing.direction,
                stiffness: of.iter().sum::<f64>() / 5.0,
            });
        }
    }

    /// The collision-free fraction of the straight displacement from one state to another, up to rounding.
    pub fn collision_free_step(&self, from: &[DVec3], to: &[DVec3]) -> f64 {
        if self.is_empty() {
            return 1.0;
        }
        let ContactProperties { surfaces, points, thickness, .. } = &self.properties;
        let mut found = self.lock();
        let Detection { candidates, from: at, to: end, .. } = &mut *found;
        place(points, from, at);
        place(points, to, end);
        let bounded = bound_displacement(at, end);
        bounded * candidates.collision_free_step(surfaces, *thickness, at, end)
    }

    /// Statistics at `x`.
    pub fn summary(&self, x: &[DVec3]) -> ContactSummary {
        let mut summary =
            ContactSummary { crossings: self.tangle.crossings.len() as u32, ..Default::default() };
        if self.is_empty() {
            return summary;
        }
        for contact in self.normal_contacts(x).normal_contacts.iter() {
            summary.pairs += 1;
            summary.closest = Some(summary.closest.map_or(contact.distance, |d| d.min(contact.distance)));
        }
        summary
    }

    fn lock(&self) -> MutexGuard<'_, Detection> {
        self.detection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds all contacts at `x`.
    fn normal_contacts(&self, x: &[DVec3]) -> MutexGuard<'_, Detection> {
        let ContactProperties { surfaces, points, thickness, .. } = &self.properties;
        let mut found = self.lock();
        let Detection { candidates, at, normal_contacts, known, from: next, .. } = &mut *found;
        place(points, x, next);
        // A step evaluates value, gradient and Hessian at the same positions.
        if *known && at == next {
            return found;
        }
        std::mem::swap(at, next);
        candidates.look(surfaces, *thickness, at, normal_contacts, |candidate, closest, normal_contacts| {
            normal_contacts.push(self.normal_contact(candidate, &closest, at));
        });
        *known = true;
        found
    }

    fn normal_contact(&self, candidate: &Candidate, closest: &ClosestPoints, at: &[DVec3]) -> NormalContact {
        let Candidate { kind, points, reach, .. } = *candidate;
        let corners = points.map(|p| at[p as usize]);
        let distance = closest.offset.length();
        let ContactProperties { surfaces, stiffness, thickness, .. } = &self.properties;
        let of = points.map(|p| stiffness[p as usize]);
        let (stiffness, fade) = match kind {
            PrimitivePair::VertexTriangle => (of[0], Mollifier::NONE),
            PrimitivePair::EdgeEdge => {
                let start = points.map(|p| surfaces.start[p as usize]);
                let edges = |[a, b, c, d]: [DVec3; 4]| [b - a, d - c];
                (0.125 * of.iter().sum::<f64>(), Mollifier::of(edges(corners), edges(start)))
            }
        };
        NormalContact {
            kind,
            points,
            weights: closest.weights,
            normal: closest.offset.normalize_or_zero(),
            distance,
            barrier: barrier(distance, reach).map(|b| stiffness * thickness / reach * b),
            fade,
        }
    }

    fn slip(&self, constraint: &FrictionConstraint, at: &[DVec3]) -> DVec3 {
        across(combine(&constraint.points, &constraint.weights, at) - constraint.anchor, constraint.normal)
    }

    /// Calls `visit` with weights on points and the Hessian of their combination.
    fn hessians(&self, found: &Detection, mode: HessianMode, mut visit: impl FnMut(&[u32], &[f64], DMat3)) {
        for contact in found.normal_contacts.iter() {
            visit(&contact.points, &contact.weights, contact.barrier()[2] * outer(contact.normal));
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

/// The positions of all points.
fn place(points: &Embedding, x: &[DVec3], at: &mut Vec<DVec3>) {
    at.resize(points.len(), DVec3::ZERO);
    at.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, at)| *at = points.position(i, x));
}

/// Shortens a displacement on which a point would depart from the mean motion by more than the extent of the scene, as
/// diverging methods attempt: all pairs would have to be tested. Returns the remaining fraction.
fn bound_displacement(from: &[DVec3], to: &mut [DVec3]) -> f64 {
    let count = from.len();
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
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from + left * (*to - *from));
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
        let barrier_energies: f64 = found.normal_contacts.iter().map(|contact| contact.barrier()[0]).sum();
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
        for contact in found.normal_contacts.iter() {
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
