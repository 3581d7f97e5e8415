//! Errors on their way out: the message and the exit code.

use std::fmt::Display;
use std::process::ExitCode;

/// An error with its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    error: anyhow::Error,
    code: u8,
}

impl Failure {
    /// Bad usage or bad input: exit code 2.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { error: error.into(), code: 2 }
    }

    /// The simulation or the disk failed while running: exit code 1.
    pub(crate) fn running(error: impl Into<anyhow::Error>) -> Self {
        Self { error: error.into(), code: 1 }
    }

    /// Adds a sentence on what to do next.
    pub(crate) fn with_advice(self, advice: impl Display) -> Self {
        Self { error: anyhow::anyhow!("{:#}\n{advice}", self.error), code: self.code }
    }

    /// Prints the message and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("supple: {:#}", self.error);
        ExitCode::from(self.code)
    }
}
