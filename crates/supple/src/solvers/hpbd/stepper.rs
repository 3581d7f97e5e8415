//! A step of position based dynamics (Müller 2008, section 3): predict, find collisions, project, and derive the velocity from
//! the corrected positions. A step that is too long for the mesh is subdivided (Macklin et al. 2019, *Small Steps in
//! Physics Simulation*).

use std::borrow::Cow;
use std::time::Instant;

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::body::{Body, Elements};
use crate::contact::PosedCollider;
use crate::contact::barrier::ContactSystem;
use crate::contact::forces::ContactForces;
use crate::dynamics::{ContactImpulse, ContactProjection, EntanglementNotes, System};
use crate::scene_state::SceneState;
use crate::solvers::hpbd::collision::colliders::Collisions;
use crate::solvers::hpbd::collision::self_collisions::{SelfCollisions, Trajectory};
use crate::solvers::hpbd::constraint::Step;
use crate::solvers::hpbd::constraint::mesh_constraints::MeshConstraints;
use crate::solvers::hpbd::constraint::soft_pins::SoftPins;
use crate::solvers::hpbd::contact_forces::StepImpulses;
use crate::solvers::hpbd::drag::Drag;
use crate::solvers::hpbd::options::HpbdOptions;
use crate::solvers::hpbd::positions::{Positions, TASK};
use crate::solvers::hpbd::progress::Progress;
use crate::solvers::hpbd::solver::{HierarchicalSolver, ProjectionData};
use crate::solvers::hpbd::tear::{Neighbourhood, ParticleSplit};
use crate::stepper::{
    EnergyReport, HierarchyLevel, Inspection, ParticleLevel, ReleasedVertices, Slice, StageTimes, StepReport,
    Stepper, Torn,
};
use supple_core::Error;
use supple_core::state::{StateReader, StateWriter};
use supple_core::text::number::components;

/// Small steps of a step, at most.
const MOST_SMALL_STEPS: f64 = 500.0;

/// Hierarchical position based dynamics of all bodies of a scene.
#[derive(Default)]
pub struct HpbdStepper {
    x: Vec<DVec3>,
    v: Vec<DVec3>,
    /// Masses, surface points, wind and pins.
    system: System,
    solver: Option<HierarchicalSolver>,
    soft_pins: SoftPins,
    collisions: Collisions,
    self_collisions: SelfCollisions,
    /// Keeps what constraints leave from crossing.
    contact: ContactProjection,
    /// The error when colliders were posed; reported by the next step.
    problem: Option<Error>,
    weights: Vec<f64>,
    predicted: Vec<DVec3>,
    positions: Positions,
    velocities: Positions,
    fixed: Vec<bool>,
    drag: Drag,
    /// Impulses of pairs in the last step.
    pair_impulses: Vec<ContactImpulse>,
    /// The length of the last step in seconds, as long as its impulses are known.
    last_length: Option<f64>,
    earlier_colliders: Vec<PosedCollider>,
    torn: Option<TornMesh>,
}

/// The data besides the solver that a tear of the last body changes.
#[derive(Debug)]
struct TornMesh {
    around: Neighbourhood,
    /// Over all particles.
    triangles: Vec<[u32; 3]>,
    /// The first one of the body.
    first_triangle: usize,
    start: Vec<DVec3>,
}

impl HpbdStepper {
    /// A stepper for the bodies of a scene state, at their start.
    pub fn new(scene_state: &SceneState) -> Self {
        let mut stepper = Self::default();
        stepper.bodies_changed(scene_state, &vec![None; scene_state.bodies.len()]);
        stepper
    }

    /// The number of small steps per time step.
    fn small_steps(&self, scene_state: &SceneState, dt: f64) -> u32 {
        let options = options_of(scene_state);
        let edge = self.solver.as_ref().map_or(0.0, |solver| solver.mean_length(options.level as usize));
        let count = dt / options.longest_step(edge, scene_state.world.gravity.length());
        // An excess over an integer this small is rounding.
        (count * (1.0 - 1e-9)).ceil().clamp(1.0, MOST_SMALL_STEPS) as u32
    }

