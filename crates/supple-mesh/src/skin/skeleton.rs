//! A hierarchy of nodes, and its animation.

use glam::{DMat4, DQuat, DVec3};

use super::Channel;

/// A decomposed transform: scale, then rotation, then translation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// Translation.
    pub translation: DVec3,
    /// Rotation as a unit quaternion.
    pub rotation: DQuat,
    /// Scale along the axes.
    pub scale: DVec3,
}

impl Parts {
    /// The identity transform.
    pub const IDENTITY: Self =
        Self { translation: DVec3::ZERO, rotation: DQuat::IDENTITY, scale: DVec3::ONE };

    /// Decomposes a matrix; a shear is lost.
    pub fn of(matrix: &DMat4) -> Self {
        let (scale, rotation, translation) = matrix.to_scale_rotation_translation();
        Self { translation, rotation, scale }
    }

    /// As a matrix.
    pub fn matrix(&self) -> DMat4 {
        DMat4::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
    }

    /// Interpolates to another transform, from 0 to 1.
    fn mix(&self, to: &Self, fraction: f64) -> Self {
        Self {
            translation: self.translation.lerp(to.translation, fraction),
            rotation: self.rotation.slerp(to.rotation, fraction),
            scale: self.scale.lerp(to.scale, fraction),
        }
    }
}

/// A node without animation.
#[derive(Debug, Clone, PartialEq)]
pub struct SkeletonNode {
    /// The parent node.
    pub parent: Option<usize>,
    /// Its transform relative to the parent.
    pub local: DMat4,
    /// The same, decomposed, for animation.
    pub parts: Parts,
}

impl SkeletonNode {
    /// A node with a transform relative to its parent.
    pub fn new(parent: Option<usize>, parts: Parts) -> Self {
        Self { parent, local: parts.matrix(), parts }
    }
}

/// A hierarchy of nodes, and its animation.
#[derive(Debug, Clone)]
pub struct Skeleton {
    nodes: Vec<SkeletonNode>,
    /// All nodes, parents first.
    order: Vec<usize>,
    channels: Vec<Channel>,
}

impl Skeleton {
    /// Nodes that form trees, and an animation of them; `None` if there is a cycle.
    pub fn new(nodes: Vec<SkeletonNode>, channels: Vec<Channel>) -> Option<Self> {
        let mut children = vec![Vec::new(); nodes.len()];
        let mut order = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            match node.parent {
                Some(parent) => children[parent].push(index),
                None => order.push(index),
            }
        }
        let mut next = 0;
        while next < order.len() {
            order.extend_from_slice(&children[order[next]]);
            next += 1;
        }
        (order.len() == nodes.len()).then_some(Self { nodes, order, channels })
    }

    /// The global transform of each node without the animation.
    pub fn at_rest(&self) -> Vec<DMat4> {
        self.placed(|node| self.nodes[node].local)
    }

    /// The global transform of each node at a time of the animation in seconds.
    pub fn at(&self, time: f64) -> Vec<DMat4> {
        let mut animated: Vec<Option<Parts>> = vec![None; self.nodes.len()];
        for channel in &self.channels {
            channel.apply(time, animated[channel.node].get_or_insert(self.nodes[channel.node].parts));
        }
        self.placed(|node| animated[node].map_or(self.nodes[node].local, |parts| parts.matrix()))
    }

    /// The times of all keys in ascending seconds.
    pub fn key_times(&self) -> Vec<f64> {
        let mut times: Vec<f64> = self.channels.iter().flat_map(|channel| &channel.times).copied().collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        times
    }

    fn placed(&self, local: impl Fn(usize) -> DMat4) -> Vec<DMat4> {
        let mut placed = vec![DMat4::IDENTITY; self.nodes.len()];
        for &node in &self.order {
            let above = self.nodes[node].parent.map_or(DMat4::IDENTITY, |parent| placed[parent]);
            placed[node] = above * local(node);
        }
        placed
    }

    /// The ancestors of a node, nearest first.
    pub fn above(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.nodes[node].parent, |parent| self.nodes[*parent].parent)
    }

    /// All nodes, parents first.
    pub fn order(&self) -> &[usize] {
        &self.order
    }
}

/// Interpolates between two transforms: their parts are interpolated separately, so that rotations do not shrink.
/// With a shear, which has no parts, entries are interpolated linearly.
pub(super) fn mix(from: &DMat4, to: &DMat4, fraction: f64) -> DMat4 {
    let parts = [from, to].map(Parts::of);
    let kept = |matrix: &DMat4, parts: &Parts| {
        let size = matrix.to_cols_array().iter().fold(0.0_f64, |most, entry| most.max(entry.abs()));
        parts.matrix().abs_diff_eq(*matrix, 1e-6 * size)
    };
    if kept(from, &parts[0]) && kept(to, &parts[1]) {
        return parts[0].mix(&parts[1], fraction).matrix();
    }
    *from * (1.0 - fraction) + *to * fraction
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::*;
    use crate::skin::{Interpolation, Values};

    /// An arm of two metres along x whose parent, the shoulder, is listed last, with an elbow that bends by a right angle.
    fn arm() -> Skeleton {
        let at = |translation: DVec3| Parts { translation, ..Parts::IDENTITY };
        let nodes = vec![
            SkeletonNode::new(Some(1), at(DVec3::X)),
            SkeletonNode::new(Some(2), at(DVec3::X)),
            SkeletonNode::new(None, at(DVec3::Y)),
        ];
        let bend = vec![DQuat::IDENTITY, DQuat::from_rotation_z(FRAC_PI_2)];
        let elbow = Channel {
            node: 1,
            times: vec![0.0, 1.0],
            values: Values::Rotation(bend),
            interpolation: Interpolation::Linear,
        };
        Skeleton::new(nodes, vec![elbow]).unwrap()
    }

    #[test]
    fn nodes_move_with_those_they_hang_from() {
        let arm = arm();
        let hand = |placed: Vec<DMat4>| placed[0].transform_point3(DVec3::ZERO);
        assert_eq!(hand(arm.at_rest()), DVec3::new(2.0, 1.0, 0.0));
        let root = std::f64::consts::FRAC_1_SQRT_2;
        assert!(hand(arm.at(0.5)).distance(DVec3::new(1.0 + root, 1.0 + root, 0.0)) < 1e-12);
        assert!(hand(arm.at(1.0)).distance(DVec3::new(1.0, 2.0, 0.0)) < 1e-12);
        assert_eq!(arm.above(0).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn nodes_in_a_circle_are_refused() {
        let node = |parent| SkeletonNode::new(Some(parent), Parts::IDENTITY);
        assert!(Skeleton::new(vec![node(1), node(0)], Vec::new()).is_none());
    }

    #[test]
    fn half_way_between_two_turns_nothing_shrinks() {
        let (from, to) = (DMat4::IDENTITY, DMat4::from_rotation_z(2.0));
        let half = mix(&from, &to, 0.5);
        assert!(half.abs_diff_eq(DMat4::from_rotation_z(1.0), 1e-12));
        let shear = DMat4::from_cols_array_2d(&[
            [1.0, 0.0, 0.0, 0.0],
            [0.5, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]);
        assert_eq!(mix(&shear, &shear, 0.25), shear);
    }
}
