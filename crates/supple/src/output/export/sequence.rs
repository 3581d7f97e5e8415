//! Mesh sequences: one file per body and frame, `obj/dress_000012.obj`, with the user's polygons, UVs, names and
//! order, in metres, y up. Normals of the user's file are left out: they belong to the rest shape.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::job::Job;
use super::names::CONTACT_PRESSURE;
use crate::output::atomic::{AtomicFile, write_whole};
use crate::output::frame::{FrameBody, FrameContact, FrameSurface};
use supple_core::Error;
use supple_mesh::SurfaceMesh;
use supple_mesh::format::{VertexProperties, write_obj, write_ply_with};

/// Writes Wavefront OBJ files.
pub(super) fn export_obj(job: &mut Job) -> Result<Vec<PathBuf>, Error> {
    export(job, "obj", shortest, |mesh, _, file| write_obj(mesh, file))
}

/// Writes binary PLY files, with stored contact forces as properties of the vertices.
pub(super) fn export_ply(job: &mut Job) -> Result<Vec<PathBuf>, Error> {
    export(job, "ply", f64::from, |mesh, contact, file| {
        write_ply_with(mesh, contact.map(properties).into_iter().flatten().collect(), file)
    })
}

fn properties(FrameContact { force, pressure }: &FrameContact) -> [VertexProperties; 2] {
    let force = force.iter().flat_map(|force| force.as_dvec3().to_array()).collect();
    let pressure = pressure.iter().copied().map(f64::from).collect();
    [
        VertexProperties { names: &["contact_force_x", "contact_force_y", "contact_force_z"], values: force },
        VertexProperties { names: &[CONTACT_PRESSURE], values: pressure },
    ]
}

fn export(
    job: &mut Job,
    ending: &'static str,
    widen: fn(f32) -> f64,
    write: fn(&SurfaceMesh, Option<&FrameContact>, &mut AtomicFile) -> io::Result<()>,
) -> Result<Vec<PathBuf>, Error> {
    let sequence = job.sequence(ending)?;
    let mut meshes: Vec<Posed> = job.surfaces().iter().map(Posed::new).collect();
    let mut written = Vec::new();
    job.each_frame(|_, frame| {
        for (b, body) in frame.bodies.iter().enumerate() {
            let path = sequence.file(b, frame.index);
            write_whole(&path, |file| write(meshes[b].pose(body, widen), body.contact.as_ref(), file))?;
            written.push(path);
        }
        Ok(())
    })?;
    Ok(written)
}

/// A body's mesh, moved from frame to frame.
struct Posed {
    surface: Arc<FrameSurface>,
    mesh: SurfaceMesh,
}

impl Posed {
    fn new(surface: &Arc<FrameSurface>) -> Self {
        let mesh = SurfaceMesh { normals: None, ..surface.mesh.clone() };
        Self { surface: Arc::clone(surface), mesh }
    }

    fn pose(&mut self, body: &FrameBody, widen: fn(f32) -> f64) -> &SurfaceMesh {
        if !Arc::ptr_eq(&self.surface, &body.surface) {
            *self = Self::new(&body.surface);
        }
        for (position, moved) in self.mesh.positions.iter_mut().zip(&body.positions) {
            *position = moved.to_array().map(widen).into();
        }
        &self.mesh
    }
}

/// The number with the fewest decimal digits that rounds to `x`, so that text files get 9 digits and not 17.
fn shortest(x: f32) -> f64 {
    x.to_string().parse().unwrap_or(f64::from(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_number_is_short_and_rounds_back() {
        for x in [0.1f32, -1.0 / 3.0, f32::MAX, f32::MIN_POSITIVE, 0.0, 16_777_216.0] {
            assert_eq!(shortest(x) as f32, x);
            assert_eq!(shortest(x).to_string(), x.to_string());
        }
    }
}
