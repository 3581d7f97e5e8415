//! Sparse Cholesky factorisation: the pattern is analysed once and refactored for each matrix, by the multifrontal
//! method on all threads, bit-identical for any number of them.

use std::alloc::{Layout, handle_alloc_error};
use std::sync::Arc;

use glam::{DMat3, DVec3};

use crate::direct::{AdjacencyGraph, BlockValues, FrontEntry, Multifrontal, Ordering, SolveSpace};
use crate::{BlockMatrix, BlockPattern, ExtraBlock, LinearError, Simd};

/// The outcome of a factorisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factorisation {
    /// The factor is ready.
    Done,
    /// A pivot was not positive: the matrix is not positive definite, or not finite.
    NotPositiveDefinite,
}

/// A new analysis may cost up to this multiple of the work of the ordering found for the pattern alone before another
/// ordering is computed.
const TOLERATED_WORK: f64 = 1.5;

/// A sparse Cholesky solver for matrices of one pattern.
///
/// Blocks outside the pattern ([`BlockMatrix::outside`]) are included. Those that coincide with fill of the factor
/// cost nothing; for others the structure is analysed again with them, in the same elimination order while that stays
/// cheap, and kept until other blocks do not fit. If memory runs out in the process, the program aborts, as for any
/// vector.
pub struct Cholesky {
    pattern: Arc<BlockPattern>,
    positions: Option<Vec<DVec3>>,
    ordering: Ordering,
    simd: Simd,
    analysis: Analysis,
    /// The elimination order found for the pattern alone, and its work.
    first_order: (Vec<u32>, f64),
    /// Whether the next analysis depends only on the next matrix, not on earlier ones.
    forgetful: bool,
    /// Whether the analysis includes blocks outside the pattern.
    extended: bool,
    outside: Vec<FrontEntry>,
    space: SolveSpace<f64>,
}

impl Cholesky {
    /// Analyses a pattern, with the `positions` of its vertices or of its unknowns, at rest or current: they lead to
    /// a better elimination order than the graph alone. Fails only when memory runs out.
    pub fn new(
        pattern: Arc<BlockPattern>,
        positions: Option<&[DVec3]>,
        simd: Simd,
    ) -> Result<Self, LinearError> {
        Self::with_ordering(pattern, positions, Ordering::Best, simd)
    }

    /// The same with a choice of the ordering method.
    pub fn with_ordering(
        pattern: Arc<BlockPattern>,
        positions: Option<&[DVec3]>,
        ordering: Ordering,
        simd: Simd,
    ) -> Result<Self, LinearError> {
        let positions = positions.and_then(|x| of_unknowns(&pattern, x));
        let graph = AdjacencyGraph::new(&pattern, &[]);
        let order = ordering.order(&graph, positions.as_deref());
        let analysis = Analysis::new(&pattern, &graph, &order, 3, simd)?;
        let first_order = (analysis.frontal.order(), analysis.frontal.work());
        let (outside, space) = (Vec::new(), SolveSpace::default());
        Ok(Self {
            pattern,
            positions,
            ordering,
            simd,
            analysis,
            first_order,
            forgetful: false,
            extended: false,
            outside,
            space,
        })
    }

    /// The pattern it was created for.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// Memory of the factor and its workspace, in bytes.
    pub fn bytes(&self) -> usize {
        self.analysis.bytes()
    }

    /// Stored numbers of the factor.
    pub fn factor_len(&self) -> usize {
        self.analysis.frontal.stored()
    }

    /// Approximate number of multiplications of a factorisation of the pattern.
    pub fn work(&self) -> f64 {
        self.first_order.1
    }

    /// Makes the next analysis depend only on the next matrix: factors then do not depend on matrices before this call.
    pub fn forget(&mut self) {
        self.forgetful = true;
    }

