//! The motion of a patch's points: a mean motion, and a bound on each point's deviation from it. Two primitives come nearer by at
//! most [`Drift::between`] of their patches, along any path; a primitive that moves with its neighbours stays as far from them as it is.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::contact::broad_phase::patches::Patch;

/// Patches processed by one task.
const PATCHES: usize = 256;

/// The motion of a patch's points.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Drift {
    mean: DVec3,
    /// The largest deviation of a point from the mean.
    spread: f64,
}

impl Drift {
    /// Of points with the displacements `move_of`.
    fn of(patch: &Patch, move_of: impl Fn(usize) -> DVec3) -> Self {
        let count = patch.count as usize;
        let corners = || patch.points.iter().flat_map(|corner| corner[..count].iter());
        let sum: DVec3 = corners().map(|&p| move_of(p as usize)).sum();
        let mean = sum / (3 * count) as f64;
        // NaN must propagate.
        let farther = |a: f64, b: f64| if a >= b || a.is_nan() { a } else { b };
        let off = corners().map(|&p| (move_of(p as usize) - mean).length_squared()).fold(0.0, farther);
        Self { mean, spread: off.sqrt() }
    }

    /// Upper bound on how much nearer a primitive of one patch can have come to a primitive of the other.
    pub(crate) fn between(&self, other: &Self) -> f64 {
        (self.mean - other.mean).length() + self.spread + other.spread
    }
}

/// The drifts of all patches between two sets of positions. Of the first `of_bodies` patches some points are those of bodies, which end at
/// `body_points`: where the others, of colliders, are at rest, nothing is computed for them.
pub(crate) fn find_drifts(
    patches: &[Patch],
    [of_bodies, body_points]: [usize; 2],
    [from, to]: [&[DVec3]; 2],
    drifts: &mut Vec<Drift>,
) {
    let still = from[body_points..] == to[body_points..];
    let moving = if still { of_bodies } else { patches.len() };
    drifts.truncate(moving);
    drifts.resize(patches.len(), Drift::default());
    drifts[..moving].par_iter_mut().zip(patches).with_min_len(PATCHES).for_each(|(drift, patch)| {
        *drift = Drift::of(patch, |p| to[p] - from[p]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::PrimitivePair;
    use crate::contact::broad_phase::patches::cut_patches;
    use crate::contact::surfaces::Surfaces;
    use crate::contact::tests::vector;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn distances_change_by_no_more_than_patches_drift_apart(
            start in prop::collection::vec(vector(1.0), 6),
            moves in prop::collection::vec(vector(0.2), 6),
            common in vector(30.0),
        ) {
            let surfaces = Surfaces::of_one(start.clone(), vec![[0, 1, 2], [3, 4, 5]]);
            let patches = [cut_patches(&surfaces, &[0]), cut_patches(&surfaces, &[1])].concat();
            let end: Vec<DVec3> = start.iter().zip(&moves).map(|(x, by)| *x + *by + common).collect();
            let mut drifts = Vec::new();
            find_drifts(&patches, [2, start.len()], [&start, &end], &mut drifts);
            let bound = drifts[0].between(&drifts[1]) + 1e-9;
            for (kind, points) in [(PrimitivePair::VertexTriangle, [1, 3, 4, 5]), (PrimitivePair::EdgeEdge, [0, 2, 4, 5])] {
                let [before, after] = [&start, &end].map(|x| kind.distance(&points.map(|p: usize| x[p])));
                prop_assert!((after - before).abs() <= bound, "{before} {after} {bound}");
            }
        }
    }

    #[test]
    fn what_goes_together_does_not_come_nearer() {
        let start = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE, 2.0 * DVec3::X];
        let surfaces = Surfaces::of_one(start.clone(), vec![[0, 1, 2], [3, 4, 5]]);
        let patches = [cut_patches(&surfaces, &[0]), cut_patches(&surfaces, &[1])].concat();
        let end: Vec<DVec3> = start.iter().map(|x| *x + DVec3::splat(8.0)).collect();
        let mut drifts = Vec::new();
        find_drifts(&patches, [2, start.len()], [&start, &end], &mut drifts);
        assert_eq!(drifts[0].between(&drifts[1]), 0.0);
    }
}
