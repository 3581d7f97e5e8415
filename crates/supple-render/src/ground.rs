//! The ground and the background: a level plane with a faint grid that fades into the background.

use glam::{DVec2, Vec2, Vec3};

use super::Background;
use super::ambient::GroundLight;
use super::camera::{Stage, StageView};
use super::colors;
use super::shading::Lighting;

/// Start and end of the fade of the ground, from the centre of the picture in stage units.
const FADE: [f32; 2] = [1.6, 5.5];
/// How much darker grid lines are, and their width in pixels.
const GRID_STRENGTH: f32 = 0.13;
const GRID_WIDTH: f32 = 1.1;
/// The maximum spacing of grid lines in stage units.
const GRID_SPACING: f64 = 0.5;
/// Objects on the ground must not flicker through it: it is drawn this much further away.
const RECEDED: f32 = 0.999;

/// Level ground seen from above.
pub(super) struct GroundPlane {
    /// Affine on the picture: inverse depth is `over_rise` times the ray's rise.
    over_rise: f32,
    light: GroundLight,
    spacing: f32,
    /// A grid crossing, and the middle of the fade, on the ground.
    anchor: Vec2,
    color: Vec3,
}

impl GroundPlane {
    /// `None` if the eye is not above it.
    pub(super) fn new(
        height: f32,
        view: &StageView,
        stage: &Stage,
        lighting: &Lighting,
        color: Vec3,
    ) -> Option<Self> {
        let above = view.eye.y - height;
        if above.is_nan() || above < 1e-4 {
            return None;
        }
        let metres = nice_below(GRID_SPACING * stage.unit());
        let origin = DVec2::new(stage.origin().x, stage.origin().z);
        let nearest = (origin / metres).round() * metres - origin;
        Some(Self {
            over_rise: -1.0 / above,
            light: lighting.sky.on_ground(height),
            spacing: (metres / stage.unit()) as f32,
            anchor: (nearest / stage.unit()).as_vec2(),
            color,
        })
    }

    /// The inverse depth at which a ray meets the ground; not positive if it does not.
    pub(super) fn inverse_depth(&self, ray: Vec3) -> f32 {
        ray.y * self.over_rise * RECEDED
    }

    /// The colour where a ray meets the ground, and its opacity after the fade (0 to 1).
    pub(super) fn color(&self, view: &StageView, ray: Vec3, lighting: &Lighting) -> (Vec3, f32) {
        let depth = 1.0 / (ray.y * self.over_rise);
        let place = view.eye + ray * depth;
        let flat = Vec2::new(place.x, place.z);
        let faded = smooth_step(FADE[0], FADE[1], flat.length());
        if faded >= 1.0 {
            return (self.color, 0.0);
        }
        let light = lighting.on_ground(place, self.light.at(flat));
        let grid = 1.0 - GRID_STRENGTH * self.grid(flat, ray, depth / view.focal);
        (self.color * light * grid, 1.0 - faded)
    }

    /// How much of a pixel grid lines cover, 0 to 1, where a pixel is `pixel` wide.
    fn grid(&self, place: Vec2, ray: Vec3, pixel: f32) -> f32 {
        // Seen at a low angle a pixel covers more ground along the view than across it.
        let along = Vec2::new(ray.x, ray.z).normalize_or_zero().abs();
        let stretch = ray.length() / ray.y.abs().max(1e-4);
        let cells = (place - self.anchor) / self.spacing;
        let line = |cell: f32, along: f32| {
            let width = pixel * (1.0 + (stretch - 1.0) * along) / self.spacing;
            let distance = (cell - cell.round()).abs();
            let coverage = (0.5 + 0.5 * GRID_WIDTH - distance / width).clamp(0.0, 1.0);
            // Lines closer than a few pixels would only make a grey haze.
            coverage * (1.0 - smooth_step(0.1, 0.35, width))
        };
        line(cells.x, along.x).max(line(cells.y, along.y))
    }
}

/// The largest of 1, 2, 5 times a power of ten that is not above `value`.
fn nice_below(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    power * [5.0, 2.0, 1.0].into_iter().find(|s| s * power <= value).unwrap_or(1.0)
}

fn smooth_step(low: f32, high: f32, x: f32) -> f32 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// The background: colours in linear light at the top and bottom, or none.
pub(super) struct Backdrop {
    colors: Option<[Vec3; 2]>,
    height: f32,
}

impl Backdrop {
    pub(super) fn new(background: &Background, height: u32) -> Self {
        let colors = match *background {
            Background::Gradient { top, bottom } => Some([colors::linear(top), colors::linear(bottom)]),
            Background::Transparent => None,
        };
        Self { colors, height: height as f32 }
    }

    /// The colour of open ground.
    pub(super) fn ground_color(&self) -> Vec3 {
        self.colors.map_or(Vec3::splat(0.8), |c| c[1]) * 0.97
    }

    /// Colour times opacity, and opacity, in this row.
    pub(super) fn at(&self, y: f32) -> (Vec3, f32) {
        match self.colors {
            Some([top, bottom]) => (top.lerp(bottom, smooth_step(0.0, 0.75, y / self.height)), 1.0),
            None => (Vec3::ZERO, 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_lines_are_at_round_distances() {
        for (value, expected) in [(0.5, 0.5), (0.49, 0.2), (1900.0, 1000.0), (0.0021, 0.002), (7.0, 5.0)] {
            assert!((nice_below(value) / expected - 1.0f64).abs() < 1e-9, "{value}");
        }
    }
}
