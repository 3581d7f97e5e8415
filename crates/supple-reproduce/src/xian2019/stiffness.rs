//! Figure 9: V-cycles on matrices of increasing stiffness.

use glam::DVec3;
use supple::linear::multigrid::galerkin::{Galerkin, GalerkinOptions, LevelSizes, Smoother};
use supple::linear::{LinearSolver, StationarySolver, StopRule};
use supple::scene::{LinearKind, Method};
use supple::simulation::StepSystem;

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::examples::ARMADILLO;
use super::measure::{fixed, iterations, sweeps_of};
use super::table3::system;
use supple_cli::failure::Failure;
use supple_cli::plot::{AxisScale, Plot, PlotLine};

/// `μ` in Pa.
const STIFFNESSES: [f64; 6] = [5e2, 2e3, 8e3, 3.2e4, 1.28e5, 2.56e5];

/// Figure 9, on the armadillo of 14,779 vertices with 50 coarse nodes and three iterations of Gauss-Seidel.
pub(super) fn residuals(request: &Request) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    let (mut lines, mut rates) = (Vec::new(), Vec::new());
    for stiffness in STIFFNESSES {
        request.report_progress(&format!("stiffness {stiffness:.0} Pa"));
        let points = history(stiffness, request)?;
        let last = points.last().map_or(1.0, |point| point[1]);
        let rate = last.powf(1.0 / (points.len() - 1).max(1) as f64);
        let case = format!("stiffness {stiffness:.0} Pa");
        findings.add(case.clone(), "convergence rate of a V-cycle", None, rate);
        rates.push(rate);
        lines.push(PlotLine { name: case, points });
    }
    let [low, high] = rates.iter().fold([f64::INFINITY, 0.0], |[l, h], &r| [r.min(l), r.max(h)]);
    findings.add("all stiffnesses", "largest over smallest", None, high / low);
    let plot = Plot {
        title: "residual over V-cycles".into(),
        labels: ["V-cycles", "normalised residual"],
        scales: [AxisScale::Linear, AxisScale::Logarithmic],
        lines,
    };
    findings.plots.push(("", plot));
    Ok(findings)
}

/// The relative residual after every cycle.
fn history(stiffness: f64, request: &Request) -> Result<Vec<[f64; 2]>, Failure> {
    let size = request.value("size");
    let solver = iterations(Method::PROJECTIVE, 4, fixed(LinearKind::Galerkin, 20));
    let scene = ARMADILLO.with_stiffness(stiffness).scene(size * 14_779.0, solver, request)?;
    let StepSystem { matrix, rhs, positions, .. } = system(scene, request)?;
    let options = GalerkinOptions {
        levels: LevelSizes::Given(vec![(50.0 * size).round().max(4.0) as usize]),
        sweeps: sweeps_of(Smoother::GaussSeidel, 3) as usize,
        simd: request.simd,
        ..GalerkinOptions::default()
    };
    let mut cycles = StationarySolver::new(Galerkin::new(options, Some(positions)));
    cycles.prepare(&matrix).map_err(Failure::running)?;
    let mut x = vec![DVec3::ZERO; rhs.len()];
    cycles.solve(&matrix, &rhs, &mut x, &StopRule::iterations(request.count("cycles")));
    let points = cycles.history().iter().enumerate();
    Ok(points.map(|(cycle, point)| [cycle as f64, point.relative_residual]).collect())
}
