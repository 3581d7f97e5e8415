//! Steps of bodies on staggered lattices. Forces on points (soft colliders, soft pins, dragging, wind) are linearised around
//! the current positions; their Hessian is part of the Krylov method's products, not of the cycle. Where surfaces may touch hard colliders or
//! each other, steps are those of [`super::contact_step`].

use std::borrow::Cow;
use std::time::Instant;

use glam::{DMat3, DVec3};

use crate::contact::PosedCollider;
use crate::contact::forces::ContactForces;
use crate::contact::friction::impulses::FrictionImpulses;
use crate::dynamics::optimize::{MinimiseError, StepRule, Stopping, Termination, iterate};
use crate::dynamics::{EntanglementNotes, System};
use crate::energy::Energy;
use crate::material::HessianMode;
use crate::scene_state::{PinId, SceneState};
use crate::solvers::staggered::body::{LatticeBody, PointStiffness};
use crate::solvers::staggered::contact_step::ContactWork;
use crate::stepper::{
    EnergyReport, HierarchyLevel, Inspection, ReleasedVertices, Slice, StageTimes, StepReport, Stepper,
};
use supple_core::Error;
use supple_core::state::{StateReader, StateWriter};

/// The last linear system is solved this much more accurately than the step.
pub(super) const LINEAR_SHARE: f64 = 0.1;
/// How accurately the first linear system of a nonlinear step is solved.
pub(super) const FIRST_GOAL: f64 = 0.1;
/// Factor of the square of the last step's reduction in the tolerance of the next linear system (Eisenstat and Walker 1996,
/// choice 2).
const GAIN_SHARE: f64 = 0.9;
/// Newton steps that are taken in full, whatever the residual.
const WHOLE_STEPS: u32 = 4;
/// Later ones are halved down to this fraction.
const SHORTEST: f64 = 1.0 / 16.0;

/// Staggered multigrid for all bodies of a scene.
#[derive(Default)]
pub struct StaggeredStepper {
    pub(super) bodies: Vec<LatticeBody>,
    /// The error when a body was placed on its lattice; reported by the next step.
    problem: Option<Error>,
    /// The bodies' unknowns as points of the lattices, and their velocities.
    pub(super) x: Vec<DVec3>,
    pub(super) v: Vec<DVec3>,
    /// Masses, surface points, wind and pins.
    pub(super) system: System,
    pub(super) earlier_colliders: Vec<PosedCollider>,
    /// The hard pins for which the lattices were built.
    hard_pins: Vec<PinId>,
    pub(super) fixed: Vec<bool>,
    pub(super) pinned: Vec<DVec3>,
    pub(super) forces: Vec<DVec3>,
    moved: Vec<DVec3>,
    answer: Vec<DVec3>,
    before: Vec<f64>,
    pub(super) residuals: Vec<f64>,
    /// What steps need whose surfaces may touch something.
    pub(super) work: ContactWork,
}

impl StaggeredStepper {
    /// A stepper for the bodies of a scene state, at their start.
    pub fn new(scene_state: &SceneState) -> Self {
        let mut stepper = Self::default();
        stepper.bodies_changed(scene_state, &vec![None; scene_state.bodies.len()]);
        stepper
    }

    pub(super) fn range(&self, body: usize) -> std::ops::Range<usize> {
        self.system.first_unknown[body] as usize..self.system.first_unknown[body + 1] as usize
    }

    fn refresh_positions(&mut self, body: usize) {
        let range = self.range(body);
        self.bodies[body].positions(&mut self.x[range]);
    }

    /// Forces on all unknowns at their current positions; returns whether there are any.
    fn find_forces(&mut self) -> bool {
        self.forces.clear();
        self.forces.resize(self.x.len(), DVec3::ZERO);
        for energy in point_energies(&self.system) {
            energy.add_gradient(&self.x, &mut self.forces);
        }
        self.forces.iter_mut().for_each(|f| *f = -*f);
        self.forces.iter().any(|f| *f != DVec3::ZERO)
    }

