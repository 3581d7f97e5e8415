//! The coarse matrix `A' = Uᵀ A U` (Xian 2019, section 4.3). With one parent per node, block `A_ij` contributes to
//! exactly one block of the coarse matrix, that of the parents `i'` and `j'` (equation 7; between coarse levels the
//! same with shares `T` for `X`):
//!
//! ```text
//! A'_i'j' = Σ_ij T_iᵀ A_ij T_j             vertices: T_i is the row of the parent's functions at X_i
//! ```
//!
//! The sparsity, and which fine blocks make up a coarse one, are found once. An update goes over coarse rows in parallel;
//! every row is summed by one thread in a fixed order. Blocks of a row that go to the same coarse block are first
//! summed as `Σ_j A_ij T_j` and multiplied by `T_iᵀ` once: a quarter of the work of equation 7 taken literally. The matrix is
//! symmetric: blocks to later parents are summed and mirrored, and of those within a parent one half and half the diagonal,
//! `A'_i'i' = S + Sᵀ`.

use std::sync::Arc;

use supple_core::parallel::prelude::*;

use super::changes::Changes;
use super::numbers::Numbers;
use super::projection::Projection;
use crate::BlockPattern;
use supple_core::simd::{Kernel, Simd, dispatch, prefetch};

/// Approximate number of blocks of the next fine row, which is elsewhere in memory.
const AHEAD: usize = 8;

/// The matrix of a coarse level.
#[derive(Debug, Clone)]
pub(super) struct CoarseMatrix {
    width: usize,
    functions: usize,
    pattern: Arc<BlockPattern>,
    entries: Vec<f64>,
    sums: Sums,
}

/// The fine blocks that contribute to the coarse rows, from the diagonals on.
#[derive(Debug, Clone, Default)]
struct Sums {
    /// Row `k` has the runs `starts[k]..starts[k + 1]`.
    starts: Vec<usize>,
    runs: Vec<Run>,
    /// Slot and column of every fine block, run after run.
    blocks: Vec<[u32; 2]>,
}

/// The blocks of a fine row that contribute to the same coarse block. If that is on the diagonal, the fine row's own
/// comes first.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// The fine row.
    child: u32,
    /// Index among the coarse row's blocks, counted from the diagonal.
    target: u32,
    /// Its blocks.
    range: [u32; 2],
}

impl Sums {
    fn new(fine: &BlockPattern, coarse: &BlockPattern, projection: &Projection) -> Self {
        let rows = (0..coarse.unknowns()).into_par_iter().with_min_len(16);
        let rows: Vec<Self> = rows.map(|k| Self::of_row(fine, coarse, projection, k)).collect();
        let mut sums = Self { starts: vec![0], ..Self::default() };
        for row in rows {
            let first = sums.blocks.len() as u32;
            sums.runs
                .extend(row.runs.iter().map(|run| Run { range: run.range.map(|at| at + first), ..*run }));
            sums.blocks.extend(row.blocks);
            sums.starts.push(sums.runs.len());
        }
        sums
    }

    /// Those of coarse row `k`.
    fn of_row(fine: &BlockPattern, coarse: &BlockPattern, projection: &Projection, k: usize) -> Self {
        let mut sums = Self::default();
        let (first, columns) = coarse.row(k);
        let columns = &columns[coarse.diagonal_slot(k) - first..];
        let parent = |j: u32| projection.parents[j as usize] as usize;
        let target = |j: u32| columns.partition_point(|&column| (column as usize) < parent(j)) as u32;
        let mut row: Vec<[u32; 3]> = Vec::new();
        for &child in &projection.children[projection.starts[k]..projection.starts[k + 1]] {
            let (start, others) = fine.row(child as usize);
            let counts = |j: u32| parent(j) > k || (parent(j) == k && j >= child);
            let blocks = (start as u32..).zip(others).filter(|(_, j)| counts(**j));
            row.clear();
            row.extend(blocks.map(|(slot, &j)| [target(j), slot, j]));
            row.sort_unstable();
            sums.push_runs(child, &row);
        }
        sums
    }

    /// Adds the blocks of a fine row, sorted by target.
    fn push_runs(&mut self, child: u32, row: &[[u32; 3]]) {
        for run in row.chunk_by(|a, b| a[0] == b[0]) {
            let first = self.blocks.len() as u32;
            self.runs.push(Run { child, target: run[0][0], range: [first, first + run.len() as u32] });
            self.blocks.extend(run.iter().map(|&[_, slot, j]| [slot, j]));
        }
    }

    fn bytes(&self) -> usize {
        8 * self.starts.len() + size_of::<Run>() * self.runs.len() + 8 * self.blocks.len()
    }
}

