//! Selective update (Wu 2022, section 6.3): only domains touched by changes are computed anew. What has changed is found from the
//! matrix itself: the diagonal block of a node changes with everything that pushes or pulls it, contacts included, so a
//! signature of it and of the node's pairs outside the pattern is kept.

use glam::DMat3;
use rayon::prelude::*;

use super::supernodes::Level;
use crate::linear::BlockMatrix;

/// Nodes handled by one task.
const NODES: usize = 2048;

/// What a matrix looks like at each node.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Signatures(Vec<u64>);

impl Signatures {
    /// Takes those of a matrix; gives the nodes whose own have changed, or `None` if all must count as changed.
    pub(super) fn renew(&mut self, matrix: &BlockMatrix) -> Option<Vec<u32>> {
        let count = matrix.pattern().unknowns();
        let known = self.0.len() == count;
        self.0.resize(count, 0);
        let outside = matrix.outside_rows();
        let renew = |(chunk, own): (usize, &mut [u64])| {
            let mut changed = Vec::new();
            for (node, own) in (chunk * NODES..).zip(own) {
                let mut signature = folded(0, node as u64, &matrix.diagonal_block(node));
                let (columns, blocks) = outside.row(node);
                for (&other, block) in columns.iter().zip(blocks) {
                    signature = folded(signature, u64::from(other), block);
                }
                if std::mem::replace(own, signature) != signature {
                    changed.push(node as u32);
                }
            }
            changed
        };
        let changed: Vec<Vec<u32>> = self.0.par_chunks_mut(NODES).enumerate().map(renew).collect();
        known.then(|| changed.concat())
    }

    /// Forgets the matrix: the next one counts as new.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        8 * self.0.len()
    }
}

/// Mixes a block into a signature (the multiplication and shift of splitmix64).
fn folded(signature: u64, other: u64, block: &DMat3) -> u64 {
    let mix = |hash: u64, bits: u64| {
        let hash = (hash ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^ hash >> 29
    };
    block.to_cols_array().iter().fold(mix(signature, other), |hash, number| mix(hash, number.to_bits()))
}

/// The domains of each level that some nodes of the finest one touch; all of them for no list.
pub(super) fn touched_domains(levels: &[Level], nodes: Option<&[u32]>) -> Vec<Vec<bool>> {
    let Some(nodes) = nodes else { return levels.iter().map(|level| vec![true; level.domains()]).collect() };
    let mut nodes = nodes.to_vec();
    let mut touched = Vec::new();
    for level in levels {
        let mut flags = vec![false; level.domains()];
        for &node in &nodes {
            let place = level.place[node as usize];
            flags[level.starts.partition_point(|&start| start <= place) - 1] = true;
        }
        let domains = (0..level.domains()).filter(|&domain| flags[domain]);
        nodes = domains.flat_map(|domain| level.parents_of(domain)).map(|parent| parent as u32).collect();
        touched.push(flags);
    }
    touched
}
