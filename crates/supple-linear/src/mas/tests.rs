//! The preconditioner as a whole, against dense algebra, the direct solve and itself.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use proptest::prelude::*;

use super::coarse_rows::CoarseRow;
use super::*;
use crate::{CholeskyFactor, LinearSolver, PreconditionedSolver, SolveOutcome, StopRule};

struct TestBody {
    matrix: BlockMatrix,
    positions: Vec<DVec3>,
}

fn wave(n: usize) -> Vec<DVec3> {
    let angles = (0..n).map(|i| DVec3::new(1.3, 2.1, 0.7) * i as f64);
    angles.map(|v| DVec3::new(v.x.sin(), v.y.cos(), v.z.sin())).collect()
}

/// Springs of given stiffness between points, each on a mass.
fn springs(positions: Vec<DVec3>, pairs: &[([u32; 2], f64)], mass: f64) -> TestBody {
    let known: Vec<[u32; 2]> = pairs.iter().map(|(pair, _)| *pair).collect();
    let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; positions.len()], &known)));
    for &([a, b], stiffness) in pairs {
        add_spring(&mut matrix, &positions, [a, b], stiffness);
    }
    (0..positions.len() as u32).for_each(|v| matrix.add_diagonal(v, mass * DMat3::IDENTITY));
    TestBody { matrix, positions }
}

fn add_spring(matrix: &mut BlockMatrix, positions: &[DVec3], [a, b]: [u32; 2], stiffness: f64) {
    let u = (positions[b as usize] - positions[a as usize]).normalize_or(DVec3::X);
    let block = stiffness * (DMat3::from_cols(u * u.x, u * u.y, u * u.z) + 0.05 * DMat3::IDENTITY);
    matrix.add_diagonal(a, block);
    matrix.add_diagonal(b, block);
    matrix.add_pair(a, b, -block);
}

/// `copies` wavy sheets of `n` squared vertices, separated by `gap` and not connected.
fn sheets(n: u32, copies: u32, gap: f64) -> TestBody {
    let position = |v: u32| {
        let (copy, i, j) = (v / (n * n), f64::from(v % n), f64::from(v / n % n));
        DVec3::new(i, 0.3 * (0.8 * i).sin() * (0.6 * j).cos() + gap * f64::from(copy), j)
    };
    let mut pairs = Vec::new();
    for v in 0..copies * n * n {
        let (i, j) = (v % n, v / n % n);
        let steps = [(1, 0), (0, 1), (1, 1), (2, 0), (0, 2)].into_iter();
        let inside = steps.filter(|(di, dj)| i + di < n && j + dj < n);
        pairs.extend(inside.map(|(di, dj)| ([v, v + di + n * dj], 100.0)));
    }
    springs((0..copies * n * n).map(position).collect(), &pairs, 0.05)
}

/// A block of `n` x `n` x `2 n` vertices with columns that are `contrast` times as stiff.
fn columns(n: u32, contrast: f64) -> TestBody {
    let at = |v: u32| [v % n, v / n % n, v / (n * n)];
    let stiff = |v: u32| at(v)[0] % 4 < 2 && at(v)[1] % 4 < 2;
    let mut pairs = Vec::new();
    for v in 0..2 * n * n * n {
        let [i, j, k] = at(v);
        for [di, dj, dk] in [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]] {
            if i + di < n && j + dj < n && k + dk < 2 * n {
                let other = v + di + n * dj + n * n * dk;
                pairs.push(([v, other], if stiff(v) && stiff(other) { contrast } else { 1.0 }));
            }
        }
    }
    let positions = (0..2 * n * n * n).map(|v| DVec3::from_array(at(v).map(f64::from))).collect();
    springs(positions, &pairs, 1e-3)
}

