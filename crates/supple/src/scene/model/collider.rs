//! `[[collider]]`.

use std::path::PathBuf;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::scene::Motion;

/// The shape of a collider, in metres.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ColliderShape {
    /// Everything behind a plane is solid.
    Plane {
        /// A point of the plane.
        #[serde(default)]
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
    /// A triangle mesh: a file, a sequence of files, or a finished run.
    Mesh(PathBuf),
}

/// An obstacle for bodies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collider {
    /// Its name.
    pub name: String,
    /// Its shape at rest.
    pub shape: ColliderShape,
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
            motion: None,
            friction: None,
            stiffness: None,
            thickness: default_thickness(),
            priority: 0,
            group: None,
        }
    }
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

fn default_thickness() -> f64 {
    1e-3
}
