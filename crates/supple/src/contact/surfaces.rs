//! The triangles of all bodies and colliders that take part in contact, and which pairs of their primitives may touch. A collider is a
//! surface whose points are driven: they are numbered after those of the bodies, and its number follows those of the bodies.

use std::collections::HashSet;

use glam::DVec3;

use super::coincident_points::CoincidentPoints;
use super::distance::closest_points::PrimitivePair;
use crate::body::ActiveSeam;
use crate::body::Body;
use crate::scene::{Collider, Contact, Meeting, Participant};
use supple_mesh::weld::{distinct_triangles, weld};

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
    /// The number of points and triangles of bodies; those of colliders follow.
    body_points: usize,
    body_triangles: usize,
    /// For each body and collider whether it touches itself.
    touches_itself: Vec<bool>,
    /// For each of them all it may touch, one row after the other.
    touch: Vec<bool>,
    /// The friction coefficients of these pairs, where the scene gives some.
    friction: Vec<Option<f64>>,
    /// Who meets whom by the scene.
    contact: Contact,
    names: Vec<BodyName>,
    bodies: usize,
    /// The activation distance of each collider, in metres.
    collider_reach: Vec<f64>,
    pieces: Vec<Pieces>,
    sewn: CoincidentPoints,
    /// Points that a tear has separated, each with the first one at its start.
    torn: Vec<[u32; 2]>,
    /// The distance below which each body repels others, where that is less than the thickness; empty if nowhere.
    reach_of_body: Vec<f64>,
}

/// By what a pair of the scene names a body.
#[derive(Debug)]
struct BodyName {
    name: String,
    group: Option<String>,
    self_contact: bool,
}

impl BodyName {
    fn participant(&self) -> Participant<'_> {
        let (name, group) = (self.name.as_str(), self.group.as_deref());
        Participant { name, group, is_collider: false, self_contact: self.self_contact }
    }
}

/// The vertices and edges of a triangle that no earlier triangle has: so each is tested once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pieces {
    pub(super) vertices: [bool; 3],
    /// From corner `i` to the next.
    pub(super) edges: [bool; 3],
}

impl Surfaces {
    /// The surfaces of some bodies; those without contact are left out, unless there are colliders.
    pub fn new(bodies: &[Body], contact: &Contact, has_colliders: bool) -> Self {
        let mut surfaces = Self { bodies: bodies.len(), contact: contact.clone(), ..Self::default() };
        surfaces.name_bodies(bodies);
        for (b, body) in bodies.iter().enumerate() {
            let first = surfaces.start.len() as u32;
            surfaces.start.extend_from_slice(&body.surface_start);
            surfaces.body_of_point.resize(surfaces.start.len(), b as u32);
            let (stands_for, torn) = representatives(body);
            surfaces.torn.extend(torn.iter().map(|pair| pair.map(|p| first + p)));
            if has_colliders || surfaces.touched_by(b as u32).contains(&true) {
                let triangles =
                    body.surface_triangles.iter().map(|t| t.map(|p| first + stands_for[p as usize]));
                surfaces.triangles.extend(distinct_triangles(triangles.collect()));
            }
            surfaces.stands_for.extend(stands_for.iter().map(|p| first + p));
        }
        (surfaces.body_points, surfaces.body_triangles) = (surfaces.start.len(), surfaces.triangles.len());
        surfaces.find_pieces();
        surfaces
    }

    /// Fills the tables of who touches whom for bodies.
    fn name_bodies(&mut self, bodies: &[Body]) {
        for (b, body) in bodies.iter().enumerate() {
            let (name, group) = (body.name.clone(), body.group.clone());
            self.names.push(BodyName { name, group, self_contact: body.self_contact });
            for other in &bodies[..=b] {
                let meeting = self.contact.meeting(other.into(), body.into());
                self.touch.push(meeting.collides);
                self.friction.push(meeting.friction);
            }
            self.touches_itself.push(self.contact.meeting(body.into(), body.into()).collides);
        }
        // Up to here each row ends at the diagonal.
        let at = |i: usize| {
            let (a, b) = (i / bodies.len(), i % bodies.len());
            a.max(b) * (a.max(b) + 1) / 2 + a.min(b)
        };
        self.touch = (0..bodies.len().pow(2)).map(|i| self.touch[at(i)]).collect();
        self.friction = (0..bodies.len().pow(2)).map(|i| self.friction[at(i)]).collect();
    }

