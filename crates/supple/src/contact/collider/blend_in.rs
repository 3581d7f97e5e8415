//! Blending into an animation that does not start like the body that follows it, or like the mesh as modelled.

use glam::DVec3;

use supple_mesh::geometry::Aabb;

/// Seconds over which points blend into the animation, if it does not start as they do.
const BLEND_IN_SECONDS: f64 = 0.5;
/// An animation that starts within this fraction of the size starts as they do.
const SAME_START: f64 = 1e-4;

/// The blend-in time of a scene, or a suitable one for an animation that moves by `first_move` at the start.
pub(crate) fn blend_in(specified: Option<f64>, first_move: f64, size: f64) -> f64 {
    specified.unwrap_or(if first_move > SAME_START * size { BLEND_IN_SECONDS } else { 0.0 })
}

/// The blend weight at a time, from 0 to 1, smooth at both ends.
pub(crate) fn blend_weight(time: f64, blend_in: f64) -> f64 {
    if blend_in <= 0.0 {
        return 1.0;
    }
    let part = (time / blend_in).clamp(0.0, 1.0);
    part * part * (3.0 - 2.0 * part)
}

/// The diagonal of the box around some points.
pub(crate) fn size_of(positions: &[DVec3]) -> f64 {
    let around = Aabb::of_points(positions);
    (around.high - around.low).length()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blend_in_starts_and_ends_without_a_jolt_and_can_be_left_out() {
        assert_eq!([0.0, 1.0, 2.0, 7.0].map(|time| blend_weight(time, 2.0)), [0.0, 0.5, 1.0, 1.0]);
        let slope = |time: f64| (blend_weight(time + 1e-6, 2.0) - blend_weight(time - 1e-6, 2.0)) / 2e-6;
        assert!(slope(0.0).abs() < 1e-5 && slope(2.0).abs() < 1e-5);
        assert_eq!(blend_weight(0.0, 0.0), 1.0);
        // A default blend-in, made where needed.
        assert_eq!([blend_in(None, 1e-5, 2.0), blend_in(None, 0.1, 2.0)], [0.0, BLEND_IN_SECONDS]);
        assert_eq!(blend_in(Some(0.25), 0.1, 2.0), 0.25);
    }
}
