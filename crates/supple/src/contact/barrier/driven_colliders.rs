//! Moving the colliders through a step: as far as the bodies leave room.

use glam::DVec3;

use super::ContactSystem;
use super::{ContactProperties, Detection};
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
