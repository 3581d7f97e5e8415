//! The stiffness of elements, matrix-free (Milne 2016, sections 4.2, 7 and 7.4).
//!
//! With the differences `dₖ` along the four edges of each axis `k`, their sums `D = Σ dₖ eₖᵀ = 4h δF`, and `B = Rᵀ D`, the
//! forces of an element of side `h` are those of springs along its edges and a term of the centre:
//!
//! ```text
//! along each edge:  κ dₖ + P eₖ,      P = R (λ' tr(B) I + E{L' (E : B)}),      κ = μh/2,   λ' = λh/16,   L' = L_aux h/16
//! ```
//!
//! where `(E : B)ᵢ = εᵢⱼₖ Bⱼₖ` and `E{v}ᵢⱼ = εᵢⱼₖ vₖ`. Slots mirror an element along the axes on whose high side it is in its
//! parent. With the mirror `S = diag(±1)` the same formulas are valid for `R S` and `S L S` in place of `R` and `L`; these are
//! stored, so that no mirror is left in the kernels.
//!
//! Elements of other laws have a larger form of the centre's term (`principal`).

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use std::ops::Range;
use std::sync::LazyLock;

use glam::{DMat3, DVec3};

use crate::solvers::octree::element::blocks::{
    BATCH, BlockWork, Blocks, CornerValues, Corners, Output, Scratch,
};
use crate::solvers::octree::element::elasticity::{Eight, linearise_corotated};
use crate::solvers::octree::element::principal::PrincipalBatch;
use crate::solvers::octree::element::wide::{
    Part, Real, Vector, WideMat3, load_matrix, matrix_product, transposed,
};
use crate::solvers::octree::forest::OctantLaw;
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
use supple_core::simd::Avx512;
use supple_core::simd::{F32x16, F64x1, Kernel, LaneMat3, Simd, dispatch};
use supple_mesh::octree::Hanging;
use supple_mesh::octree::gather_matrix;

/// The stiffness of sixteen elements in one of its forms. The numbers are single precision: they are rounded alike on both sides of the
/// diagonal, so that the operator stays symmetric whatever precision it is applied in.
pub(crate) trait ElementBatch: Copy + Default + Send + Sync + 'static {
    /// Of the springs along edges.
    fn spring(&self) -> &[f32; BATCH];

    /// The centre's contribution to the force along the edges of each axis: `[component][axis]` for the sums of differences.
    fn centre<V: Vector>(&self, part: Part<V>, sums: &WideMat3<V>) -> WideMat3<V>;

    /// The centre's term of the diagonal for component `c` of a node whose shape function has the gradient `g` over `4h`.
    fn centre_diagonal(&self, c: usize, g: &[F32x16; 3]) -> F32x16;

    /// Space for deformation gradients by rows, stored there until the stiffness is computed.
    fn gradient(&self) -> &[[f32; BATCH]; 9];

    /// The same, mutable.
    fn gradient_mut(&mut self) -> &mut [[f32; BATCH]; 9];

    /// Eight of the deformation gradients.
    #[inline(always)]
    fn gradient_of(&self, half: usize) -> LaneMat3 {
        let (mut f, stored) = (LaneMat3::default(), self.gradient());
        for i in 0..3 {
            for j in 0..3 {
                for lane in 0..8 {
                    f.0[j].0[i].0[lane] = f64::from(stored[3 * i + j][8 * half + lane]);
                }
            }
        }
        f
    }

    /// Computes the stiffness of eight elements at their deformation gradients; `rate` is one over the step of damping.
    fn linearise(&mut self, rest: &Eight, half: usize, rate: f64);
}

/// The stiffness of sixteen co-rotational elements.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(crate) struct CorotatedBatch {
    /// `κ`.
    pub(crate) spring: [f32; BATCH],
    /// `λ'`.
    pub(crate) lambda: [f32; BATCH],
    /// `R S` by rows.
    pub(crate) rotation: [[f32; BATCH]; 9],
    /// `S L' S`: xx, yy, zz, yz, xz, xy.
    pub(crate) twist: [[f32; BATCH]; 6],
}

/// The entries of a symmetric matrix in their order.
pub(crate) const PAIRS: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)];

impl Default for CorotatedBatch {
    fn default() -> Self {
        Self {
            spring: [0.0; BATCH],
            lambda: [0.0; BATCH],
            rotation: [[0.0; BATCH]; 9],
            twist: [[0.0; BATCH]; 6],
        }
    }
}

