//! The levels (Wu 2022, section 5.2): every domain becomes a supernode of the next level, split where its nodes are
//! not connected, so that bodies that are only close to each other are never moved together (figure 6); connections
//! are coarsened, and so on until one domain contains everything.

use std::ops::Range;

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::connections::Connections;
use super::modes::ParentWeight;
use super::morton_domains::{morton_order, runs};
use super::stiffness_domains::strong_groups;
use crate::{CouplingGraph, graph_order};

/// Nodes in an order, split into domains.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grouping {
    /// The node of each slot.
    pub order: Vec<u32>,
    /// The first slot of each domain, and the end.
    pub starts: Vec<u32>,
}

/// A level's domains, and the supernodes built from them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SupernodeLevel {
    /// The node of each slot.
    pub order: Vec<u32>,
    /// The slot of each node.
    pub place: Vec<u32>,
    /// The first slot of each domain, and the end.
    pub starts: Vec<u32>,
    /// The supernode of each slot; none on the coarsest level.
    pub parent: Vec<u32>,
    /// The first supernode of each domain, and the end.
    pub parent_starts: Vec<u32>,
    /// The position of each slot's node in its supernode.
    pub parent_weights: Vec<ParentWeight>,
}

impl SupernodeLevel {
    /// The number of domains.
    pub(super) fn domains(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.order.len()
    }

    /// The slots of a domain.
    pub(super) fn places_of(&self, domain: usize) -> Range<usize> {
        self.starts[domain] as usize..self.starts[domain + 1] as usize
    }

    /// The supernodes of a domain.
    pub(super) fn parents_of(&self, domain: usize) -> Range<usize> {
        self.parent_starts[domain] as usize..self.parent_starts[domain + 1] as usize
    }

    pub(super) fn bytes(&self) -> usize {
        4 * (self.order.len() + self.place.len() + self.starts.len())
            + 4 * (self.parent.len() + self.parent_starts.len())
            + size_of::<ParentWeight>() * self.parent_weights.len()
    }

    pub(super) fn of(grouping: Grouping) -> Self {
        let Grouping { order, starts } = grouping;
        let mut place = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&node, at)| place[node as usize] = at);
        let parent_starts = vec![0; starts.len()];
        Self { order, place, starts, parent: Vec::new(), parent_starts, parent_weights: Vec::new() }
    }

    /// Splits every domain into its connected components, numbered in the order of their first slots.
    fn split_into_supernodes(&mut self, connections: &Connections) {
        let part = |domain: usize| {
            let places = self.places_of(domain);
            let mut root: Vec<u32> = (0..places.len() as u32).collect();
            for place in places.clone() {
                for (other, _) in connections.of(self.order[place] as usize) {
                    let other = self.place[other as usize] as usize;
                    if places.contains(&other) {
                        join(&mut root, (place - places.start) as u32, (other - places.start) as u32);
                    }
                }
            }
            numbered(&mut root)
        };
        let parts: Vec<(Vec<u32>, u32)> =
            (0..self.domains()).into_par_iter().with_min_len(16).map(part).collect();
        let mut first = 0;
        self.parent.reserve_exact(self.order.len());
        for (domain, (parts, count)) in parts.into_iter().enumerate() {
            self.parent.extend(parts.into_iter().map(|part| first + part));
            first += count;
            self.parent_starts[domain + 1] = first;
        }
    }

    /// The number of supernodes of this level.
    pub(super) fn supernodes(&self) -> usize {
        self.parent_starts.last().map_or(0, |&count| count as usize)
    }

    /// Computes every node's position in its supernode: the centre of a supernode is the mean of its nodes' centres,
    /// its radius the largest distance from there plus the node's own radius.
    fn parent_weight(&mut self, frames: &SupernodeFrames) -> SupernodeFrames {
        let mut next = SupernodeFrames::still(self.supernodes());
        let mut counts = vec![0.0; self.supernodes()];
        let of = |place: usize| frames.of(self.order[place] as usize);
        for (place, &parent) in self.parent.iter().enumerate() {
            next.centres[parent as usize] += of(place).0;
            counts[parent as usize] += 1.0;
        }
        next.centres.iter_mut().zip(counts).for_each(|(centre, count)| *centre /= count);
        for (place, &parent) in self.parent.iter().enumerate() {
            let (centre, radius) = of(place);
            let extent = centre.distance(next.centres[parent as usize]) + radius;
            next.radii[parent as usize] = next.radii[parent as usize].max(extent);
        }
        let parent_weight = |place: usize, parent: u32| {
            let ((centre, radius), (above, extent)) = (of(place), next.of(parent as usize));
            let scale = if extent > 0.0 { 1.0 / extent } else { 0.0 };
            let offset = ((centre - above) * scale).to_array().map(|o| o as f32);
            ParentWeight { offset, ratio: (radius * scale) as f32 }
        };
        self.parent_weights =
            self.parent.iter().enumerate().map(|(place, &parent)| parent_weight(place, parent)).collect();
        next
    }
}