    /// Factorises a matrix on this pattern.
    pub fn factorise(&mut self, matrix: &BlockMatrix) -> Factorisation {
        let renew = std::mem::replace(&mut self.forgetful, false) && self.is_extended_for(matrix);
        if renew || !self.place_outside(matrix) {
            self.extend(matrix);
            let placed = self.place_outside(matrix);
            assert!(placed, "an analysis contains all blocks it was created for");
        }
        let Analysis { frontal, entries } = &mut self.analysis;
        let numbers = MatrixNumbers { blocks: matrix.blocks(), outside: matrix.outside() };
        let good = frontal.factorise(&numbers, [entries, &self.outside]);
        if good { Factorisation::Done } else { Factorisation::NotPositiveDefinite }
    }

    /// Solves with the last factorisation, in place.
    pub fn solve(&mut self, x: &mut [DVec3]) {
        let scalars: &mut [f64] = bytemuck::cast_slice_mut(x);
        self.analysis.frontal.solve(scalars, &mut self.space);
    }

    /// Finds the slots of blocks outside the pattern; `false` if the factor lacks one.
    fn place_outside(&mut self, matrix: &BlockMatrix) -> bool {
        self.outside.clear();
        let first = self.pattern.block_count() as u32;
        for (block, k) in matrix.outside().iter().zip(0..) {
            let Some((entry, transposed)) = self.analysis.frontal.entry([block.row, block.column]) else {
                return false;
            };
            self.outside.push(FrontEntry { slot: first + 2 * k + u32::from(transposed), ..entry });
        }
        self.outside.sort_by_key(|entry| entry.supernode);
        true
    }

    /// Whether the analysis includes blocks outside the pattern, or a matrix requires it.
    fn is_extended_for(&self, matrix: &BlockMatrix) -> bool {
        self.extended || !matrix.outside().is_empty()
    }

    fn extend(&mut self, matrix: &BlockMatrix) {
        self.extended = !matrix.outside().is_empty();
        let pairs: Vec<[u32; 2]> = matrix.outside().iter().map(|block| [block.row, block.column]).collect();
        let graph = AdjacencyGraph::new(&self.pattern, &pairs);
        let (order, before) = &self.first_order;
        let analyse = |order: &[u32]| Analysis::new(&self.pattern, &graph, order, 3, self.simd);
        let analysis = match analyse(order) {
            Ok(same_order) if same_order.frontal.work() <= TOLERATED_WORK * *before => Ok(same_order),
            _ => analyse(&self.ordering.order(&graph, self.positions.as_deref())),
        };
        self.analysis = analysis.unwrap_or_else(|_| handle_alloc_error(Layout::new::<f64>()));
    }
}

/// A sparse Cholesky solver for matrices whose blocks are multiples of the identity, one number each: a third of the
/// rows, and three right-hand sides at once.
pub struct ScalarCholesky {
    pattern: Arc<BlockPattern>,
    analysis: Analysis,
    space: SolveSpace<DVec3>,
}

impl ScalarCholesky {
    /// Analyses a pattern, with `positions` as for [`Cholesky::new`]. Fails only when memory runs out; the text says
    /// so.
    pub fn new(
        pattern: Arc<BlockPattern>,
        positions: Option<&[DVec3]>,
        simd: Simd,
    ) -> Result<Self, LinearError> {
        let positions = positions.and_then(|x| of_unknowns(&pattern, x));
        let graph = AdjacencyGraph::new(&pattern, &[]);
        let order = Ordering::Best.order(&graph, positions.as_deref());
        let analysis = Analysis::new(&pattern, &graph, &order, 1, simd)?;
        Ok(Self { pattern, analysis, space: SolveSpace::default() })
    }

    /// Memory of the factor and its workspace, in bytes.
    pub fn bytes(&self) -> usize {
        self.analysis.bytes()
    }

    /// Factorises the matrix with one number per slot of the pattern.
    pub fn factorise(&mut self, numbers: &[f64]) -> Factorisation {
        assert_eq!(numbers.len(), self.pattern.block_count(), "one number per slot of the pattern");
        let Analysis { frontal, entries } = &mut self.analysis;
        let good = frontal.factorise(&ScalarNumbers(numbers), [entries, &[]]);
        if good { Factorisation::Done } else { Factorisation::NotPositiveDefinite }
    }

