//! Stress and tangent of isotropic sheets from their derivatives with respect to the principal
//! stretches.
//!
//! With `F = U Σ Vᵀ` (3x2) and `gᵢ = ∂Ψ/∂σᵢ`, the second derivative acts on `D = Uᵀ δF V` as that of solids does
//! ([`crate::material::law::Tangent`]): scaling on the diagonal, twist and flip on the pair `D₁₂`, `D₂₁`; in addition on the
//! last row, where the sheet moves along its normal: by `gᵢ/σᵢ`, negative where it is compressed and about to wrinkle.

use super::SheetTangent;
use crate::material::HessianMode;
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};
use supple_core::small_matrix::svd::Svd32;
use supple_core::small_matrix::symmetric_eigen::{SquareMatrix, positive_part};

/// The eigenvalues of an isotropic sheet's tangent.
pub struct PrincipalModes {
    /// `∂²Ψ/∂σᵢ∂σⱼ`.
    pub scaling: SquareMatrix<2>,
    /// `(g₁ + g₂)/(σ₁ + σ₂)`.
    pub twist: Lanes,
    /// `(g₁ - g₂)/(σ₁ - σ₂)`.
    pub flip: Lanes,
    /// `gᵢ/σᵢ`.
    pub normal: [Lanes; 2],
}

impl PrincipalModes {
    /// Positive semi-definite eigenvalues. Along the normal a negative one keeps its magnitude: if it were zero, a wrinkling sheet
    /// would have only inertia against long out-of-plane steps, which stretch it many times more than they relax it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn projected(self) -> Self {
        let clamped = |value: Lanes| value.max(Lanes::default());
        let size = |value: Lanes| value.max(-value);
        Self {
            scaling: positive_part(self.scaling),
            twist: clamped(self.twist),
            flip: clamped(self.flip),
            normal: self.normal.map(size),
        }
    }
}

/// `P = U diag(g) Vᵀ`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn isotropic_stress(svd: &Svd32, g: [Lanes; 2]) -> [LaneVec3; 2] {
    let Svd32 { u, v, .. } = svd;
    let (first, second) = (u.0[0] * g[0], u.0[1] * g[1]);
    [first * v[0][0] + second * v[1][0], first * v[0][1] + second * v[1][1]]
}

/// The tangent with these eigenvalues.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn isotropic_tangent(svd: &Svd32, modes: PrincipalModes, mode: HessianMode) -> SheetTangent {
    let modes = if mode == HessianMode::PsdProjected { modes.projected() } else { modes };
    let PrincipalModes { scaling, twist, flip, normal } = modes;
    let (same, mirrored) = ((flip + twist) * 0.5, (flip - twist) * 0.5);
    let first = LaneMat3::from_diagonal(LaneVec3([scaling[0][0], same, normal[0]]));
    let second = LaneMat3::from_diagonal(LaneVec3([same, scaling[1][1], normal[1]]));
    let mut mixed = LaneMat3::default();
    mixed.0[1].0[0] = scaling[0][1];
    mixed.0[0].0[1] = mirrored;
    let v = &svd.v;
    let turned = |i: usize, j: usize| {
        let middle = first * (v[0][i] * v[0][j])
            + mixed * (v[0][i] * v[1][j])
            + mixed.transpose() * (v[1][i] * v[0][j])
            + second * (v[1][i] * v[1][j]);
        svd.u * (middle * svd.u.transpose())
    };
    SheetTangent { warp: turned(0, 0), mixed: turned(0, 1), weft: turned(1, 1) }
}
