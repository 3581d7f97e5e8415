//! A level of the hierarchy (Milne 2016, section 7): its operator by direct discretisation, damped Jacobi with the exact
//! diagonal, and the transfer to the next coarser one. All fields are single precision; the outer iteration is double.

#![allow(clippy::needless_range_loop, reason = "components are indexed as in other kernels")]

use std::sync::{Arc, Mutex};

use supple_core::parallel::prelude::*;

use crate::solvers::octree::element::blocks::{Blocks, Output};
use crate::solvers::octree::element::elasticity::Rest;
use crate::solvers::octree::element::springs::PointSprings;
use crate::solvers::octree::element::stiffness::Stiffness;
use crate::solvers::octree::element::wide::Real;
use crate::solvers::octree::multigrid::coarsest::CoarsestSolver;
use crate::solvers::octree::multigrid::largest_eigenvalue::largest_eigenvalue;
use crate::solvers::octree::multigrid::smoother::{Smoother, SmootherStep};
use crate::solvers::octree::multigrid::transfer::Transfer;
use supple_linear::{Direction, Level, Tridiagonal};

/// Nodes processed by one task.
const CHUNK: usize = 1024;

/// The stiffness of a level with masses and springs.
#[derive(Debug, Default)]
pub(crate) struct OctreeOperator {
    pub(crate) blocks: Arc<Blocks>,
    pub(crate) rest: Arc<Vec<Rest>>,
    pub(crate) stiffness: Stiffness,
    /// Mass over the square of the step in N/m, for each node.
    pub(crate) inertia: Vec<f32>,
    pub(crate) springs: PointSprings,
    /// Which nodes are fixed; empty if none is.
    pub(crate) fixed: Vec<bool>,
    /// The messages of blocks to each other in double precision; reusable workspace.
    pub(crate) outbox: Mutex<Vec<[f64; 3]>>,
}

impl OctreeOperator {
    /// `y = A x`, where fixed nodes neither move nor feel forces; then `finish` on each part of `y`.
    pub(crate) fn apply<T: Real>(&self, x: &[[T; 3]], output: Output<'_, T>) {
        let Output { y, outbox } = output;
        self.stiffness.apply(&self.blocks, x, Output { y, outbox }, |first, y| {
            for (i, y) in y.iter_mut().enumerate() {
                let inertia = T::of(self.inertia[first + i]);
                for c in 0..3 {
                    y[c] += inertia * x[first + i][c];
                }
            }
        });
        self.springs.add_product(x, y, 1.0);
        self.clear_held(y);
    }

    /// `r = b - A x`.
    fn residual(&self, b: &[[f32; 3]], x: &[[f32; 3]], output: Output<'_, f32>) {
        let Output { y: r, outbox } = output;
        self.stiffness.apply(&self.blocks, x, Output { y: r, outbox }, |first, r| {
            for (i, r) in r.iter_mut().enumerate() {
                let (b, x, inertia) = (b[first + i], x[first + i], self.inertia[first + i]);
                for c in 0..3 {
                    r[c] = b[c] - r[c] - inertia * x[c];
                }
            }
        });
        self.springs.add_product(x, r, -1.0);
        self.clear_held(r);
    }

    fn clear_held<T: Real>(&self, y: &mut [[T; 3]]) {
        for (y, _) in y.iter_mut().zip(&self.fixed).filter(|(_, fixed)| **fixed) {
            *y = [T::default(); 3];
        }
    }

