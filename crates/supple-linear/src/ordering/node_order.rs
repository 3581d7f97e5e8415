//! Orderings that place neighbours close to each other, so that consecutive nodes form compact domains: the Morton
//! order of positions (Wu 2022, section 5.1), or of coordinates derived from the matrix's graph without positions.

use std::ops::Range;

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::BlockPattern;
use supple_core::Aabb;
use supple_core::morton::MortonGrid;

/// Sweeps that smooth the graph's coordinates.
const SMOOTHINGS: usize = 4;

/// The coupling graph.
#[derive(Debug, Clone, Copy)]
pub struct CouplingGraph<'a> {
    starts: &'a [usize],
    neighbours: &'a [u32],
}

impl<'a> CouplingGraph<'a> {
    /// A graph by rows: the neighbours of node `i` are `neighbours[starts[i]..starts[i + 1]]`; the node itself may be
    /// among them.
    pub fn new(starts: &'a [usize], neighbours: &'a [u32]) -> Self {
        Self { starts, neighbours }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The neighbours of a node.
    pub fn neighbours(&self, node: usize) -> &'a [u32] {
        &self.neighbours[self.places(node)]
    }

    /// The range of a node's neighbours in the list of all.
    pub fn places(&self, node: usize) -> Range<usize> {
        self.starts[node]..self.starts[node + 1]
    }
}

/// All nodes in an order that keeps neighbours together: by position if available, else by the graph.
pub fn local_order(pattern: &BlockPattern, positions: Option<&[DVec3]>) -> Vec<u32> {
    match positions {
        Some(positions) if positions.len() == pattern.unknowns() => morton_order(positions),
        _ => graph_order(pattern.graph()),
    }
}

/// The nodes along the Morton curve through their positions.
pub fn morton_order(positions: &[DVec3]) -> Vec<u32> {
    let bounds = Aabb::of_points(positions);
    let grid = MortonGrid::new(&bounds);
    let mut keyed: Vec<(u64, u32)> =
        positions.iter().zip(0..).map(|(&position, node)| (grid.code(position), node)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, node)| node).collect()
}

/// The nodes of a graph along a Morton curve through coordinates derived from it: the distances to three nodes that
/// are far from each other, smoothed over neighbours, since integers alone place many nodes at the same point.
/// Connected components follow each other.
pub fn graph_order(graph: CouplingGraph<'_>) -> Vec<u32> {
    let mut walk = Walk::new(graph.nodes());
    let mut coordinates = vec![DVec3::ZERO; graph.nodes()];
    let mut order = Vec::with_capacity(graph.nodes());
    for node in 0..graph.nodes() as u32 {
        if !walk.seen[node as usize] {
            let part = embed_part(graph, node, &mut walk, &mut coordinates);
            let places: Vec<DVec3> = part.iter().map(|&node| coordinates[node as usize]).collect();
            order.extend(morton_order(&places).into_iter().map(|k| part[k as usize]));
        }
    }
    order
}

/// Assigns coordinates to all nodes reachable from `first`, and lists them.
fn embed_part(graph: CouplingGraph<'_>, first: u32, walk: &mut Walk, coordinates: &mut [DVec3]) -> Vec<u32> {
    walk.from(graph, first);
    let nodes = walk.queue.clone();
    let mut nearest = vec![u32::MAX; nodes.len()];
    let mut landmark = nodes.last().copied().unwrap_or(first);
    for axis in [0, 1, 2] {
        walk.from(graph, landmark);
        for (nearest, &node) in nearest.iter_mut().zip(&nodes) {
            let distance = walk.distance[node as usize];
            coordinates[node as usize][axis] = f64::from(distance);
            *nearest = distance.min(*nearest);
        }
        let farthest = (0..nodes.len()).max_by_key(|&k| (nearest[k], std::cmp::Reverse(nodes[k])));
        landmark = farthest.map_or(first, |k| nodes[k]);
    }
    for _ in 0..SMOOTHINGS {
        let smooth = |&node: &u32| {
            let others = graph.neighbours(node as usize);
            let sum: DVec3 = others.iter().map(|&j| coordinates[j as usize]).sum();
            (sum + coordinates[node as usize]) / (others.len() + 1) as f64
        };
        let smoothed: Vec<DVec3> = nodes.par_iter().with_min_len(1024).map(smooth).collect();
        nodes.iter().zip(smoothed).for_each(|(&node, place)| coordinates[node as usize] = place);
    }
    nodes
}

