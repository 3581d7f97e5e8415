//! Figures 4, 9, 10, 16 and 23: the error over iterations with different preconditioners.

use std::time::Instant;

use supple::linear::mas::{Mas, MasOptions};
use supple::linear::{Preconditioner, Schwarz, SchwarzOptions};
use supple::scene::{LinearKind, LinearOptions};
use supple::simulation::Simulation;

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::cg_run::{CgRun, ReferenceProblem, plots};
use super::examples::{
    STEP, Spreading, armadillo, as_in_the_paper, builtin, cloth, jacobi, mas, multigrid, paper_mas, schwarz,
};
use supple_cli::failure::Failure;

/// Figure 4: preconditioners suited to a GPU.
pub(super) fn preconditioners(request: &Request) -> Result<Findings, Failure> {
    let all = [jacobi(), schwarz(), multigrid(), paper_mas(), mas()];
    compare("folded cloth", &all, &[], request)
}

/// Figure 16: those that also need a CPU, with the paper's factorisation times.
pub(super) fn factorisations(request: &Request) -> Result<Findings, Failure> {
    let ict = LinearOptions { drop_tolerance: Some(1e-4), fill: Some(4.0), ..LinearKind::Ict.into() };
    let all = [
        jacobi(),
        schwarz(),
        ("IC0", LinearKind::Ic0.into()),
        ("threshold IC", ict),
        ("Cholesky", LinearKind::Cholesky.into()),
        paper_mas(),
        mas(),
    ];
    let paper = [("IC0", 2.50), ("threshold IC", 154.0), ("Cholesky", 4.87), ("MAS, 3 unknowns", 0.118)];
    compare("folded cloth", &all, &paper, request)
}

