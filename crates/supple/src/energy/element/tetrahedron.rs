//! Linear tetrahedra of any constitutive law.
//!
//! With the edges from the first corner as columns, `Dm` at rest and `Ds` now, the deformation gradient is
//! `F = Ds Dm⁻¹`. The rows of `Dm⁻¹` are the gradients `gₖ` of the shape functions of corners 1 to 3, and
//! `g₀ = -(g₁ + g₂ + g₃)`. For the rest volume `V`
//!
//! ```text
//! E = V Ψ(F),      ∂E/∂xₖ = V P gₖ,      ∂²E/∂xₖ∂xₗ : d ↦ V (∂P/∂F : d gₗᵀ) gₖ.
//! ```
//!
//! Only the six blocks among corners 1 to 3 are computed from the law; those with corner 0 follow since rows sum to
//! zero. Damping in proportion to the stiffness: see `strain_damping`.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::energy::element::order::{morton_order, pack_batches};
use crate::energy::element::{Element, ElementBlocks, batch_corners, completed};
use crate::energy::strain_damping::{StrainDamping, strain};
use crate::material::HessianMode;
use crate::material::law::{LaneLame, Law, SolidLaw};
use crate::material::{Lame, Material};
use supple_core::simd::{LaneMat3, LaneVec3, Lanes, WIDTH};
use supple_core::small_matrix::symmetric_eigen::SquareMatrix;

/// Material parameters of a tetrahedron.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solid {
    /// Lamé parameters in Pa.
    pub lame: Lame,
    /// Damping time β in seconds.
    pub damping: f64,
}

impl Solid {
    /// The parameters that a law derives from a material. [`SolidLaw::Arap`] cannot preserve volume: it has the material's Young's
    /// modulus and Poisson's ratio 0.
    pub fn of(law: SolidLaw, material: &Material) -> Self {
        let lame = match law {
            SolidLaw::Arap => Lame { lambda: 0.0, mu: 0.5 * material.young_modulus },
            _ => material.solid_lame(),
        };
        Self { lame, damping: material.damping }
    }
}

/// Eight tetrahedra at rest.
#[derive(Debug, Clone, Copy)]
struct TetrahedronBatch {
    /// Gradients of the shape functions of corners 1 to 3.
    gradients: [LaneVec3; 3],
    volume: Lanes,
    lame: LaneLame,
    /// Damping time.
    damping: Lanes,
}

/// Tetrahedra of one law, each with its own material. Stored in Morton order of their rest centroids.
#[derive(Debug, Clone, Default)]
pub struct Tetrahedra<L> {
    tets: Vec<[u32; 4]>,
    batches: Vec<TetrahedronBatch>,
    /// Strains at the step's start; empty while nothing is damped.
    start: Vec<SquareMatrix<3>>,
    /// One over the step.
    rate: f64,
    law: L,
}

impl<L: Law> Tetrahedra<L> {
    /// Tetrahedra with these rest positions in metres; `solid(e)` is the material of tetrahedron `e`. One without volume
    /// at rest has no energy.
    pub fn new(law: L, rest: &[DVec3], tets: &[[u32; 4]], solid: impl Fn(usize) -> Solid) -> Self {
        let corners = |e: usize| tets[e].map(|v| rest[v as usize]);
        let order = morton_order(tets.len(), |e| corners(e).into_iter().sum::<DVec3>() * 0.25);
        let batches =
            pack_batches(&order, |lanes| TetrahedronBatch::new(lanes.map(|e| (corners(e), solid(e)))));
        let tets = order.iter().map(|&e| tets[e as usize]).collect();
        Self { tets, batches, start: Vec::new(), rate: 0.0, law }
    }

    /// The damping of a batch, where there is any.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn damping(&self, batch: usize, f: LaneMat3) -> Option<StrainDamping<3>> {
        let start = self.start.get(batch)?;
        let rest = &self.batches[batch];
        Some(StrainDamping::new(f.0, start, &rest.lame, rest.damping * self.rate))
    }
}

/// The gradients of the shape functions of corners 1 to 3, and the volume.
fn rest_shape([a, b, c, d]: [DVec3; 4]) -> ([DVec3; 3], f64) {
    let edges = DMat3::from_cols(b - a, c - a, d - a);
    let inverse = edges.inverse();
    if !inverse.is_finite() {
        return ([DVec3::ZERO; 3], 0.0);
    }
    let rows = inverse.transpose();
    ([rows.x_axis, rows.y_axis, rows.z_axis], edges.determinant().abs() / 6.0)
}

