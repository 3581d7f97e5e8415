//! Scenes: reading, changing by key, writing.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::errors::{exception, invalid};
use crate::program::steppers;
use crate::tables::to_toml;

/// A scene of the engine. Immutable.
#[pyclass(frozen, module = "supple._native")]
pub(crate) struct Scene {
    pub(crate) scene: supple::scene::Scene,
}

#[pymethods]
impl Scene {
    /// A built-in name or a file, with changes applied.
    #[staticmethod]
    fn find(source: &str, sets: Vec<String>) -> PyResult<Self> {
        steppers().scene_reader().sets(&sets).find(source).map(|scene| Self { scene }).map_err(exception)
    }

    /// A file, with changes applied.
    #[staticmethod]
    fn load(path: PathBuf, sets: Vec<String>) -> PyResult<Self> {
        steppers().scene_reader().sets(&sets).file(path).map(|scene| Self { scene }).map_err(exception)
    }

    /// Text, with changes applied.
    #[staticmethod]
    fn from_toml(text: &str, name: &str, folder: PathBuf, sets: Vec<String>) -> PyResult<Self> {
        let scene = steppers().scene_reader().sets(&sets).text(text, name, folder);
        scene.map(|scene| Self { scene }).map_err(exception)
    }

    /// A copy with another solver, resolution or number of frames; checked.
    #[pyo3(signature = (*, solver, resolution, frames))]
    fn changed(&self, solver: Option<&str>, resolution: Option<f64>, frames: Option<i64>) -> PyResult<Self> {
        let mut scene = self.scene.clone();
        if let Some(word) = solver {
            scene.solver.choose_from(word, &steppers()).map_err(exception)?;
        }
        if let Some(frames) = frames {
            let most = "0 to 1000000";
            scene.time.frames = u32::try_from(frames)
                .map_err(|_| invalid(format!("`frames` is {frames}; it must be {most}")))?;
        }
        if let Some(resolution) = resolution {
            scene.scale_resolution(resolution).map_err(exception)?;
        }
        scene.validate().map_err(exception)?;
        Ok(Self { scene })
    }

    /// All problems of the scene that can be found without its meshes.
    fn problems(&self) -> Vec<String> {
        self.scene.check().into_iter().map(|problem| problem.error.to_string()).collect()
    }

    fn to_toml(&self) -> PyResult<String> {
        self.scene.to_toml().map_err(exception)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.scene.name
    }

    #[getter]
    fn description(&self) -> &str {
        &self.scene.description
    }

    #[getter]
    fn fps(&self) -> f64 {
        self.scene.time.fps
    }

    #[getter]
    fn frames(&self) -> u32 {
        self.scene.time.frames
    }

    #[getter]
    fn substeps(&self) -> u32 {
        self.scene.time.substeps
    }

    #[getter]
    fn solver(&self) -> String {
        self.scene.solver.name()
    }

    #[getter]
    fn bodies(&self) -> Vec<String> {
        self.scene.bodies.iter().map(|body| body.name.clone()).collect()
    }
}

/// Names and descriptions of the built-in scenes.
#[pyfunction]
pub(crate) fn builtin_scenes() -> Vec<(&'static str, &'static str)> {
    supple::scene::builtin_scenes()
        .iter()
        .map(|(name, description, _)| (*name, description.as_str()))
        .collect()
}

/// A change of a scene, as `--set` takes it.
#[pyfunction]
pub(crate) fn setting(key: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(format!("{key}={}", to_toml(value, key)?))
}
