//! The common part of PC2 and MDD: one file per body with a header and the positions of every frame, in the unit and
//! axes of the body's own file, since they are applied to it.

use std::path::PathBuf;

use super::job::Job;
use crate::output::atomic::AtomicFile;
use crate::output::frame::FrameBody;
use supple_core::Error;

/// A kind of point cache.
pub(super) struct PointCache<'a> {
    /// Its name in messages.
    pub(super) name: &'static str,
    /// The extension of its files.
    pub(super) ending: &'static str,
    /// The header of a file with this many points.
    pub(super) header: &'a dyn Fn(i32) -> Vec<u8>,
    /// The bytes of a number.
    pub(super) to_bytes: fn(f32) -> [u8; 4],
}

impl PointCache<'_> {
    /// Writes one file per body.
    pub(super) fn export(&self, job: &mut Job) -> Result<Vec<PathBuf>, Error> {
        let paths = job.body_files(self.ending);
        let mut files = paths.iter().map(|path| AtomicFile::create(path)).collect::<Result<Vec<_>, _>>()?;
        for (file, surface) in files.iter_mut().zip(job.surfaces()) {
            let points = i32::try_from(surface.mesh.positions.len()).map_err(|_| {
                Error::Invalid(format!("body `{}` has too many vertices for {}", surface.name, self.name))
            })?;
            file.put(&(self.header)(points))?;
        }
        job.each_frame(|job, frame| {
            job.same_vertices(&frame, self.name)?;
            for (file, body) in files.iter_mut().zip(&frame.bodies) {
                file.put(&self.positions(body))?;
            }
            Ok(())
        })?;
        files.into_iter().try_for_each(AtomicFile::commit)?;
        Ok(paths)
    }

    fn positions(&self, body: &FrameBody) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(12 * body.positions.len());
        for position in &body.positions {
            let there = body.surface.file_from_world * position.as_dvec3();
            there.as_vec3().to_array().into_iter().for_each(|x| bytes.extend((self.to_bytes)(x)));
        }
        bytes
    }
}
