//! The stiffness of elements, matrix-free (Milne 2016, sections 4.2, 7 and 7.4).
//!
//! With the differences `dₖ` along the four edges of each axis `k`, their sums `D = Σ dₖ eₖᵀ = 4h δF`, and `B = Rᵀ D`, the
//! forces of an element of side `h` are those of springs along its edges and a part of the centre:
//!
//! ```text
//! along each edge:  κ dₖ + P eₖ,      P = R (λ' tr(B) I + E{L' (E : B)}),      κ = μh/2,   λ' = λh/16,   L' = L_aux h/16
//! ```
//!
//! where `(E : B)ᵢ = εᵢⱼₖ Bⱼₖ` and `E{v}ᵢⱼ = εᵢⱼₖ vₖ`. Slots mirror an element along the axes on whose high side it is in its
//! parent. With the mirror `S = diag(±1)` the same formulas hold for `R S` and `S L S` in place of `R` and `L`; these are what
//! is stored, so that no mirror is left in the kernels.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `crate::simd`")]

use std::ops::Range;
use std::sync::LazyLock;

use glam::{DMat3, DVec3};

use super::blocks::{BATCH, BlockWork, Blocks, CornerValues, Corners, Output, Scratch};
use super::shape_functions::gather_matrix;
use super::tree::Hanging;
use super::wide::{Real, Wide};
use crate::simd::{Kernel, Simd, dispatch};

/// The stiffness of sixteen elements. The numbers are single: they are rounded alike on both sides of the diagonal, so that the
/// operator stays symmetric whatever precision it is applied in.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(super) struct Batch {
    /// `κ`.
    pub(super) spring: [f32; BATCH],
    /// `λ'`.
    pub(super) lambda: [f32; BATCH],
    /// `R S` by rows.
    pub(super) rotation: [[f32; BATCH]; 9],
    /// `S L' S`: xx, yy, zz, yz, xz, xy.
    pub(super) twist: [[f32; BATCH]; 6],
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            spring: [0.0; BATCH],
            lambda: [0.0; BATCH],
            rotation: [[0.0; BATCH]; 9],
            twist: [[0.0; BATCH]; 6],
        }
    }
}

/// One element's stiffness in double precision.
#[derive(Debug, Clone, Copy)]
pub(super) struct ElementStiffness {
    spring: f64,
    lambda: f64,
    rotation: DMat3,
    twist: DMat3,
}

impl Batch {
    /// The stiffness of one of its elements.
    pub(super) fn element(&self, lane: usize) -> ElementStiffness {
        let r = |i: usize| f64::from(self.rotation[i][lane]);
        let t = |i: usize| f64::from(self.twist[i][lane]);
        ElementStiffness {
            spring: f64::from(self.spring[lane]),
            lambda: f64::from(self.lambda[lane]),
            rotation: DMat3::from_cols(
                DVec3::new(r(0), r(3), r(6)),
                DVec3::new(r(1), r(4), r(7)),
                DVec3::new(r(2), r(5), r(8)),
            ),
            twist: DMat3::from_cols(
                DVec3::new(t(0), t(5), t(4)),
                DVec3::new(t(5), t(1), t(3)),
                DVec3::new(t(4), t(3), t(2)),
            ),
        }
    }
}

impl ElementStiffness {
    /// Its forces on the corners when they move by `x`, in the order of slots.
    fn corner_forces(&self, x: &[DVec3; 8]) -> [DVec3; 8] {
        let mut sums = DMat3::ZERO;
        each_edge(|k, low, high| *sums.col_mut(k) += x[high] - x[low]);
        let b = self.rotation.transpose() * sums;
        let entry = |i: usize, j: usize| b.col(j)[i];
        let v = DVec3::new(entry(1, 2) - entry(2, 1), entry(2, 0) - entry(0, 2), entry(0, 1) - entry(1, 0));
        let u = self.twist * v;
        let trace = self.lambda * (entry(0, 0) + entry(1, 1) + entry(2, 2));
        let turned = DMat3::from_cols(
            DVec3::new(trace, -u.z, u.y),
            DVec3::new(u.z, trace, -u.x),
            DVec3::new(-u.y, u.x, trace),
        );
        let p = self.rotation * turned;
        let mut forces = [DVec3::ZERO; 8];
        each_edge(|k, low, high| {
            let force = self.spring * (x[high] - x[low]) + p.col(k);
            forces[high] += force;
            forces[low] -= force;
        });
        forces
    }

    /// Its matrix over conforming nodes: block `[a][b]` is the force on `a` for moves of `b`.
    pub(super) fn matrix(&self, hanging: Hanging) -> [[DMat3; 8]; 8] {
        let w = gather_matrix(hanging);
        let mut matrix = [[DMat3::ZERO; 8]; 8];
        for b in 0..8 {
            for c in 0..3 {
                let corners = std::array::from_fn(|slot| w[slot][b] * DVec3::AXES[c]);
                let forces = self.corner_forces(&corners);
                for a in 0..8 {
                    let force: DVec3 = (0..8).map(|slot| w[slot][a] * forces[slot]).sum();
                    *matrix[a][b].col_mut(c) = force;
                }
            }
        }
        matrix
    }
}

