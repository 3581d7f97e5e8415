//! The cost of assembling the projected Hessian of half a million tetrahedra, as multiples of one product with that
//! matrix (which is memory-bound), and the speed-up by a second thread. `cargo bench -p supple --bench assembly`.

use std::sync::Arc;
use std::time::Instant;

use glam::DVec3;
use supple::energy::Energy;
use supple::energy::element::ElementSum;
use supple::energy::element::tetrahedron::{Solid, Tetrahedra};
use supple::linear::{BlockMatrix, BlockPattern, LinearOperator};
use supple::material::law::SolidLaw;
use supple::material::{HessianMode, Lame};
use supple::simd::Simd;
use supple_core::parallel::{ThreadPool, ThreadPoolBuilder};

/// A block of `n³` cells of six tetrahedra.
fn block(n: usize) -> (Vec<DVec3>, Vec<[u32; 4]>) {
    let m = n + 1;
    let place = |k: usize| DVec3::new((k % m) as f64, (k / m % m) as f64, (k / (m * m)) as f64) / n as f64;
    let cell = |c: usize| {
        let (x, y, z) = (c % n, c / n % n, c / (n * n));
        let at = |b: usize| (((z + (b >> 2)) * m + y + (b >> 1 & 1)) * m + x + (b & 1)) as u32;
        [[1, 3], [3, 2], [2, 6], [6, 4], [4, 5], [5, 1]].map(|[a, b]| [at(0), at(a), at(b), at(7)])
    };
    ((0..m * m * m).map(place).collect(), (0..n * n * n).flat_map(cell).collect())
}

/// The shortest of some runs, in milliseconds.
fn shortest(mut work: impl FnMut()) -> f64 {
    let run = |_| {
        let start = Instant::now();
        work();
        1e3 * start.elapsed().as_secs_f64()
    };
    (0..7).map(run).fold(f64::INFINITY, f64::min)
}

struct Bench {
    rest: Vec<DVec3>,
    tets: Vec<[u32; 4]>,
    x: Vec<DVec3>,
    pools: [ThreadPool; 2],
}

impl Bench {
    fn new(n: usize) -> Self {
        let (rest, tets) = block(n);
        let wave =
            |p: &DVec3| *p + 0.05 * DVec3::new((9.0 * p.y).sin(), (7.0 * p.z).sin(), (8.0 * p.x).sin());
        let x = rest.iter().map(wave).collect();
        let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build().expect("a small pool");
        Self { rest, tets, x, pools: [pool(1), pool(2)] }
    }

    /// Milliseconds on one and on two threads.
    fn time(&self, mut work: impl FnMut() + Send) -> [f64; 2] {
        [0, 1].map(|p| self.pools[p].install(|| shortest(&mut work)))
    }

    fn row(&self, name: &str, [one, two]: [f64; 2], product: f64) {
        println!(
            "{name:<34} {two:8.1} ms {:8.1} products {:8.2} x with two threads",
            two / product,
            one / two
        );
    }

    fn law(&self, law: SolidLaw) {
        let solid = Solid { lame: Lame { lambda: 1e5, mu: 1e5 }, damping: 0.0 };
        let tets = Tetrahedra::new(law, &self.rest, &self.tets, |_| solid);
        let mut energy = ElementSum::new(tets, self.rest.len(), Simd::Auto);
        let mut pairs = Vec::new();
        energy.couplings(&mut |a, b| pairs.push([a, b]));
        let pattern = Arc::new(BlockPattern::new(&vec![false; self.rest.len()], &pairs));
        energy.bind(&pattern);
        let mut matrix = BlockMatrix::zero(pattern);
        let mut y = vec![DVec3::ZERO; self.rest.len()];
        let product = self.time(|| matrix.apply(&self.x, &mut y));
        self.row(&format!("{law:?}: product"), product, product[1]);
        let value = self.time(|| assert!(energy.value(&self.x) >= 0.0));
        self.row(&format!("{law:?}: value"), value, product[1]);
        let gradient = self.time(|| energy.add_gradient(&self.x, &mut y));
        self.row(&format!("{law:?}: gradient"), gradient, product[1]);
        let assembly = self.time(|| energy.add_hessian(&self.x, HessianMode::PsdProjected, &mut matrix));
        self.row(&format!("{law:?}: projected Hessian"), assembly, product[1]);
    }
}

fn main() {
    let bench = Bench::new(44);
    println!("{} tetrahedra, {} vertices", bench.tets.len(), bench.rest.len());
    [SolidLaw::Corotated, SolidLaw::NeoHookean, SolidLaw::Linear].into_iter().for_each(|law| bench.law(law));
}
