//! Energies, one file each: value, gradient and positive-semi-definite Hessian. A step of implicit Euler minimises
//! their sum.
//!
//! Values and element contributions are computed in parallel over fixed chunks and summed in order, so that results
//! are bit-identical for any number of threads.

pub mod attachment;
pub mod bending;
#[cfg(test)]
mod conformance_tests;
pub mod element;
pub mod inertia;
#[cfg(test)]
mod patch_tests;
pub mod pressure;
pub mod seam;
mod strain_damping;
pub mod strain_limit;
pub mod wind;

use glam::{DMat3, DVec3};

use crate::material::HessianMode;
use supple_linear::{BlockMatrix, BlockPattern, ScalarMatrix};

/// Takes a material point, as vertices and weights, and its Hessian.
pub type PointVisitor<'a> = &'a mut dyn FnMut(&[(u32, f64)], DMat3);

/// One term of a step's objective, as a function of all vertex positions (fixed vertices included), in joules.
pub trait Energy: Send + Sync {
    /// Starts a step of `dt` seconds from `x`: damping is measured from here.
    fn begin_step(&mut self, _x: &[DVec3], _dt: f64) {}
    /// The energy.
    fn value(&self, x: &[DVec3]) -> f64;
    /// The recoverable part of the energy, without damping.
    fn elastic_energy(&self, x: &[DVec3]) -> f64 {
        self.value(x)
    }
    /// Adds its gradient (minus the force, in newtons).
    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]);
    /// Adds its gradient and returns the energy, bit-identical to both calls, at less cost where they share work.
    fn value_and_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) -> f64 {
        self.add_gradient(x, gradient);
        self.value(x)
    }
    /// Calls `pair` for every pair of different vertices that its Hessian can couple.
    fn couplings(&self, pair: &mut dyn FnMut(u32, u32));
    /// Locates its blocks in the pattern on which Hessians will be assembled.
    fn bind(&mut self, _pattern: &BlockPattern) {}
    /// Calls `visit` with the Hessian of every material point on which it acts, given as vertices and weights. Element energies
    /// have none: they implement `add_hessian` and `add_projective` themselves.
    fn point_hessians(&self, _x: &[DVec3], _curvature: HessianMode, _visit: PointVisitor<'_>) {}
    /// Adds its Hessian to a matrix on the pattern it is bound to.
    fn add_hessian(&self, x: &[DVec3], mode: HessianMode, hessian: &mut BlockMatrix) {
        self.point_hessians(x, mode, &mut |point, block| hessian.add_point(point, block));
    }
    /// Adds the product of the Hessians of its material points with `d`, without a matrix. Does nothing for element energies.
    fn apply_point_hessians(&self, x: &[DVec3], mode: HessianMode, d: &[DVec3], product: &mut [DVec3]) {
        self.point_hessians(x, mode, &mut |point, block| {
            let moved = block * point.iter().map(|&(v, w)| w * d[v as usize]).sum::<DVec3>();
            point.iter().for_each(|&(v, w)| product[v as usize] += w * moved);
        });
    }
    /// Adds the matrix that projective dynamics uses in place of the Hessian, one number per block; `false` if the energy has
    /// none. Points use an upper bound of their Hessian's eigenvalues.
    fn add_projective(&self, x: &[DVec3], matrix: &mut ScalarMatrix) -> bool {
        self.point_hessians(x, HessianMode::PsdProjected, &mut |point, block| {
            let bound = if is_isotropic(&block) { block.x_axis.x } else { steady_bound(&block) };
            for (i, &(a, wa)) in point.iter().enumerate() {
                matrix.add_diagonal(a, wa * wa * bound);
                point[..i].iter().for_each(|&(b, wb)| matrix.add_pair(a, b, wa * wb * bound));
            }
        });
        true
    }
}

/// An upper bound of a block's eigenvalues, in steps of a quarter octave: a matrix whose bounds followed every rotation of a
/// normal or slip of a point would have to be refactorised in every iteration.
fn steady_bound(block: &DMat3) -> f64 {
    let norm = block.to_cols_array().into_iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    if norm > 0.0 { (0.25 * (4.0 * norm.log2() + 1e-9).ceil()).exp2() } else { norm }
}

/// `v vᵀ`.
pub(crate) fn outer(v: DVec3) -> DMat3 {
    DMat3::from_cols(v * v.x, v * v.y, v * v.z)
}

/// Whether a block is a multiple of the identity.
pub(crate) fn is_isotropic(block: &DMat3) -> bool {
    *block == DMat3::from_diagonal(DVec3::splat(block.x_axis.x))
}

