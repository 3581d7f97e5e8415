//! One conformance suite over every linear solver and preconditioner: symmetric, positive, exact in the limit, bit-identical
//! for any number of threads, and errors instead of panics.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use supple_linear::mas::{Layout, Mas, MasOptions, Modes, Partition};
use supple_linear::multigrid::galerkin::{Galerkin, GalerkinOptions, LevelSizes, Smoother};
use supple_linear::{
    BlockMatrix, BlockPattern, ConjugateGradient, Fill, IncompleteCholesky, Iteration, Levels, LinearKind,
    LinearOperator, LinearOptions, LinearTermination, Preconditioner, Schwarz, SchwarzOptions, Simd,
    StopRule, linear_solver, preconditioner,
};

/// A named system: matrix and positions.
struct System {
    name: &'static str,
    matrix: BlockMatrix,
    positions: Arc<[DVec3]>,
}

fn wave(i: usize) -> f64 {
    (1.7 * i as f64 + 0.3 * (i * i % 97) as f64).sin()
}

fn vector(n: usize, seed: usize) -> Vec<DVec3> {
    (0..n).map(|i| DVec3::from_array(std::array::from_fn(|c| wave(seed + 3 * i + c)))).collect()
}

fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

/// Sums of `C Cᵀ` over random pairs: positive definite by construction, with full 3x3 couplings.
fn random(n: u32) -> System {
    let pairs: Vec<[u32; 2]> = (0..n).flat_map(|i| [[i, (i * 7 + 3) % n], [i, (i + 1) % n]]).collect();
    let pairs: Vec<[u32; 2]> = pairs.into_iter().filter(|[a, b]| a != b).collect();
    let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; n as usize], &pairs)));
    for (k, [a, b]) in pairs.into_iter().enumerate() {
        let [p, q] = [0, 9].map(|o| DMat3::from_cols_array(&std::array::from_fn(|e| wave(18 * k + o + e))));
        matrix.add_diagonal(a, p * p.transpose());
        matrix.add_diagonal(b, q * q.transpose());
        matrix.add_pair(a, b, p * q.transpose());
    }
    (0..n).for_each(|v| matrix.add_diagonal(v, 0.1 * DMat3::IDENTITY));
    System { name: "random", matrix, positions: vector(n as usize, 5).into() }
}

/// Springs `k u uᵀ` between grid neighbours and diagonals of a wavy cloth, on a small mass, with some pairs far apart
/// (contacts), which may be left outside the pattern.
fn cloth(n: u32, contacts: u32, outside: bool) -> System {
    let at = |i: u32, j: u32| j * n + i;
    let position = |v: u32| {
        let (x, z) = (f64::from(v % n), f64::from(v / n));
        DVec3::new(x, 0.3 * (0.9 * x).sin() * (0.7 * z).cos(), z)
    };
    let mut springs = Vec::new();
    for (j, i) in (0..n).flat_map(|j| (0..n).map(move |i| (j, i))) {
        for (di, dj) in [(1, 0), (0, 1), (1, 1), (2, 0), (0, 2)] {
            if i + di < n && j + dj < n {
                springs.push([at(i, j), at(i + di, j + dj)]);
            }
        }
    }
    let touching: Vec<[u32; 2]> = (0..contacts).map(|k| [3 * k, n * n - 1 - 2 * k]).collect();
    let mut pairs = springs.clone();
    if !outside {
        pairs.extend(&touching);
    }
    let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; (n * n) as usize], &pairs)));
    for [a, b] in springs.into_iter().chain(touching) {
        let u = (position(b) - position(a)).normalize();
        let block = 100.0 * DMat3::from_cols(u * u.x, u * u.y, u * u.z);
        matrix.add_diagonal(a, block);
        matrix.add_diagonal(b, block);
        matrix.add_pair(a, b, -block);
    }
    (0..n * n).for_each(|v| matrix.add_diagonal(v, 2.0 * DMat3::IDENTITY));
    let positions = (0..n * n).map(position).collect();
    System { name: if outside { "cloth with contacts outside" } else { "cloth" }, matrix, positions }
}

