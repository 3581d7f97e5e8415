//! Hard colliders as the contact system sees them: control points that are driven through the step, and triangles over them.
//!
//! | shape | control points | touches by |
//! | --- | --- | --- |
//! | mesh | its vertices | vertex-triangle and edge-edge pairs, in both directions |
//! | box | its corners | the same, without the diagonals of its sides, which are flat |
//! | sphere, capsule | the ends of its axis | the distance of a vertex or triangle to the axis, less the radius |
//! | plane | a point, and one above it | the height of a vertex |
//!
//! A control point at the time `t` is `p(t) = c + T(t) + R(t) s(t) (q(t) - c)`, with the pose of the motion and, for meshes that
//! deform, a vertex `q` that moves on a straight line between two frames, or on the way that its bones lead it. Between two times at most one of which is a keyframe or a
//! frame, `T`, `s` and `q` are linear and `R` turns about a fixed axis at the rate `ω`, so that
//!
//! ```text
//! |p''| <= ω² s r + 2 ω (|s'| r + s |q'|) + 2 |s'| |q'|,     r = |q - c|,
//! ```
//!
//! and `p` is never farther than `Δt² max|p''| / 8` from the point that goes along the chord at constant speed
//! ([`Obstacles::deviation`]). Continuous collision detection follows the chord and keeps that much more distance.

use std::sync::Arc;

use glam::DVec3;

use crate::contact::collider::mesh_source::{FrameWindow, MeshSource};
use crate::contact::{ColliderMeshes, Surfaces};
use crate::scene::{Collider, ColliderShape, Pose};
use supple_core::Error;
use supple_core::state::{StateReader, StateWriter};

/// All hard colliders of a scene over one step.
#[derive(Debug, Default)]
pub(crate) struct Obstacles {
    list: Vec<Obstacle>,
    /// Start and end of the step, in seconds.
    span: [f64; 2],
    /// All control points at the step's start.
    start: Vec<DVec3>,
    /// By name, where colliders ended that are not in the list yet, and whether they were late.
    earlier_ends: Vec<(String, Vec<DVec3>, bool)>,
}

/// A hard collider.
#[derive(Debug)]
pub(crate) struct Obstacle {
    collider: Collider,
    form: Form,
    /// Its first control point among those of all, and their number.
    first: usize,
    count: usize,
    /// How far each control point is at the step's start from where its motion says: after its motion was replaced between steps.
    /// Empty if nowhere.
    lag: Vec<DVec3>,
    /// The control points where the last step ended; empty before the first.
    ended: Vec<DVec3>,
    /// Whether that is not where its motion says.
    is_late: bool,
}

#[derive(Debug)]
enum Form {
    Mesh(Box<DrivenMesh>),
    Box,
    Round { radius: f64 },
    HalfSpace,
}

#[derive(Debug)]
struct DrivenMesh {
    source: Arc<MeshSource>,
    window: FrameWindow,
    /// The vertices in the mesh's own coordinates at the time `at`.
    local: Vec<DVec3>,
    at: f64,
    /// The time of a jump within the step: before it, it is where it jumps to.
    jumped: f64,
}

/// The two triangles of each side of a box, seen from outside, over the corners numbered by x + 2 y + 4 z.
const BOX_TRIANGLES: [[u32; 3]; 12] = [
    [0, 4, 6],
    [0, 6, 2],
    [1, 3, 7],
    [1, 7, 5],
    [0, 1, 5],
    [0, 5, 4],
    [2, 6, 7],
    [2, 7, 3],
    [0, 2, 3],
    [0, 3, 1],
    [4, 5, 7],
    [4, 7, 6],
];

/// A shape without triangles at some positions of its control points.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Solid {
    /// Everything within a radius of a segment.
    Round { from: DVec3, to: DVec3, radius: f64 },
    /// Everything below a plane.
    HalfSpace { point: DVec3, normal: DVec3 },
}

