//! Figure 4: a garment on a moving body, dragged over the floor in the wind, with and without the hierarchy.

use std::time::Instant;

use supple::scene::Scene;
use supple::simulation::Simulation;
use supple::solvers::hpbd;

use super::super::catalogue::Request;
use super::super::findings::Findings;
use supple_cli::failure::Failure;

/// With the hierarchy and without it, and the paper's frames per second.
const CASES: [(&str, u32, Option<f64>); 2] =
    [("with hierarchy", 16, Some(30.0)), ("without hierarchy", 0, None)];

/// Measures the stretch of the garment while it is dragged.
pub(super) fn stretch_of_a_garment(request: &Request) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    for (name, levels, paper) in CASES {
        request.report_progress(name);
        let mut scene = Scene::builtin("dress").map_err(Failure::of)?;
        scene.scale_resolution(request.value("resolution")).map_err(Failure::of)?;
        scene.solver.options.get_mut::<hpbd::HpbdOptions>().levels = levels;
        let (fps, substeps) = (scene.time.fps, scene.time.substeps);
        let frames = (request.value("seconds") * fps).round().max(1.0) as u32;
        let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
        let (mut seconds, mut largest, mut mean) = (0.0, 0.0_f64, 0.0);
        for _ in 0..frames {
            let started = Instant::now();
            for _ in 0..substeps {
                simulation.step(1.0 / (fps * f64::from(substeps))).map_err(Failure::of)?;
            }
            seconds += started.elapsed().as_secs_f64();
            let stretch = simulation.stretch();
            largest = largest.max(stretch.p99);
            mean += stretch.mean / f64::from(frames);
        }
        let case = format!("{name}, {} triangles", simulation.counts().elements);
        findings.add(case.clone(), "99th percentile of stretch (%)", None, 100.0 * (largest - 1.0));
        findings.add(case.clone(), "mean stretch (%)", None, 100.0 * (mean - 1.0));
        findings.add(case, "frames per second", paper, f64::from(frames) / seconds);
    }
    Ok(findings)
}
