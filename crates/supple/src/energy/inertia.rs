//! Inertia of implicit Euler and gravity: `1/(2 h²) (x - y)ᵀ M (x - y) - gᵀ M (x - y)` with `y = x₀ + h v₀`, so that its
//! minimum alone is free flight, `y + h² g`.

use glam::{DMat3, DVec3};

use supple_core::parallel::prelude::*;

use crate::energy::{Energy, PointVisitor};
use crate::material::HessianMode;
use supple_core::parallel::{self, CHUNK};

/// The inertia and weight of lumped masses over one step.
#[derive(Debug, Clone, Default)]
pub struct Inertia {
    /// Position of each vertex without gravity, in metres.
    pub target: Vec<DVec3>,
    /// Mass of each vertex in kg.
    pub mass: Vec<f64>,
    /// One over the squared step, in 1/s².
    pub rate: f64,
    /// Gravitational acceleration in m/s².
    pub gravity: DVec3,
}

impl Inertia {
    /// Free-flight position of a vertex.
    pub fn flight(&self, vertex: usize) -> DVec3 {
        self.target[vertex] + self.gravity / self.rate
    }

    /// Kinetic energy and gravitational energy, in joules.
    pub fn energies(&self, x: &[DVec3], v: &[DVec3], gravity: DVec3) -> [f64; 2] {
        let kinetic = v.iter().zip(&self.mass).map(|(v, m)| 0.5 * m * v.length_squared()).sum();
        let potential = x.iter().zip(&self.mass).map(|(x, m)| -m * gravity.dot(*x)).sum();
        [kinetic, potential]
    }
}

impl Energy for Inertia {
    fn value(&self, x: &[DVec3]) -> f64 {
        parallel::sum(x.len(), |i| {
            let moved = x[i] - self.target[i];
            self.mass[i] * (0.5 * self.rate * moved.length_squared() - self.gravity.dot(moved))
        })
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        gradient.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, g)| {
            *g += self.mass[i] * (self.rate * (x[i] - self.target[i]) - self.gravity);
        });
    }

    fn couplings(&self, _pair: &mut dyn FnMut(u32, u32)) {}

    fn point_hessians(&self, _x: &[DVec3], _curvature: HessianMode, visit: PointVisitor<'_>) {
        for (i, mass) in self.mass.iter().enumerate() {
            visit(&[(i as u32, 1.0)], DMat3::from_diagonal(DVec3::splat(mass * self.rate)));
        }
    }
}
