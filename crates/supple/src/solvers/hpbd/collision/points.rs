//! The colliding points of the bodies: particles, and where a surface is embedded in a lattice of particles the surface's points
//! instead.
//!
//! A point `Σ aᵢ pᵢ` is moved by moving its particles by their weights and inverse masses, `Δpᵢ = aᵢ wᵢ / Σ aⱼ² wⱼ` of its displacement.
//! Such points are numbered first and all particles after them, since tears append particles.

use glam::DVec3;

use crate::body::{Body, Embedding};
use crate::solvers::hpbd::positions::Positions;

/// The points of all bodies.
#[derive(Debug, Default)]
pub(crate) struct Points {
    /// Of surfaces inside lattices, in terms of all particles.
    embedded: Embedding,
    /// Their friction coefficients.
    friction: Vec<f64>,
    /// Which particles belong to a lattice.
    of_lattice: Vec<bool>,
    /// For every body the first of its points inside a lattice, if it has any.
    first_embedded: Vec<Option<u32>>,
    /// The body of each point in a lattice, and the first particle of each body.
    body_of_embedded: Vec<u32>,
    first_particle: Vec<u32>,
}

impl Points {
    /// Of bodies whose first particles are given.
    pub(crate) fn new(bodies: &[Body], first: &[u32]) -> Self {
        let first_particle = first[..bodies.len()].to_vec();
        let mut points = Self { first_particle, ..Self::default() };
        for ((body, &first), number) in bodies.iter().zip(first).zip(0..) {
            let embedding = &body.embedding;
            let is_lattice = (0..embedding.len()).any(|point| embedding.weights(point).len() > 1);
            points.of_lattice.resize(first as usize + body.start.len(), is_lattice);
            points.first_embedded.push(is_lattice.then_some(points.friction.len() as u32));
            if is_lattice {
                for (point, friction) in body.point_friction().into_iter().enumerate() {
                    points.embedded.push(embedding.weights(point).iter().map(|&(v, a)| (v + first, a)));
                    points.friction.push(friction);
                    points.body_of_embedded.push(number);
                }
            }
        }
        points
    }

    /// The number of points other than particles.
    #[inline]
    pub(crate) fn embedded(&self) -> usize {
        self.friction.len()
    }

    /// The first point of a body that is not a particle.
    pub(crate) fn first_embedded(&self, body: usize) -> Option<u32> {
        self.first_embedded[body]
    }

    /// The particle of a point.
    pub(crate) fn particle(&self, point: usize) -> Option<usize> {
        point.checked_sub(self.embedded())
    }

    /// The body of a point; particles that a tear appended are of the last body.
    pub(crate) fn body(&self, point: usize) -> u32 {
        let of_particle =
            |particle| self.first_particle.partition_point(|first| *first as usize <= particle) as u32 - 1;
        self.particle(point).map_or_else(|| self.body_of_embedded[point], of_particle)
    }

    /// The particles of a point with their weights; `None` for a particle itself.
    fn weights(&self, point: usize) -> Option<&[(u32, f64)]> {
        (point < self.embedded()).then(|| self.embedded.weights(point))
    }

    /// Whether it collides by itself.
    pub(crate) fn collides(&self, point: usize) -> bool {
        self.particle(point).is_none_or(|particle| self.of_lattice.get(particle) != Some(&true))
    }

    pub(crate) fn friction(&self, point: usize, of_particles: &[f64]) -> f64 {
        self.particle(point).map_or_else(|| self.friction[point], |particle| of_particles[particle])
    }

    #[inline(always)]
    pub(crate) fn at(&self, point: usize, x: impl Fn(usize) -> DVec3) -> DVec3 {
        match self.weights(point) {
            None => x(point - self.embedded()),
            Some(weights) => weights.iter().map(|&(p, a)| a * x(p as usize)).sum(),
        }
    }

    /// The positions of all points, given those of the particles.
    pub(crate) fn place(&self, x: &[DVec3], places: &mut Vec<DVec3>) {
        places.clear();
        places.extend((0..self.embedded()).map(|point| self.at(point, |p| x[p])));
        places.extend_from_slice(x);
    }

    /// A particle's weight in a point.
    #[inline]
    pub(crate) fn part_of(&self, point: usize, particle: usize) -> f64 {
        let mut part = 0.0;
        self.for_each_part(point, |p, a| part += if p == particle { a } else { 0.0 });
        part
    }

    /// Calls `visit` with the particles of a point and their weights.
    #[inline]
    pub(crate) fn for_each_part(&self, point: usize, mut visit: impl FnMut(usize, f64)) {
        match self.weights(point) {
            None => visit(point - self.embedded(), 1.0),
            Some(weights) => weights.iter().for_each(|&(p, a)| visit(p as usize, a)),
        }
    }

    /// Whether a predicate is true for all of its particles.
    pub(crate) fn all(&self, point: usize, holds: impl Fn(u32) -> bool) -> bool {
        let mut all = true;
        self.for_each_part(point, |p, _| all &= holds(p as u32));
        all
    }

    /// Its inverse mass; zero if it is fixed or does not collide.
    pub(crate) fn give(&self, point: usize, weight: impl Fn(usize) -> f64) -> f64 {
        let mut give = 0.0;
        if self.collides(point) {
            self.for_each_part(point, |p, a| give += a * a * weight(p));
        }
        give
    }

    /// Calls `visit` with the particles of a point and how much of its displacement each takes.
    pub(crate) fn for_each_share(
        &self,
        point: usize,
        positions: &Positions,
        mut visit: impl FnMut(usize, f64),
    ) {
        let Some(weights) = self.weights(point) else { return visit(point - self.embedded(), 1.0) };
        let give = self.give(point, |p| positions.weight(p));
        for &(p, a) in weights.iter().filter(|_| give > 0.0) {
            visit(p as usize, a * positions.weight(p as usize) / give);
        }
    }

    pub(crate) fn move_by(&self, point: usize, by: DVec3, positions: &Positions) {
        let Some(weights) = self.weights(point) else {
            let particle = point - self.embedded();
            return positions.set(particle, positions.get(particle) + by);
        };
        let give = self.give(point, |p| positions.weight(p));
        for &(p, a) in weights.iter().filter(|_| give > 0.0) {
            let p = p as usize;
            positions.set(p, positions.get(p) + by * (a * positions.weight(p) / give));
        }
    }
}