    /// Adds a collider with its points, its triangles over them, and edges between flat triangles, which need no test. It touches
    /// neither itself nor other colliders.
    pub(crate) fn add_driven(
        &mut self,
        points: &[DVec3],
        triangles: &[[u32; 3]],
        flat: &[[u32; 2]],
        collider: &Collider,
    ) {
        let (first, before, count) =
            (self.start.len() as u32, self.triangles.len(), self.touches_itself.len());
        self.start.extend_from_slice(points);
        self.body_of_point.resize(self.start.len(), count as u32);
        self.stands_for.extend(first..first + points.len() as u32);
        let own = triangles.iter().map(|t| t.map(|p| first + p));
        self.triangles.extend(own.filter(|[a, b, c]| a != b && b != c && c != a));
        let meetings: Vec<Meeting> = self
            .names
            .iter()
            .map(|body| self.contact.meeting(body.participant(), collider.into()))
            .chain((self.bodies..=count).map(|_| Meeting::default()))
            .collect();
        grow(&mut self.touch, count, |other| meetings[other].collides);
        grow(&mut self.friction, count, |other| meetings[other].friction);
        self.touches_itself.push(false);
        self.collider_reach.push(collider.thickness);
        self.find_pieces_from(before, flat);
    }

    /// Removes all colliders.
    pub(crate) fn remove_driven(&mut self) {
        let (count, all) = (self.bodies, self.touches_itself.len());
        self.start.truncate(self.body_points);
        self.body_of_point.truncate(self.body_points);
        self.stands_for.truncate(self.body_points);
        self.triangles.truncate(self.body_triangles);
        self.pieces.truncate(self.body_triangles);
        self.touch = (0..count * count).map(|i| self.touch[i / count * all + i % count]).collect();
        self.friction = (0..count * count).map(|i| self.friction[i / count * all + i % count]).collect();
        self.touches_itself.truncate(count);
        self.collider_reach.clear();
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
            touch: vec![true],
            friction: vec![None],
            names: vec![BodyName { name: String::new(), group: None, self_contact: true }],
            bodies: 1,
            ..Self::default()
        };
        (one.body_points, one.body_triangles) = (one.start.len(), one.triangles.len());
        one.find_pieces();
        one
    }

    /// Merges points that are sewn together or were torn apart: primitives that share them do not repel each other.
    pub fn sew(&mut self, bodies: &[Body], seams: &[ActiveSeam]) {
        self.sewn = CoincidentPoints::new(bodies, seams, &self.stands_for, &self.torn);
    }

    /// Whether two triangles are joined by a seam.
    pub fn share_a_seam(&self, a: u32, b: u32) -> bool {
        let [first, second] = [a, b].map(|t| self.triangles[t as usize]);
        self.sewn.any(&first, &second)
    }

    fn find_pieces(&mut self) {
        self.pieces.clear();
        self.find_pieces_from(0, &[]);
    }

    /// The pieces of all triangles from `first` on, without the `flat` edges, which are numbered from the first point of the last collider.
    fn find_pieces_from(&mut self, first: usize, flat: &[[u32; 2]]) {
        let mut vertices = vec![false; self.start.len()];
        let mut edges = HashSet::with_capacity(2 * (self.triangles.len() - first));
        let base = self.body_of_point.iter().rposition(|body| self.body_of_point.last() != Some(body));
        let base = base.map_or(0, |last| last as u32 + 1);
        edges.extend(flat.iter().map(|[a, b]| [base + a.min(b), base + a.max(b)]));
        for t in &self.triangles[first..] {
            let edge = |i: usize| [t[i].min(t[(i + 1) % 3]), t[i].max(t[(i + 1) % 3])];
            self.pieces.push(Pieces {
                vertices: [0, 1, 2].map(|i| !std::mem::replace(&mut vertices[t[i] as usize], true)),
                edges: [0, 1, 2].map(|i| edges.insert(edge(i))),
            });
        }
    }

    /// Whether anything may touch anything.
    pub(crate) fn may_touch_any(&self) -> bool {
        self.touch.contains(&true)
    }

    /// Lets bodies touch colliders only.
    pub(crate) fn ignore_bodies(&mut self) {
        self.touch.fill(false);
    }

    /// Whether there are no triangles.
    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    /// The body of a point.
    pub fn body(&self, point: u32) -> u32 {
        self.body_of_point[point as usize]
    }

    /// Whether a point belongs to a collider.
    pub fn is_driven(&self, point: u32) -> bool {
        point as usize >= self.body_points
    }

    /// The number of points of bodies; those of colliders follow.
    pub fn body_points(&self) -> usize {
        self.body_points
    }

    /// The triangles of bodies; those of colliders follow.
    pub fn body_triangles(&self) -> &[[u32; 3]] {
        &self.triangles[..self.body_triangles]
    }

    /// The triangles of colliders.
    pub(crate) fn driven_triangles(&self) -> &[[u32; 3]] {
        &self.triangles[self.body_triangles..]
    }

    /// The collider to which a point belongs, by its number among the colliders.
    pub fn collider(&self, point: u32) -> Option<usize> {
        (self.body(point) as usize).checked_sub(self.bodies)
    }

    /// Whether two triangles may touch each other, by their bodies.
    pub fn may_touch(&self, a: u32, b: u32) -> bool {
        let [first, second] = [a, b].map(|t| self.body(self.triangles[t as usize][0]));
        self.touched_by(first)[second as usize]
    }

    /// Whether two bodies, one twice, may touch.
    pub(crate) fn bodies_touch(&self, [a, b]: [u32; 2]) -> bool {
        self.touched_by(a)[b as usize]
    }

    /// Whether a body may touch a collider, by its number among the colliders.
    pub(crate) fn touches_collider(&self, body: u32, collider: usize) -> bool {
        self.touched_by(body)[self.bodies + collider]
    }

    /// The friction coefficient that the scene gives for two bodies or colliders.
    pub(crate) fn pair_friction(&self, [a, b]: [u32; 2]) -> Option<f64> {
        self.friction[a as usize * self.touches_itself.len() + b as usize]
    }

    /// The number of a collider among bodies and colliders.
    pub(crate) fn number_of_collider(&self, collider: usize) -> u32 {
        (self.bodies + collider) as u32
    }

    /// The vertices and edges of a triangle that no earlier one has.
    pub(super) fn own_pieces(&self, triangle: u32) -> Pieces {
        self.pieces[triangle as usize]
    }

    /// For each body and collider whether a body or collider may touch it.
    #[inline(always)]
    pub(super) fn touched_by(&self, body: u32) -> &[bool] {
        let count = self.touches_itself.len();
        &self.touch[body as usize * count..][..count]
    }

    /// The activation distance between two bodies or colliders by what they specify.
    fn thickness_between(&self, bodies: [u32; 2], thickness: f64) -> f64 {
        let own = |body: u32| (body as usize).checked_sub(self.bodies).map(|c| self.collider_reach[c]);
        own(bodies[0]).or(own(bodies[1])).unwrap_or(thickness)
    }

    /// The largest activation distance of any pair, where that of bodies is `thickness`.
    pub(crate) fn largest_reach(&self, thickness: f64) -> f64 {
        self.collider_reach.iter().copied().fold(thickness, f64::max)
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

    /// The activation distance of a body towards a collider.
    pub(super) fn collider_reach(&self, body: u32, collider: usize) -> f64 {
        let reach = self.reach_of_body.get(body as usize).copied().unwrap_or(f64::INFINITY);
        self.collider_reach[collider].min(reach)
    }

    /// The activation distance of a pair: the `thickness`, but within a body no more than the distance at which
    /// it started, so that no mesh is too fine for it, and between bodies no more than theirs.
    pub fn reach(&self, kind: PrimitivePair, points: [u32; 4], thickness: f64) -> f64 {
        let bodies = [0, 3].map(|side| self.body(points[side]));
        if bodies[0] != bodies[1] {
            let reach = |body: u32| self.reach_of_body.get(body as usize).copied().unwrap_or(f64::INFINITY);
            return self.thickness_between(bodies, thickness).min(reach(bodies[0])).min(reach(bodies[1]));
        }
        let start = points.map(|p| self.start[p as usize]);
        if kind.is_surely_farther(&start, thickness) {
            return thickness;
        }
        kind.distance(&start).clamp(LEAST_REACH * thickness, thickness)
    }
}

