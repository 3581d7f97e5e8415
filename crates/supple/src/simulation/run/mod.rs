//! A run on disk: frames, checkpoints and reports, from which an interrupted run resumes bit-identically.

pub(crate) mod compare;
pub(crate) mod dry_run;
pub(crate) mod expectations;
pub(crate) mod frame_step;
pub(crate) mod report_log;
pub(crate) mod state_folder;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::output::{Checkpoint, CheckpointStore, Frame, FrameCache, RunInfo, write_whole};
use crate::scene::Scene;
use crate::simulation::run::report_log::ReportLog;
use crate::simulation::run::state_folder::StateFolder;
use crate::simulation::{
    BodyForce, ColliderForce, ContactForces, EnergyReport, FrameCorrection, FrameReport, Registry,
    Simulation, StageTimes, StepReport, Wrench,
};
use supple_core::{Error, FileError};
use supple_linear::Simd;

/// Where a run starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartMode {
    /// At frame 0 in a new folder.
    Fresh,
    /// At frame 0; an earlier run in the folder is removed.
    Replace,
    /// From the newest valid checkpoint, with the same scene.
    Resume,
    /// From the newest valid checkpoint at or before a frame, with a changed scene.
    From(u32),
}

/// A simulation that writes its results into a folder.
pub struct Run {
    scene: Scene,
    simulation: Simulation,
    cache: FrameCache,
    checkpoints: CheckpointStore,
    log: ReportLog,
    fingerprint: u64,
    frame: u32,
    notes: Vec<String>,
    steppers: Registry,
    states: StateFolder,
}

impl Run {
    /// Prepares a run of `scene` in `folder`.
    pub fn new(scene: Scene, folder: &Path, begin: StartMode, simd: Simd) -> Result<Self, Error> {
        Self::with_steppers(scene, folder, begin, simd, &Registry::builtin())
    }

    /// The same by one of these steppers.
    pub fn with_steppers(
        mut scene: Scene,
        folder: &Path,
        begin: StartMode,
        simd: Simd,
        steppers: &Registry,
    ) -> Result<Self, Error> {
        // A run keeps what was chosen when it began.
        if matches!(begin, StartMode::Resume | StartMode::From(_))
            && let Ok(earlier) = scene_of_run_with(folder, steppers)
        {
            scene.adopt_choices(&earlier);
        }
        let mut simulation = Simulation::with_steppers(scene.clone(), simd, steppers)?;
        simulation.scene_state().write_choices(&mut scene);
        simulation.record_states(scene.output.record_states);
        simulation.verify_steps(scene.output.verify_steps);
        let info = RunInfo { scene: scene.name.clone(), fps: scene.time.fps, simd };
        let cache = match begin {
            StartMode::Fresh => FrameCache::create(folder, info, false)?,
            StartMode::Replace => FrameCache::create(folder, info, true)?,
            StartMode::Resume | StartMode::From(_) => FrameCache::resume(folder)?,
        };
        let mut run = Self {
            checkpoints: CheckpointStore::open(folder, scene.output.checkpoint_every),
            log: ReportLog::new(folder),
            fingerprint: fingerprint(&scene, &simulation)?,
            notes: simulation.notes(),
            scene,
            simulation,
            cache,
            frame: 0,
            steppers: steppers.clone(),
            states: StateFolder::new(folder),
        };
        match begin {
            StartMode::Fresh | StartMode::Replace => {
                write_scene(folder, &run.scene)?;
                run.begin_at_zero()?;
            }
            StartMode::Resume => run.resume(folder)?,
            StartMode::From(frame) => run.resume_from(folder, frame)?,
        }
        // A run that is longer than requested stays as it is.
        if run.frame <= run.scene.time.frames {
            write_scene(folder, &run.scene)?;
        }
        Ok(run)
    }

    /// The scene as it is run.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The simulation.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// The frames written.
    pub fn cache(&self) -> &FrameCache {
        &self.cache
    }

    /// The last frame that is done.
    pub fn frame(&self) -> u32 {
        self.frame
    }

    /// Whether the scene's last frame is done.
    pub fn is_done(&self) -> bool {
        self.frame >= self.scene.time.frames
    }

    /// Notes for the user: how bodies were built, what was damaged and is recomputed.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The reports of all frames so far, those of earlier sessions too.
    pub fn reports(&self) -> Result<Vec<FrameReport>, Error> {
        Ok(self.log.reports()?)
    }

