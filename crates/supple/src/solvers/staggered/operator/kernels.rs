//! Loops over runs of cells where all rows are those of an unbounded body (Zhu 2010, sections 4.2 and 9.4).
//!
//! The distributive sweep of one field is written as a sweep for the Laplacian (equation 7): residuals of the
//! field first, then the red-black relaxation from zero of that Laplacian, then the distribution of its result
//! (equation 6). Every point of a colour depends on residuals of the other colour only, so the relaxation of a plane reads
//! three planes of residuals, planes are independent, and their order does not affect the result.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use std::ops::{Add, Mul, Range, Sub};

use crate::solvers::staggered::lattice::{Lattice, PRESSURE};
use crate::solvers::staggered::operator::rows::Coefficients;

/// Cells processed at once.
const WIDTH: usize = 16;

/// Numbers of the kernels: single precision inside the cycle, double outside.
pub(crate) trait KernelReal:
    Copy + Default + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    fn of(value: f64) -> Self;
}

impl KernelReal for f32 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value as f32
    }
}

impl KernelReal for f64 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }
}

/// The parameters of a lattice's kernels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelGrid {
    pub(crate) len: usize,
    pub(crate) strides: [usize; 3],
    pub(crate) coefficients: Coefficients,
}

impl KernelGrid {
    pub(crate) fn new(lattice: &Lattice, coefficients: Coefficients) -> Self {
        Self { len: lattice.len(), strides: lattice.strides(), coefficients }
    }

    /// The sum of the coordinates of a cell, odd or even.
    #[inline(always)]
    fn parity(&self, cell: usize) -> usize {
        let [_, row, plane] = self.strides;
        (cell % row + cell % plane / row + cell / plane) % 2
    }

    /// The inverse diagonal of the distributed operator for a field, and the factor of its neighbours' residuals at a
    /// point of the second colour.
    pub(crate) fn relaxation(&self, field: usize) -> (f32, f32) {
        let Coefficients { spacing, compressibility, inertia } = self.coefficients;
        let laplacian = 1.0 / (spacing * spacing);
        let (diagonal, neighbour) = if field == PRESSURE {
            let scale = 1.0 + 2.0 * compressibility;
            (6.0 * scale * laplacian + compressibility * inertia, -scale * laplacian)
        } else {
            (-6.0 * laplacian - inertia, laplacian)
        };
        ((1.0 / diagonal) as f32, (-neighbour / diagonal) as f32)
    }
}

/// Alternating 0 and 1.
const BLACK: [f32; WIDTH + 1] = {
    let mut black = [0.0; WIDTH + 1];
    let mut i = 1;
    while i < WIDTH + 1 {
        black[i] = 1.0;
        i += 2;
    }
    black
};

#[inline(always)]
fn lanes<T>(of: &[T], at: usize) -> &[T; WIDTH] {
    of[at..at + WIDTH].try_into().expect("a slice of that length")
}

/// `out = b - L u` for a run of cells of a field; `b` and `out` start with the run.
#[inline(always)]
pub(crate) fn residual<I: Copy + Into<A>, A: KernelReal>(
    grid: &KernelGrid,
    field: usize,
    cells: Range<usize>,
    u: &[I],
    b: &[A],
    out: &mut [A],
) {
    if field == PRESSURE {
        pressure_residual(grid, cells, u, b, out);
    } else {
        displacement_residual(grid, field, cells, u, b, out);
    }
}

/// Starts of the chunks of a run: the last ones overlap, so that all are full.
#[inline(always)]
fn chunk_start(chunk: usize, n: usize) -> usize {
    (chunk * WIDTH).min(n - WIDTH)
}

#[inline(always)]
fn displacement_residual<I: Copy + Into<A>, A: KernelReal>(
    grid: &KernelGrid,
    i: usize,
    cells: Range<usize>,
    u: &[I],
    b: &[A],
    out: &mut [A],
) {
    let n = cells.len();
    let (j, k) = ((i + 1) % 3, (i + 2) % 3);
    let [si, sj, sk] = [grid.strides[i], grid.strides[j], grid.strides[k]];
    let (own, pj, pk, pp) = (
        i * grid.len + cells.start,
        j * grid.len + cells.start,
        k * grid.len + cells.start,
        PRESSURE * grid.len + cells.start,
    );
    let h = grid.coefficients.spacing;
    let (shear, gradient) = (A::of(1.0 / (h * h)), A::of(1.0 / h));
    let centre = A::of(8.0 / (h * h) + grid.coefficients.inertia);
    let slices = [
        own,
        own - si,
        own + si,
        own - sj,
        own + sj,
        own - sk,
        own + sk,
        pj + sj,
        pj + sj - si,
        pj,
        pj - si,
        pk + sk,
        pk + sk - si,
        pk,
        pk - si,
        pp,
        pp - si,
    ]
    .map(|start| &u[start..start + n]);
    let at = |v: [A; 17], b: A| -> A {
        let straight = (v[1] + v[2]) + (v[1] + v[2]) + ((v[3] + v[4]) + (v[5] + v[6]));
        let mixed = ((v[7] - v[8]) - (v[9] - v[10])) + ((v[11] - v[12]) - (v[13] - v[14]));
        b - (shear * (straight + mixed) - centre * v[0] - gradient * (v[15] - v[16]))
    };
    if n < WIDTH {
        for x in 0..n {
            let mut v = [A::default(); 17];
            for s in 0..17 {
                v[s] = slices[s][x].into();
            }
            out[x] = at(v, b[x]);
        }
        return;
    }
    for chunk in 0..n.div_ceil(WIDTH) {
        let start = chunk_start(chunk, n);
        let mut result = [A::default(); WIDTH];
        let right = lanes(b, start);
        let [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16] =
            slices.map(|s| lanes(s, start));
        for x in 0..WIDTH {
            let v = [
                c0[x].into(),
                c1[x].into(),
                c2[x].into(),
                c3[x].into(),
                c4[x].into(),
                c5[x].into(),
                c6[x].into(),
                c7[x].into(),
                c8[x].into(),
                c9[x].into(),
                c10[x].into(),
                c11[x].into(),
                c12[x].into(),
                c13[x].into(),
                c14[x].into(),
                c15[x].into(),
                c16[x].into(),
            ];
            result[x] = at(v, right[x]);
        }
        out[start..start + WIDTH].copy_from_slice(&result);
    }
}

