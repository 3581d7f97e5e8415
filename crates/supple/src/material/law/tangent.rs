//! The derivative of an isotropic law's stress, by its eigensystem (Smith, de Goes & Kim 2019).
//!
//! With `F = U Σ Vᵀ` and `Ψ(σ₁, σ₂, σ₃)`, the fourth-order tensor `∂²Ψ/∂F²` acts on `D = Uᵀ δF V` entry by entry: the
//! diagonal of `D` by the 3x3 matrix `∂²Ψ/∂σᵢ∂σⱼ` (scaling), and each pair `D_ij`, `D_ji` by two eigenvalues, that of
//! their difference (twist) and that of their sum (flip), where `gᵢ = ∂Ψ/∂σᵢ`:
//!
//! ```text
//! twist = (gᵢ + gⱼ)/(σᵢ + σⱼ),      flip = (gᵢ - gⱼ)/(σᵢ - σⱼ).
//! ```
//!
//! Clamping these two and the eigenvalues of the scaling matrix at zero is the exact projection to positive
//! semi-definite. The 81 entries of `∂P/∂F` are never formed.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use crate::material::HessianMode;
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};
use supple_core::small_matrix::symmetric_eigen::{SquareMatrix, positive_part};

/// The pairs of axes of twists and flips, in this order.
pub(super) const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

/// `∂P/∂F` at some `F`.
pub struct Tangent {
    u: LaneMat3,
    v: LaneMat3,
    scaling: SquareMatrix<3>,
    /// The contribution of `D_ij` to itself and to `D_ji`: half the sum and half the difference of flip and twist.
    same: [Lanes; 3],
    mirrored: [Lanes; 3],
}

/// The eigenvalues of a tangent before projection.
pub struct TangentModes {
    /// `∂²Ψ/∂σᵢ∂σⱼ`.
    pub scaling: SquareMatrix<3>,
    /// Of the differences of each pair of axes: 01, 02, 12.
    pub twist: [Lanes; 3],
    /// Of their sums.
    pub flip: [Lanes; 3],
    /// Whether the scaling matrix can be indefinite at all.
    pub scaling_can_be_indefinite: bool,
}

/// `diagonal I + all 1 1ᵀ`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn uniform_scaling(diagonal: Lanes, all: Lanes) -> SquareMatrix<3> {
    let both = diagonal + all;
    [[both, all, all], [all, both, all], [all, all, both]]
}

impl Tangent {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(u: LaneMat3, v: LaneMat3, modes: TangentModes, mode: HessianMode) -> Self {
        let TangentModes { mut scaling, mut twist, mut flip, scaling_can_be_indefinite } = modes;
        if mode == HessianMode::PsdProjected {
            for k in 0..3 {
                twist[k] = twist[k].max(Lanes::default());
                flip[k] = flip[k].max(Lanes::default());
            }
            if scaling_can_be_indefinite {
                scaling = positive_part(scaling);
            }
        }
        let (mut same, mut mirrored) = ([Lanes::default(); 3], [Lanes::default(); 3]);
        for k in 0..3 {
            same[k] = (flip[k] + twist[k]) * 0.5;
            mirrored[k] = (flip[k] - twist[k]) * 0.5;
        }
        Self { u, v, scaling, same, mirrored }
    }

    /// A shape function gradient in the axes in which the tangent is simple.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn turned(&self, gradient: LaneVec3) -> LaneVec3 {
        self.v.transpose_times(gradient)
    }

    /// The 3x3 block between two vertices with the shape function gradients `a` and `b`, both [`turned`](Self::turned):
    /// `d ↦ (∂P/∂F : d bᵀ) a`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn block(&self, a: LaneVec3, b: LaneVec3) -> LaneMat3 {
        let mut h = LaneMat3::default();
        let products = [a[0] * b[0], a[1] * b[1], a[2] * b[2]];
        for i in 0..3 {
            h.0[i].0[i] = self.scaling[i][i] * products[i];
        }
        for k in 0..3 {
            let (i, j) = PAIRS[k];
            h.0[i].0[i] += self.same[k] * products[j];
            h.0[j].0[j] += self.same[k] * products[i];
            let (ij, ji) = (a[i] * b[j], a[j] * b[i]);
            h.0[j].0[i] = self.scaling[i][j] * ij + self.mirrored[k] * ji;
            h.0[i].0[j] = self.scaling[j][i] * ji + self.mirrored[k] * ij;
        }
        self.u * (h * self.u.transpose())
    }
}
