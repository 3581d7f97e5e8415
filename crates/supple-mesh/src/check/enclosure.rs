//! Whether a surface encloses volume: closed by its topology, or well enough by the winding number.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::geometry::{Aabb, WindingNumber};

/// Cells along each side of the box in which the winding number is sampled.
const SAMPLES: usize = 20;
/// Samples are taken in steps of this, which has no factor in common with their number: the first ones are spread over the box.
const STRIDE: usize = 4973;
/// Samples between two looks at the cost.
const BATCH: usize = 200;
/// No more samples are taken once this many triangles have been evaluated one by one, in a second or two. An ordinary surface takes a
/// hundredth of that for all samples, a tangle of long triangles much more.
const MOST_NEAR_TRIANGLES: usize = 20_000_000;
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

/// The winding numbers at all samples, or at the first of them where they take too long.
fn sample(winding: &WindingNumber, at: &(dyn Fn(usize) -> DVec3 + Sync)) -> Vec<f64> {
    let (mut found, mut cost) = (Vec::new(), 0);
    for first in (0..SAMPLES.pow(3)).step_by(BATCH) {
        if cost > MOST_NEAR_TRIANGLES {
            break;
        }
        let batch = (first..SAMPLES.pow(3).min(first + BATCH)).into_par_iter();
        let batch: Vec<(f64, usize)> = batch.map(|i| winding.at_with_cost(at(i))).collect();
        cost += batch.iter().map(|(_, near)| near).sum::<usize>();
        found.extend(batch.into_iter().map(|(value, _)| value));
    }
    found
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
    let sampled = sample(winding, &|i| at(i * STRIDE % SAMPLES.pow(3)));
    let around = |least: f64| sampled.iter().filter(|w| w.abs() >= least).count();
    match around(0.25) {
        0 => Enclosure::Nothing,
        some => Enclosure::Sampled { clear: around(0.75) as f64 / some as f64 },
    }
}
