//! Errors of the engine as exceptions of `supple._errors`, with the engine's messages.

use pyo3::prelude::*;

/// The exception for an error of the engine.
pub(crate) fn exception(error: impl Into<supple::Error>) -> PyErr {
    let error = error.into();
    let class = match &error {
        supple::Error::File(_) => "FileError",
        supple::Error::NotSupported(_) => "NotSupported",
        supple::Error::Failed { .. } | supple::Error::Stopped { .. } => "SimulationFailed",
        // `Invalid` and its more specific kinds.
        _ => "InvalidInput",
    };
    named(class, error.to_string())
}

/// The exception for an invalid argument.
pub(crate) fn invalid(problem: impl Into<String>) -> PyErr {
    named("InvalidInput", problem.into())
}

fn named(class: &str, message: String) -> PyErr {
    Python::attach(|py| {
        let module = py.import("supple._errors");
        let value = module.and_then(|module| module.getattr(class)).and_then(|class| class.call1((message,)));
        value.map_or_else(|error| error, PyErr::from_value)
    })
}
