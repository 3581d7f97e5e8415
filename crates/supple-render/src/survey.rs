//! Quantities of a whole animation that must be known before its first picture is drawn, so that nothing jumps: its
//! extent and its largest stretch.

use glam::DVec3;

use super::camera::{Bounds, Camera, Framing};
use super::{ColorBy, Overlay, RenderOptions, RenderScene};
use supple::mesh::geometry::stretch::principal_stretches;
use supple::output::FrameBody;
use supple::simulation::Stress;

/// The extent of one or more frames: feed every frame with [`Survey::add`], then fix the options with
/// [`RenderOptions::fixed_for`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Survey {
    bodies: Option<Bounds>,
    bounds: Option<Bounds>,
    framing: Framing,
    largest_deviation: f64,
    largest_stress: f64,
    largest_pressure: f64,
}

impl Survey {
    /// An empty survey for pictures with these options.
    pub fn new(options: &RenderOptions) -> Self {
        let aspect = f64::from(options.width.max(1)) / f64::from(options.height.max(1));
        let framing = Framing::new(aspect);
        Self {
            bodies: None,
            bounds: None,
            framing,
            largest_deviation: 0.0,
            largest_stress: 0.0,
            largest_pressure: 0.0,
        }
    }

    /// Adds a frame. Stretch is measured only if the options show it and leave its limit open.
    pub fn add(&mut self, scene: &RenderScene, options: &RenderOptions) {
        for body in &scene.frame.bodies {
            let points = || body.positions.iter().map(|p| p.as_dvec3());
            merge(&mut self.bodies, Bounds::of(points()));
            self.add_points(points());
            if options.color == (ColorBy::Stretch { limit: None }) {
                let stretches = vertex_stretches(body, &body.surface.mesh.triangles());
                let deviation = stretches.iter().map(|s| (s - 1.0).abs()).fold(0.0, f64::max);
                self.largest_deviation = self.largest_deviation.max(deviation);
            }
        }
        if let Overlay::Stress(stress) = scene.overlay {
            self.largest_stress = self.largest_stress.max(most_stress(stress));
        }
        if let Overlay::Contact { pressure, .. } = scene.overlay {
            self.largest_pressure = self.largest_pressure.max(most_pressure(pressure));
        }
        // A wide floor must not shrink everything else: colliders only count close to the bodies.
        let near = self.bodies.map(|b| b.surroundings());
        for collider in scene.colliders {
            let finite = collider.positions.iter().filter(|p| p.is_finite());
            self.add_points(finite.map(|&p| near.map_or(p, |near| p.clamp(near.low, near.high))));
        }
    }

    /// The region to show: all bodies, and colliders close to them; `None` if there is nothing.
    pub fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }

    /// A camera that shows all of it, or an empty scene if there is nothing.
    pub fn camera(&self) -> Camera {
        let empty = Bounds { low: DVec3::splat(-0.5), high: DVec3::splat(0.5) };
        match &self.bounds {
            Some(bounds) => self.framing.camera(bounds),
            None => {
                let mut framing = self.framing;
                framing.add(empty.corners());
                framing.camera(&empty)
            }
        }
    }

    fn add_points(&mut self, points: impl Iterator<Item = DVec3> + Clone) {
        merge(&mut self.bounds, Bounds::of(points.clone()));
        self.framing.add(points);
    }

    /// The stretch at the end of the colour scale: the maximum, rounded up to a round number.
    pub fn stretch_limit(&self) -> f64 {
        1.0 + rounded_up(self.largest_deviation.clamp(0.005, 10.0))
    }

    /// The stress at the end of the colour scale, in the unit of the first body: one in a hundred vertices may exceed it.
    pub fn stress_limit(&self) -> f64 {
        rounded_up(self.largest_stress.clamp(1e-3, 1e15))
    }

    /// The pressure in Pa at the end of the colour scale: one in a hundred of the vertices that are touched may exceed it.
    pub fn pressure_limit(&self) -> f64 {
        rounded_up(self.largest_pressure.clamp(1e-3, 1e15))
    }
}

