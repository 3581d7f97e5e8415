//! Implicit shapes: a signed field, negative inside, from spheres, capsules, ellipsoids, smooth unions and
//! transforms; and the built-in characters made of them.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// A built-in character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Character {
    /// A head with eight arms.
    Octopus,
    /// A ball with thin spikes.
    SpikyBall,
    /// A four-legged creature.
    Creature,
    /// An armadillo-like figure standing on two legs.
    Armadillo,
}

/// A tree of implicit shapes, in metres.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ImplicitShape {
    /// A ball.
    Sphere {
        /// Centre.
        center: DVec3,
        /// Radius.
        radius: f64,
    },
    /// A rounded segment whose radius may change from end to end.
    Capsule {
        /// First end.
        from: DVec3,
        /// Second end.
        to: DVec3,
        /// Radius at `from` and at `to`.
        radii: [f64; 2],
    },
    /// An axis-aligned ellipsoid.
    Ellipsoid {
        /// Centre.
        center: DVec3,
        /// Half axes.
        radii: DVec3,
    },
    /// A smooth union of shapes.
    Union {
        /// The parts.
        of: Vec<ImplicitShape>,
        /// Width of the blend in metres; 0 is a sharp union.
        #[serde(default)]
        blend: f64,
    },
    /// A shape moved: scaled, then rotated, then translated.
    Transform {
        /// The shape.
        of: Box<ImplicitShape>,
        /// Translation in metres.
        #[serde(default)]
        translate: DVec3,
        /// Rotation vector: axis times angle in degrees.
        #[serde(default)]
        rotate: DVec3,
        /// Uniform scale.
        #[serde(default = "one")]
        scale: f64,
    },
}

fn one() -> f64 {
    1.0
}