impl Obstacle {
    fn new(collider: &Collider, meshes: &ColliderMeshes, first: usize) -> Result<Self, Error> {
        let (form, count) = match &collider.shape {
            ColliderShape::Mesh(_) => {
                let source = meshes.get(collider).ok_or_else(|| {
                    Error::Invalid(format!("the mesh of collider `{}` was not loaded", collider.name))
                })?;
                let mut mesh = DrivenMesh {
                    source: source.clone(),
                    window: FrameWindow::default(),
                    local: Vec::new(),
                    at: f64::NAN,
                    jumped: f64::NEG_INFINITY,
                };
                mesh.move_to(0.0)?;
                let count = mesh.local.len();
                (Form::Mesh(Box::new(mesh)), count)
            }
            ColliderShape::Box { .. } => (Form::Box, 8),
            ColliderShape::Sphere { radius, .. } | ColliderShape::Capsule { radius, .. } => {
                (Form::Round { radius: *radius }, 2)
            }
            ColliderShape::Plane { .. } => (Form::HalfSpace, 2),
        };
        Ok(Self {
            collider: collider.clone(),
            form,
            first,
            count,
            lag: Vec::new(),
            ended: Vec::new(),
            is_late: false,
        })
    }

    /// Its control points.
    pub(crate) fn points(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }

    /// Its friction coefficient, if it specifies one.
    pub(crate) fn friction(&self) -> Option<f64> {
        self.collider.friction
    }

    /// The distance in metres below which it repels bodies.
    pub(crate) fn thickness(&self) -> f64 {
        self.collider.thickness
    }

    fn pose(&self, time: f64) -> Pose {
        self.collider.motion.as_ref().map_or(Pose::IDENTITY, |motion| motion.pose(time))
    }

    /// A control point in its own coordinates.
    fn local(&self, i: usize) -> DVec3 {
        match (&self.form, &self.collider.shape) {
            (Form::Mesh(mesh), _) => mesh.local[i],
            (_, &ColliderShape::Box { center, size }) => {
                let side = |bit: usize| if i >> bit & 1 == 1 { 0.5 } else { -0.5 };
                center + size * DVec3::new(side(0), side(1), side(2))
            }
            (_, &ColliderShape::Sphere { center, .. }) => center,
            (_, &ColliderShape::Capsule { from, to, .. }) => {
                if i == 0 {
                    from
                } else {
                    to
                }
            }
            (_, &ColliderShape::Plane { point, normal }) => point + i as f64 * normal.normalize_or(DVec3::Y),
            (_, ColliderShape::Mesh(_)) => DVec3::ZERO,
        }
    }

    /// Its control points at a time, as its motion says.
    fn place(&mut self, time: f64, out: &mut [DVec3]) -> Result<(), Error> {
        if let Form::Mesh(mesh) = &mut self.form {
            mesh.move_to(time)?;
        }
        let pose = self.pose(time);
        let rotation = pose.rotation();
        let moved = pose.pivot + pose.translate;
        for (i, out) in out.iter_mut().enumerate() {
            *out = moved + rotation * (pose.scale * (self.local(i) - pose.pivot));
        }
        Ok(())
    }

    /// Upper bound on the acceleration of its control points between two times that no keyframe or frame separates, in m/s².
    fn acceleration(&self, [start, end]: [f64; 2]) -> Result<f64, Error> {
        let bend = match &self.form {
            Form::Mesh(mesh) => mesh.acceleration([start, end])?,
            _ => 0.0,
        };
        let middle = 0.5 * (start + end);
        let Some(motion) = &self.collider.motion else { return Ok(bend) };
        let rates = motion.at(middle);
        let (turn, growth) = (rates.angular_velocity.length(), rates.scale_rate.abs());
        let scale = [start, end].map(|time| motion.pose(time).scale.abs()).into_iter().fold(0.0, f64::max);
        if turn == 0.0 && growth == 0.0 {
            return Ok(scale * bend);
        }
        let farthest = |points: &[DVec3]| {
            points.iter().map(|p| p.distance_squared(motion.pivot)).fold(0.0, f64::max).sqrt()
        };
        let (mut radius, mut speed) = (0.0_f64, 0.0_f64);
        match &self.form {
            Form::Mesh(mesh) if mesh.source.deforms() => {
                let [before, after] = [mesh.source.at(start)?, mesh.source.at(end)?];
                radius = farthest(&before).max(farthest(&after));
                let moved = before.iter().zip(&after).map(|(a, b)| a.distance_squared(*b));
                speed = moved.fold(0.0, f64::max).sqrt() / (end - start).max(f64::MIN_POSITIVE);
            }
            Form::Mesh(mesh) => radius = farthest(&mesh.local),
            _ => {
                for i in 0..self.count {
                    radius = radius.max(self.local(i).distance(motion.pivot));
                }
            }
        }
        Ok(turn * turn * scale * radius
            + 2.0 * turn * (growth * radius + scale * speed)
            + 2.0 * growth * speed
            + scale * bend)
    }