fn systems() -> Vec<System> {
    vec![random(150), cloth(14, 0, false), cloth(14, 12, false), cloth(14, 12, true), cloth(1, 0, false)]
}

type Named = (&'static str, Box<dyn Preconditioner>);

/// Every one at its defaults, by its name, and some with other options.
fn preconditioners(positions: Option<Arc<[DVec3]>>) -> Vec<Named> {
    let of_its_own = |kind: &LinearKind| kind.iteration() == Iteration::Own;
    let kinds = LinearKind::ALL.into_iter().filter(|kind| !of_its_own(kind));
    let made = |kind: LinearKind| preconditioner(&kind.into(), positions.clone(), Simd::Auto).unwrap();
    let at_defaults = kinds.map(|kind| (kind.name(), made(kind)));
    at_defaults.chain(with_options(positions.clone())).collect()
}

fn with_options(positions: Option<Arc<[DVec3]>>) -> Vec<Named> {
    let schwarz = |domain| {
        let options = SchwarzOptions { domain, sweeps: 2, simd: Simd::Auto };
        Box::new(Schwarz::new(options, positions.clone()))
    };
    let threshold = Fill::Threshold { drop_tolerance: 1e-3, factor: 3.0 };
    let galerkin = |options| Box::new(Galerkin::new(options, positions.clone()));
    let levels = LevelSizes::Given(vec![50, 16, 4]);
    let mas = |options| Box::new(Mas::new(options, positions.clone()));
    let small = MasOptions { domain: 6, layout: Layout::F32, ..MasOptions::default() };
    vec![
        ("schwarz, 5 nodes", schwarz(5)),
        ("schwarz, 32 nodes", schwarz(32)),
        ("schwarz, 70 nodes", schwarz(70)),
        ("ict, more fill", Box::new(IncompleteCholesky::new(threshold, positions.clone()))),
        (
            "galerkin, 4 levels",
            galerkin(GalerkinOptions { levels: levels.clone(), ..GalerkinOptions::default() }),
        ),
        (
            "galerkin by jacobi",
            galerkin(GalerkinOptions {
                levels: levels.clone(),
                smoother: Smoother::Jacobi,
                sweeps: 2,
                ..GalerkinOptions::default()
            }),
        ),
        (
            "galerkin, 3 unknowns",
            galerkin(GalerkinOptions { levels, affine: false, sweeps: 3, ..GalerkinOptions::default() }),
        ),
        ("mas, 3 unknowns", mas(MasOptions { modes: Modes::Translations, ..small })),
        (
            "mas, 12 unknowns",
            mas(MasOptions { modes: Modes::Affine, partition: Partition::Stiffness, ..small }),
        ),
    ]
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// The exact solution: a dense factorisation by plain elimination.
fn dense_solution(matrix: &BlockMatrix, rhs: &[DVec3]) -> Vec<DVec3> {
    let n = 3 * rhs.len();
    let mut columns: Vec<Vec<f64>> = (0..n)
        .map(|c| {
            let mut unit = vec![DVec3::ZERO; rhs.len()];
            unit[c / 3][c % 3] = 1.0;
            matrix.multiply(&unit).iter().flat_map(|v| v.to_array()).collect()
        })
        .collect();
    columns.push(rhs.iter().flat_map(|v| v.to_array()).collect());
    for k in 0..n {
        for c in k + 1..=n {
            let factor = columns[c][k] / columns[k][k];
            let (left, right) = columns.split_at_mut(c);
            for r in k + 1..n {
                right[0][r] -= factor * left[k][r];
            }
            right[0][k] = factor;
        }
    }
    let mut x = columns[n].clone();
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|c| columns[c][k] * x[c]).sum();
        x[k] -= known;
    }
    x.chunks(3).map(DVec3::from_slice).collect()
}

