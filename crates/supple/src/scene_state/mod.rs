//! The input of a stepper: the scene's bodies as built, pins as points, grabs, colliders, forces and options.

mod bone;
mod driver;
mod pin;
mod pin_points;

use std::path::PathBuf;

use glam::DVec3;

use crate::body::{ActiveSeam, Body};
use crate::contact::{
    ColliderCheck, ColliderMeshes, InsideCheck, PosedCollider, Surfaces, check_pair_memory,
};
use crate::scene::defaults;
use crate::scene::{
    Bending, Collider, Contact, LinearUse, Meeting, Method, Mode, Pin, PinStrength, Problem, Scene, Solver,
    World,
};
use supple_core::Error;
use supple_linear::Simd;

pub(crate) use driver::Anchor;
use driver::PinDriver;
pub(crate) use pin::SavedPin;
pub use pin::{ActivePin, PinId, PinPoint};

/// A body of a running simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BodyId(pub(crate) u32);

/// A collider of a running simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColliderId(pub(crate) u32);

/// A grab in progress. A released one's handle is never given to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GrabId(pub(crate) u32);

/// A point dragged by the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Grab {
    /// Its handle.
    pub id: GrabId,
    /// Index of its body.
    pub body: usize,
    /// The point as unknowns of its body and weights.
    pub weights: Vec<(u32, f64)>,
    /// The target position, in metres.
    pub target: DVec3,
    /// Stiffness in N/m.
    pub stiffness: f64,
}

/// Checks whether a method rejects a body.
pub(crate) type Refusal<'a> = &'a dyn Fn(&Body) -> Result<(), Error>;

/// Everything besides the unknowns that a step depends on.
#[derive(Debug, Clone)]
pub struct SceneState {
    /// The bodies.
    pub bodies: Vec<Body>,
    /// Their handles, in the same order.
    pub body_ids: Vec<BodyId>,
    /// The pins.
    pub pins: Vec<ActivePin>,
    /// The seams.
    pub seams: Vec<ActiveSeam>,
    /// The points dragged by the user.
    pub grabs: Vec<Grab>,
    /// The colliders with their handles.
    pub colliders: Vec<(ColliderId, Collider)>,
    /// The meshes of the colliders.
    pub collider_meshes: ColliderMeshes,
    /// Gravity and wind.
    pub world: World,
    /// Contact of the bodies with themselves and each other.
    pub contact: Contact,
    /// Dynamics or statics.
    pub mode: Mode,
    /// Method and tolerance.
    pub solver: Solver,
    /// Whether steppers record the objective after every iteration, which costs an evaluation each.
    pub record: bool,
    /// Whether steppers record every accepted state, for [`Stepper::take_states`](crate::stepper::Stepper::take_states).
    pub record_states: bool,
    /// Whether steppers measure how far each step ended from its solution.
    pub verify_steps: bool,
    /// The instruction set to use.
    pub simd: Simd,
    /// Simulated time in seconds.
    pub time: f64,
    /// The scene's own step in seconds; callers may use others.
    pub usual_step: f64,
    /// The base folder of relative file names.
    pub folder: PathBuf,
}

/// `[contact]` and `[solver]` of a scene with what it leaves to the engine.
fn chosen_defaults(scene: &Scene, bodies: &[Body]) -> (Contact, Solver) {
    let (mut contact, mut solver) = (scene.contact.clone(), scene.solver.clone());
    contact.thickness.get_or_insert(defaults::CONTACT_THICKNESS);
    choose_linear(&mut solver, bodies);
    (contact, solver)
}

/// Chooses the linear solver if `solver` leaves it to the engine.
pub(crate) fn choose_linear(solver: &mut Solver, bodies: &[Body]) {
    if solver.linear.is_none() && solver.method.traits().linear != LinearUse::None {
        let nodes =
            |cloth: bool| bodies.iter().filter(|b| b.is_cloth() == cloth).map(|b| b.start.len()).sum();
        solver.linear = Some(defaults::linear(nodes(true), nodes(false)).into());
    }
}

impl SceneState {
    /// The bodies, pins and colliders of a scene at their start; the first problem otherwise.
    pub(crate) fn new(scene: &Scene, simd: Simd, refuse: Refusal<'_>) -> Result<Self, Error> {
        let (scene_state, problems) = Self::build(scene, simd, &[], refuse);
        problems.into_iter().next().map_or(Ok(scene_state), Err)
    }

