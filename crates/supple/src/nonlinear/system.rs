//! The energies of all bodies of a scene as one system, over all their unknowns.

use std::sync::Arc;

use glam::DVec3;

use super::objective::Objective;
use crate::body::{Body, Elements, Embedding};
use crate::contact::Surfaces;
use crate::energy::attachment::{Attachments, Hold};
use crate::energy::bending_dihedral::{DihedralBending, HingeMaterial};
use crate::energy::bending_quadratic::QuadraticBending;
use crate::energy::contact::Contacts;
use crate::energy::element::ElementSum;
use crate::energy::friction_impulses::FrictionImpulses;
use crate::energy::hinge::{Hinge, hinges};
use crate::energy::inertia::Inertia;
use crate::energy::pressure::Pressure;
use crate::energy::seam::Seams;
use crate::energy::self_contact::{ContactProperties, SelfContact};
use crate::energy::spring::{Resists, Spring, Springs, in_local_order};
use crate::energy::spring_network::{cloth_springs, solid_springs};
use crate::energy::strain_limit::{StrainLimits, StretchLimit};
use crate::energy::tetrahedron::{Solid, Tetrahedra};
use crate::energy::triangle::Triangles;
use crate::energy::wind::Wind;
use crate::energy::{Curvature, Energy, PointVisitor};
use crate::material::law::SolidLaw;
use crate::material::membrane::{Sheet, SheetLaw};
use crate::scene::{Bending, Method, Model, Tangled};
use crate::simulation::Setup;
use crate::solvers::octree::{self, Forest, OctreeEnergy, SelfCollision, SelfCollisions};
use supple_core::Error;
use supple_linear::{BlockMatrix, BlockPattern, ScalarMatrix, Simd};

/// How much stiffer a sheet is beyond its strain limit.
const LIMIT_STIFFNESS: f64 = 100.0;

/// The laws that the models of a scene mean for solids.
const SOLID_LAWS: [(Model, SolidLaw); 5] = [
    (Model::Linear, SolidLaw::Linear),
    (Model::Corotated, SolidLaw::Corotated),
    (Model::NeoHookean, SolidLaw::NeoHookean),
    (Model::Stvk, SolidLaw::StVenantKirchhoff),
    (Model::Arap, SolidLaw::Arap),
];

/// The laws that they mean for sheets.
const SHEET_LAWS: [(Model, SheetLaw); 3] = [
    (Model::Corotated, SheetLaw::Corotated),
    (Model::Stvk, SheetLaw::StVenantKirchhoff),
    (Model::BaraffWitkin, SheetLaw::BaraffWitkin),
];

/// Inertia and all energies.
#[derive(Default)]
pub(crate) struct System {
    pub(crate) inertia: Inertia,
    /// The octants of all bodies, where these are cut into some.
    pub(crate) forest: Option<Arc<Forest>>,
    /// What the bodies resist deformation with.
    pub(super) elastic: Vec<Box<dyn Energy>>,
    pub(crate) attachments: Attachments,
    pub(super) seams: Seams,
    pub(crate) contacts: Contacts,
    pub(super) self_contact: SelfContact,
    /// In place of the former, where octrees push back what has crossed.
    pub(super) self_collision: Option<SelfCollision>,
    pub(crate) wind: Wind,
    /// The first unknown of each body, and the end.
    pub(crate) first_unknown: Vec<u32>,
}

impl System {
    /// The system of a setup's bodies.
    pub(super) fn new(setup: &Setup) -> Self {
        let mut system = Self::without_elasticity(setup);
        if setup.solver.method == Method::Octree {
            let forest = Arc::new(octree::forest(setup));
            system.elastic.push(Box::new(OctreeEnergy::new(forest.clone())));
            system.forest = Some(forest);
            return system;
        }
        system.elastic = elastic_energies(setup, &system.first_unknown);
        let start: Vec<DVec3> = setup.bodies.iter().flat_map(|body| &body.start).copied().collect();
        let stitches = setup.seams.iter().flat_map(|seam| seam.stitches(&system.first_unknown, &start));
        system.seams = Seams::new(stitches.collect());
        for (body, &first) in setup.bodies.iter().zip(&system.first_unknown) {
            system.elastic.extend(pressure(body, first, &start, setup.simd));
        }
        system
    }

