//! The pairs of primitives that may come near: found by a BVH over moving patches of triangles, and cached while they are valid.
//!
//! Most pairs that are near are neighbours in the surface itself, and stay so. Lists are therefore kept per pair of patches:
//!
//! - The *cached* list has every pair nearer than `w + σ` at the positions for which it was built. As long as two patches have moved
//!   relative to each other by no more than `σ` since then ([`Drift::between`]), whatever the surface does as a whole, it has every pair
//!   of theirs that is nearer than `w` now.
//! - For patches that have moved farther, pairs are found again, for one displacement only. If there are many of them, the next cached
//!   list is due.
//!
//! The tree is queried for overlapping patches at all positions `from + τ moves + e` with one `τ` from 0 to 1 for all points
//! and any `e` of at most a margin for each. Such positions form a convex set, and so do those within `σ`: if the two ends of
//! a straight displacement are in both, so is all of it, and every pair that comes near on it is in a list.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::contact::broad_phase::drift::{Drift, find_drifts};
use crate::contact::broad_phase::patches::{FindNear, Near, Patch, Shape, cut_patches};
use crate::contact::broad_phase::swept_bvh::{SweptAabb, SweptBvh};
use crate::contact::ccd::time_of_impact::{is_collision_free, time_of_impact_within};
use crate::contact::distance::closest_points::{ClosestPoints, PrimitivePair};
use crate::contact::intersection::tangle::Looseness;
use crate::contact::released::Released;
use crate::contact::surfaces::{Surfaces, corners, places};
use supple_core::parallel::{self, CHUNK, Found};
use supple_core::simd::{Simd, WIDTH, dispatch};
use supple_mesh::geometry::{Aabb, Bvh};

/// How far above its activation distance, as a fraction of it, a pair must be to be skipped: rounding of the estimate.
const SURELY: f64 = 1e-9;
/// How far, as a multiple of the thickness, points may leave the displacement for which the tree was queried.
const MARGIN: f64 = 0.25;
/// How far patches may move relative to each other before a cached list is invalid, as multiples of the thickness: minimum, initial
/// and maximum. Where edges are as short as the thickness, a large value includes every neighbour in the surface itself.
const VALID_RANGES: [f64; 3] = [0.25, 0.5, 2.0];
/// Candidates per triangle: below the first the next cached list has a longer range of validity, above the second a shorter one.
const CANDIDATES_PER_TRIANGLE: [usize; 2] = [3, 10];
/// If transient lists are built for more than one in this many pairs of patches, a cached one is due.
const MANY: usize = 8;
/// Displacements for which a cached list must have been valid to have paid off, and the maximum pause in displacements after
/// lists that did not.
const WORTH: u32 = 3;
const LONGEST_PAUSE: u32 = 32;
/// Patches per chunk, which one task processes.
const PATCHES: usize = 32;

/// A pair of primitives that may come near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Its kind.
    pub kind: PrimitivePair,
    /// Its points.
    pub points: [u32; 4],
    /// The activation distance in metres.
    pub reach: f64,
    /// A lower bound of its distance at the positions for which its list was built.
    distance: f64,
}

impl Candidate {
    /// The collision-free fraction, up to `until`, of a displacement from where it may be `nearer` than when it was found, on which its
    /// primitives are `coming` nearer at most, and leave the straight way by half of `slack`; all in metres.
    #[inline(always)]
    fn time_of_impact(
        &self,
        [from, to]: [&[DVec3]; 2],
        [nearer, coming, slack]: [f64; 3],
        until: f64,
    ) -> f64 {
        let Self { kind, points, reach, distance } = *self;
        if is_collision_free(distance - nearer - slack, coming, reach, until) {
            return until;
        }
        let (start, end) = (places(points, from), places(points, to));
        let moves = [end[0] - start[0], end[1] - start[1], end[2] - start[2], end[3] - start[3]];
        time_of_impact_within(kind, &start, &moves, [reach, slack], until)
    }
}

/// A pair of primitives, or a vertex or triangle and a solid, that would meet on a displacement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Collision {
    /// Its points; those that are not needed repeat another.
    pub(crate) points: [u32; 4],
    /// The fraction of the displacement that keeps them apart.
    pub(crate) free: f64,
}

/// Which list the pairs of two patches are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Cached,
    Transient,
}

/// The pairs of two patches: a range in a list of their chunk.
#[derive(Debug, Clone, Copy)]
struct Group {
    patches: [u32; 2],
    list: List,
    begin: u32,
    end: u32,
}

/// The pairs of some patches with later ones.
#[derive(Debug, Default)]
struct Chunk {
    cached: Vec<Candidate>,
    /// For all pairs of patches in the cached list, in order.
    cached_groups: Vec<Group>,
    transient: Vec<Candidate>,
    /// The current lists: for every overlapping pair of patches, in order.
    groups: Vec<Group>,
    /// Overlapping pairs of patches, and those of them with a transient list.
    met: usize,
    moved: usize,
    /// Workspace for the pairs of two patches.
    near: Vec<Near>,
}

