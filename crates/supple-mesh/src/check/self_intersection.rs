//! Intersecting triangles, by exact tests on all pairs with overlapping boxes. Coincident vertices count as one, so
//! that unwelded neighbours are not reported as touching.

use std::ops::ControlFlow;

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::report::LISTED;
use crate::geometry::TriangleTree;
use crate::geometry::triangle_overlap::triangles_overlap;

/// Triangles whose pairs are counted before the limits are checked.
const BATCH: usize = 512;
/// Triangles per task.
const CHUNK: usize = 32;
/// The search ends after this many intersecting pairs.
pub(super) const PAIR_LIMIT: usize = 1_000_000;

/// The intersecting pairs of a mesh.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Intersections {
    pub count: usize,
    /// The first pairs of triangles, by index.
    pub first: Vec<[u32; 2]>,
    /// Whether the search was ended early, so that there may be more.
    pub ended_early: bool,
}

impl Intersections {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.first.extend(other.first);
        self.first.sort_unstable();
        self.first.truncate(LISTED);
    }

    fn push(&mut self, pair: [u32; 2]) {
        self.count += 1;
        if self.first.len() < LISTED || pair < self.first[LISTED - 1] {
            self.first.push(pair);
            self.first.sort_unstable();
            self.first.truncate(LISTED);
        }
    }
}

/// Counts the pairs for which `may_meet` is true (used to skip parts of one polygon).
pub(super) fn self_intersections(
    positions: &[DVec3],
    tree: &TriangleTree,
    welded: &[u32],
    may_meet: impl Fn(u32, u32) -> bool + Sync,
) -> Intersections {
    let bvh = tree.bvh();
    let welded_triangle = |t: u32| tree.triangles()[t as usize].map(|v| welded[v as usize]);
    let tests_allowed = 10_000_000 + 200 * bvh.len();
    let (mut found, mut tests) = (Intersections::default(), 0);
    for start in (0..bvh.len()).step_by(BATCH) {
        let batch: Vec<usize> = (start..(start + BATCH).min(bvh.len())).collect();
        let parts: Vec<(Intersections, usize)> = batch
            .par_chunks(CHUNK)
            .map(|chunk| {
                let mut part = (Intersections::default(), 0);
                for &position in chunk {
                    let item = bvh.item_at(position);
                    let _ = bvh.later_overlaps(position, |other| {
                        part.1 += 1;
                        let (a, b) = (item.min(other), item.max(other));
                        if may_meet(a, b)
                            && triangles_overlap(positions, welded_triangle(a), welded_triangle(b))
                        {
                            part.0.push([a, b]);
                        }
                        ControlFlow::Continue(())
                    });
                }
                part
            })
            .collect();
        for (part, tested) in parts {
            found.add(part);
            tests += tested;
        }
        if found.count >= PAIR_LIMIT || tests > tests_allowed {
            found.ended_early = start + BATCH < bvh.len();
            break;
        }
    }
    found
}