    /// Newton's method for one body: iterations, cycles, and the residual over that at the start.
    fn solve_body(
        &mut self,
        index: usize,
        scene_state: &SceneState,
        deadline: Option<Instant>,
    ) -> Result<(u32, u32, f64), MinimiseError> {
        self.residuals.clear();
        let solver = &scene_state.solver;
        let stopping = Stopping::begin(solver.max_iterations, deadline);
        let mut rule = ResidualControl {
            stepper: self,
            index,
            tolerance: solver.gradient_tolerance(),
            deadline,
            stopping,
            iterations: 0,
            cycles: 0,
            relative: 1.0,
            acted_on: false,
        };
        iterate(&mut rule)?;
        let ResidualControl { iterations, cycles, relative, .. } = rule;
        self.refresh_positions(index);
        Ok((iterations, cycles, relative))
    }

    pub(super) fn report(&self, scene_state: &SceneState) -> StepReport {
        let mass = &self.system.inertia.mass;
        let kinetic = self.v.iter().zip(mass).map(|(v, m)| 0.5 * m * v.length_squared()).sum();
        let gravity = scene_state.world.gravity;
        let potential = self.x.iter().zip(mass).map(|(x, m)| -m * gravity.dot(*x)).sum();
        let elastic = self.bodies.iter().map(LatticeBody::elastic_energy).sum();
        let (soft_contacts, penetration) = self.system.contacts.count_and_depth(&self.x);
        let hard = self.system.contact_system.summary(&self.x);
        StepReport {
            nonlinear_iterations: 0,
            linear_iterations: 0,
            residual: None,
            converged: true,
            correction: None,
            energy: EnergyReport { kinetic, elastic, potential },
            contacts: soft_contacts + hard.with_colliders,
            penetration,
            pairs: hard.pairs - hard.with_colliders,
            closest: hard.closest,
            cuts: 0,
            island_cuts: 0,
            global_cuts: 0,
            pinched: 0,
            lag: 0.0,
            crossings: Some(hard.crossings),
            times: StageTimes::default(),
        }
    }

    pub(super) fn refresh_all(&mut self) {
        for body in 0..self.bodies.len() {
            self.refresh_positions(body);
            let range = self.range(body);
            self.bodies[body].velocities(&mut self.v[range]);
        }
    }

    /// A step in which nothing can touch anything but soft colliders: one body after the other.
    fn step_without_contact(
        &mut self,
        scene_state: &SceneState,
        dt: f64,
        deadline: Option<Instant>,
    ) -> Result<StepReport, Error> {
        let started = Instant::now();
        scene_state.pose_colliders(
            [scene_state.time, scene_state.time + dt],
            |collider| collider.stiffness.is_some(),
            &mut self.system.contacts.colliders,
            &mut self.earlier_colliders,
        )?;
        let system = &mut self.system;
        system.contacts.begin_step(&self.x, dt);
        system.update_wind(scene_state, &self.x, &self.v, [scene_state.time + dt, dt]);
        self.pinned.clone_from(&self.x);
        system.apply_pins(scene_state, scene_state.time + dt, &mut self.pinned, &mut self.fixed)?;
        let (mut iterations, mut cycles, mut residual) = (0, 0, 0.0_f64);
        for index in 0..self.bodies.len() {
            self.bodies[index].turn_frame();
            self.before.clone_from(&self.bodies[index].u);
            self.bodies[index].begin_step(scene_state, dt, deadline)?;
            let done = self.solve_body(index, scene_state, deadline);
            let done = done.map_err(|problem| scene_state.failed(problem.to_string()))?;
            iterations += done.0;
            cycles += done.1;
            residual = residual.max(done.2);
            let before = std::mem::take(&mut self.before);
            self.bodies[index].end_step(&before, dt, scene_state.mode);
            self.before = before;
        }
        self.refresh_all();
        self.check_positions(scene_state)?;
        self.system.contacts.end_step(&self.x);
        let report = self.report(scene_state);
        let total = started.elapsed().as_secs_f64();
        Ok(StepReport {
            nonlinear_iterations: iterations,
            linear_iterations: cycles,
            residual: Some(residual),
            converged: residual <= scene_state.solver.gradient_tolerance(),
            times: StageTimes { solve: total, total, ..StageTimes::default() },
            ..report
        })
    }

