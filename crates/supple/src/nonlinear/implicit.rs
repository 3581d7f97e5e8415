//! Implicit Euler: every step minimises inertia plus the energies of elements, attachments, contact and wind, for all
//! bodies of the scene as one system. In quasi-statics inertia is left out, but for a trace that holds free bodies.

use std::sync::Arc;
use std::time::Instant;

use glam::DVec3;

use super::method::{Nodes, minimiser};
use super::objective::{Limits, Minimiser, Objective, Outcome, Stop, norm};
use super::system::System;
use crate::contact::PosedCollider;
use crate::error::Error;
use crate::geometry::Aabb;
use crate::scene::{Mode, Tangled};
use crate::simulation::{
    EnergyReport, Inspection, Setup, StageTimes, StateReader, StateWriter, StepReport, Stepper,
};

/// The step in seconds by which quasi-statics weighs inertia: too long for it to matter beside elasticity, short enough to
/// keep the matrix of a free body definite.
const QUASISTATIC_STEP: f64 = 1000.0;

/// How far an iteration of quasi-statics may move a vertex, as a fraction of the size of all bodies together.
const QUASISTATIC_MOVE: f64 = 0.05;

/// How many crossing triangles are named to the user.
const NAMED_CROSSINGS: usize = 5;

/// How often a step tries to bring pins home whose way surfaces block.
const PIN_ROUNDS: u32 = 4;

/// Implicit Euler by any nonlinear method.
#[derive(Default)]
pub struct ImplicitStepper {
    x: Vec<DVec3>,
    v: Vec<DVec3>,
    system: System,
    held: Vec<bool>,
    minimiser: Option<Box<dyn Minimiser>>,
    outcome: Outcome,
    /// How often the way to where a step begins was cut short, since surfaces would have touched.
    start_cuts: u32,
    work: Work,
}

/// Vectors of a step over all vertices, kept so that steps allocate nothing.
#[derive(Default)]
struct Work {
    /// Where the step begins to minimise, and ends.
    next: Vec<DVec3>,
    /// Where everything would fly freely.
    flying: Vec<DVec3>,
    /// Where held vertices are at the step's end.
    pinned: Vec<DVec3>,
    forces: Vec<DVec3>,
    held: Vec<bool>,
    /// Empty: room for the colliders of the next step.
    colliders: Vec<PosedCollider>,
}

impl ImplicitStepper {
    /// A stepper for the bodies of a setup, at their start.
    pub fn new(setup: &Setup) -> Self {
        let mut stepper = Self::default();
        stepper.bodies_changed(setup, &vec![None; setup.bodies.len()]);
        stepper
    }

    /// Sets up the energies of a step; `work.next` becomes the positions with held vertices where their pins are at its
    /// end.
    fn begin_step(&mut self, setup: &Setup, dt: f64) -> Result<(), Error> {
        let end = setup.time + dt;
        self.pose_colliders(setup, [setup.time, end])?;
        let system = &mut self.system;
        system.contacts.begin_step(&self.x, dt);
        system.self_contact.begin_step(&self.x, dt);
        system.wind.begin_step(&system.contacts.points, &self.x, &self.v, &setup.world, setup.time, dt);
        let (step, damped) = match setup.mode {
            Mode::Dynamic => (dt, dt),
            Mode::Quasistatic => (QUASISTATIC_STEP, f64::INFINITY),
        };
        system.inertia.rate = 1.0 / (step * step);
        system.inertia.gravity = setup.world.gravity;
        system.inertia.target.clear();
        system.inertia.target.extend(self.x.iter().zip(&self.v).map(|(x, v)| *x + dt * *v));
        let work = &mut self.work;
        work.next.clone_from(&self.x);
        system.apply_pins(setup, end, &mut work.next, &mut work.held);
        work.pinned.clone_from(&work.next);
        if self.minimiser.is_none() || work.held != self.held {
            self.held.clone_from(&work.held);
            self.analyse(setup, damped)?;
        }
        self.system.elastic.iter_mut().for_each(|energy| energy.begin_step(&self.x, damped));
        Ok(())
    }

