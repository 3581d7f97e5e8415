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
//! Where driven points do not arrive they are in a pinch: what is squeezed is released, little by little, and passed in the end
//! (`contact/barrier/pinch.rs`); with `pinch = "stop"` they wait. What is inside colliders or crosses goes out along
//! the ways of `contact/barrier/untangling.rs`, as fast as its springs would pull it.
//!
//! Contacts are inelastic, and conserve the momentum of bodies. Where [`Clearance`] proves that nothing comes near, nothing is done: the result is
//! `x*` in either case, bit for bit.

use glam::DVec3;

use super::System;
use crate::contact::barrier::{Clearance, ContactSystem, LinearisedContacts};
use crate::contact::forces::ContactSite;
use crate::scene::Pinch;
use crate::scene_state::SceneState;
use supple_core::Error;
use supple_core::parallel::{self, CHUNK};

/// Linearisations of a step at most.
const MOST_ROUNDS: u32 = 100;
/// The same after points without room were released.
const PINCH_ROUNDS: u32 = 12;
/// How far driven points go on between two linearisations, in multiples of the thickness.
const PART_LENGTH: f64 = 2.0;
/// Advances in which steps that meet nothing arrive: one may stop early where things merely come near.
const FREE_ADVANCES: u32 = 4;
/// Sweeps over all contacts at most, and the correction at which they end, over the thickness.
const MOST_SWEEPS: u32 = 400;
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

/// Contact of all bodies of a scene, as a projection of a step. The contact system itself is that of the bodies' [`System`].
#[derive(Default)]
pub(crate) struct ContactProjection {
    clearance: Clearance,
    contacts: LinearisedContacts,
    /// For each contact how far it has pushed along its normal, and slip removed across it, over the inverse mass.
    pushes: Vec<(f64, DVec3)>,
    at: Vec<DVec3>,
    part: Vec<DVec3>,
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
    /// Where fixed unknowns belong at the step's end.
    targets: Vec<DVec3>,
    fixed: Vec<bool>,
    lag_of_pins: f64,
    /// What contacts have pushed since [`Self::begin_step`].
    impulses: Vec<ContactImpulse>,
}

/// The impulses of a contact on its points, over their weights there: along its normal, and by friction, in N·s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ContactImpulse {
    pub(crate) site: ContactSite,
    pub(crate) impulses: [DVec3; 2],
}

impl ContactProjection {
    /// Contact of the bodies whose system this is. Bodies are at `x`, and `old_index[b]` is the index of body `b` in the contact `before`.
    pub(crate) fn new(
        system: &mut System,
        scene_state: &SceneState,
        x: &[DVec3],
        (before, old_index): (&mut ContactSystem, &[Option<usize>]),
    ) -> Result<Self, Error> {
        let contact = &mut system.contact_system;
        let mut new = Self { thickness: scene_state.contact.thickness(), ..Self::default() };
        let surfaces = contact.surfaces();
        let edges = surfaces.triangles.iter().map(|t| {
            let [a, b] = [t[0], t[1]].map(|p| surfaces.start[p as usize]);
            a.distance(b)
        });
        let mean = edges.sum::<f64>() / surfaces.triangles.len().max(1) as f64;
        let touch = usize::from(!surfaces.may_touch_any());
        new.farthest_measured = (FARTHEST_MEASURED[touch] * mean).max(new.thickness);
        let colliders = scene_state.colliders.iter().map(|(_, collider)| collider);
        contact.take_over_colliders(before);
        contact.pose_colliders(colliders, &scene_state.collider_meshes, [scene_state.time; 2])?;
        if !contact.is_empty() {
            let (mut targets, mut fixed) = (x.to_vec(), Vec::new());
            system.apply_pins(scene_state, scene_state.time, &mut targets, &mut fixed)?;
            let contact = &mut system.contact_system;
            contact.hold_points(&fixed, x, &targets);
            contact.update_tangle(x);
            contact.begin_bodies(before, x, scene_state.time, old_index);
        }
        Ok(new)
    }

