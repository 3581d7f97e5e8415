//! Coulomb friction as a potential, for all contact. With the tangential slip `u`, the largest force `limit` (friction
//! coefficient times normal force) and `y = |u|`, the energy is `limit f(y)` where
//!
//! ```text
//! f(y) = y²/ε - y³/(3 ε²) + ε/3   for y < ε,      f(y) = y   beyond.
//! ```
//!
//! The normal force in `limit` is lagged: it is taken where the step starts, by `ContactSystem::begin_step` (`barrier`) and
//! `Contacts::begin_step` (`collider/penalty.rs`).
//!
//! `f` is convex and once more differentiable than Coulomb's law: below `ε` it acts like static friction. The definitions of `u`
//! and `ε` make the model:
//!
//! - *smooth*: `u` is the slip of the current step and `ε` is 1 mm/s times the step. To generate a force, a sticking contact must
//!   slip a little in every step: it creeps.
//! - *adhesive* (as in Wu, Wu, Yang and Wang 2020): `u` is the slip since the pair first stuck, kept from step to step as in a spring,
//!   and `ε` is a tenth of the thickness. Sticking contacts come to rest slightly away from where they were. Where the pair slides, the
//!   anchor is dragged along: after each step `u` is clamped to `ε`.
//!
//! `f` bends within `ε`, much less than the steps of Newton's method. Along the slip its curvature beyond `ε` is zero, so a step that
//! should end where a point sticks overshoots, and the line search shortens it for all points. The projected Hessian has `f'(y)/y` in
//! all directions instead: the parabola with it lies above `f`, since `f` is concave in `y²`, and ends at the point that sticks.

pub(crate) mod adhesion;
pub mod impulses;

use glam::{DMat3, DVec3};

use crate::contact::barrier::ContactKind;
use crate::energy::outer;
use crate::material::HessianMode;
use crate::scene::FrictionModel;

/// The slip velocity in m/s below which smooth friction acts like static friction.
const STATIC_SPEED: f64 = 1e-3;
/// The slip below which adhesive friction does, as a fraction of the thickness.
const ADHESION: f64 = 0.1;
/// How far, as a fraction of that, rounding may carry a stored slip beyond it.
const ROUNDING: f64 = 1e-6;

/// Friction of one pair over one step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrictionConstraint {
    pub(crate) kind: ContactKind,
    pub(crate) points: [u32; 4],
    pub(crate) weights: [f64; 4],
    pub(crate) normal: DVec3,
    /// `Σ wᵢ pᵢ` without any slip; on a sphere, capsule or plane it moves with it.
    pub(crate) anchor: DVec3,
    /// The same at the step's start.
    pub(crate) start_anchor: DVec3,
    /// Friction coefficient times normal force, in newtons.
    pub(crate) limit: f64,
}

/// Friction over one step.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Friction {
    /// The slip in metres below which it sticks.
    static_slip: f64,
}

impl Friction {
    /// For a model, a step of `dt` seconds and surfaces of a thickness in metres.
    pub(crate) fn over(model: FrictionModel, dt: f64, thickness: f64) -> Self {
        let static_slip = match model {
            FrictionModel::Smooth | FrictionModel::Impulse => STATIC_SPEED * dt,
            FrictionModel::Adhesive => ADHESION * thickness,
        };
        Self { static_slip }
    }

    /// The slip that is stored after a step.
    pub(crate) fn kept(&self, slip: DVec3) -> DVec3 {
        slip.clamp_length_max(self.static_slip)
    }

    /// Whether a slip is within the range of stored slips.
    pub(crate) fn holds(&self, slip: DVec3) -> bool {
        slip.length() <= (1.0 + ROUNDING) * self.static_slip
    }

    /// `f`, in metres.
    pub(crate) fn value(&self, slip: DVec3) -> f64 {
        let (y, eps) = (slip.length(), self.static_slip);
        if y < eps { y * y / eps - y * y * y / (3.0 * eps * eps) + eps / 3.0 } else { y }
    }

    /// The gradient of `f` with respect to the slip.
    pub(crate) fn gradient(&self, slip: DVec3) -> DVec3 {
        let (y, eps) = (slip.length(), self.static_slip);
        let scale = if y < eps { 2.0 / eps - y / (eps * eps) } else { 1.0 / y };
        scale * slip
    }

    /// The Hessian of `f` with respect to the moving point, whose slip is its part perpendicular to a unit `normal`; or, projected, `f'(y)/y`
    /// times all directions perpendicular to the normal.
    pub(crate) fn hessian(&self, slip: DVec3, normal: DVec3, mode: HessianMode) -> DMat3 {
        let (size, eps) = (slip.length(), self.static_slip);
        let tangents = DMat3::IDENTITY - outer(normal);
        // f'(y)/y, and the reduction by f''(y).
        let (around, less) = if size < eps {
            (2.0 / eps - size / (eps * eps), size / (eps * eps))
        } else {
            (size.recip(), size.recip())
        };
        match mode {
            HessianMode::Exact => around * tangents - less * outer(slip.normalize_or_zero()),
            HessianMode::PsdProjected => around * tangents,
        }
    }
}

/// The part of a vector perpendicular to a unit `normal`.
pub(crate) fn across(v: DVec3, normal: DVec3) -> DVec3 {
    v - v.dot(normal) * normal
}
