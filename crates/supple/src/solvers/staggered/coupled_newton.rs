//! Newton's method on all bodies together, with contact among the forces on material points. The mixed system has no objective whose value
//! could be compared; but along a step its residual is the slope of the energy. Steps are made as far as nothing meets, and shortened
//! where the slope says that they have gone past the minimum.

use std::time::Instant;

use glam::DVec3;

use crate::contact::barrier::PieceOrigin;
use crate::dynamics::System;
use crate::dynamics::optimize::{MinimiseError, StepRule, Stopping, Termination, iterate};
use crate::energy::Energy;
use crate::material::HessianMode;
use crate::scene_state::SceneState;
use crate::solvers::staggered::body::LatticeBody;
use crate::solvers::staggered::contact_step::{ContactWork, place_bodies};
use crate::solvers::staggered::coupled_solve::StepEnergies;
use crate::solvers::staggered::solve::Limits;
use crate::solvers::staggered::stepper::{
    FIRST_GOAL, LINEAR_SHARE, StaggeredStepper, forcing, point_energies,
};
use supple_core::simd::Simd;
use supple_linear::StopRule;
use supple_linear::vectors::dot_numbers;

/// How far past the minimum along a step the slope may be, over that at its start.
const OVERSHOOT: f64 = 0.5;
/// How often a step is shortened at most, and by which factors.
const SHORTENINGS: u32 = 8;
const LEAST_FACTOR: f64 = 0.1;
const LARGEST_FACTOR: f64 = 0.7;

/// How much of the slope may be left after a whole step with the projected Hessian of friction.
const LEFT: f64 = 0.3;

/// When Newton's method ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewtonLimits {
    pub(super) max_iterations: u32,
    pub(super) tolerance: f64,
    pub(super) deadline: Option<Instant>,
    pub(super) simd: Simd,
}

impl StaggeredStepper {
    /// Iterates from where bodies are; returns why it ended, and the residual over the reference.
    pub(super) fn iterate_newton(
        &mut self,
        limits: &NewtonLimits,
    ) -> Result<(Termination, f64), MinimiseError> {
        self.residuals.clear();
        let stopping = Stopping::begin(limits.max_iterations, limits.deadline);
        let mut rule = CoupledControl {
            stepper: self,
            limits,
            stopping,
            iterations: 0,
            relative: 1.0,
            norm: None,
            friction: HessianMode::PsdProjected,
            shortened: false,
        };
        let stop = iterate(&mut rule)?;
        Ok((stop, rule.relative))
    }

    /// The norm of all residuals in newtons; forces are in `forces`.
    pub(super) fn residual_norm(&mut self) -> f64 {
        self.forces.clear();
        self.forces.resize(self.x.len(), DVec3::ZERO);
        let Self { bodies, system, forces, x, .. } = self;
        for energy in touching_energies(system) {
            energy.add_gradient(x, forces);
        }
        forces.iter_mut().for_each(|f| *f = -*f);
        let ranges = system.first_unknown.windows(2);
        let squares = bodies.iter_mut().zip(ranges).map(|(body, range)| {
            let norm = body.residual(&forces[range[0] as usize..range[1] as usize]);
            (norm / body.force_scale()).powi(2)
        });
        squares.sum::<f64>().sqrt()
    }

    /// The norm of the weight of all unknowns in newtons: no force below it counts as large. Without gravity, of 1 cm/s².
    pub(super) fn weight(&self, scene_state: &SceneState) -> f64 {
        let pull = scene_state.world.gravity.length().max(0.01);
        let of_bodies = self.bodies.iter().map(|body| {
            let cell = body.density * body.placement.cell.powi(3);
            cell * cell * body.hierarchy.finest().lattice().interior_cells() as f64
        });
        pull * of_bodies.sum::<f64>().sqrt()
    }
}

/// The forces on material points and of contact.
fn touching_energies(system: &System) -> [&dyn Energy; 4] {
    let [attachments, contacts, wind] = point_energies(system);
    [attachments, contacts, wind, &system.contact_system]
}

/// One rule for all bodies.
struct CoupledControl<'a> {
    stepper: &'a mut StaggeredStepper,
    limits: &'a NewtonLimits,
    stopping: Stopping,
    iterations: u32,
    /// The residual over the reference.
    relative: f64,
    /// The norm of the residual where bodies are, if it is known.
    norm: Option<f64>,
    /// The Hessian of friction in the next step.
    friction: HessianMode,
    /// Whether the last step went past the minimum along it, and was shortened.
    shortened: bool,
}

