//! 3x3 pivots: inverted only where they are safely positive definite.

use glam::DMat3;

use supple_core::simd::{LaneMat3, LaneVec3, Lanes, WIDTH};

/// The smallest eigenvalue of a pivot, relative to its trace, that still counts as positive: a few thousand times
/// machine precision.
const POSITIVE: f64 = 1e-13;

/// The inverse of a symmetric positive-definite block, itself exactly symmetric. `None` if the block is not finite, or
/// not definite beyond rounding (Cholesky pivots against the trace).
pub(crate) fn inverse(block: &DMat3) -> Option<DMat3> {
    let [a, b, c] = [block.x_axis, block.y_axis, block.z_axis];
    let limit = POSITIVE * (a.x + b.y + c.z);
    let (l10, l20) = (a.y / a.x, a.z / a.x);
    let second = b.y - l10 * a.y;
    let coupling = b.z - l20 * a.y;
    let third = c.z - l20 * a.z - coupling * (coupling / second);
    let positive = a.x > limit && second > limit && third > limit && limit > 0.0;
    if !positive || !(a.x + second + third).is_finite() {
        return None;
    }
    // The determinant of a very small or large block is out of range; that of a block of trace 1 is not.
    let scale = (a.x + b.y + c.z).recip();
    let inverse = (*block * scale).inverse();
    let symmetric = (inverse + inverse.transpose()) * (0.5 * scale);
    symmetric.is_finite().then_some(symmetric)
}

/// [`inverse`] of eight blocks, and whether each exists; blocks may have any magnitude. Only the
/// entries above and on the diagonal are read. To be inlined into kernels.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn inverses(blocks: LaneMat3) -> (LaneMat3, [bool; WIDTH]) {
    let scale = Lanes::splat(1.0) / blocks.trace();
    let [[a, _, _], [b, d, _], [c, e, f]] = [blocks.0[0].0, blocks.0[1].0, blocks.0[2].0];
    // Of trace 1, so that products of three entries are in range.
    let ([a, b, c], [d, e, f]) = ([a * scale, b * scale, c * scale], [d * scale, e * scale, f * scale]);
    let second = d - b / a * b;
    let coupling = e - c / a * b;
    let third = f - c / a * c - coupling * (coupling / second);
    let diagonal = [d * f - e * e, a * f - c * c, a * d - b * b];
    let [xy, xz, yz] = [c * e - b * f, b * e - c * d, b * c - a * e];
    let factor = scale / (a * diagonal[0] + b * xy + c * xz);
    let [xx, yy, zz] = [diagonal[0] * factor, diagonal[1] * factor, diagonal[2] * factor];
    let [xy, xz, yz] = [xy * factor, xz * factor, yz * factor];
    let mut definite = [false; WIDTH];
    for (k, definite) in definite.iter_mut().enumerate() {
        let positive = a.0[k] > POSITIVE && second.0[k] > POSITIVE && third.0[k] > POSITIVE;
        let largest = xx.0[k] + yy.0[k] + zz.0[k];
        *definite = positive && scale.0[k] > 0.0 && largest > 0.0 && largest.is_finite();
    }
    (LaneMat3([LaneVec3([xx, xy, xz]), LaneVec3([xy, yy, yz]), LaneVec3([xz, yz, zz])]), definite)
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    #[test]
    fn eight_blocks_at_once_are_judged_and_inverted_as_one_is() {
        let spd = DMat3::from_cols_array(&[4.0, 1.0, 0.5, 1.0, 3.0, -1.0, 0.5, -1.0, 2.0]);
        let unlike = DMat3::from_cols_array(&[1e6, 1.0, 3.0, 1.0, 1e-2, 1e-3, 3.0, 1e-3, 1.0]);
        let diagonal = |x, y, z| DMat3::from_diagonal(DVec3::new(x, y, z));
        for blocks in [
            [
                spd,
                1e-150 * spd,
                1e150 * spd,
                unlike,
                diagonal(1.0, 2.0, 1e-9),
                3.0 * spd,
                4.0 * unlike,
                unlike,
            ],
            [
                DMat3::ZERO,
                diagonal(1.0, 1.0, -1.0),
                diagonal(0.0, 1.0, 1.0),
                diagonal(1.0, 1.0, 1e-16),
                diagonal(f64::NAN, 1.0, 1.0),
                diagonal(f64::INFINITY, 1.0, 1.0),
                -spd,
                spd,
            ],
        ] {
            let (found, definite) = inverses(LaneMat3::from_fn(|k| blocks[k]));
            for (k, block) in blocks.iter().enumerate() {
                let expected = inverse(block);
                assert_eq!(definite[k], expected.is_some(), "{block}");
                let size =
                    |matrix: DMat3| matrix.to_cols_array().into_iter().fold(0.0, |m, e| f64::max(m, e.abs()));
                if let Some(expected) = expected {
                    assert!(size(found.lane(k) - expected) < 1e-12 * size(expected), "{block}");
                }
            }
        }
    }

    #[test]
    fn only_definite_blocks_have_an_inverse() {
        let spd = DMat3::from_cols_array(&[4.0, 1.0, 0.5, 1.0, 3.0, -1.0, 0.5, -1.0, 2.0]);
        let product = spd * inverse(&spd).unwrap();
        assert!((product - DMat3::IDENTITY).to_cols_array().iter().all(|e| e.abs() < 1e-15));
        for bad in [
            DMat3::ZERO,
            DMat3::from_diagonal(DVec3::new(1.0, 1.0, -1.0)),
            DMat3::from_diagonal(DVec3::new(1.0, 0.0, 1.0)),
            DMat3::from_diagonal(DVec3::new(f64::NAN, 1.0, 1.0)),
            DMat3::from_diagonal(DVec3::new(f64::INFINITY, 1.0, 1.0)),
        ] {
            assert_eq!(inverse(&bad), None);
        }
        for scale in [1e-200, 1e200] {
            let product = (spd * scale) * inverse(&(spd * scale)).unwrap();
            assert!((product - DMat3::IDENTITY).to_cols_array().iter().all(|e| e.abs() < 1e-14));
        }
    }
}
