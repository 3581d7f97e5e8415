//! Colour quantisation: a palette by variance-based division (after Wu 1991) refined by k-means, and ordered
//! dithering between the two palette colours that mix to a pixel's colour best.

use std::collections::HashMap;

/// Bits per component of the histogram's cells; each cell stores the exact mean of its colours.
const BITS: u32 = 6;
const REFINEMENTS: usize = 3;
/// Perceptual weights of differences in red, green and blue.
const EYE: [f32; 3] = [0.55, 1.0, 0.4];
/// Penalty for mixing distant colours, whose pattern would be visible.
const DISTANT: f32 = 0.06;

/// The thresholds of ordered dithering (Bayer 1973), 0 to 63.
const BAYER: [[u8; 8]; 8] = [
    [0, 32, 8, 40, 2, 34, 10, 42],
    [48, 16, 56, 24, 50, 18, 58, 26],
    [12, 44, 4, 36, 14, 46, 6, 38],
    [60, 28, 52, 20, 62, 30, 54, 22],
    [3, 35, 11, 43, 1, 33, 9, 41],
    [51, 19, 59, 27, 49, 17, 57, 25],
    [15, 47, 7, 39, 13, 45, 5, 37],
    [63, 31, 55, 23, 61, 29, 53, 21],
];

/// A colour, components 0 to 255 weighted perceptually.
type Point = [f32; 3];

/// A cell of the histogram: its mean colour and its weight.
#[derive(Clone, Copy)]
struct HistogramCell {
    color: Point,
    weight: f32,
}

/// Up to 255 colours, and the dithering between them.
pub(super) struct Palette {
    colors: Vec<Point>,
    /// For each colour seen: two palette entries, and the share of the second.
    mixes: HashMap<[u8; 3], (u8, u8, f32)>,
}

impl Palette {
    /// Chooses at most `most` colours for these pixels.
    pub(super) fn new(pixels: impl Iterator<Item = [u8; 3]>, most: usize) -> Self {
        let cells = histogram(pixels);
        let mut colors = divide(&cells, most);
        for _ in 0..REFINEMENTS {
            colors = refine(&cells, colors);
        }
        Self { colors, mixes: HashMap::new() }
    }

    /// The palette as red, green, blue bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.colors
            .iter()
            .flat_map(|c| std::array::from_fn::<u8, 3, _>(|k| (c[k] / EYE[k]).round() as u8))
            .collect()
    }

    /// The palette entry for a pixel of this colour at this position.
    pub(super) fn index(&mut self, color: [u8; 3], x: usize, y: usize) -> u8 {
        let colors = &self.colors;
        let &mut (first, second, share) =
            self.mixes.entry(color).or_insert_with(|| best_mix(colors, point(color)));
        let threshold = (f32::from(BAYER[y % 8][x % 8]) + 0.5) / 64.0;
        if share > threshold { second } else { first }
    }
}

fn point(color: [u8; 3]) -> Point {
    std::array::from_fn(|k| f32::from(color[k]) * EYE[k])
}

