//! Woven sheet after Baraff & Witkin (1998), as an energy density (Kim 2020), so that it converges under refinement:
//! with the images `w_u`, `w_v` of the unit vectors along warp and weft,
//!
//! ```text
//! Ψ = ½ k_u (|w_u| - 1)² + ½ k_v (|w_v| - 1)² + ½ k_s (w_u · w_v)².
//! ```
//!
//! Stiffness in N/m: `k_u`, `k_v` along the threads and `k_s` against shear. Stretch along one thread does not narrow the
//! other (Poisson's ratio 0).
//!
//! The Hessian of the stretch terms has the eigenvectors along and across `w`. That of the shear term with
//! `s = w_u · w_v`, written in `p = (a + b)/√2` and `m = (a - b)/√2`, is
//!
//! ```text
//! k_s [ z_p z_pᵀ + s I    z_p z_mᵀ       ]        z_p = (w_v + w_u)/√2,
//!     [ z_m z_pᵀ          z_m z_mᵀ - s I ],       z_m = (w_v - w_u)/√2:
//! ```
//!
//! eigenvalues `s` and `-s` across `z_p` and `z_m`, and a 2x2 matrix between the two.

use super::{LaneSheet, Membrane, SheetTangent};
use crate::material::HessianMode;
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};
use supple_core::small_matrix::symmetric_eigen::positive_part;

/// Woven sheet after Baraff & Witkin.
#[derive(Debug, Clone, Copy, Default)]
pub struct BaraffWitkin;

/// Below this length a thread has no direction.
const SHORTEST: f64 = 1e-12;

/// A unit vector (zero if undefined) and its length, bounded away from zero.
#[cfg_attr(not(debug_assertions), inline(always))]
fn direction(w: LaneVec3) -> (LaneVec3, Lanes) {
    let length = w.length();
    let safe = length.max(Lanes::splat(SHORTEST));
    (w * (Lanes::splat(1.0) / safe), length)
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn stretch_tangent(w: LaneVec3, stiffness: Lanes, mode: HessianMode) -> LaneMat3 {
    let (e, length) = direction(w);
    let exact = stiffness * (length - 1.0) / length.max(Lanes::splat(SHORTEST));
    let across = match mode {
        HessianMode::Exact => exact,
        HessianMode::PsdProjected => exact.max(Lanes::default()),
    };
    e.outer(e) * (stiffness - across) + LaneMat3::scaled_identity(across)
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn shear_tangent([u, v]: [LaneVec3; 2], stiffness: Lanes, mode: HessianMode) -> SheetTangent {
    let s = u.dot(v);
    if mode == HessianMode::Exact {
        return SheetTangent {
            warp: v.outer(v) * stiffness,
            mixed: (v.outer(u) + LaneMat3::scaled_identity(s)) * stiffness,
            weft: u.outer(u) * stiffness,
        };
    }
    let half = Lanes::splat(std::f64::consts::FRAC_1_SQRT_2);
    let ((p, p_length), (m, m_length)) = (direction((v + u) * half), direction((v - u) * half));
    let product = p_length * m_length;
    let pair = [[s + p_length * p_length, product], [product, m_length * m_length - s]];
    let [[pp, pm], [_, mm]] = positive_part(pair);
    let (plus, minus) = (s.max(Lanes::default()), (-s).max(Lanes::default()));
    let plus_block = LaneMat3::scaled_identity(plus) + p.outer(p) * (pp - plus);
    let minus_block = LaneMat3::scaled_identity(minus) + m.outer(m) * (mm - minus);
    let between = p.outer(m) * pm;
    let scale = stiffness * 0.5;
    SheetTangent {
        warp: (plus_block + minus_block + between + between.transpose()) * scale,
        mixed: (plus_block - minus_block - between + between.transpose()) * scale,
        weft: (plus_block + minus_block - between - between.transpose()) * scale,
    }
}

impl Membrane for BaraffWitkin {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy(&self, [u, v]: [LaneVec3; 2], sheet: &LaneSheet) -> Lanes {
        let (a, b, s) = (u.length() - 1.0, v.length() - 1.0, u.dot(v));
        (sheet.warp * a * a + sheet.weft * b * b + sheet.shear * s * s) * 0.5
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stress(&self, [u, v]: [LaneVec3; 2], sheet: &LaneSheet) -> [LaneVec3; 2] {
        let ((along_u, length_u), (along_v, length_v)) = (direction(u), direction(v));
        let shear = sheet.shear * u.dot(v);
        [
            along_u * (sheet.warp * (length_u - 1.0)) + v * shear,
            along_v * (sheet.weft * (length_v - 1.0)) + u * shear,
        ]
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tangent(&self, f: [LaneVec3; 2], sheet: &LaneSheet, mode: HessianMode) -> SheetTangent {
        let shear = shear_tangent(f, sheet.shear, mode);
        SheetTangent {
            warp: shear.warp + stretch_tangent(f[0], sheet.warp, mode),
            mixed: shear.mixed,
            weft: shear.weft + stretch_tangent(f[1], sheet.weft, mode),
        }
    }
}
