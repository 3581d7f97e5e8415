//! The pairs of pieces of surface that may come near: found by a tree over moving triangles, and kept while they serve.
//!
//! A list is made for all positions `from + τ moves + e` with one `τ` from 0 to 1 for all points and any `e` of at most a
//! margin for each. Such positions form a convex set: where the two ends of a straight way lie in it, so does the whole
//! way, and every pair that comes near on it is in the list.

use glam::DVec3;

use super::closeness::{Closeness, Kind};
use super::surfaces::{Surfaces, corners, places};
use super::sweep::{Sweep, SweepTree};
use super::time_of_impact::{free_fraction, surely_free};
use super::travel::Travel;
use crate::energy::chunks::{self, CHUNK, Found};
use crate::geometry::Aabb;

/// The fraction of its reach below which a pair comes nearer only slowly.
const LEAST_DISTANCE: f64 = 1e-3;
/// How far above its reach, as a fraction of it, a pair must surely be for not to be looked at: rounding of the estimate.
const SURELY: f64 = 1e-9;
/// How far, as multiples of the thickness, points may leave the way for which a list was made: at first and at most, and at
/// least. Where edges are as short as the thickness, a wide margin takes in every neighbour in the surface itself; a narrow
/// one needs new lists more often.
const MARGINS: [f64; 2] = [1.0, 0.1];
/// Candidates for each triangle, below which the next list gets a wider margin, and above which a narrower one.
const CANDIDATES_PER_TRIANGLE: [usize; 2] = [2, 8];

/// A pair of pieces that may come near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// What it is made of.
    pub kind: Kind,
    /// Its points.
    pub points: [u32; 4],
    /// The distance in metres below which it is pushed apart.
    pub reach: f64,
    /// What its points may go, since the list was made, before it can touch: what they had gone when it was last looked at,
    /// and the distance that it had then.
    free: f64,
}

/// A list of candidates and the positions for which it is complete.
#[derive(Debug, Default)]
pub struct Candidates {
    tree: SweepTree,
    found: Found<Candidate>,
    from: Vec<DVec3>,
    moves: Vec<DVec3>,
    made: bool,
    /// How far, as a multiple of the thickness, points may leave the way.
    margin: f64,
    /// The same for the next list.
    next_margin: f64,
    /// How far the points have gone since then.
    travel: Travel,
    /// How far they would go on the way that is looked at.
    way: Travel,
    /// Points in a tangle: pairs of them alone are left out. Empty without one.
    loose: Vec<bool>,
}

impl Candidates {
    /// No candidates yet.
    pub fn new(surfaces: &Surfaces) -> Self {
        let bounds = |t: &[u32; 3]| Aabb::of_points(&corners(*t, &surfaces.start));
        let boxes: Vec<Aabb> = surfaces.triangles.iter().map(bounds).collect();
        Self { tree: SweepTree::new(&boxes), next_margin: MARGINS[0], ..Self::default() }
    }

    /// Leaves pairs of these points alone; none for an empty list.
    pub fn set_loose(&mut self, loose: &[bool]) {
        if self.loose != loose {
            self.loose.clear();
            self.loose.extend_from_slice(loose);
            self.made = false;
        }
    }

    /// Drops the list: what it knows of pairs is no longer right.
    pub(crate) fn forget(&mut self) {
        self.made = false;
    }

    /// Finds all pairs within their reach at some positions, in an order that depends on the surfaces alone: `look` gets each
    /// with its closest points.
    pub(crate) fn look<R: Send>(
        &mut self,
        surfaces: &Surfaces,
        thickness: f64,
        at: &[DVec3],
        found: &mut Found<R>,
        look: impl Fn(&Candidate, Closeness, &mut Vec<R>) + Sync,
    ) {
        if self.is_within_margin(thickness, at) {
            self.travel.go(at);
        } else {
            self.make(surfaces, thickness, at, at);
        }
        let travel = &self.travel;
        found.look_through(&mut self.found, |candidate, list| {
            let gone = travel.of(candidate.points);
            // What is not a number must not be passed over.
            if candidate.free - gone >= (1.0 + SURELY) * candidate.reach {
                return;
            }
            let closest = candidate.kind.closest(&places(candidate.points, at));
            let distance = closest.offset.length();
            candidate.free = gone + distance;
            if distance < candidate.reach || distance.is_nan() {
                look(candidate, closest, list);
            }
        });
    }

