//! 3x3 pivots: inverted only where they are safely positive definite.

use glam::DMat3;

/// The smallest eigenvalue of a pivot, relative to its trace, that still counts as positive: some thousand roundings.
const POSITIVE: f64 = 1e-13;

/// The inverse of a symmetric positive-definite block, itself symmetric to the bit. `None` if the block is not finite, or
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

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

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
