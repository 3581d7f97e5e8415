//! `[[collider]]`.

use glam::{DAffine3, DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};

use crate::scene::model::collider_table::ColliderShapeTable;
use crate::scene::{MeshShape, Motion, Placement};

/// The shape of a collider, in metres.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ColliderShapeTable", into = "ColliderShapeTable")]
pub enum ColliderShape {
    /// Everything behind a plane is solid.
    Plane {
        /// A point of the plane.
        point: DVec3,
        /// The normal, pointing to the free side.
        normal: DVec3,
    },
    /// A solid ball.
    Sphere {
        /// Centre.
        center: DVec3,
        /// Radius.
        radius: f64,
    },
    /// A solid capsule.
    Capsule {
        /// First end.
        from: DVec3,
        /// Second end.
        to: DVec3,
        /// Radius.
        radius: f64,
    },
    /// A solid axis-aligned box.
    Box {
        /// Centre.
        center: DVec3,
        /// Side lengths.
        size: DVec3,
    },
    /// A triangle mesh.
    Mesh(MeshShape),
}

/// An obstacle for bodies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collider {
    /// Its name.
    pub name: String,
    /// Its shape at rest.
    pub shape: ColliderShape,
    /// The placement of its mesh, as that of a body's shape.
    #[serde(default, skip_serializing_if = "is_identity")]
    pub transform: Placement,
    /// How it moves.
    #[serde(default)]
    pub motion: Option<Motion>,
    /// Coulomb friction coefficient [default: that of the body's material].
    #[serde(default)]
    pub friction: Option<f64>,
    /// Makes it soft: pressure per metre of depth, in Pa/m [default: hard, nothing enters it].
    #[serde(default)]
    pub stiffness: Option<f64>,
    /// The distance in metres below which it repels bodies.
    #[serde(default = "default_thickness")]
    pub thickness: f64,
    /// Where a body has no room between two colliders, it is released from the one with the lower priority, or the later one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i32,
    /// The name of a group, for `[[contact.pair]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

impl Collider {
    /// A resting hard collider with the default thickness.
    pub fn new(name: impl Into<String>, shape: ColliderShape) -> Self {
        Self {
            name: name.into(),
            shape,
            transform: Placement::default(),
            motion: None,
            friction: None,
            stiffness: None,
            thickness: default_thickness(),
            priority: 0,
            group: None,
        }
    }

    /// Maps points of its mesh's file to world metres, before its motion.
    pub(crate) fn world_from_file(&self) -> DAffine3 {
        let ColliderShape::Mesh(mesh) = &self.shape else { return DAffine3::IDENTITY };
        let Placement { translate, rotate, scale } = self.transform;
        let rotation = DQuat::from_scaled_axis(rotate * (std::f64::consts::PI / 180.0));
        let linear = DMat3::from_quat(rotation) * mesh.to_metres() * scale;
        DAffine3 { matrix3: linear, translation: translate }
    }
}

fn is_identity(transform: &Placement) -> bool {
    *transform == Placement::default()
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

fn default_thickness() -> f64 {
    1e-3
}
