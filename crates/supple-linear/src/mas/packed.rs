//! The inverse of a domain as it is stored and applied (Wu 2022, section 7.1): `A⁻¹ = Wᵀ W` by the 8x8 tiles of the
//! lower triangle `W`, half a matrix as in the paper. Tile row after tile row is read from memory once and used twice
//! while it is in the L1 cache: for `tᵢ = Σⱼ Wᵢⱼ xⱼ`, and immediately for `yⱼ += Wᵢⱼᵀ tᵢ`. Meanwhile the same tile
//! row of the next domain is prefetched, if the L1 cache has space for both.
//!
//! The rows of `W` are stored as fractions of their largest entry, in `f32` or as 16-bit integers; their scales form
//! the diagonal `E` of `A⁻¹ = Qᵀ E Q`. That product is symmetric and positive definite no matter how coarsely `Q` is
//! rounded.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use std::cell::RefCell;

use supple_core::simd::{F32x8, Kernel, Lanes, Simd, WIDTH, dispatch, prefetch};

use super::inverse::{InverseTile, MOST_TILE_ROWS, MatrixDiagonal, at, triangle};

/// The number type of stored tiles.
pub(super) trait TileNumber: Copy + Send + Sync + 'static {
    /// Eight of them: a column of a tile.
    type Column: Copy + Send + Sync + Default + std::fmt::Debug;
    /// The representation of 1.
    const ONE: f32;
    /// The nearest to `ONE` times fractions from -1 to 1.
    fn column(fractions: &Lanes) -> Self::Column;
    /// Converts a tile to single precision in `scratch`, unless it is stored so.
    fn widen(tile: &[Self::Column; WIDTH], scratch: &mut WideTile);
    /// The tile in single precision, once it is widened.
    fn wide<'a>(tile: &'a [Self::Column; WIDTH], scratch: &'a WideTile) -> &'a WideTile;
}

