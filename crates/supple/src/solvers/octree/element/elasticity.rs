//! Co-rotational elasticity with a stabilised one-point quadrature (Milne 2016, section 4; McAdams et al. 2011).
//!
//! With the deformation gradient `F = R S` at the centre, the element's edges `d` along axis `k` and their rest `h R eₖ`, the
//! energy of an element of side `h` is
//!
//! ```text
//! E = μh/4 Σ |d - h R eₖ|² + h³ λ/2 tr²(S - I),
//! ```
//!
//! which is the paper's `Ψ_Δ` along the edges plus `Ψ_aux` at the centre, combined so that nothing cancels near rest. `R`
//! minimises the first part, so forces are `μh/2 (d - h R eₖ) + h²/4 λ tr(S - I) R eₖ` along each edge.
//!
//! Neo-Hookean elements have their law at the centre and springs along the edges that rest at `h F eₖ` (`principal`).
//!
//! Damping resists the change of the Green strain at the centre over a step, in proportion to the stiffness, as in tetrahedra
//! (`crate::energy`): with the strain `E₀` at the step's start and the damping time `β`
//!
//! ```text
//! D = h³ β/dt (μ |E - E₀|² + λ/2 tr²(E - E₀)),      P = F T,   T = β/dt (2μ (E - E₀) + λ tr(E - E₀) I).
//! ```
//!
//! In the stiffness it makes symmetric changes of `RᵀF` stiffer by `1 + β/dt`: `μ` and `λ` grow by that factor, and `L_aux` is
//! reduced by `μβ/dt`, so that rotations are not affected.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use std::ops::Range;

use supple_core::parallel::prelude::*;

use crate::material::law::{LaneLame, Law, NeoHookean};
use crate::solvers::octree::element::blocks::{
    BATCH, BLOCK, BlockWork, Blocks, CornerValues, Corners, Output, Scratch,
};
use crate::solvers::octree::element::stiffness::{Batches, CorotatedBatch, ElementBatch, PAIRS, Stiffness};
use crate::solvers::octree::element::wide::{Part, Real};
use supple_core::simd::{Kernel, LaneMat3, LaneVec3, Lanes, Simd, dispatch};
use supple_core::small_matrix::svd::{Svd, svd};

/// The projected twist stays above `-μ` by this fraction, so that rounding to single precision does not make an element indefinite.
const CLAMP: f64 = 1.0 - 1e-6;

/// Below this sum of two singular values an element has collapsed, and its rotation changes faster than any step can follow.
const COLLAPSED: f64 = 0.05;

/// Sixteen elements at rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rest {
    /// Lamé's `μ` in Pa.
    pub(crate) mu: [f32; BATCH],
    /// Lamé's `λ` in Pa.
    pub(crate) lambda: [f32; BATCH],
    /// Damping time `β` in s.
    pub(crate) damping: [f32; BATCH],
    /// The side in metres; 1 for padding.
    pub(crate) side: [f64; BATCH],
    /// The axes along which slots are mirrored, as bits.
    pub(crate) mirror: [u8; BATCH],
    /// Which elements are neo-Hookean; the others are co-rotational.
    pub(crate) neo_hookean: [bool; BATCH],
}

impl Default for Rest {
    fn default() -> Self {
        Self {
            mu: [0.0; BATCH],
            lambda: [0.0; BATCH],
            damping: [0.0; BATCH],
            side: [1.0; BATCH],
            mirror: [0; BATCH],
            neo_hookean: [false; BATCH],
        }
    }
}

/// Eight elements in double precision.
pub(crate) struct Eight {
    pub(crate) mu: Lanes,
    pub(crate) lambda: Lanes,
    pub(crate) damping: Lanes,
    pub(crate) side: Lanes,
    /// ±1 for each axis.
    pub(crate) mirror: [Lanes; 3],
    /// One for neo-Hookean elements, else zero.
    neo_hookean: Lanes,
    some_neo_hookean: bool,
    /// Whether all of them have this law.
    pub(crate) only_neo_hookean: bool,
}

