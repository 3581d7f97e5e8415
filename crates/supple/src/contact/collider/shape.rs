//! Signed distances of simple solids, in their own coordinates.

use glam::DVec3;

use crate::contact::Separation;
use crate::scene::ColliderShape;

/// Distance and normal at a point; meshes are handled elsewhere and count as infinitely far.
pub(crate) fn separation(shape: &ColliderShape, point: DVec3) -> Separation {
    match *shape {
        ColliderShape::Plane { point: origin, normal } => {
            let normal = normal.normalize_or(DVec3::Y);
            Separation { distance: normal.dot(point - origin), normal }
        }
        ColliderShape::Sphere { center, radius } => around(center, radius, point, DVec3::Y),
        ColliderShape::Capsule { from, to, radius } => capsule(from, to, radius, point),
        ColliderShape::Box { center, size } => cuboid(0.5 * size, point - center),
        ColliderShape::Mesh(_) => Separation { distance: f64::INFINITY, normal: DVec3::Y },
    }
}

/// A ball about `center`; `fallback` is the normal at its centre, where rounding would give any direction.
fn around(center: DVec3, radius: f64, point: DVec3, fallback: DVec3) -> Separation {
    let offset = point - center;
    let length = offset.length();
    let normal = if length > 1e-9 * radius { offset / length } else { fallback };
    Separation { distance: length - radius, normal }
}

/// The ball about the nearest point of the axis.
fn capsule(from: DVec3, to: DVec3, radius: f64, point: DVec3) -> Separation {
    let axis = to - from;
    let along = (point - from).dot(axis) / axis.length_squared();
    let along = if along.is_finite() { along.clamp(0.0, 1.0) } else { 0.0 };
    let sideways = axis.try_normalize().map_or(DVec3::Y, |axis| axis.any_orthonormal_vector());
    around(from + along * axis, radius, point, sideways)
}

/// A box of half side lengths `half` about the origin: inside, the nearest side counts; outside, the nearest point.
fn cuboid(half: DVec3, point: DVec3) -> Separation {
    let beyond = point.abs() - half;
    let outside = beyond.max(DVec3::ZERO);
    let sign = point.signum();
    if outside != DVec3::ZERO {
        return Separation { distance: outside.length(), normal: sign * outside.normalize_or(DVec3::Y) };
    }
    let side = if beyond.x >= beyond.y && beyond.x >= beyond.z {
        DVec3::X
    } else if beyond.y >= beyond.z {
        DVec3::Y
    } else {
        DVec3::Z
    };
    Separation { distance: beyond.max_element(), normal: sign * side }
}
