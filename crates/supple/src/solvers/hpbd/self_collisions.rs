//! Collisions of surfaces with themselves and each other: particles against triangles, found by a spatial hash of the particles
//! (Müller 2008, section 3, line 7; the constraint is that of Müller 2006, section 4.4).
//!
//! Where a particle is near a triangle when the step begins, `q = Σ bᵢ aᵢ` is the triangle's nearest point and `n` the direction
//! from there to the particle. The constraint keeps them apart on this side,
//!
//! ```text
//! C = n·(p - Σ bᵢ aᵢ) - d >= 0,
//! ```
//!
//! with `d` the thickness, or the distance at the start where that is smaller. So nothing passes through as long as nothing
//! moves farther than the hash looks in a step: half a cell, with cells as wide as the longest edge. Friction takes back of
//! the slip at most `μ` times what the constraint has pushed. Edges against edges are not looked at.

use glam::{DVec3, IVec3};

use super::positions::Positions;
use crate::body::{Body, Elements};
use crate::energy::chunks::Found;
use crate::geometry::triangle::closest_point;
use crate::simulation::Setup;

/// A particle near a triangle.
#[derive(Debug, Clone, Copy)]
struct Pair {
    particle: u32,
    corners: [u32; 3],
    /// The nearest point of the triangle.
    barycentric: DVec3,
    normal: DVec3,
    distance: f64,
    friction: f64,
}

/// Particles by the cell of space that they are in.
#[derive(Debug, Default)]
struct SpatialHash {
    cell: f64,
    /// Where the particles of each entry of the table begin.
    first: Vec<u32>,
    particles: Vec<u32>,
    /// The entry of each particle.
    entries: Vec<u32>,
}

/// All such collisions of a step.
#[derive(Debug, Default)]
pub(super) struct SelfCollisions {
    /// Over all particles.
    triangles: Vec<[u32; 3]>,
    /// The body of each triangle and of each particle.
    body_of_triangle: Vec<u32>,
    body_of_particle: Vec<u32>,
    touches_itself: Vec<bool>,
    between_bodies: bool,
    thickness: f64,
    /// Where the particles were at the start.
    start: Vec<DVec3>,
    longest_edge: f64,
    hash: SpatialHash,
    pairs: Found<Pair>,
    /// How far each pair was pushed apart in this step, and how far friction has held back, in metres.
    spent: Vec<[f64; 2]>,
}

impl SelfCollisions {
    /// Of the bodies of a setup whose surfaces are particles; the first particle of each is given.
    pub(super) fn new(setup: &Setup, first: &[u32]) -> Self {
        let mut found = Self {
            between_bodies: setup.contact.between_bodies && setup.bodies.len() > 1,
            thickness: setup.contact.thickness,
            ..Self::default()
        };
        for ((body, &first), number) in setup.bodies.iter().zip(first).zip(0..) {
            found.touches_itself.push(body.self_contact);
            found.start.extend_from_slice(&body.start);
            found.body_of_particle.resize(found.start.len(), number);
            if body.self_contact || found.between_bodies {
                found.triangles.extend(particle_triangles(body).map(|t| t.map(|p| p + first)));
                found.body_of_triangle.resize(found.triangles.len(), number);
            }
        }
        let side = |&[a, b, c]: &[u32; 3]| {
            let [a, b, c] = [a, b, c].map(|p| found.start[p as usize]);
            a.distance(b).max(b.distance(c)).max(c.distance(a))
        };
        found.longest_edge = found.triangles.iter().map(side).fold(0.0, f64::max);
        found
    }

    /// Looks for particles near triangles where the step begins; `reach` is how far anything moves in it.
    pub(super) fn find(&mut self, x: &[DVec3], weights: &[f64], friction: &[f64], reach: f64) {
        self.spent.clear();
        if self.triangles.is_empty() {
            return;
        }
        let reach = (2.0 * reach).min(0.5 * self.longest_edge) + self.thickness;
        self.hash.fill(x, self.longest_edge.max(self.thickness));
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.look(self.triangles.len(), |t, found| {
            let corners = self.triangles[t];
            let at = corners.map(|p| x[p as usize]);
            let low = at[0].min(at[1]).min(at[2]) - reach;
            let high = at[0].max(at[1]).max(at[2]) + reach;
            self.hash.for_each_in(low, high, |particle| {
                let p = x[particle as usize];
                let inside = p.cmpge(low).all() && p.cmple(high).all();
                if inside && self.may_touch(t, particle) {
                    found.extend(self.pair(particle, corners, p, &at, weights, friction, reach));
                }
            });
        });
        self.spent.resize(pairs.iter().count(), [0.0; 2]);
        self.pairs = pairs;
    }