/// Lists of candidates and the positions for which they are complete.
#[derive(Debug, Default)]
pub struct Candidates {
    simd: Simd,
    /// The triangles in the order in which they are divided into patches: neighbours are near.
    order: Vec<u32>,
    patches: Vec<Patch>,
    /// Patches with triangles of bodies, which come first: colliders do not meet each other.
    of_bodies: usize,
    body_points: usize,
    tree: SweptBvh,
    /// The boxes of the other patches, and the positions of colliders that they are for.
    collider_boxes: Vec<Aabb>,
    collider_boxes_at: Vec<DVec3>,
    /// The positions of colliders at rest that their shapes are for.
    collider_shapes_at: Vec<DVec3>,
    chunks: Vec<Chunk>,
    shapes: Vec<Shape>,
    /// The positions for which the cached list was built; empty without one.
    cached_at: Vec<DVec3>,
    /// Its range of validity in metres, and, as a multiple of the thickness, that of the next one.
    valid_range: f64,
    next_range: f64,
    /// Displacements since then, for how many of them it was valid, and how many pass before the next.
    displacements: u32,
    valid_for: u32,
    pause: u32,
    /// The displacement for which the tree was queried.
    from: Vec<DVec3>,
    moves: Vec<DVec3>,
    made: bool,
    drifts: Drifts,
    /// What may pass through what; empty if nothing may.
    loose: Vec<Looseness>,
    /// What is left out of contact with colliders.
    released: Released,
}

/// Workspace for the drifts of all patches.
#[derive(Debug, Default)]
struct Drifts {
    /// From the positions of the cached list.
    since_cached: Vec<Drift>,
    /// The same to the end of a displacement.
    cached_to_end: Vec<Drift>,
    /// From the start of the tree's displacement.
    from_start: Vec<Drift>,
    /// Over a displacement.
    displacement: Vec<Drift>,
}

impl Candidates {
    /// No candidates yet.
    pub fn new(surfaces: &Surfaces, simd: Simd) -> Self {
        let bounds = |t: &[u32; 3]| Aabb::of_points(&corners(*t, &surfaces.start));
        let boxes: Vec<Aabb> = surfaces.triangles.iter().map(bounds).collect();
        // Bodies before colliders: patches of both would be of use to neither.
        let (bodies, colliders) = boxes.split_at(surfaces.body_triangles().len());
        let mut order = Vec::with_capacity(boxes.len());
        for (boxes, first) in [(bodies, 0), (colliders, bodies.len() as u32)] {
            let near = Bvh::build(boxes);
            order.extend((0..boxes.len()).map(|position| first + near.item_at(position)));
        }
        let patches = cut_patches(surfaces, &order);
        let tree = SweptBvh::new(patches.len());
        let mut chunks = Vec::new();
        let of_bodies = surfaces.body_triangles().len().div_ceil(WIDTH);
        let body_points = surfaces.body_points();
        chunks.resize_with(of_bodies.div_ceil(PATCHES), Chunk::default);
        Self {
            order,
            patches,
            of_bodies,
            body_points,
            tree,
            chunks,
            next_range: VALID_RANGES[1],
            simd,
            ..Self::default()
        }
    }

    /// Excludes pairs of points that are all loose, if one of them is astray; none for an empty list.
    pub fn set_loose(&mut self, loose: &[Looseness]) {
        if self.loose != loose {
            self.loose.clear();
            self.loose.extend_from_slice(loose);
            self.forget();
        }
    }

    /// Excludes pairs of colliders and of what is released from them.
    pub fn set_released(&mut self, released: &Released) {
        if self.released != *released {
            self.released.clone_from(released);
            self.forget();
        }
    }

    /// Drops the lists: their pairs are no longer valid.
    pub(crate) fn forget(&mut self) {
        self.made = false;
        self.cached_at.clear();
    }

    /// Finds all pairs within their activation distance at some positions, in an order that depends on the surfaces alone: `look` gets each
    /// with its closest points.
    pub(crate) fn look<R: Send>(
        &mut self,
        surfaces: &Surfaces,
        thickness: f64,
        at: &[DVec3],
        found: &mut Found<R>,
        look: impl Fn(&Candidate, ClosestPoints, &mut Vec<R>) + Sync,
    ) {
        // Non-finite positions are detected by the callers; nothing is near there.
        if !are_finite(at) {
            return found.fill(&[], |(), _| {});
        }
        self.ensure_complete(surfaces, thickness, at, at);
        let of = [self.of_bodies, self.body_points];
        find_drifts(&self.patches, of, [&self.cached_at, at], &mut self.drifts.since_cached);
        find_drifts(&self.patches, of, [&self.from, at], &mut self.drifts.from_start);
        let drifts = &self.drifts;
        found.fill(&self.chunks, |chunk, list| {
            chunk.for_each_group(|group, candidates| {
                let nearer = drifts.since_made(group);
                for candidate in candidates {
                    // NaN must not be skipped.
                    if candidate.distance - nearer >= (1.0 + SURELY) * candidate.reach {
                        continue;
                    }
                    let closest = candidate.kind.closest(&places(candidate.points, at));
                    let distance = closest.offset.length();
                    if distance < candidate.reach || distance.is_nan() {
                        look(candidate, closest, list);
                    }
                }
            });
        });
    }

