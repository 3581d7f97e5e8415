//! Coloured symmetric block Gauss-Seidel (Vivace: Fratarcangeli, Tibaldo, Pellacini 2016): nodes of one colour are not coupled,
//! so a sweep goes colour by colour, each in parallel.
//!
//! With the strict lower triangle `L` of the coloured matrix and its block diagonal `D`, a forward and a backward sweep from
//! zero are `z = M⁻¹ r` with `M = (D + L) D⁻¹ (D + L)ᵀ = (I + L D⁻¹) D (I + L D⁻¹)ᵀ`, symmetric and positive definite: a
//! preconditioner. As a solver by itself it repeats `x += M⁻¹ (b - A x)`.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use super::block_jacobi::not_definite;
use super::colouring::{by_colour, colour};
use super::solver::{SolveOutcome, StopRule};
use super::stationary::Stationary;
use super::triangular::{Schedule, Triangular};
use super::{
    BlockMatrix, BlockPattern, HistoryPoint, LinearOperator, LinearSolver, Preconditioner, assembled, pivot,
};

/// Places in a task.
const CHUNK: usize = 256;

/// One symmetric sweep.
#[derive(Debug, Clone, Default)]
pub struct GaussSeidel {
    pattern: Option<Arc<BlockPattern>>,
    sweep: Triangular,
    /// Inverses of the diagonal blocks, by node.
    inverses: Vec<DMat3>,
}

impl GaussSeidel {
    /// The number of colours of the last matrix.
    pub fn colours(&self) -> usize {
        self.sweep.schedule.colours.len().saturating_sub(1)
    }

    fn schedule(&mut self, pattern: &Arc<BlockPattern>) {
        if self.pattern.as_ref().is_some_and(|known| Arc::ptr_eq(known, pattern)) {
            return;
        }
        let (colours, count) = colour(pattern.graph());
        let nodes: Vec<u32> = (0..pattern.unknowns() as u32).collect();
        let (order, starts) = by_colour(&colours, count, &nodes);
        self.sweep.schedule = Schedule::new(order, starts, CHUNK);
        self.pattern = Some(pattern.clone());
    }

    fn fill(&mut self, matrix: &BlockMatrix) -> Result<(), String> {
        self.inverses.clear();
        for i in 0..matrix.unknowns() {
            self.inverses.push(pivot::inverse(&matrix.diagonal_block(i)).ok_or_else(|| not_definite(i))?);
        }
        let inverses = &self.inverses;
        let Triangular { schedule, lower, upper, pivots, .. } = &mut self.sweep;
        for (&node, own) in schedule.order.iter().zip(0..) {
            let node = node as usize;
            let (start, columns) = matrix.pattern().row(node);
            for (&j, block) in
                columns.iter().zip(&matrix.blocks()[start..]).filter(|(j, _)| **j as usize != node)
            {
                let place = schedule.place[j as usize];
                if place < own {
                    lower.push(place, &(*block * inverses[j as usize]));
                } else {
                    upper.push(place, &(inverses[node] * *block));
                }
            }
            lower.end_row();
            upper.end_row();
            pivots.push(inverses[node]);
        }
        Ok(())
    }
}

impl Preconditioner for GaussSeidel {
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), String> {
        let matrix = assembled(operator, "gauss-seidel")?;
        let merged = matrix.with_outside_merged();
        let matrix = merged.as_ref().unwrap_or(matrix);
        self.schedule(matrix.pattern());
        self.sweep.clear();
        self.fill(matrix)
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        self.sweep.apply(r, z);
    }

    fn bytes(&self) -> usize {
        self.sweep.bytes() + size_of::<DMat3>() * self.inverses.len()
    }
}

/// Gauss-Seidel as a solver by itself.
#[derive(Debug, Clone, Default)]
pub struct GaussSeidelSolver {
    sweep: GaussSeidel,
    iteration: Stationary,
}

impl LinearSolver for GaussSeidelSolver {
    fn prepare(&mut self, matrix: &dyn LinearOperator) -> Result<(), String> {
        self.sweep.update(matrix)
    }

    fn solve(
        &mut self,
        matrix: &dyn LinearOperator,
        rhs: &[DVec3],
        x: &mut [DVec3],
        stop: &StopRule,
    ) -> SolveOutcome {
        let sweep = &mut self.sweep;
        self.iteration.solve(matrix, rhs, x, stop, |_, r, x, z| {
            sweep.apply(r, z);
            super::vectors::add(x, 1.0, z);
        })
    }

    fn history(&self) -> &[HistoryPoint] {
        self.iteration.history()
    }

    fn bytes(&self) -> usize {
        self.sweep.bytes() + self.iteration.bytes()
    }
}
