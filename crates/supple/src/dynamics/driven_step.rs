//! A step in which colliders or pins are driven. At its end they are where their motion says; on the way the bodies yield.
//!
//! A step is made in parts of time, as few as possible: one, unless something driven would meet a surface on the way. Within a part
//! the driven points follow their motion as far as the bodies leave room. What they meet is carried along by their own motion
//! ([`ContactSystem::carry_along`](crate::contact::barrier::ContactSystem)), again as far as nothing meets. Where that ends before they
//! arrive, the objective is minimised, which pushes the bodies on, and so forth:
//!
//! ```text
//! pose 0 ── carry along, as far as free ─▶ pose p ── minimise ─▶ extrapolate bodies by their motion since the last round ── carry ─▶ ...
//! ```
//!
//! A part in which they do not arrive within a few rounds is repeated with half the duration: bodies that were pushed keep the velocity, so
//! that in the next part they move out of the way by themselves.

use std::time::Instant;

use glam::DVec3;

use super::convergence::step_tolerance;
use super::implicit::{ImplicitStepper, StepBuffers};
use super::optimize::{Cuts, Outcome, StoppingCriteria, Termination};
use crate::contact::barrier::ContactSystem;
use crate::scene::{FrictionModel, Mode, Pinch};
use crate::scene_state::SceneState;
use crate::stepper::{Correction, StageTimes, StepReport};
use supple_core::Error;

/// Parts of a step at most.
const MOST_PARTS: f64 = 16384.0;
/// How far driven points may move in one part towards something in their way, in multiples of the thickness.
const PART_LENGTH: f64 = 8.0;
/// Rounds of a part in which driven points must arrive, and of one that cannot be shorter.
const ROUNDS: u32 = 24;
const LAST_ROUNDS: u32 = 96;
/// Iterations of a round after which the driven points try to move on.
const ROUND_ITERATIONS: u32 = 4;
/// How often in a round driven surfaces carry along what they meet next, and the part of the rest of the way that is worth another time.
const CARRIES: u32 = 16;
const LEAST_CARRY: f64 = 0.02;
/// How far a body is expected to go on in the rest of a part, over the distance that the driven points have left.
const FARTHEST_EXTRAPOLATED: f64 = 2.0;
/// The distances from colliders, over the thickness, to which carried contacts are pushed. Around a thin or sharp collider the
/// contacts of its sides push against each other: then to smaller ones, in the end to those they have.
const CARRIED_GAPS: [f64; 3] = [0.5, 0.05, 0.0];
/// How often this is tried again after points without room were released.
const PINCH_CARRIES: u32 = 4;
/// The shortest distance in a part, over the thickness, in which driven points must find room.
const LEAST_MOVE: f64 = 0.1;

/// Work of the parts of a step.
#[derive(Default)]
struct Tally {
    iterations: u32,
    linear_iterations: u32,
    cuts: Cuts,
    all_converged: bool,
    residual: f64,
    correction: Option<Correction>,
    pinched: u32,
    times: StageTimes,
}

impl ImplicitStepper {
    /// A step of `dt` seconds.
    pub(super) fn step_in_parts(
        &mut self,
        scene_state: &SceneState,
        dt: f64,
        deadline: Option<Instant>,
    ) -> Result<StepReport, Error> {
        let (mut time, end) = (scene_state.time, scene_state.time + dt);
        let mut tally = Tally { all_converged: true, ..Tally::default() };
        // The longest part to try: half of one that failed, twice one that did not.
        let mut longest = dt;
        // Colliders that were stopped try to follow once per step, not in ever shorter parts.
        self.may_wait = scene_state.contact.pinch == Pinch::Stop;
        let mut waits = self.may_wait && self.system.contact_system.is_late();
        loop {
            let left = end - time;
            let last = left <= longest * (1.0 + 1e-9);
            let length = if last { left } else { longest.min(0.5 * left) };
            let span = [time, if last { end } else { time + length }];
            let planned = self.plan_part(scene_state, span)?;
            let shortest = self.shortest_part(scene_state, length, dt)?;
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if !late && !waits && planned < 0.75 * length && planned >= shortest {
                longest = planned;
                continue;
            }
            let may_repeat = length > 1.5 * shortest && !waits;
            let Some(report) = self.part(scene_state, span, deadline, may_repeat && !late)? else {
                longest = 0.5 * length;
                continue;
            };
            tally.add(&self.outcome, self.start_cuts, &report);
            if last {
                return Ok(tally.finish(report));
            }
            time = span[1];
            waits |= self.lag > 0.0 && self.system.contact_system.is_late();
            longest = if waits { dt } else { 2.0 * length };
        }
    }

