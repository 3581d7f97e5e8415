//! Bending of inextensible sheets (Bergou, Wardetzky, Harmon, Zorin & Grinspun 2006): per hinge
//!
//! ```text
//! E = ½ c |u|²,      u = Σ Kᵢ xᵢ,      c = B/A,
//! ```
//!
//! where the weights `K` are sums of the rest triangles' cotangents, such that `u = 0` for every flat hinge and
//! `|u| = 2 l sin(θ/2)` for one that was only folded. The Hessian `c Kᵢ Kⱼ I` is constant: no projection, no angles.
//! (On `c = B/A`, which makes cylinders right, see [`Hinge::stiffness`].)
//!
//! A hinge that is folded by `θ₀` at rest has `u = h₀ n` there, with `h₀ = 2 l sin(θ₀/2)` and the unit bisector `n` of
//! the two normals: `n = N/|N|`, `N = e × g`, `g = p/(l h₁) - q/(l h₂)`. So its energy is
//!
//! ```text
//! E = ½ c |u - h₀ n(x)|²,
//! ```
//!
//! zero at rest with zero gradient, and invariant under rotations. Its Hessian is not constant any more; the projection is that of
//! Gauss-Newton. Since `e`, `g` and `u` are sums of corners with constant weights, derivatives are taken with
//! respect to these three.
//!
//! Damping over a step of length `h` has the potential `β c/(2h) (s - sₛ)²` of `s = ½ u·(e × g)`, `sₛ` at its start. For
//! a hinge that was only folded `s = l sin θ`, so that both bending energies damp small folds alike. Unlike `u` it is
//! invariant under rotations, and unlike the angle a polynomial: no normal degenerates where cloth is folded onto itself. A fold
//! near 90° is damped less as a result.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::energy::bending::dihedral::HingeMaterial;
use crate::energy::bending::hinge::Hinge;
use crate::energy::element::order::{morton_order, pack_batches};
use crate::energy::element::{Element, ElementBlocks, batch_corners};
use crate::material::HessianMode;
use supple_core::simd::{LaneMat3, LaneVec3, Lanes, WIDTH};

/// Eight hinges at rest.
#[derive(Debug, Clone, Copy)]
struct QuadraticHingeBatch {
    /// `c` in N/m³ times m².
    stiffness: Lanes,
    /// The weights of the corners in `e`, `g` and `u`.
    weights: [[Lanes; 4]; 3],
    /// `h₀` in m.
    rest: Lanes,
    damping: Lanes,
}

/// Hinges of an inextensible sheet. Stored in Morton order of their rest edges' midpoints.
#[derive(Debug, Clone, Default)]
pub struct QuadraticBending {
    vertices: Vec<[u32; 4]>,
    batches: Vec<QuadraticHingeBatch>,
    /// Whether some hinge is folded at rest.
    curved: bool,
    /// The folds `sₛ` at the step's start; empty while nothing is damped.
    start: Vec<Lanes>,
    /// One over the step.
    rate: f64,
}

impl QuadraticBending {
    /// Bending of these hinges; `material(h)` is the material of hinge `h`.
    pub fn new(hinges: &[Hinge], material: impl Fn(usize) -> HingeMaterial) -> Self {
        let order = morton_order(hinges.len(), |h| hinges[h].centre);
        let curved = hinges.iter().any(Hinge::is_folded);
        let batches = pack_batches(&order, |lanes| {
            let rows = lanes.map(|h| weights(&hinges[h]));
            let weight = |row: usize, k: usize| Lanes::from_fn(|i| rows[i][row][k]);
            QuadraticHingeBatch {
                stiffness: Lanes::from_fn(|i| material(lanes[i]).bend_stiffness / hinges[lanes[i]].area()),
                weights: std::array::from_fn(|row| std::array::from_fn(|k| weight(row, k))),
                rest: Lanes::from_fn(|i| rest_height(&hinges[lanes[i]])),
                damping: Lanes::from_fn(|i| material(lanes[i]).damping),
            }
        });
        let vertices = order.iter().map(|&h| hinges[h as usize].vertices).collect();
        Self { vertices, batches, curved, start: Vec::new(), rate: 0.0 }
    }

