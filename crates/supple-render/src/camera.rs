//! The camera: its choice, projection to the picture, and clipping.

use glam::{DVec3, Vec3};

use super::raster::ScreenTriangle;
use supple_core::Error;

/// The view of automatic cameras: from the right of the front and slightly above, in degrees.
const AUTO_HEADING: f64 = 28.0;
const AUTO_ELEVATION: f64 = 22.0;
const AUTO_FIELD_OF_VIEW: f64 = 32.0;
/// Fraction of the picture's half width and half height that an automatic camera lets the scene fill.
const AUTO_FILL: f64 = 0.82;

/// An axis-aligned box in metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Smallest coordinates.
    pub low: DVec3,
    /// Largest coordinates.
    pub high: DVec3,
}

impl Bounds {
    /// The box around all finite points; `None` if there are none.
    pub fn of(points: impl IntoIterator<Item = DVec3>) -> Option<Self> {
        points.into_iter().filter(|p| p.is_finite()).fold(None, |bounds, p| {
            let point = Self { low: p, high: p };
            Some(bounds.map_or(point, |b: Self| b.union(&point)))
        })
    }

    /// The box around both.
    pub fn union(&self, other: &Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The middle.
    pub fn center(&self) -> DVec3 {
        0.5 * self.low + 0.5 * self.high
    }

    /// The eight corners.
    pub fn corners(&self) -> [DVec3; 8] {
        std::array::from_fn(|i| {
            let pick = |k: usize| if i >> k & 1 == 0 { self.low[k] } else { self.high[k] };
            DVec3::new(pick(0), pick(1), pick(2))
        })
    }

    /// Grown on every side by its diagonal.
    pub(super) fn surroundings(&self) -> Self {
        let margin = DVec3::splat((self.high - self.low).length());
        Self { low: self.low - margin, high: self.high + margin }
    }
}

/// A perspective camera; positions in world metres, y up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// Position.
    pub eye: DVec3,
    /// The point it looks at, at the centre of the picture.
    pub target: DVec3,
    /// The up direction of the picture; need not be perpendicular to the view.
    pub up: DVec3,
    /// The angle between the top and the bottom of the picture in degrees, above 0 and below 170.
    pub fov_degrees: f64,
}

impl Camera {
    pub(super) fn check(&self) -> Result<(), Error> {
        if ![self.eye, self.target, self.up].iter().all(|p| p.is_finite()) {
            return Err(Error::Invalid("the camera has a coordinate that is not finite".into()));
        }
        if self.eye.distance(self.target) < f64::MIN_POSITIVE {
            let message = format!("the camera's eye and target are the same point {}; move one", self.eye);
            return Err(Error::Invalid(message));
        }
        if !(self.fov_degrees > 0.0 && self.fov_degrees < 170.0) {
            return Err(Error::Invalid(format!(
                "the camera's field of view is {} degrees; use more than 0 and less than 170",
                self.fov_degrees
            )));
        }
        Ok(())
    }

    /// Right, up and forward, each of length 1.
    fn axes(&self) -> [DVec3; 3] {
        axes(self.target - self.eye, self.up)
    }

    /// Half the height of the picture at the target, in metres.
    fn half_height(&self) -> f64 {
        self.eye.distance(self.target) * (0.5 * self.fov_degrees.to_radians()).tan()
    }
}

fn axes(toward: DVec3, up: DVec3) -> [DVec3; 3] {
    let forward = toward.normalize();
    let side = |up: DVec3| forward.cross(up.normalize_or_zero()).try_normalize();
    // Looking straight along `up`: distant points (-z) appear at the top of the picture.
    let right = side(up)
        .filter(|r| r.dot(forward).abs() < 1e-6)
        .or_else(|| side(DVec3::NEG_Z))
        .or_else(|| side(DVec3::Y));
    let right = right.unwrap_or(DVec3::X);
    [right, right.cross(forward), forward]
}

/// A three-quarter view from slightly above that shows all of `bounds` in a picture of this width over height, as
/// large as it can be. Bounds over all frames give a fixed camera for an animation.
pub fn auto_camera(bounds: &Bounds, aspect: f64) -> Camera {
    let mut framing = Framing::new(aspect);
    framing.add(bounds.corners());
    framing.camera(bounds)
}

