//! Table 1 and figures 5, 14 and 17: complete steps.

use std::time::{Duration, Instant};

use supple::linear::mas::Mas;
use supple::linear::{BlockJacobi, LinearOperator, Preconditioner};
use supple::scene::{LinearKind, LinearOptions, Method, Scene, Solver};
use supple::simulation::{Comparison, Simulation, StageTimes, StepSystem};

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::cg_run::{CgRun, ReferenceProblem, plots};
use super::examples::{STEP, Spreading, armadillo, as_in_the_paper, builtin, cloth, jacobi, mas};
use supple_cli::convergence;
use supple_cli::failure::Failure;

/// Table 1, a garment and a body: construction, precomputation, application and the rest of an iteration relative to
/// one product, which cancels the machine's speed; condition numbers are absolute.
pub(super) fn costs(request: &Request) -> Result<Findings, Failure> {
    let vertices = request.value("vertices");
    let mut findings = Findings::default();
    // C1, C2, C_solver and the construction of the T-shirt and of the armadillos, in ms.
    let rows = [
        ("cloth", cloth(vertices, 1.0, request)?, [0.319, 8.292, 0.331, 0.544], 3.34e6),
        (
            "armadillo",
            armadillo(vertices, Spreading::Uniform, request)?,
            [0.287, 4.520, 0.166, 0.223],
            2.13e9,
        ),
    ];
    for (name, system, paper, condition) in rows {
        request.report_progress(name);
        let case = format!("{name}, {} vertices", system.rhs.len());
        let [construct, precompute, apply, product] = stages(&system, request)?;
        let [paper_construct, paper_precompute, paper_apply, paper_solver] = paper;
        let rest = |over: f64| over / paper_solver;
        findings.add(case.clone(), "product (ms)", None, 1e3 * product);
        findings.add(case.clone(), "construction, in products", rest(paper_construct), construct / product);
        findings.add(
            case.clone(),
            "precomputation, in products",
            rest(paper_precompute),
            precompute / product,
        );
        findings.add(case.clone(), "application, in products", rest(paper_apply), apply / product);
        let problem = ReferenceProblem::new(system, request.simd)?;
        for (name, linear) in [jacobi(), mas()] {
            let cg_run = problem.solve(name, &linear, request.simd)?;
            let paper = (name == jacobi().0).then_some(condition);
            findings.add(format!("{case}, {name}"), "estimated condition number", paper, cg_run.condition);
            findings.add(format!("{case}, {name}"), "iterations", None, cg_run.iterations());
        }
    }
    Ok(findings)
}

/// Seconds of construction, precomputation, application and product.
fn stages(system: &StepSystem, request: &Request) -> Result<[f64; 4], Failure> {
    let mut mas = Mas::new(as_in_the_paper(request), Some(system.current.clone()));
    mas.update(&system.matrix).map_err(|e| Failure::running(anyhow::anyhow!(e)))?;
    let mut z = system.rhs.clone();
    let mut best = |work: &mut dyn FnMut(&mut Vec<glam::DVec3>)| {
        let round = |_| {
            let started = Instant::now();
            work(&mut z);
            started.elapsed().as_secs_f64()
        };
        (0..7).map(round).fold(f64::INFINITY, f64::min)
    };
    let apply = best(&mut |z| mas.apply(&system.rhs, z));
    let product = best(&mut |z| system.matrix.apply(&system.rhs, z));
    let times = mas.times();
    Ok([times.construction.as_secs_f64(), times.precomputation.as_secs_f64(), apply, product])
}