    /// The inverse of the diagonal, zero at fixed nodes. `diagonal` is overwritten.
    fn invert_diagonal(&self, inverse: &mut [[f32; 3]], diagonal: Output<'_, f32>) {
        let Output { y: diagonal, outbox } = diagonal;
        self.stiffness.diagonal(&self.blocks, inverse, Output { y: diagonal, outbox });
        self.springs.add_row_sums(diagonal);
        inverse.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(node, inverse)| {
            let fixed = self.fixed.get(node).copied().unwrap_or(false);
            *inverse = diagonal[node].map(|entry| {
                let whole = entry + self.inertia[node];
                if fixed || whole <= 0.0 { 0.0 } else { 1.0 / whole }
            });
        });
    }

    /// The diagonal, including fixed nodes.
    pub(crate) fn diagonal(&self) -> Vec<[f32; 3]> {
        let mut diagonal = vec![[0.0; 3]; self.blocks.nodes()];
        let any = diagonal.clone();
        self.stiffness.diagonal(&self.blocks, &any, Output { y: &mut diagonal, outbox: &mut Vec::new() });
        self.springs.add_row_sums(&mut diagonal);
        for (entry, inertia) in diagonal.iter_mut().zip(&self.inertia) {
            entry.iter_mut().for_each(|entry| *entry += inertia);
        }
        diagonal
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.bytes()
            + size_of::<Rest>() * self.rest.len()
            + self.stiffness.bytes()
            + 4 * self.inertia.len()
            + self.springs.bytes()
            + self.fixed.len()
    }
}

/// How a level is smoothed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum JacobiDamping {
    /// This factor.
    Given(f32),
    /// This multiple of the inverse of the estimated largest eigenvalue of `D⁻¹ A`.
    Estimated(f32),
}

/// A level with its fields.
#[derive(Debug, Default)]
pub(crate) struct OctreeLevel {
    pub(crate) operator: Arc<OctreeOperator>,
    pub(crate) x: Vec<[f32; 3]>,
    pub(crate) b: Vec<[f32; 3]>,
    r: Vec<[f32; 3]>,
    /// The last change of `x` in a smoothing of several steps.
    d: Vec<[f32; 3]>,
    outbox: Vec<[f32; 3]>,
    /// `D⁻¹`, zero at fixed nodes.
    pub(crate) inverse: Vec<[f32; 3]>,
    /// The factor of Jacobi's method.
    damping: f32,
    /// The steps of a smoothing.
    steps: Vec<SmootherStep>,
    /// The estimated largest eigenvalue of `D⁻¹ A`.
    pub(crate) eigenvalue: f32,
    /// Workspace of that estimate.
    tridiagonal: Tridiagonal,
    /// To the next coarser level.
    pub(crate) transfer: Option<Transfer>,
    pub(crate) coarsest: CoarsestSolver,
}

impl OctreeLevel {
    /// A level at rest.
    pub(crate) fn new(operator: OctreeOperator, transfer: Option<Transfer>) -> Self {
        let zero = vec![[0.0; 3]; operator.blocks.nodes()];
        Self {
            operator: Arc::new(operator),
            x: zero.clone(),
            b: zero.clone(),
            r: zero.clone(),
            inverse: zero,
            transfer,
            ..Self::default()
        }
    }

    /// The operator, mutable between solves.
    pub(crate) fn operator_mut(&mut self) -> &mut OctreeOperator {
        Arc::get_mut(&mut self.operator).expect("the operator has no other owner between solves")
    }

    /// Inverts the diagonal of a changed operator. Returns the diagonal without inertia, including fixed nodes.
    pub(crate) fn update_diagonal(&mut self) -> &[[f32; 3]] {
        let output = Output { y: &mut self.r, outbox: &mut self.outbox };
        self.operator.invert_diagonal(&mut self.inverse, output);
        &self.r
    }

    /// Chooses the damping; `estimate`: whether the largest eigenvalue is estimated again.
    pub(crate) fn update_smoother(&mut self, smoother: Smoother, damping: JacobiDamping, estimate: bool) {
        match damping {
            JacobiDamping::Given(damping) => self.damping = damping,
            JacobiDamping::Estimated(part) => {
                if estimate || self.eigenvalue == 0.0 {
                    let Self { operator, inverse, x, b, r, outbox, tridiagonal, .. } = self;
                    let apply = |x: &[[f32; 3]], y: &mut [[f32; 3]]| {
                        operator.apply(x, Output { y, outbox: &mut *outbox })
                    };
                    self.eigenvalue = largest_eigenvalue(inverse, [x, b, r], tridiagonal, apply) as f32;
                }
                self.damping = part / self.eigenvalue;
            }
        }
        self.choose_steps(smoother);
    }

    /// Increases the damping.
    pub(crate) fn damp_more(&mut self, smoother: Smoother) {
        self.damping *= 0.7;
        self.choose_steps(smoother);
    }