/// Fits an automatic camera to points, as close to them as possible.
///
/// An eye at (x, y, depth) along the camera's axes sees a point within the slope `half` to both sides if
/// `|point.x - x| <= half (point.depth - depth)`, and likewise for y. Of all points only the largest of
/// `±point.x / half - point.depth` matter, four numbers in all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Framing {
    half: [f64; 2],
    /// Right, left, up, down.
    furthest: [f64; 4],
}

impl Framing {
    pub(super) fn new(aspect: f64) -> Self {
        let half = (0.5 * AUTO_FIELD_OF_VIEW.to_radians()).tan() * AUTO_FILL;
        Self { half: [half * aspect, half], furthest: [f64::MIN; 4] }
    }

    fn axes() -> [DVec3; 3] {
        let (heading, elevation) = (AUTO_HEADING.to_radians(), AUTO_ELEVATION.to_radians());
        let level = DVec3::new(heading.sin(), 0.0, heading.cos());
        axes(-(level * elevation.cos() + DVec3::Y * elevation.sin()), DVec3::Y)
    }

    /// Adds points; ignores those that are not finite.
    pub(super) fn add(&mut self, points: impl IntoIterator<Item = DVec3>) {
        let [right, up, forward] = Self::axes();
        for point in points.into_iter().filter(|p| p.is_finite()) {
            let (x, y, depth) =
                (point.dot(right) / self.half[0], point.dot(up) / self.half[1], point.dot(forward));
            for (furthest, value) in
                self.furthest.iter_mut().zip([x - depth, -x - depth, y - depth, -y - depth])
            {
                *furthest = furthest.max(value);
            }
        }
    }

    /// The camera for the added points, which lie in `bounds`.
    pub(super) fn camera(&self, bounds: &Bounds) -> Camera {
        let size = (bounds.high - bounds.low).length();
        let extent = bounds.low.abs().max(bounds.high.abs()).max_element();
        if size <= 1e-6 * extent || size == 0.0 {
            // A single point gets a margin of half a metre, or the resolution of its coordinates.
            let margin = 0.5f64.max(1e-3 * extent);
            let mut buffer = Self { furthest: [f64::MIN; 4], ..*self };
            let wide = Bounds { low: bounds.low - margin, high: bounds.high + margin };
            buffer.add(wide.corners());
            return buffer.camera(&wide);
        }
        let [right, up, forward] = Self::axes();
        let [a, b, c, d] = self.furthest;
        let depth = -0.5 * (a + b).max(c + d);
        let across = right * (0.5 * self.half[0] * (a - b)) + up * (0.5 * self.half[1] * (c - d));
        Camera {
            eye: across + forward * depth,
            target: across + forward * bounds.center().dot(forward),
            up: DVec3::Y,
            fov_degrees: AUTO_FIELD_OF_VIEW,
        }
    }
}

/// The change from world metres to the units in which everything is drawn: the camera's target at the origin and
/// half the picture's height there as 1. Later stages then do not depend on the scale of the scene, and single
/// precision suffices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage {
    origin: DVec3,
    unit: f64,
}

impl Stage {
    /// Points further out than this are not drawn.
    const FURTHEST: f32 = 1e5;

    pub(super) fn new(camera: &Camera) -> Self {
        Self { origin: camera.target, unit: camera.half_height().max(f64::MIN_POSITIVE) }
    }

    /// A world point in stage units; NaN if it is not finite or too far away to be drawn.
    pub(super) fn point(&self, world: DVec3) -> Vec3 {
        let p = ((world - self.origin) / self.unit).as_vec3();
        // A comparison with NaN is false, so such points are rejected too.
        if p.abs().max_element() <= Self::FURTHEST && p.is_finite() { p } else { Vec3::NAN }
    }

    pub(super) fn height(&self, y: f64) -> f32 {
        ((y - self.origin.y) / self.unit) as f32
    }

    /// One stage unit in metres.
    pub(super) fn unit(&self) -> f64 {
        self.unit
    }

    /// The stage's origin in metres.
    pub(super) fn origin(&self) -> DVec3 {
        self.origin
    }
}

/// A camera in stage units with the size of its picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct StageView {
    pub eye: Vec3,
    pub right: Vec3,
    pub up: Vec3,
    pub forward: Vec3,
    /// Pixels for a slope of 1.
    pub focal: f32,
    /// The middle of the picture in pixels.
    middle: [f32; 2],
}

