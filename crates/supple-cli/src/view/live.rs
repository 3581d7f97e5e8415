//! The running simulation: steps at the clock's pace, requests between steps, frames when a client waits for one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::Message;
use glam::Vec3;
use serde::Serialize;
use serde_json::{Value, json};
use supple::Error;
use supple::linear::Simd;
use supple::mesh::geometry::Ray;
use supple::output::FrameSurface;
use supple::scene::Scene;
use supple::simulation::{GrabId, HierarchyLevel, Registry, ReleasedVertices, Slice, StepReport};

use super::advice::{Advisor, Offer, Subject};
use super::changes::{Applied, EditedScene};
use super::clock::Clock;
use super::controls::{Control, controls};
use super::dropped::DroppedFiles;
use super::hub::{ClientId, Event, Hub, Work};
use super::message::{self, BinaryKind, BinaryMessage, PageRequest};
use super::snapshot::Drawer;
use super::state::ViewState;
use crate::interrupt;

/// Maximum time to sleep before checking whether the program should end.
const MAX_SLEEP: Duration = Duration::from_millis(100);
/// Maximum number of pinned points drawn.
const MAX_PINS: usize = 4096;
/// Maximum number of residuals sent per step.
const MAX_RESIDUALS: usize = 200;

/// The scene being simulated and watched.
pub(super) struct Live {
    subject: EditedScene,
    hub: Arc<Hub>,
    files: Arc<DroppedFiles>,
    simd: Simd,
    clock: Clock,
    advisor: Advisor,
    drawer: Drawer,
    grabs: HashMap<ClientId, GrabId>,
    /// Steps since the start, and the outcome of the last one.
    steps: u64,
    last: Option<(StepReport, f64)>,
    /// Whether the method knows contact forces; before the first step some do not know that yet.
    has_contact: bool,
    /// Whether a page has been sent its first frame: nothing moves before a page is open.
    is_watched: bool,
    /// Whether something has changed since the last frame was sent.
    has_news: bool,
    /// Why the clock stopped by itself.
    problem: Option<String>,
    notes: Vec<String>,
}

/// Header fields of a frame in addition to what is drawn.
#[derive(Serialize)]
struct StepHeader {
    step: u64,
    /// The achieved speed as a multiple of real time.
    rate: Option<f64>,
    /// Points that are dragged, and their targets.
    grabs: Vec<[Vec3; 2]>,
    report: Option<Value>,
    residuals: Vec<f64>,
    /// Vertices that are left out of contact.
    released: Vec<ReleasedVertices>,
}

/// The part of the state that is specific to a simulation.
#[derive(Serialize)]
struct LiveState<'a> {
    vertices: usize,
    elements: usize,
    unknowns: usize,
    /// Whether the method has stress to show.
    has_stress: bool,
    /// Whether it has contact forces.
    has_contact: bool,
    notes: &'a [String],
    /// What the user may do about a slow simulation.
    offer: Option<&'a Offer>,
    controls: Vec<Control>,
}

impl Live {
    /// Builds the scene; nothing moves yet.
    pub(super) fn new(
        scene: Scene,
        simd: Simd,
        hub: Arc<Hub>,
        files: Arc<DroppedFiles>,
        steppers: &Registry,
    ) -> Result<Self, Error> {
        let drawer = Drawer::new(&scene, 1);
        let subject = EditedScene::new(scene, simd, steppers)?;
        let notes = subject.simulation.notes();
        Ok(Self {
            subject,
            hub,
            files,
            simd,
            clock: Clock::new(),
            advisor: Advisor::new(),
            drawer,
            grabs: HashMap::new(),
            steps: 0,
            last: None,
            has_contact: true,
            is_watched: false,
            has_news: true,
            problem: None,
            notes,
        })
    }

    /// Pauses or starts the clock.
    pub(super) fn pause(&mut self, paused: bool) {
        self.clock.run(!paused);
    }

