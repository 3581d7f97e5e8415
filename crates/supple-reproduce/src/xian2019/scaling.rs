//! Figures 6 and 7: the same motion at all resolutions, and its cost.

use glam::DVec3;
use supple::FileError;
use supple::linear::multigrid::galerkin::{Galerkin, GalerkinOptions, Smoother};
use supple::linear::{Preconditioner, ScalarMatrix, SolverState, WithBlocks};
use supple::mesh::format::{Mesh, load};
use supple::mesh::geometry::Aabb;
use supple::scene::{Levels, LinearKind, LinearOptions, Method, Scene, Solver};
use supple::simulation::Simulation;

use super::super::catalogue::Request;
use super::super::findings::{Findings, slope};
use super::examples::{ARMADILLO, FPS};
use super::measure::{Timed, iterations, v_cycle};
use super::table3::running;
use supple_cli::failure::Failure;
use supple_cli::plot::{AxisScale, Plot, PlotLine};

/// The armadillos of table 1: vertices.
const ARMADILLOS: [f64; 6] = [1241.0, 6654.0, 14_779.0, 50_736.0, 95_587.0, 126_966.0];

/// Elements per vertex of filled shapes, approximately.
const ELEMENTS_PER_VERTEX: f64 = 4.8;

/// Figure 6: deviation of the feet's displacement from that on the finest mesh, relative to the latter. Displacements
/// are compared, not positions: the initial positions of the feet differ between meshes by a fraction of a cell.
///
/// Steps are solved by Newton's method. A fixed number of iterations of projective dynamics, as in table 1, leaves a
/// step further from convergence the finer the mesh is: after forty of them, at a residual below 1e-4, displacements
/// still deviate by a third.
pub(super) fn same_motion(request: &Request) -> Result<Findings, Failure> {
    needs_resolutions(request)?;
    let size = request.value("size");
    let armadillo = ARMADILLO.with_metres(request.value("metres"));
    let mut paths: Vec<(String, Vec<DVec3>)> = Vec::new();
    for vertices in ARMADILLOS {
        request.report_progress(&format!("armadillo of {:.0} vertices", size * vertices));
        paths.push(tip_path(armadillo.scene(size * vertices, solved(), request)?, request)?);
    }
    let mut findings = Findings::default();
    let finest = paths.last().map_or(Vec::new(), |(_, path)| path.clone());
    let path_length: f64 = finest.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    for (case, path) in paths.iter().take(paths.len() - 1) {
        let away = path.iter().zip(&finest).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        findings.add(
            case.clone(),
            "largest deviation from the finest / its displacement",
            None,
            away / path_length,
        );
    }
    let line = |(name, path): (String, Vec<DVec3>)| {
        let points = path.iter().enumerate().map(|(frame, tip)| [frame as f64 / FPS, tip.y]).collect();
        PlotLine { name, points }
    };
    let plot = Plot {
        title: "the same swing at six resolutions".into(),
        labels: ["time in seconds", "rise of the feet in metres"],
        scales: [AxisScale::Linear; 2],
        lines: paths.into_iter().map(line).collect(),
    };
    findings.plots.push(("", plot));
    Ok(findings)
}

/// Newton's method, converged so far that only the mesh makes a difference.
fn solved() -> Solver {
    let linear = LinearOptions { tolerance: Some(1e-3), ..LinearKind::Galerkin.into() };
    Solver {
        method: Method::NEWTON,
        linear: Some(linear),
        tolerance: Some(1e-5),
        max_iterations: 50,
        ..Solver::default()
    }
}

/// Rejects a mesh that cannot be filled at several resolutions.
fn needs_resolutions(request: &Request) -> Result<(), Failure> {
    let Some(path) = request.mesh.as_deref() else { return Ok(()) };
    match load(path).map_err(Failure::usage)?.mesh {
        Mesh::Surface(_) => Ok(()),
        Mesh::Tets(_) => Err(Failure::usage(FileError::whole(
            path,
            "contains tetrahedra, which have a fixed resolution; this figure needs several: use a closed surface",
        ))),
    }
}

