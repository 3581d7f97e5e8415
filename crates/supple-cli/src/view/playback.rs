//! Playback of a run from its frames on disk, finished or still growing, with a timeline.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use supple::Error;
use supple::output::{Frame, FrameCache, FrameSurface, is_being_written};
use supple::scene::Scene;
use supple::simulation::{FrameReport, Registry, ReleasedVertices, scene_of_run_with};

use super::clock::Clock;
use super::hub::{ClientId, Event, Hub};
use super::message::{self, PageRequest};
use super::snapshot::Drawer;
use super::state::ViewState;
use crate::interrupt;

/// Maximum time to sleep before checking whether the program should end.
const MAX_SLEEP: Duration = Duration::from_millis(100);
/// How often to check for new frames.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// A run being shown.
pub(super) struct Player {
    hub: Arc<Hub>,
    scene: Scene,
    cache: FrameCache,
    reports: Reports,
    drawer: Drawer,
    clock: Clock,
    /// The numbers of the available frames.
    frames: Vec<u32>,
    /// Index of the frame shown.
    place: usize,
    /// The pressure of contact in the frame shown, if it is stored.
    pressure: Option<Vec<f32>>,
    has_news: bool,
    problem: Option<String>,
    looked: Instant,
    folder: PathBuf,
    /// Whether a process was writing the run at the last check.
    is_growing: bool,
}

/// The reports of the frames, read as they are written.
struct Reports {
    path: PathBuf,
    read: u64,
    reports: Vec<FrameReport>,
}

/// Header fields of a frame in addition to what is drawn.
#[derive(Serialize)]
struct PlayedHeader<'a> {
    place: usize,
    frame: u32,
    /// The achieved speed as a multiple of real time.
    rate: Option<f64>,
    report: Option<Value>,
    grabs: &'a [()],
    residuals: &'a [()],
    /// Vertices that are left out of contact.
    released: &'a [ReleasedVertices],
}

/// The part of the state that is specific to a run.
#[derive(Serialize)]
struct PlayedState<'a> {
    places: usize,
    first: u32,
    last: u32,
    /// Frames requested by the scene.
    total: u32,
    /// Whether frames are still being added.
    growing: bool,
    /// Whether frames have contact forces.
    has_contact: bool,
    notes: [&'a str; 0],
    controls: [(); 0],
}

impl Player {
    /// Opens a run; waits for frames if there are none yet.
    pub(super) fn open(folder: &Path, hub: Arc<Hub>, steppers: &Registry) -> Result<Self, Error> {
        let scene = scene_of_run_with(folder, steppers)?;
        let cache = FrameCache::open(folder)?;
        let reports = Reports { path: folder.join("reports.jsonl"), read: 0, reports: Vec::new() };
        let drawer = Drawer::new(&scene, 1);
        let mut player = Self {
            hub,
            scene,
            cache,
            reports,
            drawer,
            clock: Clock::new(),
            frames: Vec::new(),
            place: 0,
            pressure: None,
            has_news: true,
            problem: None,
            looked: Instant::now(),
            folder: folder.to_owned(),
            is_growing: false,
        };
        player.look();
        Ok(player)
    }

    /// Plays until Ctrl-C.
    pub(super) fn run(&mut self) {
        while !interrupt::asked() {
            self.publish_state();
            let longest = if self.clock.is_running { self.clock.wait().min(MAX_SLEEP) } else { MAX_SLEEP };
            for (client, event) in self.hub.clone().wait(longest, self.has_news) {
                if let Event::Requested(request) = event {
                    self.perform(client, request);
                }
            }
            if self.looked.elapsed() >= POLL_INTERVAL {
                self.look();
            }
            if self.clock.is_running && self.clock.wait().is_zero() {
                self.advance();
            }
            if self.has_news && self.hub.frame_is_wanted() {
                self.publish();
            }
        }
    }

    /// Reads frames and reports written since the last check.
    fn look(&mut self) {
        self.looked = Instant::now();
        // Before the frames: the last ones are written before the writer releases the run.
        self.is_growing = is_being_written(&self.folder);
        match self.cache.frames() {
            Ok(frames) => {
                self.has_news |= self.frames.is_empty() && !frames.is_empty();
                self.frames = frames;
                self.place = self.place.min(self.frames.len().saturating_sub(1));
            }
            Err(error) => self.problem = Some(error.to_string()),
        }
        self.reports.read_new();
    }

    /// Seconds between two frames.
    fn dt(&self) -> f64 {
        f64::from(self.scene.output.every) / self.scene.time.fps
    }

    /// Advances by a frame; wraps around at the end, unless more frames are expected.
    fn advance(&mut self) {
        self.clock.advance(self.dt());
        let next = self.place + 1;
        if next < self.frames.len() {
            self.show(next);
        } else if !self.is_growing && self.frames.len() > 1 {
            self.show(0);
        }
    }

    fn show(&mut self, place: usize) {
        self.place = place;
        self.has_news = true;
    }

