//! Bending of sheets that keep their lengths (Bergou, Wardetzky, Harmon, Zorin & Grinspun 2006): per hinge
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
//! zero at rest with zero gradient, and blind to rotations. Its Hessian is not constant any more; the projection is that of
//! Gauss-Newton. Since `e`, `g` and `u` are sums of corners with constant weights, derivatives are taken by these three.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `crate::simd`")]

use super::Curvature;
use super::element::{Blocks, Element};
use super::element_order::{morton_order, pack_batches};
use super::hinge::Hinge;
use crate::simd::{LaneMat3, LaneVec3, Lanes, WIDTH};

/// Eight hinges at rest.
#[derive(Debug, Clone, Copy)]
struct Batch {
    /// `c` in N/m³ times m².
    stiffness: Lanes,
    /// The weights of the corners in `e`, `g` and `u`.
    weights: [[Lanes; 4]; 3],
    /// `h₀` in m.
    rest: Lanes,
}

/// Hinges of a sheet that keeps its lengths. Stored in Morton order of their rest edges' middles.
#[derive(Debug, Clone, Default)]
pub struct QuadraticBending {
    vertices: Vec<[u32; 4]>,
    batches: Vec<Batch>,
    /// Whether some hinge is folded at rest.
    curved: bool,
}

/// Rest angles below this are those of a flat sheet, up to rounding.
const FLAT: f64 = 1e-9;

impl QuadraticBending {
    /// Bending of these hinges; `bend_stiffness(h)` is that of hinge `h` in N·m.
    pub fn new(hinges: &[Hinge], bend_stiffness: impl Fn(usize) -> f64) -> Self {
        let order = morton_order(hinges.len(), |h| hinges[h].centre);
        let curved = hinges.iter().any(|hinge| hinge.angle.abs() > FLAT);
        let batches = pack_batches(&order, |lanes| {
            let rows = lanes.map(|h| weights(&hinges[h]));
            let weight = |row: usize, k: usize| Lanes::from_fn(|i| rows[i][row][k]);
            Batch {
                stiffness: Lanes::from_fn(|i| bend_stiffness(lanes[i]) / hinges[lanes[i]].area()),
                weights: std::array::from_fn(|row| std::array::from_fn(|k| weight(row, k))),
                rest: Lanes::from_fn(|i| rest_height(&hinges[lanes[i]])),
            }
        });
        let vertices = order.iter().map(|&h| hinges[h as usize].vertices).collect();
        Self { vertices, batches, curved }
    }

    /// Whether all hinges are flat at rest, so that the Hessian is the same everywhere.
    pub fn has_constant_hessian(&self) -> bool {
        !self.curved
    }
}

fn rest_height(hinge: &Hinge) -> f64 {
    if hinge.angle.abs() > FLAT { 2.0 * hinge.length * (0.5 * hinge.angle).sin() } else { 0.0 }
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
struct Fold {
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

impl Fold {
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
    /// `v` without its part along the normal, over `|N|`: `∂n/∂N` applied.
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

impl Batch {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn fold(&self, x: &[LaneVec3; 4]) -> Fold {
        let mut sums = [LaneVec3::default(); 3];
        for k in 1..4 {
            for row in 0..3 {
                sums[row] += (x[k] - x[0]) * self.weights[row][k];
            }
        }
        Fold { e: sums[0], g: sums[1], u: sums[2] }
    }

    /// The blocks by corners, times the stiffness, from those by `e`, `g` and `u` (`h[a][b]`, `b <= a`).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn blocks(&self, h: [[LaneMat3; 3]; 3]) -> Blocks<4> {
        let mut blocks = Blocks::<4>::default();
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

    /// The Hessian of folded hinges by `e`, `g` and `u`, lower triangle, over the stiffness.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn folded_hessian(&self, fold: &Fold, curvature: Curvature) -> [[LaneMat3; 3]; 3] {
        let normal = fold.normal();
        // The derivatives of u - h₀ n.
        let [by_e, by_g] = normal.derivatives();
        let (by_e, by_g) = (by_e * -self.rest, by_g * -self.rest);
        let mut ee = by_e.transpose() * by_e;
        let mut ge = by_g.transpose() * by_e;
        let mut gg = by_g.transpose() * by_g;
        if curvature == Curvature::Exact {
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
    fn projective(&self, e: usize) -> Option<[[f64; 4]; 4]> {
        let (batch, lane) = (&self.batches[e / WIDTH], e % WIDTH);
        let weights = batch.weights[2].map(|w| w.0[lane]);
        let stiffness = batch.stiffness.0[lane];
        self.has_constant_hessian().then(|| weights.map(|a| weights.map(|b| stiffness * a * b)))
    }

    fn vertices(&self) -> &[[u32; 4]] {
        &self.vertices
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value(&self, batch: usize, x: &[LaneVec3; 4]) -> Lanes {
        let rest = &self.batches[batch];
        let fold = rest.fold(x);
        let residual = if self.curved { fold.u - fold.normal().n * rest.rest } else { fold.u };
        rest.stiffness * residual.dot(residual) * 0.5
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn gradient(&self, batch: usize, x: &[LaneVec3; 4]) -> [LaneVec3; 4] {
        let rest = &self.batches[batch];
        let fold = rest.fold(x);
        let mut force = fold.u * rest.stiffness;
        let (mut by_e, mut by_g) = (LaneVec3::default(), LaneVec3::default());
        if self.curved {
            let normal = fold.normal();
            force = (fold.u - normal.n * rest.rest) * rest.stiffness;
            let [e, g] = normal.derivatives();
            let pull = force * -rest.rest;
            (by_e, by_g) = (e.transpose_times(pull), g.transpose_times(pull));
        }
        let mut forces = [force; 4];
        for k in 0..4 {
            forces[k] = by_e * rest.weights[0][k] + by_g * rest.weights[1][k] + force * rest.weights[2][k];
        }
        forces
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hessian(&self, batch: usize, x: &[LaneVec3; 4], curvature: Curvature) -> Blocks<4> {
        let rest = &self.batches[batch];
        if self.curved {
            return rest.blocks(rest.folded_hessian(&rest.fold(x), curvature));
        }
        let weights = &rest.weights[2];
        let mut blocks = Blocks::<4>::default();
        for i in 0..4 {
            for j in 0..=i {
                blocks[i][j] = LaneMat3::scaled_identity(rest.stiffness * weights[i] * weights[j]);
            }
        }
        blocks
    }
}