/// The displacement over time of the mean of the part farthest from the pins.
fn tip_path(scene: Scene, request: &Request) -> Result<(String, Vec<DVec3>), Failure> {
    let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
    // The body lies with its top towards +z.
    let bounds = Aabb::of_points(simulation.positions());
    let limit = bounds.low.z + 0.05 * (bounds.high.z - bounds.low.z);
    let inside = |p: &DVec3| p.z < limit;
    let feet: Vec<usize> =
        (0..simulation.positions().len()).filter(|v| inside(&simulation.positions()[*v])).collect();
    let mean = |x: &[DVec3]| feet.iter().map(|&v| x[v]).sum::<DVec3>() / feet.len().max(1) as f64;
    let start = mean(simulation.positions());
    let mut path = vec![DVec3::ZERO];
    for _ in 0..request.count("frames") {
        let step = simulation.step(1.0 / FPS).map_err(Failure::of)?;
        if !step.converged {
            return Err(running(format!(
                "step {} did not converge: its trajectory would be meaningless",
                path.len()
            )));
        }
        path.push(mean(simulation.positions()) - start);
    }
    Ok((format!("{} vertices", simulation.unknowns() / 3), path))
}

/// Figure 7, with levels chosen from the mesh: the memory of the hierarchy, and the time per frame.
pub(super) fn memory_and_time(request: &Request) -> Result<Findings, Failure> {
    needs_resolutions(request)?;
    let (largest, smallest) = (request.value("elements"), request.value("smallest"));
    let (mut memory, mut time) = (Vec::new(), Vec::new());
    let mut findings = Findings::default();
    for k in 0..6 {
        let elements = smallest * (largest / smallest).powf(f64::from(k) / 5.0);
        request.report_progress(&format!("armadillo of {elements:.0} tetrahedra"));
        let solver = iterations(Method::PROJECTIVE, 1, v_cycle(Levels::Auto, Smoother::GaussSeidel, 3));
        let scene = ARMADILLO.scene(elements / ELEMENTS_PER_VERTEX, solver, request)?;
        let bytes = hierarchy_bytes(scene.clone(), request)?;
        let timed = Timed::run(scene, request.count("frames"), request)?;
        let elements = timed.elements as f64;
        memory.push([elements, 1e-6 * bytes as f64]);
        time.push([elements, timed.frame.total]);
        findings.add(timed.case("armadillo"), "memory of the hierarchy (MB)", None, 1e-6 * bytes as f64);
        findings.add(timed.case("armadillo"), "time per frame (s)", None, timed.frame.total);
    }
    let range = format!("{:.0} to {:.0} elements", memory[0][0], memory[5][0]);
    findings.add(range.clone(), "slope of memory", 1.012, slope(&memory));
    findings.add(range, "slope of time", 0.365, slope(&time));
    findings.plots.push(("-memory", against_elements("memory of the hierarchy in MB", memory)));
    findings.plots.push(("-time", against_elements("time per frame in seconds", time)));
    Ok(findings)
}

fn against_elements(label: &'static str, points: Vec<[f64; 2]>) -> Plot {
    let name = format!("slope {:.3}", slope(&points));
    Plot {
        title: label.into(),
        labels: ["tetrahedra", label],
        scales: [AxisScale::Logarithmic; 2],
        lines: vec![PlotLine { name, points }],
    }
}

/// The memory of the hierarchy in addition to the matrix of a scene, with one number per block as in projective dynamics.
fn hierarchy_bytes(scene: Scene, request: &Request) -> Result<usize, Failure> {
    let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
    let system = simulation.step_system(1.0 / FPS).map_err(Failure::of)?;
    let mut galerkin = Galerkin::new(GalerkinOptions::default(), Some(system.positions));
    let scalars = ScalarMatrix::of_blocks(&system.matrix)
        .ok_or_else(|| running("the matrix of projective dynamics couples directions".to_owned()))?;
    galerkin.update(&WithBlocks { scalars: &scalars, blocks: &system.matrix }).map_err(Failure::running)?;
    Ok(galerkin.bytes())
}