/// The forces of one element on its corners for their displacements `x`, in the order of slots.
fn corner_forces<B: ElementBatch>(batch: &B, lane: usize, x: &[DVec3; 8]) -> [DVec3; 8] {
    let mut sums = [[F64x1::ZERO; 3]; 3];
    each_edge(|k, low, high| {
        for c in 0..3 {
            sums[c][k] += F64x1([x[high][c] - x[low][c]]);
        }
    });
    let p = batch.centre(Part::<F64x1>::portable(lane), &sums);
    let spring = f64::from(batch.spring()[lane]);
    let mut forces = [DVec3::ZERO; 8];
    each_edge(|k, low, high| {
        let centre = DVec3::new(p[0][k].0[0], p[1][k].0[0], p[2][k].0[0]);
        let force = spring * (x[high] - x[low]) + centre;
        forces[high] += force;
        forces[low] -= force;
    });
    forces
}

/// The matrix of one element over conforming nodes: block `[a][b]` is the force on `a` for moves of `b`.
fn element_matrix<B: ElementBatch>(batch: &B, lane: usize, hanging: Hanging) -> [[DMat3; 8]; 8] {
    let w = gather_matrix(hanging);
    let mut matrix = [[DMat3::ZERO; 8]; 8];
    for b in 0..8 {
        for c in 0..3 {
            let corners = std::array::from_fn(|slot| w[slot][b] * DVec3::AXES[c]);
            let forces = corner_forces(batch, lane, &corners);
            for a in 0..8 {
                let force: DVec3 = (0..8).map(|slot| w[slot][a] * forces[slot]).sum();
                *matrix[a][b].col_mut(c) = force;
            }
        }
    }
    matrix
}

/// Calls `edge` with axis, low and high slot of the twelve edges.
fn each_edge(mut edge: impl FnMut(usize, usize, usize)) {
    for k in 0..3 {
        for low in (0..8).filter(|slot| slot >> k & 1 == 0) {
            edge(k, low, low | 1 << k);
        }
    }
}

/// The product with the stiffness.
pub(crate) struct Product<'a, B> {
    corners: &'a [Corners],
    stiffness: &'a [B],
    simd: Simd,
}

pub(crate) struct ProductOfBlock<'a, B, V: Vector>(
    pub(crate) &'a [Corners],
    pub(crate) &'a [B],
    pub(crate) &'a mut Scratch<V::Number>,
    pub(crate) V::Proof,
);

impl<B: ElementBatch, T: Real> BlockWork<T> for Product<'_, B> {
    fn run(&self, batches: Range<usize>, scratch: &mut Scratch<T>) -> f64 {
        let (corners, stiffness) = (&self.corners[batches.clone()], &self.stiffness[batches]);
        #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
        if let Some(avx512) = Avx512::detect(self.simd) {
            avx512.run(ProductOfBlock::<B, T::Avx512>(corners, stiffness, scratch, avx512));
            return 0.0;
        }
        dispatch(self.simd, ProductOfBlock::<B, T::Portable>(corners, stiffness, scratch, ()));
        0.0
    }
}

impl<B: ElementBatch, V: Vector> Kernel for ProductOfBlock<'_, B, V> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for b in 0..self.0.len() {
            for part in 0..BATCH / V::LANES {
                product(&self.0[b], &self.1[b], Part::<V>::new(part, self.3), self.2);
            }
        }
    }
}

#[inline(always)]
fn product<B: ElementBatch, V: Vector>(
    corners: &Corners,
    batch: &B,
    part: Part<V>,
    scratch: &mut Scratch<V::Number>,
) {
    let x: CornerValues<V> = corners.gather(&scratch.x, part);
    let edges = [differences(&x[0]), differences(&x[1]), differences(&x[2])];
    let p = batch.centre(part, &[sums(&edges[0]), sums(&edges[1]), sums(&edges[2])]);
    let spring = V::load(batch.spring(), part);
    let forces = [
        edge_forces(&edges[0], spring, p[0]),
        edge_forces(&edges[1], spring, p[1]),
        edge_forces(&edges[2], spring, p[2]),
    ];
    corners.scatter(forces, part, &mut scratch.y);
}

/// One component of the differences along the four edges of each axis, by their low ends.
type Edges<V> = [[V; 4]; 3];

#[inline(always)]
fn differences<V: Vector>(x: &[V; 8]) -> Edges<V> {
    [
        [x[1] - x[0], x[3] - x[2], x[5] - x[4], x[7] - x[6]],
        [x[2] - x[0], x[3] - x[1], x[6] - x[4], x[7] - x[5]],
        [x[4] - x[0], x[5] - x[1], x[6] - x[2], x[7] - x[3]],
    ]
}

