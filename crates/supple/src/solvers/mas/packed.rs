//! The inverse of a domain as it is stored and applied (Wu 2022, section 7.1): `A⁻¹ = Wᵀ W` by the 8x8 tiles of the lower triangle
//! `W`, half a matrix as in the paper. `W` is read from memory once and used twice from the cache, for `t = W x` and `Wᵀ t`.
//!
//! The rows of `W` are stored as fractions of their largest entry, in `f32` or as 16-bit whole numbers; their sizes make the
//! diagonal `E` of `A⁻¹ = Qᵀ E Q`. That product is symmetric and positive definite however coarsely `Q` is rounded.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use crate::simd::{Kernel, Lanes, Simd, WIDTH, dispatch, read_ahead};

use super::inverse::{Diagonal, MOST_TILE_ROWS, Tile, at, triangle};

/// Scalar rows of the largest domain.
pub(super) const MOST_ROWS: usize = MOST_TILE_ROWS * WIDTH;

/// A number as it is stored.
pub(super) trait Entry: Copy + Send + Sync + Default + 'static {
    /// What stands for 1.
    const ONE: f32;
    /// The nearest to `fraction * ONE`, for fractions from -1 to 1.
    fn of_fraction(fraction: f64) -> Self;
    /// Its value.
    fn value(self) -> f32;
}

impl Entry for f32 {
    const ONE: f32 = 1.0;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn of_fraction(fraction: f64) -> Self {
        fraction as f32
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value(self) -> f32 {
        self
    }
}

impl Entry for i16 {
    const ONE: f32 = 32767.0;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn of_fraction(fraction: f64) -> Self {
        // Half a step away from zero before the rest is cut off: rounding, without a call for each number.
        (fraction * f64::from(Self::ONE) + 0.5f64.copysign(fraction)) as i32 as i16
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value(self) -> f32 {
        f32::from(self)
    }
}

type StoredTile<E> = [[E; WIDTH]; WIDTH];

/// The inverse of one domain's matrix.
#[derive(Debug, Clone, Default)]
pub(super) struct PackedInverse<E> {
    /// Tiles (0,0), (1,0), (1,1), (2,0) … of `Q`; each a list of its columns.
    tiles: Vec<StoredTile<E>>,
    /// The diagonal `E`.
    weights: Vec<f32>,
    /// The units of the rows: the roots of the matrix's diagonal, inverted, relative to `scale`.
    units: Vec<f32>,
    scale: f64,
}

impl<E: Entry> PackedInverse<E> {
    /// Stores `W` of a matrix with a diagonal.
    pub(super) fn store(&mut self, w: &[Tile], rows: usize, diagonal: &Diagonal, simd: Simd) {
        let tile_rows = rows.div_ceil(WIDTH);
        let largest = diagonal.as_flattened().iter().fold(0.0, |a: f64, b| a.max(*b));
        self.scale = 1.0 / largest;
        let unit = |entry: &f64| if *entry > 0.0 { (largest / entry).sqrt() as f32 } else { 0.0 };
        self.units.clear();
        self.units.extend(diagonal[..tile_rows].as_flattened().iter().map(unit));
        self.weights.resize(WIDTH * tile_rows, 0.0);
        self.tiles.resize(triangle(tile_rows), StoredTile::default());
        dispatch(simd, Store { w, diagonal, inverse: self });
    }

