//! Lengths of edges for furthest-point sampling. The paper (section 4.1) uses Euclidean lengths and therefore assumes a homogeneous
//! material. Here a weak coupling is a long edge:
//!
//! ```text
//! length_ij = |X_i - X_j| / √s_ij        s_ij = |A_ij| / √(|A_ii| |A_jj|)
//! ```
//!
//! Within one material `s` does not depend on the stiffness; across an interface between a soft and a stiff material it
//! is small, so that no coarse node straddles the interface. Without positions `|X_i - X_j|` is 1.

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::{BlockMatrix, LinearOperator};

/// The distance measure between coupled nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distances {
    /// Along the edges of the mesh, as in the paper.
    Geodesic,
    /// The same, longer where the coupling is weak relative to the diagonal blocks of its ends.
    #[default]
    Stiffness,
}

/// Lower limit of `s`; weaker couplings are clamped to it.
const WEAKEST: f64 = 1e-6;

/// The length of every block of the matrix's pattern as an edge.
pub(super) fn edge_lengths(
    matrix: &BlockMatrix,
    positions: Option<&[DVec3]>,
    distances: Distances,
) -> Vec<f32> {
    let scale = positions.map_or(1.0, mean_spacing);
    let norm = |block: &DMat3| block.to_cols_array().iter().map(|e| e * e).sum::<f64>().sqrt();
    let own: Vec<f64> = (0..matrix.unknowns()).map(|i| norm(&matrix.diagonal_block(i))).collect();
    let length = |i: usize, j: usize, block: &DMat3| {
        let space = positions.map_or(1.0, |x| x[i].distance(x[j]) / scale);
        let strength = match distances {
            Distances::Geodesic => 1.0,
            Distances::Stiffness => norm(block) / (own[i] * own[j]).sqrt(),
        };
        // Coincident nodes are close, but not identical.
        let space = if space.is_finite() { space.max(1e-6) } else { 1.0 };
        // If the strength is NaN, the matrix is rejected later; until then it must not disturb the sampling.
        let strength = if strength >= WEAKEST { strength.min(1.0) } else { WEAKEST };
        (space / strength.sqrt()) as f32
    };
    let row = |i: usize| {
        let (start, columns) = matrix.pattern().row(i);
        let blocks = columns.iter().zip(&matrix.blocks()[start..]);
        blocks.map(move |(&j, block)| if j as usize == i { 0.0 } else { length(i, j as usize, block) })
    };
    (0..matrix.unknowns()).into_par_iter().with_min_len(1024).flat_map_iter(row).collect()
}

/// A typical distance between nodes, so that lengths stay within the range of single precision.
fn mean_spacing(positions: &[DVec3]) -> f64 {
    let bounds = supple_core::Aabb::of_points(positions);
    let size = (bounds.high - bounds.low).max_element() / (positions.len() as f64).cbrt();
    if size.is_finite() && size > 0.0 { size } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlockPattern;
    use std::sync::Arc;

    #[test]
    fn only_couplings_across_an_interface_are_longer() {
        let pairs: Vec<[u32; 2]> = (1..9).map(|i| [i - 1, i]).collect();
        let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&[false; 9], &pairs)));
        for &[a, b] in &pairs {
            let k = if b <= 4 { 1.0 } else { 1e6 } * DMat3::IDENTITY;
            matrix.add_diagonal(a, k);
            matrix.add_diagonal(b, k);
            matrix.add_pair(a, b, -k);
        }
        let positions: Vec<DVec3> = (0..9).map(|i| DVec3::X * f64::from(i)).collect();
        let lengths = edge_lengths(&matrix, Some(&positions), Distances::Stiffness);
        let of = |a: usize, b: usize| lengths[matrix.pattern().slot(a, b).unwrap()];
        assert!((of(1, 2) - of(6, 7)).abs() < 1e-6 * of(1, 2));
        // Node 4 has the stiffness of both sides: the soft coupling is weak relative to it.
        assert!(of(3, 4) > 10.0 * of(2, 3) && (of(3, 4) - of(4, 3)).abs() < 1e-6 * of(3, 4));
        let plain = edge_lengths(&matrix, Some(&positions), Distances::Geodesic);
        let slots = pairs.iter().map(|&[a, b]| matrix.pattern().slot(a as usize, b as usize).unwrap());
        assert!(slots.map(|slot| plain[slot]).all(|length| (length - plain[1]).abs() < 1e-6));
    }
}
