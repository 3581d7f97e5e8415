//! The split octants of a tree, by height. All of a tree's leaves are the children of split octants that are not split
//! themselves.
//!
//! A tree is balanced 2:1 over faces, edges and corners if around every split octant all 26 octants of its size
//! exist, which is the case if their parents are split (Milne 2016, sections 3.1 and 6). Of an octant and its 26
//! neighbours there are eight parents: going up once through the heights balances the whole tree.

use supple_core::parallel::prelude::*;

use super::octant::Octant;

/// Split octants by height, each list sorted; the list of height 0 is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splits {
    by_height: Vec<Vec<Octant>>,
}

/// Sorts a list and removes duplicates.
pub(crate) fn set(mut octants: Vec<Octant>) -> Vec<Octant> {
    octants.par_sort_unstable();
    octants.dedup();
    octants
}

/// Whether a sorted list contains an octant.
pub(super) fn has(sorted: &[Octant], octant: Octant) -> bool {
    sorted.binary_search(&octant).is_ok()
}

/// The parents of an octant and all its neighbours: eight, the nearest to it of its parent and the parent's neighbours.
pub(super) fn parents_around(octant: Octant, root: u8) -> impl Iterator<Item = Octant> {
    let (parent, number) = (octant.parent(), octant.child_number());
    (0..8usize).filter_map(move |moved| {
        let step = |axis: usize| match (moved >> axis & 1, number >> axis & 1) {
            (0, _) => 0,
            (_, 0) => -1,
            _ => 1,
        };
        parent.neighbour([step(0), step(1), step(2)], root)
    })
}

impl Splits {
    /// The coarsest balanced tree that has at least these finest octants. With `layers` above 1 there are at least
    /// that many octants of each size between two sizes; the tree then coarsens more slowly.
    pub(crate) fn around(finest: &[Octant], root: u8, layers: u32) -> Self {
        let mut by_height = vec![Vec::new(), set(finest.iter().map(|octant| octant.parent()).collect())];
        for height in 1..root {
            for _ in 1..layers {
                let wider = grown(&by_height[usize::from(height)], root);
                let whole = wider.len() == by_height[usize::from(height)].len();
                by_height[usize::from(height)] = wider;
                if whole {
                    break;
                }
            }
            let split = &by_height[usize::from(height)];
            by_height.push(set(split.iter().flat_map(|octant| parents_around(*octant, root)).collect()));
        }
        by_height.truncate(usize::from(root) + 1);
        Self { by_height }
    }

    /// From sorted lists of split octants, one per height from 0.
    pub(super) fn from_lists(by_height: Vec<Vec<Octant>>) -> Self {
        Self { by_height }
    }

    /// Whether an octant is split.
    pub(super) fn has(&self, octant: Octant) -> bool {
        self.by_height.get(usize::from(octant.height())).is_some_and(|split| has(split, octant))
    }

    /// The leaves of the whole tree under a root, sorted; those among `finest` carry its flags.
    pub(crate) fn leaves(&self, root: u8, finest: &[Octant]) -> Vec<Octant> {
        if self.by_height.iter().all(Vec::is_empty) {
            let whole = Octant::new([0; 3], root);
            return vec![if finest.contains(&whole) { whole.on_surface() } else { whole }];
        }
        let flagged = |octant: Octant| match finest.binary_search(&octant) {
            Ok(at) => finest[at],
            Err(_) => octant,
        };
        let mut leaves: Vec<Octant> = Vec::new();
        for split in &self.by_height {
            let children =
                split.par_iter().flat_map_iter(|octant| (0..8).map(move |number| octant.child(number)));
            leaves.par_extend(children.filter(|child| !self.has(*child)).map(flagged));
        }
        leaves.par_sort_unstable();
        leaves
    }
}

/// A set together with all its neighbours.
fn grown(octants: &[Octant], root: u8) -> Vec<Octant> {
    let offsets = (0..27).map(|n| [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1]);
    let around = |octant: &Octant| {
        let octant = *octant;
        offsets.clone().filter_map(move |offset| octant.neighbour(offset, root))
    };
    set(octants.iter().flat_map(around).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scattered(count: u32, root: u8) -> Vec<Octant> {
        let at = |i: u32| (i.wrapping_mul(2_654_435_761) >> 7) as u16 & ((1 << root) - 1);
        set((0..count).map(|i| Octant::new([at(3 * i), at(3 * i + 1), at(3 * i + 2)], 0)).collect())
    }

    #[test]
    fn leaves_fill_the_root_without_overlap_and_differ_at_most_by_two() {
        for (count, layers) in [(1, 1), (20, 1), (20, 3)] {
            let root = 6;
            let finest = scattered(count, root);
            let leaves = Splits::around(&finest, root, layers).leaves(root, &finest);
            let volume: u64 = leaves.iter().map(|leaf| u64::from(leaf.size()).pow(3)).sum();
            assert_eq!(volume, 1 << (3 * root));
            assert!(leaves.windows(2).all(|pair| pair[0] < pair[1] && !pair[0].holds(pair[1].anchor())));
            assert!(finest.iter().all(|octant| has(&leaves, *octant)));
            for leaf in &leaves {
                for n in 0..27 {
                    let offset = [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1];
                    let Some(beside) = leaf.neighbour(offset, root) else { continue };
                    let at = leaves.partition_point(|other| *other <= beside).max(1) - 1;
                    if leaves[at].holds(beside.anchor()) {
                        assert!(leaves[at].height() <= leaf.height() + 1);
                    }
                }
            }
        }
    }

    #[test]
    fn more_layers_leave_more_octants_of_each_size() {
        let finest = scattered(3, 7);
        let counts = [1, 2, 4].map(|layers| Splits::around(&finest, 7, layers).leaves(7, &finest).len());
        assert!(counts[0] < counts[1] && counts[1] < counts[2], "{counts:?}");
    }
}
