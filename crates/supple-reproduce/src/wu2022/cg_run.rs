//! Convergence of conjugate gradients with a preconditioner: the error of figure 4, `(E(x) - E*) / (E(0) - E*)` with
//! the quadratic objective `E`, and the largest entry of the residual, the stopping criterion of section 8.3.
//!
//! Errors come from an iteration implemented here, times from the engine's own solver, which does not record the
//! objective: both produce the same iterates up to rounding.

use std::time::Instant;

use glam::DVec3;
use supple::linear::{
    BlockMatrix, ConjugateGradient, LinearOperator, Preconditioner, Simd, StopRule, preconditioner,
};
use supple::scene::LinearOptions;
use supple::simulation::StepSystem;

use supple_cli::failure::Failure;
use supple_cli::plot::{AxisScale, Plot, PlotLine};

/// The paper's stopping criterion: the largest entry of the residual relative to the start.
pub(super) const STOP: f64 = 5e-4;
/// Maximum iterations of a measured solve.
pub(super) const MOST: usize = 3000;
/// Iterations and residual of the solution that is considered exact.
const EXACT: (usize, f64) = (6000, 1e-9);

/// A system with the minimum of its objective.
pub(super) struct ReferenceProblem {
    pub system: StepSystem,
    lowest: f64,
}

/// A solve.
pub(super) struct CgRun {
    pub name: String,
    /// Seconds before the first iteration: analysis, factors, inverses.
    pub setup: f64,
    /// Seconds of all iterations.
    pub seconds: f64,
    /// After each iteration, including the start: the error, and the largest entry of the residual.
    pub points: Vec<[f64; 2]>,
    /// Largest over smallest eigenvalue of the preconditioned matrix, as estimated by the iteration.
    pub condition: f64,
}

impl ReferenceProblem {
    /// Solves a system once to find its minimum.
    pub(super) fn new(system: StepSystem, simd: Simd) -> Result<Self, Failure> {
        let mut exact = made(&LinearOptions::from(supple::scene::LinearKind::Mas), &system, simd)?;
        let trace = iterate(&system.matrix, &mut *exact, &system.rhs, EXACT.1, EXACT.0);
        let lowest = trace.values.iter().copied().fold(0.0, f64::min);
        Ok(Self { system, lowest })
    }

    /// Solves it with a preconditioner until [`STOP`].
    pub(super) fn solve(&self, name: &str, linear: &LinearOptions, simd: Simd) -> Result<CgRun, Failure> {
        let started = Instant::now();
        let mut preconditioner = made(linear, &self.system, simd)?;
        let setup = started.elapsed().as_secs_f64();
        self.run(name, &mut *preconditioner, setup)
    }

    /// The same with a preconditioner that is ready, after `setup` seconds.
    pub(super) fn run(
        &self,
        name: &str,
        preconditioner: &mut dyn Preconditioner,
        setup: f64,
    ) -> Result<CgRun, Failure> {
        let StepSystem { matrix, rhs, .. } = &self.system;
        let trace = iterate(matrix, preconditioner, rhs, STOP, MOST);
        let mut x = vec![DVec3::ZERO; rhs.len()];
        let mut timed = ConjugateGradient::default();
        let stop = StopRule::iterations(trace.residuals.len() - 1);
        timed.solve(matrix, preconditioner, rhs, &mut x, &stop);
        let seconds = timed.history().last().map_or(0.0, |point| point.seconds);
        // This solve may reach the lowest value of all.
        let lowest = trace.values.iter().copied().fold(self.lowest, f64::min);
        let error = |value: &f64| ((value - lowest) / -lowest).max(1e-16);
        let points = trace.values.iter().zip(&trace.residuals).map(|(e, r)| [error(e), *r]).collect();
        Ok(CgRun { name: name.to_owned(), setup, seconds, points, condition: trace.condition() })
    }
}

/// A preconditioner, updated.
pub(super) fn made(
    linear: &LinearOptions,
    system: &StepSystem,
    simd: Simd,
) -> Result<Box<dyn Preconditioner>, Failure> {
    let mut made = preconditioner(linear, Some(system.current.clone()), simd).map_err(Failure::running)?;
    made.update(&system.matrix).map_err(Failure::running)?;
    Ok(made)
}

impl CgRun {
    /// Iterations until the stopping criterion, or all.
    pub(super) fn iterations(&self) -> f64 {
        (self.points.len() - 1) as f64
    }

    /// Seconds of set-up and iterations.
    pub(super) fn total(&self) -> f64 {
        self.setup + self.seconds
    }

    /// The first iteration after which the error is below a bound.
    pub(super) fn iterations_to(&self, bound: f64) -> f64 {
        let first = self.points.iter().position(|[error, _]| *error <= bound);
        first.map_or(f64::INFINITY, |k| k as f64)
    }

    /// Seconds of iterations until the error is below a bound.
    pub(super) fn seconds_to(&self, bound: f64) -> f64 {
        self.iterations_to(bound) * self.seconds / self.iterations().max(1.0)
    }
}

/// Error over iterations and error over time.
pub(super) fn plots(title: &str, runs: &[CgRun]) -> [(&'static str, Plot); 2] {
    let line = |run: &CgRun, x: &dyn Fn(usize) -> f64| PlotLine {
        name: run.name.clone(),
        points: run.points.iter().enumerate().map(|(k, [error, _])| [x(k), *error]).collect(),
    };
    let plot = |label: &'static str, lines: Vec<PlotLine>| Plot {
        title: title.to_owned(),
        labels: [label, "relative error"],
        scales: [AxisScale::Linear, AxisScale::Logarithmic],
        lines,
    };
    let by_count = runs.iter().map(|run| line(run, &|k| k as f64)).collect();
    let by_time = runs
        .iter()
        .map(|run| {
            let each = run.seconds / run.iterations().max(1.0);
            line(run, &|k| run.setup + each * k as f64)
        })
        .collect();
    [
        ("-iterations", plot("iterations", by_count)),
        ("-time", plot("time in seconds, set-up included", by_time)),
    ]
}

