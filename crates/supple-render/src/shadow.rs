//! Shadow maps (Williams 1978) of parallel light, filtered by comparison (percentage-closer filtering, Reeves,
//! Salesin and Cook 1987). Neighbouring texels are compared with the receiver's own plane, so wide filters neither
//! speckle lit slopes nor detach shadows from what casts them.

use glam::{Vec2, Vec3};
use supple_core::parallel::prelude::*;

use super::drawing::{Drawing, DrawnTriangle};
use super::raster::{PixelRegion, STEPS, ScreenTriangle};

/// Only objects this close to the centre of the picture cast shadows (stage units).
const CASTER_EXTENT: f32 = 3.0;
/// Texels on each side of a map without casters.
const BORDER: f32 = 8.0;
/// Half the width of a shadow's soft edge, and the filter's width, in texels.
const SOFTNESS: usize = 6;
const WIDTH: usize = 2 * SOFTNESS;
/// Texels per side of the blocks whose lowest and highest texel are stored.
const BLOCK: usize = 8;
/// Rows filled by one task.
const BAND: i64 = 256;
/// Steepest receiver plane that is followed, in texels of height per texel.
const STEEPEST: f32 = 3.0;

/// The heights towards the light of the surfaces nearest to it.
pub(super) struct ShadowMap {
    /// Towards the light, length 1.
    pub toward: Vec3,
    right: Vec3,
    up: Vec3,
    /// Texels per stage unit, and the position of the origin.
    scale: f32,
    shift: Vec2,
    size: usize,
    heights: Vec<f32>,
    /// Lowest and highest texel of each block; empty for maps that are read one texel at a time.
    blocks: Vec<[f32; 2]>,
}

impl ShadowMap {
    /// A map of `size` by `size` texels seen from the direction `toward`.
    pub(super) fn new(drawing: &Drawing, toward: Vec3, size: usize) -> Self {
        let mut map = Self::fitted(drawing, toward, size);
        let mut heights = std::mem::take(&mut map.heights);
        let corners: Vec<Vec3> = drawing.vertices.iter().map(|v| map.project(v.position)).collect();
        let on_map = |t: &DrawnTriangle| {
            let [a, b, c] = t.corners;
            let corners = [corners[a as usize], corners[b as usize], corners[c as usize]];
            covers_a_middle(corners).then(|| ScreenTriangle::new(corners)).flatten()
        };
        let triangles: Vec<ScreenTriangle> = drawing.triangles.iter().filter_map(on_map).collect();
        heights.par_chunks_mut(BAND as usize * size).enumerate().for_each(|(band, heights)| {
            let rows = (heights.len() / size) as i64;
            let region = PixelRegion { x: 0, y: band as i64 * BAND, width: size as i64, height: rows };
            for triangle in &triangles {
                let put = |i: usize, height: f32| heights[i] = heights[i].max(height);
                triangle.filler(&region).fill([STEPS / 2; 2], put);
            }
        });
        map.heights = heights;
        map
    }

    /// The same with the data that [`ShadowMap::lit`] needs.
    pub(super) fn with_blocks(mut self) -> Self {
        let across = self.size.div_ceil(BLOCK);
        self.blocks = (0..across * across)
            .into_par_iter()
            .with_min_len(across)
            .map(|block| self.range_of(block % across * BLOCK, block / across * BLOCK))
            .collect();
        self
    }

    /// An empty map around the casters.
    fn fitted(drawing: &Drawing, toward: Vec3, size: usize) -> Self {
        let (right, up) = toward.any_orthonormal_pair();
        let (mut low, mut high) = (Vec2::splat(CASTER_EXTENT), Vec2::splat(-CASTER_EXTENT));
        for p in &drawing.casters {
            let place = Vec2::new(p.dot(right), p.dot(up))
                .clamp(Vec2::splat(-CASTER_EXTENT), Vec2::splat(CASTER_EXTENT));
            (low, high) = (low.min(place), high.max(place));
        }
        let extent = (high - low).max_element().max(1e-3);
        let scale = (size as f32 - 2.0 * BORDER) / extent;
        let shift = Vec2::splat(0.5 * size as f32) - 0.5 * (low + high) * scale;
        let heights = vec![f32::NEG_INFINITY; size * size];
        Self { toward, right, up, scale, shift, size, heights, blocks: Vec::new() }
    }

    /// Column, row and height of a point; texel centres are at half texels. Heights are in texels too.
    pub(super) fn project(&self, point: Vec3) -> Vec3 {
        Vec3::new(point.dot(self.right), point.dot(self.up), point.dot(self.toward)) * self.scale
            + self.shift.extend(0.0)
    }

    /// The size of a texel in stage units.
    pub(super) fn texel(&self) -> f32 {
        1.0 / self.scale
    }