impl TileNumber for f32 {
    type Column = F32x8;
    const ONE: f32 = 1.0;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn column(fractions: &Lanes) -> F32x8 {
        let mut column = F32x8::default();
        for r in 0..WIDTH {
            column.0[r] = fractions.0[r] as f32;
        }
        column
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn widen(_: &WideTile, _: &mut WideTile) {}

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn wide<'a>(tile: &'a WideTile, _: &'a WideTile) -> &'a WideTile {
        tile
    }
}

/// 1.5 times the number from which neighbours are 1 apart, so that negative values do not bring the sum below it.
const ROUNDER: f64 = 1.5 * (1_u64 << 52) as f64;

impl TileNumber for i16 {
    type Column = [i16; WIDTH];
    const ONE: f32 = 32767.0;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn column(fractions: &Lanes) -> [i16; WIDTH] {
        let mut column = [0; WIDTH];
        for r in 0..WIDTH {
            // Next to this large number the sum has no bits for fractions: the processor rounds them, in SIMD, and
            // the low bits are the integer. A cast would process each number separately.
            column[r] = (fractions.0[r] * f64::from(Self::ONE) + ROUNDER).to_bits() as i16;
        }
        column
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn widen(tile: &[[i16; WIDTH]; WIDTH], scratch: &mut WideTile) {
        for c in 0..WIDTH {
            for r in 0..WIDTH {
                scratch[c].0[r] = f32::from(tile[c][r]);
            }
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn wide<'a>(_: &'a [[i16; WIDTH]; WIDTH], scratch: &'a WideTile) -> &'a WideTile {
        scratch
    }
}

/// A tile as it is stored.
type StoredTile<E> = [<E as TileNumber>::Column; WIDTH];

/// A tile in single precision, as a list of its columns.
type WideTile = [F32x8; WIDTH];

const ZEROS: WideTile = [F32x8::ZERO; WIDTH];

/// The inverse of one domain's matrix.
#[derive(Debug, Clone)]
pub(super) struct PackedInverse<E: TileNumber> {
    /// Tiles (0,0), (1,0), (1,1), (2,0) … of `Q`; each a list of its columns.
    tiles: Vec<StoredTile<E>>,
    /// Per tile row.
    rows: Vec<RowScales>,
    /// One over the largest entry of the matrix's diagonal.
    scale: f64,
}

/// Data of the rows of a tile row: one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct RowScales {
    /// The diagonal `E`.
    weights: [f32; WIDTH],
    /// The units of the rows: the inverse square roots of the matrix's diagonal, relative to the root of the
    /// inverse's `scale`.
    units: [f32; WIDTH],
}

impl<E: TileNumber> Default for PackedInverse<E> {
    fn default() -> Self {
        Self { tiles: Vec::new(), rows: Vec::new(), scale: 0.0 }
    }
}

/// Size of the L1 data cache of a core in bytes, on most machines.
const NEAREST_CACHE: usize = 32 << 10;

thread_local! {
    /// The workspace of a thread for applying an inverse, kept: otherwise 26 KB would be cleared for every domain.
    static SCRATCH: RefCell<ApplyScratch> = const { RefCell::new(ApplyScratch::EMPTY) };
}

/// Vectors and tiles by tile rows.
struct ApplyScratch {
    /// The vector in single precision.
    small: [[f32; WIDTH]; MOST_TILE_ROWS],
    /// The current tile row.
    wide: [WideTile; MOST_TILE_ROWS],
    /// The entries of `Qᵀ t`, each still as eight lanes to be summed.
    sums: [WideTile; MOST_TILE_ROWS],
}

impl ApplyScratch {
    const EMPTY: Self = Self {
        small: [[0.0; WIDTH]; MOST_TILE_ROWS],
        wide: [ZEROS; MOST_TILE_ROWS],
        sums: [ZEROS; MOST_TILE_ROWS],
    };
}

impl<E: TileNumber> PackedInverse<E> {
    /// Stores `W` of a matrix with a diagonal.
    pub(super) fn store(&mut self, w: &[InverseTile], rows: usize, diagonal: &MatrixDiagonal, simd: Simd) {
        let tile_rows = rows.div_ceil(WIDTH);
        let largest = diagonal.as_flattened().iter().fold(0.0, |a: f64, b| a.max(*b));
        self.scale = 1.0 / largest;
        let unit = |entry: f64| if entry > 0.0 { (largest / entry).sqrt() as f32 } else { 0.0 };
        self.rows.clear();
        self.rows.extend(
            diagonal[..tile_rows]
                .iter()
                .map(|row| RowScales { units: row.map(unit), ..RowScales::default() }),
        );
        self.tiles.resize(triangle(tile_rows), StoredTile::<E>::default());
        dispatch(simd, Store { w, diagonal, inverse: self });
    }

    /// `x = A⁻¹ x`. The inverse applied next is prefetched meanwhile, if it fits in the cache.
    pub(super) fn apply(&self, x: &mut [f64], next: Option<&Self>, simd: Simd) {
        let next = next.unwrap_or(self);
        SCRATCH.with_borrow_mut(|scratch| dispatch(simd, MultiplyPacked { inverse: self, x, scratch, next }));
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<StoredTile<E>>() * self.tiles.len() + size_of::<RowScales>() * self.rows.len() + 8
    }
}

/// Converts `W` to fractions of the largest number in each row.
struct Store<'a, E: TileNumber> {
    w: &'a [InverseTile],
    diagonal: &'a MatrixDiagonal,
    inverse: &'a mut PackedInverse<E>,
}

impl<E: TileNumber> Kernel for Store<'_, E> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let mut roots = *self.diagonal;
        for entry in roots.as_flattened_mut() {
            *entry = entry.sqrt();
        }
        let roots = roots.as_flattened();
        let PackedInverse { tiles, rows: scales, .. } = self.inverse;
        for i in 0..scales.len() {
            let columns = self.w[at(i, 0)..=at(i, i)].as_flattened();
            let mut sizes = Lanes::default();
            for c in 0..columns.len() {
                sizes = sizes.max((columns[c] * roots[c]).abs());
            }
            let mut factors = [0.0; WIDTH];
            for r in 0..WIDTH {
                let size = sizes.0[r] / f64::from(E::ONE);
                scales[i].weights[r] = (size * size) as f32;
                factors[r] = if sizes.0[r] > 0.0 { 1.0 / sizes.0[r] } else { 0.0 };
            }
            let stored = tiles[at(i, 0)..=at(i, i)].as_flattened_mut();
            for c in 0..columns.len() {
                stored[c] = E::column(&(columns[c] * roots[c] * Lanes(factors)));
            }
        }
    }
}

struct MultiplyPacked<'a, E: TileNumber> {
    inverse: &'a PackedInverse<E>,
    x: &'a mut [f64],
    scratch: &'a mut ApplyScratch,
    /// The inverse applied next; itself if there is none.
    next: &'a PackedInverse<E>,
}

impl<E: TileNumber> Kernel for MultiplyPacked<'_, E> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let Self { inverse, x, scratch, next } = self;
        let size = largest(x);
        // A vector of zeros, or with an infinity, is left unchanged; so is one of zeros and NaN, which never compares
        // as larger. There is nothing to apply after a failed update.
        if size == 0.0 || !size.is_finite() || inverse.rows.is_empty() {
            return;
        }
        let both = size_of_val(&inverse.tiles[..]) + size_of_val(&next.tiles[..]);
        let ahead = if both <= NEAREST_CACHE { &next.tiles[..] } else { &[] };
        let ApplyScratch { small, wide, sums } = scratch;
        let count = inverse.rows.len();
        let (small, wide, sums) = (&mut small[..count], &mut wide[..count], &mut sums[..count]);
        shrink(x, 1.0 / size, &inverse.rows, small);
        for i in 0..count {
            let row = &inverse.tiles[at(i, 0)..=at(i, i)];
            let t = row_product::<E>(row, small, wide, &inverse.rows[i].weights);
            if let Some(scales) = next.rows.get(i) {
                prefetch(scales);
            }
            sums[i] = ZEROS;
            for j in 0..row.len() {
                if let Some(tile) = ahead.get(at(i, j)) {
                    prefetch(tile);
                }
                let tile = E::wide(&row[j], &wide[j]);
                for c in 0..WIDTH {
                    sums[j][c].add_product(tile[c], t);
                }
            }
        }
        for j in 0..count {
            small[j] = sums_of_lanes(&sums[j]);
        }
        grow(small, size * inverse.scale, &inverse.rows, x);
    }
}

