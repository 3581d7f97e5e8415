//! Explicit inverses of small dense symmetric positive-definite matrices, many of them: the domains of additive Schwarz
//! (Wu 2022, sections 6.2 and 7). Inverted in `f64` by Gauss-Jordan elimination, stored in `f32` as 16x16 tiles of the lower
//! triangle only, because applying them is bound by memory.
//!
//! A matrix is scaled by its largest diagonal entry and a vector by its largest entry, so that no physical unit leaves the
//! range of `f32`.

use supple_core::simd::{Kernel, Simd, dispatch};

/// Rows and columns of a tile.
const TILE: usize = 16;

type Tile = [[f32; TILE]; TILE];

/// Maximum scalar rows per domain: 32 nodes.
pub(crate) const LARGEST: usize = 96;

/// The inverse of one domain's matrix.
#[derive(Debug, Clone, Default)]
pub(crate) struct DomainInverse {
    /// Tiles (0,0), (1,0), (1,1), (2,0) … of the inverse of the scaled matrix; each a list of its columns.
    tiles: Vec<Tile>,
    /// The inverse's scale.
    scale: f64,
}

impl DomainInverse {
    /// Inverts `matrix`, with `rows` rows of stride [`LARGEST`]; it is overwritten. `Err` contains the row whose
    /// pivot is not positive.
    pub(crate) fn compute(&mut self, matrix: &mut [f64], rows: usize, simd: Simd) -> Result<(), usize> {
        let largest = (0..rows).map(|i| matrix[i * LARGEST + i]).fold(0.0, f64::max);
        self.scale = 1.0 / largest;
        if !self.scale.is_finite() || self.scale == 0.0 {
            return Err(0);
        }
        matrix.iter_mut().for_each(|entry| *entry *= self.scale);
        dispatch(simd, Invert { matrix, rows })?;
        self.store(matrix, rows);
        Ok(())
    }

    fn store(&mut self, inverse: &[f64], rows: usize) {
        let tiles = rows.div_ceil(TILE);
        let entry = |i: usize, j: usize| {
            if i < rows && j < rows { inverse[i.max(j) * LARGEST + i.min(j)] as f32 } else { 0.0 }
        };
        self.tiles.clear();
        for (i, j) in (0..tiles).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            let column = |c| std::array::from_fn(|r| entry(i * TILE + r, j * TILE + c));
            self.tiles.push(std::array::from_fn(column));
        }
    }

    /// `y = A⁻¹ x` for scalars; `x` is given and `y` returned in the same array.
    pub(crate) fn apply(&self, x: &mut [f64; LARGEST], simd: Simd) {
        let size = x.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        if size == 0.0 || !size.is_finite() {
            return;
        }
        let small = x.map(|value| (value / size) as f32);
        let product = dispatch(simd, Multiply { tiles: &self.tiles, x: &small });
        for (x, y) in x.iter_mut().zip(product) {
            *x = f64::from(y) * (size * self.scale);
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        4 * TILE * TILE * self.tiles.len()
    }
}

/// Gauss-Jordan elimination in place, without pivoting: the matrix is positive definite.
struct Invert<'a> {
    matrix: &'a mut [f64],
    rows: usize,
}

impl Kernel for Invert<'_> {
    type Output = Result<(), usize>;

    #[inline(always)]
    fn run(self) -> Result<(), usize> {
        let Self { matrix, rows } = self;
        let width = rows.next_multiple_of(8).min(LARGEST);
        let mut pivot_row = [0.0; LARGEST];
        for k in 0..rows {
            let pivot = matrix[k * LARGEST + k];
            // The matrix's diagonal was scaled to 1: this is a relative limit of a few hundred times machine precision.
            if pivot.is_nan() || pivot <= 1e-14 {
                return Err(k);
            }
            let inverse = 1.0 / pivot;
            for (p, m) in pivot_row[..width].iter_mut().zip(&matrix[k * LARGEST..]) {
                *p = *m * inverse;
            }
            pivot_row[k] = inverse;
            for i in 0..rows {
                let row = &mut matrix[i * LARGEST..i * LARGEST + width];
                let factor = row[k];
                if i == k {
                    row.copy_from_slice(&pivot_row[..width]);
                } else if factor != 0.0 {
                    row[k] = 0.0;
                    for (m, p) in row.iter_mut().zip(&pivot_row[..width]) {
                        *m -= factor * *p;
                    }
                }
            }
        }
        Ok(())
    }
}

struct Multiply<'a> {
    tiles: &'a [Tile],
    x: &'a [f32; LARGEST],
}

