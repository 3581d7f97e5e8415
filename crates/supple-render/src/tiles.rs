//! From triangles to pixels, tile by tile: which triangle each sample shows, then the colour of each pixel. Samples of
//! a pixel that show the same triangle are shaded once, at their centroid, so edges are smooth at little cost.

use glam::{Vec2, Vec3};
use supple_core::parallel::prelude::*;

use super::camera::StageView;
use super::colors::SrgbTable;
use super::drawing::{Drawing, DrawnTriangle};
use super::ground::{Backdrop, GroundPlane};
use super::image::Image;
use super::raster::{PixelRegion, STEPS, ScreenTriangle};
use super::shading::{Lighting, SurfacePoint, back_color};

const TILE_WIDTH: u32 = 64;
const TILE_HEIGHT: u32 = 32;
/// Special triangle indices: nothing, or the ground.
const NOTHING: u32 = u32::MAX;
const GROUND: u32 = u32::MAX - 1;
/// Half the width of wires in pixels, and how dark they are.
const WIRE_HALF_WIDTH: f32 = 0.55;
const WIRE_STRENGTH: f32 = 0.72;

/// Everything a tile needs.
pub(super) struct Painter<'a> {
    pub view: StageView,
    pub drawing: &'a Drawing,
    pub lighting: &'a Lighting,
    pub ground: Option<GroundPlane>,
    pub backdrop: Backdrop,
    pub samples: u32,
    pub wireframe: bool,
}

/// A triangle on the screen with its index in the drawing.
struct Projected {
    screen: ScreenTriangle,
    triangle: u32,
}