/// The largest absolute value, ignoring NaN.
#[cfg_attr(not(debug_assertions), inline(always))]
fn largest(x: &[f64]) -> f64 {
    let (whole, rest) = x.as_chunks::<WIDTH>();
    let mut sizes = [0.0; WIDTH];
    for i in 0..whole.len() {
        for r in 0..WIDTH {
            let size = whole[i][r].abs();
            sizes[r] = if size > sizes[r] { size } else { sizes[r] };
        }
    }
    for r in 0..rest.len() {
        let size = rest[r].abs();
        sizes[r] = if size > sizes[r] { size } else { sizes[r] };
    }
    let mut size = 0.0;
    for r in 0..WIDTH {
        size = if sizes[r] > size { sizes[r] } else { size };
    }
    size
}

/// A vector in single precision, scaled by `factor` and by the units of its rows; zero beyond its end.
#[cfg_attr(not(debug_assertions), inline(always))]
fn shrink(x: &[f64], factor: f64, scales: &[RowScales], small: &mut [[f32; WIDTH]]) {
    let (whole, rest) = x.as_chunks::<WIDTH>();
    for i in 0..whole.len() {
        for r in 0..WIDTH {
            small[i][r] = (whole[i][r] * factor) as f32 * scales[i].units[r];
        }
    }
    if !rest.is_empty() {
        let last = whole.len();
        small[last] = [0.0; WIDTH];
        for r in 0..rest.len() {
            small[last][r] = (rest[r] * factor) as f32 * scales[last].units[r];
        }
    }
}

/// The reverse conversion.
#[cfg_attr(not(debug_assertions), inline(always))]
fn grow(small: &[[f32; WIDTH]], factor: f64, scales: &[RowScales], x: &mut [f64]) {
    let (whole, rest) = x.as_chunks_mut::<WIDTH>();
    for i in 0..whole.len() {
        for r in 0..WIDTH {
            whole[i][r] = f64::from(small[i][r] * scales[i].units[r]) * factor;
        }
    }
    let last = whole.len();
    for r in 0..rest.len() {
        rest[r] = f64::from(small[last][r] * scales[last].units[r]) * factor;
    }
}

/// `tᵢ = Eᵢ Σⱼ Qᵢⱼ xⱼ`; leaves the tiles in `wide`, unless they are stored so.
#[cfg_attr(not(debug_assertions), inline(always))]
fn row_product<E: TileNumber>(
    row: &[StoredTile<E>],
    x: &[[f32; WIDTH]],
    wide: &mut [WideTile],
    weights: &[f32; WIDTH],
) -> F32x8 {
    let mut parts = [F32x8::default(); 4];
    for j in 0..row.len() {
        E::widen(&row[j], &mut wide[j]);
        let tile = E::wide(&row[j], &wide[j]);
        for c in 0..WIDTH {
            parts[c % 4].add_product(tile[c], F32x8::splat(x[j][c]));
        }
    }
    let mut t = F32x8::default();
    for r in 0..WIDTH {
        t.0[r] = ((parts[0].0[r] + parts[1].0[r]) + (parts[2].0[r] + parts[3].0[r])) * weights[r];
    }
    t
}

/// The sum of each vector's lanes: vectors are folded and interleaved until one is left.
#[cfg_attr(not(debug_assertions), inline(always))]
fn sums_of_lanes(vectors: &[F32x8; WIDTH]) -> [f32; WIDTH] {
    let mut sums = [0.0; WIDTH];
    for v in 0..WIDTH {
        let of = &vectors[v].0;
        let four = [of[0] + of[4], of[1] + of[5], of[2] + of[6], of[3] + of[7]];
        sums[v] = (four[0] + four[2]) + (four[1] + four[3]);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_rounded_to_the_nearest_whole_number() {
        let one = f64::from(<i16 as TileNumber>::ONE);
        let steps =
            [1.0, -1.0, 1.0 + f64::EPSILON, 0.5 / one, -0.5 / one, -1.5 / one, 12345.4 / one, -12345.6 / one];
        let expected = [32767, -32767, 32767, 0, 0, -2, 12345, -12346];
        assert_eq!(i16::column(&Lanes(steps)), expected);
        assert_eq!(i16::column(&Lanes([-0.0; WIDTH])), [0; WIDTH]);
    }
}
