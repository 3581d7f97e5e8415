//! The energies of all bodies of a scene as one system, over all their unknowns.

use std::sync::Arc;

use glam::DVec3;

use super::elasticity::{ContactResponse, Elasticity};
use super::optimize::Objective;
use crate::body::Embedding;
use crate::contact::barrier::{ContactProperties, ContactSystem, PieceOrigin};
use crate::contact::collider::penalty::Contacts;
use crate::contact::forces::{ContactForces, ForceKind, ForceSums, Owner};
use crate::contact::friction::impulses::FrictionImpulses;
use crate::energy::attachment::{Attachments, SoftConstraint};
use crate::energy::inertia::Inertia;
use crate::energy::seam::{SeamSpring, Seams};
use crate::energy::wind::Wind;
use crate::energy::{Energy, PointVisitor};
use crate::material::HessianMode;
use crate::scene::{ContactMatrix, ContactModel, FrictionModel, Tangled, Truncation};
use crate::scene_state::SceneState;
use crate::stepper::ReleasedVertices;
use supple_core::Error;
use supple_linear::{BlockMatrix, BlockPattern, ScalarMatrix};

/// Inertia and all energies.
#[derive(Default)]
pub(crate) struct System {
    /// The embedding of all bodies' display points, shared with the energies that act on them.
    pub(crate) points: Arc<Embedding>,
    pub(crate) inertia: Inertia,
    /// The elasticity of the bodies.
    pub(super) elastic: Vec<Box<dyn Energy>>,
    pub(crate) attachments: Attachments,
    pub(super) seams: Seams,
    pub(crate) contacts: Contacts,
    pub(crate) contact_system: ContactSystem,
    /// Replaces the barrier, if a family resolves contact in its own way.
    pub(super) response: Option<Box<dyn ContactResponse>>,
    pub(crate) wind: Wind,
    /// The first unknown of each body, and the end.
    pub(crate) first_unknown: Vec<u32>,
    /// What is shortened where surfaces would meet.
    pub(super) truncation: Truncation,
}

impl System {
    /// The system of a scene state's bodies.
    pub(super) fn new(scene_state: &SceneState, elasticity: &mut dyn Elasticity) -> Self {
        let mut system = Self::with_contact(scene_state, |points, friction| {
            elasticity.contact(scene_state, points, friction)
        });
        system.elastic = elasticity.energies(scene_state, &system.first_unknown);
        let start: Vec<DVec3> = scene_state.bodies.iter().flat_map(|body| &body.start).copied().collect();
        let springs = scene_state
            .seams
            .iter()
            .flat_map(|seam| SeamSpring::of_seam(seam, &system.first_unknown, &start));
        system.seams = Seams::new(springs.collect());
        system
    }

    /// Masses, surfaces and external forces, for families with their own time step.
    pub(crate) fn without_elasticity(scene_state: &SceneState) -> Self {
        Self::with_contact(scene_state, |_, _| None)
    }

    /// Everything except elasticity; `response` may replace the barrier, given all surface points and their friction.
    fn with_contact(
        scene_state: &SceneState,
        response: impl FnOnce(&Arc<Embedding>, &[f64]) -> Option<Box<dyn ContactResponse>>,
    ) -> Self {
        let mut system = Self { first_unknown: vec![0], ..Self::default() };
        let mut points = Embedding::default();
        let (mut triangles, mut closed) = (Vec::new(), Vec::new());
        for body in &scene_state.bodies {
            let first = system.inertia.mass.len() as u32;
            let first_point = points.len() as u32;
            points.append(&body.embedding, first);
            triangles.extend(body.surface_triangles.iter().map(|t| t.map(|p| p + first_point)));
            closed.extend(body.closed_triangles());
            system.contacts.areas.extend_from_slice(&body.point_areas);
            system.contacts.bodies.resize(points.len(), system.first_unknown.len() as u32 - 1);
            system.contacts.friction.extend(body.point_friction());
            system.inertia.mass.extend_from_slice(&body.mass);
            system.first_unknown.push(system.inertia.mass.len() as u32);
        }
        system.wind = Wind::new(&points, triangles, &closed);
        system.points = Arc::new(points);
        system.contacts.points = system.points.clone();
        system.response = response(&system.points, &system.contacts.friction);
        let own_response = system.response.is_some();
        system.contact_system =
            contact_system(scene_state, &system.points, &system.contacts.friction, own_response);
        system.truncation = scene_state.contact.truncation;
        system.contacts.model = scene_state.contact.friction_model;
        system.contacts.thickness = scene_state.contact.thickness();
        system
    }

