//! The `supple` program inside the interpreter, and its solver names.

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::prelude::*;
use supple::output::ExportFormat;
use supple::scene::LinearKind;
use supple::simulation::Registry;

/// The steppers of the module, used by all its scenes, simulations and commands.
pub(crate) fn steppers() -> Registry {
    Registry::builtin()
}

/// Runs the program with these arguments, the first of which is its name, and returns its exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let code = py.detach(|| supple_cli::main_with_steppers(arguments, steppers()));
    // `ExitCode` does not expose its number; it can only be compared.
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(1)
}

/// The names of the methods and of the linear solvers.
#[pyfunction]
pub(crate) fn solver_words() -> (Vec<&'static str>, Vec<&'static str>) {
    (steppers().method_names(), LinearKind::ALL.map(LinearKind::name).to_vec())
}

/// The export formats: extension, name, and whether one file holds all frames.
#[pyfunction]
pub(crate) fn export_extensions() -> Vec<(&'static str, &'static str, bool)> {
    let of = |format: ExportFormat| {
        format.extensions().iter().map(move |extension| (*extension, format.name(), format.is_animated()))
    };
    ExportFormat::ALL.into_iter().flat_map(of).collect()
}