    /// Runs until Ctrl-C.
    pub(super) fn run(&mut self) {
        while !interrupt::asked() {
            self.publish_state();
            let longest = if self.clock.is_running && self.is_watched {
                self.clock.wait().min(MAX_SLEEP)
            } else {
                MAX_SLEEP
            };
            for (client, event) in self.hub.clone().wait(longest, self.has_news) {
                self.handle(client, event);
            }
            if self.is_watched && self.clock.is_running && self.clock.wait().is_zero() {
                self.step();
            }
            if self.has_news && self.hub.frame_is_wanted() {
                self.publish();
                self.watch();
            }
        }
    }

    /// A page is open: time begins with the first one.
    fn watch(&mut self) {
        if !self.is_watched {
            self.is_watched = true;
            self.clock.run(self.clock.is_running);
            self.advisor.restart();
        }
    }

    /// Length of a step in seconds.
    fn dt(&self) -> f64 {
        let time = &self.subject.scene.time;
        1.0 / (time.fps * f64::from(time.substeps))
    }

    fn step(&mut self) {
        let (dt, started) = (self.dt(), Instant::now());
        match self.hub.during(Work::Step, || self.subject.simulation.step(dt)) {
            Ok(report) => self.last = Some((report, started.elapsed().as_secs_f64())),
            Err(error) => return self.stop(error.to_string()),
        }
        self.steps += 1;
        if self.steps == 1 {
            self.has_contact = self.subject.simulation.contact_forces().is_ok();
        }
        self.has_news = true;
        self.clock.advance(dt);
        let EditedScene { scene, simulation, steppers, .. } = &self.subject;
        let subject = Subject { scene, vertices: simulation.counts().vertices, steppers };
        self.advisor.look(&subject, self.clock.rate(), self.clock.speed);
        if let Some(vertex) = self.subject.simulation.first_non_finite() {
            self.stop(format!("vertex {vertex} is no longer finite: reset, and try a smaller step"));
        }
    }

    /// The simulation cannot continue; the user is notified and may change something.
    fn stop(&mut self, problem: String) {
        self.clock.run(false);
        self.problem = Some(problem);
    }

    fn handle(&mut self, client: ClientId, event: Event) {
        let done = match event {
            Event::Left => {
                self.release(client);
                return;
            }
            Event::Requested(request) => self.perform(client, request),
        };
        if let Err(problem) = done {
            self.hub.answer(client, message::error(&problem));
        }
    }

    fn perform(&mut self, client: ClientId, request: PageRequest) -> Result<(), String> {
        match request {
            PageRequest::Drawn {} => {}
            PageRequest::Grab { origin, direction } => {
                self.release(client);
                if let Some(grab) = self.subject.simulation.grab(&Ray { origin, direction }) {
                    self.grabs.insert(client, grab);
                    self.has_news = true;
                }
            }
            PageRequest::Drag { target } => {
                if let Some(&grab) = self.grabs.get(&client) {
                    self.subject.simulation.move_to(grab, target).map_err(|error| error.to_string())?;
                    self.has_news = true;
                }
            }
            PageRequest::Release {} => self.release(client),
            PageRequest::Pin { origin, direction } => {
                let pinned = self.subject.toggle_pin(&Ray { origin, direction });
                pinned.map_err(|error| error.to_string())?;
                self.has_news = true;
            }
            PageRequest::Unpin { at } => {
                self.subject.unpin_near(at).map_err(|error| error.to_string())?;
                self.has_news = true;
            }
            PageRequest::Pause {} => self.clock.run(false),
            PageRequest::Play {} => {
                self.problem = None;
                self.clock.run(true);
            }
            PageRequest::Step {} => {
                self.problem = None;
                self.clock.run(false);
                self.step();
            }
            PageRequest::Reset {} => self.reset()?,
            PageRequest::Speed { factor } => self.clock.set_speed(factor)?,
            PageRequest::Set { path, value } => self.set(client, &path, &value)?,
            PageRequest::Resolution { factor } => self.scale_resolution(factor)?,
            PageRequest::Open { scene } => {
                let reader = self.subject.steppers.scene_reader();
                self.load(reader.builtin(&scene).map_err(|error| error.to_string())?)?;
            }
            PageRequest::OpenFile { drop, name } => {
                let files = self.files.clone();
                let open = || files.open(drop, &name, &self.subject.steppers);
                let scene = self.hub.during(Work::Building, open)?;
                self.load(scene).map_err(|problem| files.without_folders(&problem))?;
            }
            PageRequest::Save {} => self.save(client)?,
            PageRequest::Hierarchy { slice } => self.show_hierarchy(client, &slice),
            PageRequest::Stress {} => self.show_stress(client)?,
            PageRequest::Contact {} => self.show_contact(client),
            PageRequest::Seek { .. } => {
                return Err("a live simulation has no timeline; open a run instead".into());
            }
        }
        Ok(())
    }

