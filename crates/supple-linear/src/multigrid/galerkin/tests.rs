//! The hierarchy and the cycle as wholes, on small cloths and bodies.

use std::sync::Arc;

use glam::{DMat3, DQuat, DVec3};

use super::*;
use crate::{
    CholeskyFactor, LinearSolver, PreconditionedSolver, ScalarMatrix, SolveOutcome, StationarySolver,
    StopRule,
};

struct Cloth {
    matrix: BlockMatrix,
    positions: Vec<DVec3>,
}

fn jitter(seed: usize) -> f64 {
    (12.9898 * seed as f64).sin() * 0.2
}

/// A cloth of springs on a mass, `n` squared vertices at irregular positions; `height` makes it wavy, `held` vertices
/// have no row, `copies` of it are not coupled.
fn cloth(n: u32, copies: u32, height: f64, held: impl Fn(u32) -> bool) -> Cloth {
    let position = |v: u32| {
        let (copy, v) = (v / (n * n), v % (n * n));
        let (x, z) =
            (f64::from(v % n) + jitter(2 * v as usize), f64::from(v / n) + jitter(2 * v as usize + 1));
        DVec3::new(x, height * (0.8 * x).sin() * (0.6 * z).cos() + 30.0 * f64::from(copy), z)
    };
    let mut springs = Vec::new();
    for v in 0..copies * n * n {
        let (i, j) = (v % n, v / n % n);
        let steps = [(1, 0), (0, 1), (1, 1), (2, 0), (0, 2)];
        let inside = steps.into_iter().filter(|(di, dj)| i + di < n && j + dj < n);
        springs.extend(inside.map(|(di, dj)| [v, v + di + n * dj]));
    }
    let count = copies * n * n;
    let held: Vec<bool> = (0..count).map(held).collect();
    let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&held, &springs)));
    for [a, b] in springs {
        let u = (position(b) - position(a)).normalize();
        let block = 100.0 * DMat3::from_cols(u * u.x, u * u.y, u * u.z) + 5.0 * DMat3::IDENTITY;
        matrix.add_diagonal(a, block);
        matrix.add_diagonal(b, block);
        matrix.add_pair(a, b, -block);
    }
    (0..count).for_each(|v| matrix.add_diagonal(v, 0.05 * DMat3::IDENTITY));
    let positions = (0..count).filter(|v| !held[*v as usize]).map(position).collect();
    Cloth { matrix, positions }
}

fn wave(n: usize) -> Vec<DVec3> {
    (0..n)
        .map(|i| DVec3::new(1.3, 2.1, 0.7) * i as f64)
        .map(|v| DVec3::new(v.x.sin(), v.y.cos(), v.z.sin()))
        .collect()
}

fn given(sizes: &[usize]) -> GalerkinOptions {
    GalerkinOptions { levels: LevelSizes::Given(sizes.to_vec()), ..GalerkinOptions::default() }
}

fn cycle(matrix: &BlockMatrix, positions: &[DVec3], options: GalerkinOptions) -> Vec<DVec3> {
    let mut galerkin = Galerkin::new(options, Some(positions.into()));
    galerkin.update(matrix).unwrap();
    let r = wave(matrix.unknowns());
    let mut z = r.clone();
    galerkin.apply(&r, &mut z);
    z
}

fn distance(a: &[DVec3], b: &[DVec3]) -> f64 {
    let size: f64 = b.iter().map(|b| b.length_squared()).sum();
    (a.iter().zip(b).map(|(a, b)| a.distance_squared(*b)).sum::<f64>() / size).sqrt()
}

fn solution(solver: &mut dyn LinearSolver, matrix: &BlockMatrix) -> (Vec<DVec3>, SolveOutcome) {
    let rhs = wave(matrix.unknowns());
    let mut x = vec![DVec3::ZERO; rhs.len()];
    solver.prepare(matrix).unwrap();
    let outcome = solver.solve(matrix, &rhs, &mut x, &StopRule::tolerance(1e-10, 5000));
    assert!(outcome.converged(), "{outcome:?}");
    (x, outcome)
}

