//! Sparse Cholesky on a bar of tetrahedra and on a cloth: the gain from the elimination order and the second thread.
//! `cargo bench --bench factorisation [-- bar-cells cloth-side]`; every line is a ratio measured in one run.

use std::sync::Arc;
use std::time::Instant;

use glam::{DMat3, DVec3};
use supple::linear::{BlockMatrix, BlockPattern, Cholesky, Factorisation, Ordering, Simd};

/// A mesh in the form that the solver needs.
struct System {
    name: String,
    positions: Vec<DVec3>,
    matrix: BlockMatrix,
}

impl System {
    /// Springs along `pairs`, stiff along their direction, and a little mass.
    fn new(name: String, positions: Vec<DVec3>, pairs: &[[u32; 2]]) -> Self {
        let pattern = BlockPattern::new(&vec![false; positions.len()], pairs);
        let mut matrix = BlockMatrix::zero(Arc::new(pattern));
        for &[a, b] in pairs {
            let d = (positions[b as usize] - positions[a as usize]).normalize();
            let block =
                DMat3::from_cols(d * d.x, d * d.y, d * d.z) + DMat3::from_diagonal(DVec3::splat(0.01));
            matrix.add_diagonal(a, block);
            matrix.add_diagonal(b, block);
            matrix.add_pair(a, b, -block);
        }
        matrix.shift_diagonal(0.01);
        Self { name, positions, matrix }
    }

    /// A box of 4 x 1 x 1 m divided into cubes of six tetrahedra, `cells` on its short side.
    fn bar(cells: usize) -> Self {
        let size = [4 * cells + 1, cells + 1, cells + 1];
        let index = |p: [usize; 3]| ((p[0] * size[1] + p[1]) * size[2] + p[2]) as u32;
        let mut positions = Vec::new();
        let mut pairs = Vec::new();
        for p in all_points(size) {
            positions.push(DVec3::from(p.map(|c| c as f64 / cells as f64)));
            for step in (1..8).map(|bits| [bits & 1, bits >> 1 & 1, bits >> 2 & 1]) {
                let q: [usize; 3] = std::array::from_fn(|c| p[c] + step[c]);
                if (0..3).all(|c| q[c] < size[c]) {
                    pairs.push([index(p), index(q)]);
                }
            }
        }
        Self::new(format!("bar, {} vertices", positions.len()), positions, &pairs)
    }

    /// A square cloth with structural, shear and bending springs.
    fn cloth(side: usize) -> Self {
        let index = |i: usize, j: usize| (i * side + j) as u32;
        let mut positions = Vec::new();
        let mut pairs = Vec::new();
        for [i, j, _] in all_points([side, side, 1]) {
            positions.push(DVec3::new(i as f64, 0.0, j as f64));
            for (a, b) in [(1, 0), (0, 1), (1, 1), (2, 0), (0, 2)] {
                if i + a < side && j + b < side {
                    pairs.push([index(i, j), index(i + a, j + b)]);
                }
            }
            if i + 1 < side && j > 0 {
                pairs.push([index(i, j), index(i + 1, j - 1)]);
            }
        }
        Self::new(format!("cloth, {side} x {side}"), positions, &pairs)
    }
}

fn all_points(size: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..size[0]).flat_map(move |i| (0..size[1]).flat_map(move |j| (0..size[2]).map(move |k| [i, j, k])))
}

/// The faster of two runs, in seconds.
fn seconds(mut work: impl FnMut()) -> f64 {
    let mut once = || {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    once().min(once())
}

struct Measured {
    analysis: f64,
    factorisation: f64,
    solve: f64,
    factor: usize,
}

fn measure(system: &System, ordering: Ordering, threads: usize) -> Measured {
    let pool =
        supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
    pool.install(|| {
        let start = Instant::now();
        let pattern = system.matrix.pattern().clone();
        let positions = Some(&system.positions[..]);
        let mut cholesky = Cholesky::with_ordering(pattern, positions, ordering, Simd::Auto).expect("memory");
        let analysis = start.elapsed().as_secs_f64();
        let factorisation = seconds(|| assert_eq!(cholesky.factorise(&system.matrix), Factorisation::Done));
        let exact: Vec<DVec3> = (0..system.positions.len()).map(|i| DVec3::splat((i as f64).sin())).collect();
        let product = system.matrix.multiply(&exact);
        let mut x = product.clone();
        let solve = seconds(|| {
            x.copy_from_slice(&product);
            cholesky.solve(&mut x);
        });
        let error = x.iter().zip(&exact).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(error < 1e-6, "{error}");
        Measured { analysis, factorisation, solve, factor: cholesky.factor_len() }
    })
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|text| text.parse().ok()).collect();
    let bar = System::bar(numbers.first().copied().unwrap_or(22));
    let cloth = System::cloth(numbers.get(1).copied().unwrap_or(201));
    for system in [bar, cloth] {
        let degree = measure(&system, Ordering::MinimumDegree, 1);
        let one = measure(&system, Ordering::NestedDissection, 1);
        let two = measure(&system, Ordering::NestedDissection, 2);
        println!(
            "{}: factor {:.1} M numbers; analysis {:.2} s, factorisation {:.3} s, solve {:.3} s on one thread",
            system.name,
            one.factor as f64 * 1e-6,
            one.analysis,
            one.factorisation,
            one.solve
        );
        println!(
            "  minimum degree over nested dissection: {:.2}x the factor, {:.2}x the time, {:.2}x the solve",
            degree.factor as f64 / one.factor as f64,
            degree.factorisation / one.factorisation,
            degree.solve / one.solve
        );
        println!(
            "  one thread over two: analysis {:.2}x, factorisation {:.2}x, solve {:.2}x",
            one.analysis / two.analysis,
            one.factorisation / two.factorisation,
            one.solve / two.solve
        );
    }
}
