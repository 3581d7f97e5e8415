//! Springs at material points: attachments, contact, friction and wind (Milne 2016, section 8), as stiffness `Σ w w' H` of
//! points `Σ w x`. On coarser levels the same points are embedded in the coarser elements, `w' P`, with the same stiffness.
//!
//! The stiffness is stored as its Cholesky factor, `H = L Lᵀ`. A contact that is nearly closed is a spring along its normal that is 10¹⁰
//! times stiffer than flesh, and it must not resist motion along the surface. Rounded to single precision, `H` itself would have a negative
//! stiffness of 10⁻⁸ of that across the normal, far more than flesh can balance; `L Lᵀ` is never negative, however `L` is rounded.

#![allow(clippy::needless_range_loop, reason = "components are indexed as in other kernels")]

use glam::{DMat3, DVec3};

use crate::solvers::octree::element::wide::Real;
use crate::solvers::octree::multigrid::transfer::Transfer;

/// Springs of a level.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PointSprings {
    starts: Vec<u32>,
    entries: Vec<(u32, f32)>,
    /// `L` by columns: xx, yx, zx, yy, zy, zz in √(N/m).
    factors: Vec<Factor>,
}

impl PointSprings {
    /// Removes all.
    pub(crate) fn clear(&mut self) {
        self.starts.clear();
        self.starts.push(0);
        self.entries.clear();
        self.factors.clear();
    }

    /// Adds a point given by nodes and weights.
    pub(crate) fn push(&mut self, point: impl IntoIterator<Item = (u32, f32)>, stiffness: DMat3) {
        self.entries.extend(point);
        self.starts.push(self.entries.len() as u32);
        self.factors.push(square_root(stiffness));
    }

    /// Each point's nodes and weights, and the factor of its stiffness.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[(u32, f32)], &Factor)> {
        let points = self.starts.windows(2).map(|range| &self.entries[range[0] as usize..range[1] as usize]);
        points.zip(&self.factors)
    }

    /// Adds the same springs to those of the next coarser level.
    pub(crate) fn coarsen_onto(&self, transfer: &Transfer, coarse: &mut Self) {
        for (point, factor) in self.iter() {
            let first = coarse.entries.len();
            for &(fine, w) in point {
                for (node, part) in transfer.weights(fine as usize) {
                    match coarse.entries[first..].iter_mut().find(|(known, _)| *known == node) {
                        Some((_, weight)) => *weight += w * part,
                        None => coarse.entries.push((node, w * part)),
                    }
                }
            }
            coarse.starts.push(coarse.entries.len() as u32);
            coarse.factors.push(*factor);
        }
    }

    /// `y += K x`, with the opposite sign where `sign` is -1.
    pub(crate) fn add_product<T: Real>(&self, x: &[[T; 3]], y: &mut [[T; 3]], sign: f32) {
        for (point, factor) in self.iter() {
            let mut moved = [T::default(); 3];
            for &(node, w) in point {
                for c in 0..3 {
                    moved[c] += T::of(w) * x[node as usize][c];
                }
            }
            let [xx, yx, zx, yy, zy, zz] = factor.map(T::of);
            let [a, b, c] = [
                T::of(sign) * (xx * moved[0] + yx * moved[1] + zx * moved[2]),
                T::of(sign) * (yy * moved[1] + zy * moved[2]),
                T::of(sign) * (zz * moved[2]),
            ];
            let force = [xx * a, yx * a + yy * b, zx * a + zy * b + zz * c];
            for &(node, w) in point {
                for c in 0..3 {
                    y[node as usize][c] += T::of(w) * force[c];
                }
            }
        }
    }

    /// Adds the sums of absolute values of each row. Jacobi's method with these in the diagonal cannot overshoot, however
    /// stiff the springs are; their diagonal alone can be eight times too small.
    pub(crate) fn add_row_sums(&self, diagonal: &mut [[f32; 3]]) {
        for (point, factor) in self.iter() {
            let total: f32 = point.iter().map(|(_, w)| w.abs()).sum();
            let rows = matrix(factor).abs() * DVec3::ONE;
            for &(node, w) in point {
                for c in 0..3 {
                    diagonal[node as usize][c] += w.abs() * total * rows[c] as f32;
                }
            }
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        4 * self.starts.len() + 8 * self.entries.len() + size_of::<Factor>() * self.factors.len()
    }
}