    /// Whether surfaces may touch hard colliders, each other or themselves.
    fn may_touch(&self, scene_state: &SceneState) -> bool {
        let contact = &self.system.contact_system;
        let is_hard = scene_state.colliders.iter().any(|(_, collider)| collider.stiffness.is_none());
        let others = is_hard || contact.collider_count() > 0 || contact.surfaces().may_touch_any();
        others && !contact.surfaces().is_empty()
    }

    pub(super) fn check_positions(&self, scene_state: &SceneState) -> Result<(), Error> {
        match self.x.iter().position(|p| !p.is_finite()) {
            Some(point) => Err(scene_state.failed(format!("point {point} is at {}", self.x[point]))),
            None => Ok(()),
        }
    }

    /// Puts bodies on lattices again, where they are now; returns the system before.
    fn rebuild(&mut self, scene_state: &SceneState, old_index: &[Option<usize>]) -> System {
        let mut old: Vec<Option<LatticeBody>> =
            std::mem::take(&mut self.bodies).into_iter().map(Some).collect();
        self.put_on_lattices(scene_state);
        if self.problem.is_none() {
            for (body, before) in self.bodies.iter_mut().zip(old_index) {
                let kept = before.and_then(|index| old.get_mut(index).and_then(Option::take));
                if let Some(kept) = kept {
                    body.continue_from(kept, scene_state);
                }
            }
        }
        let earlier = std::mem::replace(&mut self.system, System::without_elasticity(scene_state));
        self.x = scene_state.bodies.iter().flat_map(|body| &body.start).copied().collect();
        self.v = vec![DVec3::ZERO; self.x.len()];
        if self.problem.is_none() {
            self.refresh_all();
        }
        earlier
    }

    fn put_on_lattices(&mut self, scene_state: &SceneState) {
        self.bodies.clear();
        self.problem = None;
        self.hard_pins = hard_pins(scene_state).collect();
        for (index, body) in scene_state.bodies.iter().enumerate() {
            match LatticeBody::new(body, index, scene_state) {
                Ok(body) => self.bodies.push(body),
                Err(problem) => self.problem = self.problem.take().or(Some(problem)),
            }
        }
    }
}

/// Steps of one body without an objective, which the mixed system does not have. Full steps find the contacts; if these still
/// come and go, later steps are halved while the residual grows.
struct ResidualControl<'a> {
    stepper: &'a mut StaggeredStepper,
    index: usize,
    tolerance: f64,
    deadline: Option<Instant>,
    stopping: Stopping,
    iterations: u32,
    cycles: u32,
    /// The residual over that at the start.
    relative: f64,
    /// Whether forces act on points.
    acted_on: bool,
}

impl ResidualControl<'_> {
    /// Why to stop here. The first iteration is done whatever the time: without it the body would lose its velocity.
    fn limit(&self) -> Option<Termination> {
        let limit = self.stopping.limit(self.iterations);
        limit.filter(|stop| *stop != Termination::Deadline || self.iterations > 0)
    }

    /// The norm of the residual, after the last step was halved as often as the rule says.
    fn evaluate(&mut self, may_halve: bool) -> f64 {
        let mut part = 1.0;
        loop {
            self.stepper.refresh_positions(self.index);
            self.acted_on = self.stepper.find_forces();
            let range = self.stepper.range(self.index);
            let StaggeredStepper { bodies, forces, residuals, .. } = &mut *self.stepper;
            let norm = bodies[self.index].residual(&forces[range]);
            let grew = residuals.last().is_some_and(|last| norm > *last);
            if !(may_halve && grew && self.iterations > WHOLE_STEPS && part > SHORTEST) {
                return norm;
            }
            part *= 0.5;
            bodies[self.index].step_back(part);
        }
    }
}

