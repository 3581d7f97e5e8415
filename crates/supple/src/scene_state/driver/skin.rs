//! Pins on a skinned character. A point is bound to the point of the skin nearest to it at rest, as modelled, and follows its bones
//! with their weights, whatever its offset: flesh and bones inside move with their skin.
//!
//! Bodies start as modelled, animations often do not: during the blend-in the skeleton moves from the one pose into the other.

use std::path::Path;
use std::sync::Arc;

use glam::{DMat4, DVec3};

use super::{Carrier, JUMPS};
use crate::body::Body;
use crate::contact::{blend_in, blend_weight, size_of};
use supple_core::{Error, FileError};
use supple_mesh::format::load_skin;
use supple_mesh::geometry::TriangleTree;
use supple_mesh::skin::Skin;

/// An animated skin around a body.
#[derive(Debug)]
pub(crate) struct SkinDriver {
    skin: Skin,
    /// As modelled, in world metres.
    tree: Arc<TriangleTree>,
    world_from_file: DMat4,
    file_from_world: DMat4,
    /// In seconds.
    blend_in: f64,
}

impl SkinDriver {
    /// Reads a file that has the unit, axes and placement of a body's shape.
    pub(crate) fn open(
        path: &Path,
        (animation, repeats): (Option<&str>, bool),
        specified: Option<f64>,
        body: &Body,
    ) -> Result<Self, Error> {
        let mut skin = load_skin(path, None, animation)?;
        if repeats {
            skin = skin.repeated();
        }
        if skin.jumps() {
            return Err(FileError::whole(path, JUMPS).into());
        }
        let placed: Vec<DVec3> =
            skin.positions.iter().map(|p| body.world_from_shape.transform_point3(*p)).collect();
        let tree = Arc::new(TriangleTree::new(&placed, skin.triangles.clone()));
        let blend_in = blend_in(specified, skin.first_move(), size_of(&skin.positions));
        let world_from_file = DMat4::from(body.world_from_shape);
        Ok(Self { skin, tree, world_from_file, file_from_world: world_from_file.inverse(), blend_in })
    }

    /// Its faces as modelled.
    pub(crate) fn tree(&self) -> &Arc<TriangleTree> {
        &self.tree
    }

    /// The skin at a time.
    pub(crate) fn carrier(&self, time: f64) -> Carrier<'_> {
        self.carrier_at(time, blend_weight(time, self.blend_in))
    }

    /// The skin when a pin becomes active: at the start as modelled, like the body.
    pub(crate) fn carrier_from(&self, active_since: f64) -> Carrier<'_> {
        if active_since > 0.0 { self.carrier(active_since) } else { self.carrier_at(0.0, 0.0) }
    }

    fn carrier_at(&self, time: f64, fraction: f64) -> Carrier<'_> {
        let bones = self.skin.bones_at(time, fraction);
        let in_world = |bone: &DMat4| self.world_from_file * *bone * self.file_from_world;
        Carrier::Bones { skin: &self.skin, bones: bones.iter().map(in_world).collect() }
    }
}