fn all_options() -> impl Iterator<Item = MasOptions> {
    let modes = [Modes::Translations, Modes::Rigid, Modes::Affine];
    let cuts = [(Partition::Morton, Layout::F32), (Partition::Stiffness, Layout::I16)];
    modes.into_iter().flat_map(move |modes| {
        cuts.map(|(partition, layout)| MasOptions {
            domain: 8,
            modes,
            partition,
            layout,
            ..MasOptions::default()
        })
    })
}

fn updated(body: &TestBody, options: MasOptions) -> Mas {
    let mut mas = Mas::new(options, Some(body.positions.clone().into()));
    mas.update(&body.matrix).unwrap();
    mas
}

fn applied(mas: &mut Mas, r: &[DVec3]) -> Vec<DVec3> {
    let mut z = r.to_vec();
    mas.apply(r, &mut z);
    z
}

fn distance(a: &[DVec3], b: &[DVec3]) -> f64 {
    let size: f64 = b.iter().map(|b| b.length_squared()).sum();
    (a.iter().zip(b).map(|(a, b)| a.distance_squared(*b)).sum::<f64>() / size).sqrt()
}

fn solution(
    solver: &mut dyn LinearSolver,
    matrix: &BlockMatrix,
    tolerance: f64,
) -> (Vec<DVec3>, SolveOutcome) {
    let rhs = wave(matrix.unknowns());
    let mut x = vec![DVec3::ZERO; rhs.len()];
    solver.prepare(matrix).unwrap();
    let outcome = solver.solve(matrix, &rhs, &mut x, &StopRule::tolerance(tolerance, 20_000));
    assert!(outcome.converged(), "{outcome:?}");
    (x, outcome)
}

fn iterations(body: &TestBody, options: MasOptions) -> usize {
    let mas = Mas::new(options, Some(body.positions.clone().into()));
    solution(&mut PreconditionedSolver::new(mas), &body.matrix, 1e-6).1.iterations
}

/// The motion of every unknown when one unknown of one supernode of a level moves.
fn prolonged(levels: &[SupernodeLevel], modes: Modes, level: usize, column: usize) -> Vec<f64> {
    fn down<const C: usize, const M: usize>(level: &SupernodeLevel, above: &[f64]) -> Vec<f64> {
        let mut below = vec![0.0; C * level.nodes()];
        for (place, &node) in level.order.iter().enumerate() {
            let parent = level.parent[place] as usize;
            let motion: &[f64; M] = above[M * parent..][..M].try_into().unwrap();
            let own: &mut [f64; C] = (&mut below[C * node as usize..][..C]).try_into().unwrap();
            level.parent_weights[place].prolong_add(motion, own);
        }
        below
    }
    let mut motion = vec![0.0; modes.count() * levels[level].nodes()];
    motion[column] = 1.0;
    for l in (0..level).rev() {
        motion = match (l, modes) {
            (_, Modes::Translations) => down::<3, 3>(&levels[l], &motion),
            (0, Modes::Rigid) => down::<3, 6>(&levels[l], &motion),
            (_, Modes::Rigid) => down::<6, 6>(&levels[l], &motion),
            (0, Modes::Affine) => down::<3, 12>(&levels[l], &motion),
            (_, Modes::Affine) => down::<12, 12>(&levels[l], &motion),
        };
    }
    motion
}

fn vectors(numbers: &[f64]) -> Vec<DVec3> {
    numbers.chunks_exact(3).map(DVec3::from_slice).collect()
}

fn coarse_matrices(mas: &Mas) -> &[Vec<CoarseRow>] {
    match &mas.built.as_ref().unwrap().inverses {
        Stored::Single(inverses) => &inverses.coarse,
        Stored::Short(inverses) => &inverses.coarse,
    }
}

fn entry(rows: &[CoarseRow], count: usize, [i, j]: [usize; 2]) -> f64 {
    let row = &rows[i / count];
    let slot = row.columns.iter().position(|&column| column as usize == j / count);
    slot.map_or(0.0, |slot| row.blocks[slot * count * count + i % count * count + j % count])
}

