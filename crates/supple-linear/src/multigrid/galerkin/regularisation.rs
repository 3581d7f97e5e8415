//! The functions of a coarse node (Xian 2019, sections 4.2 and 4.4): in the paper the homogeneous rest coordinates
//! `(x, y, z, 1)`, one origin for all nodes. Here every node has its own origin and axes, so that its functions are
//! orthonormal over its vertices:
//!
//! ```text
//! φ_0 = 1,   φ_k = e_k · (X - c) / σ_k     c: centre, e_k and σ_k²: eigenvectors and eigenvalues of the covariance
//! ```
//!
//! They span the same affine motions, but their coarse matrix tolerates single precision: with one origin the columns
//! of a small far node are almost parallel.
//!
//! Rank deficiency shows in the same eigenvalues: `rank U_b = 1 + rank(covariance)`, so the 4x4 problem of the paper
//! splits into the centre and a 3x3 one. Where the vertices of a node lie in a plane, on a line or in a point, `σ_k`
//! vanishes and `φ_k` is dropped (zero); the paper keeps it and regularises the matrix by `n nᵀ`. Rows and columns of
//! the matrix that belong to such a function are exactly zero, as is the restricted residual, so a one on the
//! diagonal makes them harmless: their solution is zero at any scale.

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use supple_core::simd::Lanes;
use supple_core::small_matrix::symmetric_eigen::symmetric_eigen;

/// Directions in which the vertices of a node spread less than this fraction of their largest spread are dropped: the
/// covariance has lost them to rounding.
const FLAT: f64 = 1e-6;

/// The affine functions of one coarse node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    centre: DVec3,
    /// `e_k σ_k` as columns.
    spread: DMat3,
    /// `e_k / σ_k` as rows; zero where `σ_k` vanishes.
    inverse: DMat3,
}

impl Frame {
    /// The frame of a set of points, at least one.
    fn of(points: impl Iterator<Item = DVec3> + Clone) -> Self {
        let count = points.clone().count().max(1) as f64;
        let centre = points.clone().sum::<DVec3>() / count;
        let outer = |d: DVec3| DMat3::from_cols(d * d.x, d * d.y, d * d.z);
        let covariance = points.fold(DMat3::ZERO, |sum, x| sum + outer(x - centre)) * (1.0 / count);
        let rows = covariance.to_cols_array_2d().map(|row| row.map(Lanes::splat));
        let eigen = symmetric_eigen(rows);
        let value = |k: usize| eigen.values[k].0[0].max(0.0).sqrt();
        let largest = value(0).max(value(1)).max(value(2));
        let mut frame = Self { centre, spread: DMat3::ZERO, inverse: DMat3::ZERO };
        for k in (0..3).filter(|&k| value(k) > FLAT * largest) {
            let axis = DVec3::from_array([0, 1, 2].map(|i| eigen.vectors[i][k].0[0]));
            *frame.spread.col_mut(k) = axis * value(k);
            *frame.inverse.col_mut(k) = axis / value(k);
        }
        frame.inverse = frame.inverse.transpose();
        frame
    }

    /// The functions at a point.
    pub(super) fn at(&self, point: DVec3) -> [f64; 4] {
        let [x, y, z] = (self.inverse * (point - self.centre)).to_array();
        [1.0, x, y, z]
    }

    /// This frame's functions on the vertices of `part`, in terms of `part`'s functions: entry `[f][g]` is the share of
    /// `part`'s function `f` in this frame's function `g`. The paper's identity, between frames.
    pub(super) fn in_terms_of(&self, part: &Self) -> [[f64; 4]; 4] {
        let slopes = self.inverse * part.spread;
        let slope = |f: usize| {
            let [x, y, z] = slopes.col(f).to_array();
            [0.0, x, y, z]
        };
        [self.at(part.centre), slope(0), slope(1), slope(2)]
    }
}

/// Frames of all nodes of a level: `members[starts[k]..starts[k + 1]]` are the vertices of node `k`.
pub(super) fn frames(positions: &[DVec3], starts: &[usize], members: &[u32]) -> Vec<Frame> {
    let frame = |node: &[usize]| {
        Frame::of(members[node[0]..node[1]].iter().map(|&vertex| positions[vertex as usize]))
    };
    starts.par_windows(2).with_min_len(16).map(frame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(count: usize, rank: usize) -> Vec<DVec3> {
        let axes = [DVec3::new(1.0, 2.0, -0.5), DVec3::new(-0.3, 0.1, 1.0), DVec3::new(2.0, -1.0, 0.7)];
        let wave = |i: usize, k: usize| (1.9 * i as f64 + 2.3 * k as f64 + (i * k) as f64).sin();
        let point = |i| DVec3::splat(100.0) + (0..rank).map(|k| axes[k] * 1e-3 * wave(i, k)).sum::<DVec3>();
        (0..count).map(point).collect()
    }

    #[test]
    fn functions_are_orthonormal_over_the_vertices_and_as_many_as_the_rank() {
        for (count, rank) in [(20, 3), (20, 2), (20, 1), (5, 0), (1, 3), (2, 3), (3, 3), (4, 3)] {
            let points = points(count, rank);
            let frame = Frame::of(points.iter().copied());
            let expected = 1 + rank.min(count - 1);
            let gram = |f: usize, g: usize| {
                let product = |x: &DVec3| frame.at(*x)[f] * frame.at(*x)[g];
                points.iter().map(product).sum::<f64>() / count as f64
            };
            assert_eq!((0..4).filter(|&f| gram(f, f) > 0.5).count(), expected, "{count} {rank}");
            for (f, g) in (0..4).flat_map(|f| (0..4).map(move |g| (f, g))) {
                let one_or_none = if f == g && gram(f, f) > 0.5 { 1.0 } else { 0.0 };
                assert!((gram(f, g) - one_or_none).abs() < 1e-7, "{count} {rank}: {f} {g} {}", gram(f, g));
            }
        }
    }

    #[test]
    fn functions_of_a_whole_are_combinations_of_those_of_its_parts() {
        let whole_points = points(30, 3);
        let whole = Frame::of(whole_points.iter().copied());
        for part_points in
            [&whole_points[..9], &whole_points[9..11], &whole_points[11..12], &whole_points[12..]]
        {
            let part = Frame::of(part_points.iter().copied());
            let shares = whole.in_terms_of(&part);
            for &x in part_points {
                let (of_part, of_whole) = (part.at(x), whole.at(x));
                for g in 0..4 {
                    let combined: f64 = (0..4).map(|f| of_part[f] * shares[f][g]).sum();
                    assert!((combined - of_whole[g]).abs() < 1e-8);
                }
            }
        }
    }
}
