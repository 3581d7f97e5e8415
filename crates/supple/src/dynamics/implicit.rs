//! Implicit Euler: every step minimises inertia plus the energies of elements, attachments, contact and wind, for all
//! bodies of the scene as one system. In quasi-statics inertia is left out, except for a trace that keeps free bodies definite.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::DVec3;

use super::conforming::ConformingElasticity;
use super::elasticity::Elasticity;
use super::entanglement_notes::EntanglementNotes;
use super::method::Nodes;
use super::optimize::{
    Cuts, Evaluated, Minimiser, Objective, Outcome, StepFractions, StoppingCriteria, Termination, TightNewton,
};
use super::system::System;
use crate::contact::PosedCollider;
use crate::contact::barrier::{ContactSummary, PieceOrigin};
use crate::contact::forces::ContactForces;
use crate::contact::friction::impulses::FrictionImpulses;
use crate::material::HessianMode;
use crate::scene::{Method, Mode, Truncation};
use crate::scene_state::SceneState;
use crate::stepper::{
    EnergyReport, HierarchyLevel, Inspection, ReleasedVertices, Slice, StageTimes, StepReport, StepSystem,
    Stepper,
};
use supple_core::Aabb;
use supple_core::Error;
use supple_core::state::{StateReader, StateWriter};
use supple_linear::vectors::norm;
use supple_linear::{BlockMatrix, BlockPattern, CycleTimes};

/// The step in seconds that weights inertia in quasi-statics: too long for it to matter relative to elasticity, short enough to
/// keep the matrix of a free body definite.
const QUASISTATIC_STEP: f64 = 1000.0;

/// How far an iteration of quasi-statics may move a vertex, as a fraction of the size of all bodies together.
const QUASISTATIC_MOVE: f64 = 0.05;

/// How often the wind of a quasi-static frame is recomputed from the shape that it has produced.
const WIND_ROUNDS: u32 = 20;

/// Units in the last place by which positions are perturbed to measure the rounding of forces.
const LAST_PLACES: f64 = 4.0;

/// How often a step is continued if parts have crossed at its end.
const COLLISION_ROUNDS: u32 = 2;

/// Implicit Euler by any nonlinear method.
pub struct ImplicitStepper {
    pub(super) elasticity: Box<dyn Elasticity>,
    pub(super) x: Vec<DVec3>,
    pub(super) v: Vec<DVec3>,
    pub(super) system: System,
    pub(super) fixed: Vec<bool>,
    /// Initial positions of the bodies.
    start: Vec<DVec3>,
    /// The energies before materials changed for the first time.
    first: Option<System>,
    pub(super) minimiser: Option<Box<dyn Minimiser>>,
    /// The minimiser's sparsity pattern, and the start positions of its unknowns.
    pub(super) unknowns: Option<(Arc<BlockPattern>, Arc<[DVec3]>)>,
    /// Measures how far steps end from their solution.
    pub(super) verifier: Option<TightNewton>,
    pub(super) outcome: Outcome,
    /// The farthest that a collider or driven pin was from its target at the last step's end, in metres.
    pub(super) lag: f64,
    /// Whether colliders wait where there is no room.
    pub(super) may_wait: bool,
    /// How often the displacement to a step's initial guess was truncated to stay collision-free.
    pub(super) start_cuts: Cuts,
    pub(super) work: StepBuffers,
    /// The minimiser's part of a restored state; applied when the next step starts.
    restored: Option<RestoredMinimiser>,
}

/// The state that a minimiser keeps from step to step, and the vertices that were fixed then.
struct RestoredMinimiser {
    fixed: Vec<u32>,
    saved: Vec<u32>,
}

