//! A step of position based dynamics (Müller 2008, section 3): predict, find collisions, project, and take the velocity from
//! what the positions became.

use std::time::Instant;

use glam::{DMat3, DVec3};

use super::collisions::Collisions;
use super::constraint::Step;
use super::holds::Holds;
use super::mesh_constraints::MeshConstraints;
use super::positions::Positions;
use super::self_collisions::SelfCollisions;
use super::solver::{HierarchicalSolver, Work};
use super::tear::{Neighbourhood, ParticleSplit};
use crate::body::{Body, Elements};
use crate::contact::PosedCollider;
use crate::energy::{Curvature, Energy};
use crate::error::Error;
use crate::nonlinear::System;
use crate::number::components;
use crate::simulation::{
    EnergyReport, HierarchyLevel, Inspection, ParticleLevel, Setup, StageTimes, StateReader, StateWriter,
    StepReport, Stepper, Torn,
};

/// Hierarchical position based dynamics of all bodies of a scene.
#[derive(Default)]
pub struct HpbdStepper {
    x: Vec<DVec3>,
    v: Vec<DVec3>,
    /// Masses, surface points, wind and pins.
    system: System,
    solver: Option<HierarchicalSolver>,
    holds: Holds,
    collisions: Collisions,
    self_collisions: SelfCollisions,
    weights: Vec<f64>,
    predicted: Vec<DVec3>,
    positions: Positions,
    held: Vec<bool>,
    forces: Vec<DVec3>,
    drag: Vec<DMat3>,
    earlier_colliders: Vec<PosedCollider>,
    torn: Option<TornMesh>,
}

/// What tears of the last body change beside the solver.
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
    /// A stepper for the bodies of a setup, at their start.
    pub fn new(setup: &Setup) -> Self {
        let mut stepper = Self::default();
        stepper.bodies_changed(setup, &vec![None; setup.bodies.len()]);
        stepper
    }

    /// Constraints of the mesh, and of every coarse level.
    pub fn constraint_counts(&self) -> (usize, Vec<usize>) {
        self.solver.as_ref().map_or((0, Vec::new()), HierarchicalSolver::counts)
    }

    /// Where everything would fly in the wind, and held particles where their pins are at the step's end.
    fn predict(&mut self, setup: &Setup, dt: f64) {
        let fall = dt * dt * setup.world.gravity;
        self.predicted.clear();
        self.predicted.extend(self.x.iter().zip(&self.v).map(|(x, v)| *x + dt * *v + fall));
        let system = &mut self.system;
        system.blow(setup, &self.x, &self.v, [setup.time + dt, dt]);
        self.add_wind(dt);
        let system = &mut self.system;
        system.apply_pins(setup, setup.time + dt, &mut self.predicted, &mut self.held);
        std::mem::swap(&mut self.holds.attachments, &mut system.attachments);
        self.weights.clear();
        let weight = |(held, mass): (&bool, &f64)| if *held { 0.0 } else { 1.0 / mass };
        self.weights.extend(self.held.iter().zip(&system.inertia.mass).map(weight));
    }

    /// One step of Newton's method for every particle by itself: drag may be stiffer than the step allows an explicit force.
    fn add_wind(&mut self, dt: f64) {
        let wind = &self.system.wind;
        if wind.is_still() {
            return;
        }
        let count = self.x.len();
        self.forces.clear();
        self.forces.resize(count, DVec3::ZERO);
        self.drag.clear();
        self.drag.resize(count, DMat3::ZERO);
        wind.add_gradient(&self.predicted, &mut self.forces);
        wind.add_diagonal(&self.predicted, Curvature::Projected, &mut self.drag);
        for (i, predicted) in self.predicted.iter_mut().enumerate() {
            let inertia = self.system.inertia.mass[i] / (dt * dt);
            if inertia > 0.0 {
                let stiffness = self.drag[i] + DMat3::from_diagonal(DVec3::splat(inertia));
                *predicted -= stiffness.inverse() * self.forces[i];
            }
        }
    }

    /// The constraints, made when the first step knows what is held.
    fn analyse(&mut self, setup: &Setup) {
        let mut mesh = MeshConstraints::default();
        for (body, &first) in setup.bodies.iter().zip(&self.system.first_unknown) {
            mesh.add(body, first);
        }
        let start: Vec<DVec3> = setup.bodies.iter().flat_map(|body| &body.start).copied().collect();
        let attached = attached_at_start(setup, &self.system.first_unknown, start.len());
        let solver = HierarchicalSolver::new(&mesh, &start, &attached, &setup.solver.hpbd);
        let tears = setup.bodies.last().is_some_and(|body| body.tear_stretch.is_some());
        self.torn = tears.then(|| TornMesh {
            around: Neighbourhood::new(&mesh, &solver, start.len()),
            first_triangle: mesh.first[mesh.first.len() - 2][2] as usize,
            triangles: mesh.triangles,
            start,
        });
        self.solver = Some(solver);
        self.self_collisions = SelfCollisions::new(setup, &self.system.first_unknown);
    }

    fn solve(&mut self, setup: &Setup, dt: f64) {
        let Some(solver) = &mut self.solver else { return };
        self.positions.copy_from(&self.predicted, &self.weights);
        self.holds.begin_step();
        let options = &setup.solver.hpbd;
        let step = Step {
            positions: &self.positions,
            start: &self.x,
            length: dt,
            stiffness: options.stiffness_of_a_sweep(),
            simd: setup.simd,
        };
        let mut work = Work {
            step,
            collisions: &mut self.collisions,
            self_collisions: &mut self.self_collisions,
            holds: &mut self.holds,
            options,
        };
        solver.solve(&mut work);
        self.collisions.finish(&self.positions);
        self.positions.copy_to(&mut self.predicted);
    }

    fn report(&mut self, setup: &Setup, begun: Instant, solving: f64) -> StepReport {
        let [kinetic, potential] = self.system.inertia.energies(&self.x, &self.v, setup.world.gravity);
        let elastic = self.solver.as_mut().map_or(0.0, |solver| solver.energy(&self.x, setup.simd));
        let total = begun.elapsed().as_secs_f64();
        let (contacts, penetration) = self.collisions.count_and_depth(&self.x);
        StepReport {
            nonlinear_iterations: setup.solver.hpbd.sweeps,
            linear_iterations: 0,
            residual: None,
            converged: true,
            energy: EnergyReport { kinetic, elastic, potential },
            contacts,
            penetration,
            pairs: self.self_collisions.count(),
            closest: None,
            cuts: 0,
            crossings: 0,
            times: StageTimes { setup: total - solving, solve: solving, total, ..StageTimes::default() },
        }
    }
}

