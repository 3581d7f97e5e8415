//! The native part of the Python package `supple`. The public interface is typed and documented in Python
//! (`python/supple`); this crate converts arrays, tables and errors, and releases the interpreter lock while it
//! works.

mod builder;
mod errors;
mod linear;
mod numpy_points;
mod picture;
mod pool;
mod program;
mod recording;
mod run;
mod scene;
mod simulation;
mod tables;
mod targets;

/// The module `supple._native`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::builder::SceneBuilder;
    #[pymodule_export]
    use crate::linear::{Preconditioner, solve};
    #[pymodule_export]
    use crate::pool::{set_threads, threads};
    #[pymodule_export]
    use crate::program::{export_extensions, main, solver_words};
    #[pymodule_export]
    use crate::run::DiskRun;
    #[pymodule_export]
    use crate::scene::{Scene, builtin_scenes, setting};
    #[pymodule_export]
    use crate::simulation::Simulation;
}