/// Centres and radii of a level's nodes.
struct SupernodeFrames {
    centres: Vec<DVec3>,
    radii: Vec<f64>,
}

impl SupernodeFrames {
    fn still(count: usize) -> Self {
        Self { centres: vec![DVec3::ZERO; count], radii: vec![0.0; count] }
    }

    fn of(&self, node: usize) -> (DVec3, f64) {
        (self.centres[node], self.radii[node])
    }
}

fn root_of(root: &mut [u32], mut node: u32) -> u32 {
    while root[node as usize] != node {
        root[node as usize] = root[root[node as usize] as usize];
        node = root[node as usize];
    }
    node
}

/// The smaller root becomes that of both.
fn join(root: &mut [u32], a: u32, b: u32) {
    let (a, b) = (root_of(root, a), root_of(root, b));
    root[a.max(b) as usize] = a.min(b);
}

/// Replaces roots by component numbers; returns the number of components.
fn numbered(root: &mut [u32]) -> (Vec<u32>, u32) {
    let mut number = vec![0; root.len()];
    let mut count = 0;
    for node in 0..root.len() as u32 {
        let first = root_of(root, node);
        if first == node {
            number[node as usize] = count;
            count += 1;
        } else {
            number[node as usize] = number[first as usize];
        }
    }
    (number, count)
}

/// Supernodes must be fewer than this fraction of the nodes below them, otherwise their level is omitted: bodies that
/// are not connected are never joined, no matter how many there are.
const SHRINK: f64 = 0.75;

/// How levels are built.
#[derive(Debug, Clone, Copy)]
pub(super) struct DomainSizes {
    /// Along strong connections instead of the Morton curve.
    pub by_stiffness: bool,
    /// Nodes per domain of the finest level and of all others.
    pub sizes: [usize; 2],
    /// At least one.
    pub most_levels: usize,
}

/// All levels, the finest first.
pub(super) fn levels(
    connections: Connections,
    positions: Option<&[DVec3]>,
    DomainSizes { by_stiffness, sizes: [finest, coarse], most_levels }: DomainSizes,
) -> Vec<SupernodeLevel> {
    let count = connections.starts.len() - 1;
    let mut frames = match positions {
        Some(positions) => SupernodeFrames { centres: positions.to_vec(), radii: vec![0.0; count] },
        None => SupernodeFrames::still(count),
    };
    let mut levels = Vec::new();
    let mut connections = connections;
    let mut size = finest;
    loop {
        let grouping = if by_stiffness {
            strong_groups(&connections, size)
        } else if levels.is_empty() {
            runs(finest_order(&connections, positions), size)
        } else {
            runs((0..connections.starts.len() as u32 - 1).collect(), size)
        };
        let mut level = SupernodeLevel::of(grouping);
        let last = level.domains() <= 1 || levels.len() + 1 == most_levels;
        if !last {
            level.split_into_supernodes(&connections);
        }
        let shrinks = (level.supernodes() as f64) < SHRINK * level.nodes() as f64;
        if last || !shrinks {
            level.parent.clear();
            level.parent_starts.fill(0);
            levels.push(level);
            return levels;
        }
        frames = level.parent_weight(&frames);
        connections = connections.coarsened(&level);
        levels.push(level);
        size = coarse;
    }
}

fn finest_order(connections: &Connections, positions: Option<&[DVec3]>) -> Vec<u32> {
    match positions {
        Some(positions) => morton_order(positions),
        None => graph_order(CouplingGraph::new(&connections.starts, &connections.neighbours)),
    }
}