    fn pose_colliders(&mut self, setup: &Setup, times: [f64; 2]) -> Result<(), Error> {
        let mut posed = std::mem::take(&mut self.work.colliders);
        let mut before = std::mem::take(&mut self.system.contacts.colliders);
        let mut earlier = before.drain(..);
        for (_, collider) in &setup.colliders {
            posed.push(PosedCollider::new(collider, &setup.collider_meshes, times, earlier.next())?);
        }
        drop(earlier);
        self.system.contacts.colliders = posed;
        self.work.colliders = before;
        Ok(())
    }

    /// Chooses the method's structure from where the bodies started, not from where they are: a resumed run must choose the
    /// same.
    fn analyse(&mut self, setup: &Setup, damped: f64) -> Result<(), Error> {
        let pattern = Arc::new(self.system.analyse(setup, &self.held));
        let start: Vec<DVec3> = setup.bodies.iter().flat_map(|body| &body.start).copied().collect();
        let free = start.iter().zip(&self.held).filter(|(_, held)| !**held);
        let positions: Arc<[DVec3]> = free.map(|(x, _)| *x).collect();
        let at_start = setup.solver.linear.follows_stiffness().then(|| {
            let pattern = pattern.clone();
            self.system.start_matrix(&start, damped, pattern)
        });
        let nodes = Nodes { pattern, vertices: self.x.len(), positions, at_start };
        let made = minimiser(&setup.solver, nodes, setup.simd);
        self.minimiser = Some(made.map_err(Error::Invalid)?);
        Ok(())
    }

    /// Takes the better start of the two natural ones: where everything was, or where it would fly freely. Free flight
    /// makes momentum exact, rest makes a hanging cloth start in its solution. `arrived` says whether the pins came home in
    /// the first; where surfaces are in the way the flight ends early. Returns whether the pins came home.
    fn choose_start(&mut self, arrived: bool) -> bool {
        let Work { next: resting, flying, pinned, .. } = &mut self.work;
        flying.clear();
        let fly = |v: usize| if self.held[v] { pinned[v] } else { self.system.inertia.flight(v) };
        flying.extend((0..resting.len()).map(fly));
        let whole = walk(&self.system, &self.x, flying, &mut self.start_cuts);
        let landed = whole || self.system.self_contact.is_empty() || self.pins_are_home(&self.work.flying);
        let Work { next: resting, flying, .. } = &mut self.work;
        let better = self.system.value(flying) <= self.system.value(resting);
        if (landed && !arrived) || (landed == arrived && better) {
            std::mem::swap(resting, flying);
        }
        landed || arrived
    }

    fn pins_are_home(&self, x: &[DVec3]) -> bool {
        let held = self.held.iter().zip(x.iter().zip(&self.work.pinned)).filter(|(held, _)| **held);
        held.into_iter().all(|(_, (x, pinned))| x == pinned)
    }

    /// Moves held vertices on towards their pins; returns whether they are there.
    fn move_pins(&mut self) -> bool {
        let Work { next, flying: to, pinned, .. } = &mut self.work;
        to.clone_from(next);
        for (v, _) in self.held.iter().enumerate().filter(|(_, held)| **held) {
            to[v] = pinned[v];
        }
        let arrived = walk(&self.system, next, to, &mut self.start_cuts);
        std::mem::swap(next, to);
        arrived
    }

    /// The norm of the forces on vertices that are not held, where the step begins.
    fn free_force(&mut self) -> f64 {
        let Work { next, forces, .. } = &mut self.work;
        forces.resize(next.len(), DVec3::ZERO);
        self.system.gradient(next, forces);
        for (force, _) in forces.iter_mut().zip(&self.held).filter(|(_, held)| **held) {
            *force = DVec3::ZERO;
        }
        norm(forces)
    }