fn distance(a: &[DVec3], b: &[DVec3]) -> f64 {
    let difference: f64 = a.iter().zip(b).map(|(a, b)| a.distance_squared(*b)).sum();
    (difference / dot(b, b)).sqrt()
}

#[test]
fn preconditioners_are_symmetric_and_positive() {
    for system in systems() {
        let n = system.matrix.unknowns();
        for positions in [None, Some(system.positions.clone())] {
            for (name, mut preconditioner) in preconditioners(positions) {
                preconditioner.update(&system.matrix).unwrap();
                assert!(preconditioner.bytes() > 0);
                let (x, y) = (vector(n, 1), vector(n, 777));
                let (mut mx, mut my) = (x.clone(), y.clone());
                preconditioner.apply(&x, &mut mx);
                preconditioner.apply(&y, &mut my);
                let (xmy, ymx) = (dot(&x, &my), dot(&y, &mx));
                // Inverses stored in f32 are symmetric to its rounding.
                let size = (dot(&x, &mx) * dot(&y, &my)).sqrt();
                assert!((xmy - ymx).abs() < 1e-5 * size, "{name}, {}: {xmy} {ymx} {size}", system.name);
                assert!(dot(&x, &mx) > 0.0 && dot(&y, &my) > 0.0, "{name}, {}", system.name);
            }
        }
    }
}

#[test]
fn what_is_declared_a_solver_of_its_own_preconditions_nothing() {
    for kind in LinearKind::ALL {
        let made = preconditioner(&kind.into(), None, Simd::Auto);
        assert_eq!(made.is_err(), kind.iteration() == Iteration::Own, "{kind:?}");
    }
}

#[test]
fn every_solver_agrees_with_plain_elimination() {
    for system in systems() {
        let rhs = vector(system.matrix.unknowns(), 40);
        let exact = dense_solution(&system.matrix, &rhs);
        for kind in LinearKind::ALL {
            let mut solver = linear_solver(&kind.into(), Some(system.positions.clone()), Simd::Auto).unwrap();
            solver.prepare(&system.matrix).unwrap();
            let mut x = vec![DVec3::ZERO; rhs.len()];
            let outcome = solver.solve(&system.matrix, &rhs, &mut x, &StopRule::tolerance(1e-11, 20_000));
            assert!(outcome.converged(), "{kind:?}, {}: {outcome:?}", system.name);
            let error = distance(&x, &exact);
            assert!(error < 1e-8, "{kind:?}, {}: {error}, {outcome:?}", system.name);
            assert_eq!(solver.history().len(), outcome.iterations + 1);
            assert!(solver.bytes() > 0);
            if kind == LinearKind::Cholesky && system.matrix.outside().is_empty() {
                assert_eq!(outcome.iterations, 1);
            }
        }
    }
}