    /// One small step, of `dt` seconds to the time `end`.
    fn advance(
        &mut self,
        scene_state: &SceneState,
        end: f64,
        dt: f64,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        let started = Instant::now();
        scene_state.pose_colliders(
            [end - dt, end],
            |_| true,
            &mut self.collisions.colliders,
            &mut self.earlier_colliders,
        )?;
        self.predict(scene_state, end, dt)?;
        let displacements = self.x.par_iter().zip(&self.predicted).with_min_len(TASK);
        let fastest = displacements.map(|(x, p)| x.distance_squared(*p)).reduce(|| 0.0, f64::max).sqrt();
        self.collisions.find(&self.x, &self.predicted, &self.weights, [fastest, dt]);
        let count = self.collisions.colliders.len();
        self.collisions.pushes.begin_small_step(count, self.x.len(), dt);
        let trajectory = Trajectory { from: &self.x, to: &self.predicted, longest: fastest };
        self.self_collisions.find(&trajectory, &self.weights, &self.collisions.friction, scene_state.simd);
        let solving = Instant::now();
        self.solve(scene_state, dt, progress);
        progress.solving += solving.elapsed().as_secs_f64();
        self.self_collisions.add_impulses(dt, &mut self.pair_impulses);
        self.contact.project(
            &mut self.system.contact_system,
            scene_state,
            [end - dt, end],
            &self.x,
            &self.weights,
            &mut self.predicted,
        )?;
        progress.note_contact(&self.contact, self.system.contact_system.pinched().len() as u32);
        let steps = self.v.par_iter_mut().zip(&self.predicted).zip(&self.x).with_min_len(TASK);
        steps.for_each(|((v, new), old)| *v = (*new - *old) / dt);
        std::mem::swap(&mut self.x, &mut self.predicted);
        progress.finish_small_step(dt, started);
        Ok(())
    }

    fn check(&self, scene_state: &SceneState) -> Result<(), Error> {
        let is_finite = |particles: &[DVec3]| particles.iter().all(|p| p.is_finite());
        if self.x.par_chunks(TASK).all(is_finite) {
            return Ok(());
        }
        let particle = self.x.iter().position(|p| !p.is_finite()).unwrap_or(0);
        let place = components(self.x[particle]);
        Err(scene_state.failed(format!("particle {particle} is at {place}")))
    }

    /// Free-flight positions in the wind, and fixed particles at their pins' targets at the step's end.
    fn predict(&mut self, scene_state: &SceneState, end: f64, dt: f64) -> Result<(), Error> {
        let fall = dt * dt * scene_state.world.gravity;
        self.predicted.resize(self.x.len(), DVec3::ZERO);
        let particles = self.predicted.par_iter_mut().zip(&self.x).zip(&self.v).with_min_len(TASK);
        particles.for_each(|((p, x), v)| *p = *x + dt * *v + fall);
        let system = &mut self.system;
        system.update_wind(scene_state, &self.x, &self.v, [end, dt]);
        self.drag.add(&self.system.wind, &self.system.inertia.mass, dt, &mut self.predicted);
        let system = &mut self.system;
        system.apply_pins(scene_state, end, &mut self.predicted, &mut self.fixed)?;
        std::mem::swap(&mut self.soft_pins.attachments, &mut system.attachments);
        self.weights.clear();
        let weight = |(fixed, mass): (&bool, &f64)| if *fixed { 0.0 } else { 1.0 / mass };
        self.weights.extend(self.fixed.iter().zip(&system.inertia.mass).map(weight));
        Ok(())
    }

    /// Contact of the current surfaces, which takes over from the contact `before`; body `b` was number `old_index[b]`.
    fn begin_contact(
        &mut self,
        scene_state: &SceneState,
        mut before: ContactSystem,
        old_index: &[Option<usize>],
    ) {
        match ContactProjection::new(&mut self.system, scene_state, &self.x, (&mut before, old_index)) {
            Ok(contact) => self.contact = contact,
            Err(problem) => self.problem = Some(problem),
        }
    }

