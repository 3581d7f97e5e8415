//! Animations that repeat. One whose last pose is that of its first key, up to a small difference, repeats without a seam: the difference is
//! added in proportion to the time since the first key, so that bones arrive exactly where they started. Vertices are linear in the matrices of
//! their bones, so the surface does as well. Any other animation jumps at its seams.

use glam::DMat4;

use super::Skin;
use crate::Cycle;
use crate::surface::bounds_of;

/// The first and the last pose are the same if no vertex is farther apart than this fraction of the character's size.
const SAME_POSE: f64 = 0.01;

/// How an animation repeats.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Repeat {
    cycle: Cycle,
    /// First less last matrix of each bone; empty if the animation jumps.
    difference: Vec<DMat4>,
}

impl Repeat {
    pub(super) fn phase(&self, time: f64) -> f64 {
        self.cycle.phase(time)
    }

    /// Adds what bones lack to arrive where they started; `fraction` is that of the animation in their pose.
    pub(super) fn correct(&self, bones: &mut [DMat4], time: f64, fraction: f64) {
        let share = self.cycle.fraction(time) * fraction.clamp(0.0, 1.0);
        bones.iter_mut().zip(&self.difference).for_each(|(bone, difference)| *bone += *difference * share);
    }
}

impl Skin {
    /// Repeats the animation from its first to its last key. One that lasts no time stays as it is.
    pub fn repeated(mut self) -> Self {
        let times = self.key_times();
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return self };
        if last <= first {
            return self;
        }
        let [start, end] = [first, last].map(|time| self.bones_once(time, 1.0));
        let apart = |vertex: usize| self.placed(vertex, &start).distance(self.placed(vertex, &end));
        let gap = (0..self.positions.len()).map(apart).fold(0.0, f64::max);
        let size = bounds_of(&self.positions).map_or(0.0, |(low, high)| low.distance(high));
        let difference = match gap <= SAME_POSE * size {
            true => start.iter().zip(&end).map(|(start, end)| *start - *end).collect(),
            false => Vec::new(),
        };
        self.repeat = Some(Repeat { cycle: Cycle { first, period: last - first }, difference });
        self
    }

    /// The part of the animation that repeats, if it does.
    pub fn cycle(&self) -> Option<Cycle> {
        self.repeat.as_ref().map(|repeat| repeat.cycle)
    }

    /// Whether it jumps where it repeats.
    pub fn jumps(&self) -> bool {
        self.repeat.as_ref().is_some_and(|repeat| repeat.difference.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use glam::{DQuat, DVec3};

    use super::*;
    use crate::skin::{Bone, Channel, Influences, Interpolation, Parts, Skeleton, SkeletonNode, Values};

    /// A rod of a metre that turns about z through the given angles at 0.5, 1.5 and 2.5 s.
    fn turning(angles: [f64; 3]) -> Skin {
        let turns = angles.map(DQuat::from_rotation_z).to_vec();
        let (times, values) = (vec![0.5, 1.5, 2.5], Values::Rotation(turns));
        let channel = Channel { node: 0, times, values, interpolation: Interpolation::Linear };
        let skeleton = Skeleton::new(vec![SkeletonNode::new(None, Parts::IDENTITY)], vec![channel]).unwrap();
        let positions = vec![DVec3::ZERO, DVec3::X, 0.1 * DVec3::Y];
        let mut influences = Influences::default();
        positions.iter().for_each(|_| influences.push([(0, 1.0)].into_iter()));
        let bones = vec![Bone { node: 0, from_model: DMat4::IDENTITY }];
        Skin::new((positions, vec![[0, 1, 2]]), influences, skeleton, bones)
    }

    #[test]
    fn an_animation_that_ends_as_it_starts_repeats_without_a_seam() {
        let skin = turning([0.0, 1.0, 0.005]).repeated();
        assert!(!skin.jumps());
        let tip = |time: f64| skin.placed(1, &skin.bones_at(time, 1.0));
        let step = 1e-6;
        for seam in [2.5, 4.5, 6.5] {
            assert!(tip(seam - step).distance(tip(seam)) < 3.0 * step, "at {seam} s");
            assert!(tip(seam).distance(DVec3::X) < 1e-9, "at {seam} s");
            assert!(tip(seam + 1.0).distance(tip(1.5)) < 1e-9);
        }
        assert_eq!(skin.cycle(), Some(Cycle { first: 0.5, period: 2.0 }));
    }

    #[test]
    fn an_animation_that_ends_elsewhere_jumps() {
        let skin = turning([0.0, 1.0, 0.5]).repeated();
        assert!(skin.jumps());
        let tip = |time: f64| skin.placed(1, &skin.bones_at(time, 1.0));
        assert!(tip(2.5 - 1e-6).distance(DVec3::new(0.5_f64.cos(), 0.5_f64.sin(), 0.0)) < 1e-5);
        assert!(tip(2.5).distance(DVec3::X) < 1e-9);
        let once = turning([0.0, 1.0, 0.5]);
        assert!(!once.jumps() && once.cycle().is_none());
    }
}