fn distance_squared(a: &Point, b: &Point) -> f32 {
    (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum()
}

fn histogram(pixels: impl Iterator<Item = [u8; 3]>) -> Vec<HistogramCell> {
    let mut sums = vec![[0u32; 4]; 1 << (3 * BITS)];
    for pixel in pixels {
        let key = pixel.iter().fold(0, |key, &c| key << BITS | usize::from(c >> (8 - BITS)));
        for (sum, c) in sums[key].iter_mut().zip(pixel) {
            *sum += u32::from(c);
        }
        sums[key][3] += 1;
    }
    let used = sums.into_iter().filter(|s| s[3] > 0);
    used.map(|s| {
        let color = std::array::from_fn(|k| s[k] as f32 / s[3] as f32 * EYE[k]);
        // Less than proportional, otherwise a large background would take all entries.
        HistogramCell { color, weight: (s[3] as f32).powf(0.7) }
    })
    .collect()
}

/// A box of cells with its mean and its spread along each component.
struct ColorGroup {
    cells: Vec<HistogramCell>,
    mean: Point,
    spread: Point,
}

impl ColorGroup {
    fn new(cells: Vec<HistogramCell>) -> Self {
        let weight: f32 = cells.iter().map(|c| c.weight).sum();
        let mean: Point =
            std::array::from_fn(|k| cells.iter().map(|c| c.weight * c.color[k]).sum::<f32>() / weight);
        let spread = std::array::from_fn(|k| {
            cells.iter().map(|c| c.weight * (c.color[k] - mean[k]) * (c.color[k] - mean[k])).sum()
        });
        Self { cells, mean, spread }
    }

    fn error(&self) -> f32 {
        self.spread.iter().sum()
    }

    /// Two halves at the mean of the widest component; `None` if all cells are alike.
    fn halves(&self) -> Option<[Self; 2]> {
        let widest = (0..3).max_by(|&a, &b| self.spread[a].total_cmp(&self.spread[b]))?;
        let (low, high): (Vec<HistogramCell>, Vec<HistogramCell>) =
            self.cells.iter().partition(|c| c.color[widest] <= self.mean[widest]);
        (!low.is_empty() && !high.is_empty()).then(|| [Self::new(low), Self::new(high)])
    }
}

/// Halves the group with the largest error until there are enough.
fn divide(cells: &[HistogramCell], most: usize) -> Vec<Point> {
    if cells.is_empty() {
        return vec![[0.0; 3]];
    }
    let mut groups = vec![ColorGroup::new(cells.to_vec())];
    while groups.len() < most {
        let Some(worst) = (0..groups.len()).max_by(|&a, &b| groups[a].error().total_cmp(&groups[b].error()))
        else {
            break;
        };
        let Some([low, high]) = groups[worst].halves() else { break };
        groups[worst] = low;
        groups.push(high);
    }
    groups.iter().map(|g| g.mean).collect()
}

/// One round of k-means; a colour without cells stays.
fn refine(cells: &[HistogramCell], colors: Vec<Point>) -> Vec<Point> {
    let mut sums = vec![[0f32; 4]; colors.len()];
    for cell in cells {
        let sum = &mut sums[nearest(&colors, &cell.color)];
        for (sum, c) in sum.iter_mut().zip(cell.color) {
            *sum += cell.weight * c;
        }
        sum[3] += cell.weight;
    }
    let mean = |(sum, old): (&[f32; 4], &Point)| {
        if sum[3] > 0.0 { std::array::from_fn(|k| sum[k] / sum[3]) } else { *old }
    };
    sums.iter().zip(&colors).map(mean).collect()
}

fn nearest(colors: &[Point], color: &Point) -> usize {
    let mut best = (f32::MAX, 0);
    for (i, c) in colors.iter().enumerate() {
        let distance = distance_squared(c, color);
        if distance < best.0 {
            best = (distance, i);
        }
    }
    best.1
}

/// The nearest colour, and the one whose mixture with it comes closest.
fn best_mix(colors: &[Point], color: Point) -> (u8, u8, f32) {
    let first = nearest(colors, &color);
    let base = colors[first];
    let wanted: Point = std::array::from_fn(|k| color[k] - base[k]);
    let mut best = (distance_squared(&color, &base), first, 0.0);
    for (i, c) in colors.iter().enumerate() {
        let step: Point = std::array::from_fn(|k| c[k] - base[k]);
        let length = distance_squared(c, &base);
        if length <= 0.0 {
            continue;
        }
        let share = ((0..3).map(|k| wanted[k] * step[k]).sum::<f32>() / length).clamp(0.0, 1.0);
        let mixed: Point = std::array::from_fn(|k| base[k] + share * step[k]);
        let cost = distance_squared(&mixed, &color) + DISTANT * share * length;
        if cost < best.0 {
            best = (cost, i, share);
        }
    }
    (first as u8, best.1 as u8, best.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_colours_are_kept_exactly() {
        let given = [[0, 0, 0], [255, 255, 255], [200, 30, 40], [10, 180, 90]];
        let mut palette = Palette::new(given.iter().copied().cycle().take(1000), 255);
        let bytes = palette.bytes();
        for color in given {
            let index = usize::from(palette.index(color, 3, 5));
            assert_eq!(bytes[3 * index..3 * index + 3], color);
        }
    }

    #[test]
    fn dithering_keeps_the_mean_of_a_gradient() {
        let gradient = || (0..64 * 64).map(|i| [(i % 64 * 4) as u8, (i / 64 * 4) as u8, 128]);
        let mut palette = Palette::new(gradient(), 32);
        let bytes = palette.bytes();
        let mut errors = [0f32; 3];
        for (i, color) in gradient().enumerate() {
            let index = usize::from(palette.index(color, i % 64, i / 64));
            for k in 0..3 {
                errors[k] += f32::from(bytes[3 * index + k]) - f32::from(color[k]);
            }
        }
        assert!(errors.iter().all(|e| e.abs() / 4096.0 < 2.0), "{errors:?}");
    }

    #[test]
    fn no_pixels_give_a_palette_of_one() {
        assert_eq!(Palette::new(std::iter::empty(), 255).bytes(), [0, 0, 0]);
    }
}
