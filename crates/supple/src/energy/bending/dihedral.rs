//! Bending by hinges (Grinspun et al. 2003; derivatives as Tamstorf & Grinspun 2013): with the fold angle `θ` and its rest
//! value `θ₀`, per hinge
//!
//! ```text
//! E = ½ k (θ - θ₀)²,      k = B l²/A        (see Hinge::stiffness),
//! ```
//!
//! and over a step of length `h` the damping potential `β k/(2h) (θ - θₛ)²`, `θₛ` the angle at its start.
//! With `e, p, q` the corners 1, 2, 3 seen from corner 0, `n₁ = e × p`, `n₂ = q × e`, `m = n/|n|²`, `l = |e|`:
//!
//! ```text
//! ∂θ/∂p = -l m₁,    ∂θ/∂q = -l m₂,    ∂θ/∂e = (p·e/l) m₁ + (q·e/l) m₂,    ∂m/∂n = (I - 2 n nᵀ/|n|²)/|n|²
//! ```
//!
//! and the second derivatives follow by the product rule. The projection keeps `ψ'' ∇θ ∇θᵀ` and leaves out `ψ' ∇²θ`
//! (Gauss-Newton): an angle is nowhere convex, so that the second term is always indefinite.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::energy::bending::hinge::Hinge;
use crate::energy::element::order::{morton_order, pack_batches};
use crate::energy::element::{Element, ElementBlocks, batch_corners, completed};
use crate::material::HessianMode;
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};

/// Eight hinges at rest.
#[derive(Debug, Clone, Copy)]
struct DihedralHingeBatch {
    /// Stiffness in J/rad².
    stiffness: Lanes,
    /// Cosine and sine of the rest angle.
    rest: [Lanes; 2],
    damping: Lanes,
}

/// Hinges that resist folding away from their rest angle. Stored in Morton order of their rest edges' midpoints.
#[derive(Debug, Clone, Default)]
pub struct DihedralBending {
    vertices: Vec<[u32; 4]>,
    batches: Vec<DihedralHingeBatch>,
    /// Cosine and sine of the angles at the step's start; empty while nothing is damped.
    start: Vec<[Lanes; 2]>,
    /// One over the step.
    rate: f64,
}

/// Stiffness and damping of a hinge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HingeMaterial {
    /// Bending stiffness B in N·m.
    pub bend_stiffness: f64,
    /// Damping time β in seconds.
    pub damping: f64,
}

impl DihedralBending {
    /// Bending of these hinges; `material(h)` is the material of hinge `h`.
    pub fn new(hinges: &[Hinge], material: impl Fn(usize) -> HingeMaterial) -> Self {
        let order = morton_order(hinges.len(), |h| hinges[h].centre);
        let batches = pack_batches(&order, |lanes| DihedralHingeBatch {
            stiffness: Lanes::from_fn(|i| hinges[lanes[i]].stiffness(material(lanes[i]).bend_stiffness)),
            rest: [
                Lanes::from_fn(|i| hinges[lanes[i]].angle.cos()),
                Lanes::from_fn(|i| hinges[lanes[i]].angle.sin()),
            ],
            damping: Lanes::from_fn(|i| material(lanes[i]).damping),
        });
        let vertices = order.iter().map(|&h| hinges[h as usize].vertices).collect();
        Self { vertices, batches, start: Vec::new(), rate: 0.0 }
    }

    /// `[ψ, ψ', ψ'']` of the fold angle.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn potential(&self, batch: usize, fold: &DihedralFold) -> [Lanes; 3] {
        let DihedralHingeBatch { stiffness, rest, damping } = self.batches[batch];
        let angle = fold.angle_from(rest);
        let moment = stiffness * angle;
        let Some(&start) = self.start.get(batch) else { return [moment * angle * 0.5, moment, stiffness] };
        let viscosity = stiffness * damping * self.rate;
        let turned = fold.angle_from(start);
        let value = (moment * angle + viscosity * turned * turned) * 0.5;
        [value, moment + viscosity * turned, stiffness + viscosity]
    }
}

/// Eight hinges at some positions.
struct DihedralFold {
    e: LaneVec3,
    p: LaneVec3,
    q: LaneVec3,
    length: Lanes,
    /// Normals, and their squared lengths, bounded away from zero.
    normals: [LaneVec3; 2],
    squares: [Lanes; 2],
}

/// Triangles thinner than this fraction of their edge push no harder than one of this height.
const THINNEST: f64 = 1e-6;

impl DihedralFold {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn new(x: &[LaneVec3; 4]) -> Self {
        let (e, p, q) = (x[1] - x[0], x[2] - x[0], x[3] - x[0]);
        let square = e.dot(e).max(Lanes::splat(1e-100));
        let normals = [e.cross(p), q.cross(e)];
        let least = square * square * (THINNEST * THINNEST);
        let squares = [normals[0].dot(normals[0]).max(least), normals[1].dot(normals[1]).max(least)];
        Self { e, p, q, length: square.sqrt(), normals, squares }
    }

