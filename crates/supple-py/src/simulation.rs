//! A running simulation.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyRuntimeError, PyRuntimeWarning};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use supple::Error;
use supple::linear::Simd;
use supple::output::ExportFormat;
use supple::scene::{Pose, Scene as EngineScene};
use supple::simulation::{FrameReport, ReleasedVertices, Simulation as Engine, StepReport, Wrench};

use crate::errors::{exception, invalid};
use crate::numpy_points::{indices, owned, points, shared};
use crate::picture::{PictureOptions, draw};
use crate::pool::in_pool;
use crate::program::steppers;
use crate::recording::{Animation, Recording};
use crate::scene::Scene;
use crate::targets::{SavedTargets, Targets};

/// Maximum difference in seconds between a frame's time and the sum of the steps.
const FRAME_TIME_TOLERANCE: f64 = 1e-9;

/// A force and its torque.
type WrenchPair = ([f64; 3], [f64; 3]);
/// Body, collider, and numbers of the body's vertices.
type ReleasedTuple<'py> = (String, String, Bound<'py, PyArray1<i64>>);
/// Forces and pressures on vertices, on colliders by name, and of the second of two bodies on the first.
type ContactArrays<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<f64>>,
    Vec<(String, WrenchPair)>,
    Vec<((String, String), WrenchPair)>,
);

fn pair(wrench: &Wrench) -> WrenchPair {
    (wrench.force.to_array(), wrench.torque.to_array())
}

/// A simulation of a scene. Only one thread may use it at a time; others get an exception.
#[pyclass(frozen, module = "supple._native")]
pub(crate) struct Simulation {
    scene: EngineScene,
    state: Mutex<SimulationState>,
}

struct SimulationState {
    engine: Engine,
    /// Calls of `step` so far.
    frame: u32,
    /// The time steps of the last call, and its wall time in seconds.
    last: (Vec<StepReport>, f64),
    targets: Targets,
    recording: Recording,
}

#[pymethods]
impl Simulation {
    /// Builds the bodies of a scene; `record` is the maximum number of bytes for recorded positions.
    #[new]
    fn new(py: Python<'_>, scene: &Scene, simd: &str, record: usize) -> PyResult<Self> {
        let (scene, simd) = (scene.scene.clone(), simd_of(simd)?);
        let engine = in_pool(py, || {
            let engine = Engine::with_steppers(scene.clone(), simd, &steppers())?;
            engine.check_finite(0)?;
            Ok(engine)
        })?;
        let engine = engine.map_err(|error: Error| exception(error))?;
        let recording = Recording::new(engine.frame(0), record);
        let state = SimulationState {
            engine,
            frame: 0,
            last: (Vec::new(), 0.0),
            targets: Targets::default(),
            recording,
        };
        Ok(Self { scene, state: Mutex::new(state) })
    }

