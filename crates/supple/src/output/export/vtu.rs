//! VTK's unstructured grids for ParaView: `vtu/dress_000012.vtu` for each body and frame with the displacement from
//! rest and stored contact forces, and `dress.pvd`, which gives each its time in seconds. Metres, y up.

use std::io::{self, Write};
use std::path::PathBuf;

use glam::DVec3;

use super::job::{Job, Sequence};
use super::names::{CONTACT_FORCE, CONTACT_PRESSURE};
use crate::output::atomic::{AtomicFile, write_whole};
use crate::output::frame::FrameBody;
use supple_core::Error;
use supple_mesh::format::{PointData, PointValues, VtuMesh, write_vtu};

/// Writes the files of every frame, then the `.pvd` of every body.
pub(super) fn export(job: &mut Job) -> Result<Vec<PathBuf>, Error> {
    let sequence = job.sequence("vtu")?;
    let mut written = Vec::new();
    let mut times = Vec::with_capacity(job.frames().len());
    job.each_frame(|_, frame| {
        times.push((frame.index, frame.time));
        for (b, body) in frame.bodies.iter().enumerate() {
            let path = sequence.file(b, frame.index);
            write_whole(&path, |file| write_body(body, file))?;
            written.push(path);
        }
        Ok(())
    })?;
    for (b, path) in job.body_files("pvd").into_iter().enumerate() {
        write_whole(&path, |file| write_collection(&sequence, b, &times, file))?;
        written.push(path);
    }
    Ok(written)
}

fn write_body(body: &FrameBody, file: &mut AtomicFile) -> io::Result<()> {
    let mesh = &body.surface.mesh;
    let positions: Vec<DVec3> = body.positions.iter().map(|p| p.as_dvec3()).collect();
    let displacements: Vec<DVec3> =
        positions.iter().zip(&mesh.positions).map(|(&p, &rest)| p - rest).collect();
    let mut data = vec![PointData { name: "displacement", values: PointValues::Vectors(&displacements) }];
    let contact = body.contact.as_ref();
    let forces: Option<Vec<DVec3>> = contact.map(|c| c.force.iter().map(|force| force.as_dvec3()).collect());
    let pressure: Option<Vec<f64>> = contact.map(|c| c.pressure.iter().copied().map(f64::from).collect());
    if let (Some(forces), Some(pressure)) = (&forces, &pressure) {
        data.push(PointData { name: CONTACT_FORCE, values: PointValues::Vectors(forces) });
        data.push(PointData { name: CONTACT_PRESSURE, values: PointValues::Scalars(pressure) });
    }
    write_vtu(VtuMesh::from(mesh).with_positions(&positions), &data, file)
}

fn write_collection(
    sequence: &Sequence,
    body: usize,
    times: &[(u32, f64)],
    file: &mut AtomicFile,
) -> io::Result<()> {
    writeln!(file, "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n  <Collection>")?;
    for &(frame, time) in times {
        let name = sequence.relative(body, frame);
        writeln!(file, "    <DataSet timestep=\"{time}\" part=\"0\" file=\"{name}\"/>")?;
    }
    writeln!(file, "  </Collection>\n</VTKFile>")
}
