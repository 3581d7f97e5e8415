//! The main loop: a scene becomes bodies, a stepper moves them, and frames and reports come out.

mod builtin_steppers;
mod edit;
mod finite;
mod inspect;
mod points;
mod run;
mod untangle;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::{DVec3, Vec3};

pub use crate::body::{ActiveSeam, Stitch};
pub use crate::scene_state::{ActivePin, BodyId, ColliderId, Grab, GrabId, PinId, PinPoint, SceneState};
pub use crate::stepper::{
    BodyForce, ColliderForce, Correction, EnergyReport, FrameCorrection, FrameReport, HierarchyLevel,
    Inspection, NO_REGION, ParticleLevel, Registry, ReleasedVertices, Slice, SlicedCell, StageTimes,
    StepReport, StepSystem, Stepper, StepperKind, StretchReport, Torn,
};
pub use edit::pick::Picked;
pub use edit::unpin::PinnedPoint;
pub use inspect::stress::{Stress, StressUnit};
pub use run::compare::{Compared, Comparison, Curve, CurvePoint};
pub use run::dry_run::DryRun;
pub use run::{Run, StartMode, reports_of_run, scene_of_run, scene_of_run_with};
pub use supple_core::state::{StateReader, StateWriter};
pub use untangle::{Untangled, untangle};

use self::edit::collider_motion::PlacedColliders;
use self::edit::tearing::Tearing;
use crate::body::Body;
pub use crate::contact::forces::{ContactForces, Wrench};
use crate::output::{Frame, FrameBody, FrameContact};
use crate::scene::Scene;
use crate::scene_state::SavedPin;
use supple_core::Error;
use supple_linear::Simd;

/// The size of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Vertices of the bodies' surfaces.
    pub vertices: usize,
    /// Triangles and tetrahedra that carry elasticity.
    pub elements: usize,
    /// Scalar unknowns.
    pub unknowns: usize,
}

/// A running simulation: bodies, what acts on them, and the stepper that moves them.
///
/// It is `Send`, has no global state, and runs its parallel parts in the rayon pool it is called from.
pub struct Simulation {
    scene_state: SceneState,
    kind: &'static dyn StepperKind,
    stepper: Box<dyn Stepper>,
    /// Surface positions of all bodies, one body after the other.
    positions: Arc<Vec<DVec3>>,
    first_point: Vec<usize>,
    next_id: u32,
    tearing: Option<Tearing>,
    placed: PlacedColliders,
}

impl Simulation {
    /// Builds the bodies of a scene at their start positions.
    pub fn new(scene: Scene) -> Result<Self, Error> {
        Self::with_simd(scene, Simd::Auto)
    }

    /// The same with a choice of instruction set; [`Simd::Baseline`] is bit-identical on every machine.
    pub fn with_simd(scene: Scene, simd: Simd) -> Result<Self, Error> {
        Self::with_steppers(scene, simd, &Registry::builtin())
    }

    /// The same by one of these steppers.
    pub fn with_steppers(scene: Scene, simd: Simd, steppers: &Registry) -> Result<Self, Error> {
        let kind = steppers.kind(scene.solver.method)?;
        scene.validate()?;
        let refuse = |body: &Body| kind.can_take(scene.solver.method, body);
        Self::from_scene_state(SceneState::new(&scene, simd, &refuse)?, kind)
    }

    fn from_scene_state(scene_state: SceneState, kind: &'static dyn StepperKind) -> Result<Self, Error> {
        let stepper = kind.build(&scene_state)?;
        let next_id =
            (scene_state.bodies.len() + scene_state.pins.len() + scene_state.colliders.len()) as u32;
        let tearing = Tearing::new(&scene_state);
        let (positions, first_point) = (Arc::default(), Vec::new());
        let placed = PlacedColliders::default();
        let mut simulation =
            Self { scene_state, kind, stepper, positions, first_point, next_id, tearing, placed };
        simulation.rebuild_point_offsets();
        Ok(simulation)
    }

    /// Advances by `dt` seconds.
    pub fn step(&mut self, dt: f64) -> Result<StepReport, Error> {
        self.advance(dt, None)
    }

    /// Advances by `dt` seconds, stopping the solver when `budget` is used up: the state is the best that was
    /// reached. The report then has `converged: false` and says how far the residual got. At least one evaluation of
    /// the forces is always made, and in `hpbd` one small step with one sweep of each level.
    pub fn step_within(&mut self, dt: f64, budget: Duration) -> Result<StepReport, Error> {
        self.advance(dt, Instant::now().checked_add(budget))
    }

