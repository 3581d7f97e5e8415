//! The `shape` table of a collider as it is written: one key for the shape; beside `mesh` also what places and moves the mesh.

use std::path::PathBuf;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::scene::{Axis, ColliderShape, MeshShape};
use supple_core::text::suggest::list;

const SHAPES: [&str; 5] = ["plane", "sphere", "capsule", "box", "mesh"];

/// Every key of the table.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ColliderShapeTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    plane: Option<PlaneTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sphere: Option<SphereTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capsule: Option<CapsuleTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#box: Option<BoxTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mesh: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    up: Option<Axis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skin: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    animation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blend_in: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#loop: Option<bool>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaneTable {
    #[serde(default)]
    point: DVec3,
    normal: DVec3,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SphereTable {
    center: DVec3,
    radius: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CapsuleTable {
    from: DVec3,
    to: DVec3,
    radius: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoxTable {
    center: DVec3,
    size: DVec3,
}

impl ColliderShapeTable {
    /// A key next to one that it does not belong to.
    fn stray(&self) -> Option<String> {
        let of_meshes = [
            (self.object.is_some(), "object"),
            (self.scale.is_some(), "scale"),
            (self.up.is_some(), "up"),
            (self.skin.is_some(), "skin"),
            (self.animation.is_some(), "animation"),
            (self.blend_in.is_some(), "blend_in"),
            (self.cache.is_some(), "cache"),
            (self.r#loop.is_some(), "loop"),
        ];
        let stray = of_meshes.into_iter().find(|(is_given, _)| self.mesh.is_none() && *is_given);
        if let Some((_, key)) = stray {
            return Some(format!(
                "has `{key}`, which belongs to `mesh`; other shapes have their sizes and places in metres"
            ));
        }
        let follows_skin = self.animation.is_some() || self.skin == Some(true);
        let problem = if self.animation.is_some() && self.skin == Some(false) {
            "has an `animation` and `skin = false`; leave one of them out"
        } else if follows_skin && self.cache.is_some() {
            "has both a `cache` and a skin to follow; leave one of them out"
        } else if self.blend_in.is_some() && !follows_skin {
            "has a `blend_in`, which belongs to a mesh that follows its skin: add `skin = true`"
        } else {
            return None;
        };
        Some(problem.to_owned())
    }
}

impl TryFrom<ColliderShapeTable> for ColliderShape {
    type Error = String;

    fn try_from(table: ColliderShapeTable) -> Result<Self, String> {
        let stray = table.stray();
        let mesh = table.mesh.map(|file| MeshShape {
            file,
            object: table.object,
            scale: table.scale.unwrap_or(1.0),
            up: table.up.unwrap_or_default(),
            skin: table.skin.unwrap_or(table.animation.is_some()),
            animation: table.animation,
            blend_in: table.blend_in,
            cache: table.cache,
            repeats: table.r#loop.unwrap_or_default(),
        });
        let given = [
            table.plane.map(|PlaneTable { point, normal }| Self::Plane { point, normal }),
            table.sphere.map(|SphereTable { center, radius }| Self::Sphere { center, radius }),
            table.capsule.map(|CapsuleTable { from, to, radius }| Self::Capsule { from, to, radius }),
            table.r#box.map(|BoxTable { center, size }| Self::Box { center, size }),
            mesh.map(Self::Mesh),
        ];
        let names: Vec<&str> =
            given.iter().zip(SHAPES).filter_map(|(shape, name)| shape.as_ref().map(|_| name)).collect();
        let found = if names.is_empty() { "none".to_owned() } else { list(names.iter().copied()) };
        let mut shapes = given.into_iter().flatten();
        match (shapes.next(), shapes.next(), stray) {
            (Some(_), None, Some(problem)) => Err(problem),
            (Some(shape), None, None) => Ok(shape),
            _ => Err(format!("must have exactly one of the keys {}; found {found}", list(SHAPES))),
        }
    }
}

impl From<ColliderShape> for ColliderShapeTable {
    fn from(shape: ColliderShape) -> Self {
        let mut table = Self::default();
        match shape {
            ColliderShape::Plane { point, normal } => table.plane = Some(PlaneTable { point, normal }),
            ColliderShape::Sphere { center, radius } => table.sphere = Some(SphereTable { center, radius }),
            ColliderShape::Capsule { from, to, radius } => {
                table.capsule = Some(CapsuleTable { from, to, radius });
            }
            ColliderShape::Box { center, size } => table.r#box = Some(BoxTable { center, size }),
            ColliderShape::Mesh(mesh) => {
                table.mesh = Some(mesh.file);
                table.object = mesh.object;
                table.scale = (mesh.scale != 1.0).then_some(mesh.scale);
                table.up = (mesh.up != Axis::default()).then_some(mesh.up);
                table.skin = mesh.skin.then_some(true);
                table.animation = mesh.animation;
                table.blend_in = mesh.blend_in;
                table.cache = mesh.cache;
                table.r#loop = mesh.repeats.then_some(true);
            }
        }
        table
    }
}
