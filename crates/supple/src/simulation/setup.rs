//! What a stepper is given: the scene's bodies as built, pins as points, grabs, colliders, forces and options.

use std::path::PathBuf;

use glam::DVec3;

use crate::body::{Body, Elements};
use crate::contact::ColliderMeshes;
use crate::error::Error;
use crate::linear::Simd;
use crate::scene::{Collider, Follow, Hold, Motion, Pin, Scene, Selection, SelectionPoints, Solver, World};

/// A body of a running simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BodyId(pub(super) u32);

/// A collider of a running simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColliderId(pub(super) u32);

/// A pin of a running simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PinId(pub(super) u32);

/// A point that a pin holds.
#[derive(Debug, Clone, PartialEq)]
pub struct PinPoint {
    /// The point as unknowns of its body and weights.
    pub weights: Vec<(u32, f64)>,
    /// Where it was when it was pinned, in metres.
    pub start: DVec3,
}

/// A pin as points.
#[derive(Debug, Clone, PartialEq)]
pub struct SetupPin {
    /// Its handle.
    pub id: PinId,
    /// Index of its body.
    pub body: usize,
    /// What it holds.
    pub points: Vec<PinPoint>,
    /// Stiffness in N/m for each point; `None` holds exactly.
    pub stiffness: Option<f64>,
    /// How it moves.
    pub motion: Option<Motion>,
    /// From when to when it holds, in seconds.
    pub during: Option<[f64; 2]>,
    /// Moved by hand by this much, in metres.
    pub offset: DVec3,
}

impl SetupPin {
    /// Whether it holds at a time.
    pub fn holds_at(&self, time: f64) -> bool {
        // Times are sums of steps: what is meant to be equal may differ by rounding.
        self.during.is_none_or(|[from, to]| (from - 1e-9..=to + 1e-9).contains(&time))
    }

    /// Where it holds a point at a time.
    pub fn target(&self, point: &PinPoint, time: f64) -> DVec3 {
        let moved = self.motion.as_ref().map_or(point.start, |motion| motion.pose(time).apply(point.start));
        moved + self.offset
    }
}

/// A point dragged by the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Grab {
    /// Index of its body.
    pub body: usize,
    /// The point as unknowns of its body and weights.
    pub weights: Vec<(u32, f64)>,
    /// Where it is dragged to, in metres.
    pub target: DVec3,
    /// Stiffness in N/m.
    pub stiffness: f64,
}

/// Everything outside the unknowns that a step depends on.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The bodies.
    pub bodies: Vec<Body>,
    /// Their handles, in the same order.
    pub body_ids: Vec<BodyId>,
    /// The pins.
    pub pins: Vec<SetupPin>,
    /// What the user drags; a released grab leaves an empty place.
    pub grabs: Vec<Option<Grab>>,
    /// The colliders with their handles.
    pub colliders: Vec<(ColliderId, Collider)>,
    /// The meshes of the colliders.
    pub collider_meshes: ColliderMeshes,
    /// Gravity and wind.
    pub world: World,
    /// Method and tolerance.
    pub solver: Solver,
    /// Which instructions may be used.
    pub simd: Simd,
    /// Simulated time in seconds.
    pub time: f64,
    /// Where relative file names start.
    pub folder: PathBuf,
}

impl Setup {
    pub(super) fn new(scene: &Scene, simd: Simd) -> Result<Self, Error> {
        let bodies = scene
            .bodies
            .iter()
            .map(|body| Body::build(body, &scene.folder))
            .collect::<Result<Vec<_>, _>>()?;
        let mut ids = 1..;
        let mut next = || ids.next().unwrap_or(u32::MAX);
        let mut setup = Self {
            body_ids: bodies.iter().map(|_| BodyId(next())).collect(),
            bodies,
            pins: Vec::new(),
            grabs: Vec::new(),
            colliders: scene.colliders.iter().map(|c| (ColliderId(next()), c.clone())).collect(),
            collider_meshes: ColliderMeshes::new(scene.time.fps),
            world: scene.world.clone(),
            solver: scene.solver.clone(),
            simd,
            time: 0.0,
            folder: scene.folder.clone(),
        };
        setup.load_colliders(f64::from(scene.time.frames) / scene.time.fps)?;
        for pin in &scene.pins {
            let resolved = setup.resolve_pin(pin, PinId(next()))?;
            setup.pins.push(resolved);
        }
        Ok(setup)
    }

