//! Section 9.3's comparison with tetrahedra: the armadillo, pulled at its hands and in equilibrium after every frame,
//! on the staggered lattice and by Newton's method on tetrahedra of the same cells, with conjugate gradients as in
//! the paper, and with Galerkin cycles.
//!
//! The paper's armadillos have 302,000 cells and 76,000 vertices, and get as many iterations as look converged. Here
//! every method runs to the same fraction of its initial residual; the distance from its solution is measured against
//! a run of the same method to a much smaller residual.

use glam::DVec3;
use supple::scene::{LinearKind, Method, Mode, Model, Scene};
use supple::simulation::Simulation;

use super::super::catalogue::Request;
use super::super::findings::Findings;
use supple_cli::failure::Failure;

/// The residual of the reference solution, as a fraction of the requested one.
const SOLVED: f64 = 1e-3;
/// The paper's seconds per frame: two V-cycles on the lattice, five iterations of Newton's method on tetrahedra.
const SECONDS: [f64; 2] = [10.2, 43.5];

/// A method, with the paper's figures.
struct ComparedMethod {
    name: &'static str,
    method: Method,
    linear: LinearKind,
    seconds: Option<f64>,
    iterations: Option<f64>,
}

/// The lattice comes first: the others are compared with it.
const METHODS: [ComparedMethod; 3] = [
    ComparedMethod {
        name: "staggered lattice",
        method: Method::STAGGERED,
        linear: LinearKind::Cholesky,
        seconds: Some(SECONDS[0]),
        iterations: None,
    },
    ComparedMethod {
        name: "Newton with conjugate gradients on tetrahedra",
        method: Method::NEWTON,
        linear: LinearKind::Jacobi,
        seconds: Some(SECONDS[1]),
        iterations: Some(5.0),
    },
    ComparedMethod {
        name: "Newton with Galerkin cycles on tetrahedra",
        method: Method::NEWTON,
        linear: LinearKind::Galerkin,
        seconds: None,
        iterations: None,
    },
];

/// The means over frames, and the final positions.
struct Pulled {
    seconds: f64,
    iterations: f64,
    linear_iterations: f64,
    /// The largest residual at the end of a frame.
    residual: f64,
    surface: Vec<DVec3>,
    /// The largest displacement of a point of the surface.
    pull: f64,
}

/// The comparison.
pub(super) fn against_newton(request: &Request) -> Result<Findings, Failure> {
    let tolerance = request.value("tolerance");
    let mut findings = Findings::default();
    let (mut seconds, mut lattice) = (Vec::new(), Vec::new());
    for compared in &METHODS {
        request.report_progress(compared.name);
        let pulled = pull(compared, tolerance, request)?;
        request.report_progress(&format!("{}, to its solution", compared.name));
        let solved = pull(compared, SOLVED * tolerance, request)?;
        add_rows(&mut findings, compared, [&pulled, &solved]);
        if compared.method == Method::STAGGERED {
            lattice = solved.surface;
        } else {
            let [mean, largest] = apart(&lattice, &solved.surface).map(|compared| compared / solved.pull);
            findings.add(compared.name, "mean distance from the lattice's solution / pull", None, mean);
            findings.add(compared.name, "largest distance from it / pull", None, largest);
        }
        seconds.push(pulled.seconds);
    }
    let paper = SECONDS[1] / SECONDS[0];
    findings.add("staggered lattice", "speedup over conjugate gradients", paper, seconds[1] / seconds[0]);
    Ok(findings)
}

/// The cost of a method to the requested residual, and its distance from its solution then.
fn add_rows(findings: &mut Findings, compared: &ComparedMethod, [pulled, solved]: [&Pulled; 2]) {
    let [mean, _] = apart(&pulled.surface, &solved.surface);
    findings.add(compared.name, "seconds per frame", compared.seconds, pulled.seconds);
    findings.add(compared.name, "Newton iterations per frame", compared.iterations, pulled.iterations);
    findings.add(compared.name, "linear iterations per frame", None, pulled.linear_iterations);
    findings.add(compared.name, "residual relative to the start of the frame", None, pulled.residual);
    findings.add(compared.name, "mean distance from its solution / pull", None, mean / solved.pull);
}

fn pull(compared: &ComparedMethod, tolerance: f64, request: &Request) -> Result<Pulled, Failure> {
    let mut scene = Scene::builtin("armadillo-pull").map_err(Failure::of)?;
    scene.time.mode = Mode::Quasistatic;
    let body = &mut scene.bodies[0];
    (body.model, body.cell) = (Some(Model::Corotated), Some(request.value("cell")));
    body.material.poisson_ratio = Some(request.value("ratio"));
    (scene.solver.method, scene.solver.linear) = (compared.method, Some(compared.linear.into()));
    scene.solver.tolerance = Some(tolerance);
    let dt = 1.0 / scene.time.fps;
    let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
    let start = simulation.positions().to_vec();
    let frames = request.count("frames");
    let (mut sums, mut residual) = ([0.0; 3], 0.0_f64);
    for _ in 0..frames {
        let step = simulation.step(dt).map_err(Failure::of)?;
        let counts = [step.nonlinear_iterations, step.linear_iterations].map(f64::from);
        let of_step = [step.times.total, counts[0], counts[1]];
        sums = std::array::from_fn(|n| sums[n] + of_step[n] / frames as f64);
        residual = residual.max(step.residual.unwrap_or(f64::NAN));
    }
    let surface = simulation.positions().to_vec();
    let [_, pull] = apart(&start, &surface);
    let [seconds, iterations, linear_iterations] = sums;
    Ok(Pulled { seconds, iterations, linear_iterations, residual, surface, pull })
}

/// The mean and the largest distance between the same points of two surfaces.
fn apart(a: &[DVec3], b: &[DVec3]) -> [f64; 2] {
    let distances = || a.iter().zip(b).map(|(a, b)| a.distance(*b));
    [distances().sum::<f64>() / a.len().max(1) as f64, distances().fold(0.0, f64::max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surfaces_are_apart_by_the_distances_of_their_points() {
        let a = [DVec3::ZERO, DVec3::X];
        let b = [DVec3::Y, DVec3::X + 3.0 * DVec3::Z];
        assert_eq!(apart(&a, &b), [2.0, 3.0]);
    }
}