    /// Sets up all energies but the elastic ones for a step of `dt` seconds to the time `end` from `x` and `v`, whose inertia is that of
    /// `step` seconds.
    pub(super) fn begin_step(
        &mut self,
        scene_state: &SceneState,
        x: &[DVec3],
        v: &[DVec3],
        [end, dt, step]: [f64; 3],
    ) {
        self.begin_contact(scene_state, x, [end, dt]);
        if let Some(response) = &mut self.response {
            response.begin_step(x, dt);
        }
        self.seams.begin_step(end);
        self.update_wind(scene_state, x, v, [end, step]);
        self.inertia.rate = 1.0 / (step * step);
        self.inertia.gravity = scene_state.world.gravity;
        self.inertia.target.clear();
        self.inertia.target.extend(x.iter().zip(v).map(|(x, v)| *x + dt * *v));
    }

    /// Sets up contact for a step of `dt` seconds to the time `end` from `x`.
    pub(crate) fn begin_contact(&mut self, scene_state: &SceneState, x: &[DVec3], [end, dt]: [f64; 2]) {
        self.contacts.begin_step(x, dt);
        self.contact_system.record_states(scene_state.record_states);
        self.contact_system.begin_step(x, [end, dt]);
    }

    /// Poses the colliders that are hard for a step between two times, at its start.
    pub(crate) fn pose_hard_colliders(
        &mut self,
        scene_state: &SceneState,
        span: [f64; 2],
    ) -> Result<(), Error> {
        let colliders = scene_state.colliders.iter().map(|(_, collider)| collider);
        self.contact_system.pose_colliders(colliders, &scene_state.collider_meshes, span)
    }

    /// Moves hard colliders to the step's end, whatever is in their way.
    pub(super) fn end_motion(&mut self) -> Result<(), Error> {
        self.contact_system.set_pose(1.0)
    }

    /// Updates the wind of a step of `dt` seconds that ends at `end`, on the current surfaces.
    pub(crate) fn update_wind(
        &mut self,
        scene_state: &SceneState,
        x: &[DVec3],
        v: &[DVec3],
        [end, dt]: [f64; 2],
    ) {
        self.wind.begin_step(&self.points, x, v, &scene_state.world, [end, dt]);
    }

    /// Updates after a tear of the last body, a cloth: masses and points of clones, and the corners of its triangles.
    pub(crate) fn follow_tear(&mut self, scene_state: &SceneState) {
        let (mass, contacts) = (&mut self.inertia.mass, &mut self.contacts);
        mass.clear();
        contacts.areas.clear();
        contacts.bodies.clear();
        contacts.friction.clear();
        // The memory is reused if the points have no other owner.
        contacts.points = Arc::default();
        let points = Arc::make_mut(&mut self.points);
        points.clear();
        self.first_unknown.clear();
        let mut first_point = Vec::with_capacity(scene_state.bodies.len());
        for body in &scene_state.bodies {
            let first = mass.len() as u32;
            self.first_unknown.push(first);
            first_point.push(points.len() as u32);
            points.append(&body.embedding, first);
            contacts.bodies.resize(points.len(), self.first_unknown.len() as u32 - 1);
            contacts.areas.extend_from_slice(&body.point_areas);
            contacts.friction.extend(body.point_friction());
            mass.extend_from_slice(&body.mass);
        }
        self.first_unknown.push(mass.len() as u32);
        let triangles = scene_state.bodies.iter().zip(&first_point).flat_map(|(body, &first)| {
            body.surface_triangles.iter().map(move |t| t.map(|point| point + first))
        });
        contacts.points = self.points.clone();
        self.wind.follow(&self.points, triangles);
        self.contact_system = contact_system(scene_state, &self.points, &self.contacts.friction, false);
    }