    fn may_touch(&self, triangle: usize, particle: u32) -> bool {
        let [of_triangle, of_particle] =
            [self.body_of_triangle[triangle], self.body_of_particle[particle as usize]];
        let meet = if of_triangle == of_particle {
            self.touches_itself[of_triangle as usize]
        } else {
            self.between_bodies
        };
        meet && !self.triangles[triangle].contains(&particle)
    }

    #[expect(clippy::too_many_arguments, reason = "one place calls it, in the inner loop")]
    fn pair(
        &self,
        particle: u32,
        corners: [u32; 3],
        p: DVec3,
        at: &[DVec3; 3],
        weights: &[f64],
        friction: &[f64],
        reach: f64,
    ) -> Option<Pair> {
        let nearest = closest_point(at, p);
        let apart = p - nearest.point;
        let distance = apart.length();
        let all_held =
            weights[particle as usize] == 0.0 && corners.iter().all(|&c| weights[c as usize] == 0.0);
        if !(distance > 1e-9 && distance < reach) || all_held {
            return None;
        }
        let barycentric = DVec3::from_array(nearest.barycentric);
        let [a, b, c] = corners.map(|c| self.start[c as usize]);
        let at_start = barycentric.x * a + barycentric.y * b + barycentric.z * c;
        let apart_at_start = self.start[particle as usize].distance(at_start);
        Some(Pair {
            particle,
            corners,
            barycentric,
            normal: apart / distance,
            distance: self.thickness.min(apart_at_start),
            friction: friction[particle as usize],
        })
    }

    /// Pushes apart what has come too near, and holds back what slips.
    pub(super) fn project(&mut self, positions: &Positions, x: &[DVec3]) {
        for (pair, [pushed, held]) in self.pairs.iter().zip(&mut self.spent) {
            pair.project(positions, x, pushed, held);
        }
    }

    /// Pairs that are pushed apart in this step.
    pub(super) fn count(&self) -> u32 {
        self.spent.iter().filter(|[pushed, _]| *pushed > 0.0).count() as u32
    }
}

impl Pair {
    fn project(&self, positions: &Positions, x: &[DVec3], pushed: &mut f64, held: &mut f64) {
        let corners = self.corners.map(|c| c as usize);
        let [a, b, c] = corners.map(|c| positions.get(c));
        let weights = self.barycentric;
        let apart = positions.get(self.particle as usize) - (weights.x * a + weights.y * b + weights.z * c);
        let depth = self.distance - apart.dot(self.normal);
        let by = if depth > 0.0 { depth * self.normal } else { DVec3::ZERO };
        *pushed += depth.max(0.0);
        if *pushed <= 0.0 {
            return;
        }
        // The slip since the step began.
        let [a, b, c] = corners.map(|c| x[c]);
        let before = x[self.particle as usize] - (weights.x * a + weights.y * b + weights.z * c);
        let moved = apart + by - before;
        let slip = moved - moved.dot(self.normal) * self.normal;
        let limit = (self.friction * *pushed - *held).max(0.0);
        let length = slip.length();
        let back = if length <= limit { slip } else { slip * (limit / length) };
        *held += back.length();
        self.move_apart(positions, by - back);
    }

    /// Changes the vector between the two by moving each by its inverse mass.
    fn move_apart(&self, positions: &Positions, by: DVec3) {
        let particle = self.particle as usize;
        let own = positions.weight(particle);
        let part = |k: usize| self.barycentric[k] * positions.weight(self.corners[k] as usize);
        let give = own + (0..3).map(|k| self.barycentric[k] * part(k)).sum::<f64>();
        if give <= 0.0 {
            return;
        }
        positions.set(particle, positions.get(particle) + by * (own / give));
        for k in 0..3 {
            let corner = self.corners[k] as usize;
            positions.set(corner, positions.get(corner) - by * (part(k) / give));
        }
    }
}

