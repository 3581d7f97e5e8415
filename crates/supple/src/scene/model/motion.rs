//! Motions by keyframes: translate, rotate and scale in time.
//!
//! Translation, rotation and scale are independent channels: a keyframe that omits one does not affect that
//! channel, which is interpolated between the keyframes that specify it. A channel is linear between two keyframes and
//! constant before its first and after its last; one without keyframes is the identity.
//!
//! Rotations with parallel axes (one of them may be zero) interpolate by angle, so that 0° to 720° is two turns.
//! Others rotate about one fixed axis along the shortest path from one orientation to the next (slerp).
//!
//! A keyframe with `jump` is not interpolated towards: until its time, the channels that it specifies keep the value of the keyframe before.

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// A pose at a time. Omitted channels are interpolated from the neighbouring keyframes that specify them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keyframe {
    /// Time in seconds.
    pub time: f64,
    /// Translation in metres.
    pub translate: Option<DVec3>,
    /// Rotation vector about the motion's pivot: axis times angle in degrees; more than one turn is allowed.
    pub rotate: Option<DVec3>,
    /// Uniform scale about the pivot.
    pub scale: Option<f64>,
    /// Whether the motion jumps here from the keyframe before, without passing what lies between.
    #[serde(default, skip_serializing_if = "is_false")]
    pub jump: bool,
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Times are sums of steps: a jump that is later by rounding must not wait for another step.
const SAME_TIME: f64 = 1e-9;

impl Keyframe {
    /// An empty keyframe.
    pub fn at(time: f64) -> Self {
        Self { time, ..Self::default() }
    }

    /// With a translation in metres.
    pub fn translate(mut self, translate: impl Into<DVec3>) -> Self {
        self.translate = Some(translate.into());
        self
    }

    /// With a rotation vector in degrees.
    pub fn rotate(mut self, degrees: impl Into<DVec3>) -> Self {
        self.rotate = Some(degrees.into());
        self
    }

    /// With a scale.
    pub fn scale(mut self, scale: f64) -> Self {
        self.scale = Some(scale);
        self
    }

    /// Reached by a jump.
    ///
    /// ```
    /// use supple::{Keyframe, Motion};
    /// let cut = vec![Keyframe::at(0.0).translate([0.0; 3]), Keyframe::at(1.0).translate([5.0, 0.0, 0.0]).jump()];
    /// let motion = Motion { keyframes: cut, ..Motion::default() };
    /// assert_eq!([0.9, 1.0].map(|time| motion.pose(time).translate.x), [0.0, 5.0]);
    /// ```
    pub fn jump(mut self) -> Self {
        self.jump = true;
        self
    }

    /// Of a whole pose.
    pub fn of_pose(time: f64, pose: &Pose) -> Self {
        let degrees = pose.rotate * (180.0 / std::f64::consts::PI);
        Self::at(time).translate(pose.translate).rotate(degrees).scale(pose.scale)
    }

    fn is_reached(&self, time: f64) -> bool {
        self.time <= if self.jump { time + SAME_TIME } else { time }
    }
}

/// A motion: keyframes with linear interpolation between them, constant before the first and after the last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Motion {
    /// Centre of rotation and scale in metres.
    pub pivot: DVec3,
    /// The keyframes, in ascending time.
    pub keyframes: Vec<Keyframe>,
}

/// A placement at one time: `x -> pivot + translate + rotate(scale * (x - pivot))`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// Centre of rotation and scale in metres.
    pub pivot: DVec3,
    /// Translation in metres.
    pub translate: DVec3,
    /// Rotation vector in radians.
    pub rotate: DVec3,
    /// Uniform scale.
    pub scale: f64,
}

impl Pose {
    /// The identity pose.
    pub const IDENTITY: Self =
        Self { pivot: DVec3::ZERO, translate: DVec3::ZERO, rotate: DVec3::ZERO, scale: 1.0 };

    /// The rotation as a unit quaternion.
    pub fn rotation(&self) -> DQuat {
        DQuat::from_scaled_axis(self.rotate)
    }