    /// How long the next part should be at most, in seconds.
    fn plan_part(&mut self, scene_state: &SceneState, span: [f64; 2]) -> Result<f64, Error> {
        let whole = span[1] - span[0];
        self.begin_step(scene_state, span)?;
        self.start_cuts = Cuts::default();
        if !self.is_driven() {
            return Ok(whole);
        }
        let far = self.system.contact_system.farthest_driven()?.max(self.farthest_pin());
        let parts = (far / (PART_LENGTH * scene_state.contact.thickness())).ceil();
        if parts <= 1.0 {
            return Ok(whole);
        }
        let free = self.advance_flying()?;
        self.system.contact_system.set_pose(0.0)?;
        if free >= 1.0 {
            return Ok(whole);
        }
        // Up to where something is met, one part is enough.
        let met = free * whole;
        let short = whole / parts;
        Ok(if met > 2.0 * short { met - short } else { short })
    }

    /// How long a part is at least, in seconds: in less time driven points do not move by a noteworthy distance.
    fn shortest_part(&mut self, scene_state: &SceneState, length: f64, dt: f64) -> Result<f64, Error> {
        let far = self.system.contact_system.farthest_driven()?.max(self.farthest_pin());
        let noteworthy = length * LEAST_MOVE * scene_state.contact.thickness() / far.max(f64::MIN_POSITIVE);
        Ok(noteworthy.clamp(dt / MOST_PARTS, dt))
    }

    /// Whether a pin or collider moves in this step.
    fn is_driven(&self) -> bool {
        !self.system.contact_system.is_empty()
            && (!self.system.contact_system.colliders_rest() || self.farthest_pin() > 0.0)
    }

    /// The farthest that a pin is from its target.
    fn farthest_pin(&self) -> f64 {
        let pins = self.fixed.iter().zip(self.x.iter().zip(&self.work.pinned)).filter(|(fixed, _)| **fixed);
        pins.map(|(_, (x, target))| x.distance_squared(*target)).fold(0.0, f64::max).sqrt()
    }

    /// Moves everything on in free flight from the step's start, as far as nothing meets; returns the fraction.
    fn advance_flying(&mut self) -> Result<f64, Error> {
        self.fly();
        let Self { system, work, x, .. } = self;
        let free = system.contact_system.advance(x, &work.flying, 1.0)?;
        approach(&mut work.flying, x, free);
        Ok(free)
    }