impl Eight {
    /// The first for neo-Hookean elements, the second for others.
    #[inline(always)]
    pub(crate) fn choose(&self, hookean: Lanes, corotated: Lanes) -> Lanes {
        Lanes::default().less(self.neo_hookean, hookean, corotated)
    }
}

impl Rest {
    #[inline(always)]
    fn eight(&self, half: usize) -> Eight {
        let zero = Lanes::default();
        let mut eight = Eight {
            mu: zero,
            lambda: zero,
            damping: zero,
            side: zero,
            mirror: [zero; 3],
            neo_hookean: zero,
            some_neo_hookean: false,
            only_neo_hookean: true,
        };
        for i in 0..8 {
            let from = 8 * half + i;
            eight.mu.0[i] = f64::from(self.mu[from]);
            eight.lambda.0[i] = f64::from(self.lambda[from]);
            eight.damping.0[i] = f64::from(self.damping[from]);
            eight.side.0[i] = self.side[from];
            let hookean = self.neo_hookean[from];
            eight.neo_hookean.0[i] = if hookean { 1.0 } else { 0.0 };
            eight.some_neo_hookean |= hookean;
            eight.only_neo_hookean &= hookean;
            for k in 0..3 {
                eight.mirror[k].0[i] = if self.mirror[from] >> k & 1 == 1 { -1.0 } else { 1.0 };
            }
        }
        eight
    }
}

type Corners8 = CornerValues<Lanes>;

/// The four low ends of the edges along each axis.
const LOW: [[usize; 4]; 3] = [[0, 2, 4, 6], [0, 1, 4, 5], [0, 1, 2, 3]];

#[inline(always)]
fn edge(x: &Corners8, k: usize, low: usize) -> LaneVec3 {
    let high = low | 1 << k;
    LaneVec3([x[0][high] - x[0][low], x[1][high] - x[1][low], x[2][high] - x[2][low]])
}

/// The deformation gradient at the centre.
#[inline(always)]
fn deformation_gradient(x: &Corners8, rest: &Eight) -> LaneMat3 {
    let mut columns = [LaneVec3::default(); 3];
    for k in 0..3 {
        let mut sum = LaneVec3::default();
        for low in LOW[k] {
            sum += edge(x, k, low);
        }
        columns[k] = sum * (rest.mirror[k] / (rest.side * 4.0));
    }
    LaneMat3(columns)
}

/// The rotation with mirrored axes, and `tr(S - I)`.
#[inline(always)]
fn rotation_and_growth(f: LaneMat3, rest: &Eight) -> (LaneMat3, Lanes) {
    let Svd { u, sigma, v } = svd(f);
    let r = u * v.transpose();
    let growth = (sigma[0] - 1.0) + (sigma[1] - 1.0) + (sigma[2] - 1.0);
    let [a, b, c] = r.0;
    (LaneMat3([a * rest.mirror[0], b * rest.mirror[1], c * rest.mirror[2]]), growth)
}

/// Twice the Green strain plus the identity, `FᵀF`, of eight elements: xx, yy, zz, yz, xz, xy.
pub(crate) type Strain = [Lanes; 6];

#[inline(always)]
fn strain(f: &LaneMat3) -> Strain {
    let mut strain = [Lanes::default(); 6];
    for p in 0..6 {
        let (i, j) = PAIRS[p];
        strain[p] = f.0[i].dot(f.0[j]);
    }
    strain
}

/// The start of a damped step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Start {
    /// One over the step in 1/s; zero where nothing is damped.
    pub(crate) rate: f64,
    /// Strains of eight elements after the other.
    pub(crate) strains: Vec<Strain>,
}

/// Energy, and forces if requested.
struct Elastic<'a> {
    corners: &'a [Corners],
    rest: &'a [Rest],
    start: Option<&'a Start>,
    forces: bool,
    simd: Simd,
}

struct ElasticOfBlock<'a> {
    corners: &'a [Corners],
    rest: &'a [Rest],
    /// Strains at the start, two for a batch, and one over the step.
    start: Option<(&'a [Strain], f64)>,
    forces: bool,
    scratch: &'a mut Scratch<f64>,
}

