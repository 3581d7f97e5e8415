//! The forces of contact at the end of a step.

use glam::DVec3;

use super::ContactSystem;
use super::normal_contacts::ContactKind;
use crate::body::Embedding;
use crate::contact::forces::{ContactSite, ForceKind, ForceSums, Owner, Support};

impl ContactSystem {
    /// The number of hard colliders.
    pub(crate) fn collider_count(&self) -> usize {
        self.obstacles.len()
    }

    /// Adds the forces at `x`.
    pub(crate) fn add_forces(&self, x: &[DVec3], sums: &mut ForceSums) {
        if self.is_empty() {
            return;
        }
        let found = self.normal_contacts(x);
        for contact in found.contacts() {
            let site = site(contact.kind, contact.points, contact.weights);
            let forces = contact.gradient().map(|gradient| -gradient);
            sums.add(&site, &forces, &found.at, |p| self.owner(p), ForceKind::Normal);
        }
        for constraint in &self.friction_constraints {
            let force = -constraint.limit * self.friction.gradient(self.slip(constraint, &found.at));
            let site = site(constraint.kind, constraint.points, constraint.weights);
            let forces = constraint.weights.map(|w| w * force);
            sums.add(&site, &forces, &found.at, |p| self.owner(p), ForceKind::Friction);
        }
    }

    /// The positions of all points of bodies and hard colliders; `points` are those of the bodies.
    pub(crate) fn place_all(&self, points: &Embedding, x: &[DVec3]) -> Vec<DVec3> {
        let mut at: Vec<DVec3> = (0..points.len()).map(|i| points.position(i, x)).collect();
        at.extend_from_slice(&self.driven);
        at
    }

    /// The first of the surface points at the place of one.
    pub(crate) fn stands_for(&self, point: usize) -> usize {
        self.properties.surfaces.stands_for.get(point).map_or(point, |first| *first as usize)
    }

    /// The body or hard collider to which a point belongs.
    pub(crate) fn owner(&self, point: u32) -> Owner {
        let surfaces = &self.properties.surfaces;
        match surfaces.collider(point) {
            Some(collider) => Owner::Collider(collider as u32),
            None => Owner::Body(surfaces.body(point)),
        }
    }
}

/// Where a contact is.
pub(super) fn site(kind: ContactKind, points: [u32; 4], weights: [f64; 4]) -> ContactSite {
    let support = kind.solid().map_or(Support::Points, |solid| Support::Hard(solid as u32));
    ContactSite { points, weights, support }
}
