//! Recorded surfaces after every step, in memory, and their export to files.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use supple::linear::Simd;
use supple::output::{ExportFormat, Frame, FrameCache, RunInfo, export, write_whole};
use supple::{Error, FileError};

/// Frames of a simulation, up to a memory limit.
pub(crate) struct Recording {
    frames: Vec<Frame>,
    bytes: usize,
    limit: usize,
    full: bool,
}

impl Recording {
    /// A recording that starts with the current surfaces and uses at most `limit` bytes; 0 records nothing.
    pub(crate) fn new(start: Frame, limit: usize) -> Self {
        let mut recording = Self { frames: Vec::new(), bytes: 0, limit, full: limit == 0 };
        recording.push(start);
        recording
    }

    /// Adds the current surfaces. Returns whether the limit has just been reached.
    pub(crate) fn push(&mut self, frame: Frame) -> bool {
        if self.full {
            return false;
        }
        self.bytes += frame.bodies.iter().map(|body| 12 * body.positions.len()).sum::<usize>();
        self.full = self.bytes > self.limit;
        if !self.full {
            self.frames.push(frame);
        }
        self.full
    }

    /// Whether another frame can be recorded.
    pub(crate) fn is_open(&self) -> bool {
        !self.full
    }

    /// Frames so far.
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    /// Clears the recording.
    pub(crate) fn restart(&mut self, start: Frame) {
        *self = Self::new(start, self.limit);
    }

    /// All frames; an error if some are missing.
    pub(crate) fn whole(&self) -> Result<&[Frame], Error> {
        if self.limit == 0 {
            return Err(Error::Invalid(
                "nothing was recorded: this simulation was created with `record=False`; use `record=True` to save \
                 animations"
                    .into(),
            ));
        }
        if self.full {
            return Err(Error::Invalid(format!(
                "the recording ended after {} frames, at its limit of {} bytes; raise `record`, clear it from time to time, or \
                 let `Scene.run(out=...)` write frames to disk",
                self.frames.len(),
                self.limit
            )));
        }
        Ok(&self.frames)
    }

    /// Frames per second: those of the scene if they match, else derived from the frames' times.
    pub(crate) fn fps(&self, scene: f64) -> f64 {
        let (Some(first), Some(last)) = (self.frames.first(), self.frames.last()) else { return scene };
        let seconds = last.time - first.time;
        let measured = (self.frames.len() - 1) as f64 / seconds;
        let fits = seconds <= 0.0 || (measured / scene - 1.0).abs() < 1e-6;
        if fits { scene } else { measured }
    }
}

/// Frames with the data that exporters need.
pub(crate) struct Animation<'a> {
    pub(crate) frames: &'a [Frame],
    pub(crate) scene: &'a str,
    pub(crate) fps: f64,
}

impl Animation<'_> {
    /// Writes all frames into a folder in some formats; returns the files.
    pub(crate) fn export(&self, folder: &Path, formats: &[ExportFormat]) -> Result<Vec<PathBuf>, Error> {
        let (_kept, cache) = self.cache()?;
        export(&cache, formats, folder, &mut |_, _| ControlFlow::Continue(()))
    }

    /// Writes one file, or one per body (`NAME-BODY.EXT`) if the format has no scenes; returns the files.
    pub(crate) fn save(&self, path: &Path, format: ExportFormat) -> Result<Vec<PathBuf>, Error> {
        let (kept, cache) = self.cache()?;
        let folder = kept.path().join("exports");
        let mut written = export(&cache, &[format], &folder, &mut |_, _| ControlFlow::Continue(()))?;
        written.retain(|file| file.extension().is_none_or(|extension| extension != "pvd"));
        let names: Vec<&str> = self
            .frames
            .first()
            .into_iter()
            .flat_map(|f| f.bodies.iter().map(|b| b.surface.name.as_str()))
            .collect();
        let place = |i: usize| match written.len() {
            1 => path.to_path_buf(),
            _ => beside(path, names[i]),
        };
        let places: Vec<PathBuf> = (0..written.len()).map(place).collect();
        for (from, to) in written.iter().zip(&places) {
            copy(from, to)?;
        }
        Ok(places)
    }

    /// The frames in a temporary folder, which is deleted with the first of the pair.
    fn cache(&self) -> Result<(tempfile::TempDir, FrameCache), Error> {
        let kept = tempfile::tempdir()
            .map_err(|error| FileError::io(&std::env::temp_dir(), "create a temporary folder", &error))?;
        let info = RunInfo { scene: self.scene.to_owned(), fps: self.fps, simd: Simd::Auto };
        let mut cache = FrameCache::create(&kept.path().join("run"), info, false)?;
        for (index, frame) in self.frames.iter().enumerate() {
            cache.write(&Frame { index: index as u32, ..frame.clone() })?;
        }
        Ok((kept, cache))
    }
}

fn beside(path: &Path, body: &str) -> PathBuf {
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let extension =
        path.extension().map_or_else(String::new, |extension| extension.to_string_lossy().into_owned());
    path.with_file_name(format!("{stem}-{body}.{extension}"))
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let mut source = fs::File::open(from).map_err(|error| FileError::io(from, "read", &error))?;
    write_whole(to, |file| io::copy(&mut source, file).map(|_| ()))?;
    Ok(())
}