/// Vectors of a step over all vertices, kept so that steps allocate nothing.
#[derive(Default)]
pub(super) struct StepBuffers {
    /// The initial guess of the step, and its result.
    pub(super) next: Vec<DVec3>,
    /// Free-flight positions.
    pub(super) flying: Vec<DVec3>,
    /// Positions of fixed vertices at the step's end.
    pub(super) pinned: Vec<DVec3>,
    /// The result of the last round of a step in which something is driven.
    pub(super) earlier: Vec<DVec3>,
    /// Where everything would be at the end of such a step if nothing was in the way.
    pub(super) targets: Vec<DVec3>,
    /// The objective at the initial guess.
    pub(super) value: f64,
    /// Its gradient there.
    pub(super) forces: Vec<DVec3>,
    /// The same elsewhere: at perturbed positions, or in free flight.
    pub(super) other_forces: Vec<DVec3>,
    fixed: Vec<bool>,
    /// Positions of the free vertices.
    free: Vec<DVec3>,
    /// Empty: workspace for the colliders of the next step.
    colliders: Vec<PosedCollider>,
    /// Friction by impulses, and the step in seconds in which they acted.
    impulses: FrictionImpulses,
    impulse_time: f64,
    /// A displacement truncated by island.
    truncated: Vec<DVec3>,
    fractions: StepFractions,
}

impl ImplicitStepper {
    /// A stepper for the bodies of a scene state, at their start: meshes whose matrices are assembled.
    pub fn new(scene_state: &SceneState) -> Self {
        Self::with_elasticity(scene_state, Box::new(ConformingElasticity))
    }

    /// The same for the elements of another family.
    pub(crate) fn with_elasticity(scene_state: &SceneState, elasticity: Box<dyn Elasticity>) -> Self {
        let mut stepper = Self {
            elasticity,
            x: Vec::new(),
            v: Vec::new(),
            system: System::default(),
            fixed: Vec::new(),
            start: Vec::new(),
            first: None,
            minimiser: None,
            unknowns: None,
            verifier: None,
            outcome: Outcome::default(),
            lag: 0.0,
            may_wait: false,
            start_cuts: Cuts::default(),
            work: StepBuffers::default(),
            restored: None,
        };
        stepper.bodies_changed(scene_state, &vec![None; scene_state.bodies.len()]);
        stepper
    }

    /// Sets up the energies of a step; `work.next` becomes the positions with fixed vertices at their pins' targets at its
    /// end.
    pub(super) fn begin_step(&mut self, scene_state: &SceneState, span: [f64; 2]) -> Result<(), Error> {
        let [start, end] = span;
        let dt = end - start;
        scene_state.pose_colliders(
            span,
            |collider| collider.stiffness.is_some(),
            &mut self.system.contacts.colliders,
            &mut self.work.colliders,
        )?;
        self.system.pose_hard_colliders(scene_state, span)?;
        let [step, damped] = inertia_and_damping(scene_state.mode, dt);
        let work = &mut self.work;
        work.next.clone_from(&self.x);
        self.system.apply_pins(scene_state, end, &mut work.next, &mut work.fixed)?;
        work.pinned.clone_from(&work.next);
        self.system.contact_system.hold_points(&work.fixed, &self.x, &work.pinned);
        self.system.begin_step(scene_state, &self.x, &self.v, [end, dt, step]);
        let work = &mut self.work;
        if self.minimiser.is_none() || work.fixed != self.fixed {
            self.fixed.clone_from(&work.fixed);
            self.analyse(scene_state)?;
        }
        self.system.elastic.iter_mut().for_each(|energy| energy.begin_step(&self.x, damped));
        Ok(())
    }

    /// Passes the step's initial guess to the minimiser, after restoring its saved state.
    pub(super) fn begin_minimiser(&mut self) {
        let Some(minimiser) = &mut self.minimiser else { return };
        if let Some(RestoredMinimiser { fixed, saved }) = self.restored.take() {
            // In an uninterrupted run the method was also rebuilt in this step if other vertices were fixed.
            minimiser.restore(if fixed == bits(&self.fixed) { &saved } else { &[] });
        }
        self.work.free.clear();
        let free = self.x.iter().zip(&self.fixed).filter(|(_, fixed)| !**fixed);
        self.work.free.extend(free.map(|(x, _)| *x));
        minimiser.begin_step(&self.work.free);
    }

    /// The next method chooses its structure again, whatever a restored state contains of another.
    fn drop_minimiser(&mut self) {
        (self.minimiser, self.restored) = (None, None);
    }

