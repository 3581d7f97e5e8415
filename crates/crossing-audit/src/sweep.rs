//! Whether two convex things that move on straight lines touch on the way.
//!
//! For a fixed axis `u` the projections of points that move at constant speed are linear in time. So if
//!
//! ```text
//! min u·(points of one) - max u·(points of the other) > radius
//! ```
//!
//! at both ends of an interval of time, nothing touches within it. An interval without such an axis is halved. The axis that is tried is the
//! offset of the nearest points in the middle of the interval, which separates any two convex sets that do not touch, so halving ends unless
//! they touch; an interval shorter than [`SHORTEST`] in which no axis was found is an event. Rounding is on the safe side: an axis counts only if
//! it separates by more than the rounding of the projections, so no event is missed, and what passes closer than about 1e-14 of the
//! coordinates counts as one.

use glam::DVec3;

/// Intervals, as fractions of a piece, that are not halved further.
pub const SHORTEST: f64 = 1.0 / (1u64 << 44) as f64;
/// Bound of the rounding of a projection, over the largest coordinate: three products and sums, of a difference and of an axis that is
/// itself rounded, with a factor of three to spare.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// The convex hull of up to three points that move from one place to another, with a radius around it.
#[derive(Debug, Clone, Copy)]
pub struct Mover<'a> {
    /// The points at the start.
    pub from: &'a [DVec3],
    /// The points at the end.
    pub to: &'a [DVec3],
    /// The radius at the start and end.
    pub radius: [f64; 2],
}

/// The first time found, as a fraction of the piece, at which two things touch; `None` if they surely do not.
pub fn first_touch(one: &Mover<'_>, other: &Mover<'_>) -> Option<f64> {
    let size = [one.from, one.to, other.from, other.to];
    let largest = size.iter().flat_map(|list| list.iter()).map(|p| p.abs().max_element()).fold(0.0, f64::max);
    let pair = Pair { one, other, slack: ROUNDING * largest };
    pair.touch([0.0, 1.0], None)
}

struct Pair<'a> {
    one: &'a Mover<'a>,
    other: &'a Mover<'a>,
    slack: f64,
}

impl Pair<'_> {
    /// The first touch in an interval; `hint` is an axis that separated nearby.
    fn touch(&self, span: [f64; 2], hint: Option<DVec3>) -> Option<f64> {
        if hint.is_some_and(|axis| self.separates(axis, span)) {
            return None;
        }
        let middle = 0.5 * (span[0] + span[1]);
        let (one, other) = (self.one.at(middle), self.other.at(middle));
        let offset = nearest_offset(one.points(), other.points());
        if self.separates(offset, span) {
            return None;
        }
        if span[1] - span[0] <= SHORTEST {
            let more = other_axes(one.points(), other.points());
            let free = more.iter().any(|axis| self.separates(*axis, span) || self.separates(-*axis, span));
            return (!free).then_some(span[0]);
        }
        self.touch([span[0], middle], Some(offset)).or_else(|| self.touch([middle, span[1]], Some(offset)))
    }

    /// Whether everything of the first lies farther along the axis than everything of the other, at both ends of an interval.
    fn separates(&self, axis: DVec3, span: [f64; 2]) -> bool {
        let Some(axis) = axis.try_normalize() else { return false };
        span.iter().all(|&time| {
            let (one, other) = (self.one.at(time), self.other.at(time));
            let least = one.points().iter().map(|p| axis.dot(*p)).fold(f64::INFINITY, f64::min);
            let most = other.points().iter().map(|p| axis.dot(*p)).fold(f64::NEG_INFINITY, f64::max);
            least - most > (one.radius + other.radius) * (1.0 + 4.0 * f64::EPSILON) + self.slack
        })
    }
}

struct Placed {
    points: [DVec3; 3],
    count: usize,
    radius: f64,
}

impl Placed {
    fn points(&self) -> &[DVec3] {
        &self.points[..self.count]
    }
}

impl Mover<'_> {
    fn at(&self, time: f64) -> Placed {
        let mut points = [DVec3::ZERO; 3];
        for (place, (from, to)) in points.iter_mut().zip(self.from.iter().zip(self.to)) {
            *place = (1.0 - time) * *from + time * *to;
        }
        let radius = (1.0 - time) * self.radius[0] + time * self.radius[1];
        Placed { points, count: self.from.len().min(3), radius }
    }
}

/// From the nearest point of the other to that of the first. Directions matter even where the offset is as short as rounding: a difference of
/// two points would be tilted then, so offsets are made perpendicular to what they belong to.
pub fn nearest_offset(one: &[DVec3], other: &[DVec3]) -> DVec3 {
    match (one, other) {
        ([p], [q]) => *p - *q,
        ([p], [a, b]) => from_segment(*p, *a, *b),
        ([a, b], [p]) => -from_segment(*p, *a, *b),
        ([p], [a, b, c]) => from_triangle(*p, [*a, *b, *c]),
        ([a, b, c], [p]) => -from_triangle(*p, [*a, *b, *c]),
        ([a, b], [c, d]) => between_segments([*a, *b], [*c, *d]),
        ([a, b, c], [d, e]) => triangle_to_segment([*a, *b, *c], [*d, *e]),
        ([d, e], [a, b, c]) => -triangle_to_segment([*a, *b, *c], [*d, *e]),
        _ => DVec3::ZERO,
    }
}