    /// Calls `visit` with all pairs nearer than `range` beyond the `thickness` at some positions, and a lower bound of their distance.
    pub(crate) fn for_each_within(
        &mut self,
        surfaces: &Surfaces,
        [thickness, range]: [f64; 2],
        at: &[DVec3],
        mut visit: impl FnMut(&Candidate, f64),
    ) {
        self.made = false;
        self.from.clear();
        self.from.extend_from_slice(at);
        self.moves.clear();
        self.moves.resize(at.len(), DVec3::ZERO);
        self.find_shapes();
        self.find_collider_boxes();
        self.next_range = range / thickness;
        self.build_cached(surfaces, thickness);
        for candidate in self.chunks.iter().flat_map(|chunk| &chunk.cached) {
            visit(candidate, candidate.distance);
        }
    }

    /// The collision-free fraction of a displacement, up to rounding; zero for a non-finite one. No point departs from the straight
    /// and uniform displacement by more than half of `slack` metres.
    pub(crate) fn collision_free_step(
        &mut self,
        surfaces: &Surfaces,
        thickness: f64,
        [from, to]: [&[DVec3]; 2],
        slack: f64,
    ) -> f64 {
        if !are_finite(from) || !are_finite(to) {
            return 0.0;
        }
        self.begin_sweep(surfaces, thickness, [from, to]);
        let drifts = &self.drifts;
        let of_chunk = |chunk: &Chunk| {
            let mut until = 1.0;
            chunk.for_each_group(|group, candidates| {
                let (nearer, coming) = drifts.on_displacement(group);
                for candidate in candidates {
                    until = candidate.time_of_impact([from, to], [nearer, coming, slack], until);
                }
            });
            until
        };
        parallel::fold(self.chunks.len(), 1, 1.0, |range| of_chunk(&self.chunks[range.start]), f64::min)
    }

    /// Finds every pair that does not keep its distance on a displacement, with the collision-free fraction of it, in an order that depends on
    /// the surfaces alone.
    pub(crate) fn collisions(
        &mut self,
        surfaces: &Surfaces,
        thickness: f64,
        [from, to]: [&[DVec3]; 2],
        found: &mut Found<Collision>,
    ) {
        self.begin_sweep(surfaces, thickness, [from, to]);
        let drifts = &self.drifts;
        found.fill(&self.chunks, |chunk, list| {
            chunk.for_each_group(|group, candidates| {
                let (nearer, coming) = drifts.on_displacement(group);
                for candidate in candidates {
                    let free = candidate.time_of_impact([from, to], [nearer, coming, 0.0], 1.0);
                    if free < 1.0 {
                        list.push(Collision { points: candidate.points, free });
                    }
                }
            });
        });
    }

    /// Ensures that the lists are complete on a displacement and finds the drifts on it.
    fn begin_sweep(&mut self, surfaces: &Surfaces, thickness: f64, [from, to]: [&[DVec3]; 2]) {
        self.ensure_complete(surfaces, thickness, from, to);
        let of = [self.of_bodies, self.body_points];
        find_drifts(&self.patches, of, [&self.cached_at, from], &mut self.drifts.since_cached);
        find_drifts(&self.patches, of, [&self.from, from], &mut self.drifts.from_start);
        find_drifts(&self.patches, of, [from, to], &mut self.drifts.displacement);
    }

    /// Ensures that the lists are complete on a straight displacement.
    fn ensure_complete(&mut self, surfaces: &Surfaces, thickness: f64, from: &[DVec3], to: &[DVec3]) {
        let margin = MARGIN * thickness;
        if self.deviation(from) > margin || self.deviation(to) > margin {
            self.make(surfaces, thickness, from, to);
        }
    }

    /// How far points are from the displacement for which the lists were built; infinite without them.
    fn deviation(&self, at: &[DVec3]) -> f64 {
        if !self.made {
            return f64::INFINITY;
        }
        let along = parallel::sum(at.len(), |i| (at[i] - self.from[i]).dot(self.moves[i]));
        let squared = parallel::sum(at.len(), |i| self.moves[i].length_squared());
        let gone = if squared > 0.0 { (along / squared).clamp(0.0, 1.0) } else { 0.0 };
        let off = |i: usize| (at[i] - self.from[i] - gone * self.moves[i]).length_squared();
        // NaN is never within a margin.
        let farther = |a: f64, b: f64| if a.is_nan() { f64::INFINITY } else { a.max(b) };
        let farthest = |range: std::ops::Range<usize>| range.map(off).fold(0.0, |a, b| farther(b, a));
        parallel::fold(at.len(), CHUNK, 0.0, farthest, f64::max).sqrt()
    }

