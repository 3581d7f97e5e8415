//! Solves in double precision by cycles in single precision: alone, as in the paper, or inside the flexible GMRES of
//! Saad 1993 on the whole mixed system, which keeps its rate where bodies are weakly constrained.

use std::sync::Arc;

use supple_core::parallel::prelude::*;

use crate::solvers::staggered::lattice::runs::Runs;
use crate::solvers::staggered::multigrid::hierarchy::Hierarchy;
use crate::solvers::staggered::multigrid::level::wrap;

/// Numbers summed by one task, in an order that does not depend on threads.
const CHUNK: usize = 1 << 14;

/// The outcome of a solve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Solve {
    /// Norm of the residual before every cycle, and at the end; inside a restart as the method estimates it.
    pub residuals: Vec<f64>,
    /// Whether the tolerance was reached.
    pub converged: bool,
}

impl Solve {
    /// Cycles done.
    pub fn cycles(&self) -> usize {
        self.residuals.len().saturating_sub(1)
    }

    /// The mean reduction factor of the residual in cycles `from` to `to`, counted from 1.
    pub fn rate(&self, from: usize, to: usize) -> f64 {
        (self.residuals[to] / self.residuals[from - 1]).powf(1.0 / (to - from + 1) as f64)
    }
}

/// Stopping criteria.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The residual's norm over that of the right-hand side, or over the first residual's if that is smaller.
    pub tolerance: f64,
    /// The maximum number of cycles.
    pub max_cycles: usize,
    /// Iterations of GMRES before it restarts. Memory is allocated for as many as are done.
    pub restart: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { tolerance: 1e-6, max_cycles: 60, restart: 30 }
    }
}

/// A term added to the operator: adds the product of a matrix with fields to a residual, that is, subtracts it from the
/// operator's product.
pub type Addition<'a> = dyn FnMut(&[f64], &mut [f64]) + 'a;

/// Workspace of the solves. Vectors of GMRES contain unknowns only, so that a thin body in a big box costs by its own volume.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Of the whole lattice.
    residual: Vec<f64>,
    zero: Vec<f64>,
    wide: Vec<f64>,
    /// Of the unknowns. In double precision: GMRES does not get below the rounding of its basis.
    basis: Vec<Vec<f64>>,
    corrections: Vec<Vec<f32>>,
    packed: Vec<f64>,
    runs: Arc<Runs>,
}

impl Workspace {
    fn begin(&mut self, len: usize) {
        self.residual.resize(len, 0.0);
    }

    fn vector<T: Copy + Default>(of: &mut Vec<Vec<T>>, n: usize, len: usize) -> &mut Vec<T> {
        while of.len() <= n {
            of.push(vec![T::default(); len]);
        }
        of[n].resize(len, T::default());
        &mut of[n]
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        let basis = self.basis.iter().map(|v| 8 * v.len()).sum::<usize>();
        let corrections = self.corrections.iter().map(|v| 4 * v.len()).sum::<usize>();
        basis + corrections + 8 * (self.residual.len() + self.zero.len() + self.wide.len())
    }
}

/// Cycles alone, from the initial guess in `u`.
pub fn solve_by_cycles(
    hierarchy: &mut Hierarchy,
    (u, b): (&mut [f64], &[f64]),
    limits: &Limits,
    work: &mut Workspace,
) -> Solve {
    work.begin(u.len());
    let mut solve = Solve::default();
    let mut goal = f64::INFINITY;
    loop {
        let norm = residual(hierarchy, u, b, &mut work.residual);
        if solve.residuals.is_empty() {
            goal = limits.tolerance * norm;
        }
        solve.residuals.push(norm);
        solve.converged = norm <= goal;
        if solve.converged || solve.cycles() >= limits.max_cycles || !norm.is_finite() {
            return solve;
        }
        let (right, _) = hierarchy.fields();
        narrow(&work.residual, 1.0 / norm, right);
        hierarchy.cycle();
        let (_, correction) = hierarchy.fields();
        add_scaled(u, correction, norm);
    }
}

/// Flexible GMRES, preconditioned by one cycle, from the initial guess in `u`. The cycle ignores an `addition` to the
/// operator: forces on few points cost a few more iterations.
pub fn solve(
    hierarchy: &mut Hierarchy,
    (u, b): (&mut [f64], &[f64]),
    limits: &Limits,
    work: &mut Workspace,
    mut addition: Option<&mut Addition<'_>>,
) -> Solve {
    work.begin(u.len());
    work.zero.resize(u.len(), 0.0);
    work.runs = hierarchy.runs();
    work.packed.resize(work.runs.unknowns(), 0.0);
    let mut solve = Solve::default();
    let mut goal = f64::INFINITY;
    loop {
        residual(hierarchy, u, b, &mut work.residual);
        if let Some(add) = &mut addition {
            add(u, &mut work.residual);
        }
        let norm = norm_of(&work.residual);
        if solve.residuals.is_empty() {
            goal = limits.tolerance * norm;
            solve.residuals.push(norm);
        } else if let Some(last) = solve.residuals.last_mut() {
            *last = norm;
        }
        solve.converged = norm <= goal;
        if solve.converged || solve.cycles() >= limits.max_cycles || !norm.is_finite() {
            return solve;
        }
        let steps = limits.restart.min(limits.max_cycles - solve.cycles());
        let first = Workspace::vector(&mut work.basis, 0, work.runs.unknowns());
        work.runs.pack(&work.residual, first, |r| r / norm);
        let restart = Restart { norm, goal, steps };
        let weights = arnoldi(hierarchy, &restart, work, &mut addition, &mut solve.residuals);
        for (z, weight) in work.corrections.iter().zip(&weights) {
            work.runs.unpack(z, u, |u, z| *u += weight * f64::from(z));
        }
    }
}

