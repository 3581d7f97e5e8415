//! Nested dissection (George 1973): the vertices are split in two by a small separator that is eliminated last, each
//! half in the same way, small remainders by minimum degree. On meshes the factor then has far less fill than with
//! minimum degree alone, and its elimination tree has independent branches for several threads.
//!
//! Cuts come from the mesh: vertices are sorted along the axes, the diagonals and the principal axis of their
//! positions, and along breadth-first distances in the graph, which are also used without positions. For each sorting
//! one pass counts the boundary of every possible cut; the cut with the smallest boundary relative to its balance is
//! chosen, and the smallest vertex cover of the edges across it is the separator. Diagonals matter: a separator need
//! not be perpendicular to the edges of a grid, and without them the factor of a regular mesh costs 10 % to 25 %
//! more.

use std::collections::VecDeque;

use glam::DVec3;

use super::graph::{ABSENT, AdjacencyGraph};
use super::minimum_degree::minimum_degree;
use super::vertex_cover::Bipartite;

/// Parts of at most this many vertices are not split further.
const LEAF: usize = 60;
/// Parts of at least this many vertices are processed as two parallel tasks.
const FORK: usize = 2000;
/// Axes along which the vertices extend less than this fraction of their longest extent are not tried.
const SLENDER: f64 = 0.5;
/// The smallest fraction of vertices on one side. Restricting cuts to the middle (0.4) costs 20 % more work on cloth,
/// 5 % on solids.
const SMALLEST_SHARE: f64 = 0.3;

/// The vertices in elimination order; `positions` has one per vertex.
pub(crate) fn nested_dissection(graph: &AdjacencyGraph, positions: Option<&[DVec3]>) -> Vec<u32> {
    let all: Vec<u32> = (0..graph.len() as u32).collect();
    dissect(&Subgraph { graph, names: &all, positions })
}

/// A subset of the mesh, with its own graph.
struct Subgraph<'a> {
    graph: &'a AdjacencyGraph,
    /// The vertices' indices in the whole graph.
    names: &'a [u32],
    /// Positions of the whole graph's vertices.
    positions: Option<&'a [DVec3]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CutSide {
    First,
    Second,
    Separator,
}

fn dissect(part: &Subgraph) -> Vec<u32> {
    let global = |order: Vec<u32>| order.into_iter().map(|v| part.names[v as usize]).collect();
    if part.graph.len() <= LEAF {
        return global(minimum_degree(part.graph));
    }
    let sides = separate(part.graph, &best_cut(part));
    let of = |side| (0..part.graph.len() as u32).filter(|&v| sides[v as usize] == side).collect::<Vec<_>>();
    let (first, second, separator) = (of(CutSide::First), of(CutSide::Second), of(CutSide::Separator));
    if first.is_empty() || second.is_empty() {
        return global(minimum_degree(part.graph));
    }
    let half = |vertices: Vec<u32>| {
        let graph = part.graph.renamed(&vertices, &mut vec![ABSENT; part.graph.len()]);
        dissect(&Subgraph { graph: &graph, names: &global(vertices), positions: part.positions })
    };
    let (mut order, rest) = if part.graph.len() > FORK {
        supple_core::parallel::join(|| half(first), || half(second))
    } else {
        (half(first), half(second))
    };
    order.extend(rest);
    order.extend(global(separator));
    order
}

/// The vertices sorted in the direction of the cut, and the number of vertices before it.
struct SortedCut {
    order: Vec<u32>,
    before: usize,
    cost: f64,
}

/// The cheapest cut over all directions.
fn best_cut(part: &Subgraph) -> SortedCut {
    let mut best = cheapest_cut(part.graph, breadth_first_order(part.graph));
    for axis in axes(part) {
        let place = |v: u32| part.positions.map_or(0.0, |x| x[part.names[v as usize] as usize].dot(axis));
        let mut keys: Vec<(f64, u32)> = (0..part.graph.len() as u32).map(|v| (place(v), v)).collect();
        keys.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let cut = cheapest_cut(part.graph, keys.into_iter().map(|(_, v)| v).collect());
        if cut.cost < best.cost {
            best = cut;
        }
    }
    best
}

/// The coordinate axes, the diagonals between them and the principal axis, except those along which the part is thin.
fn axes(part: &Subgraph) -> Vec<DVec3> {
    let Some(positions) = part.positions else { return Vec::new() };
    let points = || part.names.iter().map(|&v| positions[v as usize]);
    let extent = |axis: DVec3| {
        let range = |(low, high): (f64, f64), s: f64| (low.min(s), high.max(s));
        let (low, high) = points().map(|x| x.dot(axis)).fold((f64::INFINITY, f64::NEG_INFINITY), range);
        high - low
    };
    let diagonals = [
        [1.0, 1.0, 0.0],
        [1.0, -1.0, 0.0],
        [0.0, 1.0, 1.0],
        [0.0, 1.0, -1.0],
        [1.0, 0.0, 1.0],
        [1.0, 0.0, -1.0],
    ];
    let mut all = vec![DVec3::X, DVec3::Y, DVec3::Z, principal_axis(points())];
    all.extend(diagonals.map(|axis| DVec3::from(axis).normalize()));
    let extents: Vec<f64> = all.iter().map(|&axis| extent(axis)).collect();
    let longest = extents.iter().copied().fold(0.0, f64::max);
    let mut extents = extents.into_iter();
    all.retain(|_| extents.next().is_some_and(|extent| extent > SLENDER * longest));
    all
}