    fn make(&mut self, surfaces: &Surfaces, thickness: f64, from: &[DVec3], to: &[DVec3]) {
        self.from.clear();
        self.from.extend_from_slice(from);
        self.moves.clear();
        self.moves.extend(from.iter().zip(to).map(|(a, b)| *b - *a));
        self.find_shapes();
        self.find_collider_boxes();
        if self.cached_is_due() {
            self.build_cached(surfaces, thickness);
        }
        self.find_groups(surfaces, thickness, to);
        self.made = true;
    }

    /// Whether another cached list would pay off. Where everything moves relative to everything, none stays valid: one that was valid for a few
    /// displacements only is not followed by the next at once, but after twice as many displacements as the last time.
    fn cached_is_due(&mut self) -> bool {
        let moved: usize = self.chunks.iter().map(|chunk| chunk.moved).sum();
        let met: usize = self.chunks.iter().map(|chunk| chunk.met).sum();
        self.displacements += 1;
        if self.cached_at.is_empty() {
            self.pause = 0;
        } else if MANY * moved <= met {
            self.valid_for = self.displacements;
            return false;
        } else if self.displacements < self.valid_for + self.pause {
            return false;
        } else {
            let paid = self.valid_for >= WORTH;
            self.pause = if paid { 0 } else { (2 * self.pause).clamp(1, LONGEST_PAUSE) };
        }
        (self.displacements, self.valid_for) = (0, 0);
        true
    }

    /// Finds the shapes of all patches on the displacement. Those of colliders at rest stay as they are: motions are then relative to them.
    fn find_shapes(&mut self) {
        let Self { patches, shapes, from, moves, of_bodies, body_points, collider_shapes_at, .. } = self;
        let at_rest = moves[*body_points..].iter().all(|way| *way == DVec3::ZERO);
        let sum = |range: std::ops::Range<usize>| moves[range].iter().sum::<DVec3>();
        let common = match at_rest && *of_bodies < patches.len() {
            true => DVec3::ZERO,
            false => parallel::fold(moves.len(), CHUNK, DVec3::ZERO, sum, |a, b| a + b) / moves.len() as f64,
        };
        let shape = |patch: &Patch| Shape::new(patch, from, moves, common);
        let are_known = at_rest && *collider_shapes_at == from[*body_points..];
        if are_known && shapes.len() == patches.len() {
            let own = shapes[..*of_bodies].par_iter_mut().zip(&*patches);
            own.with_min_len(PATCHES).for_each(|(own, patch)| *own = shape(patch));
            return;
        }
        patches.par_iter().with_min_len(PATCHES).map(shape).collect_into_vec(shapes);
        collider_shapes_at.clear();
        if at_rest {
            collider_shapes_at.extend_from_slice(&from[*body_points..]);
        }
    }

    /// Finds the boxes of colliders at the start of the displacement, unless they are where they were.
    fn find_collider_boxes(&mut self) {
        let Self { patches, of_bodies, body_points, from, collider_boxes, collider_boxes_at, .. } = self;
        let patches = &patches[*of_bodies..];
        if collider_boxes.len() != patches.len() || *collider_boxes_at != from[*body_points..] {
            collider_boxes_at.clear();
            collider_boxes_at.extend_from_slice(&from[*body_points..]);
            let boxes = patches.par_iter().with_min_len(PATCHES).map(|patch| patch.bounds(from));
            boxes.collect_into_vec(collider_boxes);
        }
    }

    /// Finds every pair that is near at the start of the displacement.
    fn build_cached(&mut self, surfaces: &Surfaces, thickness: f64) {
        self.valid_range = self.next_range * thickness;
        self.cached_at.clone_from(&self.from);
        let Self {
            chunks,
            patches,
            tree,
            shapes,
            from,
            loose,
            released,
            simd,
            of_bodies,
            collider_boxes,
            ..
        } = self;
        let (of_bodies, boxes) = (*of_bodies, &*collider_boxes);
        tree.refit(|patch| match patch.checked_sub(of_bodies) {
            Some(collider) => SweptAabb::at_rest(boxes[collider]),
            None => SweptAabb::at_rest(patches[patch].bounds(from)),
        });
        let still = true;
        let search =
            Search { surfaces, thickness, loose, released, patches, of_bodies, shapes, still, simd: *simd };
        let within = within(thickness) + self.valid_range;
        chunks.par_iter_mut().enumerate().for_each(|(c, chunk)| {
            chunk.cached.clear();
            chunk.cached_groups.clear();
            for own in search.patches_of(c) {
                tree.later_meetings(own, within, |other| {
                    if !search.patches[own].may_touch(&search.patches[other], surfaces) {
                        return;
                    }
                    let Chunk { near, cached, cached_groups, .. } = chunk;
                    let begin = cached.len() as u32;
                    let patches = [own as u32, other as u32];
                    search.find(patches, within, near, cached);
                    let end = cached.len() as u32;
                    if begin < end {
                        cached_groups.push(Group { patches, list: List::Cached, begin, end });
                    }
                });
            }
        });
        self.adapt_range();
    }

