//! Springs at material points: attachments, contact, friction and wind (Milne 2016, section 8), as stiffness `Σ w w' H` of
//! points `Σ w x`. On coarser levels the same points are embedded in the coarser elements, `w' P`, with the same stiffness.

#![allow(clippy::needless_range_loop, reason = "components are indexed as in other kernels")]

use glam::{DMat3, DVec3};

use crate::solvers::octree::element::wide::Real;
use crate::solvers::octree::multigrid::transfer::Transfer;

/// Springs of a level.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PointSprings {
    starts: Vec<u32>,
    entries: Vec<(u32, f32)>,
    /// `H`: xx, yy, zz, yz, xz, xy in N/m.
    stiffness: Vec<[f32; 6]>,
}

impl PointSprings {
    /// Removes all.
    pub(crate) fn clear(&mut self) {
        self.starts.clear();
        self.starts.push(0);
        self.entries.clear();
        self.stiffness.clear();
    }

    /// Adds a point given by nodes and weights.
    pub(crate) fn push(&mut self, point: impl IntoIterator<Item = (u32, f32)>, stiffness: DMat3) {
        let [a, b, c] = [stiffness.x_axis, stiffness.y_axis, stiffness.z_axis];
        self.entries.extend(point);
        self.starts.push(self.entries.len() as u32);
        self.stiffness.push([a.x, b.y, c.z, b.z, a.z, a.y].map(|entry| entry as f32));
    }

    /// Each point's nodes and weights, and its stiffness.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[(u32, f32)], &[f32; 6])> {
        let points = self.starts.windows(2).map(|range| &self.entries[range[0] as usize..range[1] as usize]);
        points.zip(&self.stiffness)
    }

    /// Adds the same springs to those of the next coarser level.
    pub(crate) fn coarsen_onto(&self, transfer: &Transfer, coarse: &mut Self) {
        for (point, stiffness) in self.iter() {
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
            coarse.stiffness.push(*stiffness);
        }
    }

    /// `y += K x`, with the opposite sign where `sign` is -1.
    pub(crate) fn add_product<T: Real>(&self, x: &[[T; 3]], y: &mut [[T; 3]], sign: f32) {
        for (point, h) in self.iter() {
            let mut moved = [T::default(); 3];
            for &(node, w) in point {
                for c in 0..3 {
                    moved[c] += T::of(w) * x[node as usize][c];
                }
            }
            let h = h.map(|entry| T::of(sign * entry));
            let force = [
                h[0] * moved[0] + h[5] * moved[1] + h[4] * moved[2],
                h[5] * moved[0] + h[1] * moved[1] + h[3] * moved[2],
                h[4] * moved[0] + h[3] * moved[1] + h[2] * moved[2],
            ];
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
        for (point, h) in self.iter() {
            let total: f32 = point.iter().map(|(_, w)| w.abs()).sum();
            let h = h.map(f32::abs);
            let rows = [h[0] + h[5] + h[4], h[5] + h[1] + h[3], h[4] + h[3] + h[2]];
            for &(node, w) in point {
                for c in 0..3 {
                    diagonal[node as usize][c] += w.abs() * total * rows[c];
                }
            }
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        4 * self.starts.len() + 8 * self.entries.len() + 24 * self.stiffness.len()
    }
}

/// The 3x3 matrix of six numbers.
pub(crate) fn matrix(h: &[f32; 6]) -> DMat3 {
    let h = h.map(f64::from);
    DMat3::from_cols(DVec3::new(h[0], h[5], h[4]), DVec3::new(h[5], h[1], h[3]), DVec3::new(h[4], h[3], h[2]))
}