/// Random points and springs, some of them outside the pattern.
fn random_body(nodes: u32, pairs: &[(u32, u32)], outside: &[(u32, u32)]) -> TestBody {
    let legal = |&(a, b): &(u32, u32)| [a % nodes, b % nodes];
    let inside = pairs.iter().map(legal).filter(|[a, b]| a != b).map(|pair| (pair, 3.0));
    let mut body = springs(wave(nodes as usize), &inside.collect::<Vec<_>>(), 0.1);
    for pair in outside.iter().map(legal).filter(|[a, b]| a != b) {
        add_spring(&mut body.matrix, &body.positions, pair, 7.0);
    }
    body
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn coarse_matrices_are_the_plain_triple_products(
        nodes in 9u32..60,
        pairs in prop::collection::vec((0u32..60, 0u32..60), 20..120),
        outside in prop::collection::vec((0u32..60, 0u32..60), 0..9),
    ) {
        let body = random_body(nodes, &pairs, &outside);
        for options in all_options() {
            let mas = updated(&body, MasOptions { domain: 4, ..options });
            let levels = &mas.built.as_ref().unwrap().levels;
            let count = options.modes.count();
            for (l, rows) in coarse_matrices(&mas).iter().enumerate() {
                let basis: Vec<Vec<DVec3>> = (0..count * rows.len())
                    .map(|column| vectors(&prolonged(levels, options.modes, l + 1, column)))
                    .collect();
                for (j, motion) in basis.iter().enumerate() {
                    let forces = body.matrix.multiply(motion);
                    for (i, other) in basis.iter().enumerate() {
                        let exact: f64 = other.iter().zip(&forces).map(|(a, b)| a.dot(*b)).sum();
                        let found = entry(rows, count, [i, j]);
                        prop_assert!((exact - found).abs() < 1e-9, "level {}, {i} {j}: {exact} {found}", l + 1);
                    }
                }
            }
        }
    }

    #[test]
    fn random_bodies_agree_with_the_direct_solve(
        nodes in 1u32..150,
        pairs in prop::collection::vec((0u32..150, 0u32..150), 0..400),
        outside in prop::collection::vec((0u32..150, 0u32..150), 0..20),
    ) {
        let body = random_body(nodes, &pairs, &outside);
        let mut direct = PreconditionedSolver::new(CholeskyFactor::new(None, Simd::Auto));
        let exact = solution(&mut direct, &body.matrix, 1e-11).0;
        for options in all_options() {
            let mas = Mas::new(options, Some(body.positions.clone().into()));
            let found = solution(&mut PreconditionedSolver::new(mas), &body.matrix, 1e-10).0;
            prop_assert!(distance(&found, &exact) < 1e-7);
        }
    }
}

/// A single domain covers the whole matrix: its inverse must be exact to the layout's rounding (6e-8 and 2e-5) times
/// the condition number, here below 20.
#[test]
fn packed_inverses_undo_the_product() {
    for (n, domain) in [(2, 32), (5, 32), (7, 64), (11, 128)] {
        let mut body = sheets(n, 1, 0.0);
        body.matrix.shift_diagonal(100.0);
        for (layout, error) in [(Layout::F32, 1e-6), (Layout::I16, 4e-4)] {
            let mut mas = updated(&body, MasOptions { domain, layout, ..MasOptions::default() });
            assert_eq!(mas.level_sizes(), [(n * n) as usize]);
            let exact = wave((n * n) as usize);
            let found = applied(&mut mas, &body.matrix.multiply(&exact));
            assert!(distance(&found, &exact) < error, "{n} {layout:?}: {}", distance(&found, &exact));
        }
    }
}

/// The update reports rejected matrices; applying it nevertheless must not panic.
#[test]
fn a_refused_matrix_can_be_applied_without_harm() {
    let mut body = sheets(5, 1, 0.0);
    body.matrix.shift_diagonal(-1e6);
    let mut mas = Mas::new(MasOptions::default(), Some(body.positions.clone().into()));
    assert!(mas.update(&body.matrix).is_err());
    assert!(applied(&mut mas, &wave(25)).iter().all(|z| z.is_finite()));
}

