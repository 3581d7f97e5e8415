//! Changing a simulation between steps: the world, bodies, colliders and pins. Anything that is invalid in a scene file is
//! rejected here too, immediately and without changing anything.

pub(crate) mod collider_motion;
pub(crate) mod pick;
pub(crate) mod solver_change;
pub(crate) mod targets;
pub(crate) mod tearing;
pub(crate) mod unpin;

use glam::DVec3;

use crate::body::Body;
use crate::contact::PosedCollider;
use crate::scene::{self, NamedOptions};
use crate::simulation::{BodyId, ColliderId, PinId, SceneState, Simulation, remove_where, unknown};
use crate::solvers::hpbd;
use supple_core::Error;

impl Simulation {
    /// The current gravity, wind and air.
    pub fn world(&self) -> &scene::World {
        &self.scene_state.world
    }

    /// Changes gravity, wind and air.
    ///
    /// ```
    /// use supple::{Body, Scene, Simulation, scene::World};
    /// let scene = Scene::builder().body(Body::cloth("cloth").vertices([3, 3])).build()?;
    /// let mut simulation = Simulation::new(scene)?;
    /// let moon = World { gravity: [0.0, -1.62, 0.0].into(), ..simulation.world().clone() };
    /// simulation.set_world(moon)?;
    /// let nowhere = World { gravity: [0.0, f64::NAN, 0.0].into(), ..World::default() };
    /// assert!(simulation.set_world(nowhere).is_err());
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn set_world(&mut self, world: scene::World) -> Result<(), Error> {
        world.validate()?;
        self.scene_state.world = world;
        Ok(())
    }

    /// Selects the level of detail of `hpbd` between steps: 0 simulates the mesh itself, higher levels fewer particles. A level beyond the
    /// last selects the coarsest.
    ///
    /// ```
    /// use supple::{Body, Scene, Simulation, scene::Method};
    /// let mut scene = Scene::builder().body(Body::cloth("cloth").vertices([33, 33])).build()?;
    /// scene.solver.method = Method::HPBD;
    /// let mut simulation = Simulation::new(scene)?;
    /// simulation.set_level(2)?;
    /// simulation.step(0.01)?;
    /// simulation.set_level(0)?;
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn set_level(&mut self, level: u32) -> Result<(), Error> {
        if self.scene_state.solver.method != scene::Method::HPBD {
            return Err(Error::Invalid("only `method = \"hpbd\"` has levels of detail".into()));
        }
        let mut options: hpbd::HpbdOptions = self.scene_state.solver.options.get();
        options.level = level;
        options.check()?;
        self.scene_state.solver.options.set(options);
        Ok(())
    }

    /// Adds a body between steps.
    pub fn add_body(&mut self, body: &scene::Body) -> Result<BodyId, Error> {
        body.validate(&self.scene_state.folder)?;
        if self.scene_state.bodies.iter().any(|other| other.name == body.name) {
            return Err(taken("body", &body.name));
        }
        if self.tearing.is_some() {
            return Err(Error::NotSupported("a body added to a scene whose last body tears".into()));
        }
        let built = Body::build(body, &self.scene_state.folder, self.scene_state.solver.method)?;
        self.kind.can_take(self.scene_state.solver.method, &built)?;
        let id = BodyId(self.new_id());
        let kept: Vec<Option<usize>> = (0..self.scene_state.bodies.len()).map(Some).chain([None]).collect();
        self.scene_state.bodies.push(built);
        self.scene_state.body_ids.push(id);
        self.rebuild(&kept);
        Ok(id)
    }

    /// Gives a body another material, model or rest shape between steps; positions and velocities are kept. Its name and its
    /// elements must be the same. Solver data derived from the mesh, such as the levels of a multigrid, is kept.
    ///
    /// ```
    /// use supple::{Body, Scene, Simulation};
    /// let cloth = Body::cloth("cloth").vertices([9, 9]);
    /// let mut simulation = Simulation::new(Scene::builder().body(cloth.clone()).build()?)?;
    /// simulation.step(0.01)?;
    /// let body = simulation.body("cloth").expect("the scene has it");
    /// simulation.change_body(body, &cloth.material("denim"))?;
    /// assert!(simulation.change_body(body, &Body::cloth("cloth").vertices([5, 5]).into()).is_err());
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn change_body(&mut self, body: BodyId, changed: &scene::Body) -> Result<(), Error> {
        let index = self.scene_state.body_index(body).ok_or_else(|| unknown("body"))?;
        changed.validate(&self.scene_state.folder)?;
        let built = Body::build(changed, &self.scene_state.folder, self.scene_state.solver.method)?;
        self.kind.can_take(self.scene_state.solver.method, &built)?;
        let before = &self.scene_state.bodies[index];
        if built.name != before.name || built.elements != before.elements {
            return Err(Error::Invalid(format!(
                "body `{}` cannot be replaced by one with another name or other elements; remove it and add the other",
                before.name
            )));
        }
        self.scene_state.bodies[index] = built;
        self.stepper.materials_changed(&self.scene_state);
        Ok(())
    }