    /// Simulates and writes the next frame.
    pub fn next_frame(&mut self) -> Result<FrameReport, Error> {
        let started = Instant::now();
        let frame = self.frame + 1;
        let steps = self.simulation.step_frame(&self.scene.time, frame)?;
        let report = frame_report(&self.simulation, frame, &steps, started.elapsed().as_secs_f64());
        self.write_states(frame)?;
        if frame.is_multiple_of(self.scene.output.every) || frame == self.scene.time.frames {
            self.cache.write(&self.frame_to_write(frame)?)?;
        }
        self.log.append(frame, &report)?;
        // The checkpoint comes last: everything it refers to is on disk already.
        self.frame = frame;
        let state = self.simulation.save();
        if self.checkpoints.is_due(frame, state.len() as u64) || self.is_done() {
            self.checkpoints.write(frame, self.fingerprint, &state)?;
        }
        Ok(report)
    }

    /// Writes what the steps of a frame have recorded.
    fn write_states(&mut self, frame: u32) -> Result<(), Error> {
        if !self.scene.output.record_states {
            return Ok(());
        }
        let Some(states) = self.simulation.take_states(frame) else {
            return Err(Error::NotSupported(format!(
                "a record of states (`output.record_states`) by the method `{}`; leave it out, or choose another method",
                self.scene.solver.method.name()
            )));
        };
        Ok(self.states.write(frame, &states)?)
    }

    /// The current state as a frame, with contact forces if the scene asks for them.
    fn frame_to_write(&self, frame: u32) -> Result<Frame, Error> {
        if !self.scene.output.contact_forces {
            return Ok(self.simulation.frame(frame));
        }
        match self.simulation.frame_with_contact(frame) {
            Ok(with_contact) => Ok(with_contact),
            // At the start some families know no forces yet.
            Err(_) if frame == 0 => Ok(self.simulation.frame(0)),
            Err(problem) => Err(Error::NotSupported(format!(
                "`output.contact_forces`: {problem}; leave it out, or choose another method"
            ))),
        }
    }

    /// Writes a checkpoint of the current frame if there is none, so that an interrupted run loses nothing.
    pub fn checkpoint_now(&mut self) -> Result<(), Error> {
        if self.checkpoints.frames()?.last() != Some(&self.frame) {
            self.checkpoints.write(self.frame, self.fingerprint, &self.simulation.save())?;
        }
        Ok(())
    }

    fn begin_at_zero(&mut self) -> Result<(), Error> {
        self.simulation.check_finite(0)?;
        self.frame = 0;
        self.checkpoints.remove_from(0)?;
        self.cache.remove_from(0)?;
        self.states.remove_from(0)?;
        self.log.keep_until(0)?;
        self.cache.write(&self.frame_to_write(0)?)?;
        Ok(self.checkpoints.write(0, self.fingerprint, &self.simulation.save())?)
    }

    /// Resumes with the same scene from the newest valid checkpoint before which nothing is missing or damaged.
    fn resume(&mut self, folder: &Path) -> Result<(), Error> {
        let earlier = self.check_folder(folder)?;
        if comparable(&earlier)? != comparable(&self.scene)? {
            return Err(scene_differs());
        }
        if let Err(error) = self.cache.read(0) {
            self.notes.push(format!("{error}; recomputing it"));
            self.cache.write(&self.frame_to_write(0)?)?;
        }
        let latest = self.last_intact_frame()?;
        let found = self.checkpoints.newest_valid(Some(latest))?;
        self.notes.extend(found.damaged.iter().map(|error| format!("{error}; recomputing it")));
        match found.checkpoint {
            Some(checkpoint) if checkpoint.scene_fingerprint != self.fingerprint => Err(scene_differs()),
            Some(checkpoint) => self.go_back_to(&checkpoint),
            None => {
                self.notes.push("no valid checkpoint to resume from: the run restarts at frame 0".into());
                self.begin_at_zero()
            }
        }
    }

    /// Resumes with a changed scene from the newest valid checkpoint at or before a frame.
    fn resume_from(&mut self, folder: &Path, frame: u32) -> Result<(), Error> {
        self.check_folder(folder)?;
        let latest = self.last_intact_frame()?.min(frame);
        let found = self.checkpoints.newest_valid(Some(latest))?;
        self.notes.extend(found.damaged.iter().map(|error| format!("{error}; recomputing it")));
        let Some(checkpoint) = found.checkpoint else {
            return Err(Error::Invalid(format!(
                "no valid checkpoint at or before frame {latest}: start a new run"
            )));
        };
        if checkpoint.frame >= self.scene.time.frames {
            return Err(Error::Invalid(format!(
                "continuing from frame {} with a scene of {} frames leaves nothing to simulate: choose an earlier frame or \
                 more frames",
                checkpoint.frame, self.scene.time.frames
            )));
        }
        self.go_back_to(&checkpoint)?;
        // From now on this state belongs to the changed scene, so that the run can be resumed from here.
        Ok(self.checkpoints.write(self.frame, self.fingerprint, &checkpoint.payload)?)
    }