    /// Advances by `dt` seconds, or by a frame of the scene; `budget` limits the wall time in seconds.
    #[pyo3(signature = (dt, budget))]
    fn step(&self, py: Python<'_>, dt: Option<f64>, budget: Option<f64>) -> PyResult<()> {
        let budget = budget.map(seconds).transpose()?;
        let mut guard = self.lock()?;
        let state = &mut *guard;
        let full = in_pool(py, || state.advance(&self.scene, dt, budget))?.map_err(exception)?;
        drop(guard);
        if full {
            let message = c"the recording has reached its limit: positions of later steps are not recorded";
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), message, 1)?;
        }
        py.check_signals()
    }

    /// The report of the last call of `step`, as in `supple run --json`.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let guard = self.lock()?;
        let state = &*guard;
        let (steps, seconds) = (&state.last.0, state.last.1);
        let report = FrameReport::new(&state.engine, state.frame, steps, seconds);
        drop(guard);
        py.check_signals()?;
        serde_json::to_string(&report).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let points = self.lock()?.engine.shared_positions();
        shared(py, points)
    }

    #[getter]
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let velocities = self.lock()?.engine.velocities();
        Ok(owned(py, velocities))
    }

    /// Von Mises stress at every vertex: Pa in solids, N/m in cloth.
    fn stress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut guard = self.lock()?;
        let state = &mut *guard;
        let stress = in_pool(py, move || state.engine.stress())?.map_err(exception)?;
        Ok(PyArray1::from_vec(py, stress.of_point))
    }

    /// The forces of contact at the end of the last step: on every vertex, their pressure, on every collider, and between bodies.
    fn contact_forces<'py>(&self, py: Python<'py>) -> PyResult<ContactArrays<'py>> {
        let guard = self.lock()?;
        let forces = guard.engine.contact_forces().map_err(exception)?;
        let scene_state = guard.engine.scene_state();
        let colliders = scene_state.colliders.iter().zip(&forces.on_colliders);
        let colliders = colliders.map(|((_, collider), wrench)| (collider.name.clone(), pair(wrench)));
        let body = |number: usize| scene_state.bodies[number].name.clone();
        let pairs = forces.between_bodies.iter();
        let pairs = pairs.map(|([first, second], wrench)| ((body(*first), body(*second)), pair(wrench)));
        let (colliders, pairs) = (colliders.collect(), pairs.collect());
        drop(guard);
        Ok((owned(py, forces.on_points), PyArray1::from_vec(py, forces.pressure), colliders, pairs))
    }

    /// The vertices that are left out of contact: body, collider, and numbers of the body's vertices.
    fn released<'py>(&self, py: Python<'py>) -> PyResult<Vec<ReleasedTuple<'py>>> {
        let released = self.lock()?.engine.released();
        let one = |released: ReleasedVertices| {
            let vertices = released.vertices.into_iter().map(i64::from).collect();
            (released.body, released.collider, PyArray1::from_vec(py, vertices))
        };
        Ok(released.into_iter().map(one).collect())
    }

    /// Triangles of all surfaces, with vertices numbered as in `positions`.
    #[getter]
    fn faces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let guard = self.lock()?;
        let (mut faces, mut first) = (Vec::new(), 0);
        for body in &guard.engine.scene_state().bodies {
            faces.extend(body.surface_triangles.as_flattened().iter().map(|&v| (first + v as usize) as i32));
            first += body.embedding.len();
        }
        drop(guard);
        let array = PyArray2::zeros(py, [faces.len() / 3, 3], false);
        array.readwrite().as_slice_mut().expect("just made").copy_from_slice(&faces);
        Ok(array)
    }

    /// Every body: its name, its first vertex and its number of vertices.
    fn bodies(&self) -> PyResult<Vec<(String, usize, usize)>> {
        let guard = self.lock()?;
        let mut first = 0;
        let body = |body: &supple::body::Body| {
            let count = body.embedding.len();
            first += count;
            (body.name.clone(), first - count, count)
        };
        Ok(guard.engine.scene_state().bodies.iter().map(body).collect())
    }

    #[getter]
    fn time(&self) -> PyResult<f64> {
        Ok(self.lock()?.engine.time())
    }

    #[getter]
    fn frame(&self) -> PyResult<u32> {
        Ok(self.lock()?.frame)
    }

    /// Vertices, elements and unknowns.
    #[getter]
    fn counts(&self) -> PyResult<(usize, usize, usize)> {
        let counts = self.lock()?.engine.counts();
        Ok((counts.vertices, counts.elements, counts.unknowns))
    }

    #[getter]
    fn mass(&self) -> PyResult<f64> {
        Ok(self.lock()?.engine.mass())
    }

    #[getter]
    fn momentum(&self) -> PyResult<[f64; 3]> {
        Ok(self.lock()?.engine.momentum().to_array())
    }

    #[getter]
    fn state_hash(&self) -> PyResult<String> {
        Ok(format!("{:016x}", self.lock()?.engine.state_hash()))
    }

    #[getter]
    fn notes(&self) -> PyResult<Vec<String>> {
        Ok(self.lock()?.engine.notes())
    }

    /// Residuals at the start of every nonlinear iteration of the last time step, and at its end.
    #[getter]
    fn residuals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let residuals = self.lock()?.engine.inspect().residuals;
        Ok(PyArray1::from_vec(py, residuals))
    }

    /// Drives vertices to target positions at the end of every step from now on.
    fn set_targets(
        &self,
        vertices: PyReadonlyArray1<'_, i64>,
        places: PyReadonlyArray2<'_, f64>,
        stiffness: Option<f64>,
    ) -> PyResult<()> {
        let mut guard = self.lock()?;
        let state = &mut *guard;
        let vertices = indices(&vertices, state.engine.positions().len(), "index")?;
        let set = state.targets.set(&mut state.engine, vertices, &points(&places)?, stiffness);
        set.map_err(exception)
    }

    fn release_targets(&self) -> PyResult<()> {
        let mut guard = self.lock()?;
        let state = &mut *guard;
        state.targets.release(&mut state.engine).map_err(exception)
    }

    /// Places a collider; degrees.
    fn place_collider(
        &self,
        name: &str,
        pivot: [f64; 3],
        translate: [f64; 3],
        rotate: [f64; 3],
        scale: f64,
    ) -> PyResult<()> {
        let engine = &mut self.lock()?.engine;
        let id = engine.collider_id(name).ok_or_else(|| {
            let names: Vec<&str> =
                engine.scene_state().colliders.iter().map(|(_, collider)| collider.name.as_str()).collect();
            invalid(format!("there is no collider `{name}`; the colliders are {names:?}"))
        })?;
        let rotate = rotate.map(f64::to_radians).into();
        let pose = Pose { pivot: pivot.into(), translate: translate.into(), rotate, scale };
        engine.set_collider_pose(id, pose).map_err(exception)
    }

    /// The complete state.
    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let guard = self.lock()?;
        let mut bytes = guard.frame.to_le_bytes().to_vec();
        guard.targets.saved().write(&mut bytes);
        bytes.extend(guard.engine.save());
        drop(guard);
        Ok(PyBytes::new(py, &bytes))
    }

    /// Restores a state of this scene, with the vertices that were driven then.
    fn restore(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        let cut_off =
            || invalid(format!("a checkpoint of {} bytes is truncated or not a checkpoint", bytes.len()));
        let (frame, mut saved) = bytes.split_first_chunk::<4>().ok_or_else(cut_off)?;
        let targets = SavedTargets::read(&mut saved).ok_or_else(cut_off)?;
        let mut guard = self.lock()?;
        let SimulationState { engine, targets: driven, .. } = &mut *guard;
        let before = driven.saved();
        driven.restore(engine, targets).map_err(exception)?;
        if let Err(error) = in_pool(py, || engine.restore(saved))? {
            driven.restore(engine, before).map_err(exception)?;
            return Err(exception(error));
        }
        let state = &mut *guard;
        state.frame = u32::from_le_bytes(*frame);
        state.last = (Vec::new(), 0.0);
        Ok(())
    }

    /// Recorded frames.
    #[getter]
    fn recorded(&self) -> PyResult<usize> {
        Ok(self.lock()?.recording.len())
    }

    /// Clears the recording and starts again with the current surfaces.
    fn clear_recording(&self) -> PyResult<()> {
        let mut guard = self.lock()?;
        let start = guard.engine.frame(0);
        guard.recording.restart(start);
        Ok(())
    }

    /// Writes the recorded animation, or the current surfaces, to a file, or to one file per body.
    fn save(&self, py: Python<'_>, path: PathBuf, format: &str, animated: bool) -> PyResult<Vec<PathBuf>> {
        let format: ExportFormat = format.parse().map_err(exception)?;
        let guard = self.lock()?;
        let state = &*guard;
        let now = [state.engine.frame(0)];
        let frames = if animated { state.recording.whole().map_err(exception)? } else { &now };
        let animation = self.animation(frames, state);
        let saved = in_pool(py, || animation.save(&path, format))?;
        saved.map_err(exception)
    }

    /// Writes the recorded animation into a folder.
    fn export(&self, py: Python<'_>, folder: PathBuf, formats: Vec<String>) -> PyResult<Vec<PathBuf>> {
        let formats = formats.iter().map(|word| word.parse()).collect::<Result<Vec<ExportFormat>, Error>>();
        let formats = formats.map_err(exception)?;
        let guard = self.lock()?;
        let state = &*guard;
        let animation = self.animation(state.recording.whole().map_err(exception)?, state);
        in_pool(py, || animation.export(&folder, &formats))?.map_err(exception)
    }

    /// A picture as the bytes of a PNG file.
    #[pyo3(signature = (*, width, height, stretch, wireframe, camera))]
    fn picture<'py>(
        &self,
        py: Python<'py>,
        width: u32,
        height: u32,
        stretch: bool,
        wireframe: bool,
        camera: Option<[[f64; 3]; 2]>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let options = PictureOptions { width, height, stretch, wireframe, camera };
        let mut guard = self.lock()?;
        let engine = &mut guard.engine;
        let file = in_pool(py, move || draw(engine, &self.scene, &options))?.map_err(exception)?;
        Ok(PyBytes::new(py, &file))
    }
}