/// Which particles are held exactly when the scene begins.
fn attached_at_start(setup: &Setup, first_unknown: &[u32], particles: usize) -> Vec<bool> {
    let mut attached = vec![false; particles];
    for pin in setup.pins.iter().filter(|pin| pin.stiffness.is_none() && pin.begun == Some(0.0)) {
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
    fn step(&mut self, setup: &Setup, dt: f64, _deadline: Option<Instant>) -> Result<StepReport, Error> {
        let begun = Instant::now();
        if self.solver.is_none() {
            self.analyse(setup);
        }
        setup.pose_colliders(
            [setup.time, setup.time + dt],
            &mut self.collisions.colliders,
            &mut self.earlier_colliders,
        )?;
        self.predict(setup, dt);
        let fastest =
            self.x.iter().zip(&self.predicted).map(|(x, p)| x.distance_squared(*p)).fold(0.0, f64::max);
        self.collisions.find(&self.x, &self.predicted, &self.weights, fastest.sqrt());
        self.self_collisions.find(&self.x, &self.weights, &self.collisions.friction, fastest.sqrt());
        let solving = Instant::now();
        self.solve(setup, dt);
        let solving = solving.elapsed().as_secs_f64();
        if let Some(particle) = self.predicted.iter().position(|p| !p.is_finite()) {
            let place = components(self.predicted[particle]);
            return Err(setup.failed(format!("particle {particle} is at {place}")));
        }
        for (v, (new, old)) in self.v.iter_mut().zip(self.predicted.iter().zip(&self.x)) {
            *v = (*new - *old) / dt;
        }
        std::mem::swap(&mut self.x, &mut self.predicted);
        Ok(self.report(setup, begun, solving))
    }

    fn surface_positions(&self, positions: &mut [DVec3]) {
        self.system.contacts.points.positions(&self.x, positions);
    }

    fn bodies_changed(&mut self, setup: &Setup, old_index: &[Option<usize>]) {
        (self.x, self.v) = setup.carry_over(old_index, &self.system.first_unknown, &self.x, &self.v);
        self.system = System::without_elasticity(setup);
        self.collisions.friction = setup.bodies.iter().flat_map(unknown_friction).collect();
        self.analyse(setup);
    }

    fn materials_changed(&mut self, setup: &Setup) {
        self.system = System::without_elasticity(setup);
        self.collisions.friction = setup.bodies.iter().flat_map(unknown_friction).collect();
        self.analyse(setup);
    }

    fn torn(&mut self, setup: &Setup, torn: &Torn<'_>) {
        let (Some(solver), Some(mesh)) = (&mut self.solver, &mut self.torn) else { return };
        let Some(Elements::Triangles(elements)) = setup.bodies.last().map(|body| &body.elements) else {
            return;
        };
        let first = self.system.first_unknown[setup.bodies.len() - 1];
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
    }

    fn after_tears(&mut self, setup: &Setup) {
        self.system.follow_tear(setup);
        self.self_collisions = SelfCollisions::new(setup, &self.system.first_unknown);
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
        if let Some(solver) = &self.solver {
            solver.save(state);
        }
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        let x = state.vectors(self.x.len())?;
        let v = state.vectors(self.v.len())?;
        if let Some(solver) = &mut self.solver {
            solver.restore(state)?;
        }
        (self.x, self.v) = (x, v);
        Ok(())
    }

    fn hierarchy(&self) -> Vec<HierarchyLevel> {
        let Some(solver) = &self.solver else { return Vec::new() };
        super::inspection::hierarchy(solver, &self.x, &self.system.contacts.points)
    }

    fn inspect(&self) -> Inspection {
        let bytes = self.solver.as_ref().map_or(0, HierarchicalSolver::bytes);
        Inspection { bytes, ..Inspection::default() }
    }

    fn particle_levels(&self) -> Vec<ParticleLevel> {
        self.solver.as_ref().map_or_else(Vec::new, HierarchicalSolver::levels)
    }
}