    /// Chooses how long the next list is valid. It affects the cost and lifetime of lists, and nothing else.
    fn adapt_range(&mut self) {
        let [few, many] = CANDIDATES_PER_TRIANGLE.map(|count| count * self.order.len());
        let count: usize = self.chunks.iter().map(|chunk| chunk.cached.len()).sum();
        let factor = if count > many {
            0.5
        } else if count < few {
            2.0
        } else {
            1.0
        };
        self.next_range = (factor * self.next_range).clamp(VALID_RANGES[0], VALID_RANGES[2]);
    }

    /// Finds the overlapping patches on the displacement to `to`, and the pairs of those for which the cached list is invalid.
    fn find_groups(&mut self, surfaces: &Surfaces, thickness: f64, to: &[DVec3]) {
        let Self { chunks, patches, tree, shapes, from, moves, drifts, loose, released, simd, .. } = self;
        let of_bodies = self.of_bodies;
        let boxes = &self.collider_boxes;
        let at_rest = moves[self.body_points..].iter().all(|way| *way == DVec3::ZERO);
        tree.refit(|patch| {
            let way = || patches[patch].bounds(moves);
            match patch.checked_sub(of_bodies) {
                Some(collider) if at_rest => SweptAabb::at_rest(boxes[collider]),
                Some(collider) => SweptAabb { bounds: boxes[collider], moves: way() },
                None => SweptAabb { bounds: patches[patch].bounds(from), moves: way() },
            }
        });
        let of = [of_bodies, self.body_points];
        find_drifts(patches, of, [&self.cached_at, from], &mut drifts.since_cached);
        find_drifts(patches, of, [&self.cached_at, to], &mut drifts.cached_to_end);
        let still = false;
        let search =
            Search { surfaces, thickness, loose, released, patches, of_bodies, shapes, still, simd: *simd };
        let (within, valid_range, drifts) = (within(thickness), self.valid_range, &*drifts);
        chunks.par_iter_mut().enumerate().for_each(|(c, chunk)| {
            chunk.begin();
            let mut known = 0;
            for own in search.patches_of(c) {
                tree.later_meetings(own, within, |other| {
                    if !search.patches[own].may_touch(&search.patches[other], surfaces) {
                        return;
                    }
                    let pair = [own as u32, other as u32];
                    chunk.met += 1;
                    if drifts.over_displacement(pair) <= valid_range {
                        chunk.take_cached(pair, &mut known);
                    } else {
                        chunk.find_transient(pair, &search, within);
                    }
                });
            }
        });
    }

    /// All pairs of triangles whose boxes overlap, at rest at these positions, for which `keep` is true.
    pub(crate) fn meeting_triangles(
        &mut self,
        surfaces: &Surfaces,
        at: &[DVec3],
        keep: impl Fn(u32, u32) -> bool + Sync,
    ) -> Vec<[u32; 2]> {
        self.forget();
        let Self { order, patches, tree, .. } = self;
        tree.refit(|patch| SweptAabb::at_rest(patches[patch].bounds(at)));
        let bounds = |t: u32| Aabb::of_points(&corners(surfaces.triangles[t as usize], at));
        let triangles = |patch: usize| &order[WIDTH * patch..order.len().min(WIDTH * (patch + 1))];
        let of_patch = |own: usize| {
            let mut met = Vec::new();
            tree.later_meetings(own, 0.0, |other| {
                for (i, &a) in triangles(own).iter().enumerate() {
                    let later = if own == other { i + 1 } else { 0 };
                    for &b in &triangles(other)[later..] {
                        if bounds(a).overlaps(&bounds(b)) && surfaces.may_touch(a, b) && keep(a, b) {
                            met.push([a.min(b), a.max(b)]);
                        }
                    }
                }
            });
            met
        };
        let mut met: Vec<[u32; 2]> = (0..self.of_bodies).into_par_iter().flat_map_iter(of_patch).collect();
        met.sort_unstable();
        met
    }
}

fn are_finite(at: &[DVec3]) -> bool {
    at.par_iter().with_min_len(CHUNK).all(|x| x.is_finite())
}