impl Simulation {
    fn lock(&self) -> PyResult<MutexGuard<'_, SimulationState>> {
        self.state.try_lock().map_err(|error| {
            PyRuntimeError::new_err(match error {
                TryLockError::WouldBlock => {
                    "another thread is using this simulation; wait for it, or create one simulation per thread"
                }
                TryLockError::Poisoned(_) => "this simulation failed because of a bug in supple; create a new one",
            })
        })
    }

    fn animation<'a>(
        &'a self,
        frames: &'a [supple::output::Frame],
        state: &SimulationState,
    ) -> Animation<'a> {
        Animation { frames, scene: &self.scene.name, fps: state.recording.fps(self.scene.time.fps) }
    }
}

impl SimulationState {
    /// Returns whether the recording has just reached its limit.
    fn advance(
        &mut self,
        scene: &EngineScene,
        dt: Option<f64>,
        budget: Option<Duration>,
    ) -> Result<bool, Error> {
        let started = Instant::now();
        let steps = match (dt, budget) {
            (None, budget) => self.step_frame(scene, budget)?,
            (Some(dt), budget) => {
                let step = match budget {
                    Some(budget) => self.engine.step_within(dt, budget)?,
                    None => self.engine.step(dt)?,
                };
                self.engine.check_finite(self.frame + 1)?;
                vec![step]
            }
        };
        self.frame += 1;
        self.last = (steps, started.elapsed().as_secs_f64());
        let full = self.recording.is_open() && self.recording.push(self.engine.frame(self.frame));
        Ok(full)
    }