fn assert_agrees_with_the_direct_solve(cloth: &Cloth, options: GalerkinOptions) {
    let mut direct = PreconditionedSolver::new(CholeskyFactor::new(None, Simd::Auto));
    let exact = solution(&mut direct, &cloth.matrix).0;
    let galerkin = || Galerkin::new(options.clone(), Some(cloth.positions.clone().into()));
    let solvers: [Box<dyn LinearSolver>; 2] =
        [Box::new(PreconditionedSolver::new(galerkin())), Box::new(StationarySolver::new(galerkin()))];
    for mut solver in solvers {
        let (x, _) = solution(&mut *solver, &cloth.matrix);
        assert!(distance(&x, &exact) < 1e-6, "{}", distance(&x, &exact));
    }
}

/// One node at the top has the twelve affine motions of the whole body: each must be reproduced at the vertices.
#[test]
fn affine_motions_go_through_all_levels_exactly() {
    let cloth = cloth(14, 1, 1.0, |_| false);
    let tree = Tree::new(&cloth.matrix, Some(&cloth.positions), &given(&[60, 12, 1])).unwrap();
    for motion in 0..12 {
        let mut q = vec![0.0; 12];
        q[motion] = 1.0;
        for projection in tree.projections.iter().rev() {
            let mut finer = vec![0.0; 3 * projection.functions[0] * projection.parents.len()];
            projection.prolong_add(&q, &mut finer);
            q = finer;
        }
        let (moves, _) = q.as_chunks::<3>();
        let moves: Vec<DVec3> = moves.iter().map(|m| DVec3::from_array(m.map(f64::from))).collect();
        // Four vertices fix an affine motion; all others must follow it.
        let corners = [0, 9, 90, 131].map(|v| (cloth.positions[v], moves[v]));
        let edges = |of: [DVec3; 4]| DMat3::from_cols(of[1] - of[0], of[2] - of[0], of[3] - of[0]);
        let gradient = edges(corners.map(|c| c.1)) * edges(corners.map(|c| c.0)).inverse();
        for (x, m) in cloth.positions.iter().zip(&moves) {
            let expected = corners[0].1 + gradient * (*x - corners[0].0);
            assert!(m.distance(expected) < 1e-4, "{motion}: {m} {expected}");
        }
        assert!(moves.iter().any(|m| m.length() > 0.5));
    }
}

/// Rigid motion and scale change the frames, including the axes in which a flat cloth is deficient, but not their span.
#[test]
fn cycles_do_not_see_where_a_body_is_and_how_it_is_turned() {
    for height in [0.0, 1.0] {
        let cloth = cloth(15, 1, height, |_| false);
        let options = GalerkinOptions { distances: Distances::Geodesic, ..given(&[60, 12, 3]) };
        let plain = cycle(&cloth.matrix, &cloth.positions, options.clone());
        let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 1.1);
        let moved: Vec<DVec3> =
            cloth.positions.iter().map(|x| DVec3::new(5.0, -9.0, 200.0) + 0.01 * (turn * *x)).collect();
        let turned = cycle(&cloth.matrix, &moved, options);
        assert!(distance(&turned, &plain) < 1e-4, "{height}: {}", distance(&turned, &plain));
    }
}

#[test]
fn rank_deficient_nodes_do_no_harm() {
    let flat = cloth(13, 1, 0.0, |_| false);
    // Hardly more vertices than nodes: many have one, two or three.
    for sizes in [&[80, 40, 10][..], &[168, 1], &[2]] {
        assert_agrees_with_the_direct_solve(&flat, given(sizes));
    }
    let line = flat.positions.iter().map(|x| DVec3::X * x.dot(DVec3::new(1.0, 0.0, 0.01))).collect();
    let point = vec![DVec3::ONE; flat.positions.len()];
    for positions in [line, point] {
        let cloth = Cloth { matrix: flat.matrix.clone(), positions };
        assert_agrees_with_the_direct_solve(&cloth, given(&[30, 6]));
    }
}

#[test]
fn held_vertices_and_parts_that_are_not_coupled_agree_with_the_direct_solve() {
    let cloth = cloth(11, 3, 0.5, |v| v % 7 == 0 || (60..80).contains(&v));
    assert!(cloth.positions.len() < 3 * 121);
    for options in [GalerkinOptions::default(), given(&[40, 9, 2])] {
        assert_agrees_with_the_direct_solve(&cloth, options);
    }
}

#[test]
fn positions_that_are_not_numbers_or_too_few_are_done_without() {
    let plain = cloth(10, 1, 0.5, |_| false);
    let mut broken = plain.positions.clone();
    broken[17].y = f64::NAN;
    for positions in [broken, plain.positions[1..].to_vec()] {
        let cloth = Cloth { matrix: plain.matrix.clone(), positions };
        assert_agrees_with_the_direct_solve(&cloth, GalerkinOptions::default());
    }
}