/// The sums over the edges of each axis.
#[inline(always)]
fn sums<V: Vector>([i, j, k]: &Edges<V>) -> [V; 3] {
    [i[0] + i[1] + (i[2] + i[3]), j[0] + j[1] + (j[2] + j[3]), k[0] + k[1] + (k[2] + k[3])]
}

/// One component of the forces on the slots: springs along the edges, and the same force of the centre along all edges of an
/// axis.
#[inline(always)]
fn edge_forces<V: Vector>([i, j, k]: &Edges<V>, spring: V, [a, b, c]: [V; 3]) -> [V; 8] {
    let (both, apart) = (a + b, a - b);
    let centre = [both + c, apart - c, both - c, apart + c];
    [
        -(spring * (i[0] + j[0] + k[0]) + centre[0]),
        spring * (i[0] - j[1] - k[1]) + centre[1],
        spring * (j[0] - i[1] - k[2]) - centre[3],
        spring * (i[1] + j[1] - k[3]) + centre[2],
        spring * (k[0] - i[2] - j[2]) - centre[2],
        spring * (i[2] - j[3] + k[1]) + centre[3],
        spring * (j[2] - i[3] + k[2]) - centre[1],
        spring * (i[3] + j[3] + k[3]) + centre[0],
    ]
}

impl ElementBatch for CorotatedBatch {
    #[inline(always)]
    fn spring(&self) -> &[f32; BATCH] {
        &self.spring
    }

    /// `P = R (λ' tr(B) I + E{L' (E : B)})` with `B = Rᵀ D`.
    #[inline(always)]
    fn centre<V: Vector>(&self, part: Part<V>, sums: &WideMat3<V>) -> WideMat3<V> {
        let r = load_matrix(&self.rotation, part);
        let [xx, yy, zz, yz, xz, xy] = &self.twist;
        let l = [
            V::load(xx, part),
            V::load(yy, part),
            V::load(zz, part),
            V::load(yz, part),
            V::load(xz, part),
            V::load(xy, part),
        ];
        let b = matrix_product(&transposed(&r), sums);
        let v = [b[1][2] - b[2][1], b[2][0] - b[0][2], b[0][1] - b[1][0]];
        let u = [
            l[0] * v[0] + l[5] * v[1] + l[4] * v[2],
            l[5] * v[0] + l[1] * v[1] + l[3] * v[2],
            l[4] * v[0] + l[3] * v[1] + l[2] * v[2],
        ];
        let trace = V::load(&self.lambda, part) * (b[0][0] + b[1][1] + b[2][2]);
        let turned = [[trace, u[2], -u[1]], [-u[2], trace, u[0]], [u[1], -u[0], trace]];
        matrix_product(&r, &turned)
    }

    #[inline(always)]
    fn centre_diagonal(&self, c: usize, g: &[F32x16; 3]) -> F32x16 {
        let load = |stored: &[f32; BATCH]| F32x16(*stored);
        let (l, r) = (&self.twist, [0, 1, 2].map(|k| load(&self.rotation[3 * c + k])));
        let along = r[0] * g[0] + r[1] * g[1] + r[2] * g[2];
        let n = [g[1] * r[2] - g[2] * r[1], g[2] * r[0] - g[0] * r[2], g[0] * r[1] - g[1] * r[0]];
        let two = F32x16::splat(2.0);
        let twisted = load(&l[0]) * n[0] * n[0]
            + load(&l[1]) * n[1] * n[1]
            + load(&l[2]) * n[2] * n[2]
            + two * (load(&l[3]) * n[1] * n[2] + load(&l[4]) * n[0] * n[2] + load(&l[5]) * n[0] * n[1]);
        load(&self.lambda) * along * along + twisted
    }

    #[inline(always)]
    fn gradient(&self) -> &[[f32; BATCH]; 9] {
        &self.rotation
    }

    #[inline(always)]
    fn gradient_mut(&mut self) -> &mut [[f32; BATCH]; 9] {
        &mut self.rotation
    }

    #[inline(always)]
    fn linearise(&mut self, rest: &Eight, half: usize, rate: f64) {
        linearise_corotated(rest, half, rate, self);
    }
}

/// Data of each conforming node for the diagonal, by hanging slots.
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
struct Diagonal<'a, B> {
    corners: &'a [Corners],
    stiffness: &'a [B],
    simd: Simd,
}