    /// The same placement about another centre of rotation and scale.
    pub(crate) fn about(&self, pivot: DVec3) -> Self {
        Self { pivot, translate: self.apply(pivot) - pivot, ..*self }
    }

    /// The same placement of a shape whose points are at rest farther by `shift`.
    pub(crate) fn of_shifted(&self, shift: DVec3) -> Self {
        Self { pivot: self.pivot + shift, translate: self.translate - shift, ..*self }
    }

    /// The position in this pose of a point at rest.
    pub fn apply(&self, point: DVec3) -> DVec3 {
        self.pivot + self.translate + self.rotation() * (self.scale * (point - self.pivot))
    }

    /// The rest position that this pose maps to `point`; the inverse of [`Pose::apply`].
    pub fn apply_inverse(&self, point: DVec3) -> DVec3 {
        self.pivot + self.rotation().inverse() * (point - self.pivot - self.translate) / self.scale
    }
}

/// A pose and its rate of change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovingPose {
    /// The pose.
    pub pose: Pose,
    /// Rate of the translation in m/s.
    pub translate_rate: DVec3,
    /// Angular velocity in rad/s, in world axes.
    pub angular_velocity: DVec3,
    /// Rate of the scale in 1/s.
    pub scale_rate: f64,
}

impl MovingPose {
    /// The velocity in m/s of the point with the rest position `point`.
    pub fn velocity(&self, point: DVec3) -> DVec3 {
        let arm = self.pose.rotation() * (point - self.pose.pivot);
        self.translate_rate + self.scale_rate * arm + self.angular_velocity.cross(self.pose.scale * arm)
    }
}

impl Motion {
    /// The pose at a time in seconds.
    pub fn pose(&self, time: f64) -> Pose {
        self.at(time).pose
    }

    /// The velocity in m/s, at a time in seconds, of the point with the rest position `point`: the exact derivative of
    /// `pose(time).apply(point)`, at a keyframe that of the segment which starts there. For many points at one time,
    /// call [`Motion::at`] once.
    pub fn velocity(&self, point: DVec3, time: f64) -> DVec3 {
        self.at(time).velocity(point)
    }

    /// The pose at a time in seconds and its rate of change.
    pub fn at(&self, time: f64) -> MovingPose {
        let (translate, translate_rate) = self
            .span(time, |key| key.translate)
            .map_or((DVec3::ZERO, DVec3::ZERO), |span| (span.from.lerp(span.to, span.fraction), span.rate()));
        let (scale, scale_rate) = self
            .span(time, |key| key.scale)
            .map_or((1.0, 0.0), |span| (span.from + (span.to - span.from) * span.fraction, span.rate()));
        let (rotate, angular_velocity) =
            self.span(time, |key| key.rotate).map_or((DVec3::ZERO, DVec3::ZERO), |span| rotation(&span));
        let pose = Pose { pivot: self.pivot, translate, rotate, scale };
        MovingPose { pose, translate_rate, angular_velocity, scale_rate }
    }

    /// The time of the last jump between two times, that of the start excluded.
    pub fn jump_within(&self, [start, end]: [f64; 2]) -> Option<f64> {
        let jumps = self.keyframes.iter().rev().filter(|key| key.jump);
        jumps
            .map(|key| (key.time, key.is_reached(start), key.is_reached(end)))
            .find_map(|(time, before, after)| (after && !before).then_some(time))
    }

    /// Whether it begins at a time with a jump.
    pub(crate) fn jumps_at(&self, time: f64) -> bool {
        self.keyframes.iter().any(|key| key.jump && (key.time - time).abs() <= SAME_TIME)
    }

    /// The motion of a step from `start` in which it jumps, for the last time at the time `jump`: from the start it is where it is then.
    pub(crate) fn of_jump(&self, jump: f64, start: f64) -> Self {
        let pose = self.pose(jump);
        let later = self.keyframes.iter().filter(|key| key.time > jump).cloned();
        let held = [Keyframe::of_pose(start, &pose).jump(), Keyframe::of_pose(jump, &pose)];
        let held = held.into_iter().filter(|key| key.jump || key.time > start);
        Self { pivot: self.pivot, keyframes: held.chain(later).collect() }
    }