    /// Multiples of the angle's cosine and sine.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn unit(&self) -> [Lanes; 2] {
        let [n1, n2] = self.normals;
        [n1.dot(n2), n1.cross(n2).dot(self.e) / self.length]
    }

    /// The angle from one given by multiples of cosine and sine, in (-π, π].
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn angle_from(&self, [c, s]: [Lanes; 2]) -> Lanes {
        let [cosine, sine] = self.unit();
        (sine * c - cosine * s).atan2(cosine * c + sine * s)
    }

    /// Derivatives of the angle with respect to `e`, `p` and `q`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn gradient(&self) -> [LaneVec3; 3] {
        let [m1, m2] = self.reciprocals();
        let (along_p, along_q) = (self.p.dot(self.e) / self.length, self.q.dot(self.e) / self.length);
        [m1 * along_p + m2 * along_q, m1 * -self.length, m2 * -self.length]
    }

    /// `m = n/|n|²`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn reciprocals(&self) -> [LaneVec3; 2] {
        let one = Lanes::splat(1.0);
        [self.normals[0] * (one / self.squares[0]), self.normals[1] * (one / self.squares[1])]
    }

    /// `∂m/∂n`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn reciprocal_derivative(&self, i: usize) -> LaneMat3 {
        let n = self.normals[i];
        let inverse = Lanes::splat(1.0) / self.squares[i];
        LaneMat3::scaled_identity(inverse) - n.outer(n) * (inverse * inverse * 2.0)
    }

    /// Second derivatives of the angle: blocks ee, pe, pp, qe, qp, qq.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hessian(&self) -> [LaneMat3; 6] {
        let Self { e, p, q, length, .. } = *self;
        let [m1, m2] = self.reciprocals();
        let (d1, d2) = (self.reciprocal_derivative(0), self.reciprocal_derivative(1));
        let inverse = Lanes::splat(1.0) / length;
        let direction = e * inverse;
        let (along_p, along_q) = (p.dot(direction), q.dot(direction));
        let (turn_p, turn_q) = (d1 * p.cross_matrix(), d2 * q.cross_matrix());
        let turn_e = [d1 * e.cross_matrix(), d2 * e.cross_matrix()];
        let ee = m1.outer((p - direction * along_p) * inverse) - turn_p * along_p
            + m2.outer((q - direction * along_q) * inverse)
            + turn_q * along_q;
        [
            ee,
            turn_p * length - m1.outer(direction),
            turn_e[0] * -length,
            -(turn_q * length) - m2.outer(direction),
            LaneMat3::default(),
            turn_e[1] * length,
        ]
    }
}

impl Element<4> for DihedralBending {
    fn begin_step(&mut self, x: &[DVec3], dt: f64) {
        let damped = self.batches.iter().any(|batch| batch.damping != Lanes::default());
        self.rate = if damped { 1.0 / dt } else { 0.0 };
        self.start.resize(if damped { self.batches.len() } else { 0 }, Default::default());
        let vertices = &self.vertices;
        self.start.par_iter_mut().enumerate().with_min_len(64).for_each(|(b, start)| {
            *start = DihedralFold::new(&batch_corners(vertices, b, x)).unit();
        });
    }

    fn vertices(&self) -> &[[u32; 4]] {
        &self.vertices
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value(&self, batch: usize, x: &[LaneVec3; 4]) -> Lanes {
        self.potential(batch, &DihedralFold::new(x))[0]
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn elastic_value(&self, batch: usize, x: &[LaneVec3; 4]) -> Lanes {
        let DihedralHingeBatch { stiffness, rest, .. } = self.batches[batch];
        let angle = DihedralFold::new(x).angle_from(rest);
        stiffness * angle * angle * 0.5
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value_and_gradient(&self, batch: usize, x: &[LaneVec3; 4]) -> (Lanes, [LaneVec3; 4]) {
        let fold = DihedralFold::new(x);
        let [value, moment, _] = self.potential(batch, &fold);
        let [e, p, q] = fold.gradient();
        let (e, p, q) = (e * moment, p * moment, q * moment);
        (value, [-(e + p + q), e, p, q])
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hessian(&self, batch: usize, x: &[LaneVec3; 4], mode: HessianMode) -> ElementBlocks<4> {
        let fold = DihedralFold::new(x);
        let [_, moment, stiffness] = self.potential(batch, &fold);
        let g = fold.gradient();
        let pairs = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)];
        let mut blocks = [LaneMat3::default(); 6];
        for k in 0..6 {
            let (i, j): (usize, usize) = pairs[k];
            blocks[k] = g[i].outer(g[j] * stiffness);
        }
        if mode == HessianMode::Exact {
            let second = fold.hessian();
            for k in 0..6 {
                blocks[k] += second[k] * moment;
            }
        }
        completed(blocks)
    }
}
