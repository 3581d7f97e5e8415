//! Colours: sRGB to linear light and back (IEC 61966-2-1), the palette of bodies, and the map for stretch.

use glam::Vec3;

/// An sRGB colour, 8 bits per component.
pub type Rgb = [u8; 3];

/// Muted colours, easy to distinguish, for bodies in the scene's order; they repeat.
const BODIES: [Rgb; 8] = [
    [74, 124, 170],
    [214, 116, 84],
    [104, 158, 124],
    [218, 170, 82],
    [142, 112, 164],
    [76, 160, 164],
    [198, 118, 140],
    [150, 122, 98],
];

/// The golden angle as a fraction of a turn.
const GOLDEN_TURN: f64 = 0.618_033_988_749_894_9;

/// The colour of colliders that have none of their own.
pub(super) const COLLIDER: Rgb = [176, 176, 174];

/// The colour of vertices that are left out of contact: in neither half of the diverging map, nor that of a body.
pub(super) const RELEASED: Rgb = [204, 20, 190];

/// ColorBrewer's diverging map `RdBu` from blue (compressed) over near white to red (stretched).
const DIVERGING: [Rgb; 9] = [
    [33, 102, 172],
    [67, 147, 195],
    [146, 197, 222],
    [209, 229, 240],
    [243, 243, 243],
    [253, 219, 199],
    [244, 165, 130],
    [214, 96, 77],
    [178, 24, 43],
];

/// The colour of the body with this number, in linear light.
pub(super) fn body_color(index: usize) -> Vec3 {
    linear(BODIES[index % BODIES.len()])
}

/// The colour of a region in linear light; `u32::MAX` is no region, and grey. Hues turn by the golden angle, so that
/// regions with close numbers, which are often neighbours, are easy to distinguish.
pub(super) fn region_color(region: u32) -> Vec3 {
    if region == u32::MAX {
        return linear(COLLIDER);
    }
    let hue = 6.0 * (f64::from(region) * GOLDEN_TURN).fract() as f32;
    let (saturation, lightness) = [(0.55, 0.62), (0.45, 0.75), (0.55, 0.50)][region as usize % 3];
    let chroma = saturation * (1.0 - (2.0 * lightness - 1.0f32).abs());
    let component = |shift: f32| {
        let distance = ((hue + shift) % 6.0 - 3.0).abs() - 1.0;
        lightness + chroma * (distance.clamp(0.0, 1.0) - 0.5)
    };
    Vec3::new(component(0.0), component(4.0), component(2.0)).map(decode)
}

/// The diverging map at `t` from -1 (blue) to 1 (red), in linear light.
pub(super) fn diverging(t: f32) -> Vec3 {
    let last = DIVERGING.len() - 1;
    let place = (t.clamp(-1.0, 1.0) + 1.0) * 0.5 * last as f32;
    let cell = (place as usize).min(last - 1);
    // Interpolated as encoded, which is close to perceptually even.
    let [low, high] = [cell, cell + 1].map(|i| Vec3::from_array(DIVERGING[i].map(f32::from)));
    let mixed = low.lerp(high, place - cell as f32) / 255.0;
    Vec3::from_array(mixed.to_array().map(decode))
}

/// An sRGB colour in linear light, components 0 to 1.
pub(super) fn linear(color: Rgb) -> Vec3 {
    Vec3::from_array(color.map(|c| decode(f32::from(c) / 255.0)))
}

fn decode(encoded: f32) -> f32 {
    if encoded <= 0.04045 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

fn encode(linear: f32) -> f32 {
    if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

/// Encodes linear light as 8-bit sRGB by table: the exact formula for each pixel would cost more than shading it.
pub(super) struct SrgbTable(Vec<u8>);

impl SrgbTable {
    const STEPS: usize = 1 << 14;

    pub(super) fn new() -> Self {
        let entry = |i: usize| (encode(i as f32 / Self::STEPS as f32) * 255.0).round() as u8;
        Self((0..=Self::STEPS).map(entry).collect())
    }

    pub(super) fn encode(&self, color: Vec3) -> Rgb {
        // NaN casts to 0, so no colour can index outside.
        color.to_array().map(|c| self.0[(c.clamp(0.0, 1.0) * Self::STEPS as f32 + 0.5) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_srgb_colour_survives_the_way_to_linear_light_and_back() {
        let table = SrgbTable::new();
        for c in 0..=255 {
            assert_eq!(table.encode(linear([c; 3])), [c; 3]);
        }
    }

    #[test]
    fn middle_grey_reflects_about_a_fifth_of_the_light() {
        // IEC 61966-2-1: code 118 is within 1 % of 18 % reflectance.
        assert!((linear([118; 3]).x - 0.18).abs() < 0.002);
    }

    #[test]
    fn regions_of_near_numbers_are_distinguished() {
        for region in 0..2000 {
            for other in region + 1..region + 8 {
                assert!(region_color(region).distance(region_color(other)) > 0.02, "{region} and {other}");
            }
        }
        assert_eq!(region_color(u32::MAX), linear(COLLIDER));
    }

    #[test]
    fn diverging_map_is_blue_below_neutral_at_zero_and_red_above() {
        let (low, middle, high) = (diverging(-1.0), diverging(0.0), diverging(1.0));
        assert!(low.z > 2.0 * low.x && high.x > 2.0 * high.z);
        assert!(middle.max_element() - middle.min_element() < 0.01 && middle.x > 0.8);
        assert_eq!(diverging(5.0), high);
    }
}
