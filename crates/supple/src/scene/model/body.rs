//! `[[body]]`: shape, placement, material and model.

use std::path::PathBuf;
use std::sync::Arc;

use glam::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};

use crate::material::MaterialSpec;
use crate::scene::model::shape_table::ShapeTable;
use crate::scene::{Model, Selection};
use supple_mesh::generate::{
    BoxShape, ClothGrid, CylinderShape, KnotShape, PanelShape, SphereShape, TorusShape,
};
use supple_mesh::implicit::{Character, ImplicitShape};
use supple_mesh::{SurfaceMesh, TetMesh};

/// The up axis of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// y is up, as in the world.
    #[default]
    Y,
    /// z is up: (x, y, z) of the file is (x, z, -y) of the world.
    Z,
}

impl Axis {
    /// A point of the file with the world's axes (y up).
    pub fn to_world(self, point: DVec3) -> DVec3 {
        match self {
            Self::Y => point,
            Self::Z => DVec3::new(point.x, point.z, -point.y),
        }
    }

    /// The same as a matrix.
    pub fn matrix(self) -> DMat3 {
        DMat3::from_cols(self.to_world(DVec3::X), self.to_world(DVec3::Y), self.to_world(DVec3::Z))
    }
}

/// An axis-aligned box centred at the origin. As cloth it specifies its `cells`; as a solid it is divided by the body's `cell`, and
/// specifying both is rejected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cuboid {
    /// Side lengths in metres.
    pub size: [f64; 3],
    /// Cells along each side of a box of cloth.
    #[serde(default)]
    pub cells: Option<[u32; 3]>,
}

impl From<BoxShape> for Cuboid {
    fn from(shape: BoxShape) -> Self {
        Self { size: shape.size, cells: Some(shape.cells) }
    }
}

/// Where a shape comes from. In a scene file the `shape` table has exactly one of these keys.
#[derive(Debug, Clone, PartialEq)]
pub enum ShapeSource {
    /// A mesh file, relative to the scene.
    File(PathBuf),
    /// A flat cloth.
    Grid(ClothGrid),
    /// A box.
    Box(Cuboid),
    /// A cylinder.
    Cylinder(CylinderShape),
    /// A sphere.
    Sphere(SphereShape),
    /// A torus.
    Torus(TorusShape),
    /// A strip with a knot in it.
    Knot(KnotShape),
    /// A flat piece with a given outline.
    Panel(PanelShape),
    /// A built-in character.
    Character(Character),
    /// A tree of implicit shapes.
    Implicit(ImplicitShape),
    /// A mesh provided by the calling program; not available in scene files.
    Mesh(Arc<SurfaceMesh>),
    /// Tetrahedra provided by the calling program; not available in scene files.
    Tets(Arc<TetMesh>),
}

/// A shape with its unit and axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ShapeTable", into = "ShapeTable")]
pub struct Shape {
    /// Where it comes from.
    pub source: ShapeSource,
    /// One object of a file, by the name of an object or group, or of a glTF node or mesh [default: all of them].
    pub object: Option<String>,
    /// Metres per unit of the shape.
    pub scale: f64,
    /// The file's up axis.
    pub up: Axis,
}

impl Shape {
    /// A shape in metres with y up.
    pub fn new(source: ShapeSource) -> Self {
        Self { source, object: None, scale: 1.0, up: Axis::Y }
    }

    /// The matrix that maps points of the shape to metres with y up.
    pub fn to_metres(&self) -> DMat3 {
        self.up.matrix() * self.scale
    }
}

impl From<ShapeSource> for Shape {
    fn from(source: ShapeSource) -> Self {
        Self::new(source)
    }
}

/// A placement in the world: scaled, rotated about the origin, then translated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Placement {
    /// Translation in metres.
    pub translate: DVec3,
    /// Rotation vector: axis times angle in degrees.
    pub rotate: DVec3,
    /// Uniform scale.
    pub scale: f64,
}

impl Default for Placement {
    fn default() -> Self {
        Self { translate: DVec3::ZERO, rotate: DVec3::ZERO, scale: 1.0 }
    }
}

impl Placement {
    /// The start position of a point of the shape in the world.
    pub fn apply(&self, point: DVec3) -> DVec3 {
        let rotation = DQuat::from_scaled_axis(self.rotate * (std::f64::consts::PI / 180.0));
        self.translate + rotation * (self.scale * point)
    }
}

/// The bending model of cloth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bending {
    /// Quadratic (Bergou 2006).
    Quadratic,
    /// Dihedral angle.
    Dihedral,
}

/// Random variation of a material.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Factor by which stiffness varies.
    pub spread: f64,
    /// Seed.
    pub seed: u64,
}

/// A part of a body with another material.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// The region.
    pub selection: Selection,
    /// Its material.
    #[serde(default)]
    pub material: Option<MaterialSpec>,
    /// Or a random variation of the body's.
    #[serde(default)]
    pub random: Option<Spread>,
}

/// A scheduled tear: vertices of a cloth are split, each along a plane through it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tear {
    /// When, in seconds.
    pub time: f64,
    /// The vertices.
    pub selection: Selection,
    /// The normal of the planes in the initial state.
    pub across: DVec3,
}

/// A body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// Another shape with the same vertices whose lengths are the rest lengths (flat panels).
    #[serde(default)]
    pub rest: Option<Shape>,
    /// Its initial placement.
    #[serde(default)]
    pub transform: Placement,
    /// Its initial velocity in m/s.
    #[serde(default)]
    pub velocity: DVec3,
    /// Its material.
    #[serde(default)]
    pub material: MaterialSpec,
    /// The elastic model [default: springs, co-rotated for methods without them].
    #[serde(default)]
    pub model: Option<Model>,
    /// The bending model [default: with the model].
    #[serde(default)]
    pub bending: Option<Bending>,
    /// Cell size in metres of lattices, octrees and tetrahedralised surfaces; turns a closed surface into a solid.
    #[serde(default)]
    pub cell: Option<f64>,
    /// How fast an octree coarsens inward, above 0 to 1: at 1 as fast as neighbours may differ, at one half twice as far from
    /// the surface.
    #[serde(default)]
    pub interior: Option<f64>,
    /// Stretch at which it tears.
    #[serde(default)]
    pub tear_stretch: Option<f64>,
    /// Whether it collides with itself [default: no].
    #[serde(default)]
    pub self_contact: Option<bool>,
    /// The name of a group, for `[[contact.pair]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Pressure inside a closed surface in Pa.
    #[serde(default)]
    pub pressure: Option<f64>,
    /// Regions of another material.
    #[serde(default, rename = "region", skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<Region>,
    /// Scheduled tears.
    #[serde(default, rename = "tear", skip_serializing_if = "Vec::is_empty")]
    pub tears: Vec<Tear>,
}