    /// Masses, surfaces and what acts on them, for families with an elasticity of their own.
    pub(crate) fn without_elasticity(setup: &Setup) -> Self {
        let mut system = Self { first_unknown: vec![0], ..Self::default() };
        let mut points = Embedding::default();
        let (mut triangles, mut closed) = (Vec::new(), Vec::new());
        for body in &setup.bodies {
            let first = system.inertia.mass.len() as u32;
            let first_point = points.len() as u32;
            points.append(&body.embedding, first);
            triangles.extend(body.surface_triangles.iter().map(|t| t.map(|p| p + first_point)));
            closed.extend(body.closed_triangles());
            system.contacts.areas.extend_from_slice(&body.point_areas);
            system.contacts.friction.extend(body.point_friction());
            system.inertia.mass.extend_from_slice(&body.mass);
            system.first_unknown.push(system.inertia.mass.len() as u32);
        }
        system.wind = Wind::new(&points, triangles, &closed);
        if pushes_back(setup) {
            system.self_collision = Some(SelfCollision::new(setup, &points, &system.contacts.friction));
        } else {
            system.self_contact = self_contact(setup, &points, &system.contacts.friction);
        }
        system.contacts.points = points;
        system.contacts.model = setup.contact.friction_model;
        system.contacts.thickness = setup.contact.thickness;
        system
    }

    /// Takes the wind of a step of `dt` seconds that ends at `end`, on surfaces as they are.
    pub(crate) fn blow(&mut self, setup: &Setup, x: &[DVec3], v: &[DVec3], [end, dt]: [f64; 2]) {
        self.wind.begin_step(&self.contacts.points, x, v, &setup.world, [end, dt]);
    }

    /// Follows a tear of the last body, a cloth: masses and points of clones, and the corners of its triangles.
    pub(crate) fn follow_tear(&mut self, setup: &Setup) {
        let (mass, contacts) = (&mut self.inertia.mass, &mut self.contacts);
        mass.clear();
        contacts.areas.clear();
        contacts.friction.clear();
        contacts.points.clear();
        self.first_unknown.clear();
        let mut first_point = Vec::with_capacity(setup.bodies.len());
        for body in &setup.bodies {
            let first = mass.len() as u32;
            self.first_unknown.push(first);
            first_point.push(contacts.points.len() as u32);
            contacts.points.append(&body.embedding, first);
            contacts.areas.extend_from_slice(&body.point_areas);
            contacts.friction.extend(body.point_friction());
            mass.extend_from_slice(&body.mass);
        }
        self.first_unknown.push(mass.len() as u32);
        let triangles = setup.bodies.iter().zip(&first_point).flat_map(|(body, &first)| {
            body.surface_triangles.iter().map(move |t| t.map(|point| point + first))
        });
        self.wind.follow(&self.contacts.points, triangles);
    }

    /// Collects the soft holds of a setup at `time`, moves held vertices of `x` to where their pins are, and notes which
    /// are held.
    pub(crate) fn apply_pins(
        &mut self,
        setup: &Setup,
        time: f64,
        x: &mut [DVec3],
        held: &mut Vec<bool>,
    ) -> Result<(), Error> {
        self.attachments.clear();
        held.clear();
        // Vertices without mass belong to no element: nothing moves them.
        held.extend(self.inertia.mass.iter().map(|m| *m <= 0.0));
        for pin in setup.pins.iter().filter(|pin| pin.holds_at(time)) {
            let (first, pose) = (self.first_unknown[pin.body], pin.pose_at(setup, time)?);
            for point in &pin.points {
                let target = pose.target(point);
                if let (None, [(v, _)]) = (pin.stiffness, &point.weights[..]) {
                    held[(v + first) as usize] = true;
                    x[(v + first) as usize] = target;
                } else {
                    let stiffness = pin.stiffness.unwrap_or_else(|| setup.bodies[pin.body].hold_stiffness());
                    self.hold(pin.body, &point.weights, Hold { target, stiffness });
                }
            }
        }
        for grab in &setup.grabs {
            self.hold(grab.body, &grab.weights, Hold { target: grab.target, stiffness: grab.stiffness });
        }
        Ok(())
    }

    fn hold(&mut self, body: usize, weights: &[(u32, f64)], hold: Hold) {
        let first = self.first_unknown[body];
        self.attachments.hold(weights.iter().map(|&(v, w)| (v + first, w)), hold);
    }

    /// Two triangles by their bodies and vertices.
    pub(super) fn name_crossing(&self, setup: &Setup, pair: [u32; 2]) -> String {
        let surfaces = self.self_contact.surfaces();
        let name = |t: u32| {
            let corners = surfaces.triangles[t as usize];
            let body = surfaces.body(corners[0]) as usize;
            let first: usize = setup.bodies[..body].iter().map(|body| body.embedding.len()).sum();
            let [a, b, c] = corners.map(|p| p as usize - first);
            format!("`{}` at vertices {a}, {b}, {c}", setup.bodies[body].name)
        };
        format!("{} with {}", name(pair[0]), name(pair[1]))
    }

