//! Linear triangles of a sheet, of any membrane law.
//!
//! Each triangle has its own rest shape (three corners in metres), expressed in coordinates along warp and weft.
//! With the edges from the first corner as columns, `Dm` (2x2) at rest and `Ds` (3x2) now, `F = Ds Dm⁻¹`; the rows of
//! `Dm⁻¹` are the gradients of the shape functions of corners 1 and 2. With the rest area `A` the energy is `A Ψ(F)`.
//! Stretch only: bending is a separate energy. Damping in proportion to the stiffness: see `strain_damping`.

use glam::{DMat2, DVec2, DVec3};
use supple_core::parallel::prelude::*;

use crate::energy::element::order::{morton_order, pack_batches};
use crate::energy::element::{Element, ElementBlocks, batch_corners};
use crate::energy::strain_damping::{StrainDamping, strain};
use crate::material::HessianMode;
use crate::material::membrane::{LaneSheet, Membrane, Sheet, SheetTangent};
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};
use supple_core::small_matrix::symmetric_eigen::SquareMatrix;

/// The rest shapes of eight triangles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RestBatch {
    /// Gradients of the shape functions of corners 1 and 2.
    pub(crate) gradients: [[Lanes; 2]; 2],
    pub(crate) area: Lanes,
}

/// Triangles of one membrane law, each with its own material. Stored in Morton order of their rest centroids.
#[derive(Debug, Clone, Default)]
pub struct Triangles<M> {
    triangles: Vec<[u32; 3]>,
    rest: Vec<RestBatch>,
    sheets: Vec<LaneSheet>,
    /// Strains at the step's start; empty while nothing is damped.
    start: Vec<SquareMatrix<2>>,
    /// One over the step.
    rate: f64,
    law: M,
}

impl<M: Membrane> Triangles<M> {
    /// Triangles with these rest corners in metres; `sheet(t)` is the material of triangle `t`. Warp runs along the first
    /// of its texture coordinates `texture(t)` if it has any, else along the projection of x onto the triangle. A triangle
    /// without area at rest has no energy.
    pub fn new(
        law: M,
        triangles: &[[u32; 3]],
        rest: &[[DVec3; 3]],
        texture: impl Fn(usize) -> Option<[DVec2; 3]>,
        sheet: impl Fn(usize) -> Sheet,
    ) -> Self {
        let order = rest_order(rest);
        let shapes = rest_batches(&order, rest, texture);
        let sheets = pack_batches(&order, |lanes| LaneSheet::from_fn(|i| sheet(lanes[i])));
        let triangles = order.iter().map(|&t| triangles[t as usize]).collect();
        Self { triangles, rest: shapes, sheets, start: Vec::new(), rate: 0.0, law }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn damping(&self, batch: usize, f: [LaneVec3; 2]) -> Option<StrainDamping<2>> {
        let start = self.start.get(batch)?;
        let sheet = &self.sheets[batch];
        Some(StrainDamping::new(f, start, &sheet.lame, sheet.damping * self.rate))
    }
}

/// The triangles in Morton order of their rest centroids.
pub(crate) fn rest_order(rest: &[[DVec3; 3]]) -> Vec<u32> {
    morton_order(rest.len(), |t| rest[t].into_iter().sum::<DVec3>() / 3.0)
}

/// The rest shapes in this order, by batches.
pub(crate) fn rest_batches(
    order: &[u32],
    rest: &[[DVec3; 3]],
    texture: impl Fn(usize) -> Option<[DVec2; 3]>,
) -> Vec<RestBatch> {
    pack_batches(order, |lanes| {
        let shapes = lanes.map(|t| rest_shape(&rest[t], texture(t)));
        let gradient = |k: usize, c: usize| Lanes::from_fn(|i| shapes[i].0[k][c]);
        RestBatch {
            gradients: std::array::from_fn(|k| std::array::from_fn(|c| gradient(k, c))),
            area: Lanes::from_fn(|i| shapes[i].1),
        }
    })
}

/// The gradients of the shape functions of corners 1 and 2 along warp and weft, and the area.
fn rest_shape(rest: &[DVec3; 3], texture: Option<[DVec2; 3]>) -> ([DVec2; 2], f64) {
    let edges = [rest[1] - rest[0], rest[2] - rest[0]];
    let across = edges[0].cross(edges[1]);
    let Some(normal) = across.try_normalize() else { return ([DVec2::ZERO; 2], 0.0) };
    let warp = texture
        .and_then(|texture| texture_direction(edges, &texture))
        .unwrap_or_else(|| axis_in_plane(normal));
    let weft = normal.cross(warp);
    let [a, b] = edges.map(|edge| DVec2::new(edge.dot(warp), edge.dot(weft)));
    let rows = DMat2::from_cols(a, b).inverse().transpose();
    if !rows.is_finite() {
        return ([DVec2::ZERO; 2], 0.0);
    }
    ([rows.x_axis, rows.y_axis], 0.5 * across.length())
}

/// The direction in which the first texture coordinate grows while the second is constant.
fn texture_direction([a, b]: [DVec3; 2], uv: &[DVec2; 3]) -> Option<DVec3> {
    let (p, q) = (uv[1] - uv[0], uv[2] - uv[0]);
    let determinant = p.perp_dot(q);
    ((a * q.y - b * p.y) * determinant.signum()).try_normalize().filter(|_| determinant != 0.0)
}

/// The x axis projected onto the plane, or z for a plane perpendicular to x.
fn axis_in_plane(normal: DVec3) -> DVec3 {
    let axis = if normal.x.abs() < 0.999 { DVec3::X } else { DVec3::Z };
    (axis - normal * axis.dot(normal)).normalize()
}

impl RestBatch {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn deformation(&self, x: &[LaneVec3; 3]) -> [LaneVec3; 2] {
        let (p, q) = (x[1] - x[0], x[2] - x[0]);
        let [a, b] = &self.gradients;
        [p * a[0] + q * b[0], p * a[1] + q * b[1]]
    }