    /// Whether all hinges are flat at rest, so that the Hessian without damping is the same everywhere.
    pub fn has_constant_hessian(&self) -> bool {
        !self.curved
    }

    /// The damping of eight hinges; `None` while nothing is damped.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn damping<'a>(&self, batch: usize, fold: &'a QuadraticFold) -> Option<FoldDamping<'a>> {
        let change = fold.sine() - *self.start.get(batch)?;
        Some(FoldDamping { viscosity: self.batches[batch].damping * self.rate, change, fold })
    }
}

/// Eight hinges while they fold; all values are divided by the stiffness.
struct FoldDamping<'a> {
    /// `β/h`.
    viscosity: Lanes,
    /// `s - sₛ`.
    change: Lanes,
    fold: &'a QuadraticFold,
}

impl FoldDamping<'_> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value(&self) -> Lanes {
        self.viscosity * self.change * self.change * 0.5
    }

    /// The derivatives of `s` with respect to `e`, `g` and `u`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn slopes(&self) -> [LaneVec3; 3] {
        let (half, QuadraticFold { e, g, u }) = (Lanes::splat(0.5), self.fold);
        [g.cross(*u) * half, u.cross(*e) * half, e.cross(*g) * half]
    }

    /// The forces by `e`, `g` and `u`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn gradient(&self) -> [LaneVec3; 3] {
        let force = self.viscosity * self.change;
        let [e, g, u] = self.slopes();
        [e * force, g * force, u * force]
    }

    /// The Hessian with respect to `e`, `g` and `u`, lower triangle.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hessian(&self, mode: HessianMode) -> [[LaneMat3; 3]; 3] {
        let slopes = self.slopes();
        let mut blocks = [[LaneMat3::default(); 3]; 3];
        for a in 0..3 {
            for b in 0..=a {
                blocks[a][b] = slopes[a].outer(slopes[b] * self.viscosity);
            }
        }
        if mode == HessianMode::Exact {
            let half_force = self.viscosity * self.change * 0.5;
            blocks[1][0] += self.fold.u.cross_matrix() * half_force;
            blocks[2][0] += self.fold.g.cross_matrix() * -half_force;
            blocks[2][1] += self.fold.e.cross_matrix() * half_force;
        }
        blocks
    }
}

fn rest_height(hinge: &Hinge) -> f64 {
    if hinge.is_folded() { 2.0 * hinge.length * (0.5 * hinge.angle).sin() } else { 0.0 }
}

/// The weights of the corners in `e`, `g` and `u = (cot + cot) e - (l/h₁) p - (l/h₂) q`.
fn weights(hinge: &Hinge) -> [[f64; 4]; 3] {
    let Hinge { length, along: [a, b], heights: [h, k], .. } = *hinge;
    let from_first = |e: f64, p: f64, q: f64| [-(e + p + q), e, p, q];
    [
        from_first(1.0, 0.0, 0.0),
        from_first(0.0, 1.0 / (length * h), -1.0 / (length * k)),
        from_first(a / h + b / k, -length / h, -length / k),
    ]
}

/// Eight hinges at some positions.
struct QuadraticFold {
    e: LaneVec3,
    g: LaneVec3,
    u: LaneVec3,
}

/// The normal of eight folds and its derivatives.
struct Normal {
    n: LaneVec3,
    inverse_length: Lanes,
    /// `∂N/∂e`, `∂N/∂g`.
    changes: [LaneMat3; 2],
}

impl QuadraticFold {
    /// `s = ½ u·(e × g)`, in m.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sine(&self) -> Lanes {
        self.u.dot(self.e.cross(self.g)) * 0.5
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn normal(&self) -> Normal {
        let long = self.e.cross(self.g);
        // Folded flat onto itself a hinge has no bisector.
        let inverse_length = Lanes::splat(1.0) / long.length().max(Lanes::splat(1e-9));
        Normal {
            n: long * inverse_length,
            inverse_length,
            changes: [-self.g.cross_matrix(), self.e.cross_matrix()],
        }
    }
}