    /// Analyses which vertices are coupled and binds the energies to it.
    pub(super) fn analyse(&mut self, setup: &Setup, held: &[bool]) -> BlockPattern {
        // Octants are never assembled.
        if self.forest.is_some() {
            return BlockPattern::new(held, &[]);
        }
        let mut pairs = Vec::new();
        let mut pair = |a: u32, b: u32| pairs.push([a, b]);
        self.elastic.iter().for_each(|energy| energy.couplings(&mut pair));
        self.seams.couplings(&mut pair);
        self.contacts.couplings(&mut pair);
        self.wind.couplings(&mut pair);
        // Attachments come and go, but each sits on one element: its edges make room for all of them.
        for (body, &first) in setup.bodies.iter().zip(&self.first_unknown) {
            body.elements.for_each_edge(|a, b| pair(a + first, b + first));
        }
        let pattern = BlockPattern::new(held, &pairs);
        self.elastic.iter_mut().for_each(|energy| energy.bind(&pattern));
        pattern
    }

    /// The matrix of inertia and elasticity at the start, where nothing moves yet, for the steps by which inertia and damping
    /// are weighed.
    pub(super) fn start_matrix(
        &mut self,
        start: &[DVec3],
        [step, damped]: [f64; 2],
        pattern: Arc<BlockPattern>,
    ) -> BlockMatrix {
        let mut matrix = BlockMatrix::zero(pattern);
        for energy in &mut self.elastic {
            energy.begin_step(start, damped);
            energy.add_hessian(start, Curvature::Projected, &mut matrix);
        }
        let rate = std::mem::replace(&mut self.inertia.rate, 1.0 / (step * step));
        self.inertia.add_hessian(start, Curvature::Projected, &mut matrix);
        self.inertia.rate = rate;
        matrix
    }

    /// Takes over where friction holds from the system of the same bodies before.
    pub(super) fn hold_on(&mut self, before: &mut Self) {
        self.contacts.hold_on(&mut before.contacts);
        self.self_contact.hold_on(&mut before.self_contact);
    }

    /// Adds what friction by impulses has to hold against over a step of `dt` seconds that ends at `x`.
    pub(super) fn add_impulses(&self, x: &[DVec3], dt: f64, impulses: &mut FrictionImpulses) {
        self.contacts.add_impulses(x, dt, impulses);
        self.self_contact.add_impulses(x, dt, impulses);
    }

    /// Elastic energy in joules.
    pub(super) fn elastic_energy(&self, x: &[DVec3]) -> f64 {
        self.elastic.iter().map(|energy| energy.elastic_energy(x)).sum()
    }

