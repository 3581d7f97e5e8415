//! Steps of lattices whose surfaces may touch something: colliders, each other or themselves. Contact is the barrier of
//! `contact/barrier` on the bodies' surfaces; nothing is accepted that continuous collision detection has not found free.
//!
//! A step is made in parts of time, as few as possible: one, unless something driven would meet a surface on its way. Within a part
//! colliders and prescribed cells move on as far as nothing meets. What they meet is carried along ([`ContactRows`]); then a few
//! iterations of Newton's method push the bodies on, and so forth, as in `dynamics/driven_step.rs`:
//!
//! ```text
//! pose 0 ── carry along, as far as free ─▶ pose p ── Newton ─▶ extrapolate by the motion since the last round ── carry ─▶ ...
//! ```
//!
//! Positions are linear in the values of a lattice as long as its frame does not turn. So detection on straight ways of points is detection
//! on straight ways of values, whatever the signs of their weights; all bodies are shortened by the same fraction. Where a frame that turns would
//! bring surfaces into contact, it turns in a later part.

use std::time::Instant;

use glam::DVec3;

use crate::contact::barrier::{ContactSystem, PieceOrigin};
use crate::dynamics::optimize::Termination;
use crate::scene::{Mode, Pinch};
use crate::scene_state::SceneState;
use crate::solvers::staggered::body::LatticeBody;
use crate::solvers::staggered::contact_rows::ContactRows;
use crate::solvers::staggered::coupled_newton::NewtonLimits;
use crate::solvers::staggered::coupled_solve::CoupledSolve;
use crate::solvers::staggered::stepper::StaggeredStepper;
use crate::stepper::{StageTimes, StepReport};
use supple_core::Error;

/// The shortest parts of a step, over the step.
const MOST_PARTS: u32 = 1 << 14;
/// How far something driven may move in one part towards a surface, in multiples of the thickness.
const PART_LENGTH: f64 = 8.0;
/// Rounds of a part in which driven points must arrive, and of one that cannot be shorter.
const ROUNDS: u32 = 24;
const LAST_ROUNDS: u32 = 96;
/// Iterations of a round after which they try to move on.
const ROUND_ITERATIONS: u32 = 4;
/// How often in a round driven surfaces carry along what they meet next, and the part of the rest of the way that is worth another time.
const CARRIES: u32 = 16;
const LEAST_CARRY: f64 = 0.02;
/// How far a value is expected to go on in the rest of a part, over the distance that driven points have left.
const FARTHEST_EXTRAPOLATED: f64 = 2.0;
/// How often this is tried again after points without room were released.
const PINCH_CARRIES: u32 = 4;
/// The shortest distance in a part, over the thickness, in which driven points must find room.
const LEAST_MOVE: f64 = 0.1;
/// A prescribed value is at its target when it is nearer than this, in metres.
const ARRIVED: f64 = 1e-12;

/// Vectors of steps with contact, one per body, and what their parts have done.
#[derive(Default)]
pub(super) struct ContactWork {
    /// Values at the start of a part, at the end of the last round, where they would go, and where contacts carry them.
    starts: Vec<Vec<f64>>,
    earlier: Vec<Vec<f64>>,
    goals: Vec<Vec<f64>>,
    carried: Vec<Vec<f64>>,
    /// Points of all bodies for some values.
    pub(super) ends: Vec<DVec3>,
    rows: ContactRows,
    pub(super) coupled: CoupledSolve,
    /// The force in newtons that counts as 1 in residuals.
    pub(super) reference: f64,
    pub(super) tally: Tally,
}

/// The work of a step.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) iterations: u32,
    pub(super) cycles: u32,
    pub(super) cuts: u32,
    /// The largest residual at the end of a part.
    residual: f64,
    pinched: u32,
    /// How late colliders and prescribed cells are, in metres.
    lag: f64,
}

impl ContactWork {
    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let lists = [&self.starts, &self.earlier, &self.goals, &self.carried];
        let values: usize = lists.iter().flat_map(|list| list.iter()).map(Vec::len).sum();
        8 * values + 24 * self.ends.len() + self.coupled.bytes()
    }
}

