//! Filling triangles: exact fixed-point edge functions (Pineda 1988) with the top-left rule, so that neighbouring
//! triangles cover every sample between them exactly once.
//!
//! Depth is any number that is affine on the screen and larger nearer to the viewer: the inverse of the distance for
//! a perspective view, the height towards the light for a shadow map.

use glam::{DVec2, Vec3};

/// Subpixel steps per pixel to which corners are rounded.
pub(super) const STEPS: i64 = 256;
/// Corners further out than this many pixels would overflow the edge functions; views clip long before.
const FURTHEST: f32 = (1 << 21) as f32;

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PixelRegion {
    pub x: i64,
    pub y: i64,
    pub width: i64,
    pub height: i64,
}

impl PixelRegion {
    pub(super) fn area(&self) -> usize {
        (self.width * self.height) as usize
    }
}

/// A triangle on the screen, ready to be filled.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScreenTriangle {
    /// In steps, x to the right and y down; positive area.
    corners: [[i64; 2]; 3],
    /// Depth at the first corner, its change per step along x and y, and its smallest and largest value.
    depth: f32,
    slope: [f32; 2],
    range: [f32; 2],
}

impl ScreenTriangle {
    /// From corners (x, y, depth) in pixels; `None` without area or with a coordinate that is not finite or far out.
    pub(super) fn new(corners: [Vec3; 3]) -> Option<Self> {
        let inside = |p: Vec3| p.z.is_finite() && p.x.abs() < FURTHEST && p.y.abs() < FURTHEST;
        if !(inside(corners[0]) && inside(corners[1]) && inside(corners[2])) {
            return None;
        }
        // Rounded by hand: the library's `round` is a call on the oldest processors.
        let step = |x: f32| (x * STEPS as f32 + 0.5f32.copysign(x)) as i64;
        let [a, b, c] = corners;
        let mut fixed = [[step(a.x), step(a.y)], [step(b.x), step(b.y)], [step(c.x), step(c.y)]];
        let mut depths = [a.z, b.z, c.z];
        let mut area = cross(fixed[0], fixed[1], fixed[2]);
        if area == 0 {
            return None;
        }
        if area < 0 {
            fixed.swap(1, 2);
            depths.swap(1, 2);
            area = -area;
        }
        Some(Self {
            corners: fixed,
            depth: depths[0],
            slope: slope(fixed, depths, area),
            range: [depths[0].min(depths[1]).min(depths[2]), depths[0].max(depths[1]).max(depths[2])],
        })
    }

    /// The pixels that may contain a covered sample, as first and last column, first and last row.
    pub(super) fn pixel_bounds(&self) -> [i64; 4] {
        let [a, b, c] = self.corners;
        let (x, y) = ([a[0], b[0], c[0]], [a[1], b[1], c[1]]);
        let low = |v: [i64; 3]| v[0].min(v[1]).min(v[2]).div_euclid(STEPS);
        let high = |v: [i64; 3]| v[0].max(v[1]).max(v[2]).div_euclid(STEPS);
        [low(x), high(x), low(y), high(y)]
    }

    /// Prepares to fill the part of the triangle that lies in a region.
    pub(super) fn filler(&self, region: &PixelRegion) -> Filler {
        let [left, right, top, bottom] = self.pixel_bounds();
        let (left, top) = (left.max(region.x), top.max(region.y));
        let right = right.min(region.x + region.width - 1);
        let bottom = bottom.min(region.y + region.height - 1);
        let [a, b, c] = self.corners;
        let start = [left * STEPS, top * STEPS];
        Filler {
            edges: [Edge::new(a, b, start), Edge::new(b, c, start), Edge::new(c, a, start)],
            columns: right + 1 - left,
            rows: bottom + 1 - top,
            first: (top - region.y) * region.width + left - region.x,
            width: region.width,
            depth: self.depth
                + self.slope[0] * (start[0] - a[0]) as f32
                + self.slope[1] * (start[1] - a[1]) as f32,
            slope: self.slope,
            range: self.range,
        }
    }
}

/// A triangle in a region of pixels; used for all samples of a pixel.
pub(super) struct Filler {
    /// At the top left corner of the first pixel.
    edges: [Edge; 3],
    columns: i64,
    rows: i64,
    /// The index of the first pixel in the region, and the stride to the next row.
    first: i64,
    width: i64,
    depth: f32,
    slope: [f32; 2],
    range: [f32; 2],
}

impl Filler {
    /// Calls `put(index, depth)` for each pixel of the region whose sample, at `offset` steps from the pixel's top
    /// left corner, lies in the triangle. `index` counts the region's pixels row by row.
    #[inline]
    pub(super) fn fill(&self, offset: [i64; 2], mut put: impl FnMut(usize, f32)) {
        let [e0, e1, e2] = &self.edges;
        let mut row = [e0.at(offset), e1.at(offset), e2.at(offset)];
        let depth = self.depth + self.slope[0] * offset[0] as f32 + self.slope[1] * offset[1] as f32;
        let [right, down] = [self.slope[0] * STEPS as f32, self.slope[1] * STEPS as f32];
        for y in 0..self.rows {
            let mut value = row;
            let mut entered = false;
            for x in 0..self.columns {
                if (value[0] | value[1] | value[2]) >= 0 {
                    entered = true;
                    let here = depth + right * x as f32 + down * y as f32;
                    put((self.first + y * self.width + x) as usize, here.clamp(self.range[0], self.range[1]));
                } else if entered {
                    break;
                }
                value = [value[0] - e0.dy * STEPS, value[1] - e1.dy * STEPS, value[2] - e2.dy * STEPS];
            }
            row = [row[0] + e0.dx * STEPS, row[1] + e1.dx * STEPS, row[2] + e2.dx * STEPS];
        }
    }
}