    /// Solves with the last factorisation, in place: each component is a right-hand side.
    pub fn solve(&mut self, x: &mut [DVec3]) {
        self.analysis.frontal.solve(x, &mut self.space);
    }
}

/// The positions of the unknowns; `None` if they belong to another mesh.
fn of_unknowns(pattern: &BlockPattern, positions: &[DVec3]) -> Option<Vec<DVec3>> {
    if positions.len() == pattern.unknowns() {
        return Some(positions.to_vec());
    }
    let vertices = 0..pattern.vertices() as u32;
    (positions.len() == pattern.vertices())
        .then(|| vertices.filter(|&v| pattern.unknown(v).is_some()).map(|v| positions[v as usize]).collect())
}

/// The structure of a factor and the location of the pattern's blocks in it.
struct Analysis {
    frontal: Multifrontal,
    entries: Vec<FrontEntry>,
}

impl Analysis {
    fn new(
        pattern: &BlockPattern,
        graph: &AdjacencyGraph,
        order: &[u32],
        dof: usize,
        simd: Simd,
    ) -> Result<Self, LinearError> {
        let frontal = Multifrontal::new(graph, order, dof, simd)?;
        let mut entries = Vec::with_capacity(pattern.block_count() / 2 + pattern.unknowns());
        for i in 0..pattern.unknowns() {
            let (start, columns) = pattern.row(i);
            for (&j, slot) in columns.iter().zip(start as u32..) {
                // Of (i, j) and (j, i) the one below the diagonal after reordering.
                match frontal.entry([i as u32, j]) {
                    Some((entry, false)) => entries.push(FrontEntry { slot, ..entry }),
                    Some((_, true)) => {}
                    None => {
                        let problem = "sparse Cholesky: a block has no place in the factor";
                        return Err(LinearError::Unsolvable(problem.to_owned()));
                    }
                }
            }
        }
        entries.sort_unstable_by_key(|entry| (entry.supernode, entry.column, entry.row));
        Ok(Self { frontal, entries })
    }

    fn bytes(&self) -> usize {
        self.frontal.bytes() + size_of::<FrontEntry>() * self.entries.len()
    }
}

struct MatrixNumbers<'a> {
    blocks: &'a [DMat3],
    outside: &'a [ExtraBlock],
}

impl BlockValues for MatrixNumbers<'_> {
    #[inline]
    fn scalar(&self, slot: u32, row: usize, column: usize) -> f64 {
        let slot = slot as usize;
        match slot.checked_sub(self.blocks.len()) {
            None => self.blocks[slot].col(column)[row],
            Some(more) if more % 2 == 0 => self.outside[more / 2].block.col(column)[row],
            Some(more) => self.outside[more / 2].block.col(row)[column],
        }
    }
}

struct ScalarNumbers<'a>(&'a [f64]);

