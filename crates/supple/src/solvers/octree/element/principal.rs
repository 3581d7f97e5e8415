//! The stiffness of elements of any law in their principal axes, matrix-free.
//!
//! With `F = U Σ Vᵀ` at an element's centre the derivative of an isotropic law's stress acts on `B = Uᵀ D V` entry by entry
//! (`crate::material::law`): by a 3x3 matrix on the diagonal, and by two numbers on each pair `Bᵢⱼ`, `Bⱼᵢ`. In addition to the springs
//! along edges (`stiffness`) it takes twelve numbers and two rotations. Co-rotational elements fit this form as well, so that bodies
//! of both laws can be mixed; a scene without another law uses the smaller form.
//!
//! Stable neo-Hookean elements (Smith, de Goes & Kim 2018) have their law at the centre, `h³ Ψ(F)`, and against modes that are
//! invisible at the centre the Laplacian along edges minus its mean (as Patterson et al. 2012 do for other laws):
//!
//! ```text
//! E = h³ Ψ(F) + μh/4 Σ |d - h F eₖ|².
//! ```
//!
//! At rest this is the co-rotational element. Volume is preserved at the centre alone, one number for eight nodes, so that flesh of a
//! Poisson's ratio near 1/2 does not lock.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use crate::material::law::{LaneLame, Law, NeoHookean};
use crate::solvers::octree::element::blocks::BATCH;
use crate::solvers::octree::element::elasticity::{Eight, twists};
use crate::solvers::octree::element::stiffness::{ElementBatch, PAIRS};
use crate::solvers::octree::element::wide::{
    Part, Vector, WideMat3, load_matrix, matrix_product, transposed,
};
use supple_core::simd::{F32x16, LaneMat3, LaneVec3, Lanes};
use supple_core::small_matrix::svd::{Svd, svd};
use supple_core::small_matrix::symmetric_eigen::positive_part;

/// The off-diagonal pairs of axes.
const OFF_DIAGONAL_PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

/// Twists are at least this fraction of `μ`, so that rounding to single precision does not make an element indefinite.
const LEAST_TWIST: f64 = 1e-6;

/// The stiffness of sixteen elements.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(crate) struct PrincipalBatch {
    spring: [f32; BATCH],
    /// Removes the springs' mean where the law includes it at the centre.
    mean: [f32; BATCH],
    /// `U` by rows.
    u: [[f32; BATCH]; 9],
    /// `S V` by rows.
    v: [[f32; BATCH]; 9],
    /// On the diagonal: xx, yy, zz, yz, xz, xy.
    scaling: [[f32; BATCH]; 6],
    /// The coefficient of `Bᵢⱼ` for itself.
    same: [[f32; BATCH]; 3],
    /// And for `Bⱼᵢ`.
    mirrored: [[f32; BATCH]; 3],
}

impl Default for PrincipalBatch {
    fn default() -> Self {
        let zero = [0.0; BATCH];
        Self {
            spring: zero,
            mean: zero,
            u: [zero; 9],
            v: [zero; 9],
            scaling: [zero; 6],
            same: [zero; 3],
            mirrored: [zero; 3],
        }
    }
}

/// The index of an entry among the six of a symmetric matrix.
const fn place(i: usize, j: usize) -> usize {
    if i == j { i } else { 6 - i - j }
}

/// The numbers of eight elements in their principal axes.
struct PrincipalTerms {
    scaling: [[Lanes; 3]; 3],
    same: [Lanes; 3],
    mirrored: [Lanes; 3],
    spring: Lanes,
    mean: Lanes,
}

impl ElementBatch for PrincipalBatch {
    #[inline(always)]
    fn spring(&self) -> &[f32; BATCH] {
        &self.spring
    }

    #[inline(always)]
    fn centre<V: Vector>(&self, part: Part<V>, sums: &WideMat3<V>) -> WideMat3<V> {
        let (u, v) = (load_matrix(&self.u, part), load_matrix(&self.v, part));
        let b = matrix_product(&matrix_product(&transposed(&u), sums), &v);
        let mut p = matrix_product(&u, &matrix_product(&self.stretched(part, &b), &transposed(&v)));
        let mean = V::load(&self.mean, part);
        for c in 0..3 {
            for k in 0..3 {
                p[c][k] += mean * sums[c][k];
            }
        }
        p
    }

    #[inline(always)]
    fn centre_diagonal(&self, c: usize, g: &[F32x16; 3]) -> F32x16 {
        let load = |stored: &[f32; BATCH]| F32x16(*stored);
        let mut b = [[F32x16::ZERO; 3]; 3];
        for j in 0..3 {
            let along = load(&self.v[j]) * g[0] + load(&self.v[3 + j]) * g[1] + load(&self.v[6 + j]) * g[2];
            for i in 0..3 {
                b[i][j] = load(&self.u[3 * c + i]) * along;
            }
        }
        let y = self.stretched(Part::portable(0), &b);
        let mut sum = load(&self.mean) * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
        for i in 0..3 {
            for j in 0..3 {
                sum += b[i][j] * y[i][j];
            }
        }
        sum
    }

    #[inline(always)]
    fn gradient(&self) -> &[[f32; BATCH]; 9] {
        &self.u
    }

    #[inline(always)]
    fn gradient_mut(&mut self) -> &mut [[f32; BATCH]; 9] {
        &mut self.u
    }