/// Twice the signed area of a triangle in square steps.
fn cross(a: [i64; 2], b: [i64; 2], p: [i64; 2]) -> i64 {
    (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
}

fn slope(corners: [[i64; 2]; 3], depths: [f32; 3], area: i64) -> [f32; 2] {
    let along = |i: usize| {
        let edge = DVec2::new((corners[i][0] - corners[0][0]) as f64, (corners[i][1] - corners[0][1]) as f64);
        (edge, f64::from(depths[i] - depths[0]))
    };
    let ((b, db), (c, dc)) = (along(1), along(2));
    [(db * c.y - dc * b.y) / area as f64, (dc * b.x - db * c.x) / area as f64].map(|s| s as f32)
}

/// An edge function: its value at a start and its direction.
#[derive(Clone, Copy)]
struct Edge {
    value: i64,
    dx: i64,
    dy: i64,
}

impl Edge {
    fn new(a: [i64; 2], b: [i64; 2], start: [i64; 2]) -> Self {
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        // A sample exactly on an edge belongs to the triangle whose left or top edge it is.
        let owned = dy < 0 || (dy == 0 && dx > 0);
        Self { value: cross(a, b, start) - i64::from(!owned), dx, dy }
    }

    /// The value at this offset from the start.
    fn at(&self, offset: [i64; 2]) -> i64 {
        self.value + self.dx * offset[1] - self.dy * offset[0]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REGION: PixelRegion = PixelRegion { x: 0, y: 0, width: 64, height: 48 };

    fn covered(corners: [Vec3; 3], offset: [i64; 2]) -> Vec<u32> {
        let mut count = vec![0; REGION.area()];
        if let Some(triangle) = ScreenTriangle::new(corners) {
            triangle.filler(&REGION).fill(offset, |i, _| count[i] += 1);
        }
        count
    }

    #[test]
    fn covered_samples_measure_the_area() {
        let corners = [Vec3::new(3.2, 5.1, 1.0), Vec3::new(60.7, 12.3, 1.0), Vec3::new(20.4, 44.8, 1.0)];
        let area = 0.5 * (corners[1] - corners[0]).cross(corners[2] - corners[0]).z.abs();
        let samples: u32 = (0..64).flat_map(|s| covered(corners, [s % 8 * 32 + 16, s / 8 * 32 + 16])).sum();
        let measured = samples as f32 / 64.0;
        assert!((measured / area - 1.0).abs() < 2e-3, "{measured} of {area}");
    }

    #[test]
    fn depth_is_affine_on_the_screen() {
        let depth = |x: f32, y: f32| 2.0 + 0.01 * x - 0.02 * y;
        let corner = |x: f32, y: f32| Vec3::new(x, y, depth(x, y));
        let triangle =
            ScreenTriangle::new([corner(2.0, 3.0), corner(50.0, 10.0), corner(30.0, 45.0)]).unwrap();
        triangle.filler(&REGION).fill([128, 128], |i, found| {
            let expected = depth((i % 64) as f32 + 0.5, (i / 64) as f32 + 0.5);
            assert!((found - expected).abs() < 1e-5);
        });
    }

    #[test]
    fn unusable_corners_are_refused() {
        for bad in [f32::NAN, f32::INFINITY, -1e30] {
            assert!(ScreenTriangle::new([Vec3::ZERO, Vec3::X, Vec3::new(0.0, bad, 0.0)]).is_none());
        }
        assert!(ScreenTriangle::new([Vec3::ZERO, Vec3::X, Vec3::X * 2.0]).is_none());
    }

    proptest! {
        /// A fan around a point inside a rectangle covers each sample once, wherever its corners are.
        #[test]
        fn neighbours_share_every_sample_between_them(
            centre in (1.0f32..63.0, 1.0f32..47.0),
            ring in prop::collection::vec((0.0f32..1.0, 0.0f32..1.0), 4),
        ) {
            let hub = Vec3::new(centre.0, centre.1, 0.0);
            let outer = [(0.0, 0.0), (64.0, 0.0), (64.0, 48.0), (0.0, 48.0)];
            let mut rim = Vec::new();
            for (side, t) in ring.iter().enumerate() {
                let (a, b) = (outer[side], outer[(side + 1) % 4]);
                rim.push(Vec3::new(a.0, a.1, 0.0));
                rim.push(Vec3::new(a.0 + (b.0 - a.0) * t.0, a.1 + (b.1 - a.1) * t.0, 0.0));
            }
            let mut total = vec![0; REGION.area()];
            for i in 0..rim.len() {
                let fan = covered([hub, rim[i], rim[(i + 1) % rim.len()]], [128, 128]);
                total.iter_mut().zip(fan).for_each(|(t, f)| *t += f);
            }
            prop_assert!(total.iter().all(|&n| n == 1));
        }
    }
}
