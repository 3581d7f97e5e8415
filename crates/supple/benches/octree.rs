//! The cost of a product with the stiffness of a million octants, as multiples of the time to stream its input, its output and the
//! data of its elements once, and the speed-up by a second thread; the same for a multigrid cycle, as multiples of the product.
//! `cargo bench -p supple --bench octree`.

use std::time::Instant;

use glam::DVec3;
use supple::linear::{LinearOperator, Preconditioner};
use supple::mesh::generate::BoxShape;
use supple::mesh::octree::{Grading, fill};
use supple::simd::Simd;
use supple::solvers::octree::{Flesh, Forest, Multigrid, OctreeCycleOptions, Tissue};
use supple_core::parallel::prelude::*;
use supple_core::parallel::{ThreadPool, ThreadPoolBuilder};

/// Cells along the cube.
const CELLS: f64 = 272.0;
/// Numbers that one task streams.
const CHUNK: usize = 1 << 16;

/// The shortest of some runs, in milliseconds.
fn shortest(mut work: impl FnMut()) -> f64 {
    let run = |_| {
        let start = Instant::now();
        work();
        1e3 * start.elapsed().as_secs_f64()
    };
    (0..7).map(run).fold(f64::INFINITY, f64::min)
}

/// Milliseconds on one and on two threads.
fn time(pools: &[ThreadPool; 2], mut work: impl FnMut() + Send) -> [f64; 2] {
    [0, 1].map(|p| pools[p].install(|| shortest(&mut work)))
}

/// Reads `data` and `x` once and writes `y` once.
fn stream(data: &[f64], x: &[DVec3], y: &mut [DVec3]) {
    let total: f64 =
        data.par_chunks(CHUNK).map(|part| part.chunks(8).fold([0.0; 8], add).iter().sum::<f64>()).sum();
    y.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).for_each(|(y, x)| {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = *x + total);
    });
}

fn add(mut sums: [f64; 8], part: &[f64]) -> [f64; 8] {
    sums.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
    sums
}

fn row(name: &str, [one, two]: [f64; 2], unit: &str, [of_one, of_two]: [f64; 2]) {
    println!(
        "{name:<12} {one:8.1} ms {two:8.1} ms on two threads ({:.2} x)   {:5.2} and {:5.2} {unit}",
        one / two,
        one / of_one,
        two / of_two
    );
}

fn main() {
    let surface = BoxShape { size: [CELLS; 3], cells: [1; 3] }.surface(1.0).expect("a box");
    let filled = fill(&surface.positions, surface.triangles(), 1.0, Grading::Layers(1)).expect("a box");
    let tree = &filled.tree;
    let tissue = vec![Tissue { lambda: 1.5, mu: 1.0, ..Tissue::default() }; tree.elements().len()];
    let forest = Forest::new(&[Flesh { tree, tissue: &tissue }], Simd::Auto);
    let mut multigrid =
        Multigrid::new(&forest, &[tree], &OctreeCycleOptions::default()).expect("a hierarchy");
    let places = tree.node_places();
    multigrid.linearise(&places, 0.0);
    multigrid.set_inertia(places.iter().map(|_| 0.01));
    multigrid.prepare(true).expect("a positive definite system");
    let operator = multigrid.operator();
    let (data, mut y) = (vec![1.0; operator.element_bytes() / 8], places.clone());
    println!("{} elements, {} nodes, {} levels", tree.elements().len(), places.len(), multigrid.levels());
    let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build().expect("a small pool");
    let pools = [pool(1), pool(2)];
    let streamed = time(&pools, || stream(&data, &places, &mut y));
    let product = time(&pools, || operator.apply(&places, &mut y));
    let cycle = time(&pools, || multigrid.apply(&places, &mut y));
    row("streaming", streamed, "streams", streamed);
    row("product", product, "streams", streamed);
    row("cycle", cycle, "products", product);
}
