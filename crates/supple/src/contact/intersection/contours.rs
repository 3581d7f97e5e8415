//! Contours of intersection that divide surfaces into large parts, as two equal sheets do that cross along their middle.
//!
//! A contour is the curve along which two surfaces pass through each other. It has an image on each, and each image may divide its
//! surface into two parts. It vanishes, beyond the boundary, if exactly one of these up to four parts passes through the other surface.
//! If two of them did, on opposite sides of the contour, the surfaces would tilt about it and cross the other way round.
//!
//! A part may be beside several contours, and passes at all of them or at none. So what passes is an exact cover: a set of parts such that
//! every contour is beside exactly one. Parts are chosen greedily, by the least of
//!
//! ```text
//! Σ aᵥ dᵥ / (number of the part's contours),
//! ```
//!
//! with the area `a` of each of its vertices and the distance `d` that it has to go. A part that has started to pass has less far to go in
//! the next step, so that it is chosen again.

use glam::DVec3;

use crate::contact::intersection::enclosure::Parts;
use crate::contact::intersection::islands::{Cut, Division, Misplaced, Return};
use crate::contact::surfaces::Surfaces;

/// The contours of some crossings.
pub(super) struct Contours {
    /// The pairs of triangles that cross, in order.
    pairs: Vec<[u32; 2]>,
    /// For each triangle of each pair the image of a contour in which it is.
    image: Vec<[usize; 2]>,
    /// What may pass.
    roles: Vec<Role>,
    /// The triangles that edges of an image pass through: image and triangle, sorted.
    through: Vec<(usize, u32)>,
}

/// A part beside a contour's image on its surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Role {
    part: u32,
    contour: usize,
    image: usize,
}

impl Contours {
    /// Of all cut edges.
    pub(super) fn new(cuts: &[Cut]) -> Self {
        let mut pairs: Vec<[u32; 2]> = cuts.iter().map(|cut| cut.pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let image = images(cuts, &pairs);
        let mut contours = Self { pairs, image, roles: Vec::new(), through: Vec::new() };
        contours.find_roles(cuts);
        contours.through = cuts.iter().map(|cut| (contours.images_of(cut)[0], cut.through)).collect();
        contours.through.sort_unstable();
        contours.through.dedup();
        contours
    }

    /// The contour of a cut edge.
    pub(super) fn of(&self, cut: &Cut) -> usize {
        let [own, other] = self.images_of(cut);
        own.min(other)
    }

    /// The image that an edge cuts, and that of the same contour on what it passes through.
    fn images_of(&self, cut: &Cut) -> [usize; 2] {
        let pair = self.pairs.binary_search(&cut.pair).unwrap_or(0);
        let own = own_place(cut);
        [self.image[pair][own], self.image[pair][1 - own]]
    }

    /// Finds which parts may pass at which contours.
    fn find_roles(&mut self, cuts: &[Cut]) {
        let mut of_image: Vec<(usize, usize, Division)> =
            cuts.iter().map(|cut| (self.images_of(cut)[0], self.of(cut), cut.division)).collect();
        of_image.sort_unstable();
        let mut decided = Vec::new();
        for same in of_image.chunk_by(|a, b| a.0 == b.0) {
            let (image, contour, _) = same[0];
            let islands = same.iter().filter(|cut| matches!(cut.2, Division::Island(_))).count();
            let mut large: Vec<[u32; 2]> = Vec::new();
            for cut in same {
                if let Division::Large(parts) = cut.2 {
                    large.push(parts);
                }
            }
            if islands > large.len() {
                decided.push(contour);
            }
            large.dedup();
            if let [parts] = large[..] {
                self.roles.extend(parts.map(|part| Role { part, contour, image }));
            }
        }
        self.roles.retain(|role| !decided.contains(&role.contour));
        self.roles.sort_unstable();
    }

    /// Chooses the parts that pass, and calls `pass` with each; returns the contours at which one does. `find` finds the return of a part, by
    /// its root, through the triangles around some.
    pub(super) fn resolve(
        &self,
        surfaces: &Surfaces,
        at: &[DVec3],
        find: impl Fn(u32, &[u32]) -> Return,
        mut pass: impl FnMut(Return),
    ) -> Vec<usize> {
        if self.roles.is_empty() {
            return Vec::new();
        }
        let areas = vertex_areas(surfaces, at);
        let mut ways: Vec<(f64, &[Role], Return)> = Vec::new();
        for roles in self.roles.chunk_by(|a, b| a.part == b.part) {
            // On both sides of a contour: what passes at one of them would pass at the other.
            if roles.windows(2).any(|pair| pair[0].contour == pair[1].contour) {
                continue;
            }
            let found = find(roles[0].part, &self.through(roles));
            let way = |misplaced: &Misplaced| areas[misplaced.points[0] as usize] * misplaced.distance;
            let cost: f64 = found.misplaced.iter().map(way).sum();
            ways.push((cost / roles.len() as f64, roles, found));
        }
        ways.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut resolved: Vec<usize> = Vec::new();
        for (_, roles, found) in ways {
            if roles.iter().all(|role| !resolved.contains(&role.contour)) {
                resolved.extend(roles.iter().map(|role| role.contour));
                pass(found);
            }
        }
        resolved
    }

    /// The triangles that a part is cut by at its contours.
    fn through(&self, roles: &[Role]) -> Vec<u32> {
        let of_image = |role: &Role| {
            let wanted = role.image;
            let first = self.through.partition_point(|(image, _)| *image < wanted);
            self.through[first..].iter().take_while(move |(image, _)| *image == wanted).map(|(_, t)| *t)
        };
        roles.iter().flat_map(of_image).collect()
    }
}

/// The images of contours: where an edge passes through a triangle, both triangles at the edge continue one image, and the
/// triangle is in the other one.
fn images(cuts: &[Cut], pairs: &[[u32; 2]]) -> Vec<[usize; 2]> {
    let mut parts = Parts::new(2 * pairs.len());
    let item = |cut: &Cut, own: usize| 2 * pairs.binary_search(&cut.pair).unwrap_or(0) + own;
    let mut order: Vec<&Cut> = cuts.iter().collect();
    order.sort_by_key(|cut| (cut.edge, cut.through));
    for same in order.chunk_by(|a, b| (a.edge, a.through) == (b.edge, b.through)) {
        for pair in same.windows(2) {
            let [a, b] = [pair[0], pair[1]];
            parts.join([item(a, own_place(a)), item(b, own_place(b))]);
            parts.join([item(a, 1 - own_place(a)), item(b, 1 - own_place(b))]);
        }
    }
    (0..pairs.len()).map(|i| [2 * i, 2 * i + 1].map(|item| parts.root(item))).collect()
}

/// The place, in its pair, of the triangle with a cut edge.
fn own_place(cut: &Cut) -> usize {
    usize::from(cut.pair[0] == cut.through)
}

/// A third of the triangles' areas at each point of bodies, in m².
fn vertex_areas(surfaces: &Surfaces, at: &[DVec3]) -> Vec<f64> {
    let mut areas = vec![0.0; surfaces.body_points()];
    for t in surfaces.body_triangles() {
        let [a, b, c] = t.map(|p| at[p as usize]);
        let third = (b - a).cross(c - a).length() / 6.0;
        t.iter().for_each(|p| areas[*p as usize] += third);
    }
    areas
}
