//! Copies the numbers of a matrix to a level: rounded to single precision in the order of sweeps, with the inverses
//! of diagonal blocks and the data for Jacobi's damping. A whole row at once, while its numbers are in the cache;
//! diagonal blocks of eight rows side by side.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use super::numbers::Numbers;
use super::relaxation::Block;
use crate::definite_inverses;
use supple_core::simd::{Kernel, LaneMat3, Lanes, WIDTH, prefetch};

/// Approximate number of blocks of the next row: consecutive rows here are not consecutive in the matrix.
const AHEAD: usize = 12;

/// Consecutive rows to fill.
pub(super) struct Part<'a, const W: usize> {
    pub nodes: &'a [u32],
    /// Two per row, and the end.
    pub starts: &'a [usize],
    pub slots: &'a [u32],
    pub blocks: &'a mut [Block<W>],
    pub diagonals: &'a mut [Block<W>],
    pub inverses: &'a mut [Block<W>],
    /// For Jacobi.
    pub sums: &'a mut [f32],
}

/// Fills consecutive rows of a level whose nodes have `F` functions; returns the first node that is rejected.
pub(super) struct Fill<'a, const W: usize, const F: usize> {
    pub part: Part<'a, W>,
    pub numbers: Numbers<'a>,
    pub scale: f64,
}

impl<const W: usize, const F: usize> Kernel for Fill<'_, W, F> {
    type Output = Option<u32>;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) -> Option<u32> {
        let Self { part, numbers, scale } = self;
        for (k, block) in part.blocks.iter_mut().enumerate() {
            if let Some(&next) = part.slots.get(k + AHEAD) {
                prefetch(&numbers.at(next as usize).as_chunks::<W>().0.as_chunks::<W>().0[0]);
            }
            *block = rounded(&joined::<W, F>(numbers.at(part.slots[k] as usize), scale));
        }
        let mut refused = None;
        let groups = part.nodes.chunks(WIDTH).zip(part.diagonals.chunks_mut(WIDTH));
        for ((nodes, diagonals), inverses) in groups.zip(part.inverses.chunks_mut(WIDTH)) {
            let mut own = [[[0.0; W]; W]; WIDTH];
            for k in 0..nodes.len() {
                let slot = numbers.pattern.diagonal_slot(nodes[k] as usize);
                own[k] = joined::<W, F>(numbers.at(slot), scale);
                diagonals[k] = rounded(&own[k]);
            }
            let definite = invert_all(&mut own, nodes.len());
            for k in 0..nodes.len() {
                inverses[k] = rounded(&own[k]);
                if !definite[k] && refused.is_none_or(|other| nodes[k] < other) {
                    refused = Some(nodes[k]);
                }
            }
        }
        for (k, sum) in part.sums.iter_mut().enumerate() {
            let range = part.starts[2 * k] - part.starts[0]..part.starts[2 * k + 2] - part.starts[0];
            *sum = match W {
                3 => largest_row_sum::<W, 4>(&part.inverses[k], &part.blocks[range]),
                _ => largest_row_sum::<W, W>(&part.inverses[k], &part.blocks[range]),
            };
        }
        refused
    }
}

/// The largest sum of absolute values of a row of `D⁻¹ A`, in columns padded to `L` numbers: three do not fill a register.
#[cfg_attr(not(debug_assertions), inline(always))]
fn largest_row_sum<const W: usize, const L: usize>(inverse: &Block<W>, blocks: &[Block<W>]) -> f32 {
    let mut columns = [[0.0; L]; W];
    for c in 0..W {
        columns[c][..W].copy_from_slice(&inverse[c]);
    }
    let mut sums = [1.0; L];
    for block in blocks {
        for column in block {
            let mut product = [0.0; L];
            for k in 0..W {
                for r in 0..L {
                    product[r] += columns[k][r] * column[k];
                }
            }
            for r in 0..L {
                sums[r] += product[r].abs();
            }
        }
    }
    let mut largest = 0.0;
    for sum in sums {
        largest = f32::max(largest, sum);
    }
    largest
}