    /// Changes a step of all unknowns from `from` to `to` between two times so that nothing passes anything. Unknowns with an inverse mass of
    /// zero keep their positions in `to`, unless there is no room.
    pub(crate) fn project(
        &mut self,
        contact: &mut ContactSystem,
        scene_state: &SceneState,
        span: [f64; 2],
        from: &[DVec3],
        inverse_mass: &[f64],
        to: &mut [DVec3],
    ) -> Result<(), Error> {
        (self.pushing, self.cuts, self.lag_of_pins) = (0, 0, 0.0);
        contact.record_states(scene_state.record_states);
        let colliders = || scene_state.colliders.iter().map(|(_, collider)| collider);
        let still = self.arrived && contact.colliders_are_still(colliders(), span);
        if !still {
            contact.pose_colliders(colliders(), &scene_state.collider_meshes, span)?;
        }
        self.arrived = true;
        if contact.is_empty() {
            return Ok(());
        }
        // Where nothing is near the result is the same, but a record has every step.
        if !scene_state.record_states && self.is_clear(contact, from, to, still)? {
            if !still {
                contact.end_step(to);
            }
            return Ok(());
        }
        if still {
            contact.pose_colliders(colliders(), &scene_state.collider_meshes, span)?;
        }
        self.fixed.clear();
        self.fixed.extend(inverse_mass.iter().map(|weight| *weight == 0.0));
        self.targets.clear();
        self.targets.extend_from_slice(to);
        contact.set_pose(0.0)?;
        contact.hold_points(&self.fixed, from, &self.targets);
        contact.begin_step(from, [span[1], span[1] - span[0]]);
        if !self.passes_freely(contact, from, to)? {
            contact.set_pose(0.0)?;
            self.advance_or_release(contact, scene_state, span[1] - span[0], from, inverse_mass, to)?;
        }
        self.arrived = contact.pose() >= 1.0;
        let late = (0..to.len()).filter(|&v| self.fixed[v]).map(|v| to[v].distance_squared(self.targets[v]));
        self.lag_of_pins = late.fold(0.0, f64::max).sqrt();
        contact.record_end(to, &self.fixed, &self.targets)?;
        contact.end_step(to);
        Ok(())
    }

