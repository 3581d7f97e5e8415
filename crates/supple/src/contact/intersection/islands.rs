//! Global intersection analysis in the spirit of Baraff, Witkin and Kass 2003 ("Untangling cloth"): which parts of surfaces that cross are on
//! the wrong side.
//!
//! The edges that pass through triangles cut a surface into parts. Of the two parts at a cut edge the smaller one, an *island*, is on the wrong
//! side, and each of its vertices returns through the nearest point of what it crosses. This needs neither an inside nor a
//! normal that is well defined, so that sheets which cross at a small angle, in many islands, part too. Where both parts are large, the
//! one that has least far to go returns (`contours.rs`). Where a cut ends inside a surface both ends of its edges are in one part: there
//! the length of the intersection decides (`tangle.rs`).

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::contact::intersection::contours::Contours;
use crate::contact::intersection::enclosure::Parts;
use crate::contact::intersection::extension::{edges, extend};
use crate::contact::intersection::tangle::pierce;
use crate::contact::surfaces::Surfaces;
use supple_mesh::geometry::TriangleTree;

/// The largest island, over the number of vertices of the body: a larger part is as right as the other one, so that the way to go decides.
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
    /// Pairs of triangles at edges that separate no part that returns.
    pub(crate) undecided: Vec<[u32; 2]>,
    /// The points of islands and of what they cross.
    pub(crate) points: Vec<u32>,
}

/// An edge that passes through a triangle.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) edge: [u32; 2],
    pub(super) through: u32,
    /// The triangle with the edge and the other one, sorted.
    pub(super) pair: [u32; 2],
    pub(super) division: Division,
}

/// What a cut edge divides its surface into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Division {
    /// Nothing: both ends are in one part.
    Slit,
    /// An island, by its root, and the rest.
    Island(u32),
    /// Two large parts, by their roots, in order.
    Large([u32; 2]),
}

impl Islands {
    /// Of the bodies' triangles with these crossings.
    pub(crate) fn find(surfaces: &Surfaces, crossings: &[[u32; 2]], at: &[DVec3]) -> Self {
        if crossings.is_empty() {
            return Self::default();
        }
        let mut cuts = cuts(surfaces, crossings, at);
        let mut dividing: Vec<[u32; 2]> = cuts.iter().map(|cut| cut.edge).collect();
        let mut members = divide(surfaces, &mut dividing, &mut cuts);
        let mut contours = Contours::new(&cuts);
        let extended = extend(surfaces, &contours, &cuts);
        if !extended.is_empty() {
            dividing.extend(extended);
            members = divide(surfaces, &mut dividing, &mut cuts);
            contours = Contours::new(&cuts);
        }
        let part = |root: u32| {
            let found = members.binary_search_by_key(&(root as usize), |part| part[0]);
            found.map_or(&[][..], |i| &members[i][..])
        };
        let mut returns: Vec<(u32, u32)> = Vec::new();
        for cut in &cuts {
            if let Division::Island(island) = cut.division {
                returns.push((island, cut.through));
            }
        }
        returns.sort_unstable();
        returns.dedup();
        let mut islands = Self::default();
        for same in returns.chunk_by(|a, b| a.0 == b.0) {
            islands.add(Return::find(surfaces, part(same[0].0), same.iter().map(|(_, t)| *t), at));
        }
        let find =
            |root: u32, through: &[u32]| Return::find(surfaces, part(root), through.iter().copied(), at);
        let resolved = contours.resolve(surfaces, at, find, |found| islands.add(found));
        let is_open = |cut: &&Cut| {
            !matches!(cut.division, Division::Island(_)) && !resolved.contains(&contours.of(cut))
        };
        islands.undecided.extend(cuts.iter().filter(is_open).map(|cut| cut.pair));
        islands.undecided.sort_unstable();
        islands.undecided.dedup();
        islands
    }

    fn add(&mut self, found: Return) {
        self.misplaced.extend(found.misplaced);
        self.points.extend(found.points);
    }
}

/// A part of a surface that returns through what it crosses.
#[derive(Debug)]
pub(super) struct Return {
    pub(super) misplaced: Vec<Misplaced>,
    /// Its points, and those of what it crosses.
    points: Vec<u32>,
}

impl Return {
    /// Of a part that returns through the triangles around some.
    fn find(surfaces: &Surfaces, part: &[usize], through: impl Iterator<Item = u32>, at: &[DVec3]) -> Self {
        let crossed = around(surfaces, through, part);
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
        let misplaced = part.par_iter().filter_map(nearest).collect();
        let own = part.iter().map(|p| *p as u32);
        Self { misplaced, points: own.chain(crossed.as_flattened().iter().copied()).collect() }
    }
}

fn cuts(surfaces: &Surfaces, crossings: &[[u32; 2]], at: &[DVec3]) -> Vec<Cut> {
    let mut cuts = Vec::new();
    for &pair in crossings {
        for [own, through] in [pair, [pair[1], pair[0]]] {
            let [t, other] = [own, through].map(|t| surfaces.triangles[t as usize]);
            let pierced = (0..3).filter_map(|i| pierce(t, i, other, at));
            let edges = pierced.map(|found| [found.points[0], found.points[1]]);
            cuts.extend(edges.map(|edge| Cut { edge, through, pair, division: Division::Slit }));
        }
    }
    cuts
}

/// Finds what edges divide surfaces into: the points of every part, in order, the first of which is its root.
fn divide(surfaces: &Surfaces, dividing: &mut Vec<[u32; 2]>, cuts: &mut [Cut]) -> Vec<Vec<usize>> {
    dividing.sort_unstable();
    dividing.dedup();
    let mut parts = Parts::new(surfaces.body_points());
    for edge in surfaces.body_triangles().iter().flat_map(|t| edges(*t)) {
        if dividing.binary_search(&edge).is_err() {
            parts.join(edge.map(|p| p as usize));
        }
    }
    let members = parts.members();
    let mut size = vec![0; surfaces.body_points()];
    members.iter().for_each(|part| part.iter().for_each(|&p| size[p] = part.len()));
    let mut of_body = vec![0; surfaces.body_points() + 1];
    (0..surfaces.body_points()).for_each(|p| of_body[surfaces.body(p as u32) as usize] += 1);
    for cut in cuts {
        let [a, b] = cut.edge.map(|p| parts.root(p as usize));
        let small = if (size[a], a) < (size[b], b) { a } else { b };
        let most = LARGEST * f64::from(of_body[surfaces.body(cut.edge[0]) as usize]);
        cut.division = if a == b {
            Division::Slit
        } else if size[small] as f64 > most {
            Division::Large([a.min(b) as u32, a.max(b) as u32])
        } else {
            Division::Island(small as u32)
        };
    }
    members
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
