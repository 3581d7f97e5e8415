//! Exact signed distances to capsules and ellipsoids, and a smooth minimum that is symmetric in its arguments.

use glam::DVec3;

/// The signed distance to the convex hull of two balls. Seen in the plane through the axis, its outline is two arcs
/// joined by their common tangent.
pub(super) fn to_capsule(point: DVec3, from: DVec3, to: DVec3, [r, s]: [f64; 2]) -> f64 {
    let (axis, offset) = (to - from, point - from);
    let length = axis.length();
    if length <= (r - s).abs() {
        // One ball contains the other.
        return if r >= s { offset.length() - r } else { point.distance(to) - s };
    }
    let along = offset.dot(axis) / length;
    let across = (offset.length_squared() - along * along).max(0.0).sqrt();
    // The tangent leans by the angle with this sine; the foot of the point on the axis slides by it.
    let sine = (r - s) / length;
    let cosine = (1.0 - sine * sine).sqrt();
    let foot = along - across * sine / cosine;
    if foot <= 0.0 {
        offset.length() - r
    } else if foot >= length {
        point.distance(to) - s
    } else {
        across * cosine + along * sine - r
    }
}

/// The signed distance to an ellipsoid around the origin: the nearest point is `e_i^2 y_i / (t + e_i^2)` for the
/// largest root `t` of `sum (e_i y_i / (t + e_i^2))^2 = 1` (Eberly, *Distance from a Point to an Ellipse, an Ellipsoid,
/// or a Hyperellipsoid*). Newton's method from the left of the root of this convex decreasing function never
/// overshoots.
pub(super) fn to_ellipsoid(point: DVec3, radii: DVec3) -> f64 {
    let smallest = radii.min_element();
    // In units of the smallest half axis; coordinates of zero are moved off the symmetry planes by less than rounding
    // of the result, which spares their special cases.
    let axes = radii / smallest;
    let y = (point.abs() / smallest).max(1e-14 * axes);
    // The unknown is `t + 1`, so that its smallness near the symmetry planes is resolved.
    let shift = axes * axes - 1.0;
    let weight = axes * y;
    let mut s = (weight - shift).max_element();
    for _ in 0..50 {
        let ratio = weight / (s + shift);
        let value = ratio.length_squared() - 1.0;
        let slope = -2.0 * (ratio * ratio / (s + shift)).element_sum();
        let step = -value / slope;
        s += step;
        if step <= 1e-15 * s {
            break;
        }
    }
    let nearest = axes * axes * y / (s + shift);
    let distance = smallest * nearest.distance(y);
    if (y / axes).length_squared() < 1.0 { -distance } else { distance }
}

/// The smooth minimum `f` of some values with blend width `b`: `f = s - b` where `sum max(s - v_i, 0)^2 = b^2`.
///
/// With one value it is that value, with two it is the round fillet of radius `b`. Its slopes are weights that sum to
/// one, so it changes no faster than its arguments. The values are sorted before they are summed, so that their order
/// does not affect the result in any bit.
pub(super) struct SmoothMinimum {
    blend: f64,
    least: f64,
    /// Values that may lie within the blending range of the smallest.
    near: Vec<f64>,
}

impl SmoothMinimum {
    pub(super) fn new(blend: f64) -> Self {
        Self { blend, least: f64::INFINITY, near: Vec::new() }
    }

    /// The square of the value from which further ones do not contribute; 0 if that value is negative.
    pub(super) fn reach_squared(&self) -> f64 {
        (self.least + self.blend).max(0.0).powi(2)
    }

    pub(super) fn push(&mut self, value: f64) {
        if self.blend > 0.0 && value < self.least + self.blend {
            self.near.push(value);
        }
        self.least = self.least.min(value);
    }

    pub(super) fn finish(mut self) -> f64 {
        let extent = self.least + self.blend;
        self.near.retain(|value| *value < extent);
        if self.near.len() < 2 {
            return self.least;
        }
        self.near.sort_unstable_by(f64::total_cmp);
        round_blend(&self.near, self.blend)
    }
}

/// Solves for the level `s` over ascending values, including values while they lie below it.
fn round_blend(ascending: &[f64], blend: f64) -> f64 {
    let Some(&least) = ascending.first() else { return f64::INFINITY };
    let (mut count, mut sum, mut squares, mut level) = (0.0, 0.0, 0.0, f64::INFINITY);
    for value in ascending.iter().map(|value| value - least) {
        if value >= level {
            break;
        }
        count += 1.0;
        sum += value;
        squares += value * value;
        let spread: f64 = sum * sum - count * (squares - blend * blend);
        level = (sum + spread.max(0.0).sqrt()) / count;
    }
    least + level - blend
}

/// How far a union of `parts` with this blend can swell beyond them.
pub(super) fn largest_swell(parts: usize, blend: f64) -> f64 {
    blend * (1.0 - 1.0 / (parts.max(1) as f64).sqrt())
}
