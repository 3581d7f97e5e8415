//! The frames to draw: those of a run on disk, or of a scene simulated on the fly. One is in memory at a time.

use std::path::Path;

use anyhow::anyhow;
use supple::FileError;
use supple::output::{Frame, FrameCache};
use supple::scene::Scene;
use supple::simulation::{
    FrameReport, HierarchyLevel, NO_REGION, ReleasedVertices, Simulation, reports_of_run, scene_of_run_with,
};
use supple_render::Overlay;

use super::spool::{ShownFrame, Spool};
use crate::arguments::{Color, Common, Render};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::scenes::choose;

/// Where frames come from.
pub(super) struct FrameSource {
    pub(super) scene: Scene,
    /// The available frames, if it is a run.
    recorded: Option<RecordedFrames>,
}

/// The frames of a run on disk.
pub(super) struct RecordedFrames {
    cache: FrameCache,
    /// The reports, if released vertices are shown.
    reports: Vec<FrameReport>,
    color: Color,
}

/// Collected frames that can be read in any order.
pub(super) enum FrameSequence {
    OfRun { recorded: RecordedFrames, numbers: Vec<u32> },
    Simulated(Spool),
}

impl FrameSource {
    /// Finds the run or the scene; nothing is simulated yet.
    pub(super) fn open(options: &Render, common: &Common) -> Result<Self, Failure> {
        let folder = Path::new(&options.source);
        if !folder.is_dir() {
            return Ok(Self { scene: choose(&options.source, &options.choice, common)?, recorded: None });
        }
        if options.choice.changes_something() {
            let problem = "is a run: --resolution, --set, --frames and --solver have no effect on it";
            return Err(Failure::usage(anyhow!("{} {problem}", folder.display())));
        }
        if let Some(what) = match options.color {
            Color::Hierarchy => Some("the solver's hierarchy"),
            Color::Stress => Some("stress"),
            Color::Plain | Color::Stretch | Color::Contact => None,
        } {
            let problem =
                format!("is a run, whose frames contain positions but not {what}: use the scene instead");
            return Err(Failure::usage(anyhow!("{} {problem}", folder.display())));
        }
        let scene = scene_of_run_with(folder, &common.steppers).map_err(Failure::usage)?;
        let cache = FrameCache::open(folder).map_err(Failure::usage)?;
        let reports = match options.color {
            Color::Contact => reports_of_run(folder).map_err(Failure::usage)?,
            _ => Vec::new(),
        };
        Ok(Self { scene, recorded: Some(RecordedFrames { cache, reports, color: options.color }) })
    }

    /// The frames to draw: all (or every n-th) for an animation, one for a picture. `visit` is called once for each.
    pub(super) fn frames(
        self,
        options: &Render,
        animated: bool,
        common: &Common,
        visit: &mut dyn FnMut(&ShownFrame),
    ) -> Result<FrameSequence, Failure> {
        match self.recorded {
            Some(recorded) => {
                let numbers = numbers_to_draw(&recorded.cache, options, animated)?;
                let mut has_contact = false;
                for &number in &numbers {
                    let shown = recorded.read(number)?;
                    has_contact |= matches!(shown.overlay, Overlay::Contact { .. });
                    visit(&shown);
                    stop_if_interrupted(options, || format!("reading frame {number}"))?;
                }
                if matches!(options.color, Color::Contact) && !has_contact {
                    return Err(Failure::usage(anyhow!("{} {NO_CONTACT}", options.source)));
                }
                Ok(FrameSequence::OfRun { recorded, numbers })
            }
            None => simulate(&self.scene, options, animated, common, visit).map(FrameSequence::Simulated),
        }
    }
}

impl FrameSequence {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::OfRun { numbers, .. } => numbers.len(),
            Self::Simulated(spool) => spool.len(),
        }
    }

    /// The frame at an index, which must be below [`FrameSequence::len`].
    pub(super) fn read(&mut self, place: usize) -> Result<ShownFrame, Failure> {
        match self {
            Self::OfRun { recorded, numbers } => recorded.read(numbers[place]),
            Self::Simulated(spool) => {
                let problem = |error| anyhow!("cannot read a frame back from the temporary file: {error}");
                spool.read(place).map_err(|error| Failure::running(problem(error)))
            }
        }
    }
}

/// Why contact cannot be shown.
const NO_CONTACT: &str =
    "has frames without contact forces: run it again with `--contact-forces`, or use the scene instead";

impl RecordedFrames {
    /// A frame, with contact if colours show it and the frame has it.
    fn read(&self, number: u32) -> Result<ShownFrame, Failure> {
        let frame = self.cache.read(number).map_err(Failure::usage)?;
        let report = self.reports.iter().rev().find(|report| report.frame == number);
        let released = report.map_or(&[][..], |report| &report.released);
        let overlay = match self.color {
            Color::Contact => contact_overlay(&frame, released).unwrap_or_default(),
            _ => Overlay::None,
        };
        Ok(ShownFrame { frame, overlay })
    }
}