    /// Makes explicit what a scene, from which this state was built, leaves to the engine.
    pub(crate) fn write_choices(&self, scene: &mut Scene) {
        for (spec, body) in scene.bodies.iter_mut().zip(&self.bodies) {
            spec.model.get_or_insert(body.model);
            spec.self_contact.get_or_insert(body.self_contact);
        }
        scene.contact.thickness.get_or_insert(self.contact.thickness());
        scene.solver.linear.clone_from(&self.solver.linear);
    }

    /// What is in use, for messages: "newton+galerkin; cloth: stvk with dihedral bending, self-contact; contact below 1 mm".
    pub(crate) fn choices(&self) -> String {
        let mut said = vec![self.solver.name()];
        for (kind, is_cloth) in [("cloth", true), ("solids", false)] {
            let mut models: Vec<String> = Vec::new();
            for body in self.bodies.iter().filter(|body| body.is_cloth() == is_cloth) {
                let bending = match body.bending.filter(|_| is_cloth) {
                    Some(Bending::Quadratic) => " with quadratic bending",
                    Some(Bending::Dihedral) => " with dihedral bending",
                    None => "",
                };
                let contact = if body.self_contact { ", self-contact" } else { "" };
                let model = format!("{}{bending}{contact}", body.model.name());
                if !models.contains(&model) {
                    models.push(model);
                }
            }
            if !models.is_empty() {
                said.push(format!("{kind}: {}", models.join(" or ")));
            }
        }
        said.push(format!("contact below {} mm", (1e6 * self.contact.thickness()).round() / 1e3));
        said.join("; ")
    }

    /// All that can be built of a scene, and why the rest cannot. Parts with one of the `known` problems are left out; `refuse` checks
    /// whether the method can simulate a body.
    pub(crate) fn build(
        scene: &Scene,
        simd: Simd,
        known: &[Problem],
        refuse: Refusal<'_>,
    ) -> (Self, Vec<Error>) {
        let mut problems = Vec::new();
        let mut bodies = Vec::new();
        for (i, body) in scene.bodies.iter().enumerate() {
            let place = format!("body.{i}");
            if !has_problem(known, &place) {
                let built = Body::build(body, &scene.folder, scene.solver.method);
                collect(built, scene, &format!("{place}.shape"), &mut bodies, &mut problems);
            }
        }
        for body in &bodies {
            collect(refuse(body), scene, "solver.method", &mut Vec::new(), &mut problems);
        }
        let (contact, solver) = chosen_defaults(scene, &bodies);
        // Particles meet by their own distances, whatever the thickness.
        if scene.solver.method != Method::HPBD {
            let pairs = check_pair_memory(&bodies, &contact);
            collect(pairs, scene, "contact.thickness", &mut Vec::new(), &mut problems);
        }
        let mut ids = 1..;
        let mut next = || ids.next().unwrap_or(u32::MAX);
        let mut scene_state = Self {
            body_ids: bodies.iter().map(|_| BodyId(next())).collect(),
            bodies,
            pins: Vec::new(),
            seams: Vec::new(),
            grabs: Vec::new(),
            colliders: scene.colliders.iter().map(|c| (ColliderId(next()), c.clone())).collect(),
            collider_meshes: ColliderMeshes::new(scene.time.fps),
            world: scene.world.clone(),
            contact,
            mode: scene.time.mode,
            solver,
            record: false,
            record_states: false,
            verify_steps: false,
            simd,
            time: 0.0,
            usual_step: 1.0 / (scene.time.fps * f64::from(scene.time.substeps)),
            folder: scene.folder.clone(),
        };
        let until = f64::from(scene.time.frames) / scene.time.fps;
        for (i, (_, collider)) in scene_state.colliders.iter().enumerate() {
            let place = format!("collider.{i}");
            if !has_problem(known, &place) {
                let loaded = scene_state.collider_meshes.load(collider, &scene_state.folder, until);
                collect(loaded, scene, &format!("{place}.shape"), &mut Vec::new(), &mut problems);
            }
        }
        let mut pins = Vec::new();
        for (i, pin) in scene.pins.iter().enumerate() {
            let place = format!("pin.{i}");
            let body = scene_state.bodies.iter().find(|body| body.name == pin.body);
            let Some(body) = body.filter(|_| !has_problem(known, &place)) else { continue };
            let mut drivers = Vec::new();
            let driver = scene_state.driver(pin, body, until);
            collect(driver, scene, &format!("{place}.follows"), &mut drivers, &mut problems);
            if let Some(driver) = drivers.pop() {
                let resolved = scene_state.resolve_pin(pin, PinId(next()), driver);
                collect(resolved, scene, &format!("{place}.selection"), &mut pins, &mut problems);
            }
        }
        scene_state.pins = pins;
        let mut seams = Vec::new();
        for (i, seam) in scene.seams.iter().enumerate() {
            let place = format!("seam.{i}");
            let has_body = |name: &String| scene_state.bodies.iter().any(|body| body.name == *name);
            if seam.bodies.iter().all(has_body) && !has_problem(known, &place) {
                collect(
                    ActiveSeam::resolve(seam, &scene_state.bodies, &scene_state.folder),
                    scene,
                    &place,
                    &mut seams,
                    &mut problems,
                );
            }
        }
        scene_state.seams = seams;
        (scene_state, problems)
    }

