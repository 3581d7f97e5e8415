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
//! With [`ContactModel::Repulsion`] a quadratic potential with a smooth onset takes the place of `b` (Wu et al. 2022, section 4.2), with a
//! stiffness a thousand times that of the material. Its Hessian is bounded, and no distance is too small for single precision; but its force ends
//! at about `k D`, so that more than that presses a pair to the limit of the collision-free step. Everything else is the same: pairs, mollifier, friction,
//! and steps that are truncated before anything meets.
//!
//! The stiffness `k = P A / D` of the barrier gives about the pressure `P` at half the activation distance on the area `A` that a point represents.
//!
//! Friction acts on pairs that were near at the step's start, with force, normal and weights lagged from then; adhesive friction
//! (`adhesion`) stores their slip. Friction by impulses is not part of the energy. Tangled pairs have no barrier but a
//! spring that separates them by one thickness per step.
//!
//! Colliders are surfaces of driven points (`collider/obstacles.rs`): pairs with them are the same, but only the body's side moves. Spheres,
//! capsules and planes meet vertices and triangles by their exact distance (`distance/solids.rs`), as contacts of up to three points. All of
//! them are where they are after a fraction of the step (`driven_colliders`); the friction of a contact with a collider acts on the slip
//! relative to the collider's own motion.
//!
//! Bodies that start nearer to each other than the thickness acquire it gradually (`start_gaps`).

mod clearance;
mod driven_colliders;
mod energy;
mod forces;
mod free_displacement;
mod lagged_friction;
mod linearised;
mod near_solids;
mod normal_contacts;
mod pinch;
mod potential;
mod start_gaps;
mod state_recorder;
#[cfg(test)]
mod tests;
mod untangling;

use std::sync::{Arc, Mutex, PoisonError};

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::body::Embedding;
use crate::contact::collider::obstacles::{Obstacles, Solid};
use crate::contact::friction::adhesion::Adhesion;
use crate::contact::friction::{Friction, FrictionConstraint};
use crate::contact::{Candidates, Released, Surfaces};
use crate::scene::{ContactModel, FrictionModel};
pub(crate) use clearance::Clearance;
pub(crate) use linearised::LinearisedContacts;
pub(crate) use normal_contacts::ContactKind;
use normal_contacts::Detection;
use start_gaps::StartGaps;
pub(crate) use state_recorder::PieceOrigin;
use state_recorder::StateRecorder;
use supple_core::Error;
use supple_core::parallel::CHUNK;
use supple_core::simd::Simd;
use supple_core::state::{StateReader, StateWriter};
pub use untangling::{Entanglement, PUSH_SPEED};
use untangling::{HeldPoints, SpeedLimit, UntanglingSpring};

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
    /// The potential by which they repel each other.
    pub model: ContactModel,
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

/// Everything in a scene that can touch: the surfaces of all bodies, and hard colliders.
#[derive(Debug, Default)]
pub struct ContactSystem {
    properties: ContactProperties,
    friction_constraints: Vec<FrictionConstraint>,
    /// The slip of pairs since first contact: for adhesive friction.
    adhesion: Adhesion,
    untangling_springs: Vec<UntanglingSpring>,
    speed_limits: Vec<SpeedLimit>,
    friction: Friction,
    /// Whether intersections are possible.
    tangled: bool,
    entanglement: Entanglement,
    held: HeldPoints,
    /// Collider and point of what a pinch has released in this step, sorted.
    pinched: Vec<[u32; 2]>,
    /// For how many seconds places were pulled out of colliders, sorted by collider and points.
    pulled: Vec<([u32; 4], f64)>,
    /// The duration of the step in seconds.
    step: f64,
    start_gaps: StartGaps,
    obstacles: Obstacles,
    /// Changes with the triangles of colliders.
    surfaces_number: u32,
    /// The control points of the colliders after the fraction `pose` of the step.
    driven: Vec<DVec3>,
    pose: f64,
    /// What is released from contact with a collider since it is inside.
    released: Released,
    /// Spheres, capsules and planes where they are now, by collider.
    solids: Vec<(u32, Solid)>,
    detection: Mutex<Detection>,
    /// Every accepted state, if requested.
    recorder: Option<Mutex<StateRecorder>>,
}

impl ContactSystem {
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

    /// The surfaces.
    pub fn surfaces(&self) -> &Surfaces {
        &self.properties.surfaces
    }