/// The pressure that nearly all touched vertices stay below.
fn most_pressure(pressure: &[f32]) -> f64 {
    let mut touched: Vec<f32> = pressure.iter().copied().filter(|pressure| *pressure > 0.0).collect();
    touched.sort_unstable_by(f32::total_cmp);
    let place = (MOST_STRESSED * touched.len().saturating_sub(1) as f64) as usize;
    touched.get(place).copied().map_or(0.0, f64::from)
}

/// Fraction of all vertices whose stress the scale covers: otherwise pinned corners would dominate it.
const MOST_STRESSED: f64 = 0.99;

/// The stress that nearly all vertices stay below, over the bodies with the unit of the first one.
fn most_stress(stress: &Stress) -> f64 {
    let first = stress.bodies.first().map(|body| body.0);
    let mut rest = &stress.of_point[..];
    let mut values = Vec::new();
    for &(unit, points) in &stress.bodies {
        let (own, others) = rest.split_at(points.min(rest.len()));
        rest = others;
        values.extend(own.iter().filter(|_| Some(unit) == first));
    }
    values.sort_unstable_by(f64::total_cmp);
    values.get((MOST_STRESSED * values.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(0.0)
}

fn merge(total: &mut Option<Bounds>, part: Option<Bounds>) {
    *total = match (*total, part) {
        (Some(a), Some(b)) => Some(a.union(&b)),
        (a, b) => a.or(b),
    };
}

/// The next of 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten.
fn rounded_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    // A small tolerance, otherwise 0.05 could become 0.1 by rounding alone.
    power * steps.iter().find(|&&s| s * power >= value * (1.0 - 1e-9)).unwrap_or(&10.0)
}

/// The largest principal stretch around each vertex: the mean over its triangles, weighted by their rest areas; 1 if
/// there are none.
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
    use glam::DMat3;

    use super::*;
    use crate::ColliderMesh;
    use supple::output::{Frame, FrameSurface};

    #[test]
    fn limits_are_rounded_up_to_readable_numbers() {
        for (value, expected) in
            [(0.05, 0.05), (0.051, 0.06), (0.2, 0.2), (0.011, 0.015), (1.0, 1.0), (9.0, 10.0)]
        {
            assert!((rounded_up(value) / expected - 1.0).abs() < 1e-9, "{value}: {}", rounded_up(value));
        }
    }

    #[test]
    fn a_wide_floor_does_not_decide_the_view() {
        let corners = |low: f64, high: f64, y: [f64; 2]| {
            Bounds { low: DVec3::new(low, y[0], low), high: DVec3::new(high, y[1], high) }.corners().to_vec()
        };
        let cube =
            supple::mesh::SurfaceMesh { positions: corners(0.0, 1.0, [0.0, 1.0]), ..Default::default() };
        let positions = cube.positions.iter().map(|p| p.as_vec3()).collect();
        let surface = FrameSurface { name: "cube".into(), mesh: cube, file_from_world: DMat3::IDENTITY };
        let frame = Frame {
            index: 0,
            time: 0.0,
            bodies: vec![FrameBody { surface: surface.into(), positions, contact: None }],
        };
        let floor = ColliderMesh {
            name: "floor".into(),
            positions: corners(-500.0, 500.0, [-9.0, 0.0]),
            triangles: vec![],
            color: None,
        };
        let options = RenderOptions::default();
        let mut survey = Survey::new(&options);
        assert_eq!(survey.bounds(), None);
        survey.add(&RenderScene { frame: &frame, colliders: &[floor], overlay: &Overlay::None }, &options);
        let bounds = survey.bounds().unwrap();
        assert!((bounds.high - bounds.low).max_element() < 5.0);
    }
}
