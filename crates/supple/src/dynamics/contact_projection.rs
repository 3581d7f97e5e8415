//! Contact for families that make their own steps: what they would do in a step is changed as little as possible so that nothing passes
//! anything.
//!
//! A family moves its unknowns from `x₀`, where nothing crosses, towards `x*`. The projection finds `x` near it in the metric of the masses,
//!
//! ```text
//! min 1/2 (x - x*)ᵀ M (x - x*)   such that no pair comes nearer than what it keeps,
//! ```
//!
//! by a sequence of linear inequalities. From where everything is, after the part `s` of the step, the contacts are linearised
//! (`contact/barrier/linearised.rs`), with the motion of colliders in the rest of the step; projected Gauss-Seidel with Coulomb friction finds the
//! nearest displacement that satisfies them; and all go along it, colliders too, as far as continuous collision detection finds nothing
//! in the way:
//!
//! ```text
//! s = 0 ── linearise, project x* ── advance while free ─▶ s = 0.4 ── linearise, project x* ── advance while free ─▶ s = 1
//! ```
//!
//! Contacts are inelastic, and conserve the momentum of bodies. Where [`Clearance`] proves that nothing comes near, nothing is done: the result is
//! `x*` in either case, bit for bit.

use glam::DVec3;

use super::System;
use crate::contact::barrier::{Clearance, ContactSystem, LinearisedContacts};
use crate::scene_state::SceneState;
use supple_core::Error;
use supple_core::parallel::{self, CHUNK};
use supple_core::state::{StateReader, StateWriter};

/// Linearisations of a step at most.
const MOST_ROUNDS: u32 = 100;
/// Advances in which steps that meet nothing arrive: one may stop early where things merely come near.
const FREE_ADVANCES: u32 = 4;
/// Sweeps over all contacts at most, and the correction at which they end, over the thickness.
const MOST_SWEEPS: u32 = 40;
const SMALL_CORRECTION: f64 = 1e-3;
/// How fast pairs part that are nearer than what they keep: in m/s, and as a fraction of their relative motion.
const PARTING_SPEED: f64 = 0.05;
const PARTING_FRACTION: f64 = 0.05;
/// Steps for which clearance is measured at once.
const MEASURED_STEPS: f64 = 8.0;
/// How far clearance is measured in mean edge lengths: where bodies touch themselves or each other, and where they touch colliders only.
const FARTHEST_MEASURED: [f64; 2] = [0.5, 4.0];
/// Steps without measuring after one that did not pay, at most.
const LONGEST_PAUSE: u32 = 32;

/// Contact of all bodies of a scene, as a projection of a step.
#[derive(Default)]
pub(crate) struct ContactProjection {
    contact: ContactSystem,
    clearance: Clearance,
    contacts: LinearisedContacts,
    /// For each contact how far it has pushed along its normal, and slip removed across it, over the inverse mass.
    pushes: Vec<(f64, DVec3)>,
    at: Vec<DVec3>,
    /// Whether the colliders are where their motion says.
    arrived: bool,
    /// Steps to go without measuring clearance, and how many there were the last time.
    pause: [u32; 2],
    farthest_measured: f64,
    thickness: f64,
    /// Contacts that pushed in the last step.
    pushing: u32,
    /// How often a step was made in more than one part.
    cuts: u32,
}

