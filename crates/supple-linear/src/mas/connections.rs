//! The connections of a level with their strengths: on the finest level given by the blocks of the matrix, contact
//! pairs included (Wu 2022, section 5.2), on coarser ones by the level below.

use glam::DMat3;
use supple_core::parallel::prelude::*;

use super::supernodes::SupernodeLevel;
use crate::BlockMatrix;

/// A weighted graph by rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Connections {
    pub starts: Vec<usize>,
    pub neighbours: Vec<u32>,
    /// The sums of the blocks' norms.
    pub weights: Vec<f32>,
}

/// The neighbours of some consecutive nodes.
#[derive(Default)]
struct NeighbourRows {
    lengths: Vec<usize>,
    neighbours: Vec<u32>,
    weights: Vec<f32>,
}

/// Nodes of the finest level per task.
const ROWS: usize = 1024;

impl Connections {
    /// The connections of a matrix.
    pub(super) fn of_matrix(matrix: &BlockMatrix) -> Self {
        let outside = matrix.outside_rows();
        let count = matrix.pattern().unknowns();
        let part = |first: usize| {
            let mut rows = NeighbourRows::default();
            for node in first..(first + ROWS).min(count) {
                let begin = rows.neighbours.len();
                let (start, columns) = matrix.pattern().row(node);
                for (&other, block) in columns.iter().zip(&matrix.blocks()[start..]) {
                    rows.connect(begin, node, other, norm(block));
                }
                let (columns, blocks) = outside.row(node);
                for (&other, block) in columns.iter().zip(blocks) {
                    rows.connect(begin, node, other, norm(block));
                }
                rows.lengths.push(rows.neighbours.len() - begin);
            }
            rows
        };
        Self::joined((0..count).into_par_iter().step_by(ROWS).map(part).collect())
    }

    /// The connections of the supernodes of a level.
    pub(super) fn coarsened(&self, level: &SupernodeLevel) -> Self {
        let part = |domain: usize| {
            let mut rows = NeighbourRows::default();
            let parents = level.parents_of(domain);
            for parent in parents {
                let begin = rows.neighbours.len();
                for place in level.places_of(domain).filter(|&place| level.parent[place] == parent as u32) {
                    let node = level.order[place] as usize;
                    for slot in self.starts[node]..self.starts[node + 1] {
                        let other = level.parent[level.place[self.neighbours[slot] as usize] as usize];
                        rows.connect_summing(begin, parent, other, self.weights[slot]);
                    }
                }
                rows.lengths.push(rows.neighbours.len() - begin);
            }
            rows
        };
        Self::joined((0..level.domains()).into_par_iter().with_min_len(16).map(part).collect())
    }

    fn joined(parts: Vec<NeighbourRows>) -> Self {
        let mut whole = Self { starts: vec![0], ..Self::default() };
        let mut end = 0;
        for part in parts {
            whole.starts.extend(part.lengths.iter().map(|length| {
                end += length;
                end
            }));
            whole.neighbours.extend(part.neighbours);
            whole.weights.extend(part.weights);
        }
        whole
    }

    /// The neighbours of a node with their weights.
    pub(super) fn of(&self, node: usize) -> impl Iterator<Item = (u32, f32)> + '_ {
        let range = self.starts[node]..self.starts[node + 1];
        self.neighbours[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }
}

impl NeighbourRows {
    /// A zero block connects nothing: the pattern contains possible couplings, the values actual ones.
    fn connect(&mut self, begin: usize, node: usize, other: u32, weight: f32) {
        if weight != 0.0 {
            let inside_twice = self.neighbours[begin..].last() == Some(&other);
            if !inside_twice && other as usize != node {
                self.neighbours.push(other);
                self.weights.push(weight);
            }
        }
    }

    fn connect_summing(&mut self, begin: usize, node: usize, other: u32, weight: f32) {
        if other as usize == node {
            return;
        }
        match self.neighbours[begin..].iter().position(|&known| known == other) {
            Some(known) => self.weights[begin + known] += weight,
            None => {
                self.neighbours.push(other);
                self.weights.push(weight);
            }
        }
    }
}

fn norm(block: &DMat3) -> f32 {
    let [a, b, c] = [block.x_axis, block.y_axis, block.z_axis];
    (a.length_squared() + b.length_squared() + c.length_squared()).sqrt() as f32
}
