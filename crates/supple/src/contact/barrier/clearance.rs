//! How far each unknown may move before anything it belongs to can come near anything: a cheap proof that a step meets nothing.
//!
//! A pair whose distance exceeds what is kept by `g` stays apart as long as both sides move by less than `g/2` relative to the mean motion
//! of all; one with a collider, as long as the body's side and the collider together move by less than `g`. A point `Σ wⱼ xⱼ` moves by no more
//! than `Σ |wⱼ|` times the farthest of its unknowns. From spheres, capsules and planes nearby, only the motion towards them counts.

use glam::DVec3;
use supple_core::parallel::{self, CHUNK, Found};

use super::linearised::KEPT_GAP;
use super::{ContactSystem, place};
use crate::contact::collider::obstacles::Solid;
use crate::contact::{Candidate, Candidates};
use supple_core::Error;

/// The clearance of all unknowns at some positions.
#[derive(Debug, Default)]
pub(crate) struct Clearance {
    /// For the surfaces with this number.
    candidates: Option<(u32, Candidates)>,
    known: bool,
    /// The positions of unknowns, colliders and points then.
    at: Vec<DVec3>,
    driven: Vec<DVec3>,
    solids: Vec<(u32, Solid)>,
    points: Vec<DVec3>,
    /// For each unknown, to other bodies and to colliders, in metres.
    to_bodies: Vec<f64>,
    to_colliders: Vec<f64>,
    /// Between points and spheres, capsules and planes.
    planes: Found<SeparatingPlane>,
}

/// A plane between a point and a convex collider.
#[derive(Debug, Clone, Copy)]
struct SeparatingPlane {
    point: u32,
    normal: DVec3,
    /// How far the point may approach it, in metres.
    gap: f64,
}

impl Clearance {
    /// The next step starts at positions that were not checked.
    pub(crate) fn forget(&mut self) {
        self.known = false;
    }

    /// Whether it is known.
    pub(crate) fn is_known(&self) -> bool {
        self.known
    }

    fn lower(&mut self, contact: &ContactSystem, point: u32, [bodies, colliders]: [f64; 2]) {
        let weights = contact.properties.points.weights(point as usize);
        let total: f64 = weights.iter().map(|(_, w)| w.abs()).sum();
        for &(v, _) in weights {
            let [b, c] = [&mut self.to_bodies[v as usize], &mut self.to_colliders[v as usize]];
            *b = b.min(bodies / total.max(1.0));
            *c = c.min(colliders / total.max(1.0));
        }
    }

    /// Measures what is nearer than `range` beyond the distance that is kept.
    pub(crate) fn measure(&mut self, contact: &ContactSystem, x: &[DVec3], range: f64) {
        let (properties, widest) = (&contact.properties, contact.widest());
        let surfaces = &properties.surfaces;
        self.known = true;
        self.at.clear();
        self.at.extend_from_slice(x);
        self.driven.clone_from(&contact.driven);
        self.solids.clone_from(&contact.solids);
        place(&properties.points, x, &contact.driven, &mut self.points);
        self.to_bodies.clear();
        self.to_bodies.resize(x.len(), 0.5 * range);
        self.to_colliders.clear();
        self.to_colliders.resize(x.len(), range);
        let number = contact.surfaces_number;
        let kept = self.candidates.take().filter(|(of, _)| *of == number);
        let mut candidates =
            kept.map_or_else(|| Candidates::new(surfaces, properties.simd), |(_, candidates)| candidates);
        let points = std::mem::take(&mut self.points);
        candidates.for_each_within(surfaces, [widest, range], &points, |candidate, distance| {
            let [first, second] = [0, 3].map(|side| candidate.points[side]);
            // The distance between bodies grows while they start: the largest decides.
            let reach = if surfaces.body(first) == surfaces.body(second) { candidate.reach } else { widest };
            let gap = (distance - KEPT_GAP * reach).max(0.0);
            self.lower_pair(contact, candidate, gap);
        });
        self.find_planes(contact, &points, range);
        (self.points, self.candidates) = (points, Some((number, candidates)));
    }

    fn lower_pair(&mut self, contact: &ContactSystem, candidate: &Candidate, gap: f64) {
        let surfaces = &contact.properties.surfaces;
        let with_collider = candidate.points.iter().any(|p| surfaces.is_driven(*p));
        let gaps = if with_collider { [f64::INFINITY, gap] } else { [0.5 * gap, f64::INFINITY] };
        for &p in candidate.points.iter().filter(|p| !surfaces.is_driven(**p)) {
            self.lower(contact, p, gaps);
        }
    }

