//! Register-blocked dense kernels for the elimination of a front: products of packed panels, and the Cholesky
//! factorisation and the triangular solve built on them (the layering of Goto and van de Geijn, "Anatomy of
//! high-performance matrix multiplication", 2008).
//!
//! Operands are *packed*: `W` rows at a time form a panel, stored column by column, so that a kernel reads memory in
//! order and whole vectors at a time. The last panel is padded with zeros. All products of a factorisation are of the
//! form `A Bᵀ` with rows of the same columns, so one packed copy serves as either operand.
//!
//! Every number is the same sum in the same order independent of the division of the matrix into blocks.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use super::vector::KernelVector;
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
use supple_core::simd::Simd;
#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
use supple_core::simd::{Avx2, Avx2F64x4, Avx512, Avx512F64x8};
use supple_core::simd::{F64x4, Kernel};

/// Columns of a product per round of its loop.
const UNROLLED: usize = 4;

/// A number of rows divisible by the largest tile with every instruction set.
pub(super) const TILE_ROWS: usize = 24;

/// Columns are padded to a multiple of this: the rows of a panel with any instruction set divide it.
pub(super) const COLUMN_PADDING: usize = 8;

/// The instructions that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isa {
    /// Eight numbers per vector.
    #[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
    Avx512(Avx512),
    /// Four numbers per vector.
    #[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
    Avx2(Avx2),
    /// The baseline of the architecture.
    Plain,
}

/// A kernel for vectors `V` and panels of `W` rows.
pub(super) trait PanelKernel {
    /// Its result.
    type Output;
    /// Does the work; must be `#[inline(always)]`.
    fn run<V: KernelVector<W>, const W: usize>(self, proof: V::Proof) -> Self::Output;
}

/// A kernel for one instruction set.
struct KernelInstance<K, V: KernelVector<W>, const W: usize>(K, V::Proof);

impl<K: PanelKernel, V: KernelVector<W>, const W: usize> Kernel for KernelInstance<K, V, W> {
    type Output = K::Output;
    #[inline(always)]
    fn run(self) -> K::Output {
        self.0.run::<V, W>(self.1)
    }
}

impl Isa {
    /// The best of this machine. Builds with debug assertions only have the plain kernels.
    pub(super) fn detect() -> Self {
        #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
        {
            if let Some(avx512) = Avx512::detect(Simd::Auto) {
                return Self::Avx512(avx512);
            }
            if let Some(avx2) = Avx2::detect(Simd::Auto) {
                return Self::Avx2(avx2);
            }
        }
        Self::Plain
    }

    /// Rows of a panel.
    pub(super) fn panel_rows(self) -> usize {
        match self {
            #[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
            Self::Avx512(_) => 8,
            #[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
            Self::Avx2(_) => 4,
            Self::Plain => 4,
        }
    }

    /// Runs a kernel compiled for these instructions.
    pub(super) fn run<K: PanelKernel>(self, kernel: K) -> K::Output {
        match self {
            #[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
            Self::Avx512(avx512) => avx512.run(KernelInstance::<K, Avx512F64x8, 8>(kernel, avx512)),
            #[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
            Self::Avx2(avx2) => avx2.run(KernelInstance::<K, Avx2F64x4, 4>(kernel, avx2)),
            Self::Plain => KernelInstance::<K, F64x4, 4>(kernel, ()).run(),
        }
    }
}

/// Consecutive rows of a column-major matrix.
#[derive(Clone, Copy)]
pub(super) struct MatrixRows {
    /// Stride from one column to the next.
    pub(super) stride: usize,
    /// The first row.
    pub(super) first: usize,
    /// Number of rows.
    pub(super) count: usize,
}

impl MatrixRows {
    /// The rows of one panel.
    #[inline(always)]
    fn of_panel<const W: usize>(self, index: usize) -> Self {
        Self { first: self.first + index * W, count: W.min(self.count - index * W), ..self }
    }
}