impl Normal {
    /// `∂n/∂N` applied to `v`: its component perpendicular to the normal, divided by `|N|`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn slope(&self, v: LaneVec3) -> LaneVec3 {
        (v - self.n * self.n.dot(v)) * self.inverse_length
    }

    /// `∂n/∂e` and `∂n/∂g`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn derivatives(&self) -> [LaneMat3; 2] {
        let [e, g] = self.changes;
        let turned = |m: LaneMat3| LaneMat3([self.slope(m.0[0]), self.slope(m.0[1]), self.slope(m.0[2])]);
        [turned(e), turned(g)]
    }

    /// The second derivatives of `w · n(e, g)` for a constant `w`: blocks ee, eg, gg.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn curvature(&self, w: LaneVec3) -> [LaneMat3; 3] {
        let (n, scale) = (self.n, self.inverse_length * self.inverse_length);
        let along = w.dot(n);
        let outer = LaneMat3::scaled_identity(along) + n.outer(w) + w.outer(n) - n.outer(n) * (along * 3.0);
        let middle = outer * -scale;
        let [by_e, by_g] = self.changes;
        let between = |a: LaneMat3, b: LaneMat3| a.transpose() * (middle * b);
        // The second derivative of N = e × g along y is y · (δe × δg) = δeᵀ [y]×ᵀ δg.
        let y = self.slope(w);
        [between(by_e, by_e), between(by_e, by_g) - y.cross_matrix(), between(by_g, by_g)]
    }
}

impl QuadraticHingeBatch {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn fold(&self, x: &[LaneVec3; 4]) -> QuadraticFold {
        let mut sums = [LaneVec3::default(); 3];
        for k in 1..4 {
            for row in 0..3 {
                sums[row] += (x[k] - x[0]) * self.weights[row][k];
            }
        }
        QuadraticFold { e: sums[0], g: sums[1], u: sums[2] }
    }

    /// The blocks by corners, times the stiffness, from those by `e`, `g` and `u` (`h[a][b]`, `b <= a`).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn blocks(&self, h: [[LaneMat3; 3]; 3]) -> ElementBlocks<4> {
        let mut blocks = ElementBlocks::<4>::default();
        for i in 0..4 {
            for j in 0..=i {
                for a in 0..3 {
                    for b in 0..=a {
                        blocks[i][j] += h[a][b] * (self.weights[a][i] * self.weights[b][j]);
                        if b < a {
                            blocks[i][j] += h[a][b].transpose() * (self.weights[b][i] * self.weights[a][j]);
                        }
                    }
                }
                blocks[i][j] = blocks[i][j] * self.stiffness;
            }
        }
        blocks
    }

    /// The blocks by corners of hinges that are flat at rest.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn flat_blocks(&self) -> ElementBlocks<4> {
        let weights = &self.weights[2];
        let mut blocks = ElementBlocks::<4>::default();
        for i in 0..4 {
            for j in 0..=i {
                blocks[i][j] = LaneMat3::scaled_identity(self.stiffness * weights[i] * weights[j]);
            }
        }
        blocks
    }

    /// The Hessian of folded hinges with respect to `e`, `g` and `u`, lower triangle, divided by the stiffness.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn folded_hessian(&self, fold: &QuadraticFold, mode: HessianMode) -> [[LaneMat3; 3]; 3] {
        let normal = fold.normal();
        // The derivatives of u - h₀ n.
        let [by_e, by_g] = normal.derivatives();
        let (by_e, by_g) = (by_e * -self.rest, by_g * -self.rest);
        let mut ee = by_e.transpose() * by_e;
        let mut ge = by_g.transpose() * by_e;
        let mut gg = by_g.transpose() * by_g;
        if mode == HessianMode::Exact {
            let residual = fold.u - normal.n * self.rest;
            let [more_ee, more_eg, more_gg] = normal.curvature(residual * -self.rest);
            ee += more_ee;
            ge += more_eg.transpose();
            gg += more_gg;
        }
        let zero = LaneMat3::default();
        [[ee, zero, zero], [ge, gg, zero], [by_e, by_g, LaneMat3::identity()]]
    }
}

