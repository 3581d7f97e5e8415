//! A step in which colliders or pins are driven. At its end they are where their motion says; on the way the bodies yield.
//!
//! A step is made in parts of time, as few as possible: one, unless something driven would meet a surface on the way. Within a part
//! the driven points follow their motion as far as the bodies leave room, the objective is minimised there, which pushes the bodies
//! on, and so forth until the driven points arrive:
//!
//! ```text
//! pose 0 ── as far as free ─▶ pose p ── minimise ─▶ extrapolate bodies by their motion since the last round ── as far as free ─▶ ...
//! ```
//!
//! A part in which they do not arrive within a few rounds is repeated with half the duration: bodies that were pushed keep the velocity, so
//! that in the next part they move out of the way by themselves.

use std::time::Instant;

use glam::DVec3;

use super::implicit::{ImplicitStepper, StepBuffers, step_tolerance};
use super::optimize::{Outcome, StoppingCriteria, Termination};
use crate::scene::{FrictionModel, Mode};
use crate::scene_state::SceneState;
use crate::stepper::StepReport;
use supple_core::Error;

/// Parts of a step at most.
const MOST_PARTS: f64 = 1024.0;
/// How far driven points may move in one part towards something in their way, in multiples of the thickness.
const PART_LENGTH: f64 = 8.0;
/// Rounds of a part in which driven points must arrive.
const ROUNDS: u32 = 24;
/// Iterations of a round after which the driven points try to move on.
const ROUND_ITERATIONS: u32 = 4;

