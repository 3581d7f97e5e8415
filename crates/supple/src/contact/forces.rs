//! Contact forces as data: on every surface point, on every collider, and between bodies.
//!
//! All are those of the state in which the last step ended: the negative gradient of the contact energies there (barrier or penalty,
//! and friction), so that they balance inertia, weight and elasticity as accurately as the step has converged. Each contact acts on its
//! two sides with forces that sum to zero, and with torques that do; what acts on a collider is what acts on the bodies at it, reversed.

use std::collections::BTreeMap;

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// A force and its torque.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Wrench {
    /// In newtons.
    pub force: DVec3,
    /// About the origin of the world, in N·m; about a point `c` it is `torque - c × force`.
    pub torque: DVec3,
}

impl Wrench {
    fn add(&mut self, force: DVec3, at: DVec3) {
        self.force += force;
        self.torque += at.cross(force);
    }
}

/// The forces of contact at the end of the last step.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ContactForces {
    /// The force on each surface point of all bodies in newtons, in the order of `Simulation::positions`. Of points at one place (split
    /// by texture coordinates) the first has it all.
    pub on_points: Vec<DVec3>,
    /// The normal forces on each surface point, from either side, over the area that it represents, in Pa. Points at one place have the
    /// same.
    pub pressure: Vec<f64>,
    /// The wrench on each collider, in the scene's order.
    pub on_colliders: Vec<Wrench>,
    /// For two bodies that touch, by their numbers in the scene's order, the wrench of the second on the first.
    pub between_bodies: Vec<([usize; 2], Wrench)>,
}

/// The side of a contact that is no surface point of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Support {
    /// None: all points are listed.
    Points,
    /// The collider of this number among the hard ones.
    Hard(u32),
    /// The collider of this number among the soft ones.
    Soft(u32),
}

/// Where a contact is: up to four points, those with a weight of zero aside, and what they lie on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ContactSite {
    pub(crate) points: [u32; 4],
    pub(crate) weights: [f64; 4],
    pub(crate) support: Support,
}

/// Whether a force presses or rubs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForceKind {
    Normal,
    Friction,
}

/// What a point belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Body(u32),
    /// The collider of this number among the hard ones.
    Collider(u32),
}

/// Sums of contact forces.
#[derive(Debug, Default)]
pub(crate) struct ForceSums {
    on_points: Vec<DVec3>,
    pressing: Vec<f64>,
    hard: Vec<Wrench>,
    soft: Vec<Wrench>,
    between_bodies: BTreeMap<[u32; 2], Wrench>,
}

impl ForceSums {
    /// None yet, on this many points of bodies and this many hard and soft colliders.
    pub(crate) fn new(points: usize, [hard, soft]: [usize; 2]) -> Self {
        Self {
            on_points: vec![DVec3::ZERO; points],
            pressing: vec![0.0; points],
            hard: vec![Wrench::default(); hard],
            soft: vec![Wrench::default(); soft],
            between_bodies: BTreeMap::new(),
        }
    }

    /// Adds the forces on the points of a contact, which are at the positions `at`.
    pub(crate) fn add(
        &mut self,
        site: &ContactSite,
        forces: &[DVec3; 4],
        at: &[DVec3],
        owner: impl Fn(u32) -> Owner,
        kind: ForceKind,
    ) {
        let parts = site.points.iter().zip(forces).filter(|(_, force)| **force != DVec3::ZERO);
        let mut of_bodies: [Option<(u32, Wrench)>; 2] = [None; 2];
        for (&point, &force) in parts {
            let place = at[point as usize];
            let body = match owner(point) {
                Owner::Collider(collider) => {
                    self.hard[collider as usize].add(force, place);
                    continue;
                }
                Owner::Body(body) => body,
            };
            self.on_points[point as usize] += force;
            if kind == ForceKind::Normal {
                self.pressing[point as usize] += force.length();
            }
            match site.support {
                Support::Points => {}
                Support::Hard(collider) => self.hard[collider as usize].add(-force, place),
                Support::Soft(collider) => self.soft[collider as usize].add(-force, place),
            }
            if let Some(side) =
                of_bodies.iter_mut().find(|side| side.as_ref().is_none_or(|(known, _)| *known == body))
            {
                side.get_or_insert((body, Wrench::default())).1.add(force, place);
            }
        }
        if let [Some((a, on_a)), Some((b, on_b))] = of_bodies {
            let (bodies, on_first) = if a < b { ([a, b], on_a) } else { ([b, a], on_b) };
            let sum = self.between_bodies.entry(bodies).or_default();
            sum.force += on_first.force;
            sum.torque += on_first.torque;
        }
    }

    /// The forces, with the area of each point in m², the first of the points at its place, and for each collider of the scene whether
    /// it is soft.
    pub(crate) fn finish(
        self,
        areas: &[f64],
        stands_for: impl Fn(usize) -> usize,
        is_soft: impl Iterator<Item = bool>,
    ) -> ContactForces {
        let (mut pressing, mut whole) = (vec![0.0; areas.len()], vec![0.0; areas.len()]);
        for (point, (force, area)) in self.pressing.iter().zip(areas).enumerate() {
            pressing[stands_for(point)] += force;
            whole[stands_for(point)] += area;
        }
        let pressure = |point: usize| {
            let place = stands_for(point);
            if whole[place] > 0.0 { pressing[place] / whole[place] } else { 0.0 }
        };
        let (mut hard, mut soft) = (self.hard.into_iter(), self.soft.into_iter());
        let next = |is_soft: bool| if is_soft { soft.next() } else { hard.next() }.unwrap_or_default();
        ContactForces {
            pressure: (0..areas.len()).map(pressure).collect(),
            on_points: self.on_points,
            on_colliders: is_soft.map(next).collect(),
            between_bodies: self
                .between_bodies
                .into_iter()
                .map(|(bodies, wrench)| (bodies.map(|body| body as usize), wrench))
                .collect(),
        }
    }
}