    /// How far an iteration may move a vertex: anywhere in dynamics, where inertia holds it back. In quasi-statics nothing
    /// does before a free body touches what will hold it, and a full step would carry it past.
    fn longest_move(&self, setup: &Setup) -> f64 {
        match setup.mode {
            Mode::Dynamic => f64::INFINITY,
            Mode::Quasistatic => {
                let bounds = Aabb::of_points(&self.x);
                QUASISTATIC_MOVE * (bounds.high - bounds.low).length()
            }
        }
    }

    /// A force below which nothing is worth solving: a billionth of the weight, or of what would move the bodies by
    /// a nanometre in a second where nothing weighs.
    fn force_floor(&self, setup: &Setup) -> f64 {
        let masses = self.system.inertia.mass.iter().map(|m| m * m).sum::<f64>().sqrt();
        1e-9 * masses * setup.world.gravity.length().max(1.0)
    }

    fn minimise(&mut self, setup: &Setup, limits: &Limits) -> Result<(), Error> {
        let Some(minimiser) = &mut self.minimiser else {
            return Err(setup.failed("the system was not analysed"));
        };
        let done = minimiser.minimise(&self.system, &mut self.work.next, limits, &mut self.outcome);
        done.map_err(|problem| setup.failed(problem))
    }

    /// Another round of the same step, whose work adds up.
    fn minimise_again(&mut self, setup: &Setup, limits: &Limits) -> Result<(), Error> {
        let Outcome { iterations, linear_iterations, cuts, assembly_time, solve_time, .. } = self.outcome;
        self.minimise(setup, limits)?;
        self.outcome.iterations += iterations;
        self.outcome.linear_iterations += linear_iterations;
        self.outcome.cuts += cuts;
        self.outcome.assembly_time += assembly_time;
        self.outcome.solve_time += solve_time;
        Ok(())
    }

    fn report(&self, setup: &Setup, begun: Instant) -> StepReport {
        let outcome = &self.outcome;
        let mass = &self.system.inertia.mass;
        let kinetic = self.v.iter().zip(mass).map(|(v, m)| 0.5 * m * v.length_squared()).sum();
        let gravity = setup.world.gravity;
        let potential = self.x.iter().zip(mass).map(|(x, m)| -m * gravity.dot(*x)).sum();
        let (contacts, penetration) = self.system.contacts.count_and_depth(&self.x);
        let touching = self.system.self_contact.summary(&self.x);
        StepReport {
            nonlinear_iterations: outcome.iterations,
            linear_iterations: outcome.linear_iterations,
            residual: outcome.residual(),
            converged: matches!(outcome.stop, Stop::Converged | Stop::Rounding),
            energy: EnergyReport { kinetic, elastic: self.system.elastic_energy(&self.x), potential },
            contacts,
            penetration,
            pairs: touching.pairs,
            closest: touching.closest,
            cuts: outcome.cuts + self.start_cuts,
            crossings: touching.crossings,
            times: StageTimes {
                assembly: outcome.assembly_time.as_secs_f64(),
                solve: outcome.solve_time.as_secs_f64(),
                total: begun.elapsed().as_secs_f64(),
            },
        }
    }
}

impl Stepper for ImplicitStepper {
    fn step(&mut self, setup: &Setup, dt: f64, deadline: Option<Instant>) -> Result<StepReport, Error> {
        let begun = Instant::now();
        self.begin_step(setup, dt)?;
        self.start_cuts = 0;
        let mut arrived = walk(&self.system, &self.x, &mut self.work.next, &mut self.start_cuts);
        let limits = Limits {
            tolerance: setup.solver.tolerance,
            // Without any body there is no force at all.
            reference: self.free_force().max(self.force_floor(setup)).max(f64::MIN_POSITIVE),
            max_iterations: setup.solver.max_iterations,
            deadline,
            record: setup.record,
            longest_move: self.longest_move(setup),
        };
        if setup.mode == Mode::Dynamic {
            arrived = self.choose_start(arrived);
        }
        self.minimise(setup, &limits)?;
        for _ in 0..PIN_ROUNDS {
            if arrived {
                break;
            }
            arrived = self.move_pins();
            self.minimise_again(setup, &limits)?;
        }
        std::mem::swap(&mut self.x, &mut self.work.next);
        for (v, (new, old)) in self.v.iter_mut().zip(self.x.iter().zip(&self.work.next)) {
            *v = match setup.mode {
                Mode::Dynamic => (*new - *old) / dt,
                Mode::Quasistatic => DVec3::ZERO,
            };
        }
        Ok(self.report(setup, begun))
    }

