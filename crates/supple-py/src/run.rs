//! Runs on disk.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use supple::Error;
use supple::output::{ExportFormat, export};
use supple::simulation::{Run, StartMode};

use crate::errors::{exception, invalid};
use crate::pool::in_pool;
use crate::program::steppers;
use crate::scene::Scene;
use crate::simulation::simd_of;

/// A run that writes frames, checkpoints and reports into a folder, as `supple run` does.
#[pyclass(frozen, module = "supple._native")]
pub(crate) struct DiskRun {
    run: Mutex<Run>,
    folder: PathBuf,
}

#[pymethods]
impl DiskRun {
    #[new]
    fn new(py: Python<'_>, scene: &Scene, folder: PathBuf, begin: &str, simd: &str) -> PyResult<Self> {
        let begin = match begin {
            "fresh" => StartMode::Fresh,
            "replace" => StartMode::Replace,
            "resume" => StartMode::Resume,
            _ => {
                return Err(invalid(format!(
                    "a run starts \"fresh\", \"replace\" or \"resume\", not \"{begin}\""
                )));
            }
        };
        let (scene, simd) = (scene.scene.clone(), simd_of(simd)?);
        let run = in_pool(py, || Run::with_steppers(scene, &folder, begin, simd, &steppers()))?
            .map_err(exception)?;
        Ok(Self { run: Mutex::new(run), folder })
    }

    /// Simulates and writes the next frame; returns its report.
    fn next_frame(&self, py: Python<'_>) -> PyResult<String> {
        let mut guard = self.lock()?;
        let run = &mut *guard;
        let report = in_pool(py, || run.next_frame())?.map_err(exception)?;
        serde_json::to_string(&report).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// Writes a checkpoint of the last frame if there is none.
    fn checkpoint(&self) -> PyResult<()> {
        self.lock()?.checkpoint_now().map_err(exception)
    }

    /// Exports all frames; returns the files.
    fn export(&self, py: Python<'_>, formats: Vec<String>) -> PyResult<Vec<PathBuf>> {
        let formats = formats.iter().map(|word| word.parse()).collect::<Result<Vec<ExportFormat>, Error>>();
        let formats = formats.map_err(exception)?;
        let guard = self.lock()?;
        let (cache, folder) = (guard.cache(), self.folder.join("exports"));
        let files = py.detach(|| export(cache, &formats, &folder, &mut |_, _| ControlFlow::Continue(())));
        files.map_err(exception)
    }

    #[getter]
    fn is_done(&self) -> PyResult<bool> {
        Ok(self.lock()?.is_done())
    }

    #[getter]
    fn frame(&self) -> PyResult<u32> {
        Ok(self.lock()?.frame())
    }

    #[getter]
    fn notes(&self) -> PyResult<Vec<String>> {
        Ok(self.lock()?.notes().to_vec())
    }

    /// Vertices, elements and unknowns.
    #[getter]
    fn counts(&self) -> PyResult<(usize, usize, usize)> {
        let counts = self.lock()?.simulation().counts();
        Ok((counts.vertices, counts.elements, counts.unknowns))
    }
}

impl DiskRun {
    fn lock(&self) -> PyResult<MutexGuard<'_, Run>> {
        let busy = "another thread is using this run";
        self.run.try_lock().map_err(|_| PyRuntimeError::new_err(busy))
    }
}