#[test]
fn preconditioners_save_iterations_in_the_expected_order() {
    let system = cloth(30, 0, false);
    let rhs = vector(system.matrix.unknowns(), 40);
    let iterations = |mut preconditioner: Box<dyn Preconditioner>| {
        preconditioner.update(&system.matrix).unwrap();
        let mut x = vec![DVec3::ZERO; rhs.len()];
        let stop = StopRule::tolerance(1e-8, 10_000);
        let mut cg = ConjugateGradient::default();
        cg.solve(&system.matrix, &mut *preconditioner, &rhs, &mut x, &stop).iterations
    };
    let counts: Vec<(&str, usize)> = preconditioners(Some(system.positions.clone()))
        .into_iter()
        .map(|(name, preconditioner)| (name, iterations(preconditioner)))
        .collect();
    let of = |name: &str| counts.iter().find(|count| count.0 == name).unwrap().1;
    // Larger domains, and factors with more fill, are closer to the inverse.
    assert!(of("schwarz, 5 nodes") < of("jacobi"), "{counts:?}");
    assert!(of("schwarz, 32 nodes") < of("schwarz, 5 nodes"), "{counts:?}");
    assert!(of("gauss-seidel") < of("jacobi"), "{counts:?}");
    assert!(of("ic0") < of("gauss-seidel"), "{counts:?}");
    assert!(of("ict") < of("ic0"), "{counts:?}");
    assert!(of("ict, more fill") < of("ict"), "{counts:?}");
    // Coarse levels correct errors that no local method can, and an affine motion of a node represents more than a
    // translation.
    assert!(of("galerkin") < of("ic0") && of("galerkin, 4 levels") < of("ic0"), "{counts:?}");
    assert!(of("galerkin, 4 levels") < of("galerkin, 3 unknowns"), "{counts:?}");
    assert!(of("mas") < of("schwarz, 32 nodes"), "{counts:?}");
    for coarse in ["mas, 3 unknowns", "mas, 12 unknowns"] {
        assert!(of(coarse) < of("schwarz, 5 nodes"), "{coarse}: {counts:?}");
    }
    assert_eq!(of("cholesky"), 1, "{counts:?}");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let system = cloth(60, 40, true);
    let rhs = vector(system.matrix.unknowns(), 40);
    for kind in LinearKind::ALL {
        for domain in [None, Some(200)] {
            let linear =
                LinearOptions { domain: domain.filter(|_| kind == LinearKind::Schwarz), ..kind.into() };
            let solution = |threads| {
                with_threads(threads, || {
                    let mut solver = linear_solver(&linear, None, Simd::Auto).unwrap();
                    solver.prepare(&system.matrix).unwrap();
                    let mut x = vec![DVec3::ZERO; rhs.len()];
                    let outcome = solver.solve(&system.matrix, &rhs, &mut x, &StopRule::iterations(7));
                    (x, outcome)
                })
            };
            let one = solution(1);
            assert_eq!(one, solution(2), "{linear:?}");
            assert_eq!(one, solution(3), "{linear:?}");
        }
    }
}

#[test]
fn a_solver_used_again_gives_the_bits_of_a_new_one() {
    let (first, second) = (random(150), cloth(14, 12, true));
    for kind in LinearKind::ALL {
        let mut used = linear_solver(&kind.into(), None, Simd::Auto).unwrap();
        let solve = |solver: &mut dyn supple_linear::LinearSolver, system: &System| {
            let rhs = vector(system.matrix.unknowns(), 40);
            let mut x = vec![DVec3::ZERO; rhs.len()];
            solver.prepare(&system.matrix).unwrap();
            solver.solve(&system.matrix, &rhs, &mut x, &StopRule::iterations(5));
            x
        };
        solve(&mut *used, &first);
        let mut fresh = linear_solver(&kind.into(), None, Simd::Auto).unwrap();
        assert_eq!(solve(&mut *used, &second), solve(&mut *fresh, &second), "{kind:?}");
    }
}

#[test]
fn matrices_that_are_not_definite_or_not_finite_are_errors_not_panics() {
    type Breakage = fn(&mut BlockMatrix);
    let break_it: [(&str, Breakage); 4] = [
        ("zero row", |m| m.clear()),
        ("negative", |m| m.add_diagonal(17, DMat3::from_diagonal(DVec3::new(0.0, -1e4, 0.0)))),
        ("nan", |m| m.add_diagonal(17, DMat3::from_diagonal(DVec3::splat(f64::NAN)))),
        ("infinite", |m| m.add_diagonal(17, DMat3::from_diagonal(DVec3::splat(f64::INFINITY)))),
    ];
    for (name, damage) in break_it {
        let mut system = cloth(9, 0, false);
        damage(&mut system.matrix);
        for kind in LinearKind::ALL {
            let mut solver = linear_solver(&kind.into(), None, Simd::Auto).unwrap();
            let error = solver.prepare(&system.matrix).expect_err(&format!("{kind:?}, {name}")).to_string();
            assert!(error.contains("not positive definite") || error.contains("not finite"), "{error}");
        }
    }
}