    /// Checks the settings that cannot change during a run; returns the scene it was made with.
    fn check_folder(&self, folder: &Path) -> Result<Scene, Error> {
        let earlier = scene_of_run_with(folder, &self.steppers)?;
        let (began, now) = (self.cache.info().simd, self.simulation.scene_state().simd);
        if began != now {
            let name = |simd: Simd| if simd == Simd::Auto { "auto" } else { "baseline" };
            return Err(Error::Invalid(format!(
                "the run was started with `--simd {0}`, and this is `--simd {1}`, so results would not be bit-identical: resume \
                 with `--simd {0}`, or start a new run",
                name(began),
                name(now)
            )));
        }
        let (had, has) = (&earlier, &self.scene);
        if had.time.fps != has.time.fps || had.output.every != has.output.every {
            return Err(Error::Invalid(format!(
                "the run has {} frames per second and writes one of {}, the scene has {} and {}: start a new run",
                had.time.fps, had.output.every, has.time.fps, has.output.every
            )));
        }
        Ok(earlier)
    }

    fn go_back_to(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        self.simulation.restore(&checkpoint.payload)?;
        self.frame = checkpoint.frame;
        self.cache.remove_from(self.frame + 1)?;
        self.states.remove_from(self.frame + 1)?;
        self.checkpoints.remove_from(self.frame + 1)?;
        Ok(self.log.keep_until(self.frame)?)
    }

    /// The last frame such that everything up to it can be read and was reported.
    fn last_intact_frame(&mut self) -> Result<u32, Error> {
        let every = self.scene.output.every;
        let mut intact = 0;
        for frame in self.cache.frames()?.into_iter().filter(|frame| *frame > 0) {
            let expected = (intact / every + 1) * every;
            if frame > expected {
                self.notes.push(format!("frame {expected} is missing; recomputing it"));
                break;
            }
            if let Err(error) = self.cache.read(frame) {
                self.notes.push(format!("{error}; recomputing it"));
                break;
            }
            intact = frame;
        }
        // States between written frames are valid too, if they were reported.
        let before_next = (intact / every + 1) * every - 1;
        Ok(before_next.min(self.log.last_unbroken()?))
    }
}

fn scene_differs() -> Error {
    Error::Invalid(
        "the scene or one of its meshes differs from what this run was made with; `--from K` continues with a changed \
         scene, and without `--resume` a new folder starts afresh"
            .into(),
    )
}

/// Everything that determines a run's exact bits: all of the scene except its length and output, its meshes, and the points of
/// its selections.
fn fingerprint(scene: &Scene, simulation: &Simulation) -> Result<u64, Error> {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(comparable(scene)?.as_bytes());
    for body in &simulation.scene_state().bodies {
        hash.update(bytemuck::cast_slice(&body.rest));
        hash.update(bytemuck::cast_slice(&body.rest_corners));
        hash.update(bytemuck::cast_slice(&body.start));
        hash.update(bytemuck::cast_slice(&body.surface_start));
        hash.update(bytemuck::cast_slice(&body.surface_triangles));
        body.elements.hash_into(&mut hash);
    }
    // The points selected by files, groups and colours, since none of these is in the scene text or the bodies.
    hash.update(bytemuck::cast_slice(&simulation.scene_state().pin_keys()));
    Ok(hash.digest())
}

/// A scene's TOML without its length and output.
fn comparable(scene: &Scene) -> Result<String, Error> {
    let mut scene = scene.clone();
    scene.time.frames = 0;
    scene.output = Default::default();
    scene.expect = Default::default();
    scene.description.clear();
    scene.to_toml()
}

fn write_scene(folder: &Path, scene: &Scene) -> Result<PathBuf, Error> {
    let path = folder.join("scene.toml");
    let text = scene.to_toml()?;
    if fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Ok(path);
    }
    write_whole(&path, |file| std::io::Write::write_all(file, text.as_bytes()))?;
    Ok(path)
}