/// Packed rows.
#[derive(Clone, Copy)]
pub(super) struct Packed<'a> {
    /// The panels, in sequence.
    pub(super) panels: &'a [f64],
    /// Columns of a panel, with padding.
    pub(super) columns: usize,
    /// Rows, without padding.
    pub(super) rows: usize,
}

impl<'a> Packed<'a> {
    #[inline(always)]
    fn panel<const W: usize>(&self, index: usize) -> &'a [[f64; W]] {
        let panels = self.panels.as_chunks::<W>().0;
        &panels[index * self.columns..(index + 1) * self.columns]
    }
}

/// Rows `T W` by columns `W` of a product: `tile[column][panel]`.
type ProductTile<V, const W: usize, const T: usize> = [[V; T]; W];

/// The product `A Bᵀ` of `T` panels and one, over their first `depth` columns.
#[inline(always)]
fn product<V: KernelVector<W>, const W: usize, const T: usize>(
    proof: V::Proof,
    mut a: [&[[f64; W]]; T],
    b: &[[f64; W]],
    depth: usize,
) -> ProductTile<V, W, T> {
    for t in 0..T {
        a[t] = &a[t][..depth];
    }
    let b = &b[..depth];
    let mut sums = [[V::splat(proof, 0.0); T]; W];
    let mut k = 0;
    while k + UNROLLED <= depth {
        for step in 0..UNROLLED {
            add_outer::<V, W, T>(proof, &mut sums, a, b, k + step);
        }
        k += UNROLLED;
    }
    while k < depth {
        add_outer::<V, W, T>(proof, &mut sums, a, b, k);
        k += 1;
    }
    sums
}

/// Adds the product of column `k` of both.
#[inline(always)]
fn add_outer<V: KernelVector<W>, const W: usize, const T: usize>(
    proof: V::Proof,
    sums: &mut ProductTile<V, W, T>,
    a: [&[[f64; W]]; T],
    b: &[[f64; W]],
    k: usize,
) {
    let mut column = [V::splat(proof, 0.0); T];
    for t in 0..T {
        column[t] = V::load(proof, &a[t][k]);
    }
    for j in 0..W {
        let factor = V::splat(proof, b[k][j]);
        for t in 0..T {
            sums[j][t] = sums[j][t].add_product(column[t], factor);
        }
    }
}

/// Copies the rows of one panel; its padding becomes zero.
#[inline(always)]
fn pack<V: KernelVector<W>, const W: usize>(
    proof: V::Proof,
    source: &[f64],
    rows: MatrixRows,
    columns: usize,
    panel: &mut [[f64; W]],
) {
    let (own, padding) = panel.split_at_mut(columns);
    for (k, to) in own.iter_mut().enumerate() {
        let from = &source[k * rows.stride + rows.first..][..rows.count];
        V::load_first(proof, from).store(to);
    }
    padding.fill([0.0; W]);
}

/// Copies a panel back to its rows.
#[inline(always)]
fn unpack<V: KernelVector<W>, const W: usize>(
    proof: V::Proof,
    panel: &[[f64; W]],
    target: &mut [f64],
    rows: MatrixRows,
    columns: usize,
) {
    for (k, from) in panel[..columns].iter().enumerate() {
        V::load(proof, from).store_first(&mut target[k * rows.stride + rows.first..][..rows.count]);
    }
}

/// The Cholesky factorisation of a symmetric matrix, in place and packed. `false` if a pivot is not positive and finite.
pub(super) struct FactorDiagonal<'a> {
    /// Columns of a column-major matrix, of which the lower triangle is read and written.
    pub(super) matrix: &'a mut [f64],
    /// The rows, as many as there are columns.
    pub(super) rows: MatrixRows,
    /// Space for the packed factor; its padding becomes that of the identity.
    pub(super) packed: &'a mut [f64],
    /// Space for the reciprocals of the factor's diagonal, with padding.
    pub(super) reciprocals: &'a mut [f64],
}

