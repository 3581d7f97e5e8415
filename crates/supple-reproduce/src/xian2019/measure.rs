//! Running the examples: the paper's solvers as scene settings, and timed frames.

use std::time::Instant;

use supple::linear::multigrid::galerkin::{Distances, Smoother};
use supple::scene::{Levels, LinearKind, LinearOptions, Method, Scene, Solver};
use supple::simulation::{Simulation, StageTimes};

use super::super::catalogue::Request;
use super::examples::FPS;
use supple_cli::failure::Failure;

/// A nonlinear method with a fixed number of iterations, as in the paper.
pub(super) fn iterations(method: Method, count: u32, linear: LinearOptions) -> Solver {
    // Never reached: the number of iterations decides.
    Solver {
        method,
        linear: Some(linear),
        tolerance: Some(1e-14),
        max_iterations: count,
        ..Solver::default()
    }
}

/// A linear solver with a fixed number of iterations.
pub(super) fn fixed(kind: LinearKind, count: u32) -> LinearOptions {
    LinearOptions { tolerance: Some(0.0), max_iterations: Some(count), ..kind.into() }
}

/// Sweeps equivalent to this many of the paper's iterations: its Gauss-Seidel is symmetric.
pub(super) fn sweeps_of(smoother: Smoother, iterations: u32) -> u32 {
    match smoother {
        Smoother::GaussSeidel => 2 * iterations,
        Smoother::Jacobi => iterations,
    }
}

/// One V-cycle on these numbers of coarse nodes, each level smoothed by this many of the paper's iterations before
/// and after, from fine to coarse.
pub(super) fn v_cycle(levels: Levels, smoother: Smoother, iterations: u32) -> LinearOptions {
    let sweeps = sweeps_of(smoother, iterations);
    LinearOptions {
        levels: Some(levels),
        smoother: Some(smoother),
        sweeps: Some(sweeps),
        coarse_sweeps: Some(sweeps),
        distances: Some(Distances::Geodesic),
        ..fixed(LinearKind::GalerkinCycle, 1)
    }
}

/// Numbers of coarse nodes of the paper at a fraction of its size.
pub(super) fn scaled(nodes: &[u32], size: f64) -> Levels {
    Levels::Counts(nodes.iter().map(|&nodes| (f64::from(nodes) * size).round().max(4.0) as u32).collect())
}

/// Timed frames.
pub(super) struct Timed {
    pub vertices: usize,
    pub elements: usize,
    /// Additional time of the first frame.
    pub setup_seconds: f64,
    /// Seconds per frame, by stage.
    pub frame: StageTimes,
    /// The largest residual at the end of a frame.
    pub residual: f64,
    /// Memory of matrices and solvers in bytes.
    pub bytes: usize,
}

impl Timed {
    /// Runs one frame and then times some.
    pub(super) fn run(scene: Scene, frames: usize, request: &Request) -> Result<Self, Failure> {
        let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
        let started = Instant::now();
        simulation.step(1.0 / FPS).map_err(Failure::of)?;
        let first = started.elapsed().as_secs_f64();
        let (mut sum, mut residual) = (StageTimes::default(), 0.0);
        for _ in 0..frames {
            let step = simulation.step(1.0 / FPS).map_err(Failure::of)?;
            sum += step.times;
            residual = step.residual.unwrap_or(0.0).max(residual);
        }
        let frame = sum / frames as f64;
        Ok(Self {
            vertices: simulation.unknowns() / 3,
            elements: simulation.counts().elements,
            setup_seconds: (first - frame.total).max(0.0),
            frame,
            residual,
            bytes: simulation.inspect().bytes,
        })
    }

    /// The example with its size.
    pub(super) fn case(&self, name: &str) -> String {
        format!("{name}, {} vertices, {} elements", self.vertices, self.elements)
    }
}
