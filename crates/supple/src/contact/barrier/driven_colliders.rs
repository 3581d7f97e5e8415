//! Moving the colliders through a step: as far as the bodies leave room.

use glam::DVec3;

use super::ContactSystem;
use super::energy::on_unknowns;
use super::normal_contacts::NormalContact;
use super::{ContactProperties, Detection, combine};
use crate::contact::{Candidates, ColliderMeshes};
use crate::scene::Collider;
use std::sync::Arc;
use supple_core::Error;

impl ContactSystem {
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
        // What a collider that jumps is on is found as at a start that is not clean.
        self.tangled |= self.obstacles.begin(span)?;
        self.obstacles.place(0.0, &mut self.driven)?;
        self.pose = 0.0;
        self.find_solids();
        if others {
            self.surfaces_number += 1;
            let ContactProperties { surfaces, points, simd, .. } = &mut self.properties;
            surfaces.remove_driven();
            self.obstacles.add_to(surfaces, &self.driven);
            let count = surfaces.start.len();
            let all = Arc::make_mut(points);
            all.truncate(surfaces.body_points());
            (all.len()..count).for_each(|_| all.push([]));
            let candidates = Candidates::new(surfaces, *simd);
            *self.found_mut() = Detection { candidates, ..Detection::default() };
            self.released.clear();
            self.tangled = true;
        }
        self.found_mut().known = false;
        Ok(())
    }

    /// The fraction of the step after which colliders are where they are.
    pub(crate) fn pose(&self) -> f64 {
        self.pose
    }

    /// The fraction of the step up to which all colliders move without a jerk.
    pub(crate) fn smooth_until(&self) -> f64 {
        let until = self.obstacles.smooth_until(self.pose);
        if until > self.pose + LEAST_PART { until } else { 1.0 }
    }

    /// The farthest that a control point is from where the motion says at the step's end, in metres.
    pub(crate) fn lag(&mut self) -> Result<f64, Error> {
        let mut intended = std::mem::take(&mut self.found_mut().to);
        let lag = self.obstacles.lag(&self.driven, &mut intended);
        self.found_mut().to = intended;
        lag
    }

    /// Whether a collider ended the last step elsewhere than its motion says.
    pub(crate) fn is_late(&self) -> bool {
        self.obstacles.is_any_late()
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
        self.record_start(from);
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
            self.record_part(from, to, done);
            if free < 1.0 {
                return Ok(done);
            }
        }
        Ok(done)
    }

    /// Changes the displacement of bodies from `from` to `to` so that points in contact keep their distance while the colliders move to
    /// the step's end: what a collider meets is carried along. With the colliders' own part `c` of the change of a distance `d`,
    ///
    /// ```text
    /// Σ wᵢ n·Δxᵢ + c >= g - d     is restored by     Δxⱼ += n wⱼ δ / Σ wᵢ²
    /// ```
    ///
    /// contact by contact, where `δ` is what it lacks. The result is a guess only: it is swept before it is accepted.
    pub(crate) fn carry_along(
        &mut self,
        from: &[DVec3],
        to: &mut [DVec3],
        fixed: &[bool],
        gap: f64,
    ) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let mut end = std::mem::take(&mut self.found_mut().to);
        self.obstacles.place(1.0, &mut end)?;
        let mut found = self.normal_contacts(from);
        let mut list = std::mem::take(&mut found.weights);
        let least = LEAST_LACK * self.properties.thickness;
        for _ in 0..CARRY_SWEEPS {
            let mut lacking = 0.0;
            for contact in found.contacts() {
                on_unknowns(&self.properties.points, &contact.points, &contact.weights, &mut list);
                list.retain(|(v, _)| !fixed[*v as usize]);
                let moved: f64 = contact_change(contact, &self.properties, from, to)
                    + self.driven_change(contact, &found.at, &end);
                let wanted = self.carried_gap(contact, gap) - contact.distance;
                let give: f64 = list.iter().map(|(_, w)| w * w).sum();
                if moved < wanted && give > 0.0 {
                    lacking = f64::max(lacking, wanted - moved);
                    let push = (wanted - moved) / give;
                    list.iter().for_each(|&(v, w)| to[v as usize] += push * w * contact.normal);
                }
            }
            if lacking <= least {
                break;
            }
        }
        found.weights = list;
        found.to = end;
        Ok(())
    }

    /// The distance that a contact should have after its points were carried along, if that from colliders is `gap` thicknesses at least.
    fn carried_gap(&self, contact: &NormalContact, gap: f64) -> f64 {
        match self.collider_of(contact) {
            Some(_) => contact.distance.max(gap * self.properties.thickness),
            None => contact.distance.min(CARRIED_GAP * self.properties.thickness),
        }
    }

    /// How much the colliders' motion to their positions `end` changes the distance of a contact.
    fn driven_change(&self, contact: &NormalContact, at: &[DVec3], end: &[DVec3]) -> f64 {
        let bodies = self.properties.surfaces.body_points();
        if let Some(solid) = contact.kind.solid() {
            let here = combine(&contact.points, &contact.weights, at);
            let there = self.obstacles.carry_from(solid, here, self.pose);
            return -contact.normal.dot(there - here);
        }
        let driven = contact.points.iter().zip(contact.weights).filter(|(p, _)| **p as usize >= bodies);
        driven.map(|(&p, w)| w * contact.normal.dot(end[p as usize - bodies] - at[p as usize])).sum()
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
        let Detection { candidates, from: at, to: next, near_ways, .. } = &mut found;
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
        let free = self.free_displacement((candidates, near_ways), [at, next], [self.pose, pose], slack);
        *self.found_mut() = found;
        Ok(free)
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

    pub(super) fn find_solids(&mut self) {
        let Self { solids, obstacles, driven, pose, .. } = self;
        solids.clear();
        let solid = |index: usize| Some((index as u32, obstacles.solid(index, driven, *pose)?));
        solids.extend((0..obstacles.len()).filter_map(solid));
    }
}

/// How much the displacement of bodies from `from` to `to` changes the distance of a contact.
fn contact_change(
    contact: &NormalContact,
    properties: &ContactProperties,
    from: &[DVec3],
    to: &[DVec3],
) -> f64 {
    let moved = |p: u32| -> DVec3 {
        let weights = properties.points.weights(p as usize);
        weights.iter().map(|&(v, w)| w * (to[v as usize] - from[v as usize])).sum()
    };
    let parts = contact.points.iter().zip(contact.weights).filter(|(_, w)| *w != 0.0);
    parts.map(|(&p, w)| w * contact.normal.dot(moved(p))).sum()
}

/// Sweeps at most over the contacts of bodies that are carried along: those of a sharp edge with the two sides of what it opens are almost
/// opposite, and take many.
const CARRY_SWEEPS: u32 = 24;
/// The distance, over the thickness, that a contact may lack after them.
const LEAST_LACK: f64 = 1e-3;
/// The distance of such contacts of bodies with each other, over the thickness.
const CARRIED_GAP: f64 = 0.5;

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

/// Parts of a bent way that are tested one by one, at most.
const MOST_PARTS: u32 = 4096;

/// The smallest part of a step that is tested by itself.
const LEAST_PART: f64 = 1e-6;

/// How far a way may be bent, over the smallest distance around it.
const MOST_DEVIATION: f64 = 0.1;