impl PanelKernel for FactorDiagonal<'_> {
    type Output = bool;
    #[inline(always)]
    fn run<V: KernelVector<W>, const W: usize>(self, proof: V::Proof) -> bool {
        let Self { matrix, rows, packed, reciprocals } = self;
        let padded = reciprocals.len();
        let panels = packed.as_chunks_mut::<W>().0;
        for (index, panel) in panels.chunks_exact_mut(padded).enumerate() {
            pack_symmetric::<V, W>(proof, matrix, rows, index, panel);
        }
        reciprocals[rows.count..].fill(1.0);
        for index in 0..padded / W {
            let (panel, below) = panels[index * padded..].split_at_mut(padded);
            if !factor_tile::<V, W>(proof, panel, index, rows.count, reciprocals) {
                return false;
            }
            solve_panels::<V, W>(proof, below, panel, index, reciprocals);
        }
        for (index, panel) in panels.chunks_exact(padded).enumerate() {
            unpack_lower::<V, W>(proof, panel, matrix, rows, index);
        }
        true
    }
}

/// Packs a panel of a symmetric matrix up to the end of its diagonal tile, padded with the identity.
#[inline(always)]
fn pack_symmetric<V: KernelVector<W>, const W: usize>(
    proof: V::Proof,
    matrix: &[f64],
    rows: MatrixRows,
    index: usize,
    panel: &mut [[f64; W]],
) {
    let columns = rows.count.min((index + 1) * W);
    if index * W < columns {
        pack::<V, W>(proof, matrix, rows.of_panel::<W>(index), columns, &mut panel[..(index + 1) * W]);
    } else {
        panel[..(index + 1) * W].fill([0.0; W]);
    }
    for k in columns.max(index * W)..(index + 1) * W {
        panel[k][k - index * W] = 1.0;
    }
}

/// Copies a panel back, only the part below the diagonal.
#[inline(always)]
fn unpack_lower<V: KernelVector<W>, const W: usize>(
    proof: V::Proof,
    panel: &[[f64; W]],
    matrix: &mut [f64],
    rows: MatrixRows,
    index: usize,
) {
    let start = index * W;
    if start >= rows.count {
        return;
    }
    let own = rows.of_panel::<W>(index);
    unpack::<V, W>(proof, panel, matrix, own, start);
    for k in 0..own.count {
        let column = &mut matrix[(start + k) * rows.stride + own.first..][k..own.count];
        column.copy_from_slice(&panel[start + k][k..own.count]);
    }
}

/// Factorises the diagonal tile of a panel whose earlier columns are final; there are `columns` columns in all.
///
/// Columns are scaled by reciprocal pivots before the next pivot, to hide the latency of the square roots.
#[inline(always)]
fn factor_tile<V: KernelVector<W>, const W: usize>(
    proof: V::Proof,
    panel: &mut [[f64; W]],
    index: usize,
    columns: usize,
    reciprocals: &mut [f64],
) -> bool {
    let sums = product::<V, W, 1>(proof, [&*panel], panel, index * W);
    let own: &mut [[f64; W]; W] = panel[index * W..].first_chunk_mut().expect("a whole tile");
    let reciprocals: &mut [f64; W] = reciprocals[index * W..].first_chunk_mut().expect("a whole tile");
    let mut tile = [V::splat(proof, 0.0); W];
    for j in 0..W {
        tile[j] = V::load(proof, &own[j]).minus(sums[j][0]);
    }
    let mut definite = true;
    for k in 0..W {
        if index * W + k >= columns {
            break;
        }
        let pivot = tile[k].lane(k);
        definite &= pivot > 0.0 && pivot < f64::INFINITY;
        let reciprocal = 1.0 / pivot;
        for j in k + 1..W {
            tile[j] = tile[j].subtract_product(tile[k], V::splat(proof, tile[k].lane(j) * reciprocal));
        }
        reciprocals[k] = 1.0 / pivot.sqrt();
        tile[k].times(V::splat(proof, reciprocals[k])).store(&mut own[k]);
    }
    definite
}