impl TetrahedronBatch {
    fn new(elements: [([DVec3; 4], Solid); WIDTH]) -> Self {
        let shapes = elements.map(|(corners, _)| rest_shape(corners));
        Self {
            gradients: std::array::from_fn(|k| LaneVec3::from_fn(|i| shapes[i].0[k])),
            volume: Lanes::from_fn(|i| shapes[i].1),
            lame: LaneLame::from_fn(|i| elements[i].1.lame),
            damping: Lanes::from_fn(|i| elements[i].1.damping),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn deformation(&self, x: &[LaneVec3; 4]) -> LaneMat3 {
        let edges = [x[1] - x[0], x[2] - x[0], x[3] - x[0]];
        let [a, b, c] = self.gradients;
        edges[0].outer(a) + edges[1].outer(b) + edges[2].outer(c)
    }

    /// The forces of a stress on the corners.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn forces(&self, stress: LaneMat3) -> [LaneVec3; 4] {
        let scaled = stress * self.volume;
        let [a, b, c] = self.gradients;
        let (a, b, c) = (scaled * a, scaled * b, scaled * c);
        [-(a + b + c), a, b, c]
    }
}

/// The pairs of corners 1 to 3 (counted from 0) in the order of [`completed`].
const PAIRS: [(usize, usize); 6] = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)];

impl<L: Law> Element<4> for Tetrahedra<L> {
    fn begin_step(&mut self, x: &[DVec3], dt: f64) {
        let damped = self.batches.iter().any(|batch| batch.damping != Lanes::default());
        self.rate = if damped { 1.0 / dt } else { 0.0 };
        self.start.resize(if damped { self.batches.len() } else { 0 }, Default::default());
        let (tets, batches) = (&self.tets, &self.batches);
        self.start.par_iter_mut().enumerate().with_min_len(64).for_each(|(b, start)| {
            *start = strain(&batches[b].deformation(&batch_corners(tets, b, x)).0);
        });
    }

    fn vertices(&self) -> &[[u32; 4]] {
        &self.tets
    }

    fn projective(&self, e: usize) -> Option<[[f64; 4]; 4]> {
        let (batch, lane) = (&self.batches[e / WIDTH], e % WIDTH);
        let stiffness = self.law.projective_stiffness(&batch.lame)?.0[lane];
        let weight = stiffness * batch.volume.0[lane] * (1.0 + batch.damping.0[lane] * self.rate);
        let [a, b, c] = batch.gradients.map(|g| g.lane(lane));
        let gradients = [-(a + b + c), a, b, c];
        Some(gradients.map(|g| gradients.map(|h| weight * g.dot(h))))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value(&self, batch: usize, x: &[LaneVec3; 4]) -> Lanes {
        let rest = &self.batches[batch];
        let f = rest.deformation(x);
        let mut density = self.law.energy(f, &rest.lame);
        if let Some(damping) = self.damping(batch, f) {
            density += damping.value();
        }
        density * rest.volume
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn elastic_value(&self, batch: usize, x: &[LaneVec3; 4]) -> Lanes {
        let rest = &self.batches[batch];
        self.law.energy(rest.deformation(x), &rest.lame) * rest.volume
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value_and_gradient(&self, batch: usize, x: &[LaneVec3; 4]) -> (Lanes, [LaneVec3; 4]) {
        let rest = &self.batches[batch];
        let f = rest.deformation(x);
        let (mut density, mut stress) = self.law.energy_and_stress(f, &rest.lame);
        if let Some(damping) = self.damping(batch, f) {
            density += damping.value();
            stress += LaneMat3(damping.stress());
        }
        (density * rest.volume, rest.forces(stress))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hessian(&self, batch: usize, x: &[LaneVec3; 4], mode: HessianMode) -> ElementBlocks<4> {
        let rest = &self.batches[batch];
        let f = rest.deformation(x);
        let tangent = self.law.tangent(f, &rest.lame, mode);
        let mut turned = rest.gradients;
        for k in 0..3 {
            turned[k] = tangent.turned(turned[k]);
        }
        let mut blocks = [LaneMat3::default(); 6];
        for k in 0..6 {
            let (i, j) = PAIRS[k];
            blocks[k] = tangent.block(turned[i], turned[j] * rest.volume);
        }
        if let Some(damping) = self.damping(batch, f) {
            let tangent = damping.tangent(mode);
            for k in 0..6 {
                let (i, j) = PAIRS[k];
                blocks[k] += tangent.block(&rest.gradients[i].0, &rest.gradients[j].0) * rest.volume;
            }
        }
        completed(blocks)
    }
}