/// Figure 5: nonlinear solvers with Jacobi and with MAS, the matrix updated every eight iterations.
pub(super) fn nonlinear(request: &Request) -> Result<Findings, Failure> {
    let scene = builtin("armadillo-bowl", request.value("resolution"))?;
    let methods = [
        ("accelerated gradient", Method::ACCELERATED_GRADIENT),
        ("L-BFGS", Method::LBFGS),
        ("nonlinear CG", Method::NONLINEAR_CG),
    ];
    let kinds = [("Jacobi", LinearKind::Jacobi), ("MAS", LinearKind::Mas)];
    let mut solvers = Vec::new();
    for (kind_name, kind) in kinds {
        for (name, method) in methods {
            let solver = Solver { method, linear: Some(kind.into()), refresh: Some(8), ..Solver::default() };
            solvers.push((format!("{name}, {kind_name}"), solver));
        }
        let inner = LinearOptions { tolerance: Some(0.0), max_iterations: Some(32), ..kind.into() };
        let solver = Solver { linear: Some(inner), refresh: Some(1), ..Solver::default() };
        solvers.push((format!("Newton with 32 CG iterations, {kind_name}"), solver));
    }
    request.report_progress("comparing solvers");
    let comparison = Comparison {
        frame: request.count("frame") as u32,
        solvers,
        budget: Duration::from_secs_f64(request.value("budget")),
        tolerance: 1e-6,
        reference_budget: None,
    };
    let compared = comparison.run(&scene, request.simd).map_err(Failure::of)?;
    let mut findings = Findings::default();
    for curve in &compared.curves {
        for (quantity, bound) in [("seconds to an error of 0.1", 0.1), ("seconds to an error of 0.001", 1e-3)]
        {
            findings.add(
                curve.name.clone(),
                quantity,
                None,
                curve.seconds_to(bound).unwrap_or(f64::INFINITY),
            );
        }
    }
    findings.plots.push(("", convergence("armadillo".to_owned(), &compared.curves)));
    Ok(findings)
}

/// The scenes of figure 14 with the resolution and the number of steps after which their system is extracted.
const SCENES: [(&str, f64, u32); 5] = [
    ("t-shirt", 0.5, 10),
    ("cloth-drop", 0.4, 30),
    ("stacked-cloth", 0.4, 12),
    ("knot", 0.4, 10),
    ("armadillo-bowl", 0.8, 20),
];

/// Figure 14: the error of the scenes' linear systems.
pub(super) fn all_scenes(request: &Request) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    let mut runs: Vec<CgRun> = Vec::new();
    for (name, resolution, steps) in SCENES {
        request.report_progress(name);
        let mut scene = builtin(name, resolution * request.value("resolution"))?;
        // The steps before the system are not measured: one solver for all.
        scene.solver.linear = Some(LinearKind::Mas.into());
        let problem = ReferenceProblem::new(super::examples::system(scene, steps, request)?, request.simd)?;
        let cg_run = problem.solve(name, &mas().1, request.simd)?;
        let case = format!(
            "{name}, {} vertices, {} pairs",
            problem.system.rhs.len(),
            problem.system.matrix.outside().len()
        );
        let after = |count: usize| cg_run.points[count.min(cg_run.points.len() - 1)][0];
        findings.add(case.clone(), "error after 32 iterations", None, after(32));
        findings.add(case.clone(), "error after 64 iterations", None, after(64));
        findings.add(case, "iterations to the paper's stop", None, cg_run.iterations());
        runs.push(cg_run);
    }
    findings.plots.extend(plots("all scenes", &runs));
    Ok(findings)
}

/// Figure 17: breakdown of the steps of a T-shirt.
pub(super) fn breakdown(request: &Request) -> Result<Findings, Failure> {
    let mut scene: Scene = builtin("t-shirt", request.value("resolution"))?;
    let inner = LinearOptions { tolerance: Some(0.0), max_iterations: Some(64), ..LinearKind::Mas.into() };
    // Linearised: one Newton iteration of 64 inner ones.
    scene.solver =
        Solver { linear: Some(inner), max_iterations: 1, tolerance: Some(1e-14), ..Solver::default() };
    let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
    let steps = request.count("steps");
    let mut sum = StageTimes::default();
    for _ in 0..steps {
        sum += simulation.step(STEP).map_err(Failure::of)?.times;
    }
    let mut findings = Findings::default();
    let case = format!("T-shirt, {} vertices", simulation.unknowns() / 3);
    for (stage, seconds) in sum.stages().into_iter().filter(|(_, seconds)| *seconds > 0.0) {
        let name = format!("{case}, {stage}");
        findings.add(name, "fraction of the step (%)", None, 100.0 * seconds / sum.total);
    }
    let system = simulation.step_system(STEP).map_err(Failure::of)?;
    let [_, _, apply, product] = stages(&system, request)?;
    let mut jacobi = BlockJacobi::default();
    jacobi.update(&system.matrix).map_err(|e| Failure::running(anyhow::anyhow!(e)))?;
    // In the paper's table the T-shirt's preconditioning takes 0.331 of 0.331 + 0.544 ms.
    findings.add(case.clone(), "application / (application + product)", 0.378, apply / (apply + product));
    findings.add(case, "seconds per step", None, sum.total / steps as f64);
    Ok(findings)
}