#[test]
fn bits_of_many_levels_do_not_depend_on_the_number_of_threads() {
    let cloth = cloth(70, 1, 1.0, |_| false);
    for smoother in [Smoother::GaussSeidel, Smoother::Jacobi] {
        let result = |threads: usize| {
            let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let options = GalerkinOptions { smoother, sweeps: 2, ..given(&[900, 200, 40]) };
            pool.install(|| cycle(&cloth.matrix, &cloth.positions, options))
        };
        let one = result(1);
        assert_eq!(one, result(2));
        assert_eq!(one, result(3));
    }
}

/// Block Jacobi needs twice the iterations at twice the resolution; multigrid hardly more.
#[test]
fn iterations_hardly_grow_with_the_resolution() {
    let iterations = |n| {
        let cloth = cloth(n, 1, 1.0, |_| false);
        let galerkin = Galerkin::new(GalerkinOptions::default(), Some(cloth.positions.clone().into()));
        solution(&mut PreconditionedSolver::new(galerkin), &cloth.matrix).1.iterations
    };
    let (coarse, fine) = (iterations(24), iterations(72));
    assert!(2 * fine <= 3 * coarse, "{coarse} {fine}");
}

#[test]
fn a_matrix_that_changes_reuses_the_tree_and_gives_the_same_cycle_as_a_new_one() {
    let cloth = cloth(15, 1, 1.0, |_| false);
    let options = GalerkinOptions { distances: Distances::Geodesic, ..given(&[60, 12]) };
    let mut used = Galerkin::new(options.clone(), Some(cloth.positions.clone().into()));
    used.update(&cloth.matrix).unwrap();
    let mut changed = cloth.matrix.clone();
    // Attachments, a contact between vertices far apart, and another mass.
    (0..40).for_each(|v| changed.add_diagonal(3 * v, 1e3 * DMat3::from_diagonal(DVec3::new(1.0, 0.0, 0.5))));
    (0..4).for_each(|v| changed.add_diagonal(if v % 2 == 0 { 3 } else { 200 }, 50.0 * DMat3::IDENTITY));
    changed.add_pair(3, 200, -100.0 * DMat3::IDENTITY);
    changed.shift_diagonal(2.0);
    used.update(&changed).unwrap();
    let r = wave(changed.unknowns());
    let mut z = r.clone();
    used.apply(&r, &mut z);
    assert_eq!(z, cycle(&changed, &cloth.positions, options));
}

/// Projective dynamics: the same matrix as numbers and as 3x3 blocks, with one or with three right-hand sides.
#[test]
fn matrices_that_do_not_couple_directions_give_the_same_cycle_by_numbers_as_by_blocks() {
    let cloth = cloth(30, 1, 1.0, |v| v % 11 == 0);
    let mut scalars = ScalarMatrix::zero(cloth.matrix.pattern().clone());
    (0..900).for_each(|v| scalars.add_diagonal(v, 0.05));
    for (i, step) in (0..900).flat_map(|i| [1, 30, 31].map(|step| (i, step))) {
        let j = i + step;
        if j < 900 && (j % 30 > i % 30 || step == 30) {
            scalars.add_diagonal(i, 2.0);
            scalars.add_diagonal(j, 2.0);
            scalars.add_pair(i, j, -2.0);
        }
    }
    let blocks = scalars.to_blocks();
    let both = crate::WithBlocks { scalars: &scalars, blocks: &blocks };
    for smoother in [Smoother::GaussSeidel, Smoother::Jacobi] {
        for affine in [true, false] {
            let options = GalerkinOptions { smoother, affine, ..given(&[90, 20, 5]) };
            let by_blocks = cycle(&blocks, &cloth.positions, options.clone());
            let mut galerkin = Galerkin::new(options, Some(cloth.positions.clone().into()));
            let mut z = by_blocks.clone();
            galerkin.update(&both).unwrap();
            galerkin.apply(&wave(by_blocks.len()), &mut z);
            assert!(galerkin.hierarchy.as_ref().is_some_and(|known| known.is_of(1, blocks.pattern())));
            assert!(distance(&z, &by_blocks) < 1e-5, "{smoother:?} {affine}: {}", distance(&z, &by_blocks));
        }
    }
}

