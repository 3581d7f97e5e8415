//! Crossings of things that stand still, by exact signs.

use glam::DVec3;
use robust::{Coord3D, orient3d};

/// The sign of the volume of a tetrahedron, exact.
fn side(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> f64 {
    let coordinates = |p: DVec3| Coord3D { x: p.x, y: p.y, z: p.z };
    orient3d(coordinates(a), coordinates(b), coordinates(c), coordinates(d))
}

/// Whether a segment passes through a triangle. Touching counts; lying in its plane does not.
pub fn pierces([p, q]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> bool {
    let (above, below) = (side(a, b, c, p), side(a, b, c, q));
    if above * below > 0.0 || (above == 0.0 && below == 0.0) {
        return false;
    }
    let turns = [side(p, q, a, b), side(p, q, b, c), side(p, q, c, a)];
    turns.iter().all(|t| *t >= 0.0) || turns.iter().all(|t| *t <= 0.0)
}

/// How often a closed surface winds around a point: 0 outside.
pub fn winding(point: DVec3, triangles: impl Iterator<Item = [DVec3; 3]>) -> f64 {
    let solid_angle = |corners: [DVec3; 3]| {
        let [a, b, c] = corners.map(|corner| corner - point);
        let (la, lb, lc) = (a.length(), b.length(), c.length());
        let volume = a.dot(b.cross(c));
        let rest = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
        2.0 * volume.atan2(rest)
    };
    triangles.map(solid_angle).sum::<f64>() / (4.0 * std::f64::consts::PI)
}