/// Solves for the columns of one diagonal tile in all panels.
#[inline(always)]
fn solve_panels<V: KernelVector<W>, const W: usize>(
    proof: V::Proof,
    panels: &mut [[f64; W]],
    factor: &[[f64; W]],
    index: usize,
    reciprocals: &[f64],
) {
    let padded = reciprocals.len();
    for tile in panels.chunks_mut(V::TILE_PANELS * padded) {
        match tile.len() / padded {
            3 if V::TILE_PANELS == 3 => solve_tile::<V, W, 3>(proof, tile, factor, index, reciprocals),
            2 => solve_tile::<V, W, 2>(proof, tile, factor, index, reciprocals),
            _ => solve_tile::<V, W, 1>(proof, tile, factor, index, reciprocals),
        }
    }
}

/// Solves `X Lᵀ = B` for `W` columns of `T` panels whose earlier columns are final; `factor` is the panel of `L`.
#[inline(always)]
fn solve_tile<V: KernelVector<W>, const W: usize, const T: usize>(
    proof: V::Proof,
    panels: &mut [[f64; W]],
    factor: &[[f64; W]],
    index: usize,
    reciprocals: &[f64],
) {
    let (start, padded) = (index * W, reciprocals.len());
    let mut views: [&[[f64; W]]; T] = [&[]; T];
    for t in 0..T {
        views[t] = &panels[t * padded..(t + 1) * padded];
    }
    let mut tile = product::<V, W, T>(proof, views, factor, start);
    for t in 0..T {
        let own: &[[f64; W]; W] = views[t][start..].first_chunk().expect("a whole tile");
        for j in 0..W {
            tile[j][t] = V::load(proof, &own[j]).minus(tile[j][t]);
        }
    }
    let factor: &[[f64; W]; W] = factor[start..].first_chunk().expect("a whole tile");
    let reciprocals: &[f64; W] = reciprocals[start..].first_chunk().expect("a whole tile");
    for j in 0..W {
        for t in 0..T {
            tile[j][t] = tile[j][t].times(V::splat(proof, reciprocals[j]));
        }
        for later in j + 1..W {
            for t in 0..T {
                tile[later][t] =
                    tile[later][t].subtract_product(tile[j][t], V::splat(proof, factor[j][later]));
            }
        }
    }
    for t in 0..T {
        let own: &mut [[f64; W]; W] = panels[t * padded + start..].first_chunk_mut().expect("a whole tile");
        for j in 0..W {
            tile[j][t].store(&mut own[j]);
        }
    }
}

/// Packs rows of a column-major matrix.
pub(super) struct Pack<'a> {
    /// The columns.
    pub(super) matrix: &'a [f64],
    /// The rows.
    pub(super) rows: MatrixRows,
    /// Columns, without padding.
    pub(super) columns: usize,
    /// Columns, with padding.
    pub(super) padded: usize,
    /// Space for the packed rows.
    pub(super) panels: &'a mut [f64],
}

impl PanelKernel for Pack<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: KernelVector<W>, const W: usize>(self, proof: V::Proof) {
        let panels = self.panels.as_chunks_mut::<W>().0;
        for (index, panel) in panels.chunks_exact_mut(self.padded).enumerate() {
            pack::<V, W>(proof, self.matrix, self.rows.of_panel::<W>(index), self.columns, panel);
        }
    }
}

/// Solves `X Lᵀ = B` for packed rows, in place.
pub(super) struct SolveRows<'a> {
    /// The packed factor `L`.
    pub(super) factor: &'a [f64],
    /// The reciprocals of its diagonal.
    pub(super) reciprocals: &'a [f64],
    /// The packed rows.
    pub(super) panels: &'a mut [f64],
}

impl PanelKernel for SolveRows<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: KernelVector<W>, const W: usize>(self, proof: V::Proof) {
        let padded = self.reciprocals.len();
        let factor = self.factor.as_chunks::<W>().0;
        let panels = self.panels.as_chunks_mut::<W>().0;
        // A tile's rows stay in the first-level cache for all columns.
        for rows in panels.chunks_mut(V::TILE_PANELS * padded) {
            for (index, own) in factor.chunks_exact(padded).enumerate() {
                solve_panels::<V, W>(proof, rows, own, index, self.reciprocals);
            }
        }
    }
}