impl BlockWork<f64> for Elastic<'_> {
    fn run(&self, batches: Range<usize>, scratch: &mut Scratch<f64>) -> f64 {
        let start = self.start.map(|start| (&start.strains[2 * batches.start..2 * batches.end], start.rate));
        let (corners, rest) = (&self.corners[batches.clone()], &self.rest[batches]);
        dispatch(self.simd, ElasticOfBlock { corners, rest, start, forces: self.forces, scratch })
    }
}

impl Kernel for ElasticOfBlock<'_> {
    type Output = f64;
    #[inline(always)]
    fn run(self) -> f64 {
        let mut energy = 0.0;
        for b in 0..self.corners.len() {
            for half in 0..2 {
                let start = self.start.map(|(strains, rate)| (&strains[2 * b + half], rate));
                let rest = self.rest[b].eight(half);
                energy += elastic(&self.corners[b], &rest, half, start, self.forces, self.scratch);
            }
        }
        energy
    }
}

#[inline(always)]
fn elastic(
    corners: &Corners,
    rest: &Eight,
    half: usize,
    start: Option<(&Strain, f64)>,
    with_forces: bool,
    scratch: &mut Scratch<f64>,
) -> f64 {
    let x: Corners8 = corners.gather(&scratch.x, Part::portable(half));
    let f = deformation_gradient(&x, rest);
    let centre = centre(f, rest);
    let (damped, stress) = match start {
        Some((start, rate)) => damping(&f, rest, start, rate),
        None => (Lanes::default(), LaneMat3::default()),
    };
    let mut squares = Lanes::default();
    let mut forces = [[Lanes::ZERO; 8]; 3];
    let spring = rest.mu * rest.side * 0.5;
    for k in 0..3 {
        let along = rest.side * rest.side * 0.25;
        let across = centre.stress.0[k] * along + stress.0[k] * (rest.mirror[k] * along);
        for low in LOW[k] {
            let strain = edge(&x, k, low) - centre.edges.0[k];
            squares += strain.dot(strain);
            let force = strain * spring + across;
            for c in 0..3 {
                forces[c][low | 1 << k] += force[c];
                forces[c][low] -= force[c];
            }
        }
    }
    if with_forces {
        corners.scatter(forces, Part::portable(half), &mut scratch.y);
    }
    let volume = rest.side * rest.side * rest.side;
    let energy = spring * squares * 0.5 + volume * (centre.density + damped);
    energy.sum_of_first(8)
}

/// The contribution of the elements' centres.
struct Centre {
    /// The rest vectors of the springs along the edges of each axis.
    edges: LaneMat3,
    /// Its stress, with mirrored axes.
    stress: LaneMat3,
    /// Its energy per volume.
    density: Lanes,
}

#[inline(always)]
fn centre(f: LaneMat3, rest: &Eight) -> Centre {
    if !rest.some_neo_hookean {
        return corotated_centre(f, rest);
    }
    let hookean = neo_hookean_centre(f, rest);
    if rest.only_neo_hookean {
        return hookean;
    }
    let corotated = corotated_centre(f, rest);
    let (mut edges, mut stress) = (LaneMat3::default(), LaneMat3::default());
    for k in 0..3 {
        for c in 0..3 {
            edges.0[k].0[c] = rest.choose(hookean.edges.0[k][c], corotated.edges.0[k][c]);
            stress.0[k].0[c] = rest.choose(hookean.stress.0[k][c], corotated.stress.0[k][c]);
        }
    }
    Centre { edges, stress, density: rest.choose(hookean.density, corotated.density) }
}

#[inline(always)]
fn corotated_centre(f: LaneMat3, rest: &Eight) -> Centre {
    let (r, growth) = rotation_and_growth(f, rest);
    let pressure = rest.lambda * growth;
    Centre { edges: r * rest.side, stress: r * pressure, density: pressure * growth * 0.5 }
}

#[inline(always)]
fn neo_hookean_centre(f: LaneMat3, rest: &Eight) -> Centre {
    let lame = LaneLame { lambda: rest.lambda, mu: rest.mu };
    let (mut edges, mut stress) = (f, NeoHookean.stress(f, &lame));
    for k in 0..3 {
        edges.0[k] = edges.0[k] * (rest.mirror[k] * rest.side);
        stress.0[k] = stress.0[k] * rest.mirror[k];
    }
    Centre { edges, stress, density: NeoHookean.energy(f, &lame) }
}