    /// The motion from one pose to another between two times, turning along the shortest path.
    pub(crate) fn between(from: &Pose, to: &Pose, [start, end]: [f64; 2]) -> Self {
        let from = from.about(to.pivot);
        let mut keyframes = vec![Keyframe::of_pose(start, &from), Keyframe::of_pose(end, to)];
        let turn = to.rotation() * from.rotation().inverse();
        let turn = if turn.w < 0.0 { -turn } else { turn }.to_scaled_axis();
        // Rotations about parallel axes are interpolated by angle, which may have any number of turns.
        if from.rotate.cross(to.rotate).length() <= 1e-12 * from.rotate.length() * to.rotate.length() {
            keyframes[1] = Keyframe::of_pose(end, &Pose { rotate: from.rotate + turn, ..*to });
        }
        Self { pivot: to.pivot, keyframes }
    }

    /// The two keyframes around `time` that specify a channel; `None` if none does.
    fn span<T: Copy>(&self, time: f64, channel: impl Fn(&Keyframe) -> Option<T>) -> Option<Span<T>> {
        let channel_value = |key: &Keyframe| channel(key).map(|value| (key.time, value, key.jump));
        let next = self.keyframes.partition_point(|key| key.is_reached(time));
        let before = self.keyframes[..next].iter().rev().find_map(&channel_value);
        let after = self.keyframes[next..].iter().find_map(&channel_value);
        match (before, after) {
            (Some((start, from, _)), Some((end, to, false))) => {
                let duration = end - start;
                let fraction = ((time - start) / duration).max(0.0);
                Some(Span { from, to, fraction, per_second: 1.0 / duration })
            }
            (Some((_, held, _)), _) | (None, Some((_, held, _))) => {
                Some(Span { from: held, to: held, fraction: 0.0, per_second: 0.0 })
            }
            (None, None) => None,
        }
    }
}

/// A segment between two keyframes of one channel.
struct Span<T> {
    from: T,
    to: T,
    fraction: f64,
    per_second: f64,
}

impl<T: Copy + std::ops::Sub<Output = T> + std::ops::Mul<f64, Output = T>> Span<T> {
    fn rate(&self) -> T {
        (self.to - self.from) * self.per_second
    }
}

/// The rotation vector in radians and the angular velocity in rad/s.
fn rotation(span: &Span<DVec3>) -> (DVec3, DVec3) {
    let radians = |degrees: DVec3| degrees * (std::f64::consts::PI / 180.0);
    let (from, to) = (radians(span.from), radians(span.to));
    if from.cross(to).length() <= 1e-12 * from.length() * to.length() {
        return (from.lerp(to, span.fraction), (to - from) * span.per_second);
    }
    let start = DQuat::from_scaled_axis(from);
    let turn = DQuat::from_scaled_axis(to) * start.inverse();
    let shortest = if turn.w < 0.0 { -turn } else { turn }.to_scaled_axis();
    let now = DQuat::from_scaled_axis(shortest * span.fraction) * start;
    (now.to_scaled_axis(), shortest * span.per_second)
}

#[cfg(test)]
mod tests {
    use glam::dvec3;
    use proptest::prelude::*;

    use super::*;

    fn near(a: DVec3, b: DVec3) -> bool {
        a.distance(b) < 1e-9
    }

    #[test]
    fn a_wheel_turns_two_full_turns() {
        let wheel = Motion {
            pivot: dvec3(1.0, 0.0, 0.0),
            keyframes: vec![
                Keyframe::at(0.0).rotate([0.0, 0.0, 0.0]),
                Keyframe::at(4.0).rotate([0.0, 0.0, 720.0]),
            ],
        };
        let rim = dvec3(2.0, 0.0, 0.0);
        assert!(near(wheel.pose(0.5).apply(rim), dvec3(1.0, 1.0, 0.0)));
        assert!(near(wheel.pose(2.0).apply(rim), rim));
        assert!(near(wheel.pose(3.0).apply(rim), dvec3(0.0, 0.0, 0.0)));
        let speed = 720.0_f64.to_radians() / 4.0;
        assert!(near(wheel.velocity(rim, 2.0), dvec3(0.0, speed, 0.0)));
    }

