//! Figures 18 to 21: growth of cost with stiffness, resolution and contacts.

use supple::scene::{LinearOptions, Scene};
use supple::simulation::{Simulation, StepSystem};

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::cg_run::{CgRun, ReferenceProblem};
use super::examples::{
    STEP, Spreading, armadillo, builtin, cloth, jacobi, mas, multigrid, paper_mas, schwarz,
};
use supple_cli::failure::Failure;
use supple_cli::plot::{AxisScale, Plot, PlotLine};

/// Number of points in time at which figure 21 and its variant take a system.
const CONTACT_TIMES: usize = 4;

/// The quantity compared.
fn solvers() -> [(&'static str, LinearOptions); 5] {
    [jacobi(), schwarz(), multigrid(), paper_mas(), mas()]
}

/// The convergence of all solvers at each point of an axis.
struct Growth {
    axis: &'static str,
    points: Vec<(f64, Vec<CgRun>)>,
}

impl Growth {
    fn new(axis: &'static str) -> Self {
        Self { axis, points: Vec::new() }
    }

    fn add(&mut self, at: f64, system: StepSystem, request: &Request) -> Result<(), Failure> {
        request.report_progress(&format!("{}: {at}", self.axis));
        let problem = ReferenceProblem::new(system, request.simd)?;
        let solved = solvers().map(|(name, linear)| problem.solve(name, &linear, request.simd));
        self.points.push((at, solved.into_iter().collect::<Result<_, _>>()?));
        Ok(())
    }

    /// Iterations and time of all, and by what factor time grows from the first point to the last; the paper's factors by
    /// solver.
    fn findings(self, paper: [Option<f64>; 5]) -> Findings {
        let mut findings = Findings::default();
        for (at, runs) in &self.points {
            for run in runs {
                let case = format!("{} {at:.4}, {}", self.axis, run.name);
                findings.add(case.clone(), "iterations", None, run.iterations());
                findings.add(case, "seconds, with set-up", None, run.total());
            }
        }
        let (Some((_, first)), Some((_, last))) = (self.points.first(), self.points.last()) else {
            return findings;
        };
        for (k, paper) in paper.into_iter().enumerate() {
            let [few, many] = [first, last].map(|runs| &runs[k]);
            findings.add(
                few.name.clone(),
                "growth of iterations",
                None,
                many.iterations() / few.iterations(),
            );
            findings.add(few.name.clone(), "growth of time", paper, many.total() / few.total());
        }
        let plot = |label: &'static str, value: &dyn Fn(&CgRun) -> f64| {
            let line = |k: usize| PlotLine {
                name: solvers()[k].0.to_owned(),
                points: self.points.iter().map(|(at, runs)| [*at, value(&runs[k])]).collect(),
            };
            let lines = (0..solvers().len()).map(line).collect();
            Plot {
                title: self.axis.into(),
                labels: [self.axis, label],
                scales: [AxisScale::Logarithmic; 2],
                lines,
            }
        };
        findings.plots.push(("-iterations", plot("iterations", &CgRun::iterations)));
        findings.plots.push(("-time", plot("seconds, with set-up", &CgRun::total)));
        findings
    }
}

/// Figure 18. The paper's solver costs grow by 600 to 700 % for Jacobi and AS, by about 200 % for AmgX and by 237 % for MAS.
pub(super) fn stiffness(request: &Request) -> Result<Findings, Failure> {
    let mut growth = Growth::new("stiffness");
    for factor in [0.1, 1.0, 10.0, 100.0] {
        growth.add(factor, cloth(request.value("vertices"), factor, request)?, request)?;
    }
    Ok(growth.findings([Some(8.0), Some(7.0), Some(3.0), Some(3.37), Some(3.37)]))
}

/// Figure 19: from a sixteenth of the vertices to all of them.
pub(super) fn cloth_resolution(request: &Request) -> Result<Findings, Failure> {
    let mut growth = Growth::new("vertices");
    for part in [16.0, 4.0, 1.0] {
        let system = cloth(request.value("vertices") / part, 1.0, request)?;
        growth.add(system.rhs.len() as f64, system, request)?;
    }
    Ok(growth.findings([Some(76.0), Some(69.0), Some(4.0), Some(35.0), Some(35.0)]))
}

/// Figure 20.
pub(super) fn body_resolution(request: &Request) -> Result<Findings, Failure> {
    let mut growth = Growth::new("vertices");
    for part in [15.0, 4.0, 1.0] {
        let system = armadillo(request.value("vertices") / part, Spreading::Uniform, request)?;
        growth.add(system.rhs.len() as f64, system, request)?;
    }
    Ok(growth.findings([Some(24.0), Some(23.0), Some(3.0), Some(14.0), Some(14.0)]))
}

/// Figure 21: a cloth on a rotating ball, from lying around it to being wound up.
pub(super) fn contacts(request: &Request) -> Result<Findings, Failure> {
    let mut scene = builtin("cloth-drop", request.value("resolution"))?;
    scene.contact.thickness = Some(request.value("thickness"));
    along_a_run(scene, request)
}

/// The same for ten cloths that fall on a ball and on each other, from before the first contact to rest.
pub(super) fn stacked(request: &Request) -> Result<Findings, Failure> {
    along_a_run(builtin("stacked-cloth", request.value("resolution"))?, request)
}

/// Extracts systems at times evenly spread over a run. All are solved for the loads of the last: freely falling cloths
/// have almost none.
fn along_a_run(scene: Scene, request: &Request) -> Result<Findings, Failure> {
    let (first, last) = (request.count("first"), request.count("steps"));
    if last < first {
        return Err(Failure::usage(anyhow::anyhow!(
            "steps={last}: the last system cannot be extracted before first={first}"
        )));
    }
    let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
    let mut systems: Vec<StepSystem> = Vec::new();
    let times = (0..CONTACT_TIMES).map(|k| first + k * (last - first) / (CONTACT_TIMES - 1));
    let mut step = 0;
    for time in times {
        request.report_progress(&format!("step {time}"));
        while step < time {
            simulation.step(STEP).map_err(Failure::of)?;
            step += 1;
        }
        systems.push(simulation.step_system(STEP).map_err(Failure::of)?);
    }
    let loads = systems.last().map_or(Vec::new(), |system| system.rhs.clone());
    let mut growth = Growth::new("contact couplings");
    for mut system in systems {
        system.rhs.clone_from(&loads);
        growth.add(system.matrix.outside().len() as f64, system, request)?;
    }
    // "Barely changes."
    Ok(growth.findings([None; 5]))
}