    /// The constraints, built when the first step knows the fixed particles.
    fn analyse(&mut self, scene_state: &SceneState) {
        let mut mesh = MeshConstraints::default();
        for (body, &first) in scene_state.bodies.iter().zip(&self.system.first_unknown) {
            mesh.add(body, first);
        }
        let start: Vec<DVec3> = scene_state.bodies.iter().flat_map(|body| &body.start).copied().collect();
        let attached = attached_at_start(scene_state, &self.system.first_unknown, start.len());
        let solver = HierarchicalSolver::new(&mesh, &start, &attached, &options_of(scene_state));
        let tears = scene_state.bodies.last().is_some_and(Body::can_tear);
        self.torn = tears.then(|| TornMesh {
            around: Neighbourhood::new(&mesh, &solver, start.len()),
            first_triangle: mesh.bodies.last().map_or(0, |body| body.triangles.start as usize),
            triangles: mesh.triangles,
            start,
        });
        self.solver = Some(solver);
        self.drag = Drag::default();
        self.self_collisions = SelfCollisions::new(scene_state, &self.system.first_unknown);
    }

    fn solve(&mut self, scene_state: &SceneState, dt: f64, progress: &mut Progress) {
        let Some(solver) = &mut self.solver else { return };
        self.positions.copy_from(&self.predicted, &self.weights);
        self.soft_pins.begin_step();
        let options = options_of(scene_state);
        let step = Step {
            positions: &mut self.positions,
            start: &self.x,
            length: dt,
            stiffness: options.stiffness_of_a_sweep(options.sweeps * progress.planned),
            simd: scene_state.simd,
        };
        let mut work = ProjectionData {
            step,
            collisions: &mut self.collisions,
            self_collisions: &mut self.self_collisions,
            soft_pins: &mut self.soft_pins,
            options: &options,
            progress,
        };
        solver.solve(&mut work);
        self.collisions.finish(&self.positions);
        self.collisions.pushes.keep(0..self.x.len() as u32, &self.positions);
        self.collisions.pushes.end_small_step();
        self.positions.copy_to(&mut self.predicted);
    }

    /// After the last small step: limits update the load of their links, and velocities are damped.
    fn finish(&mut self, scene_state: &SceneState, dt: f64, progress: &Progress) {
        let (Some(solver), options) = (&mut self.solver, options_of(scene_state)) else { return };
        let mut step = Step {
            positions: &mut self.positions,
            start: &self.x,
            length: progress.mean_length(dt),
            stiffness: options.stiffness,
            simd: scene_state.simd,
        };
        solver.end_step(&step, progress, dt, &options);
        if solver.is_damped && options.stiffness.is_none() {
            step.length = dt;
            self.velocities.copy_from(&self.v, &self.weights);
            solver.damp(&step, &self.velocities);
            self.velocities.copy_to(&mut self.v);
        }
    }

    fn report(
        &mut self,
        scene_state: &SceneState,
        started: Instant,
        progress: &Progress,
    ) -> Result<StepReport, Error> {
        let solving = progress.solving;
        let [kinetic, potential] = self.system.inertia.energies(&self.x, &self.v, scene_state.world.gravity);
        let elastic = self.solver.as_mut().map_or(0.0, |solver| solver.energy(&self.x, scene_state.simd));
        let total = started.elapsed().as_secs_f64();
        let (contacts, penetration) = self.collisions.count_and_depth(&self.x);
        let lag = self.system.contact_system.lag()?.max(self.contact.lag_of_pins());
        Ok(StepReport {
            nonlinear_iterations: progress.sweeps,
            linear_iterations: 0,
            residual: None,
            converged: !progress.is_truncated,
            correction: None,
            energy: EnergyReport { kinetic, elastic, potential },
            contacts,
            penetration,
            pairs: self.self_collisions.count().max(progress.pushing),
            closest: None,
            cuts: progress.cuts,
            island_cuts: 0,
            global_cuts: 0,
            pinched: progress.pinched,
            lag,
            crossings: Some(self.system.contact_system.summary(&self.x).crossings),
            times: StageTimes { setup: total - solving, solve: solving, total, ..StageTimes::default() },
        })
    }
}

fn options_of(scene_state: &SceneState) -> HpbdOptions {
    scene_state.solver.options.get()
}

