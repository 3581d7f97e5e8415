//! Surfaces that already intersect, as they may at the start of a scene: which triangles do, and which direction separates them.
//!
//! Where an edge with direction `e` passes through a triangle with normal `N`, the intersection line of both triangles ends
//! at that point. With `R` along this line into the edge's own triangle, moving the edge relative to the other triangle by `δ`
//! shortens it by `δ · G`, `G = R - (e·R)/(e·N) N`; the parts of both triangles at an edge add up (Volino and
//! Magnenat-Thalmann 2006, "Resolving surface collisions through intersection contour minimization"). No inside or outside
//! is needed, so it works for cloth.

use glam::DVec3;

use crate::contact::broad_phase::candidates::Candidates;
use crate::contact::surfaces::Surfaces;
use supple_mesh::geometry::triangle::closest_point;
use supple_mesh::geometry::triangle_overlap::triangles_overlap;

/// Rings of triangles around intersecting ones with which those may meet without contact.
const RINGS: u32 = 2;

/// Whether a point's primitives may pass through others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Looseness {
    /// They may not.
    #[default]
    Firm,
    /// They may pass through those of a point that is astray.
    Near,
    /// It is on the wrong side, or of a triangle that crosses where neither side is wrong.
    Astray,
}

/// Pairs of intersecting triangles, and the points around them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tangle {
    /// The triangles, in order.
    pub crossings: Vec<[u32; 2]>,
    /// For each point, what may pass through what; empty without intersections.
    pub loose: Vec<Looseness>,
}

/// An edge that passes through a triangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piercing {
    /// The edge's ends, then the triangle's corners.
    pub points: [u32; 5],
    /// Their weights: the edge's point there minus the triangle's.
    pub weights: [f64; 5],
    /// The direction in which the edge must move to come free; at most of unit length.
    pub direction: DVec3,
}

impl Tangle {
    /// The current intersections; the points around those of bodies with each other are near.
    pub fn find(surfaces: &Surfaces, candidates: &mut Candidates, at: &[DVec3]) -> Self {
        let corners = |t: u32| surfaces.triangles[t as usize];
        let crossings = candidates.meeting_triangles(surfaces, at, |a, b| {
            !surfaces.share_a_seam(a, b) && triangles_overlap(at, corners(a), corners(b))
        });
        let of_bodies = surfaces.body_triangles().len() as u32;
        let between: Vec<[u32; 2]> = crossings.iter().filter(|pair| pair[1] < of_bodies).copied().collect();
        let loose = if between.is_empty() { Vec::new() } else { loose_points(surfaces, &between) };
        Self { crossings, loose }
    }

    /// Every edge that passes through a triangle in some pairs of triangles, with its exit direction.
    pub fn piercings(crossings: &[[u32; 2]], surfaces: &Surfaces, at: &[DVec3]) -> Vec<Piercing> {
        let mut found: Vec<Piercing> = Vec::new();
        for &[a, b] in crossings {
            for (own, other) in [(a, b), (b, a)] {
                let [own, other] = [own, other].map(|t| surfaces.triangles[t as usize]);
                found.extend((0..3).filter_map(|i| pierce(own, i, other, at)));
            }
        }
        found.sort_by_key(|piercing| piercing.points);
        // The same edge through the same triangle, once from each triangle at the edge.
        let mut merged: Vec<Piercing> = Vec::with_capacity(found.len());
        for piercing in found {
            match merged.last_mut() {
                Some(last) if last.points == piercing.points => last.direction += piercing.direction,
                _ => merged.push(piercing),
            }
        }
        merged.iter_mut().for_each(|piercing| piercing.direction = piercing.direction.clamp_length_max(1.0));
        merged
    }
}

fn loose_points(surfaces: &Surfaces, crossings: &[[u32; 2]]) -> Vec<Looseness> {
    let mut loose = vec![Looseness::Firm; surfaces.start.len()];
    for &t in crossings.as_flattened() {
        surfaces.triangles[t as usize].iter().for_each(|&p| loose[p as usize] = Looseness::Near);
    }
    for _ in 0..RINGS {
        let before = loose.clone();
        let is_near = |t: &&[u32; 3]| t.iter().any(|&p| before[p as usize] != Looseness::Firm);
        for t in surfaces.triangles.iter().filter(is_near) {
            t.iter().for_each(|&p| loose[p as usize] = Looseness::Near);
        }
    }
    loose
}

/// Calls `visit` with the weights of the corners of triangle `t` at every place where an edge of one of two triangles passes through the
/// other.
pub(crate) fn piercing_weights(t: [u32; 3], other: [u32; 3], at: &[DVec3], mut visit: impl FnMut([f64; 3])) {
    for i in 0..3 {
        if let Some(own) = pierce(t, i, other, at) {
            let on = |p: u32| (0..2).filter(|&k| own.points[k] == p).map(|k| own.weights[k]).sum();
            visit(t.map(on));
        }
        if let Some(through) = pierce(other, i, t, at) {
            let [_, _, a, b, c] = through.weights;
            visit([-a, -b, -c]);
        }
    }
}

/// The piercing of edge `i` of a triangle through another one, if there is one.
pub(super) fn pierce(own: [u32; 3], i: usize, other: [u32; 3], at: &[DVec3]) -> Option<Piercing> {
    let position = |p: u32| at[p as usize];
    let (from, to, apex) = (own[i].min(own[(i + 1) % 3]), own[i].max(own[(i + 1) % 3]), own[(i + 2) % 3]);
    if other.contains(&from) || other.contains(&to) {
        return None;
    }
    let normal_of = |[a, b, c]: [DVec3; 3]| (b - a).cross(c - a).normalize_or_zero();
    let corners = other.map(position);
    let (normal, own_normal) = (normal_of(corners), normal_of(own.map(position)));
    let (start, edge) = (position(from), position(to) - position(from));
    let [before, after] = [start, position(to)].map(|p| normal.dot(p - corners[0]));
    if before * after >= 0.0 {
        return None;
    }
    let along = before / (before - after);
    let place = start + along * edge;
    let nearest = closest_point(&corners, place);
    if nearest.point.distance_squared(place) > 1e-18 * edge.length_squared() {
        return None;
    }
    let line = own_normal.cross(normal).normalize_or_zero();
    let inward =
        (position(apex) - place) - (position(apex) - place).project_onto_normalized(edge.normalize());
    let line = if line.dot(inward) < 0.0 { -line } else { line };
    let direction = line - edge.dot(line) / edge.dot(normal) * normal;
    let [wa, wb, wc] = nearest.barycentric;
    Some(Piercing {
        points: [from, to, other[0], other[1], other[2]],
        weights: [1.0 - along, along, -wa, -wb, -wc],
        direction: direction.clamp_length_max(10.0),
    })
}
