//! Inertia of implicit Euler: `1/(2 h²) (x - y)ᵀ M (x - y)` with `y = x₀ + h v₀ + h² g`, so that its minimum alone is
//! free flight under gravity.

use glam::{DMat3, DVec3};

use super::{Energy, chunked_sum};

/// The inertia of lumped masses over one step.
#[derive(Debug, Clone, Default)]
pub struct Inertia {
    /// Where each vertex would fly freely, in metres.
    pub target: Vec<DVec3>,
    /// Mass over the squared step of each vertex, in kg/s².
    pub weight: Vec<f64>,
}

impl Energy for Inertia {
    fn value(&self, x: &[DVec3]) -> f64 {
        chunked_sum(x, |i, p| 0.5 * self.weight[i] * p.distance_squared(self.target[i]))
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        for (i, g) in gradient.iter_mut().enumerate() {
            *g += self.weight[i] * (x[i] - self.target[i]);
        }
    }

    fn couplings(&self, _pair: &mut dyn FnMut(u32, u32)) {}

    fn point_hessians(&self, _x: &[DVec3], visit: &mut dyn FnMut(&[(u32, f64)], DMat3)) {
        for (i, &weight) in self.weight.iter().enumerate() {
            visit(&[(i as u32, 1.0)], DMat3::from_diagonal(DVec3::splat(weight)));
        }
    }
}
