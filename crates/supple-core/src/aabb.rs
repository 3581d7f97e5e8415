//! Axis-aligned boxes.

use glam::DVec3;

/// An axis-aligned box; empty where `low > high` in any direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aabb {
    /// Smallest coordinates in metres.
    pub low: DVec3,
    /// Largest coordinates in metres.
    pub high: DVec3,
}

impl Aabb {
    /// The box that contains nothing; neutral in unions.
    pub const EMPTY: Self = Self { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };

    /// The smallest box around some points; a NaN coordinate makes it empty, so that no query finds it.
    pub fn of_points(points: &[DVec3]) -> Self {
        if points.iter().any(|p| p.is_nan()) {
            return Self::EMPTY;
        }
        points.iter().fold(Self::EMPTY, |b, &p| Self { low: b.low.min(p), high: b.high.max(p) })
    }

    /// The smallest box around both.
    pub fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The box grown by `margin` metres on every side.
    pub fn inflated(self, margin: f64) -> Self {
        Self { low: self.low - margin, high: self.high + margin }
    }

    /// The centre; NaN for an empty box.
    pub fn center(&self) -> DVec3 {
        0.5 * (self.low + self.high)
    }

    /// True where no point lies inside, and where a bound is NaN.
    pub fn is_empty(&self) -> bool {
        !self.low.cmple(self.high).all()
    }

    /// True where both share a point; touching counts.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low.cmple(other.high).all() && other.low.cmple(self.high).all()
    }

    /// True where `point` lies inside or on the boundary.
    pub fn contains(&self, point: DVec3) -> bool {
        self.low.cmple(point).all() && point.cmple(self.high).all()
    }

    /// Squared distance of two boxes in square metres; 0 where they share a point.
    #[inline]
    pub fn gap_squared(&self, other: &Self) -> f64 {
        (self.low - other.high).max(other.low - self.high).max(DVec3::ZERO).length_squared()
    }

    /// Squared distance from `point` to the box in square metres; 0 inside, infinite for an empty box.
    pub fn distance_squared(&self, point: DVec3) -> f64 {
        if self.is_empty() {
            return f64::INFINITY;
        }
        (self.low - point).max(point - self.high).max(DVec3::ZERO).length_squared()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_box_meets_nothing_and_is_neutral_in_unions() {
        let unit = Aabb::of_points(&[DVec3::ZERO, DVec3::ONE]);
        assert!(Aabb::EMPTY.is_empty() && !Aabb::EMPTY.overlaps(&unit) && !Aabb::EMPTY.contains(DVec3::ZERO));
        assert_eq!(Aabb::EMPTY.union(unit), unit);
        assert_eq!(Aabb::EMPTY.distance_squared(DVec3::ZERO), f64::INFINITY);
        assert!(Aabb::of_points(&[DVec3::ZERO, DVec3::new(0.0, f64::NAN, 0.0)]).is_empty());
    }

    #[test]
    fn distance_is_zero_inside_and_measured_to_the_nearest_corner_edge_or_side() {
        let unit = Aabb::of_points(&[DVec3::ZERO, DVec3::ONE]);
        assert_eq!(unit.distance_squared(DVec3::splat(0.5)), 0.0);
        assert_eq!(unit.distance_squared(DVec3::new(2.0, 0.5, 0.5)), 1.0);
        assert_eq!(unit.distance_squared(DVec3::new(-1.0, -2.0, 0.5)), 5.0);
        assert_eq!(unit.distance_squared(DVec3::splat(3.0)), 12.0);
    }
}