    fn choose_steps(&mut self, smoother: Smoother) {
        smoother.steps(self.damping, &mut self.steps);
        if self.steps.len() > 1 {
            self.d.resize(self.x.len(), [0.0; 3]);
        }
    }

    /// Smooths from zero.
    fn smooth_from_zero(&mut self) {
        let Self { x, b, d, inverse, steps, .. } = self;
        let relaxation = steps[0].relaxation;
        let parts = x.par_chunks_mut(CHUNK).zip(b.par_chunks(CHUNK)).zip(inverse.par_chunks(CHUNK));
        parts.for_each(|((x, b), inverse)| {
            for (x, (b, inverse)) in x.iter_mut().zip(b.iter().zip(inverse)) {
                for c in 0..3 {
                    x[c] = relaxation * inverse[c] * b[c];
                }
            }
        });
        d.iter_mut().zip(x.iter()).for_each(|(d, x)| *d = *x);
        (1..self.steps.len()).for_each(|k| self.step(self.steps[k]));
    }

    /// Smooths the current `x`.
    fn smooth_again(&mut self) {
        (0..self.steps.len()).for_each(|k| self.step(self.steps[k]));
    }

    fn step(&mut self, step: SmootherStep) {
        self.residual();
        match self.steps.len() {
            1 => self.step_without_memory(step.relaxation),
            _ => self.step_with_memory(step),
        }
    }

    fn step_without_memory(&mut self, relaxation: f32) {
        let Self { x, r, inverse, .. } = self;
        let parts = x.par_chunks_mut(CHUNK).zip(r.par_chunks(CHUNK)).zip(inverse.par_chunks(CHUNK));
        parts.for_each(|((x, r), inverse)| {
            for (x, (r, inverse)) in x.iter_mut().zip(r.iter().zip(inverse)) {
                for c in 0..3 {
                    x[c] += relaxation * inverse[c] * r[c];
                }
            }
        });
    }

    fn step_with_memory(&mut self, SmootherStep { momentum, relaxation }: SmootherStep) {
        let Self { x, r, d, inverse, .. } = self;
        let changed = x.par_chunks_mut(CHUNK).zip(d.par_chunks_mut(CHUNK));
        let parts = changed.zip(r.par_chunks(CHUNK)).zip(inverse.par_chunks(CHUNK));
        parts.for_each(|(((x, d), r), inverse)| {
            for ((x, d), (r, inverse)) in x.iter_mut().zip(d).zip(r.iter().zip(inverse)) {
                for c in 0..3 {
                    d[c] = momentum * d[c] + relaxation * inverse[c] * r[c];
                    x[c] += d[c];
                }
            }
        });
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let fields = self.x.len() + self.b.len() + self.r.len() + self.d.len() + self.inverse.len();
        self.operator.bytes()
            + 12 * (fields + self.outbox.len())
            + self.transfer.as_ref().map_or(0, Transfer::bytes)
            + self.coarsest.bytes()
    }
}

impl Level for OctreeLevel {
    fn smooth(&mut self, direction: Direction) {
        match direction {
            Direction::Forward => self.smooth_from_zero(),
            Direction::Backward => self.smooth_again(),
        }
    }

    fn residual(&mut self) {
        let output = Output { y: &mut self.r, outbox: &mut self.outbox };
        self.operator.residual(&self.b, &self.x, output);
    }

    fn restrict(&mut self, coarser: &mut Self) {
        if let Some(transfer) = &self.transfer {
            transfer.restrict(&self.r, &mut coarser.b);
        }
    }

    fn prolong_add(&mut self, coarser: &mut Self) {
        let Self { transfer, operator, x, .. } = self;
        let fixed = &operator.fixed;
        let takes = |node: usize| fixed.is_empty() || !fixed[node];
        if let Some(transfer) = transfer {
            transfer.prolong_add(&coarser.x, x, takes);
        }
    }

    fn solve_coarsest(&mut self) {
        if let Some(sweeps) = self.coarsest.sweeps() {
            self.smooth_from_zero();
            (1..sweeps).for_each(|_| self.smooth_again());
        } else {
            self.coarsest.solve(&self.b, &mut self.x);
        }
    }
}