impl StageView {
    /// Nearest depth that is drawn, in stage units.
    const NEAR: f32 = 1e-3;
    /// Triangles are clipped at this many times the picture's half size, which keeps fixed-point numbers small.
    const GUARD: f32 = 4.0;

    pub(super) fn new(camera: &Camera, stage: &Stage, width: u32, height: u32) -> Self {
        let [right, up, forward] = camera.axes().map(|a| a.as_vec3());
        let slope = (0.5 * camera.fov_degrees.to_radians()).tan();
        Self {
            eye: ((camera.eye - stage.origin) / stage.unit).as_vec3(),
            right,
            up,
            forward,
            focal: (0.5 * f64::from(height) / slope) as f32,
            middle: [0.5 * width as f32, 0.5 * height as f32],
        }
    }

    /// Right, up and depth of a stage point as seen from the eye.
    pub(super) fn seen_from_eye(&self, point: Vec3) -> Vec3 {
        let p = point - self.eye;
        Vec3::new(p.dot(self.right), p.dot(self.up), p.dot(self.forward))
    }

    /// Column, row (pixels from the top left) and inverse depth of a point seen from the eye.
    pub(super) fn on_screen(&self, seen: Vec3) -> Vec3 {
        let inverse = 1.0 / seen.z;
        let scale = self.focal * inverse;
        Vec3::new(self.middle[0] + seen.x * scale, self.middle[1] - seen.y * scale, inverse)
    }

    /// The ray from the eye through a point of the picture; its depth is 1.
    pub(super) fn ray(&self, x: f32, y: f32) -> Vec3 {
        self.forward
            + self.right * ((x - self.middle[0]) / self.focal)
            + self.up * ((self.middle[1] - y) / self.focal)
    }

    /// Calls `put` with the triangle on the screen, or with the parts of it that can be seen.
    pub(super) fn project(&self, seen: [Vec3; 3], mut put: impl FnMut(ScreenTriangle)) {
        let planes = self.guard_planes();
        let outside = |plane: &Plane| seen.iter().filter(|&&p| plane.distance(p) < 0.0).count();
        if planes.iter().all(|plane| outside(plane) == 0) {
            if let Some(triangle) = ScreenTriangle::new(seen.map(|p| self.on_screen(p))) {
                put(triangle);
            }
            return;
        }
        let mut polygon = seen.to_vec();
        for plane in &planes {
            match outside(plane) {
                0 => {}
                3 => return,
                _ => polygon = plane.clip(&polygon),
            }
        }
        for i in 2..polygon.len() {
            let corners = [polygon[0], polygon[i - 1], polygon[i]].map(|p| self.on_screen(p));
            if let Some(triangle) = ScreenTriangle::new(corners) {
                put(triangle);
            }
        }
    }

    fn guard_planes(&self) -> [Plane; 5] {
        let slope = |i: usize| Self::GUARD * self.middle[i] / self.focal;
        let side = |x: f32, y: f32, slope: f32| Plane { normal: Vec3::new(x, y, slope), offset: 0.0 };
        [
            Plane { normal: Vec3::Z, offset: -Self::NEAR },
            side(1.0, 0.0, slope(0)),
            side(-1.0, 0.0, slope(0)),
            side(0.0, 1.0, slope(1)),
            side(0.0, -1.0, slope(1)),
        ]
    }
}

/// A half-space that keeps points with `normal · p + offset >= 0`.
struct Plane {
    normal: Vec3,
    offset: f32,
}

impl Plane {
    fn distance(&self, p: Vec3) -> f32 {
        self.normal.dot(p) + self.offset
    }