    /// One part of a step that was started; `None` if driven points did not arrive and it may be repeated.
    fn part(
        &mut self,
        scene_state: &SceneState,
        span: [f64; 2],
        deadline: Option<Instant>,
        may_repeat: bool,
    ) -> Result<Option<StepReport>, Error> {
        let (started, dt) = (Instant::now(), span[1] - span[0]);
        self.begin_minimiser();
        let driven = self.is_driven();
        if !driven {
            self.system.end_motion()?;
        } else {
            // Residuals relate to the forces where the step starts.
            self.work.next.clone_from(&self.x);
        }
        let limits = StoppingCriteria {
            initial: None,
            tolerance: scene_state.solver.gradient_tolerance(),
            reference: self.reference(scene_state),
            step_tolerance: step_tolerance(scene_state, dt),
            max_iterations: scene_state.solver.max_iterations,
            deadline,
            record: scene_state.record,
            max_displacement: self.max_displacement(scene_state),
        };
        let (minimising, earlier) = (Instant::now(), self.cycle_times());
        if driven {
            if !self.drive(scene_state, &limits, if may_repeat { ROUNDS } else { LAST_ROUNDS })? {
                if may_repeat {
                    return Ok(None);
                }
                let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                if scene_state.contact.pinch == Pinch::Release && !late {
                    self.release_pinched(scene_state, &limits)?;
                }
            }
            self.minimise_again(scene_state, &limits)?;
        } else {
            if scene_state.mode == Mode::Dynamic {
                self.choose_initial_guess();
            }
            self.minimise_first(scene_state, &limits)?;
        }
        if scene_state.mode == Mode::Quasistatic && !self.system.wind.is_still() {
            self.settle_in_wind(scene_state, span[1], &limits)?;
        }
        self.resolve_intersections(scene_state, &limits)?;
        let (ended, cycles) = (Instant::now(), self.cycle_times().since(&earlier));
        let correction = self.verify(scene_state, dt)?;
        if scene_state.contact.friction_model == FrictionModel::Impulse {
            self.apply_friction_impulses(dt);
        }
        std::mem::swap(&mut self.x, &mut self.work.next);
        for (v, (new, old)) in self.v.iter_mut().zip(self.x.iter().zip(&self.work.next)) {
            *v = match scene_state.mode {
                Mode::Dynamic => (*new - *old) / dt,
                Mode::Quasistatic => DVec3::ZERO,
            };
        }
        self.system.contacts.end_step(&self.x);
        self.system.contact_system.record_end(&self.x, &self.fixed, &self.work.pinned)?;
        self.system.contact_system.end_step(&self.x);
        self.lag = self.system.contact_system.lag()?.max(self.farthest_pin());
        let report = self.report(scene_state);
        let times = self.times([started, minimising, ended], cycles);
        Ok(Some(StepReport { times, correction, ..report }))
    }