    fn energies(&self) -> impl Iterator<Item = &dyn Energy> {
        let others: [&dyn Energy; 6] =
            [&self.inertia, &self.attachments, &self.seams, &self.contacts, &self.self_contact, &self.wind];
        let pushes = self.self_collision.as_ref().map(|energy| energy as &dyn Energy);
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

    fn hessian(&self, x: &[DVec3], curvature: Curvature, hessian: &mut BlockMatrix) {
        self.energies().for_each(|energy| energy.add_hessian(x, curvature, hessian));
        hessian.gather_outside();
    }

    fn point_hessians(&self, x: &[DVec3], visit: PointVisitor<'_>) {
        self.energies().for_each(|energy| energy.point_hessians(x, Curvature::Projected, &mut *visit));
    }

    fn projective(&self, x: &[DVec3], matrix: &mut ScalarMatrix) -> bool {
        self.energies().all(|energy| energy.add_projective(x, matrix))
    }

    fn projective_varies(&self) -> bool {
        !self.contacts.colliders.is_empty() || !self.self_contact.is_empty()
    }

    fn free_way(&self, from: &[DVec3], to: &[DVec3]) -> f64 {
        self.self_contact.free_way(from, to)
    }
}

/// Whether what has crossed is pushed back, in place of a barrier that keeps it from that.
fn pushes_back(setup: &Setup) -> bool {
    let asked = setup.solver.octree.self_collision == SelfCollisions::Intersection;
    asked && setup.solver.method == Method::Octree && !Surfaces::of_setup(setup).is_empty()
}

/// Contact of the bodies with themselves and each other, `friction` of each point.
fn self_contact(setup: &Setup, points: &Embedding, friction: &[f64]) -> SelfContact {
    let contact = &setup.contact;
    let surfaces = Surfaces::of_setup(setup);
    if surfaces.is_empty() {
        return SelfContact::default();
    }
    let mut stiffness = vec![0.0; points.len()];
    let own = setup.bodies.iter().flat_map(|body| body.contact_forces(contact.stiffness, contact.thickness));
    // Points at one place are one.
    for (force, &stands) in own.zip(&surfaces.stands_for) {
        stiffness[stands as usize] += force / contact.thickness;
    }
    SelfContact::new(ContactProperties {
        surfaces,
        points: points.clone(),
        stiffness,
        friction: friction.to_vec(),
        thickness: contact.thickness,
        untangle: contact.tangled == Tangled::Push,
        friction_model: contact.friction_model,
    })
}

/// The bodies that follow one model, put together.
struct Gathered<'a> {
    bodies: Vec<(&'a Body, u32)>,
    vertices: usize,
    simd: Simd,
}

fn elastic_energies(setup: &Setup, first_unknown: &[u32]) -> Vec<Box<dyn Energy>> {
    let vertices = first_unknown.last().map_or(0, |&end| end as usize);
    let of = |model: Model| {
        let bodies = setup.bodies.iter().zip(first_unknown.iter().copied());
        let bodies: Vec<_> = bodies.filter(|(body, _)| body.model == model).collect();
        (!bodies.is_empty()).then_some(Gathered { bodies, vertices, simd: setup.simd })
    };
    let mut energies: Vec<Option<Box<dyn Energy>>> = Vec::new();
    energies.extend(of(Model::Spring).map(|gathered| gathered.springs()));
    for (model, law) in SOLID_LAWS {
        energies.extend(of(model).map(|gathered| gathered.solids(law)));
    }
    for (model, law) in SHEET_LAWS {
        energies.extend(of(model).map(|gathered| gathered.sheets(law)));
    }
    let bend = |bending: Bending| {
        let bodies = setup.bodies.iter().zip(first_unknown.iter().copied());
        let bodies: Vec<_> = bodies.filter(|(body, _)| hinge_bending(body) == Some(bending)).collect();
        Gathered { bodies, vertices, simd: setup.simd }
    };
    energies.push(bend(Bending::Quadratic).quadratic_bending());
    energies.push(bend(Bending::Dihedral).dihedral_bending());
    let all = Gathered {
        bodies: setup.bodies.iter().zip(first_unknown.iter().copied()).collect(),
        vertices,
        simd: setup.simd,
    };
    energies.push(all.strain_limits());
    energies.into_iter().flatten().collect()
}

/// How a body's hinges bend; `None` for solids and for cloth whose springs do it.
fn hinge_bending(body: &Body) -> Option<Bending> {
    match (&body.elements, body.model) {
        (Elements::Tets(_) | Elements::Octants(_), _) => None,
        (Elements::Triangles(_), Model::Spring) => body.bending,
        (Elements::Triangles(_), _) => Some(body.bending.unwrap_or(Bending::Quadratic)),
    }
}

/// Pressure inside a body's surface.
fn pressure(body: &Body, first: u32, x: &[DVec3], simd: Simd) -> Option<Box<dyn Energy>> {
    let (Some(gauge), Elements::Triangles(triangles)) = (body.pressure, &body.elements) else { return None };
    let triangles: Vec<[u32; 3]> = triangles.iter().map(|t| t.map(|v| v + first)).collect();
    let pressure = Pressure::new(&triangles, x, gauge, simd);
    Some(Box::new(pressure.expect("a body with pressure is closed, which was checked when it was built")))
}

impl Gathered<'_> {
    fn springs(&self) -> Option<Box<dyn Energy>> {
        let mut springs: Vec<Spring> = Vec::new();
        for (body, first) in &self.bodies {
            let own = match &body.elements {
                Elements::Triangles(triangles) => {
                    cloth_springs(&body.rest_corners, triangles, &body.materials)
                }
                Elements::Tets(tets) => {
                    solid_springs(&body.rest, tets, &body.materials, |material| material.young_modulus)
                }
                Elements::Octants(_) => Vec::new(),
            };
            let own = in_local_order(&own, |vertex| body.start[vertex as usize]);
            let bends = body.bending.is_none();
            let own = own.into_iter().filter(|s| bends || s.resists == Resists::Both);
            springs.extend(own.map(|s| Spring { ends: s.ends.map(|v| v + first), ..s }));
        }
        let sum = ElementSum::new(Springs::new(springs), self.vertices, self.simd);
        Some(Box::new(sum))
    }