impl ContactProjection {
    /// Contact of the bodies whose system this is, which then has none; bodies are at `x`, and `old_index[b]` is the previous index of
    /// body `b`.
    pub(crate) fn new(
        system: &mut System,
        scene_state: &SceneState,
        x: &[DVec3],
        mut before: Option<(&mut Self, &[Option<usize>])>,
    ) -> Result<Self, Error> {
        let contact = std::mem::take(&mut system.contact_system);
        let mut new =
            Self { contact, arrived: false, thickness: scene_state.contact.thickness, ..Self::default() };
        let surfaces = new.contact.surfaces();
        let edges = surfaces.triangles.iter().map(|t| {
            let [a, b] = [t[0], t[1]].map(|p| surfaces.start[p as usize]);
            a.distance(b)
        });
        let mean = edges.sum::<f64>() / surfaces.triangles.len().max(1) as f64;
        let touch = usize::from(!surfaces.may_touch_any());
        new.farthest_measured = (FARTHEST_MEASURED[touch] * mean).max(new.thickness);
        let colliders = scene_state.colliders.iter().map(|(_, collider)| collider);
        if let Some((before, _)) = &mut before {
            new.contact.take_over_colliders(&mut before.contact);
        }
        new.contact.pose_colliders(colliders, &scene_state.collider_meshes, [scene_state.time; 2])?;
        if !new.contact.is_empty() {
            new.contact.update_tangle(x);
            let mut none = Self::default();
            let all_new = vec![None; scene_state.bodies.len()];
            let (before, old_index) = before.unwrap_or((&mut none, &all_new));
            new.contact.begin_bodies(&before.contact, x, scene_state.time, old_index);
        }
        Ok(new)
    }

    /// Changes a step of all unknowns from `from` to `to` between two times so that nothing passes anything. Unknowns with an inverse mass of
    /// zero keep their positions in `to`, unless there is no room.
    pub(crate) fn project(
        &mut self,
        scene_state: &SceneState,
        span: [f64; 2],
        from: &[DVec3],
        inverse_mass: &[f64],
        to: &mut [DVec3],
    ) -> Result<(), Error> {
        (self.pushing, self.cuts) = (0, 0);
        let colliders = || scene_state.colliders.iter().map(|(_, collider)| collider);
        let still = self.arrived && self.contact.colliders_are_still(colliders(), span);
        if !still {
            self.contact.pose_colliders(colliders(), &scene_state.collider_meshes, span)?;
        }
        self.arrived = true;
        if self.contact.is_empty() {
            return Ok(());
        }
        if self.is_clear(from, to, still)? {
            if !still {
                self.contact.end_step(to);
            }
            return Ok(());
        }
        if still {
            self.contact.pose_colliders(colliders(), &scene_state.collider_meshes, span)?;
        }
        self.contact.set_pose(0.0)?;
        self.contact.begin_step(from, [span[1], span[1] - span[0]]);
        if !self.passes_freely(from, to)? {
            self.contact.set_pose(0.0)?;
            self.advance_in_rounds(span[1] - span[0], from, inverse_mass, to)?;
        }
        self.arrived = self.contact.pose() >= 1.0;
        self.contact.end_step(to);
        Ok(())
    }

    /// Whether nothing comes near anything; the colliders are then at the step's end.
    fn is_clear(&mut self, from: &[DVec3], to: &[DVec3], still: bool) -> Result<bool, Error> {
        if self.contact.is_tangled() {
            return Ok(false);
        }
        let deviation = if still { 0.0 } else { self.contact.deviation_of_colliders()? };
        if self.clearance.is_known() {
            if !still {
                self.contact.set_pose(1.0)?;
            }
            if self.clearance.allows(&self.contact, to, deviation) {
                return Ok(true);
            }
        }
        self.clearance.forget();
        if self.pause[0] > 0 {
            self.pause[0] -= 1;
            return Ok(false);
        }
        let way = |range: std::ops::Range<usize>| {
            range.map(|i| from[i].distance_squared(to[i])).fold(0.0, f64::max)
        };
        let longest = parallel::fold(from.len(), CHUNK, 0.0, way, f64::max).sqrt();
        if !still {
            self.contact.set_pose(0.0)?;
        }
        let range = (MEASURED_STEPS * longest).clamp(self.thickness, self.farthest_measured);
        self.clearance.measure(&self.contact, from, range);
        if !still {
            self.contact.set_pose(1.0)?;
        }
        let clear = self.clearance.allows(&self.contact, to, deviation);
        self.pause[1] = if clear { 0 } else { (2 * self.pause[1]).clamp(1, LONGEST_PAUSE) };
        self.pause[0] = self.pause[1];
        Ok(clear)
    }