/// The norm of the residual where GMRES starts, the target norm, and the maximum number of steps.
struct Restart {
    norm: f64,
    goal: f64,
    steps: usize,
}

/// The steps between two restarts: the weights of the corrections that minimise the residual.
fn arnoldi(
    hierarchy: &mut Hierarchy,
    restart: &Restart,
    work: &mut Workspace,
    addition: &mut Option<&mut Addition<'_>>,
    residuals: &mut Vec<f64>,
) -> Vec<f64> {
    let unknowns = work.runs.unknowns();
    let mut problem = LeastSquares::new(restart.norm);
    for step in 0..restart.steps {
        work.runs.unpack(&work.basis[step], hierarchy.fields().0, |b, v| *b = v as f32);
        hierarchy.cycle();
        let z = hierarchy.fields().1;
        if addition.is_some() {
            work.wide.clear();
            work.wide.extend(z.iter().map(|z| f64::from(*z)));
        }
        let kept = Workspace::vector(&mut work.corrections, step, unknowns);
        work.runs.pack(z, kept, |z| z);
        hierarchy.finest_residual(&work.zero, &mut work.residual);
        if let Some(add) = addition {
            add(&work.wide, &mut work.residual);
        }
        work.runs.pack(&work.residual, &mut work.packed, |r| -r);
        let mut column = Vec::with_capacity(step + 2);
        for v in &work.basis[..=step] {
            let product = dot(&work.packed, v);
            add_scaled(&mut work.packed, v, -product);
            column.push(product);
        }
        let rest = norm_of(&work.packed);
        column.push(rest);
        residuals.push(problem.add(column));
        if rest == 0.0 || residuals.last().is_some_and(|r| *r <= 0.5 * restart.goal || !r.is_finite()) {
            break;
        }
        let next = Workspace::vector(&mut work.basis, step + 1, unknowns);
        scale(&work.packed, 1.0 / rest, next);
    }
    problem.solve()
}

/// `min |beta e_1 - H y|` by Givens rotations, column by column.
struct LeastSquares {
    columns: Vec<Vec<f64>>,
    rotations: Vec<(f64, f64)>,
    right: Vec<f64>,
}

impl LeastSquares {
    fn new(norm: f64) -> Self {
        Self { columns: Vec::new(), rotations: Vec::new(), right: vec![norm] }
    }

    /// Adds a column; returns the smallest norm with it.
    fn add(&mut self, mut column: Vec<f64>) -> f64 {
        let n = self.columns.len();
        for (i, (c, s)) in self.rotations.iter().enumerate() {
            (column[i], column[i + 1]) =
                (c * column[i] + s * column[i + 1], c * column[i + 1] - s * column[i]);
        }
        let length = column[n].hypot(column[n + 1]);
        let (c, s) = if length == 0.0 { (1.0, 0.0) } else { (column[n] / length, column[n + 1] / length) };
        column[n] = length;
        column.truncate(n + 1);
        self.rotations.push((c, s));
        self.right.push(-s * self.right[n]);
        self.right[n] *= c;
        self.columns.push(column);
        self.right[n + 1].abs()
    }

    fn solve(mut self) -> Vec<f64> {
        let n = self.columns.len();
        for i in (0..n).rev() {
            let diagonal = self.columns[i][i];
            self.right[i] = if diagonal == 0.0 { 0.0 } else { self.right[i] / diagonal };
            for k in 0..i {
                self.right[k] -= self.columns[i][k] * self.right[i];
            }
        }
        self.right.truncate(n);
        self.right
    }
}

/// `b - L u` and its norm.
fn residual(hierarchy: &Hierarchy, u: &mut [f64], b: &[f64], out: &mut [f64]) -> f64 {
    let finest = hierarchy.finest();
    let len = finest.lattice().len();
    u.chunks_mut(len).for_each(|field| wrap(finest.lattice(), field));
    finest.residual_of(u, b, out);
    norm_of(out)
}

fn norm_of(a: &[f64]) -> f64 {
    let sums: Vec<f64> = a.par_chunks(CHUNK).map(|a| a.iter().map(|a| a * a).sum()).collect();
    sums.iter().sum::<f64>().sqrt()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let chunks = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK));
    let sums: Vec<f64> = chunks.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect();
    sums.iter().sum()
}

fn scale(a: &[f64], factor: f64, out: &mut [f64]) {
    let chunks = out.par_chunks_mut(CHUNK).zip(a.par_chunks(CHUNK));
    chunks.for_each(|(out, a)| out.iter_mut().zip(a).for_each(|(out, a)| *out = a * factor));
}

fn narrow(a: &[f64], scale: f64, out: &mut [f32]) {
    let chunks = out.par_chunks_mut(CHUNK).zip(a.par_chunks(CHUNK));
    chunks.for_each(|(out, a)| out.iter_mut().zip(a).for_each(|(out, a)| *out = (a * scale) as f32));
}

fn add_scaled<T: Copy + Into<f64> + Sync>(a: &mut [f64], b: &[T], scale: f64) {
    let chunks = a.par_chunks_mut(CHUNK).zip(b.par_chunks(CHUNK));
    chunks.for_each(|(a, b)| a.iter_mut().zip(b).for_each(|(a, b)| *a += scale * (*b).into()));
}
