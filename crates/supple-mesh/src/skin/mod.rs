//! Skinned characters: a surface whose vertices follow the joints of an animated skeleton (glTF 2.0, section 3.7.3.3).
//!
//! A vertex as modelled, x, is at Σ w B x, where the bone B maps the modelled position to the current pose of its
//! joint and the weights w sum to one.

mod channel;
mod dress;
mod figure;
mod repeat;
mod skeleton;

use glam::{DMat4, DVec3};

pub use channel::{Channel, Interpolation, Values};
pub use dress::dress_around;
pub use figure::{Figure, Joint, walking_figure};
use repeat::Repeat;
pub use skeleton::{Parts, Skeleton, SkeletonNode};

/// A bone: maps modelled positions to the space of its node.
#[derive(Debug, Clone, PartialEq)]
pub struct Bone {
    /// Its node.
    pub node: usize,
    /// Maps modelled positions to the space of that node.
    pub from_model: DMat4,
}

/// For each vertex the bones that it follows, with weights that sum to one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Influences {
    ends: Vec<u32>,
    all: Vec<(u32, f64)>,
}

impl Influences {
    /// Appends a vertex. Weights that are not positive are dropped; the others are normalised.
    pub fn push(&mut self, bones: impl Iterator<Item = (u32, f64)>) {
        let first = self.all.len();
        self.all.extend(bones.filter(|(_, weight)| *weight > 0.0));
        let sum: f64 = self.all[first..].iter().map(|(_, weight)| weight).sum();
        self.all[first..].iter_mut().for_each(|(_, weight)| *weight /= sum);
        self.ends.push(self.all.len() as u32);
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Those of some vertices.
    pub fn of_vertices(&self, vertices: &[u32]) -> Self {
        let mut some = Self::default();
        for vertex in vertices {
            some.all.extend_from_slice(self.of(*vertex as usize));
            some.ends.push(some.all.len() as u32);
        }
        some
    }

    /// The bones of a vertex and their weights.
    pub fn of(&self, vertex: usize) -> &[(u32, f64)] {
        let first = vertex.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[first as usize..self.ends[vertex] as usize]
    }
}

/// A surface on an animated skeleton.
#[derive(Debug, Clone)]
pub struct Skin {
    /// The vertices as modelled.
    pub positions: Vec<DVec3>,
    /// Their triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Their bone influences.
    pub influences: Influences,
    skeleton: Skeleton,
    bones: Vec<Bone>,
    /// The parent of each bone.
    above: Vec<Option<usize>>,
    /// All bones, parents first.
    order: Vec<usize>,
    /// How the animation repeats, if it does.
    repeat: Option<Repeat>,
}

impl Skin {
    /// A surface with one list of influences per vertex, on the bones of a skeleton.
    pub fn new(
        (positions, triangles): (Vec<DVec3>, Vec<[u32; 3]>),
        influences: Influences,
        skeleton: Skeleton,
        bones: Vec<Bone>,
    ) -> Self {
        let at_node = |node: usize| bones.iter().position(|bone| bone.node == node);
        let above = bones.iter().map(|bone| skeleton.above(bone.node).find_map(at_node)).collect();
        let mut rank = vec![0; skeleton.order().len()];
        skeleton.order().iter().enumerate().for_each(|(place, &node)| rank[node] = place);
        let mut order: Vec<usize> = (0..bones.len()).collect();
        order.sort_by_key(|&bone| rank[bones[bone].node]);
        Self { positions, triangles, influences, skeleton, bones, above, order, repeat: None }
    }

    /// The bone matrices at a time of the animation in seconds. With `fraction` below 1 the skeleton is only part of
    /// the way from the modelled pose to that of the animation; it bends in between and does not shrink.
    pub fn bones_at(&self, time: f64, fraction: f64) -> Vec<DMat4> {
        let Some(repeat) = &self.repeat else { return self.bones_once(time, fraction) };
        let mut bones = self.bones_once(repeat.phase(time), fraction);
        repeat.correct(&mut bones, time, fraction);
        bones
    }