    /// Reads meshes of colliders that are not loaded yet; those that change in time must cover `until` seconds.
    pub(crate) fn load_colliders(&mut self, until: f64) -> Result<(), Error> {
        let Self { colliders, collider_meshes, folder, .. } = self;
        colliders.iter().try_for_each(|(_, collider)| collider_meshes.load(collider, folder, until))
    }

    /// Poses the colliders for which `is_posed` is true over a step; those of the previous step provide reusable buffers, and `spare` is workspace for the lists.
    pub(crate) fn pose_colliders(
        &self,
        times: [f64; 2],
        is_posed: impl Fn(&Collider) -> bool,
        posed: &mut Vec<PosedCollider>,
        spare: &mut Vec<PosedCollider>,
    ) -> Result<(), Error> {
        std::mem::swap(posed, spare);
        posed.clear();
        let mut earlier = spare.drain(..);
        for (_, collider) in self.colliders.iter().filter(|(_, collider)| is_posed(collider)) {
            let mut before = earlier.next();
            let meetings = before.as_mut().map(|before| std::mem::take(&mut before.meetings));
            let mut now = PosedCollider::new(collider, &self.collider_meshes, times, before)?;
            now.meetings = self.meetings_with(collider, meetings.unwrap_or_default());
            posed.push(now);
        }
        Ok(())
    }

    /// Who of the bodies meets a collider and how; empty if the scene says nothing about pairs. `list` is reused.
    fn meetings_with(&self, collider: &Collider, mut list: Vec<Meeting>) -> Vec<Meeting> {
        list.clear();
        if !self.contact.pairs.is_empty() {
            list.extend(self.bodies.iter().map(|body| self.contact.meeting(body.into(), collider.into())));
        }
        list
    }

    /// Positions and velocities of all unknowns after bodies were added or removed: body `b` keeps those it had as number
    /// `old_index[b]`, or has its initial ones. `first_unknown` is the previous offset of each body's unknowns.
    pub(crate) fn carry_over(
        &self,
        old_index: &[Option<usize>],
        first_unknown: &[u32],
        x: &[DVec3],
        v: &[DVec3],
    ) -> (Vec<DVec3>, Vec<DVec3>) {
        let (mut new_x, mut new_v) = (Vec::new(), Vec::new());
        for (body, old) in self.bodies.iter().zip(old_index) {
            match old {
                Some(old) => {
                    let range = first_unknown[*old] as usize..first_unknown[old + 1] as usize;
                    new_x.extend_from_slice(&x[range.clone()]);
                    new_v.extend_from_slice(&v[range]);
                }
                None => {
                    new_x.extend_from_slice(&body.start);
                    new_v.extend(body.start.iter().map(|_| body.velocity));
                }
            }
        }
        (new_x, new_v)
    }

    /// Interpolates values at the unknowns of all bodies, one body after the other, to the points of their surfaces.
    pub fn embed(&self, unknowns: &[DVec3], points: &mut [DVec3]) {
        let (mut first, mut point) = (0, 0);
        for body in &self.bodies {
            let own = &unknowns[first..first + body.start.len()];
            for p in 0..body.embedding.len() {
                let weights = body.embedding.weights(p);
                points[point + p] = weights.iter().map(|&(v, w)| w * own[v as usize]).sum();
            }
            first += body.start.len();
            point += body.embedding.len();
        }
    }

    /// The surfaces of all bodies that touch themselves or each other, with the seams between them.
    pub fn surfaces(&self) -> Surfaces {
        self.sewn(Surfaces::new(&self.bodies, &self.contact, false))
    }