/// Indefinite, with a positive diagonal, so that only the iteration can find out.
#[test]
fn negative_curvature_is_noticed_and_the_vector_before_it_kept() {
    let mut system = cloth(9, 0, false);
    system.matrix.add_pair(10, 40, 3000.0 * DMat3::IDENTITY);
    let rhs = vector(system.matrix.unknowns(), 40);
    let mut solver = linear_solver(&LinearKind::Jacobi.into(), None, Simd::Auto).unwrap();
    solver.prepare(&system.matrix).unwrap();
    let mut x = vec![DVec3::ZERO; rhs.len()];
    let outcome = solver.solve(&system.matrix, &rhs, &mut x, &StopRule::tolerance(1e-10, 1000));
    assert_eq!(outcome.end, LinearTermination::NegativeCurvature, "{outcome:?}");
    // A descent direction of ½ xᵀAx - bᵀx, which inexact Newton follows.
    assert!(x.iter().all(|v| v.is_finite()) && dot(&x, &rhs) > 0.0);
}

#[test]
fn what_is_not_finite_ends_the_solve_at_once() {
    let system = cloth(9, 0, false);
    let mut rhs = vector(system.matrix.unknowns(), 40);
    rhs[5].y = f64::NAN;
    for kind in LinearKind::ALL {
        let mut solver = linear_solver(&kind.into(), None, Simd::Auto).unwrap();
        solver.prepare(&system.matrix).unwrap();
        let mut x = vec![DVec3::ZERO; rhs.len()];
        let outcome = solver.solve(&system.matrix, &rhs, &mut x, &StopRule::tolerance(1e-10, 1000));
        assert_eq!((outcome.end, outcome.iterations), (LinearTermination::NotFinite, 0), "{kind:?}");
        // The same solver works normally afterwards.
        let good = vector(system.matrix.unknowns(), 40);
        let outcome = solver.solve(&system.matrix, &good, &mut x, &StopRule::tolerance(1e-4, 5000));
        assert!(outcome.converged(), "{kind:?} {outcome:?}");
    }
}

/// Squares of such numbers are out of range; the problem is linear, so the answer is that of an ordinary right-hand side.
#[test]
fn very_small_and_very_large_right_hand_sides_are_solved_for() {
    let system = cloth(9, 0, false);
    let ordinary = vector(system.matrix.unknowns(), 40);
    let exact = dense_solution(&system.matrix, &ordinary);
    for kind in LinearKind::ALL {
        let mut solver = linear_solver(&kind.into(), None, Simd::Auto).unwrap();
        solver.prepare(&system.matrix).unwrap();
        for size in [1e-170, 1e-300, 1e-120, 1e170, 1e290] {
            let rhs: Vec<DVec3> = ordinary.iter().map(|b| size * *b).collect();
            let mut x = vec![DVec3::ZERO; rhs.len()];
            let outcome = solver.solve(&system.matrix, &rhs, &mut x, &StopRule::tolerance(1e-9, 20_000));
            assert!(outcome.converged() && outcome.iterations > 0, "{kind:?}, {size}: {outcome:?}");
            let x: Vec<DVec3> = x.iter().map(|x| *x / size).collect();
            let error = distance(&x, &exact);
            assert!(error < 1e-6, "{kind:?}, {size}: {error}");
        }
    }
}

