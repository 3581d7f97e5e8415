//! Pairs of boxes that overlap, by a uniform grid.

use std::collections::HashMap;

use glam::DVec3;

/// A box along the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Lowest coordinates.
    pub low: DVec3,
    /// Highest coordinates.
    pub high: DVec3,
}

impl Bounds {
    /// Around points.
    pub fn around<'a>(points: impl IntoIterator<Item = &'a DVec3>) -> Self {
        let empty = Self { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };
        points.into_iter().fold(empty, |b, p| Self { low: b.low.min(*p), high: b.high.max(*p) })
    }

    /// Larger by this much on every side.
    pub fn grown(self, by: f64) -> Self {
        Self { low: self.low - DVec3::splat(by), high: self.high + DVec3::splat(by) }
    }

    /// Whether two boxes have a common point.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low.cmple(other.high).all() && other.low.cmple(self.high).all()
    }
}

/// Most cells that one box is entered into; larger boxes are compared with all.
const MOST_CELLS: i64 = 512;

/// All pairs of a box of one list and a box of the other that overlap, sorted.
pub fn overlapping(ours: &[Bounds], theirs: &[Bounds]) -> Vec<[usize; 2]> {
    let all = |list: &[Bounds]| Bounds::around(list.iter().flat_map(|b| [&b.low, &b.high]));
    let (our_bounds, their_bounds) = (all(ours), all(theirs));
    let near = |list: &[Bounds], other: &Bounds| -> Vec<usize> {
        (0..list.len()).filter(|&i| list[i].overlaps(other)).collect()
    };
    let (mine, others) = (near(ours, &their_bounds), near(theirs, &our_bounds));
    if mine.is_empty() || others.is_empty() {
        return Vec::new();
    }
    let cell = cell_size(mine.iter().map(|&i| &ours[i]).chain(others.iter().map(|&i| &theirs[i])));
    let mut cells: HashMap<[i64; 3], Vec<usize>> = HashMap::new();
    let mut large = Vec::new();
    for &i in &mine {
        match cells_of(&ours[i], cell) {
            Some(list) => list.for_each(|key| cells.entry(key).or_default().push(i)),
            None => large.push(i),
        }
    }
    let mut pairs = Vec::new();
    for &j in &others {
        let mut found = large.clone();
        match cells_of(&theirs[j], cell) {
            Some(list) => found.extend(list.filter_map(|key| cells.get(&key)).flatten()),
            None => found.extend_from_slice(&mine),
        }
        found.sort_unstable();
        found.dedup();
        pairs.extend(found.into_iter().filter(|&i| ours[i].overlaps(&theirs[j])).map(|i| [i, j]));
    }
    pairs.sort_unstable();
    pairs
}

/// The median of the boxes' largest sides.
fn cell_size<'a>(boxes: impl Iterator<Item = &'a Bounds>) -> f64 {
    let mut sizes: Vec<f64> = boxes.map(|b| (b.high - b.low).max_element()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes[sizes.len() / 2].max(1e-9)
}

/// The cells that a box touches; `None` if they are too many.
fn cells_of(bounds: &Bounds, cell: f64) -> Option<impl Iterator<Item = [i64; 3]> + use<>> {
    let key = |p: DVec3| (p / cell).floor().to_array().map(|x| x as i64);
    let (low, high) = (key(bounds.low), key(bounds.high));
    let counts = [0, 1, 2].map(|i| high[i].saturating_sub(low[i]).saturating_add(1));
    let product = counts.iter().try_fold(1i64, |product, count| product.checked_mul(*count));
    product.filter(|product| *product <= MOST_CELLS)?;
    let row = move |x: i64| (low[1]..=high[1]).flat_map(move |y| (low[2]..=high[2]).map(move |z| [x, y, z]));
    Some((low[0]..=high[0]).flat_map(row))
}