    /// Whether nothing comes near anything; the colliders are then at the step's end.
    fn is_clear(
        &mut self,
        contact: &mut ContactSystem,
        from: &[DVec3],
        to: &[DVec3],
        still: bool,
    ) -> Result<bool, Error> {
        if contact.is_tangled() {
            return Ok(false);
        }
        let deviation = if still { 0.0 } else { contact.deviation_of_colliders()? };
        if self.clearance.is_known() {
            if !still {
                contact.set_pose(1.0)?;
            }
            if self.clearance.allows(contact, to, deviation) {
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
            contact.set_pose(0.0)?;
        }
        let range = (MEASURED_STEPS * longest).clamp(self.thickness, self.farthest_measured);
        self.clearance.measure(contact, from, range);
        if !still {
            contact.set_pose(1.0)?;
        }
        let clear = self.clearance.allows(contact, to, deviation);
        self.pause[1] = if clear { 0 } else { (2 * self.pause[1]).clamp(1, LONGEST_PAUSE) };
        self.pause[0] = self.pause[1];
        Ok(clear)
    }

    /// Whether all arrive without meeting anything, no nearer to each other than what they keep. That is true wherever [`Clearance`] proves it:
    /// the result does not depend on when that was measured.
    fn passes_freely(
        &mut self,
        contact: &mut ContactSystem,
        from: &[DVec3],
        to: &[DVec3],
    ) -> Result<bool, Error> {
        if contact.is_tangled() {
            return Ok(false);
        }
        self.at.clear();
        self.at.extend_from_slice(from);
        for _ in 0..FREE_ADVANCES {
            let free = contact.advance(&self.at, to, 1.0)?;
            if free >= 1.0 {
                contact.linearise(to, 1.0, &mut self.contacts)?;
                return Ok(self.contacts.list.iter().all(|contact| contact.spare >= 0.0));
            }
            self.at.iter_mut().zip(to).for_each(|(at, to)| *at = at.lerp(*to, free));
        }
        Ok(false)
    }

    /// Moves on in rounds. Where driven points do not arrive, what has no room is released, unless they are to stop.
    fn advance_or_release(
        &mut self,
        contact: &mut ContactSystem,
        scene_state: &SceneState,
        dt: f64,
        from: &[DVec3],
        inverse_mass: &[f64],
        to: &mut [DVec3],
    ) -> Result<(), Error> {
        self.at.clear();
        self.at.extend_from_slice(from);
        if self.advance_in_rounds(contact, MOST_ROUNDS, dt, inverse_mass, to)? {
            return Ok(());
        }
        let waits = |v: usize| self.fixed[v] && self.at[v] != self.targets[v];
        let driven = !contact.colliders_rest() || (0..self.at.len()).any(waits);
        if !driven || scene_state.contact.pinch == Pinch::Stop {
            to.copy_from_slice(&self.at);
            return Ok(());
        }
        for more in 0..ContactSystem::PINCH_ROUNDS {
            contact.release_pinched(&self.at, more);
            if self.advance_in_rounds(contact, PINCH_ROUNDS, dt, inverse_mass, to)? {
                return Ok(());
            }
        }
        to.copy_from_slice(&self.at);
        for v in (0..to.len()).filter(|&v| self.fixed[v]) {
            to[v] = self.targets[v];
        }
        contact.force_to_end(to)
    }

    /// Moves on from `self.at` towards `to` until everything has arrived; `false` if it has not after some rounds.
    fn advance_in_rounds(
        &mut self,
        contact: &mut ContactSystem,
        rounds: u32,
        dt: f64,
        inverse_mass: &[f64],
        to: &mut [DVec3],
    ) -> Result<bool, Error> {
        let mut cuts = 0;
        while cuts < rounds {
            // Contacts turn while colliders go on: they are linearised again every few thicknesses.
            let rest = 1.0 - contact.pose();
            let part = (PART_LENGTH * self.thickness / contact.farthest_driven()?).min(1.0);
            let goal = if part < 1.0 { contact.pose() + part * rest } else { 1.0 };
            let goal = goal.min(contact.smooth_until());
            let part = if goal < 1.0 { (goal - contact.pose()) / rest } else { 1.0 };
            contact.linearise(&self.at, goal, &mut self.contacts)?;
            self.satisfy(contact, [dt, part], inverse_mass, to);
            self.note_impulses([dt, part]);
            self.part.clear();
            self.part.extend(self.at.iter().zip(&*to).map(|(at, to)| at.lerp(*to, part)));
            let free = contact.advance(&self.at, &self.part, goal)?;
            if free >= 1.0 && part >= 1.0 {
                self.cuts += cuts;
                return Ok(true);
            }
            cuts += u32::from(free < 1.0);
            self.at.iter_mut().zip(&self.part).for_each(|(at, to)| *at = at.lerp(*to, free));
        }
        self.cuts += cuts;
        Ok(false)
    }

    /// Changes `to` so that the first `part` of the displacement from where everything is satisfies the contacts, by projected Gauss-Seidel.
    fn satisfy(
        &mut self,
        contact: &ContactSystem,
        [dt, part]: [f64; 2],
        inverse_mass: &[f64],
        to: &mut [DVec3],
    ) {
        contact.pull_out(inverse_mass, to);
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
                let slip = part * moved - contact.carried;
                let along = slip.dot(contact.normal);
                // Pairs that are too near part slowly, so that they do not fly apart.
                let parting =
                    PARTING_SPEED * part * dt + PARTING_FRACTION * (slip - along * contact.normal).length();
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
                        to[v as usize] += w * inverse_mass[v as usize] / part * change;
                    }
                }
            }
            if largest <= SMALL_CORRECTION * *thickness {
                break;
            }
        }
        self.pushing = self.pushing.max(pushes.iter().filter(|(push, _)| *push > 0.0).count() as u32);
    }

    /// Forgets the impulses so far.
    pub(crate) fn begin_step(&mut self) {
        self.impulses.clear();
    }

    /// Notes what contacts have pushed in this round of a step of `dt` seconds, by displacements in a part of its rest.
    fn note_impulses(&mut self, [dt, part]: [f64; 2]) {
        let all = self.contacts.list.iter().zip(&self.pushes);
        let pushed = all.filter(|(_, (push, held))| *push > 0.0 || *held != DVec3::ZERO);
        self.impulses.extend(pushed.map(|(contact, (push, held))| ContactImpulse {
            site: contact.site,
            impulses: [*push * contact.normal / (part * dt), *held / (part * dt)],
        }));
    }

    /// The impulses of contacts since the last [`Self::begin_step`].
    pub(crate) fn impulses(&self) -> &[ContactImpulse] {
        &self.impulses
    }

    /// Contacts that pushed in the last step.
    pub(crate) fn pushing(&self) -> u32 {
        self.pushing
    }

    /// The farthest that a fixed unknown is from where it belongs at the last step's end, in metres.
    pub(crate) fn lag_of_pins(&self) -> f64 {
        self.lag_of_pins
    }

    /// How often the last step was cut where something would meet.
    pub(crate) fn cuts(&self) -> u32 {
        self.cuts
    }

    /// Forgets what was measured before a state was restored.
    pub(crate) fn forget(&mut self) {
        self.clearance.forget();
        (self.arrived, self.pause) = (false, [0; 2]);
    }
}
