//! Elimination orders and the structure of factors.

use glam::DVec3;
use proptest::prelude::*;

use super::elimination::Elimination;
use super::graph::{ABSENT, AdjacencyGraph};
use super::nested_dissection::nested_dissection;
use super::schedule::FactorSchedule;
use super::supernodes::Supernodes;
use super::*;
use crate::BlockPattern;

fn graph(n: usize, pairs: &[[u32; 2]]) -> AdjacencyGraph {
    AdjacencyGraph::new(&BlockPattern::new(&vec![false; n], pairs), &[])
}

/// A square grid with its diagonals, and the positions of its vertices.
fn grid(side: u32) -> (AdjacencyGraph, Vec<DVec3>) {
    let mut pairs = Vec::new();
    let mut positions = Vec::new();
    for i in 0..side {
        for j in 0..side {
            positions.push(DVec3::new(f64::from(i), f64::from(j), 0.0));
            let v = i * side + j;
            if j + 1 < side {
                pairs.push([v, v + 1]);
            }
            if i + 1 < side {
                pairs.push([v, v + side]);
                if j + 1 < side {
                    pairs.push([v, v + side + 1]);
                }
            }
        }
    }
    (graph(positions.len(), &pairs), positions)
}

fn is_permutation(order: &[u32], n: usize) -> bool {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    sorted == (0..n as u32).collect::<Vec<_>>()
}

fn eliminated(graph: &AdjacencyGraph, order: &[u32]) -> Elimination {
    Elimination::new(&graph.renamed(order, &mut vec![ABSENT; graph.len()]))
}

/// The rows below each column, by textbook elimination: the neighbours that remain become a clique.
fn columns_by_elimination(graph: &AdjacencyGraph) -> Vec<Vec<u32>> {
    let n = graph.len();
    let mut later: Vec<std::collections::BTreeSet<u32>> = vec![Default::default(); n];
    for (v, later) in later.iter_mut().enumerate() {
        later.extend(graph.neighbours(v).iter().filter(|&&other| other as usize > v));
    }
    for v in 0..n {
        let rows: Vec<u32> = later[v].iter().copied().collect();
        for (k, &a) in rows.iter().enumerate() {
            later[a as usize].extend(&rows[k + 1..]);
        }
    }
    later.into_iter().map(|rows| rows.into_iter().collect()).collect()
}

fn random_pairs(n: u32) -> impl Strategy<Value = Vec<[u32; 2]>> {
    prop::collection::vec([0..n, 0..n], 0..3 * n as usize)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_order_names_each_vertex_once(n in 1u32..700, seed in 0u64..1000) {
        let step = |k: u64| (k.wrapping_mul(6364136223846793005).wrapping_add(seed) >> 33) as u32 % n;
        let pairs: Vec<[u32; 2]> = (0..2 * u64::from(n)).map(|k| [step(k), step(k + 7919)]).collect();
        let positions: Vec<DVec3> = (0..n).map(|v| DVec3::splat(f64::from(v)).map(f64::sin)).collect();
        let graph = graph(n as usize, &pairs);
        prop_assert!(is_permutation(&nested_dissection(&graph, None), n as usize));
        prop_assert!(is_permutation(&nested_dissection(&graph, Some(&positions)), n as usize));
        prop_assert!(is_permutation(&Ordering::Best.order(&graph, Some(&positions)), n as usize));
    }

    #[test]
    fn column_lengths_are_those_of_elimination(pairs in random_pairs(30)) {
        let graph = graph(30, &pairs);
        let expected: Vec<u32> = columns_by_elimination(&graph).iter().map(|rows| rows.len() as u32).collect();
        prop_assert_eq!(Elimination::new(&graph).below, expected);
    }

    #[test]
    fn supernodes_hold_every_entry_of_the_factor(pairs in random_pairs(40)) {
        let graph = graph(40, &pairs);
        let postorder = Elimination::new(&graph).postorder();
        prop_assert!(is_permutation(&postorder, 40));
        let graph = graph.renamed(&postorder, &mut [ABSENT; 40]);
        let elimination = Elimination::new(&graph);
        let supernodes = Supernodes::new(&graph, &elimination, 3);
        let of_column = supernodes.of_columns();
        for (column, rows) in columns_by_elimination(&graph).iter().enumerate() {
            let s = of_column[column] as usize;
            prop_assert!(rows.iter().all(|&row| supernodes.place(s, row).is_some()));
        }
    }

    #[test]
    fn updates_in_use_never_overlap(pairs in random_pairs(60)) {
        let graph = graph(60, &pairs);
        let postorder = Elimination::new(&graph).postorder();
        let graph = graph.renamed(&postorder, &mut [ABSENT; 60]);
        let supernodes = Supernodes::new(&graph, &Elimination::new(&graph), 1);
        let schedule = FactorSchedule::new(&supernodes, 1);
        let update = |s: usize| {
            let start = schedule.update_start[s];
            start..start + supernodes.rows(s).len().pow(2)
        };
        // An update is in use from its supernode to the parent.
        for s in 0..supernodes.len() {
            prop_assert!(update(s).end <= schedule.space);
            let waiting = (0..s).filter(|&other| {
                supernodes.parent[other] != ABSENT && supernodes.parent[other] as usize >= s
            });
            for other in waiting {
                let (a, b) = (update(s), update(other));
                prop_assert!(a.end <= b.start || b.end <= a.start || a.is_empty() || b.is_empty());
            }
        }
    }
}