impl StepRule for ResidualControl<'_> {
    fn check(&mut self) -> Result<Option<Termination>, MinimiseError> {
        self.stopping.next(self.iterations);
        let limit = self.limit();
        let norm = self.evaluate(limit.is_none());
        let residuals = &mut self.stepper.residuals;
        residuals.push(norm);
        if !norm.is_finite() {
            self.relative = f64::INFINITY;
            return Ok(Some(Termination::Stalled));
        }
        self.relative = if residuals[0] > 0.0 { norm / residuals[0] } else { 0.0 };
        if self.relative <= self.tolerance {
            return Ok(Some(Termination::Converged));
        }
        Ok(limit)
    }

    fn step(&mut self) -> Result<Option<Termination>, MinimiseError> {
        let range = self.stepper.range(self.index);
        let first = range.start;
        let StaggeredStepper { bodies, system, x, forces, moved, answer, residuals, .. } = &mut *self.stepper;
        moved.resize(x.len(), DVec3::ZERO);
        answer.resize(x.len(), DVec3::ZERO);
        moved.fill(DVec3::ZERO);
        let mut stiffness = |d: &[DVec3], out: &mut [DVec3]| {
            moved[first..first + d.len()].copy_from_slice(d);
            answer.fill(DVec3::ZERO);
            for energy in point_energies(system) {
                energy.apply_point_hessians(x, HessianMode::PsdProjected, moved, answer);
            }
            out.copy_from_slice(&answer[first..first + d.len()]);
        };
        let body = &mut bodies[self.index];
        let exact = LINEAR_SHARE * self.tolerance / self.relative;
        let linear = body.is_linear() && !self.acted_on;
        let goal = if linear { exact } else { exact.max(forcing(residuals)) }.min(FIRST_GOAL);
        let joined = self.acted_on.then_some(&mut stiffness as &mut PointStiffness<'_>);
        let solve = body.improve(&forces[range], joined, goal, self.deadline);
        self.cycles += solve.cycles() as u32;
        self.iterations += 1;
        Ok(None)
    }
}

/// How accurately the next linear system is worth solving: the better Newton's method converges, the more accurately.
pub(super) fn forcing(residuals: &[f64]) -> f64 {
    match residuals {
        [.., before, now] => GAIN_SHARE * (now / before).powi(2),
        _ => FIRST_GOAL,
    }
}

fn hard_pins(scene_state: &SceneState) -> impl Iterator<Item = PinId> {
    scene_state.pins.iter().filter(|pin| pin.stiffness.is_none()).map(|pin| pin.id)
}

/// The forces on material points.
pub(super) fn point_energies(system: &System) -> [&dyn Energy; 3] {
    [&system.attachments, &system.contacts, &system.wind]
}

