//! Contours of intersection that nearly divide a surface: they end inside of both, a little before the boundary.
//!
//! Two equal sheets that cross along their middle are shifted against each other by next to nothing. Then the contour ends at the boundary
//! of the one sheet at one end, at that of the other at the other end, and divides neither. So the cut is extended, from the triangle in
//! which a contour ends through the fewest edges to the boundary.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

use crate::contact::intersection::contours::Contours;
use crate::contact::intersection::islands::{Cut, Division};
use crate::contact::surfaces::Surfaces;

/// The most edges by which a contour is extended at an end, over those that it cuts.
const LONGEST: f64 = 0.25;

/// The edges through which contours that divide nothing reach the boundary.
pub(super) fn extend(surfaces: &Surfaces, contours: &Contours, cuts: &[Cut]) -> Vec<[u32; 2]> {
    let mut divided: Vec<usize> =
        cuts.iter().filter(|cut| cut.division != Division::Slit).map(|cut| contours.of(cut)).collect();
    divided.sort_unstable();
    let mut open: Vec<(usize, &Cut)> = cuts.iter().map(|cut| (contours.of(cut), cut)).collect();
    open.retain(|(contour, _)| divided.binary_search(contour).is_err());
    open.sort_by_key(|(contour, cut)| (*contour, cut.edge, cut.through));
    if open.is_empty() {
        return Vec::new();
    }
    let edges = EdgeTriangles::new(surfaces);
    let mut more = Vec::new();
    for same in open.chunk_by(|a, b| a.0 == b.0) {
        let longest = (LONGEST * same.len() as f64) as u32;
        // What a boundary edge passes through is where the contour ends on the other surface.
        for (_, cut) in same.iter().filter(|(_, cut)| edges.of(cut.edge).len() == 1) {
            let is_cut = |edge: [u32; 2]| same.iter().any(|(_, cut)| cut.edge == edge);
            more.extend(edges.way_out(surfaces, cut.through, longest, is_cut).into_iter().flatten());
        }
    }
    more
}

/// The triangles of bodies at each edge, sorted.
struct EdgeTriangles(Vec<([u32; 2], u32)>);

impl EdgeTriangles {
    fn new(surfaces: &Surfaces) -> Self {
        let of = |(t, corners): (usize, &[u32; 3])| edges(*corners).map(|edge| (edge, t as u32));
        let mut list: Vec<([u32; 2], u32)> =
            surfaces.body_triangles().iter().enumerate().flat_map(of).collect();
        list.sort_unstable();
        Self(list)
    }

    fn of(&self, edge: [u32; 2]) -> &[([u32; 2], u32)] {
        let first = self.0.partition_point(|(other, _)| *other < edge);
        let count = self.0[first..].iter().take_while(|(other, _)| *other == edge).count();
        &self.0[first..first + count]
    }

    /// The fewest edges, up to `longest`, from a triangle to the boundary, with the boundary edge, none of which is cut.
    fn way_out(
        &self,
        surfaces: &Surfaces,
        start: u32,
        longest: u32,
        is_cut: impl Fn([u32; 2]) -> bool,
    ) -> Option<Vec<[u32; 2]>> {
        // The edge through which each triangle was reached, from which other one, and the number of edges up to there.
        let mut reached: BTreeMap<u32, Option<([u32; 2], u32)>> = BTreeMap::from([(start, None)]);
        let mut queue = VecDeque::from([(start, 0)]);
        while let Some((t, length)) = queue.pop_front() {
            for edge in edges(surfaces.triangles[t as usize]).into_iter().filter(|edge| !is_cut(*edge)) {
                let at = self.of(edge);
                if at.len() == 1 {
                    let before = std::iter::successors(reached[&t], |(_, from)| reached[from]);
                    return Some(std::iter::once(edge).chain(before.map(|(edge, _)| edge)).collect());
                }
                for &(_, next) in at.iter().filter(|_| length < longest) {
                    if let Entry::Vacant(entry) = reached.entry(next) {
                        entry.insert(Some((edge, t)));
                        queue.push_back((next, length + 1));
                    }
                }
            }
        }
        None
    }
}

/// The edges of a triangle, each with its smaller point first.
pub(super) fn edges([a, b, c]: [u32; 3]) -> [[u32; 2]; 3] {
    [[a, b], [b, c], [c, a]].map(|[p, q]| [p.min(q), p.max(q)])
}
