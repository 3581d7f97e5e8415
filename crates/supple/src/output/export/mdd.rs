//! MDD (`.mdd`), the point cache of LightWave, Blender and Houdini. Big-endian: frames and points (`i32`), the time
//! of every frame in seconds (`f32`), then the positions of every frame.

use std::path::PathBuf;

use super::job::Job;
use super::pc2::positions_in_file_space;
use crate::error::Error;
use crate::output::atomic::AtomicFile;

/// Writes one file a body, in the unit and axes of the body's own file.
pub(super) fn export(job: &mut Job) -> Result<Vec<PathBuf>, Error> {
    let paths = job.body_files("mdd");
    let mut files = paths.iter().map(|path| AtomicFile::create(path)).collect::<Result<Vec<_>, _>>()?;
    for (file, surface) in files.iter_mut().zip(job.surfaces()) {
        let points = i32::try_from(surface.mesh.positions.len())
            .map_err(|_| Error::Invalid(format!("body `{}` has too many vertices for MDD", surface.name)))?;
        file.put(&(job.frames().len() as i32).to_be_bytes())?;
        file.put(&points.to_be_bytes())?;
        for &frame in job.frames() {
            file.put(&((f64::from(frame) / job.fps()) as f32).to_be_bytes())?;
        }
    }
    job.each_frame(|job, frame| {
        job.same_vertices(&frame, "MDD")?;
        for (file, body) in files.iter_mut().zip(&frame.bodies) {
            file.put(&positions_in_file_space(body, f32::to_be_bytes))?;
        }
        Ok(())
    })?;
    files.into_iter().try_for_each(AtomicFile::commit)?;
    Ok(paths)
}
