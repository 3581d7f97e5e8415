//! Table 3 and figure 3: coarse spaces with unknowns and weights that differ from the cycle's.

use glam::DVec3;
use supple::linear::multigrid::galerkin::{CoarseSpace, Weights};
use supple::linear::{
    CholeskyFactor, GaussSeidel, LinearSolver, PreconditionedSolver, Simd, StationarySolver, StopRule,
};
use supple::scene::{LinearKind, Method, Scene};
use supple::simulation::{Simulation, StepSystem};

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::examples::{ARMADILLO, FPS, OCTOPUS};
use super::measure::{fixed, iterations};
use supple_cli::failure::Failure;

/// Table 3: coarse nodes, 12 unknowns or 3, weights, and the paper's reduction.
const TESTS: [(usize, bool, Weights, f64); 4] = [
    (100, true, Weights::PiecewiseConstant, 0.058),
    (100, true, Weights::Smooth, 0.019),
    (100, false, Weights::PiecewiseConstant, 0.494),
    (400, false, Weights::PiecewiseConstant, 0.407),
];

/// Table 3. The number of coarse nodes is the paper's at any size.
pub(super) fn error_reduction(request: &Request) -> Result<Findings, Failure> {
    let solver = iterations(Method::PROJECTIVE, 4, fixed(LinearKind::Galerkin, 20));
    let armadillo = ARMADILLO.with_metres(request.value("metres"));
    let scene = armadillo.scene(request.value("size") * 14_779.0, solver, request)?;
    let StepSystem { matrix, rhs, positions, .. } = system(scene, request)?;
    request.report_progress("exact solution");
    let exact = CholeskyFactor::new(Some(positions.clone()), Simd::Auto);
    let exact = solved(PreconditionedSolver::new(exact), &matrix, &rhs, &StopRule::tolerance(1e-12, 20))?;
    let sweeps = StationarySolver::new(GaussSeidel::default());
    let smoothed = solved(sweeps, &matrix, &rhs, &StopRule::iterations(3))?;
    let error = difference(&exact, &smoothed);
    let residual = difference(&rhs, &matrix.multiply(&smoothed));
    let mut findings = Findings::default();
    for (nodes, affine, weights, paper) in TESTS {
        let space = CoarseSpace::new(&matrix, &positions, nodes, affine, weights);
        let correction = space.correction(&matrix, &residual).map_err(Failure::running)?;
        let case = format!(
            "{} vertices, {nodes} nodes, {} unknowns, {}",
            rhs.len(),
            if affine { 12 } else { 3 },
            words(weights)
        );
        let left = norm(&difference(&error, &correction)) / norm(&error);
        findings.add(case.clone(), "error left by the coarse solve", paper, left);
        findings.add(case, "entries of the coarse matrix", None, space.nonzeros(&matrix) as f64);
    }
    Ok(findings)
}

/// Figure 3.
pub(super) fn nonzeros(request: &Request) -> Result<Findings, Failure> {
    let size = request.value("size");
    let solver = iterations(Method::PROJECTIVE, 1, fixed(LinearKind::Galerkin, 5));
    let scene = OCTOPUS.scene(size * 39_223.0, solver, request)?;
    let StepSystem { matrix, positions, .. } = system(scene, request)?;
    let fine = 9 * matrix.pattern().block_count();
    let mut findings = Findings::default();
    let case = format!("octopus, {} vertices", positions.len());
    findings.add(case, "entries of the matrix", None, fine as f64);
    let nodes = (400.0 * size).round().max(4.0) as usize;
    // "Reduced roughly by a quarter" with smooth weights; the paper states no other number.
    for (weights, paper) in [(Weights::Smooth, Some(0.75)), (Weights::PiecewiseConstant, None)] {
        let space = CoarseSpace::new(&matrix, &positions, nodes, true, weights);
        let coarse = space.nonzeros(&matrix) as f64;
        let case = format!("{nodes} nodes, {}", words(weights));
        findings.add(case.clone(), "entries of the coarse matrix", None, coarse);
        findings.add(case, "entries / entries of the matrix", paper, coarse / fine as f64);
    }
    Ok(findings)
}

fn words(weights: Weights) -> &'static str {
    match weights {
        Weights::PiecewiseConstant => "piecewise-constant weights",
        Weights::Smooth => "smooth weights",
    }
}

/// The system of a frame during the motion.
pub(super) fn system(scene: Scene, request: &Request) -> Result<StepSystem, Failure> {
    let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
    for _ in 1..request.count("frame") {
        simulation.step(1.0 / FPS).map_err(Failure::of)?;
    }
    simulation.step_system(1.0 / FPS).map_err(Failure::of)
}

fn solved(
    mut solver: impl LinearSolver,
    matrix: &supple::linear::BlockMatrix,
    rhs: &[DVec3],
    stop: &StopRule,
) -> Result<Vec<DVec3>, Failure> {
    let mut x = vec![DVec3::ZERO; rhs.len()];
    solver.prepare(matrix).map_err(Failure::running)?;
    solver.solve(matrix, rhs, &mut x, stop);
    Ok(x)
}

pub(super) fn running(problem: String) -> Failure {
    Failure::running(anyhow::anyhow!(problem))
}

fn difference(a: &[DVec3], b: &[DVec3]) -> Vec<DVec3> {
    a.iter().zip(b).map(|(a, b)| *a - *b).collect()
}

fn norm(a: &[DVec3]) -> f64 {
    a.iter().map(|a| a.length_squared()).sum::<f64>().sqrt()
}