    #[inline(always)]
    fn linearise(&mut self, rest: &Eight, half: usize, rate: f64) {
        let Svd { u, sigma, v } = svd(self.gradient_of(half));
        let hookean = neo_hookean(rest, sigma, rate);
        let modes = match rest.only_neo_hookean {
            true => hookean,
            false => chosen(rest, hookean, corotated(rest, sigma, rate)),
        };
        self.store(half, rest, [&u, &v], &modes);
    }
}

impl PrincipalBatch {
    /// The response of the law to a change in the principal axes.
    #[inline(always)]
    fn stretched<V: Vector>(&self, part: Part<V>, b: &WideMat3<V>) -> WideMat3<V> {
        let mut y = [[V::splat(part.proof(), 0.0); 3]; 3];
        for i in 0..3 {
            for j in 0..3 {
                let scaling = V::load(&self.scaling[place(i, j)], part);
                y[i][i] += scaling * b[j][j];
            }
        }
        for k in 0..3 {
            let (i, j) = OFF_DIAGONAL_PAIRS[k];
            let same = V::load(&self.same[k], part);
            let mirrored = V::load(&self.mirrored[k], part);
            y[i][j] = same * b[i][j] + mirrored * b[j][i];
            y[j][i] = same * b[j][i] + mirrored * b[i][j];
        }
        y
    }

    /// Stores the numbers of eight elements, scaled for sums of differences: over `16/h`.
    #[inline(always)]
    fn store(&mut self, half: usize, rest: &Eight, [u, v]: [&LaneMat3; 2], modes: &PrincipalTerms) {
        for lane in 0..8 {
            let (to, scale) = (8 * half + lane, rest.side.0[lane] / 16.0);
            self.spring[to] = modes.spring.0[lane] as f32;
            self.mean[to] = modes.mean.0[lane] as f32;
            for i in 0..3 {
                for j in 0..3 {
                    self.u[3 * i + j][to] = u.0[j][i].0[lane] as f32;
                    self.v[3 * i + j][to] = (v.0[j][i].0[lane] * rest.mirror[i].0[lane]) as f32;
                }
            }
            for p in 0..6 {
                let (i, j) = PAIRS[p];
                self.scaling[p][to] = (scale * modes.scaling[i][j].0[lane]) as f32;
            }
            for k in 0..3 {
                self.same[k][to] = (scale * modes.same[k].0[lane]) as f32;
                self.mirrored[k][to] = (scale * modes.mirrored[k].0[lane]) as f32;
            }
        }
    }
}

/// Stable neo-Hookean, projected to definite; damping as in co-rotational elements.
#[inline(always)]
fn neo_hookean(rest: &Eight, sigma: LaneVec3, rate: f64) -> PrincipalTerms {
    let lame = LaneLame { lambda: rest.lambda, mu: rest.mu };
    let mut own = NeoHookean.modes(sigma, &lame);
    let viscosity = rest.damping * rate;
    for i in 0..3 {
        for j in 0..3 {
            own.scaling[i][j] += rest.lambda * viscosity;
        }
        own.scaling[i][i] += rest.mu * viscosity * 2.0;
    }
    let scaling = positive_part(own.scaling);
    let (mut same, mut mirrored) = ([Lanes::default(); 3], [Lanes::default(); 3]);
    for k in 0..3 {
        let twist = own.twist[k].max(rest.mu * LEAST_TWIST);
        let flip = (own.flip[k] + rest.mu * viscosity * 2.0).max(Lanes::default());
        same[k] = (flip + twist) * 0.5;
        mirrored[k] = (flip - twist) * 0.5;
    }
    let spring = rest.mu * rest.side * 0.5;
    PrincipalTerms { scaling, same, mirrored, spring, mean: spring * -0.25 }
}

/// Co-rotational elements (`elasticity`) in the same form.
#[inline(always)]
fn corotated(rest: &Eight, sigma: LaneVec3, rate: f64) -> PrincipalTerms {
    let stiffer = rest.damping * rate + 1.0;
    let twist = twists(rest, sigma, rate);
    let (mut same, mut mirrored) = ([Lanes::default(); 3], [Lanes::default(); 3]);
    for k in 0..3 {
        same[k] = twist[2 - k];
        mirrored[k] = -twist[2 - k];
    }
    let spring = rest.mu * stiffer * rest.side * 0.5;
    let scaling = [[rest.lambda * stiffer; 3]; 3];
    PrincipalTerms { scaling, same, mirrored, spring, mean: Lanes::default() }
}

/// For each element those of its law.
#[inline(always)]
fn chosen(rest: &Eight, hookean: PrincipalTerms, corotated: PrincipalTerms) -> PrincipalTerms {
    let choose = |a: Lanes, b: Lanes| rest.choose(a, b);
    let mut out = PrincipalTerms {
        spring: choose(hookean.spring, corotated.spring),
        mean: choose(hookean.mean, corotated.mean),
        ..hookean
    };
    for i in 0..3 {
        out.same[i] = choose(out.same[i], corotated.same[i]);
        out.mirrored[i] = choose(out.mirrored[i], corotated.mirrored[i]);
        for j in 0..3 {
            out.scaling[i][j] = choose(out.scaling[i][j], corotated.scaling[i][j]);
        }
    }
    out
}