    fn advance(&mut self, dt: f64, deadline: Option<Instant>) -> Result<StepReport, Error> {
        if !(dt.is_finite() && dt > 0.0) {
            return Err(Error::Invalid(format!("a step of {dt} s: it must be positive and finite")));
        }
        self.begin_pins()?;
        self.scene_state.load_colliders(0.0)?;
        let replaced = self.begin_collider_motions(dt);
        let report = self.stepper.step(&self.scene_state, dt, deadline);
        self.end_collider_motions(replaced);
        let report = report?;
        let earlier = self.scene_state.time;
        self.scene_state.time += dt;
        if self.tear(earlier) {
            self.rebuild_point_offsets();
        } else {
            self.update_surface_positions();
        }
        Ok(report)
    }

    /// Pins that become active capture the current positions of their points.
    fn begin_pins(&mut self) -> Result<(), Error> {
        let (now, mut pins) = (self.scene_state.time, std::mem::take(&mut self.scene_state.pins));
        let mut settled = Ok(());
        for pin in pins.iter_mut().filter(|pin| pin.activates_at(now)) {
            pin.begin(now, &self.body_unknowns(pin.body));
            settled = settled.and(self.scene_state.bind_to_driver(pin));
        }
        self.scene_state.pins = pins;
        settled
    }

    /// Simulated time in seconds.
    pub fn time(&self) -> f64 {
        self.scene_state.time
    }

    /// Sets the time to the intended sum of the steps, without their rounding.
    pub(super) fn set_time(&mut self, time: f64) {
        self.scene_state.time = time;
    }

    /// The current bodies, pins, colliders and options.
    pub fn scene_state(&self) -> &SceneState {
        &self.scene_state
    }

    /// Surface positions of all bodies in metres: the vertices of every body's own mesh in their order, one body
    /// after the other.
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// The surface positions of one body; `None` if it was removed.
    pub fn body_positions(&self, body: BodyId) -> Option<&[DVec3]> {
        let index = self.scene_state.body_index(body)?;
        Some(&self.positions[self.first_point[index]..self.first_point[index + 1]])
    }

    /// Copies all surface positions as x, y, z in single precision, ready for a vertex buffer.
    pub fn write_positions_f32(&self, buffer: &mut [f32]) -> Result<(), Error> {
        let needed = 3 * self.positions.len();
        if buffer.len() != needed {
            let have = buffer.len();
            return Err(Error::Invalid(format!(
                "a buffer of {have} numbers for positions that need {needed}"
            )));
        }
        for (to, from) in buffer.chunks_exact_mut(3).zip(self.positions.iter()) {
            to.copy_from_slice(&from.as_vec3().to_array());
        }
        Ok(())
    }

    /// The body of this name.
    pub fn body(&self, name: &str) -> Option<BodyId> {
        self.scene_state
            .bodies
            .iter()
            .position(|body| body.name == name)
            .map(|index| self.scene_state.body_ids[index])
    }

    /// The current visible state.
    pub fn frame(&self, index: u32) -> Frame {
        let bodies = self.scene_state.bodies.iter().enumerate().map(|(b, body)| FrameBody {
            surface: Arc::clone(&body.surface),
            positions: self.body_range(b).iter().map(|p| p.as_vec3()).collect::<Vec<Vec3>>(),
            contact: None,
        });
        Frame { index, time: self.scene_state.time, bodies: bodies.collect() }
    }

    /// The current visible state with the contact forces of the last step.
    pub fn frame_with_contact(&self, index: u32) -> Result<Frame, Error> {
        let ContactForces { on_points, pressure, .. } = self.contact_forces()?;
        let mut frame = self.frame(index);
        for (b, body) in frame.bodies.iter_mut().enumerate() {
            let own = self.first_point[b]..self.first_point[b + 1];
            body.contact = Some(FrameContact {
                force: on_points[own.clone()].iter().map(|force| force.as_vec3()).collect(),
                pressure: pressure[own].iter().map(|pressure| *pressure as f32).collect(),
            });
        }
        Ok(frame)
    }

    /// Total momentum in kg m/s.
    pub fn momentum(&self) -> DVec3 {
        let (v, m) = (self.stepper.unknown_velocities(), self.stepper.masses());
        v.iter().zip(&*m).map(|(v, m)| *m * *v).sum()
    }

