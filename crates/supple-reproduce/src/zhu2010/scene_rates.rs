//! Figure 10's rows that need more than a lattice: finite elements on tetrahedra, and the paper's bodies as built-in scenes.

use glam::DVec3;
use supple::linear::multigrid::galerkin::{Galerkin, GalerkinOptions};
use supple::linear::{LinearSolver, StationarySolver, StopRule};
use supple::scene::{Method, Mode, Model, Scene};
use supple::simulation::{Simulation, StepSystem};
use supple::solvers::staggered;

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::rates::QUANTITY;
use supple_cli::failure::Failure;

/// Poisson's ratios of finite elements, and the paper's rates.
const TETRAHEDRA: [(f64, f64); 3] = [(0.2, 0.35), (0.475, 0.8), (0.49, 0.89)];
/// V-cycles on tetrahedra, of which the first does not count.
const CYCLES: usize = 20;
/// The residual at which rates are measured, relative to the start of the step.
const TOLERANCE: f64 = 1e-6;

/// The paper's multigrid for finite elements uses nested meshes, which a stuffed box does not have: Galerkin V-cycles
/// on its tetrahedra replace it.
pub(super) fn tetrahedra(request: &Request, findings: &mut Findings) -> Result<(), Failure> {
    let cells = request.value("cells").round();
    for (ratio, paper) in TETRAHEDRA {
        let mut scene = Scene::builtin("elastic-box").map_err(Failure::of)?;
        scene.time.mode = Mode::Quasistatic;
        scene.bodies[0].cell = Some(1.0 / cells);
        scene.bodies[0].material.poisson_ratio = Some(ratio);
        scene.solver.method = Method::NEWTON;
        let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
        let elements = simulation.counts().elements;
        let case = format!("Galerkin V-cycles, {cells}^3 box of {elements} tetrahedra, nu={ratio}");
        request.report_progress(&case);
        let system = simulation.step_system(1.0).map_err(Failure::of)?;
        findings.add(case, QUANTITY, paper, galerkin_rate(system, request)?);
    }
    Ok(())
}

fn galerkin_rate(system: StepSystem, request: &Request) -> Result<f64, Failure> {
    let StepSystem { matrix, rhs, positions, .. } = system;
    let options = GalerkinOptions { simd: request.simd, ..GalerkinOptions::default() };
    let mut cycles = StationarySolver::new(Galerkin::new(options, Some(positions)));
    cycles.prepare(&matrix).map_err(Failure::running)?;
    let mut x = vec![DVec3::ZERO; rhs.len()];
    cycles.solve(&matrix, &rhs, &mut x, &StopRule::iterations(CYCLES));
    let left: Vec<f64> = cycles.history().iter().map(|point| point.relative_residual).collect();
    let (first, last) = (left.get(1).copied().unwrap_or(f64::NAN), left[left.len() - 1]);
    Ok((last / first).powf(1.0 / (left.len() as f64 - 2.0)))
}

/// A body of the paper.
struct Known {
    scene: &'static str,
    what: &'static str,
    model: Model,
    mode: Mode,
    ratio: f64,
    paper: f64,
}

const BODIES: [Known; 4] = [
    Known {
        scene: "armadillo-pull",
        // 0.21 to 0.35 in the first cycles, 0.62 asymptotically.
        what: "armadillo, linear",
        model: Model::Linear,
        mode: Mode::Quasistatic,
        ratio: 0.475,
        paper: 0.35,
    },
    Known {
        scene: "armadillo-pull",
        what: "armadillo, co-rotational",
        model: Model::Corotated,
        mode: Mode::Quasistatic,
        ratio: 0.475,
        paper: 0.43,
    },
    Known {
        scene: "human-like",
        what: "human, linear",
        model: Model::Linear,
        mode: Mode::Quasistatic,
        ratio: 0.475,
        paper: 0.24,
    },
    Known {
        scene: "soft-car",
        what: "car, a step of one frame, linear",
        model: Model::Linear,
        mode: Mode::Dynamic,
        ratio: 0.4,
        paper: 0.08,
    },
];

/// The mean factor of the residual per cycle, in the first frame of the scenes that represent the paper's bodies: by
/// the default solver, and by cycles alone where there are no rotations.
pub(super) fn bodies(request: &Request, findings: &mut Findings) -> Result<(), Failure> {
    for known in &BODIES {
        let linear = known.model == Model::Linear;
        for (name, krylov) in [("W-cycles", false), ("default solver", true)] {
            if krylov || linear {
                let (cell, rate) = rate_of(known, krylov, request)?;
                let case = format!("{name}, {}, cells of {cell} m, nu={}", known.what, known.ratio);
                findings.add(case, QUANTITY, known.paper, rate);
            }
        }
    }
    Ok(())
}

/// The side of the cells in m, and the rate.
fn rate_of(known: &Known, krylov: bool, request: &Request) -> Result<(f64, f64), Failure> {
    request.report_progress(&format!(
        "{}, {}",
        known.what,
        if krylov { "default solver" } else { "W-cycles" }
    ));
    let mut scene = Scene::builtin(known.scene).map_err(Failure::of)?;
    scene.scale_resolution(request.value("resolution")).map_err(Failure::of)?;
    scene.time.mode = known.mode;
    scene.solver.tolerance = Some(TOLERANCE);
    scene.solver.options.get_mut::<staggered::StaggeredOptions>().krylov = krylov;
    let body = &mut scene.bodies[0];
    body.model = Some(known.model);
    body.material.poisson_ratio = Some(known.ratio);
    let (cell, dt) = (body.cell.unwrap_or(f64::NAN), 1.0 / scene.time.fps);
    let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
    let report = simulation.step(dt).map_err(Failure::of)?;
    let left = report.residual.unwrap_or(f64::NAN);
    Ok((cell, left.powf(1.0 / f64::from(report.linear_iterations.max(1)))))
}
