//! Figures 10, 11 and 12: error (equation 9) over time of projective dynamics with different linear solvers. The
//! paper has Jacobi-CG only in figure 12; here it is also applied to the cloth of figure 10. In addition to the
//! paper's V-cycle there are the automatic levels, alone and as a preconditioner of conjugate gradients.

use std::time::Duration;

use supple::linear::multigrid::galerkin::Smoother;
use supple::scene::{LinearKind, LinearOptions, Method, Scene, Solver};
use supple::simulation::{Comparison, Curve};

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::examples::{OCTOPUS, cloth as cloth_scene};
use super::measure::{fixed, iterations, scaled, v_cycle};
use supple_cli::convergence;
use supple_cli::failure::Failure;

/// The residual at which a curve ends.
const TOLERANCE: f64 = 1e-8;
/// Budget of the reference, as a multiple of a solver's. Where cloth wrinkles, Newton's method continues for minutes
/// after the objective has converged to the accuracy of the figures.
const REFERENCE: u32 = 10;
/// Chebyshev iterations per nonlinear one: the first ten are Jacobi's (Wang 2015).
const CHEBYSHEV: u32 = 40;

/// Figure 10.
pub(super) fn cloth(request: &Request) -> Result<Findings, Failure> {
    let size = request.value("size");
    let scene = cloth_scene(size * 40_401.0, steady(), request)?;
    let ours = v_cycle(scaled(&[25, 100, 1000], size), Smoother::Jacobi, 5);
    let others = stationary().into_iter().chain(conjugate_gradients()).collect();
    compare(&scene, "cloth", ours, others, request)
}

/// Figure 11.
pub(super) fn octopus(request: &Request) -> Result<Findings, Failure> {
    octopus_against(stationary(), request)
}

/// Figure 12.
pub(super) fn octopus_against_conjugate_gradients(request: &Request) -> Result<Findings, Failure> {
    octopus_against(conjugate_gradients(), request)
}

fn octopus_against(others: Vec<(String, LinearOptions)>, request: &Request) -> Result<Findings, Failure> {
    let size = request.value("size");
    let scene = OCTOPUS.scene(size * 39_223.0, steady(), request)?;
    let ours = v_cycle(scaled(&[100, 1000], size), Smoother::GaussSeidel, 2);
    compare(&scene, "octopus", ours, others, request)
}

/// The solver of the frames before the one that is compared.
fn steady() -> Solver {
    iterations(Method::PROJECTIVE, 10, fixed(LinearKind::Galerkin, 5))
}

fn conjugate_gradients() -> Vec<(String, LinearOptions)> {
    let named = |count: u32| (format!("Jacobi-CG, {count} iterations"), fixed(LinearKind::Jacobi, count));
    [10, 20, 40].map(named).to_vec()
}

fn stationary() -> Vec<(String, LinearOptions)> {
    let sweeps =
        |count: u32| (format!("Gauss-Seidel, {count} sweeps"), fixed(LinearKind::GaussSeidel, count));
    let chebyshev = LinearOptions { delay: Some(10), ..fixed(LinearKind::Chebyshev, CHEBYSHEV) };
    vec![sweeps(10), sweeps(50), (format!("Chebyshev, {CHEBYSHEV} iterations"), chebyshev)]
}

/// The paper's V-cycle and its extensions.
fn v_cycles(paper: LinearOptions) -> Vec<(String, LinearOptions)> {
    let cg =
        |count: u32| (format!("CG, {count} V-cycles, automatic levels"), fixed(LinearKind::Galerkin, count));
    vec![
        ("V-cycle of the paper".to_owned(), paper),
        ("V-cycle, automatic levels".to_owned(), fixed(LinearKind::GalerkinCycle, 1)),
        cg(2),
        cg(4),
    ]
}

/// Compares the paper's V-cycle, and its extensions, with other linear solvers.
fn compare(
    scene: &Scene,
    name: &str,
    ours: LinearOptions,
    others: Vec<(String, LinearOptions)>,
    request: &Request,
) -> Result<Findings, Failure> {
    request.report_progress("comparing solvers");
    let own = v_cycles(ours);
    let count = own.len();
    let solver = |(name, linear)| (name, iterations(Method::PROJECTIVE, 1, linear));
    let budget = Duration::from_secs_f64(request.value("budget"));
    let comparison = Comparison {
        frame: request.count("frame") as u32,
        solvers: own.into_iter().chain(others).map(solver).collect(),
        budget,
        tolerance: TOLERANCE,
        reference_budget: Some(REFERENCE * budget),
    };
    let compared = comparison.run(scene, request.simd).map_err(Failure::of)?;
    if let Some((name, error)) = compared.left_out.into_iter().next() {
        return Err(Failure::running(anyhow::anyhow!("{name}: {error}")));
    }
    let mut findings = Findings::default();
    for curve in &compared.curves {
        for (quantity, bound) in [("seconds to an error of 0.1", 0.1), ("seconds to an error of 0.01", 0.01)]
        {
            findings.add(curve.name.clone(), quantity, None, seconds(curve, bound));
        }
    }
    let (own, other) = compared.curves.split_at(count);
    let best =
        |curves: &[Curve]| curves.iter().map(|curve| seconds(curve, 0.01)).fold(f64::INFINITY, f64::min);
    findings.add("all", "best V-cycle time / best other time, to 0.01", None, best(own) / best(other));
    findings.add("reference", "residual", None, compared.reference_residual);
    findings.plots.push(("", convergence(format!("{name}, projective dynamics"), &compared.curves)));
    Ok(findings)
}

/// Time to an error; infinite if the budget was too short.
fn seconds(curve: &Curve, bound: f64) -> f64 {
    curve.seconds_to(bound).unwrap_or(f64::INFINITY)
}
