//! The common part of all exporters: the frames in order, checked against the first, and the progress.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::names::file_stems;
use crate::output::atomic::{create_folder, sweep};
use crate::output::{Frame, FrameBody, FrameCache, FrameSurface};
use supple_core::{Error, FileError};

/// File names for each body and frame.
pub(super) struct Sequence {
    folder: PathBuf,
    stems: Vec<String>,
    ending: &'static str,
}

impl Sequence {
    /// The file of a body in a frame.
    pub(super) fn file(&self, body: usize, frame: u32) -> PathBuf {
        self.folder.join(self.name(body, frame))
    }

    /// The same relative to the export folder.
    pub(super) fn relative(&self, body: usize, frame: u32) -> String {
        format!("{}/{}", self.ending, self.name(body, frame))
    }

    /// Removes files of frames that the run does not have: they are left over from an earlier, longer one.
    fn remove_other_frames(&self, frames: &[u32]) -> Result<(), FileError> {
        let failed = |error: io::Error| FileError::io(&self.folder, "clean", &error);
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if self.frame_of(&path).is_some_and(|frame| frames.binary_search(&frame).is_err()) {
                fs::remove_file(&path).map_err(|error| FileError::io(&path, "remove", &error))?;
            }
        }
        Ok(())
    }

    /// The frame number in one of our own file names.
    fn frame_of(&self, path: &Path) -> Option<u32> {
        let name = path.file_name()?.to_str()?;
        let (stem, number) = name.strip_suffix(self.ending)?.strip_suffix('.')?.rsplit_once('_')?;
        let frame: u32 = number.parse().ok()?;
        let body = self.stems.iter().position(|own| own == stem)?;
        (self.name(body, frame) == name).then_some(frame)
    }

    fn name(&self, body: usize, frame: u32) -> String {
        format!("{}_{frame:06}.{}", self.stems[body], self.ending)
    }
}

/// One call of [`super::export`].
pub(super) struct Job<'a> {
    cache: &'a FrameCache,
    frames: Vec<u32>,
    surfaces: Vec<Arc<FrameSurface>>,
    folder: &'a Path,
    progress: &'a mut dyn FnMut(u32, u32) -> ControlFlow<()>,
    done: u32,
    total: u32,
}

impl<'a> Job<'a> {
    /// Reads the first frame and creates the folder.
    pub(super) fn start(
        cache: &'a FrameCache,
        formats: u32,
        folder: &'a Path,
        progress: &'a mut dyn FnMut(u32, u32) -> ControlFlow<()>,
    ) -> Result<Self, Error> {
        let frames = cache.frames()?;
        let Some(&first) = frames.first() else {
            return Err(Error::Invalid("the run has no frames to export; run the scene first".into()));
        };
        // If a body was torn, the last surface has all of its vertices.
        let (mut bodies, last) =
            (cache.read(first)?.bodies, cache.read(*frames.last().unwrap_or(&first))?.bodies);
        bodies.iter_mut().zip(&last).for_each(|(body, last)| body.make_torn(&last.surface));
        let surfaces = bodies.into_iter().map(|body| body.surface).collect();
        create_folder(folder)?;
        sweep(folder)?;
        let total = formats.saturating_mul(frames.len() as u32);
        Ok(Self { cache, frames, surfaces, folder, progress, done: 0, total })
    }

    /// The frame numbers, sorted; never empty.
    pub(super) fn frames(&self) -> &[u32] {
        &self.frames
    }

    /// Every body's surface in the first frame.
    pub(super) fn surfaces(&self) -> &[Arc<FrameSurface>] {
        &self.surfaces
    }

    /// Frames per second.
    pub(super) fn fps(&self) -> f64 {
        self.cache.info().fps
    }

    /// The scene's name.
    pub(super) fn scene(&self) -> &str {
        &self.cache.info().scene
    }

    /// The file of the whole scene.
    pub(super) fn scene_file(&self, ending: &str) -> PathBuf {
        let stem = file_stems(std::iter::once(self.scene())).remove(0);
        self.folder.join(format!("{stem}.{ending}"))
    }

    /// One file per body.
    pub(super) fn body_files(&self, ending: &str) -> Vec<PathBuf> {
        let stems = file_stems(self.surfaces.iter().map(|surface| surface.name.as_str()));
        stems.into_iter().map(|stem| self.folder.join(format!("{stem}.{ending}"))).collect()
    }

    /// The files of every body and frame, in their own folder, which is created.
    pub(super) fn sequence(&self, ending: &'static str) -> Result<Sequence, FileError> {
        let folder = self.folder.join(ending);
        create_folder(&folder)?;
        sweep(&folder)?;
        let stems = file_stems(self.surfaces.iter().map(|surface| surface.name.as_str()));
        let sequence = Sequence { folder, stems, ending };
        sequence.remove_other_frames(&self.frames)?;
        Ok(sequence)
    }

    /// Reads a frame with the vertices that its bodies have at the end; rejects one whose bodies differ from the first.
    pub(super) fn read(&self, index: u32) -> Result<Frame, FileError> {
        let mut frame = self.cache.read(index)?;
        let names = |bodies: &[FrameBody]| bodies.iter().map(|b| b.surface.name.clone()).collect::<Vec<_>>();
        if !frame.bodies.iter().map(|body| &body.surface.name).eq(self.surfaces.iter().map(|s| &s.name)) {
            let problem = format!(
                "frame {index} has the bodies {:?}, which are not those of frame {}; run the scene again",
                names(&frame.bodies),
                self.frames[0]
            );
            return Err(FileError::whole(&self.cache.frame_path(index), problem));
        }
        frame.bodies.iter_mut().zip(&self.surfaces).for_each(|(body, last)| body.make_torn(last));
        Ok(frame)
    }

    /// Calls `visit` with every frame in order, and reports progress.
    pub(super) fn each_frame(
        &mut self,
        mut visit: impl FnMut(&Self, Frame) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for position in 0..self.frames.len() {
            let frame = self.read(self.frames[position])?;
            visit(self, frame)?;
            self.done += 1;
            self.report_progress()?;
        }
        Ok(())
    }

    /// Counts all frames of the first `formats` as done, whether written or rejected.
    pub(super) fn finish_formats(&mut self, formats: usize) {
        self.done = (formats as u32).saturating_mul(self.frames.len() as u32);
    }

    /// Reports the progress of the export, and checks for an interrupt.
    pub(super) fn report_progress(&mut self) -> Result<(), Error> {
        match (self.progress)(self.done, self.total) {
            ControlFlow::Continue(()) => Ok(()),
            // Nothing is left to interrupt.
            ControlFlow::Break(()) if self.done == self.total => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped { done: self.done, total: self.total }),
        }
    }

    /// Rejects a frame whose vertex count changed, for formats that cannot represent it.
    pub(super) fn same_vertices(&self, frame: &Frame, format: &str) -> Result<(), Error> {
        for (body, surface) in frame.bodies.iter().zip(&self.surfaces) {
            let (now, before) = (body.positions.len(), surface.mesh.positions.len());
            if now != before {
                return Err(Error::Invalid(format!(
                    "body `{}` has {before} vertices in frame {} and {now} in frame {} (it was torn); {format} cannot represent \
                     that: export to usd, obj, ply or vtu",
                    surface.name, self.frames[0], frame.index
                )));
            }
        }
        Ok(())
    }
}
