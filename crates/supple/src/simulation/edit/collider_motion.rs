//! Colliders that the program moves or changes between steps, and colliders that jump.
//!
//! A collider that was placed between steps goes from where it was to where it belongs over the next step, with the velocity of that change:
//! for this step its motion is replaced by one between the two poses. In a step in which a keyframe jumps its motion is replaced by one
//! that is there from the start. All families see both as ordinary motions.

use glam::DVec3;

use crate::scene::{Collider, ColliderShape, Keyframe, Motion, Pose};
use crate::simulation::{ColliderId, Simulation, unknown};
use supple_core::Error;

/// Differences of places in metres that are rounding.
const ROUNDING: f64 = 1e-9;

/// Where colliders were that the program has placed since the last step.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlacedColliders {
    /// Each with the pose that its current shape would have where it was.
    from: Vec<(ColliderId, Pose)>,
    /// Those that were added, or not placed since a state was restored: where they were is not known.
    unknown: Vec<ColliderId>,
}

impl PlacedColliders {
    /// Forgets where colliders were, after another state was restored.
    pub(crate) fn forget(&mut self, all: impl Iterator<Item = ColliderId>) {
        self.from.clear();
        self.unknown = all.collect();
    }

    /// Notes a collider that has not been anywhere.
    pub(super) fn add(&mut self, id: ColliderId) {
        self.unknown.push(id);
    }

    /// Notes that a collider was changed at a time.
    fn note(&mut self, id: ColliderId, time: f64, [before, after]: [&Collider; 2]) {
        let known =
            self.from.iter().position(|(other, _)| *other == id).map(|at| self.from.swap_remove(at).1);
        let is_unplaced =
            self.unknown.iter().position(|other| *other == id).map(|at| self.unknown.swap_remove(at));
        let Some(shift) = shift(before, after).filter(|_| is_unplaced.is_none()) else {
            return;
        };
        let from = known.unwrap_or_else(|| pose(before, time)).of_shifted(shift);
        let now = pose(after, time);
        let reach = |axis: DVec3| from.apply(from.pivot + axis).distance(now.apply(from.pivot + axis));
        if [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z].into_iter().any(|axis| reach(axis) > ROUNDING) {
            self.from.push((id, from));
        }
    }

    fn from(&self, id: ColliderId) -> Option<&Pose> {
        self.from.iter().find(|(other, _)| *other == id).map(|(_, from)| from)
    }
}

/// By how much a shape was moved if it is otherwise the same.
fn shift(before: &Collider, after: &Collider) -> Option<DVec3> {
    if before.transform != after.transform {
        return None;
    }
    match (&before.shape, &after.shape) {
        (ColliderShape::Sphere { center: a, .. }, ColliderShape::Sphere { center: b, .. }) => Some(*b - *a),
        (ColliderShape::Box { center: a, size: s }, ColliderShape::Box { center: b, size: t }) => {
            (s == t).then_some(*b - *a)
        }
        (ColliderShape::Plane { point: a, normal: n }, ColliderShape::Plane { point: b, normal: m }) => {
            (n == m).then_some(*b - *a)
        }
        (ColliderShape::Capsule { from: a, to: c, .. }, ColliderShape::Capsule { from: b, to: d, .. }) => {
            (*c - *a).abs_diff_eq(*d - *b, ROUNDING).then_some(*b - *a)
        }
        (ColliderShape::Mesh(a), ColliderShape::Mesh(b)) => (a == b).then_some(DVec3::ZERO),
        _ => None,
    }
}

fn pose(collider: &Collider, time: f64) -> Pose {
    collider.motion.as_ref().map_or(Pose::IDENTITY, |motion| motion.pose(time))
}

impl Simulation {
    /// Places a collider between steps, in place of its motion: a point of its shape at rest is at
    /// `pivot + translate + rotate(scale * (x - pivot))`. It goes there over the next step, with the velocity of this change, and is there
    /// at its end; bodies yield on its way, and friction drags them along. Pins that follow it move along.
    ///
    /// ```
    /// use supple::{Body, Collider, Scene, Simulation, scene::Pose};
    /// let scene = Scene::builder()
    ///     .body(Body::cloth("cloth").vertices([9, 9]))
    ///     .collider(Collider::sphere("ball", [0.0, -1.0, 0.0], 0.3))
    ///     .build()?;
    /// let mut simulation = Simulation::new(scene)?;
    /// let ball = simulation.collider_id("ball").expect("the scene has it");
    /// for step in 1..=3 {
    ///     let translate = [0.0, 0.02 * f64::from(step), 0.0].into();
    ///     simulation.set_collider_pose(ball, Pose { translate, ..Pose::IDENTITY })?;
    ///     simulation.step(1.0 / 60.0)?;
    /// }
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn set_collider_pose(&mut self, collider: ColliderId, pose: Pose) -> Result<(), Error> {
        let Pose { pivot, translate, rotate, scale } = pose;
        if !(pivot.is_finite() && translate.is_finite() && rotate.is_finite()) {
            return Err(Error::Invalid(format!("a collider placed at {pose:?}: all numbers must be finite")));
        }
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Error::Invalid(format!(
                "a collider scaled by {scale}: it must be above 0 and finite"
            )));
        }
        let time = self.scene_state.time;
        let mut changed = self.collider(collider).ok_or_else(|| unknown("collider"))?.clone();
        changed.motion = Some(Motion { pivot, keyframes: vec![Keyframe::of_pose(time, &pose)] });
        self.replace_collider(collider, changed)
    }

    /// The collider of a name.
    pub fn collider_id(&self, name: &str) -> Option<ColliderId> {
        self.scene_state.colliders.iter().find(|(_, collider)| collider.name == name).map(|(id, _)| *id)
    }

    /// Replaces a collider by one that was checked.
    pub(super) fn replace_collider(&mut self, id: ColliderId, changed: Collider) -> Result<(), Error> {
        let time = self.scene_state.time;
        let place = self.scene_state.colliders.iter_mut().find(|(other, _)| *other == id);
        let (_, before) = place.ok_or_else(|| unknown("collider"))?;
        self.placed.note(id, time, [before, &changed]);
        *before = changed;
        Ok(())
    }

    /// Replaces motions for a step of `dt` seconds; returns those that were replaced.
    pub(in crate::simulation) fn begin_collider_motions(&mut self, dt: f64) -> Vec<(usize, Option<Motion>)> {
        let span = [self.scene_state.time, self.scene_state.time + dt];
        let mut replaced = Vec::new();
        for (i, (id, collider)) in self.scene_state.colliders.iter_mut().enumerate() {
            let jump = collider.motion.as_ref().and_then(|motion| Some((motion, motion.jump_within(span)?)));
            let in_step = match (jump, self.placed.from(*id)) {
                (Some((motion, jump)), _) => motion.of_jump(jump, span[0]),
                (None, Some(from)) if !collider.motion.as_ref().is_some_and(|m| m.jumps_at(span[0])) => {
                    Motion::between(from, &pose(collider, span[1]), span)
                }
                _ => continue,
            };
            replaced.push((i, collider.motion.replace(in_step)));
        }
        replaced
    }

    /// Puts the motions back.
    pub(in crate::simulation) fn end_collider_motions(&mut self, replaced: Vec<(usize, Option<Motion>)>) {
        for (i, motion) in replaced {
            self.scene_state.colliders[i].1.motion = motion;
        }
        self.placed = PlacedColliders::default();
    }
}