impl StaggeredStepper {
    /// A step of `dt` seconds.
    pub(super) fn step_in_contact(
        &mut self,
        scene_state: &SceneState,
        dt: f64,
        deadline: Option<Instant>,
    ) -> Result<StepReport, Error> {
        let started = Instant::now();
        let end = scene_state.time + dt;
        let time = |part: u32| match part {
            MOST_PARTS => end,
            part => scene_state.time + dt * f64::from(part) / f64::from(MOST_PARTS),
        };
        let (mut done, mut length) = (0, MOST_PARTS);
        self.work.tally = Tally::default();
        // Colliders that were stopped try to follow once per step, not in ever shorter parts.
        let mut waits = scene_state.contact.pinch == Pinch::Stop && self.system.contact_system.is_late();
        while done < MOST_PARTS {
            let span = [time(done), time(done + length)];
            self.begin_part(scene_state, span)?;
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let fixed_length = late || waits;
            let shortest = self.shortest_part(scene_state, length)?;
            let planned = if fixed_length { length } else { self.plan_part(scene_state, span, length)? };
            if planned < length && planned >= shortest {
                length = planned;
                continue;
            }
            let may_repeat = !fixed_length && length / 2 >= shortest;
            if !self.part(scene_state, span, deadline, may_repeat)? {
                length /= 2;
                continue;
            }
            done += length;
            waits |= self.work.tally.lag > 0.0 && self.system.contact_system.is_late();
            if waits {
                length = MOST_PARTS - done;
            } else if done.is_multiple_of(2 * length) {
                length *= 2;
            }
        }
        Ok(self.finish(scene_state, started))
    }

    /// Starts a part: everything that does not depend on how it is made.
    fn begin_part(&mut self, scene_state: &SceneState, span: [f64; 2]) -> Result<(), Error> {
        let [start, end] = span;
        let dt = end - start;
        scene_state.pose_colliders(
            span,
            |collider| collider.stiffness.is_some(),
            &mut self.system.contacts.colliders,
            &mut self.earlier_colliders,
        )?;
        self.system.pose_hard_colliders(scene_state, span)?;
        self.turn_frames();
        self.pinned.clone_from(&self.x);
        self.system.apply_pins(scene_state, end, &mut self.pinned, &mut self.fixed)?;
        self.system.contact_system.hold_points(&self.fixed, &self.x, &self.pinned);
        self.system.begin_contact(scene_state, &self.x, [end, dt]);
        self.system.update_wind(scene_state, &self.x, &self.v, [end, dt]);
        for body in &mut self.bodies {
            body.begin_equations(scene_state, dt);
            body.find_targets(scene_state, end)?;
        }
        Ok(())
    }

    /// Turns the frames of bodies that have rotated, where that leaves surfaces apart: it changes displacements a little.
    fn turn_frames(&mut self) {
        for index in 0..self.bodies.len() {
            let range = self.range(index);
            let Self { bodies, work, x, system, .. } = self;
            let body = &mut bodies[index];
            let (u, v, frame) = (body.u.clone(), body.v.clone(), body.frame);
            body.turn_frame();
            if body.frame == frame {
                continue;
            }
            work.ends.clone_from(x);
            body.positions(&mut work.ends[range]);
            if system.contact_system.collision_free_step(x, &work.ends) < 1.0 {
                (body.u, body.v, body.frame) = (u, v, frame);
            } else {
                system.contact_system.record_piece(x, &work.ends, PieceOrigin::Guess);
                std::mem::swap(x, &mut work.ends);
            }
        }
    }

