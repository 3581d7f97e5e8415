//! A soft limit on how far a sheet stretches: no energy below it, and above it, per undeformed area,
//!
//! ```text
//! Ψ = Σ k/(3 w) max(σᵢ - s, 0)³
//! ```
//!
//! with the principal stretches `σᵢ`, the limit `s >= 1`, a stiffness `k` in N/m and the onset `w`. Twice continuously
//! differentiable. It grows with each stretch and is convex in them, so that its Hessian is positive semi-definite
//! without projection. Half an onset above the limit its stiffness is `k`.

use glam::DVec3;

use crate::energy::element::order::pack_batches;
use crate::energy::element::triangle::{RestBatch, rest_batches, rest_order};
use crate::energy::element::{Element, ElementBlocks};
use crate::material::HessianMode;
use crate::material::membrane::{PrincipalModes, isotropic_stress, isotropic_tangent};
use supple_core::simd::{LaneVec3, Lanes};
use supple_core::small_matrix::svd::svd32;

/// The limit of one triangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StretchLimit {
    /// Largest stretch that costs nothing, at least 1; infinite for no limit.
    pub stretch: f64,
    /// Stiffness beyond it in N/m.
    pub stiffness: f64,
}

/// The onset: with it a sheet under load settles within a percent or so above the limit.
const ONSET: f64 = 0.02;

/// Smallest stretch in denominators.
const SMALLEST: f64 = 1e-8;

/// Triangles that resist stretching beyond a limit. Stored in Morton order of their rest centroids.
#[derive(Debug, Clone, Default)]
pub struct StrainLimits {
    triangles: Vec<[u32; 3]>,
    rest: Vec<RestBatch>,
    /// Limits, and stiffness over the onset.
    limits: Vec<[Lanes; 2]>,
}

impl StrainLimits {
    /// Limits of triangles with these rest corners in metres, given per triangle.
    pub fn new(triangles: &[[u32; 3]], rest: &[[DVec3; 3]], limit: impl Fn(usize) -> StretchLimit) -> Self {
        let order = rest_order(rest);
        let limits = pack_batches(&order, |lanes| {
            [
                Lanes::from_fn(|i| limit(lanes[i]).stretch.max(1.0)),
                Lanes::from_fn(|i| limit(lanes[i]).stiffness / ONSET),
            ]
        });
        let shapes = rest_batches(&order, rest, |_| None);
        Self { triangles: order.iter().map(|&t| triangles[t as usize]).collect(), rest: shapes, limits }
    }

    /// How far the stretches are above the limit.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn excess(&self, batch: usize, sigma: [Lanes; 2]) -> [Lanes; 2] {
        let (limit, zero) = (self.limits[batch][0], Lanes::default());
        [(sigma[0] - limit).max(zero), (sigma[1] - limit).max(zero)]
    }
}

impl Element<3> for StrainLimits {
    fn vertices(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value(&self, batch: usize, x: &[LaneVec3; 3]) -> Lanes {
        self.value_and_gradient(batch, x).0
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value_and_gradient(&self, batch: usize, x: &[LaneVec3; 3]) -> (Lanes, [LaneVec3; 3]) {
        let rest = &self.rest[batch];
        let svd = svd32(rest.deformation(x));
        let [a, b] = self.excess(batch, svd.sigma);
        let stiffness = self.limits[batch][1];
        let value = (a * a * a + b * b * b) * stiffness * rest.area * (1.0 / 3.0);
        let tensions = [stiffness * a * a, stiffness * b * b];
        (value, rest.forces(isotropic_stress(&svd, tensions)))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hessian(&self, batch: usize, x: &[LaneVec3; 3], _curvature: HessianMode) -> ElementBlocks<3> {
        let rest = &self.rest[batch];
        let svd = svd32(rest.deformation(x));
        let stiffness = self.limits[batch][1];
        let [a, b] = self.excess(batch, svd.sigma);
        let smallest = Lanes::splat(SMALLEST);
        let sum = (svd.sigma[0] + svd.sigma[1]).max(smallest);
        // (a² - b²)/(σ₁ - σ₂), where b is zero unless a - b = σ₁ - σ₂.
        let gap = (svd.sigma[0] - svd.sigma[1]).max(smallest);
        let quotient = Lanes::default().less(b, a + b, a * a / gap);
        let modes = PrincipalModes {
            scaling: [[stiffness * a * 2.0, Lanes::default()], [Lanes::default(), stiffness * b * 2.0]],
            twist: stiffness * (a * a + b * b) / sum,
            flip: stiffness * quotient,
            normal: [
                stiffness * a * a / svd.sigma[0].max(smallest),
                stiffness * b * b / svd.sigma[1].max(smallest),
            ],
        };
        let tangent = isotropic_tangent(&svd, modes, HessianMode::Exact);
        rest.blocks(|a, b| tangent.block(a, b))
    }
}