    /// The first time after `after` at which its motion is not smooth; infinite if none.
    fn next_break(&self, after: f64) -> f64 {
        // Times are sums of steps: a frame's time may differ by rounding.
        let later = after + 1e-9;
        let keyframes = self.collider.motion.iter().flat_map(|motion| &motion.keyframes);
        let key = keyframes.map(|key| key.time).find(|time| *time > later).unwrap_or(f64::INFINITY);
        match &self.form {
            Form::Mesh(mesh) => key.min(mesh.source.next_kink(later)),
            _ => key,
        }
    }

    /// Whether its shape jumps in a step, in which it is then there from the start.
    fn find_jump(&mut self, span: [f64; 2]) -> bool {
        let Form::Mesh(mesh) = &mut self.form else { return false };
        let jump = mesh.source.jump_within(span);
        mesh.jumped = jump.unwrap_or(f64::NEG_INFINITY);
        jump.is_some()
    }

    /// Whether it is at rest in a part of its motion.
    fn rests(&self, [start, end]: [f64; 2]) -> bool {
        let deforms = matches!(&self.form, Form::Mesh(mesh) if mesh.source.deforms());
        !deforms && self.lag.is_empty() && self.pose(start) == self.pose(end) && self.next_break(start) >= end
    }
}

impl DrivenMesh {
    fn move_to(&mut self, time: f64) -> Result<(), Error> {
        let time = time.max(self.jumped);
        let known = self.at == time || (!self.source.deforms() && !self.local.is_empty());
        if !known {
            self.local = self.source.positions(time, &mut self.window)?;
            self.at = time;
        }
        Ok(())
    }

    /// The acceleration of a vertex that bends its way between two times which no kink separates, as measured at quarters of the way, with a
    /// margin. Where frames are joined by straight lines there is none.
    fn acceleration(&self, [start, end]: [f64; 2]) -> Result<f64, Error> {
        let (start, end) = (start.max(self.jumped), end.max(self.jumped));
        let duration = end - start;
        if self.source.is_straight() || duration <= 0.0 {
            return Ok(0.0);
        }
        let [from, to] = [self.source.at(start)?, self.source.at(end)?];
        let mut most = 0.0_f64;
        for part in [0.25, 0.5, 0.75] {
            let at = self.source.at(start + part * duration)?;
            let chord = from.iter().zip(&to).map(|(from, to)| from.lerp(*to, part));
            let off = at.iter().zip(chord).map(|(at, chord)| at.distance_squared(chord));
            most = most.max(off.fold(0.0, f64::max));
        }
        Ok(MEASURED_MARGIN * 8.0 * most.sqrt() / (duration * duration))
    }
}

