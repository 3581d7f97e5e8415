//! The levels with their matrices (Xian 2019, algorithm 3, lines 6 to 8, and algorithm 4, lines 7 to 10): sparsity analysed
//! once for a pattern, numbers updated from every new matrix.

use std::sync::Arc;

use supple_core::parallel::prelude::*;

use super::GalerkinOptions;
use super::changes::{Changes, Fingerprint};
use super::coarse_matrix::CoarseMatrix;
use super::coarsest::CoarsestSolver;
use super::level::{GalerkinLevel, LevelSolver};
use super::numbers::{Numbers, stride};
use super::projection::Projection;
use super::relaxation::Relaxation;
use super::tree::Tree;
use crate::{BlockPattern, ColourSchedule, LinearError};
use supple_core::simd::Simd;

/// Data of a hierarchy used by a cycle.
pub(super) struct Cycle {
    pub levels: Vec<GalerkinLevel>,
    /// The vertex of each slot of the finest level.
    pub order: Vec<u32>,
    /// The slot of each vertex.
    pub place: Vec<u32>,
    /// Numbers per vertex in the vectors.
    pub stride: usize,
    /// The matrix's scale: the largest diagonal entry becomes about one, so that values stay in the range of `f32` in
    /// any physical unit.
    pub scale: f64,
}

/// All levels for matrices on one pattern.
pub(super) struct Hierarchy {
    /// How many unknowns of each function are coupled: see [`Numbers`].
    width: usize,
    pattern: Arc<BlockPattern>,
    coarse: Vec<CoarseMatrix>,
    pub cycle: Cycle,
    simd: Simd,
    /// Hashes of the matrix rows stored in the levels.
    fingerprint: Fingerprint,
}