    /// Angular momentum about the centre of mass in kg·m²/s.
    pub fn angular_momentum(&self) -> DVec3 {
        let (x, v, m) =
            (self.stepper.unknown_positions(), self.stepper.unknown_velocities(), self.stepper.masses());
        let centre = x.iter().zip(&*m).map(|(x, m)| *m * *x).sum::<DVec3>() / m.iter().sum::<f64>();
        x.iter().zip(&*v).zip(&*m).map(|((x, v), m)| *m * (*x - centre).cross(*v)).sum()
    }

    /// Total mass in kg.
    pub fn mass(&self) -> f64 {
        self.stepper.masses().iter().sum()
    }

    /// The number of unknowns: three per simulated vertex.
    pub fn unknowns(&self) -> usize {
        3 * self.stepper.unknown_count()
    }

    /// Whether steps record the objective after every iteration for [`Simulation::inspect`], which costs an evaluation each.
    pub fn record_iterations(&mut self, record: bool) {
        self.scene_state.record = record;
    }

    /// Whether steps record every state that they accept, for [`Simulation::take_states`].
    pub fn record_states(&mut self, record: bool) {
        self.scene_state.record_states = record;
    }

    /// Whether a tight Newton step after every step measures how far that one ended from its solution, for
    /// [`StepReport::correction`]. It changes nothing in the simulation, but costs a factorisation per step.
    pub fn verify_steps(&mut self, verify: bool) {
        self.scene_state.verify_steps = verify;
    }

    /// The states recorded since the last call, as the file of a frame; `None` if the method records none.
    pub fn take_states(&mut self, frame: u32) -> Option<Vec<u8>> {
        self.stepper.take_states(&self.scene_state, frame)
    }

    /// Internals of the stepper.
    pub fn inspect(&self) -> Inspection {
        self.stepper.inspect()
    }

    /// The mesh and its coarser levels in the current state of `hpbd`: particles, their links, and the coarser particles they depend on.
    /// Empty in other families; [`Self::hierarchy`] draws every family.
    pub fn particle_levels(&self) -> Vec<ParticleLevel> {
        self.stepper.particle_levels()
    }

    /// The current stretch of the surfaces.
    pub fn stretch(&self) -> StretchReport {
        StretchReport::of(
            self.scene_state.bodies.iter().enumerate().map(|(b, body)| (body, self.body_range(b))),
        )
    }

    /// The forces of contact at the end of the last step: on every surface point, on every collider, and between bodies. In
    /// `hpbd` they are the mean over the last step, and unknown before the first one and after a state was restored. Families that know
    /// none return an error.
    ///
    /// ```
    /// use supple::{Body, Collider, Scene, Simulation};
    /// let cloth = Body::cloth("cloth").vertices([5, 5]).at([0.0, 0.0005, 0.0]);
    /// let floor = Collider::plane("floor", [0.0; 3], [0.0, 1.0, 0.0]);
    /// let mut simulation = Simulation::new(Scene::builder().body(cloth).collider(floor).build()?)?;
    /// for _ in 0..30 {
    ///     simulation.step(1.0 / 30.0)?;
    /// }
    /// let forces = simulation.contact_forces()?;
    /// let weight = 9.81 * simulation.mass();
    /// assert!((forces.on_colliders[0].force.y + weight).abs() < 0.02 * weight);
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn contact_forces(&self) -> Result<ContactForces, Error> {
        self.stepper.contact_forces(&self.scene_state).ok_or_else(|| {
            let method = self.scene_state.solver.method.name();
            Error::NotSupported(format!(
                "contact forces of `{method}`, which knows them after a step, if at all"
            ))
        })
    }

    /// The vertices that are left out of contact with a collider now: they are inside of it, or had no room between two.
    pub fn released(&self) -> Vec<ReleasedVertices> {
        self.stepper.released(&self.scene_state)
    }

    /// The smallest volume of any tetrahedron over its rest volume; `None` without tetrahedra.
    pub fn min_volume_ratio(&self) -> Option<f64> {
        let x = self.stepper.unknown_positions();
        let (mut rest, mut smallest): (&[DVec3], Option<f64>) = (&x, None);
        for body in &self.scene_state.bodies {
            let (own, others) = rest.split_at(body.start.len());
            rest = others;
            if let Some(ratio) = body.min_volume_ratio(own) {
                smallest = Some(smallest.map_or(ratio, |s| s.min(ratio)));
            }
        }
        smallest
    }

