//! How far a state is from the solution of its step: how far one Newton step from there, solved tightly, would move a vertex.
//!
//! ```text
//! H d = -g   to a relative residual of 1e-10;   distance = max |d_v| over the vertices v
//! ```
//!
//! `H` is the exact Hessian where it is positive definite, otherwise the projected one. The residual `|g|` cannot answer this: it is
//! dominated by stiff modes, in which nothing moves, and says little about soft ones, in which everything does. Nor can the direction
//! of a loosely solved step, which may be short since little was solved.

use std::sync::Arc;

use glam::DVec3;

use super::error::MinimiseError;
use super::objective::Objective;
use super::preconditioning::{FIRST_SHIFT, MAX_SHIFTS};
use super::short_step::farthest;
use crate::material::HessianMode;
use supple_linear::{
    BlockMatrix, BlockPattern, LinearKind, LinearOptions, LinearSolver, LinearTermination, Simd, StopRule,
    linear_solver,
};

/// Relative residual of the linear solve.
const TIGHT: f64 = 1e-10;
/// Iterations with the factor as preconditioner: one solves, the others refine.
const REFINEMENTS: usize = 20;

/// The verification of states over one sparsity pattern. It owns what it needs, so that it changes nothing in a run.
pub(crate) struct TightNewton {
    matrix: BlockMatrix,
    solver: Box<dyn LinearSolver>,
    gradient: Vec<DVec3>,
    rhs: Vec<DVec3>,
    direction: Vec<DVec3>,
}

impl TightNewton {
    /// Over a pattern, with the positions of its unknowns for the order of elimination.
    pub(crate) fn new(
        pattern: Arc<BlockPattern>,
        positions: Arc<[DVec3]>,
        simd: Simd,
    ) -> Result<Self, MinimiseError> {
        let options = LinearOptions { kind: LinearKind::Cholesky, ..LinearOptions::default() };
        Ok(Self {
            gradient: Vec::new(),
            rhs: Vec::new(),
            direction: vec![DVec3::ZERO; pattern.unknowns()],
            matrix: BlockMatrix::zero(pattern),
            solver: linear_solver(&options, Some(positions), simd)?,
        })
    }

    /// The farthest that a Newton step from `x` would move a vertex, in metres.
    pub(crate) fn distance(&mut self, objective: &dyn Objective, x: &[DVec3]) -> Result<f64, MinimiseError> {
        self.gradient.resize(x.len(), DVec3::ZERO);
        objective.gradient(x, &mut self.gradient);
        let pattern = self.matrix.pattern();
        self.rhs.clear();
        let free = (0..x.len()).filter(|v| pattern.unknown(*v as u32).is_some());
        self.rhs.extend(free.map(|v| -self.gradient[v]));
        for mode in [HessianMode::Exact, HessianMode::PsdProjected] {
            self.matrix.clear();
            objective.hessian(x, mode, &mut self.matrix);
            if self.solve() {
                return Ok(farthest(self.direction.iter().copied()));
            }
        }
        let mut shift = FIRST_SHIFT * self.matrix.largest_diagonal();
        for _ in 0..MAX_SHIFTS {
            self.matrix.shift_diagonal(shift);
            if self.solve() {
                return Ok(farthest(self.direction.iter().copied()));
            }
            shift *= 100.0;
        }
        Err(MinimiseError::Unsolvable("the Hessian could not be solved to verify the step"))
    }

    /// Solves for the direction; `false` if the matrix is not positive definite.
    fn solve(&mut self) -> bool {
        self.solver.forget();
        if self.solver.prepare(&self.matrix).is_err() {
            return false;
        }
        self.direction.fill(DVec3::ZERO);
        let stop = StopRule::tolerance(TIGHT, REFINEMENTS);
        let solved = self.solver.solve(&self.matrix, &self.rhs, &mut self.direction, &stop);
        matches!(
            solved.end,
            LinearTermination::Converged | LinearTermination::Stalled | LinearTermination::Iterations
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::objective::tests::Wells;
    use super::*;

    #[test]
    fn the_distance_to_the_minimum_of_a_parabola_is_exact() {
        let wells = Wells::new(8);
        let positions: Arc<[DVec3]> = (0..8).map(|i| DVec3::X * f64::from(i)).collect();
        let mut tight = TightNewton::new(wells.pattern(), positions, Simd::default()).unwrap();
        // The minimum is the origin.
        let x: Vec<DVec3> = (0..8).map(|v| DVec3::new(0.1, 0.3 * f64::from(v), -0.2)).collect();
        let farthest = x.iter().map(|x| x.length()).fold(0.0, f64::max);
        let found = tight.distance(&wells, &x).unwrap();
        assert!((found - farthest).abs() < 1e-9 * farthest, "{found} {farthest}");
        assert!(tight.distance(&wells, &[DVec3::ZERO; 8]).unwrap() == 0.0);
    }
}