    /// The fraction of a straight way that brings nothing to touch.
    pub(crate) fn free_way(
        &mut self,
        surfaces: &Surfaces,
        thickness: f64,
        from: &[DVec3],
        to: &[DVec3],
    ) -> f64 {
        if self.is_within_margin(thickness, from) && self.is_within_margin(thickness, to) {
            self.travel.go(from);
        } else {
            self.make(surfaces, thickness, from, to);
        }
        self.way.begin(from);
        self.way.go(to);
        let (travel, way) = (&self.travel, &self.way);
        self.found.least(1.0, |until, candidate| {
            let (points, least) = (candidate.points, LEAST_DISTANCE * candidate.reach);
            if surely_free(candidate.free - travel.of(points), way.of(points), least, until) {
                return until;
            }
            let (start, end) = (places(points, from), places(points, to));
            let moves = [end[0] - start[0], end[1] - start[1], end[2] - start[2], end[3] - start[3]];
            free_fraction(candidate.kind, &start, &moves, least, until)
        })
    }

    fn is_within_margin(&self, thickness: f64, at: &[DVec3]) -> bool {
        self.strayed(at) <= self.margin * thickness
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
            let triangle = surfaces.triangles[t as usize];
            Sweep::of(corners(triangle, from), corners(triangle, moves))
        });
        self.margin = self.next_margin;
        let search = Search { surfaces, from, moves, loose, thickness, margin: self.margin };
        let (tree, within) = (&self.tree, search.within());
        self.found.look(tree.len(), |position, found| {
            tree.later_meetings(position, within, |a, b| search.pairs_of(a, b, found));
        });
        self.travel.begin(&self.from);
        self.made = true;
        self.adapt_margin();
    }

    /// Chooses the next margin. It changes what a list costs and how long it serves, and nothing else.
    fn adapt_margin(&mut self) {
        let [few, many] = CANDIDATES_PER_TRIANGLE.map(|count| count * self.tree.len());
        let count = self.found.len();
        let factor = if count > many {
            0.5
        } else if count < few {
            2.0
        } else {
            1.0
        };
        self.next_margin = (factor * self.margin).clamp(MARGINS[1], MARGINS[0]);
    }

    /// All pairs of triangles whose boxes meet, at rest at these positions, for which `keep` holds.
    pub(super) fn meeting_triangles(
        &mut self,
        surfaces: &Surfaces,
        at: &[DVec3],
        keep: impl Fn(u32, u32) -> bool + Sync,
    ) -> Vec<[u32; 2]> {
        self.made = false;
        self.tree.refit(|t| Sweep::of(corners(surfaces.triangles[t as usize], at), [DVec3::ZERO; 3]));
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
    margin: f64,
}

impl Search<'_> {
    /// How near two pieces must come on the straight way itself to be looked at.
    fn within(&self) -> f64 {
        (1.0 + 2.0 * self.margin) * self.thickness
    }

    fn pairs_of(&self, a: u32, b: u32, found: &mut Vec<Candidate>) {
        if !self.surfaces.may_touch(a, b) {
            return;
        }
        // Most pairs of pieces of two triangles that may meet are too far apart to be measured.
        let far = self.within() + self.approach(a, b);
        self.surfaces.for_each_pair([a, b], self.from, far, |kind, points| {
            let distance = kind.distance(&places(points, self.from));
            let least = distance - kind.approach(&places(points, self.moves));
            if least <= self.within() && !self.is_loose(points) {
                let reach = self.surfaces.reach(kind, points, self.thickness);
                found.push(Candidate { kind, points, reach, free: distance });
            }
        });
    }

    /// By how much any pieces of two triangles can come nearer on the way.
    fn approach(&self, a: u32, b: u32) -> f64 {
        let of = |t: u32| corners(self.surfaces.triangles[t as usize], self.moves);
        let (first, second) = (of(a), of(b));
        let common = (first[0] + first[1] + first[2] + second[0] + second[1] + second[2]) / 6.0;
        let farthest = |[a, b, c]: [DVec3; 3]| {
            let off = |m: DVec3| (m - common).length_squared();
            0.0_f64.max(off(a)).max(off(b)).max(off(c)).sqrt()
        };
        farthest(first) + farthest(second)
    }

    fn is_loose(&self, points: [u32; 4]) -> bool {
        !self.loose.is_empty() && points.iter().all(|&p| self.loose[p as usize])
    }
}
