//! Implicit Euler: every step minimises inertia plus the energies of springs, attachments, contact and wind, for all
//! bodies of the scene as one system.

use std::time::Instant;

use glam::DVec3;

use super::newton::{Limits, gradient_norm};
use super::{Newton, NewtonOutcome, Objective, Stop};
use crate::body::{Body, Elements, Embedding};
use crate::contact::PosedCollider;
use crate::energy::attachment::{Attachment, Attachments};
use crate::energy::contact::Contacts;
use crate::energy::element::ElementSum;
use crate::energy::inertia::Inertia;
use crate::energy::spring::Springs;
use crate::energy::spring_network::{cloth_springs, solid_springs};
use crate::energy::wind::Wind;
use crate::energy::{Curvature, Energy};
use crate::error::Error;
use crate::linear::{BlockMatrix, BlockPattern};
use crate::simulation::{
    EnergyReport, Inspection, Setup, StageTimes, StateReader, StateWriter, StepReport, Stepper,
};

/// Implicit Euler by Newton with a sparse Cholesky solve.
#[derive(Default)]
pub struct ImplicitStepper {
    x: Vec<DVec3>,
    v: Vec<DVec3>,
    mass: Vec<f64>,
    /// The first unknown of each body, and the end.
    first_unknown: Vec<u32>,
    inertia: Inertia,
    springs: ElementSum<Springs, 2>,
    attachments: Attachments,
    contacts: Contacts,
    wind: Wind,
    held: Vec<bool>,
    newton: Option<Newton>,
    residuals: Vec<f64>,
}

/// Inertia and energies together; the gradient is zero at held vertices.
struct Total<'a> {
    energies: [&'a dyn Energy; 5],
    held: &'a [bool],
}

impl Objective for Total<'_> {
    fn value(&self, x: &[DVec3]) -> f64 {
        self.energies.iter().map(|energy| energy.value(x)).sum()
    }

    fn gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        gradient.fill(DVec3::ZERO);
        self.energies.iter().for_each(|energy| energy.add_gradient(x, gradient));
        for (g, _) in gradient.iter_mut().zip(self.held).filter(|(_, held)| **held) {
            *g = DVec3::ZERO;
        }
    }

    fn hessian(&self, x: &[DVec3], curvature: Curvature, hessian: &mut BlockMatrix) {
        self.energies.iter().for_each(|energy| energy.add_hessian(x, curvature, hessian));
    }
}

impl ImplicitStepper {
    /// A stepper for the bodies of a setup, at their start.
    pub fn new(setup: &Setup) -> Self {
        let mut stepper = Self::default();
        stepper.bodies_changed(setup, &vec![None; setup.bodies.len()]);
        stepper
    }

    /// Everything that depends on which bodies there are, but not on where they are.
    fn build_energies(&mut self, setup: &Setup) {
        let mut springs = Vec::new();
        let mut points = Embedding::default();
        let mut triangles = Vec::new();
        self.contacts = Contacts::default();
        self.mass.clear();
        for (body, &first) in setup.bodies.iter().zip(&self.first_unknown) {
            let first_point = points.len() as u32;
            points.append(&body.embedding, first);
            triangles.extend(body.surface_triangles.iter().map(|t| t.map(|p| p + first_point)));
            self.contacts.areas.extend_from_slice(&body.point_areas);
            self.contacts.friction.extend(body.point_areas.iter().map(|_| body.material.friction));
            self.mass.extend_from_slice(&body.mass);
            springs.extend(body_springs(body).into_iter().map(|mut spring| {
                spring.ends = spring.ends.map(|v| v + first);
                spring
            }));
        }
        self.springs = ElementSum::new(Springs::new(springs), self.mass.len(), setup.simd);
        self.wind = Wind::new(&points, triangles);
        self.contacts.points = points;
    }

