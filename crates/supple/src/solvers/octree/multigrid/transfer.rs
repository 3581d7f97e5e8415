//! Restriction and prolongation between two levels (Milne 2016, section 7.2): a fine node takes the value of the coarse
//! element that contains it, by the modified shape functions; restriction is the exact transpose.
//!
//! A fine node is on a lattice of half the coarse element's side: 27 positions. Together with the coarse element's hanging slots they
//! determine its weights, so that a table of 64 x 27 x 8 numbers, all of them multiples of 1/64, contains every weight there is.

#![allow(clippy::needless_range_loop, reason = "components are indexed as in other kernels")]

use std::sync::LazyLock;

use supple_core::parallel::prelude::*;

use supple_mesh::octree::Coarsened;
use supple_mesh::octree::weights_at;
use supple_mesh::octree::{Hanging, Octree, hangs};

/// Nodes processed by one task.
const CHUNK: usize = 1024;

/// All weights are multiples of this.
const UNIT: f32 = 1.0 / 64.0;

/// The weights of conforming nodes for hanging slots and a position.
static WEIGHTS: LazyLock<Vec<[[f32; 8]; 27]>> = LazyLock::new(|| {
    let of = |hanging: Hanging, place: usize| {
        let point = [place % 3, place / 3 % 3, place / 9].map(|half| 0.5 * half as f64);
        weights_at(hanging, point).map(|weight| weight as f32)
    };
    (0..64).map(|hanging| std::array::from_fn(|place| of(hanging, place))).collect()
});

/// Position of a fine node in a coarse element.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct CoarseSlot {
    /// The coarse element.
    element: u32,
    /// Its hanging slots.
    hanging: Hanging,
    /// One of the 27 positions, in the order of slots.
    place: u8,
}

/// The transfer from a level to the next coarser one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Transfer {
    seats: Vec<CoarseSlot>,
    /// The conforming nodes of the coarse elements.
    conforming: Vec<[u32; 8]>,
    /// The transposed weights: the fine nodes of each coarse node, and their weights as multiples of [`UNIT`].
    starts: Vec<u32>,
    fine: Vec<u32>,
    units: Vec<u8>,
}

impl Transfer {
    /// Between combined trees, each with its coarsened one; a body without one takes part unchanged.
    pub(crate) fn new(pairs: &[(&Octree, Option<&Coarsened>)]) -> Self {
        let mut transfer = Self::default();
        let (mut coarse_nodes, mut coarse_elements) = (0, 0);
        for (fine, coarsened) in pairs {
            let coarse = coarsened.map_or(*fine, |coarsened| &coarsened.tree);
            let seats = seats(fine, coarse, coarsened.map(|c| &c.first_child[..]));
            let seats =
                seats.into_iter().map(|seat| CoarseSlot { element: seat.element + coarse_elements, ..seat });
            transfer.seats.extend(seats);
            transfer
                .conforming
                .extend(coarse.conforming().iter().map(|nodes| nodes.map(|node| node + coarse_nodes)));
            coarse_nodes += coarse.nodes().len() as u32;
            coarse_elements += coarse.elements().len() as u32;
        }
        transfer.transpose(coarse_nodes as usize);
        transfer
    }

    /// The coarse nodes and weights of a fine node.
    pub(crate) fn weights(&self, fine: usize) -> impl Iterator<Item = (u32, f32)> {
        let seat = self.seats[fine];
        let weights = &WEIGHTS[usize::from(seat.hanging)][usize::from(seat.place)];
        let nodes = &self.conforming[seat.element as usize];
        nodes.iter().copied().zip(weights.iter().copied()).filter(|(_, weight)| *weight != 0.0)
    }