    /// Collects the soft pins of a scene state at `time`, moves fixed vertices of `x` to their pins' targets, and records which
    /// are fixed.
    pub(crate) fn apply_pins(
        &mut self,
        scene_state: &SceneState,
        time: f64,
        x: &mut [DVec3],
        fixed: &mut Vec<bool>,
    ) -> Result<(), Error> {
        self.attachments.clear();
        fixed.clear();
        // Vertices without mass belong to no element: nothing moves them.
        fixed.extend(self.inertia.mass.iter().map(|m| *m <= 0.0));
        for pin in scene_state.pins.iter().filter(|pin| pin.is_active_at(time)) {
            let (first, pose) = (self.first_unknown[pin.body], pin.pose_at(scene_state, time)?);
            for point in &pin.points {
                let target = pose.target(point);
                if let (None, [(v, _)]) = (pin.stiffness, &point.weights[..]) {
                    fixed[(v + first) as usize] = true;
                    x[(v + first) as usize] = target;
                } else {
                    let stiffness =
                        pin.stiffness.unwrap_or_else(|| scene_state.bodies[pin.body].attachment_stiffness());
                    self.attach(pin.body, &point.weights, SoftConstraint { target, stiffness });
                }
            }
        }
        for grab in &scene_state.grabs {
            self.attach(
                grab.body,
                &grab.weights,
                SoftConstraint { target: grab.target, stiffness: grab.stiffness },
            );
        }
        Ok(())
    }

    fn attach(&mut self, body: usize, weights: &[(u32, f64)], constraint: SoftConstraint) {
        let first = self.first_unknown[body];
        self.attachments.attach(weights.iter().map(|&(v, w)| (v + first, w)), constraint);
    }

    /// Analyses which vertices are coupled and binds the energies to it.
    pub(super) fn analyse(&mut self, scene_state: &SceneState, fixed: &[bool]) -> BlockPattern {
        let mut pairs = Vec::new();
        let mut pair = |a: u32, b: u32| pairs.push([a, b]);
        self.elastic.iter().for_each(|energy| energy.couplings(&mut pair));
        self.seams.couplings(&mut pair);
        self.contacts.couplings(&mut pair);
        self.wind.couplings(&mut pair);
        // Attachments come and go, but each is on one element: its edges reserve space for all of them.
        for (body, &first) in scene_state.bodies.iter().zip(&self.first_unknown) {
            body.elements.for_each_edge(|a, b| pair(a + first, b + first));
        }
        let pattern = BlockPattern::new(fixed, &pairs);
        self.elastic.iter_mut().for_each(|energy| energy.bind(&pattern));
        pattern
    }

    /// The matrix of inertia and elasticity at the start, where nothing moves yet, for the steps that weight
    /// inertia and damping.
    pub(super) fn start_matrix(
        &mut self,
        start: &[DVec3],
        [step, damped]: [f64; 2],
        pattern: Arc<BlockPattern>,
    ) -> BlockMatrix {
        let mut matrix = BlockMatrix::zero(pattern);
        for energy in &mut self.elastic {
            energy.begin_step(start, damped);
            energy.add_hessian(start, HessianMode::PsdProjected, &mut matrix);
        }
        let rate = std::mem::replace(&mut self.inertia.rate, 1.0 / (step * step));
        self.inertia.add_hessian(start, HessianMode::PsdProjected, &mut matrix);
        self.inertia.rate = rate;
        matrix
    }

    /// The matrix of projective dynamics at `x`; `None` if one of the energies has none.
    pub(super) fn projective_matrix(
        &self,
        x: &[DVec3],
        contact: ContactMatrix,
        pattern: Arc<BlockPattern>,
    ) -> Option<BlockMatrix> {
        let mut scalars = ScalarMatrix::zero(pattern);
        if !self.projective(x, contact, &mut scalars) {
            return None;
        }
        let mut matrix = scalars.to_blocks();
        if contact == ContactMatrix::Blocks {
            self.contact_hessians(x, &mut |point, block| matrix.add_point(point, block));
            matrix.gather_extra_blocks();
        }
        Some(matrix)
    }

    /// Takes over the friction anchors from the previous system of the same bodies.
    pub(crate) fn take_over_anchors(&mut self, before: &mut Self) {
        self.contacts.take_over_anchors(&mut before.contacts);
        self.contact_system.take_over_anchors(&mut before.contact_system);
    }

