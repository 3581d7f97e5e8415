//! A bounding volume hierarchy over moving boxes, eight children per node. Boxes are compared by their relative motion, so that a
//! cloth falling as a whole has no more overlaps than one at rest.
//!
//! Boxes and motions are stored in single precision about their centre. The rounding is added to the query distance.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use supple_core::Aabb;
use supple_core::simd::{F32x8, SingleVec3, WIDTH, take_lane};

/// Nodes processed by one task.
const NODES: usize = 256;
/// Levels of a tree at most: 8^11 items are more than 2^32.
const MOST_LEVELS: usize = 11;
/// The rounding of a comparison, in units of the last place of the largest coordinate or motion.
const ROUNDING: f64 = 16.0;

/// A box and the range of displacements of its contents, all of which start and end together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SweptAabb {
    pub(crate) bounds: Aabb,
    pub(crate) moves: Aabb,
}

impl SweptAabb {
    const EMPTY: Self = Self { bounds: Aabb::EMPTY, moves: Aabb::EMPTY };

    /// Of a stationary box.
    pub(crate) fn at_rest(bounds: Aabb) -> Self {
        Self { bounds, moves: Aabb { low: DVec3::ZERO, high: DVec3::ZERO } }
    }

    fn union(self, other: Self) -> Self {
        Self { bounds: self.bounds.union(other.bounds), moves: self.moves.union(other.moves) }
    }
}

/// A box with its motions in single precision.
#[derive(Debug, Clone, Copy)]
struct SingleSweep {
    low: [f32; 3],
    high: [f32; 3],
    least: [f32; 3],
    most: [f32; 3],
}

/// Eight of them; missing ones are empty.
#[derive(Debug, Clone, Copy)]
struct LaneSweeps {
    low: SingleVec3,
    high: SingleVec3,
    least: SingleVec3,
    most: SingleVec3,
}

impl LaneSweeps {
    const EMPTY: Self = {
        let (above, below) = (F32x8([f32::INFINITY; WIDTH]), F32x8([f32::NEG_INFINITY; WIDTH]));
        let (above, below) = (SingleVec3([above; 3]), SingleVec3([below; 3]));
        Self { low: above, high: below, least: above, most: below }
    };

    fn set(&mut self, i: usize, one: &SingleSweep) {
        self.low.set(i, one.low);
        self.high.set(i, one.high);
        self.least.set(i, one.least);
        self.most.set(i, one.most);
    }

    fn lane(&self, i: usize) -> SingleSweep {
        SingleSweep {
            low: self.low.lane(i),
            high: self.high.lane(i),
            least: self.least.lane(i),
            most: self.most.lane(i),
        }
    }

    fn union(&self) -> SingleSweep {
        let least = |v: &SingleVec3| v.0.map(|lanes| lanes.0.into_iter().fold(f32::INFINITY, f32::min));
        let most = |v: &SingleVec3| v.0.map(|lanes| lanes.0.into_iter().fold(f32::NEG_INFINITY, f32::max));
        SingleSweep {
            low: least(&self.low),
            high: most(&self.high),
            least: least(&self.least),
            most: most(&self.most),
        }
    }

    /// The lanes that may come as near as `within` metres to one box while they move.
    fn meeting(&self, one: &SingleSweep, within: f32) -> u32 {
        let mut apart = F32x8([f32::NEG_INFINITY; WIDTH]);
        for axis in 0..3 {
            let [low, high] = [one.low, one.high].map(|bound| F32x8::splat(bound[axis]));
            let back = (self.least.0[axis] - F32x8::splat(one.most[axis])).min(F32x8::ZERO);
            let forth = (self.most.0[axis] - F32x8::splat(one.least[axis])).max(F32x8::ZERO);
            apart = (self.low.0[axis] + back - high).max(low - self.high.0[axis] - forth).max(apart);
        }
        apart.not_above(F32x8::splat(within))
    }
}

/// A tree over items in an order in which neighbours are near.
#[derive(Debug, Default)]
pub(crate) struct SweptBvh {
    items: usize,
    /// Items in groups of eight, these in groups of eight, until one is left.
    levels: Vec<Vec<LaneSweeps>>,
    /// The boxes and motions of all items.
    sweeps: Vec<SweptAabb>,
    /// The largest distance error due to rounding, in metres.
    rounding: f64,
}

impl SweptBvh {
    /// A tree with this many items.
    pub(crate) fn new(items: usize) -> Self {
        let mut levels = Vec::new();
        let mut count = items.div_ceil(WIDTH);
        while count > 0 {
            levels.push(vec![LaneSweeps::EMPTY; count]);
            count = if count > 1 { count.div_ceil(WIDTH) } else { 0 };
        }
        Self { items, levels, sweeps: Vec::new(), rounding: 0.0 }
    }