/// The history of an iteration.
struct Trace {
    /// The objective after each iteration.
    values: Vec<f64>,
    residuals: Vec<f64>,
    alphas: Vec<f64>,
    betas: Vec<f64>,
}

/// Preconditioned conjugate gradients from zero until the largest entry of the residual has fallen to `stop` times
/// that at the start.
fn iterate(
    matrix: &BlockMatrix,
    preconditioner: &mut dyn Preconditioner,
    rhs: &[DVec3],
    stop: f64,
    most: usize,
) -> Trace {
    let dot = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
    let largest = |r: &[DVec3]| r.iter().map(|r| r.abs().max_element()).fold(0.0, f64::max);
    let mut r = rhs.to_vec();
    let mut z = vec![DVec3::ZERO; r.len()];
    let mut q = z.clone();
    preconditioner.apply(&r, &mut z);
    let mut p = z.clone();
    let (mut rz, scale) = (dot(&r, &z), largest(&r).max(f64::MIN_POSITIVE));
    let mut trace = Trace { values: vec![0.0], residuals: vec![1.0], alphas: Vec::new(), betas: Vec::new() };
    for _ in 0..most {
        matrix.apply(&p, &mut q);
        let alpha = rz / dot(&p, &q);
        r.iter_mut().zip(&q).for_each(|(r, q)| *r -= alpha * *q);
        // Along a conjugate direction the objective decreases by half of the predicted linear decrease.
        trace.values.push(trace.values[trace.values.len() - 1] - 0.5 * alpha * rz);
        trace.residuals.push(largest(&r) / scale);
        preconditioner.apply(&r, &mut z);
        let next = dot(&r, &z);
        let beta = next / rz;
        trace.alphas.push(alpha);
        trace.betas.push(beta);
        if trace.residuals[trace.residuals.len() - 1] <= stop || !(next > 0.0 && alpha.is_finite()) {
            break;
        }
        rz = next;
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = *z + beta * *p);
    }
    trace
}

impl Trace {
    /// From the extreme eigenvalues of the tridiagonal matrix of Lanczos (Saad 2003, section 6.7.3), by bisection.
    fn condition(&self) -> f64 {
        let count = self.alphas.len();
        let before = |k: usize| if k == 0 { 0.0 } else { self.betas[k - 1] / self.alphas[k - 1] };
        let diagonal: Vec<f64> = (0..count).map(|k| 1.0 / self.alphas[k] + before(k)).collect();
        let squares: Vec<f64> =
            (1..count).map(|k| self.betas[k - 1] / (self.alphas[k - 1] * self.alphas[k - 1])).collect();
        let below = |at: f64| {
            let mut pivot = 1.0;
            (0..count)
                .filter(|&k| {
                    let beside = if k == 0 { 0.0 } else { squares[k - 1] / pivot };
                    pivot = diagonal[k] - at - beside;
                    if pivot == 0.0 {
                        pivot = -f64::MIN_POSITIVE;
                    }
                    pivot < 0.0
                })
                .count()
        };
        let high = 2.0 * diagonal.iter().copied().fold(0.0, f64::max);
        let find = |wanted: usize| {
            let (mut low, mut high) = (0.0, high);
            for _ in 0..80 {
                let middle = 0.5 * (low + high);
                if below(middle) >= wanted { high = middle } else { low = middle }
            }
            0.5 * (low + high)
        };
        if count == 0 { 1.0 } else { find(count) / find(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use supple::linear::{BlockJacobi, BlockPattern, LinearError, SolverState};

    #[test]
    fn a_diagonal_matrix_gives_its_condition_and_its_lowest_value() {
        let count = 12;
        let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&[false; 12], &[])));
        for v in 0..count {
            matrix.add_diagonal(v, glam::DMat3::from_diagonal(DVec3::splat(1.0 + f64::from(v))));
        }
        /// No preconditioner.
        struct Nothing;
        impl Preconditioner for Nothing {
            fn update(&mut self, _: &dyn LinearOperator) -> Result<(), LinearError> {
                Ok(())
            }

            fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
                z.copy_from_slice(r);
            }
        }

        impl SolverState for Nothing {
            fn bytes(&self) -> usize {
                0
            }
        }
        let rhs: Vec<DVec3> = (0..count).map(|v| DVec3::new(1.0, 0.3 * f64::from(v), -2.0)).collect();
        let trace = iterate(&matrix, &mut Nothing, &rhs, 1e-14, 100);
        assert!((trace.condition() / 12.0 - 1.0).abs() < 1e-6, "{}", trace.condition());
        let lowest: f64 = rhs.iter().zip(1..).map(|(b, k)| -0.5 * b.length_squared() / f64::from(k)).sum();
        let found = trace.values[trace.values.len() - 1];
        assert!((found / lowest - 1.0).abs() < 1e-12, "{found} {lowest}");
        let mut jacobi = BlockJacobi::default();
        jacobi.update(&matrix).unwrap();
        assert!(iterate(&matrix, &mut jacobi, &rhs, 1e-14, 100).values.len() <= 3);
    }
}
