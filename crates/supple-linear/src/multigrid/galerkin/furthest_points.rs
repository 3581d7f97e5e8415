//! Furthest-point sampling (Xian 2019, section 4.1): every new sample is the node furthest from all earlier ones, measured
//! along the edges of the mesh. After a sample is added, Dijkstra's algorithm runs from it only as far as it is nearer
//! than the others.
//!
//! The first `k` samples are themselves a sampling, so coarser levels are prefixes of finer ones, and the nearest sample of
//! every node at the moment when there were `k` of them is that level's closest-vertex map: no level needs a search of
//! its own.
//!
//! The paper has one connected mesh. Here a component that no sample has reached is queued with its estimated length
//! when stretched out (its nodes times the mean edge length), so that bodies get an appropriate share of samples,
//! while loose nodes and fragments do not use up the samples of a body. Components that a level leaves without a
//! sample use that of a nearby node.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::CouplingGraph;

/// Marks the absence of a sample.
const NONE: u32 = u32::MAX;

/// Samples in the order in which they were taken, and the nearest sample of every node.
#[derive(Debug, Clone, Default)]
pub(super) struct Sampling {
    /// The sampled nodes; the first `k` of them are the level of `k` nodes.
    pub samples: Vec<u32>,
    /// For each requested level, the nearest of its samples for every node.
    pub nearest: Vec<Vec<u32>>,
}

/// A graph whose edges have lengths: those of node `i` have the indices of its neighbours.
#[derive(Clone, Copy)]
pub(super) struct Metric<'a> {
    pub graph: CouplingGraph<'a>,
    pub lengths: &'a [f32],
}

impl<'a> Metric<'a> {
    fn edges(self, node: u32) -> impl Iterator<Item = (u32, f32)> + use<'a> {
        let places = self.graph.places(node as usize);
        let lengths = self.lengths[places].iter();
        self.graph.neighbours(node as usize).iter().copied().zip(lengths.copied())
    }
}

/// Samples the nodes of a graph. `levels` are the numbers of samples of the levels, decreasing, each at least 1 and
/// at most the number of nodes; `first` are samples given by the user, placed before all others; `order` is any
/// ordering that keeps nearby nodes together, for components that get no sample.
pub(super) fn furthest_points(
    metric: Metric<'_>,
    levels: &[usize],
    first: &[u32],
    order: &[u32],
) -> Sampling {
    let mut front = Front::new(metric);
    let mut sampling = Sampling { samples: Vec::new(), nearest: vec![Vec::new(); levels.len()] };
    let count = levels.first().copied().unwrap_or(0);
    let mut given = first.iter().copied();
    while sampling.samples.len() < count {
        let next = given.find(|&node| front.is_free(node));
        let Some(node) = next.or_else(|| front.furthest()) else { break };
        front.add(node, sampling.samples.len() as u32);
        sampling.samples.push(node);
        for (nearest, _) in
            sampling.nearest.iter_mut().zip(levels).filter(|(_, k)| **k == sampling.samples.len())
        {
            *nearest = with_followers(&front.nearest, order);
        }
    }
    sampling
}

/// Unreached nodes take the sample of the preceding node in an ordering that keeps nearby nodes together.
fn with_followers(nearest: &[u32], order: &[u32]) -> Vec<u32> {
    let mut complete = nearest.to_vec();
    let mut last = 0;
    for &node in order {
        match nearest[node as usize] {
            NONE => complete[node as usize] = last,
            sample => last = sample,
        }
    }
    complete
}

/// A node in a heap by its distance, as one integer: distances are not negative, so their bit patterns sort in the
/// same order.
fn entry(distance: f32, low: u32) -> u64 {
    u64::from(distance.to_bits()) << 32 | u64::from(low)
}

/// The distance of every node from the samples so far.
struct Front<'a> {
    metric: Metric<'a>,
    distance: Vec<f32>,
    nearest: Vec<u32>,
    /// At most one entry per node, none before a sample has reached it, except for the first node of each component.
    /// Stored distances may be out of date: a node's distance only decreases, and it is reinserted when it reaches the top.
    /// Nodes are stored as `!node`, so that the first of equally distant ones is on top.
    far: BinaryHeap<u64>,
    near: BinaryHeap<Reverse<u64>>,
}

impl<'a> Front<'a> {
    fn new(metric: Metric<'a>) -> Self {
        let nodes = metric.graph.nodes();
        let mut front = Self {
            metric,
            distance: vec![f32::INFINITY; nodes],
            nearest: vec![NONE; nodes],
            far: BinaryHeap::with_capacity(nodes),
            near: BinaryHeap::new(),
        };
        let edge = mean_length(metric.lengths);
        for (node, size) in parts(metric.graph) {
            let stretched = edge * size as f32;
            front.distance[node as usize] = stretched;
            front.far.push(entry(stretched, !node));
        }
        front
    }

    /// Whether a node exists and is not a sample yet.
    fn is_free(&self, node: u32) -> bool {
        let distance = self.distance.get(node as usize);
        distance.is_some_and(|distance| *distance > 0.0 || self.nearest[node as usize] == NONE)
    }

    /// The node furthest from all samples, not itself a sample; the first of equally distant ones.
    fn furthest(&mut self) -> Option<u32> {
        while let Some(top) = self.far.pop() {
            let node = !(top as u32);
            let distance = self.distance[node as usize];
            if !self.is_free(node) {
                continue;
            }
            if entry(distance, !node) == top {
                return Some(node);
            }
            self.far.push(entry(distance, !node));
        }
        None
    }