/// How near two primitives must come on the displacement itself, from which points may deviate, to be candidates.
fn within(thickness: f64) -> f64 {
    (1.0 + 2.0 * MARGIN) * thickness
}

impl Drifts {
    /// Upper bound on how much nearer primitives of two patches may be than when their list was built.
    fn since_made(&self, group: &Group) -> f64 {
        let drifts = match group.list {
            List::Cached => &self.since_cached,
            List::Transient => &self.from_start,
        };
        let [a, b] = group.patches.map(|patch| &drifts[patch as usize]);
        a.between(b)
    }

    /// The same, and how much nearer they come on the displacement.
    fn on_displacement(&self, group: &Group) -> (f64, f64) {
        let [a, b] = group.patches.map(|patch| &self.displacement[patch as usize]);
        (self.since_made(group), a.between(b))
    }

    /// By how much two patches have moved relative to each other since the cached list, anywhere on the displacement.
    fn over_displacement(&self, pair: [u32; 2]) -> f64 {
        let of = |drifts: &[Drift]| drifts[pair[0] as usize].between(&drifts[pair[1] as usize]);
        let (begin, end) = (of(&self.since_cached), of(&self.cached_to_end));
        // NaN is too much.
        if begin.is_nan() || end.is_nan() { f64::INFINITY } else { begin.max(end) }
    }
}

impl Chunk {
    /// Starts the lists of another displacement.
    fn begin(&mut self) {
        self.transient.clear();
        self.groups.clear();
        (self.met, self.moved) = (0, 0);
    }

    /// Takes the pairs of two patches from the cached list, from the position up to which it is `known`.
    fn take_cached(&mut self, pair: [u32; 2], known: &mut usize) {
        while self.cached_groups.get(*known).is_some_and(|group| group.patches < pair) {
            *known += 1;
        }
        self.groups.extend(self.cached_groups.get(*known).filter(|group| group.patches == pair));
    }

    fn find_transient(&mut self, patches: [u32; 2], search: &Search<'_>, within: f64) {
        let begin = self.transient.len() as u32;
        search.find(patches, within, &mut self.near, &mut self.transient);
        let end = self.transient.len() as u32;
        self.moved += 1;
        if begin < end {
            self.groups.push(Group { patches, list: List::Transient, begin, end });
        }
    }

    /// Calls `visit` with all current pairs, group by group.
    fn for_each_group(&self, mut visit: impl FnMut(&Group, &[Candidate])) {
        for group in &self.groups {
            let list = match group.list {
                List::Cached => &self.cached,
                List::Transient => &self.transient,
            };
            visit(group, &list[group.begin as usize..group.end as usize]);
        }
    }
}

/// The input of lists.
struct Search<'a> {
    surfaces: &'a Surfaces,
    thickness: f64,
    loose: &'a [Looseness],
    released: &'a Released,
    patches: &'a [Patch],
    of_bodies: usize,
    shapes: &'a [Shape],
    /// Whether everything is stationary.
    still: bool,
    simd: Simd,
}

