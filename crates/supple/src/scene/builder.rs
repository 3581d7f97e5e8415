//! Scenes built by a program: a fluent builder, and short constructors for the parts of a scene.

use std::path::PathBuf;
use std::sync::Arc;

use glam::DVec3;

use crate::material::MaterialSpec;
use crate::scene::{
    Body, Collider, ColliderShape, ContactPair, Follow, MeshShape, Motion, Pin, PinStrength, Placement,
    Scene, Selection, Shape, ShapeSource, Solver,
};
use supple_core::Error;
use supple_mesh::{SurfaceMesh, TetMesh};

/// Builds a [`Scene`] step by step; [`SceneBuilder::build`] checks it.
#[derive(Debug, Clone, Default)]
pub struct SceneBuilder {
    scene: Scene,
}

impl Scene {
    /// Starts a scene in code.
    ///
    /// ```
    /// use supple::{Body, Collider, Pin, Scene, Selection};
    /// let scene = Scene::builder()
    ///     .fps(30.0)
    ///     .frames(90)
    ///     .body(Body::cloth("cloth").size([1.0, 1.0]).vertices([31, 31]).at([0.0, 1.0, 0.0]).material("silk"))
    ///     .pin(Pin::hard("cloth", Selection::nearest([[-0.5, 1.0, -0.5]])))
    ///     .collider(Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]))
    ///     .build()?;
    /// assert_eq!(scene.bodies.len(), 1);
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn builder() -> SceneBuilder {
        SceneBuilder::default()
    }
}

impl SceneBuilder {
    /// The scene's name, for reports.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.scene.name = name.into();
        self
    }

    /// The base folder of relative file names [default: the current folder].
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.scene.folder = folder.into();
        self
    }

    /// Frames per second.
    pub fn fps(mut self, fps: f64) -> Self {
        self.scene.time.fps = fps;
        self
    }

    /// Number of frames after the start.
    pub fn frames(mut self, frames: u32) -> Self {
        self.scene.time.frames = frames;
        self
    }

    /// Time steps per frame.
    pub fn substeps(mut self, substeps: u32) -> Self {
        self.scene.time.substeps = substeps;
        self
    }

    /// Gravitational acceleration in m/s².
    pub fn gravity(mut self, gravity: impl Into<DVec3>) -> Self {
        self.scene.world.gravity = gravity.into();
        self
    }

    /// Velocity of the air in m/s.
    pub fn wind(mut self, wind: impl Into<DVec3>) -> Self {
        self.scene.world.wind = Some(wind.into());
        self
    }

    /// Density of the air in kg/m³: still air also exerts drag on moving bodies.
    pub fn air_density(mut self, density: f64) -> Self {
        self.scene.world.air_density = Some(density);
        self
    }

    /// Gusts: the wind speed varies by this fraction, 0 to 1.
    pub fn gust(mut self, gust: f64) -> Self {
        self.scene.world.gust = gust;
        self
    }

    /// Adds a body.
    pub fn body(mut self, body: impl Into<Body>) -> Self {
        self.scene.bodies.push(body.into());
        self
    }

    /// Adds a pin.
    pub fn pin(mut self, pin: Pin) -> Self {
        self.scene.pins.push(pin);
        self
    }

    /// Adds a collider.
    pub fn collider(mut self, collider: Collider) -> Self {
        self.scene.colliders.push(collider);
        self
    }

    /// Lets two bodies, or a body and a collider, meet or ignore each other, or changes their friction; later pairs win.
    ///
    /// ```
    /// use supple::{Body, Collider, ContactPair, Scene};
    /// let scene = Scene::builder()
    ///     .body(Body::cloth("shirt").vertices([9, 9]))
    ///     .collider(Collider::sphere("man", [0.0, -1.0, 0.0], 0.5))
    ///     .pair(ContactPair::friction("shirt", "man", 0.2))
    ///     .build()?;
    /// # assert_eq!(scene.contact.pairs.len(), 1);
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn pair(mut self, pair: ContactPair) -> Self {
        self.scene.contact.pairs.push(pair);
        self
    }

    /// Method, linear solver and stopping criteria.
    pub fn solver(mut self, solver: Solver) -> Self {
        self.scene.solver = solver;
        self
    }

    /// The scene, checked as by [`Scene::validate`], with absolute file names.
    pub fn build(mut self) -> Result<Scene, Error> {
        self.scene.resolve_paths();
        self.scene.validate()?;
        Ok(self.scene)
    }
}