impl Stepper for StaggeredStepper {
    fn step(
        &mut self,
        scene_state: &SceneState,
        dt: f64,
        deadline: Option<Instant>,
    ) -> Result<StepReport, Error> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        if hard_pins(scene_state).ne(self.hard_pins.iter().copied()) {
            self.materials_changed(scene_state);
        }
        if self.may_touch(scene_state) {
            self.step_in_contact(scene_state, dt, deadline)
        } else {
            self.step_without_contact(scene_state, dt, deadline)
        }
    }

    fn surface_positions(&self, positions: &mut [DVec3]) {
        let points = &self.system.points;
        for (i, position) in positions.iter_mut().enumerate() {
            *position = points.position(i, &self.x);
        }
    }

    fn bodies_changed(&mut self, scene_state: &SceneState, old_index: &[Option<usize>]) {
        let mut earlier = self.rebuild(scene_state, old_index);
        self.system.contact_system.take_over_colliders(&mut earlier.contact_system);
        // A problem with a collider is reported by the step.
        let _ = self.system.pose_hard_colliders(scene_state, [scene_state.time; 2]);
        if self.system.contact_system.is_empty() {
            return;
        }
        let (mut targets, mut fixed) = (self.x.clone(), Vec::new());
        // So is a problem with a pin.
        let applied = self.system.apply_pins(scene_state, scene_state.time, &mut targets, &mut fixed);
        let contact = &mut self.system.contact_system;
        if applied.is_ok() {
            contact.hold_points(&fixed, &self.x, &targets);
        }
        contact.update_tangle(&self.x);
        contact.begin_bodies(&earlier.contact_system, &self.x, scene_state.time, old_index);
    }

    fn materials_changed(&mut self, scene_state: &SceneState) {
        let same: Vec<Option<usize>> = (0..scene_state.bodies.len()).map(Some).collect();
        let mut earlier = self.rebuild(scene_state, &same);
        self.system.take_over_anchors(&mut earlier);
        // A problem with a collider is reported by the step.
        let _ = self.system.pose_hard_colliders(scene_state, [scene_state.time; 2]);
        if !self.system.contact_system.is_empty() {
            self.system.contact_system.update_tangle(&self.x);
        }
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

    fn released(&self, scene_state: &SceneState) -> Vec<ReleasedVertices> {
        self.system.released(scene_state)
    }

    fn contact_forces(&self, scene_state: &SceneState) -> Option<ContactForces> {
        Some(self.system.contact_forces(scene_state, &self.x, (&FrictionImpulses::default(), 1.0)))
    }

    fn take_states(&mut self, scene_state: &SceneState, frame: u32) -> Option<Vec<u8>> {
        let names: Vec<&str> = scene_state.bodies.iter().map(|body| body.name.as_str()).collect();
        self.system.contact_system.record_states(true);
        self.system.contact_system.take_record(frame, &names)
    }

    fn entangled(&self) -> usize {
        let found = self.system.contact_system.entanglement(&self.x);
        found.spots.len() + found.crossings().len()
    }

    fn save(&self, state: &mut StateWriter) {
        for body in &self.bodies {
            state.numbers(&body.u);
            state.numbers(&body.v);
            state.vectors(&body.starts);
            state.numbers(&body.frame.rotation.to_cols_array());
        }
        self.system.contacts.save(state);
        self.system.contact_system.save(state);
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        let mut fields = Vec::new();
        for body in &self.bodies {
            let (u, v) = (state.numbers(body.u.len())?, state.numbers(body.v.len())?);
            fields.push((u, v, state.vectors(body.starts.len())?, state.numbers(9)?));
        }
        self.system.contacts.restore(state)?;
        self.system.contact_system.restore(state)?;
        for (body, (u, v, starts, rotation)) in self.bodies.iter_mut().zip(fields) {
            (body.u, body.v, body.starts) = (u, v, starts);
            body.frame.rotation = DMat3::from_cols_slice(&rotation);
        }
        self.refresh_all();
        Ok(())
    }

    fn notes(&self, scene_state: &SceneState) -> Vec<String> {
        let lattice = |(body, lattice): (&crate::body::Body, &LatticeBody)| {
            format!("body `{}`: {}", body.name, lattice.describe())
        };
        let lattices = scene_state.bodies.iter().zip(&self.bodies).map(lattice);
        let contact = &self.system.contact_system;
        lattices.chain(EntanglementNotes { contact, scene_state }.at(&self.x)).collect()
    }

    fn hierarchy(&self, scene_state: &SceneState, slice: &Slice) -> Vec<HierarchyLevel> {
        let shown: Vec<_> = scene_state.bodies.iter().zip(&self.bodies).collect();
        if self.problem.is_none() {
            crate::solvers::staggered::inspection::hierarchy(&shown, slice)
        } else {
            Vec::new()
        }
    }

    fn inspect(&self) -> Inspection {
        Inspection {
            residuals: self.residuals.clone(),
            bytes: self.bodies.iter().map(LatticeBody::bytes).sum::<usize>() + self.work.bytes(),
            ..Inspection::default()
        }
    }
}