    /// Moves held vertices to where their pins are at `time` and collects the soft ones; returns which are held.
    fn apply_pins(&mut self, setup: &Setup, time: f64, trial: &mut [DVec3]) -> Vec<bool> {
        self.attachments.attachments.clear();
        // Vertices without mass belong to no element: nothing moves them.
        let mut held: Vec<bool> = self.mass.iter().map(|m| *m <= 0.0).collect();
        for pin in setup.pins.iter().filter(|pin| pin.holds_at(time)) {
            let first = self.first_unknown[pin.body];
            for point in &pin.points {
                let target = pin.target(point, time);
                match (pin.stiffness, &point.weights[..]) {
                    (None, [(v, _)]) => {
                        held[(v + first) as usize] = true;
                        trial[(v + first) as usize] = target;
                    }
                    (stiffness, weights) => self.attachments.attachments.push(Attachment {
                        point: weights.iter().map(|&(v, w)| (v + first, w)).collect(),
                        target,
                        stiffness: stiffness.unwrap_or_else(|| setup.bodies[pin.body].hold_stiffness()),
                    }),
                }
            }
        }
        for grab in setup.grabs.iter().flatten() {
            let first = self.first_unknown[grab.body];
            self.attachments.attachments.push(Attachment {
                point: grab.weights.iter().map(|&(v, w)| (v + first, w)).collect(),
                target: grab.target,
                stiffness: grab.stiffness,
            });
        }
        held
    }

    fn begin_step(&mut self, setup: &Setup, dt: f64) -> Result<Vec<DVec3>, Error> {
        let end = setup.time + dt;
        let mut before = std::mem::take(&mut self.contacts.colliders).into_iter();
        let colliders: Result<Vec<_>, _> = setup
            .colliders
            .iter()
            .map(|(_, collider)| {
                PosedCollider::new(collider, &setup.collider_meshes, [setup.time, end], before.next())
            })
            .collect();
        self.contacts.begin_step(&self.x, dt, colliders?);
        self.springs.elements_mut().begin_step(&self.x, dt);
        self.wind.begin_step(&self.contacts.points, &self.x, &self.v, &setup.world, setup.time, dt);
        self.inertia.weight.clear();
        self.inertia.weight.extend(self.mass.iter().map(|m| m / (dt * dt)));
        self.inertia.target.clear();
        let gravity = setup.world.gravity;
        let flight = self.x.iter().zip(&self.v).map(|(x, v)| *x + dt * *v + dt * dt * gravity);
        self.inertia.target.extend(flight);
        let mut trial = self.x.clone();
        let held = self.apply_pins(setup, end, &mut trial);
        if self.newton.is_none() || held != self.held {
            self.held = held;
            self.analyse(setup)?;
        }
        Ok(trial)
    }

    fn analyse(&mut self, setup: &Setup) -> Result<(), Error> {
        let mut pairs = Vec::new();
        let mut pair = |a: u32, b: u32| pairs.push([a, b]);
        for energy in [&self.springs as &dyn Energy, &self.contacts, &self.wind] {
            energy.couplings(&mut pair);
        }
        // Attachments come and go, but each sits on one element: its edges make room for all of them.
        for (body, &first) in setup.bodies.iter().zip(&self.first_unknown) {
            body.elements.for_each_edge(|a, b| pair(a + first, b + first));
        }
        let pattern = BlockPattern::new(&self.held, &pairs);
        self.springs.bind(&pattern);
        let newton = Newton::new(pattern, self.x.len(), setup.simd);
        self.newton = Some(newton.map_err(|problem| setup.failed(problem))?);
        Ok(())
    }

    /// The better start of the two natural ones: where everything was, or where it would fly freely. Free flight
    /// makes momentum exact, rest makes a hanging cloth start in its solution.
    fn choose_start(&self, total: &Total<'_>, resting: Vec<DVec3>) -> Vec<DVec3> {
        let mut flying = self.inertia.target.clone();
        for (v, held) in self.held.iter().enumerate() {
            if *held {
                flying[v] = resting[v];
            }
        }
        if total.value(&flying) <= total.value(&resting) { flying } else { resting }
    }