    /// Notes for the user about how the bodies were built.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.scene_state.notes();
        notes.extend(self.stepper.notes(&self.scene_state));
        notes
    }

    /// Method, linear solver, models and contact thickness, as stated by the scene or chosen by the engine, in one line.
    pub fn choices(&self) -> String {
        self.scene_state.choices()
    }

    /// Surface vertices, elements and unknowns of all bodies.
    pub fn counts(&self) -> Counts {
        Counts {
            vertices: self.positions.len(),
            elements: self.scene_state.bodies.iter().map(|body| body.elements.len()).sum(),
            unknowns: self.unknowns(),
        }
    }

    /// The complete state, from which [`Simulation::restore`] continues bit-identically in a simulation of the same scene.
    pub fn save(&self) -> Vec<u8> {
        let mut state = StateWriter::default();
        state.number(self.scene_state.time);
        self.save_tears(&mut state);
        self.stepper.save(&mut state);
        SavedPin::save_all(&self.scene_state.pins, &self.scene_state.pin_keys(), &mut state);
        state.into_bytes()
    }

    /// Restores a saved state; one that does not fit is rejected and changes nothing.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let before = self.save();
        let restored = self.read_state(bytes);
        if restored.is_err() {
            self.read_state(&before)?;
        }
        self.rebuild_point_offsets();
        restored
    }

    fn read_state(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut state = StateReader::new(bytes);
        let time = state.number()?;
        self.restore_tears(&mut state)?;
        self.stepper.restore(&mut state)?;
        let pins = SavedPin::read_all(&mut state)?;
        state.finish()?;
        self.restore_pins(pins)?;
        self.scene_state.time = time;
        self.placed.forget(self.scene_state.colliders.iter().map(|(id, _)| *id));
        Ok(())
    }

    /// Pins with the same points as before keep their anchors on their driver; the others find them again.
    fn restore_pins(&mut self, saved: Vec<SavedPin>) -> Result<(), Error> {
        let (keys, mut pins) = (self.scene_state.pin_keys(), std::mem::take(&mut self.scene_state.pins));
        let held = |pin: &ActivePin| {
            (pin.active_since, pin.points.iter().map(|point| point.start).collect::<Vec<_>>())
        };
        let before: Vec<_> = pins.iter().map(held).collect();
        SavedPin::restore_all(saved, &mut pins, &keys);
        let mut settled = Ok(());
        for (pin, before) in pins.iter_mut().zip(before) {
            if held(pin) != before {
                settled = settled.and(self.scene_state.bind_to_driver(pin));
            }
        }
        self.scene_state.pins = pins;
        settled
    }

    /// A hash of the exact bits of all unknowns, velocities and the topology.
    pub fn state_hash(&self) -> u64 {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        hash.update(bytemuck::cast_slice(&self.stepper.unknown_positions()));
        hash.update(bytemuck::cast_slice(&self.stepper.unknown_velocities()));
        for body in &self.scene_state.bodies {
            body.elements.hash_into(&mut hash);
        }
        hash.digest()
    }

    /// The first surface vertex, if any, whose position is not finite.
    pub fn first_non_finite(&self) -> Option<usize> {
        self.positions.iter().position(|p| !p.is_finite())
    }

    fn body_range(&self, index: usize) -> &[DVec3] {
        &self.positions[self.first_point[index]..self.first_point[index + 1]]
    }

    /// The unknowns of one body.
    fn body_unknowns(&self, index: usize) -> Cow<'_, [DVec3]> {
        let first: usize = self.scene_state.bodies[..index].iter().map(|body| body.start.len()).sum();
        let own = first..first + self.scene_state.bodies[index].start.len();
        match self.stepper.unknown_positions() {
            Cow::Borrowed(all) => Cow::Borrowed(&all[own]),
            Cow::Owned(all) => Cow::Owned(all[own].to_vec()),
        }
    }

    fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    fn rebuild(&mut self, kept: &[Option<usize>]) {
        self.stepper.bodies_changed(&self.scene_state, kept);
        self.tearing = Tearing::new(&self.scene_state);
        self.rebuild_point_offsets();
    }

    fn rebuild_point_offsets(&mut self) {
        self.first_point = vec![0];
        for body in &self.scene_state.bodies {
            self.first_point.push(self.first_point[self.first_point.len() - 1] + body.embedding.len());
        }
        self.update_surface_positions();
    }
}

fn unknown(what: &str) -> Error {
    Error::Invalid(format!("there is no such {what}: it was removed, or belongs to another simulation"))
}

fn remove_where<T>(list: &mut Vec<T>, is_it: impl Fn(&T) -> bool) -> Option<()> {
    let index = list.iter().position(is_it)?;
    list.remove(index);
    Some(())
}