/// Figure 6: sheets so close that they share domains, but not connected.
#[test]
fn sheets_that_are_not_connected_do_not_move_each_other() {
    let n = 20;
    let body = sheets(n, 2, 1e-3);
    let half = (n * n) as usize;
    for options in all_options() {
        let mut mas = updated(&body, options);
        let mut r = wave(2 * half);
        r[half..].fill(DVec3::ZERO);
        let z = applied(&mut mas, &r);
        assert!(z[..half].iter().all(|z| *z != DVec3::ZERO));
        assert!(z[half..].iter().all(|z| z.abs().max_element() == 0.0));
        for level in 1..mas.level_sizes().len() {
            let map = mas.supernodes(level).unwrap();
            assert!(map[..half].iter().all(|supernode| !map[half..].contains(supernode)));
        }
        assert_eq!(mas.supernodes(mas.level_sizes().len()), None);
    }
}

#[test]
fn contacts_connect_supernodes() {
    let body = sheets(12, 2, 1e-3);
    let options = MasOptions { partition: Partition::Morton, ..MasOptions::default() };
    let apart = updated(&body, options).level_sizes();
    let mut touching = TestBody { matrix: body.matrix.clone(), positions: body.positions.clone() };
    (0..144).for_each(|v| add_spring(&mut touching.matrix, &body.positions, [v, v + 144], 1e3));
    assert_eq!(touching.matrix.outside().len(), 144);
    let mas = updated(&touching, options);
    assert!(2 * mas.level_sizes()[1] <= apart[1], "{apart:?} {:?}", mas.level_sizes());
    let map = mas.supernodes(1).unwrap();
    assert!((0..144).all(|v| map[v] == map[v + 144]));
}

#[test]
fn selective_updates_give_the_bits_of_full_ones() {
    let mut body = sheets(24, 2, 1e-3);
    for options in all_options() {
        let mut used = updated(&body, options);
        let structure = used.built.as_ref().unwrap().levels.clone();
        // Contacts come, change and go; the domains stay.
        for round in 0..3 {
            let mut matrix = body.matrix.clone();
            (0..5).for_each(|k| add_spring(&mut matrix, &body.positions, [7 * k + round, 576 + 7 * k], 50.0));
            matrix.add_diagonal(300, f64::from(round) * DMat3::IDENTITY);
            used.update(&matrix).unwrap();
            let mut fresh = Mas::new(options, Some(body.positions.clone().into()));
            fresh.restored = Some(structure.clone());
            fresh.update(&matrix).unwrap();
            let r = wave(matrix.unknowns());
            assert_eq!(applied(&mut used, &r), applied(&mut fresh, &r));
        }
        body.matrix.shift_diagonal(0.1);
    }
}

#[test]
fn few_domains_are_touched_by_few_changes() {
    let body = sheets(40, 1, 0.0);
    let mut mas = updated(&body, MasOptions::default());
    let Some(Built { levels, signatures, .. }) = &mut mas.built else { panic!("it was updated") };
    let mut changed = body.matrix.clone();
    changed.add_diagonal(17, DMat3::IDENTITY);
    let nodes = signatures.update(&changed).unwrap();
    assert_eq!(nodes, [17]);
    assert!(
        touched_domains(levels, Some(&nodes)).iter().all(|flags| flags.iter().filter(|f| **f).count() == 1)
    );
    assert_eq!(signatures.update(&changed).unwrap(), Vec::<u32>::new());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let body = sheets(60, 2, 0.4);
    for options in all_options() {
        let result = |threads: usize| {
            let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| applied(&mut updated(&body, options), &wave(body.positions.len())))
        };
        let one = result(1);
        assert_eq!(one, result(2));
        assert_eq!(one, result(3));
    }
}

