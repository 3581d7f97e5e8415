//! Errors as the program reports them: the message and the exit code.

use std::fmt::Display;
use std::io::ErrorKind;
use std::process::ExitCode;

use crate::interrupt::STOPPED;
use crate::print::notice;

/// An error with its exit code.
#[derive(Debug)]
pub struct Failure {
    error: anyhow::Error,
    code: u8,
}

impl Failure {
    /// Bad usage or bad input: exit code 2.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { error: error.into(), code: 2 }
    }

    /// The simulation or the disk failed while running: exit code 1.
    pub fn running(error: impl Into<anyhow::Error>) -> Self {
        Self { error: error.into(), code: 1 }
    }

    /// Interrupted by Ctrl-C: exit code 130.
    pub fn stopped(what: impl Display) -> Self {
        Self { error: anyhow::anyhow!("{what}"), code: STOPPED }
    }

    /// An engine error with the exit code of its kind, for calls that both read user input and write files.
    pub fn of(error: impl Into<supple::Error>) -> Self {
        let error = error.into();
        let code = match &error {
            supple::Error::Failed { .. } => 1,
            supple::Error::Stopped { .. } => STOPPED,
            supple::Error::File(file) => file.write_failure.map_or(2, code_of_write_failure),
            // Everything else is about what was given.
            _ => 2,
        };
        Self { error: error.into(), code }
    }

    /// Adds a sentence that suggests what to do next.
    pub fn with_advice(self, advice: impl Display) -> Self {
        Self { error: anyhow::anyhow!("{:#}\n{advice}", self.error), code: self.code }
    }

    /// Prints the message and returns the exit code.
    pub fn report(&self) -> ExitCode {
        notice(format_args!("supple: {:#}", self.error));
        ExitCode::from(self.code)
    }
}

/// A path at which no file can exist is bad usage; any other reason for a failed write is a disk failure.
fn code_of_write_failure(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::AlreadyExists
        | ErrorKind::InvalidFilename => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use supple::{Error, FileError};

    use super::*;

    fn code(error: impl Into<Error>) -> u8 {
        Failure::of(error).code
    }

    #[test]
    fn the_kind_of_an_error_decides_the_exit_code_not_its_words() {
        let file = FileError::whole(Path::new("shirt.obj"), "cannot be parsed");
        assert_eq!(code(file.clone()), 2);
        assert_eq!(code(file.clone().with_write_failure(Some(ErrorKind::StorageFull))), 1);
        assert_eq!(code(file.with_write_failure(Some(ErrorKind::NotADirectory))), 2);
        assert_eq!(code(Error::Invalid("impossible".into())), 2);
        assert_eq!(code(Error::NotSupported("tearing".into())), 2);
        assert_eq!(code(Error::Failed { time: 0.5, problem: "it diverged".into() }), 1);
        assert_eq!(code(Error::Stopped { done: 1, total: 3 }), 130);
    }
}
