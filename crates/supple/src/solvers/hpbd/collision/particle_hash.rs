//! A spatial hash of the particles: an unbounded grid (Teschner et al. 2003, *Optimized Spatial
//! Hashing for Collision Detection of Deformable Objects*), with consecutive cells along x in consecutive
//! entries. So a box is read row by row, each row from contiguous memory.

use std::ops::Range;

use glam::{DVec3, IVec3};

/// A particle in the order of the table.
#[derive(Debug, Clone, Copy, Default)]
struct Entered {
    at: DVec3,
    /// The row of its cell, since rows share entries.
    row: [i32; 2],
    particle: u32,
}

/// The particles of a step.
#[derive(Debug, Default)]
pub(crate) struct ParticleHash {
    /// Cells per metre.
    scale: f64,
    /// The start of each entry's particles.
    first: Vec<u32>,
    entered: Vec<Entered>,
    /// The entry of each particle.
    entries: Vec<u32>,
}

impl ParticleHash {
    /// Sorts the particles into cells of this width.
    pub(crate) fn fill(&mut self, x: &[DVec3], cell: f64) {
        self.scale = 1.0 / cell;
        let size = (2 * x.len()).next_power_of_two();
        self.first.clear();
        self.first.resize(size + 1, 0);
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        entries.extend(x.iter().map(|p| self.entry(self.cell_of(*p))));
        entries.iter().for_each(|&entry| self.first[entry as usize + 1] += 1);
        (0..size).for_each(|entry| self.first[entry + 1] += self.first[entry]);
        self.entered.clear();
        self.entered.resize(x.len(), Entered::default());
        // Backwards, so that `first` ends where it started and the particles of an entry are in order.
        for (particle, &entry) in entries.iter().enumerate().rev() {
            let cell = self.cell_of(x[particle]);
            let place = &mut self.first[entry as usize + 1];
            *place -= 1;
            self.entered[*place as usize] =
                Entered { at: x[particle], row: [cell.y, cell.z], particle: particle as u32 };
        }
        self.first.rotate_left(1);
        self.first[size] = x.len() as u32;
        self.entries = entries;
    }

    fn cell_of(&self, p: DVec3) -> IVec3 {
        let scaled = p * self.scale;
        let cut = scaled.as_ivec3();
        // Equals `floor`, which is a call on instruction sets without it.
        let [x, y, z] = [0, 1, 2].map(|k| cut[k].saturating_sub(i32::from(scaled[k] < f64::from(cut[k]))));
        IVec3::new(x, y, z)
    }

    /// Entries of the table minus one: a power of two minus one.
    fn mask(&self) -> u32 {
        self.first.len() as u32 - 2
    }

    fn entry(&self, cell: IVec3) -> u32 {
        let mixed = (cell.y as u32).wrapping_mul(689_287_499) ^ (cell.z as u32).wrapping_mul(283_923_481);
        (mixed ^ (mixed >> 15)).wrapping_add(cell.x as u32) & self.mask()
    }

    /// Calls `visit` once with every particle in a box.
    pub(crate) fn for_each_in(&self, low: DVec3, high: DVec3, mut visit: impl FnMut(u32)) {
        let inside = |entered: &Entered| entered.at.cmpge(low).all() && entered.at.cmple(high).all();
        let (from, to) = (self.cell_of(low), self.cell_of(high));
        let count = |from: i32, to: i32| (i64::from(to) - i64::from(from) + 1).max(0) as f64;
        // A triangle that is stretched far covers more rows than there are particles.
        if count(from.y, to.y) * count(from.z, to.z) > self.entered.len() as f64 {
            let all = self.entered.iter().filter(|entered| inside(entered));
            return all.for_each(|entered| visit(entered.particle));
        }
        let size = self.first.len() - 1;
        let cells = (i64::from(to.x) - i64::from(from.x) + 1).clamp(0, size as i64) as usize;
        for j in from.y..=to.y {
            for k in from.z..=to.z {
                let begin = self.entry(IVec3::new(from.x, j, k)) as usize;
                let end = begin + cells;
                let mut visit_in = |entries: Range<usize>| {
                    let places = self.first[entries.start] as usize..self.first[entries.end] as usize;
                    for entered in &self.entered[places] {
                        if entered.row == [j, k] && inside(entered) {
                            visit(entered.particle);
                        }
                    }
                };
                // The table wraps around.
                visit_in(begin..end.min(size));
                if end > size {
                    visit_in(0..end - size);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_finds_every_particle_in_a_box_once_and_no_other() {
        let wobble = |k: u32, by: f64| (f64::from(k) * by).sin();
        let x: Vec<DVec3> =
            (0..500).map(|k| DVec3::new(wobble(k, 12.9), wobble(k, 78.2), wobble(k, 37.7))).collect();
        let mut hash = ParticleHash::default();
        let boxes = [
            (0.2, DVec3::new(0.15, 0.3, 0.05)),
            (0.003, DVec3::new(4.0, 0.1, 0.1)),
            (0.2, DVec3::new(1e4, 1e9, 1e12)),
        ];
        for (cell, size) in boxes {
            hash.fill(&x, cell);
            for k in 0..50 {
                let low = DVec3::new(wobble(k, 1.1), wobble(k, 2.3), wobble(k, 3.7)) - 0.1;
                let high = low + size;
                let mut found = Vec::new();
                hash.for_each_in(low, high, |p| found.push(p));
                found.sort_unstable();
                let inside = |p: &u32| {
                    let at = x[*p as usize];
                    at.cmpge(low).all() && at.cmple(high).all()
                };
                let wanted: Vec<u32> = (0..500).filter(inside).collect();
                assert_eq!(found, wanted);
            }
        }
    }
}