impl Body {
    /// A body of some shape, of cotton.
    pub fn new(name: impl Into<String>, shape: impl Into<Shape>) -> Self {
        Self {
            name: name.into(),
            shape: shape.into(),
            rest: None,
            transform: Placement::default(),
            velocity: DVec3::ZERO,
            material: MaterialSpec::default(),
            model: None,
            bending: None,
            cell: None,
            interior: None,
            tear_stretch: None,
            self_contact: None,
            group: None,
            pressure: None,
            regions: Vec::new(),
            tears: Vec::new(),
        }
    }

    /// A body whose mesh is in a file.
    ///
    /// ```
    /// let shirt = supple::Body::file("shirt", "shirt.obj").material("jersey");
    /// # assert_eq!(shirt.name, "shirt");
    /// ```
    pub fn file(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self::new(name, ShapeSource::File(path.into()))
    }

    /// A body whose mesh the program provides.
    ///
    /// ```
    /// use supple::{Body, mesh::SurfaceMesh};
    /// let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]].map(Into::into);
    /// let body = Body::from_mesh("triangle", SurfaceMesh::from_triangles(corners.to_vec(), &[[0, 2, 1]]));
    /// # assert_eq!(body.name, "triangle");
    /// ```
    pub fn from_mesh(name: impl Into<String>, mesh: SurfaceMesh) -> Self {
        Self::new(name, ShapeSource::Mesh(Arc::new(mesh)))
    }

    /// A solid whose tetrahedra the program provides; its surface is their boundary.
    pub fn from_tets(name: impl Into<String>, mesh: TetMesh) -> Self {
        Self::new(name, ShapeSource::Tets(Arc::new(mesh)))
    }

    /// Initial translation, in metres.
    pub fn at(mut self, translate: impl Into<DVec3>) -> Self {
        self.transform.translate = translate.into();
        self
    }

    /// Initial rotation about the origin as a rotation vector, in degrees.
    pub fn rotated(mut self, degrees: impl Into<DVec3>) -> Self {
        self.transform.rotate = degrees.into();
        self
    }

    /// Initial velocity, in m/s.
    pub fn moving(mut self, velocity: impl Into<DVec3>) -> Self {
        self.velocity = velocity.into();
        self
    }

    /// Sets the material: a preset's name, or a [`MaterialSpec`].
    pub fn material(mut self, material: impl Into<MaterialSpec>) -> Self {
        self.material = material.into();
        self
    }

    /// Makes it a member of a group, for [`ContactPair`].
    pub fn in_group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Adjusts the material.
    ///
    /// ```
    /// use supple::Body;
    /// let body = Body::cloth("c").vertices([9, 9]).material("silk").tuned(|m| m.friction = Some(0.1));
    /// assert_eq!(body.material.preset.as_deref(), Some("silk"));
    /// ```
    pub fn tuned(mut self, change: impl FnOnce(&mut MaterialSpec)) -> Self {
        change(&mut self.material);
        self
    }

    /// A solid of cells of this size in metres.
    pub fn solid(mut self, cell: f64) -> Self {
        self.cell = Some(cell);
        self
    }
}

impl ContactPair {
    /// Two names of bodies, colliders or groups that ignore each other.
    pub fn ignore(first: impl Into<String>, second: impl Into<String>) -> Self {
        Self { between: [first.into(), second.into()], collide: Some(false), friction: None }
    }

    /// Two names that collide; that of a body twice lets it collide with itself.
    pub fn collide(first: impl Into<String>, second: impl Into<String>) -> Self {
        Self { between: [first.into(), second.into()], collide: Some(true), friction: None }
    }

