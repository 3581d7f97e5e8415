//! Figure 8: one hanging cloth by three solvers. The paper only has the cloth; here the octopus of table 1 follows,
//! by direct and multigrid projective dynamics.

use supple::linear::multigrid::galerkin::Smoother;
use supple::scene::{LinearKind, LinearOptions, Method, Scene, Solver};

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::examples::{OCTOPUS, cloth};
use super::measure::{Timed, fixed, iterations, scaled, v_cycle};
use supple_cli::failure::Failure;

/// Vertices, and iterations per frame (table 1).
const CLOTH: (f64, u32) = (40_401.0, 4);
const SOLID: (f64, u32) = (39_223.0, 3);

/// A solver, with the paper's frames per second.
type SolverRow = (&'static str, Method, LinearOptions, Option<f64>);

/// Figure 8.
pub(super) fn three_solvers(request: &Request) -> Result<Findings, Failure> {
    let size = request.value("size");
    let cloth_cycle = || v_cycle(scaled(&[25, 100, 1000], size), Smoother::Jacobi, 5);
    let solid_cycle = v_cycle(scaled(&[100, 1000], size), Smoother::GaussSeidel, 2);
    let projective = |name, linear, paper| (name, Method::PROJECTIVE, linear, paper);
    let direct = || LinearOptions::from(LinearKind::Cholesky);
    let auto = || fixed(LinearKind::GalerkinCycle, 1);
    let of_cloth = vec![
        projective("cloth, projective dynamics, direct", direct(), Some(9.2)),
        projective("cloth, projective dynamics, multigrid", cloth_cycle(), Some(74.8)),
        projective("cloth, projective dynamics, automatic levels", auto(), None),
        ("cloth, Newton, multigrid", Method::NEWTON, cloth_cycle(), Some(35.7)),
    ];
    let of_solid = vec![
        projective("octopus, projective dynamics, direct", direct(), None),
        projective("octopus, projective dynamics, multigrid", solid_cycle, Some(43.2)),
        projective("octopus, projective dynamics, automatic levels", auto(), None),
    ];
    let mut findings = Findings::default();
    compare(of_cloth, CLOTH.1, &|solver| cloth(size * CLOTH.0, solver, request), request, &mut findings)?;
    let solid = |solver| OCTOPUS.scene(size * SOLID.0, solver, request);
    compare(of_solid, SOLID.1, &solid, request, &mut findings)?;
    Ok(findings)
}

/// Times every solver on one scene; the first is the reference.
fn compare(
    rows: Vec<SolverRow>,
    count: u32,
    scene: &dyn Fn(Solver) -> Result<Scene, Failure>,
    request: &Request,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let mut direct: Option<(f64, Option<f64>)> = None;
    for (name, method, linear, paper) in rows {
        request.report_progress(name);
        let timed = Timed::run(scene(iterations(method, count, linear))?, request.count("frames"), request)?;
        let case = timed.case(name);
        let (reference, rate) = *direct.get_or_insert((timed.frame.total, paper));
        let ratio = paper.zip(rate).map(|(own, direct)| own / direct);
        findings.add(case.clone(), "frames per second", paper, 1.0 / timed.frame.total);
        findings.add(case.clone(), "speedup over the direct solver", ratio, reference / timed.frame.total);
        findings.add(case.clone(), "largest residual of a frame", None, timed.residual);
        findings.add(case, "memory of matrices and solvers (MB)", None, 1e-6 * timed.bytes as f64);
    }
    Ok(())
}