    fn perform(&mut self, client: ClientId, request: PageRequest) {
        let refusal = match request {
            PageRequest::Seek { place } => {
                self.clock.run(false);
                self.show(place.min(self.frames.len().saturating_sub(1)));
                Ok(())
            }
            PageRequest::Pause {} => {
                self.clock.run(false);
                Ok(())
            }
            PageRequest::Play {} => {
                self.clock.run(true);
                Ok(())
            }
            PageRequest::Step {} => {
                self.clock.run(false);
                self.show((self.place + 1).min(self.frames.len().saturating_sub(1)));
                Ok(())
            }
            PageRequest::Reset {} => {
                self.show(0);
                Ok(())
            }
            PageRequest::Speed { factor } => self.clock.set_speed(factor),
            PageRequest::Drawn {} | PageRequest::Release {} | PageRequest::Drag { .. } => Ok(()),
            PageRequest::Contact {} => {
                let pressure = self.pressure.as_deref().unwrap_or_default().iter().copied();
                self.hub.answer(client, message::contact(self.drawer.next_topology() - 1, pressure));
                Ok(())
            }
            PageRequest::Grab { .. }
            | PageRequest::Pin { .. }
            | PageRequest::Unpin { .. }
            | PageRequest::Set { .. }
            | PageRequest::Resolution { .. }
            | PageRequest::Open { .. }
            | PageRequest::OpenFile { .. }
            | PageRequest::Save {}
            | PageRequest::Hierarchy { .. }
            | PageRequest::Stress {} => {
                Err("this is a recorded run, which contains only positions and cannot be changed: \
                 `supple view` a scene for that"
                    .into())
            }
        };
        if let Err(problem) = refusal {
            self.hub.answer(client, message::error(&problem));
        }
    }

    fn publish(&mut self) {
        self.has_news = false;
        let Some(&number) = self.frames.get(self.place) else { return };
        let frame = match self.cache.read(number) {
            Ok(frame) => frame,
            Err(error) => {
                self.clock.run(false);
                self.problem = Some(error.to_string());
                return;
            }
        };
        self.problem = None;
        self.pressure = pressure_of(&frame);
        let surfaces: Vec<Arc<FrameSurface>> = frame.bodies.iter().map(|body| body.surface.clone()).collect();
        let positions: Vec<_> = frame.bodies.iter().flat_map(|body| body.positions.iter().copied()).collect();
        let report = self.reports.of(number);
        let header = PlayedHeader {
            place: self.place,
            frame: number,
            rate: self.clock.rate(),
            report: report.map(report_value),
            grabs: &[],
            residuals: &[],
            released: report.map_or(&[], |report| &report.released),
        };
        let snapshot = self.drawer.draw(&surfaces, frame.time, positions.into_iter(), &[], &header);
        self.hub.publish(snapshot);
    }

    fn publish_state(&self) {
        let own = PlayedState {
            places: self.frames.len(),
            first: self.frames.first().copied().unwrap_or(0),
            last: self.frames.last().copied().unwrap_or(0),
            total: self.scene.time.frames,
            growing: self.is_growing,
            has_contact: self.scene.output.contact_forces,
            notes: [],
            controls: [],
        };
        let state = ViewState::new("playback", &self.scene, &self.clock, self.dt(), &self.problem, own);
        self.hub.set_state(state.text());
    }
}

impl Reports {
    /// Reads complete lines added since the last time; lines that are not reports of this version are skipped.
    fn read_new(&mut self) {
        let Ok(mut file) = File::open(&self.path) else { return };
        if file.metadata().is_ok_and(|metadata| metadata.len() < self.read) {
            // A run restarted from an earlier frame has fewer.
            (self.read, self.reports) = (0, Vec::new());
        }
        if file.seek(SeekFrom::Start(self.read)).is_err() {
            return;
        }
        let mut file = BufReader::new(file);
        let mut line = String::new();
        while file.read_line(&mut line).is_ok_and(|count| count > 0) && line.ends_with('\n') {
            self.read += line.len() as u64;
            self.reports.extend(serde_json::from_str::<FrameReport>(&line));
            line.clear();
        }
    }

    fn of(&self, frame: u32) -> Option<&FrameReport> {
        self.reports.iter().rev().find(|report| report.frame == frame)
    }
}

/// The pressure of contact on all vertices, if the frame has it.
fn pressure_of(frame: &Frame) -> Option<Vec<f32>> {
    let of_bodies = frame.bodies.iter().map(|body| Some(&body.contact.as_ref()?.pressure[..]));
    of_bodies.collect::<Option<Vec<_>>>().map(|of_bodies| of_bodies.concat())
}

/// A frame's report for the plots.
fn report_value(report: &FrameReport) -> Value {
    json!({
        "seconds": report.wall_seconds,
        "stages": report.stages.stages(),
        "iterations": report.nonlinear_iterations,
        "linear_iterations": report.linear_iterations,
        "residual": report.residual,
        "converged": report.converged,
        "energy": report.energy,
        "contacts": report.contacts + report.pairs,
    })
}
