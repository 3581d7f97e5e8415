//! Contacts as linear inequalities on the displacements of unknowns, for families that project positions.
//!
//! A contact at the distance `d` with the normal `n` and the weights `W` on unknowns, which moves by `Δ` while the collider's side of
//! it is carried along by `c` in the next part of the step, stays farther apart than a fraction `η` of its activation distance `D` if
//!
//! ```text
//! C = n·(Σ Wⱼ Δⱼ - c) + d - η D >= 0.
//! ```

use glam::DVec3;

use super::energy::on_unknowns;
use super::forces::site;
use super::normal_contacts::{ContactKind, NormalContact};
use super::{ContactSystem, combine};
use crate::contact::forces::ContactSite;
use supple_core::Error;

/// The fraction of the activation distance that contacts keep.
pub(super) const KEPT_GAP: f64 = 0.5;

/// A contact as an inequality.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinearisedContact {
    /// Its weights, as a range of all.
    begin: u32,
    end: u32,
    /// From the second side to the first.
    pub(crate) normal: DVec3,
    /// `d - η D`, in metres.
    pub(crate) spare: f64,
    /// How far the collider's side goes in the next part of the step, in metres; zero between bodies.
    pub(crate) carried: DVec3,
    /// The friction coefficient.
    pub(crate) friction: f64,
    /// Its points.
    pub(crate) site: ContactSite,
}

/// All contacts at some positions.
#[derive(Debug, Default)]
pub(crate) struct LinearisedContacts {
    pub(crate) list: Vec<LinearisedContact>,
    weights: Vec<(u32, f64)>,
    one: Vec<(u32, f64)>,
    /// The control points of colliders at the end of the part.
    ends: Vec<DVec3>,
}

impl LinearisedContacts {
    /// The weights of a contact on unknowns.
    pub(crate) fn weights(&self, contact: &LinearisedContact) -> &[(u32, f64)] {
        &self.weights[contact.begin as usize..contact.end as usize]
    }
}

impl ContactSystem {
    /// Linearises all contacts at `x`, with the colliders where they are, while these move on to the fraction `goal` of the step.
    pub(crate) fn linearise(
        &mut self,
        x: &[DVec3],
        goal: f64,
        contacts: &mut LinearisedContacts,
    ) -> Result<(), Error> {
        let LinearisedContacts { list, weights, one, ends } = contacts;
        self.obstacles.place(goal, ends)?;
        list.clear();
        weights.clear();
        let found = self.normal_contacts(x);
        for contact in found.contacts().filter(|contact| contact.distance > 0.0) {
            on_unknowns(&self.properties.points, &contact.points, &contact.weights, one);
            let begin = weights.len() as u32;
            weights.extend_from_slice(one);
            list.push(LinearisedContact {
                begin,
                end: weights.len() as u32,
                normal: contact.normal,
                spare: contact.distance - KEPT_GAP * self.reach_of(contact),
                carried: self.carried_on(contact, &found.at, (goal, &*ends)),
                friction: self.friction_coefficient(contact),
                site: site(contact.kind, contact.points, contact.weights),
            });
        }
        Ok(())
    }

    /// The activation distance of a contact.
    fn reach_of(&self, contact: &NormalContact) -> f64 {
        let surfaces = &self.properties.surfaces;
        match contact.kind {
            ContactKind::Pair(kind) => surfaces.reach(kind, contact.points, self.properties.thickness),
            ContactKind::VertexSolid(solid) | ContactKind::TriangleSolid(solid) => {
                surfaces.collider_reach(surfaces.body(contact.points[0]), solid as usize)
            }
        }
    }

    /// How far the collider's side of a contact goes from where it is to the fraction `goal` of the step.
    fn carried_on(&self, contact: &NormalContact, at: &[DVec3], (goal, ends): (f64, &[DVec3])) -> DVec3 {
        if let Some(solid) = contact.kind.solid() {
            let touched = combine(&contact.points, &contact.weights, at) - contact.distance * contact.normal;
            let start = self.obstacles.carry_back(solid, touched, self.pose);
            return self.obstacles.carry(solid, start, goal) - touched;
        }
        let bodies = self.properties.surfaces.body_points();
        let driven = contact.points.iter().zip(contact.weights).filter(|(p, _)| **p as usize >= bodies);
        driven.map(|(p, w)| -w * (ends[*p as usize - bodies] - at[*p as usize])).sum()
    }
}