/// The lower triangle of a 3x3 matrix by columns.
pub(crate) type Factor = [f32; 6];

/// The 3x3 matrix `L Lᵀ`.
pub(crate) fn matrix(factor: &Factor) -> DMat3 {
    let [xx, yx, zx, yy, zy, zz] = factor.map(f64::from);
    let lower = DMat3::from_cols(DVec3::new(xx, yx, zx), DVec3::new(0.0, yy, zy), DVec3::new(0.0, 0.0, zz));
    lower * lower.transpose()
}

/// The Cholesky factor of a positive semidefinite matrix. What remains of a matrix of low rank after its first columns is rounding error;
/// no entry is larger than the diagonal of a semidefinite matrix permits, so that it stays one.
fn square_root(h: DMat3) -> Factor {
    let mut left = h.to_cols_array_2d();
    let mut lower = [[0.0; 3]; 3];
    for k in 0..3 {
        let root = left[k][k].max(0.0).sqrt();
        lower[k][k] = root;
        for i in k + 1..3 {
            let most = left[i][i].max(0.0).sqrt();
            lower[k][i] = if root > 0.0 { (left[k][i] / root).max(-most).min(most) } else { 0.0 };
        }
        for i in k + 1..3 {
            for j in k + 1..3 {
                left[i][j] -= lower[k][i] * lower[k][j];
            }
        }
    }
    let [x, y, z] = lower;
    [x[0], x[1], x[2], y[1], y[2], z[2]].map(|entry| entry as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(K x)·x` of one spring at a node.
    fn work(springs: &PointSprings, x: DVec3) -> f64 {
        let mut y = [[0.0; 3]];
        springs.add_product(&[x.to_array()], &mut y, 1.0);
        x.dot(DVec3::from_array(y[0]))
    }

    /// A direction for each index, all over the sphere, and along the axes first.
    fn direction(index: u32) -> DVec3 {
        let t = f64::from(index);
        match index {
            0..3 => DVec3::AXES[index as usize],
            _ => DVec3::new((1.3 * t).sin(), (2.9 * t).cos(), (0.7 * t + 1.0).sin()).normalize(),
        }
    }

    #[test]
    fn a_contact_resists_along_its_normal_only_however_stiff_it_is() {
        let stiffness = 1e12;
        for normal in (0..200).map(direction) {
            let mut springs = PointSprings::default();
            springs.clear();
            let outer = DMat3::from_cols(normal.x * normal, normal.y * normal, normal.z * normal);
            springs.push([(0, 1.0)], stiffness * outer);
            assert!((work(&springs, normal) / stiffness - 1.0).abs() < 1e-6, "{normal}");
            for other in (0..50).map(direction) {
                let along = other.reject_from_normalized(normal);
                let work = work(&springs, along);
                // The square of what rounding turns the normal by, and no negative stiffness.
                assert!(work > -1e-18 * stiffness && work < 1e-13 * stiffness, "{normal} {along}: {work}");
            }
        }
    }

    #[test]
    fn springs_of_any_rank_keep_their_stiffness() {
        for k in 0..100 {
            let [a, b, c] = [0, 40, 80].map(|more| direction(k + more));
            let outer = |n: DVec3| DMat3::from_cols(n.x * n, n.y * n, n.z * n);
            for h in [outer(a), outer(a) + outer(b), outer(a) + 1e-3 * outer(b) + 10.0 * outer(c)] {
                let wrong = (matrix(&square_root(h)) - h).to_cols_array().map(f64::abs);
                assert!(wrong.into_iter().fold(0.0, f64::max) < 1e-5, "{h}");
            }
        }
    }
}