    /// How long the next part should be at most.
    fn plan_part(&mut self, scene_state: &SceneState, span: [f64; 2], length: u32) -> Result<u32, Error> {
        if !self.is_driven() {
            return Ok(length);
        }
        let parts = (self.farthest_driven()? / (PART_LENGTH * scene_state.contact.thickness())).ceil();
        if parts <= 1.0 {
            return Ok(length);
        }
        self.fly(scene_state, span, None);
        let Self { work, system, x, bodies, .. } = self;
        place(bodies, &work.goals, &system.first_unknown, &mut work.ends);
        let free = system.contact_system.advance(x, &work.ends, 1.0)?;
        system.contact_system.set_pose(0.0)?;
        if free >= 1.0 {
            return Ok(length);
        }
        // Up to where something is met, one part is enough.
        let (met, short) = (free * f64::from(length), f64::from(length) / parts);
        let planned = if met > 2.0 * short { met - short } else { short };
        Ok(1 << (planned.max(1.0) as u32).ilog2())
    }

    /// How long a part is at least: in less time driven points do not move by a noteworthy distance.
    fn shortest_part(&mut self, scene_state: &SceneState, length: u32) -> Result<u32, Error> {
        let far = self.farthest_driven()?.max(f64::MIN_POSITIVE);
        let noteworthy = f64::from(length) * LEAST_MOVE * scene_state.contact.thickness() / far;
        Ok(noteworthy.ceil().clamp(1.0, f64::from(MOST_PARTS)) as u32)
    }

    fn is_driven(&self) -> bool {
        !self.system.contact_system.colliders_rest() || self.farthest_pin() > 0.0
    }

    fn farthest_driven(&mut self) -> Result<f64, Error> {
        Ok(self.system.contact_system.farthest_driven()?.max(self.farthest_pin()))
    }

    /// The farthest that a prescribed value is from its target.
    fn farthest_pin(&self) -> f64 {
        let of_body = |body: &LatticeBody| {
            let away = body.prescribed_values_and_targets().map(|(value, target)| (value - target).abs());
            away.fold(0.0, f64::max)
        };
        let far = self.bodies.iter().map(of_body).fold(0.0, f64::max);
        if far > ARRIVED { far } else { 0.0 }
    }

    /// Goals in free flight over a part, with prescribed values at their targets.
    fn fly(&mut self, scene_state: &SceneState, span: [f64; 2], deadline: Option<Instant>) {
        let dt = if scene_state.mode == Mode::Dynamic { span[1] - span[0] } else { 0.0 };
        self.work.goals.resize(self.bodies.len(), Vec::new());
        for (body, goal) in self.bodies.iter_mut().zip(&mut self.work.goals) {
            goal.clone_from(&body.u);
            goal.iter_mut().zip(&body.v).for_each(|(goal, v)| *goal += dt * v);
            body.follow_targets(goal, deadline);
        }
    }

    /// One part that was started; `false` if driven points did not arrive and it may be repeated.
    fn part(
        &mut self,
        scene_state: &SceneState,
        span: [f64; 2],
        deadline: Option<Instant>,
        may_repeat: bool,
    ) -> Result<bool, Error> {
        copy_values(&self.bodies, &mut self.work.starts);
        self.work.reference = self.residual_norm().max(self.weight(scene_state));
        let limits = NewtonLimits {
            max_iterations: scene_state.solver.max_iterations,
            tolerance: scene_state.solver.gradient_tolerance(),
            deadline,
            simd: scene_state.simd,
        };
        if self.is_driven() {
            let rounds = if may_repeat { ROUNDS } else { LAST_ROUNDS };
            if !self.drive(scene_state, span, &limits, rounds)? {
                if may_repeat {
                    self.go_back_to_start();
                    return Ok(false);
                }
                let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                if scene_state.contact.pinch == Pinch::Release && !late {
                    self.release_pinched(scene_state, &limits)?;
                }
            }
        } else {
            self.system.contact_system.set_pose(1.0)?;
        }
        let residual = self.minimise(scene_state, &limits)?;
        self.work.tally.residual = self.work.tally.residual.max(residual);
        self.end_part(scene_state, span)?;
        Ok(true)
    }

    fn go_back_to_start(&mut self) {
        for (body, start) in self.bodies.iter_mut().zip(&self.work.starts) {
            body.u.clone_from(start);
        }
        self.refresh_points();
    }

