//! The `supple` program as a library: arguments, commands, progress and exit codes.
//!
//! Exit code 0: done. 1: the simulation or the disk failed, after all valid results had been written. 2: bad usage or
//! bad input. 130: interrupted by Ctrl-C, after the current frame or, if pressed twice, immediately.

mod alive;
mod arguments;
mod check;
mod collider_crossings;
mod colliders;
mod compare;
mod dropped_mesh;
mod export;
pub mod failure;
mod interrupt;
mod mesh;
mod new_scene;
mod pictures;
pub mod plot;
pub mod print;
mod progress;
mod render;
mod reproduce;
mod run;
mod scenes;
mod solve;
mod untangle;
mod view;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;
use supple::simulation::Registry;

use arguments::{Arguments, Command};
use failure::Failure;

pub use arguments::{Common, Reproduce, SimdChoice};
pub use compare::convergence;
pub use pictures::{drawn_colliders, drawn_ground};

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    main_with(std::env::args_os())
}

/// Runs the program with the given arguments, the first of which is its name.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    main_with_steppers(arguments, Registry::builtin())
}

/// The same with a different set of steppers; called by programs that add a stepper of their own.
pub fn main_with_steppers(arguments: impl IntoIterator<Item = OsString>, steppers: Registry) -> ExitCode {
    // Clap prints its own message and exits with code 2 on bad usage.
    let matches = arguments::command(&steppers).get_matches_from(arguments);
    let mut arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    arguments.common.steppers = steppers;
    match in_pool(&arguments.common, || perform(&arguments)) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn perform(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let common = &arguments.common;
    let _at_work = work_of(arguments.command.as_ref()).map(|what| alive::begin(common, what));
    match arguments.command.as_ref() {
        None => run::run(&arguments::Run::default(), common),
        Some(Command::Run(options)) => run::run(options, common),
        Some(Command::Scenes { name }) => scenes::scenes(name.as_deref(), common),
        Some(Command::New { name, figure }) => {
            new_scene::new_scene(name, figure.as_ref().map(Option::as_deref), common)
        }
        Some(Command::Check { path }) => check::check(path, common),
        Some(Command::Render(options)) => render::render(options, common),
        Some(Command::Mesh(options)) => mesh::mesh(options, common),
        Some(Command::Untangle(options)) => untangle::untangle_command(options, common),
        Some(Command::Export(options)) => export::export(options, common),
        Some(Command::Solve(options)) => solve::solve(options, common),
        Some(Command::Compare(options)) => compare::compare(options, common),
        Some(Command::View(options)) => view::view(options, common),
        Some(Command::Reproduce(options)) => reproduce::reproduce(options, common),
    }
}

/// What a command begins with, for signs of life; none where it waits for people.
fn work_of(command: Option<&Command>) -> Option<String> {
    Some(match command {
        None => "building the scene".to_owned(),
        Some(Command::Run(_) | Command::Render(_) | Command::Compare(_)) => "building the scene".to_owned(),
        Some(Command::Check { path }) => format!("checking {}", path.display()),
        Some(Command::Mesh(options)) => format!("reading {}", options.surface.display()),
        Some(Command::Untangle(options)) => format!("parting the surfaces of {}", options.source),
        Some(Command::Export(_)) => "reading the run".to_owned(),
        Some(Command::Solve(_)) => "solving".to_owned(),
        Some(Command::Scenes { .. } | Command::New { .. } | Command::View(_) | Command::Reproduce(_)) => {
            return None;
        }
    })
}

/// Runs everything in a pool of the requested number of threads; no result depends on that number.
pub fn in_pool<T: Send>(
    common: &Common,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let pool = supple_core::parallel::ThreadPoolBuilder::new()
        .num_threads(common.threads.unwrap_or(0) as usize)
        .build();
    pool.map_err(|error| Failure::usage(anyhow::anyhow!("cannot start the thread pool: {error}")))?
        .install(work)
}
