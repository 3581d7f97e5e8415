//! One animated property of one node over time (glTF 2.0, section 3.11 and appendix C), constant before its first and
//! after its last key.

use std::ops::{Add, Mul};

use glam::{DQuat, DVec3};

use super::Parts;

/// Interpolation between keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    /// Constant until the next key.
    Step,
    /// Linear; rotations by spherical interpolation along the shortest arc.
    Linear,
    /// Hermite splines: each key has the tangent before it, its value, and the tangent after it.
    CubicSpline,
}

/// The values of a property, one per key, or three with [`Interpolation::CubicSpline`].
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Of the translation.
    Translation(Vec<DVec3>),
    /// Of the rotation.
    Rotation(Vec<DQuat>),
    /// Of the scale along the axes.
    Scale(Vec<DVec3>),
}

/// An animated property of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// The node.
    pub node: usize,
    /// Times of its keys in ascending seconds; at least one.
    pub times: Vec<f64>,
    /// Their values.
    pub values: Values,
    /// The interpolation between them.
    pub interpolation: Interpolation,
}

impl Channel {
    /// Sets the property of a node's local transform to its value at a time in seconds.
    pub fn apply(&self, time: f64, parts: &mut Parts) {
        match &self.values {
            Values::Translation(values) => parts.translation = self.sample(values, time, DVec3::lerp),
            Values::Scale(values) => parts.scale = self.sample(values, time, DVec3::lerp),
            Values::Rotation(values) => {
                let sampled = self.sample(values, time, DQuat::slerp);
                // Splines leave the unit sphere between keys.
                let length = sampled.length();
                parts.rotation = if length > 0.0 { sampled / length } else { DQuat::IDENTITY };
            }
        }
    }

    fn sample<T>(&self, values: &[T], time: f64, linear: impl Fn(T, T, f64) -> T) -> T
    where
        T: Copy + Add<Output = T> + Mul<f64, Output = T>,
    {
        let at = |key: usize| match self.interpolation {
            Interpolation::CubicSpline => values[3 * key + 1],
            Interpolation::Step | Interpolation::Linear => values[key],
        };
        let next = self.times.partition_point(|key| *key <= time);
        if next == 0 {
            return at(0);
        }
        let before = next - 1;
        if next == self.times.len() {
            return at(before);
        }
        let span = self.times[next] - self.times[before];
        let fraction = (time - self.times[before]) / span;
        match self.interpolation {
            Interpolation::Step => at(before),
            Interpolation::Linear => linear(at(before), at(next), fraction),
            Interpolation::CubicSpline => {
                let tangents = [values[3 * before + 2] * span, values[3 * next] * span];
                hermite([at(before), at(next)], tangents, fraction)
            }
        }
    }
}

/// The cubic with these values and tangents at 0 and 1.
fn hermite<T>([from, to]: [T; 2], [leaving, arriving]: [T; 2], s: f64) -> T
where
    T: Add<Output = T> + Mul<f64, Output = T>,
{
    let (s2, s3) = (s * s, s * s * s);
    from * (2.0 * s3 - 3.0 * s2 + 1.0)
        + leaving * (s3 - 2.0 * s2 + s)
        + to * (3.0 * s2 - 2.0 * s3)
        + arriving * (s3 - s2)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::*;

    fn translation(interpolation: Interpolation, values: Vec<DVec3>) -> Channel {
        Channel { node: 0, times: vec![1.0, 3.0], values: Values::Translation(values), interpolation }
    }

    fn moved(channel: &Channel, time: f64) -> DVec3 {
        let mut parts = Parts::IDENTITY;
        channel.apply(time, &mut parts);
        parts.translation
    }

    #[test]
    fn a_channel_is_held_outside_its_keys_and_straight_or_stepped_between_them() {
        let straight = translation(Interpolation::Linear, vec![DVec3::X, 5.0 * DVec3::X]);
        for (time, expected) in [(0.0, 1.0), (1.0, 1.0), (1.5, 2.0), (3.0, 5.0), (9.0, 5.0)] {
            assert_eq!(moved(&straight, time), expected * DVec3::X, "at {time} s");
        }
        let stepped = translation(Interpolation::Step, vec![DVec3::X, 5.0 * DVec3::X]);
        assert_eq!([1.0, 2.999, 3.0].map(|time| moved(&stepped, time).x), [1.0, 1.0, 5.0]);
    }

    #[test]
    fn splines_have_any_cubic_exactly() {
        let cubic = |t: f64| DVec3::new(t * t * t, 2.0 - t * t, 0.5 * t);
        let slope = |t: f64| DVec3::new(3.0 * t * t, -2.0 * t, 0.5);
        let keys = [1.0, 3.0].map(|t| [slope(t), cubic(t), slope(t)]);
        let spline = translation(Interpolation::CubicSpline, keys.concat());
        for time in [1.0, 1.25, 2.0, 2.9, 3.0] {
            assert!(moved(&spline, time).distance(cubic(time)) < 1e-12, "at {time} s");
        }
        assert_eq!(moved(&spline, 7.0), cubic(3.0));
    }

    #[test]
    fn rotations_turn_steadily_by_the_shortest_way() {
        let ends = [DQuat::IDENTITY, -DQuat::from_rotation_z(FRAC_PI_2)];
        let channel = Channel {
            node: 0,
            times: vec![0.0, 2.0],
            values: Values::Rotation(ends.to_vec()),
            interpolation: Interpolation::Linear,
        };
        for time in [0.0, 0.5, 1.0, 2.0] {
            let mut parts = Parts::IDENTITY;
            channel.apply(time, &mut parts);
            let expected = DQuat::from_rotation_z(FRAC_PI_2 * time / 2.0);
            assert!((parts.rotation * DVec3::X).distance(expected * DVec3::X) < 1e-12, "at {time} s");
        }
    }

    #[test]
    fn splines_of_rotations_are_rotations() {
        let (still, turned) = (DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), DQuat::from_rotation_y(2.0));
        let values = vec![still, DQuat::IDENTITY, still, still, turned, still];
        let interpolation = Interpolation::CubicSpline;
        let values = Values::Rotation(values);
        let channel = Channel { node: 0, times: vec![0.0, 1.0], values, interpolation };
        let mut parts = Parts::IDENTITY;
        channel.apply(0.5, &mut parts);
        assert!((parts.rotation.length() - 1.0).abs() < 1e-15);
        assert!(parts.rotation.angle_between(DQuat::from_rotation_y(1.0)) < 1e-7);
    }
}
