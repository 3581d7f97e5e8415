//! Implicit shapes: a signed field, negative inside, from spheres, capsules, ellipsoids, smooth unions and
//! transforms; and the built-in characters made of them.
//!
//! No field here changes faster than distance does (its Lipschitz bound is 1), so its absolute value never exceeds the
//! distance to the surface.

mod characters;
mod distance;
mod manifold;
mod naive_surface_nets;
mod prepared;
mod surface_nets;

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

use self::distance::SmoothMinimum;
use self::prepared::Prepared;
pub use self::surface_nets::{MAX_SAMPLES, surface};
use super::TetMesh;
use super::stuffing::stuff;
use supple_core::Error;

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
    /// A transformed shape: scaled, then rotated, then translated.
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

/// Shapes nested deeper than this are rejected.
const MAX_DEPTH: usize = 64;

impl ImplicitShape {
    /// The field at a point in metres: negative inside, a lower bound of the distance to the surface outside.
    pub fn value(&self, point: DVec3) -> f64 {
        match self {
            Self::Sphere { center, radius } => point.distance(*center) - radius,
            Self::Capsule { from, to, radii } => distance::to_capsule(point, *from, *to, *radii),
            Self::Ellipsoid { center, radii } => distance::to_ellipsoid(point - *center, *radii),
            Self::Union { of, blend } => {
                let mut minimum = SmoothMinimum::new(*blend);
                of.iter().for_each(|part| minimum.push(part.value(point)));
                minimum.finish()
            }
            Self::Transform { of, translate, rotate, scale } => {
                let local = rotation(*rotate).inverse() * (point - *translate) / *scale;
                scale * of.value(local)
            }
        }
    }

    /// A box around the shape; not always tight.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        match self {
            Self::Sphere { center, radius } => (*center - *radius, *center + *radius),
            Self::Capsule { from, to, radii: [r, s] } => {
                ((*from - *r).min(*to - *s), (*from + *r).max(*to + *s))
            }
            Self::Ellipsoid { center, radii } => (*center - *radii, *center + *radii),
            Self::Union { of, blend } => {
                let empty = (DVec3::INFINITY, DVec3::NEG_INFINITY);
                let (low, high) =
                    of.iter().map(Self::bounds).fold(empty, |a, b| (a.0.min(b.0), a.1.max(b.1)));
                let swell = distance::largest_swell(of.len(), *blend);
                (low - swell, high + swell)
            }
            Self::Transform { of, translate, rotate, scale } => {
                let (low, high) = of.bounds();
                let turn = glam::DMat3::from_quat(rotation(*rotate));
                let center = *translate + turn * (0.5 * scale * (low + high));
                let extent = turn.abs() * (0.5 * scale * (high - low));
                (center - extent, center + extent)
            }
        }
    }

    /// The shape filled with tetrahedra of edge length about `cell` metres.
    pub fn tets(&self, cell: f64) -> Result<TetMesh, Error> {
        self.validate()?;
        let prepared = Prepared::new(self);
        stuff(&prepared, prepared.bounds(), cell)
    }

    /// Rejects sizes that are not positive and finite, empty unions and trees nested too deep.
    pub fn validate(&self) -> Result<(), Error> {
        self.validate_at(MAX_DEPTH)
    }

    fn validate_at(&self, depth: usize) -> Result<(), Error> {
        if depth == 0 {
            return Err(Error::Invalid(format!(
                "an implicit shape is nested deeper than {MAX_DEPTH} levels"
            )));
        }
        match self {
            Self::Sphere { center, radius } => {
                finite("sphere center", *center)?;
                positive("sphere radius", *radius)
            }
            Self::Capsule { from, to, radii } => {
                finite("capsule from", *from)?;
                finite("capsule to", *to)?;
                positive("larger of the capsule radii", radii[0].max(radii[1]))?;
                not_negative("capsule radius", radii[0])?;
                not_negative("capsule radius", radii[1])
            }
            Self::Ellipsoid { center, radii } => {
                finite("ellipsoid center", *center)?;
                radii.to_array().into_iter().try_for_each(|r| positive("ellipsoid radius", r))
            }
            Self::Union { of, blend } => {
                if of.is_empty() {
                    return Err(Error::Invalid("an implicit union has no parts; give at least one".into()));
                }
                not_negative("union blend", *blend)?;
                of.iter().try_for_each(|part| part.validate_at(depth - 1))
            }
            Self::Transform { of, translate, rotate, scale } => {
                finite("transform translate", *translate)?;
                finite("transform rotate", *rotate)?;
                positive("transform scale", *scale)?;
                of.validate_at(depth - 1)
            }
        }
    }
}

/// The rotation given by axis times angle in degrees.
fn rotation(degrees: DVec3) -> DQuat {
    DQuat::from_scaled_axis(degrees * (std::f64::consts::PI / 180.0))
}

fn finite(what: &str, value: DVec3) -> Result<(), Error> {
    if value.is_finite() {
        return Ok(());
    }
    Err(Error::Invalid(format!("the {what} of an implicit shape is {value}; its components must be finite")))
}

fn positive(what: &str, value: f64) -> Result<(), Error> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::Invalid(format!("the {what} of an implicit shape is {value}; it must be positive and finite")))
}

fn not_negative(what: &str, value: f64) -> Result<(), Error> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "the {what} of an implicit shape is {value}; it must be finite and at least 0"
    )))
}

#[cfg(test)]
mod tests;