    /// Whether all arrive without meeting anything, no nearer to each other than what they keep. That is true wherever [`Clearance`] proves it:
    /// the result does not depend on when that was measured.
    fn passes_freely(&mut self, from: &[DVec3], to: &[DVec3]) -> Result<bool, Error> {
        self.at.clear();
        self.at.extend_from_slice(from);
        for _ in 0..FREE_ADVANCES {
            let free = self.contact.advance(&self.at, to, 1.0)?;
            if free >= 1.0 {
                self.contact.linearise(to, &mut self.contacts)?;
                return Ok(self.contacts.list.iter().all(|contact| contact.spare >= 0.0));
            }
            self.at.iter_mut().zip(to).for_each(|(at, to)| *at = at.lerp(*to, free));
        }
        Ok(false)
    }

    fn advance_in_rounds(
        &mut self,
        dt: f64,
        from: &[DVec3],
        inverse_mass: &[f64],
        to: &mut [DVec3],
    ) -> Result<(), Error> {
        self.at.clear();
        self.at.extend_from_slice(from);
        for _ in 0..MOST_ROUNDS {
            self.contact.linearise(&self.at, &mut self.contacts)?;
            self.satisfy(dt, inverse_mass, to);
            let free = self.contact.advance(&self.at, to, 1.0)?;
            if free >= 1.0 {
                return Ok(());
            }
            self.cuts += 1;
            self.at.iter_mut().zip(&*to).for_each(|(at, to)| *at = at.lerp(*to, free));
        }
        to.copy_from_slice(&self.at);
        Ok(())
    }

    /// Changes `to` so that the displacement from where everything is satisfies the contacts, by projected Gauss-Seidel.
    fn satisfy(&mut self, dt: f64, inverse_mass: &[f64], to: &mut [DVec3]) {
        let Self { contacts, pushes, at, thickness, .. } = self;
        pushes.clear();
        pushes.resize(contacts.list.len(), (0.0, DVec3::ZERO));
        for _ in 0..MOST_SWEEPS {
            let mut largest = 0.0_f64;
            for (contact, (push, held)) in contacts.list.iter().zip(&mut *pushes) {
                let weights = contacts.weights(contact);
                let give: f64 = weights.iter().map(|&(v, w)| w * w * inverse_mass[v as usize]).sum();
                if give <= 0.0 {
                    continue;
                }
                let moved: DVec3 = weights.iter().map(|&(v, w)| w * (to[v as usize] - at[v as usize])).sum();
                let slip = moved - contact.carried;
                let along = slip.dot(contact.normal);
                // Pairs that are too near part slowly, so that they do not fly apart.
                let parting =
                    PARTING_SPEED * dt + PARTING_FRACTION * (slip - along * contact.normal).length();
                let missing = -(along + contact.spare.max(-parting));
                let next = (*push + missing / give).max(0.0);
                let by = next - *push;
                *push = next;
                let mut change = by * contact.normal;
                if contact.friction > 0.0 && (next > 0.0 || *held != DVec3::ZERO) {
                    let across = slip - along * contact.normal;
                    let limit = contact.friction * next;
                    let wanted = (*held - across / give).clamp_length_max(limit);
                    change += wanted - *held;
                    *held = wanted;
                }
                if change != DVec3::ZERO {
                    largest = largest.max(change.length() * give);
                    for &(v, w) in weights {
                        to[v as usize] += w * inverse_mass[v as usize] * change;
                    }
                }
            }
            if largest <= SMALL_CORRECTION * *thickness {
                break;
            }
        }
        self.pushing = self.pushing.max(pushes.iter().filter(|(push, _)| *push > 0.0).count() as u32);
    }

    /// Contact of all bodies.
    pub(crate) fn contact(&self) -> &ContactSystem {
        &self.contact
    }

    /// Contacts that pushed in the last step.
    pub(crate) fn pushing(&self) -> u32 {
        self.pushing
    }

    /// How often the last step was cut where something would meet.
    pub(crate) fn cuts(&self) -> u32 {
        self.cuts
    }

    /// Saves the state on which later steps depend.
    pub(crate) fn save(&self, state: &mut StateWriter) {
        self.contact.save(state);
    }

    /// Restores a saved state.
    pub(crate) fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        self.clearance.forget();
        (self.arrived, self.pause) = (false, [0; 2]);
        self.contact.restore(state)
    }
}