    /// Velocities, and the states that contact keeps.
    fn end_part(&mut self, scene_state: &SceneState, span: [f64; 2]) -> Result<(), Error> {
        for (body, start) in self.bodies.iter_mut().zip(&self.work.starts) {
            body.end_step(start, span[1] - span[0], scene_state.mode);
        }
        self.refresh_all();
        self.check_positions(scene_state)?;
        if scene_state.record_states {
            let held: Vec<bool> = self.bodies.iter().flat_map(LatticeBody::held_unknowns).collect();
            self.aim_at_targets();
            let Self { work, system, bodies, .. } = self;
            place(bodies, &work.goals, &system.first_unknown, &mut work.ends);
            system.contact_system.record_end(&self.x, &held, &work.ends)?;
        }
        self.system.contacts.end_step(&self.x);
        self.system.contact_system.end_step(&self.x);
        let lag = self.system.contact_system.lag()?.max(self.farthest_pin());
        let tally = &mut self.work.tally;
        tally.lag = lag;
        tally.pinched = tally.pinched.max(self.system.contact_system.pinched().len() as u32);
        Ok(())
    }

    /// Goals where bodies are, with prescribed values at their targets.
    fn aim_at_targets(&mut self) {
        copy_values(&self.bodies, &mut self.work.goals);
        self.bodies.iter().zip(&mut self.work.goals).for_each(|(body, goal)| body.put_targets(goal));
    }

