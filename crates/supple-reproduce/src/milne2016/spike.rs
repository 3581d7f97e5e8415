//! Section 10.2: thin parts that move freely need more iterations than flesh on bones. The scene `spike` with at most
//! 20 Newton steps of 20 iterations, and with at most 10 of 3: time and remaining kinetic energy.

use std::time::Instant;

use supple::scene::Scene;
use supple::simulation::Simulation;
use supple::solvers::octree;

use super::super::catalogue::Request;
use super::super::findings::Findings;
use supple_cli::failure::Failure;
use supple_cli::plot::{AxisScale, Plot, PlotLine};

/// Newton steps, iterations, and the paper's seconds and Newton steps per frame.
const LIMITS: [([u32; 2], f64, Option<f64>); 2] = [([20, 20], 26.2, Some(11.4)), ([10, 3], 8.8, None)];

/// Means over some frames.
struct FrameAverages {
    seconds: f64,
    newton_steps: f64,
    /// Kinetic energy in joules, frame by frame.
    kinetic: Vec<f64>,
}

/// Both limits.
pub(super) fn limits(request: &Request) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    let mut runs = Vec::new();
    for ([newton, iterations], seconds, steps) in LIMITS {
        let case = format!("at most {newton} Newton steps of {iterations} iterations");
        request.report_progress(&case);
        let run = run(request, newton, iterations)?;
        findings.add(case.clone(), "seconds per frame", seconds, run.seconds);
        findings.add(case.clone(), "Newton steps per frame", steps, run.newton_steps);
        runs.push((case, run));
    }
    let [(_, fine), (case, coarse)] = &runs[..] else { return Ok(findings) };
    findings.add(case.clone(), "speedup", 26.2 / 8.8, fine.seconds / coarse.seconds);
    let sum = |run: &FrameAverages| run.kinetic.iter().sum::<f64>();
    findings.add(case.clone(), "kinetic energy / that with more iterations", None, sum(coarse) / sum(fine));
    let line = |(name, run): (String, FrameAverages)| PlotLine {
        name,
        points: run.kinetic.iter().enumerate().map(|(frame, energy)| [(frame + 1) as f64, *energy]).collect(),
    };
    let plot = Plot {
        title: "kinetic energy of a ball with thin spikes".to_owned(),
        labels: ["frame", "joules"],
        scales: [AxisScale::Linear; 2],
        lines: runs.into_iter().map(line).collect(),
    };
    findings.plots.push(("", plot));
    Ok(findings)
}

fn run(request: &Request, newton: u32, iterations: u32) -> Result<FrameAverages, Failure> {
    let mut scene = Scene::builtin("spike").map_err(Failure::of)?;
    scene.scale_resolution(request.value("resolution")).map_err(Failure::of)?;
    scene.solver.max_iterations = newton;
    scene.solver.options.get_mut::<octree::OctreeOptions>().max_iterations = iterations;
    let step = 1.0 / scene.time.fps;
    let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
    let frames = request.count("frames");
    let mut run = FrameAverages { seconds: 0.0, newton_steps: 0.0, kinetic: Vec::new() };
    let started = Instant::now();
    for _ in 0..frames {
        let report = simulation.step(step).map_err(Failure::of)?;
        run.newton_steps += f64::from(report.nonlinear_iterations) / frames as f64;
        run.kinetic.push(report.energy.kinetic);
    }
    run.seconds = started.elapsed().as_secs_f64() / frames as f64;
    Ok(run)
}
