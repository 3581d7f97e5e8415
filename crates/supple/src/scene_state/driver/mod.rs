//! Drivers of a pin's points: keyframes, a skinned character, a sequence of meshes, or a collider. Its targets are a function
//! of time alone, so that a resumed run is bit-identical.
//!
//! A deforming driver carries a point by the face of its surface nearest to it. The [`Anchor`] of a point is this face and
//! the offset from it; it is found when the pin becomes active, so that nothing jumps then.

mod carrier;
mod sequence;
mod skin;

use std::sync::Arc;

use glam::DVec3;

pub(crate) use self::carrier::Anchor;
use self::carrier::{Anchoring, Carrier};
use self::sequence::SequenceDriver;
use self::skin::SkinDriver;
use super::{ActivePin, ColliderId, PinPoint, SceneState};
use crate::body::Body;
use crate::contact::MeshSource;
use crate::scene::{Collider, Follow, MeshShape, Motion, Pin, Pose};
use supple_core::Error;
use supple_mesh::geometry::TriangleTree;

/// The driver of a pin's points.
#[derive(Debug, Clone)]
pub(crate) enum PinDriver {
    /// Keyframes.
    Motion(Motion),
    /// An animated skin.
    Skin(Arc<SkinDriver>),
    /// Meshes over time.
    Sequence(Arc<SequenceDriver>),
    /// A collider, and its pose when the pin became active.
    Collider { id: ColliderId, from: Pose },
}

/// The targets of a pin at one time.
#[derive(Debug)]
pub(crate) struct PinPose<'a> {
    moved: Moved<'a>,
    offset: DVec3,
}

#[derive(Debug)]
enum Moved<'a> {
    Still,
    Rigid { from: Pose, to: Pose },
    Carried(Carrier<'a>),
}

impl PinPose<'_> {
    /// The target of a point.
    pub(crate) fn target(&self, point: &PinPoint) -> DVec3 {
        let moved = match &self.moved {
            Moved::Still => point.start,
            Moved::Rigid { from, to } => to.apply(from.apply_inverse(point.start)),
            Moved::Carried(carrier) => {
                point.anchor.as_ref().map_or(point.start, |anchor| carrier.place(anchor))
            }
        };
        moved + self.offset
    }
}

/// What an animation does that pinned points cannot: the rest of their body would stay.
pub(in crate::scene_state) const JUMPS: &str = "jumps where it repeats, since it does not end as it starts; pins cannot jump: leave out \
     `loop`, or close the animation";

/// Triangles and the positions of their vertices.
type PlacedFaces<'a> = (&'a [[u32; 3]], Vec<DVec3>);

impl SceneState {
    /// Reads the driver of a pin on a body; one that changes in time must cover `until` seconds.
    pub(crate) fn driver(&self, pin: &Pin, body: &Body, until: f64) -> Result<Option<PinDriver>, Error> {
        let Some(follow) = &pin.follows else { return Ok(None) };
        Ok(Some(match follow {
            Follow::Keyframes(motion) => PinDriver::Motion(motion.clone()),
            Follow::GltfSkin { file, animation, blend_in, repeats } => {
                let (path, animation) = (self.folder.join(file), animation.as_deref());
                PinDriver::Skin(Arc::new(SkinDriver::open(&path, (animation, *repeats), *blend_in, body)?))
            }
            Follow::MeshSequence { files, blend_in, repeats } => {
                let mesh = MeshShape { repeats: *repeats, ..MeshShape::new(self.folder.join(files)) };
                let times = [self.collider_meshes.fps(), until];
                PinDriver::Sequence(Arc::new(SequenceDriver::open(&mesh, times, *blend_in, body)?))
            }
            Follow::Collider(name) => {
                let found = self.colliders.iter().find(|(_, collider)| collider.name == *name);
                let (id, collider) = found.ok_or_else(|| {
                    Error::Invalid(format!("a pin follows the collider `{name}`, which does not exist"))
                })?;
                if self.collider_meshes.source(collider).is_some_and(MeshSource::jumps) {
                    let problem = format!("a pin follows the collider `{name}`, which {JUMPS}");
                    return Err(Error::Invalid(problem));
                }
                PinDriver::Collider { id: *id, from: Pose::IDENTITY }
            }
        }))
    }