/// Pressure and released vertices of a frame with contact forces.
fn contact_overlay(frame: &Frame, released: &[ReleasedVertices]) -> Option<Overlay> {
    if frame.bodies.iter().all(|body| body.contact.is_none()) {
        return None;
    }
    let (mut pressure, mut numbers) = (Vec::new(), Vec::new());
    for body in &frame.bodies {
        let first = pressure.len() as u32;
        let own = released.iter().filter(|released| released.body == body.surface.name);
        numbers.extend(own.flat_map(|released| &released.vertices).map(|vertex| first + vertex));
        match &body.contact {
            Some(contact) => pressure.extend_from_slice(&contact.pressure),
            None => pressure.resize(pressure.len() + body.positions.len(), 0.0),
        }
    }
    Some(Overlay::Contact { pressure, released: numbers })
}

/// Fails if Ctrl-C was pressed; `after` describes the completed work.
pub(super) fn stop_if_interrupted(options: &Render, after: impl FnOnce() -> String) -> Result<(), Failure> {
    if !interrupt::asked() {
        return Ok(());
    }
    Err(Failure::stopped(format!("stopped after {}; {} was not written", after(), options.out.display())))
}

fn numbers_to_draw(cache: &FrameCache, options: &Render, animated: bool) -> Result<Vec<u32>, Failure> {
    let present = cache.frames().map_err(Failure::usage)?;
    let Some(&last) = present.last() else {
        return Err(Failure::usage(anyhow!("{}: no frames yet", options.source)));
    };
    let every = options.every.unwrap_or(1) as usize;
    Ok(match animated {
        true => present.into_iter().step_by(every).collect(),
        false => vec![options.frame.unwrap_or(last)],
    })
}

fn simulate(
    scene: &Scene,
    options: &Render,
    animated: bool,
    common: &Common,
    visit: &mut dyn FnMut(&ShownFrame),
) -> Result<Spool, Failure> {
    let simulation = Simulation::with_steppers(scene.clone(), common.simd.into(), &common.steppers);
    let mut simulation = simulation.map_err(Failure::usage)?;
    simulation.check_finite(0).map_err(Failure::usage)?;
    let last = if animated { scene.time.frames } else { options.frame.unwrap_or(scene.time.frames) };
    let every = options.every.unwrap_or(1);
    let dt = 1.0 / (scene.time.fps * f64::from(scene.time.substeps));
    let folder = folder_of(&options.out);
    let disk_error = |error| Failure::running(FileError::io(folder, "write a temporary file", &error));
    let mut spool = Spool::new(folder).map_err(disk_error)?;
    let progress = Progress::work(common, "simulating");
    for frame in 0..=last {
        for _ in 0..if frame > 0 { scene.time.substeps } else { 0 } {
            simulation.step(dt).map_err(Failure::running)?;
        }
        simulation.check_finite(frame).map_err(Failure::running)?;
        let is_drawn = if animated { frame.is_multiple_of(every) } else { frame == last };
        if is_drawn {
            let shown =
                ShownFrame { frame: simulation.frame(frame), overlay: overlay(&simulation, options, frame)? };
            visit(&shown);
            spool.push(&shown).map_err(disk_error)?;
        }
        progress.set(frame, last);
        stop_if_interrupted(options, || format!("simulating frame {frame} of {last}"))?;
    }
    progress.end();
    Ok(spool)
}

/// The solver's data for the colours; the hierarchy does not exist before the first step.
fn overlay(simulation: &Simulation, options: &Render, frame: u32) -> Result<Overlay, Failure> {
    match options.color {
        Color::Contact => match simulation.frame_with_contact(frame) {
            Ok(frame) => Ok(contact_overlay(&frame, &simulation.released()).unwrap_or_default()),
            // At the start some families know no forces yet.
            Err(_) if frame == 0 => Ok(Overlay::None),
            Err(problem) => Err(Failure::usage(problem)),
        },
        Color::Stress => simulation.stress().map(Overlay::Stress).map_err(Failure::usage),
        Color::Hierarchy if simulation.time() > 0.0 => hierarchy(simulation, options),
        _ => Ok(Overlay::None),
    }
}

fn hierarchy(simulation: &Simulation, options: &Render) -> Result<Overlay, Failure> {
    let mut levels = simulation.hierarchy_in(&options.slice);
    let (count, wanted) = (levels.len(), options.level as usize - 1);
    if count == 0 {
        let solver = simulation.scene_state().solver.name();
        let problem = "has no hierarchy to show here; galerkin, mas, schwarz, hpbd, octree and staggered have one \
                       (--solver)";
        return Err(Failure::usage(anyhow!("`{solver}` {problem}")));
    }
    if wanted >= count {
        let problem = format!("--level {}: the hierarchy has {count}", options.level);
        return Err(Failure::usage(anyhow!(problem)));
    }
    let HierarchyLevel { region_of_point: mut regions, cells, .. } = levels.swap_remove(wanted);
    if !cells.is_empty() {
        // Cells are often smaller than the surface's triangles, and colours would bleed between them.
        regions.fill(NO_REGION);
    }
    Ok(Overlay::Hierarchy { regions, cells, slice: options.slice })
}

/// The folder that a file is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