    /// Reads meshes of colliders that are not there yet; those that change in time must reach to `until` seconds.
    pub(super) fn load_colliders(&mut self, until: f64) -> Result<(), Error> {
        let Self { colliders, collider_meshes, folder, .. } = self;
        colliders.iter().try_for_each(|(_, collider)| collider_meshes.load(collider, folder, until))
    }

    /// The index of a body.
    pub fn body_index(&self, body: BodyId) -> Option<usize> {
        self.body_ids.iter().position(|id| *id == body)
    }

    /// An error of this moment.
    pub(crate) fn failed(&self, problem: impl Into<String>) -> Error {
        let problem = format!("{}; try a smaller step or a softer material", problem.into());
        Error::Failed { time: self.time, problem }
    }

    pub(super) fn resolve_pin(&self, pin: &Pin, id: PinId) -> Result<SetupPin, Error> {
        let index = self.bodies.iter().position(|body| body.name == pin.body);
        let body = index.ok_or_else(|| {
            Error::Invalid(format!("a pin names the body `{}`, which is not there", pin.body))
        })?;
        let motion = match &pin.follows {
            None => None,
            Some(Follow::Keyframes(motion)) => Some(motion.clone()),
            Some(_) => return Err(Error::NotSupported(format!("what the pin on `{}` follows", pin.body))),
        };
        let stiffness = match pin.hold {
            Hold::Hard => None,
            Hold::Stiffness(stiffness) => Some(stiffness),
        };
        let points = self.bodies[body].select(pin, &self.folder)?;
        Ok(SetupPin { id, body, points, stiffness, motion, during: pin.during, offset: DVec3::ZERO })
    }

    pub(super) fn remove_body(&mut self, index: usize) {
        self.bodies.remove(index);
        self.body_ids.remove(index);
        self.pins.retain(|pin| pin.body != index);
        for pin in self.pins.iter_mut().filter(|pin| pin.body > index) {
            pin.body -= 1;
        }
        for grab in &mut self.grabs {
            grab.take_if(|grab| grab.body == index);
            if let Some(grab) = grab.as_mut().filter(|grab| grab.body > index) {
                grab.body -= 1;
            }
        }
    }
}

impl Body {
    /// The points a pin's selection picks: vertices of a cloth, vertices of a solid's elements, or, where the
    /// selection speaks of the user's mesh, points of a solid's surface.
    fn select(&self, pin: &Pin, folder: &std::path::Path) -> Result<Vec<PinPoint>, Error> {
        let inside =
            |file: &std::path::Path, points: &[DVec3]| crate::body::inside_mesh(&folder.join(file), points);
        let cloth = matches!(self.elements, Elements::Triangles(_));
        let on_surface = cloth || pin.selection.speaks_of_the_mesh();
        let points = SelectionPoints {
            body: &self.name,
            positions: if on_surface { &self.surface_start } else { &self.start },
            surface: on_surface.then_some(&self.surface.mesh),
            inside: Some(&inside),
        };
        let chosen = pin.selection.evaluate(&points)?;
        if !on_surface {
            let vertex = |v: u32| PinPoint { weights: vec![(v, 1.0)], start: self.start[v as usize] };
            return Ok(chosen.into_iter().map(vertex).collect());
        }
        let mut picked: Vec<PinPoint> = Vec::new();
        let mut taken = vec![false; self.start.len()];
        for point in chosen {
            let weights = self.embedding.weights(point as usize).to_vec();
            match weights[..] {
                // Vertices split by UVs are one unknown.
                [(v, _)] if std::mem::replace(&mut taken[v as usize], true) => continue,
                [_] => {}
                _ if pin.hold == Hold::Hard => return Err(self.cannot_hold_hard()),
                _ => {}
            }
            picked.push(PinPoint { weights, start: self.surface_start[point as usize] });
        }
        Ok(picked)
    }

    fn cannot_hold_hard(&self) -> Error {
        Error::Invalid(format!(
            "body `{}`: vertices of an embedded surface cannot be held exactly; give the pin a stiffness, or select \
             by a box, sphere or plane, which holds the solid's own vertices",
            self.name
        ))
    }
}

impl Selection {
    /// Whether it needs the user's own vertices: their numbers, names, colours or boundary.
    fn speaks_of_the_mesh(&self) -> bool {
        match self {
            Self::Indices(_) | Self::BoundaryLoop(_) | Self::Group(_) | Self::Color(_) => true,
            Self::Any(parts) | Self::AllOf(parts) => parts.iter().any(Self::speaks_of_the_mesh),
            Self::Not(part) => part.speaks_of_the_mesh(),
            _ => false,
        }
    }
}
