//! A bounding-volume hierarchy over axis-aligned boxes, built from the Morton order of their centres and split at the
//! highest differing bit (Lauterbach 2009, "Fast BVH construction on GPUs"). Nodes are stored in depth-first order in
//! one array: the left child follows its parent, and `skip` is the node after a subtree, so that most traversals need
//! no stack. [`Bvh::refit`] updates the tree for moving boxes.

use std::ops::ControlFlow;

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::{Aabb, Ray};
use supple_core::morton::MortonGrid;

/// Maximum items per leaf.
const LEAF_SIZE: usize = 4;
/// Items per task; fixed, so that results do not depend on the number of threads.
const CHUNK: usize = 1024;
/// Deeper than any tree can be: 63 bits of Morton code, then at most 32 halvings of equal codes.
const MAX_DEPTH: usize = 128;

/// One node of the tree: a box around the items at the positions `first..end`.
#[derive(Debug, Clone, Copy)]
pub struct BvhNode {
    bounds: Aabb,
    /// First item position below this node.
    pub first: u32,
    /// One past the last item position below this node.
    pub end: u32,
    /// The node after this subtree in depth-first order.
    pub skip: u32,
}

/// A hierarchy of boxes. Items are identified by their index in the list it was built from.
#[derive(Debug, Clone, Default)]
pub struct Bvh {
    nodes: Vec<BvhNode>,
    items: Vec<u32>,
    /// The items' boxes, in tree order.
    boxes: Vec<Aabb>,
}

impl Bvh {
    /// Builds the tree. Empty boxes (and those with NaN) are kept but never found by a query.
    pub fn build(boxes: &[Aabb]) -> Self {
        let mut keys = morton_keys(boxes);
        keys.par_sort_unstable();
        let mut nodes = Vec::with_capacity(boxes.len());
        if !keys.is_empty() {
            push_subtree(&keys, 0, &mut nodes);
        }
        let items: Vec<u32> = keys.iter().map(|key| key.1).collect();
        let mut tree = Self { nodes, boxes: vec![Aabb::EMPTY; items.len()], items };
        tree.refit(|item| boxes[item as usize]);
        tree
    }

    /// Updates the boxes of the same items and keeps the tree's structure; allocates nothing.
    pub fn refit(&mut self, box_of: impl Fn(u32) -> Aabb + Sync) {
        self.boxes.par_iter_mut().zip(&self.items).with_min_len(CHUNK).for_each(|(slot, &item)| {
            let bounds = box_of(item);
            *slot = if bounds.is_empty() { Aabb::EMPTY } else { bounds };
        });
        for n in (0..self.nodes.len()).rev() {
            self.nodes[n].bounds = match self.children(n) {
                Some([left, right]) => self.nodes[left].bounds.union(self.nodes[right].bounds),
                None => self.leaf_boxes(n).iter().fold(Aabb::EMPTY, |sum, &b| sum.union(b)),
            };
        }
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The box around everything.
    pub fn bounds(&self) -> Aabb {
        self.nodes.first().map_or(Aabb::EMPTY, |root| root.bounds)
    }

    /// Calls `visit` with every item whose box overlaps `query`.
    pub fn for_each_overlap(&self, query: &Aabb, mut visit: impl FnMut(u32)) {
        let _ = self.overlaps_from(query, 0, |item| {
            visit(item);
            ControlFlow::Continue(())
        });
    }

    /// Calls `visit` with every item whose box overlaps that of the item at `position` in tree order and that comes
    /// later in that order: over all positions `0..len()`, every overlapping pair once. `visit` may stop the traversal.
    pub fn later_overlaps(
        &self,
        position: usize,
        visit: impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.overlaps_from(&self.boxes[position], position as u32 + 1, visit)
    }

    /// The item at a position in tree order: neighbours in this order are close in space.
    pub fn item_at(&self, position: usize) -> u32 {
        self.items[position]
    }

    /// All pairs `[i, j]`, `i < j`, of items with overlapping boxes for which `keep` holds, sorted.
    pub fn overlapping_pairs(&self, keep: impl Fn(u32, u32) -> bool + Sync) -> Vec<[u32; 2]> {
        let mut pairs = self.collect_in_chunks(|position, found| {
            let item = self.items[position];
            let _ = self.later_overlaps(position, |other| {
                let (a, b) = (item.min(other), item.max(other));
                if keep(a, b) {
                    found.push([a, b]);
                }
                ControlFlow::Continue(())
            });
        });
        pairs.par_sort_unstable();
        pairs
    }

    /// The item nearest to `point` by the caller's squared distance, which must not be less than that to the item's
    /// box; only items within `limit_squared` count. Of equally distant items, the one with the lowest index.
    pub fn nearest(
        &self,
        point: DVec3,
        limit_squared: f64,
        mut distance_squared: impl FnMut(u32) -> f64,
    ) -> Option<(u32, f64)> {
        let mut best = Best { item: None, value: limit_squared };
        self.nearest_first(
            |bounds| bounds.distance_squared(point),
            |item, best| best.offer(item, distance_squared(item)),
            &mut best,
        );
        best.item.map(|item| (item, best.value))
    }

    /// The first item that a ray hits, for parameters from 0 to `limit`; `hit` returns the parameter at which the ray
    /// hits an item, if it does. Of equal parameters, the item with the lowest index.
    pub fn cast_ray(
        &self,
        ray: &Ray,
        limit: f64,
        mut hit: impl FnMut(u32) -> Option<f64>,
    ) -> Option<(u32, f64)> {
        let mut best = Best { item: None, value: limit };
        self.nearest_first(
            |bounds| ray.entry_into(bounds).unwrap_or(f64::INFINITY),
            |item, best| {
                if let Some(t) = hit(item) {
                    best.offer(item, t);
                }
            },
            &mut best,
        );
        best.item.map(|item| (item, best.value))
    }

    /// Visits items in leaves whose `cost` is finite and not above the best value so far, nearer children first.
    fn nearest_first(
        &self,
        cost: impl Fn(&Aabb) -> f64,
        mut visit: impl FnMut(u32, &mut Best),
        best: &mut Best,
    ) {
        let mut stack = [(0u32, 0.0f64); MAX_DEPTH];
        let mut top = 0;
        if let Some(root) = self.nodes.first() {
            stack[0] = (0, cost(&root.bounds));
            top = 1;
        }
        while top > 0 {
            top -= 1;
            let (n, at) = stack[top];
            if !(at <= best.value && at < f64::INFINITY) {
                continue;
            }
            let Some(children) = self.children(n as usize) else {
                for position in self.positions(n as usize) {
                    let at = cost(&self.boxes[position]);
                    if at <= best.value && at < f64::INFINITY {
                        visit(self.items[position], best);
                    }
                }
                continue;
            };
            let [near, far] = children.map(|c| (c as u32, cost(&self.nodes[c].bounds)));
            let (near, far) = if far.1 < near.1 { (far, near) } else { (near, far) };
            stack[top] = far;
            stack[top + 1] = near;
            top += 2;
        }
    }

    fn overlaps_from(
        &self,
        query: &Aabb,
        from: u32,
        mut visit: impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut n = 0;
        while let Some(node) = self.nodes.get(n) {
            if node.end <= from || !node.bounds.overlaps(query) {
                n = node.skip as usize;
                continue;
            }
            if node.skip as usize == n + 1 {
                for position in node.first.max(from)..node.end {
                    if self.boxes[position as usize].overlaps(query) {
                        visit(self.items[position as usize])?;
                    }
                }
            }
            n += 1;
        }
        ControlFlow::Continue(())
    }

    fn collect_in_chunks(&self, find: impl Fn(usize, &mut Vec<[u32; 2]>) + Sync) -> Vec<[u32; 2]> {
        let chunks: Vec<Vec<[u32; 2]>> = (0..self.len().div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let mut found = Vec::new();
                for position in chunk * CHUNK..((chunk + 1) * CHUNK).min(self.len()) {
                    find(position, &mut found);
                }
                found
            })
            .collect();
        chunks.concat()
    }

