//! Friction of contacts: its limit, its anchors, and the motion of colliders that it follows.

use glam::DVec3;

use super::forces::site;
use super::normal_contacts::NormalContact;
use super::{ContactSystem, combine, energy::on_unknowns};
use crate::contact::friction::impulses::{FrictionImpulses, NormalImpulse};
use crate::contact::friction::{FrictionConstraint, across};

impl ContactSystem {
    /// Adds the contacts that friction impulses act on, over a step of `dt` seconds that ends at `x`.
    pub fn add_impulses(&self, x: &[DVec3], dt: f64, impulses: &mut FrictionImpulses) {
        if self.is_empty() {
            return;
        }
        let mut found = self.normal_contacts(x);
        let mut list = std::mem::take(&mut found.weights);
        for contact in found.contacts() {
            let limit = dt * self.friction_limit(contact);
            on_unknowns(&self.properties.points, &contact.points, &contact.weights, &mut list);
            if limit > 0.0 {
                let carried = self.carried(contact, &found.at);
                let press = NormalImpulse { normal: contact.normal, limit, carried };
                impulses.push(&list, press, site(contact.kind, contact.points, contact.weights));
            }
        }
        found.weights = list;
    }

    /// How far the collider's side of a contact moves in the whole step.
    pub(super) fn carried(&self, contact: &NormalContact, at: &[DVec3]) -> DVec3 {
        let bodies = self.properties.surfaces.body_points();
        if let Some(solid) = contact.kind.solid() {
            let here = combine(&contact.points, &contact.weights, at);
            return here - self.obstacles.carry_back(solid, here, self.pose);
        }
        let driven = contact.points.iter().zip(contact.weights).filter(|(p, _)| **p as usize >= bodies);
        driven.map(|(p, w)| -w * self.obstacles.moved(*p as usize - bodies, at[*p as usize])).sum()
    }

    /// The largest friction of a pair in newtons.
    pub(super) fn friction_limit(&self, contact: &NormalContact) -> f64 {
        self.friction_coefficient(contact) * -contact.barrier()[1]
    }

    /// The friction coefficient of a pair.
    pub(super) fn friction_coefficient(&self, contact: &NormalContact) -> f64 {
        let surfaces = &self.properties.surfaces;
        let second = match contact.kind.solid() {
            Some(solid) => surfaces.number_of_collider(solid),
            None => surfaces.body(contact.points[3]),
        };
        if let Some(friction) = surfaces.pair_friction([surfaces.body(contact.points[0]), second]) {
            return friction;
        }
        let of_body = |p: u32| self.properties.friction.get(p as usize).copied();
        // Each side has weights that sum to one.
        let sides = contact.points.iter().zip(contact.weights);
        let bodies: f64 = sides.filter_map(|(&p, w)| Some(w.abs() * of_body(p)?)).sum();
        match self.collider_of(contact) {
            Some(collider) => self.obstacles.friction(collider).unwrap_or(bodies),
            None => 0.5 * bodies,
        }
    }

    /// The collider of a contact that has one.
    pub(super) fn collider_of(&self, contact: &NormalContact) -> Option<usize> {
        let surfaces = &self.properties.surfaces;
        contact.kind.solid().or_else(|| contact.points.iter().find_map(|p| surfaces.collider(*p)))
    }

    pub(super) fn lagged_friction(
        &self,
        contact: &NormalContact,
        at: &[DVec3],
    ) -> Option<FrictionConstraint> {
        let NormalContact { kind, points, weights, normal, .. } = *contact;
        let limit = self.friction_limit(contact);
        let here = combine(&points, &weights, at);
        let slipped = self.adhesion.slip(kind, points, normal, at);
        let anchor = here - slipped;
        let start_anchor = anchor;
        let constraint = FrictionConstraint { kind, points, weights, normal, anchor, start_anchor, limit };
        (limit > 0.0).then_some(constraint)
    }

    pub(super) fn slip(&self, constraint: &FrictionConstraint, at: &[DVec3]) -> DVec3 {
        across(combine(&constraint.points, &constraint.weights, at) - constraint.anchor, constraint.normal)
    }
}
