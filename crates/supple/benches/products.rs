//! Matrix products and preconditioners against the memory limit: a triad measured in the same run.
//!
//! A cloth of 200,000 vertices with about 15 blocks per row. For each operation the bytes that it must move, its rate as a
//! fraction of the triad's on the same number of threads, and the speed-up of two threads over one.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use glam::{DMat3, DVec3};
use supple::linear::multigrid::galerkin::{Galerkin, GalerkinOptions};
use supple::linear::{
    BlockJacobi, BlockMatrix, BlockPattern, Fill, GaussSeidel, IncompleteCholesky, LinearOperator,
    Preconditioner, ScalarMatrix, Schwarz, SchwarzOptions,
};
use supple_core::parallel::prelude::*;

const SIDE: u32 = 448;
const ROUNDS: usize = 15;
/// Neighbours of a vertex: with their opposites and itself 15 blocks per row.
const STEPS: [(u32, u32); 7] = [(1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2)];

fn main() {
    let (matrix, scalar, positions) = cloth();
    let n = matrix.unknowns();
    let blocks = matrix.pattern().block_count();
    println!("{n} unknowns, {:.1} blocks a row", blocks as f64 / n as f64);
    let pools = [1, 2].map(|threads| {
        supple_core::parallel::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool of threads")
    });
    let mut bench = Bench { pools, triad: [0.0; 2] };
    let length = 1 << 24;
    let (a, b, mut c) = (vec![1.0; length], vec![2.0; length], vec![0.0; length]);
    bench.triad = bench.rates("triad", 24 * length, || triad(&a, &b, &mut c));
    let x: Vec<DVec3> = (0..n).map(|i| DVec3::splat((i as f64).sin())).collect();
    let mut y = x.clone();
    bench.rates("product", 76 * blocks + 56 * n, || matrix.apply(&x, &mut y));
    bench.rates("product, one number per block", 12 * blocks + 56 * n, || scalar.apply(&x, &mut y));
    let schwarz = |domain| SchwarzOptions { domain, ..SchwarzOptions::default() };
    let threshold = Fill::Threshold { drop_tolerance: 1e-2, factor: 4.0 };
    let galerkin = Galerkin::new(GalerkinOptions::default(), Some(positions.clone()));
    let preconditioners: [(&str, Box<dyn Preconditioner>); 7] = [
        ("galerkin", Box::new(galerkin)),
        ("jacobi", Box::new(BlockJacobi::default())),
        ("schwarz, 32 nodes", Box::new(Schwarz::new(schwarz(32), Some(positions.clone())))),
        ("schwarz, 512 nodes", Box::new(Schwarz::new(schwarz(512), Some(positions.clone())))),
        ("gauss-seidel", Box::new(GaussSeidel::default())),
        ("ic0", Box::new(IncompleteCholesky::new(Fill::None, Some(positions.clone())))),
        ("ict", Box::new(IncompleteCholesky::new(threshold, Some(positions)))),
    ];
    for (name, mut preconditioner) in preconditioners {
        let start = Instant::now();
        let done = bench.pools[1].install(|| preconditioner.update(&matrix));
        done.expect("the matrix is positive definite");
        let setup = start.elapsed();
        bench.rates(name, preconditioner.bytes() + 48 * n, || preconditioner.apply(&x, &mut y));
        println!("    set up in {setup:.0?}");
    }
}

struct Bench {
    pools: [supple_core::parallel::ThreadPool; 2],
    triad: [f64; 2],
}

impl Bench {
    /// Prints and returns the bytes per second on one and two threads, each the best of several rounds.
    fn rates(&self, name: &str, bytes: usize, mut work: impl FnMut() + Send) -> [f64; 2] {
        let mut seconds = [f64::INFINITY; 2];
        for _ in 0..ROUNDS {
            for (pool, best) in self.pools.iter().zip(&mut seconds) {
                let start = Instant::now();
                pool.install(&mut work);
                *best = best.min(start.elapsed().as_secs_f64());
            }
        }
        let rates = seconds.map(|s| bytes as f64 / s);
        let fraction = |k: usize| if self.triad[k] > 0.0 { 100.0 * rates[k] / self.triad[k] } else { 100.0 };
        println!(
            "{name:<28} {:8.2} ms, {:5.1} GB/s, {:3.0} % of the triad; one thread {:3.0} %; two are {:.2} times one",
            1e3 * seconds[1],
            1e-9 * rates[1],
            fraction(1),
            fraction(0),
            seconds[0] / seconds[1]
        );
        rates
    }
}

fn triad(a: &[f64], b: &[f64], c: &mut [f64]) {
    const CHUNK: usize = 1 << 14;
    c.par_chunks_mut(CHUNK).zip(a.par_chunks(CHUNK)).zip(b.par_chunks(CHUNK)).for_each(|((c, a), b)| {
        for (c, (a, b)) in c.iter_mut().zip(a.iter().zip(b)) {
            *c = *a + 3.0 * *b;
        }
    });
    black_box(&c[0]);
}

/// Springs on a wavy cloth over its mass, and the same without directions.
fn cloth() -> (BlockMatrix, ScalarMatrix, Arc<[DVec3]>) {
    let count = SIDE * SIDE;
    let position = |v: u32| {
        let (x, z) = (f64::from(v % SIDE), f64::from(v / SIDE));
        DVec3::new(x, 0.3 * (0.9 * x).sin() * (0.7 * z).cos(), z)
    };
    let inside = |v: u32, (di, dj): (u32, u32)| v % SIDE + di < SIDE && v / SIDE + dj < SIDE;
    let pairs: Vec<[u32; 2]> = (0..count)
        .flat_map(|v| {
            STEPS.into_iter().filter(move |&s| inside(v, s)).map(move |(i, j)| [v, v + i + SIDE * j])
        })
        .collect();
    let pattern = Arc::new(BlockPattern::new(&vec![false; count as usize], &pairs));
    let (mut matrix, mut scalar) = (BlockMatrix::zero(pattern.clone()), ScalarMatrix::zero(pattern));
    for [a, b] in pairs {
        let u = (position(b) - position(a)).normalize();
        let block = 100.0 * DMat3::from_cols(u * u.x, u * u.y, u * u.z);
        matrix.add_diagonal(a, block);
        matrix.add_diagonal(b, block);
        matrix.add_pair(a, b, -block);
        scalar.add_diagonal(a, 100.0);
        scalar.add_diagonal(b, 100.0);
        scalar.add_pair(a, b, -100.0);
    }
    for v in 0..count {
        matrix.add_diagonal(v, DMat3::IDENTITY);
        scalar.add_diagonal(v, 1.0);
    }
    (matrix, scalar, (0..count).map(position).collect())
}
