//! Staggered multigrid on a box of 128^3 cells against the memory limit: the finest lattice's interior sweep and residual as
//! fractions of a triad measured in the same run, on one and on two threads, and the times of the stages of a whole V-cycle.
//!
//! Bytes are those of the fields that the mathematics needs, each counted once for every one of the four sub-sweeps: three
//! displacements, the pressure and a right-hand side, and for a residual also its output. `cargo bench -p supple --bench
//! staggered -- 64` takes a box of 64^3 cells instead.

use std::time::{Duration, Instant};

use supple::linear::{CycleTimes, Level};
use supple::simd::Simd;
use supple::solvers::staggered::{Cell, Coefficients, Hierarchy, Lattice, LatticeCycleOptions};
use supple_core::parallel::prelude::*;
use supple_core::parallel::{ThreadPool, ThreadPoolBuilder};

/// Cells along the box unless given otherwise.
const CELLS: usize = 128;
const ROUNDS: usize = 7;
/// Numbers of the triad in each of its three arrays, and of one of its tasks.
const LENGTH: usize = 1 << 25;
const CHUNK: usize = 1 << 16;
/// Fields of each sub-sweep: four of unknowns and a right-hand side; a residual writes one more.
const SWEPT: usize = 5;
const COMPARED: usize = 6;

fn main() {
    let cells = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(CELLS);
    let lattice = Lattice::new([cells; 3], |[x, ..]| if x == -1 { Cell::Dirichlet } else { Cell::Interior });
    let field = 4 * lattice.interior_cells();
    let options = LatticeCycleOptions { cycle_index: 1, ..LatticeCycleOptions::default() };
    let mut hierarchy = Hierarchy::new(lattice, Coefficients::of_poisson_ratio(0.48), options, Simd::Auto);
    hierarchy.fields().0.iter_mut().enumerate().for_each(|(n, b)| *b = (n as f32).sin());
    let pools = [1, 2].map(|n| ThreadPoolBuilder::new().num_threads(n).build().expect("a small pool"));
    let (a, b, mut c) = (vec![1.0_f32; LENGTH], vec![2.0_f32; LENGTH], vec![0.0_f32; LENGTH]);
    let triad = rates("triad", &pools, 12 * LENGTH, None, || stream(&a, &b, &mut c));
    drop((a, b, c));
    hierarchy.cycle();
    let level = hierarchy.finest_mut();
    rates("interior sweep", &pools, 4 * SWEPT * field, Some(triad), || level.interior_sweep());
    rates("residual", &pools, 4 * COMPARED * field, Some(triad), || level.residual());
    for (pool, threads) in pools.iter().zip(["one thread", "two threads"]) {
        stages(&pool.install(|| fastest_cycle(&mut hierarchy)), threads);
    }
    let (fields, rest) = hierarchy.bytes();
    println!("{cells}^3: fields {:.0} MB, rows and runs {:.0} MB", fields as f64 / 1e6, rest as f64 / 1e6);
}

/// `c = a + 3 b`.
fn stream(a: &[f32], b: &[f32], c: &mut [f32]) {
    let chunks = c.par_chunks_mut(CHUNK).zip(a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)));
    chunks.for_each(|(c, (a, b))| c.iter_mut().zip(a.iter().zip(b)).for_each(|(c, (a, b))| *c = a + 3.0 * b));
}

/// Bytes per second of the fastest round on one and on two threads, printed as fractions of the triad's.
fn rates(
    name: &str,
    pools: &[ThreadPool; 2],
    bytes: usize,
    triad: Option<[f64; 2]>,
    mut work: impl FnMut() + Send,
) -> [f64; 2] {
    let rates = [0, 1].map(|n| bytes as f64 / pools[n].install(|| shortest(&mut work)));
    let share = |n: usize| triad.map_or(100.0, |triad| 100.0 * rates[n] / triad[n]);
    println!(
        "{name:<16} {:6.2} GB/s, {:4.0} % of the triad; two threads {:6.2} GB/s, {:4.0} %, {:.2} x",
        rates[0] / 1e9,
        share(0),
        rates[1] / 1e9,
        share(1),
        rates[1] / rates[0]
    );
    rates
}

fn shortest(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

/// The stages of the fastest of some cycles.
fn fastest_cycle(hierarchy: &mut Hierarchy) -> (CycleTimes, Duration) {
    let cycle = |_| {
        hierarchy.reset_times();
        hierarchy.cycle();
        (hierarchy.times, hierarchy.boundary_time())
    };
    (0..ROUNDS).map(cycle).min_by_key(|(times, _)| times.total()).unwrap_or_default()
}

fn stages((times, boundary): &(CycleTimes, Duration), threads: &str) {
    let total = times.total().as_secs_f64();
    let parts = [
        ("boundary", *boundary),
        ("interior", times.smoothing.saturating_sub(*boundary)),
        ("residual", times.residual),
        ("restriction", times.restriction),
        ("prolongation", times.prolongation),
        ("coarsest", times.coarsest),
    ];
    print!("V-cycle, {threads}: {:.1} ms;", 1e3 * total);
    parts.iter().for_each(|(name, time)| print!(" {name} {:.0} %", 100.0 * time.as_secs_f64() / total));
    println!();
}