    /// Sets new boxes and motions.
    pub(crate) fn refit(&mut self, sweep_of: impl Fn(usize) -> SweptAabb + Sync) {
        let items = (0..self.items).into_par_iter().with_min_len(NODES);
        items.map(&sweep_of).collect_into_vec(&mut self.sweeps);
        let sweeps = &self.sweeps;
        let all =
            sweeps.par_iter().with_min_len(NODES).copied().reduce(|| SweptAabb::EMPTY, SweptAabb::union);
        let (centre, common) = (all.bounds.center(), all.moves.center());
        let half = (all.bounds.high - centre).max_element() + (all.moves.high - common).max_element();
        self.rounding = ROUNDING * f64::from(f32::EPSILON) * half;
        let single = |sweep: SweptAabb| {
            let about = |v: DVec3, middle: DVec3| (v - middle).as_vec3().to_array();
            let SweptAabb { bounds, moves } = sweep;
            SingleSweep {
                low: about(bounds.low, centre),
                high: about(bounds.high, centre),
                least: about(moves.low, common),
                most: about(moves.high, common),
            }
        };
        let Some((first, coarser)) = self.levels.split_first_mut() else { return };
        first.par_iter_mut().enumerate().with_min_len(NODES / WIDTH).for_each(|(n, node)| {
            let items = WIDTH * n..self.items.min(WIDTH * (n + 1));
            items.enumerate().for_each(|(lane, item)| node.set(lane, &single(sweeps[item])));
        });
        let mut finer: &[LaneSweeps] = first;
        for level in coarser {
            level.par_iter_mut().zip(finer.par_chunks(WIDTH)).with_min_len(NODES).for_each(
                |(node, children)| {
                    children.iter().enumerate().for_each(|(lane, child)| node.set(lane, &child.union()));
                },
            );
            finer = level;
        }
    }

    /// The total number of children of a level's nodes.
    fn children_at(&self, level: usize) -> usize {
        if level == 0 { self.items } else { self.levels[level - 1].len() }
    }

    /// Calls `visit` with the item itself and with every later one that may come as near to it as `within` metres, in order.
    pub(crate) fn later_meetings(&self, item: usize, within: f64, mut visit: impl FnMut(usize)) {
        // Rounded up.
        let within = (within + self.rounding) as f32 * (1.0 + f32::EPSILON);
        let own = self.levels[0][item / WIDTH].lane(item % WIDTH);
        let look = |level: usize, n: usize| {
            let first = item >> (WIDTH.ilog2() as usize * level);
            // Children before the item are skipped, and so are missing ones, which boxes with infinite extent would overlap.
            let later = !0 << first.saturating_sub(WIDTH * n).min(WIDTH);
            let there = (1 << (self.children_at(level) - WIDTH * n).min(WIDTH)) - 1;
            self.levels[level][n].meeting(&own, within) & later & there
        };
        let top = self.levels.len() - 1;
        // The traversal stack: the node of each level, and its children still to be visited.
        let mut stack = [(0, 0); MOST_LEVELS];
        let mut level = top;
        stack[top] = (0, look(top, 0));
        loop {
            let (n, left) = &mut stack[level];
            if *left == 0 {
                if level == top {
                    return;
                }
                level += 1;
                continue;
            }
            let child = WIDTH * *n + take_lane(left);
            if level == 0 {
                visit(child);
            } else {
                level -= 1;
                stack[level] = (child, look(level, child));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::tests::vector;
    use proptest::prelude::*;

    fn sweep(points: &[DVec3], moves: &[DVec3]) -> SweptAabb {
        SweptAabb { bounds: Aabb::of_points(points), moves: Aabb::of_points(moves) }
    }

    proptest! {
        #[test]
        fn no_two_points_that_come_near_are_missed(
            points in prop::collection::vec((vector(1.0), vector(0.7)), 1..600),
            common in vector(100.0),
        ) {
            let moves: Vec<DVec3> = points.iter().map(|(_, way)| *way + common).collect();
            let mut tree = SweptBvh::new(points.len());
            tree.refit(|i| sweep(&[points[i].0], &[moves[i]]));
            for i in 0..points.len().min(60) {
                let mut met = Vec::new();
                tree.later_meetings(i, 0.1, |j| met.push(j));
                prop_assert!(met.is_sorted() && met.first() == Some(&i));
                for j in i..points.len() {
                    // The smallest distance during the motion, per axis.
                    let (apart, coming) = (points[j].0 - points[i].0, moves[j] - moves[i]);
                    let near = (0..=20).map(|t| apart + f64::from(t) / 20.0 * coming);
                    if near.into_iter().any(|apart| apart.abs().max_element() < 0.1) {
                        prop_assert!(met.contains(&j), "{i} {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn common_motion_brings_nothing_together() {
        let at = |i: usize| [DVec3::new(i as f64, 0.0, 0.0)];
        let mut tree = SweptBvh::new(100);
        tree.refit(|i| sweep(&at(i), &[DVec3::splat(50.0)]));
        tree.later_meetings(3, 0.5, |j| assert_eq!(j, 3));
    }
}