struct DiagonalOfBlock<'a, B>(&'a [Corners], &'a [B], &'a DiagonalTable, &'a mut Scratch<f32>);

impl<B: ElementBatch> BlockWork<f32> for Diagonal<'_, B> {
    fn run(&self, batches: Range<usize>, scratch: &mut Scratch<f32>) -> f64 {
        let (corners, stiffness) = (&self.corners[batches.clone()], &self.stiffness[batches]);
        dispatch(self.simd, DiagonalOfBlock(corners, stiffness, &DIAGONAL, scratch));
        0.0
    }
}

impl<B: ElementBatch> Kernel for DiagonalOfBlock<'_, B> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for b in 0..self.0.len() {
            diagonal(&self.0[b], &self.1[b], self.2, self.3);
        }
    }
}

#[inline(always)]
fn diagonal<B: ElementBatch>(
    corners: &Corners,
    batch: &B,
    table: &DiagonalTable,
    scratch: &mut Scratch<f32>,
) {
    let zero = F32x16::ZERO;
    let mut values = [[zero; 8]; 3];
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
            values[c][slot] = F32x16(*batch.spring()) * springs + batch.centre_diagonal(c, &g);
        }
    }
    corners.add(&values, Part::portable(0), &mut scratch.y);
}

/// The stiffness of all elements of a level: the smaller form if every element is co-rotational.
#[derive(Debug, Clone)]
pub(crate) enum Batches {
    /// Co-rotational elements.
    Corotated(Vec<CorotatedBatch>),
    /// Elements of any law.
    Principal(Vec<PrincipalBatch>),
}

/// The stiffness of all elements of a level.
#[derive(Debug, Clone)]
pub(crate) struct Stiffness {
    pub(crate) batches: Batches,
    pub(crate) simd: Simd,
}

impl Default for Stiffness {
    fn default() -> Self {
        Self { batches: Batches::Corotated(Vec::new()), simd: Simd::default() }
    }
}

impl Stiffness {
    /// No stiffness yet.
    pub(crate) fn new(elements: usize, law: OctantLaw, simd: Simd) -> Self {
        let count = elements.div_ceil(BATCH);
        let batches = match law {
            OctantLaw::Corotated => Batches::Corotated(vec![CorotatedBatch::default(); count]),
            OctantLaw::NeoHookean => Batches::Principal(vec![PrincipalBatch::default(); count]),
        };
        Self { batches, simd }
    }

    /// `y = K x`, and then `finish`, which gets the first node of its part.
    pub(crate) fn apply<T: Real>(
        &self,
        blocks: &Blocks,
        x: &[[T; 3]],
        output: Output<'_, T>,
        finish: impl Fn(usize, &mut [[T; 3]]) + Sync,
    ) {
        let (corners, simd) = (blocks.corners(), self.simd);
        match &self.batches {
            Batches::Corotated(stiffness) => {
                blocks.sum(x, output, &Product { corners, stiffness, simd }, finish)
            }
            Batches::Principal(stiffness) => {
                blocks.sum(x, output, &Product { corners, stiffness, simd }, finish)
            }
        };
    }

    /// The diagonal of `K`. `any` is a vector over the nodes; it is not used.
    pub(crate) fn diagonal(&self, blocks: &Blocks, any: &[[f32; 3]], output: Output<'_, f32>) {
        let (corners, simd) = (blocks.corners(), self.simd);
        match &self.batches {
            Batches::Corotated(stiffness) => {
                blocks.sum(any, output, &Diagonal { corners, stiffness, simd }, |_, _| {})
            }
            Batches::Principal(stiffness) => {
                blocks.sum(any, output, &Diagonal { corners, stiffness, simd }, |_, _| {})
            }
        };
    }

    /// The matrix of one element over conforming nodes: block `[a][b]` is the force on `a` for displacements of `b`.
    pub(crate) fn element_matrix(&self, element: usize, hanging: Hanging) -> [[DMat3; 8]; 8] {
        let (batch, lane) = (element / BATCH, element % BATCH);
        match &self.batches {
            Batches::Corotated(batches) => element_matrix(&batches[batch], lane, hanging),
            Batches::Principal(batches) => element_matrix(&batches[batch], lane, hanging),
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match &self.batches {
            Batches::Corotated(batches) => size_of_val(&batches[..]),
            Batches::Principal(batches) => size_of_val(&batches[..]),
        }
    }
}
