//! Figures 3 and 7: the cloth of 126 rows, hanging by its upper edge.

use std::time::Instant;

use supple::mesh::generate::{ClothGrid, GridPattern};
use supple::scene::{Scene, ShapeSource};
use supple::simulation::Simulation;
use supple::solvers::hpbd::HpbdOptions;

use super::super::catalogue::Request;
use super::super::findings::Findings;
use supple_cli::failure::Failure;
use supple_cli::plot::{AxisScale, Plot, PlotLine};

/// Cells from the upper to the lower edge.
const ROWS: u32 = 126;
/// Frames per second of the motion.
const FPS: f64 = 60.0;
/// Strains of figure 3.
const STRAINS: [f64; 4] = [0.02, 0.05, 0.1, 0.2];
/// Coarse levels of figure 3.
const LEVELS: [u32; 3] = [0, 3, 5];
/// Figure 7: coarse levels, sweeps, the paper's frames per second where available.
const CASES: [(&str, u32, u32, Option<f64>); 5] = [
    ("hierarchy and 2 sweeps", 16, 2, Some(60.0)),
    ("2 sweeps", 0, 2, None),
    ("5 sweeps", 0, 5, None),
    ("10 sweeps", 0, 10, None),
    ("20 sweeps", 0, 20, Some(12.0)),
];

/// Measurements of a hanging cloth.
struct HangingCloth {
    /// Strain of its length: the mean over the second half of the time, since it oscillates.
    strain: f64,
    frames_per_second: f64,
    triangles: usize,
}

/// Figure 3.
pub(super) fn sweeps_for_strain(request: &Request) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    let mut lines = Vec::new();
    for levels in LEVELS {
        let mut points = Vec::new();
        for strain in STRAINS {
            request.report_progress(&format!("{levels} levels, strain {strain}"));
            let case = format!("{levels} coarse levels, {:.0} %", 100.0 * strain);
            let found = fewest_sweeps(levels, strain, request)?;
            findings.add(case, "sweeps", None, found.map_or(f64::INFINITY, f64::from));
            points.extend(found.map(|sweeps| [100.0 * strain, f64::from(sweeps)]));
        }
        lines.push(PlotLine { name: format!("{levels} coarse levels"), points });
    }
    let plot = Plot {
        title: format!("sweeps to limit the strain of {ROWS} rows"),
        labels: ["strain (%)", "sweeps"],
        scales: [AxisScale::Linear, AxisScale::Logarithmic],
        lines,
    };
    findings.plots.push(("", plot));
    Ok(findings)
}

/// The minimum number of sweeps that limit the strain; `None` if it exceeds the search range.
fn fewest_sweeps(levels: u32, strain: f64, request: &Request) -> Result<Option<u32>, Failure> {
    let most = request.count("most") as u32;
    let holds = |sweeps: u32| Ok::<bool, Failure>(hang(levels, sweeps, request)?.strain <= strain);
    let (mut too_few, mut enough) = (0, 1);
    while !holds(enough)? {
        if enough >= most {
            return Ok(None);
        }
        (too_few, enough) = (enough, (2 * enough).min(most));
    }
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if holds(middle)? { enough = middle } else { too_few = middle }
    }
    Ok(Some(enough))
}

/// Figure 7.
pub(super) fn stretch_and_speed(request: &Request) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    for (name, levels, sweeps, paper) in CASES {
        request.report_progress(name);
        let hung = hang(levels, sweeps, request)?;
        let case = format!("{name}, {} triangles", hung.triangles);
        findings.add(case.clone(), "strain of the length (%)", None, 100.0 * hung.strain);
        findings.add(case, "frames per second", paper, hung.frames_per_second);
    }
    Ok(findings)
}

/// Simulates the hanging cloth.
fn hang(levels: u32, sweeps: u32, request: &Request) -> Result<HangingCloth, Failure> {
    let mut scene = Scene::builtin("curtain").map_err(Failure::of)?;
    let vertices = [request.count("columns") as u32 + 1, ROWS + 1];
    let (height, width) = (3.0, 3.0 * f64::from(vertices[0] - 1) / f64::from(ROWS));
    let pattern = GridPattern::default();
    scene.bodies[0].shape.source =
        ShapeSource::Grid(ClothGrid { size: [width, height], vertices, pattern, seed: 0 });
    scene.world.wind = None;
    scene.solver.options.set(HpbdOptions { levels, sweeps, stiffness: Some(1.0), ..HpbdOptions::default() });
    let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
    let frames = (request.value("seconds") * FPS).round().max(1.0) as u32;
    let (mut seconds, mut strains) = (0.0, Vec::new());
    for frame in 0..frames {
        let started = Instant::now();
        simulation.step(1.0 / FPS).map_err(Failure::of)?;
        seconds += started.elapsed().as_secs_f64();
        if 2 * frame >= frames {
            let heights = || simulation.positions().iter().map(|p| p.y);
            let length =
                heights().fold(f64::NEG_INFINITY, f64::max) - heights().fold(f64::INFINITY, f64::min);
            strains.push(length / height - 1.0);
        }
    }
    Ok(HangingCloth {
        strain: strains.iter().sum::<f64>() / strains.len() as f64,
        frames_per_second: f64::from(frames) / seconds,
        triangles: simulation.counts().elements,
    })
}