fn compare(
    case: &str,
    all: &[(&'static str, LinearOptions)],
    paper_setup: &[(&str, f64)],
    request: &Request,
) -> Result<Findings, Failure> {
    request.report_progress("exact solution");
    let problem = ReferenceProblem::new(cloth(request.value("vertices"), 1.0, request)?, request.simd)?;
    let mut runs = Vec::new();
    for (name, linear) in all {
        request.report_progress(name);
        runs.push(problem.solve(name, linear, request.simd)?);
    }
    let mut findings = Findings::default();
    for run in &runs {
        let case = format!("{case}, {} vertices, {}", problem.system.rhs.len(), run.name);
        let paper = paper_setup.iter().find(|(name, _)| *name == run.name).map(|(_, seconds)| *seconds);
        findings.add(case.clone(), "set-up (s)", paper, run.setup);
        findings.add(case.clone(), "iterations to an error of 1e-3", None, run.iterations_to(1e-3));
        findings.add(case.clone(), "seconds to an error of 1e-3", None, run.seconds_to(1e-3));
        findings.add(case, "seconds to the paper's stop, including set-up", None, run.total());
    }
    let seconds = |name: &str| {
        let run = runs.iter().find(|run| run.name == name);
        run.map_or(f64::INFINITY, |run| run.seconds_to(1e-3))
    };
    // "Approximately four times faster than the others."
    let others = [jacobi().0, schwarz().0].map(seconds).into_iter().fold(f64::INFINITY, f64::min);
    findings.add("MAS over the best of Jacobi and AS", "seconds to 1e-3", 0.25, seconds(mas().0) / others);
    findings.plots.extend(plots(case, &runs));
    Ok(findings)
}

/// Figure 9: domains along a Morton curve through positions of some steps ago.
pub(super) fn sorted_before(request: &Request) -> Result<Findings, Failure> {
    const AGES: [usize; 5] = [0, 10, 20, 40, 60];
    let steps = request.count("steps").max(61);
    request.report_progress(&format!("{steps} steps of the cloth on a rotating ball"));
    let scene = builtin("cloth-drop", request.value("resolution"))?;
    let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
    let mut positions = Vec::new();
    for step in 0..=steps {
        if AGES.iter().any(|age| steps - age == step) {
            positions.push(simulation.step_system(STEP).map_err(Failure::of)?.current);
        }
        if step < steps {
            simulation.step(STEP).map_err(Failure::of)?;
        }
    }
    let problem = ReferenceProblem::new(simulation.step_system(STEP).map_err(Failure::of)?, request.simd)?;
    let pairs = problem.system.matrix.outside().len();
    let mut findings = Findings::default();
    let mut runs = Vec::new();
    for (age, positions) in AGES.iter().rev().zip(positions) {
        let mut mas = Mas::new(as_in_the_paper(request), Some(positions));
        let started = Instant::now();
        mas.update(&problem.system.matrix).map_err(|e| Failure::running(anyhow::anyhow!(e)))?;
        let name = format!("sorted {age} steps ago");
        runs.push(problem.run(&name, &mut mas, started.elapsed().as_secs_f64())?);
    }
    runs.reverse();
    for run in &runs {
        let case = format!("{} vertices, {pairs} contact couplings, {}", problem.system.rhs.len(), run.name);
        findings.add(case, "iterations to the paper's stop", None, run.iterations());
    }
    findings.plots.extend(plots("domains sorted before", &runs));
    Ok(findings)
}

/// Figure 10: the size of domains, and the levels.
pub(super) fn domain_sizes(request: &Request) -> Result<Findings, Failure> {
    let problem = ReferenceProblem::new(cloth(request.value("vertices"), 1.0, request)?, request.simd)?;
    let positions = &problem.system.current;
    let mut runs: Vec<CgRun> = Vec::new();
    let mut add = |name: String, mut made: Box<dyn Preconditioner>| -> Result<(), Failure> {
        request.report_progress(&name);
        let started = Instant::now();
        made.update(&problem.system.matrix).map_err(|e| Failure::running(anyhow::anyhow!(e)))?;
        runs.push(problem.run(&name, &mut *made, started.elapsed().as_secs_f64())?);
        Ok(())
    };
    for domain in [32, 256, 1024, 3820] {
        let options = SchwarzOptions { domain, simd: request.simd, ..SchwarzOptions::default() };
        add(format!("AS, domains of {domain}"), Box::new(Schwarz::new(options, Some(positions.clone()))))?;
    }
    for domain in [16, 32, 64, 128] {
        let options = MasOptions { domain, ..as_in_the_paper(request) };
        add(format!("MAS, domains of {domain}"), Box::new(Mas::new(options, Some(positions.clone()))))?;
    }
    for levels in [1, 2, 3, 4] {
        let options = MasOptions { levels, ..as_in_the_paper(request) };
        add(format!("MAS, at most {levels} levels"), Box::new(Mas::new(options, Some(positions.clone()))))?;
    }
    let mut findings = Findings::default();
    for run in &runs {
        let case = format!("{} vertices, {}", problem.system.rhs.len(), run.name);
        findings.add(case.clone(), "iterations to the paper's stop", None, run.iterations());
        findings.add(case, "seconds including set-up", None, run.total());
    }
    findings.plots.extend(plots("sizes of domains", &runs));
    Ok(findings)
}

/// Figure 23: bodies of the same mean stiffness, distributed differently.
pub(super) fn heterogeneity(request: &Request) -> Result<Findings, Failure> {
    let cases = [
        ("uniform", Spreading::Uniform),
        ("random in each tetrahedron", Spreading::Random),
        ("eight regions", Spreading::Regions),
    ];
    let solvers = [
        ("IC0", LinearKind::Ic0.into()),
        schwarz(),
        ("MAS, 3 unknowns, Morton", paper_mas().1),
        ("MAS, default", LinearKind::Mas.into()),
    ];
    let mut findings = Findings::default();
    let mut runs = Vec::new();
    for (case, spreading) in cases {
        request.report_progress(case);
        let problem =
            ReferenceProblem::new(armadillo(request.value("vertices"), spreading, request)?, request.simd)?;
        for (name, linear) in &solvers {
            let run = problem.solve(&format!("{case}, {name}"), linear, request.simd)?;
            let case = format!("{} vertices, {}", problem.system.rhs.len(), run.name);
            findings.add(case.clone(), "iterations to the paper's stop", None, run.iterations());
            findings.add(case, "seconds including set-up", None, run.total());
            runs.push(run);
        }
    }
    findings.plots.extend(plots("bodies of equal mean stiffness", &runs));
    Ok(findings)
}
