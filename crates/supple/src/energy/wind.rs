//! Air on triangles: drag and lift as a quadratic dissipation potential.
//!
//! A triangle of area `A` and unit normal `n` meets the air with the relative velocity `w = wind - v`, `v` the mean
//! velocity of its corners. The force is `½ ρ s A |w| (Cₙ (w·n) n + Cₜ (w - (w·n) n))`: for a tilted sheet the first
//! term has a part across the wind, which is lift. The air is on both sides of a sheet (`s = 1`) and outside of a
//! closed surface only (`s = ½`), so that a sheet and a flat bag of the same outline feel the same. Over a step `A`,
//! `n` and `|w|` keep their values from its start, and `v = (x - x₀)/h`, so that the force is minus the gradient of
//!
//! ```text
//! E = h/2 · c (Cₙ (w·n)² + Cₜ |w - (w·n) n|²),    c = ½ ρ s A |w|.
//! ```

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::body::Embedding;
use crate::energy::attachment::point_couplings;
use crate::energy::outer;
use crate::energy::{Energy, PointVisitor};
use crate::material::HessianMode;
use crate::scene::World;
use supple_core::parallel::{self, CHUNK};

/// Drag of a flat plate across the flow.
const NORMAL_DRAG: f64 = 2.0;
/// Skin friction along the flow.
const TANGENTIAL_DRAG: f64 = 0.05;

/// One triangle over one step.
#[derive(Debug, Clone, Copy, Default)]
struct TriangleDrag {
    /// Centroid at the step's start.
    start: DVec3,
    /// `c (Cₙ n nᵀ + Cₜ (I - n nᵀ))` in kg/s.
    drag: DMat3,
}

/// Wind on all triangles over one step.
#[derive(Debug, Clone, Default)]
pub struct Wind {
    /// Corners as points.
    triangles: Vec<[u32; 3]>,
    /// The exposed fraction of each triangle's two sides.
    sides: Vec<f64>,
    /// The centroid of each triangle as a material point.
    centroids: Embedding,
    sails: Vec<TriangleDrag>,
    air: DVec3,
    step: f64,
}

impl Wind {
    /// Wind on triangles whose corners are points of an embedding; `closed` marks those that belong to closed surfaces.
    pub fn new(points: &Embedding, triangles: Vec<[u32; 3]>, closed: &[bool]) -> Self {
        let centroids = Embedding::from_lists(triangles.iter().map(|corners| centroid(points, corners)));
        let sides = closed.iter().map(|closed| if *closed { 0.5 } else { 1.0 }).collect();
        Self { triangles, sides, centroids, ..Self::default() }
    }

    /// Updates after a tear: the corners of triangles are different points, and points are different unknowns.
    pub(crate) fn follow(&mut self, points: &Embedding, triangles: impl Iterator<Item = [u32; 3]>) {
        for (t, corners) in triangles.enumerate() {
            self.triangles[t] = corners;
            for (k, corner) in corners.into_iter().enumerate() {
                if let [(unknown, _)] = points.weights(corner as usize) {
                    self.centroids.set_unknown(t, k, *unknown);
                }
            }
        }
    }

    /// Starts a step of `dt` seconds that ends at `end`, from positions `x` and velocities `v`.
    pub fn begin_step(
        &mut self,
        points: &Embedding,
        x: &[DVec3],
        v: &[DVec3],
        world: &World,
        [end, dt]: [f64; 2],
    ) {
        self.step = dt;
        let air = world.air(end);
        self.air = air.map_or(DVec3::ZERO, |air| air.velocity);
        let mut sails = std::mem::take(&mut self.sails);
        sails.resize(if air.is_some() { self.triangles.len() } else { 0 }, TriangleDrag::default());
        let density = air.map_or(0.0, |air| air.density);
        sails.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(t, sail)| {
            *sail = self.sail(t, points, x, v, density);
        });
        self.sails = sails;
    }

    /// How many triangles there are.
    pub(crate) fn len(&self) -> usize {
        self.triangles.len()
    }

    /// The unknowns of a triangle's centroid with their weights.
    pub(crate) fn weights(&self, triangle: usize) -> &[(u32, f64)] {
        self.centroids.weights(triangle)
    }

    /// The force on a triangle in newtons, and its decrease per metre that the centroid moves, in N/m.
    pub(crate) fn pull(&self, triangle: usize, x: &[DVec3]) -> (DVec3, DMat3) {
        let drag = self.sails[triangle].drag;
        (drag * self.relative_velocity(triangle, x), drag * (1.0 / self.step))
    }

    /// Whether there is neither wind nor drag in this step.
    pub fn is_still(&self) -> bool {
        self.sails.is_empty()
    }

    fn sail(&self, t: usize, points: &Embedding, x: &[DVec3], v: &[DVec3], density: f64) -> TriangleDrag {
        let [a, b, c] = self.triangles[t].map(|p| points.position(p as usize, x));
        let double_area = (b - a).cross(c - a);
        let normal = double_area.normalize_or_zero();
        let across = outer(normal);
        let speed = (self.air - self.centroids.position(t, v)).length();
        let strength = 0.25 * density * self.sides[t] * double_area.length() * speed;
        let drag = strength * (NORMAL_DRAG * across + TANGENTIAL_DRAG * (DMat3::IDENTITY - across));
        TriangleDrag { start: self.centroids.position(t, x), drag }
    }

    fn relative_velocity(&self, t: usize, x: &[DVec3]) -> DVec3 {
        self.air - (self.centroids.position(t, x) - self.sails[t].start) / self.step
    }
}