/// Work of the parts of a step.
#[derive(Default)]
struct Tally {
    iterations: u32,
    linear_iterations: u32,
    cuts: u32,
    all_converged: bool,
    residual: f64,
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
        let mut length = dt;
        loop {
            let last = end - time <= length * (1.0 + 1e-9);
            let span = [time, if last { end } else { time + length }];
            let planned = self.plan_part(scene_state, span)?;
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if !late && planned < 0.75 * (span[1] - span[0]) && planned >= dt / MOST_PARTS {
                length = planned;
                continue;
            }
            let may_repeat = span[1] - span[0] > 1.5 * dt / MOST_PARTS;
            let Some(report) = self.part(scene_state, span, deadline, may_repeat && !late)? else {
                length = 0.5 * (span[1] - span[0]);
                continue;
            };
            tally.add(&self.outcome, self.start_cuts, &report);
            if last {
                return Ok(tally.finish(report));
            }
            time = span[1];
            length = end - time;
        }
    }

    /// How long the next part should be at most, in seconds.
    fn plan_part(&mut self, scene_state: &SceneState, span: [f64; 2]) -> Result<f64, Error> {
        let whole = span[1] - span[0];
        self.begin_step(scene_state, span)?;
        self.start_cuts = 0;
        if !self.is_driven() {
            return Ok(whole);
        }
        let far = self.system.contact_system.farthest_driven()?.max(self.farthest_pin());
        let parts = (far / (PART_LENGTH * scene_state.contact.thickness)).ceil();
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

    /// Whether a pin or collider moves in this step.
    fn is_driven(&self) -> bool {
        !self.system.contact_system.is_empty()
            && (!self.system.contact_system.colliders_rest() || self.farthest_pin() > 0.0)
    }

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
            tolerance: scene_state.solver.tolerance,
            reference: self.reference(scene_state),
            step_tolerance: step_tolerance(scene_state, dt),
            max_iterations: scene_state.solver.max_iterations,
            deadline,
            record: scene_state.record,
            max_displacement: self.max_displacement(scene_state),
        };
        let (minimising, earlier) = (Instant::now(), self.cycle_times());
        if driven {
            if !self.drive(scene_state, &limits)? && may_repeat {
                return Ok(None);
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
        self.system.contact_system.end_step(&self.x);
        let report = self.report(scene_state);
        Ok(Some(StepReport { times: self.times([started, minimising, ended], cycles), ..report }))
    }

    /// Moves the driven points to the step's end; returns whether they arrived. `work.next` is then free of contact there.
    fn drive(&mut self, scene_state: &SceneState, limits: &StoppingCriteria<'_>) -> Result<bool, Error> {
        self.outcome.restart();
        self.begin_driving(scene_state)?;
        let round = StoppingCriteria { max_iterations: ROUND_ITERATIONS, ..*limits };
        let mut pose_before = 0.0;
        self.work.earlier.clone_from(&self.x);
        for _ in 0..ROUNDS {
            let pose = self.system.contact_system.pose();
            if pose >= 1.0 {
                return Ok(true);
            }
            // Without time to push the bodies on, driven points would only come ever nearer.
            if limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(false);
            }
            self.minimise_again(scene_state, &round)?;
            self.extrapolate(pose, pose_before);
            pose_before = pose;
            self.work.earlier.clone_from(&self.work.next);
            self.advance_to_flying()?;
        }
        Ok(self.system.contact_system.pose() >= 1.0)
    }

    /// The first round: rest or free flight, whichever gets farther; the lower one if both arrive.
    fn begin_driving(&mut self, scene_state: &SceneState) -> Result<(), Error> {
        let StepBuffers { next, pinned, .. } = &mut self.work;
        next.clone_from(&self.x);
        for (v, _) in self.fixed.iter().enumerate().filter(|(_, fixed)| **fixed) {
            next[v] = pinned[v];
        }
        let resting = self.system.contact_system.advance(&self.x, next, 1.0)?;
        approach(next, &self.x, resting);
        let rest_pose = self.system.contact_system.pose();
        if scene_state.mode == Mode::Quasistatic {
            return Ok(());
        }
        self.system.contact_system.set_pose(0.0)?;
        let flying = self.advance_flying()?;
        if flying >= 1.0 && resting >= 1.0 {
            self.free_force();
            self.take_lower_guess();
        } else if flying >= resting {
            std::mem::swap(&mut self.work.next, &mut self.work.flying);
        } else {
            self.system.contact_system.set_pose(rest_pose)?;
        }
        Ok(())
    }

    /// Where the bodies would be at the step's end if they went on as in the last round, in `work.flying`, with pins at their targets.
    fn extrapolate(&mut self, pose: f64, pose_before: f64) {
        let StepBuffers { next, flying, pinned, earlier, .. } = &mut self.work;
        let more = if pose > pose_before { (1.0 - pose) / (pose - pose_before) } else { 0.0 };
        flying.clear();
        let fixed = &self.fixed;
        let goes = |v: usize| if fixed[v] { pinned[v] } else { next[v] + more * (next[v] - earlier[v]) };
        flying.extend((0..next.len()).map(goes));
    }

    /// Moves on from `work.next` towards `work.flying` as far as nothing meets, or with the free vertices at rest if that is farther.
    fn advance_to_flying(&mut self) -> Result<(), Error> {
        let Self { system, work, fixed, .. } = self;
        let StepBuffers { next, flying, still, .. } = work;
        let pose = system.contact_system.pose();
        let free = system.contact_system.advance(next, flying, 1.0)?;
        if free >= 1.0 {
            std::mem::swap(next, flying);
            return Ok(());
        }
        let moved_pose = system.contact_system.pose();
        system.contact_system.set_pose(pose)?;
        still.clone_from(next);
        for (v, _) in fixed.iter().enumerate().filter(|(_, fixed)| **fixed) {
            still[v] = flying[v];
        }
        let resting = system.contact_system.advance(next, still, 1.0)?;
        if resting > free {
            approach(still, next, resting);
            std::mem::swap(next, still);
        } else {
            system.contact_system.set_pose(moved_pose)?;
            approach(flying, next, free);
            std::mem::swap(next, flying);
        }
        Ok(())
    }
}

impl Tally {
    fn add(&mut self, outcome: &Outcome, start_cuts: u32, report: &StepReport) {
        self.iterations += outcome.iterations;
        self.linear_iterations += outcome.linear_iterations;
        self.cuts += outcome.cuts + start_cuts;
        self.all_converged &= outcome.stop == Termination::Converged;
        self.residual = self.residual.max(report.residual.unwrap_or(0.0));
    }

    /// The report of the last part, with the work of all.
    fn finish(self, report: StepReport) -> StepReport {
        StepReport {
            nonlinear_iterations: self.iterations,
            linear_iterations: self.linear_iterations,
            cuts: self.cuts,
            converged: self.all_converged,
            residual: Some(self.residual),
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