#[cfg(test)]
pub(crate) mod conformance {
    //! Properties that every energy must have.

    use super::*;
    use std::sync::Arc;
    use supple_core::small_matrix::reference_eigenvalues;
    use supple_linear::BlockPattern;

    /// A pseudo-random number between -1 and 1.
    pub(crate) fn noise(k: usize) -> f64 {
        (((k as f64 + 0.5) * 12.9898).sin() * 43_758.545_3) % 1.0
    }

    /// The step of differences in metres, where an energy does not require a finer one.
    const STEP: f64 = 1e-6;

    /// The largest difference between the gradient and central differences of the value, relative to the gradient.
    pub(crate) fn gradient_error(energy: &dyn Energy, x: &[DVec3]) -> f64 {
        gradient_error_by(STEP, energy, x)
    }

    /// The same with another step.
    pub(crate) fn gradient_error_by(step: f64, energy: &dyn Energy, x: &[DVec3]) -> f64 {
        let mut gradient = vec![DVec3::ZERO; x.len()];
        energy.add_gradient(x, &mut gradient);
        let scale = gradient.iter().map(|g| g.length()).fold(1e-12, f64::max);
        let mut worst: f64 = 0.0;
        for (v, g) in gradient.iter().enumerate() {
            for c in 0..3 {
                let moved = |by: f64| {
                    let mut y = x.to_vec();
                    y[v][c] += by;
                    energy.value(&y)
                };
                let difference = (moved(step) - moved(-step)) / (2.0 * step);
                worst = worst.max((difference - g[c]).abs() / scale);
            }
        }
        worst
    }

    /// The Hessian as a dense matrix, column by column.
    pub(crate) fn dense_hessian(energy: &mut dyn Energy, x: &[DVec3], mode: HessianMode) -> Vec<Vec<f64>> {
        let mut pairs = Vec::new();
        energy.couplings(&mut |a, b| pairs.push([a, b]));
        let pattern = Arc::new(BlockPattern::new(&vec![false; x.len()], &pairs));
        energy.bind(&pattern);
        let mut hessian = BlockMatrix::zero(pattern);
        energy.add_hessian(x, mode, &mut hessian);
        (0..3 * x.len())
            .map(|k| {
                let mut unit = vec![DVec3::ZERO; x.len()];
                unit[k / 3][k % 3] = 1.0;
                hessian.multiply(&unit).iter().flat_map(|v| v.to_array()).collect()
            })
            .collect()
    }

    /// The largest difference between the exact Hessian and central differences of the gradient, relative to it.
    pub(crate) fn hessian_error(energy: &mut dyn Energy, x: &[DVec3]) -> f64 {
        hessian_error_by(STEP, energy, x)
    }

    /// The same with another step.
    pub(crate) fn hessian_error_by(step: f64, energy: &mut dyn Energy, x: &[DVec3]) -> f64 {
        let hessian = dense_hessian(energy, x, HessianMode::Exact);
        let scale = hessian.iter().flatten().fold(1e-12, |m: f64, v| m.max(v.abs()));
        let mut worst: f64 = 0.0;
        for (k, column) in hessian.iter().enumerate() {
            let moved = |by: f64| {
                let mut y = x.to_vec();
                y[k / 3][k % 3] += by;
                let mut gradient = vec![DVec3::ZERO; x.len()];
                energy.add_gradient(&y, &mut gradient);
                gradient
            };
            let (high, low) = (moved(step), moved(-step));
            for (row, value) in column.iter().enumerate() {
                let difference = (high[row / 3][row % 3] - low[row / 3][row % 3]) / (2.0 * step);
                worst = worst.max((difference - value).abs() / scale);
            }
        }
        worst
    }

    /// The smallest eigenvalue of the projected Hessian over its largest.
    pub(crate) fn smallest_eigenvalue(energy: &mut dyn Energy, x: &[DVec3]) -> f64 {
        let hessian = dense_hessian(energy, x, HessianMode::PsdProjected);
        let values = reference_eigenvalues::eigenvalues(hessian.len(), |i, j| hessian[j][i]);
        values[0] / values[values.len() - 1].max(1e-300)
    }

    /// The sum of all forces, which is zero for internal energies.
    pub(crate) fn total_force(energy: &dyn Energy, x: &[DVec3]) -> DVec3 {
        let mut gradient = vec![DVec3::ZERO; x.len()];
        energy.add_gradient(x, &mut gradient);
        gradient.into_iter().sum()
    }
}