/// From the nearest point of a segment to a point.
fn from_segment(p: DVec3, a: DVec3, b: DVec3) -> DVec3 {
    let along = b - a;
    let part = (p - a).dot(along) / along.length_squared();
    if part.is_nan() || part <= 0.0 {
        return p - a;
    }
    if part >= 1.0 {
        return p - b;
    }
    let offset = p - a - part * along;
    offset - offset.dot(along) / along.length_squared() * along
}

/// From the nearest point of a triangle to a point: along the normal if the foot of the perpendicular is inside, else from a side.
fn from_triangle(p: DVec3, [a, b, c]: [DVec3; 3]) -> DVec3 {
    let normal = (b - a).cross(c - a);
    let inside = |from: DVec3, to: DVec3| normal.dot((to - from).cross(p - from)) >= 0.0;
    if normal.length_squared() > 0.0 && inside(a, b) && inside(b, c) && inside(c, a) {
        return normal.dot(p - a) / normal.length_squared() * normal;
    }
    shortest([(a, b), (b, c), (c, a)].map(|(from, to)| from_segment(p, from, to)))
}

fn shortest<const N: usize>(offsets: [DVec3; N]) -> DVec3 {
    let shorter = |best: DVec3, next: &DVec3| {
        if next.length_squared() < best.length_squared() { *next } else { best }
    };
    offsets[1..].iter().fold(offsets[0], shorter)
}

fn between_segments([a, b]: [DVec3; 2], [c, d]: [DVec3; 2]) -> DVec3 {
    let ends = [from_segment(a, c, d), from_segment(b, c, d), -from_segment(c, a, b), -from_segment(d, a, b)];
    let at_an_end = shortest(ends);
    let (u, v) = (b - a, d - c);
    let normal = u.cross(v);
    let area = normal.length_squared();
    if area == 0.0 {
        return at_an_end;
    }
    // Where the common perpendicular meets both lines.
    let between = c - a;
    let (s, t) = (between.cross(v).dot(normal) / area, between.cross(u).dot(normal) / area);
    if !((0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t)) {
        return at_an_end;
    }
    shortest([-between.dot(normal) / area * normal, at_an_end])
}

/// From the nearest point of a segment to that of a triangle.
fn triangle_to_segment(corners: [DVec3; 3], [d, e]: [DVec3; 2]) -> DVec3 {
    let [a, b, c] = corners;
    let normal = (b - a).cross(c - a);
    let (before, after) = (normal.dot(d - a), normal.dot(e - a));
    if before * after < 0.0 {
        let place = d + before / (before - after) * (e - d);
        let inside = |from: DVec3, to: DVec3| normal.dot((to - from).cross(place - from)) >= 0.0;
        if inside(a, b) && inside(b, c) && inside(c, a) {
            return DVec3::ZERO;
        }
    }
    let [first, second] = [d, e].map(|p| -from_triangle(p, corners));
    let sides = [(a, b), (b, c), (c, a)].map(|(from, to)| between_segments([from, to], [d, e]));
    shortest([first, second, sides[0], sides[1], sides[2]])
}

/// Normals of triangles, products of edges and offsets of corners: for pairs so near that the offset of nearest points is mostly rounding.
fn other_axes(one: &[DVec3], other: &[DVec3]) -> Vec<DVec3> {
    let edges = |points: &[DVec3]| -> Vec<DVec3> {
        (0..points.len())
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| points[i] - points[j])
            .collect()
    };
    let (ours, theirs) = (edges(one), edges(other));
    let mut axes = Vec::new();
    for list in [&ours, &theirs] {
        axes.extend(list.iter().enumerate().flat_map(|(i, a)| list[..i].iter().map(|b| a.cross(*b))));
    }
    axes.extend(ours.iter().flat_map(|a| theirs.iter().map(|b| a.cross(*b))));
    axes.extend(one.iter().flat_map(|p| other.iter().map(|q| *p - *q)));
    axes
}

/// The first time at which a vertex enters a half-space whose point and normal move linearly: its height is then a quadratic function
/// of time, positive where its three Bernstein coefficients are.
pub fn first_below(vertex: [DVec3; 2], point: [DVec3; 2], normal: [DVec3; 2]) -> Option<f64> {
    let offset = [vertex[0] - point[0], vertex[1] - point[1]];
    let size = offset[0].length().max(offset[1].length()) + vertex[0].length() + point[0].length();
    let slack = ROUNDING * size * normal[0].length().max(normal[1].length());
    let middle = 0.5 * (offset[0].dot(normal[1]) + offset[1].dot(normal[0]));
    positive([offset[0].dot(normal[0]), middle, offset[1].dot(normal[1])], [0.0, 1.0], slack)
}

/// The start of the first short interval in which a quadratic Bernstein polynomial is not surely positive.
fn positive([a, b, c]: [f64; 3], [begin, end]: [f64; 2], slack: f64) -> Option<f64> {
    if a > slack && b > slack && c > slack {
        return None;
    }
    if a <= slack || end - begin <= SHORTEST {
        return Some(begin);
    }
    let (ab, bc) = (0.5 * (a + b), 0.5 * (b + c));
    let (middle, half) = (0.5 * (ab + bc), 0.5 * (begin + end));
    positive([a, ab, middle], [begin, half], slack).or_else(|| positive([middle, bc, c], [half, end], slack))
}
