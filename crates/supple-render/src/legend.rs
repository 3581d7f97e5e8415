//! The colour scale with its numbers, in a small font of strokes.

use glam::Vec2;

use super::colors::{self, SrgbTable};
use super::image::Image;
use supple::simulation::StressUnit;

const INK: [u8; 3] = [64, 66, 70];
/// Height of the letters as a fraction of the picture's height, and never below this many pixels.
const LETTER_HEIGHT: f32 = 1.0 / 46.0;
const SMALLEST_LETTER: f32 = 9.0;
/// Height of the bar as a fraction of the picture's height.
const BAR_HEIGHT: f32 = 0.3;
/// Half the width of a stroke over the height of a letter.
const STROKE: f32 = 0.055;

/// The name of vertices that are left out of contact.
const RELEASED: &str = "released";

/// A stroke of a letter; y is up from the base line and a capital is 1 high.
enum Stroke {
    Line([f32; 4]),
    /// Centre, half axes, and the start and end angles in degrees.
    Arc([f32; 2], [f32; 2], [f32; 2]),
}

/// A scale of colours.
pub(super) struct ColorScale {
    title: String,
    /// The values at its ends.
    range: [f64; 2],
    /// Labelled values.
    labels: Vec<(f64, String)>,
    /// Centre and upper end of the diverging map.
    map: [f64; 2],
    /// Whether the colour of released vertices is explained above it.
    names_released: bool,
}

impl ColorScale {
    /// Scale of stretch up to `limit`, and as far below 1, but not below 0.
    pub(super) fn stretch(limit: f64) -> Self {
        let range = [lowest(limit), limit];
        Self {
            title: "stretch".into(),
            range,
            labels: labels(limit),
            map: [1.0, limit],
            names_released: false,
        }
    }

    /// Scale of stress from 0 up to `limit`.
    pub(super) fn stress(limit: f64, unit: StressUnit) -> Self {
        Self::from_zero("stress", limit, unit.symbol())
    }

    /// Scale of the pressure of contact from 0 up to `limit` Pa.
    pub(super) fn contact(limit: f64, names_released: bool) -> Self {
        Self { names_released, ..Self::from_zero("contact", limit, StressUnit::Pascal.symbol()) }
    }

    fn from_zero(what: &str, limit: f64, unit: &str) -> Self {
        let (factor, prefix) = match limit {
            1e6.. => (1e6, "M"),
            1e3.. => (1e3, "k"),
            _ => (1.0, ""),
        };
        let label = |quarter: i32| {
            let value = 0.25 * f64::from(quarter) * limit;
            (value, format!("{}", (1e4 * value / factor).round() / 1e4))
        };
        let title = format!("{what} {prefix}{unit}");
        let labels = (0..=4).map(label).collect();
        Self { title, range: [0.0, limit], labels, map: [0.0, limit], names_released: false }
    }

    fn color(&self, value: f64) -> f32 {
        ((value - self.map[0]) / (self.map[1] - self.map[0])) as f32
    }
}

/// Draws a scale into the lower right corner.
pub(super) fn draw(image: &mut Image, scale: &ColorScale) {
    let letter = (image.height() as f32 * LETTER_HEIGHT).max(SMALLEST_LETTER);
    let named = scale.labels.iter().map(|(_, text)| width(text)).fold(0.0, f32::max) * letter;
    let size = Vec2::new(letter, image.height() as f32 * BAR_HEIGHT).round();
    let key = if scale.names_released { 1.6 + width(RELEASED) } else { 0.0 };
    let widest = (0.7 * letter + size.x + named).max(width(&scale.title).max(key) * letter);
    let margin = 1.6 * letter;
    let left = (image.width() as f32 - margin - widest).round();
    let bottom = (image.height() as f32 - margin).round();
    let value_of = bar(image, Vec2::new(left, bottom), size, scale);
    for (value, text) in &scale.labels {
        let y = bottom - size.y * value_of(*value);
        let start = Vec2::new(left + size.x + 0.6 * letter, y + 0.5 * letter);
        write(image, text, start, letter);
    }
    let above = bottom - size.y - 1.4 * letter;
    write(image, &scale.title, Vec2::new(left, above), letter);
    if scale.names_released {
        swatch(image, Vec2::new(left, above - 2.0 * letter), letter, colors::RELEASED);
        write(image, RELEASED, Vec2::new(left + 1.6 * letter, above - 2.0 * letter), letter);
    }
}