impl Search<'_> {
    /// The patches of a chunk.
    fn patches_of(&self, chunk: usize) -> std::ops::Range<usize> {
        PATCHES * chunk..self.of_bodies.min(PATCHES * (chunk + 1))
    }

    /// Adds the pairs of two patches that come as near as `within` metres; `near` is workspace.
    fn find(&self, pair: [u32; 2], within: f64, near: &mut Vec<Near>, found: &mut Vec<Candidate>) {
        let Self { surfaces, still, simd, .. } = *self;
        let [first, second] = pair.map(|p| (&self.patches[p as usize], &self.shapes[p as usize]));
        near.clear();
        let same = pair[0] == pair[1];
        dispatch(simd, FindNear { surfaces, first, second, same, still, within, near });
        for &Near { kind, points, distance } in near.iter() {
            let is_left_out = self.is_loose(points) || self.released.has_pair(kind, points, surfaces);
            if !is_left_out && !surfaces.are_sewn(kind, points) {
                let reach = surfaces.reach(kind, points, self.thickness);
                found.push(Candidate { kind, points, reach, distance });
            }
        }
    }

    fn is_loose(&self, points: [u32; 4]) -> bool {
        if self.loose.is_empty() {
            return false;
        }
        let of = points.map(|p| self.loose[p as usize]);
        !of.contains(&Looseness::Firm) && of.contains(&Looseness::Astray)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::contact::tests::vector;
    use crate::contact::time_of_impact;

    const SIDE: u32 = 8;
    const THICKNESS: f64 = 0.08;

    /// Two sheets of squares with sides of a tenth, one above the other, at some position.
    fn sheets(origin: DVec3) -> Surfaces {
        let (mut start, mut triangles) = (Vec::new(), Vec::new());
        for sheet in 0..2 {
            let first = start.len() as u32;
            let place = |k: u32| DVec3::new(f64::from(k % SIDE), 0.0, f64::from(k / SIDE)) * 0.1;
            start.extend((0..SIDE * SIDE).map(|k| origin + place(k) + 0.13 * f64::from(sheet) * DVec3::Y));
            for corner in (0..SIDE * (SIDE - 1)).filter(|k| k % SIDE + 1 < SIDE) {
                let [a, b, c, d] = [0, 1, SIDE, SIDE + 1].map(|k| first + corner + k);
                triangles.extend([[a, b, c], [b, d, c]]);
            }
        }
        Surfaces::of_one(start, triangles)
    }

    /// Every pair of primitives without a common vertex: none is left out, by brute force.
    fn all_pairs(surfaces: &Surfaces) -> Vec<(PrimitivePair, [u32; 4])> {
        let mut edges = BTreeSet::new();
        let mut pairs = Vec::new();
        for &[a, b, c] in &surfaces.triangles {
            edges.extend([[a, b], [b, c], [c, a]].map(|[a, b]| [a.min(b), a.max(b)]));
            let others = (0..surfaces.start.len() as u32).filter(|v| ![a, b, c].contains(v));
            pairs.extend(others.map(|v| (PrimitivePair::VertexTriangle, [v, a, b, c])));
        }
        for &[a, b] in &edges {
            let later =
                edges.iter().filter(|[c, d]| [a, b] < [*c, *d] && a != *c && b != *c && a != *d && b != *d);
            pairs.extend(later.map(|[c, d]| (PrimitivePair::EdgeEdge, [a, b, *c, *d])));
        }
        pairs
    }

    /// A pair in a canonical form.
    fn named(kind: PrimitivePair, [a, b, c, d]: [u32; 4]) -> (bool, [u32; 4]) {
        match kind {
            PrimitivePair::VertexTriangle => {
                let mut corners = [b, c, d];
                corners.sort_unstable();
                (false, [a, corners[0], corners[1], corners[2]])
            }
            PrimitivePair::EdgeEdge => {
                let mut ends = [[a.min(b), a.max(b)], [c.min(d), c.max(d)]];
                ends.sort_unstable();
                (true, [ends[0][0], ends[0][1], ends[1][0], ends[1][1]])
            }
        }
    }

    fn found_at(candidates: &mut Candidates, surfaces: &Surfaces, at: &[DVec3]) -> Vec<(bool, [u32; 4])> {
        let mut found = Found::default();
        candidates.look(surfaces, THICKNESS, at, &mut found, |candidate, _, list| {
            list.push(named(candidate.kind, candidate.points));
        });
        found.iter().copied().collect()
    }

    /// A motion: a common one, the upper sheet relative to the lower, a bend, and one per point.
    fn moved(at: &[DVec3], (together, apart, bend, size): (DVec3, DVec3, f64, f64)) -> Vec<DVec3> {
        let shake = |i: usize| {
            let wave = |k: usize| ((7 * i + 3 * k) as f64 * 12.9898).sin();
            DVec3::new(wave(0), wave(1), wave(2))
        };
        let (first, upper) = (at[0], |i: usize| if i < (SIDE * SIDE) as usize { 0.0 } else { 1.0 });
        at.iter()
            .enumerate()
            .map(|(i, x)| {
                *x + together + upper(i) * apart + bend * (x.x - first.x).powi(2) * DVec3::Y + size * shake(i)
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn candidates_match_brute_force_after_any_motion(
            motions in prop::collection::vec((vector(0.5), vector(0.03), -0.3..0.3f64, 0.0..0.01f64), 1..7),
            origin in vector(300.0),
        ) {
            let surfaces = sheets(origin);
            let (pairs, mut candidates) = (all_pairs(&surfaces), Candidates::new(&surfaces, Simd::Auto));
            let mut at = surfaces.start.clone();
            for motion in motions {
                let to = moved(&at, motion);
                let free = candidates.collision_free_step(&surfaces, THICKNESS, [&at, &to], 0.0);
                let impact = |&(kind, points): &(PrimitivePair, [u32; 4]), until: f64| {
                    let (start, end) = (places(points, &at), places(points, &to));
                    let moves = std::array::from_fn(|i| end[i] - start[i]);
                    time_of_impact(kind, &start, &moves, surfaces.reach(kind, points, THICKNESS), until)
                };
                // The result depends on the order of pairs, since a pair that is tested only up to another's time of impact may come closer.
                // So every pair must allow the step, and it must be no shorter than the shortest of all pairs tested alone; up to
                // rounding, since pairs have more than one form.
                let (allowed, shortest_alone) = pairs.iter().fold((1.0f64, 1.0f64), |(allowed, shortest_alone), pair| {
                    (allowed.min(impact(pair, free)), shortest_alone.min(impact(pair, 1.0)))
                });
                let mut rebuilt = Candidates::new(&surfaces, Simd::Auto);
                let again = rebuilt.collision_free_step(&surfaces, THICKNESS, [&at, &to], 0.0);
                prop_assert_eq!(again.to_bits(), free.to_bits(), "the result depends on when lists were built");
                prop_assert!(allowed > free - 1e-9, "a pair allows only {allowed} of {free}");
                prop_assert!(free > shortest_alone - 1e-9, "{free} of at least {shortest_alone}");
                at = at.iter().zip(&to).map(|(a, b)| *a + free * (*b - *a)).collect();
                let near = |&&(kind, points): &&(PrimitivePair, [u32; 4])| {
                    kind.distance(&places(points, &at)) < surfaces.reach(kind, points, THICKNESS)
                };
                let expected: BTreeSet<_> = pairs.iter().filter(near).map(|(kind, p)| named(*kind, *p)).collect();
                let found = found_at(&mut candidates, &surfaces, &at);
                prop_assert_eq!(found.len(), expected.len(), "each pair once");
                prop_assert_eq!(&found.iter().copied().collect::<BTreeSet<_>>(), &expected);
                // The order depends on the surfaces alone.
                let mut rebuilt = Candidates::new(&surfaces, Simd::Auto);
                prop_assert_eq!(found, found_at(&mut rebuilt, &surfaces, &at));
            }
        }
    }

    /// The upper sheet slides to and fro, so that no list lasts; then both move together, so that one does.
    #[test]
    fn lists_that_do_not_last_are_left_for_a_while_and_nothing_is_missed() {
        let surfaces = sheets(DVec3::ZERO);
        let mut candidates = Candidates::new(&surfaces, Simd::Auto);
        let mut at = moved(&surfaces.start, (DVec3::ZERO, -0.07 * DVec3::Y, 0.0, 0.0));
        let mut longest_pause = 0;
        for step in 0..80 {
            let slide = 0.12 * (f64::from(step) * 1.7).sin() * DVec3::X;
            let (together, apart) =
                if step < 50 { (DVec3::ZERO, slide) } else { (0.3 * DVec3::Z, DVec3::ZERO) };
            at = moved(&at, (together, apart, 0.0, 1e-5));
            let mut rebuilt = Candidates::new(&surfaces, Simd::Auto);
            let found = found_at(&mut candidates, &surfaces, &at);
            assert!(!found.is_empty());
            assert_eq!(found, found_at(&mut rebuilt, &surfaces, &at), "step {step}");
            longest_pause = longest_pause.max(candidates.pause);
        }
        assert!(longest_pause > 1);
        assert!(candidates.chunks.iter().all(|chunk| chunk.moved == 0));
    }

    #[test]
    fn what_is_not_a_number_goes_nowhere_and_does_no_harm() {
        let surfaces = sheets(DVec3::ZERO);
        let mut candidates = Candidates::new(&surfaces, Simd::Auto);
        let at = &surfaces.start;
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut one = at.clone();
            one[17].y = bad;
            for to in [one, vec![DVec3::splat(bad); at.len()]] {
                assert_eq!(candidates.collision_free_step(&surfaces, THICKNESS, [at, &to], 0.0), 0.0);
                assert!(found_at(&mut candidates, &surfaces, &to).is_empty());
            }
        }
        let far: Vec<DVec3> = at.iter().map(|x| 1e200 * *x).collect();
        assert!(candidates.collision_free_step(&surfaces, THICKNESS, [at, &far], 0.0) <= 1.0);
        let pushed = moved(at, (DVec3::ZERO, -0.07 * DVec3::Y, 0.0, 0.0));
        let mut rebuilt = Candidates::new(&surfaces, Simd::Auto);
        assert_eq!(found_at(&mut candidates, &surfaces, &pushed), found_at(&mut rebuilt, &surfaces, &pushed));
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "builds with debug assertions contain only the baseline kernels")]
    fn instruction_sets_find_the_same_candidates() {
        let surfaces = sheets(DVec3::ZERO);
        let mut candidates = Candidates::new(&surfaces, Simd::Auto);
        let to = moved(&surfaces.start, (DVec3::X, DVec3::new(0.01, -0.04, 0.02), 0.2, 0.01));
        candidates.collision_free_step(&surfaces, THICKNESS, [&surfaces.start, &to], 0.0);
        let Candidates { patches, shapes, .. } = &candidates;
        for (own, other) in [(0, 0), (0, 13), (3, 17), (5, 6)] {
            let near = |simd: Simd| {
                let [first, second] = [own, other].map(|p: usize| (&patches[p], &shapes[p]));
                let (mut near, same) = (Vec::new(), own == other);
                let find = FindNear {
                    surfaces: &surfaces,
                    first,
                    second,
                    same,
                    still: false,
                    within: THICKNESS,
                    near: &mut near,
                };
                dispatch(simd, find);
                near
            };
            assert_eq!(near(Simd::Baseline), near(Simd::Auto));
        }
    }
}
