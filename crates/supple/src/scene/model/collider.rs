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
    /// Penalty stiffness in Pa/m: pressure per metre of depth.
    #[serde(default = "default_stiffness")]
    pub stiffness: f64,
    /// Distance kept from the shape, in metres.
    #[serde(default = "default_thickness")]
    pub thickness: f64,
}

impl Collider {
    /// A resting collider with the default stiffness and thickness.
    pub fn new(name: impl Into<String>, shape: ColliderShape) -> Self {
        Self {
            name: name.into(),
            shape,
            motion: None,
            friction: None,
            stiffness: default_stiffness(),
            thickness: default_thickness(),
        }
    }
}

fn default_stiffness() -> f64 {
    1e7
}

fn default_thickness() -> f64 {
    1e-3
}