    /// The position of a point of a body.
    pub(crate) fn position(&self, point: usize, x: &[DVec3]) -> DVec3 {
        self.properties.points.position(point, x)
    }

    /// The names of colliders, by number.
    pub(crate) fn collider_name(&self, index: usize) -> &str {
        self.obstacles.name(index)
    }

    /// The vertex of a collider that is a mesh nearest to a place, as numbered in its file, and the name of the part it belongs to.
    pub(crate) fn collider_vertex(&self, index: usize, place: DVec3) -> Option<(usize, Option<&str>)> {
        self.obstacles.nearest_vertex(index, place, &self.driven)
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
        self.step = dt;
        self.pinched.clear();
        let ContactProperties { friction_model, thickness, .. } = self.properties;
        self.friction = Friction::over(friction_model, dt, thickness);
        self.tangled = self.tangled || {
            let mut at = std::mem::take(&mut self.found_mut().to);
            place(&self.properties.points, x, &self.driven, &mut at);
            let inside = self.is_any_in_solids(&at);
            self.found_mut().to = at;
            inside
        };
        if self.tangled {
            self.update_tangle(x);
        }
        let mut untangling_springs = std::mem::take(&mut self.untangling_springs);
        let mut speed_limits = std::mem::take(&mut self.speed_limits);
        let mut friction_constraints = std::mem::take(&mut self.friction_constraints);
        untangling_springs.clear();
        speed_limits.clear();
        friction_constraints.clear();
        self.found_mut().known = false;
        let found = self.normal_contacts(x);
        if self.tangled && self.properties.untangle {
            self.find_untangling_springs(dt, &found.at, &mut untangling_springs);
            self.find_speed_limits(dt, &found.at, &mut speed_limits);
        }
        if self.properties.friction_model != FrictionModel::Impulse {
            friction_constraints
                .extend(found.contacts().filter_map(|contact| self.lagged_friction(contact, &found.at)));
        }
        drop(found);
        (self.untangling_springs, self.speed_limits) = (untangling_springs, speed_limits);
        self.friction_constraints = friction_constraints;
    }

    /// Ends a step at `x`: adhesive friction stores the slip of pairs.
    pub fn end_step(&mut self, x: &[DVec3]) {
        self.obstacles.end(&self.driven);
        if self.tangled || !self.pulled.is_empty() {
            self.end_pulling();
        }
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
        self.pulled = std::mem::take(&mut before.pulled);
        self.start_gaps = std::mem::take(&mut before.start_gaps);
    }

    /// Takes over where the colliders ended.
    pub(crate) fn take_over_colliders(&mut self, before: &mut Self) {
        self.obstacles.take_over(&before.obstacles);
        self.recorder = before.recorder.take();
    }

    /// Saves the state on which later steps depend.
    pub fn save(&self, state: &mut StateWriter) {
        state.whole(u64::from(self.tangled));
        self.adhesion.save(state);
        state.numbers(&self.start_gaps.saved());
        self.save_pulling(state);
        self.obstacles.save(state);
    }

    /// Restores a saved state; intersections are found when the next step starts.
    pub fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        self.tangled = state.whole()? != 0;
        self.adhesion.restore(state)?;
        self.start_gaps.restore(&state.numbers(self.start_gaps.saved_len())?);
        self.restore_pulling(state)?;
        self.obstacles.restore(state)?;
        self.entanglement = Entanglement::default();
        self.released.clear();
        let found = self.detection.get_mut().unwrap_or_else(PoisonError::into_inner);
        found.candidates.set_loose(&[]);
        found.candidates.set_released(&self.released);
        found.known = false;
        Ok(())
    }

    /// Statistics at `x`.
    pub fn summary(&self, x: &[DVec3]) -> ContactSummary {
        let mut summary =
            ContactSummary { crossings: self.entanglement.crossings().len() as u32, ..Default::default() };
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
}

/// The positions of all points: those of bodies, then the driven ones of colliders.
fn place(points: &Embedding, x: &[DVec3], driven: &[DVec3], at: &mut Vec<DVec3>) {
    at.resize(points.len(), DVec3::ZERO);
    let (bodies, colliders) = at.split_at_mut(points.len() - driven.len());
    bodies.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, at)| *at = points.position(i, x));
    colliders.copy_from_slice(driven);
}

/// `Σ wᵢ pᵢ`.
fn combine(points: &[u32], weights: &[f64], at: &[DVec3]) -> DVec3 {
    points.iter().zip(weights).map(|(&p, &w)| w * at[p as usize]).sum()
}
