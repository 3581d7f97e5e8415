//! Aggressive coarsening (Milne 2016, section 7.1): every octant whose descendants are all its children replaces them,
//! at all sizes at once; then the tree is rebalanced within the finer tree.
//!
//! With the set `A` of all strict ancestors of elements, an ancestor stays split if one of its children is in `A`.
//! Balance is required of the neighbours of split octants, even without elements there: with missing children 2:1
//! between elements alone would allow hanging corners of parents.

use super::octant::Octant;
use super::splits::{Splits, has, parents_around, set};
use super::tree::Octree;

/// A coarser tree and its relation to the finer one.
#[derive(Debug, Clone)]
pub struct Coarsened {
    /// The coarser tree.
    pub tree: Octree,
    /// The first fine element in each coarse one, and the end: a coarse element is a fine one or contains its children.
    pub first_child: Vec<u32>,
}

/// The next coarser tree; `None` if nothing is left to coarsen.
pub fn coarsen(fine: &Octree) -> Option<Coarsened> {
    let root = fine.frame.root;
    let splits = coarse_splits(&ancestors(fine.elements(), root), root);
    let coarse_of = |element: &Octant| match element.height() < root && !splits.has(element.parent()) {
        true => element.parent(),
        false => *element,
    };
    let mut elements: Vec<Octant> = Vec::new();
    let mut first_child = Vec::new();
    for (e, fine) in fine.elements().iter().enumerate() {
        let coarse = coarse_of(fine);
        if elements.last() != Some(&coarse) {
            elements.push(coarse);
            first_child.push(e as u32);
        }
    }
    first_child.push(fine.elements().len() as u32);
    let shrunk = elements.len() < fine.elements().len();
    shrunk.then(|| Coarsened { tree: Octree::new(fine.frame, elements), first_child })
}

/// All strict ancestors of some elements, by height.
fn ancestors(elements: &[Octant], root: u8) -> Vec<Vec<Octant>> {
    let mut by_height: Vec<Vec<Octant>> = vec![Vec::new()];
    for height in 0..root {
        let own = elements.iter().filter(|element| element.height() == height);
        let below = &by_height[usize::from(height)];
        by_height.push(set(own.chain(below).map(|octant| octant.parent()).collect()));
    }
    by_height
}

/// Which ancestors stay split.
fn coarse_splits(ancestors: &[Vec<Octant>], root: u8) -> Splits {
    let mut by_height: Vec<Vec<Octant>> = vec![Vec::new(), Vec::new()];
    for height in 1..root {
        let below = &ancestors[usize::from(height)];
        let own = below.iter().map(|octant| octant.parent());
        let around = by_height[usize::from(height)].iter().flat_map(|octant| parents_around(*octant, root));
        let known = &ancestors[usize::from(height) + 1];
        by_height.push(set(own.chain(around.filter(|octant| has(known, *octant))).collect()));
    }
    Splits::from_lists(by_height)
}