    /// Clips a convex polygon (Sutherland and Hodgman 1974).
    fn clip(&self, polygon: &[Vec3]) -> Vec<Vec3> {
        let mut kept = Vec::with_capacity(polygon.len() + 1);
        for (i, &p) in polygon.iter().enumerate() {
            let q = polygon[(i + 1) % polygon.len()];
            let (dp, dq) = (self.distance(p), self.distance(q));
            if dp >= 0.0 {
                kept.push(p);
            }
            if (dp >= 0.0) != (dq >= 0.0) {
                kept.push(p.lerp(q, dp / (dp - dq)));
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn screen_of(camera: &Camera, aspect: f64, point: DVec3) -> (f64, f64, f64) {
        let [right, up, forward] = camera.axes();
        let p = point - camera.eye;
        let half = (0.5 * camera.fov_degrees.to_radians()).tan();
        let depth = p.dot(forward);
        (p.dot(right) / (depth * half * aspect), p.dot(up) / (depth * half), depth)
    }

    proptest! {
        #[test]
        fn automatic_camera_shows_everything_and_fills_the_picture(
            low in prop::array::uniform3(-1.0f64..1.0),
            size in prop::array::uniform3(0.0f64..1.0),
            scale in -4.0f64..5.0,
            aspect in 0.3f64..3.0,
        ) {
            let scale = 10f64.powf(scale);
            let low = DVec3::from_array(low) * scale;
            let bounds = Bounds { low, high: low + DVec3::from_array(size) * scale };
            let camera = auto_camera(&bounds, aspect);
            let mut widest = 0f64;
            for corner in bounds.corners() {
                let (x, y, depth) = screen_of(&camera, aspect, corner);
                prop_assert!(depth > 0.0);
                prop_assert!(x.abs() <= 1.0 && y.abs() <= 1.0, "{x} {y}");
                widest = widest.max(x.abs()).max(y.abs());
            }
            prop_assert!(widest > 0.75, "{widest}");
        }

        #[test]
        fn clipped_triangles_cover_what_a_ray_hits(
            corners in prop::array::uniform3(prop::array::uniform3(-3.0f32..3.0)),
        ) {
            // The eye is at the origin of these points, and a large number of triangles extends behind it.
            let camera = Camera { eye: DVec3::ZERO, target: DVec3::NEG_Z, up: DVec3::Y, fov_degrees: 90.0 };
            let stage = Stage { origin: DVec3::ZERO, unit: 1.0 };
            let view = StageView::new(&camera, &stage, 16, 16);
            let corners = corners.map(Vec3::from_array);
            let region = super::super::raster::PixelRegion { x: 0, y: 0, width: 16, height: 16 };
            let mut found = [false; 256];
            view.project(corners.map(|p| view.seen_from_eye(p)), |t| t.filler(&region).fill([128, 128], |i, _| found[i] = true));
            let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
            for (i, &found) in found.iter().enumerate() {
                let ray = view.ray((i % 16) as f32 + 0.5, (i / 16) as f32 + 0.5);
                let hit = ray * (normal.dot(corners[0]) / normal.dot(ray));
                let depth = hit.dot(view.forward);
                let inner = (0..3).map(|k| {
                    let (a, b) = (corners[k], corners[(k + 1) % 3]);
                    (b - a).cross(hit - a).dot(normal) / (normal.length() * (b - a).length())
                });
                let margin = inner.fold(f32::MAX, f32::min);
                // Rays close to an edge, seen edge-on or near the eye may be classified either way.
                let slant = (normal.normalize().dot(ray)).abs();
                if depth > 0.01 && margin > 0.1 * depth && slant > 0.1 {
                    prop_assert!(found, "pixel {i} is missed");
                } else if depth < 0.0 || margin < -0.1 * depth.max(0.1) && slant > 0.1 {
                    prop_assert!(!found || depth.abs() < 0.01, "pixel {i} is not behind the triangle");
                }
            }
        }
    }

    #[test]
    fn looking_straight_down_has_a_picture_too() {
        let camera = Camera { eye: DVec3::Y, target: DVec3::ZERO, up: DVec3::Y, fov_degrees: 40.0 };
        let [right, up, forward] = camera.axes();
        assert!((right - DVec3::X).length() < 1e-12 && (up - DVec3::NEG_Z).length() < 1e-12);
        assert_eq!(forward, DVec3::NEG_Y);
    }

    #[test]
    fn cameras_without_a_view_are_refused() {
        let good = Camera { eye: DVec3::Z, target: DVec3::ZERO, up: DVec3::Y, fov_degrees: 40.0 };
        assert!(good.check().is_ok());
        assert!(Camera { target: DVec3::Z, ..good }.check().is_err());
        assert!(Camera { fov_degrees: 180.0, ..good }.check().is_err());
        assert!(Camera { fov_degrees: f64::NAN, ..good }.check().is_err());
        assert!(Camera { eye: DVec3::NAN, ..good }.check().is_err());
    }
}