    fn release(&mut self, client: ClientId) {
        if let Some(grab) = self.grabs.remove(&client) {
            // It may have disappeared when the simulation was restarted.
            let _ = self.subject.simulation.release(grab);
            self.has_news = true;
        }
    }

    fn reset(&mut self) -> Result<(), String> {
        self.hub.during(Work::Building, || self.subject.restart()).map_err(|error| error.to_string())?;
        self.begin_again();
        Ok(())
    }

    /// Simulates another scene; if it cannot be built, the current one stays.
    fn load(&mut self, scene: Scene) -> Result<(), String> {
        let steppers = self.subject.steppers.clone();
        let build = || EditedScene::new(scene, self.simd, &steppers);
        self.subject = self.hub.during(Work::Building, build).map_err(|error| error.to_string())?;
        self.advisor = Advisor::new();
        self.drawer.begin_scene();
        self.begin_again();
        Ok(())
    }

    fn scale_resolution(&mut self, factor: f64) -> Result<(), String> {
        let subject = &mut self.subject;
        self.hub
            .during(Work::Building, || subject.scale_resolution(factor))
            .map_err(|error| error.to_string())?;
        self.begin_again();
        Ok(())
    }

    /// The simulation has been replaced.
    fn begin_again(&mut self) {
        self.grabs.clear();
        (self.steps, self.last, self.problem, self.has_contact) = (0, None, None, true);
        self.notes = self.subject.simulation.notes();
        self.drawer = self.drawer.with_scene(&self.subject.scene);
        self.clock.run(self.clock.is_running);
        self.advisor.restart();
        self.has_news = true;
    }

    fn set(&mut self, client: ClientId, path: &str, value: &str) -> Result<(), String> {
        let applied = self.hub.during(Work::Building, || self.subject.set(path, value));
        match applied.map_err(|error| error.to_string())? {
            Applied::Kept => {
                self.problem = None;
                self.clock.run(self.clock.is_running);
                self.advisor.restart();
            }
            Applied::Restarted(reason) => {
                self.begin_again();
                self.hub.answer(client, message::note(&format!("The simulation was restarted: {reason}.")));
            }
        }
        self.has_news = true;
        Ok(())
    }

    fn save(&self, client: ClientId) -> Result<(), String> {
        let toml = self.subject.scene_to_save().to_toml().map_err(|error| error.to_string())?;
        let name = format!("{}.toml", self.subject.scene.name);
        let toml = self.files.without_folders(&toml);
        let answer = json!({ "type": "scene", "name": name, "toml": toml });
        self.hub.answer(client, Message::text(answer.to_string()));
        Ok(())
    }

    fn show_hierarchy(&self, client: ClientId, slice: &Slice) {
        let simulation = &self.subject.simulation;
        let levels = simulation.hierarchy_in(slice);
        let cuts: Vec<f64> = simulation
            .scene_state()
            .bodies
            .iter()
            .map(|body| slice.place(&body.surface.mesh.positions))
            .collect();
        let about = json!({ "topology": self.shown_topology(), "axis": slice.axis(), "cuts": cuts });
        self.hub.answer(client, Message::Binary(hierarchy_message(&levels, about)));
    }

    fn show_stress(&self, client: ClientId) -> Result<(), String> {
        let stress = self.subject.simulation.stress().map_err(|error| error.to_string())?;
        let units: Vec<&str> = stress.bodies.iter().map(|(unit, _)| unit.symbol()).collect();
        let header =
            json!({ "topology": self.shown_topology(), "units": units, "points": stress.of_point.len() });
        let mut message = BinaryMessage::new(BinaryKind::Stress, &header, stress.of_point.len());
        message.numbers(stress.of_point.iter().map(|stress| *stress as f32));
        self.hub.answer(client, Message::Binary(message.finish()));
        Ok(())
    }