    /// Chooses the method's structure from the start positions of the bodies, not from the current ones, from their initial
    /// materials, and from the scene's own step: a resumed run must choose the same.
    fn analyse(&mut self, scene_state: &SceneState) -> Result<(), Error> {
        let pattern = Arc::new(self.pattern(scene_state));
        let free = self.start.iter().zip(&self.fixed).filter(|(_, fixed)| !**fixed);
        let positions: Arc<[DVec3]> = free.map(|(x, _)| *x).collect();
        let follows = self.elasticity.is_assembled() && scene_state.solver.linear().follows_stiffness();
        let at_start = follows.then(|| {
            let steps = inertia_and_damping(scene_state.mode, scene_state.usual_step);
            let first = match &mut self.first {
                Some(first) => {
                    first.analyse(scene_state, &self.fixed);
                    first
                }
                None => &mut self.system,
            };
            first.start_matrix(&self.start, steps, pattern.clone())
        });
        (self.verifier, self.unknowns) = (None, Some((pattern.clone(), positions.clone())));
        let nodes = Nodes { pattern, vertices: self.x.len(), positions, at_start };
        let made = self.elasticity.minimiser(scene_state, nodes);
        self.minimiser = Some(made.map_err(|problem| Error::Invalid(problem.to_string()))?);
        Ok(())
    }

    /// Which free unknowns are coupled; empty if nothing is assembled.
    fn pattern(&mut self, scene_state: &SceneState) -> BlockPattern {
        match self.elasticity.is_assembled() {
            true => self.system.analyse(scene_state, &self.fixed),
            false => BlockPattern::new(&self.fixed, &[]),
        }
    }

    /// Chooses the better of the two natural initial guesses where nothing is driven: the previous positions, or free flight. Free flight
    /// makes momentum exact, rest makes a hanging cloth start in its solution. Where surfaces are in the way the flight ends early. Follows
    /// [`Self::free_force`].
    pub(super) fn choose_initial_guess(&mut self) {
        self.fly();
        let StepBuffers { flying, truncated, fractions, .. } = &mut self.work;
        let cuts = &mut self.start_cuts;
        truncate_to_collision_free(&self.system, &self.x, [flying, truncated], fractions, cuts);
        self.take_lower_guess();
    }

    /// Free-flight positions, with fixed vertices at their pins' targets.
    pub(super) fn fly(&mut self) {
        let StepBuffers { flying, pinned, .. } = &mut self.work;
        flying.clear();
        let fly = |v: usize| if self.fixed[v] { pinned[v] } else { self.system.inertia.flight(v) };
        flying.extend((0..pinned.len()).map(fly));
    }

    /// Takes free flight as the initial guess if the objective is lower there.
    pub(super) fn take_lower_guess(&mut self) {
        let StepBuffers { next: resting, flying, value, forces, other_forces, .. } = &mut self.work;
        other_forces.resize(resting.len(), DVec3::ZERO);
        let in_flight = self.system.value_and_gradient(flying, other_forces);
        if in_flight <= *value {
            std::mem::swap(resting, flying);
            std::mem::swap(forces, other_forces);
            *value = in_flight;
        }
    }

    /// The norm of the forces on free vertices, at the initial guess.
    pub(super) fn free_force(&mut self) -> f64 {
        let StepBuffers { next, value, forces, .. } = &mut self.work;
        forces.resize(next.len(), DVec3::ZERO);
        *value = self.system.value_and_gradient(next, forces);
        for (force, _) in forces.iter_mut().zip(&self.fixed).filter(|(_, fixed)| **fixed) {
            *force = DVec3::ZERO;
        }
        norm(forces)
    }

    /// The force that counts as 1 in residuals: that at the step's start, or more where a body rests, so that forces which
    /// are only rounding, or negligible, count as solved.
    pub(super) fn reference(&mut self, scene_state: &SceneState) -> f64 {
        let begin = self.free_force();
        let least = self
            .force_floor(scene_state)
            .max(self.rounding_force(scene_state.solver.gradient_tolerance() * begin));
        // Without any body there is no force at all.
        begin.max(least / scene_state.solver.gradient_tolerance()).max(f64::MIN_POSITIVE)
    }

    /// How much forces change when positions change by a few units in their last place: no solution is more accurate than that. Follows
    /// [`Self::free_force`]. Where elements are inverted, forces may jump between two adjacent positions, which
    /// is not rounding: a jump does not shrink with the perturbation. Only values above `least` matter.
    fn rounding_force(&mut self, least: f64) -> f64 {
        let change = self.change_of_forces(LAST_PLACES);
        let jumps = change > least && self.change_of_forces(16.0 * LAST_PLACES) < 4.0 * change;
        if jumps { 0.0 } else { change }
    }

