//! The colour of a surface: a key light with soft shadows, sky light with ambient occlusion, light reflected by
//! the ground, a weak fill light, and the sheen of fabric. All in linear RGB.

use glam::Vec3;

use super::ambient::Sky;
use super::camera::StageView;
use super::drawing::{Drawing, SurfaceKind};
use super::shadow::ShadowMap;

const KEY: Vec3 = Vec3::new(1.08, 1.01, 0.92);
const SKY: Vec3 = Vec3::new(0.36, 0.39, 0.44);
const BOUNCE: Vec3 = Vec3::new(0.42, 0.405, 0.39);
const FILL: Vec3 = Vec3::new(0.10, 0.10, 0.11);
const SHEEN: f32 = 0.10;
const GLOSS: f32 = 0.05;
const GLOSS_EXPONENT: i32 = 24;
/// The key light is to the left of the camera and high above it, in degrees.
const KEY_HEADING: f32 = -58.0;
const KEY_ELEVATION: f32 = 50.0;

const MAP_SIZE: usize = 1024;
/// Bias in texels against self-shadowing.
const BIAS: f32 = 1.5;
const OFFSET: f32 = 1.0;

/// A point on a surface, with normals on the visible side.
pub(super) struct SurfacePoint {
    pub position: Vec3,
    /// The smooth normal.
    pub normal: Vec3,
    /// The normal of the flat triangle.
    pub face: Vec3,
    /// The albedo.
    pub color: Vec3,
    /// The light of the sky here, relative to open ground.
    pub sky: f32,
    /// Towards the eye, length 1.
    pub to_eye: Vec3,
}

/// The lights of a scene with their shadows.
pub(super) struct Lighting {
    key: Vec3,
    fill: Vec3,
    key_map: ShadowMap,
    pub sky: Sky,
    /// For each vertex the light of the sky on its front and back.
    pub sky_on_vertices: Vec<[f32; 2]>,
    ground: Option<f32>,
}

impl Lighting {
    pub(super) fn new(drawing: &Drawing, view: &StageView, ground: Option<f32>) -> Self {
        let key = beside(view, KEY_HEADING, KEY_ELEVATION);
        let sky = Sky::new(drawing);
        Self {
            key,
            fill: beside(view, 35.0, 15.0),
            key_map: ShadowMap::new(drawing, key, MAP_SIZE).with_blocks(),
            sky_on_vertices: sky.on_vertices(drawing),
            sky,
            ground,
        }
    }

    /// Towards the key light.
    #[cfg(test)]
    pub(super) fn key(&self) -> Vec3 {
        self.key
    }

    /// The light leaving a surface towards the eye.
    pub(super) fn surface(&self, hit: &SurfacePoint) -> Vec3 {
        let cosine = hit.normal.dot(self.key);
        let key = if cosine > 0.0 { KEY * self.key_reaching(hit.position, hit.face) } else { Vec3::ZERO };
        let fill = FILL * hit.normal.dot(self.fill).max(0.0);
        let sky = SKY * hit.sky;
        let light = key * cosine.max(0.0) + sky + fill + self.bounce(hit);
        let half = (self.key + hit.to_eye).normalize_or_zero();
        let gloss = GLOSS * hit.normal.dot(half).max(0.0).powi(GLOSS_EXPONENT);
        let grazing = (1.0 - hit.normal.dot(hit.to_eye).clamp(0.0, 1.0)).powi(3);
        shoulder(hit.color * light + key * gloss + sky * (SHEEN * grazing))
    }

    /// Light on level ground over light on open level ground.
    pub(super) fn on_ground(&self, place: Vec3, sky: f32) -> Vec3 {
        let key = KEY * self.key.y;
        (key * self.key_reaching(place, Vec3::Y) + SKY * sky) / (key + SKY)
    }

    /// How much of the key light reaches a surface, 0 to 1.
    pub(super) fn key_reaching(&self, position: Vec3, face: Vec3) -> f32 {
        let lifted = position + face * (OFFSET * self.key_map.texel()).copysign(face.dot(self.key));
        self.key_map.lit(lifted, face, BIAS)
    }

    /// Light from below; close to the ground it is mostly blocked.
    fn bounce(&self, hit: &SurfacePoint) -> Vec3 {
        let facing = 0.5 - 0.5 * hit.normal.y;
        let open = self.ground.map_or(1.0, |g| 0.3 + 0.7 * ((hit.position.y - g) / 0.5).clamp(0.0, 1.0));
        BOUNCE * (facing * open)
    }
}

/// A direction given by degrees to the right of the camera and above the horizon.
fn beside(view: &StageView, heading: f32, elevation: f32) -> Vec3 {
    // Looking straight up or down, the up direction of the picture defines the heading.
    let level = |v: Vec3| Vec3::new(v.x, 0.0, v.z).try_normalize();
    let back = level(-view.forward).or_else(|| level(-view.up)).unwrap_or(Vec3::Z);
    let right = Vec3::Y.cross(back);
    let (heading, elevation) = (heading.to_radians(), elevation.to_radians());
    (back * heading.cos() + right * heading.sin()) * elevation.cos() + Vec3::Y * elevation.sin()
}

/// Compresses bright light towards white instead of clipping it.
fn shoulder(color: Vec3) -> Vec3 {
    const KNEE: f32 = 0.7;
    Vec3::from_array(color.to_array().map(|c| {
        if c <= KNEE { c } else { KNEE + (1.0 - KNEE) * (1.0 - (-(c - KNEE) / (1.0 - KNEE)).exp()) }
    }))
}

/// The colour of a surface's back: cloth is paler on the reverse, so folds are visible.
pub(super) fn back_color(color: Vec3, kind: SurfaceKind) -> Vec3 {
    match kind {
        SurfaceKind::Body => {
            color.lerp(Vec3::splat(color.dot(Vec3::new(0.21, 0.72, 0.07))), 0.45) * 0.75 + 0.10
        }
        SurfaceKind::Measured | SurfaceKind::Collider => color,
    }
}
