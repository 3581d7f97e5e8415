//! What colliders push in a step, by particle.
//!
//! Planes push the particles of a level, and the hierarchy hands these displacements down to the particles that the level does not have
//! (equation 7). Both are the collider's doing: a particle of mass `m` that is displaced by `Δx` in a small step of `h` seconds has taken the
//! impulse `m Δx / h` from it.

use glam::DVec3;

use crate::solvers::hpbd::positions::Positions;

/// Displacements along normals, and those of friction.
pub(crate) type ByKind<T> = [T; 2];

/// The pushes of all colliders.
#[derive(Debug, Default)]
pub(crate) struct Pushes {
    of_colliders: Vec<ColliderPushes>,
    particles: usize,
    /// The length of the small step in seconds.
    length: f64,
}

#[derive(Debug, Default)]
struct ColliderPushes {
    is_pushing: bool,
    /// On the level that is solved, in metres.
    moved: ByKind<Vec<DVec3>>,
    /// Of all small steps so far, in N·s.
    impulses: ByKind<Vec<DVec3>>,
}

impl Pushes {
    /// Forgets those of the last step.
    pub(crate) fn begin_step(&mut self) {
        for own in &mut self.of_colliders {
            own.impulses.iter_mut().for_each(Vec::clear);
        }
    }

    /// Begins a small step of `length` seconds.
    pub(crate) fn begin_small_step(&mut self, colliders: usize, particles: usize, length: f64) {
        self.of_colliders.resize_with(colliders, ColliderPushes::default);
        (self.particles, self.length) = (particles, length);
    }

    /// Adds the displacements of a particle.
    pub(crate) fn add(&mut self, collider: u32, particle: usize, by: ByKind<DVec3>) {
        let own = &mut self.of_colliders[collider as usize];
        if !own.is_pushing {
            own.is_pushing = true;
            let lists = own.moved.iter_mut().chain(&mut own.impulses);
            lists.for_each(|list| list.resize(self.particles, DVec3::ZERO));
        }
        own.moved.iter_mut().zip(by).for_each(|(moved, by)| moved[particle] += by);
    }

    /// Whether anything was pushed in this small step.
    pub(crate) fn any(&self) -> bool {
        self.of_colliders.iter().any(|own| own.is_pushing)
    }

    /// A particle follows others, with these weights.
    pub(crate) fn follow(&mut self, child: u32, parents: impl Iterator<Item = (u32, f64)> + Clone) {
        let lists = self.of_colliders.iter_mut().filter(|own| own.is_pushing).flat_map(|own| &mut own.moved);
        for moved in lists {
            let by: DVec3 = parents.clone().map(|(parent, weight)| weight * moved[parent as usize]).sum();
            moved[child as usize] += by;
        }
    }

    /// Keeps the displacements of these particles as impulses.
    pub(crate) fn keep(&mut self, particles: impl Iterator<Item = u32> + Clone, positions: &Positions) {
        for own in self.of_colliders.iter_mut().filter(|own| own.is_pushing) {
            for (moved, impulses) in own.moved.iter_mut().zip(&mut own.impulses) {
                for p in particles.clone().map(|p| p as usize) {
                    let (by, weight) = (std::mem::take(&mut moved[p]), positions.weight(p));
                    if weight > 0.0 && by != DVec3::ZERO {
                        impulses[p] += by / (weight * self.length);
                    }
                }
            }
        }
    }

    /// Ends a small step: all displacements were kept.
    pub(crate) fn end_small_step(&mut self) {
        self.of_colliders.iter_mut().for_each(|own| own.is_pushing = false);
    }

    /// The impulses on all particles by each collider in the step, in N·s; no list where there are none.
    pub(crate) fn impulses(&self) -> impl Iterator<Item = &ByKind<Vec<DVec3>>> {
        self.of_colliders.iter().map(|own| &own.impulses)
    }
}