/// Stiff columns (contrast 1e4): domains that follow them need a quarter of the iterations.
#[test]
fn domains_by_stiffness_follow_stiff_columns() {
    let body = columns(8, 1e4);
    let with = |partition| iterations(&body, MasOptions { partition, ..MasOptions::default() });
    let (morton, stiffness) = (with(Partition::Morton), with(Partition::Stiffness));
    assert!(4 * stiffness <= morton, "{stiffness} {morton}");
}

/// Sheets on each other with stiff springs between nodes that are not above each other.
#[test]
fn domains_by_stiffness_follow_contacts() {
    let mut body = sheets(24, 3, 1e-3);
    for v in 0..2 * 576 {
        let aside = v - v % 576 + (v % 576 + 577 * (v % 2) + 24 * (v % 3)) % 576;
        add_spring(&mut body.matrix, &body.positions, [v, aside + 576], 1e4);
    }
    let with = |partition| iterations(&body, MasOptions { partition, ..MasOptions::default() });
    let (morton, stiffness) = (with(Partition::Morton), with(Partition::Stiffness));
    assert!(4 * stiffness <= 3 * morton, "{stiffness} {morton}");
}

#[test]
fn coarse_levels_and_their_modes_save_iterations() {
    let body = columns(10, 1.0);
    let with = |modes| iterations(&body, MasOptions { modes, ..MasOptions::default() });
    let schwarz = crate::Schwarz::new(Default::default(), Some(body.positions.clone().into()));
    let one_level = solution(&mut PreconditionedSolver::new(schwarz), &body.matrix, 1e-6).1.iterations;
    let [translations, rigid] = [Modes::Translations, Modes::Rigid].map(with);
    assert!(rigid < translations && translations < one_level, "{rigid} {translations} {one_level}");
}

#[test]
fn saved_levels_come_back_and_damaged_ones_do_not() {
    let body = sheets(20, 2, 1e-3);
    let mut mas = updated(&body, MasOptions::default());
    assert!(mas.save().is_empty(), "before the first step there is nothing to save");
    assert!(mas.begin_step(&body.positions));
    mas.update(&body.matrix).unwrap();
    let words = mas.save();
    let Some((0, Saved::Levels(levels))) = saved_levels::read(&words) else { panic!("no levels") };
    assert_eq!(levels, mas.built.as_ref().unwrap().levels);
    assert!(saved_levels::read(&words[..words.len() - 1]).is_none());
    for at in (0..words.len()).step_by(7) {
        let mut damaged = words.clone();
        damaged[at] ^= 1 << (at % 32);
        let mut other = Mas::new(MasOptions::default(), Some(body.positions.clone().into()));
        other.restore(&damaged);
        other.update(&body.matrix).unwrap();
    }
}

#[test]
fn domains_that_no_step_has_used_yet_are_cut_from_where_they_were_due() {
    let body = sheets(20, 2, 1e-3);
    let later: Vec<DVec3> = body.positions.iter().map(|x| DVec3::new(x.z, x.x * x.x, -x.y)).collect();
    let cut = |break_off: bool| {
        let mut mas = Mas::new(MasOptions::default(), Some(body.positions.clone().into()));
        mas.begin_step(&later);
        assert!(!mas.begin_step(&body.positions));
        if break_off {
            let words = mas.save();
            mas = Mas::new(MasOptions::default(), Some(body.positions.clone().into()));
            mas.restore(&words);
        }
        let started: Vec<bool> = (0..3).map(|_| mas.begin_step(&body.positions)).collect();
        mas.update(&body.matrix).unwrap();
        (started, mas.built.unwrap().levels)
    };
    assert_eq!(cut(false), cut(true));
}

#[test]
fn domains_are_rebuilt_every_few_steps_only() {
    let body = sheets(10, 1, 0.0);
    let mut mas = Mas::new(MasOptions { rebuild: 3, ..MasOptions::default() }, None);
    let cut: Vec<bool> = (0..7).map(|_| mas.begin_step(&body.positions)).collect();
    assert_eq!(cut, [true, false, false, true, false, false, true]);
}
