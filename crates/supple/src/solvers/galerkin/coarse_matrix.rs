//! The coarse matrix `A' = Uᵀ A U` (Xian 2019, section 4.3). With one parent a node, block `A_ij` goes to exactly one block of the
//! coarse matrix, that of the parents `i'` and `j'` (equation 7; between coarse levels the same with shares `T` for `X`):
//!
//! ```text
//! A'_i'j' = Σ_ij T_iᵀ A_ij T_j             vertices: T_i is the row of the parent's functions at X_i
//! ```
//!
//! The sparsity, and the coarse block of every fine block, are found once. An update goes over coarse rows in parallel;
//! every row is summed by one thread in a fixed order. Blocks of a row that go to the same coarse block are first
//! summed as `Σ_j A_ij T_j` and multiplied by `T_iᵀ` once: a quarter of the work of equation 7 taken literally.

use std::sync::Arc;

use rayon::prelude::*;

use super::changes::Changes;
use super::entry::Entry;
use super::projection::Projection;
use crate::linear::BlockPattern;
use crate::simd::{Kernel, Simd, dispatch};

/// A level's matrix: `functions²` entries for every block of the pattern, by rows of functions.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a, E> {
    pub(super) functions: usize,
    pub(super) pattern: &'a BlockPattern,
    pub(super) entries: &'a [E],
}

impl<'a, E> Numbers<'a, E> {
    /// The entries at a slot of the pattern.
    pub(super) fn at(&self, slot: usize) -> &'a [E] {
        let size = self.functions * self.functions;
        &self.entries[slot * size..][..size]
    }
}

/// The matrix of a coarse level.
#[derive(Debug, Clone)]
pub(super) struct CoarseMatrix<E> {
    functions: usize,
    pattern: Arc<BlockPattern>,
    entries: Vec<E>,
    /// For every block of the finer pattern its place in the row of the coarse pattern.
    targets: Vec<u32>,
}

impl<E: Entry> CoarseMatrix<E> {
    /// Finds the sparsity of a coarse matrix.
    pub(super) fn new(fine: &BlockPattern, projection: &Projection) -> Self {
        let parents = &projection.parents;
        let count = projection.starts.len() - 1;
        let pattern = Arc::new(BlockPattern::new(&vec![false; count], &parent_pairs(fine, parents)));
        let target = |i: usize| {
            let (_, columns) = pattern.row(parents[i] as usize);
            let place = |&j: &u32| columns.partition_point(|&column| column < parents[j as usize]) as u32;
            fine.row(i).1.iter().map(place)
        };
        let targets = (0..fine.unknowns()).into_par_iter().with_min_len(512).flat_map_iter(target).collect();
        let functions = projection.functions[1];
        let entries = vec![E::ZERO; pattern.block_count() * functions * functions];
        Self { functions, pattern, entries, targets }
    }

    /// Its pattern.
    pub(super) fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// Its numbers.
    pub(super) fn numbers(&self) -> Numbers<'_, E> {
        Numbers { functions: self.functions, pattern: &self.pattern, entries: &self.entries }
    }

    /// Computes the numbers of the rows that have changed from those of the finer level.
    pub(super) fn update(
        &mut self,
        fine: Numbers<'_, E>,
        projection: &Projection,
        changes: &Changes,
        simd: Simd,
    ) {
        match projection.functions {
            [1, 1] => self.update_by::<1, 1>(fine, projection, changes, simd),
            [1, _] => self.update_by::<1, 4>(fine, projection, changes, simd),
            _ => self.update_by::<4, 4>(fine, projection, changes, simd),
        }
    }

    fn update_by<const C: usize, const P: usize>(
        &mut self,
        fine: Numbers<'_, E>,
        projection: &Projection,
        changes: &Changes,
        simd: Simd,
    ) {
        let Self { pattern, entries, targets, .. } = self;
        let has_changed = |k: usize| match changes {
            Changes::All => true,
            Changes::Rows(rows) => rows.binary_search(&(k as u32)).is_ok(),
        };
        let mut rows: Vec<(&mut [E], &[u32])> = Vec::with_capacity(pattern.unknowns());
        let mut rest = &mut entries[..];
        for (k, range) in projection.starts.windows(2).enumerate() {
            let (row, later) = rest.split_at_mut(pattern.row(k).1.len() * P * P);
            if has_changed(k) {
                rows.push((row, &projection.children[range[0]..range[1]]));
            }
            rest = later;
        }
        rows.par_iter_mut().with_min_len(4).for_each(|(row, children)| {
            dispatch(simd, SumRow::<E, C, P> { row, fine, children, projection, targets });
        });
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<E>() * self.entries.len() + 4 * self.targets.len() + self.pattern.bytes()
    }
}

