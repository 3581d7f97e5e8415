//! The `supple` program inside the interpreter, and its words.

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::prelude::*;
use supple::scene::{LinearKind, Method};

/// Runs the program with these arguments, the first of which is its name, and gives its exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let code = py.detach(|| supple_cli::main_with(arguments));
    // An exit code does not tell its number; it can only be compared.
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(1)
}

/// The words of the methods and of the linear solvers.
#[pyfunction]
pub(crate) fn solver_words() -> (Vec<&'static str>, Vec<&'static str>) {
    (Method::SUPPORTED.map(Method::word).to_vec(), LinearKind::ALL.map(LinearKind::word).to_vec())
}