    /// The forces of a stress on the corners.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn forces(&self, stress: [LaneVec3; 2]) -> [LaneVec3; 3] {
        let [a, b] = &self.gradients;
        let a = (stress[0] * a[0] + stress[1] * a[1]) * self.area;
        let b = (stress[0] * b[0] + stress[1] * b[1]) * self.area;
        [-(a + b), a, b]
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn blocks(&self, block: impl Fn(&[Lanes; 2], &[Lanes; 2]) -> LaneMat3) -> ElementBlocks<3> {
        let [a, b] = &self.gradients;
        let (aa, ba, bb) = (block(a, a) * self.area, block(b, a) * self.area, block(b, b) * self.area);
        let zero = LaneMat3::default();
        let (first, second) = (-(aa + ba.transpose()), -(ba + bb));
        [[-(first + second), zero, zero], [first, aa, zero], [second, ba, bb]]
    }
}

impl<M: Membrane> Element<3> for Triangles<M> {
    fn begin_step(&mut self, x: &[DVec3], dt: f64) {
        let damped = self.sheets.iter().any(|sheet| sheet.damping != Lanes::default());
        self.rate = if damped { 1.0 / dt } else { 0.0 };
        self.start.resize(if damped { self.rest.len() } else { 0 }, Default::default());
        let (triangles, rest) = (&self.triangles, &self.rest);
        self.start.par_iter_mut().enumerate().with_min_len(64).for_each(|(b, start)| {
            *start = strain(&rest[b].deformation(&batch_corners(triangles, b, x)));
        });
    }

    fn vertices(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value(&self, batch: usize, x: &[LaneVec3; 3]) -> Lanes {
        let rest = &self.rest[batch];
        let f = rest.deformation(x);
        let mut density = self.law.energy(f, &self.sheets[batch]);
        if let Some(damping) = self.damping(batch, f) {
            density += damping.value();
        }
        density * rest.area
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn elastic_value(&self, batch: usize, x: &[LaneVec3; 3]) -> Lanes {
        let rest = &self.rest[batch];
        self.law.energy(rest.deformation(x), &self.sheets[batch]) * rest.area
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value_and_gradient(&self, batch: usize, x: &[LaneVec3; 3]) -> (Lanes, [LaneVec3; 3]) {
        let rest = &self.rest[batch];
        let f = rest.deformation(x);
        let (mut density, mut stress) = self.law.energy_and_stress(f, &self.sheets[batch]);
        if let Some(damping) = self.damping(batch, f) {
            density += damping.value();
            let more = damping.stress();
            stress = [stress[0] + more[0], stress[1] + more[1]];
        }
        (density * rest.area, rest.forces(stress))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hessian(&self, batch: usize, x: &[LaneVec3; 3], mode: HessianMode) -> ElementBlocks<3> {
        let rest = &self.rest[batch];
        let f = rest.deformation(x);
        let elastic: SheetTangent = self.law.tangent(f, &self.sheets[batch], mode);
        let Some(damping) = self.damping(batch, f) else {
            return rest.blocks(|a, b| elastic.block(a, b));
        };
        let damping = damping.tangent(mode);
        rest.blocks(|a, b| elastic.block(a, b) + damping.block(a, b))
    }
}