#[test]
fn first_separator_of_a_square_grid_is_no_longer_than_a_row() {
    let (graph, positions) = grid(31);
    for known in [Some(&positions[..]), None] {
        let order = nested_dissection(&graph, known);
        let separates = |last: &usize| {
            let rest = &order[..order.len() - last];
            let reached = reachable(&graph.renamed(rest, &mut vec![ABSENT; graph.len()]));
            reached > 0.25 * 961.0 && reached < 0.75 * 961.0
        };
        assert!((1..=31).any(|last| separates(&last)), "with positions: {}", known.is_some());
    }
}

fn reachable(graph: &AdjacencyGraph) -> f64 {
    let mut seen = vec![false; graph.len()];
    let mut waiting = vec![0u32];
    seen[0] = true;
    while let Some(v) = waiting.pop() {
        for &other in graph.neighbours(v as usize) {
            if !std::mem::replace(&mut seen[other as usize], true) {
                waiting.push(other);
            }
        }
    }
    seen.iter().filter(|&&seen| seen).count() as f64
}

#[test]
fn dissection_costs_less_than_minimum_degree_on_a_large_grid_and_the_best_is_taken() {
    let (graph, positions) = grid(90);
    let degree = eliminated(&graph, &minimum_degree(&graph)).work();
    let dissected = eliminated(&graph, &nested_dissection(&graph, Some(&positions))).work();
    let best = eliminated(&graph, &Ordering::Best.order(&graph, Some(&positions))).work();
    assert!(dissected < degree, "{dissected} {degree}");
    assert!(best <= dissected.min(degree));
}

/// Entries of the factor below its diagonal.
fn fill(graph: &AdjacencyGraph) -> u32 {
    eliminated(graph, &minimum_degree(graph)).below.iter().sum()
}

#[test]
fn minimum_degree_eliminates_trees_without_fill() {
    let pairs: Vec<[u32; 2]> = (1..500u32).map(|v| [v, v * 7919 % 1009 % v]).collect();
    assert_eq!(fill(&graph(500, &pairs)), 499);
}

#[test]
fn minimum_degree_leaves_vertices_with_very_many_neighbours_to_the_end() {
    let n = 1000;
    let spokes = (0..n - 1).map(|v| [v, n - 1]);
    let rim = (0..n - 2).map(|v| [v, v + 1]);
    let graph = graph(n as usize, &spokes.chain(rim).collect::<Vec<_>>());
    let order = minimum_degree(&graph);
    assert!(is_permutation(&order, n as usize));
    assert_eq!(order.last(), Some(&(n - 1)));
    // The rim is a chain, and every other vertex has the hub as a row below it.
    assert_eq!(fill(&graph), 2 * n - 3);
}

#[test]
fn minimum_degree_keeps_cliques_that_share_a_vertex_apart() {
    // Ten cliques of six vertices that share vertex 0: their members are indistinguishable.
    let clique = |c: u32| [0].into_iter().chain(5 * c + 1..5 * c + 6).collect::<Vec<u32>>();
    let pairs: Vec<[u32; 2]> = (0..10)
        .flat_map(|c| clique(c).into_iter().flat_map(move |a| clique(c).into_iter().map(move |b| [a, b])))
        .filter(|[a, b]| a < b)
        .collect();
    assert_eq!(fill(&graph(51, &pairs)) as usize, pairs.len());
}

#[test]
fn a_graph_in_pieces_needs_no_separator() {
    let pairs: Vec<[u32; 2]> = (0..1000u32).filter(|v| v % 10 != 9).map(|v| [v, v + 1]).collect();
    let graph = graph(1000, &pairs);
    // Chains of ten vertices are eliminated without any fill.
    assert_eq!(eliminated(&graph, &nested_dissection(&graph, None)).below.iter().sum::<u32>(), 900);
}
