//! Global intersection analysis in the spirit of Baraff, Witkin and Kass 2003 ("Untangling cloth"): which parts of surfaces that cross are on
//! the wrong side.
//!
//! The edges that pass through triangles cut a surface into parts. Of the two parts at a cut edge the smaller one, an *island*, is on the wrong
//! side, and each of its vertices returns through the nearest point of what it crosses. This needs neither an inside nor a
//! normal that is well defined, so that sheets which cross at a small angle, in many islands, part too. Where a cut ends inside a surface
//! both ends of its edges are in one part: there the length of the intersection decides (`tangle.rs`).

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::contact::intersection::enclosure::Parts;
use crate::contact::intersection::tangle::pierce;
use crate::contact::surfaces::Surfaces;
use supple_mesh::geometry::TriangleTree;

/// The largest island, over the number of vertices of the body: a larger part is as right as the other one.
const LARGEST: f64 = 0.25;

/// How many rings of triangles around the cut of an island with `n` vertices may be what it crosses, over the square root of `n`.
const RINGS: f64 = 1.0;

/// A vertex on the wrong side of a triangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Misplaced {
    /// The vertex, then the corners of the triangle nearest to it.
    pub(crate) points: [u32; 4],
    /// The weights of `vertex - nearest point`.
    pub(crate) weights: [f64; 4],
    /// Unit vector from the vertex to that point.
    pub(crate) direction: DVec3,
    /// Their distance in metres.
    pub(crate) distance: f64,
}

/// The islands of some surfaces.
#[derive(Debug, Default)]
pub(crate) struct Islands {
    /// All vertices that return through something.
    pub(crate) misplaced: Vec<Misplaced>,
    /// Pairs of triangles at edges that separate no island.
    pub(crate) undecided: Vec<[u32; 2]>,
    /// The points of islands and of what they cross.
    pub(crate) points: Vec<u32>,
}

/// An edge that passes through a triangle.
struct Cut {
    edge: [u32; 2],
    through: u32,
    pair: [u32; 2],
}

impl Islands {
    /// Of the bodies' triangles with these crossings.
    pub(crate) fn find(surfaces: &Surfaces, crossings: &[[u32; 2]], at: &[DVec3]) -> Self {
        if crossings.is_empty() {
            return Self::default();
        }
        let cuts = cuts(surfaces, crossings, at);
        let mut edges: Vec<[u32; 2]> = cuts.iter().map(|cut| cut.edge).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut parts = Parts::new(surfaces.body_points());
        for t in surfaces.body_triangles() {
            for i in 0..3 {
                let edge = [t[i].min(t[(i + 1) % 3]), t[i].max(t[(i + 1) % 3])];
                if edges.binary_search(&edge).is_err() {
                    parts.join(edge.map(|p| p as usize));
                }
            }
        }
        let members = parts.members();
        let mut size = vec![0; surfaces.body_points()];
        members.iter().for_each(|part| part.iter().for_each(|&p| size[p] = part.len()));
        let mut of_body = vec![0; surfaces.body_points() + 1];
        (0..surfaces.body_points()).for_each(|p| of_body[surfaces.body(p as u32) as usize] += 1);
        // The island at a cut, and the triangles through which it returns.
        let mut returns: Vec<(usize, u32)> = Vec::new();
        let mut islands = Self::default();
        for cut in &cuts {
            let [a, b] = cut.edge.map(|p| parts.root(p as usize));
            let small = if (size[a], a) < (size[b], b) { a } else { b };
            let most = LARGEST * f64::from(of_body[surfaces.body(cut.edge[0]) as usize]);
            if a == b || size[small] as f64 > most {
                islands.undecided.push(cut.pair);
            } else {
                returns.push((small, cut.through));
            }
        }
        islands.undecided.sort_unstable();
        islands.undecided.dedup();
        returns.sort_unstable();
        returns.dedup();
        for same in returns.chunk_by(|a, b| a.0 == b.0) {
            let Some(part) = members.iter().find(|part| part[0] == same[0].0) else { continue };
            islands.add(surfaces, part, same, at);
        }
        islands
    }

    /// Adds an island that returns through the triangles around some.
    fn add(&mut self, surfaces: &Surfaces, part: &[usize], through: &[(usize, u32)], at: &[DVec3]) {
        let crossed = around(surfaces, through.iter().map(|(_, t)| *t), part);
        let tree = TriangleTree::new(at, crossed.clone());
        let nearest = |&p: &usize| {
            let closest = tree.closest_point(at[p], f64::INFINITY)?;
            let [a, b, c] = crossed[closest.triangle as usize];
            let [wa, wb, wc] = closest.barycentric;
            Some(Misplaced {
                points: [p as u32, a, b, c],
                weights: [1.0, -wa, -wb, -wc],
                direction: (closest.point - at[p]).normalize_or_zero(),
                distance: closest.distance,
            })
        };
        let found: Vec<Misplaced> = part.par_iter().filter_map(nearest).collect();
        self.misplaced.extend(found);
        self.points.extend(part.iter().map(|p| *p as u32));
        self.points.extend(crossed.as_flattened());
    }
}

fn cuts(surfaces: &Surfaces, crossings: &[[u32; 2]], at: &[DVec3]) -> Vec<Cut> {
    let mut cuts = Vec::new();
    for &pair in crossings {
        for [own, through] in [pair, [pair[1], pair[0]]] {
            let [t, other] = [own, through].map(|t| surfaces.triangles[t as usize]);
            let pierced = (0..3).filter_map(|i| pierce(t, i, other, at));
            cuts.extend(pierced.map(|found| Cut { edge: [found.points[0], found.points[1]], through, pair }));
        }
    }
    cuts
}

/// The triangles within some rings around others that have no vertex of an island.
fn around(surfaces: &Surfaces, through: impl Iterator<Item = u32>, part: &[usize]) -> Vec<[u32; 3]> {
    let is_own = |t: &[u32; 3]| t.iter().any(|p| part.binary_search(&(*p as usize)).is_ok());
    let mut near = vec![false; surfaces.body_points()];
    let mark = |near: &mut Vec<bool>, t: [u32; 3]| t.iter().for_each(|p| near[*p as usize] = true);
    through.for_each(|t| mark(&mut near, surfaces.triangles[t as usize]));
    let rings = (RINGS * (part.len() as f64).sqrt()).ceil() as u32;
    for _ in 0..rings {
        let before = near.clone();
        for t in
            surfaces.body_triangles().iter().filter(|t| t.iter().any(|p| before[*p as usize]) && !is_own(t))
        {
            mark(&mut near, *t);
        }
    }
    let within = |t: &&[u32; 3]| t.iter().all(|p| near[*p as usize]) && !is_own(t);
    surfaces.body_triangles().iter().filter(within).copied().collect()
}
