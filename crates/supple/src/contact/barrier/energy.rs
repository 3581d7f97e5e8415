//! Value, gradient and Hessian of contact.

use glam::{DMat3, DVec3};

use super::{ContactSystem, combine, normal_contacts::Detection};
use crate::body::Embedding;
use crate::energy::outer;
use crate::energy::{Energy, PointVisitor};
use crate::material::HessianMode;
use supple_linear::{BlockMatrix, ScalarMatrix};

impl ContactSystem {
    /// Calls `visit` with weights on points and the Hessian of their combination.
    fn hessians(&self, found: &Detection, mode: HessianMode, mut visit: impl FnMut(&[u32], &[f64], DMat3)) {
        for contact in found.contacts() {
            visit(&contact.points, &contact.weights, contact.barrier()[2] * outer(contact.normal));
            for tilt in contact.tilts.iter().filter(|tilt| **tilt != [0.0; 4]) {
                visit(&contact.points, tilt, -contact.barrier()[1] * outer(contact.normal));
            }
        }
        for constraint in &self.friction_constraints {
            let hessian = constraint.limit
                * self.friction.hessian(self.slip(constraint, &found.at), constraint.normal, mode);
            visit(&constraint.points, &constraint.weights, hessian);
        }
        for spring in &self.untangling_springs {
            visit(&spring.points, &spring.weights, DMat3::from_diagonal(DVec3::splat(spring.stiffness)));
        }
        for limit in &self.speed_limits {
            if let Some((_, _, hessian)) = limit.at(combine(&limit.points, &limit.weights, &found.at)) {
                visit(&limit.points, &limit.weights, hessian);
            }
        }
    }
}

impl Energy for ContactSystem {
    fn value(&self, x: &[DVec3]) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let found = self.normal_contacts(x);
        let at = &found.at;
        let barrier_energies: f64 = found.contacts().map(|contact| contact.barrier()[0]).sum();
        let friction_energies = self
            .friction_constraints
            .iter()
            .map(|constraint| constraint.limit * self.friction.value(self.slip(constraint, at)));
        let untangling_energies = self.untangling_springs.iter().map(|spring| {
            let off = combine(&spring.points, &spring.weights, at) - spring.target;
            0.5 * spring.stiffness * off.length_squared()
        });
        let limits = self
            .speed_limits
            .iter()
            .filter_map(|limit| Some(limit.at(combine(&limit.points, &limit.weights, at))?.0));
        barrier_energies
            + friction_energies.sum::<f64>()
            + untangling_energies.sum::<f64>()
            + limits.sum::<f64>()
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        if self.is_empty() {
            return;
        }
        let found = self.normal_contacts(x);
        let points = &self.properties.points;
        let mut scatter = |at: &[u32], weights: &[f64], force: DVec3| {
            at.iter().zip(weights).for_each(|(&p, &w)| points.scatter(p as usize, w * force, gradient));
        };
        for constraint in &self.friction_constraints {
            let force = constraint.limit * self.friction.gradient(self.slip(constraint, &found.at));
            scatter(&constraint.points, &constraint.weights, force);
        }
        for spring in &self.untangling_springs {
            let off = combine(&spring.points, &spring.weights, &found.at) - spring.target;
            scatter(&spring.points, &spring.weights, spring.stiffness * off);
        }
        for limit in &self.speed_limits {
            if let Some((_, force, _)) = limit.at(combine(&limit.points, &limit.weights, &found.at)) {
                scatter(&limit.points, &limit.weights, force);
            }
        }
        for contact in found.contacts() {
            let forces = contact.gradient();
            contact
                .points
                .iter()
                .zip(forces)
                .for_each(|(&p, force)| points.scatter(p as usize, force, gradient));
        }
    }

    /// None that persist: pairs come and go, and their blocks are outside the pattern.
    fn couplings(&self, _pair: &mut dyn FnMut(u32, u32)) {}

    fn point_hessians(&self, x: &[DVec3], mode: HessianMode, visit: PointVisitor<'_>) {
        if self.is_empty() {
            return;
        }
        let mut found = self.normal_contacts(x);
        let mut list = std::mem::take(&mut found.weights);
        self.hessians(&found, mode, |points, weights, block| {
            on_unknowns(&self.properties.points, points, weights, &mut list);
            visit(&list, block);
        });
        found.weights = list;
    }

    /// The same sums as point by point, row by row on all threads.
    fn add_hessian(&self, x: &[DVec3], mode: HessianMode, hessian: &mut BlockMatrix) {
        if self.is_empty() {
            return;
        }
        let mut found = self.normal_contacts(x);
        let mut list = std::mem::take(&mut found.weights);
        let mut sums = std::mem::take(&mut found.sums);
        sums.clear();
        self.hessians(&found, mode, |points, weights, block| {
            on_unknowns(&self.properties.points, points, weights, &mut list);
            sums.push(&list, block);
        });
        hessian.add_points(&mut sums);
        (found.weights, found.sums) = (list, sums);
    }

    /// A bound by its diagonal, `wᵢ wⱼ <= |wᵢ| Σ |wⱼ|`: the factor of projective dynamics cannot store other pairs.
    fn add_projective(&self, x: &[DVec3], matrix: &mut ScalarMatrix) -> bool {
        self.point_hessians(x, HessianMode::PsdProjected, &mut |point, block| {
            let bound = block.to_cols_array().into_iter().map(|entry| entry * entry).sum::<f64>().sqrt();
            let total: f64 = point.iter().map(|(_, w)| w.abs()).sum();
            point.iter().for_each(|&(v, w)| matrix.add_diagonal(v, w.abs() * total * bound));
        });
        true
    }
}

/// The weights on unknowns of a combination of points, with duplicate unknowns merged.
pub(super) fn on_unknowns(
    embedding: &Embedding,
    points: &[u32],
    weights: &[f64],
    list: &mut Vec<(u32, f64)>,
) {
    list.clear();
    for (&point, &weight) in points.iter().zip(weights).filter(|(_, w)| **w != 0.0) {
        for &(v, w) in embedding.weights(point as usize) {
            match list.iter_mut().find(|(known, _)| *known == v) {
                Some((_, sum)) => *sum += weight * w,
                None => list.push((v, weight * w)),
            }
        }
    }
}
