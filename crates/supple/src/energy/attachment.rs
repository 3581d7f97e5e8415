//! Attachments: a material point `p = Σ wᵢ xᵢ` held at a target by a spring of zero rest length,
//! `E = k/2 |p - target|²`, so `gᵢ = k wᵢ (p - target)` and `Hᵢⱼ = k wᵢ wⱼ I`.

use glam::{DMat3, DVec3};

use super::{Energy, PointVisitor};

/// A material point held by a spring.
#[derive(Debug, Clone, PartialEq)]
pub struct Attachment {
    /// The point: vertices and weights that sum to 1.
    pub point: Vec<(u32, f64)>,
    /// Where it is held, in metres.
    pub target: DVec3,
    /// Stiffness in N/m.
    pub stiffness: f64,
}

impl Attachment {
    fn offset(&self, x: &[DVec3]) -> DVec3 {
        self.point.iter().map(|&(v, w)| w * x[v as usize]).sum::<DVec3>() - self.target
    }
}

/// All attachments.
#[derive(Debug, Clone, Default)]
pub struct Attachments {
    /// The held points.
    pub attachments: Vec<Attachment>,
}

impl Energy for Attachments {
    fn value(&self, x: &[DVec3]) -> f64 {
        self.attachments.iter().map(|a| 0.5 * a.stiffness * a.offset(x).length_squared()).sum()
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        for attachment in &self.attachments {
            let force = attachment.stiffness * attachment.offset(x);
            for &(v, w) in &attachment.point {
                gradient[v as usize] += w * force;
            }
        }
    }

    fn couplings(&self, pair: &mut dyn FnMut(u32, u32)) {
        for attachment in &self.attachments {
            point_couplings(&attachment.point, pair);
        }
    }

    fn point_hessians(&self, _x: &[DVec3], visit: PointVisitor<'_>) {
        for attachment in &self.attachments {
            visit(&attachment.point, DMat3::from_diagonal(DVec3::splat(attachment.stiffness)));
        }
    }
}

/// Every pair of different vertices of a point.
pub(super) fn point_couplings(point: &[(u32, f64)], pair: &mut dyn FnMut(u32, u32)) {
    for (i, &(a, _)) in point.iter().enumerate() {
        for &(b, _) in &point[..i] {
            pair(a, b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::*;
    use super::*;

    #[test]
    fn derivatives_are_exact_and_positive() {
        let mut attachments = Attachments {
            attachments: vec![
                Attachment { point: vec![(0, 0.2), (2, 0.8)], target: DVec3::Y, stiffness: 7.0 },
                Attachment { point: vec![(1, 1.0)], target: DVec3::Z, stiffness: 2.0 },
            ],
        };
        let x = [DVec3::new(0.1, 0.2, 0.3), DVec3::new(1.0, -1.0, 0.5), DVec3::new(-0.4, 0.6, 2.0)];
        assert!(gradient_error(&attachments, &x) < 1e-8);
        assert!(hessian_error(&mut attachments, &x) < 1e-8);
        assert!(smallest_eigenvalue(&mut attachments, &x) > -1e-14);
    }
}