    /// How much forces change when positions change by this many units in their last place.
    fn change_of_forces(&mut self, places: f64) -> f64 {
        let StepBuffers { next, flying: shaken, forces, other_forces, .. } = &mut self.work;
        // Neighbours are perturbed differently; signs from a scrambled index follow no pattern of the mesh.
        let sign = |i: usize| if (i as u32).wrapping_mul(0x9e37_79b9) >> 31 == 0 { 1.0 } else { -1.0 };
        let shake = |(i, x): (usize, &DVec3)| *x * (1.0 + places * f64::EPSILON * sign(i));
        shaken.clear();
        shaken.extend(next.iter().enumerate().map(shake));
        other_forces.resize(next.len(), DVec3::ZERO);
        self.system.gradient(shaken, other_forces);
        let free = forces.iter().zip(other_forces).zip(&self.fixed).filter(|(_, fixed)| !**fixed);
        free.map(|((still, shaken), _)| still.distance_squared(*shaken)).sum::<f64>().sqrt()
    }

    /// How far an iteration may move a vertex: unbounded in dynamics, where inertia limits it. In quasi-statics nothing
    /// does before a free body makes contact, and a full step would overshoot.
    pub(super) fn max_displacement(&self, scene_state: &SceneState) -> f64 {
        match scene_state.mode {
            Mode::Dynamic => f64::INFINITY,
            Mode::Quasistatic => {
                let bounds = Aabb::of_points(&self.x);
                QUASISTATIC_MOVE * (bounds.high - bounds.low).length()
            }
        }
    }

    /// A force below which nothing is worth solving: 1e-13 of the weight, or of what would accelerate the bodies by 1 m/s² if there is no
    /// gravity.
    fn force_floor(&self, scene_state: &SceneState) -> f64 {
        let masses = self.system.inertia.mass.iter().map(|m| m * m).sum::<f64>().sqrt();
        1e-13 * masses * scene_state.world.gravity.length().max(1.0)
    }

    /// Wall time by stage of a step, from its start and the start and end of the minimisation.
    pub(super) fn times(&self, [started, minimising, ended]: [Instant; 3], cycles: CycleTimes) -> StageTimes {
        let outcome = &self.outcome;
        let seconds = |time: Duration| time.as_secs_f64();
        StageTimes {
            setup: seconds((minimising - started) + ended.elapsed()),
            evaluation: seconds(outcome.evaluation_time),
            assembly: seconds(outcome.assembly_time),
            update: seconds(outcome.update_time),
            smoothing: seconds(cycles.smoothing + cycles.residual),
            coarsest: seconds(cycles.coarsest),
            transfer: seconds(cycles.restriction + cycles.prolongation),
            solve: seconds(outcome.solve_time.saturating_sub(cycles.total())),
            total: seconds(started.elapsed()),
        }
    }

    /// Accumulated times of multigrid cycles.
    pub(super) fn cycle_times(&self) -> CycleTimes {
        self.minimiser.as_ref().map_or_else(CycleTimes::default, |minimiser| minimiser.cycle_times())
    }

    pub(super) fn minimise(
        &mut self,
        scene_state: &SceneState,
        limits: &StoppingCriteria<'_>,
    ) -> Result<(), Error> {
        let Some(minimiser) = &mut self.minimiser else {
            return Err(scene_state.failed("the system was not analysed"));
        };
        let done = minimiser.minimise(&self.system, &mut self.work.next, limits, &mut self.outcome);
        done.map_err(|problem| scene_state.failed(problem.to_string()))
    }

    /// The same from the initial guess, where the objective is known.
    pub(super) fn minimise_first(
        &mut self,
        scene_state: &SceneState,
        limits: &StoppingCriteria<'_>,
    ) -> Result<(), Error> {
        let (value, forces) = (self.work.value, std::mem::take(&mut self.work.forces));
        let initial = Some(Evaluated { value, gradient: &forces });
        let done = self.minimise(scene_state, &StoppingCriteria { initial, ..*limits });
        self.work.forces = forces;
        done
    }