impl Painter<'_> {
    /// Draws the whole picture.
    pub(super) fn paint(&self, width: u32, height: u32) -> Image {
        let offsets = sample_offsets(self.samples);
        let projected = self.project();
        let (columns, rows) = (width.div_ceil(TILE_WIDTH), height.div_ceil(TILE_HEIGHT));
        let bins = bin(&projected, columns, rows);
        let table = SrgbTable::new();
        let tiles: Vec<(PixelRegion, Vec<[u8; 4]>)> = bins
            .par_iter()
            .enumerate()
            .map(|(i, bin)| {
                let (x, y) = (i as u32 % columns * TILE_WIDTH, i as u32 / columns * TILE_HEIGHT);
                let (w, h) = (TILE_WIDTH.min(width - x), TILE_HEIGHT.min(height - y));
                let region = PixelRegion { x: x.into(), y: y.into(), width: w.into(), height: h.into() };
                let seen = self.visible(&region, &offsets, bin.iter().map(|&p| &projected[p as usize]));
                (region, self.resolve(&region, &offsets, &seen, &table))
            })
            .collect();
        let mut image = Image::filled(width, height, [0; 4]);
        for (region, pixels) in &tiles {
            for (row, pixels) in pixels.chunks(region.width as usize).enumerate() {
                let start = (region.y as usize + row) * width as usize + region.x as usize;
                image.pixels_mut()[start..start + pixels.len()].copy_from_slice(pixels);
            }
        }
        image
    }

    fn project(&self) -> Vec<Projected> {
        let seen: Vec<Vec3> =
            self.drawing.vertices.iter().map(|v| self.view.seen_from_eye(v.position)).collect();
        let mut projected = Vec::with_capacity(self.drawing.triangles.len());
        for (i, triangle) in self.drawing.triangles.iter().enumerate() {
            self.view.project(triangle.corners.map(|v| seen[v as usize]), |screen| {
                projected.push(Projected { screen, triangle: i as u32 });
            });
        }
        projected
    }

    /// The triangle that each sample of each pixel shows: one plane of the region's pixels per sample.
    fn visible<'p>(
        &self,
        region: &PixelRegion,
        offsets: &[[i64; 2]],
        triangles: impl Iterator<Item = &'p Projected>,
    ) -> Vec<u32> {
        let area = region.area();
        let mut shown = vec![NOTHING; area * offsets.len()];
        let mut depths = vec![0f32; area * offsets.len()];
        for (s, &offset) in offsets.iter().enumerate() {
            let plane = s * area..(s + 1) * area;
            self.start_with_ground(region, offset, &mut shown[plane.clone()], &mut depths[plane]);
        }
        for Projected { screen, triangle } in triangles {
            let filler = screen.filler(region);
            for (s, &offset) in offsets.iter().enumerate() {
                filler.fill(offset, |i, depth| {
                    let i = s * area + i;
                    if depth > depths[i] {
                        depths[i] = depth;
                        shown[i] = *triangle;
                    }
                });
            }
        }
        shown
    }

    fn start_with_ground(
        &self,
        region: &PixelRegion,
        offset: [i64; 2],
        shown: &mut [u32],
        depths: &mut [f32],
    ) {
        let Some(ground) = &self.ground else { return };
        let width = region.width as usize;
        for (row, (shown, depths)) in shown.chunks_mut(width).zip(depths.chunks_mut(width)).enumerate() {
            let first = pixel_corner(region, 0, row) + steps(offset);
            // Affine along the row, as every plane's inverse depth is.
            let start = ground.inverse_depth(self.view.ray(first.x, first.y));
            let step = ground.inverse_depth(self.view.ray(first.x + 1.0, first.y)) - start;
            for (column, (shown, depth)) in shown.iter_mut().zip(depths).enumerate() {
                let inverse = start + step * column as f32;
                if inverse > 0.0 {
                    (*shown, *depth) = (GROUND, inverse);
                }
            }
        }
    }

    fn resolve(
        &self,
        region: &PixelRegion,
        offsets: &[[i64; 2]],
        shown: &[u32],
        table: &SrgbTable,
    ) -> Vec<[u8; 4]> {
        let area = region.area();
        let mut pixels = Vec::with_capacity(area);
        for row in 0..region.height as usize {
            for column in 0..region.width as usize {
                let i = row * region.width as usize + column;
                let samples = shown[i..].iter().step_by(area).copied();
                let (color, alpha) = self.pixel(pixel_corner(region, column, row), offsets, samples);
                let straight = if alpha > 0.0 { color / alpha } else { color };
                let [r, g, b] = table.encode(straight);
                pixels.push([r, g, b, (alpha * 255.0 + 0.5) as u8]);
            }
        }
        pixels
    }

    /// Colour times opacity, and opacity, of the pixel with this corner and these samples.
    fn pixel(
        &self,
        corner: Vec2,
        offsets: &[[i64; 2]],
        samples: impl Iterator<Item = u32> + Clone,
    ) -> (Vec3, f32) {
        let mut others = samples.clone();
        let first = others.next().unwrap_or(NOTHING);
        if others.all(|shown| shown == first) {
            return self.shade(first, corner + 0.5);
        }
        // The triangles shown, the number of their samples, and the sum of the sample positions.
        let mut groups = [(NOTHING, 0.0, Vec2::ZERO); super::MAX_SAMPLES as usize];
        let mut used = 0;
        for (shown, &offset) in samples.zip(offsets) {
            let group = groups[..used].iter().position(|g| g.0 == shown).unwrap_or_else(|| {
                groups[used].0 = shown;
                used += 1;
                used - 1
            });
            groups[group].1 += 1.0;
            groups[group].2 += steps(offset);
        }
        let (mut color, mut alpha) = (Vec3::ZERO, 0.0);
        for &(shown, count, sum) in &groups[..used] {
            let (c, a) = self.shade(shown, corner + sum / count);
            color += c * count;
            alpha += a * count;
        }
        (color / self.samples as f32, alpha / self.samples as f32)
    }

    fn shade(&self, shown: u32, place: Vec2) -> (Vec3, f32) {
        let ray = self.view.ray(place.x, place.y);
        match (shown, &self.ground) {
            (NOTHING, _) | (GROUND, None) => self.backdrop.at(place.y),
            (GROUND, Some(ground)) => {
                let (color, left) = ground.color(&self.view, ray, self.lighting);
                let (behind, alpha) = self.backdrop.at(place.y);
                (behind.lerp(color, left), alpha + (1.0 - alpha) * left)
            }
            (triangle, _) => {
                (self.shade_triangle(&self.drawing.triangles[triangle as usize], place, ray), 1.0)
            }
        }
    }

    fn shade_triangle(&self, triangle: &DrawnTriangle, place: Vec2, ray: Vec3) -> Vec3 {
        let vertices = triangle.corners.map(|v| &self.drawing.vertices[v as usize]);
        let positions = vertices.map(|v| v.position);
        let weights = barycentric(positions, self.view.eye, ray);
        let inside = clamped(weights);
        let mix = |values: [Vec3; 3]| values[0] * inside[0] + values[1] * inside[1] + values[2] * inside[2];
        let face = (positions[1] - positions[0]).cross(positions[2] - positions[0]).normalize_or_zero();
        let back = face.dot(ray) > 0.0;
        let side = if back { -1.0 } else { 1.0 };
        let sky = triangle.corners.map(|v| self.lighting.sky_on_vertices[v as usize][usize::from(back)]);
        let color = mix(vertices.map(|v| v.color));
        let hit = SurfacePoint {
            position: mix(positions),
            normal: mix(vertices.map(|v| v.normal)).normalize_or_zero() * side,
            face: face * side,
            color: if back { back_color(color, triangle.surface_kind) } else { color },
            sky: sky[0] * inside[0] + sky[1] * inside[1] + sky[2] * inside[2],
            to_eye: -ray.normalize(),
        };
        let wire = if self.wireframe { self.wire(triangle, positions, place, weights) } else { 0.0 };
        self.lighting.surface(&hit) * (1.0 - WIRE_STRENGTH * wire)
    }

    /// How much of a sample is covered by a polygon's edge, 0 to 1.
    fn wire(&self, triangle: &DrawnTriangle, positions: [Vec3; 3], place: Vec2, weights: [f32; 3]) -> f32 {
        let at = |x: f32, y: f32| barycentric(positions, self.view.eye, self.view.ray(x, y));
        let (right, below) = (at(place.x + 0.5, place.y), at(place.x, place.y + 0.5));
        let mut nearest = f32::MAX;
        for edge in (0..3).filter(|&e| triangle.polygon_edges[e]) {
            // The weight of the corner opposite to an edge is zero on it; its gradient makes it a distance.
            let w = (edge + 2) % 3;
            let gradient = 2.0 * Vec2::new(right[w] - weights[w], below[w] - weights[w]).length();
            nearest = nearest.min(weights[w].abs() / gradient.max(1e-6));
        }
        (0.5 + WIRE_HALF_WIDTH - nearest).clamp(0.0, 1.0)
    }
}

