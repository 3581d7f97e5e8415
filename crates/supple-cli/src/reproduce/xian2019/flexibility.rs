//! Figure 8: one hanging cloth by three solvers.

use supple::scene::{Linear, LinearKind, Method};
use supple::solvers::galerkin::Smoother;

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::examples::cloth;
use super::measure::{Timed, fixed, iterations, scaled, v_cycle};
use crate::failure::Failure;

const VERTICES: f64 = 40_401.0;
const ITERATIONS: u32 = 4;

/// Figure 8.
pub(super) fn three_solvers(request: &Request) -> Result<Findings, Failure> {
    let size = request.value("size");
    let multigrid = || v_cycle(scaled(&[25, 100, 1000], size), Smoother::Jacobi, 5);
    let direct = || Linear::from(LinearKind::Cholesky);
    let solvers = [
        ("projective dynamics, direct", Method::Projective, direct(), Some(9.2)),
        ("projective dynamics, multigrid", Method::Projective, multigrid(), Some(74.8)),
        (
            "projective dynamics, automatic levels",
            Method::Projective,
            fixed(LinearKind::GalerkinCycle, 1),
            None,
        ),
        ("Newton, multigrid", Method::Newton, multigrid(), Some(35.7)),
    ];
    let mut findings = Findings::default();
    let mut direct_time = None;
    for (name, method, linear, paper) in solvers {
        request.tell(name);
        let scene = cloth(size * VERTICES, iterations(method, ITERATIONS, linear), request)?;
        let timed = Timed::run(scene, request.count("frames"), request)?;
        let case = timed.case(name);
        let reference = *direct_time.get_or_insert(timed.frame.total);
        findings.add(case.clone(), "frames a second", paper, 1.0 / timed.frame.total);
        findings.add(
            case.clone(),
            "speed over the direct solver",
            paper.map(|rate| rate / 9.2),
            reference / timed.frame.total,
        );
        findings.add(case.clone(), "largest residual of a frame", None, timed.residual);
        findings.add(case, "memory of matrices and solvers (MB)", None, 1e-6 * timed.bytes as f64);
    }
    Ok(findings)
}