    fn report(&self, setup: &Setup, outcome: &NewtonOutcome, begun: Instant) -> StepReport {
        let kinetic = self.v.iter().zip(&self.mass).map(|(v, m)| 0.5 * m * v.length_squared()).sum();
        let gravity = setup.world.gravity;
        let potential = self.x.iter().zip(&self.mass).map(|(x, m)| -m * gravity.dot(*x)).sum();
        let (contacts, penetration) = self.contacts.count_and_depth(&self.x);
        StepReport {
            nonlinear_iterations: outcome.iterations,
            linear_iterations: outcome.iterations,
            residual: outcome.residual(),
            converged: outcome.stop == Stop::Converged,
            energy: EnergyReport {
                kinetic,
                elastic: self.springs.elements().elastic_energy(&self.x),
                potential,
            },
            contacts,
            penetration,
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
        let resting = self.begin_step(setup, dt)?;
        let Some(mut newton) = self.newton.take() else {
            return Err(setup.failed("the system was not analysed"));
        };
        let total = Total {
            energies: [&self.inertia, &self.springs, &self.attachments, &self.contacts, &self.wind],
            held: &self.held,
        };
        let mut gradient = vec![DVec3::ZERO; self.x.len()];
        total.gradient(&resting, &mut gradient);
        let limits = Limits {
            tolerance: setup.solver.tolerance,
            reference: gradient_norm(&gradient).max(self.force_floor(setup)),
            max_iterations: setup.solver.max_iterations,
            deadline,
        };
        let mut x = self.choose_start(&total, resting);
        let outcome = newton.minimise(&total, &mut x, limits);
        self.newton = Some(newton);
        let outcome = outcome.map_err(|problem| setup.failed(problem))?;
        for (v, (new, old)) in self.v.iter_mut().zip(x.iter().zip(&self.x)) {
            *v = (*new - *old) / dt;
        }
        self.x = x;
        self.residuals.clone_from(&outcome.residuals);
        Ok(self.report(setup, &outcome, begun))
    }

    fn surface_positions(&self, positions: &mut [DVec3]) {
        let points = &self.contacts.points;
        for (i, position) in positions.iter_mut().enumerate() {
            *position = points.position(i, &self.x);
        }
    }

    fn bodies_changed(&mut self, setup: &Setup, old_index: &[Option<usize>]) {
        let (old_x, old_v) = (std::mem::take(&mut self.x), std::mem::take(&mut self.v));
        let old_first = std::mem::take(&mut self.first_unknown);
        self.first_unknown.push(0);
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
            self.first_unknown.push(self.x.len() as u32);
        }
        self.build_energies(setup);
        self.newton = None;
    }

    fn unknown_positions(&self) -> &[DVec3] {
        &self.x
    }

    fn unknown_velocities(&self) -> &[DVec3] {
        &self.v
    }

    fn masses(&self) -> &[f64] {
        &self.mass
    }

    fn save(&self, state: &mut StateWriter) {
        state.vectors(&self.x);
        state.vectors(&self.v);
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        let x = state.vectors(self.x.len())?;
        let v = state.vectors(self.v.len())?;
        (self.x, self.v) = (x, v);
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection { residuals: self.residuals.clone(), bytes: self.newton.as_ref().map_or(0, Newton::bytes) }
    }
}

impl ImplicitStepper {
    /// A force below which nothing is worth solving: a billionth of the weight, or of what would move the bodies by
    /// a nanometre in a second where nothing weighs.
    fn force_floor(&self, setup: &Setup) -> f64 {
        let masses = self.mass.iter().map(|m| m * m).sum::<f64>().sqrt();
        1e-9 * masses * setup.world.gravity.length().max(1.0)
    }
}

fn body_springs(body: &Body) -> Vec<crate::energy::spring::Spring> {
    match &body.elements {
        Elements::Triangles(triangles) => cloth_springs(&body.rest_corners, triangles, &body.material),
        Elements::Tets(tets) => solid_springs(&body.rest, tets, &body.material),
    }
}
