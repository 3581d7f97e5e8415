//! The barrier `b` of a pair, the repulsion in its place, and the mollifier `m` that fades out almost parallel edges.

use glam::DVec3;

/// Squared sine of the angle between edges below which their energy fades.
const PARALLEL: f64 = 1e-3;

/// The mollifier `m` of a pair of edges and its gradient with respect to both edges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mollifier {
    pub(crate) value: f64,
    pub(crate) by_edge: [DVec3; 2],
}

impl Mollifier {
    pub(crate) const NONE: Self = Self { value: 1.0, by_edge: [DVec3::ZERO; 2] };

    pub(crate) fn of(now: [DVec3; 2], start: [DVec3; 2]) -> Self {
        let cross = now[0].cross(now[1]).length_squared();
        let full = PARALLEL * start[0].length_squared() * start[1].length_squared();
        if cross >= full {
            return Self::NONE;
        }
        let c = cross / full;
        // The gradient of |a × b|² with respect to a is 2 (|b|² a - (a·b) b).
        let slope = |a: DVec3, b: DVec3| 2.0 * (b.length_squared() * a - a.dot(b) * b);
        let scale = 2.0 * (1.0 - c) / full;
        let by_edge = [scale * slope(now[0], now[1]), scale * slope(now[1], now[0])];
        Self { value: c * (2.0 - c), by_edge }
    }
}

/// `b`, `b'` and `b''`.
pub(crate) fn barrier(d: f64, reach: f64) -> [f64; 3] {
    let (off, ln) = (d - reach, (d / reach).ln());
    [-off * off * ln, -2.0 * off * ln - off * off / d, -2.0 * ln - 4.0 * off / d + off * off / (d * d)]
}

/// The fraction of the activation distance over which the repulsion's curvature sets in.
const ONSET: f64 = 0.25;

/// The repulsion of Wu et al. 2022, section 4.2, and its derivatives: quadratic in the depth `u = D - d`, but for the onset. There its curvature
/// rises from 0 to 1 over `δ = D/4`, so that Newton's method does not jump between a stiff spring and none:
///
/// ```text
/// u < δ:  u³/(6δ)        otherwise:  ½ (u - δ/2)² + δ²/24
/// ```
pub(crate) fn repulsion(d: f64, reach: f64) -> [f64; 3] {
    let (depth, onset) = (reach - d, ONSET * reach);
    if depth < onset {
        return [depth.powi(3) / (6.0 * onset), -0.5 * depth * depth / onset, depth / onset];
    }
    let beyond = depth - 0.5 * onset;
    [0.5 * beyond * beyond + onset * onset / 24.0, -beyond, 1.0]
}
