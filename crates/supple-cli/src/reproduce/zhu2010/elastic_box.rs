//! Figures 10 and 22 on the elastic box: one face is held, the others are free, and it hangs under its own weight.

use std::time::Duration;

use supple::linear::Simd;
use supple::solvers::staggered::{
    Cell, Coefficients, CycleOptions, Hierarchy, Lattice, Limits, Solve, Workspace, solve, solve_by_cycles,
};

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::poisson::periodic_poisson_rate;
use crate::failure::Failure;

/// Poisson's ratios without pressures as unknowns, and the paper's rates.
const WITHOUT_PRESSURES: [(f64, f64); 3] = [(0.2, 0.41), (0.475, 0.85), (0.49, 0.9)];
/// Poisson's ratios of the method, and the paper's rates where it has them.
const METHOD: [(f64, Option<f64>); 4] = [(0.2, Some(0.26)), (0.475, None), (0.49, Some(0.28)), (0.495, None)];
/// Figure 22: seconds by subroutine on one core for 32, 64 and 128 cells.
const SECONDS: [(&str, [f64; 3]); 6] = [
    ("boundary smoothing", [0.052, 0.197, 0.711]),
    ("interior smoothing", [0.034, 0.235, 1.328]),
    ("residual", [0.015, 0.097, 0.686]),
    ("restriction", [0.001, 0.012, 0.088]),
    ("prolongation", [0.007, 0.040, 0.240]),
    ("coarsest lattice", [0.004, 0.005, 0.006]),
];

/// Figure 10.
pub(super) fn rates(request: &Request) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    let quantity = "convergence rate";
    let cells = request.count("cells");
    request.tell("the Laplacian on 64^3");
    findings.add("periodic Laplacian, 64^3", quantity, 0.19, periodic_poisson_rate(64));
    let coarsest_size = request.count("coarsest");
    for (ratio, paper) in WITHOUT_PRESSURES {
        let case = format!("without pressures, {cells}^3 box, nu={ratio}");
        request.tell(&case);
        let options =
            CycleOptions { augmented: false, coarsest_size, weigh_by_fill: false, ..CycleOptions::default() };
        findings.add(case, quantity, paper, late_rate(&run(cells, ratio, options, false, request.simd)));
    }
    let sweeps = request.count("sweeps");
    let options = CycleOptions {
        boundary_sweeps: sweeps,
        extra_sweeps: 3,
        coarsest_size,
        weigh_by_fill: false,
        ..CycleOptions::default()
    };
    for (ratio, paper) in METHOD {
        let case = format!("cycles, {cells}^3 box, nu={ratio}, {sweeps} boundary sweeps");
        request.tell(&case);
        findings.add(case, quantity, paper, late_rate(&run(cells, ratio, options, false, request.simd)));
        let case = format!("default solver, {cells}^3 box, nu={ratio}, all levels");
        request.tell(&case);
        let solve = run(cells, ratio, CycleOptions::default(), true, request.simd);
        findings.add(case, quantity, paper, late_rate(&solve));
    }
    Ok(findings)
}

/// Figure 22.
pub(super) fn times(request: &Request) -> Result<Findings, Failure> {
    let cells = request.count("cells");
    let mut hierarchy = Hierarchy::new(
        elastic_box(cells),
        Coefficients::of_poisson_ratio(0.48),
        CycleOptions::default(),
        request.simd,
    );
    let cycles = request.count("cycles").max(1);
    hierarchy.fields().0.fill(0.0);
    hierarchy.cycle();
    hierarchy.times = Default::default();
    (0..cycles).for_each(|_| hierarchy.cycle());
    let times = hierarchy.times;
    let parts = [
        times.boundary,
        times.interior,
        times.residual,
        times.restriction,
        times.prolongation,
        times.coarsest,
    ];
    let column = [32, 64, 128].iter().position(|size| *size == cells);
    let mut findings = Findings::default();
    let each = |time: Duration| time.as_secs_f64() / cycles as f64;
    for ((name, paper), time) in SECONDS.iter().zip(parts) {
        findings.add(format!("{name}, {cells}^3"), "seconds a cycle", column.map(|c| paper[c]), each(time));
    }
    let paper = column.map(|c| SECONDS.iter().map(|(_, seconds)| seconds[c]).sum::<f64>());
    findings.add(format!("whole cycle, {cells}^3"), "seconds a cycle", paper, each(times.total()));
    let (fields, rest) = hierarchy.bytes();
    findings.add(format!("fields, {cells}^3"), "megabytes", None, fields as f64 / 1e6);
    findings.add(format!("rows and runs, {cells}^3"), "megabytes", None, rest as f64 / 1e6);
    Ok(findings)
}

fn elastic_box(cells: usize) -> Lattice {
    Lattice::new([cells; 3], |[x, ..]| if x == -1 { Cell::Dirichlet } else { Cell::Interior })
}

fn run(cells: usize, ratio: f64, options: CycleOptions, krylov: bool, simd: Simd) -> Solve {
    let lattice = elastic_box(cells);
    let len = lattice.len();
    let mut b = vec![0.0; 4 * len];
    for cell in (lattice.plane()..len).filter(|c| lattice.is_unknown(1, *c)) {
        b[len + cell] = 1.0;
    }
    let mut u = vec![0.0; 4 * len];
    let mut hierarchy = Hierarchy::new(lattice, Coefficients::of_poisson_ratio(ratio), options, simd);
    let limits = Limits { tolerance: 1e-11, max_cycles: 60, restart: 20 };
    let mut work = Workspace::default();
    if krylov {
        return solve(&mut hierarchy, (&mut u, &b), &limits, &mut work, None);
    }
    solve_by_cycles(&mut hierarchy, (&mut u, &b), &limits, &mut work)
}

/// The mean factor of all cycles but the first, which raises the residual.
fn late_rate(solve: &Solve) -> f64 {
    let cycles = solve.cycles();
    if cycles < 2 { f64::NAN } else { solve.rate(2, cycles) }
}
