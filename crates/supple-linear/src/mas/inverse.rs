//! The inverses of the domains' matrices by one-way elimination (Wu 2022, section 6.2): the rows of `[A | 1]` are reduced from
//! the top only, which gives `L⁻¹` and the pivots `D` of `A = L D Lᵀ`, in place. Here by tiles of 8x8 numbers, with
//! `W = D^-½ L⁻¹`, so that `A⁻¹ = Wᵀ W`:
//!
//! ```text
//! for each tile row K:   G S Gᵀ = 1 for the tile S = A_KK;   W_KJ = G W_KJ (J < K),   W_KK = G
//!   for each I > K:      P_I = A_IK Gᵀ;   A_IJ -= P_I P_Jᵀ (K < J <= I);   W_IJ -= P_I W_KJ (J <= K)
//! ```
//!
//! Nodes are connected to few others, so most of the tiles `A_IK` are zero when they are reached: they are skipped,
//! with everything they would subtract.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use supple_core::simd::{Kernel, Lanes, Simd, WIDTH, dispatch};

/// Maximum number of nodes per domain.
pub const MOST_NODES: usize = 128;

/// Maximum number of tile rows per domain.
pub(super) const MOST_TILE_ROWS: usize = 3 * MOST_NODES / WIDTH;

/// A tile as a list of its columns.
pub(super) type InverseTile = [Lanes; WIDTH];

/// The tiles of a lower triangle.
pub(super) fn triangle(tile_rows: usize) -> usize {
    tile_rows * (tile_rows + 1) / 2
}

/// The index of the tile (i, j) of a lower triangle.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn at(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// Treatment of directions in which a matrix has no stiffness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SingularDirections {
    /// The matrix is rejected.
    Refuse,
    /// They get a trace of stiffness, or are excluded from the inverse: several motions of a supernode may move its
    /// nodes in the same way, or not at all.
    Soften,
}

/// Pivots below this fraction of their diagonal entry count as zero: a few hundred times machine precision.
const SMALLEST_PIVOT: f64 = 1e-14;

/// The trace of stiffness, as a fraction of the diagonal. Motions that are nearly the same (rotations of three nodes
/// in a row) would otherwise be amplified beyond single precision; the softest true motions lie above it, or are
/// handled by the next level.
const TRACE: f64 = 1e-6;

/// The diagonal of a matrix by tiles.
pub(super) type MatrixDiagonal = [[f64; WIDTH]; MOST_TILE_ROWS];

/// The diagonal of a matrix given by the tiles of its lower triangle.
pub(super) fn diagonal(tiles: &[InverseTile], rows: usize) -> MatrixDiagonal {
    let mut diagonal = [[0.0; WIDTH]; MOST_TILE_ROWS];
    for (row, entry) in diagonal.as_flattened_mut()[..rows].iter_mut().enumerate() {
        *entry = tiles[at(row / WIDTH, row / WIDTH)][row % WIDTH].0[row % WIDTH];
    }
    diagonal
}

/// Turns the lower triangle of a symmetric matrix, by tiles, into `W`. `Err` contains the row whose pivot is not positive.
pub(super) fn eliminate(
    tiles: &mut [InverseTile],
    rows: usize,
    diagonal: &MatrixDiagonal,
    flat: SingularDirections,
    simd: Simd,
) -> Result<(), usize> {
    dispatch(simd, Eliminate { tiles, rows, diagonal, flat })
}

struct Eliminate<'a> {
    tiles: &'a mut [InverseTile],
    rows: usize,
    diagonal: &'a MatrixDiagonal,
    flat: SingularDirections,
}

impl Kernel for Eliminate<'_> {
    type Output = Result<(), usize>;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) -> Result<(), usize> {
        let Self { tiles, rows, diagonal, flat } = self;
        let count = rows.div_ceil(WIDTH);
        if flat == SingularDirections::Soften {
            for row in 0..rows {
                tiles[at(row / WIDTH, row / WIDTH)][row % WIDTH].0[row % WIDTH] *= 1.0 + TRACE;
            }
        }
        for k in 0..count {
            let mut limits = diagonal[k];
            for r in 0..WIDTH {
                limits[r] *= SMALLEST_PIVOT;
            }
            let inside = (rows - k * WIDTH).min(WIDTH);
            let g = match reduced(&tiles[at(k, k)], &limits, inside, flat) {
                Ok(g) => g,
                Err(row) => return Err(k * WIDTH + row),
            };
            tiles[at(k, k)] = g;
            let mut minus_g = g;
            for c in 0..WIDTH {
                minus_g[c] = -g[c];
            }
            for j in 0..k {
                let mut scaled = ZERO;
                subtract_product(&mut scaled, &minus_g, &tiles[at(k, j)]);
                tiles[at(k, j)] = scaled;
            }
            reduce_below(tiles, k, count, &minus_g);
        }
        Ok(())
    }
}