    /// The scene's next frame: at its exact time as long as all steps were frames.
    fn step_frame(
        &mut self,
        scene: &EngineScene,
        budget: Option<Duration>,
    ) -> Result<Vec<StepReport>, Error> {
        let time = &scene.time;
        let on_time = (self.engine.time() - f64::from(self.frame) / time.fps).abs() < FRAME_TIME_TOLERANCE;
        if on_time && budget.is_none() {
            return self.engine.step_frame(time, self.frame + 1);
        }
        let dt = 1.0 / (time.fps * f64::from(time.substeps));
        let one = |_| match budget {
            Some(budget) => self.engine.step_within(dt, budget / time.substeps),
            None => self.engine.step(dt),
        };
        let steps = (0..time.substeps).map(one).collect::<Result<_, Error>>()?;
        self.engine.check_finite(self.frame + 1)?;
        Ok(steps)
    }
}

/// The instruction set by its name.
pub(crate) fn simd_of(word: &str) -> PyResult<Simd> {
    match word {
        "auto" => Ok(Simd::Auto),
        "baseline" => Ok(Simd::Baseline),
        _ => Err(invalid(format!("`simd` is \"{word}\"; it must be \"auto\" or \"baseline\""))),
    }
}

fn seconds(budget: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(budget)
        .map_err(|_| invalid(format!("a budget of {budget} s: it must be 0 or above and finite")))
}
