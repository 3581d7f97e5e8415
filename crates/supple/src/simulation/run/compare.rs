//! The same step of a scene taken by several solvers, to compare how fast each converges to the solution.
//!
//! The measure is Xian 2019, equation 9: `(E(x) - E(x*)) / (E(x₀) - E(x*))`, with `E` the objective of the step, `x₀` the
//! common start and `x*` the converged solution.

use std::time::{Duration, Instant};

use crate::scene::{LinearKind, Method, Scene, Solver};
use crate::simulation::{Registry, Simulation};
use crate::stepper::IterationRecord;
use supple_core::Error;
use supple_linear::Simd;

/// The convergence of one solver.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Curve {
    /// The name it was given.
    pub name: String,
    /// Nonlinear iterations.
    pub iterations: u32,
    /// Iterations of its linear solver.
    pub linear_iterations: u32,
    /// Seconds of analysis done once per scene: how much longer the first iteration takes the first time.
    pub setup_seconds: f64,
    /// Memory of its matrices, factors and preconditioners in bytes.
    pub bytes: usize,
    /// Whether it reached the tolerance within its budget.
    pub converged: bool,
    /// Its progress after every iteration, including the start.
    pub points: Vec<CurvePoint>,
}

impl Curve {
    /// The seconds after which the error stayed below `bound`; `None` if it never did.
    pub fn seconds_to(&self, bound: f64) -> Option<f64> {
        self.points.get(self.first_below(bound)).map(|point| point.seconds)
    }

    /// The nonlinear iterations after which the error stayed below `bound`; `None` if it never did.
    pub fn iterations_to(&self, bound: f64) -> Option<u32> {
        let first = self.first_below(bound);
        (first < self.points.len()).then_some(first as u32)
    }

    /// The first point from which on the error stayed below `bound`.
    fn first_below(&self, bound: f64) -> usize {
        let above = self.points.iter().rposition(|point| point.error > bound);
        above.map_or(0, |last| last + 1)
    }
}

/// A point of a [`Curve`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CurvePoint {
    /// Seconds since the start of the first iteration.
    pub seconds: f64,
    /// Relative error of the objective.
    pub error: f64,
    /// Norm of the gradient over that at the step's start.
    pub residual: f64,
}

/// The parameters of a comparison.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The frame whose first step is compared, 1 or later; the frames before it are run as the scene specifies.
    pub frame: u32,
    /// The solvers by name.
    pub solvers: Vec<(String, Solver)>,
    /// Time limit per solver.
    pub budget: Duration,
    /// The target residual.
    pub tolerance: f64,
    /// Time limit for the reference; `None` for no limit.
    pub reference_budget: Option<Duration>,
}

/// The result of a comparison.
#[derive(Debug)]
#[non_exhaustive]
pub struct Compared {
    /// The solvers that took the step, in the given order.
    pub curves: Vec<Curve>,
    /// Those that could not, and why.
    pub left_out: Vec<(String, Error)>,
    /// Whether the reference solution converged to what double precision allows; errors are relative to the lowest objective
    /// found by any solver.
    pub reference_converged: bool,
    /// The residual that it ended with.
    pub reference_residual: f64,
    /// Contacts with colliders and between surfaces at the start.
    pub contacts: u32,
}

/// Errors below this are rounding.
const SMALLEST_ERROR: f64 = 1e-14;

impl Comparison {
    /// Takes the step by every solver.
    pub fn run(&self, scene: &Scene, simd: Simd) -> Result<Compared, Error> {
        self.run_with_steppers(scene, simd, &Registry::builtin())
    }

    /// The same with solvers of these steppers.
    pub fn run_with_steppers(
        &self,
        scene: &Scene,
        simd: Simd,
        steppers: &Registry,
    ) -> Result<Compared, Error> {
        let (start, step, contacts) = self.advance(scene, simd, steppers)?;
        let reference = Solver {
            method: Method::NEWTON,
            linear: Some(LinearKind::Cholesky.into()),
            tolerance: Some(1e-13),
            max_iterations: 300,
            ..Solver::default()
        };
        let begin = ComparisonStart { scene, start: &start, step, simd, steppers };
        let (best, best_curve) = begin.take(&reference, self.reference_budget)?;
        let (mut taken, mut left_out) = (Vec::new(), Vec::new());
        for (name, solver) in &self.solvers {
            let solver = Solver {
                tolerance: Some(self.tolerance),
                velocity_tolerance: None,
                max_iterations: 1_000_000,
                ..solver.clone()
            };
            match begin.take(&solver, Some(self.budget)) {
                Ok((records, curve)) => taken.push((records, Curve { name: name.clone(), ..curve })),
                Err(error) => left_out.push((name.clone(), error)),
            }
        }
        let all = taken.iter().map(|(records, _)| records).chain([&best]);
        let lowest = all.flatten().map(|record| record.value).fold(f64::INFINITY, f64::min);
        Ok(Compared {
            curves: taken.into_iter().map(|(records, curve)| with_errors(curve, &records, lowest)).collect(),
            left_out,
            reference_converged: best_curve.converged,
            reference_residual: best.last().map_or(0.0, |record| record.residual),
            contacts,
        })
    }

    /// The state before the step that is compared, the step in seconds, and the number of contacts.
    fn advance(&self, scene: &Scene, simd: Simd, steppers: &Registry) -> Result<(Vec<u8>, f64, u32), Error> {
        let step = 1.0 / (scene.time.fps * f64::from(scene.time.substeps));
        let mut simulation = Simulation::with_steppers(scene.clone(), simd, steppers)?;
        let mut contacts = 0;
        for _ in 1..self.frame {
            for _ in 0..scene.time.substeps {
                let report = simulation.step(step)?;
                contacts = report.contacts + report.pairs;
            }
        }
        Ok((simulation.save(), step, contacts))
    }
}

/// The start of a comparison.
struct ComparisonStart<'a> {
    scene: &'a Scene,
    start: &'a [u8],
    step: f64,
    simd: Simd,
    steppers: &'a Registry,
}

impl ComparisonStart<'_> {
    /// Takes the step, for the second time: analyses of the sparsity, orders and hierarchies are made once per scene, and one
    /// solver makes them before its first iteration, another within it. Returns its progress after every iteration.
    fn take(
        &self,
        solver: &Solver,
        budget: Option<Duration>,
    ) -> Result<(Vec<IterationRecord>, Curve), Error> {
        let scene = Scene { solver: solver.clone(), ..self.scene.clone() };
        let mut simulation = Simulation::with_steppers(scene, self.simd, self.steppers)?;
        simulation.restore(self.start)?;
        simulation.scene_state.solver.max_iterations = 1;
        let started = Instant::now();
        simulation.step(self.step)?;
        let first = started.elapsed().as_secs_f64();
        simulation.restore(self.start)?;
        simulation.scene_state.solver.max_iterations = solver.max_iterations;
        simulation.record_iterations(true);
        let report = match budget {
            Some(budget) => simulation.step_within(self.step, budget)?,
            None => simulation.step(self.step)?,
        };
        let inspection = simulation.inspect();
        let again = inspection.history.get(1).map_or(0.0, |record| record.seconds);
        let curve = Curve {
            name: String::new(),
            iterations: report.nonlinear_iterations,
            linear_iterations: report.linear_iterations,
            setup_seconds: (first - again).max(0.0),
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