    fn solids(&self, law: SolidLaw) -> Option<Box<dyn Energy>> {
        let mut rest = vec![DVec3::ZERO; self.vertices];
        let (mut tets, mut solids) = (Vec::new(), Vec::new());
        for (body, first) in &self.bodies {
            let Elements::Tets(own) = &body.elements else { continue };
            rest[*first as usize..][..body.rest.len()].copy_from_slice(&body.rest);
            tets.extend(own.iter().map(|tet| tet.map(|v| v + first)));
            solids.extend((0..own.len()).map(|t| Solid::of(law, &body.materials.of(t))));
        }
        let elements = Tetrahedra::new(law, &rest, &tets, |t| solids[t]);
        let sum = ElementSum::new(elements, self.vertices, self.simd);
        (!tets.is_empty()).then(|| Box::new(sum) as Box<dyn Energy>)
    }

    fn sheets(&self, law: SheetLaw) -> Option<Box<dyn Energy>> {
        let (mut triangles, mut rest) = (Vec::new(), Vec::new());
        let (mut texture, mut sheets) = (Vec::new(), Vec::new());
        for (body, first) in &self.bodies {
            let Elements::Triangles(own) = &body.elements else { continue };
            triangles.extend(own.iter().map(|triangle| triangle.map(|v| v + first)));
            rest.extend_from_slice(&body.rest_corners);
            texture.extend_from_slice(&body.texture_corners);
            sheets.extend((0..own.len()).map(|t| Sheet::from(&body.materials.of(t))));
        }
        let elements = Triangles::new(law, &triangles, &rest, |t| texture[t], |t| sheets[t]);
        let sum = ElementSum::new(elements, self.vertices, self.simd);
        (!triangles.is_empty()).then(|| Box::new(sum) as Box<dyn Energy>)
    }

    /// The hinges of all bodies, with the material of each.
    fn hinges(&self) -> (Vec<Hinge>, Vec<HingeMaterial>) {
        let (mut all, mut materials) = (Vec::new(), Vec::new());
        for (body, first) in &self.bodies {
            let Elements::Triangles(triangles) = &body.elements else { continue };
            for hinge in hinges(triangles, &body.rest_corners) {
                let [one, other] = hinge.triangles.map(|t| body.materials.of(t));
                materials.push(HingeMaterial {
                    bend_stiffness: 0.5 * (one.bend_stiffness + other.bend_stiffness),
                    damping: 0.5 * (one.damping + other.damping),
                });
                all.push(Hinge { vertices: hinge.vertices.map(|v| v + first), ..hinge });
            }
        }
        (all, materials)
    }

    fn quadratic_bending(&self) -> Option<Box<dyn Energy>> {
        let (hinges, materials) = self.hinges();
        let elements = QuadraticBending::new(&hinges, |h| materials[h]);
        let sum = ElementSum::new(elements, self.vertices, self.simd);
        (!hinges.is_empty()).then(|| Box::new(sum) as Box<dyn Energy>)
    }

    fn dihedral_bending(&self) -> Option<Box<dyn Energy>> {
        let (hinges, materials) = self.hinges();
        let sum = ElementSum::new(DihedralBending::new(&hinges, |h| materials[h]), self.vertices, self.simd);
        (!hinges.is_empty()).then(|| Box::new(sum) as Box<dyn Energy>)
    }

    fn strain_limits(&self) -> Option<Box<dyn Energy>> {
        let (mut triangles, mut rest, mut limits) = (Vec::new(), Vec::new(), Vec::new());
        for (body, first) in &self.bodies {
            let Elements::Triangles(own) = &body.elements else { continue };
            for (t, triangle) in own.iter().enumerate() {
                let material = body.materials.of(t);
                let Some(stretch) = material.strain_limit else { continue };
                let stiffness =
                    LIMIT_STIFFNESS * material.stretch_stiffness[0].max(material.stretch_stiffness[1]);
                triangles.push(triangle.map(|v| v + first));
                rest.push(body.rest_corners[t]);
                limits.push(StretchLimit { stretch, stiffness });
            }
        }
        let sum =
            ElementSum::new(StrainLimits::new(&triangles, &rest, |t| limits[t]), self.vertices, self.simd);
        (!triangles.is_empty()).then(|| Box::new(sum) as Box<dyn Energy>)
    }
}