impl SpatialHash {
    /// Sorts the particles into cells of this width.
    fn fill(&mut self, x: &[DVec3], cell: f64) {
        self.cell = cell;
        let size = (2 * x.len()).next_power_of_two();
        self.first.clear();
        self.first.resize(size + 1, 0);
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        entries.extend(x.iter().map(|p| self.entry(self.cell_of(*p))));
        entries.iter().for_each(|&entry| self.first[entry as usize + 1] += 1);
        (0..size).for_each(|entry| self.first[entry + 1] += self.first[entry]);
        self.particles.clear();
        self.particles.resize(x.len(), 0);
        // Backwards, so that `first` ends where it began and the particles of an entry are in order.
        for (particle, &entry) in entries.iter().enumerate().rev() {
            self.first[entry as usize + 1] -= 1;
            self.particles[self.first[entry as usize + 1] as usize] = particle as u32;
        }
        self.first.rotate_left(1);
        self.first[size] = x.len() as u32;
        self.entries = entries;
    }

    fn cell_of(&self, p: DVec3) -> IVec3 {
        (p / self.cell).floor().as_ivec3()
    }

    fn entry(&self, cell: IVec3) -> u32 {
        let mixed = (cell.x as u32).wrapping_mul(92_837_111)
            ^ (cell.y as u32).wrapping_mul(689_287_499)
            ^ (cell.z as u32).wrapping_mul(283_923_481);
        (mixed ^ (mixed >> 15)) & (self.first.len() as u32 - 2)
    }

    /// Calls `visit` with every particle whose cell meets a box, and with some others.
    fn for_each_in(&self, low: DVec3, high: DVec3, mut visit: impl FnMut(u32)) {
        let (low, high) = (self.cell_of(low), self.cell_of(high));
        let mut seen = [u32::MAX; 64];
        let mut count = 0;
        for i in low.x..=high.x {
            for j in low.y..=high.y {
                for k in low.z..=high.z {
                    let entry = self.entry(IVec3::new(i, j, k));
                    // Two cells of the box may share an entry of the table.
                    if seen[..count].contains(&entry) {
                        continue;
                    }
                    if count < seen.len() {
                        seen[count] = entry;
                        count += 1;
                    }
                    let range = self.first[entry as usize] as usize..self.first[entry as usize + 1] as usize;
                    self.particles[range].iter().for_each(|&particle| visit(particle));
                }
            }
        }
    }
}

/// The triangles of a body's surface, by its particles; none where the surface lies inside other elements.
fn particle_triangles(body: &Body) -> impl Iterator<Item = [u32; 3]> {
    let vertex = |point: u32| match body.embedding.weights(point as usize) {
        [(vertex, _)] => Some(*vertex),
        _ => None,
    };
    let of_surface = move |t: &[u32; 3]| Some([vertex(t[0])?, vertex(t[1])?, vertex(t[2])?]);
    let cloth = match &body.elements {
        Elements::Triangles(triangles) => triangles.as_slice(),
        Elements::Tets(_) | Elements::Octants(_) => &[],
    };
    let solid = match &body.elements {
        Elements::Triangles(_) | Elements::Octants(_) => &[][..],
        Elements::Tets(_) => body.surface_triangles.as_slice(),
    };
    cloth.iter().copied().chain(solid.iter().filter_map(of_surface))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_finds_every_particle_in_a_box_once() {
        let wobble = |k: u32, by: f64| (f64::from(k) * by).sin();
        let x: Vec<DVec3> =
            (0..500).map(|k| DVec3::new(wobble(k, 12.9), wobble(k, 78.2), wobble(k, 37.7))).collect();
        let mut hash = SpatialHash::default();
        hash.fill(&x, 0.2);
        for k in 0..50 {
            let low = DVec3::new(wobble(k, 1.1), wobble(k, 2.3), wobble(k, 3.7));
            let high = low + DVec3::new(0.15, 0.3, 0.05);
            let mut found = Vec::new();
            hash.for_each_in(low, high, |p| found.push(p));
            for (p, at) in x.iter().enumerate() {
                let count = found.iter().filter(|f| **f == p as u32).count();
                let inside = at.cmpge(low).all() && at.cmple(high).all();
                assert!(count <= 1 && (count == 1 || !inside), "{p} {count}");
            }
        }
    }
}