    /// Another round of the same step, whose work is added.
    pub(super) fn minimise_again(
        &mut self,
        scene_state: &SceneState,
        limits: &StoppingCriteria<'_>,
    ) -> Result<(), Error> {
        let Outcome { iterations, linear_iterations, cuts, .. } = self.outcome;
        let Outcome { evaluation_time, assembly_time, update_time, solve_time, .. } = self.outcome;
        self.minimise(scene_state, limits)?;
        self.outcome.iterations += iterations;
        self.outcome.linear_iterations += linear_iterations;
        self.outcome.cuts += cuts;
        self.outcome.evaluation_time += evaluation_time;
        self.outcome.assembly_time += assembly_time;
        self.outcome.update_time += update_time;
        self.outcome.solve_time += solve_time;
        Ok(())
    }

    /// In equilibrium the wind acts on the shape that it has produced, not on that of the previous frame.
    pub(super) fn settle_in_wind(
        &mut self,
        scene_state: &SceneState,
        time: f64,
        limits: &StoppingCriteria<'_>,
    ) -> Result<(), Error> {
        for _ in 0..WIND_ROUNDS {
            let before = self.outcome.iterations;
            self.system.update_wind(scene_state, &self.work.next, &self.v, [time, QUASISTATIC_STEP]);
            self.minimise_again(scene_state, limits)?;
            if self.outcome.iterations == before {
                break;
            }
        }
        Ok(())
    }

    /// Friction by impulses, on the result of the step; truncated where surfaces would touch.
    pub(super) fn apply_friction_impulses(&mut self, dt: f64) {
        let StepBuffers { next, flying: to, impulses, impulse_time, truncated, fractions, .. } =
            &mut self.work;
        impulses.clear();
        *impulse_time = dt;
        self.system.add_impulses(next, dt, impulses);
        to.clone_from(next);
        let (mass, fixed) = (&self.system.inertia.mass, &self.fixed);
        impulses.slow(&self.x, to, dt, |v| (!fixed[v]).then(|| mass[v]));
        truncate_to_collision_free(&self.system, next, [to, truncated], fractions, &mut self.start_cuts);
        std::mem::swap(next, to);
    }

    /// Continues the step if parts have crossed at its end, with the contact forces that push them back.
    pub(super) fn resolve_intersections(
        &mut self,
        scene_state: &SceneState,
        limits: &StoppingCriteria<'_>,
    ) -> Result<(), Error> {
        for round in 0..=COLLISION_ROUNDS {
            let Some(response) = &mut self.system.response else { break };
            if !response.update(&self.work.next) || round == COLLISION_ROUNDS {
                break;
            }
            self.minimise_again(scene_state, limits)?;
        }
        Ok(())
    }

    pub(super) fn report(&self, scene_state: &SceneState) -> StepReport {
        let outcome = &self.outcome;
        let mut cuts = outcome.cuts;
        cuts += self.start_cuts;
        let [kinetic, potential] = self.system.inertia.energies(&self.x, &self.v, scene_state.world.gravity);
        let (soft_contacts, penetration) = self.system.contacts.count_and_depth(&self.x);
        let hard = self.system.contact_system.summary(&self.x);
        let contacts = soft_contacts + hard.with_colliders;
        let touching = match &self.system.response {
            Some(response) => response.summary(&self.x),
            None => ContactSummary { pairs: hard.pairs - hard.with_colliders, ..hard },
        };
        StepReport {
            nonlinear_iterations: outcome.iterations,
            linear_iterations: outcome.linear_iterations,
            residual: Some(outcome.residual()),
            converged: outcome.stop == Termination::Converged,
            correction: None,
            energy: EnergyReport { kinetic, elastic: self.system.elastic_energy(&self.x), potential },
            contacts,
            penetration,
            pairs: touching.pairs,
            closest: touching.closest,
            cuts: cuts.all,
            island_cuts: cuts.by_island,
            global_cuts: cuts.global,
            crossings: Some(touching.crossings),
            pinched: self.system.contact_system.pinched().len() as u32,
            lag: self.lag,
            times: StageTimes::default(),
        }
    }
}

impl Stepper for ImplicitStepper {
    fn step(
        &mut self,
        scene_state: &SceneState,
        dt: f64,
        deadline: Option<Instant>,
    ) -> Result<StepReport, Error> {
        self.step_in_parts(scene_state, dt, deadline)
    }