/// The direction of largest spread, by power iteration.
fn principal_axis(points: impl Iterator<Item = DVec3> + Clone) -> DVec3 {
    let count = points.clone().count() as f64;
    let centre = points.clone().sum::<DVec3>() / count;
    let mut axis = DVec3::new(1.0, 0.8, 0.6);
    for _ in 0..8 {
        let next: DVec3 = points.clone().map(|x| (x - centre) * (x - centre).dot(axis)).sum();
        axis = next.normalize_or(axis);
    }
    axis
}

/// Counts the boundary of all cuts of a sorted sequence in one pass and returns the best.
///
/// Vertex `v` at index `p` is on the near boundary of every cut after it up to its last neighbour, and on the far
/// boundary of every cut before it down to its first neighbour.
fn cheapest_cut(graph: &AdjacencyGraph, order: Vec<u32>) -> SortedCut {
    let n = order.len();
    let mut place = vec![0; n];
    order.iter().enumerate().for_each(|(p, &v)| place[v as usize] = p);
    let (mut near, mut far) = (vec![0i64; n + 2], vec![0i64; n + 2]);
    for v in 0..n {
        let places = || graph.neighbours(v).iter().map(|&other| place[other as usize]);
        let (first, last) = places().fold((place[v], place[v]), |(a, b), p| (a.min(p), b.max(p)));
        near[place[v] + 1] += 1;
        near[last + 1] -= 1;
        far[first + 1] += 1;
        far[place[v] + 1] -= 1;
    }
    let window = (SMALLEST_SHARE * n as f64) as usize..=((1.0 - SMALLEST_SHARE) * n as f64) as usize;
    let mut best = SortedCut { order, before: n / 2, cost: f64::INFINITY };
    let (mut near_count, mut far_count) = (0, 0);
    for before in 0..=n {
        near_count += near[before];
        far_count += far[before];
        let share = before as f64 / n as f64;
        let cost = near_count.min(far_count) as f64 / (share * (1.0 - share));
        if window.contains(&before) && cost < best.cost {
            (best.before, best.cost) = (before, cost);
        }
    }
    best
}

/// The vertices sorted by the difference of their distances to the two ends of their component, component by
/// component.
fn breadth_first_order(graph: &AdjacencyGraph) -> Vec<u32> {
    let mut component_of = vec![ABSENT; graph.len()];
    let mut order = Vec::with_capacity(graph.len());
    for seed in 0..graph.len() as u32 {
        if component_of[seed as usize] != ABSENT {
            continue;
        }
        let component = breadth_first(graph, seed);
        component.iter().for_each(|&(v, _)| component_of[v as usize] = seed);
        let last = |found: &[(u32, u32)]| found[found.len() - 1].0;
        let one_end = breadth_first(graph, last(&component));
        let mut distance = breadth_first(graph, last(&one_end));
        let mut from_one_end = one_end;
        distance.sort_unstable();
        from_one_end.sort_unstable();
        let nearer = |((v, a), (_, b)): (&(u32, u32), &(u32, u32))| (i64::from(*a) - i64::from(*b), *v);
        let mut keys: Vec<(i64, u32)> = from_one_end.iter().zip(&distance).map(nearer).collect();
        keys.sort_unstable();
        order.extend(keys.into_iter().map(|(_, v)| v));
    }
    order
}

/// The vertices reached from `seed`, with their distances, nearest first.
fn breadth_first(graph: &AdjacencyGraph, seed: u32) -> Vec<(u32, u32)> {
    let mut seen = vec![false; graph.len()];
    let mut queue = VecDeque::from([(seed, 0)]);
    let mut found = Vec::new();
    seen[seed as usize] = true;
    while let Some((v, distance)) = queue.pop_front() {
        found.push((v, distance));
        for &other in graph.neighbours(v as usize) {
            if !std::mem::replace(&mut seen[other as usize], true) {
                queue.push_back((other, distance + 1));
            }
        }
    }
    found
}

/// The smallest set of vertices that touches every edge across the cut becomes the separator.
fn separate(graph: &AdjacencyGraph, cut: &SortedCut) -> Vec<CutSide> {
    let mut sides = vec![CutSide::Second; graph.len()];
    cut.order[..cut.before].iter().for_each(|&v| sides[v as usize] = CutSide::First);
    let crosses =
        |v: u32| graph.neighbours(v as usize).iter().any(|&other| sides[other as usize] != sides[v as usize]);
    let boundary: Vec<u32> = cut.order.iter().copied().filter(|&v| crosses(v)).collect();
    let (lefts, rights): (Vec<u32>, Vec<u32>) =
        boundary.into_iter().partition(|&v| sides[v as usize] == CutSide::First);
    let mut name = vec![ABSENT; graph.len()];
    rights.iter().zip(0..).for_each(|(&v, k)| name[v as usize] = k);
    let mut starts = vec![0];
    let mut neighbours = Vec::new();
    for &v in &lefts {
        let across = graph.neighbours(v as usize).iter().map(|&other| name[other as usize]);
        neighbours.extend(across.filter(|&right| right != ABSENT));
        starts.push(neighbours.len());
    }
    let cover = Bipartite { starts, neighbours, rights: rights.len() }.smallest_cover();
    let covered = lefts.iter().zip(&cover.left).chain(rights.iter().zip(&cover.right));
    covered.filter(|(_, inside)| **inside).for_each(|(&v, _)| sides[v as usize] = CutSide::Separator);
    sides
}