/// Calls `edge` with axis, low and high slot of the twelve edges.
fn each_edge(mut edge: impl FnMut(usize, usize, usize)) {
    for k in 0..3 {
        for low in (0..8).filter(|slot| slot >> k & 1 == 0) {
            edge(k, low, low | 1 << k);
        }
    }
}

/// The four low ends of the edges along each axis.
const LOW: [[usize; 4]; 3] = [[0, 2, 4, 6], [0, 1, 4, 5], [0, 1, 2, 3]];

/// The product with the stiffness.
pub(super) struct Product<'a> {
    corners: &'a [Corners],
    stiffness: &'a [Batch],
    simd: Simd,
}

struct ProductOfBlock<'a, T>(&'a [Corners], &'a [Batch], &'a mut Scratch<T>);

impl BlockWork<f32> for Product<'_> {
    fn run(&self, batches: Range<usize>, scratch: &mut Scratch<f32>) -> f64 {
        let block = ProductOfBlock(&self.corners[batches.clone()], &self.stiffness[batches], scratch);
        dispatch(self.simd, block);
        0.0
    }
}

impl BlockWork<f64> for Product<'_> {
    fn run(&self, batches: Range<usize>, scratch: &mut Scratch<f64>) -> f64 {
        let block = ProductOfBlock(&self.corners[batches.clone()], &self.stiffness[batches], scratch);
        dispatch(self.simd, block);
        0.0
    }
}

impl Kernel for ProductOfBlock<'_, f32> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for b in 0..self.0.len() {
            product::<f32, 16>(&self.0[b], &self.1[b], 0, self.2);
        }
    }
}

impl Kernel for ProductOfBlock<'_, f64> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for b in 0..self.0.len() {
            product::<f64, 8>(&self.0[b], &self.1[b], 0, self.2);
            product::<f64, 8>(&self.0[b], &self.1[b], 1, self.2);
        }
    }
}

#[inline(always)]
fn product<T: Real, const N: usize>(corners: &Corners, batch: &Batch, half: usize, scratch: &mut Scratch<T>) {
    let x: CornerValues<T, N> = corners.gather(&scratch.x, half);
    // Sums of differences: `sums[c][k]`.
    let mut sums = [[Wide::<T, N>::zero(); 3]; 3];
    for k in 0..3 {
        for low in LOW[k] {
            for c in 0..3 {
                sums[c][k] += x[low | 1 << k][c] - x[low][c];
            }
        }
    }
    let p = centre_part(batch, half, &sums);
    let spring = Wide::load(&batch.spring, half);
    let mut forces = [[Wide::<T, N>::zero(); 3]; 8];
    for k in 0..3 {
        for low in LOW[k] {
            let high = low | 1 << k;
            for c in 0..3 {
                let force = spring * (x[high][c] - x[low][c]) + p[c][k];
                forces[high][c] += force;
                forces[low][c] -= force;
            }
        }
    }
    corners.scatter(forces, half, &mut scratch.y);
}

/// `P = R (λ' tr(B) I + E{L' (E : B)})` with `B = Rᵀ D`.
#[inline(always)]
fn centre_part<T: Real, const N: usize>(
    batch: &Batch,
    half: usize,
    sums: &[[Wide<T, N>; 3]; 3],
) -> [[Wide<T, N>; 3]; 3] {
    let mut r = [[Wide::<T, N>::zero(); 3]; 3];
    let mut l = [Wide::<T, N>::zero(); 6];
    for i in 0..3 {
        for j in 0..3 {
            r[i][j] = Wide::load(&batch.rotation[3 * i + j], half);
        }
    }
    for i in 0..6 {
        l[i] = Wide::load(&batch.twist[i], half);
    }
    let mut b = [[Wide::<T, N>::zero(); 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            b[i][j] = r[0][i] * sums[0][j] + r[1][i] * sums[1][j] + r[2][i] * sums[2][j];
        }
    }
    let v = [b[1][2] - b[2][1], b[2][0] - b[0][2], b[0][1] - b[1][0]];
    let u = [
        l[0] * v[0] + l[5] * v[1] + l[4] * v[2],
        l[5] * v[0] + l[1] * v[1] + l[3] * v[2],
        l[4] * v[0] + l[3] * v[1] + l[2] * v[2],
    ];
    let trace = Wide::load(&batch.lambda, half) * (b[0][0] + b[1][1] + b[2][2]);
    let turned = [[trace, u[2], -u[1]], [-u[2], trace, u[0]], [u[1], -u[0], trace]];
    let mut p = [[Wide::<T, N>::zero(); 3]; 3];
    for c in 0..3 {
        for k in 0..3 {
            p[c][k] = r[c][0] * turned[0][k] + r[c][1] * turned[1][k] + r[c][2] * turned[2][k];
        }
    }
    p
}