    fn first_system(&mut self, scene_state: &SceneState, dt: f64) -> Result<StepSystem, Error> {
        if !self.elasticity.is_assembled() {
            return Err(Error::NotSupported("an assembled matrix of this family".into()));
        }
        self.begin_step(scene_state, [scene_state.time, scene_state.time + dt])?;
        self.system.end_motion()?;
        self.free_force();
        if scene_state.mode == Mode::Dynamic {
            self.choose_initial_guess();
        }
        let pattern = Arc::new(self.system.analyse(scene_state, &self.fixed));
        let (x, fixed) = (&self.work.next, &self.fixed);
        let matrix = match scene_state.solver.method == Method::PROJECTIVE {
            true => {
                let contact = scene_state.solver.contact_matrix.unwrap_or_default();
                let found = self.system.projective_matrix(x, contact, pattern);
                found.ok_or_else(|| {
                    scene_state.failed("projective dynamics does not support one of the elastic models")
                })?
            }
            false => {
                let mut hessian = BlockMatrix::zero(pattern);
                self.system.hessian(x, HessianMode::PsdProjected, &mut hessian);
                hessian
            }
        };
        let mut gradient = vec![DVec3::ZERO; x.len()];
        self.system.gradient(x, &mut gradient);
        let start = scene_state.bodies.iter().flat_map(|body| &body.start);
        let free = |list: &mut dyn Iterator<Item = DVec3>| -> Vec<DVec3> {
            list.zip(fixed).filter(|(_, fixed)| !**fixed).map(|(value, _)| value).collect()
        };
        let rhs = free(&mut gradient.iter().map(|force| -*force));
        let current = free(&mut self.x.iter().copied()).into();
        Ok(StepSystem { matrix, rhs, positions: free(&mut start.copied()).into(), current })
    }

    fn surface_positions(&self, positions: &mut [DVec3]) {
        self.system.points.positions(&self.x, positions);
    }

    fn bodies_changed(&mut self, scene_state: &SceneState, old_index: &[Option<usize>]) {
        (self.x, self.v) = scene_state.carry_over(old_index, &self.system.first_unknown, &self.x, &self.v);
        let mut before = std::mem::replace(&mut self.system, System::new(scene_state, &mut *self.elasticity));
        (self.start, self.first) = (start_positions(scene_state), None);
        self.system.contact_system.take_over_colliders(&mut before.contact_system);
        // A problem with a collider is reported by the step.
        let _ = self.system.pose_hard_colliders(scene_state, [scene_state.time; 2]);
        if !self.system.contact_system.is_empty() {
            let (mut targets, mut fixed) = (self.x.clone(), Vec::new());
            // So is a problem with a pin.
            if self.system.apply_pins(scene_state, scene_state.time, &mut targets, &mut fixed).is_ok() {
                self.system.contact_system.hold_points(&fixed, &self.x, &targets);
            }
            self.system.contact_system.update_tangle(&self.x);
            self.system.contact_system.begin_bodies(
                &before.contact_system,
                &self.x,
                scene_state.time,
                old_index,
            );
        }
        self.drop_minimiser();
    }

