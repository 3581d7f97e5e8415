//! The triangles of all bodies in contact with themselves or each other, and which pairs of their primitives may touch.

use std::collections::HashSet;

use glam::DVec3;

use super::coincident_points::CoincidentPoints;
use super::distance::closest_points::PrimitivePair;
use crate::body::ActiveSeam;
use crate::body::Body;
use supple_mesh::weld::weld;

/// All surfaces of a system that take part in contact. Points are numbered as in the system's embedding; of coincident
/// points (split by UVs) the first represents all.
#[derive(Debug, Default)]
pub struct Surfaces {
    /// Triangles over points.
    pub triangles: Vec<[u32; 3]>,
    /// Start positions of the points, in metres.
    pub start: Vec<DVec3>,
    /// The representative of each point: the first at its position.
    pub stands_for: Vec<u32>,
    body_of_point: Vec<u32>,
    touches_itself: Vec<bool>,
    between_bodies: bool,
    pieces: Vec<Pieces>,
    sewn: CoincidentPoints,
    /// The distance below which each body repels others, where that is less than the thickness; empty if nowhere.
    reach_of_body: Vec<f64>,
}

/// The vertices and edges of a triangle that no earlier triangle has: so each is tested once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pieces {
    pub(super) vertices: [bool; 3],
    /// From corner `i` to the next.
    pub(super) edges: [bool; 3],
}

impl Surfaces {
    /// The surfaces of some bodies; those without any contact are left out.
    pub fn new(bodies: &[Body], between_bodies: bool) -> Self {
        let between_bodies = between_bodies && bodies.len() > 1;
        let mut surfaces = Self { between_bodies, ..Self::default() };
        for (b, body) in bodies.iter().enumerate() {
            let first = surfaces.start.len() as u32;
            surfaces.start.extend_from_slice(&body.surface_start);
            surfaces.body_of_point.resize(surfaces.start.len(), b as u32);
            surfaces.touches_itself.push(body.self_contact);
            let stands_for = first_at_place(&body.surface_start);
            if body.self_contact || between_bodies {
                let triangles =
                    body.surface_triangles.iter().map(|t| t.map(|p| first + stands_for[p as usize]));
                surfaces.triangles.extend(triangles.filter(|[a, b, c]| a != b && b != c && c != a));
            }
            surfaces.stands_for.extend(stands_for.iter().map(|p| first + p));
        }
        surfaces.find_pieces();
        surfaces
    }

    /// One surface in contact with itself.
    #[cfg(test)]
    pub(crate) fn of_one(start: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Self {
        let stands_for = (0..start.len() as u32).collect();
        let body_of_point = vec![0; start.len()];
        let mut one = Self {
            triangles,
            start,
            stands_for,
            body_of_point,
            touches_itself: vec![true],
            ..Self::default()
        };
        one.find_pieces();
        one
    }

    /// Merges points that are sewn together: primitives that share them do not repel each other.
    pub fn sew(&mut self, bodies: &[Body], seams: &[ActiveSeam]) {
        self.sewn = CoincidentPoints::new(bodies, seams, &self.stands_for);
    }

    /// Whether two triangles are joined by a seam.
    pub fn share_a_seam(&self, a: u32, b: u32) -> bool {
        let [first, second] = [a, b].map(|t| self.triangles[t as usize]);
        self.sewn.any(&first, &second)
    }

    fn find_pieces(&mut self) {
        let mut vertices = vec![false; self.start.len()];
        let mut edges = HashSet::with_capacity(2 * self.triangles.len());
        for t in &self.triangles {
            let edge = |i: usize| [t[i].min(t[(i + 1) % 3]), t[i].max(t[(i + 1) % 3])];
            self.pieces.push(Pieces {
                vertices: [0, 1, 2].map(|i| !std::mem::replace(&mut vertices[t[i] as usize], true)),
                edges: [0, 1, 2].map(|i| edges.insert(edge(i))),
            });
        }
    }

    /// Whether no contact is possible.
    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    /// The body of a point.
    pub fn body(&self, point: u32) -> u32 {
        self.body_of_point[point as usize]
    }

    /// Whether two triangles may touch each other, by their bodies.
    pub fn may_touch(&self, a: u32, b: u32) -> bool {
        let [first, second] = [a, b].map(|t| self.body(self.triangles[t as usize][0]));
        let (itself, others) = self.touches(first);
        if first == second { itself } else { others }
    }

    /// The vertices and edges of a triangle that no earlier one has.
    pub(super) fn own_pieces(&self, triangle: u32) -> Pieces {
        self.pieces[triangle as usize]
    }

    /// Whether a body touches itself, and whether it touches others.
    pub(super) fn touches(&self, body: u32) -> (bool, bool) {
        (self.touches_itself[body as usize], self.between_bodies)
    }

    /// Whether the primitives of a pair are joined by a seam.
    pub(super) fn are_sewn(&self, kind: PrimitivePair, points: [u32; 4]) -> bool {
        let (first, second) = match kind {
            PrimitivePair::VertexTriangle => points.split_at(1),
            PrimitivePair::EdgeEdge => points.split_at(2),
        };
        self.sewn.any(first, second)
    }

    /// Sets the distance below which other bodies are repelled by each body; at most the thickness. Returns whether that
    /// changed.
    pub(crate) fn set_reaches(&mut self, reaches: impl Iterator<Item = f64> + Clone) -> bool {
        let is_new = !reaches.clone().eq(self.reach_of_body.iter().copied());
        if is_new {
            self.reach_of_body.clear();
            self.reach_of_body.extend(reaches);
        }
        is_new
    }

    /// The activation distance of a pair: the `thickness`, but within a body no more than the distance at which
    /// it started, so that no mesh is too fine for it, and between bodies no more than theirs.
    pub fn reach(&self, kind: PrimitivePair, points: [u32; 4], thickness: f64) -> f64 {
        let bodies = [0, 3].map(|side| self.body(points[side]));
        if bodies[0] != bodies[1] {
            let reach = |body: u32| self.reach_of_body.get(body as usize).copied().unwrap_or(thickness);
            return thickness.min(reach(bodies[0])).min(reach(bodies[1]));
        }
        let start = points.map(|p| self.start[p as usize]);
        if kind.is_surely_farther(&start, thickness) {
            return thickness;
        }
        kind.distance(&start).clamp(LEAST_REACH * thickness, thickness)
    }
}

/// The positions of a triangle's corners. Spelt out, since maps of arrays are not always inlined.
#[inline(always)]
pub(super) fn corners([a, b, c]: [u32; 3], at: &[DVec3]) -> [DVec3; 3] {
    [at[a as usize], at[b as usize], at[c as usize]]
}

/// The positions of four points.
#[inline(always)]
pub(super) fn places([a, b, c, d]: [u32; 4], at: &[DVec3]) -> [DVec3; 4] {
    [at[a as usize], at[b as usize], at[c as usize], at[d as usize]]
}

/// The smallest fraction of the thickness at which pairs repel each other, however near they started.
const LEAST_REACH: f64 = 0.01;

/// For each position the first one that equals it.
fn first_at_place(positions: &[DVec3]) -> Vec<u32> {
    let (places, count) = weld(positions);
    let mut first = vec![u32::MAX; count];
    for (point, place) in places.iter().enumerate() {
        let first = &mut first[*place as usize];
        *first = (*first).min(point as u32);
    }
    places.iter().map(|place| first[*place as usize]).collect()
}