impl Kernel for Multiply<'_> {
    type Output = [f32; LARGEST];

    #[inline(always)]
    fn run(self) -> [f32; LARGEST] {
        let mut y = [0.0; LARGEST];
        let (parts, _) = self.x.as_chunks::<TILE>();
        let (results, _) = y.as_chunks_mut::<TILE>();
        let mut tiles = self.tiles.iter();
        for i in 0..LARGEST / TILE {
            for j in 0..=i {
                let Some(tile) = tiles.next() else { return y };
                let down = times(tile, &parts[j]);
                add(&mut results[i], &down);
                if i != j {
                    let across = transposed_times(tile, &parts[i]);
                    add(&mut results[j], &across);
                }
            }
        }
        y
    }
}

#[inline(always)]
fn add(sum: &mut [f32; TILE], other: &[f32; TILE]) {
    for r in 0..TILE {
        sum[r] += other[r];
    }
}

#[inline(always)]
fn times(tile: &Tile, x: &[f32; TILE]) -> [f32; TILE] {
    let mut y = [0.0; TILE];
    for c in 0..TILE {
        for r in 0..TILE {
            y[r] += tile[c][r] * x[c];
        }
    }
    y
}

#[inline(always)]
fn transposed_times(tile: &Tile, x: &[f32; TILE]) -> [f32; TILE] {
    std::array::from_fn(|c| {
        let products: [f32; TILE] = std::array::from_fn(|r| tile[c][r] * x[r]);
        let eight: [f32; 8] = std::array::from_fn(|r| products[r] + products[r + 8]);
        let four: [f32; 4] = std::array::from_fn(|r| eight[r] + eight[r + 4]);
        (four[0] + four[2]) + (four[1] + four[3])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `B Bᵀ + I` of any size and scale.
    fn positive(rows: usize, scale: f64) -> Vec<f64> {
        let b = |i: usize, j: usize| ((7 * i + 13 * j * j + i * j) as f64).sin();
        let mut matrix = vec![0.0; LARGEST * LARGEST];
        for (i, j) in (0..rows).flat_map(|i| (0..rows).map(move |j| (i, j))) {
            let product: f64 = (0..rows).map(|k| b(i, k) * b(j, k)).sum();
            matrix[i * LARGEST + j] = scale * (product + f64::from(u8::from(i == j)));
        }
        matrix
    }

    #[test]
    fn inverse_undoes_the_product_for_all_sizes_and_units() {
        for (rows, scale) in [(3, 1.0), (15, 1e-30), (48, 1e30), (96, 1e7)] {
            let matrix = positive(rows, scale);
            let exact: [f64; LARGEST] =
                std::array::from_fn(|i| if i < rows { (i as f64).cos() } else { 0.0 });
            let mut x = [0.0; LARGEST];
            for i in 0..rows {
                x[i] = (0..rows).map(|j| matrix[i * LARGEST + j] * exact[j]).sum();
            }
            let mut inverse = DomainInverse::default();
            inverse.compute(&mut matrix.clone(), rows, Simd::Auto).unwrap();
            inverse.apply(&mut x, Simd::Auto);
            let error = x.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-3, "{rows} rows: {error}");
        }
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "builds with debug assertions only contain the baseline kernels")]
    fn instruction_sets_apply_the_same_inverse() {
        for rows in [3, 15, 48, 96] {
            let mut inverse = DomainInverse::default();
            inverse.compute(&mut positive(rows, 1.0), rows, Simd::Auto).unwrap();
            let mut x: [f64; LARGEST] =
                std::array::from_fn(|i| if i < rows { (i as f64).cos() } else { 0.0 });
            let mut baseline = x;
            inverse.apply(&mut x, Simd::Auto);
            inverse.apply(&mut baseline, Simd::Baseline);
            assert_eq!(x, baseline, "{rows} rows");
        }
    }

    #[test]
    fn what_is_not_definite_is_refused_at_its_row() {
        let mut matrix = positive(12, 1.0);
        matrix[7 * LARGEST + 7] = -1.0;
        assert_eq!(DomainInverse::default().compute(&mut matrix, 12, Simd::Auto), Err(7));
        let mut nan = positive(6, 1.0);
        nan[2 * LARGEST + 2] = f64::NAN;
        assert!(DomainInverse::default().compute(&mut nan, 6, Simd::Auto).is_err());
        assert!(DomainInverse::default().compute(&mut vec![0.0; LARGEST * LARGEST], 6, Simd::Auto).is_err());
    }
}