    /// Moves driven points to the part's end; returns whether they arrived.
    fn drive(
        &mut self,
        scene_state: &SceneState,
        span: [f64; 2],
        limits: &NewtonLimits,
        rounds: u32,
    ) -> Result<bool, Error> {
        self.fly(scene_state, span, limits.deadline);
        if self.advance_carried(scene_state)? {
            return Ok(true);
        }
        let round = NewtonLimits { max_iterations: ROUND_ITERATIONS, ..*limits };
        let mut pose_before = 0.0;
        self.work.earlier.clone_from(&self.work.starts);
        for done in 0..rounds {
            // Without time to push the bodies on, driven points would only come ever nearer.
            if limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(false);
            }
            let pose = self.system.contact_system.pose();
            // At this rate they would not arrive in the rounds that are left.
            if done >= rounds / 3 && pose * f64::from(rounds) < f64::from(done) {
                return Ok(false);
            }
            self.minimise(scene_state, &round)?;
            self.extrapolate(pose, pose_before)?;
            pose_before = pose;
            copy_values(&self.bodies, &mut self.work.earlier);
            if self.advance_carried(scene_state)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goals at the part's end if bodies went on as in the last round. A round also settles what was out of balance before: nothing goes on
    /// much farther than what drives it.
    fn extrapolate(&mut self, pose: f64, pose_before: f64) -> Result<(), Error> {
        let farthest = FARTHEST_EXTRAPOLATED * self.farthest_driven()?;
        let more = if pose > pose_before { (1.0 - pose) / (pose - pose_before) } else { 0.0 };
        let ContactWork { goals, earlier, .. } = &mut self.work;
        for ((body, goal), earlier) in self.bodies.iter().zip(goals).zip(earlier) {
            let displacements = 3 * body.len();
            goal.clone_from(&body.u);
            let values = goal[..displacements].iter_mut().zip(&*earlier);
            values.for_each(|(u, before)| *u += (more * (*u - before)).clamp(-farthest, farthest));
            body.put_targets(goal);
        }
        Ok(())
    }

    /// Moves on towards the goals as far as nothing meets; what is in the way of a driven surface is carried along by it. Returns whether the
    /// driven points arrived.
    fn advance_carried(&mut self, scene_state: &SceneState) -> Result<bool, Error> {
        let Self { system, work, bodies, x, .. } = self;
        let (contact, first) = (&mut system.contact_system, &system.first_unknown[..]);
        let ContactWork { rows, goals, carried, ends, .. } = work;
        for _ in 0..CARRIES {
            let pose = contact.pose();
            if pose >= 1.0 {
                return Ok(true);
            }
            carried.clone_from(goals);
            rows.carry(contact, (bodies, first), (x, scene_state.contact.thickness()), carried)?;
            place(bodies, carried, first, ends);
            let free = contact.advance(x, ends, 1.0)?;
            for (body, carried) in bodies.iter_mut().zip(&*carried) {
                move_values(&mut body.u, carried, free);
            }
            place_bodies(bodies, first, x);
            if contact.pose() - pose < LEAST_CARRY * (1.0 - pose) {
                break;
            }
        }
        Ok(contact.pose() >= 1.0)
    }

    /// Releases what has no room, little by little, until driven points arrive; in the end they do in any case.
    fn release_pinched(&mut self, scene_state: &SceneState, limits: &NewtonLimits) -> Result<(), Error> {
        let round = NewtonLimits { max_iterations: ROUND_ITERATIONS, ..*limits };
        for more in 0..ContactSystem::PINCH_ROUNDS {
            self.system.contact_system.release_pinched(&self.x, more);
            self.aim_at_targets();
            for _ in 0..PINCH_CARRIES {
                if self.advance_carried(scene_state)? {
                    return Ok(());
                }
            }
            self.minimise(scene_state, &round)?;
        }
        self.aim_at_targets();
        for (body, goal) in self.bodies.iter_mut().zip(&self.work.goals) {
            body.u.clone_from(goal);
        }
        self.refresh_points();
        self.system.contact_system.force_to_end(&self.x)
    }

    fn finish(&self, scene_state: &SceneState, started: Instant) -> StepReport {
        let Tally { iterations, cycles, cuts, residual, pinched, lag } = self.work.tally;
        let report = self.report(scene_state);
        let total = started.elapsed().as_secs_f64();
        StepReport {
            nonlinear_iterations: iterations,
            linear_iterations: cycles,
            residual: Some(residual),
            converged: residual <= scene_state.solver.gradient_tolerance(),
            cuts,
            global_cuts: cuts,
            pinched,
            lag,
            times: StageTimes { solve: total, total, ..StageTimes::default() },
            ..report
        }
    }

    /// Newton's method on all bodies from where they are, with contact where colliders are; returns the last residual.
    fn minimise(&mut self, scene_state: &SceneState, limits: &NewtonLimits) -> Result<f64, Error> {
        let done = self.iterate_newton(limits);
        let (stop, residual) = done.map_err(|problem| scene_state.failed(problem.to_string()))?;
        Ok(if stop == Termination::Converged { residual.min(limits.tolerance) } else { residual })
    }

    pub(super) fn refresh_points(&mut self) {
        place_bodies(&self.bodies, &self.system.first_unknown, &mut self.x);
    }
}

/// The points of all bodies for some values.
fn place(bodies: &[LatticeBody], values: &[Vec<f64>], first: &[u32], out: &mut Vec<DVec3>) {
    out.resize(first.last().map_or(0, |end| *end as usize), DVec3::ZERO);
    for ((body, values), range) in bodies.iter().zip(values).zip(first.windows(2)) {
        body.positions_of(values, &mut out[range[0] as usize..range[1] as usize]);
    }
}

/// The points of all bodies.
pub(super) fn place_bodies(bodies: &[LatticeBody], first: &[u32], out: &mut [DVec3]) {
    for (body, range) in bodies.iter().zip(first.windows(2)) {
        body.positions(&mut out[range[0] as usize..range[1] as usize]);
    }
}

fn copy_values(bodies: &[LatticeBody], to: &mut Vec<Vec<f64>>) {
    to.resize(bodies.len(), Vec::new());
    to.iter_mut().zip(bodies).for_each(|(to, body)| to.clone_from(&body.u));
}

/// Makes a fraction of the way to a goal; all of it exactly.
fn move_values(values: &mut [f64], goal: &[f64], part: f64) {
    if part >= 1.0 {
        values.copy_from_slice(goal);
    } else {
        values.iter_mut().zip(goal).for_each(|(value, goal)| *value += part * (goal - *value));
    }
}