/// A square of a colour above a corner.
fn swatch(image: &mut Image, low_left: Vec2, side: f32, color: [u8; 3]) {
    for row in 0..side as i64 {
        for column in 0..side as i64 {
            blend(image, low_left.x as i64 + column, low_left.y as i64 - 1 - row, color, 1.0);
        }
    }
}

/// The minimum of the scale of stretch: as far below 1 as the limit is above it, but not below 0.
fn lowest(limit: f64) -> f64 {
    (2.0 - limit).max(0.0)
}

/// The stretch values to label, with as many digits as they need.
fn labels(limit: f64) -> Vec<(f64, String)> {
    let half = 0.5 * (limit - 1.0);
    let digits =
        (1..4).find(|&d| (half * 10f64.powi(d)).fract().min(1.0 - (half * 10f64.powi(d)).fract()) < 1e-6);
    let values = (-2..=2).map(|k| 1.0 + f64::from(k) * half).filter(|&v| v >= lowest(limit) - 1e-9);
    values.map(|v| (v, format!("{v:.*}", digits.unwrap_or(4) as usize))).collect()
}

/// Draws the bar; returns the position of a value on it (0 bottom, 1 top).
fn bar(image: &mut Image, low_left: Vec2, size: Vec2, scale: &ColorScale) -> impl Fn(f64) -> f32 + use<> {
    let table = SrgbTable::new();
    let [lowest, highest] = scale.range;
    for row in 0..size.y as i64 {
        let value = lowest + (highest - lowest) * (row as f64 + 0.5) / f64::from(size.y);
        let color = table.encode(colors::diverging(scale.color(value)));
        for column in 0..size.x as i64 {
            let edge = row == 0 || column == 0 || row == size.y as i64 - 1 || column == size.x as i64 - 1;
            let (x, y) = (low_left.x as i64 + column, low_left.y as i64 - 1 - row);
            blend(image, x, y, if edge { INK } else { color }, 1.0);
        }
    }
    move |value| ((value - lowest) / (highest - lowest)) as f32
}

/// Draws a text with its base line starting at `start`.
fn write(image: &mut Image, text: &str, start: Vec2, letter: f32) {
    let mut x = start.x;
    for c in text.chars() {
        let (strokes, advance) = glyph(c);
        let segments: Vec<[Vec2; 2]> = strokes.iter().flat_map(segments).collect();
        let (left, right) = ((x - 0.2 * letter) as i64, (x + advance * letter) as i64);
        for row in (start.y - 1.2 * letter) as i64..=(start.y + 0.2 * letter) as i64 {
            for column in left..=right {
                let pixel = Vec2::new(column as f32 + 0.5 - x, start.y - row as f32 - 0.5) / letter;
                let distance = segments.iter().map(|s| distance(pixel, s)).fold(f32::MAX, f32::min);
                let coverage = (0.5 + (STROKE - distance) * letter).clamp(0.0, 1.0);
                blend(image, column, row, INK, coverage);
            }
        }
        x += advance * letter;
    }
}

/// The width of a text over the height of its letters.
fn width(text: &str) -> f32 {
    text.chars().map(|c| glyph(c).1).sum()
}

/// Blends a colour over a pixel, if the pixel exists.
fn blend(image: &mut Image, x: i64, y: i64, color: [u8; 3], coverage: f32) {
    if coverage <= 0.0 || x < 0 || y < 0 || x >= image.width().into() || y >= image.height().into() {
        return;
    }
    let index = (y * i64::from(image.width()) + x) as usize;
    let [r, g, b, a] = image.pixels()[index].map(f32::from);
    let below = a / 255.0 * (1.0 - coverage);
    let alpha = coverage + below;
    let mix = |old: f32, new: u8| ((old * below + f32::from(new) * coverage) / alpha).round() as u8;
    image.pixels_mut()[index] =
        [mix(r, color[0]), mix(g, color[1]), mix(b, color[2]), (alpha * 255.0).round() as u8];
}