    /// Finds the anchors of an active pin's points on their driver.
    pub(crate) fn bind_to_driver(&self, pin: &mut ActivePin) -> Result<(), Error> {
        let ActivePin { active_since: Some(active_since), driver: Some(driver), points, body, .. } = pin
        else {
            return Ok(());
        };
        if let PinDriver::Collider { id, from } = driver {
            *from =
                self.driving_collider(*id).map_or(Pose::IDENTITY, |collider| pose(collider, *active_since));
        }
        let Some(anchoring) = self.anchoring(driver, *active_since)? else { return Ok(()) };
        let x = &self.bodies[*body].start;
        for point in points {
            let rest = point.weights.iter().map(|&(v, w)| w * x[v as usize]).sum();
            point.anchor = Some(anchoring.anchor(rest, point.start));
        }
        Ok(())
    }

    /// The anchor search for points of a pin that becomes active; `None` if they need none.
    pub(crate) fn anchoring<'a>(
        &'a self,
        driver: &'a PinDriver,
        active_since: f64,
    ) -> Result<Option<Anchoring<'a>>, Error> {
        Ok(match driver {
            PinDriver::Motion(_) => None,
            PinDriver::Skin(skin) => Some(Anchoring::at_rest(skin.tree(), skin.carrier_from(active_since))),
            PinDriver::Sequence(sequence) => {
                Some(Anchoring::at_rest(sequence.tree(), sequence.carrier_from(active_since)?))
            }
            PinDriver::Collider { id, .. } => match self.deformed(*id, active_since)? {
                Some((triangles, positions)) => {
                    let tree = Arc::new(TriangleTree::new(&positions, triangles.to_vec()));
                    Some(Anchoring::where_they_are(tree, Carrier::Faces { triangles, positions }))
                }
                None => None,
            },
        })
    }

    /// The collider of a handle.
    fn driving_collider(&self, id: ColliderId) -> Option<&Collider> {
        self.colliders.iter().find(|(other, _)| *other == id).map(|(_, collider)| collider)
    }

    /// Triangles and vertices in the world of a deforming collider; `None` for others.
    fn deformed(&self, id: ColliderId, time: f64) -> Result<Option<PlacedFaces<'_>>, Error> {
        let Some(collider) = self.driving_collider(id) else { return Ok(None) };
        let source = self.collider_meshes.source(collider).filter(|source| source.deforms());
        let Some(source) = source else { return Ok(None) };
        let (mut positions, pose) = (source.at(time)?, pose(collider, time));
        positions.iter_mut().for_each(|p| *p = pose.apply(*p));
        Ok(Some((source.shared_triangles(), positions)))
    }
}

fn pose(collider: &Collider, time: f64) -> Pose {
    collider.motion.as_ref().map_or(Pose::IDENTITY, |motion| motion.pose(time))
}

impl ActivePin {
    /// The targets at a time. By keyframes, a pin active from the start moves a point from its start position by the
    /// pose of that time; one that became active later, or with another driver, by the change since then.
    pub(crate) fn pose_at<'a>(
        &'a self,
        scene_state: &'a SceneState,
        time: f64,
    ) -> Result<PinPose<'a>, Error> {
        let moved = match &self.driver {
            None => Moved::Still,
            Some(PinDriver::Motion(motion)) => {
                let from = self.active_since.filter(|active_since| *active_since > 0.0);
                let from = from.map_or(Pose::IDENTITY, |active_since| motion.pose(active_since));
                Moved::Rigid { from, to: motion.pose(time) }
            }
            Some(PinDriver::Skin(skin)) => Moved::Carried(skin.carrier(time)),
            Some(PinDriver::Sequence(sequence)) => Moved::Carried(sequence.carrier(time)?),
            Some(PinDriver::Collider { id, from }) => {
                match (scene_state.deformed(*id, time)?, scene_state.driving_collider(*id)) {
                    (Some((triangles, positions)), _) => {
                        Moved::Carried(Carrier::Faces { triangles, positions })
                    }
                    (None, Some(collider)) => Moved::Rigid { from: *from, to: pose(collider, time) },
                    (None, None) => Moved::Still,
                }
            }
        };
        Ok(PinPose { moved, offset: self.offset })
    }

    /// Whether its driver is a collider.
    pub(crate) fn follows_collider(&self, collider: ColliderId) -> bool {
        matches!(self.driver, Some(PinDriver::Collider { id, .. }) if id == collider)
    }
}