    #[test]
    fn a_motion_is_held_before_its_first_and_after_its_last_keyframe() {
        let motion = Motion {
            pivot: DVec3::ZERO,
            keyframes: vec![
                Keyframe::at(1.0).translate([1.0, 0.0, 0.0]),
                Keyframe::at(2.0).translate([3.0, 0.0, 0.0]),
            ],
        };
        let point = dvec3(0.0, 5.0, 0.0);
        assert_eq!(motion.pose(-7.0).apply(point), dvec3(1.0, 5.0, 0.0));
        assert_eq!(motion.pose(9.0).apply(point), dvec3(3.0, 5.0, 0.0));
        assert_eq!(motion.velocity(point, 0.5), DVec3::ZERO);
        assert_eq!(motion.velocity(point, 2.0), DVec3::ZERO);
        assert_eq!(motion.velocity(point, 1.0), dvec3(2.0, 0.0, 0.0));
    }

    #[test]
    fn a_channel_ignores_keyframes_that_do_not_say_it() {
        let motion = Motion {
            pivot: DVec3::ZERO,
            keyframes: vec![
                Keyframe::at(0.0).translate([0.0, 0.0, 0.0]).scale(1.0),
                Keyframe::at(1.0).rotate([0.0, 90.0, 0.0]),
                Keyframe::at(4.0).translate([4.0, 0.0, 0.0]).scale(3.0),
            ],
        };
        let pose = motion.pose(1.0);
        assert_eq!((pose.translate, pose.scale), (dvec3(1.0, 0.0, 0.0), 1.5));
        assert!(near(motion.pose(3.0).rotate, dvec3(0.0, std::f64::consts::FRAC_PI_2, 0.0)));
    }

    #[test]
    fn a_jump_is_held_off_and_then_moves_on_by_the_channels_that_it_says() {
        let motion = Motion {
            pivot: DVec3::ZERO,
            keyframes: vec![
                Keyframe::at(0.0).translate([0.0, 0.0, 0.0]).scale(1.0),
                Keyframe::at(1.0).translate([1.0, 0.0, 0.0]),
                Keyframe::at(2.0).translate([5.0, 0.0, 0.0]).jump(),
                Keyframe::at(4.0).translate([7.0, 0.0, 0.0]).scale(5.0),
            ],
        };
        let at = |time: f64| (motion.pose(time).translate.x, motion.pose(time).scale);
        assert_eq!([at(0.5), at(1.5), at(2.0), at(3.0)], [(0.5, 1.5), (1.0, 2.5), (5.0, 3.0), (6.0, 4.0)]);
        assert_eq!(motion.at(1.5).translate_rate, DVec3::ZERO);
        assert_eq!(
            [[0.0, 1.9], [1.9, 2.0], [2.0, 3.0]].map(|span| motion.jump_within(span)),
            [None, Some(2.0), None]
        );
        // In a step around it, it is there from the start.
        let step = motion.of_jump(2.0, 1.75);
        assert!(step.jumps_at(1.75) && !step.jumps_at(2.0));
        for (time, x, scale) in [(1.75, 5.0, 3.0), (2.0, 5.0, 3.0), (3.0, 6.0, 4.0)] {
            assert!(
                near(step.pose(time).translate, dvec3(x, 0.0, 0.0))
                    && (step.pose(time).scale - scale).abs() < 1e-12
            );
        }
    }

