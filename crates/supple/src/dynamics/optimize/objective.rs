//! The objective of nonlinear methods, and their interface.

use std::time::{Duration, Instant};

use glam::DVec3;

use super::error::MinimiseError;
use crate::energy::PointVisitor;
use crate::material::HessianMode;
use crate::scene::{ContactMatrix, Truncation};
use crate::stepper::IterationRecord;
use supple_linear::{BlockMatrix, BlockPattern, ScalarMatrix, SolverState};

/// The objective, over all vertex positions.
pub trait Objective {
    /// Its value in joules.
    fn value(&self, x: &[DVec3]) -> f64;
    /// Its gradient in newtons; entries of fixed vertices are ignored.
    fn gradient(&self, x: &[DVec3], gradient: &mut [DVec3]);
    /// Both, bit-identical to the separate evaluations.
    fn value_and_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) -> f64 {
        self.gradient(x, gradient);
        self.value(x)
    }
    /// Its Hessian over the free vertices.
    fn hessian(&self, x: &[DVec3], mode: HessianMode, hessian: &mut BlockMatrix);
    /// The collision-free fraction, 0 to 1, of the straight displacement between two states, up to rounding. Covers bodies, not colliders.
    fn collision_free_step(&self, _from: &[DVec3], _to: &[DVec3]) -> f64 {
        1.0
    }
    /// Calls `visit` with the vertices of every pair of primitives that would meet on the straight displacement between two states, and with the
    /// fraction of it before they do; in an order that depends on the surfaces alone. `false` if the displacement cannot be examined
    /// pair by pair: it is not finite, or departs too far from the scene.
    fn collisions(&self, _displacement: [&[DVec3]; 2], _visit: &mut dyn FnMut(&[u32], f64)) -> bool {
        true
    }
    /// Calls `visit` with all vertices that a contact or seam couples at `x`.
    fn contact_links(&self, _x: &[DVec3], _visit: &mut dyn FnMut(&[u32])) {}
    /// The first vertex of each body.
    fn bodies(&self) -> &[u32] {
        &[]
    }
    /// The largest acceleration, in m/s², by which the net force on a body differs from its motion, of bodies whose vertices are all
    /// unknowns; `gradient` is that over all vertices.
    fn imbalance(&self, _gradient: &[DVec3], _unknowns: &BlockPattern) -> f64 {
        0.0
    }
    /// What is shortened where surfaces would meet.
    fn truncation(&self) -> Truncation {
        Truncation::Global
    }
    /// A method moves on from one iterate to another.
    fn accepted(&self, _from: &[DVec3], _to: &[DVec3]) {}
    /// Calls `visit` with the Hessian of every material point on which energies act: all but those of elements, which
    /// matrix-free methods apply by themselves.
    fn point_hessians(&self, _x: &[DVec3], _visit: PointVisitor<'_>) {}
    /// Adds the matrix that projective dynamics uses in place of the Hessian, with a bound of contact or without contact; `false` if
    /// there is none.
    fn projective(&self, _x: &[DVec3], _contact: ContactMatrix, _matrix: &mut ScalarMatrix) -> bool {
        false
    }
    /// Calls `visit` with the Hessian of every material point of contact, projected to positive semi-definite.
    fn contact_hessians(&self, _x: &[DVec3], _visit: PointVisitor<'_>) {}
    /// Whether contact may change that matrix within a step.
    fn projective_varies(&self) -> bool {
        true
    }
}

/// Why the iteration ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Termination {
    /// The gradient fell below the tolerance, or Newton's direction was short enough.
    #[default]
    Converged,
    /// No further decrease was found: rounding hides it, or the direction is bad.
    Stalled,
    /// The iteration limit was reached.
    IterationLimit,
    /// The time budget was used up.
    Deadline,
}

/// The objective at some positions.
#[derive(Debug, Clone, Copy)]
pub struct Evaluated<'a> {
    /// Its value in joules.
    pub value: f64,
    /// Its gradient in newtons.
    pub gradient: &'a [DVec3],
}