/// The damping potential per volume and its stress `F T`.
#[inline(always)]
fn damping(f: &LaneMat3, rest: &Eight, start: &Strain, rate: f64) -> (Lanes, LaneMat3) {
    let now = strain(f);
    let mut change = [Lanes::default(); 6];
    for p in 0..6 {
        change[p] = (now[p] - start[p]) * 0.5;
    }
    let viscosity = rest.damping * rate;
    let (mu, lambda) = (rest.mu * viscosity, rest.lambda * viscosity);
    let trace = change[0] + change[1] + change[2];
    let (mut squares, mut t) = (Lanes::default(), LaneMat3::default());
    for p in 0..6 {
        let (i, j) = PAIRS[p];
        let entry = mu * change[p] * 2.0;
        t.0[i].0[j] = entry;
        t.0[j].0[i] = entry;
        squares += change[p] * change[p] * if i == j { 1.0 } else { 2.0 };
    }
    for i in 0..3 {
        t.0[i].0[i] += lambda * trace;
    }
    (mu * squares + lambda * trace * trace * 0.5, *f * t)
}

/// Writes deformation gradients of a block in place of rotations.
struct GradientsOfBlock<'a, B>(&'a [Corners], &'a [Rest], &'a mut [B], &'a mut Scratch<f64>);

impl<B: ElementBatch> Kernel for GradientsOfBlock<'_, B> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for b in 0..self.0.len() {
            for half in 0..2 {
                let x: Corners8 = self.0[b].gather(&self.3.x, Part::portable(half));
                let f = deformation_gradient(&x, &self.1[b].eight(half));
                let to = self.2[b].gradient_mut();
                for i in 0..3 {
                    for j in 0..3 {
                        for lane in 0..8 {
                            to[3 * i + j][8 * half + lane] = f.0[j][i].0[lane] as f32;
                        }
                    }
                }
            }
        }
    }
}

/// Replaces deformation gradients by the stiffness there (Milne 2016, algorithm 1).
struct FromGradients<'a, B>(&'a [Rest], &'a mut [B], f64);

impl<B: ElementBatch> Kernel for FromGradients<'_, B> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for b in 0..self.0.len() {
            for half in 0..2 {
                self.1[b].linearise(&self.0[b].eight(half), half, self.2);
            }
        }
    }
}

/// `L_aux` in the axes of `V`, projected to definite, with the damping term.
#[inline(always)]
pub(crate) fn twists(rest: &Eight, sigma: LaneVec3, rate: f64) -> LaneVec3 {
    let trace = sigma[0] + sigma[1] + sigma[2];
    let pull = rest.lambda * (trace - 3.0) - rest.mu * 2.0;
    let least = -(rest.mu * CLAMP);
    let viscosity = rest.damping * rate;
    let mut twist = LaneVec3::default();
    for k in 0..3 {
        let free = pull / (trace - sigma[k]).max(Lanes::splat(COLLAPSED));
        twist.0[k] = least.less(free, free, least) + least * viscosity;
    }
    twist
}

/// The stiffness of co-rotational elements at their deformation gradients.
#[inline(always)]
pub(crate) fn linearise_corotated(rest: &Eight, half: usize, rate: f64, batch: &mut CorotatedBatch) {
    let Svd { u, sigma, v } = svd(batch.gradient_of(half));
    let r = u * v.transpose();
    let l = v * LaneMat3::from_diagonal(twists(rest, sigma, rate)) * v.transpose();
    let stiffer = rest.damping * rate + 1.0;
    let scale = rest.side * (1.0 / 16.0);
    let (spring, lambda) = (rest.mu * stiffer * rest.side * 0.5, rest.lambda * stiffer * scale);
    for lane in 0..8 {
        let to = 8 * half + lane;
        batch.spring[to] = spring.0[lane] as f32;
        batch.lambda[to] = lambda.0[lane] as f32;
        for i in 0..3 {
            for j in 0..3 {
                batch.rotation[3 * i + j][to] = (r.0[j][i].0[lane] * rest.mirror[j].0[lane]) as f32;
            }
        }
        for p in 0..6 {
            let (i, j) = PAIRS[p];
            let mirrored = l.0[j][i].0[lane] * rest.mirror[i].0[lane] * rest.mirror[j].0[lane];
            batch.twist[p][to] = (mirrored * scale.0[lane]) as f32;
        }
    }
}

