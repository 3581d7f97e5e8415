//! The same step of a scene taken by several solvers, to compare how fast each comes near the solution.
//!
//! The measure is Xian 2019, equation 9: `(E(x) - E(x*)) / (E(x₀) - E(x*))`, with `E` the objective of the step, `x₀` where
//! all of them start and `x*` the converged solution.

use std::time::{Duration, Instant};

use super::Simulation;
use crate::error::Error;
use crate::linear::Simd;
use crate::nonlinear::IterationRecord;
use crate::scene::{Linear, Method, Scene, Solver};

/// How one solver came down.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The name it was given.
    pub name: String,
    /// Nonlinear iterations.
    pub iterations: u32,
    /// Iterations of its linear solver.
    pub linear_iterations: u32,
    /// Seconds of analysis before the first iteration.
    pub setup_seconds: f64,
    /// Memory of its matrices, factors and preconditioners in bytes.
    pub bytes: usize,
    /// Whether it reached the tolerance within its budget.
    pub converged: bool,
    /// Where it stood after every iteration, the start included.
    pub points: Vec<CurvePoint>,
}

impl Curve {
    /// The seconds after which the error was below `bound` for good; `None` if it never was.
    pub fn seconds_to(&self, bound: f64) -> Option<f64> {
        let above = self.points.iter().rposition(|point| point.error > bound);
        let first = above.map_or(0, |last| last + 1);
        self.points.get(first).map(|point| point.seconds)
    }
}

/// A point of a [`Curve`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Seconds since the first iteration began.
    pub seconds: f64,
    /// Relative error of the objective.
    pub error: f64,
    /// Norm of the gradient over that at the step's start.
    pub residual: f64,
}

/// What to compare.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The frame whose first step is compared, 1 or later; the frames before it are run as the scene says.
    pub frame: u32,
    /// The solvers by name.
    pub solvers: Vec<(String, Solver)>,
    /// Time for each solver.
    pub budget: Duration,
    /// The residual to reach.
    pub tolerance: f64,
}

/// Below this the errors are rounding.
const SMALLEST_ERROR: f64 = 1e-14;

impl Comparison {
    /// Takes the step by every solver. Solvers that cannot work on the scene are an error that names them.
    pub fn run(&self, scene: &Scene, simd: Simd) -> Result<Vec<Curve>, Error> {
        let (start, step) = self.advance(scene, simd)?;
        let reference = Solver {
            method: Method::Newton,
            linear: Linear::default(),
            tolerance: 1e-13,
            max_iterations: 300,
            refresh: None,
        };
        let (best, _) = self.take(scene, &reference, &start, step, simd)?;
        let mut curves = Vec::new();
        for (name, solver) in &self.solvers {
            let solver = Solver { tolerance: self.tolerance, max_iterations: 1_000_000, ..solver.clone() };
            let named = |error: Error| Error::Invalid(format!("the solver `{name}`: {error}"));
            let (points, mut curve) = self.take(scene, &solver, &start, step, simd).map_err(named)?;
            curve.name.clone_from(name);
            curves.push((points, curve));
        }
        let all = curves.iter().map(|(points, _)| points).chain([&best]);
        let lowest = all.flatten().map(|record| record.value).fold(f64::INFINITY, f64::min);
        Ok(curves.into_iter().map(|(records, curve)| with_errors(curve, &records, lowest)).collect())
    }

    /// The state before the step that is compared, and the step in seconds.
    fn advance(&self, scene: &Scene, simd: Simd) -> Result<(Vec<u8>, f64), Error> {
        let step = 1.0 / (scene.time.fps * f64::from(scene.time.substeps));
        let mut simulation = Simulation::with_simd(scene.clone(), simd)?;
        for _ in 1..self.frame {
            for _ in 0..scene.time.substeps {
                simulation.step(step)?;
            }
        }
        Ok((simulation.save(), step))
    }

    /// Takes the step; gives where it stood after every iteration.
    fn take(
        &self,
        scene: &Scene,
        solver: &Solver,
        start: &[u8],
        step: f64,
        simd: Simd,
    ) -> Result<(Vec<IterationRecord>, Curve), Error> {
        let mut simulation = Simulation::with_simd(Scene { solver: solver.clone(), ..scene.clone() }, simd)?;
        simulation.restore(start)?;
        simulation.record_iterations(true);
        let begun = Instant::now();
        let report = simulation.step_within(step, self.budget)?;
        let inspection = simulation.inspect();
        let iterating = inspection.history.last().map_or(0.0, |record| record.seconds);
        let curve = Curve {
            name: String::new(),
            iterations: report.nonlinear_iterations,
            linear_iterations: report.linear_iterations,
            setup_seconds: (begun.elapsed().as_secs_f64() - iterating).max(0.0),
            bytes: inspection.bytes,
            converged: report.converged,
            points: Vec::new(),
        };
        Ok((inspection.history, curve))
    }
}

fn with_errors(mut curve: Curve, records: &[IterationRecord], lowest: f64) -> Curve {
    let scale = records.first().map_or(1.0, |first| first.value - lowest).max(f64::MIN_POSITIVE);
    let point = |record: &IterationRecord| CurvePoint {
        seconds: record.seconds,
        error: ((record.value - lowest) / scale).max(SMALLEST_ERROR),
        residual: record.residual,
    };
    curve.points = records.iter().map(point).collect();
    curve
}
