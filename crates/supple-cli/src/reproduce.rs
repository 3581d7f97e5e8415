//! `supple reproduce`: runs the program `supple-reproduce`, which is installed in the same folder.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::arguments::{Common, Reproduce};
use crate::failure::Failure;

/// The program that contains the reproductions.
const PROGRAM: &str = "supple-reproduce";

/// Runs the reproduction with the program in the same folder and returns its exit code.
pub(crate) fn reproduce(options: &Reproduce, common: &Common) -> Result<ExitCode, Failure> {
    let program = beside().ok_or_else(|| {
        Failure::usage(anyhow::anyhow!(
            "the reproductions are in a separate program, `{PROGRAM}`, which is not in the folder of this one; build it with \
             `cargo build --release -p {PROGRAM}`"
        ))
    })?;
    let mut command = Command::new(&program);
    command.args(&options.name).args(options.sets.iter().flat_map(|set| ["--set", set]));
    for (flag, path) in [("--mesh", &options.mesh), ("--out", &options.out)] {
        if let Some(path) = path {
            command.arg(flag).arg(path);
        }
    }
    let status = command.args(common.as_arguments()).status();
    let status = status.map_err(|error| {
        Failure::running(anyhow::anyhow!("{} cannot be started: {error}", program.display()))
    })?;
    // Ended by a signal: Ctrl-C is sent to both programs.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(crate::interrupt::STOPPED)))
}

/// Path of the program, if it was built.
fn beside() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let program = own.with_file_name(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX));
    program.is_file().then_some(program)
}
