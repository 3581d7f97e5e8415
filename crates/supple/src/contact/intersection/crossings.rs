//! Which triangles intersect at given positions, the test of `supple check DIR`: an independent test that shares nothing with the detection that keeps
//! them apart. Boxes find candidates, exact orientation determinants decide.

use glam::DVec3;

use crate::contact::surfaces::Surfaces;
use supple_mesh::geometry::triangle_overlap::triangles_overlap;
use supple_mesh::geometry::{Aabb, Bvh};

impl Surfaces {
    /// The pairs of triangles that may touch and have a point in common, sorted. Neighbours, also along a seam, are skipped.
    pub fn crossings(&self, at: &[DVec3]) -> Vec<[u32; 2]> {
        let corners = |t: u32| self.triangles[t as usize];
        let boxes: Vec<Aabb> =
            self.triangles.iter().map(|t| Aabb::of_points(&t.map(|p| at[p as usize]))).collect();
        Bvh::build(&boxes).overlapping_pairs(|a, b| {
            let [first, second] = [a, b].map(corners);
            let neighbours = first.iter().any(|p| second.contains(p)) || self.share_a_seam(a, b);
            !neighbours && self.may_touch(a, b) && triangles_overlap(at, first, second)
        })
    }
}