#[inline(always)]
fn pressure_residual<I: Copy + Into<A>, A: KernelReal>(
    grid: &KernelGrid,
    cells: Range<usize>,
    u: &[I],
    b: &[A],
    out: &mut [A],
) {
    let n = cells.len();
    let at = |field: usize, step: usize| {
        let start = field * grid.len + cells.start + step;
        &u[start..start + n]
    };
    let [sx, sy, sz] = grid.strides;
    let slices = [at(0, sx), at(0, 0), at(1, sy), at(1, 0), at(2, sz), at(2, 0), at(PRESSURE, 0)];
    let gradient = A::of(1.0 / grid.coefficients.spacing);
    let compressibility = A::of(grid.coefficients.compressibility);
    let value = |v: [A; 7], b: A| -> A {
        let divergence = (v[0] - v[1]) + (v[2] - v[3]) + (v[4] - v[5]);
        b - (gradient * divergence + compressibility * v[6])
    };
    if n < WIDTH {
        for x in 0..n {
            let mut v = [A::default(); 7];
            for s in 0..7 {
                v[s] = slices[s][x].into();
            }
            out[x] = value(v, b[x]);
        }
        return;
    }
    for chunk in 0..n.div_ceil(WIDTH) {
        let start = chunk_start(chunk, n);
        let mut result = [A::default(); WIDTH];
        let right = lanes(b, start);
        let [c0, c1, c2, c3, c4, c5, c6] = slices.map(|s| lanes(s, start));
        for x in 0..WIDTH {
            let v = [
                c0[x].into(),
                c1[x].into(),
                c2[x].into(),
                c3[x].into(),
                c4[x].into(),
                c5[x].into(),
                c6[x].into(),
            ];
            result[x] = value(v, right[x]);
        }
        out[start..start + WIDTH].copy_from_slice(&result);
    }
}

/// The red-black relaxation of the distributed operator from zero for a run of cells, from residuals that are zero
/// where nothing is relaxed. `out` starts with the run.
#[inline(always)]
pub(crate) fn relax(
    grid: &KernelGrid,
    field: usize,
    cells: Range<usize>,
    residuals: &[f32],
    out: &mut [f32],
) {
    let n = cells.len();
    let (inverse, coupling) = grid.relaxation(field);
    let [sx, sy, sz] = grid.strides;
    let first = cells.start;
    let slices = [first, first - sx, first + sx, first - sy, first + sy, first - sz, first + sz]
        .map(|start| &residuals[start..start + n]);
    let parity = grid.parity(first);
    let value = |v: [f32; 7], black: f32| -> f32 {
        let around = (v[1] + v[2]) + (v[3] + v[4]) + (v[5] + v[6]);
        inverse * (v[0] + black * coupling * around)
    };
    if n < WIDTH {
        for x in 0..n {
            let mut v = [0.0; 7];
            for s in 0..7 {
                v[s] = slices[s][x];
            }
            out[x] = value(v, BLACK[(parity + x) % 2]);
        }
        return;
    }
    for chunk in 0..n.div_ceil(WIDTH) {
        let start = chunk_start(chunk, n);
        let black = lanes(&BLACK, (parity + start) % 2);
        let mut result = [0.0; WIDTH];
        let [c0, c1, c2, c3, c4, c5, c6] = slices.map(|s| lanes(s, start));
        for x in 0..WIDTH {
            result[x] = value([c0[x], c1[x], c2[x], c3[x], c4[x], c5[x], c6[x]], black[x]);
        }
        out[start..start + WIDTH].copy_from_slice(&result);
    }
}

/// `field += scale (upper - lower)`.
#[inline(always)]
pub(crate) fn add_difference(field: &mut [f32], upper: &[f32], lower: &[f32], scale: f32) {
    for ((value, upper), lower) in field.iter_mut().zip(upper).zip(lower) {
        *value += scale * (upper - lower);
    }
}

/// `field += other`.
#[inline(always)]
pub(crate) fn add(field: &mut [f32], other: &[f32]) {
    for (value, other) in field.iter_mut().zip(other) {
        *value += other;
    }
}

/// `p += -2 Laplacian(delta) + inertia delta`: the last row of the distribution. The planes below and above start with the
/// run; `plane` is that of the run, which starts at `at`.
#[inline(always)]
pub(crate) fn add_distributed_pressure(
    grid: &KernelGrid,
    pressure: &mut [f32],
    [below, above]: [&[f32]; 2],
    plane: &[f32],
    at: usize,
) {
    let n = pressure.len();
    let Coefficients { spacing, inertia, .. } = grid.coefficients;
    let side = (-2.0 / (spacing * spacing)) as f32;
    let centre = (12.0 / (spacing * spacing) + inertia) as f32;
    let row = grid.strides[1];
    let [middle, west, east, south, north] =
        [at, at - 1, at + 1, at - row, at + row].map(|start| &plane[start..start + n]);
    let (below, above) = (&below[..n], &above[..n]);
    for x in 0..n {
        let around = (west[x] + east[x]) + (south[x] + north[x]) + (below[x] + above[x]);
        pressure[x] += centre * middle[x] + side * around;
    }
}
