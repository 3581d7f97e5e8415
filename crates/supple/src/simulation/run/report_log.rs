//! `reports.jsonl`: one line per frame, appended; a line truncated by a crash is dropped when the run is resumed.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::output::{write_error, write_whole};
use crate::simulation::FrameReport;
use supple_core::FileError;

/// The log of a run.
#[derive(Debug)]
pub(crate) struct ReportLog {
    path: PathBuf,
}

impl ReportLog {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { path: folder.join("reports.jsonl") }
    }

    /// Appends the report of a frame; if the disk is full, no part of it remains.
    pub(crate) fn append(&self, frame: u32, report: &FrameReport) -> Result<(), FileError> {
        let write_error = |error: std::io::Error| write_error(&self.path, "append to it", &error);
        let mut line = serde_json::to_string(report).map_err(|error| {
            FileError::whole(&self.path, format!("the report of frame {frame} cannot be written: {error}"))
        })?;
        line.push('\n');
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path).map_err(write_error)?;
        let before = file.metadata().map_err(write_error)?.len();
        file.write_all(line.as_bytes()).map_err(|error| {
            // The reported error is the first one; a failure to truncate only leaves half a line, which is
            // dropped on resume.
            let _ = file.set_len(before);
            write_error(error)
        })
    }

    /// The complete lines in the log.
    fn lines(&self) -> Result<Vec<String>, FileError> {
        let text = match fs::read(&self.path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(FileError::io(&self.path, "read it", &error)),
        };
        let whole = text.lines().filter(|line| frame_of(line).is_some());
        Ok(whole.map(str::to_owned).collect())
    }

    /// The reports in the log.
    pub(crate) fn reports(&self) -> Result<Vec<FrameReport>, FileError> {
        let read = |(number, line): (usize, &String)| {
            serde_json::from_str(line).map_err(|error| {
                let problem = format!("not a frame's report of this version: {error}");
                FileError::line(&self.path, number as u64 + 1, problem)
            })
        };
        self.lines()?.iter().enumerate().map(read).collect()
    }

    /// The last frame up to which no report is missing.
    pub(crate) fn last_unbroken(&self) -> Result<u32, FileError> {
        let mut last = 0;
        for line in self.lines()? {
            if frame_of(&line) == Some(u64::from(last) + 1) {
                last += 1;
            }
        }
        Ok(last)
    }

    /// Drops the reports of frames after `last`.
    pub(crate) fn keep_until(&self, last: u32) -> Result<(), FileError> {
        let lines = self.lines()?;
        if lines.is_empty() && !self.path.exists() {
            return Ok(());
        }
        let kept = lines.iter().filter(|line| frame_of(line).is_some_and(|frame| frame <= u64::from(last)));
        let text: String = kept.flat_map(|line| [line.as_str(), "\n"]).collect();
        write_whole(&self.path, |file| file.write_all(text.as_bytes()))
    }
}

fn frame_of(line: &str) -> Option<u64> {
    serde_json::from_str::<serde_json::Value>(line).ok()?.get("frame")?.as_u64()
}
