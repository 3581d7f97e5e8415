//! What must be known of a whole animation before its first picture is drawn, so that nothing jumps: the room it
//! takes and how far it stretches.

use glam::DVec3;

use super::camera::Bounds;
use super::{ColorBy, RenderOptions, RenderScene};
use crate::geometry::stretch::principal_stretches;
use crate::output::FrameBody;

/// The extent of one or more frames: feed every frame with [`Survey::add`], then fix the options with
/// [`RenderOptions::fixed_for`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Survey {
    bodies: Option<Bounds>,
    colliders: Option<Bounds>,
    largest_deviation: f64,
}

impl Survey {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in one frame. Stretch is measured only if the options show it and leave its limit open.
    pub fn add(&mut self, scene: &RenderScene, options: &RenderOptions) {
        for body in &scene.frame.bodies {
            merge(&mut self.bodies, Bounds::of(body.positions.iter().map(|p| p.as_dvec3())));
            if options.color == (ColorBy::Stretch { limit: None }) {
                let stretches = vertex_stretches(body, &body.surface.mesh.triangles());
                let deviation = stretches.iter().map(|s| (s - 1.0).abs()).fold(0.0, f64::max);
                self.largest_deviation = self.largest_deviation.max(deviation);
            }
        }
        for collider in scene.colliders {
            merge(&mut self.colliders, Bounds::of(collider.positions.iter().copied()));
        }
    }

    /// The room to be shown: all bodies, and colliders as far as they are near them, so that a wide floor does not
    /// shrink everything else. `None` if there is nothing.
    pub fn bounds(&self) -> Option<Bounds> {
        match (self.bodies, self.colliders) {
            (Some(bodies), Some(colliders)) => Some(bodies.union(&colliders.clamped_to(&bodies.surroundings()))),
            (bodies, colliders) => bodies.or(colliders),
        }
    }

    /// The stretch at the end of the colour scale: the largest seen, rounded up to a number that reads well.
    pub fn stretch_limit(&self) -> f64 {
        1.0 + rounded_up(self.largest_deviation.clamp(0.005, 10.0))
    }
}

fn merge(total: &mut Option<Bounds>, part: Option<Bounds>) {
    *total = match (*total, part) {
        (Some(a), Some(b)) => Some(a.union(&b)),
        (a, b) => a.or(b),
    };
}

/// The next of 1, 2, 3, 5 times a power of ten.
fn rounded_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 3.0, 5.0, 10.0];
    // A hair of tolerance, or 0.05 could become 0.1 by rounding alone.
    power * steps.iter().find(|&&s| s * power >= value * (1.0 - 1e-9)).unwrap_or(&10.0)
}

/// The largest principal stretch around each vertex: the mean over its triangles, weighted by their rest areas; 1
/// where nothing is known.
pub(super) fn vertex_stretches(body: &FrameBody, triangles: &[[u32; 3]]) -> Vec<f64> {
    let rest = &body.surface.mesh.positions;
    let current: Vec<DVec3> = body.positions.iter().map(|p| p.as_dvec3()).collect();
    let mut sums = vec![(0.0, 0.0); rest.len()];
    for (triangle, stretch) in triangles.iter().zip(principal_stretches(rest, &current, triangles)) {
        let Some(stretch) = stretch else { continue };
        let [a, b, c] = triangle.map(|v| rest[v as usize]);
        let area = (b - a).cross(c - a).length();
        for &v in triangle {
            let sum = &mut sums[v as usize];
            *sum = (sum.0 + area * stretch.largest, sum.1 + area);
        }
    }
    sums.into_iter().map(|(sum, area)| if area > 0.0 { sum / area } else { 1.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_rounded_up_to_readable_numbers() {
        for (value, expected) in [(0.05, 0.05), (0.051, 0.1), (0.2, 0.2), (0.021, 0.03), (1.0, 1.0), (7.0, 10.0)] {
            assert!((rounded_up(value) / expected - 1.0).abs() < 1e-9, "{value}: {}", rounded_up(value));
        }
    }

    #[test]
    fn a_wide_floor_does_not_decide_the_view() {
        let cube = Bounds { low: DVec3::ZERO, high: DVec3::ONE };
        let floor = Bounds { low: DVec3::new(-500.0, -9.0, -500.0), high: DVec3::new(500.0, 0.0, 500.0) };
        let survey = Survey { bodies: Some(cube), colliders: Some(floor), largest_deviation: 0.0 };
        let bounds = survey.bounds().unwrap();
        assert!((bounds.high - bounds.low).max_element() < 5.0);
        assert_eq!(Survey::new().bounds(), None);
    }
}
