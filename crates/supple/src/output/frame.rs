//! A frame: the visible state of every body at one time.

use std::sync::Arc;

use glam::{DMat3, Vec3};

use supple_mesh::SurfaceMesh;

/// The part of a body that does not change from frame to frame (unless it tears).
#[derive(Debug, Clone, PartialEq)]
pub struct FrameSurface {
    /// The body's name.
    pub name: String,
    /// The user's mesh: vertex order, polygons, UVs; its positions are the rest positions in world metres.
    pub mesh: SurfaceMesh,
    /// Maps a world position (metres, y up) to the unit and axes of the user's file: the inverse of the scene's
    /// `scale` and `up`, so that bare point caches fit the original file. The identity for generated shapes.
    pub file_from_world: DMat3,
}

/// One body in one frame.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameBody {
    /// Name, topology and rest positions; shared between frames while they do not change.
    pub surface: Arc<FrameSurface>,
    /// World positions in metres, one per vertex of the surface.
    pub positions: Vec<Vec3>,
    /// What contact exerts on it, if that is stored.
    pub contact: Option<FrameContact>,
}

/// What contact exerts on the vertices of a body, as in `Simulation::contact_forces`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrameContact {
    /// The force on each vertex in newtons. Of vertices at one place the first has it all.
    pub force: Vec<Vec3>,
    /// The pressure on each vertex in Pa.
    pub pressure: Vec<f32>,
}

impl FrameBody {
    /// Adds the vertices and faces that a body has after a later tear: clones coincide with their originals until they separate.
    /// A surface that is not a continuation of this one changes nothing.
    pub fn make_torn(&mut self, later: &Arc<FrameSurface>) {
        let (now, then) = (self.positions.len(), later.mesh.positions.len());
        let same = self.surface.name == later.name;
        let continues = same && then > now && then - now <= later.mesh.clone_of.len();
        if !continues {
            return;
        }
        let clones = &later.mesh.clone_of[later.mesh.clone_of.len() - (then - now)..];
        for &original in clones {
            self.positions.push(self.positions[original as usize]);
            if let Some(contact) = &mut self.contact {
                contact.force.push(Vec3::ZERO);
                contact.pressure.push(contact.pressure[original as usize]);
            }
        }
        self.surface = Arc::clone(later);
    }
}

/// The visible state at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The frame's number; 0 is the start.
    pub index: u32,
    /// Simulated time in seconds.
    pub time: f64,
    /// Every body, in the scene's order.
    pub bodies: Vec<FrameBody>,
}