impl CoarseMatrix {
    /// Finds the sparsity of a coarse matrix with this many unknowns per function.
    pub(super) fn new(width: usize, fine: &BlockPattern, projection: &Projection) -> Self {
        let count = projection.starts.len() - 1;
        let pairs = parent_pairs(fine, &projection.parents);
        let pattern = Arc::new(BlockPattern::new(&vec![false; count], &pairs));
        let functions = projection.functions[1];
        let entries = vec![0.0; pattern.block_count() * (width * functions).pow(2)];
        let sums = Sums::new(fine, &pattern, projection);
        Self { width, functions, pattern, entries, sums }
    }

    /// Its pattern.
    pub(super) fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// Its numbers.
    pub(super) fn numbers(&self) -> Numbers<'_> {
        let Self { width, functions, pattern, entries, .. } = self;
        Numbers { width: *width, functions: *functions, pattern, entries }
    }

    /// Computes the numbers of the rows that have changed from those of the finer level.
    pub(super) fn update(
        &mut self,
        fine: Numbers<'_>,
        projection: &Projection,
        changes: &Changes,
        simd: Simd,
    ) {
        match (self.width, projection.functions) {
            (1, [1, 1]) => self.update_by::<1, 1, 1>(fine, projection, changes, simd),
            (1, [1, _]) => self.update_by::<1, 1, 4>(fine, projection, changes, simd),
            (1, _) => self.update_by::<1, 4, 4>(fine, projection, changes, simd),
            (_, [1, 1]) => self.update_by::<9, 1, 1>(fine, projection, changes, simd),
            (_, [1, _]) => self.update_by::<9, 1, 4>(fine, projection, changes, simd),
            _ => self.update_by::<9, 4, 4>(fine, projection, changes, simd),
        }
    }

    /// With `N` numbers for a pair of functions, of which finer nodes have `C` and coarser ones `P`.
    fn update_by<const N: usize, const C: usize, const P: usize>(
        &mut self,
        fine: Numbers<'_>,
        projection: &Projection,
        changes: &Changes,
        simd: Simd,
    ) {
        let Self { pattern, entries, sums, .. } = self;
        let (mut before, mut after) = halves::<N, P>(pattern, entries);
        let rows = after.par_iter_mut().enumerate().with_min_len(4).filter(|(k, _)| changes.include(*k));
        rows.for_each(|(k, row)| {
            let runs = &sums.runs[sums.starts[k]..sums.starts[k + 1]];
            dispatch(simd, SumRow::<N, C, P> { row, fine, runs, blocks: &sums.blocks, projection });
        });
        let after = &after;
        let rows = before.par_iter_mut().enumerate().with_min_len(4).filter(|(k, _)| changes.include(*k));
        rows.for_each(|(k, row)| {
            for (block, &j) in row.iter_mut().zip(pattern.row(k).1) {
                let (first, columns) = pattern.row(j as usize);
                let diagonal = pattern.diagonal_slot(j as usize) - first;
                let place = columns[diagonal..].partition_point(|&column| (column as usize) < k);
                mirror(&after[j as usize][place], block);
            }
        });
    }

    pub(super) fn bytes(&self) -> usize {
        8 * self.entries.len() + self.sums.bytes() + self.pattern.bytes()
    }
}

/// A block of a level whose nodes have `P` functions.
type Block<const N: usize, const P: usize> = [[[f64; P]; N]; P];

/// A flat list as blocks.
#[cfg_attr(not(debug_assertions), inline(always))]
fn blocks<const N: usize, const P: usize>(entries: &[f64]) -> &[Block<N, P>] {
    entries.as_chunks::<P>().0.as_chunks::<N>().0.as_chunks::<P>().0
}

/// The blocks of every row before its diagonal, and from there on.
type Halves<'a, const N: usize, const P: usize> = (Vec<&'a mut [Block<N, P>]>, Vec<&'a mut [Block<N, P>]>);

fn halves<'a, const N: usize, const P: usize>(
    pattern: &BlockPattern,
    entries: &'a mut [f64],
) -> Halves<'a, N, P> {
    let mut rest = entries.as_chunks_mut::<P>().0.as_chunks_mut::<N>().0.as_chunks_mut::<P>().0;
    let mut cut = |count: usize| {
        let (part, later) = std::mem::take(&mut rest).split_at_mut(count);
        rest = later;
        part
    };
    let row = |k: usize| {
        let (first, columns) = pattern.row(k);
        let earlier = pattern.diagonal_slot(k) - first;
        (cut(earlier), cut(columns.len() - earlier))
    };
    (0..pattern.unknowns()).map(row).unzip()
}

