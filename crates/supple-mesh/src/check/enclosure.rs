//! Whether a surface encloses volume: closed by its topology, or well enough by the winding number.

use glam::DVec3;

use crate::geometry::{Aabb, WindingNumber};

/// Cells along each side of the box in which the winding number is sampled.
const SAMPLES: usize = 20;
/// A closed surface whose volume is below this fraction of (area)^(3/2) is a flat bag; a sphere has 0.094.
const FLAT: f64 = 1e-7;

/// A box is flat where its shortest side is below this fraction of its longest.
const FLAT_BOX: f64 = 1e-6;

/// How a surface encloses volume.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Enclosure {
    /// It is closed and consistently oriented.
    Closed,
    /// It is closed, but some faces must be flipped for a consistent orientation.
    OnceTurned,
    /// Not by its topology, but the winding number is clear in this fraction of the region it surrounds.
    Sampled {
        /// Of the samples with a winding number of at least a quarter, the fraction with at least three quarters.
        clear: f64,
    },
    /// It surrounds nothing, like a flat sheet.
    Nothing,
}

/// For a surface that is closed and oriented with this volume and area.
pub(super) fn of_closed(volume: f64, area: f64) -> Enclosure {
    if volume.abs() > FLAT * area.powf(1.5) { Enclosure::Closed } else { Enclosure::Nothing }
}

/// For any surface, by sampling.
pub(super) fn by_sampling(winding: &WindingNumber, bounds: &Aabb) -> Enclosure {
    let side = bounds.high - bounds.low;
    // In a flat box all samples would lie in the sheet itself, where the winding number jumps.
    if bounds.is_empty() || side.min_element() <= FLAT_BOX * side.max_element() {
        return Enclosure::Nothing;
    }
    let at = |i: usize| {
        let cell = [i % SAMPLES, i / SAMPLES % SAMPLES, i / (SAMPLES * SAMPLES)];
        let fraction = DVec3::from_array(cell.map(|c| (c as f64 + 0.5) / SAMPLES as f64));
        bounds.low + fraction * side
    };
    let points: Vec<DVec3> = (0..SAMPLES.pow(3)).map(at).collect();
    let winding = winding.at_each(&points);
    let around = |least: f64| winding.iter().filter(|w| w.abs() >= least).count();
    match around(0.25) {
        0 => Enclosure::Nothing,
        some => Enclosure::Sampled { clear: around(0.75) as f64 / some as f64 },
    }
}