impl CoupledControl<'_> {
    /// Why to stop here. The first iteration is done whatever the time: without it bodies would lose their velocity.
    fn limit(&self) -> Option<Termination> {
        let limit = self.stopping.limit(self.iterations);
        limit.filter(|stop| *stop != Termination::Deadline || self.iterations > 0)
    }

    /// The slope of the energy along the last step, where bodies are.
    fn slope(&self) -> f64 {
        let of_body = |body: &LatticeBody| {
            let displacements = 3 * body.len();
            dot_numbers(&body.right[..displacements], &body.step[..displacements]) / body.force_scale()
        };
        self.stepper.bodies.iter().map(of_body).sum()
    }

    /// Shortens the last step while it goes past the minimum; `start` is the slope where it began. Returns the norm of the residual.
    fn shorten(&mut self, mut start: f64) -> f64 {
        let mut norm = self.stepper.residual_norm();
        self.shortened = false;
        for _ in 0..SHORTENINGS {
            let slope = self.slope();
            if start >= 0.0 || slope <= OVERSHOOT * -start {
                break;
            }
            // Where a straight line through both slopes is zero.
            let factor = (start / (start - slope)).clamp(LEAST_FACTOR, LARGEST_FACTOR);
            self.shortened = true;
            self.go_back(1.0 - factor);
            self.stepper.bodies.iter_mut().for_each(|body| body.scale_step(factor));
            start *= factor;
            norm = self.stepper.residual_norm();
        }
        norm
    }

    /// The Hessian of friction after a step with the slope `start`. The projected one is a parabola above the potential, safe but stiff
    /// where points slide: it needs an iteration for every few per cent. Where a whole step has left most of the slope, the exact
    /// one, which is not negative either, is nearer; where a step goes past the minimum the projected one takes over again.
    fn better_friction(&self, free: f64, start: f64) -> HessianMode {
        if self.shortened {
            HessianMode::PsdProjected
        } else if free >= 1.0 && self.slope() < LEFT * start {
            HessianMode::Exact
        } else {
            self.friction
        }
    }

    /// Reverts a fraction of the last step: the way back is as free as the way there.
    fn go_back(&mut self, part: f64) {
        let StaggeredStepper { bodies, system, x, work, .. } = &mut *self.stepper;
        bodies.iter_mut().for_each(|body| body.step_back(part));
        place_bodies(bodies, &system.first_unknown, &mut work.ends);
        system.contact_system.record_piece(x, &work.ends, PieceOrigin::Iteration);
        std::mem::swap(x, &mut work.ends);
    }

    /// Makes the step that was solved for, as far as nothing meets; returns the fraction.
    fn advance(&mut self) -> f64 {
        let StaggeredStepper { bodies, system, x, work, .. } = &mut *self.stepper;
        let ContactWork { ends, tally, .. } = work;
        let first = &system.first_unknown;
        bodies.iter_mut().for_each(|body| body.add_step(1.0));
        ends.resize(x.len(), DVec3::ZERO);
        place_bodies(bodies, first, ends);
        let free = system.contact_system.collision_free_step(x, ends);
        if free < 1.0 {
            tally.cuts += 1;
            bodies.iter_mut().for_each(|body| {
                body.step_back(1.0 - free);
                body.scale_step(free);
            });
            place_bodies(bodies, first, ends);
        }
        system.contact_system.record_piece(x, ends, PieceOrigin::Iteration);
        std::mem::swap(x, ends);
        free
    }
}

impl StepRule for CoupledControl<'_> {
    fn check(&mut self) -> Result<Option<Termination>, MinimiseError> {
        self.stopping.next(self.iterations);
        let limit = self.limit();
        let norm = self.norm.take().unwrap_or_else(|| self.stepper.residual_norm());
        self.stepper.residuals.push(norm);
        self.relative = norm / self.stepper.work.reference;
        if !norm.is_finite() {
            return Ok(Some(Termination::Stalled));
        }
        if self.relative <= self.limits.tolerance {
            return Ok(Some(Termination::Converged));
        }
        Ok(limit)
    }

    fn step(&mut self) -> Result<Option<Termination>, MinimiseError> {
        let StaggeredStepper { bodies, system, x, residuals, work, .. } = &mut *self.stepper;
        let exact = LINEAR_SHARE * self.limits.tolerance / self.relative;
        let stop = StopRule {
            tolerance: exact.max(forcing(residuals)).min(FIRST_GOAL),
            max_iterations: bodies.iter().map(|body| body.options.max_cycles).max().unwrap_or(0) as usize,
            deadline: self.limits.deadline,
        };
        let [attachments, contacts, wind] = point_energies(system);
        let contact = (&system.contact_system as &dyn Energy, self.friction);
        let energies = StepEnergies { soft: &[wind], stiff: &[attachments, contacts], contact };
        let (first, restart) = (&system.first_unknown[..], Limits::default().restart);
        let solve = &mut work.coupled;
        let cycles = solve.solve((bodies, first), (&energies, x), &stop, (restart, self.limits.simd));
        work.tally.cycles += cycles;
        work.tally.iterations += 1;
        self.iterations += 1;
        if !bodies.iter().all(|body| body.step.iter().all(|step| step.is_finite())) {
            return Ok(Some(Termination::Stalled));
        }
        let start = self.slope();
        let free = self.advance();
        self.norm = Some(self.shorten(free * start));
        self.friction = self.better_friction(free, free * start);
        Ok(None)
    }
}