fn segments(stroke: &Stroke) -> Vec<[Vec2; 2]> {
    match *stroke {
        Stroke::Line([x0, y0, x1, y1]) => vec![[Vec2::new(x0, y0), Vec2::new(x1, y1)]],
        Stroke::Arc(middle, axes, [from, to]) => {
            const PIECES: usize = 14;
            let at = |i: usize| {
                let angle = (from + (to - from) * i as f32 / PIECES as f32).to_radians();
                Vec2::from(middle) + Vec2::from(axes) * Vec2::from_angle(angle)
            };
            (0..PIECES).map(|i| [at(i), at(i + 1)]).collect()
        }
    }
}

fn distance(p: Vec2, [a, b]: &[Vec2; 2]) -> f32 {
    let edge = *b - *a;
    let along = ((p - *a).dot(edge) / edge.length_squared().max(1e-9)).clamp(0.0, 1.0);
    p.distance(*a + edge * along)
}

/// The strokes of a character and its advance; characters that no legend needs are spaces.
fn glyph(c: char) -> (Vec<Stroke>, f32) {
    use Stroke::{Arc, Line};
    let strokes = match c {
        '0' => vec![Arc([0.28, 0.5], [0.27, 0.5], [0.0, 360.0])],
        '1' => vec![Line([0.08, 0.78, 0.31, 1.0]), Line([0.31, 1.0, 0.31, 0.0])],
        '2' => vec![
            Arc([0.28, 0.72], [0.26, 0.28], [165.0, -40.0]),
            Line([0.479, 0.54, 0.02, 0.0]),
            Line([0.02, 0.0, 0.56, 0.0]),
        ],
        '3' => vec![
            Arc([0.25, 0.76], [0.24, 0.24], [150.0, -90.0]),
            Arc([0.25, 0.26], [0.28, 0.26], [90.0, -150.0]),
        ],
        '4' => {
            vec![Line([0.42, 0.0, 0.42, 1.0]), Line([0.42, 1.0, 0.0, 0.28]), Line([0.0, 0.28, 0.58, 0.28])]
        }
        '5' => vec![
            Line([0.5, 1.0, 0.11, 1.0]),
            Line([0.11, 1.0, 0.08, 0.565]),
            Arc([0.26, 0.32], [0.28, 0.32], [130.0, -150.0]),
        ],
        '6' => {
            vec![Arc([0.28, 0.3], [0.27, 0.3], [0.0, 360.0]), Arc([0.62, 0.3], [0.61, 0.72], [180.0, 105.0])]
        }
        '7' => vec![Line([0.0, 1.0, 0.56, 1.0]), Line([0.56, 1.0, 0.18, 0.0])],
        '8' => {
            vec![Arc([0.28, 0.75], [0.23, 0.25], [0.0, 360.0]), Arc([0.28, 0.26], [0.28, 0.26], [0.0, 360.0])]
        }
        '9' => {
            vec![Arc([0.28, 0.7], [0.27, 0.3], [0.0, 360.0]), Arc([-0.06, 0.7], [0.61, 0.72], [0.0, -75.0])]
        }
        '.' => return (vec![Line([0.08, 0.0, 0.08, 0.0])], 0.34),
        's' => vec![
            Arc([0.22, 0.51], [0.19, 0.17], [40.0, 270.0]),
            Arc([0.22, 0.17], [0.21, 0.17], [90.0, -135.0]),
        ],
        't' => {
            let curve = Arc([0.29, 0.14], [0.13, 0.14], [180.0, 290.0]);
            return (vec![Line([0.16, 0.95, 0.16, 0.14]), curve, Line([0.0, 0.67, 0.34, 0.67])], 0.54);
        }
        'r' => {
            return (
                vec![Line([0.04, 0.0, 0.04, 0.68]), Arc([0.25, 0.42], [0.21, 0.26], [180.0, 60.0])],
                0.52,
            );
        }
        'e' => vec![Line([0.02, 0.37, 0.47, 0.37]), Arc([0.24, 0.34], [0.23, 0.34], [5.0, 320.0])],
        'c' => vec![Arc([0.25, 0.34], [0.24, 0.34], [48.0, 312.0])],
        'h' => vec![
            Line([0.04, 0.0, 0.04, 1.0]),
            Arc([0.24, 0.42], [0.2, 0.26], [180.0, 0.0]),
            Line([0.44, 0.42, 0.44, 0.0]),
        ],
        'a' => vec![Arc([0.23, 0.34], [0.22, 0.34], [0.0, 360.0]), Line([0.45, 0.68, 0.45, 0.0])],
        'k' => {
            vec![Line([0.04, 0.0, 0.04, 1.0]), Line([0.4, 0.66, 0.04, 0.28]), Line([0.16, 0.41, 0.43, 0.0])]
        }
        'o' => vec![Arc([0.24, 0.34], [0.23, 0.34], [0.0, 360.0])],
        'n' => vec![
            Line([0.04, 0.0, 0.04, 0.68]),
            Arc([0.24, 0.42], [0.2, 0.26], [180.0, 0.0]),
            Line([0.44, 0.42, 0.44, 0.0]),
        ],
        'd' => vec![Arc([0.23, 0.34], [0.22, 0.34], [0.0, 360.0]), Line([0.45, 1.0, 0.45, 0.0])],
        'l' => return (vec![Line([0.06, 0.0, 0.06, 1.0])], 0.32),
        'm' => {
            let arch = |x: f32| Arc([x, 0.45], [0.16, 0.23], [180.0, 0.0]);
            let leg = |x: f32| Line([x, 0.45, x, 0.0]);
            return (vec![Line([0.04, 0.0, 0.04, 0.68]), arch(0.2), leg(0.36), arch(0.52), leg(0.68)], 0.96);
        }
        'P' => vec![
            Line([0.06, 0.0, 0.06, 1.0]),
            Line([0.06, 1.0, 0.28, 1.0]),
            Arc([0.28, 0.74], [0.24, 0.26], [90.0, -90.0]),
            Line([0.28, 0.48, 0.06, 0.48]),
        ],
        'M' => {
            let (left, right) = (Line([0.06, 0.0, 0.06, 1.0]), Line([0.72, 0.0, 0.72, 1.0]));
            return (vec![left, Line([0.06, 1.0, 0.39, 0.35]), Line([0.39, 0.35, 0.72, 1.0]), right], 0.98);
        }
        'N' => {
            let (left, right) = (Line([0.06, 0.0, 0.06, 1.0]), Line([0.58, 0.0, 0.58, 1.0]));
            return (vec![left, Line([0.06, 1.0, 0.58, 0.0]), right], 0.86);
        }
        '/' => return (vec![Line([0.0, -0.1, 0.36, 1.05])], 0.52),
        _ => vec![],
    };
    (strokes, if c.is_ascii_digit() { 0.8 } else { 0.7 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_the_digits_they_need() {
        let texts = |limit| labels(limit).into_iter().map(|l| l.1).collect::<Vec<_>>();
        assert_eq!(texts(1.2), ["0.8", "0.9", "1.0", "1.1", "1.2"]);
        assert_eq!(texts(1.05), ["0.950", "0.975", "1.000", "1.025", "1.050"]);
        assert_eq!(texts(4.0), ["1.0", "2.5", "4.0"]);
    }

    #[test]
    fn every_character_of_every_label_has_a_shape() {
        for c in "0123456789.stretchMkPaN/mcontactreleased".chars() {
            assert!(!glyph(c).0.is_empty(), "{c}");
        }
    }

    #[test]
    fn pictures_too_small_for_a_legend_are_left_whole() {
        let changed = |width, height| {
            let blank = Image::filled(width, height, [255; 4]);
            let mut with_legend = blank.clone();
            draw(&mut with_legend, &ColorScale::stretch(1.1));
            with_legend != blank
        };
        assert_eq!([(1, 1), (7, 300), (300, 7)].map(|(width, height)| changed(width, height)), [false; 3]);
        assert!(changed(300, 300), "the legend is not drawn at all");
    }
}