    /// Adds the contacts that friction impulses act on, over a step of `dt` seconds that ends at `x`.
    pub(super) fn add_impulses(&self, x: &[DVec3], dt: f64, impulses: &mut FrictionImpulses) {
        self.contacts.add_impulses(x, dt, impulses);
        self.contact_system.add_impulses(x, dt, impulses);
    }

    /// The forces of contact at `x`, with friction `impulses` of the step of `dt` seconds that ended there.
    pub(crate) fn contact_forces(
        &self,
        scene_state: &SceneState,
        x: &[DVec3],
        (impulses, dt): (&FrictionImpulses, f64),
    ) -> ContactForces {
        let counts = [self.contact_system.collider_count(), self.contacts.colliders.len()];
        let mut sums = ForceSums::new(self.points.len(), counts);
        let first: Vec<u32> = scene_state
            .bodies
            .iter()
            .scan(0, |first, body| {
                *first += body.embedding.len() as u32;
                Some(*first)
            })
            .collect();
        let body = |point: u32| first.partition_point(|end| *end <= point) as u32;
        self.contacts.add_forces(x, body, &mut sums);
        self.contact_system.add_forces(x, &mut sums);
        let at = self.contact_system.place_all(&self.points, x);
        let by_impulses = scene_state.contact.friction_model == FrictionModel::Impulse;
        for (site, impulse) in impulses.impulses().filter(|_| by_impulses) {
            let forces = site.weights.map(|w| w * impulse / dt);
            let owner = |point: u32| match self.contact_system.is_empty() {
                true => Owner::Body(body(point)),
                false => self.contact_system.owner(point),
            };
            sums.add(site, &forces, &at, owner, ForceKind::Friction);
        }
        let is_soft = scene_state.colliders.iter().map(|(_, collider)| collider.stiffness.is_some());
        sums.finish(&self.contacts.areas, |point| self.contact_system.stands_for(point), is_soft)
    }

    /// The vertices that are left out of contact with a collider.
    pub(crate) fn released(&self, scene_state: &SceneState) -> Vec<ReleasedVertices> {
        let contact = &self.contact_system;
        let mut list: Vec<ReleasedVertices> = Vec::new();
        for &[collider, point] in contact.released_points() {
            let body = contact.surfaces().body(point) as usize;
            let first: usize = scene_state.bodies[..body].iter().map(|body| body.embedding.len()).sum();
            let names = (scene_state.bodies[body].name.as_str(), contact.collider_name(collider as usize));
            let known = list.last().is_some_and(|last| (&*last.body, &*last.collider) == names);
            if !known {
                list.push(ReleasedVertices::new(names.0, names.1));
            }
            if let Some(last) = list.last_mut() {
                last.vertices.push(point - first as u32);
            }
        }
        list
    }

    /// Elastic energy in joules.
    pub(super) fn elastic_energy(&self, x: &[DVec3]) -> f64 {
        self.elastic.iter().map(|energy| energy.elastic_energy(x)).sum()
    }

    fn energies(&self) -> impl Iterator<Item = &dyn Energy> {
        let others: [&dyn Energy; 6] =
            [&self.inertia, &self.attachments, &self.seams, &self.contacts, &self.contact_system, &self.wind];
        let pushes = self.response.as_ref().map(|response| response.energy());
        self.elastic.iter().map(|energy| &**energy).chain(others).chain(pushes)
    }
}

impl Objective for System {
    fn value(&self, x: &[DVec3]) -> f64 {
        self.energies().map(|energy| energy.value(x)).sum()
    }