fn centroid(points: &Embedding, corners: &[u32; 3]) -> Vec<(u32, f64)> {
    let mut list: Vec<(u32, f64)> = Vec::with_capacity(3);
    for &corner in corners {
        for &(v, w) in points.weights(corner as usize) {
            match list.iter_mut().find(|(u, _)| *u == v) {
                Some((_, weight)) => *weight += w / 3.0,
                None => list.push((v, w / 3.0)),
            }
        }
    }
    list
}

impl Energy for Wind {
    fn value(&self, x: &[DVec3]) -> f64 {
        parallel::sum(self.sails.len(), |t| {
            let w = self.relative_velocity(t, x);
            0.5 * self.step * w.dot(self.sails[t].drag * w)
        })
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        for (t, sail) in self.sails.iter().enumerate() {
            self.centroids.scatter(t, -(sail.drag * self.relative_velocity(t, x)), gradient);
        }
    }

    fn couplings(&self, pair: &mut dyn FnMut(u32, u32)) {
        for t in 0..self.centroids.len() {
            point_couplings(self.centroids.weights(t), pair);
        }
    }

    fn point_hessians(&self, _x: &[DVec3], _curvature: HessianMode, visit: PointVisitor<'_>) {
        for (t, sail) in self.sails.iter().enumerate() {
            visit(self.centroids.weights(t), sail.drag * (1.0 / self.step));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::energy::conformance::*;

    /// A triangle of 1 m² that moves with a velocity.
    fn moving_sheet(world: &World, velocity: DVec3) -> (Wind, [DVec3; 3]) {
        let points = Embedding::of_vertices(&[0, 1, 2]);
        let mut wind = Wind::new(&points, vec![[0, 1, 2]], &[false]);
        let x = [DVec3::ZERO, DVec3::new(2.0, 0.0, 0.0), DVec3::new(0.0, 1.0, 0.0)];
        wind.begin_step(&points, &x, &[velocity; 3], world, [0.01, 0.01]);
        (wind, x.map(|p| p + 0.01 * velocity))
    }

    /// The same triangle at rest in wind.
    pub(crate) fn sheet() -> (Wind, [DVec3; 3]) {
        let world = World { wind: Some(DVec3::new(0.0, 0.0, 3.0)), ..World::default() };
        moving_sheet(&world, DVec3::ZERO)
    }

    #[test]
    fn derivatives_are_exact_and_positive() {
        let (mut wind, mut x) = sheet();
        x[1] += DVec3::new(0.01, -0.02, 0.01);
        assert!(gradient_error(&wind, &x) < 1e-7);
        assert!(hessian_error(&mut wind, &x) < 1e-7);
        assert!(smallest_eigenvalue(&mut wind, &x) > -1e-14);
    }

    #[test]
    fn drag_on_a_plate_is_half_rho_v_squared_area_times_the_coefficient() {
        let (wind, x) = sheet();
        let force = -total_force(&wind, &x);
        assert!((force - DVec3::new(0.0, 0.0, 0.5 * 1.2 * 9.0 * 1.0 * NORMAL_DRAG)).length() < 1e-12);
    }

    #[test]
    fn only_the_relative_velocity_counts_and_without_air_there_is_no_drag() {
        let (wind, x) = sheet();
        let blown = -total_force(&wind, &x);
        let still = World { air_density: Some(1.2), ..World::default() };
        let (wind, x) = moving_sheet(&still, DVec3::new(0.0, 0.0, -3.0));
        assert!((-total_force(&wind, &x) - blown).length() < 1e-10);
        let (wind, x) = moving_sheet(&World::default(), DVec3::new(0.0, 0.0, -3.0));
        assert_eq!(total_force(&wind, &x), DVec3::ZERO);
    }
}
