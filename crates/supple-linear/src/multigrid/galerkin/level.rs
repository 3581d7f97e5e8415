//! A level of the hierarchy as seen by the V-cycle: vertices and coarse nodes with 3 unknowns, coarse nodes with 12,
//! or the coarsest level of any kind.

use super::changes::Changes;
use super::coarsest::CoarsestSolver;
use super::numbers::Numbers;
use super::projection::Projection;
use super::relaxation::Relaxation;
use crate::{Direction, Level};

/// A level with its vectors, in the order of its slots.
pub(super) struct GalerkinLevel {
    pub b: Vec<f32>,
    pub x: Vec<f32>,
    r: Vec<f32>,
    sweeps: usize,
    solver: LevelSolver,
    /// To the next coarser level; `None` on the coarsest.
    projection: Projection,
}

/// The solver or smoother of a level.
pub(super) enum LevelSolver {
    /// Vertices, and coarse nodes of three unknowns.
    Narrow(Relaxation<3, 1>),
    /// Coarse nodes of twelve.
    Wide(Relaxation<12, 1>),
    /// As narrow, where directions are not coupled.
    NarrowSides(Relaxation<1, 4>),
    /// As wide, likewise.
    WideSides(Relaxation<4, 4>),
    /// The coarsest level.
    CoarsestSolver(CoarsestSolver),
}

impl GalerkinLevel {
    /// A level of `numbers` numbers, smoothed by this many sweeps before and after, with its projection between slots.
    pub(super) fn new(solver: LevelSolver, numbers: usize, sweeps: usize, projection: Projection) -> Self {
        let zero = || vec![0.0; numbers];
        Self { b: zero(), x: zero(), r: zero(), sweeps, solver, projection }
    }

    /// Updates the matrix, times `scale`, where it has changed. `Err` contains the node whose block is not positive
    /// definite, if known. one is known.
    pub(super) fn fill(
        &mut self,
        numbers: Numbers<'_>,
        scale: f64,
        changes: &Changes,
    ) -> Result<(), Option<u32>> {
        match &mut self.solver {
            LevelSolver::Narrow(matrix) => matrix.fill(numbers, scale, changes).map_err(Some),
            LevelSolver::Wide(matrix) => matrix.fill(numbers, scale, changes).map_err(Some),
            LevelSolver::NarrowSides(matrix) => matrix.fill(numbers, scale, changes).map_err(Some),
            LevelSolver::WideSides(matrix) => matrix.fill(numbers, scale, changes).map_err(Some),
            LevelSolver::CoarsestSolver(coarsest) => coarsest.fill(numbers, scale).then_some(()).ok_or(None),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let solver = match &self.solver {
            LevelSolver::Narrow(matrix) => matrix.bytes(),
            LevelSolver::Wide(matrix) => matrix.bytes(),
            LevelSolver::NarrowSides(matrix) => matrix.bytes(),
            LevelSolver::WideSides(matrix) => matrix.bytes(),
            LevelSolver::CoarsestSolver(coarsest) => coarsest.bytes(),
        };
        solver + self.projection.bytes() + 12 * self.b.len()
    }
}

/// A flat vector by nodes.
fn nodes<const W: usize, const R: usize>(numbers: &[f32]) -> &[[[f32; R]; W]] {
    numbers.as_chunks().0.as_chunks().0
}

fn nodes_mut<const W: usize, const R: usize>(numbers: &mut [f32]) -> &mut [[[f32; R]; W]] {
    numbers.as_chunks_mut().0.as_chunks_mut().0
}

fn smooth<const W: usize, const R: usize>(
    matrix: &Relaxation<W, R>,
    sweeps: usize,
    direction: Direction,
    [b, x, r]: [&mut [f32]; 3],
) {
    for sweep in 0..sweeps {
        let from_zero = direction == Direction::Forward && sweep == 0;
        matrix.sweep(direction, from_zero, nodes(b), nodes_mut(x), nodes_mut(r));
    }
}

impl Level for GalerkinLevel {
    fn smooth(&mut self, direction: Direction) {
        let vectors = [&mut self.b[..], &mut self.x, &mut self.r];
        match &self.solver {
            LevelSolver::Narrow(matrix) => smooth(matrix, self.sweeps, direction, vectors),
            LevelSolver::Wide(matrix) => smooth(matrix, self.sweeps, direction, vectors),
            LevelSolver::NarrowSides(matrix) => smooth(matrix, self.sweeps, direction, vectors),
            LevelSolver::WideSides(matrix) => smooth(matrix, self.sweeps, direction, vectors),
            LevelSolver::CoarsestSolver(_) => {}
        }
    }

    fn residual(&mut self) {
        let Self { b, x, r, .. } = self;
        match &self.solver {
            LevelSolver::Narrow(matrix) => matrix.residual(nodes(b), nodes(x), nodes_mut(r)),
            LevelSolver::Wide(matrix) => matrix.residual(nodes(b), nodes(x), nodes_mut(r)),
            LevelSolver::NarrowSides(matrix) => matrix.residual(nodes(b), nodes(x), nodes_mut(r)),
            LevelSolver::WideSides(matrix) => matrix.residual(nodes(b), nodes(x), nodes_mut(r)),
            LevelSolver::CoarsestSolver(_) => {}
        }
    }

    fn restrict(&mut self, coarser: &mut Self) {
        self.projection.restrict(&self.r, &mut coarser.b);
    }

    fn prolong_add(&mut self, coarser: &mut Self) {
        self.projection.prolong_add(&coarser.x, &mut self.x);
    }

    fn solve_coarsest(&mut self) {
        if let LevelSolver::CoarsestSolver(coarsest) = &mut self.solver {
            coarsest.solve(&self.b, &mut self.x);
        }
    }
}