    /// All nodes, depth first.
    pub fn nodes(&self) -> &[BvhNode] {
        &self.nodes
    }

    /// The children of node `n`; none for a leaf.
    pub fn children(&self, n: usize) -> Option<[usize; 2]> {
        if self.nodes[n].skip as usize == n + 1 {
            return None;
        }
        Some([n + 1, self.nodes[n + 1].skip as usize])
    }

    /// The items below node `n`.
    pub fn items_below(&self, n: usize) -> &[u32] {
        &self.items[self.positions(n)]
    }

    fn leaf_boxes(&self, n: usize) -> &[Aabb] {
        &self.boxes[self.positions(n)]
    }

    fn positions(&self, n: usize) -> std::ops::Range<usize> {
        self.nodes[n].first as usize..self.nodes[n].end as usize
    }
}

/// The best item found so far.
struct Best {
    item: Option<u32>,
    value: f64,
}

impl Best {
    fn offer(&mut self, item: u32, value: f64) {
        let wins_tie = value == self.value && self.item.is_none_or(|best| item < best);
        if value < self.value || wins_tie {
            *self = Self { item: Some(item), value };
        }
    }
}

fn morton_keys(boxes: &[Aabb]) -> Vec<(u64, u32)> {
    let centers = |b: &Aabb| Some(b.center()).filter(|c| c.is_finite());
    let bounds =
        boxes.iter().filter_map(centers).fold(Aabb::EMPTY, |sum, c| sum.union(Aabb { low: c, high: c }));
    let grid = MortonGrid::new(&bounds);
    boxes.par_iter().enumerate().with_min_len(CHUNK).map(|(i, b)| (grid.code(b.center()), i as u32)).collect()
}

/// Appends the subtree over `keys`, whose first item has the position `first`.
fn push_subtree(keys: &[(u64, u32)], first: usize, nodes: &mut Vec<BvhNode>) {
    let own = nodes.len();
    let end = (first + keys.len()) as u32;
    nodes.push(BvhNode { bounds: Aabb::EMPTY, first: first as u32, end, skip: 0 });
    if keys.len() > LEAF_SIZE {
        let split = split_of(keys);
        push_subtree(&keys[..split], first, nodes);
        push_subtree(&keys[split..], first + split, nodes);
    }
    nodes[own].skip = nodes.len() as u32;
}