/// Subtracts the tile row `k` from those below.
#[cfg_attr(not(debug_assertions), inline(always))]
fn reduce_below(tiles: &mut [InverseTile], k: usize, count: usize, minus_g: &InverseTile) {
    for i in k + 1..count {
        if is_zero(&tiles[at(i, k)]) {
            continue;
        }
        let mut panel = ZERO;
        subtract_product_transposed(&mut panel, &tiles[at(i, k)], minus_g);
        tiles[at(i, k)] = panel;
    }
    // From the last row up: the panels of the rows above are still needed.
    for i in (k + 1..count).rev() {
        let (above, row) = tiles.split_at_mut(at(i, 0));
        if is_zero(&row[k]) {
            continue;
        }
        let panel = row[k];
        for j in k + 1..i {
            if !is_zero(&above[at(j, k)]) {
                subtract_product_transposed(&mut row[j], &panel, &above[at(j, k)]);
            }
        }
        subtract_product_transposed(&mut row[i], &panel, &panel);
        row[k] = ZERO;
        for j in 0..=k {
            subtract_product(&mut row[j], &panel, &above[at(k, j)]);
        }
    }
}

const ZERO: InverseTile = [Lanes::ZERO; WIDTH];

#[cfg_attr(not(debug_assertions), inline(always))]
fn is_zero(tile: &InverseTile) -> bool {
    let mut bits = [0; WIDTH];
    for c in 0..WIDTH {
        for r in 0..WIDTH {
            bits[r] |= tile[c].0[r].to_bits();
        }
    }
    let mut any = 0;
    for r in 0..WIDTH {
        any |= bits[r];
    }
    // A tile with a negative zero does not count as zero: it is only multiplied in vain.
    any == 0
}

/// `G` with `G S Gᵀ = 1`, lower triangular; rows of excluded directions, and beyond `inside`, are zero.
#[cfg_attr(not(debug_assertions), inline(always))]
fn reduced(
    s: &InverseTile,
    limits: &[f64; WIDTH],
    inside: usize,
    flat: SingularDirections,
) -> Result<InverseTile, usize> {
    let mut a = [[0.0; WIDTH]; WIDTH];
    let mut g = [[0.0; WIDTH]; WIDTH];
    for r in 0..WIDTH {
        for c in 0..=r {
            a[r][c] = s[c].0[r];
            a[c][r] = s[c].0[r];
        }
        g[r][r] = 1.0;
    }
    for k in 0..WIDTH {
        let pivot = a[k][k];
        // Not `pivot <= limit`: NaN must not pass.
        if k >= inside || !(pivot > limits[k] && pivot.is_finite()) {
            if k < inside && (flat == SingularDirections::Refuse || !pivot.is_finite()) {
                return Err(k);
            }
            g[k] = [0.0; WIDTH];
            continue;
        }
        let (upper, own) = (a[k], g[k]);
        let inverse = 1.0 / pivot;
        for i in k + 1..WIDTH {
            let factor = a[i][k] * inverse;
            for j in 0..WIDTH {
                a[i][j] -= factor * upper[j];
                g[i][j] -= factor * own[j];
            }
        }
        let root = inverse.sqrt();
        for j in 0..WIDTH {
            g[k][j] *= root;
        }
    }
    let mut tile = [Lanes::default(); WIDTH];
    for r in 0..WIDTH {
        for c in 0..WIDTH {
            tile[c].0[r] = g[r][c];
        }
    }
    Ok(tile)
}

/// Columns of a tile product that are summed in registers.
const COLUMNS: usize = 4;

/// `sum -= a b`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn subtract_product(sum: &mut InverseTile, a: &InverseTile, b: &InverseTile) {
    let (halves, _) = sum.as_chunks_mut::<COLUMNS>();
    for h in 0..WIDTH / COLUMNS {
        let first = h * COLUMNS;
        let mut part = halves[h];
        for k in 0..WIDTH {
            for c in 0..COLUMNS {
                part[c] -= a[k] * b[first + c].0[k];
            }
        }
        halves[h] = part;
    }
}

/// `sum -= a bᵀ`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn subtract_product_transposed(sum: &mut InverseTile, a: &InverseTile, b: &InverseTile) {
    let (halves, _) = sum.as_chunks_mut::<COLUMNS>();
    for h in 0..WIDTH / COLUMNS {
        let first = h * COLUMNS;
        let mut part = halves[h];
        for k in 0..WIDTH {
            for c in 0..COLUMNS {
                part[c] -= a[k] * b[k].0[first + c];
            }
        }
        halves[h] = part;
    }
}