    fn show_contact(&self, client: ClientId) {
        let pressure = self.subject.simulation.contact_forces().map(|forces| forces.pressure);
        let pressure = pressure.unwrap_or_default();
        let values = pressure.iter().map(|pressure| *pressure as f32);
        self.hub.answer(client, message::contact(self.shown_topology(), values));
    }

    /// The number of the pages' topology.
    fn shown_topology(&self) -> u64 {
        self.drawer.next_topology() - 1
    }

    fn publish(&mut self) {
        let simulation = &self.subject.simulation;
        let surfaces: Vec<Arc<FrameSurface>> =
            simulation.scene_state().bodies.iter().map(|body| body.surface.clone()).collect();
        let pins: Vec<Vec3> =
            simulation.pinned_points().take(MAX_PINS).map(|point| point.target.as_vec3()).collect();
        let grabbed =
            simulation.scene_state().grabs.iter().filter_map(|grab| {
                Some([simulation.grabbed_point(grab.id)?.as_vec3(), grab.target.as_vec3()])
            });
        let mut residuals = simulation.inspect().residuals;
        residuals.truncate(MAX_RESIDUALS);
        let header = StepHeader {
            step: self.steps,
            rate: self.clock.rate(),
            grabs: grabbed.collect(),
            report: self.last.as_ref().map(|(report, seconds)| report_value(report, *seconds)),
            residuals,
            released: simulation.released(),
        };
        let positions = simulation.positions().iter().map(|p| p.as_vec3());
        let snapshot = self.drawer.draw(&surfaces, simulation.time(), positions, &pins, &header);
        self.hub.publish(snapshot);
        self.has_news = false;
    }

    fn publish_state(&self) {
        let (scene, simulation) = (&self.subject.scene, &self.subject.simulation);
        let counts = simulation.counts();
        let own = LiveState {
            vertices: counts.vertices,
            elements: counts.elements,
            unknowns: counts.unknowns,
            has_stress: scene.solver.method.traits().no_stress.is_none(),
            has_contact: self.has_contact,
            notes: &self.notes,
            offer: self.advisor.offer(),
            controls: controls(scene, simulation, &self.subject.steppers),
        };
        let mut state = ViewState::new("live", scene, &self.clock, self.dt(), &self.problem, own);
        // With the linear solver, which the scene may leave to the engine.
        state.solver = simulation.scene_state().solver.name();
        self.hub.set_state(state.text());
    }
}

/// A step's report for the plots.
fn report_value(report: &StepReport, seconds: f64) -> Value {
    json!({
        "seconds": seconds,
        "stages": report.times.stages(),
        "iterations": report.nonlinear_iterations,
        "linear_iterations": report.linear_iterations,
        "residual": report.residual,
        "converged": (report.residual.is_some() || !report.converged).then_some(report.converged),
        "energy": report.energy,
        "contacts": report.contacts + report.pairs,
    })
}

/// The levels of a hierarchy: a region per vertex, nodes and links as positions, and cells of the slice.
fn hierarchy_message(levels: &[HierarchyLevel], mut about: Value) -> axum::body::Bytes {
    let header = |level: &HierarchyLevel| {
        json!({
            "name": level.name,
            "regions": level.regions,
            "points": level.region_of_point.len(),
            "nodes": level.nodes.len(),
            "links": level.links.len(),
            "cells": level.cells.len(),
            "kinds": level.kinds,
        })
    };
    about["levels"] = levels.iter().map(header).collect();
    let mut message = BinaryMessage::new(BinaryKind::Hierarchy, &about, 0);
    for level in levels {
        message.words(level.region_of_point.iter().copied());
        message.points(level.nodes.iter().map(|p| p.as_vec3()));
        message.points(level.links.iter().flatten().map(|p| p.as_vec3()));
        message.points(level.cells.iter().flat_map(|cell| cell.corners).map(|p| p.as_vec3()));
        message.words(level.cells.iter().map(|cell| cell.kind));
    }
    message.finish()
}
