//! Figure 10: convergence rates, measured from the second cycle (the first one raises the residual) down to rounding.

use supple::linear::Simd;
use supple::solvers::staggered::{
    Coefficients, GmresWorkspace, Hierarchy, Lattice, LatticeCycleOptions, Limits, Solve, solve,
    solve_by_cycles,
};

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::bodies::{ball_with_arms, elastic_box, weight_of};
use super::poisson::periodic_poisson_rate;
use super::scene_rates::{bodies, tetrahedra};
use supple_cli::failure::Failure;

/// Poisson's ratios without pressures as unknowns, and the paper's rates.
const WITHOUT_PRESSURES: [(f64, f64); 3] = [(0.2, 0.41), (0.475, 0.85), (0.49, 0.9)];
/// Poisson's ratios of the method, and the paper's rates where available.
const METHOD: [(f64, Option<f64>); 5] =
    [(0.2, Some(0.26)), (0.475, None), (0.49, Some(0.28)), (0.495, None), (0.499, None)];
/// The measured quantity.
pub(super) const QUANTITY: &str = "convergence rate";
/// The same over the first cycles, without the very first.
const EARLY: &str = "of cycles 2 to 8";
/// The inertia of a frame of 1/30 s of the paper's car: `density h^2 / (mu dt (dt + g))` for rubber of 1 MPa, cells of 2 cm.
const FRAME: f64 = 1.3;

/// Figure 10.
pub(super) fn rates(request: &Request) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    let (cells, sweeps) = (request.count("cells"), request.count("sweeps"));
    request.report_progress("the Laplacian on 64^3");
    findings.add("periodic Laplacian, 64^3", QUANTITY, 0.19, periodic_poisson_rate(64));
    let w_cycle = LatticeCycleOptions {
        boundary_sweeps: sweeps,
        extra_sweeps: sweeps.min(3),
        ..LatticeCycleOptions::default()
    };
    let v_cycle = LatticeCycleOptions { cycle_index: 1, coarsest_size: 8, ..w_cycle };
    let mut add = |case: String, paper: Option<f64>, lattice: Lattice, options, of: Coefficients, krylov| {
        request.report_progress(&case);
        let case = format!("{case}, {sweeps} boundary sweeps");
        let solve = run(lattice, of, options, krylov, request.simd);
        findings.add(&case, QUANTITY, paper, late_rate(&solve));
        if solve.cycles() >= 8 {
            findings.add(case, EARLY, None, solve.rate(2, 8));
        }
    };
    for (ratio, paper) in WITHOUT_PRESSURES {
        let options = LatticeCycleOptions { augmented: false, ..v_cycle };
        let case = format!("V-cycles without pressures, {cells}^3 box, nu={ratio}");
        add(case, Some(paper), elastic_box(cells), options, Coefficients::of_poisson_ratio(ratio), false);
    }
    for (ratio, _) in METHOD {
        let of = Coefficients::of_poisson_ratio(ratio);
        let case = format!("W-cycles, periodic {cells}^3, nu={ratio}");
        let options = LatticeCycleOptions { coarsest_size: 4, ..w_cycle };
        add(case, None, Lattice::periodic([cells; 3]), options, of, false);
    }
    for (ratio, paper) in METHOD {
        let of = Coefficients::of_poisson_ratio(ratio);
        let case = |what: &str| format!("{what}, {cells}^3 box, nu={ratio}");
        add(case("V-cycles to 8^3"), paper, elastic_box(cells), v_cycle, of, false);
        add(case("W-cycles"), paper, elastic_box(cells), w_cycle, of, false);
        add(case("default solver"), None, elastic_box(cells), w_cycle, of, true);
    }
    let arms = request.count("arms");
    let of = Coefficients::of_poisson_ratio(0.475);
    let case = |what: &str, cells: usize| format!("{what}, ball with thin arms, {cells} cells, nu=0.475");
    let body = ball_with_arms(arms);
    let interior = body.interior_cells();
    add(case("W-cycles", interior), Some(0.35), body.clone(), w_cycle, of, false);
    add(case("default solver", interior), Some(0.62), body.clone(), w_cycle, of, true);
    let of = Coefficients { inertia: FRAME, ..Coefficients::of_poisson_ratio(0.4) };
    let case = format!("W-cycles, the same body in a step of one frame, nu=0.4, inertia {FRAME}");
    add(case, Some(0.08), body, w_cycle, of, false);
    tetrahedra(request, &mut findings)?;
    bodies(request, &mut findings)?;
    Ok(findings)
}

fn run(lattice: Lattice, of: Coefficients, options: LatticeCycleOptions, krylov: bool, simd: Simd) -> Solve {
    let mut b = weight_of(&lattice);
    if lattice.is_periodic() {
        make_wavy(&lattice, &mut b);
    }
    let mut u = vec![0.0; b.len()];
    let mut hierarchy = Hierarchy::new(lattice, of, options, simd);
    let limits = Limits { tolerance: 1e-10, ..Limits::default() };
    let mut work = GmresWorkspace::default();
    if krylov {
        return solve(&mut hierarchy, (&mut u, &b), &limits, &mut work, None);
    }
    solve_by_cycles(&mut hierarchy, (&mut u, &b), &limits, &mut work)
}

/// A self-balancing load with waves of all lengths: a periodic body has no supports.
fn make_wavy(lattice: &Lattice, b: &mut [f64]) {
    let (len, size) = (lattice.len(), lattice.size()[0] as i32);
    for cell in 0..len {
        let [x, y, z] = lattice.coordinates(lattice.twin(cell)).map(|k| k.rem_euclid(size));
        // The negative number half a period away.
        let half = (x + size / 2).rem_euclid(size);
        let noise = |x: i32| f64::from((x * 7919 + y * 104_729 + z * 1_299_709) % 1009);
        b[len + cell] = noise(x) - noise(half);
    }
}

/// The mean factor of all cycles except the first, which raises the residual.
fn late_rate(solve: &Solve) -> f64 {
    let cycles = solve.cycles();
    if cycles < 2 { f64::NAN } else { solve.rate(2, cycles) }
}
