//! Which ways particles go in large cells of space: a box around the ways of all particles of a cell. The cells are entries of a
//! table; those that share one share a box, which is then only larger than it need be.

use glam::{DVec3, IVec3};

/// How much wider these cells are than those of the particles.
const WIDER: f64 = 4.0;
/// Cells that one question looks at, at most.
const MOST_CELLS: f64 = 27.0;

/// The ways of a step.
#[derive(Debug, Default)]
pub(super) struct WayBounds {
    /// Cells to a metre.
    scale: f64,
    /// The least and the greatest of every component; for a table of a power of two of cells.
    cells: Vec<[DVec3; 2]>,
    whole: [DVec3; 2],
}

const NOTHING: [DVec3; 2] = [DVec3::INFINITY, DVec3::NEG_INFINITY];

fn join([low, high]: [DVec3; 2], other: [DVec3; 2]) -> [DVec3; 2] {
    [low.min(other[0]), high.max(other[1])]
}

impl WayBounds {
    /// Takes the ways from one place to another of all particles, whose own cells have this width.
    pub(super) fn fill(&mut self, from: &[DVec3], to: &[DVec3], cell: f64) {
        self.scale = 1.0 / (WIDER * cell);
        self.cells.clear();
        self.cells.resize((from.len() / 4).next_power_of_two(), NOTHING);
        for (from, to) in from.iter().zip(to) {
            let entry = self.entry(self.cell_of(*from));
            self.cells[entry] = join(self.cells[entry], [*to - *from; 2]);
        }
        self.whole = self.cells.iter().copied().fold(NOTHING, join);
    }

    fn cell_of(&self, p: DVec3) -> IVec3 {
        (p * self.scale).floor().as_ivec3()
    }

    fn entry(&self, cell: IVec3) -> usize {
        let [x, y, z] = cell.to_array().map(|i| i as u32);
        let mixed = x.wrapping_mul(73_856_093) ^ y.wrapping_mul(689_287_499) ^ z.wrapping_mul(283_923_481);
        (mixed ^ (mixed >> 15)) as usize & (self.cells.len() - 1)
    }

    /// How far from `mean` the way of any particle in a box can end, at most; nothing without particles.
    pub(super) fn farthest_in(&self, low: DVec3, high: DVec3, mean: DVec3) -> f64 {
        let (from, to) = (self.cell_of(low), self.cell_of(high));
        let count = (to.as_dvec3() - from.as_dvec3() + 1.0).element_product();
        let mut ways = NOTHING;
        if count > MOST_CELLS {
            ways = self.whole;
        } else {
            for i in from.x..=to.x {
                for j in from.y..=to.y {
                    for k in from.z..=to.z {
                        ways = join(ways, self.cells[self.entry(IVec3::new(i, j, k))]);
                    }
                }
            }
        }
        if ways[0].x > ways[1].x { 0.0 } else { (mean - ways[0]).abs().max((ways[1] - mean).abs()).length() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_in_a_box_ends_farther_than_the_bounds_say() {
        let wobble = |k: u32, by: f64| (f64::from(k) * by).sin();
        let point = |k: u32, by: f64| DVec3::new(wobble(k, by), wobble(k, 3.1 * by), wobble(k, 7.7 * by));
        let from: Vec<DVec3> = (0..500).map(|k| point(k, 12.9)).collect();
        let to: Vec<DVec3> = (0..500).map(|k| from[k as usize] + 0.1 * point(k, 0.37)).collect();
        let mut bounds = WayBounds::default();
        for cell in [0.003, 0.05, 2.0] {
            bounds.fill(&from, &to, cell);
            for (k, size) in (0..60).flat_map(|k| [(k, 0.1), (k, 0.6), (k, 1e9)]) {
                let (low, mean) = (point(k, 1.3) - 0.1, 0.1 * point(k, 2.9));
                let high = low + size;
                let inside = from.iter().zip(&to).filter(|(p, _)| p.cmpge(low).all() && p.cmple(high).all());
                let farthest = inside.map(|(from, to)| (*to - *from).distance(mean)).fold(0.0, f64::max);
                assert!(bounds.farthest_in(low, high, mean) >= farthest - 1e-15);
            }
        }
    }
}