    fn surface_positions(&self, positions: &mut [DVec3]) {
        let points = &self.system.contacts.points;
        for (i, position) in positions.iter_mut().enumerate() {
            *position = points.position(i, &self.x);
        }
    }

    fn bodies_changed(&mut self, setup: &Setup, old_index: &[Option<usize>]) {
        let (old_x, old_v) = (std::mem::take(&mut self.x), std::mem::take(&mut self.v));
        let old_first = std::mem::take(&mut self.system.first_unknown);
        for (body, old) in setup.bodies.iter().zip(old_index) {
            match old {
                Some(old) => {
                    let range = old_first[*old] as usize..old_first[old + 1] as usize;
                    self.x.extend_from_slice(&old_x[range.clone()]);
                    self.v.extend_from_slice(&old_v[range]);
                }
                None => {
                    self.x.extend_from_slice(&body.start);
                    self.v.extend(body.start.iter().map(|_| body.velocity));
                }
            }
        }
        self.system = System::new(setup);
        if !self.system.self_contact.is_empty() {
            self.system.self_contact.look_for_tangle(&self.x);
        }
        self.minimiser = None;
    }

    fn unknown_positions(&self) -> &[DVec3] {
        &self.x
    }

    fn unknown_velocities(&self) -> &[DVec3] {
        &self.v
    }

    fn masses(&self) -> &[f64] {
        &self.system.inertia.mass
    }

    fn save(&self, state: &mut StateWriter) {
        state.vectors(&self.x);
        state.vectors(&self.v);
        if !self.system.self_contact.is_empty() {
            state.whole(u64::from(self.system.self_contact.is_tangled()));
        }
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        let x = state.vectors(self.x.len())?;
        let v = state.vectors(self.v.len())?;
        if !self.system.self_contact.is_empty() {
            let tangled = state.whole()? != 0;
            self.system.self_contact.set_tangled(tangled);
        }
        (self.x, self.v) = (x, v);
        Ok(())
    }

    fn notes(&self, setup: &Setup) -> Vec<String> {
        let crossings = &self.system.self_contact.tangle().crossings;
        if crossings.is_empty() {
            return Vec::new();
        }
        let fate = match setup.contact.tangled {
            Tangled::Push => "they are drawn apart gently",
            Tangled::Ignore => "they pass through each other until they are apart",
        };
        let named = crossings.iter().take(NAMED_CROSSINGS);
        let mut names: Vec<String> = named.map(|pair| self.system.name_crossing(setup, *pair)).collect();
        if crossings.len() > NAMED_CROSSINGS {
            names.push("...".to_owned());
        }
        let count = crossings.len();
        vec![format!("{count} pairs of triangles cross at the start ({}); {fate}", names.join("; "))]
    }

    fn inspect(&self) -> Inspection {
        Inspection {
            residuals: self.outcome.residuals.clone(),
            history: self.outcome.history.clone(),
            bytes: self.minimiser.as_ref().map_or(0, |minimiser| minimiser.bytes()),
        }
    }
}

/// Cuts the way between two states where surfaces would touch, so that `to` can be reached; returns whether it was whole.
fn walk(system: &System, from: &[DVec3], to: &mut [DVec3], cuts: &mut u32) -> bool {
    let free = system.free_way(from, to);
    if free >= 1.0 {
        return true;
    }
    *cuts += 1;
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from + free * (*to - *from));
    false
}
