//! The levels with their matrices (Xian 2019, algorithm 3, lines 6 to 8, and algorithm 4, lines 7 to 10): sparsity analysed
//! once for a pattern, numbers updated from every new matrix.

use std::sync::Arc;

use super::GalerkinOptions;
use super::bottom::Bottom;
use super::coarse_matrix::{CoarseMatrix, Numbers};
use super::level::{GalerkinLevel, LevelSolver};
use super::projection::Projection;
use super::relaxation::Relaxation;
use super::tree::Tree;
use crate::linear::{BlockMatrix, BlockPattern, LinearOperator, not_definite};
use crate::simd::Simd;

/// All levels for matrices on one pattern.
pub(super) struct Hierarchy {
    pattern: Arc<BlockPattern>,
    coarse: Vec<CoarseMatrix>,
    pub(super) levels: Vec<GalerkinLevel>,
    /// The vertex at each place of the finest level.
    pub(super) order: Vec<u32>,
    /// The place of each vertex.
    pub(super) place: Vec<u32>,
    simd: Simd,
    /// The matrix's scale: the largest diagonal entry becomes one, so that no physical unit leaves the range of `f32`.
    pub(super) scale: f64,
}

impl Hierarchy {
    /// Analyses the sparsity of all levels.
    pub(super) fn new(pattern: &Arc<BlockPattern>, tree: &Tree, options: &GalerkinOptions) -> Self {
        let mut coarse: Vec<CoarseMatrix> = Vec::new();
        for projection in &tree.projections {
            let finer = coarse.last().map_or(pattern, CoarseMatrix::pattern);
            coarse.push(CoarseMatrix::new(finer, projection));
        }
        let finest = Numbers { functions: 1, pattern, blocks: &[] };
        let numbers = std::iter::once(finest).chain(coarse.iter().map(CoarseMatrix::numbers));
        let solvers: Vec<Placed> = numbers
            .zip(&tree.orders)
            .enumerate()
            .map(|(level, (numbers, order))| {
                Placed::new(numbers, order, level == tree.projections.len(), options)
            })
            .collect();
        let places: Vec<Vec<u32>> = solvers.iter().skip(1).map(|solver| solver.place.clone()).collect();
        let (order, place) = (solvers[0].order.clone(), solvers[0].place.clone());
        let level = |(level, solver): (usize, Placed)| {
            let projection = match (tree.projections.get(level), places.get(level)) {
                (Some(projection), Some(place)) => projection.renumbered(&solver.order, place),
                _ => Projection::default(),
            };
            let sweeps = if level == 0 { options.sweeps } else { options.coarse_sweeps };
            GalerkinLevel::new(solver.solver, solver.numbers, sweeps, projection)
        };
        let levels = solvers.into_iter().enumerate().map(level).collect();
        Self { pattern: pattern.clone(), coarse, levels, order, place, simd: options.simd, scale: 1.0 }
    }

    /// Whether this is the analysis of a pattern.
    pub(super) fn is_of(&self, pattern: &Arc<BlockPattern>) -> bool {
        Arc::ptr_eq(&self.pattern, pattern) || self.pattern == *pattern
    }

    /// Takes over the numbers of a matrix on all levels.
    pub(super) fn update(&mut self, matrix: &BlockMatrix, tree: &Tree) -> Result<(), String> {
        self.scale = 1.0 / largest_diagonal(matrix)?;
        let finest = Numbers { functions: 1, pattern: matrix.pattern(), blocks: matrix.blocks() };
        self.levels[0].fill(finest, self.scale).map_err(|node| refused(0, node))?;
        for level in 0..self.coarse.len() {
            let (finer, coarser) = self.coarse.split_at_mut(level);
            let finer = finer.last().map_or(finest, |finer| finer.numbers());
            coarser[0].update(finer, &tree.projections[level], self.simd);
            let filled = self.levels[level + 1].fill(coarser[0].numbers(), self.scale);
            filled.map_err(|node| refused(level + 1, node))?;
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> usize {
        let coarse: usize = self.coarse.iter().map(CoarseMatrix::bytes).sum();
        coarse + self.levels.iter().map(GalerkinLevel::bytes).sum::<usize>() + 8 * self.order.len()
    }
}

/// A level's solver, and which node stands where in it.
struct Placed {
    solver: LevelSolver,
    order: Vec<u32>,
    place: Vec<u32>,
    numbers: usize,
}

impl Placed {
    fn new(numbers: Numbers<'_>, order: &[u32], is_coarsest: bool, options: &GalerkinOptions) -> Self {
        let nodes = numbers.pattern.unknowns();
        let (smoother, simd) = (options.smoother, options.simd);
        let (solver, schedule) = if is_coarsest {
            (LevelSolver::Bottom(Bottom::new(simd)), None)
        } else if numbers.functions == 1 {
            let matrix = Relaxation::new(numbers, order, smoother, simd);
            let schedule = matrix.schedule.clone();
            (LevelSolver::Narrow(matrix), Some(schedule))
        } else {
            let matrix = Relaxation::new(numbers, order, smoother, simd);
            let schedule = matrix.schedule.clone();
            (LevelSolver::Wide(matrix), Some(schedule))
        };
        let same = || (0..nodes as u32).collect::<Vec<_>>();
        let (order, place) = schedule.map_or_else(|| (same(), same()), |s| (s.order, s.place));
        Self { solver, order, place, numbers: 3 * numbers.functions * nodes }
    }
}

fn largest_diagonal(matrix: &BlockMatrix) -> Result<f64, String> {
    let mut largest = 0.0;
    for i in 0..matrix.unknowns() {
        let block = matrix.diagonal_block(i);
        let entry = block.x_axis.x.max(block.y_axis.y).max(block.z_axis.z);
        if !(entry > 0.0 && entry.is_finite()) {
            return Err(not_definite(i));
        }
        largest = f64::max(largest, entry);
    }
    Ok(if largest > 0.0 { largest } else { 1.0 })
}

fn refused(level: usize, node: Option<u32>) -> String {
    match (level, node) {
        (0, Some(vertex)) => not_definite(vertex as usize),
        _ => format!(
            "galerkin: the matrix is not positive definite or not finite, as its coarse level {level} shows; \
             is a value not finite, or a stiffness negative?"
        ),
    }
}