/// A block of numbers `[f][e][g]`, times `scale`, by columns.
#[cfg_attr(not(debug_assertions), inline(always))]
fn joined<const W: usize, const F: usize>(entries: &[f64], scale: f64) -> [[f64; W]; W] {
    let width = W / F;
    let entries = &entries[..W * W];
    let mut out = [[0.0; W]; W];
    for f in 0..F {
        for c in 0..width {
            for r in 0..width {
                for g in 0..F {
                    let entry = entries[((f * width + c) * width + r) * F + g];
                    out[width * g + c][width * f + r] = entry * scale;
                }
            }
        }
    }
    out
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn rounded<const W: usize>(block: &[[f64; W]; W]) -> Block<W> {
    let mut out = [[0.0; W]; W];
    for c in 0..W {
        for r in 0..W {
            out[c][r] = block[c][r] as f32;
        }
    }
    out
}

/// Inverts the first `count` of some diagonal blocks in place, with ones for functions that a rank-deficient node
/// does not have. Returns which of them are positive definite beyond rounding.
#[cfg_attr(not(debug_assertions), inline(always))]
fn invert_all<const W: usize>(blocks: &mut [[[f64; W]; W]; WIDTH], count: usize) -> [bool; WIDTH] {
    let mut lanes = [[Lanes::default(); W]; W];
    for c in 0..W {
        lanes[c][c] = Lanes::splat(1.0);
        for r in 0..W {
            for k in 0..count {
                lanes[c][r].0[k] = blocks[k][c][r];
            }
        }
    }
    let definite = match W {
        1 => invert_numbers(&mut lanes[0][0]),
        3 => invert_vertices(&mut lanes),
        _ => invert(&mut lanes),
    };
    for c in 0..W {
        for r in 0..W {
            for k in 0..count {
                blocks[k][c][r] = lanes[c][r].0[k];
            }
        }
    }
    definite
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn invert_numbers(numbers: &mut Lanes) -> [bool; WIDTH] {
    let mut definite = [false; WIDTH];
    for k in 0..WIDTH {
        definite[k] = numbers.0[k] > 0.0 && numbers.0[k].is_finite();
    }
    *numbers = Lanes::splat(1.0) / *numbers;
    definite
}

/// The blocks of vertices, against their traces.
#[cfg_attr(not(debug_assertions), inline(always))]
fn invert_vertices<const W: usize>(matrix: &mut [[Lanes; W]; W]) -> [bool; WIDTH] {
    let mut blocks = LaneMat3::default();
    for c in 0..3 {
        for r in 0..3 {
            blocks.0[c].0[r] = matrix[c][r];
        }
    }
    let (inverses, definite) = definite_inverses(blocks);
    for c in 0..3 {
        for r in 0..3 {
            matrix[c][r] = inverses.0[c].0[r];
        }
    }
    definite
}

/// Eight symmetric matrices, scaled to diagonals of ones, by sweeps (Goodnight 1979) over the diagonal and below: after
/// all of them it holds `-A⁻¹`, and pivots were those of a factorisation without pivoting.
#[cfg_attr(not(debug_assertions), inline(always))]
fn invert<const W: usize>(matrix: &mut [[Lanes; W]; W]) -> [bool; WIDTH] {
    let scales = scale_to_ones(matrix);
    let mut definite = [true; WIDTH];
    for k in 0..W {
        let pivot = matrix[k][k];
        for lane in 0..WIDTH {
            definite[lane] &= pivot.0[lane] > 1e-12 && pivot.0[lane].is_finite();
        }
        let inverse = Lanes::splat(1.0) / pivot;
        let mut column = [Lanes::default(); W];
        for i in 0..W {
            column[i] = if i < k { matrix[k][i] } else { matrix[i][k] };
        }
        for i in 0..W {
            let factor = column[i] * inverse;
            for j in 0..=i {
                matrix[i][j] -= factor * column[j];
            }
        }
        for i in 0..W {
            let (row, at) = if i < k { (k, i) } else { (i, k) };
            matrix[row][at] = column[i] * inverse;
        }
        matrix[k][k] = -inverse;
    }
    for i in 0..W {
        for j in 0..=i {
            matrix[i][j] = -(matrix[i][j] * scales[i] * scales[j]);
            matrix[j][i] = matrix[i][j];
        }
    }
    definite
}

/// Scales matrices to diagonals of ones, also where a function is missing; returns the factors of rows and columns.
#[cfg_attr(not(debug_assertions), inline(always))]
fn scale_to_ones<const W: usize>(matrix: &mut [[Lanes; W]; W]) -> [Lanes; W] {
    let mut scales = [Lanes::splat(1.0); W];
    for i in 0..W {
        let root = Lanes::splat(1.0) / matrix[i][i].sqrt();
        for lane in 0..WIDTH {
            if matrix[i][i].0[lane] == 0.0 {
                matrix[i][i].0[lane] = 1.0;
            } else {
                scales[i].0[lane] = root.0[lane];
            }
        }
    }
    for i in 0..W {
        for j in 0..=i {
            matrix[i][j] = matrix[i][j] * scales[i] * scales[j];
        }
    }
    scales
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A random symmetric matrix, positive definite by its diagonal, without functions from `rank` on.
    fn matrix(seed: usize, rank: usize) -> [[f64; 12]; 12] {
        let wave = |i: usize, j: usize| (1.3 * (seed + i * j) as f64 + 0.7 * (i + j) as f64).sin();
        let mut matrix = [[0.0; 12]; 12];
        for (i, j) in (0..rank).flat_map(|i| (0..rank).map(move |j| (i, j))) {
            let size = 10.0f64.powi((i % 3 + j % 3) as i32);
            matrix[i][j] = size * if i == j { 13.0 } else { wave(i, j) };
        }
        matrix
    }

    #[test]
    fn eight_blocks_are_inverted_at_once_with_ones_for_missing_functions() {
        let ranks = [12, 12, 9, 3, 12, 6, 12];
        let blocks: [[[f64; 12]; 12]; WIDTH] =
            std::array::from_fn(|k| matrix(31 * k, ranks.get(k).copied().unwrap_or(12)));
        let mut inverses = blocks;
        assert_eq!(invert_all(&mut inverses, ranks.len()), [true; WIDTH]);
        for (k, &rank) in ranks.iter().enumerate() {
            for (i, j) in (0..12).flat_map(|i| (0..12).map(move |j| (i, j))) {
                let mut product: f64 = (0..12).map(|l| inverses[k][i][l] * blocks[k][l][j]).sum();
                if i >= rank && i == j {
                    product += inverses[k][i][j];
                }
                let expected = f64::from(u8::from(i == j));
                assert!((product - expected).abs() < 1e-10, "{k}: {i} {j} {product}");
            }
        }
    }

    #[test]
    fn blocks_that_are_not_definite_are_distinguished_from_their_neighbours() {
        let mut blocks = [matrix(5, 12); WIDTH];
        blocks[2][4][4] *= -1.0;
        (blocks[5][3][7], blocks[5][7][3]) = (1e6, 1e6);
        blocks[6][0][0] = f64::NAN;
        let definite = invert_all(&mut blocks, WIDTH);
        assert_eq!(definite, [true, true, false, true, true, false, false, true]);
        let mut numbers = [[[2.0]], [[0.0]], [[-1.0]], [[f64::INFINITY]], [[1.0]], [[1.0]], [[1.0]], [[1.0]]];
        assert_eq!(invert_all(&mut numbers, 4)[..4], [true, false, false, false]);
        assert_eq!(numbers[0], [[0.5]]);
    }
}