#[test]
fn stop_rules_hold() {
    let system = cloth(20, 0, false);
    let rhs = vector(system.matrix.unknowns(), 40);
    for kind in LinearKind::ALL.into_iter().filter(|kind| *kind != LinearKind::Cholesky) {
        let mut solver = linear_solver(&kind.into(), None, Simd::Auto).unwrap();
        solver.prepare(&system.matrix).unwrap();
        let mut x = vec![DVec3::ZERO; rhs.len()];
        let outcome = solver.solve(&system.matrix, &rhs, &mut x, &StopRule::iterations(4));
        assert_eq!((outcome.iterations, outcome.end), (4, LinearTermination::Iterations), "{kind:?}");
        x.fill(DVec3::ZERO);
        let now = StopRule::tolerance(1e-12, 1_000_000).within(std::time::Duration::ZERO);
        assert_eq!(
            solver.solve(&system.matrix, &rhs, &mut x, &now).end,
            LinearTermination::Deadline,
            "{kind:?}"
        );
        let zero = vec![DVec3::ZERO; rhs.len()];
        x.fill(DVec3::ONE);
        let outcome = solver.solve(&system.matrix, &zero, &mut x, &StopRule::tolerance(1e-6, 10));
        assert!(outcome.converged() && x == zero, "{kind:?}");
    }
}

#[test]
fn options_that_a_solver_does_not_have_or_out_of_range_are_refused() {
    let bad = [
        (LinearOptions { domain: Some(8), ..LinearKind::Jacobi.into() }, "no option `domain`"),
        (LinearOptions { domain: Some(0), ..LinearKind::Schwarz.into() }, "domain"),
        (LinearOptions { fill: Some(f64::NAN), ..LinearKind::Ict.into() }, "fill"),
        (LinearOptions { spectral_radius: Some(1.0), ..LinearKind::Chebyshev.into() }, "below 1"),
        (LinearOptions { tolerance: Some(-1.0), ..LinearKind::Ic0.into() }, "tolerance"),
        (LinearOptions { unknowns: Some(6), ..LinearKind::Galerkin.into() }, "3 or 12"),
        (
            LinearOptions { smoother: Some(Smoother::Jacobi), ..LinearKind::Ic0.into() },
            "no option `smoother`",
        ),
        (LinearOptions { coarse_sweeps: Some(0), ..LinearKind::GalerkinCycle.into() }, "1 to 100"),
        (
            LinearOptions { levels: Some(Levels::Counts(vec![10, 0])), ..LinearKind::Galerkin.into() },
            "levels",
        ),
        (LinearOptions { modes: Some(4), ..LinearKind::Mas.into() }, "3, 6 or 12"),
        (LinearOptions { domain: Some(129), ..LinearKind::Mas.into() }, "4 to 128"),
        (LinearOptions { rebuild: Some(0), ..LinearKind::Mas.into() }, "rebuild"),
        (LinearOptions { layout: Some(Layout::F32), ..LinearKind::Jacobi.into() }, "no option `layout`"),
        (
            LinearOptions { levels: Some(Levels::Counts(vec![5000, 900])), ..LinearKind::Galerkin.into() },
            "at most 512",
        ),
    ];
    for (linear, words) in bad {
        let error = linear_solver(&linear, None, Simd::Auto).err().unwrap().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn options_that_need_positions_are_refused_without() {
    let positions: Arc<[DVec3]> = vector(20, 3).into();
    let options = [
        (LinearOptions { first: Some(vec![DVec3::ZERO]), ..LinearKind::Galerkin.into() }, "`first`"),
        (LinearOptions { unknowns: Some(12), ..LinearKind::GalerkinCycle.into() }, "`unknowns`"),
        (LinearOptions { modes: Some(6), ..LinearKind::Mas.into() }, "`modes`"),
    ];
    for (linear, option) in options {
        let error = linear_solver(&linear, None, Simd::Auto).err().unwrap().to_string();
        assert!(error.contains(option) && error.contains("positions"), "{error}");
        assert!(linear_solver(&linear, Some(positions.clone()), Simd::Auto).is_ok());
    }
    let translations = LinearOptions { unknowns: Some(3), ..LinearKind::Galerkin.into() };
    assert!(linear_solver(&translations, None, Simd::Auto).is_ok());
}
