//! Pins on a sequence of meshes with the vertices of a body's surface: surface points move with their vertices, interior points
//! move with the nearest face.

use std::path::Path;
use std::sync::Arc;

use glam::{DAffine3, DVec3};

use super::{Carrier, JUMPS};
use crate::body::Body;
use crate::contact::{MeshSource, blend_in, blend_weight, size_of};
use crate::scene::MeshShape;
use supple_core::{Error, FileError};
use supple_mesh::geometry::TriangleTree;

/// Meshes over time with the vertices of a body's surface.
#[derive(Debug)]
pub(crate) struct SequenceDriver {
    source: MeshSource,
    world_from_file: DAffine3,
    /// The start positions of the body's vertices.
    start: Vec<DVec3>,
    /// Its faces there.
    tree: Arc<TriangleTree>,
    /// In seconds.
    blend_in: f64,
}

impl SequenceDriver {
    /// Opens files in the unit, axes and placement of a body's shape, or a run, which is in world coordinates, and checks
    /// all frames needed until a time; without their own rate they have `fps` frames per second.
    pub(crate) fn open(
        mesh: &MeshShape,
        times: [f64; 2],
        specified: Option<f64>,
        body: &Body,
    ) -> Result<Self, Error> {
        let user = format!("a pin on body `{}`", body.name);
        let source = MeshSource::open_until(Path::new(""), mesh, DAffine3::IDENTITY, times, &user)?;
        if source.jumps() {
            return Err(FileError::whole(&mesh.file, JUMPS).into());
        }
        let (have, need) = (source.vertex_count(), body.surface_start.len());
        if have != need {
            let problem = format!(
                "{have} vertices, but the surface of body `{}` has {need}; export the sequence from the body's own mesh",
                body.name
            );
            return Err(FileError::whole(&mesh.file, problem).into());
        }
        let start = body.surface_start.clone();
        let tree = Arc::new(TriangleTree::new(&start, body.surface_triangles.clone()));
        let world_from_file = if source.is_run() { DAffine3::IDENTITY } else { body.world_from_shape };
        let mut driver = Self { source, world_from_file, start, tree, blend_in: 0.0 };
        let first = driver.positions(0.0)?;
        let moved = first.iter().zip(&driver.start).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        driver.blend_in = blend_in(specified, moved, size_of(&driver.start));
        Ok(driver)
    }

    /// The body's faces at the start.
    pub(crate) fn tree(&self) -> &Arc<TriangleTree> {
        &self.tree
    }

    /// The faces at a time.
    pub(crate) fn carrier(&self, time: f64) -> Result<Carrier<'_>, Error> {
        let mut positions = self.positions(time)?;
        let fraction = blend_weight(time, self.blend_in);
        if fraction < 1.0 {
            positions.iter_mut().zip(&self.start).for_each(|(p, start)| *p = start.lerp(*p, fraction));
        }
        Ok(Carrier::Faces { triangles: self.tree.triangles(), positions })
    }

    /// The faces when a pin becomes active: at the start those of the body.
    pub(crate) fn carrier_from(&self, active_since: f64) -> Result<Carrier<'_>, Error> {
        if active_since > 0.0 {
            return self.carrier(active_since);
        }
        Ok(Carrier::Faces { triangles: self.tree.triangles(), positions: self.start.clone() })
    }

    fn positions(&self, time: f64) -> Result<Vec<DVec3>, Error> {
        let mut positions = self.source.vertices_at(time)?;
        positions.iter_mut().for_each(|p| *p = self.world_from_file.transform_point3(*p));
        Ok(positions)
    }
}