    /// The same without repeating.
    fn bones_once(&self, time: f64, fraction: f64) -> Vec<DMat4> {
        if fraction <= 0.0 {
            return vec![DMat4::IDENTITY; self.bones.len()];
        }
        let nodes = self.skeleton.at(time);
        if fraction >= 1.0 {
            return self.bones.iter().map(|bone| nodes[bone.node] * bone.from_model).collect();
        }
        let modelled: Vec<DMat4> = self.bones.iter().map(|bone| bone.from_model.inverse()).collect();
        let mut placed = vec![DMat4::IDENTITY; self.bones.len()];
        for &bone in &self.order {
            let animated = nodes[self.bones[bone].node];
            placed[bone] = match self.above[bone] {
                None => skeleton::mix(&modelled[bone], &animated, fraction),
                Some(above) => {
                    let from = self.bones[above].from_model * modelled[bone];
                    let to = nodes[self.bones[above].node].inverse() * animated;
                    placed[above] * skeleton::mix(&from, &to, fraction)
                }
            };
        }
        placed.iter().zip(&self.bones).map(|(placed, bone)| *placed * bone.from_model).collect()
    }

    /// The position of a vertex with these bone matrices.
    pub fn placed(&self, vertex: usize, bones: &[DMat4]) -> DVec3 {
        let (of, p) = (self.influences.of(vertex), self.positions[vertex]);
        of.iter().map(|&(bone, w)| w * bones[bone as usize].transform_point3(p)).sum()
    }

    /// The largest distance of a vertex at the start of the animation from its modelled position.
    pub fn first_move(&self) -> f64 {
        let bones = self.bones_at(0.0, 1.0);
        let moved = |(vertex, p): (usize, &DVec3)| self.placed(vertex, &bones).distance(*p);
        self.positions.iter().enumerate().map(moved).fold(0.0, f64::max)
    }

    /// The times of all keys of the animation in ascending seconds.
    pub fn key_times(&self) -> Vec<f64> {
        self.skeleton.key_times()
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use glam::DQuat;

    use super::*;

    /// Two bones along x, each a metre long; the second turns from 1 to 2 right angles in a second.
    fn two_bones() -> Skin {
        let along = DMat4::from_translation(DVec3::X);
        let nodes = vec![
            SkeletonNode::new(None, Parts::IDENTITY),
            SkeletonNode::new(Some(0), Parts { translation: DVec3::X, ..Parts::IDENTITY }),
        ];
        let turns = [1.0, 2.0].map(|turns| DQuat::from_rotation_z(turns * FRAC_PI_2));
        let elbow = Channel {
            node: 1,
            times: vec![0.0, 1.0],
            values: Values::Rotation(turns.to_vec()),
            interpolation: Interpolation::Linear,
        };
        let bones = vec![
            Bone { node: 1, from_model: along.inverse() },
            Bone { node: 0, from_model: DMat4::IDENTITY },
        ];
        let positions = vec![DVec3::ZERO, DVec3::new(2.0, 0.0, 0.0), DVec3::new(1.0, 0.5, 0.0)];
        let mut influences = Influences::default();
        influences.push([(1, 3.0), (0, 0.0)].into_iter());
        influences.push([(0, 1.0)].into_iter());
        influences.push([(0, 0.2), (1, 0.2)].into_iter());
        let skeleton = Skeleton::new(nodes, vec![elbow]).unwrap();
        Skin::new((positions, vec![[0, 1, 2]]), influences, skeleton, bones)
    }

    fn place(skin: &Skin, vertex: usize, [time, fraction]: [f64; 2]) -> DVec3 {
        let bones = skin.bones_at(time, fraction);
        let of = skin.influences.of(vertex);
        of.iter().map(|&(b, w)| w * bones[b as usize].transform_point3(skin.positions[vertex])).sum()
    }

    #[test]
    fn vertices_are_the_weighted_mean_of_what_their_bones_say() {
        let skin = two_bones();
        assert_eq!(skin.influences.of(2), [(0, 0.5), (1, 0.5)]);
        assert!(place(&skin, 0, [1.0, 1.0]).distance(DVec3::ZERO) < 1e-12);
        assert!(place(&skin, 1, [0.0, 1.0]).distance(DVec3::new(1.0, 1.0, 0.0)) < 1e-12);
        assert!(place(&skin, 1, [1.0, 1.0]).distance(DVec3::ZERO) < 1e-12);
        // The elbow's vertex is half rotated and half fixed.
        assert!(place(&skin, 2, [1.0, 1.0]).distance(DVec3::X) < 1e-12);
        assert!((skin.first_move() - 2.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_way_from_the_model_into_the_animation_bends_and_does_not_shrink() {
        let skin = two_bones();
        assert_eq!(place(&skin, 1, [0.3, 0.0]), skin.positions[1]);
        let half = place(&skin, 1, [0.0, 0.5]);
        let expected = DVec3::X + DQuat::from_rotation_z(0.5 * FRAC_PI_2) * DVec3::X;
        assert!(half.distance(expected) < 1e-12, "{half}");
    }
}
