//! Ambient light from the sky: how much of it reaches each vertex and each point on the ground, by shadow maps from
//! many directions. It does not depend on the view and has no noise, so it is stable in animations.

use glam::{Vec2, Vec3};
use supple_core::parallel::prelude::*;

use super::drawing::Drawing;
use super::shadow::ShadowMap;

/// Texels per side of each direction's map.
const MAP_SIZE: usize = 256;
/// Target number of triangles drawn into all maps together; determines the number of directions.
const TRIANGLE_BUDGET: usize = 2_000_000;
const MIN_DIRECTIONS: usize = 24;
const MAX_DIRECTIONS: usize = 64;
/// Bias in texels against self-shadowing.
const OFFSET: f32 = 1.2;
const BIAS: f32 = 1.2;
/// Rounds of averaging with neighbours, to smooth the steps of single directions.
const SMOOTHING: usize = 2;

/// The sky as a set of directions, each with its shadow map.
pub(super) struct Sky {
    maps: Vec<ShadowMap>,
}

impl Sky {
    pub(super) fn new(drawing: &Drawing) -> Self {
        let count = TRIANGLE_BUDGET / drawing.triangles.len().max(1);
        let count = count.clamp(MIN_DIRECTIONS, MAX_DIRECTIONS);
        let direction = |i: usize| ShadowMap::new(drawing, upward(i, count), MAP_SIZE);
        Self { maps: (0..count).into_par_iter().map(direction).collect() }
    }

    /// For each vertex the light of the sky on its front and its back, relative to that on open ground.
    pub(super) fn on_vertices(&self, drawing: &Drawing) -> Vec<[f32; 2]> {
        let light = |v: &super::drawing::Vertex| self.irradiance(v.position, v.normal);
        let values = drawing.vertices.par_iter().with_min_len(256).map(light).collect();
        (0..SMOOTHING).fold(values, |values, _| smoothed(values, drawing))
    }

    /// Light on both sides of a surface at a point; directions are weighted by the angle (Lambert's law).
    fn irradiance(&self, point: Vec3, normal: Vec3) -> [f32; 2] {
        let mut sides = [0.0; 2];
        for map in &self.maps {
            let cosine = normal.dot(map.toward);
            let offset = normal * (OFFSET * map.texel()).copysign(cosine);
            sides[usize::from(cosine < 0.0)] += cosine.abs() * map.lit_roughly(point + offset, BIAS);
        }
        // The mean cosine over the hemisphere is a half.
        sides.map(|s| 2.0 * s / self.maps.len() as f32)
    }

    /// The light of the sky on a piece of level ground at this height.
    pub(super) fn on_ground(&self, height: f32) -> GroundLight {
        GroundLight::new(|place| self.irradiance(Vec3::new(place.x, height, place.y), Vec3::Y)[0])
    }
}

/// The `i`th of `count` directions spread evenly over the upper hemisphere (a Fibonacci spiral).
fn upward(i: usize, count: usize) -> Vec3 {
    let y = (i as f32 + 0.5) / count as f32;
    let turn = i as f32 * 2.399_963_1;
    let level = (1.0 - y * y).sqrt();
    Vec3::new(level * turn.cos(), y, level * turn.sin())
}

/// Averages each value with those of its neighbours.
fn smoothed(values: Vec<[f32; 2]>, drawing: &Drawing) -> Vec<[f32; 2]> {
    let mut sums: Vec<[f32; 3]> = values.iter().map(|v| [2.0 * v[0], 2.0 * v[1], 2.0]).collect();
    for triangle in &drawing.triangles {
        let [a, b, c] = triangle.corners.map(|v| values[v as usize]);
        let sum = [a[0] + b[0] + c[0], a[1] + b[1] + c[1]];
        for (corner, own) in triangle.corners.iter().zip([a, b, c]) {
            let total = &mut sums[*corner as usize];
            *total = [total[0] + sum[0] - own[0], total[1] + sum[1] - own[1], total[2] + 2.0];
        }
    }
    sums.into_iter().map(|[front, back, weight]| [front / weight, back / weight]).collect()
}

/// Light on the ground as a grid around the centre of the picture.
pub(super) struct GroundLight {
    values: Vec<f32>,
}

impl GroundLight {
    const SIZE: usize = 144;
    /// Half the side of the square the grid covers, in stage units.
    const HALF_EXTENT: f32 = 3.0;

    fn new(light: impl Fn(Vec2) -> f32 + Sync) -> Self {
        let place = |i: usize| (i as f32 / (Self::SIZE - 1) as f32 * 2.0 - 1.0) * Self::HALF_EXTENT;
        let values = (0..Self::SIZE * Self::SIZE)
            .into_par_iter()
            .with_min_len(Self::SIZE)
            .map(|i| light(Vec2::new(place(i % Self::SIZE), place(i / Self::SIZE))))
            .collect();
        Self { values }.blurred()
    }

    /// Averaged over 3 by 3 values twice, which hides the edges of single directions' shadows.
    fn blurred(mut self) -> Self {
        for _ in 0..2 {
            let old = self.values.clone();
            for j in 1..Self::SIZE - 1 {
                for i in 1..Self::SIZE - 1 {
                    let row = |j: usize| &old[j * Self::SIZE + i - 1..=j * Self::SIZE + i + 1];
                    let sum: f32 = [row(j - 1), row(j), row(j + 1)].into_iter().flatten().sum();
                    self.values[j * Self::SIZE + i] = sum / 9.0;
                }
            }
        }
        self
    }

    /// The light at a position (x and z), interpolated.
    pub(super) fn at(&self, place: Vec2) -> f32 {
        let grid = (place / Self::HALF_EXTENT + 1.0) * 0.5 * (Self::SIZE - 1) as f32;
        if !(grid.min_element() >= 0.0 && grid.max_element() < (Self::SIZE - 1) as f32) {
            return 1.0;
        }
        let (i, j) = (grid.x as usize, grid.y as usize);
        let (s, t) = (grid.x - i as f32, grid.y - j as f32);
        let row = |j: usize| {
            let start = j * Self::SIZE + i;
            self.values[start] * (1.0 - s) + self.values[start + 1] * s
        };
        row(j) * (1.0 - t) + row(j + 1) * t
    }
}
