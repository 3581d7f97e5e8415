//! Coulomb friction with a smoothed static part, for all contact. With the tangential slip `u` over a step, the largest force
//! `limit` (friction coefficient times normal force) and `y = |u|`, the energy is `limit f(y)` where
//!
//! ```text
//! f(y) = y²/ε - y³/(3 ε²) + ε/3   for y < ε,      f(y) = y   beyond,      ε = 1 mm/s times the step.
//! ```
//!
//! `f` is convex and once more differentiable than Coulomb's law: below `ε` it holds like static friction.

use glam::{DMat3, DVec3};

/// The slip velocity in m/s below which friction holds like static friction.
const STATIC_SPEED: f64 = 1e-3;

/// Friction over one step.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Friction {
    /// The slip in metres below which it holds.
    static_slip: f64,
}

impl Friction {
    /// For a step of `dt` seconds.
    pub(crate) fn over(dt: f64) -> Self {
        Self { static_slip: STATIC_SPEED * dt }
    }

    /// `f`, in metres.
    pub(crate) fn value(&self, slip: DVec3) -> f64 {
        let (y, eps) = (slip.length(), self.static_slip);
        if y < eps { y * y / eps - y * y * y / (3.0 * eps * eps) + eps / 3.0 } else { y }
    }

    /// The gradient of `f` by the slip.
    pub(crate) fn gradient(&self, slip: DVec3) -> DVec3 {
        let (y, eps) = (slip.length(), self.static_slip);
        let scale = if y < eps { 2.0 / eps - y / (eps * eps) } else { 1.0 / y };
        scale * slip
    }

    /// The Hessian of `f` by what moves, of which the slip is the part across a unit `normal`.
    pub(crate) fn hessian(&self, slip: DVec3, normal: DVec3) -> DMat3 {
        let (size, eps) = (slip.length(), self.static_slip);
        let tangents = DMat3::IDENTITY - outer(normal);
        if size >= eps {
            return (tangents - outer(slip / size)) * size.recip();
        }
        // f'(y)/y = 2/ε - y/ε², f''(y) = 2/ε - 2y/ε².
        let around = 2.0 / eps - size / (eps * eps);
        around * tangents - size / (eps * eps) * outer(slip.normalize_or_zero())
    }
}

/// `v vᵀ`.
pub(crate) fn outer(v: DVec3) -> DMat3 {
    DMat3::from_cols(v * v.x, v * v.y, v * v.z)
}