/// Copies packed rows back into columns of a column-major matrix.
pub(super) struct Unpack<'a> {
    /// The packed rows.
    pub(super) panels: &'a [f64],
    /// Columns of a panel, with padding.
    pub(super) padded: usize,
    /// The columns to write.
    pub(super) matrix: &'a mut [f64],
    /// The rows.
    pub(super) rows: MatrixRows,
    /// The first of the columns.
    pub(super) first_column: usize,
}

impl PanelKernel for Unpack<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: KernelVector<W>, const W: usize>(self, proof: V::Proof) {
        let columns = self.matrix.len() / self.rows.stride;
        let panels = self.panels.as_chunks::<W>().0;
        for (index, panel) in panels.chunks_exact(self.padded).enumerate() {
            let own = &panel[self.first_column..];
            unpack::<V, W>(proof, own, self.matrix, self.rows.of_panel::<W>(index), columns);
        }
    }
}

/// Subtracts `A Bᵀ` from columns of a column-major matrix.
pub(super) struct SubtractProduct<'a> {
    /// The columns to subtract from.
    pub(super) target: &'a mut [f64],
    /// Stride from one column to the next.
    pub(super) stride: usize,
    /// The row of the target that the first of `a` belongs to.
    pub(super) first_row: usize,
    /// The row of `b` that the first column of the target belongs to: a multiple of [`TILE_ROWS`].
    pub(super) first_column: usize,
    /// The left operand.
    pub(super) a: Packed<'a>,
    /// The right operand.
    pub(super) b: Packed<'a>,
    /// Columns of `a` and `b`, without padding.
    pub(super) depth: usize,
    /// `a` and `b` are the same, and only the lower triangle is needed; tiles on the diagonal also write above it.
    pub(super) lower: bool,
}

impl PanelKernel for SubtractProduct<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: KernelVector<W>, const W: usize>(mut self, proof: V::Proof) {
        let panels = self.a.rows.div_ceil(W);
        let first = self.first_column / W;
        let end = first + (self.target.len() / self.stride).div_ceil(W);
        let start = if self.lower { first } else { 0 };
        for i in (start..panels).step_by(V::TILE_PANELS) {
            let count = V::TILE_PANELS.min(panels - i);
            let end = if self.lower { end.min(i + count) } else { end };
            for j in first..end {
                // Skips panels above the diagonal.
                let above = if self.lower { j.saturating_sub(i) } else { 0 };
                match count - above {
                    3 if V::TILE_PANELS == 3 => self.subtract_tile::<V, W, 3>(proof, i + above, j),
                    2 => self.subtract_tile::<V, W, 2>(proof, i + above, j),
                    _ => self.subtract_tile::<V, W, 1>(proof, i + above, j),
                }
            }
        }
    }
}

impl SubtractProduct<'_> {
    #[inline(always)]
    fn subtract_tile<V: KernelVector<W>, const W: usize, const T: usize>(
        &mut self,
        proof: V::Proof,
        i: usize,
        j: usize,
    ) {
        let mut a: [&[[f64; W]]; T] = [&[]; T];
        for t in 0..T {
            a[t] = self.a.panel::<W>(i + t);
        }
        let (row, column) = (self.first_row + i * W, j * W - self.first_column);
        let target = &mut self.target[column * self.stride..];
        let columns = target.len() / self.stride;
        let rows = (T * W).min(self.a.rows - i * W);
        let tile = product::<V, W, T>(proof, a, self.b.panel::<W>(j), self.depth);
        for c in 0..W {
            if c < columns {
                let column = &mut target[c * self.stride + row..][..rows];
                let (whole, rest) = column.as_chunks_mut::<W>();
                for t in 0..T {
                    if t < whole.len() {
                        V::load(proof, &whole[t]).minus(tile[c][t]).store(&mut whole[t]);
                    } else {
                        V::load_first(proof, rest).minus(tile[c][t]).store_first(rest);
                    }
                }
            }
        }
    }
}