/// Start and stopping criteria of a minimisation.
#[derive(Debug, Clone, Copy)]
pub struct StoppingCriteria<'a> {
    /// The objective at the start, if known.
    pub initial: Option<Evaluated<'a>>,
    /// Fraction of the reference gradient to reach.
    pub tolerance: f64,
    /// Norm of the gradient that counts as 1, in newtons.
    pub reference: f64,
    /// Newton's direction that moves no vertex farther, in metres, is the last.
    pub step_tolerance: f64,
    /// Largest number of iterations.
    pub max_iterations: u32,
    /// When the budget ends; an iteration that would likely exceed it is not started.
    pub deadline: Option<Instant>,
    /// Whether to record the objective after every iteration, which costs an evaluation.
    pub record: bool,
    /// The farthest that a vertex may move in one iteration, in metres.
    pub max_displacement: f64,
}

/// How often displacements were truncated to stay collision-free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cuts {
    /// In total.
    pub all: u32,
    /// Of these, those with one step length for each island of connected bodies.
    pub by_island: u32,
    /// Of these, those with one step length for everything.
    pub global: u32,
}

impl std::ops::AddAssign for Cuts {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.by_island += other.by_island;
        self.global += other.global;
    }
}

/// The outcome of a minimisation. Owned by the caller, so that its lists grow only once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Nonlinear iterations.
    pub iterations: u32,
    /// Iterations of the linear solver or applications of the preconditioner.
    pub linear_iterations: u32,
    /// Steps that were truncated to stay collision-free.
    pub cuts: Cuts,
    /// Norm of the gradient at the start of every iteration and at the end, over the reference.
    pub residuals: Vec<f64>,
    /// Its progress after every iteration, if requested.
    pub history: Vec<IterationRecord>,
    /// Why it ended.
    pub stop: Termination,
    /// Time in gradients and values of the objective.
    pub evaluation_time: Duration,
    /// Time in assembling matrices.
    pub assembly_time: Duration,
    /// Time in preparing linear solvers and preconditioners for them.
    pub update_time: Duration,
    /// Time in linear solvers and preconditioners.
    pub solve_time: Duration,
}

impl Outcome {
    /// Clears the last minimisation, but keeps the capacity of the lists.
    pub(crate) fn restart(&mut self) {
        let (mut residuals, mut history) =
            (std::mem::take(&mut self.residuals), std::mem::take(&mut self.history));
        residuals.clear();
        history.clear();
        *self = Self { residuals, history, ..Self::default() };
    }

    /// The last residual.
    pub fn residual(&self) -> f64 {
        self.residuals.last().copied().unwrap_or(0.0)
    }
}

/// A nonlinear method, with its matrices and vectors for one sparsity pattern.
pub trait Minimiser: SolverState + Send {
    /// Minimises from `x` and writes the outcome to `outcome`. An error names what is not finite or could not be solved.
    fn minimise(
        &mut self,
        objective: &dyn Objective,
        x: &mut [DVec3],
        limits: &StoppingCriteria<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), MinimiseError>;

