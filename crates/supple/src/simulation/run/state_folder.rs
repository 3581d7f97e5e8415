//! The folder `states` of a run: what its steps have recorded, one file per frame (`docs/states.md`).

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::output::write_whole;
use supple_core::FileError;

/// The records of a run.
#[derive(Debug)]
pub(super) struct StateFolder(PathBuf);

impl StateFolder {
    /// Of the run in `folder`.
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.join("states"))
    }

    /// Writes the record of a frame, whole or not at all.
    pub(super) fn write(&self, frame: u32, record: &[u8]) -> Result<(), FileError> {
        let problem = |error: std::io::Error| FileError::whole(&self.0, format!("cannot be made: {error}"));
        fs::create_dir_all(&self.0).map_err(problem)?;
        write_whole(&self.path(frame), |file| file.write_all(record))
    }

    /// Removes the records from a frame on.
    pub(super) fn remove_from(&self, frame: u32) -> Result<(), FileError> {
        let Ok(entries) = fs::read_dir(&self.0) else { return Ok(()) };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let number = name.strip_prefix("frame-").and_then(|name| name.strip_suffix(".states"));
            if number.and_then(|number| number.parse().ok()).is_some_and(|number: u32| number >= frame) {
                fs::remove_file(&path)
                    .map_err(|error| FileError::whole(&path, format!("cannot be removed: {error}")))?;
            }
        }
        Ok(())
    }

    fn path(&self, frame: u32) -> PathBuf {
        self.0.join(format!("frame-{frame:06}.states"))
    }
}