    /// Two names with a friction coefficient of their own.
    pub fn friction(first: impl Into<String>, second: impl Into<String>, friction: f64) -> Self {
        Self { between: [first.into(), second.into()], collide: None, friction: Some(friction) }
    }
}

impl Pin {
    /// Fixes the selected vertices exactly.
    pub fn hard(body: impl Into<String>, selection: Selection) -> Self {
        Self { body: body.into(), selection, hold: PinStrength::Hard, follows: None, during: None }
    }

    /// Attaches each selected vertex by a spring of this stiffness in N/m.
    pub fn soft(body: impl Into<String>, selection: Selection, stiffness: f64) -> Self {
        Self { hold: PinStrength::Stiffness(stiffness), ..Self::hard(body, selection) }
    }

    /// Moves the pinned points.
    ///
    /// ```
    /// use supple::{Keyframe, Motion, Pin, Selection};
    /// let lift = vec![Keyframe::at(0.0).translate([0.0; 3]), Keyframe::at(2.0).translate([0.0, 1.0, 0.0])];
    /// let pin = Pin::hard("cloth", Selection::All {}).following(Motion { keyframes: lift, ..Motion::default() });
    /// # assert!(pin.follows.is_some());
    /// ```
    pub fn following(mut self, motion: Motion) -> Self {
        self.follows = Some(Follow::Keyframes(motion));
        self
    }

    /// Active only from one time to another, in seconds.
    pub fn during(mut self, from: f64, to: f64) -> Self {
        self.during = Some([from, to]);
        self
    }
}

impl Collider {
    /// Everything behind a plane; the normal points to the free side.
    ///
    /// ```
    /// let ground = supple::Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]).friction(0.5);
    /// # assert_eq!(ground.friction, Some(0.5));
    /// ```
    pub fn plane(name: impl Into<String>, point: impl Into<DVec3>, normal: impl Into<DVec3>) -> Self {
        Self::new(name, ColliderShape::Plane { point: point.into(), normal: normal.into() })
    }

    /// A solid ball; metres.
    pub fn sphere(name: impl Into<String>, center: impl Into<DVec3>, radius: f64) -> Self {
        Self::new(name, ColliderShape::Sphere { center: center.into(), radius })
    }

    /// A resting capsule around the segment between two points.
    pub fn capsule(
        name: impl Into<String>,
        from: impl Into<DVec3>,
        to: impl Into<DVec3>,
        radius: f64,
    ) -> Self {
        Self::new(name, ColliderShape::Capsule { from: from.into(), to: to.into(), radius })
    }

    /// A resting box of these side lengths; its motion rotates it.
    pub fn cuboid(name: impl Into<String>, center: impl Into<DVec3>, size: impl Into<DVec3>) -> Self {
        Self::new(name, ColliderShape::Box { center: center.into(), size: size.into() })
    }

    /// A mesh: a file, a sequence of files, or the folder of a finished run; a [`MeshShape`] says more about it.
    pub fn mesh(name: impl Into<String>, mesh: impl Into<MeshShape>) -> Self {
        Self::new(name, ColliderShape::Mesh(mesh.into()))
    }

    /// The place of its mesh, in metres.
    pub fn at(mut self, translate: impl Into<DVec3>) -> Self {
        self.transform.translate = translate.into();
        self
    }

    /// The rotation of its mesh about the origin as a rotation vector, in degrees.
    pub fn rotated(mut self, degrees: impl Into<DVec3>) -> Self {
        self.transform.rotate = degrees.into();
        self
    }

    /// Moves it by keyframes.
    pub fn moving(mut self, motion: Motion) -> Self {
        self.motion = Some(motion);
        self
    }

    /// Soft: pushed out with this pressure per metre of depth, in Pa/m, in place of a barrier that nothing passes.
    pub fn soft(mut self, stiffness: f64) -> Self {
        self.stiffness = Some(stiffness);
        self
    }

    /// Makes it a member of a group, for [`ContactPair`].
    pub fn in_group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Coulomb friction coefficient, in place of the body's.
    pub fn friction(mut self, friction: f64) -> Self {
        self.friction = Some(friction);
        self
    }
}