impl Element<4> for QuadraticBending {
    fn begin_step(&mut self, x: &[DVec3], dt: f64) {
        let damped = self.batches.iter().any(|batch| batch.damping != Lanes::default());
        self.rate = if damped { 1.0 / dt } else { 0.0 };
        self.start.resize(if damped { self.batches.len() } else { 0 }, Lanes::default());
        let (vertices, batches) = (&self.vertices, &self.batches);
        self.start.par_iter_mut().enumerate().with_min_len(64).for_each(|(b, start)| {
            *start = batches[b].fold(&batch_corners(vertices, b, x)).sine();
        });
    }

    fn projective(&self, e: usize) -> Option<[[f64; 4]; 4]> {
        let (batch, lane) = (&self.batches[e / WIDTH], e % WIDTH);
        let weights = batch.weights[2].map(|w| w.0[lane]);
        // Damping of `u` in place of that of `s`, which changes as much where the hinge is flat.
        let stiffness = batch.stiffness.0[lane] * (1.0 + batch.damping.0[lane] * self.rate);
        self.has_constant_hessian().then(|| weights.map(|a| weights.map(|b| stiffness * a * b)))
    }

    fn vertices(&self) -> &[[u32; 4]] {
        &self.vertices
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value(&self, batch: usize, x: &[LaneVec3; 4]) -> Lanes {
        let rest = &self.batches[batch];
        let elastic = self.elastic_value(batch, x);
        match self.damping(batch, &rest.fold(x)) {
            Some(damping) => elastic + rest.stiffness * damping.value(),
            None => elastic,
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn elastic_value(&self, batch: usize, x: &[LaneVec3; 4]) -> Lanes {
        let rest = &self.batches[batch];
        let fold = rest.fold(x);
        let residual = if self.curved { fold.u - fold.normal().n * rest.rest } else { fold.u };
        rest.stiffness * residual.dot(residual) * 0.5
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value_and_gradient(&self, batch: usize, x: &[LaneVec3; 4]) -> (Lanes, [LaneVec3; 4]) {
        let rest = &self.batches[batch];
        let fold = rest.fold(x);
        let mut value = self.elastic_value(batch, x);
        let mut force = fold.u * rest.stiffness;
        let (mut by_e, mut by_g) = (LaneVec3::default(), LaneVec3::default());
        if self.curved {
            let normal = fold.normal();
            force = (fold.u - normal.n * rest.rest) * rest.stiffness;
            let [e, g] = normal.derivatives();
            let pull = force * -rest.rest;
            (by_e, by_g) = (e.transpose_times(pull), g.transpose_times(pull));
        }
        if let Some(damping) = self.damping(batch, &fold) {
            value += rest.stiffness * damping.value();
            let [e, g, u] = damping.gradient();
            by_e += e * rest.stiffness;
            by_g += g * rest.stiffness;
            force += u * rest.stiffness;
        }
        let mut forces = [force; 4];
        for k in 0..4 {
            forces[k] = by_e * rest.weights[0][k] + by_g * rest.weights[1][k] + force * rest.weights[2][k];
        }
        (value, forces)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hessian(&self, batch: usize, x: &[LaneVec3; 4], mode: HessianMode) -> ElementBlocks<4> {
        let rest = &self.batches[batch];
        let fold = rest.fold(x);
        let damping = self.damping(batch, &fold);
        if !self.curved && damping.is_none() {
            return rest.flat_blocks();
        }
        let mut by_parts = if self.curved { rest.folded_hessian(&fold, mode) } else { flat_hessian() };
        if let Some(damping) = damping {
            let more = damping.hessian(mode);
            for a in 0..3 {
                for b in 0..=a {
                    by_parts[a][b] += more[a][b];
                }
            }
        }
        rest.blocks(by_parts)
    }
}

/// The Hessian of hinges that are flat at rest with respect to `e`, `g` and `u`, divided by the stiffness.
fn flat_hessian() -> [[LaneMat3; 3]; 3] {
    let mut blocks = [[LaneMat3::default(); 3]; 3];
    blocks[2][2] = LaneMat3::identity();
    blocks
}