    /// Moves the driven points to the step's end; returns whether they arrived. `work.next` is then free of contact there.
    fn drive(
        &mut self,
        scene_state: &SceneState,
        limits: &StoppingCriteria<'_>,
        rounds: u32,
    ) -> Result<bool, Error> {
        self.outcome.restart();
        if self.begin_driving(scene_state)? {
            return Ok(true);
        }
        let round = StoppingCriteria { max_iterations: ROUND_ITERATIONS, ..*limits };
        let mut pose_before = 0.0;
        self.work.earlier.clone_from(&self.x);
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
            self.minimise_again(scene_state, &round)?;
            self.extrapolate(pose, pose_before)?;
            pose_before = pose;
            self.work.earlier.clone_from(&self.work.next);
            if self.advance_carried()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Releases what has no room, little by little, until the driven points arrive; in the end they do in any case.
    fn release_pinched(
        &mut self,
        scene_state: &SceneState,
        limits: &StoppingCriteria<'_>,
    ) -> Result<(), Error> {
        let round = StoppingCriteria { max_iterations: ROUND_ITERATIONS, ..*limits };
        for more in 0..ContactSystem::PINCH_ROUNDS {
            self.system.contact_system.release_pinched(&self.work.next, more);
            self.work.targets.clone_from(&self.work.next);
            let StepBuffers { targets, pinned, .. } = &mut self.work;
            for (v, _) in self.fixed.iter().enumerate().filter(|(_, fixed)| **fixed) {
                targets[v] = pinned[v];
            }
            for _ in 0..PINCH_CARRIES {
                if self.advance_carried()? {
                    return Ok(());
                }
            }
            self.minimise_again(scene_state, &round)?;
        }
        let StepBuffers { next, pinned, .. } = &mut self.work;
        for (v, _) in self.fixed.iter().enumerate().filter(|(_, fixed)| **fixed) {
            next[v] = pinned[v];
        }
        self.system.contact_system.force_to_end(&self.work.next)
    }

    /// The first round; returns whether the driven points arrived. If they do with the bodies at rest as well as in flight, the lower
    /// guess is taken.
    fn begin_driving(&mut self, scene_state: &SceneState) -> Result<bool, Error> {
        self.work.targets.clone_from(&self.work.pinned);
        if scene_state.mode == Mode::Quasistatic {
            self.work.next.clone_from(&self.x);
            return self.advance_carried();
        }
        self.fly();
        std::mem::swap(&mut self.work.targets, &mut self.work.flying);
        self.work.next.clone_from(&self.x);
        if !self.advance_carried()? {
            return Ok(false);
        }
        self.system.contact_system.set_pose(0.0)?;
        let Self { system, work, x, .. } = self;
        let resting = system.contact_system.advance(x, &work.pinned, 1.0)?;
        if resting < 1.0 {
            self.system.contact_system.set_pose(1.0)?;
        } else {
            let StepBuffers { next, flying, pinned, .. } = &mut self.work;
            std::mem::swap(next, flying);
            next.clone_from(pinned);
            self.free_force();
            self.take_lower_guess();
        }
        Ok(true)
    }

    /// Where the bodies would be at the step's end if they went on as in the last round, in `work.targets`, with pins at theirs. A round
    /// also settles what was out of balance before: nothing goes on much farther than what drives it.
    fn extrapolate(&mut self, pose: f64, pose_before: f64) -> Result<(), Error> {
        let far = self.system.contact_system.farthest_driven()?;
        let StepBuffers { next, targets, pinned, earlier, .. } = &mut self.work;
        let more = if pose > pose_before { (1.0 - pose) / (pose - pose_before) } else { 0.0 };
        let fixed = &self.fixed;
        let pins = (0..next.len()).filter(|&v| fixed[v]).map(|v| next[v].distance_squared(pinned[v]));
        let farthest = FARTHEST_EXTRAPOLATED * pins.fold(far * far, f64::max).sqrt();
        targets.clear();
        let goes = |v: usize| match fixed[v] {
            true => pinned[v],
            false => next[v] + (more * (next[v] - earlier[v])).clamp_length_max(farthest),
        };
        targets.extend((0..next.len()).map(goes));
        Ok(())
    }

    /// Moves on from `work.next` towards `work.targets` as far as nothing meets; what is in the way of a driven surface is carried along by
    /// it. Returns whether the driven points arrived.
    fn advance_carried(&mut self) -> Result<bool, Error> {
        let Self { system, work, fixed, .. } = self;
        let StepBuffers { next, flying: to, targets, .. } = work;
        let contact = &mut system.contact_system;
        // Colliders that wait try again and again: contacts that are not pushed away would come ever nearer.
        let tries = if self.may_wait { 1 } else { CARRIED_GAPS.len() };
        let mut gaps = CARRIED_GAPS.into_iter().take(tries);
        let mut gap = gaps.next().unwrap_or(0.0);
        for _ in 0..CARRIES {
            let pose = contact.pose();
            if pose >= 1.0 {
                return Ok(true);
            }
            to.clone_from(targets);
            contact.carry_along(next, to, fixed, gap)?;
            let free = contact.advance(next, to, 1.0)?;
            approach(to, next, free);
            std::mem::swap(next, to);
            if contact.pose() - pose < LEAST_CARRY * (1.0 - pose) {
                let Some(smaller) = gaps.next() else { break };
                gap = smaller;
            }
        }
        Ok(contact.pose() >= 1.0)
    }
}

impl Tally {
    fn add(&mut self, outcome: &Outcome, start_cuts: Cuts, report: &StepReport) {
        self.iterations += outcome.iterations;
        self.linear_iterations += outcome.linear_iterations;
        self.cuts += outcome.cuts;
        self.cuts += start_cuts;
        self.all_converged &= outcome.stop == Termination::Converged;
        self.residual = self.residual.max(report.residual.unwrap_or(0.0));
        self.correction = self.correction.into_iter().chain(report.correction).reduce(Correction::worse);
        self.pinched = self.pinched.max(report.pinched);
        self.times += report.times;
    }

    /// The report of the last part, with the work of all.
    fn finish(self, report: StepReport) -> StepReport {
        StepReport {
            nonlinear_iterations: self.iterations,
            linear_iterations: self.linear_iterations,
            cuts: self.cuts.all,
            island_cuts: self.cuts.by_island,
            global_cuts: self.cuts.global,
            converged: self.all_converged,
            residual: Some(self.residual),
            correction: self.correction,
            pinched: self.pinched,
            times: self.times,
            ..report
        }
    }
}

/// Shortens the displacement from `from` to `to` to a fraction.
fn approach(to: &mut [DVec3], from: &[DVec3], part: f64) {
    if part < 1.0 {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.lerp(*to, part));
    }
}