/// Appends a row and a column to a symmetric table of `count` rows.
fn grow<T: Copy + Default>(table: &mut Vec<T>, count: usize, value: impl Fn(usize) -> T) {
    let mut grown = Vec::with_capacity((count + 1) * (count + 1));
    for row in 0..count {
        grown.extend_from_slice(&table[row * count..][..count]);
        grown.push(value(row));
    }
    grown.extend((0..=count).map(value));
    *table = grown;
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

/// For each point of a body the first at its place that moves with it, and pairs of points at one place that do not: those of a tear.
fn representatives(body: &Body) -> (Vec<u32>, Vec<[u32; 2]>) {
    let mut first = first_at_place(&body.surface_start);
    let unknown = |p: u32| match body.embedding.weights(p as usize) {
        [(v, _)] => Some(*v),
        _ => None,
    };
    let mut torn: Vec<[u32; 2]> = Vec::new();
    for point in 0..first.len() as u32 {
        let earlier = first[point as usize];
        if earlier == point || unknown(earlier) == unknown(point) {
            continue;
        }
        let same = |pair: &&[u32; 2]| pair[1] == earlier && unknown(pair[0]) == unknown(point);
        match torn.iter().rev().find(same) {
            Some(pair) => first[point as usize] = pair[0],
            None => {
                first[point as usize] = point;
                torn.push([point, earlier]);
            }
        }
    }
    (first, torn)
}

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