    /// Finds the planes that separate points from spheres, capsules and planes nearby: these are convex, and so is a triangle, so that the
    /// plane across the way between their nearest points separates them until a corner has come nearer to it by the gap.
    fn find_planes(&mut self, contact: &ContactSystem, at: &[DVec3], range: f64) {
        let kept = KEPT_GAP * contact.widest();
        let surfaces = &contact.properties.surfaces;
        let (bodies, triangles) = (surfaces.body_points(), surfaces.body_triangles());
        let count = if contact.solids.is_empty() { 0 } else { triangles.len() };
        let mut planes = std::mem::take(&mut self.planes);
        planes.look(count, |t, list| {
            let corners = triangles[t].map(|p| at[p as usize]);
            for (index, solid) in &contact.solids {
                if !surfaces.touches_collider(surfaces.body(triangles[t][0]), *index as usize) {
                    continue;
                }
                let Some(found) = solid.to_triangle_if_near(&corners, kept + range) else { continue };
                if found.distance >= kept + range {
                    continue;
                }
                let plane = |i: usize| {
                    let behind = (corners[i] - corners[0]).dot(found.normal);
                    let nearest: f64 =
                        (0..3).map(|j| found.weights[j] * (corners[j] - corners[0]).dot(found.normal)).sum();
                    let gap = found.distance + behind - nearest - kept;
                    SeparatingPlane { point: triangles[t][i], normal: found.normal, gap }
                };
                list.extend([0, 1, 2].map(plane));
            }
        });
        debug_assert!(planes.iter().all(|plane| (plane.point as usize) < bodies));
        self.planes = planes;
    }

    /// Whether nothing comes near anything on the way to `x`, with the colliders where they are now; `deviation` is how far they depart from
    /// straight ways.
    pub(crate) fn allows(&self, contact: &ContactSystem, x: &[DVec3], deviation: f64) -> bool {
        let same = self.candidates.as_ref().is_some_and(|(number, _)| *number == contact.surfaces_number);
        if !self.known || !same || self.at.len() != x.len() || self.driven.len() != contact.driven.len() {
            return false;
        }
        let sum = |range: std::ops::Range<usize>| range.map(|i| x[i] - self.at[i]).sum::<DVec3>();
        let mean = parallel::fold(x.len(), CHUNK, DVec3::ZERO, sum, |a, b| a + b) / x.len().max(1) as f64;
        let driven = self.drift_of_colliders(contact) + deviation;
        // NaN is not allowed.
        let is_free = |i: usize| {
            let moved = x[i] - self.at[i];
            moved.length() + driven < self.to_colliders[i] && (moved - mean).length() < self.to_bodies[i]
        };
        let all = |range: std::ops::Range<usize>| (range.start..range.end).all(is_free);
        let is_apart = |plane: &SeparatingPlane| {
            let weights = contact.properties.points.weights(plane.point as usize);
            let moved: DVec3 = weights.iter().map(|&(v, w)| w * (x[v as usize] - self.at[v as usize])).sum();
            plane.gap + plane.normal.dot(moved) - driven > 0.0
        };
        parallel::fold(x.len(), CHUNK, true, all, |a, b| a && b) && self.planes.iter().all(is_apart)
    }

    fn drift_of_colliders(&self, contact: &ContactSystem) -> f64 {
        let moved = self.driven.iter().zip(&contact.driven).map(|(a, b)| a.distance_squared(*b));
        let farthest = moved.fold(0.0, f64::max).sqrt();
        let changed = self.solids.iter().zip(&contact.solids).map(|((_, was), (_, is))| match (was, is) {
            (Solid::Round { .. }, Solid::Round { .. }) => was.moved_to(*is, DVec3::ZERO),
            (Solid::HalfSpace { normal, .. }, Solid::HalfSpace { normal: turned, .. })
                if normal == turned =>
            {
                0.0
            }
            _ => f64::INFINITY,
        });
        changed.fold(farthest, f64::max)
    }
}

impl ContactSystem {
    /// How far colliders depart from straight ways in this step, in metres.
    pub(crate) fn deviation_of_colliders(&self) -> Result<f64, Error> {
        self.obstacles.deviation(0.0, 1.0)
    }

    /// Whether surfaces cross.
    pub(crate) fn is_tangled(&self) -> bool {
        self.tangled
    }

    /// Whether these are the hard colliders it has, and none moves between two times.
    pub(crate) fn colliders_are_still<'a>(
        &self,
        colliders: impl Iterator<Item = &'a crate::scene::Collider>,
        span: [f64; 2],
    ) -> bool {
        self.obstacles.are_still(colliders, span)
    }
}