impl BlockValues for ScalarNumbers<'_> {
    #[inline]
    fn scalar(&self, slot: u32, _: usize, _: usize) -> f64 {
        self.0[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinearOperator;
    use proptest::prelude::*;

    /// A matrix on `pairs` with blocks from a sine, made strictly diagonally dominant.
    fn dominant(n: usize, pattern: &[[u32; 2]], pairs: &[[u32; 2]]) -> BlockMatrix {
        let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; n], pattern)));
        for (k, &[a, b]) in pairs.iter().enumerate().filter(|(_, [a, b])| a != b) {
            let block = DMat3::from_cols_array(&std::array::from_fn(|e| ((k * 9 + e) as f64).sin()));
            matrix.add_pair(a, b, block);
            matrix.add_diagonal(a, DMat3::from_diagonal(DVec3::splat(4.0)));
            matrix.add_diagonal(b, DMat3::from_diagonal(DVec3::splat(4.0)));
        }
        matrix.shift_diagonal(1.0);
        matrix
    }

    fn chain(n: u32) -> Vec<[u32; 2]> {
        (1..n).flat_map(|i| [[i - 1, i], [i, i.saturating_sub(7)]]).collect()
    }

    /// A block of `side`³ vertices, each coupled with those one step further along every axis and diagonal.
    fn cube(side: u32) -> (Vec<[u32; 2]>, Vec<DVec3>) {
        let index = |p: [u32; 3]| (p[0] * side + p[1]) * side + p[2];
        let (mut pairs, mut positions) = (Vec::new(), Vec::new());
        for v in 0..side.pow(3) {
            let p = [v / side / side, v / side % side, v % side];
            positions.push(DVec3::from(p.map(f64::from)));
            for bits in 1..8 {
                let q = [p[0] + (bits & 1), p[1] + (bits >> 1 & 1), p[2] + (bits >> 2)];
                if q.iter().all(|&c| c < side) {
                    pairs.push([v, index(q)]);
                }
            }
        }
        (pairs, positions)
    }

    fn exact(n: usize) -> Vec<DVec3> {
        (0..n).map(|i| DVec3::new((i as f64).sin(), (i as f64).cos(), 1.0)).collect()
    }

    fn largest_difference(a: &[DVec3], b: &[DVec3]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
    }

    /// The error of a solve as the inverse of the product.
    fn error(cholesky: &mut Cholesky, matrix: &BlockMatrix) -> f64 {
        let exact = exact(matrix.unknowns());
        let mut x = matrix.multiply(&exact);
        assert_eq!(cholesky.factorise(matrix), Factorisation::Done);
        cholesky.solve(&mut x);
        largest_difference(&x, &exact)
    }

    #[test]
    fn solve_inverts_the_product_with_and_without_positions() {
        let (pairs, positions) = cube(12);
        let matrix = dominant(positions.len(), &pairs, &pairs);
        for simd in [Simd::Auto, Simd::Baseline] {
            for known in [None, Some(&positions[..])] {
                let mut cholesky = Cholesky::new(matrix.pattern().clone(), known, simd).unwrap();
                assert!(error(&mut cholesky, &matrix) < 1e-11);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn solve_inverts_the_product_on_any_graph(
            n in 1usize..300,
            pairs in prop::collection::vec([0u32..300, 0u32..300], 0..600),
        ) {
            let pairs: Vec<[u32; 2]> = pairs.into_iter().map(|p| p.map(|v| v % n as u32)).collect();
            let matrix = dominant(n, &pairs, &pairs);
            for simd in [Simd::Auto, Simd::Baseline] {
                let mut cholesky = Cholesky::new(matrix.pattern().clone(), None, simd).unwrap();
                prop_assert!(error(&mut cholesky, &matrix) < 1e-10);
            }
        }
    }

    #[test]
    fn held_vertices_may_have_positions() {
        let (pairs, positions) = cube(6);
        let pinned: Vec<bool> = positions.iter().map(|x| x.x == 0.0).collect();
        let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&pinned, &pairs)));
        matrix.shift_diagonal(2.0);
        let mut cholesky = Cholesky::new(matrix.pattern().clone(), Some(&positions), Simd::Auto).unwrap();
        assert!(error(&mut cholesky, &matrix) < 1e-14);
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let (pairs, positions) = cube(16);
        let matrix = dominant(positions.len(), &pairs, &pairs);
        let solution = |threads| {
            let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut cholesky =
                    Cholesky::new(matrix.pattern().clone(), Some(&positions), Simd::Auto).unwrap();
                assert_eq!(cholesky.factorise(&matrix), Factorisation::Done);
                let mut x = exact(positions.len());
                cholesky.solve(&mut x);
                x
            })
        };
        let one = solution(1);
        assert_eq!(one, solution(2));
        assert_eq!(one, solution(3));
    }

    #[test]
    fn nothing_and_a_single_vertex_are_solved() {
        for n in [0, 1] {
            let matrix = dominant(n, &[], &[]);
            let mut cholesky = Cholesky::new(matrix.pattern().clone(), Some(&exact(n)), Simd::Auto).unwrap();
            assert_eq!(error(&mut cholesky, &matrix), 0.0);
        }
    }

    #[test]
    fn pieces_without_coupling_are_solved() {
        let pairs: Vec<[u32; 2]> = chain(600).into_iter().filter(|[a, b]| a / 100 == b / 100).collect();
        let matrix = dominant(600, &pairs, &pairs);
        let mut cholesky = Cholesky::new(matrix.pattern().clone(), None, Simd::Auto).unwrap();
        assert!(error(&mut cholesky, &matrix) < 1e-12);
    }

    #[test]
    fn an_indefinite_or_infinite_matrix_is_refused() {
        for simd in [Simd::Auto, Simd::Baseline] {
            for wrong in [-100.0, f64::NAN, f64::INFINITY] {
                let mut matrix = dominant(10, &chain(10), &chain(10));
                matrix.add_diagonal(4, DMat3::from_diagonal(DVec3::new(0.0, wrong, 0.0)));
                let mut cholesky = Cholesky::new(matrix.pattern().clone(), None, simd).unwrap();
                assert_eq!(cholesky.factorise(&matrix), Factorisation::NotPositiveDefinite, "{wrong}");
            }
        }
    }

    #[test]
    fn blocks_outside_the_pattern_are_part_of_the_matrix_and_come_and_go() {
        let (pairs, positions) = cube(7);
        let mut cholesky = None;
        for contacts in [vec![], vec![[0, 342], [5, 300]], vec![[5, 300]], vec![[17, 200], [341, 3]], vec![]]
        {
            let all: Vec<[u32; 2]> = pairs.iter().chain(&contacts).copied().collect();
            let matrix = dominant(positions.len(), &pairs, &all);
            assert_eq!(matrix.outside().len(), contacts.len());
            let cholesky = cholesky.get_or_insert_with(|| {
                Cholesky::new(matrix.pattern().clone(), Some(&positions), Simd::Auto).unwrap()
            });
            assert!(error(cholesky, &matrix) < 1e-12);
        }
    }

    #[test]
    fn blocks_outside_the_pattern_that_fall_on_fill_need_no_analysis() {
        // A ring without the edge (0, 2) gets that entry as fill when 1 is eliminated before them, or another chord.
        let ring = [[0, 1], [1, 2], [2, 3], [3, 0]];
        let pattern = Arc::new(BlockPattern::new(&[false; 4], &ring));
        let cholesky = Cholesky::new(pattern, None, Simd::Auto).unwrap();
        let chords = [[0, 2], [1, 3]].map(|pair| cholesky.analysis.frontal.entry(pair).is_some());
        assert!(chords.contains(&true));
    }

    #[test]
    fn scalar_factor_solves_three_right_hand_sides_like_the_block_factor() {
        let (pairs, positions) = cube(9);
        let mut matrix =
            BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; positions.len()], &pairs)));
        for &[a, b] in &pairs {
            matrix.add_pair(a, b, DMat3::from_diagonal(DVec3::splat(-1.0)));
            matrix.add_diagonal(a, DMat3::IDENTITY);
            matrix.add_diagonal(b, DMat3::IDENTITY);
        }
        matrix.shift_diagonal(0.1);
        let numbers: Vec<f64> = matrix.blocks().iter().map(|block| block.x_axis.x).collect();
        for simd in [Simd::Auto, Simd::Baseline] {
            let mut cholesky = ScalarCholesky::new(matrix.pattern().clone(), Some(&positions), simd).unwrap();
            assert_eq!(cholesky.factorise(&numbers), Factorisation::Done);
            let exact = exact(positions.len());
            let mut x = matrix.multiply(&exact);
            cholesky.solve(&mut x);
            assert!(largest_difference(&x, &exact) < 1e-11);
        }
        let mut cholesky = ScalarCholesky::new(matrix.pattern().clone(), None, Simd::Auto).unwrap();
        let negative: Vec<f64> = numbers.iter().map(|number| -number).collect();
        assert_eq!(cholesky.factorise(&negative), Factorisation::NotPositiveDefinite);
    }
}
