//! Attachments: a material point `p = Σ wᵢ xᵢ` pulled to a target by a spring of zero rest length,
//! `E = k/2 |p - target|²`, so `gᵢ = k wᵢ (p - target)` and `Hᵢⱼ = k wᵢ wⱼ I`.

use glam::{DMat3, DVec3};

use crate::body::Embedding;
use crate::energy::{Energy, PointVisitor};
use crate::material::HessianMode;

/// How a material point is attached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoftConstraint {
    /// The target in metres.
    pub target: DVec3,
    /// Stiffness in N/m.
    pub stiffness: f64,
}

/// All attachments.
#[derive(Debug, Clone, Default)]
pub struct Attachments {
    points: Embedding,
    constraints: Vec<SoftConstraint>,
}

impl Attachments {
    /// Removes all attachments.
    pub fn clear(&mut self) {
        self.points.clear();
        self.constraints.clear();
    }

    /// Attaches the point with these vertices and weights, which sum to 1.
    pub fn attach(&mut self, point: impl IntoIterator<Item = (u32, f64)>, constraint: SoftConstraint) {
        self.points.push(point);
        self.constraints.push(constraint);
    }

    /// The number of attached points.
    pub fn len(&self) -> usize {
        self.constraints.len()
    }

    /// Whether there are no attachments.
    pub fn is_empty(&self) -> bool {
        self.constraints.is_empty()
    }

    /// Every point by its vertices and weights, and its attachment.
    pub fn iter(&self) -> impl Iterator<Item = (&[(u32, f64)], &SoftConstraint)> {
        self.constraints.iter().enumerate().map(|(i, constraint)| (self.points.weights(i), constraint))
    }

    fn offset(&self, i: usize, x: &[DVec3]) -> DVec3 {
        self.points.position(i, x) - self.constraints[i].target
    }
}

impl Energy for Attachments {
    fn value(&self, x: &[DVec3]) -> f64 {
        let energy = |(i, constraint): (usize, &SoftConstraint)| {
            0.5 * constraint.stiffness * self.offset(i, x).length_squared()
        };
        self.constraints.iter().enumerate().map(energy).sum()
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        for (i, constraint) in self.constraints.iter().enumerate() {
            self.points.scatter(i, constraint.stiffness * self.offset(i, x), gradient);
        }
    }

    fn couplings(&self, pair: &mut dyn FnMut(u32, u32)) {
        (0..self.constraints.len()).for_each(|i| point_couplings(self.points.weights(i), pair));
    }

    fn point_hessians(&self, _x: &[DVec3], _curvature: HessianMode, visit: PointVisitor<'_>) {
        for (i, constraint) in self.constraints.iter().enumerate() {
            visit(self.points.weights(i), DMat3::from_diagonal(DVec3::splat(constraint.stiffness)));
        }
    }
}

/// Every pair of different vertices of a point.
pub(crate) fn point_couplings(point: &[(u32, f64)], pair: &mut dyn FnMut(u32, u32)) {
    for (i, &(a, _)) in point.iter().enumerate() {
        for &(b, _) in &point[..i] {
            pair(a, b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::conformance::*;

    #[test]
    fn derivatives_are_exact_and_positive() {
        let mut attachments = Attachments::default();
        attachments.attach([(0, 0.2), (2, 0.8)], SoftConstraint { target: DVec3::Y, stiffness: 7.0 });
        attachments.attach([(1, 1.0)], SoftConstraint { target: DVec3::Z, stiffness: 2.0 });
        let x = [DVec3::new(0.1, 0.2, 0.3), DVec3::new(1.0, -1.0, 0.5), DVec3::new(-0.4, 0.6, 2.0)];
        assert!(gradient_error(&attachments, &x) < 1e-8);
        assert!(hessian_error(&mut attachments, &x) < 1e-8);
        assert!(smallest_eigenvalue(&mut attachments, &x) > -1e-14);
    }
}