/// The weights of a triangle's corners where a ray meets its plane (Möller and Trumbore 1997).
fn barycentric(p: [Vec3; 3], eye: Vec3, ray: Vec3) -> [f32; 3] {
    let (first, second, from) = (p[1] - p[0], p[2] - p[0], eye - p[0]);
    let (across, over) = (ray.cross(second), from.cross(first));
    let scale = 1.0 / first.dot(across);
    let (v, w) = (from.dot(across) * scale, ray.dot(over) * scale);
    [1.0 - v - w, v, w]
}

/// The weights of the point in the triangle nearest to the given ones; the centroid if they are unusable.
fn clamped(weights: [f32; 3]) -> [f32; 3] {
    let inside = weights.map(|w| w.clamp(0.0, 1.0));
    let sum: f32 = inside.iter().sum();
    if sum.is_finite() && sum > 0.0 { inside.map(|w| w / sum) } else { [1.0 / 3.0; 3] }
}

fn pixel_corner(region: &PixelRegion, column: usize, row: usize) -> Vec2 {
    Vec2::new((region.x + column as i64) as f32, (region.y + row as i64) as f32)
}

fn steps(offset: [i64; 2]) -> Vec2 {
    Vec2::new(offset[0] as f32, offset[1] as f32) / STEPS as f32
}

/// Positions of the samples in a pixel, in steps: no two share a row or a column, so that nearly horizontal and
/// nearly vertical edges get as many shades as there are samples.
fn sample_offsets(samples: u32) -> Vec<[i64; 2]> {
    let n = i64::from(samples);
    let coprime = |k: &i64| (1..=n.min(*k)).filter(|d| n % d == 0 && k % d == 0).count() == 1;
    // A lattice whose generator is near the golden section spreads points well for any sample count.
    let golden = (n as f64 * 0.381_966).round() as i64;
    let generator = (golden.max(1)..=n).find(coprime).unwrap_or(1);
    (0..n).map(|i| [i, i * generator % n].map(|k| (2 * k + 1) * STEPS / (2 * n))).collect()
}

/// For each tile the triangles that may be visible in it, in their order.
fn bin(projected: &[Projected], columns: u32, rows: u32) -> Vec<Vec<u32>> {
    let mut bins = vec![Vec::new(); (columns * rows) as usize];
    for (i, p) in projected.iter().enumerate() {
        let [left, right, top, bottom] = p.screen.pixel_bounds();
        let tiles = |low: i64, high: i64, size: u32, count: u32| {
            let size = i64::from(size);
            low.div_euclid(size).max(0)..(high.div_euclid(size) + 1).min(count.into())
        };
        for y in tiles(top, bottom, TILE_HEIGHT, rows) {
            for x in tiles(left, right, TILE_WIDTH, columns) {
                bins[y as usize * columns as usize + x as usize].push(i as u32);
            }
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_share_no_row_and_no_column() {
        for samples in 1..=16 {
            let offsets = sample_offsets(samples);
            for axis in 0..2 {
                let mut places: Vec<i64> = offsets.iter().map(|o| o[axis]).collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len(), samples as usize);
                assert!(places.iter().all(|&p| (0..STEPS).contains(&p)));
            }
        }
        assert_eq!(sample_offsets(1), [[STEPS / 2; 2]]);
    }

    #[test]
    fn interpolation_is_correct_in_perspective() {
        // A strip from depth 1 to depth 3: halfway on the screen is a quarter of the distance in space.
        let p = [Vec3::new(-1.0, 0.0, -1.0), Vec3::new(3.0, 0.0, -3.0), Vec3::new(0.0, 5.0, -2.0)];
        let weights = barycentric(p, Vec3::ZERO, Vec3::new(0.0, 0.0, -1.0));
        assert!((weights[1] - 0.25).abs() < 1e-6 && weights[2].abs() < 1e-6, "{weights:?}");
    }
}
