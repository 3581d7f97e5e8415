//! Damping in proportion to the stiffness, over one step of length `h`: with the Green strain `E = ½(FᵀF - I)`, the
//! strain `E₀` at the step's start and the damping time `β`, the potential per undeformed volume (or area) is
//!
//! ```text
//! D = β/h (μ |E - E₀|² + λ/2 tr²(E - E₀)),
//! P = F T,      T = β/h (2μ (E - E₀) + λ tr(E - E₀) I).
//! ```
//!
//! At small strains its stress is `β` times the rate of the elastic stress. Since `E` does not change under rotations, a
//! body that rotates rigidly is not slowed down, however fast. The Hessian is
//!
//! ```text
//! δP = δF T + F δT;
//! ```
//!
//! its second part is positive semi-definite, its first one where `T` is: the projection takes the positive part of `T`.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use crate::material::HessianMode;
use crate::material::law::LaneLame;
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};
use supple_core::small_matrix::symmetric_eigen::{SquareMatrix, positive_part};

/// Solids have `N = 3` columns in their deformation gradient, sheets two.
pub(crate) type Columns<const N: usize> = [LaneVec3; N];

/// `½ FᵀF`, the strain up to a constant.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn strain<const N: usize>(f: &Columns<N>) -> SquareMatrix<N> {
    let mut strain = [[Lanes::default(); N]; N];
    for i in 0..N {
        for j in 0..N {
            strain[i][j] = f[i].dot(f[j]) * 0.5;
        }
    }
    strain
}

/// The damping of eight elements at some deformation gradient.
pub(crate) struct StrainDamping<const N: usize> {
    f: Columns<N>,
    /// `E - E₀`.
    change: SquareMatrix<N>,
    /// Lamé parameters times `β/h`.
    viscosity: LaneLame,
}

impl<const N: usize> StrainDamping<N> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn new(f: Columns<N>, start: &SquareMatrix<N>, lame: &LaneLame, rate: Lanes) -> Self {
        let mut change = strain(&f);
        for i in 0..N {
            for j in 0..N {
                change[i][j] -= start[i][j];
            }
        }
        Self { f, change, viscosity: LaneLame { lambda: lame.lambda * rate, mu: lame.mu * rate } }
    }

    /// The tension `T`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tension(&self) -> SquareMatrix<N> {
        let LaneLame { lambda, mu } = self.viscosity;
        let mut trace = Lanes::default();
        let mut tension = self.change;
        for i in 0..N {
            trace += self.change[i][i];
            for j in 0..N {
                tension[i][j] = mu * self.change[i][j] * 2.0;
            }
        }
        for i in 0..N {
            tension[i][i] += lambda * trace;
        }
        tension
    }

    /// The potential `D`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn value(&self) -> Lanes {
        let tension = self.tension();
        let mut sum = Lanes::default();
        for i in 0..N {
            for j in 0..N {
                sum += tension[i][j] * self.change[i][j];
            }
        }
        sum * 0.5
    }

    /// The stress `P`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn stress(&self) -> Columns<N> {
        let tension = self.tension();
        let mut stress = [LaneVec3::default(); N];
        for i in 0..N {
            for j in 0..N {
                stress[j] += self.f[i] * tension[i][j];
            }
        }
        stress
    }

    /// The ingredients of the Hessian blocks.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn tangent(self, mode: HessianMode) -> DampingTangent<N> {
        let tension = match mode {
            HessianMode::Exact => self.tension(),
            HessianMode::PsdProjected => positive_part(self.tension()),
        };
        let mut spread = LaneMat3::default();
        for i in 0..N {
            spread += self.f[i].outer(self.f[i]);
        }
        DampingTangent { f: self.f, tension, spread, viscosity: self.viscosity }
    }
}

/// The derivative of the damping stress.
pub(crate) struct DampingTangent<const N: usize> {
    f: Columns<N>,
    tension: SquareMatrix<N>,
    /// `F Fᵀ`.
    spread: LaneMat3,
    viscosity: LaneLame,
}

impl<const N: usize> DampingTangent<N> {
    /// The block between two vertices with the shape function gradients `a` and `b`:
    /// `(aᵀ T b) I + μ ((a·b) F Fᵀ + (F b)(F a)ᵀ) + λ (F a)(F b)ᵀ`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn block(&self, a: &[Lanes; N], b: &[Lanes; N]) -> LaneMat3 {
        let LaneLame { lambda, mu } = self.viscosity;
        let (mut fa, mut fb) = (LaneVec3::default(), LaneVec3::default());
        let (mut pull, mut dot) = (Lanes::default(), Lanes::default());
        for i in 0..N {
            fa += self.f[i] * a[i];
            fb += self.f[i] * b[i];
            dot += a[i] * b[i];
            for j in 0..N {
                pull += a[i] * self.tension[i][j] * b[j];
            }
        }
        LaneMat3::scaled_identity(pull) + self.spread * (mu * dot) + fb.outer(fa) * mu + fa.outer(fb) * lambda
    }
}