    #[test]
    fn the_motion_between_two_poses_turns_the_short_way_about_any_pivot() {
        let half = std::f64::consts::PI;
        let from = Pose {
            pivot: dvec3(0.0, 1.0, 0.0),
            translate: DVec3::X,
            rotate: 1.9 * half * DVec3::Z,
            scale: 2.0,
        };
        let to = Pose {
            pivot: dvec3(3.0, 0.0, 0.0),
            translate: DVec3::Y,
            rotate: 0.1 * half * DVec3::Z,
            scale: 1.0,
        };
        let motion = Motion::between(&from, &to, [1.0, 2.0]);
        let point = dvec3(0.3, -0.4, 0.5);
        assert!(near(motion.pose(1.0).apply(point), from.apply(point)));
        assert!(near(motion.pose(2.0).apply(point), to.apply(point)));
        assert!((motion.at(1.5).angular_velocity.z - 0.2 * half).abs() < 1e-9);
    }

    #[test]
    fn a_pose_scales_then_rotates_then_translates_about_its_pivot() {
        let pose = Pose {
            pivot: dvec3(1.0, 1.0, 0.0),
            translate: dvec3(0.0, 0.0, 5.0),
            rotate: dvec3(0.0, 0.0, std::f64::consts::FRAC_PI_2),
            scale: 2.0,
        };
        assert!(near(pose.apply(dvec3(2.0, 1.0, 0.0)), dvec3(1.0, 3.0, 5.0)));
        assert_eq!(pose.apply(pose.pivot), pose.pivot + pose.translate);
    }

    #[test]
    fn rotations_with_different_axes_turn_steadily_by_the_shortest_way() {
        let motion = Motion {
            pivot: DVec3::ZERO,
            keyframes: vec![
                Keyframe::at(0.0).rotate([90.0, 0.0, 0.0]),
                Keyframe::at(1.0).rotate([0.0, 90.0, 0.0]),
            ],
        };
        let at = |time: f64| motion.pose(time).rotation();
        let [start, middle, end] = [0.0, 0.5, 1.0].map(at);
        assert!(start.angle_between(DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2)) < 1e-7);
        assert!(end.angle_between(DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2)) < 1e-7);
        // 90° about x and 90° about y are 120° apart.
        assert!((start.angle_between(end).to_degrees() - 120.0).abs() < 1e-6);
        assert!((start.angle_between(middle) - middle.angle_between(end)).abs() < 1e-7);
        let speed = motion.at(0.3).angular_velocity.length();
        assert!((speed - 120.0_f64.to_radians()).abs() < 1e-9);
    }

    fn vector(size: f64) -> impl Strategy<Value = DVec3> {
        prop::array::uniform3(-size..size).prop_map(DVec3::from)
    }

    fn motions() -> impl Strategy<Value = Motion> {
        let key = (
            0.2..1.0_f64,
            prop::option::of(vector(3.0)),
            prop::option::of(vector(400.0)),
            prop::option::of(0.2..3.0_f64),
        );
        (vector(2.0), prop::collection::vec(key, 1..6)).prop_map(|(pivot, keys)| {
            let mut time = 0.0;
            let keyframes = keys.into_iter().map(|(wait, translate, rotate, scale)| {
                time += wait;
                Keyframe { time, translate, rotate, scale, jump: false }
            });
            Motion { pivot, keyframes: keyframes.collect() }
        })
    }

    proptest! {
        #[test]
        fn velocity_is_the_derivative_of_position(motion in motions(), point in vector(2.0), time in 0.0..5.0_f64) {
            let h = 1e-5;
            let crosses_a_keyframe = motion.keyframes.iter().any(|key| (key.time - time).abs() <= 2.0 * h);
            prop_assume!(!crosses_a_keyframe);
            let slope = (motion.pose(time + h).apply(point) - motion.pose(time - h).apply(point)) / (2.0 * h);
            let velocity = motion.velocity(point, time);
            prop_assert!(velocity.distance(slope) < 1e-5 * (1.0 + slope.length()), "{velocity} against {slope}");
        }

        #[test]
        fn the_inverse_of_a_pose_takes_points_back(motion in motions(), point in vector(2.0), time in 0.0..5.0_f64) {
            let pose = motion.pose(time);
            prop_assert!(near(pose.apply_inverse(pose.apply(point)), point));
        }
    }
}