impl Obstacles {
    /// Updates the colliders that are hard; returns whether their triangles or control points are others than before. Those that stay
    /// keep where they ended.
    pub(crate) fn update<'a>(
        &mut self,
        colliders: impl Iterator<Item = &'a Collider> + Clone,
        meshes: &ColliderMeshes,
    ) -> Result<bool, Error> {
        let hard = colliders.filter(|collider| collider.stiffness.is_none());
        let same_form = |obstacle: &Obstacle, collider: &Collider| {
            let [old, new] = [&obstacle.collider.shape, &collider.shape];
            obstacle.collider.name == collider.name
                && obstacle.collider.group == collider.group
                && match (old, new) {
                    (ColliderShape::Mesh(a), ColliderShape::Mesh(b)) => {
                        a == b && obstacle.collider.transform == collider.transform
                    }
                    _ => std::mem::discriminant(old) == std::mem::discriminant(new),
                }
        };
        let same = self.list.len() == hard.clone().count()
            && self.list.iter().zip(hard.clone()).all(|(old, new)| same_form(old, new));
        if same {
            for (obstacle, collider) in self.list.iter_mut().zip(hard) {
                if obstacle.collider != *collider {
                    obstacle.collider = collider.clone();
                }
                if let (
                    Form::Round { radius },
                    ColliderShape::Sphere { radius: new, .. } | ColliderShape::Capsule { radius: new, .. },
                ) = (&mut obstacle.form, &obstacle.collider.shape)
                {
                    *radius = *new;
                }
            }
            return Ok(false);
        }
        let mut before = std::mem::take(&mut self.list);
        let mut first = 0;
        for collider in hard {
            let mut obstacle = Obstacle::new(collider, meshes, first)?;
            if let Some(old) = before.iter_mut().find(|old| same_form(old, collider)) {
                obstacle.ended = std::mem::take(&mut old.ended);
            }
            let earlier = self.earlier_ends.iter_mut().find(|(name, ..)| *name == collider.name);
            if let Some((_, ended, is_late)) = earlier {
                (obstacle.ended, obstacle.is_late) = (std::mem::take(ended), *is_late);
            }
            first += obstacle.count;
            self.list.push(obstacle);
        }
        self.earlier_ends.clear();
        Ok(true)
    }

    /// The number of control points.
    pub(crate) fn point_count(&self) -> usize {
        self.list.last().map_or(0, |last| last.first + last.count)
    }

    /// Adds their triangles to the surfaces of bodies, at the positions `at` of the control points.
    pub(crate) fn add_to(&self, surfaces: &mut Surfaces, at: &[DVec3]) {
        for obstacle in &self.list {
            let points = &at[obstacle.points()];
            match &obstacle.form {
                Form::Mesh(mesh) => {
                    surfaces.add_driven(points, mesh.source.shared_triangles(), &[], &obstacle.collider)
                }
                Form::Box => {
                    let diagonals: Vec<[u32; 2]> = BOX_TRIANGLES
                        .as_chunks::<2>()
                        .0
                        .iter()
                        .map(|pair| [pair[0][0], pair[0][2]])
                        .collect();
                    surfaces.add_driven(points, &BOX_TRIANGLES, &diagonals, &obstacle.collider);
                }
                Form::Round { .. } | Form::HalfSpace => {
                    surfaces.add_driven(points, &[], &[], &obstacle.collider)
                }
            }
        }
    }

    /// Starts a step between two times; returns whether a collider jumps at its start. Colliders whose shape was replaced since the last
    /// one go from where they were.
    pub(crate) fn begin(&mut self, span: [f64; 2]) -> Result<bool, Error> {
        self.span = span;
        let mut any_jumps = false;
        for obstacle in &mut self.list {
            obstacle.lag.clear();
            let jumped = obstacle.find_jump(span);
            if jumped || obstacle.collider.motion.as_ref().is_some_and(|motion| motion.jumps_at(span[0])) {
                (any_jumps, obstacle.is_late) = (true, false);
                obstacle.ended.clear();
            }
            if obstacle.ended.len() != obstacle.count {
                continue;
            }
            let mut lag = std::mem::take(&mut obstacle.lag);
            lag.resize(obstacle.count, DVec3::ZERO);
            obstacle.place(span[0], &mut lag)?;
            lag.iter_mut().zip(&obstacle.ended).for_each(|(lag, ended)| *lag = *ended - *lag);
            if lag.iter().all(|lag| lag.length() <= ROUNDING) {
                lag.clear();
            }
            obstacle.lag = lag;
        }
        let mut start = std::mem::take(&mut self.start);
        self.place(0.0, &mut start)?;
        self.start = start;
        Ok(any_jumps)
    }

    /// The time of a fraction of the step.
    pub(crate) fn time(&self, pose: f64) -> f64 {
        let [start, end] = self.span;
        if pose >= 1.0 { end } else { start + pose * (end - start) }
    }

    /// All control points after a fraction of the step.
    pub(crate) fn place(&mut self, pose: f64, at: &mut Vec<DVec3>) -> Result<(), Error> {
        let time = self.time(pose);
        at.resize(self.point_count(), DVec3::ZERO);
        for obstacle in &mut self.list {
            let out = &mut at[obstacle.first..obstacle.first + obstacle.count];
            obstacle.place(time, out)?;
            out.iter_mut().zip(&obstacle.lag).for_each(|(out, lag)| *out += (1.0 - pose) * *lag);
        }
        Ok(())
    }

    /// Where the control points that are at `now` will be at the step's end; a frame that cannot be read is reported by the step itself.
    pub(crate) fn peek_end(&self, now: &[DVec3], end: &mut Vec<DVec3>) {
        end.clear();
        end.extend_from_slice(now);
        for obstacle in self.list.iter().filter(|obstacle| !obstacle.rests(self.span)) {
            let read = match &obstacle.form {
                Form::Mesh(mesh) if mesh.source.deforms() => mesh.source.at(self.span[1]).ok(),
                _ => None,
            };
            let pose = obstacle.pose(self.span[1]);
            for (i, end) in end[obstacle.points()].iter_mut().enumerate() {
                *end = pose.apply(read.as_ref().map_or_else(|| obstacle.local(i), |read| read[i]));
            }
        }
    }

    /// Ends a step with the control points `at`.
    pub(crate) fn end(&mut self, at: &[DVec3]) {
        for obstacle in &mut self.list {
            obstacle.ended.clear();
            obstacle.ended.extend_from_slice(&at[obstacle.first..obstacle.first + obstacle.count]);
        }
    }

    /// The largest fraction of the step up to which the motion from `pose` on is smooth.
    pub(crate) fn smooth_until(&self, pose: f64) -> f64 {
        let [start, end] = self.span;
        let time = self.time(pose);
        let next = self.list.iter().map(|obstacle| obstacle.next_break(time)).fold(f64::INFINITY, f64::min);
        if next >= end - 1e-9 || end <= start {
            1.0
        } else {
            ((next - start) / (end - start)).clamp(pose, 1.0)
        }
    }

    /// How far a control point may be, in metres, from the straight and uniform displacement between two smooth fractions of the step.
    pub(crate) fn deviation(&self, from: f64, to: f64) -> Result<f64, Error> {
        let times = [self.time(from), self.time(to)];
        let duration = times[1] - times[0];
        let mut most = 0.0_f64;
        for obstacle in &self.list {
            most = most.max(obstacle.acceleration(times)?);
        }
        Ok(duration * duration * most / 8.0)
    }

    /// Whether nothing moves in this step.
    pub(crate) fn rest(&self) -> bool {
        self.list.iter().all(|obstacle| obstacle.rests(self.span))
    }

    /// Whether these are the colliders, of which none moves between two times or was behind its motion when the last step began.
    pub(crate) fn are_still<'a>(
        &self,
        colliders: impl Iterator<Item = &'a Collider>,
        span: [f64; 2],
    ) -> bool {
        let mut known = self.list.iter();
        let still = |collider: &Collider| {
            known
                .next()
                .is_some_and(|own| own.collider == *collider && own.rests(span) && !own.ended.is_empty())
        };
        let all = colliders.filter(|collider| collider.stiffness.is_none()).all(still);
        all && known.next().is_none()
    }

    /// The shape of a collider without triangles, at the positions of all control points after a fraction of the step.
    pub(crate) fn solid(&self, index: usize, at: &[DVec3], pose: f64) -> Option<Solid> {
        let obstacle = &self.list[index];
        let [a, b] = match obstacle.form {
            Form::Mesh(_) | Form::Box => return None,
            _ => [at[obstacle.first], at[obstacle.first + 1]],
        };
        match obstacle.form {
            Form::Round { radius } => {
                let scale = obstacle.pose(self.time(pose)).scale.abs();
                Some(Solid::Round { from: a, to: b, radius: scale * radius })
            }
            _ => Some(Solid::HalfSpace { point: a, normal: (b - a).normalize_or(DVec3::Y) }),
        }
    }

    /// The control points of a collider among those of all.
    pub(crate) fn points_of(&self, index: usize) -> std::ops::Range<usize> {
        self.list[index].points()
    }

    /// Which colliders win where a body has no room between two of them: those with the larger number.
    pub(crate) fn priority(&self, index: usize) -> i32 {
        self.list[index].collider.priority
    }

    /// The farthest that a control point, at `at`, is from where the motion says at the step's end, in metres. `intended` is workspace.
    pub(crate) fn lag(&mut self, at: &[DVec3], intended: &mut Vec<DVec3>) -> Result<f64, Error> {
        let mut farthest = 0.0_f64;
        for obstacle in &mut self.list {
            intended.resize(obstacle.count, DVec3::ZERO);
            obstacle.place(self.span[1], intended)?;
            let own = &at[obstacle.first..obstacle.first + obstacle.count];
            let lag = own.iter().zip(&*intended).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            obstacle.is_late = lag > ROUNDING;
            farthest = farthest.max(lag);
        }
        Ok(farthest)
    }

    /// Whether one of them ended the last step elsewhere than its motion says.
    pub(crate) fn is_any_late(&self) -> bool {
        self.list.iter().any(|obstacle| obstacle.is_late)
            || self.earlier_ends.iter().any(|(.., is_late)| *is_late)
    }

    /// The name of a collider.
    pub(crate) fn name(&self, index: usize) -> &str {
        &self.list[index].collider.name
    }

    /// The vertex of a collider that is a mesh nearest to a place, as numbered in its file, and the name of the part it belongs to.
    pub(crate) fn nearest_vertex(
        &self,
        index: usize,
        place: DVec3,
        driven: &[DVec3],
    ) -> Option<(usize, Option<&str>)> {
        let Form::Mesh(mesh) = &self.list[index].form else { return None };
        let own = &driven[self.points_of(index)];
        let off = |p: &DVec3| p.distance_squared(place);
        let (nearest, _) = own.iter().enumerate().min_by(|(_, a), (_, b)| off(a).total_cmp(&off(b)))?;
        Some(mesh.source.name_vertex(nearest as u32))
    }

    /// The distance in metres below which a collider repels bodies.
    pub(crate) fn thickness(&self, index: usize) -> f64 {
        self.list[index].thickness()
    }

    /// Their names.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.list.iter().map(|obstacle| obstacle.collider.name.as_str()).collect()
    }

    /// The number of colliders.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Where a point that moves with a collider from the step's start is after a fraction of the step; for shapes without triangles.
    pub(crate) fn carry(&self, index: usize, point: DVec3, pose: f64) -> DVec3 {
        let obstacle = &self.list[index];
        let lag = obstacle.lag.first().copied().unwrap_or(DVec3::ZERO);
        let local = obstacle.pose(self.span[0]).apply_inverse(point - lag);
        obstacle.pose(self.time(pose)).apply(local) + (1.0 - pose) * lag
    }
}

