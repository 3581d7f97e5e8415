//! Selective update (Wu 2022, section 6.3): only domains touched by changes are recomputed. Changes are detected from
//! the matrix itself: the diagonal block of a node changes with everything that pushes or pulls it, contacts
//! included, so a signature of it and of the node's pairs outside the pattern is stored.

use glam::DMat3;
use supple_core::parallel::prelude::*;

use super::supernodes::SupernodeLevel;
use crate::BlockMatrix;

/// Nodes per task.
const NODES: usize = 2048;

/// The signature of a matrix at each node.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Signatures(Vec<u64>);

impl Signatures {
    /// Stores the signatures of a matrix; returns the nodes whose own have changed, or `None` if all must be
    /// considered changed.
    pub(super) fn update(&mut self, matrix: &BlockMatrix) -> Option<Vec<u32>> {
        let count = matrix.pattern().unknowns();
        let known = self.0.len() == count;
        self.0.resize(count, 0);
        let outside = matrix.outside_rows();
        let update = |(chunk, own): (usize, &mut [u64])| {
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
        let changed: Vec<Vec<u32>> = self.0.par_chunks_mut(NODES).enumerate().map(update).collect();
        known.then(|| changed.concat())
    }

    /// Forgets the matrix: the next one is considered new.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        8 * self.0.len()
    }
}

/// Mixes a block into a signature. Its numbers are mixed independently, each with its own factor, and only their sum
/// sequentially: otherwise there would be a dependency chain of nine multiplications. The upper bits are folded into
/// the lower ones first, since a sum of products carries nothing downwards and two changed signs would cancel.
fn folded(signature: u64, other: u64, block: &DMat3) -> u64 {
    const FACTORS: [u64; 9] = factors();
    let numbers = block.to_cols_array();
    let mut sum = other.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for (number, factor) in numbers.iter().zip(FACTORS) {
        let bits = number.to_bits();
        let product = (bits ^ bits >> 32).wrapping_mul(factor);
        sum = sum.wrapping_add(product ^ product >> 29);
    }
    let mixed = (signature ^ sum).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 31
}

/// Pseudo-random odd numbers: the sequence of splitmix64.
const fn factors() -> [u64; 9] {
    let (mut factors, mut state, mut i) = ([0; 9], 0_u64, 0);
    while i < 9 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        factors[i] = (mixed ^ mixed >> 31) | 1;
        i += 1;
    }
    factors
}

/// The domains of each level touched by some nodes of the finest one; all of them if there is no list.
pub(super) fn touched_domains(levels: &[SupernodeLevel], nodes: Option<&[u32]>) -> Vec<Vec<bool>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_single_and_paired_change_of_bits_changes_the_signature() {
        let block = DMat3::from_cols_array(&[1.0, 2.5, -3.0, 2.5, 1e-7, 0.0, -3.0, 0.0, 1e9]);
        let first = folded(7, 3, &block);
        let flipped = |changes: &[(usize, u32)]| {
            let mut numbers = block.to_cols_array();
            for &(i, bit) in changes {
                numbers[i] = f64::from_bits(numbers[i].to_bits() ^ 1 << bit);
            }
            folded(7, 3, &DMat3::from_cols_array(&numbers))
        };
        for i in 0..9 {
            for bit in 0..64 {
                assert_ne!(flipped(&[(i, bit)]), first, "{i} {bit}");
                // The change of the two halves of a symmetric block.
                (0..i).for_each(|j| assert_ne!(flipped(&[(i, bit), (j, bit)]), first, "{i} {j} {bit}"));
            }
        }
        assert_ne!(folded(8, 3, &block), first);
        assert_ne!(folded(7, 4, &block), first);
    }
}
