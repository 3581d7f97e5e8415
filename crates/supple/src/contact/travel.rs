//! How far points have gone, so that what is far apart need not be looked at again and again.
//!
//! Two pieces of surface with the distance `d` are still `d - Σ sᵢ` apart after each of their four points has gone `sᵢ`, on
//! whatever way. What all points have in common changes no distance and does not count.

use glam::DVec3;
use rayon::prelude::*;

use crate::energy::chunks::{self, CHUNK};

/// The ways of points since they began, each as one length.
#[derive(Debug, Default)]
pub(crate) struct Travel {
    at: Vec<DVec3>,
    gone: Vec<f64>,
}

impl Travel {
    /// Begins here, with nothing gone.
    pub(crate) fn begin(&mut self, at: &[DVec3]) {
        self.at.clear();
        self.at.extend_from_slice(at);
        self.gone.clear();
        self.gone.resize(at.len(), 0.0);
    }

    /// Goes straight on.
    pub(crate) fn go(&mut self, to: &[DVec3]) {
        let at = &self.at;
        let sum = |range: std::ops::Range<usize>| range.map(|i| to[i] - at[i]).sum::<DVec3>();
        let common = chunks::fold(at.len(), CHUNK, DVec3::ZERO, sum, |a, b| a + b) / at.len().max(1) as f64;
        let points = self.gone.par_iter_mut().zip(&mut self.at).zip(to).with_min_len(CHUNK);
        points.for_each(|((gone, at), to)| {
            *gone += (*to - *at - common).length();
            *at = *to;
        });
    }

    /// What four points have gone, all together.
    pub(crate) fn of(&self, points: [u32; 4]) -> f64 {
        let [a, b, c, d] = points.map(|p| self.gone[p as usize]);
        (a + b) + (c + d)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::vector;
    use super::*;
    use crate::contact::Kind;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn distances_change_by_no_more_than_what_was_gone(
            start in prop::collection::vec(vector(1.0), 7),
            moves in prop::collection::vec((prop::collection::vec(vector(0.05), 7), vector(3.0)), 1..6),
        ) {
            let (mut travel, mut at) = (Travel::default(), start.clone());
            travel.begin(&start);
            for (moves, common) in &moves {
                at.iter_mut().zip(moves).for_each(|(at, by)| *at += *by + *common);
                travel.go(&at);
            }
            for points in [[0, 1, 2, 3], [6, 2, 4, 5]] {
                for kind in [Kind::VertexTriangle, Kind::EdgeEdge] {
                    let [before, after] =
                        [&start, &at].map(|x| kind.distance(&points.map(|p: u32| x[p as usize])));
                    prop_assert!((after - before).abs() <= travel.of(points) + 1e-12);
                }
            }
        }
    }

    #[test]
    fn what_goes_together_goes_nowhere() {
        let mut travel = Travel::default();
        let start = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        travel.begin(&start);
        travel.go(&start.map(|p| p + DVec3::splat(8.0)));
        assert_eq!(travel.of([0, 1, 2, 3]), 0.0);
    }
}
