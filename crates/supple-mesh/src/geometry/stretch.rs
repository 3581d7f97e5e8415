//! Stretch of a surface: the singular values of each triangle's deformation gradient.
//!
//! With the edges of the rest triangle written in its own plane as the columns of `Dm` (2×2), and those of the
//! current triangle as the columns of `Ds` (3×2), the deformation gradient is `F = Ds Dm⁻¹` (3×2). Its singular
//! values are the largest and the smallest ratio of current to rest length over all directions in the triangle.

use glam::{DVec2, DVec3};
use supple_core::parallel::prelude::*;

/// The two principal stretches of a triangle: 1 means undeformed, 1.1 ten per cent longer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrincipalStretch {
    /// Ratio of lengths in the most stretched direction.
    pub largest: f64,
    /// Ratio of lengths perpendicular to it.
    pub smallest: f64,
}

/// The principal stretches of one triangle; `None` if the rest triangle has no area or a number is not finite.
pub fn principal_stretch(rest: [DVec3; 3], current: [DVec3; 3]) -> Option<PrincipalStretch> {
    let (edge, other) = (rest[1] - rest[0], rest[2] - rest[0]);
    let length = edge.length();
    let along = DVec2::new(edge.dot(other), edge.cross(other).length()) / length;
    // Columns of F: the images of the unit vector along the first edge and of the one perpendicular to it.
    let first = (current[1] - current[0]) / length;
    let second = (current[2] - current[0] - first * along.x) / along.y;
    let (a, b, c) = (first.length_squared(), first.dot(second), second.length_squared());
    let largest = (0.5 * (a + c + (a - c).hypot(2.0 * b))).sqrt();
    // The product of the singular values is the ratio of areas; dividing keeps a tiny one exact.
    let smallest = if largest > 0.0 { first.cross(second).length() / largest } else { 0.0 };
    (largest.is_finite() && smallest.is_finite()).then_some(PrincipalStretch { largest, smallest })
}

/// [`principal_stretch`] of every triangle of a mesh, in order.
///
/// # Panics
/// If a triangle refers to a vertex missing in `rest` or `current`.
pub fn principal_stretches(
    rest: &[DVec3],
    current: &[DVec3],
    triangles: &[[u32; 3]],
) -> Vec<Option<PrincipalStretch>> {
    triangles
        .par_iter()
        .with_min_len(1024)
        .map(|t| principal_stretch(t.map(|v| rest[v as usize]), t.map(|v| current[v as usize])))
        .collect()
}

#[cfg(test)]
mod tests {
    use glam::{DMat3, DQuat};
    use proptest::prelude::*;

    use super::*;

    fn grid(n: u32) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let positions = (0..n * n).map(|i| DVec3::new((i % n) as f64, 0.0, (i / n) as f64) * 0.1).collect();
        let cells = (0..(n - 1) * (n - 1)).map(|c| c / (n - 1) * n + c % (n - 1));
        (positions, cells.flat_map(|a| [[a, a + n, a + 1], [a + 1, a + n, a + n + 1]]).collect())
    }

    #[test]
    fn affinely_stretched_sheet_has_the_factors_of_the_map() {
        let (rest, triangles) = grid(9);
        let turn = DMat3::from_quat(DQuat::from_rotation_z(0.7) * DQuat::from_rotation_x(1.9));
        let in_plane = DMat3::from_rotation_y(0.4);
        let map = turn * in_plane * DMat3::from_diagonal(DVec3::new(1.25, 1.0, 0.75)) * in_plane.transpose();
        let current: Vec<_> = rest.iter().map(|&p| map * p + DVec3::new(3.0, -2.0, 5.0)).collect();
        for stretch in principal_stretches(&rest, &current, &triangles) {
            let stretch = stretch.unwrap();
            assert!((stretch.largest - 1.25).abs() < 1e-12, "{stretch:?}");
            assert!((stretch.smallest - 0.75).abs() < 1e-12, "{stretch:?}");
        }
    }

    #[test]
    fn simple_shear_has_the_golden_singular_values() {
        // [1 1; 0 1] has the singular values φ and 1/φ, φ the golden ratio.
        let rest = [DVec3::ZERO, DVec3::X, DVec3::Y];
        let stretch = principal_stretch(rest, [DVec3::ZERO, DVec3::X, DVec3::X + DVec3::Y]).unwrap();
        let golden = (1.0 + 5f64.sqrt()) / 2.0;
        assert!((stretch.largest - golden).abs() < 1e-14 && (stretch.smallest - 1.0 / golden).abs() < 1e-14);
    }

    #[test]
    fn collapsed_triangle_has_a_zero_stretch_and_flat_rest_has_none() {
        let rest = [DVec3::ZERO, DVec3::X, DVec3::Y];
        let line = [DVec3::ZERO, DVec3::X, DVec3::X * 2.0];
        assert_eq!(principal_stretch(rest, line).unwrap().smallest, 0.0);
        assert_eq!(principal_stretch(rest, [DVec3::ONE; 3]).unwrap().largest, 0.0);
        assert_eq!(principal_stretch(line, rest), None);
        assert_eq!(principal_stretch([DVec3::ONE; 3], rest), None);
        assert_eq!(principal_stretch(rest, [DVec3::ZERO, DVec3::NAN, DVec3::Y]), None);
    }

    fn vector() -> impl Strategy<Value = DVec3> {
        prop::array::uniform3(-10.0..10.0).prop_map(DVec3::from_array)
    }

    proptest! {
        #[test]
        fn no_direction_is_longer_than_the_largest_or_shorter_than_the_smallest(
            rest in prop::array::uniform3(vector()),
            current in prop::array::uniform3(vector()),
            turn in 0.0..std::f64::consts::TAU,
        ) {
            let area = (rest[1] - rest[0]).cross(rest[2] - rest[0]).length();
            prop_assume!(area > 1.0);
            let stretch = principal_stretch(rest, current).unwrap();
            // A material direction is the same combination of edges before and after.
            let (s, t) = turn.sin_cos();
            let direction = |p: [DVec3; 3]| ((p[1] - p[0]) * s + (p[2] - p[0]) * t).length();
            let ratio = direction(current) / direction(rest);
            prop_assert!(ratio <= stretch.largest * (1.0 + 1e-9));
            prop_assert!(ratio >= stretch.smallest * (1.0 - 1e-9) - 1e-12);
        }
    }
}