/// What the diagonal needs of each conforming node, by hanging slots.
struct DiagonalTable {
    /// `Σ (W_{a₁b} - W_{a₀b})²` over the edges.
    springs: [[f32; 8]; 64],
    /// `4h` times the gradient of the modified shape function at the centre, in the order of slots.
    gradients: [[[f32; 8]; 3]; 64],
}

static DIAGONAL: LazyLock<DiagonalTable> = LazyLock::new(|| {
    let mut table = DiagonalTable { springs: [[0.0; 8]; 64], gradients: [[[0.0; 8]; 3]; 64] };
    for hanging in 0..64 {
        let w = gather_matrix(hanging as Hanging);
        for b in 0..8 {
            each_edge(|k, low, high| {
                let along = (w[high][b] - w[low][b]) as f32;
                table.springs[hanging][b] += along * along;
                table.gradients[hanging][k][b] += along;
            });
        }
    }
    table
});

/// The exact diagonal (Milne 2016, section 7.4).
struct Diagonal<'a> {
    corners: &'a [Corners],
    stiffness: &'a [Batch],
    simd: Simd,
}

struct DiagonalOfBlock<'a>(&'a [Corners], &'a [Batch], &'a DiagonalTable, &'a mut Scratch<f32>);

impl BlockWork<f32> for Diagonal<'_> {
    fn run(&self, batches: Range<usize>, scratch: &mut Scratch<f32>) -> f64 {
        let (corners, stiffness) = (&self.corners[batches.clone()], &self.stiffness[batches]);
        dispatch(self.simd, DiagonalOfBlock(corners, stiffness, &DIAGONAL, scratch));
        0.0
    }
}

impl Kernel for DiagonalOfBlock<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for b in 0..self.0.len() {
            diagonal(&self.0[b], &self.1[b], self.2, self.3);
        }
    }
}

#[inline(always)]
fn diagonal(corners: &Corners, batch: &Batch, table: &DiagonalTable, scratch: &mut Scratch<f32>) {
    let zero = Wide::<f32, BATCH>::zero();
    let mut values = [[zero; 3]; 8];
    let load = |stored: &[f32; BATCH]| Wide::<f32, BATCH>(*stored);
    let l = &batch.twist;
    for slot in 0..8 {
        let (mut springs, mut g) = (zero, [zero; 3]);
        for i in 0..BATCH {
            let hanging = usize::from(corners.hanging[i] & 63);
            springs.0[i] = table.springs[hanging][slot];
            for k in 0..3 {
                g[k].0[i] = table.gradients[hanging][k][slot];
            }
        }
        for c in 0..3 {
            let r = [
                load(&batch.rotation[3 * c]),
                load(&batch.rotation[3 * c + 1]),
                load(&batch.rotation[3 * c + 2]),
            ];
            let along = r[0] * g[0] + r[1] * g[1] + r[2] * g[2];
            let n = [g[1] * r[2] - g[2] * r[1], g[2] * r[0] - g[0] * r[2], g[0] * r[1] - g[1] * r[0]];
            let two = Wide::splat(2.0);
            let twisted = load(&l[0]) * n[0] * n[0]
                + load(&l[1]) * n[1] * n[1]
                + load(&l[2]) * n[2] * n[2]
                + two * (load(&l[3]) * n[1] * n[2] + load(&l[4]) * n[0] * n[2] + load(&l[5]) * n[0] * n[1]);
            values[slot][c] = load(&batch.spring) * springs + load(&batch.lambda) * along * along + twisted;
        }
    }
    corners.add(&values, 0, &mut scratch.y);
}

/// The stiffness of all elements of a level.
#[derive(Debug, Clone, Default)]
pub(super) struct Stiffness {
    pub(super) batches: Vec<Batch>,
    pub(super) simd: Simd,
}

impl Stiffness {
    /// No stiffness yet.
    pub(super) fn new(elements: usize, simd: Simd) -> Self {
        Self { batches: vec![Batch::default(); elements.div_ceil(BATCH)], simd }
    }

    /// `y = K x`, and then `finish`, which is told the first node of its part.
    pub(super) fn apply<T: Real>(
        &self,
        blocks: &Blocks,
        x: &[[T; 3]],
        output: Output<'_, T>,
        finish: impl Fn(usize, &mut [[T; 3]]) + Sync,
    ) where
        for<'a> Product<'a>: BlockWork<T>,
    {
        let work = Product { corners: blocks.corners(), stiffness: &self.batches, simd: self.simd };
        blocks.sum(x, output, &work, finish);
    }

    /// The diagonal of `K`. `any` is a vector over the nodes; it is not used.
    pub(super) fn diagonal(&self, blocks: &Blocks, any: &[[f32; 3]], output: Output<'_, f32>) {
        let work = Diagonal { corners: blocks.corners(), stiffness: &self.batches, simd: self.simd };
        blocks.sum(any, output, &work, |_, _| {});
    }

    /// The stiffness of one element.
    pub(super) fn element(&self, element: usize) -> ElementStiffness {
        self.batches[element / BATCH].element(element % BATCH)
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Batch>() * self.batches.len()
    }
}
