//! PointCache2 (`.pc2`), the point cache of 3ds Max, Blender and Houdini. Little-endian: `POINTCACHE2\0`, version 1,
//! points (`i32`), start frame and frames a sample (`f32`), samples (`i32`), then the positions of every sample.

use std::path::PathBuf;

use super::job::Job;
use crate::error::Error;
use crate::output::atomic::AtomicFile;
use crate::output::frame::FrameBody;

/// Writes one file a body, in the unit and axes of the body's own file.
pub(super) fn export(job: &mut Job) -> Result<Vec<PathBuf>, Error> {
    let step = frames_a_sample(job.frames())?;
    let paths = job.body_files("pc2");
    let mut files = paths.iter().map(|path| AtomicFile::create(path)).collect::<Result<Vec<_>, _>>()?;
    for (file, surface) in files.iter_mut().zip(job.surfaces()) {
        let points = i32::try_from(surface.mesh.positions.len())
            .map_err(|_| Error::Invalid(format!("body `{}` has too many vertices for PC2", surface.name)))?;
        file.put(b"POINTCACHE2\0")?;
        file.put(&1i32.to_le_bytes())?;
        file.put(&points.to_le_bytes())?;
        file.put(&(job.frames()[0] as f32).to_le_bytes())?;
        file.put(&(step as f32).to_le_bytes())?;
        file.put(&(job.frames().len() as i32).to_le_bytes())?;
    }
    job.each_frame(|job, frame| {
        job.same_vertices(&frame, "PC2")?;
        for (file, body) in files.iter_mut().zip(&frame.bodies) {
            file.put(&positions_in_file_space(body, f32::to_le_bytes))?;
        }
        Ok(())
    })?;
    files.into_iter().try_for_each(AtomicFile::commit)?;
    Ok(paths)
}

/// The positions of a body in the unit and axes of its own file, as bytes.
pub(super) fn positions_in_file_space(body: &FrameBody, to_bytes: fn(f32) -> [u8; 4]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(12 * body.positions.len());
    for position in &body.positions {
        let there = body.surface.file_from_world * position.as_dvec3();
        there.as_vec3().to_array().into_iter().for_each(|x| bytes.extend_from_slice(&to_bytes(x)));
    }
    bytes
}

/// PC2 has one distance for all samples, so frames must not be missing.
fn frames_a_sample(frames: &[u32]) -> Result<u32, Error> {
    let steps: Vec<u32> = frames.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let step = steps.iter().copied().min().unwrap_or(1);
    match steps.iter().position(|&other| other != step) {
        None => Ok(step),
        Some(gap) => Err(Error::Invalid(format!(
            "frames between {} and {} are missing; PC2 cannot hold gaps: compute them or export to mdd",
            frames[gap],
            frames[gap + 1]
        ))),
    }
}