/// `target = blockᵀ`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn mirror<const N: usize, const P: usize>(block: &Block<N, P>, target: &mut Block<N, P>) {
    for f in 0..P {
        for e in 0..N {
            for g in 0..P {
                target[g][transposed::<N>(e)][f] = block[f][e][g];
            }
        }
    }
}

/// The index of an entry of a 3x3 block, or of a number, in the transpose.
#[cfg_attr(not(debug_assertions), inline(always))]
fn transposed<const N: usize>(entry: usize) -> usize {
    if N == 9 { 3 * (entry % 3) + entry / 3 } else { entry }
}

/// A row of the coarse matrix, from its diagonal on, from the rows of its children.
struct SumRow<'a, const N: usize, const C: usize, const P: usize> {
    row: &'a mut [Block<N, P>],
    fine: Numbers<'a>,
    runs: &'a [Run],
    blocks: &'a [[u32; 2]],
    projection: &'a Projection,
}

impl<const N: usize, const C: usize, const P: usize> Kernel for SumRow<'_, N, C, P> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let fine = blocks::<N, C>(self.fine.entries);
        let shares = self.projection.shares.as_chunks::<P>().0.as_chunks::<C>().0;
        self.row.fill([[[0.0; P]; N]; P]);
        for run in self.runs {
            let mut sum = [[[0.0; P]; N]; C];
            let range = run.range[0] as usize..run.range[1] as usize;
            for (k, &[slot, column]) in range.clone().zip(&self.blocks[range]) {
                if let Some(next) = self.blocks.get(k + AHEAD) {
                    prefetch(&fine[next[0] as usize]);
                }
                add_product::<N, C, P>(&mut sum, &fine[slot as usize], &shares[column as usize]);
                // A child's own block comes first in its run; the mirror gives its other half.
                if column == run.child {
                    halve(&mut sum);
                }
            }
            let target = &mut self.row[run.target as usize];
            add_transposed_product::<N, C, P>(target, &shares[run.child as usize], &sum);
        }
        let half = self.row[0];
        let mut other = half;
        mirror(&half, &mut other);
        add(&mut self.row[0], &other);
    }
}

/// `sum += A_ij T_j`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn add_product<const N: usize, const C: usize, const P: usize>(
    sum: &mut [[[f64; P]; N]; C],
    block: &Block<N, C>,
    shares: &[[f32; P]; C],
) {
    for f in 0..C {
        for g in 0..C {
            let mut share = [0.0; P];
            for h in 0..P {
                share[h] = f64::from(shares[g][h]);
            }
            for e in 0..N {
                for h in 0..P {
                    sum[f][e][h] += block[f][e][g] * share[h];
                }
            }
        }
    }
}