    /// How far a tightly solved Newton step from `x` would move a vertex, in metres; `None` for methods on an assembled matrix, which
    /// `TightNewton` verifies.
    fn correction(&mut self, _objective: &dyn Objective, _x: &[DVec3]) -> Result<Option<f64>, MinimiseError> {
        Ok(None)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use glam::DMat3;

    use super::*;
    use supple_linear::vectors::norm;
    use supple_linear::{
        BlockPattern, HistoryPoint, LinearError, LinearOperator, LinearSolver, LinearTermination,
        SolveOutcome, SolverState, StopRule,
    };

    /// A chain of springs of rest length zero, with a separate well under each vertex.
    pub(crate) struct Wells {
        count: u32,
    }

    impl Wells {
        pub(crate) fn new(count: u32) -> Self {
            Self { count }
        }

        pub(crate) fn pattern(&self) -> Arc<BlockPattern> {
            let pairs: Vec<[u32; 2]> = self.pairs().collect();
            Arc::new(BlockPattern::new(&vec![false; self.count as usize], &pairs))
        }

        fn pairs(&self) -> impl Iterator<Item = [u32; 2]> {
            (1..self.count).map(|v| [v - 1, v])
        }

        fn depth(v: u32) -> f64 {
            3.0 + f64::from(v % 3)
        }
    }

    impl Objective for Wells {
        fn value(&self, x: &[DVec3]) -> f64 {
            let wells = (0..self.count).map(|v| 0.5 * Self::depth(v) * x[v as usize].length_squared());
            let springs = self.pairs().map(|[a, b]| 0.5 * x[a as usize].distance_squared(x[b as usize]));
            wells.chain(springs).sum()
        }

        fn gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
            (0..self.count).for_each(|v| gradient[v as usize] = Self::depth(v) * x[v as usize]);
            for [a, b] in self.pairs().map(|pair| pair.map(|v| v as usize)) {
                let pull = x[a] - x[b];
                gradient[a] += pull;
                gradient[b] -= pull;
            }
        }

        fn hessian(&self, _x: &[DVec3], _curvature: HessianMode, hessian: &mut BlockMatrix) {
            (0..self.count).for_each(|v| hessian.add_diagonal(v, Self::depth(v) * DMat3::IDENTITY));
            for [a, b] in self.pairs() {
                hessian.add_diagonal(a, DMat3::IDENTITY);
                hessian.add_diagonal(b, DMat3::IDENTITY);
                hessian.add_pair(a, b, -DMat3::IDENTITY);
            }
        }

        fn projective(&self, _x: &[DVec3], _contact: ContactMatrix, matrix: &mut ScalarMatrix) -> bool {
            (0..self.count).for_each(|v| matrix.add_diagonal(v, Self::depth(v)));
            for [a, b] in self.pairs() {
                matrix.add_diagonal(a, 1.0);
                matrix.add_diagonal(b, 1.0);
                matrix.add_pair(a, b, -1.0);
            }
            true
        }
    }

    /// A solver that ends far away, like diverging stationary iterations.
    pub(crate) struct Diverging {
        pub(crate) growth: f64,
    }

    impl LinearSolver for Diverging {
        fn prepare(&mut self, _matrix: &dyn LinearOperator) -> Result<(), LinearError> {
            Ok(())
        }

        fn solve(
            &mut self,
            matrix: &dyn LinearOperator,
            rhs: &[DVec3],
            x: &mut [DVec3],
            _stop: &StopRule,
        ) -> SolveOutcome {
            // Along the gradient, so that only its length matters.
            x.iter_mut().zip(rhs).for_each(|(x, b)| *x = self.growth * *b);
            let mut product = vec![DVec3::ZERO; rhs.len()];
            matrix.apply(x, &mut product);
            let rest: Vec<DVec3> = rhs.iter().zip(&product).map(|(b, q)| *b - *q).collect();
            let end = if self.growth.is_nan() {
                LinearTermination::NotFinite
            } else {
                LinearTermination::Iterations
            };
            SolveOutcome::new(50, norm(&rest) / norm(rhs), end)
        }

        fn history(&self) -> &[HistoryPoint] {
            &[]
        }
    }

    impl SolverState for Diverging {
        fn bytes(&self) -> usize {
            0
        }
    }

    /// Until the gradient is a millionth of one newton.
    pub(crate) fn limits() -> StoppingCriteria<'static> {
        StoppingCriteria {
            initial: None,
            tolerance: 1e-6,
            reference: 1.0,
            step_tolerance: 0.0,
            max_iterations: 200,
            deadline: None,
            record: false,
            max_displacement: f64::INFINITY,
        }
    }
}
