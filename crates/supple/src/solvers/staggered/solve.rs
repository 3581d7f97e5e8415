//! Solves in double precision by cycles in single precision: alone, as in the paper, or inside the flexible GMRES of
//! Saad 1993 on the whole mixed system, which keeps its rate where bodies are weakly constrained.

use std::sync::Arc;
use std::time::Instant;

use supple_core::parallel::prelude::*;

use crate::solvers::staggered::lattice::runs::Runs;
use crate::solvers::staggered::multigrid::hierarchy::Hierarchy;
use crate::solvers::staggered::multigrid::level::wrap;
use supple_linear::vectors::dot_numbers;
use supple_linear::{FlexibleGmres, FlexibleSystem, LinearTermination, StopRule};

/// Numbers that one task converts.
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
    /// Stop at this moment, after the current cycle; one is done in any case.
    pub deadline: Option<Instant>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { tolerance: 1e-6, max_cycles: 60, restart: 30, deadline: None }
    }
}

/// A term added to the operator: adds the product of a matrix with fields to a residual, that is, subtracts it from the
/// operator's product.
pub type Addition<'a> = dyn FnMut(&[f64], &mut [f64]) + 'a;

/// Workspace of the solves. Vectors of GMRES contain unknowns only, so that a thin body in a big box costs by its own volume.
#[derive(Debug, Default)]
pub struct GmresWorkspace {
    /// Of the whole lattice.
    pub(super) residual: Vec<f64>,
    pub(super) zero: Vec<f64>,
    pub(super) wide: Vec<f64>,
    /// Of the unknowns.
    gmres: FlexibleGmres<f32>,
}

impl GmresWorkspace {
    pub(super) fn begin(&mut self, len: usize) {
        self.residual.resize(len, 0.0);
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        self.gmres.bytes() + 8 * (self.residual.len() + self.zero.len() + self.wide.len())
    }
}

/// Cycles alone, from the initial guess in `u`.
pub fn solve_by_cycles(
    hierarchy: &mut Hierarchy,
    (u, b): (&mut [f64], &[f64]),
    limits: &Limits,
    work: &mut GmresWorkspace,
) -> Solve {
    work.begin(u.len());
    let mut solve = Solve::default();
    let mut goal = f64::INFINITY;
    loop {
        residual(hierarchy, u, b, &mut work.residual);
        let norm = norm_of(&work.residual);
        if solve.residuals.is_empty() {
            goal = limits.tolerance * norm;
        }
        solve.residuals.push(norm);
        solve.converged = norm <= goal;
        let late = solve.cycles() > 0 && limits.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if solve.converged || late || solve.cycles() >= limits.max_cycles || !norm.is_finite() {
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
    work: &mut GmresWorkspace,
    addition: Option<&mut Addition<'_>>,
) -> Solve {
    work.begin(u.len());
    work.zero.resize(u.len(), 0.0);
    let GmresWorkspace { residual, zero, wide, gmres } = work;
    let runs = hierarchy.runs();
    let mut system = CycledSystem { hierarchy, runs, u, b, residual, zero, wide, addition };
    let stop = StopRule {
        tolerance: limits.tolerance,
        max_iterations: limits.max_cycles,
        deadline: limits.deadline,
    };
    let outcome = gmres.solve(&mut system, &stop, limits.restart);
    Solve { converged: outcome.end == LinearTermination::Converged, residuals: outcome.residuals }
}

/// The mixed system with one cycle as its preconditioner; vectors of GMRES hold its unknowns alone.
struct CycledSystem<'a, 'b> {
    hierarchy: &'a mut Hierarchy,
    runs: Arc<Runs>,
    u: &'a mut [f64],
    b: &'a [f64],
    residual: &'a mut [f64],
    zero: &'a [f64],
    wide: &'a mut Vec<f64>,
    addition: Option<&'a mut Addition<'b>>,
}

impl FlexibleSystem for CycledSystem<'_, '_> {
    type Correction = f32;

    fn unknowns(&self) -> usize {
        self.runs.unknowns()
    }

    fn residual(&mut self, r: &mut [f64]) -> f64 {
        residual(self.hierarchy, self.u, self.b, self.residual);
        if let Some(add) = &mut self.addition {
            add(self.u, self.residual);
        }
        self.runs.pack(self.residual, r, |r| r);
        norm_of(self.residual)
    }

    fn precondition(&mut self, v: &[f64], z: &mut [f32], w: &mut [f64]) {
        let (right, _) = self.hierarchy.fields();
        self.runs.unpack(v, right, |b, v| *b = v as f32);
        self.hierarchy.cycle();
        let (_, correction) = self.hierarchy.fields();
        self.runs.pack(correction, z, |z| z);
        if self.addition.is_some() {
            self.wide.clear();
            self.wide.extend(correction.iter().map(|z| f64::from(*z)));
        }
        self.hierarchy.finest_residual(self.zero, self.residual);
        if let Some(add) = &mut self.addition {
            add(self.wide, self.residual);
        }
        self.runs.pack(self.residual, w, |r| -r);
    }

    fn correct(&mut self, weight: f64, z: &[f32]) {
        self.runs.unpack(z, self.u, |u, z| *u += weight * f64::from(z));
    }
}

/// `b - L u`.
pub(super) fn residual(hierarchy: &Hierarchy, u: &mut [f64], b: &[f64], out: &mut [f64]) {
    let finest = hierarchy.finest();
    let len = finest.lattice().len();
    u.chunks_mut(len).for_each(|field| wrap(finest.lattice(), field));
    finest.residual_of(u, b, out);
}

fn norm_of(a: &[f64]) -> f64 {
    dot_numbers(a, a).sqrt()
}

fn narrow(a: &[f64], scale: f64, out: &mut [f32]) {
    let chunks = out.par_chunks_mut(CHUNK).zip(a.par_chunks(CHUNK));
    chunks.for_each(|(out, a)| out.iter_mut().zip(a).for_each(|(out, a)| *out = (a * scale) as f32));
}

fn add_scaled(a: &mut [f64], b: &[f32], scale: f64) {
    let chunks = a.par_chunks_mut(CHUNK).zip(b.par_chunks(CHUNK));
    chunks.for_each(|(a, b)| a.iter_mut().zip(b).for_each(|(a, b)| *a += scale * f64::from(*b)));
}