/// Which particles are pinned exactly when the scene starts.
fn attached_at_start(scene_state: &SceneState, first_unknown: &[u32], particles: usize) -> Vec<bool> {
    let mut attached = vec![false; particles];
    for pin in scene_state.pins.iter().filter(|pin| pin.stiffness.is_none() && pin.active_since == Some(0.0))
    {
        for point in &pin.points {
            point.weights.iter().for_each(|&(v, _)| attached[(v + first_unknown[pin.body]) as usize] = true);
        }
    }
    attached
}

/// The friction coefficient of each unknown of a body.
fn unknown_friction(body: &Body) -> Vec<f64> {
    let mut friction = vec![body.materials.main().friction; body.start.len()];
    for (point, of_point) in body.point_friction().into_iter().enumerate() {
        if let [(unknown, _)] = body.embedding.weights(point) {
            friction[*unknown as usize] = of_point;
        }
    }
    friction
}

impl Stepper for HpbdStepper {
    fn step(
        &mut self,
        scene_state: &SceneState,
        dt: f64,
        deadline: Option<Instant>,
    ) -> Result<StepReport, Error> {
        let started = Instant::now();
        if let Some(problem) = self.problem.take() {
            return Err(problem);
        }
        if self.solver.is_none() {
            self.analyse(scene_state);
        }
        self.collisions.pushes.begin_step();
        self.pair_impulses.clear();
        self.contact.begin_step();
        self.last_length = None;
        let steps = self.small_steps(scene_state, dt);
        let mut progress = Progress::new(steps, deadline);
        let options = options_of(scene_state);
        self.solver.iter_mut().for_each(|solver| solver.begin_step(&options));
        let mut done = 0;
        while done < steps {
            let next = progress.next_end(done);
            let end = scene_state.time + dt * (f64::from(next) / f64::from(steps));
            let length = dt / f64::from(steps) * f64::from(next - done);
            self.advance(scene_state, end, length, &mut progress)?;
            self.check(scene_state)?;
            done = next;
        }
        self.finish(scene_state, dt, &progress);
        self.last_length = Some(dt);
        self.report(scene_state, started, &progress)
    }

    fn surface_positions(&self, positions: &mut [DVec3]) {
        self.system.points.positions(&self.x, positions);
    }

    fn contact_forces(&self, scene_state: &SceneState) -> Option<ContactForces> {
        let impulses = StepImpulses {
            scene_state,
            system: &self.system,
            contact: &self.contact,
            x: &self.x,
            length: self.last_length?,
            pushes: &self.collisions.pushes,
            pairs: &self.pair_impulses,
        };
        Some(impulses.forces())
    }

    fn bodies_changed(&mut self, scene_state: &SceneState, old_index: &[Option<usize>]) {
        self.last_length = None;
        (self.x, self.v) = scene_state.carry_over(old_index, &self.system.first_unknown, &self.x, &self.v);
        let before = std::mem::take(&mut self.system.contact_system);
        self.system = System::without_elasticity(scene_state);
        self.collisions.friction = scene_state.bodies.iter().flat_map(unknown_friction).collect();
        self.collisions.set_bodies(&scene_state.bodies, &self.system.first_unknown);
        self.begin_contact(scene_state, before, old_index);
        self.analyse(scene_state);
    }

    fn materials_changed(&mut self, scene_state: &SceneState) {
        self.last_length = None;
        let before = std::mem::take(&mut self.system.contact_system);
        self.system = System::without_elasticity(scene_state);
        self.collisions.friction = scene_state.bodies.iter().flat_map(unknown_friction).collect();
        self.collisions.set_bodies(&scene_state.bodies, &self.system.first_unknown);
        let same: Vec<Option<usize>> = (0..scene_state.bodies.len()).map(Some).collect();
        self.begin_contact(scene_state, before, &same);
        self.analyse(scene_state);
    }