/// Breadth-first searches of one graph.
struct Walk {
    seen: Vec<bool>,
    distance: Vec<u32>,
    queue: Vec<u32>,
}

impl Walk {
    fn new(nodes: usize) -> Self {
        Self { seen: vec![false; nodes], distance: vec![u32::MAX; nodes], queue: Vec::new() }
    }

    /// Distances from `start` to all reachable nodes, which are in `queue` by distance.
    fn from(&mut self, graph: CouplingGraph<'_>, start: u32) {
        for &node in &self.queue {
            self.distance[node as usize] = u32::MAX;
        }
        self.queue.clear();
        self.queue.push(start);
        self.distance[start as usize] = 0;
        let mut next = 0;
        while let Some(&node) = self.queue.get(next) {
            next += 1;
            self.seen[node as usize] = true;
            for &other in graph.neighbours(node as usize) {
                if self.distance[other as usize] == u32::MAX {
                    self.distance[other as usize] = self.distance[node as usize] + 1;
                    self.queue.push(other);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of nodes, its rows numbered backwards, and a second, separate one.
    fn two_grids(n: u32) -> BlockPattern {
        let mut pairs = Vec::new();
        for (part, j, i) in
            (0..2).flat_map(|part| (0..n).flat_map(move |j| (0..n).map(move |i| (part, j, i))))
        {
            let node = |i: u32, j: u32| part * n * n + (n - 1 - j) * n + i;
            if i + 1 < n {
                pairs.push([node(i, j), node(i + 1, j)]);
            }
            if j + 1 < n {
                pairs.push([node(i, j), node(i, j + 1)]);
            }
        }
        BlockPattern::new(&vec![false; (2 * n * n) as usize], &pairs)
    }

    /// The couplings inside groups of `size` consecutive nodes of an order, as a fraction of all.
    fn kept(pattern: &BlockPattern, order: &[u32], size: usize) -> f64 {
        let mut group = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &node)| group[node as usize] = place / size);
        let edges = (0..order.len()).flat_map(|i| pattern.row(i).1.iter().map(move |&j| (i, j as usize)));
        let (mut inside, mut all) = (0, 0);
        for (i, j) in edges.filter(|(i, j)| i != j) {
            inside += usize::from(group[i] == group[j]);
            all += 1;
        }
        inside as f64 / f64::from(all)
    }

    #[test]
    fn order_of_a_graph_makes_compact_domains_and_keeps_parts_apart() {
        let pattern = two_grids(40);
        let order = graph_order(pattern.graph());
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().zip(0..).all(|(&node, i)| node == i));
        assert!(order[..1600].iter().all(|&node| node < 1600));
        // Squares of 4 x 8 keep 1 - (8 + 4) / 64 = 81 % of the couplings, rows of 32 keep less than half.
        assert!(kept(&pattern, &order, 32) > 0.65, "{}", kept(&pattern, &order, 32));
    }

    #[test]
    fn points_that_are_not_numbers_or_nothing_at_all_still_get_an_order() {
        assert_eq!(morton_order(&[]), Vec::<u32>::new());
        assert_eq!(morton_order(&[DVec3::NAN, DVec3::ZERO, DVec3::NAN]).len(), 3);
        assert_eq!(graph_order(CouplingGraph::new(&[0], &[])), Vec::<u32>::new());
        assert_eq!(graph_order(CouplingGraph::new(&[0, 0, 0], &[])), vec![0, 1]);
    }
}
