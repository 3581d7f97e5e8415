//! A tree over moving boxes. What moves together stays apart: two boxes are compared by their motion against each other, so
//! that a cloth which falls as a whole meets no more than one at rest.

use std::ops::Range;

use glam::DVec3;
use rayon::prelude::*;

use crate::energy::chunks::CHUNK;
use crate::geometry::{Aabb, Bvh};

/// A box and the range of motions of what it holds, all of which start together and end together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sweep {
    bounds: Aabb,
    moves: Aabb,
}

impl Sweep {
    const EMPTY: Self = Self { bounds: Aabb::EMPTY, moves: Aabb::EMPTY };

    /// Of points with their moves.
    pub(super) fn of<const N: usize>(points: [DVec3; N], moves: [DVec3; N]) -> Self {
        Self { bounds: Aabb::of_points(&points), moves: Aabb::of_points(&moves) }
    }

    fn union(self, other: Self) -> Self {
        Self { bounds: self.bounds.union(other.bounds), moves: self.moves.union(other.moves) }
    }

    /// Whether both may come as near as `within` metres while they move.
    pub(super) fn may_meet(&self, other: &Self, within: f64) -> bool {
        let low = (other.moves.low - self.moves.high).min(DVec3::ZERO) - within;
        let high = (other.moves.high - self.moves.low).max(DVec3::ZERO) + within;
        let swept = Aabb { low: other.bounds.low + low, high: other.bounds.high + high };
        self.bounds.overlaps(&swept)
    }
}

/// A tree over items that move. Its shape is found once, from where they were then.
#[derive(Debug, Default)]
pub(super) struct SweepTree {
    shape: Bvh,
    nodes: Vec<Sweep>,
    /// Those of the items, in tree order.
    items: Vec<Sweep>,
}

impl SweepTree {
    /// A tree for items that are here now.
    pub(super) fn new(boxes: &[Aabb]) -> Self {
        let shape = Bvh::build(boxes);
        let (nodes, items) = (vec![Sweep::EMPTY; shape.nodes().len()], vec![Sweep::EMPTY; boxes.len()]);
        Self { shape, nodes, items }
    }

    /// The number of items.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Takes new boxes and motions.
    pub(super) fn refit(&mut self, sweep_of: impl Fn(u32) -> Sweep + Sync) {
        let shape = &self.shape;
        self.items.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(position, sweep)| {
            *sweep = sweep_of(shape.item_at(position));
        });
        for n in (0..self.nodes.len()).rev() {
            self.nodes[n] = match self.shape.children(n) {
                Some([left, right]) => self.nodes[left].union(self.nodes[right]),
                None => self.items[self.below(n)].iter().fold(Sweep::EMPTY, |sum, &item| sum.union(item)),
            };
        }
    }

    fn below(&self, n: usize) -> Range<usize> {
        let node = &self.shape.nodes()[n];
        node.first as usize..node.end as usize
    }

    /// Calls `visit` with the item at a position in tree order and every item later in that order that may come as near to
    /// it as `within` metres.
    pub(super) fn later_meetings(&self, position: usize, within: f64, mut visit: impl FnMut(u32, u32)) {
        let (own, item) = (&self.items[position], self.shape.item_at(position));
        let mut n = 0;
        while let Some(node) = self.shape.nodes().get(n) {
            if node.end as usize <= position + 1 || !own.may_meet(&self.nodes[n], within) {
                n = node.skip as usize;
                continue;
            }
            if node.skip as usize == n + 1 {
                let range = self.below(n);
                for other in range.start.max(position + 1)..range.end {
                    if own.may_meet(&self.items[other], within) {
                        visit(item, self.shape.item_at(other));
                    }
                }
            }
            n += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::vector;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_two_points_that_come_near_are_missed(
            points in prop::collection::vec((vector(1.0), vector(0.7)), 2..40),
            common in vector(100.0),
        ) {
            let within = 0.1;
            let start: Vec<Aabb> = points.iter().map(|(p, _)| Aabb::of_points(&[*p])).collect();
            let mut tree = SweepTree::new(&start);
            let moved = |i: u32| points[i as usize].1 + common;
            tree.refit(|i| Sweep::of([points[i as usize].0], [moved(i)]));
            let mut found = Vec::new();
            (0..tree.len()).for_each(|at| tree.later_meetings(at, within, |a, b| found.push([a.min(b), a.max(b)])));
            let count = found.len();
            found.sort_unstable();
            found.dedup();
            prop_assert_eq!(found.len(), count, "each pair once");
            for i in 0..points.len() as u32 {
                for j in i + 1..points.len() as u32 {
                    let between = |t: f64| points[i as usize].0 - points[j as usize].0 + t * (moved(i) - moved(j));
                    let near = (0..=50).any(|k| between(f64::from(k) / 50.0).length() < within);
                    prop_assert!(!near || found.contains(&[i, j]));
                }
            }
        }
    }

    #[test]
    fn what_moves_together_does_not_meet() {
        let boxes: Vec<Aabb> = (0..50).map(|i| Aabb::of_points(&[DVec3::X * f64::from(i)])).collect();
        let mut tree = SweepTree::new(&boxes);
        tree.refit(|i| Sweep::of([DVec3::X * f64::from(i)], [DVec3::X * 1000.0]));
        let mut met = 0;
        (0..tree.len()).for_each(|at| tree.later_meetings(at, 0.5, |_, _| met += 1));
        assert_eq!(met, 0);
    }
}
