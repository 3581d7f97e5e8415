//! Figures 11 and 21 to 23: times per solve and per cycle.

use std::time::{Duration, Instant};

use supple::solvers::staggered::{
    Coefficients, GmresWorkspace, Hierarchy, LatticeCycleOptions, Limits, solve,
};

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::bodies::{box_between_walls, elastic_box, weight_of};
use super::conjugate_gradients::conjugate_gradients;
use supple_cli::failure::Failure;

/// Figure 22: seconds by subroutine on one core for 32, 64 and 128 cells.
const SECONDS: [(&str, [f64; 3]); 6] = [
    ("boundary smoothing", [0.052, 0.197, 0.711]),
    ("interior smoothing", [0.034, 0.235, 1.328]),
    ("residual", [0.015, 0.097, 0.686]),
    ("restriction", [0.001, 0.012, 0.088]),
    ("prolongation", [0.007, 0.040, 0.240]),
    ("coarsest lattice", [0.004, 0.005, 0.006]),
];
/// Figure 23: cells along the box, seconds of a V-cycle on two threads of an X5365, working set in MB.
const SCALING: [(usize, f64, f64); 4] =
    [(32, 0.0986, 26.0), (64, 0.447, 45.0), (128, 1.99, 180.0), (256, 10.8, 1200.0)];

/// Figure 11: conjugate gradients against the default solver, both to the same residual.
pub(super) fn against_conjugate_gradients(request: &Request) -> Result<Findings, Failure> {
    let (cells, tolerance) = (request.count("cells"), request.value("tolerance"));
    let mut findings = Findings::default();
    for ratio in [0.4, 0.49] {
        let lattice = box_between_walls(cells);
        let b = weight_of(&lattice);
        let options = LatticeCycleOptions::default();
        let mut hierarchy =
            Hierarchy::new(lattice, Coefficients::of_poisson_ratio(ratio), options, request.simd);
        let mut u = vec![0.0; b.len()];
        let limits = Limits { tolerance, ..Limits::default() };
        request.report_progress(&format!("cycles, nu={ratio}"));
        let started = Instant::now();
        let solved = solve(&mut hierarchy, (&mut u, &b), &limits, &mut GmresWorkspace::default(), None);
        let cycles = started.elapsed().as_secs_f64();
        request.report_progress(&format!("conjugate gradients, nu={ratio}"));
        let started = Instant::now();
        let norms = conjugate_gradients(hierarchy.finest(), &b, tolerance, request.count("most"));
        let gradients = started.elapsed().as_secs_f64();
        let case = |what: &str| format!("{what}, {cells}^3 box between walls, nu={ratio}");
        findings.add(case("default solver"), "iterations", None, solved.cycles() as f64);
        findings.add(case("default solver"), "seconds", None, cycles);
        findings.add(case("conjugate gradients"), "iterations", None, (norms.len() - 1) as f64);
        findings.add(case("conjugate gradients"), "seconds", None, gradients);
        findings.add(case("default solver"), "speedup", None, gradients / cycles);
    }
    Ok(findings)
}

/// Figure 21: the speedup of two threads, available on most machines.
pub(super) fn by_threads(request: &Request) -> Result<Findings, Failure> {
    let cells = request.count("cells");
    let mut parts = Vec::new();
    for threads in [1, 2] {
        request.report_progress(&format!("{threads} threads"));
        let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|problem| Failure::of(supple::Error::Invalid(problem.to_string())))?;
        parts.push(parts_of(&pool.install(|| timed_cycles(cells, request))));
    }
    let mut findings = Findings::default();
    let speedup = |of: &dyn Fn(&[Duration; 6]) -> Duration| {
        of(&parts[0]).as_secs_f64() / of(&parts[1]).as_secs_f64().max(f64::MIN_POSITIVE)
    };
    for (n, (name, _)) in SECONDS.iter().enumerate() {
        findings.add(format!("{name}, {cells}^3"), "speedup on two threads", None, speedup(&|p| p[n]));
    }
    let whole = speedup(&|parts| parts.iter().sum());
    findings.add(format!("whole cycle, {cells}^3"), "speedup on two threads", None, whole);
    Ok(findings)
}

/// Times of cycles, in the order of the paper's table.
fn parts_of(hierarchy: &Hierarchy) -> [Duration; 6] {
    let times = hierarchy.times;
    let boundary = hierarchy.boundary_time();
    let interior = times.smoothing.saturating_sub(boundary);
    [boundary, interior, times.residual, times.restriction, times.prolongation, times.coarsest]
}

/// Figure 22.
pub(super) fn by_subroutine(request: &Request) -> Result<Findings, Failure> {
    let cells = request.count("cells");
    let hierarchy = timed_cycles(cells, request);
    let (times, cycles) = (hierarchy.times, request.count("cycles").max(1));
    let parts = parts_of(&hierarchy);
    let column = [32, 64, 128].iter().position(|size| *size == cells);
    let mut findings = Findings::default();
    let each = |time: Duration| time.as_secs_f64() / cycles as f64;
    for ((name, paper), time) in SECONDS.iter().zip(parts) {
        findings.add(format!("{name}, {cells}^3"), "seconds per cycle", column.map(|c| paper[c]), each(time));
    }
    let paper = column.map(|c| SECONDS.iter().map(|(_, seconds)| seconds[c]).sum::<f64>());
    findings.add(format!("whole cycle, {cells}^3"), "seconds per cycle", paper, each(times.total()));
    let (fields, rest) = hierarchy.bytes();
    findings.add(format!("fields, {cells}^3"), "megabytes", None, fields as f64 / 1e6);
    findings.add(format!("rows and runs, {cells}^3"), "megabytes", None, rest as f64 / 1e6);
    Ok(findings)
}

/// Figure 23.
pub(super) fn scaling(request: &Request) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    let largest = request.count("cells");
    let mut known: Vec<(f64, f64, f64)> = Vec::new();
    for (cells, seconds, megabytes) in SCALING.into_iter().filter(|(cells, ..)| *cells <= largest) {
        request.report_progress(&format!("{cells}^3"));
        let hierarchy = timed_cycles(cells, request);
        let each = hierarchy.times.total().as_secs_f64() / request.count("cycles").max(1) as f64;
        let (fields, rest) = hierarchy.bytes();
        let bytes = (fields + rest) as f64;
        findings.add(format!("{cells}^3"), "seconds per V-cycle", seconds, each);
        findings.add(format!("{cells}^3"), "megabytes", megabytes, bytes / 1e6);
        known.push(((cells as f64).powi(3), each, bytes));
    }
    if let [.., first, last] = known.as_slice() {
        let exponent = |a: f64, b: f64| (b / a).ln() / (last.0 / first.0).ln();
        findings.add("the two largest", "exponent of time over cells", None, exponent(first.1, last.1));
        findings.add("the two largest", "exponent of memory over cells", None, exponent(first.2, last.2));
    }
    Ok(findings)
}

/// V-cycles on the elastic box, with their times.
fn timed_cycles(cells: usize, request: &Request) -> Hierarchy {
    let lattice = elastic_box(cells);
    let b = weight_of(&lattice);
    let options = LatticeCycleOptions { cycle_index: 1, ..LatticeCycleOptions::default() };
    let of = Coefficients::of_poisson_ratio(0.48);
    let mut hierarchy = Hierarchy::new(lattice, of, options, request.simd);
    hierarchy.fields().0.iter_mut().zip(&b).for_each(|(right, b)| *right = *b as f32);
    hierarchy.cycle();
    hierarchy.reset_times();
    (0..request.count("cycles").max(1)).for_each(|_| hierarchy.cycle());
    hierarchy
}