    fn torn(&mut self, scene_state: &SceneState, torn: &Torn<'_>) {
        let (Some(solver), Some(mesh)) = (&mut self.solver, &mut self.torn) else { return };
        let Some(Elements::Triangles(elements)) = scene_state.bodies.last().map(|body| &body.elements) else {
            return;
        };
        let first = self.system.first_unknown[scene_state.bodies.len() - 1];
        let particle = first + torn.split.particle;
        let clones: Vec<u32> = torn.clones.iter().map(|clone| first + clone).collect();
        for _ in &clones {
            self.x.push(self.x[particle as usize]);
            self.v.push(self.v[particle as usize]);
            mesh.start.push(mesh.start[particle as usize]);
            self.collisions.friction.push(self.collisions.friction[particle as usize]);
        }
        let fans = std::iter::once(torn.left).chain(torn.split.fans.iter().map(Vec::as_slice));
        let of_all = |element: &u32| *element + mesh.first_triangle as u32;
        let fans: Vec<Vec<u32>> = fans.map(|fan| fan.iter().map(of_all).collect()).collect();
        for &triangle in fans.iter().flatten() {
            let element = elements[triangle as usize - mesh.first_triangle];
            mesh.triangles[triangle as usize] = element.map(|v| v + first);
        }
        let split =
            ParticleSplit { particle, clones: &clones, fans, triangles: &mesh.triangles, start: &mesh.start };
        solver.split(&mut mesh.around, &split);
        let changed = split.fans.iter().flatten().map(|&t| t as usize - mesh.first_triangle);
        self.self_collisions.split(
            particle,
            clones.len(),
            changed.map(|t| (t, elements[t].map(|v| v + first))),
        );
    }

    fn after_tears(&mut self, scene_state: &SceneState) {
        let before = std::mem::take(&mut self.system.contact_system);
        self.system.follow_tear(scene_state);
        let same: Vec<Option<usize>> = (0..scene_state.bodies.len()).map(Some).collect();
        self.begin_contact(scene_state, before, &same);
        self.drag = Drag::default();
    }

    fn unknown_count(&self) -> usize {
        self.x.len()
    }

    fn unknown_positions(&self) -> Cow<'_, [DVec3]> {
        Cow::Borrowed(&self.x)
    }

    fn unknown_velocities(&self) -> Cow<'_, [DVec3]> {
        Cow::Borrowed(&self.v)
    }

    fn masses(&self) -> Cow<'_, [f64]> {
        Cow::Borrowed(&self.system.inertia.mass)
    }

    fn save(&self, state: &mut StateWriter) {
        state.vectors(&self.x);
        state.vectors(&self.v);
        if let Some(solver) = &self.solver {
            solver.save(state);
        }
        self.system.contact_system.save(state);
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        let x = state.vectors(self.x.len())?;
        let v = state.vectors(self.v.len())?;
        if let Some(solver) = &mut self.solver {
            solver.restore(state)?;
        }
        self.contact.forget();
        self.system.contact_system.restore(state)?;
        (self.x, self.v, self.last_length) = (x, v, None);
        Ok(())
    }

    fn take_states(&mut self, scene_state: &SceneState, frame: u32) -> Option<Vec<u8>> {
        // A tear changes the points in the middle of a frame.
        if scene_state.bodies.last().is_some_and(Body::can_tear) {
            return None;
        }
        let names: Vec<&str> = scene_state.bodies.iter().map(|body| body.name.as_str()).collect();
        self.system.contact_system.record_states(true);
        self.system.contact_system.take_record(frame, &names)
    }

    fn released(&self, scene_state: &SceneState) -> Vec<ReleasedVertices> {
        self.system.released(scene_state)
    }

    fn notes(&self, scene_state: &SceneState) -> Vec<String> {
        let contact = &self.system.contact_system;
        EntanglementNotes { contact, scene_state }.at(&self.x)
    }

    fn entangled(&self) -> usize {
        let found = self.system.contact_system.entanglement(&self.x);
        found.spots.len() + found.crossings().len()
    }

    fn hierarchy(&self, _scene_state: &SceneState, _slice: &Slice) -> Vec<HierarchyLevel> {
        let Some(solver) = &self.solver else { return Vec::new() };
        crate::solvers::hpbd::inspection::hierarchy(solver, &self.x, &self.system.points)
    }

    fn inspect(&self) -> Inspection {
        let bytes = self.solver.as_ref().map_or(0, HierarchicalSolver::bytes);
        Inspection { bytes, ..Inspection::default() }
    }

    fn particle_levels(&self) -> Vec<ParticleLevel> {
        self.solver.as_ref().map_or_else(Vec::new, HierarchicalSolver::levels)
    }
}