    /// Adds a sample and updates the distances of all nodes that are nearest to it.
    fn add(&mut self, node: u32, sample: u32) {
        self.distance[node as usize] = 0.0;
        self.nearest[node as usize] = sample;
        self.near.push(Reverse(entry(0.0, node)));
        while let Some(Reverse(top)) = self.near.pop() {
            let (distance, node) = (f32::from_bits((top >> 32) as u32), top as u32);
            if distance > self.distance[node as usize] {
                continue;
            }
            let metric = self.metric;
            for (other, length) in metric.edges(node) {
                self.reach(other, distance + length, sample);
            }
        }
    }

    fn reach(&mut self, node: u32, distance: f32, sample: u32) {
        let i = node as usize;
        if self.nearest[i] != NONE && distance >= self.distance[i] {
            return;
        }
        if self.distance[i] == f32::INFINITY {
            self.far.push(entry(distance, !node));
        }
        self.distance[i] = distance;
        self.nearest[i] = sample;
        self.near.push(Reverse(entry(distance, node)));
    }
}

fn mean_length(lengths: &[f32]) -> f32 {
    let sum: f64 = lengths.iter().map(|length| f64::from(*length)).sum();
    let edges = lengths.iter().filter(|length| **length > 0.0).count();
    if edges == 0 { 1.0 } else { (sum / edges as f64) as f32 }
}

/// The connected components of a graph: the first node of each and its size.
fn parts(graph: CouplingGraph<'_>) -> Vec<(u32, usize)> {
    let mut seen = vec![false; graph.nodes()];
    let mut stack = Vec::new();
    let mut parts = Vec::new();
    for first in 0..graph.nodes() as u32 {
        if std::mem::replace(&mut seen[first as usize], true) {
            continue;
        }
        stack.push(first);
        let mut size = 0;
        while let Some(node) = stack.pop() {
            size += 1;
            for &other in graph.neighbours(node as usize) {
                if !std::mem::replace(&mut seen[other as usize], true) {
                    stack.push(other);
                }
            }
        }
        parts.push((first, size));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlockPattern;

    /// A square grid and, separate from it, a chain and loose nodes.
    fn patchwork(n: u32, chain: u32, loose: u32) -> BlockPattern {
        let grid = (0..n * n).flat_map(|v| {
            let right = (v % n + 1 < n).then_some([v, v + 1]);
            right.into_iter().chain((v / n + 1 < n).then_some([v, v + n]))
        });
        let line = (1..chain).map(|k| [n * n + k - 1, n * n + k]);
        let pairs: Vec<[u32; 2]> = grid.chain(line).collect();
        BlockPattern::new(&vec![false; (n * n + chain + loose) as usize], &pairs)
    }

    fn sample(pattern: &BlockPattern, levels: &[usize], first: &[u32]) -> Sampling {
        let length =
            |i: usize, j: u32| if i == j as usize { 0.0 } else { 1.0 + 0.1 * ((i as f32 + j as f32).sin()) };
        let lengths: Vec<f32> = (0..pattern.unknowns())
            .flat_map(|i| pattern.row(i).1.iter().map(move |&j| length(i, j)))
            .collect();
        let order: Vec<u32> = (0..pattern.unknowns() as u32).collect();
        furthest_points(Metric { graph: pattern.graph(), lengths: &lengths }, levels, first, &order)
    }

    /// Distances from a set of nodes by Bellman-Ford, which does not depend on the order.
    fn distances(pattern: &BlockPattern, from: &[u32]) -> Vec<f32> {
        let length = |i: usize, j: u32| 1.0 + 0.1 * ((i as f32 + j as f32).sin());
        let mut distance = vec![f32::INFINITY; pattern.unknowns()];
        from.iter().for_each(|&node| distance[node as usize] = 0.0);
        loop {
            let before = distance.clone();
            for (i, distance) in distance.iter_mut().enumerate() {
                for &j in pattern.row(i).1.iter().filter(|j| **j as usize != i) {
                    *distance = distance.min(before[j as usize] + length(i, j));
                }
            }
            if distance == before {
                return distance;
            }
        }
    }

    #[test]
    fn every_sample_is_the_furthest_and_every_node_has_its_nearest() {
        let pattern = patchwork(12, 0, 0);
        let levels = [20, 5, 1];
        let sampling = sample(&pattern, &levels, &[]);
        for k in 1..20 {
            let distance = distances(&pattern, &sampling.samples[..k]);
            let furthest = distance.iter().copied().fold(0.0, f32::max);
            assert_eq!(distance[sampling.samples[k] as usize], furthest);
        }
        for (nearest, k) in sampling.nearest.iter().zip(levels) {
            let all = distances(&pattern, &sampling.samples[..k]);
            for (node, &sample) in nearest.iter().enumerate() {
                let own = distances(&pattern, &[sampling.samples[sample as usize]])[node];
                assert!((own - all[node]).abs() < 1e-5 && (sample as usize) < k);
            }
        }
    }

    #[test]
    fn bodies_get_samples_before_crumbs_and_all_nodes_have_a_sample() {
        let pattern = patchwork(10, 40, 300);
        let sampling = sample(&pattern, &[14, 2], &[]);
        assert!(sampling.samples.iter().all(|&node| node < 140), "{:?}", sampling.samples);
        assert!(sampling.samples[..2].iter().any(|&node| node < 100));
        assert!(sampling.samples[..2].iter().any(|&node| node >= 100));
        assert!(sampling.nearest.iter().all(|nearest| nearest.iter().all(|&sample| sample < 14)));
    }

    #[test]
    fn nodes_given_by_the_user_come_first_and_no_node_twice() {
        let pattern = patchwork(5, 3, 2);
        let sampling = sample(&pattern, &[30], &[7, 21, 7, 1000]);
        assert_eq!(sampling.samples[..2], [7, 21]);
        let mut sorted = sampling.samples.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 30);
        assert!((0..30).all(|k| sampling.nearest[0][sampling.samples[k] as usize] == k as u32));
    }
}