impl Obstacles {
    /// The friction coefficient of a collider, if it specifies one.
    pub(crate) fn friction(&self, index: usize) -> Option<f64> {
        self.list[index].friction()
    }

    /// Where a point at `point` now, after a fraction of the step, was at its start if it moved with a shape without triangles.
    pub(crate) fn carry_back(&self, index: usize, point: DVec3, pose: f64) -> DVec3 {
        let obstacle = &self.list[index];
        let lag = obstacle.lag.first().copied().unwrap_or(DVec3::ZERO);
        let local = obstacle.pose(self.time(pose)).apply_inverse(point - (1.0 - pose) * lag);
        obstacle.pose(self.span[0]).apply(local) + lag
    }

    /// Where a point at `point` now, after a fraction of the step, is at its end if it moves with a shape without triangles.
    pub(crate) fn carry_from(&self, index: usize, point: DVec3, pose: f64) -> DVec3 {
        self.carry(index, self.carry_back(index, point, pose), 1.0)
    }

    /// How far a control point of a mesh or box, at `now`, has come since the step's start.
    pub(crate) fn moved(&self, point: usize, now: DVec3) -> DVec3 {
        now - self.start.get(point).copied().unwrap_or(now)
    }

    /// Saves where colliders ended that are late.
    pub(crate) fn save(&self, state: &mut StateWriter) {
        let late = || self.list.iter().filter(|obstacle| obstacle.is_late);
        state.whole(late().count() as u64);
        for obstacle in late() {
            let name: Vec<u32> = obstacle.collider.name.bytes().map(u32::from).collect();
            state.words(&name);
            state.vectors(&obstacle.ended);
        }
    }

    /// Restores it; the others are where their motion says.
    pub(crate) fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        self.list.iter_mut().for_each(|obstacle| {
            obstacle.ended.clear();
            obstacle.is_late = false;
        });
        self.earlier_ends.clear();
        for _ in 0..state.whole()? {
            let bytes: Vec<u8> = state.words()?.iter().map(|byte| *byte as u8).collect();
            let (name, ended) = (String::from_utf8_lossy(&bytes).into_owned(), state.list()?);
            match self.list.iter_mut().find(|obstacle| obstacle.collider.name == name) {
                Some(obstacle) => (obstacle.ended, obstacle.is_late) = (ended, true),
                None => self.earlier_ends.push((name, ended, true)),
            }
        }
        Ok(())
    }

    /// Takes over where the colliders of the same name ended.
    pub(crate) fn take_over(&mut self, before: &Self) {
        let ends = before.list.iter().map(|old| (old.collider.name.clone(), old.ended.clone(), old.is_late));
        self.earlier_ends.extend(ends);
    }
}

/// How much larger than at three places a departure from the chord may be elsewhere.
const MEASURED_MARGIN: f64 = 1.5;

/// Differences of positions in metres that are rounding.
const ROUNDING: f64 = 1e-9;
