//! The stages of `mas` on a cloth of 260,000 vertices, two threads: precomputation in iterations of product plus application, a
//! selective update as a fraction of a full one, the application against the memory limit (a triad in the same run), and the
//! iterations and time of a solve against block Jacobi and one-level Schwarz.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use glam::{DMat3, DVec3};
use supple::linear::mas::{Layout, Mas, MasOptions, Modes};
use supple::linear::{
    BlockJacobi, BlockMatrix, BlockPattern, ConjugateGradient, LinearOperator, Preconditioner, Schwarz,
    SchwarzOptions, StopRule,
};
use supple_core::parallel::prelude::*;

const SIDE: u32 = 510;
const ROUNDS: usize = 9;
/// Springs of a vertex: with their opposites and itself 13 blocks per row.
const SPRINGS: [(u32, u32); 6] = [(1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1)];

fn main() {
    let pool =
        supple_core::parallel::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool of threads");
    pool.install(run);
}

fn run() {
    let (matrix, positions) = cloth();
    let n = matrix.unknowns();
    let x: Vec<DVec3> = (0..n).map(|i| DVec3::splat((i as f64).sin())).collect();
    let mut y = x.clone();
    let product = best(|| matrix.apply(&x, &mut y));
    let triad = triad_rate();
    println!("{n} unknowns, product {:.2} ms, triad {:.1} GB/s", 1e3 * product, 1e-9 * triad);
    for layout in [Layout::F32, Layout::I16] {
        stages(&matrix, &positions, MasOptions { layout, ..MasOptions::default() }, product, triad);
    }
    solves(&matrix, &positions);
}

fn stages(matrix: &BlockMatrix, positions: &Arc<[DVec3]>, options: MasOptions, product: f64, triad: f64) {
    let n = matrix.unknowns();
    let mut mas = Mas::new(options, Some(positions.clone()));
    let mut matrix = matrix.clone();
    mas.update(&matrix).expect("the matrix is positive definite");
    let mut update = |change: &mut dyn FnMut(&mut BlockMatrix)| {
        let mut seconds = f64::INFINITY;
        for _ in 0..ROUNDS {
            change(&mut matrix);
            let started = Instant::now();
            mas.update(&matrix).expect("the matrix is positive definite");
            seconds = seconds.min(started.elapsed().as_secs_f64());
        }
        seconds
    };
    let full = update(&mut |matrix| matrix.shift_diagonal(1e-6));
    let touched = n as u32 / 3200;
    let few = update(&mut |matrix| (0..touched).for_each(|k| matrix.add_diagonal(3200 * k, DMat3::IDENTITY)));
    let r: Vec<DVec3> = (0..n).map(|i| DVec3::splat((i as f64).cos())).collect();
    let mut z = r.clone();
    let apply = best(|| mas.apply(&r, &mut z));
    let rate = (mas.applied_bytes() + 48 * n) as f64 / apply;
    println!(
        "{:?}: application {:.2} ms, {:.0} % of the triad; precomputation {:.0} ms, {:.1} iterations; 1 % touched {:.1} %",
        options.layout,
        1e3 * apply,
        100.0 * rate / triad,
        1e3 * full,
        full / (product + apply),
        100.0 * few / full,
    );
}

fn solves(matrix: &BlockMatrix, positions: &Arc<[DVec3]>) {
    let mas =
        |modes| Box::new(Mas::new(MasOptions { modes, ..MasOptions::default() }, Some(positions.clone())));
    let all: [(&str, Box<dyn Preconditioner>); 5] = [
        ("jacobi", Box::new(BlockJacobi::default())),
        ("schwarz", Box::new(Schwarz::new(SchwarzOptions::default(), Some(positions.clone())))),
        ("mas, 3 unknowns", mas(Modes::Translations)),
        ("mas, 6 unknowns", mas(Modes::Rigid)),
        ("mas, 12 unknowns", mas(Modes::Affine)),
    ];
    let rhs: Vec<DVec3> = positions.iter().map(|x| DVec3::new((0.01 * x.z).sin(), -1.0, 0.0)).collect();
    let mut jacobi = None;
    for (name, mut preconditioner) in all {
        let started = Instant::now();
        preconditioner.update(matrix).expect("the matrix is positive definite");
        let mut solution = vec![DVec3::ZERO; rhs.len()];
        let stop = StopRule::tolerance(1e-3, 10_000);
        let mut iteration = ConjugateGradient::default();
        let outcome = iteration.solve(matrix, &mut *preconditioner, &rhs, &mut solution, &stop);
        let now = (outcome.iterations as f64, started.elapsed().as_secs_f64());
        let (iterations, seconds) = *jacobi.get_or_insert(now);
        println!(
            "{name:<18} {:5} iterations, {:.2} of jacobi's; {:6.2} s, {:.2}",
            outcome.iterations,
            now.0 / iterations,
            now.1,
            now.1 / seconds
        );
    }
}

/// The seconds of the fastest of several rounds.
fn best(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn triad_rate() -> f64 {
    const CHUNK: usize = 1 << 14;
    let length = 1 << 24;
    let (a, b, mut c) = (vec![1.0; length], vec![2.0; length], vec![0.0; length]);
    let seconds = best(|| {
        c.par_chunks_mut(CHUNK).zip(a.par_chunks(CHUNK)).zip(b.par_chunks(CHUNK)).for_each(|((c, a), b)| {
            for (c, (a, b)) in c.iter_mut().zip(a.iter().zip(b)) {
                *c = *a + 3.0 * *b;
            }
        });
        black_box(&c[0]);
    });
    (24 * length) as f64 / seconds
}

/// Springs on a wavy cloth over a small mass.
fn cloth() -> (BlockMatrix, Arc<[DVec3]>) {
    let count = SIDE * SIDE;
    let position = |v: u32| {
        let (x, z) = (f64::from(v % SIDE), f64::from(v / SIDE));
        DVec3::new(x, 0.5 * (0.3 * x).sin() * (0.2 * z).cos(), z)
    };
    let inside = |v: u32, (di, dj): (u32, u32)| v % SIDE + di < SIDE && v / SIDE + dj < SIDE;
    let pairs: Vec<[u32; 2]> = (0..count)
        .flat_map(|v| {
            SPRINGS.into_iter().filter(move |&s| inside(v, s)).map(move |(i, j)| [v, v + i + SIDE * j])
        })
        .collect();
    let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; count as usize], &pairs)));
    for [a, b] in pairs {
        let u = (position(b) - position(a)).normalize();
        let block = 100.0 * (DMat3::from_cols(u * u.x, u * u.y, u * u.z) + 0.01 * DMat3::IDENTITY);
        matrix.add_diagonal(a, block);
        matrix.add_diagonal(b, block);
        matrix.add_pair(a, b, -block);
    }
    (0..count).for_each(|v| matrix.add_diagonal(v, 0.01 * DMat3::IDENTITY));
    (matrix, (0..count).map(position).collect())
}