/// `target += T_iᵀ sum`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn add_transposed_product<const N: usize, const C: usize, const P: usize>(
    target: &mut Block<N, P>,
    shares: &[[f32; P]; C],
    sum: &[[[f64; P]; N]; C],
) {
    for f in 0..C {
        for h in 0..P {
            let share = f64::from(shares[f][h]);
            for e in 0..N {
                for g in 0..P {
                    target[h][e][g] += share * sum[f][e][g];
                }
            }
        }
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn halve<const N: usize, const C: usize, const P: usize>(sum: &mut [[[f64; P]; N]; C]) {
    for number in sum.as_flattened_mut().as_flattened_mut() {
        *number *= 0.5;
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn add<const N: usize, const P: usize>(sum: &mut Block<N, P>, other: &Block<N, P>) {
    for f in 0..P {
        for e in 0..N {
            for g in 0..P {
                sum[f][e][g] += other[f][e][g];
            }
        }
    }
}

/// The pairs of different parents that fine blocks couple, with repeats.
fn parent_pairs(fine: &BlockPattern, parents: &[u32]) -> Vec<[u32; 2]> {
    let pairs = |i: usize| {
        let own = parents[i];
        let others = fine.row(i).1.iter().map(|&j| parents[j as usize]);
        // Each pair once from either side; runs of the same parent once.
        let mut last = own;
        others.filter_map(move |other| {
            let news = other < own && other != last;
            last = other;
            news.then_some([own, other])
        })
    };
    (0..fine.unknowns()).into_par_iter().with_min_len(512).flat_map_iter(pairs).collect()
}

#[cfg(test)]
mod tests {
    use glam::DMat3;

    use super::*;
    use crate::BlockMatrix;
    use proptest::prelude::*;

    fn wave(i: usize) -> f64 {
        (1.7 * i as f64 + 0.3 * (i * i % 97) as f64).sin()
    }

    /// A random symmetric matrix over `nodes` nodes.
    fn matrix(nodes: u32, pairs: &[(u32, u32)]) -> BlockMatrix {
        let pairs: Vec<[u32; 2]> =
            pairs.iter().map(|&(a, b)| [a % nodes, b % nodes]).filter(|[a, b]| a != b).collect();
        let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; nodes as usize], &pairs)));
        let block = |seed: usize| DMat3::from_cols_array(&std::array::from_fn(|e| wave(9 * seed + e)));
        for (k, [a, b]) in pairs.into_iter().enumerate() {
            matrix.add_pair(a, b, block(k));
        }
        (0..nodes).for_each(|v| matrix.add_diagonal(v, block(v as usize) + block(v as usize).transpose()));
        matrix
    }

    /// `U` as a dense matrix: `3 functions[0] nodes` rows.
    fn dense(projection: &Projection) -> Vec<Vec<f64>> {
        let [c, p] = projection.functions;
        let mut rows =
            vec![vec![0.0; 3 * p * (projection.starts.len() - 1)]; 3 * c * projection.parents.len()];
        for (node, &parent) in projection.parents.iter().enumerate() {
            for (f, g, d) in (0..c).flat_map(|f| (0..p).flat_map(move |g| (0..3).map(move |d| (f, g, d)))) {
                rows[3 * (c * node + f) + d][3 * (p * parent as usize + g) + d] =
                    f64::from(projection.shares[(node * c + f) * p + g]);
            }
        }
        rows
    }

    fn entries(numbers: Numbers<'_>) -> Vec<Vec<f64>> {
        let size = numbers.width * numbers.functions;
        let n = numbers.pattern.unknowns();
        let mut rows = vec![vec![0.0; size * n]; size * n];
        for i in 0..n {
            let (start, columns) = numbers.pattern.row(i);
            for (k, &j) in columns.iter().enumerate() {
                for (r, c) in (0..size).flat_map(|r| (0..size).map(move |c| (r, c))) {
                    rows[size * i + r][size * j as usize + c] = numbers.entry(start + k, r, c);
                }
            }
        }
        rows
    }

    fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let row = |a: &Vec<f64>| {
            (0..b.first().map_or(0, Vec::len)).map(|c| a.iter().zip(b).map(|(a, b)| a * b[c]).sum()).collect()
        };
        a.iter().map(row).collect()
    }

    fn transposed(a: &[Vec<f64>]) -> Vec<Vec<f64>> {
        (0..a[0].len()).map(|c| a.iter().map(|row| row[c]).collect()).collect()
    }

    fn projection(functions: [usize; 2], nodes: usize, count: usize, seed: usize) -> Projection {
        let parent = |i: usize| if i < count { i as u32 } else { ((i * 7 + seed) % count) as u32 };
        let shares = (0..nodes * functions[0] * functions[1]).map(|i| wave(i + seed) as f32).collect();
        Projection::new(functions, (0..nodes).map(parent).collect(), count, shares)
    }

    fn assert_same(a: &[Vec<f64>], b: &[Vec<f64>]) {
        let largest = b.iter().flatten().fold(0.0, |m: f64, e| m.max(e.abs()));
        for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
            assert!((a - b).abs() < 1e-13 * largest, "{a} {b}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn coarse_matrices_are_the_plain_triple_products_on_every_level(
            nodes in 5u32..24,
            pairs in prop::collection::vec((0u32..24, 0u32..24), 0..60),
            affine: bool,
            seed in 0usize..1000,
        ) {
            let functions = if affine { 4 } else { 1 };
            let fine = matrix(nodes, &pairs);
            let first = projection([1, functions], nodes as usize, 5, seed);
            let second = projection([functions, functions], 5, 2, seed + 5);
            let flat = bytemuck::cast_slice(fine.blocks());
            let numbers = Numbers { width: 3, functions: 1, pattern: fine.pattern(), entries: flat };
            let mut one = CoarseMatrix::new(3, fine.pattern(), &first);
            one.update(numbers, &first, &Changes::All, Simd::Auto);
            let u = dense(&first);
            let expected = product(&transposed(&u), &product(&entries(numbers), &u));
            assert_same(&entries(one.numbers()), &expected);
            let mut two = CoarseMatrix::new(3, one.pattern(), &second);
            // Twice: an update does not depend on earlier values.
            two.update(one.numbers(), &second, &Changes::All, Simd::Auto);
            two.update(one.numbers(), &second, &Changes::All, Simd::Auto);
            let u = dense(&second);
            assert_same(&entries(two.numbers()), &product(&transposed(&u), &product(&expected, &u)));
        }
    }
}