/// Batches per task.
const BATCHES: usize = BLOCK / BATCH;

/// The elasticity of a level.
pub(crate) struct OctantElasticity<'a> {
    pub(crate) blocks: &'a Blocks,
    pub(crate) rest: &'a [Rest],
    /// The start of a damped step.
    pub(crate) start: Option<&'a Start>,
    pub(crate) simd: Simd,
}

impl OctantElasticity<'_> {
    /// The energy in joules.
    pub(crate) fn energy(&self, x: &[[f64; 3]]) -> f64 {
        self.blocks.fold(x, &self.work(false))
    }

    /// The energy, and its gradient, which is minus the forces, in `output`.
    pub(crate) fn gradient(&self, x: &[[f64; 3]], output: Output<'_, f64>) -> f64 {
        self.blocks.sum(x, output, &self.work(true), |_, _| {})
    }

    fn work(&self, forces: bool) -> Elastic<'_> {
        let start = self.start.filter(|start| start.rate > 0.0);
        Elastic { corners: self.blocks.corners(), rest: self.rest, start, forces, simd: self.simd }
    }

    /// Writes the deformation gradients at `x` in place of the rotations of a stiffness.
    pub(crate) fn deformation_gradients(&self, x: &[[f64; 3]], stiffness: &mut Stiffness) {
        match &mut stiffness.batches {
            Batches::Corotated(batches) => self.gradients(x, batches),
            Batches::Principal(batches) => self.gradients(x, batches),
        }
    }

    fn gradients<B: ElementBatch>(&self, x: &[[f64; 3]], batches: &mut [B]) {
        let corners = self.blocks.corners();
        batches.par_chunks_mut(BATCHES).enumerate().for_each(|(block, batches)| {
            let range = block * BATCHES..block * BATCHES + batches.len();
            f64::with_scratch(|scratch| {
                self.blocks.fetch(block, x, scratch);
                let kernel = GradientsOfBlock(&corners[range.clone()], &self.rest[range], batches, scratch);
                dispatch(self.simd, kernel);
            });
        });
    }
}

/// Sets the strains at `x` as those at the start of a step.
pub(crate) fn start_strains(blocks: &Blocks, rest: &[Rest], x: &[[f64; 3]], strains: &mut Vec<Strain>) {
    strains.resize(2 * rest.len(), [Lanes::default(); 6]);
    let corners = blocks.corners();
    strains.par_chunks_mut(2 * BATCHES).enumerate().for_each(|(block, strains)| {
        let first = block * BATCHES;
        f64::with_scratch(|scratch| {
            blocks.fetch(block, x, scratch);
            for (at, to) in strains.iter_mut().enumerate() {
                let (batch, half) = (first + at / 2, at % 2);
                let x: Corners8 = corners[batch].gather(&scratch.x, Part::portable(half));
                *to = strain(&deformation_gradient(&x, &rest[batch].eight(half)));
            }
        });
    });
}

/// Replaces deformation gradients, stored in place of rotations, by the stiffness there; `rate` is one over the step of
/// damping.
pub(crate) fn stiffness_from_gradients(rest: &[Rest], rate: f64, stiffness: &mut Stiffness) {
    let simd = stiffness.simd;
    match &mut stiffness.batches {
        Batches::Corotated(batches) => from_gradients(rest, rate, batches, simd),
        Batches::Principal(batches) => from_gradients(rest, rate, batches, simd),
    }
}

fn from_gradients<B: ElementBatch>(rest: &[Rest], rate: f64, batches: &mut [B], simd: Simd) {
    let parts = batches.par_chunks_mut(BATCHES).zip(rest.par_chunks(BATCHES));
    parts.for_each(|(batches, rest)| dispatch(simd, FromGradients(rest, batches, rate)));
}