    fn gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        gradient.fill(DVec3::ZERO);
        self.energies().for_each(|energy| energy.add_gradient(x, gradient));
    }

    fn value_and_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) -> f64 {
        gradient.fill(DVec3::ZERO);
        self.energies().map(|energy| energy.value_and_gradient(x, gradient)).sum()
    }

    fn hessian(&self, x: &[DVec3], mode: HessianMode, hessian: &mut BlockMatrix) {
        self.energies().for_each(|energy| energy.add_hessian(x, mode, hessian));
        hessian.gather_extra_blocks();
    }

    fn point_hessians(&self, x: &[DVec3], visit: PointVisitor<'_>) {
        self.energies().for_each(|energy| energy.point_hessians(x, HessianMode::PsdProjected, &mut *visit));
    }

    fn projective(&self, x: &[DVec3], contact: ContactMatrix, matrix: &mut ScalarMatrix) -> bool {
        let others: [&dyn Energy; 4] = [&self.inertia, &self.attachments, &self.seams, &self.wind];
        let elastic = self.elastic.iter().map(|energy| &**energy);
        match contact {
            ContactMatrix::Bound => self.energies().all(|energy| energy.add_projective(x, matrix)),
            ContactMatrix::Blocks => elastic.chain(others).all(|energy| energy.add_projective(x, matrix)),
        }
    }

    fn contact_hessians(&self, x: &[DVec3], visit: PointVisitor<'_>) {
        self.contacts.point_hessians(x, HessianMode::PsdProjected, &mut *visit);
        self.contact_system.point_hessians(x, HessianMode::PsdProjected, visit);
    }

    fn projective_varies(&self) -> bool {
        !self.contacts.colliders.is_empty() || !self.contact_system.is_empty()
    }

    fn collision_free_step(&self, from: &[DVec3], to: &[DVec3]) -> f64 {
        self.contact_system.collision_free_step(from, to)
    }

    fn collisions(&self, displacement: [&[DVec3]; 2], visit: &mut dyn FnMut(&[u32], f64)) -> bool {
        self.contact_system.collisions(displacement, visit)
    }

    fn contact_links(&self, x: &[DVec3], visit: &mut dyn FnMut(&[u32])) {
        self.contact_system.contact_links(x, visit);
        self.seams.couplings(&mut |a, b| visit(&[a, b]));
    }

    fn bodies(&self) -> &[u32] {
        self.first_unknown.split_last().map_or(&[], |(_, first)| first)
    }

    fn imbalance(&self, gradient: &[DVec3], unknowns: &BlockPattern) -> f64 {
        let mass = &self.inertia.mass;
        let of_body = |range: &[u32]| {
            let (mut force, mut total) = (DVec3::ZERO, 0.0);
            for v in (range[0]..range[1]).filter(|&v| mass[v as usize] > 0.0) {
                unknowns.unknown(v)?;
                force += gradient[v as usize];
                total += mass[v as usize];
            }
            (total > 0.0).then(|| force.length() / total)
        };
        self.first_unknown.windows(2).filter_map(of_body).fold(0.0, f64::max)
    }

    fn truncation(&self) -> Truncation {
        self.truncation
    }

    fn accepted(&self, from: &[DVec3], to: &[DVec3]) {
        self.contact_system.record_piece(from, to, PieceOrigin::Iteration);
    }
}

/// Contact of the bodies with colliders, with themselves and with each other, the last two unless a family does that in its own way;
/// `friction` of each point.
fn contact_system(
    scene_state: &SceneState,
    points: &Arc<Embedding>,
    friction: &[f64],
    own_response: bool,
) -> ContactSystem {
    let contact = &scene_state.contact;
    let mut surfaces = scene_state.all_surfaces();
    if own_response {
        surfaces.ignore_bodies();
    }
    if surfaces.is_empty() {
        return ContactSystem::default();
    }
    let mut stiffness = vec![0.0; points.len()];
    let own = scene_state.bodies.iter().flat_map(|body| match contact.model {
        ContactModel::Barrier => {
            let mut forces = body.contact_forces(contact.stiffness, contact.thickness());
            forces.iter_mut().for_each(|force| *force /= contact.thickness());
            forces
        }
        ContactModel::Repulsion => body.repulsion_stiffness(contact.stiffness),
    });
    // Coincident points are one.
    for (own, &stands) in own.zip(&surfaces.stands_for) {
        stiffness[stands as usize] += own;
    }
    ContactSystem::new(ContactProperties {
        surfaces,
        points: points.clone(),
        stiffness,
        friction: friction.to_vec(),
        model: contact.model,
        thickness: contact.thickness(),
        untangle: contact.tangled == Tangled::Push,
        friction_model: contact.friction_model,
        simd: scene_state.simd,
    })
}
