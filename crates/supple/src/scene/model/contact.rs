//! `[contact]`: contact of bodies with themselves and each other.

use serde::{Deserialize, Serialize};

use crate::scene::defaults;

/// The treatment of surfaces that intersect at the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tangled {
    /// They are separated gradually.
    #[default]
    Push,
    /// They pass through each other until they are apart.
    Ignore,
}

/// The friction model, between surfaces and at colliders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrictionModel {
    /// A potential of the slip within a step: sticking contacts creep, by less than a millimetre per second.
    #[default]
    Smooth,
    /// The same potential in the slip since first contact: sticking contacts stay where they are.
    Adhesive,
    /// Impulses on the velocities after a frictionless step.
    Impulse,
}

/// The potential by which surfaces repel each other below the thickness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContactModel {
    /// A barrier that grows without bound towards contact (Li et al. 2020).
    #[default]
    Barrier,
    /// A quadratic potential a thousand times as stiff as the material (Wu et al. 2022).
    Repulsion,
}

/// What is shortened where surfaces would meet in an iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truncation {
    /// The displacement of each vertex by itself; where that does not descend, as for islands.
    Vertex,
    /// One step length for each island: bodies that contacts connect. Where that does not descend, one for all.
    #[default]
    Island,
    /// One step length for all.
    Global,
}

/// What happens where colliders close on a body that has no room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pinch {
    /// The colliders follow their motion, and vertices without room are released from one of them until they have come out again.
    #[default]
    Release,
    /// The colliders stop short, and follow when there is room.
    Stop,
}

/// `[[contact.pair]]`: whether and how two bodies, or a body and a collider, meet; of entries about the same two, later ones win.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContactPair {
    /// Names of bodies, colliders or groups; the name of a body twice is the body with itself.
    pub between: [String; 2],
    /// Whether they collide [default: as without this entry].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collide: Option<bool>,
    /// Coulomb friction coefficient, in place of those of materials and colliders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friction: Option<f64>,
}

/// Contact of bodies with themselves and each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Contact {
    /// Whether bodies collide with each other; `self_contact` of a body controls collision with itself.
    pub between_bodies: bool,
    /// The distance in metres below which surfaces repel each other [default: 1 mm].
    pub thickness: Option<f64>,
    /// Pressure per metre of thickness at about half of it, in Pa/m [default: from mass and material].
    pub stiffness: Option<f64>,
    /// The potential of the repulsion.
    pub model: ContactModel,
    /// The treatment of initial intersections.
    pub tangled: Tangled,
    /// The friction model, at colliders too.
    pub friction_model: FrictionModel,
    /// What is shortened where surfaces would meet.
    pub truncation: Truncation,
    /// What happens where colliders close on a body.
    pub pinch: Pinch,
    /// Who meets whom, where that differs from `between_bodies` and `self_contact`, and with which friction.
    #[serde(rename = "pair", skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<ContactPair>,
}

impl Contact {
    /// The distance in metres below which surfaces repel each other.
    pub fn thickness(&self) -> f64 {
        self.thickness.unwrap_or(defaults::CONTACT_THICKNESS)
    }
}

impl Default for Contact {
    fn default() -> Self {
        Self {
            between_bodies: true,
            thickness: None,
            stiffness: None,
            model: ContactModel::Barrier,
            tangled: Tangled::Push,
            friction_model: FrictionModel::Smooth,
            truncation: Truncation::Island,
            pinch: Pinch::Release,
            pairs: Vec::new(),
        }
    }
}