/// A row of the coarse matrix from the rows of its children.
struct SumRow<'a, E, const C: usize, const P: usize> {
    row: &'a mut [E],
    fine: Numbers<'a, E>,
    children: &'a [u32],
    projection: &'a Projection,
    targets: &'a [u32],
}

impl<E: Entry, const C: usize, const P: usize> Kernel for SumRow<'_, E, C, P> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        self.row.fill(E::ZERO);
        for &child in self.children {
            add_row::<E, C, P>(self.row, self.fine, child as usize, self.projection, self.targets);
        }
    }
}

/// Adds the blocks of one fine row to its parent's row.
#[cfg_attr(not(debug_assertions), inline(always))]
fn add_row<E: Entry, const C: usize, const P: usize>(
    row: &mut [E],
    fine: Numbers<'_, E>,
    i: usize,
    projection: &Projection,
    targets: &[u32],
) {
    let (start, columns) = fine.pattern.row(i);
    let shares = |node: usize| -> &[[f32; P]] {
        let (shares, _) = projection.shares.as_chunks::<P>();
        &shares[C * node..][..C]
    };
    let mut sum = [[E::ZERO; P]; C];
    for (k, &j) in columns.iter().enumerate() {
        let slot = start + k;
        add_product(&mut sum, fine.at(slot), shares(j as usize));
        if columns.len() == k + 1 || targets[slot + 1] != targets[slot] {
            let target = &mut row[targets[slot] as usize * P * P..][..P * P];
            add_transposed_product(target, shares(i), &sum);
            sum = [[E::ZERO; P]; C];
        }
    }
}

/// `sum += A_ij T_j`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn add_product<E: Entry, const C: usize, const P: usize>(
    sum: &mut [[E; P]; C],
    block: &[E],
    shares: &[[f32; P]],
) {
    for (f, sum) in sum.iter_mut().enumerate() {
        for (block, shares) in block[f * C..].iter().zip(shares) {
            for (sum, &share) in sum.iter_mut().zip(shares) {
                *sum += *block * f64::from(share);
            }
        }
    }
}

/// `target += T_iᵀ sum`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn add_transposed_product<E: Entry, const C: usize, const P: usize>(
    target: &mut [E],
    shares: &[[f32; P]],
    sum: &[[E; P]; C],
) {
    for (shares, sum) in shares.iter().zip(sum) {
        for (target, &share) in target.chunks_exact_mut(P).zip(shares) {
            for (target, sum) in target.iter_mut().zip(sum) {
                *target += *sum * f64::from(share);
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
    use crate::linear::BlockMatrix;
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

    fn entries(numbers: Numbers<'_, DMat3>) -> Vec<Vec<f64>> {
        let size = 3 * numbers.functions;
        let n = numbers.pattern.unknowns();
        let mut rows = vec![vec![0.0; size * n]; size * n];
        for i in 0..n {
            let (start, columns) = numbers.pattern.row(i);
            for (k, &j) in columns.iter().enumerate() {
                for (e, block) in numbers.at(start + k).iter().enumerate() {
                    let (f, g) = (e / numbers.functions, e % numbers.functions);
                    for (r, c) in (0..3).flat_map(|r| (0..3).map(move |c| (r, c))) {
                        rows[size * i + 3 * f + r][size * j as usize + 3 * g + c] = block.col(c)[r];
                    }
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
            let numbers = Numbers { functions: 1, pattern: fine.pattern(), entries: fine.blocks() };
            let mut one = CoarseMatrix::new(fine.pattern(), &first);
            one.update(numbers, &first, &Changes::All, Simd::Auto);
            let u = dense(&first);
            let expected = product(&transposed(&u), &product(&entries(numbers), &u));
            assert_same(&entries(one.numbers()), &expected);
            let mut two = CoarseMatrix::new(one.pattern(), &second);
            // Twice: an update starts from nothing.
            two.update(one.numbers(), &second, &Changes::All, Simd::Auto);
            two.update(one.numbers(), &second, &Changes::All, Simd::Auto);
            let u = dense(&second);
            assert_same(&entries(two.numbers()), &product(&transposed(&u), &product(&expected, &u)));
        }
    }
}