    /// The surfaces of all bodies, also of those that touch colliders only.
    pub(crate) fn all_surfaces(&self) -> Surfaces {
        self.sewn(Surfaces::new(&self.bodies, &self.contact, true))
    }

    fn sewn(&self, mut surfaces: Surfaces) -> Surfaces {
        surfaces.sew(&self.bodies, &self.seams);
        surfaces
    }

    /// Frames per second of the scene.
    pub fn frame_rate(&self) -> f64 {
        self.collider_meshes.fps()
    }

    /// A test of what crosses hard colliders or is inside of them.
    pub fn collider_check(&self) -> Result<ColliderCheck, Error> {
        let colliders = self.colliders.iter().map(|(_, collider)| collider);
        ColliderCheck::new(self.all_surfaces(), colliders, &self.collider_meshes)
    }

    /// A test of which points are inside a body.
    pub fn inside_check(&self) -> InsideCheck {
        InsideCheck::new(&self.bodies, &self.surfaces(), self.contact.thickness())
    }

    /// The index of a body.
    pub fn body_index(&self, body: BodyId) -> Option<usize> {
        self.body_ids.iter().position(|id| *id == body)
    }

    /// An error at the current time.
    pub(crate) fn failed(&self, problem: impl Into<String>) -> Error {
        let problem = format!("{}; try a smaller step or a softer material", problem.into());
        Error::Failed { time: self.time, problem }
    }

    pub(crate) fn resolve_pin(
        &self,
        pin: &Pin,
        id: PinId,
        driver: Option<PinDriver>,
    ) -> Result<ActivePin, Error> {
        let index = self.bodies.iter().position(|body| body.name == pin.body);
        let body = index.ok_or_else(|| {
            Error::Invalid(format!("a pin names the body `{}`, which does not exist", pin.body))
        })?;
        let stiffness = match pin.hold {
            PinStrength::Hard => None,
            PinStrength::Stiffness(stiffness) => Some(stiffness),
        };
        let points = self.bodies[body].select(pin, &self.folder)?;
        let mut pin = ActivePin {
            id,
            body,
            points,
            stiffness,
            driver,
            during: pin.during,
            active_since: None,
            offset: DVec3::ZERO,
        };
        // A pin active from the start is at its position in the scene.
        pin.active_since = pin.activates_at(0.0).then_some(0.0);
        self.bind_to_driver(&mut pin)?;
        Ok(pin)
    }

    /// Notes for the user about how the bodies were built.
    pub(crate) fn notes(&self) -> Vec<String> {
        let of_body = |body: &Body| -> Vec<String> {
            body.notes.iter().map(|note| format!("body `{}`: {note}", body.name)).collect()
        };
        self.bodies.iter().flat_map(of_body).collect()
    }

    /// A hash per pin of its points.
    pub(crate) fn pin_keys(&self) -> Vec<u64> {
        self.pins.iter().map(|pin| pin.key(&self.bodies[pin.body].name)).collect()
    }

    pub(crate) fn remove_body(&mut self, index: usize) {
        self.bodies.remove(index);
        self.body_ids.remove(index);
        self.pins.retain(|pin| pin.body != index);
        for pin in self.pins.iter_mut().filter(|pin| pin.body > index) {
            pin.body -= 1;
        }
        self.seams.retain(|seam| !seam.bodies.contains(&index));
        for body in self.seams.iter_mut().flat_map(|seam| &mut seam.bodies).filter(|body| **body > index) {
            *body -= 1;
        }
        self.grabs.retain(|grab| grab.body != index);
        for grab in self.grabs.iter_mut().filter(|grab| grab.body > index) {
            grab.body -= 1;
        }
    }
}

/// Whether a problem at this place or inside it is known.
fn has_problem(known: &[Problem], place: &str) -> bool {
    let inside = |problem: &Problem| {
        problem.place.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    known.iter().any(inside)
}

/// Sorts a result into built parts and problems, the latter with the scene's file and line.
fn collect<T>(
    result: Result<T, Error>,
    scene: &Scene,
    place: &str,
    built: &mut Vec<T>,
    problems: &mut Vec<Error>,
) {
    match result {
        Ok(value) => built.push(value),
        Err(Error::Invalid(problem)) => problems.push(scene.problem_at(place, &problem)),
        Err(other) => problems.push(other),
    }
}
