//! Tables 1 and 2: frames per second, pre-computation, and a breakdown of the time per frame.

use supple::linear::multigrid::galerkin::Smoother::{self, GaussSeidel, Jacobi};
use supple::scene::{Method, Scene};

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::examples::{ARMADILLO, DRAGON, OCTOPUS, PaperSolid, cloth};
use super::measure::{Timed, iterations, scaled, v_cycle};
use supple_cli::failure::Failure;

/// A row of both tables.
struct Table1Row {
    /// `None` for cloth.
    solid: Option<&'static PaperSolid>,
    vertices: f64,
    /// Coarse nodes.
    nodes: &'static [u32],
    smoother: Smoother,
    /// The paper's iterations before and after. For cloth it uses ten instead of five on the level above the coarsest.
    sweeps: u32,
    method: Method,
    iterations: u32,
    /// Frames per second and pre-computation in seconds.
    rate: [f64; 2],
    /// Table 2 in milliseconds: finest matrix, multi-level matrices, gradient, smoothing, coarsest level, interpolation and
    /// restriction.
    stages: [f64; 6],
}

const fn solid(
    solid: &'static PaperSolid,
    vertices: f64,
    nodes: &'static [u32],
    [sweeps, iterations]: [u32; 2],
    rate: [f64; 2],
    stages: [f64; 6],
) -> Table1Row {
    let (smoother, method) = (GaussSeidel, Method::PROJECTIVE);
    Table1Row { solid: Some(solid), vertices, nodes, smoother, sweeps, method, iterations, rate, stages }
}

const fn sheet(
    vertices: f64,
    nodes: &'static [u32],
    method: Method,
    iterations: u32,
    rate: [f64; 2],
    stages: [f64; 6],
) -> Table1Row {
    Table1Row { solid: None, vertices, nodes, smoother: Jacobi, sweeps: 5, method, iterations, rate, stages }
}

const ROWS: [Table1Row; 11] = [
    solid(&ARMADILLO, 1241.0, &[10], [3, 1], [303.0, 1.9], [0.0, 0.29, 0.18, 2.32, 0.24, 0.26]),
    solid(&ARMADILLO, 6654.0, &[25], [3, 1], [232.6, 2.0], [0.0, 0.55, 0.25, 2.91, 0.28, 0.31]),
    solid(&ARMADILLO, 14_779.0, &[50], [3, 1], [181.8, 3.0], [0.0, 1.27, 0.28, 3.30, 0.30, 0.36]),
    solid(&ARMADILLO, 50_736.0, &[25, 500], [3, 1], [86.2, 6.3], [0.0, 0.58, 1.05, 8.77, 0.26, 0.94]),
    solid(&ARMADILLO, 95_587.0, &[50, 1000], [3, 1], [55.2, 11.6], [0.0, 1.36, 2.43, 12.73, 0.28, 1.30]),
    solid(
        &ARMADILLO,
        126_966.0,
        &[25, 300, 2000],
        [3, 1],
        [41.0, 16.3],
        [0.0, 0.74, 3.21, 18.30, 0.25, 1.90],
    ),
    sheet(40_401.0, &[25, 100, 1000], Method::PROJECTIVE, 4, [74.8, 8.3], [0.0, 0.0, 0.58, 9.88, 0.67, 2.23]),
    sheet(40_401.0, &[25, 100, 1000], Method::NEWTON, 4, [35.7, 8.3], [1.56, 8.35, 0.43, 8.70, 0.52, 1.92]),
    sheet(63_001.0, &[100, 1000], Method::NEWTON, 3, [31.5, 13.4], [2.13, 15.22, 0.73, 11.39, 0.77, 1.51]),
    solid(&DRAGON, 200_094.0, &[50, 1000], [2, 1], [39.4, 5.5], [0.0, 3.07, 1.83, 16.53, 0.50, 1.22]),
    solid(&OCTOPUS, 39_223.0, &[100, 1000], [2, 3], [43.2, 22.8], [0.0, 1.55, 0.05, 15.21, 0.28, 2.29]),
];

impl Table1Row {
    fn scene(&self, size: f64, request: &Request) -> Result<Scene, Failure> {
        let linear = v_cycle(scaled(self.nodes, size), self.smoother, self.sweeps);
        let solver = iterations(self.method, self.iterations, linear);
        match self.solid {
            Some(solid) => solid.scene(size * self.vertices, solver, request),
            None => cloth(size * self.vertices, solver, request),
        }
    }

    fn measure(&self, request: &Request) -> Result<(String, Timed), Failure> {
        let name = self.solid.map_or("cloth", |solid| solid.name);
        let matrix = if self.method == Method::NEWTON { "dynamic" } else { "static" };
        request.report_progress(&format!(
            "{name} of {:.0} vertices, {matrix}",
            request.value("size") * self.vertices
        ));
        let scene = self.scene(request.value("size"), request)?;
        let timed = Timed::run(scene, request.count("frames"), request)?;
        Ok((format!("{}, {matrix}", timed.case(name)), timed))
    }
}

/// Table 1.
pub(super) fn frame_rates(request: &Request) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    for row in &ROWS {
        let (case, timed) = row.measure(request)?;
        let [rate, setup] = row.rate;
        findings.add(case.clone(), "frames per second", rate, 1.0 / timed.frame.total);
        findings.add(case, "pre-computation (s)", setup, timed.setup_seconds);
    }
    Ok(findings)
}

/// Table 2.
pub(super) fn breakdown(request: &Request) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    for row in &ROWS {
        let (case, Timed { frame, .. }) = row.measure(request)?;
        let [finest, levels, gradient, smoothing, coarsest, transfer] = row.stages;
        let stages = [
            ("finest matrix update (ms)", Some(finest), frame.assembly),
            ("multi-level matrices update (ms)", Some(levels), frame.update),
            ("gradient and objective evaluation (ms)", Some(gradient), frame.evaluation),
            ("smoothing (ms)", Some(smoothing), frame.smoothing),
            ("coarsest level solve (ms)", Some(coarsest), frame.coarsest),
            ("interpolation and restriction (ms)", Some(transfer), frame.transfer),
            ("residuals outside the cycle (ms)", None, frame.solve),
            ("pins, start and report (ms)", None, frame.setup),
            ("whole frame (ms)", Some(1e3 / row.rate[0]), frame.total),
        ];
        for (quantity, paper, seconds) in stages {
            findings.add(case.clone(), quantity, paper, 1e3 * seconds);
        }
        let known: f64 = frame.stages().iter().map(|(_, seconds)| seconds).sum();
        findings.add(case, "sum of stages / whole frame", None, known / frame.total);
    }
    Ok(findings)
}