    /// `x = A⁻¹ x`. The inverse that is applied next is brought into the cache meanwhile.
    pub(super) fn apply(&self, x: &mut [f64], next: Option<&Self>, simd: Simd) {
        let size = x.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        if size == 0.0 || !size.is_finite() {
            return;
        }
        let mut small = [0.0; MOST_ROWS];
        let inverse = 1.0 / size;
        let units = || self.units.iter();
        small
            .iter_mut()
            .zip(&*x)
            .zip(units())
            .for_each(|((small, x), unit)| *small = (x * inverse) as f32 * unit);
        let next = next.map_or(&[][..], |next| &next.tiles);
        dispatch(simd, Multiply { inverse: self, x: &mut small[..self.weights.len()], next });
        let factor = size * self.scale;
        x.iter_mut().zip(&small).zip(units()).for_each(|((x, y), unit)| *x = f64::from(*y * unit) * factor);
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<StoredTile<E>>() * self.tiles.len() + 8 * self.weights.len() + 8
    }
}

/// Turns `W` into fractions of the largest number in each row.
struct Store<'a, E> {
    w: &'a [Tile],
    diagonal: &'a Diagonal,
    inverse: &'a mut PackedInverse<E>,
}

impl<E: Entry> Kernel for Store<'_, E> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let mut roots = *self.diagonal;
        for entry in roots.as_flattened_mut() {
            *entry = entry.sqrt();
        }
        let roots = roots.as_flattened();
        let (weights, _) = self.inverse.weights.as_chunks_mut::<WIDTH>();
        for i in 0..weights.len() {
            let columns = self.w[at(i, 0)..=at(i, i)].as_flattened();
            let mut sizes = Lanes::default();
            for c in 0..columns.len() {
                sizes = sizes.max((columns[c] * roots[c]).abs());
            }
            let mut factors = [0.0; WIDTH];
            for r in 0..WIDTH {
                let size = sizes.0[r] / f64::from(E::ONE);
                weights[i][r] = (size * size) as f32;
                factors[r] = if sizes.0[r] > 0.0 { 1.0 / sizes.0[r] } else { 0.0 };
            }
            let stored = self.inverse.tiles[at(i, 0)..=at(i, i)].as_flattened_mut();
            for c in 0..columns.len() {
                let fractions = columns[c] * roots[c] * Lanes(factors);
                for r in 0..WIDTH {
                    stored[c][r] = E::of_fraction(fractions.0[r]);
                }
            }
        }
    }
}

struct Multiply<'a, E> {
    inverse: &'a PackedInverse<E>,
    x: &'a mut [f32],
    /// What is read after this.
    next: &'a [StoredTile<E>],
}

/// Eight numbers side by side.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
struct Eight([f32; WIDTH]);

impl Eight {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn of<E: Entry>(entries: &[E; WIDTH]) -> Self {
        let mut out = [0.0; WIDTH];
        for r in 0..WIDTH {
            out[r] = entries[r].value();
        }
        Self(out)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn add_product(&mut self, a: Self, b: Self) {
        for r in 0..WIDTH {
            self.0[r] += a.0[r] * b.0[r];
        }
    }
}

impl<E: Entry> Kernel for Multiply<'_, E> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let PackedInverse { tiles, weights, .. } = self.inverse;
        let (x, _) = self.x.as_chunks_mut::<WIDTH>();
        let (weights, _) = weights.as_chunks::<WIDTH>();
        let mut t = [Eight::default(); MOST_TILE_ROWS];
        for i in 0..x.len() {
            let mut sums = [Eight::default(); 4];
            let row = &tiles[at(i, 0)..=at(i, i)];
            for j in 0..row.len() {
                if let Some(tile) = self.next.get(at(i, j)) {
                    read_ahead(tile);
                }
                for c in 0..WIDTH {
                    sums[c % 4].add_product(Eight::of(&row[j][c]), Eight([x[j][c]; WIDTH]));
                }
            }
            for r in 0..WIDTH {
                t[i].0[r] = ((sums[0].0[r] + sums[1].0[r]) + (sums[2].0[r] + sums[3].0[r])) * weights[i][r];
            }
        }
        for j in 0..x.len() {
            let mut sums = [Eight::default(); WIDTH];
            for i in j..x.len() {
                let tile = &tiles[at(i, j)];
                for c in 0..WIDTH {
                    sums[c].add_product(Eight::of(&tile[c]), t[i]);
                }
            }
            x[j] = sums_of_lanes(&sums);
        }
    }
}

/// The sum of each vector's lanes: vectors are folded and laid side by side until one is left.
#[cfg_attr(not(debug_assertions), inline(always))]
fn sums_of_lanes(vectors: &[Eight; WIDTH]) -> [f32; WIDTH] {
    let mut sums = [0.0; WIDTH];
    for v in 0..WIDTH {
        let of = &vectors[v].0;
        let four = [of[0] + of[4], of[1] + of[5], of[2] + of[6], of[3] + of[7]];
        sums[v] = (four[0] + four[2]) + (four[1] + four[3]);
    }
    sums
}