impl Hierarchy {
    /// Analyses the sparsity of all levels.
    pub(super) fn new(
        width: usize,
        pattern: &Arc<BlockPattern>,
        tree: &Tree,
        options: &GalerkinOptions,
    ) -> Self {
        let mut coarse: Vec<CoarseMatrix> = Vec::new();
        for projection in &tree.projections {
            let finer = coarse.last().map_or(pattern, CoarseMatrix::pattern);
            coarse.push(CoarseMatrix::new(width, finer, projection));
        }
        let finest = Numbers { width, functions: 1, pattern, entries: &[] };
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
                (Some(projection), Some(place)) => {
                    projection.renumbered(&solver.order, place, stride(width), options.simd)
                }
                _ => Projection::default(),
            };
            let sweeps = if level == 0 { options.sweeps } else { options.coarse_sweeps };
            GalerkinLevel::new(solver.solver, solver.numbers, sweeps, projection)
        };
        let levels = solvers.into_iter().enumerate().map(level).collect();
        let cycle = Cycle { levels, order, place, stride: stride(width), scale: 1.0 };
        let (pattern, fingerprint) = (pattern.clone(), Fingerprint::default());
        Self { width, pattern, coarse, cycle, simd: options.simd, fingerprint }
    }

    /// Whether this is the analysis of a pattern, for matrices that couple directions or not.
    pub(super) fn is_of(&self, width: usize, pattern: &Arc<BlockPattern>) -> bool {
        self.width == width && self.pattern.is_same(pattern)
    }

    /// Updates the entries of all levels that have changed.
    pub(super) fn update(&mut self, entries: &[f64], tree: &Tree) -> Result<(), LinearError> {
        let pattern = self.pattern.clone();
        let finest = Numbers { width: self.width, functions: 1, pattern: &pattern, entries };
        let scale = round_scale(largest_diagonal(finest)?);
        let found = self.fingerprint.changes(finest);
        let changes = if scale == self.cycle.scale { found } else { Changes::All };
        self.cycle.scale = scale;
        let updated = self.take_over(finest, tree, changes);
        if updated.is_err() {
            self.fingerprint.forget();
        }
        updated
    }

    fn take_over(
        &mut self,
        finest: Numbers<'_>,
        tree: &Tree,
        mut changes: Changes,
    ) -> Result<(), LinearError> {
        if changes.is_nothing() {
            return Ok(());
        }
        let Cycle { levels, scale, .. } = &mut self.cycle;
        levels[0].fill(finest, *scale, &changes).map_err(|node| refused(0, node))?;
        for (level, projection) in tree.projections.iter().enumerate() {
            changes = changes.of_parents(&projection.parents, projection.starts.len() - 1);
            let (finer, coarser) = self.coarse.split_at_mut(level);
            let finer = finer.last().map_or(finest, |finer| finer.numbers());
            coarser[0].update(finer, projection, &changes, self.simd);
            let filled = levels[level + 1].fill(coarser[0].numbers(), *scale, &changes);
            filled.map_err(|node| refused(level + 1, node))?;
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> usize {
        let coarse: usize = self.coarse.iter().map(CoarseMatrix::bytes).sum();
        let coarse = coarse + self.fingerprint.bytes();
        let Cycle { levels, order, .. } = &self.cycle;
        coarse + levels.iter().map(GalerkinLevel::bytes).sum::<usize>() + 8 * order.len()
    }
}

/// A level's solver, and the order of its nodes.
struct Placed {
    solver: LevelSolver,
    order: Vec<u32>,
    place: Vec<u32>,
    numbers: usize,
}

impl Placed {
    fn new(numbers: Numbers<'_>, order: &[u32], is_coarsest: bool, options: &GalerkinOptions) -> Self {
        let nodes = numbers.pattern.unknowns();
        let simd = options.simd;
        let (solver, schedule) = match (is_coarsest, numbers.width, numbers.functions) {
            (true, ..) => (LevelSolver::CoarsestSolver(CoarsestSolver::new(simd)), None),
            (_, 3, 1) => smoothed(LevelSolver::Narrow, numbers.pattern, order, options),
            (_, 3, _) => smoothed(LevelSolver::Wide, numbers.pattern, order, options),
            (_, _, 1) => smoothed(LevelSolver::NarrowSides, numbers.pattern, order, options),
            _ => smoothed(LevelSolver::WideSides, numbers.pattern, order, options),
        };
        let same = || (0..nodes as u32).collect::<Vec<_>>();
        let (order, place) = schedule.map_or_else(|| (same(), same()), |s| (s.order, s.place));
        Self { solver, order, place, numbers: stride(numbers.width) * numbers.functions * nodes }
    }
}

/// A level that is smoothed, with the order of its rows.
fn smoothed<const W: usize, const R: usize>(
    solver: impl Fn(Relaxation<W, R>) -> LevelSolver,
    pattern: &BlockPattern,
    order: &[u32],
    options: &GalerkinOptions,
) -> (LevelSolver, Option<ColourSchedule>) {
    let matrix = Relaxation::new(pattern, order, options.smoother, options.simd);
    let schedule = matrix.schedule.clone();
    (solver(matrix), Some(schedule))
}

/// The power of four that brings a number to between ¼ and 1. Products and square roots stay exact under it, and it
/// seldom changes when the matrix does.
fn round_scale(largest: f64) -> f64 {
    0.25f64.powi((0.5 * largest.log2()).ceil().clamp(-500.0, 500.0) as i32)
}

fn largest_diagonal(matrix: Numbers<'_>) -> Result<f64, LinearError> {
    let vertices = (0..matrix.pattern.unknowns()).into_par_iter().with_min_len(1024);
    let is_wrong = |entry: f64| !(entry > 0.0 && entry.is_finite());
    // Infinite if one of them is invalid.
    let bounded = |i: usize| if is_wrong(matrix.largest(i)) { f64::INFINITY } else { matrix.largest(i) };
    let largest = vertices.clone().map(bounded).reduce(|| 0.0, f64::max);
    if largest.is_infinite() {
        let first = vertices.find_first(|&i| is_wrong(matrix.largest(i)));
        return Err(LinearError::IndefiniteDiagonal { row: first.unwrap_or_default() });
    }
    Ok(if largest > 0.0 { largest } else { 1.0 })
}

fn refused(level: usize, node: Option<u32>) -> LinearError {
    match (level, node) {
        (0, Some(vertex)) => LinearError::IndefiniteDiagonal { row: vertex as usize },
        _ => LinearError::IndefiniteLevel { solver: "galerkin", level },
    }
}