    fn materials_changed(&mut self, scene_state: &SceneState) {
        let mut before = std::mem::replace(&mut self.system, System::new(scene_state, &mut *self.elasticity));
        self.system.take_over_anchors(&mut before);
        // Contact may be new, and the intersections are known to the previous system.
        if !self.system.contact_system.is_empty() {
            self.system.contact_system.update_tangle(&self.x);
        }
        // Without a matrix there is no pattern to compare: levels are rebuilt with the new stiffness.
        if !self.elasticity.is_assembled() {
            self.drop_minimiser();
            return;
        }
        // A stiffness of zero couples nothing; structures chosen for other couplings do not fit. Tested without fixed vertices,
        // so that a simulation that has not stepped yet gets the same result.
        let mut first = self.first.take().unwrap_or(before);
        let free = vec![false; self.x.len()];
        if self.system.analyse(scene_state, &free) != first.analyse(scene_state, &free) {
            self.drop_minimiser();
            self.start = start_positions(scene_state);
            return;
        }
        self.first = Some(first);
        if self.minimiser.is_some() {
            self.system.analyse(scene_state, &self.fixed);
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
        let impulses = (&self.work.impulses, self.work.impulse_time);
        Some(self.system.contact_forces(scene_state, &self.x, impulses))
    }

    fn save(&self, state: &mut StateWriter) {
        state.vectors(&self.x);
        state.vectors(&self.v);
        let saved = match (&self.restored, &self.minimiser) {
            (Some(restored), _) => restored.saved.clone(),
            (None, Some(minimiser)) => minimiser.save(),
            (None, None) => Vec::new(),
        };
        let fixed = match &self.restored {
            Some(restored) => restored.fixed.clone(),
            None => bits(&self.fixed),
        };
        state.words(if saved.is_empty() { &[] } else { &fixed });
        state.words(&saved);
        self.system.contacts.save(state);
        self.system.contact_system.save(state);
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        let x = state.vectors(self.x.len())?;
        let v = state.vectors(self.v.len())?;
        let restored = RestoredMinimiser { fixed: state.words()?, saved: state.words()? };
        self.system.contacts.restore(state)?;
        self.system.contact_system.restore(state)?;
        self.restored = Some(restored);
        (self.x, self.v) = (x, v);
        Ok(())
    }

    fn take_states(&mut self, scene_state: &SceneState, frame: u32) -> Option<Vec<u8>> {
        let names: Vec<&str> = scene_state.bodies.iter().map(|body| body.name.as_str()).collect();
        self.system.contact_system.record_states(true);
        self.system.contact_system.take_record(frame, &names)
    }

    fn notes(&self, scene_state: &SceneState) -> Vec<String> {
        let contact = &self.system.contact_system;
        EntanglementNotes { contact, scene_state }.at(&self.x)
    }

    fn entangled(&self) -> usize {
        let found = self.system.contact_system.entanglement(&self.x);
        found.spots.len() + found.crossings().len()
    }

    fn hierarchy(&self, scene_state: &SceneState, slice: &Slice) -> Vec<HierarchyLevel> {
        let Some(minimiser) = &self.minimiser else { return Vec::new() };
        let free: Vec<u32> = (0..).zip(&self.fixed).filter(|(_, fixed)| !**fixed).map(|(v, _)| v).collect();
        let points = &self.system.points;
        let level = |regions| HierarchyLevel::of_regions(regions, &free, &self.x, points);
        let mut levels: Vec<HierarchyLevel> = minimiser.regions().iter().map(level).collect();
        self.elasticity.draw_cells(&mut levels, scene_state, &self.x, slice);
        levels
    }

    fn inspect(&self) -> Inspection {
        Inspection {
            residuals: self.outcome.residuals.clone(),
            history: self.outcome.history.clone(),
            bytes: self.minimiser.as_ref().map_or(0, |minimiser| minimiser.bytes()),
        }
    }
}

/// The steps that weight inertia and damping in a step of `dt` seconds.
fn inertia_and_damping(mode: Mode, dt: f64) -> [f64; 2] {
    match mode {
        Mode::Dynamic => [dt, dt],
        Mode::Quasistatic => [QUASISTATIC_STEP, f64::INFINITY],
    }
}

fn start_positions(scene_state: &SceneState) -> Vec<DVec3> {
    scene_state.bodies.iter().flat_map(|body| &body.start).copied().collect()
}

/// Packs flags into 32-bit words.
fn bits(flags: &[bool]) -> Vec<u32> {
    let word = |flags: &[bool]| flags.iter().rev().fold(0, |word, &flag| word << 1 | u32::from(flag));
    flags.chunks(32).map(word).collect()
}

/// Truncates the displacement between two states where surfaces would touch, so that `to` can be reached: island by island if that helps.
/// `spare` is workspace.
fn truncate_to_collision_free(
    system: &System,
    from: &[DVec3],
    [to, spare]: [&mut Vec<DVec3>; 2],
    fractions: &mut StepFractions,
    cuts: &mut Cuts,
) {
    let free = system.collision_free_step(from, to);
    if free < 1.0 {
        cuts.all += 1;
        spare.resize(to.len(), DVec3::ZERO);
        if system.truncation() != Truncation::Global && fractions.by_island(system, [from, to], spare) {
            cuts.by_island += 1;
            std::mem::swap(to, spare);
        } else {
            cuts.global += 1;
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from + free * (*to - *from));
        }
    }
    system.contact_system.record_piece(from, to, PieceOrigin::Guess);
}
