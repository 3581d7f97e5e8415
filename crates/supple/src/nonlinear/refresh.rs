//! When what was prepared from a matrix is prepared anew: every so many iterations (Wu 2022, section 4.3), or when vertices have
//! moved so far that the matrix is likely another (section 9: "a more plausible solution").

use glam::DVec3;

use crate::energy::chunks::{self, CHUNK};

/// How long a preparation serves. The first iteration of every step makes one anyway.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Refresh {
    /// Iterations.
    pub every: u32,
    /// How far in metres a vertex may have moved against all others since then; any way without it.
    pub moved: Option<f64>,
}

impl From<u32> for Refresh {
    fn from(every: u32) -> Self {
        Self { every: every.max(1), moved: None }
    }
}

/// How old a preparation is.
#[derive(Debug, Clone)]
pub(super) struct Age {
    refresh: Refresh,
    /// Iterations that it has served; `None` without one.
    served: Option<u32>,
    /// Where the vertices were.
    at: Vec<DVec3>,
}

impl Age {
    pub(super) fn new(refresh: Refresh) -> Self {
        Self { refresh, served: None, at: Vec::new() }
    }

    /// Whether there is none, or it has served long enough with the vertices at `x` now.
    pub(super) fn is_due(&self, x: &[DVec3]) -> bool {
        let Some(served) = self.served else { return true };
        let far = |limit: f64| farthest(&self.at, x) > limit;
        served >= self.refresh.every || self.refresh.moved.is_some_and(far)
    }

    /// It was made with the vertices at `x`.
    pub(super) fn begin(&mut self, x: &[DVec3]) {
        self.served = Some(0);
        if self.refresh.moved.is_some() {
            self.at.clear();
            self.at.extend_from_slice(x);
        }
    }

    /// It has served for one iteration more.
    pub(super) fn serve(&mut self) {
        self.served = self.served.map(|served| served.saturating_add(1));
    }

    /// There is none any more.
    pub(super) fn end(&mut self) {
        self.served = None;
    }
}

/// The farthest way of any vertex, without the mean of all ways: what flies as a whole changes nothing.
fn farthest(from: &[DVec3], to: &[DVec3]) -> f64 {
    let count = from.len();
    let sum = |range: std::ops::Range<usize>| range.map(|i| to[i] - from[i]).sum::<DVec3>();
    let mean = chunks::fold(count, CHUNK, DVec3::ZERO, sum, |a, b| a + b) / count.max(1) as f64;
    let far = |range: std::ops::Range<usize>| {
        range.map(|i| (to[i] - from[i] - mean).length_squared()).fold(0.0, f64::max)
    };
    chunks::fold(count, CHUNK, 0.0, far, f64::max).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_together_needs_nothing_new_and_one_that_leaves_does() {
        let mut age = Age::new(Refresh { every: u32::MAX, moved: Some(0.1) });
        let at: Vec<DVec3> = (0..10).map(|i| DVec3::X * f64::from(i)).collect();
        assert!(age.is_due(&at));
        age.begin(&at);
        let mut moved: Vec<DVec3> = at.iter().map(|p| *p + DVec3::new(3.0, -50.0, 1.0)).collect();
        (0..1000).for_each(|_| age.serve());
        assert!(!age.is_due(&moved));
        moved[3] += 0.09 * DVec3::Y;
        assert!(!age.is_due(&moved));
        moved[3] += 0.05 * DVec3::Y;
        assert!(age.is_due(&moved));
        age.end();
        assert!(age.is_due(&at));
    }

    #[test]
    fn so_many_iterations_are_served() {
        let mut age = Age::new(Refresh::from(3));
        age.begin(&[]);
        let due: Vec<bool> = (0..4).map(|_| (age.is_due(&[]), age.serve()).0).collect();
        assert_eq!(due, [false, false, false, true]);
    }
}