    /// Removes a body with its pins and grabs.
    pub fn remove_body(&mut self, body: BodyId) -> Result<(), Error> {
        let index = self.scene_state.body_index(body).ok_or_else(|| unknown("body"))?;
        let kept: Vec<Option<usize>> =
            (0..self.scene_state.bodies.len()).filter(|b| *b != index).map(Some).collect();
        self.scene_state.remove_body(index);
        self.rebuild(&kept);
        Ok(())
    }

    /// Adds a collider between steps.
    pub fn add_collider(&mut self, collider: scene::Collider) -> Result<ColliderId, Error> {
        self.check_collider(&collider, None)?;
        let id = ColliderId(self.new_id());
        self.scene_state.colliders.push((id, collider));
        self.placed.add(id);
        Ok(id)
    }

    /// Removes a collider with the pins that follow it.
    pub fn remove_collider(&mut self, collider: ColliderId) -> Result<(), Error> {
        remove_where(&mut self.scene_state.colliders, |(id, _)| *id == collider)
            .ok_or_else(|| unknown("collider"))?;
        self.scene_state.pins.retain(|pin| !pin.follows_collider(collider));
        Ok(())
    }

    /// The current collider; `None` if it was removed.
    pub fn collider(&self, collider: ColliderId) -> Option<&scene::Collider> {
        self.scene_state.colliders.iter().find(|(id, _)| *id == collider).map(|(_, collider)| collider)
    }

    /// Moves or changes a collider between steps. If only its place has changed it goes there over the next step, as with
    /// [`Simulation::set_collider_pose`]. Pins that follow it move along; while they do, its mesh cannot change.
    pub fn set_collider(&mut self, collider: ColliderId, changed: scene::Collider) -> Result<(), Error> {
        self.check_collider(&changed, Some(collider))?;
        let is_mesh = |shape: &scene::ColliderShape| matches!(shape, scene::ColliderShape::Mesh(_));
        let other_mesh = self.collider(collider).is_some_and(|before| {
            let is_other = before.shape != changed.shape || before.transform != changed.transform;
            is_other && (is_mesh(&before.shape) || is_mesh(&changed.shape))
        });
        if other_mesh && self.scene_state.pins.iter().any(|pin| pin.follows_collider(collider)) {
            let name = &changed.name;
            return Err(Error::Invalid(format!(
                "pins follow the collider `{name}`, whose mesh cannot change meanwhile; remove them first"
            )));
        }
        let jumps = changed.motion.iter().flat_map(|motion| &motion.keyframes).any(|key| key.jump);
        if jumps && self.scene_state.pins.iter().any(|pin| pin.follows_collider(collider)) {
            let name = &changed.name;
            return Err(Error::Invalid(format!(
                "pins follow the collider `{name}`, which cannot `jump` meanwhile"
            )));
        }
        self.replace_collider(collider, changed)
    }

    fn check_collider(&mut self, collider: &scene::Collider, own: Option<ColliderId>) -> Result<(), Error> {
        collider.validate(&self.scene_state.folder)?;
        let others = self.scene_state.colliders.iter().filter(|(id, _)| Some(*id) != own);
        if others.into_iter().any(|(_, other)| other.name == collider.name) {
            return Err(taken("collider", &collider.name));
        }
        let SceneState { collider_meshes, folder, time, .. } = &mut self.scene_state;
        collider_meshes.load(collider, folder, 0.0)?;
        PosedCollider::new(collider, collider_meshes, [*time, *time], None).map(|_| ())
    }

    /// Pins points of a body at their current positions, exactly or by a stiffness in N/m.
    pub fn pin(
        &mut self,
        body: BodyId,
        selection: &scene::Selection,
        hold: scene::PinStrength,
    ) -> Result<PinId, Error> {
        let index = self.scene_state.body_index(body).ok_or_else(|| unknown("body"))?;
        let name = self.scene_state.bodies[index].name.clone();
        let pin = scene::Pin { body: name, selection: selection.clone(), hold, follows: None, during: None };
        pin.validate(&self.scene_state.folder)?;
        let mut pin = self.scene_state.resolve_pin(&pin, PinId(self.next_id + 1), None)?;
        pin.begin(self.scene_state.time, &self.body_unknowns(index));
        let id = PinId(self.new_id());
        self.scene_state.pins.push(pin);
        Ok(id)
    }

    /// Removes a pin.
    pub fn unpin(&mut self, pin: PinId) -> Result<(), Error> {
        remove_where(&mut self.scene_state.pins, |other| other.id == pin).ok_or_else(|| unknown("pin"))
    }

    /// Moves all points of a pin by an offset from where they were pinned, in metres.
    pub fn move_pin(&mut self, pin: PinId, offset: DVec3) -> Result<(), Error> {
        let pin =
            self.scene_state.pins.iter_mut().find(|other| other.id == pin).ok_or_else(|| unknown("pin"))?;
        if !offset.is_finite() {
            return Err(Error::Invalid(format!("a pin moved by {offset}: it must be finite")));
        }
        pin.offset = offset;
        Ok(())
    }
}

fn taken(kind: &str, name: &str) -> Error {
    Error::Invalid(format!("a {kind} called `{name}` already exists; names must be unique"))
}