/// The position where the highest differing bit changes; the middle for equal codes.
fn split_of(keys: &[(u64, u32)]) -> usize {
    let (low, high) = (keys[0].0, keys[keys.len() - 1].0);
    if low == high {
        return keys.len() / 2;
    }
    let bit = 63 - (low ^ high).leading_zeros();
    keys.partition_point(|key| key.0 >> bit & 1 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector() -> impl Strategy<Value = DVec3> {
        // Coarse coordinates, so that touching boxes and equal centres occur.
        [0i32..12, 0i32..12, 0i32..12].prop_map(|[x, y, z]| 0.25 * DVec3::new(x.into(), y.into(), z.into()))
    }

    fn boxes(count: usize) -> impl Strategy<Value = Vec<Aabb>> {
        let one = (vector(), vector()).prop_map(|(low, size)| Aabb { low, high: low + 0.3 * size });
        prop::collection::vec(one, 0..count)
    }

    fn overlapping(boxes: &[Aabb], query: &Aabb) -> Vec<u32> {
        (0..boxes.len() as u32).filter(|&i| boxes[i as usize].overlaps(query)).collect()
    }

    fn query(tree: &Bvh, query: &Aabb) -> Vec<u32> {
        let mut found = Vec::new();
        tree.for_each_overlap(query, |i| found.push(i));
        found.sort_unstable();
        found
    }

    proptest! {
        #[test]
        fn box_queries_find_what_brute_force_finds(items in boxes(60), q in boxes(8)) {
            let tree = Bvh::build(&items);
            for q in &q {
                prop_assert_eq!(query(&tree, q), overlapping(&items, q));
            }
        }

        #[test]
        fn refitted_trees_answer_for_the_new_boxes(items in boxes(60), shift in vector(), q in boxes(4)) {
            let mut tree = Bvh::build(&items);
            let moved: Vec<Aabb> = items.iter().enumerate()
                .map(|(i, b)| { let d = shift * (i % 5) as f64; Aabb { low: b.low + d, high: b.high + d } })
                .collect();
            tree.refit(|i| moved[i as usize]);
            for q in &q {
                prop_assert_eq!(query(&tree, q), overlapping(&moved, q));
            }
        }

        #[test]
        fn pairs_are_those_of_brute_force_sorted_and_once(a in boxes(50)) {
            let mut own = Vec::new();
            for i in 0..a.len() {
                own.extend((i + 1..a.len()).filter(|&j| a[i].overlaps(&a[j])).map(|j| [i as u32, j as u32]));
            }
            prop_assert_eq!(Bvh::build(&a).overlapping_pairs(|_, _| true), own);
        }

        #[test]
        fn the_nearest_box_is_that_of_brute_force(items in boxes(60), p in vector(), limit in 0.0..3.0f64) {
            let tree = Bvh::build(&items);
            let distance = |i: u32| items[i as usize].distance_squared(p);
            let expected = (0..items.len() as u32).map(|i| (i, distance(i)))
                .filter(|&(_, d)| d <= limit).min_by(|a, b| a.1.total_cmp(&b.1));
            prop_assert_eq!(tree.nearest(p, limit, distance), expected);
        }

        #[test]
        fn the_first_box_on_a_ray_is_that_of_brute_force(items in boxes(60), o in vector(), to in vector()) {
            let ray = Ray { origin: o - 1.0, direction: to - o + DVec3::new(0.01, 0.02, -0.03) };
            let tree = Bvh::build(&items);
            let hit = |i: u32| ray.entry_into(&items[i as usize]);
            let expected = (0..items.len() as u32).filter_map(|i| Some((i, hit(i)?)))
                .filter(|&(_, t)| t <= 2.0).min_by(|a, b| a.1.total_cmp(&b.1));
            prop_assert_eq!(tree.cast_ray(&ray, 2.0, hit), expected);
        }
    }

    #[test]
    fn thousands_of_equal_boxes_stay_within_the_depth_limit() {
        let tree = Bvh::build(&vec![Aabb { low: DVec3::ZERO, high: DVec3::ONE }; 5000]);
        assert_eq!(query(&tree, &Aabb { low: DVec3::ONE, high: DVec3::ONE }).len(), 5000);
        assert_eq!(tree.nearest(DVec3::ZERO, f64::INFINITY, |_| 0.0), Some((0, 0.0)));
    }

    #[test]
    fn boxes_that_are_not_numbers_are_never_met_and_hide_nothing() {
        let unit = Aabb { low: DVec3::ZERO, high: DVec3::ONE };
        let bad = Aabb { low: DVec3::NAN, high: DVec3::ONE };
        let tree = Bvh::build(&[bad, unit, Aabb::EMPTY, unit, bad]);
        assert_eq!(tree.overlapping_pairs(|_, _| true), [[1, 3]]);
        assert_eq!(tree.bounds(), unit);
        assert!(Bvh::build(&[]).nearest(DVec3::ZERO, f64::INFINITY, |_| 0.0).is_none());
    }
}
