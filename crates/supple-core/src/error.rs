//! The engine's errors: each names the file or element, the value, the limit and what to do next.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The location of a problem in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The file as a whole (missing, empty, a directory, unknown format).
    Whole,
    /// A line of a text file, counted from 1.
    Line(u64),
    /// A byte offset in a binary file, counted from 0.
    Byte(u64),
}

/// A file that cannot be read or written, with the location and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileError {
    /// The file, as given by the user.
    pub path: PathBuf,
    /// The location in it.
    pub place: Place,
    /// The problem and its remedy.
    pub problem: String,
    /// The operating system's error if writing failed; `None` if the file's content or reading it is at fault.
    pub write_failure: Option<ErrorKind>,
}

impl FileError {
    /// An error about the whole file.
    pub fn whole(path: &Path, problem: impl Into<String>) -> Self {
        Self::at(path, Place::Whole, problem)
    }

    /// An error at a line (counted from 1).
    pub fn line(path: &Path, line: u64, problem: impl Into<String>) -> Self {
        Self::at(path, Place::Line(line), problem)
    }

    /// An error at a byte offset (counted from 0).
    pub fn byte(path: &Path, byte: u64, problem: impl Into<String>) -> Self {
        Self::at(path, Place::Byte(byte), problem)
    }

    /// An operating-system error on `path` while doing `what` ("read", "open" …).
    pub fn io(path: &Path, what: &str, error: &std::io::Error) -> Self {
        Self::whole(path, format!("cannot {what}: {error}"))
    }

    /// The same with another text.
    pub fn with_problem(self, problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), ..self }
    }

    /// The same as a failure to write, with what the operating system said.
    pub fn with_write_failure(self, kind: Option<ErrorKind>) -> Self {
        Self { write_failure: kind, ..self }
    }

    fn at(path: &Path, place: Place, problem: impl Into<String>) -> Self {
        Self { path: path.to_path_buf(), place, problem: problem.into(), write_failure: None }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match self.place {
            Place::Whole => write!(f, ": {}", self.problem),
            Place::Line(line) => write!(f, ", line {line}: {}", self.problem),
            Place::Byte(byte) => write!(f, ", byte {byte}: {}", self.problem),
        }
    }
}

impl std::error::Error for FileError {}

/// Everything that can go wrong in the engine.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A scene, mesh or call that is not valid; the text gives the item, the value and the remedy.
    #[error("{0}")]
    Invalid(String),
    /// An option whose value is outside its range.
    #[error("`{option}` is {value}; it must be {range}")]
    OutOfRange {
        /// The option, with the table that it stands in: `hpbd.sweeps`.
        option: String,
        /// Its value.
        value: String,
        /// What it may be, with the unit.
        range: String,
    },
    /// A solver's name that nothing answers to.
    #[error("there is no solver `{name}`; available: {valid}")]
    UnknownSolver {
        /// The requested name.
        name: String,
        /// The names that there are, as a list for people.
        valid: String,
    },
    /// Valid by the scene format, but not implemented yet.
    #[error("{0} is not supported yet")]
    NotSupported(String),
    /// The simulation failed while running (not finite, not factorisable).
    #[error("the simulation failed at {time:.6} s: {problem}")]
    Failed {
        /// Simulated time in seconds at the failing step's start.
        time: f64,
        /// The problem and what to try.
        problem: String,
    },
    /// The caller interrupted the work.
    #[error("interrupted after {done} of {total} frames")]
    Stopped {
        /// Finished frames, over all formats.
        done: u32,
        /// Total number of frames.
        total: u32,
    },
}

impl Error {
    /// An option whose value is outside its range.
    pub fn out_of_range(
        option: impl Into<String>,
        value: impl fmt::Display,
        range: impl Into<String>,
    ) -> Self {
        Self::OutOfRange { option: option.into(), value: value.to_string(), range: range.into() }
    }
}
