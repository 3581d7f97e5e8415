//! `[contact]`: contact of bodies with themselves and each other.

use serde::{Deserialize, Serialize};

/// What happens to surfaces that cross each other at the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tangled {
    /// They are separated gradually.
    #[default]
    Push,
    /// They pass through each other until they are apart.
    Ignore,
}

/// How friction holds, between surfaces and at colliders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrictionModel {
    /// A potential of the slip within a step: what should stick creeps, by less than a millimetre a second.
    #[default]
    Smooth,
    /// The same potential of the slip since it took hold: what should stick stays where it is.
    Adhesive,
    /// Impulses on the velocities that a step without friction has come to.
    Impulse,
}

/// Contact of bodies with themselves and each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Contact {
    /// Whether bodies collide with each other; with itself a body collides by its own `self_contact`.
    pub between_bodies: bool,
    /// The distance in metres below which surfaces push each other apart.
    pub thickness: f64,
    /// Pressure for each metre of thickness at about half of it, in Pa/m; without it from mass and material.
    pub stiffness: Option<f64>,
    /// What happens to what crosses at the start.
    pub tangled: Tangled,
    /// How friction holds, at colliders too.
    pub friction_model: FrictionModel,
}

impl Default for Contact {
    fn default() -> Self {
        Self {
            between_bodies: true,
            thickness: 1e-3,
            stiffness: None,
            tangled: Tangled::Push,
            friction_model: FrictionModel::Smooth,
        }
    }
}