pub(crate) fn frame_report(
    simulation: &Simulation,
    frame: u32,
    steps: &[StepReport],
    wall_seconds: f64,
) -> FrameReport {
    let stretch = simulation.stretch();
    let total = |count: fn(&StepReport) -> u32| steps.iter().map(count).sum();
    let residual = steps.iter().filter_map(|s| s.residual).reduce(f64::max);
    let converged = steps.iter().all(|s| s.converged);
    let forces = simulation.contact_forces().ok();
    FrameReport {
        frame,
        time: simulation.time(),
        wall_seconds,
        steps: steps.len() as u32,
        nonlinear_iterations: total(|s| s.nonlinear_iterations),
        max_step_iterations: steps.iter().map(|s| s.nonlinear_iterations).max().unwrap_or(0),
        linear_iterations: total(|s| s.linear_iterations),
        residual,
        converged: (residual.is_some() || !converged).then_some(converged),
        correction: FrameCorrection::of(steps),
        max_stretch: stretch.max,
        p99_stretch: stretch.p99,
        mean_stretch: stretch.mean,
        min_volume_ratio: simulation.min_volume_ratio(),
        energy: steps.last().map_or(EnergyReport::default(), |s| s.energy),
        contacts: steps.last().map_or(0, |s| s.contacts),
        penetration: steps.last().map_or(0.0, |s| s.penetration),
        pairs: steps.last().map_or(0, |s| s.pairs),
        closest: steps.iter().filter_map(|s| s.closest).reduce(f64::min),
        cuts: total(|s| s.cuts),
        island_cuts: total(|s| s.island_cuts),
        global_cuts: total(|s| s.global_cuts),
        crossings: steps.last().and_then(|s| s.crossings),
        pinched: steps.iter().map(|s| s.pinched).max().unwrap_or(0),
        released: simulation.released(),
        lag: steps.iter().map(|s| s.lag).reduce(f64::max).filter(|lag| *lag > NOTEWORTHY_LAG),
        collider_forces: collider_forces(simulation, forces.as_ref()),
        body_forces: body_forces(simulation, forces.as_ref()),
        height: height(simulation),
        stages: steps.iter().fold(StageTimes::default(), |mut sum, step| {
            sum += step.times;
            sum
        }),
        finite: simulation.first_non_finite().is_none(),
        state_hash: format!("{:016x}", simulation.state_hash()),
    }
}

/// A distance in metres from where a motion says that is worth a report.
const NOTEWORTHY_LAG: f64 = 1e-6;

/// What contact exerts on the colliders that are touched.
fn collider_forces(simulation: &Simulation, forces: Option<&ContactForces>) -> Vec<ColliderForce> {
    let wrenches = forces.into_iter().flat_map(|forces| &forces.on_colliders);
    let named = simulation.scene_state().colliders.iter().zip(wrenches);
    let touched = named.filter(|(_, wrench)| **wrench != Wrench::default());
    touched
        .map(|((_, collider), wrench)| ColliderForce {
            collider: collider.name.clone(),
            force: wrench.force,
            torque: wrench.torque,
        })
        .collect()
}

/// What bodies that touch exert on each other.
fn body_forces(simulation: &Simulation, forces: Option<&ContactForces>) -> Vec<BodyForce> {
    let bodies = &simulation.scene_state().bodies;
    let pairs = forces.into_iter().flat_map(|forces| &forces.between_bodies);
    pairs
        .map(|(pair, wrench)| BodyForce {
            bodies: pair.map(|body| bodies[body].name.clone()),
            force: wrench.force,
            torque: wrench.torque,
        })
        .collect()
}

/// The lowest and highest y of all triangles; unreferenced vertices stay behind and do not count.
fn height(simulation: &Simulation) -> [f64; 2] {
    let mut range = [f64::INFINITY, f64::NEG_INFINITY];
    for (b, body) in simulation.scene_state().bodies.iter().enumerate() {
        let positions = simulation.body_range(b);
        for &vertex in body.surface_triangles.as_flattened() {
            let y = positions[vertex as usize].y;
            range = [range[0].min(y), range[1].max(y)];
        }
    }
    range
}

/// The scene that a run folder was made with.
pub fn scene_of_run(folder: &Path) -> Result<Scene, Error> {
    scene_of_run_with(folder, &Registry::builtin())
}

/// The reports of all frames of the run in a folder; none where it has no log.
pub fn reports_of_run(folder: &Path) -> Result<Vec<FrameReport>, Error> {
    Ok(ReportLog::new(folder).reports()?)
}

/// The same for a run by one of these steppers.
pub fn scene_of_run_with(folder: &Path, steppers: &Registry) -> Result<Scene, Error> {
    let path = folder.join("scene.toml");
    if !path.is_file() {
        return Err(FileError::whole(&path, "missing: the folder is not a Supple run").into());
    }
    let mut scene = steppers.scene_reader().file(&path)?;
    // The scene's own name, not that of the file in the folder.
    scene.name = FrameCache::open(folder)?.info().scene.clone();
    Ok(scene)
}
