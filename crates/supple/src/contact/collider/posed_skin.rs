//! A mesh that follows the skeleton of its glTF file, at any time: not on straight lines between frames. It starts as modelled and blends into
//! the animation.

use std::path::Path;

use glam::{DAffine3, DMat4, DVec3};
use supple_core::parallel::prelude::*;

use super::blend_in::{blend_in, blend_weight, size_of};
use crate::scene::MeshShape;
use supple_core::{Error, FileError};
use supple_mesh::format::load_skin;
use supple_mesh::skin::Skin;

/// Vertices that are placed by one task, at least.
const CHUNK: usize = 512;

/// An animated skin.
#[derive(Debug)]
pub(super) struct PosedSkin {
    skin: Skin,
    /// The vertices that are placed.
    vertices: Vec<u32>,
    key_times: Vec<f64>,
    blend_in: f64,
}

impl PosedSkin {
    /// Reads the skin of a mesh; `vertices` are those of the file that are placed.
    pub(super) fn open(path: &Path, mesh: &MeshShape, vertices: Vec<u32>) -> Result<Self, Error> {
        let mut skin = load_skin(path, mesh.object.as_deref(), mesh.animation.as_deref())?;
        if mesh.repeats {
            skin = skin.repeated();
        }
        if let Some(beyond) = vertices.iter().find(|vertex| **vertex as usize >= skin.positions.len()) {
            let problem = format!("its skin has no vertex {beyond}, which the mesh has; export it again");
            return Err(FileError::whole(path, problem).into());
        }
        let blend_in = blend_in(mesh.blend_in, skin.first_move(), size_of(&skin.positions));
        let key_times = skin.key_times();
        Ok(Self { skin, vertices, key_times, blend_in })
    }

    pub(super) fn skin(&self) -> &Skin {
        &self.skin
    }

    /// The placed vertices at a time, mapped to the world.
    pub(super) fn positions(&self, time: f64, world_from_file: &DAffine3) -> Vec<DVec3> {
        let bones: Vec<DMat4> = self.skin.bones_at(time, blend_weight(time, self.blend_in));
        let placed =
            |vertex: &u32| world_from_file.transform_point3(self.skin.placed(*vertex as usize, &bones));
        self.vertices.par_iter().with_min_len(CHUNK).map(placed).collect()
    }

    /// The first time after a time at which the motion has a kink: a key, or the end of the blend-in.
    pub(super) fn next_kink(&self, after: f64) -> f64 {
        let cycle = self.skin.cycle();
        let phase = cycle.map_or(after, |cycle| cycle.phase(after));
        let key = self.key_times.get(self.key_times.partition_point(|key| *key <= phase));
        let key = key.map_or(f64::INFINITY, |key| after + (key - phase));
        let seam = cycle.map_or(f64::INFINITY, |cycle| cycle.next_seam(after));
        let blended = if self.blend_in > after { self.blend_in } else { f64::INFINITY };
        key.min(seam).min(blended)
    }
}