    /// Whether light reaches a point, by the four texels around it: 0 to 1.
    pub(super) fn lit_roughly(&self, point: Vec3, bias: f32) -> f32 {
        let p = self.project(point);
        let (x, y) = (p.x - 0.5, p.y - 0.5);
        let last = (self.size - 1) as f32;
        if !(x >= 0.0 && y >= 0.0 && x < last && y < last) {
            return 1.0;
        }
        let (i, j) = (x as usize, y as usize);
        let (s, t) = (x - i as f32, y - j as f32);
        let at = |i: usize, j: usize| f32::from(u8::from(self.heights[j * self.size + i] <= p.z + bias));
        let row = |j: usize| at(i, j) * (1.0 - s) + at(i + 1, j) * s;
        row(j) * (1.0 - t) + row(j + 1) * t
    }

    /// How much light reaches a point on a surface with this (flat) normal, 0 to 1, by a tent filter of [`SOFTNESS`]
    /// texels to each side. Heights within `bias` texels of the surface cast no shadow on it.
    pub(super) fn lit(&self, point: Vec3, normal: Vec3, bias: f32) -> f32 {
        let p = self.project(point);
        let (x, y) = (p.x - 0.5, p.y - 0.5);
        let (margin, last) = (SOFTNESS as f32, (self.size - SOFTNESS - 1) as f32);
        if !(x >= margin && y >= margin && x < last && y < last) {
            return 1.0;
        }
        let slope = self.plane_slope(normal);
        let spread = SOFTNESS as f32 * (slope.x.abs() + slope.y.abs());
        // The texel at the filter's low corner; the point lies between its texels `SOFTNESS - 1` and `SOFTNESS`.
        let (i, j) = (x as usize + 1 - SOFTNESS, y as usize + 1 - SOFTNESS);
        let [lowest, highest] = self.range_around(i, j);
        if highest <= p.z + bias - spread {
            return 1.0;
        }
        if lowest > p.z + bias + spread {
            return 0.0;
        }
        self.filtered([i, j], Vec2::new(x - i as f32, y - j as f32), p.z + bias, slope)
    }

    /// The fraction of the filter at `place`, counted from `corner`, that is not above the plane through `height`.
    fn filtered(&self, corner: [usize; 2], place: Vec2, height: f32, slope: Vec2) -> f32 {
        let columns: [f32; WIDTH] = std::array::from_fn(|k| k as f32 - place.x);
        let weights = columns.map(tent);
        let planes = columns.map(|dx| height + slope.x * dx);
        let mut sum = 0.0;
        for row in 0..WIDTH {
            let dy = row as f32 - place.y;
            let start = (corner[1] + row) * self.size + corner[0];
            let mut in_row = 0.0;
            for (k, texel) in self.heights[start..start + WIDTH].iter().enumerate() {
                in_row += if *texel <= planes[k] + slope.y * dy { weights[k] } else { 0.0 };
            }
            sum += in_row * tent(dy);
        }
        // The weights of a tent at unit distances add up to its half width.
        sum / (SOFTNESS * SOFTNESS) as f32
    }

    /// The change of height of a plane with this normal per texel to the right and up.
    fn plane_slope(&self, normal: Vec3) -> Vec2 {
        let facing = normal.dot(self.toward);
        let facing = if facing.abs() < 1e-4 { 1e-4f32.copysign(facing) } else { facing };
        let slope = -Vec2::new(normal.dot(self.right), normal.dot(self.up)) / facing;
        slope.clamp_length_max(STEEPEST)
    }

    fn range_of(&self, x: usize, y: usize) -> [f32; 2] {
        let mut range = [f32::INFINITY, f32::NEG_INFINITY];
        for j in y..(y + BLOCK).min(self.size) {
            for &height in &self.heights[j * self.size + x..j * self.size + (x + BLOCK).min(self.size)] {
                range = [range[0].min(height), range[1].max(height)];
            }
        }
        range
    }

    /// Bounds of the heights in the filter at this corner, by the blocks it touches.
    fn range_around(&self, x: usize, y: usize) -> [f32; 2] {
        let across = self.size.div_ceil(BLOCK);
        let mut range = [f32::INFINITY, f32::NEG_INFINITY];
        for j in y / BLOCK..=(y + WIDTH - 1) / BLOCK {
            for block in &self.blocks[j * across + x / BLOCK..=j * across + (x + WIDTH - 1) / BLOCK] {
                range = [range[0].min(block[0]), range[1].max(block[1])];
            }
        }
        range
    }
}

/// Whether a triangle's box may contain a texel centre; on small maps most triangles of a fine mesh do not.
fn covers_a_middle([a, b, c]: [Vec3; 3]) -> bool {
    let rounding = 1.0 / STEPS as f32;
    // Shifted far to the positive side, where a cast rounds down; accurate enough for maps of a few thousand texels.
    let texel = |x: f32| (x + 4095.5) as i32;
    let crosses = |low: f32, high: f32| texel(low - rounding) != texel(high + rounding);
    crosses(a.x.min(b.x).min(c.x), a.x.max(b.x).max(c.x))
        && crosses(a.y.min(b.y).min(c.y), a.y.max(b.y).max(c.y))
}

fn tent(distance: f32) -> f32 {
    (1.0 - distance.abs() / SOFTNESS as f32).max(0.0)
}