/// Section 4.3: mass and time step change `M/h²`, the rest pose the stiffness; `U` stays as it is.
#[test]
fn another_time_step_mass_or_rest_pose_needs_no_new_hierarchy() {
    let flat = cloth(20, 1, 0.0, |_| false);
    let mut used = Galerkin::new(given(&[60, 12]), Some(flat.positions.clone().into()));
    used.update(&flat.matrix).unwrap();
    let place = |galerkin: &Galerkin| galerkin.tree.as_ref().map(|(_, tree)| tree.projections.as_ptr());
    let before = place(&used);
    let shifted = |by: f64| {
        let mut matrix = flat.matrix.clone();
        matrix.shift_diagonal(by);
        matrix
    };
    let mut bent = BlockMatrix::zero(flat.matrix.pattern().clone());
    bent.blocks_mut().copy_from_slice(cloth(20, 1, 1.0, |_| false).matrix.blocks());
    for matrix in [shifted(10.0), shifted(0.01), bent] {
        let mut direct = PreconditionedSolver::new(CholeskyFactor::new(None, Simd::Auto));
        let exact = solution(&mut direct, &matrix).0;
        used.update(&matrix).unwrap();
        assert_eq!(place(&used), before);
        let rhs = wave(matrix.unknowns());
        let mut x = vec![DVec3::ZERO; rhs.len()];
        let stop = StopRule::tolerance(1e-10, 500);
        let outcome = crate::ConjugateGradient::default().solve(&matrix, &mut used, &rhs, &mut x, &stop);
        assert!(outcome.converged() && distance(&x, &exact) < 1e-7, "{outcome:?}");
    }
}

/// Attachments and contacts that come and go change a few rows; only dependent entries are recomputed.
#[test]
fn an_update_of_some_rows_gives_the_bits_of_a_whole_one() {
    let cloth = cloth(40, 1, 1.0, |_| false);
    for smoother in [Smoother::GaussSeidel, Smoother::Jacobi] {
        for affine in [true, false] {
            let distances = Distances::Geodesic;
            let options = GalerkinOptions { smoother, affine, distances, ..given(&[200, 40, 8]) };
            let mut used = Galerkin::new(options.clone(), Some(cloth.positions.clone().into()));
            let mut changed = cloth.matrix.clone();
            used.update(&changed).unwrap();
            used.update(&changed).unwrap();
            for (vertex, stiffness) in [(5, 10.0), (800, 30.0), (1599, 1e4), (5, -10.0), (801, 1e-3)] {
                let along = DMat3::from_diagonal(DVec3::new(1.0, 0.5, 0.0));
                changed.add_diagonal(vertex, stiffness * along);
                used.update(&changed).unwrap();
                let r = wave(changed.unknowns());
                let mut z = r.clone();
                used.apply(&r, &mut z);
                assert_eq!(z, cycle(&changed, &cloth.positions, options.clone()), "{smoother:?} {vertex}");
            }
        }
    }
}

#[test]
fn a_matrix_that_was_refused_leaves_nothing_behind() {
    let cloth = cloth(20, 1, 1.0, |_| false);
    let options = GalerkinOptions { distances: Distances::Geodesic, ..given(&[60, 12]) };
    let mut used = Galerkin::new(options.clone(), Some(cloth.positions.clone().into()));
    (0..3).for_each(|_| used.update(&cloth.matrix).unwrap());
    let mut broken = cloth.matrix.clone();
    broken
        .add_diagonal(8, DMat3::from_cols(DVec3::ZERO, DVec3::new(0.0, 0.0, 1e6), DVec3::new(0.0, 1e6, 0.0)));
    assert!(used.update(&broken).is_err());
    used.update(&cloth.matrix).unwrap();
    let r = wave(cloth.matrix.unknowns());
    let mut z = r.clone();
    used.apply(&r, &mut z);
    assert_eq!(z, cycle(&cloth.matrix, &cloth.positions, options));
}

#[test]
fn a_coarsest_level_too_large_for_the_dense_factorisation_is_refused() {
    let cloth = cloth(60, 1, 1.0, |_| false);
    let mut galerkin = Galerkin::new(given(&[3000]), Some(cloth.positions.clone().into()));
    let error = galerkin.update(&cloth.matrix).unwrap_err().to_string();
    assert!(error.contains("3000 nodes, 36000 unknowns") && error.contains("`levels`"), "{error}");
}
