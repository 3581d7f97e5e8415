//! The pairs of pieces of surface that may come near: found by a tree over moving triangles, and kept while they serve.
//!
//! A list is made for all positions `from + τ moves + e` with one `τ` from 0 to 1 for all points and any `e` of at most a
//! margin for each. Such positions form a convex set: where the two ends of a straight way lie in it, so does the whole
//! way, and every pair that comes near on it is in the list.

use glam::DVec3;

use super::closeness::Kind;
use super::surfaces::Surfaces;
use super::sweep::{Sweep, SweepTree};
use crate::energy::chunks::{self, CHUNK, Found};
use crate::geometry::Aabb;

/// How far, as a multiple of the thickness, points may leave the way for which a list was made.
const MARGIN: f64 = 1.0;

/// A pair of pieces that may come near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// What it is made of.
    pub kind: Kind,
    /// Its points.
    pub points: [u32; 4],
    /// The distance in metres below which it is pushed apart.
    pub reach: f64,
    /// A distance in metres that it keeps on the way for which the list was made.
    pub near: f64,
}

/// A list of candidates and the positions for which it is complete.
#[derive(Debug, Default)]
pub struct Candidates {
    tree: SweepTree,
    found: Found<Candidate>,
    from: Vec<DVec3>,
    moves: Vec<DVec3>,
    made: bool,
    /// Points in a tangle: pairs of them alone are left out. Empty without one.
    loose: Vec<bool>,
}

impl Candidates {
    /// No candidates yet.
    pub fn new(surfaces: &Surfaces) -> Self {
        let corners = |t: &[u32; 3]| t.map(|p| surfaces.start[p as usize]);
        let boxes: Vec<Aabb> = surfaces.triangles.iter().map(|t| Aabb::of_points(&corners(t))).collect();
        Self { tree: SweepTree::new(&boxes), ..Self::default() }
    }

    /// The candidates, in an order that depends on the surfaces alone.
    pub(crate) fn list(&self) -> &Found<Candidate> {
        &self.found
    }

    /// Leaves pairs of these points alone; none for an empty list.
    pub fn set_loose(&mut self, loose: &[bool]) {
        if self.loose != loose {
            self.loose.clear();
            self.loose.extend_from_slice(loose);
            self.made = false;
        }
    }

    /// Makes the list complete for positions. Gives how far points have left the way for which it was made: no pair is
    /// nearer than its [`Candidate::near`] less twice that.
    pub fn cover(&mut self, surfaces: &Surfaces, thickness: f64, at: &[DVec3]) -> f64 {
        let strayed = self.strayed(at);
        if strayed <= MARGIN * thickness {
            return strayed;
        }
        self.make(surfaces, thickness, at, at);
        0.0
    }

    /// Makes the list complete for a straight way. Gives the same for the way's start.
    pub fn cover_way(&mut self, surfaces: &Surfaces, thickness: f64, from: &[DVec3], to: &[DVec3]) -> f64 {
        let strayed = self.strayed(from);
        if strayed <= MARGIN * thickness && self.strayed(to) <= MARGIN * thickness {
            return strayed;
        }
        self.make(surfaces, thickness, from, to);
        0.0
    }

    /// How far points are from the way for which the list was made; infinite without one.
    fn strayed(&self, at: &[DVec3]) -> f64 {
        if !self.made {
            return f64::INFINITY;
        }
        let along = chunks::sum(at.len(), |i| (at[i] - self.from[i]).dot(self.moves[i]));
        let squared = chunks::sum(at.len(), |i| self.moves[i].length_squared());
        let gone = if squared > 0.0 { (along / squared).clamp(0.0, 1.0) } else { 0.0 };
        let off = |i: usize| (at[i] - self.from[i] - gone * self.moves[i]).length_squared();
        // What is not a number is never within a margin.
        let farther = |a: f64, b: f64| if a >= b || a.is_nan() { a } else { b };
        let farthest = |range: std::ops::Range<usize>| range.map(off).fold(0.0, farther);
        chunks::fold(at.len(), CHUNK, 0.0, farthest, farther).sqrt()
    }

    fn make(&mut self, surfaces: &Surfaces, thickness: f64, from: &[DVec3], to: &[DVec3]) {
        self.from.clear();
        self.from.extend_from_slice(from);
        self.moves.clear();
        self.moves.extend(from.iter().zip(to).map(|(a, b)| *b - *a));
        let (from, moves, loose) = (&self.from, &self.moves, &self.loose);
        self.tree.refit(|t| {
            let corners = surfaces.triangles[t as usize].map(|p| p as usize);
            Sweep::of(corners.map(|p| from[p]), corners.map(|p| moves[p]))
        });
        let search = Search { surfaces, from, moves, loose, thickness };
        let (tree, within) = (&self.tree, search.within());
        self.found.look(tree.len(), |position, found| {
            tree.later_meetings(position, within, |a, b| search.pairs_of(a, b, found));
        });
        self.made = true;
    }

    /// All pairs of triangles whose boxes meet, at rest at these positions, for which `keep` holds.
    pub(super) fn meeting_triangles(
        &mut self,
        surfaces: &Surfaces,
        at: &[DVec3],
        keep: impl Fn(u32, u32) -> bool + Sync,
    ) -> Vec<[u32; 2]> {
        self.made = false;
        self.tree.refit(|t| {
            let corners = surfaces.triangles[t as usize].map(|p| at[p as usize]);
            Sweep::of(corners, [DVec3::ZERO; 3])
        });
        let (tree, mut met) = (&self.tree, Found::default());
        met.look(tree.len(), |position, found: &mut Vec<[u32; 2]>| {
            tree.later_meetings(position, 0.0, |a, b| {
                if surfaces.may_touch(a, b) && keep(a, b) {
                    found.push([a.min(b), a.max(b)]);
                }
            });
        });
        let mut met: Vec<[u32; 2]> = met.iter().copied().collect();
        met.sort_unstable();
        met
    }
}

/// What a list is made from.
struct Search<'a> {
    surfaces: &'a Surfaces,
    from: &'a [DVec3],
    moves: &'a [DVec3],
    loose: &'a [bool],
    thickness: f64,
}

impl Search<'_> {
    /// How near two pieces must come on the straight way itself to be looked at.
    fn within(&self) -> f64 {
        (1.0 + 2.0 * MARGIN) * self.thickness
    }

    fn pairs_of(&self, a: u32, b: u32, found: &mut Vec<Candidate>) {
        if !self.surfaces.may_touch(a, b) {
            return;
        }
        self.surfaces.for_each_pair(a, b, |kind, points| {
            let near = self.least_distance(kind, points);
            if near <= self.within() && !self.is_loose(points) {
                let reach = self.surfaces.reach(kind, points, self.thickness);
                found.push(Candidate { kind, points, reach, near });
            }
        });
    }

    /// A distance that a pair keeps on the way.
    fn least_distance(&self, kind: Kind, points: [u32; 4]) -> f64 {
        let at = points.map(|p| self.from[p as usize]);
        let moves = points.map(|p| self.moves[p as usize]);
        kind.distance(&at) - kind.approach(&moves)
    }

    fn is_loose(&self, points: [u32; 4]) -> bool {
        !self.loose.is_empty() && points.iter().all(|&p| self.loose[p as usize])
    }
}