    fn transpose(&mut self, coarse_nodes: usize) {
        let mut starts = vec![0u32; coarse_nodes + 1];
        for fine in 0..self.seats.len() {
            self.weights(fine).for_each(|(coarse, _)| starts[coarse as usize + 1] += 1);
        }
        for coarse in 0..coarse_nodes {
            starts[coarse + 1] += starts[coarse];
        }
        let mut next = starts.clone();
        let count = starts[coarse_nodes] as usize;
        let (mut nodes, mut units) = (vec![0; count], vec![0; count]);
        for fine in 0..self.seats.len() {
            for (coarse, weight) in self.weights(fine) {
                let at = next[coarse as usize] as usize;
                (nodes[at], units[at]) = (fine as u32, (weight / UNIT) as u8);
                next[coarse as usize] += 1;
            }
        }
        (self.starts, self.fine, self.units) = (starts, nodes, units);
    }

    /// `coarse = Pᵀ fine`.
    pub(crate) fn restrict(&self, fine: &[[f32; 3]], coarse: &mut [[f32; 3]]) {
        coarse.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(node, sum)| {
            *sum = [0.0; 3];
            let own = self.starts[node] as usize..self.starts[node + 1] as usize;
            for (&from, &units) in self.fine[own.clone()].iter().zip(&self.units[own]) {
                let weight = UNIT * f32::from(units);
                for c in 0..3 {
                    sum[c] += weight * fine[from as usize][c];
                }
            }
        });
    }

    /// `fine += P coarse` at the fine nodes that `takes` allows.
    pub(crate) fn prolong_add(
        &self,
        coarse: &[[f32; 3]],
        fine: &mut [[f32; 3]],
        takes: impl Fn(usize) -> bool + Sync,
    ) {
        fine.par_iter_mut().enumerate().with_min_len(CHUNK).filter(|(node, _)| takes(*node)).for_each(
            |(node, to)| {
                for (from, weight) in self.weights(node) {
                    for c in 0..3 {
                        to[c] += weight * coarse[from as usize][c];
                    }
                }
            },
        );
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<CoarseSlot>() * self.seats.len()
            + 32 * self.conforming.len()
            + 4 * self.starts.len()
            + 5 * self.fine.len()
    }
}

/// Positions of the nodes of a tree in a coarser one: each in the coarse element of the first fine one that has it as a corner.
fn seats(fine: &Octree, coarse: &Octree, first_child: Option<&[u32]>) -> Vec<CoarseSlot> {
    let mut seats = vec![CoarseSlot { element: u32::MAX, ..CoarseSlot::default() }; fine.nodes().len()];
    let mut of_element = |e: usize, c: usize| {
        let (own, hanging, nodes) = (coarse.elements()[c], fine.hanging()[e], fine.conforming()[e]);
        for slot in (0..8).filter(|slot| !hangs(hanging, *slot)) {
            let node = nodes[slot] as usize;
            if seats[node].element == u32::MAX {
                let place = place_in(own.anchor(), own.size(), own.child_number(), fine.nodes()[node]);
                seats[node] = CoarseSlot { element: c as u32, hanging: coarse.hanging()[c], place };
            }
        }
    };
    match first_child {
        None => (0..fine.elements().len()).for_each(|e| of_element(e, e)),
        Some(first) => {
            for (c, range) in first.windows(2).enumerate() {
                (range[0]..range[1]).for_each(|e| of_element(e as usize, c));
            }
        }
    }
    seats
}

/// Which of the 27 positions of an element a node has, counted from slot 0. Elements of the finest size have nodes at their
/// corners only.
fn place_in(anchor: [u16; 3], size: u16, number: usize, node: [u16; 3]) -> u8 {
    let mut place = 0;
    for axis in [2, 1, 0] {
        let halves = (2 * u32::from(node[axis] - anchor[axis]) / u32::from(size)) as u8;
        let from_slot_zero = if number >> axis & 1 == 1 { 2 - halves } else { halves };
        place = 3 * place + from_slot_zero;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_whole_multiples_of_their_unit_and_at_most_one() {
        let units = WEIGHTS.iter().flatten().flatten().map(|weight| weight / UNIT);
        assert!(units.into_iter().all(|units| units == units.round() && (0.0..=64.0).contains(&units)));
    }
}
