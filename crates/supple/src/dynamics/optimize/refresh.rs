//! When data prepared from a matrix is refreshed: every N iterations (Wu 2022, section 4.3), or when vertices have
//! moved so far that the matrix has probably changed (section 9: "a more plausible solution").

use glam::DVec3;

use supple_core::parallel::{self, CHUNK};
use supple_core::state_words::{numbers, push};
use supple_linear::BlockMatrix;

/// How long a preparation is used: until the first of these is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Refresh {
    /// Iterations.
    pub every: u32,
    /// How far in metres a vertex may have moved relative to all others since then; unlimited without it.
    pub moved: Option<f64>,
    /// Steps, including the one in which it is made; with 1 the first iteration of every step makes one.
    pub steps: u32,
}

impl From<u32> for Refresh {
    fn from(every: u32) -> Self {
        Self { every: every.max(1), moved: None, steps: 1 }
    }
}

/// The age of a preparation.
#[derive(Debug, Clone)]
pub(crate) struct Staleness {
    refresh: Refresh,
    /// Iterations that have used it; `None` without one.
    served: Option<u32>,
    /// Steps started since it was made.
    steps: u32,
    /// The vertex positions then.
    at: Vec<DVec3>,
}

impl Staleness {
    pub(crate) fn new(refresh: Refresh) -> Self {
        Self { refresh, served: None, steps: 0, at: Vec::new() }
    }

    /// Whether preparations may be older than the step. Then they must not depend on earlier matrices, and are part of
    /// checkpoints, by the matrix from which they were made.
    pub(crate) fn spans_steps(&self) -> bool {
        self.refresh.steps > 1
    }

    /// Another step starts.
    pub(crate) fn begin_step(&mut self) {
        self.steps = self.steps.saturating_add(1);
        if self.steps >= self.refresh.steps {
            self.end();
        }
    }

    /// Whether there is none, or it is too old with the vertices at `x` now.
    pub(crate) fn is_due(&self, x: &[DVec3]) -> bool {
        let Some(served) = self.served else { return true };
        // A state saved with other options may lack the vertex positions.
        let far = |limit: f64| self.at.len() != x.len() || farthest(&self.at, x) > limit;
        served >= self.refresh.every || self.refresh.moved.is_some_and(far)
    }

    /// Marks it as made with the vertices at `x`.
    pub(crate) fn begin(&mut self, x: &[DVec3]) {
        (self.served, self.steps) = (Some(0), 0);
        if self.refresh.moved.is_some() {
            self.at.clear();
            self.at.extend_from_slice(x);
        }
    }

    /// Counts one more iteration.
    pub(crate) fn mark_used(&mut self) {
        self.served = self.served.map(|served| served.saturating_add(1));
    }

    /// Whether no earlier iteration has used it.
    pub(crate) fn is_new(&self) -> bool {
        self.served.is_none_or(|served| served <= 1)
    }

    /// Discards it.
    pub(crate) fn end(&mut self) {
        self.served = None;
    }

    /// Words for a checkpoint, after those of the prepared data: its age, and the matrix it was made from. Only those of
    /// the prepared data if every step makes its own.
    pub(crate) fn save(&self, prepared: Vec<u32>, matrix: &BlockMatrix) -> Vec<u32> {
        if !self.spans_steps() {
            return prepared;
        }
        let mut words = vec![prepared.len() as u32];
        words.extend(prepared);
        let Some(served) = self.served else { return words };
        words.extend([served, self.steps, self.at.len() as u32]);
        self.at.iter().flat_map(|x| x.to_array()).for_each(|number| push(&mut words, number));
        matrix.save(&mut words);
        words
    }

    /// Restores a saved state; returns the words of the prepared data, and whether `matrix` is now the one to prepare it from.
    pub(crate) fn restore<'a>(&mut self, saved: &'a [u32], matrix: &mut BlockMatrix) -> (&'a [u32], bool) {
        self.end();
        if !self.spans_steps() {
            return (saved, false);
        }
        let Some((prepared, own)) = split(saved) else { return (&[], false) };
        let whole = self.read(own, matrix).is_some();
        if !whole {
            self.end();
        }
        (prepared, whole)
    }

    fn read(&mut self, words: &[u32], matrix: &mut BlockMatrix) -> Option<()> {
        let (&[served, steps, count], rest) = words.split_first_chunk()?;
        let (places, rest) = rest.split_at_checked(6 * count as usize)?;
        self.at.clear();
        self.at.extend(places.as_chunks::<6>().0.iter().map(|words| DVec3::from_array(numbers(words))));
        (self.served, self.steps) = (Some(served), steps);
        matrix.restore(rest)
    }
}

/// The words of the prepared data, and those after them.
fn split(saved: &[u32]) -> Option<(&[u32], &[u32])> {
    let (&count, rest) = saved.split_first()?;
    rest.split_at_checked(count as usize)
}

/// The largest displacement of any vertex, without the mean of all: rigid flight changes nothing.
fn farthest(from: &[DVec3], to: &[DVec3]) -> f64 {
    let count = from.len();
    let sum = |range: std::ops::Range<usize>| range.map(|i| to[i] - from[i]).sum::<DVec3>();
    let mean = parallel::fold(count, CHUNK, DVec3::ZERO, sum, |a, b| a + b) / count.max(1) as f64;
    let far = |range: std::ops::Range<usize>| {
        range.map(|i| (to[i] - from[i] - mean).length_squared()).fold(0.0, f64::max)
    };
    parallel::fold(count, CHUNK, 0.0, far, f64::max).sqrt()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::DMat3;

    use super::*;
    use supple_linear::BlockPattern;

    #[test]
    fn what_moves_together_needs_nothing_new_and_one_that_leaves_does() {
        let mut age = Staleness::new(Refresh { every: u32::MAX, moved: Some(0.1), steps: 1 });
        let at: Vec<DVec3> = (0..10).map(|i| DVec3::X * f64::from(i)).collect();
        assert!(age.is_due(&at));
        age.begin(&at);
        let mut moved: Vec<DVec3> = at.iter().map(|p| *p + DVec3::new(3.0, -50.0, 1.0)).collect();
        (0..1000).for_each(|_| age.mark_used());
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
        let mut age = Staleness::new(Refresh::from(3));
        age.begin(&[]);
        let due: Vec<bool> = (0..4).map(|_| (age.is_due(&[]), age.mark_used()).0).collect();
        assert_eq!(due, [false, false, false, true]);
    }

    #[test]
    fn steps_are_counted_from_the_one_that_made_it() {
        let mut age = Staleness::new(Refresh { every: u32::MAX, moved: None, steps: 3 });
        let due = |age: &mut Staleness| {
            age.begin_step();
            let due = age.is_due(&[]);
            if due {
                age.begin(&[]);
            }
            age.mark_used();
            due
        };
        let course: Vec<bool> = (0..8).map(|_| due(&mut age)).collect();
        assert_eq!(course, [true, false, false, true, false, false, true, false]);
    }

    #[test]
    fn saved_data_is_restored_and_damaged_data_is_rebuilt() {
        let pattern = Arc::new(BlockPattern::new(&[false; 3], &[[0, 1]]));
        let mut matrix = BlockMatrix::zero(pattern.clone());
        matrix.add_pair(0, 1, DMat3::from_cols_array(&[1.0, 2.0, 3.0, -4.0, 5.0, 6.5, 7.0, 8.0, 1e-300]));
        matrix.add_pair(0, 2, DMat3::IDENTITY);
        let refresh = Refresh { every: 9, moved: Some(1.0), steps: 4 };
        let mut age = Staleness::new(refresh);
        age.begin(&[DVec3::X, DVec3::new(0.1, -2.0, 3.0), DVec3::Z]);
        age.mark_used();
        let words = age.save(vec![7, 8], &matrix);
        let (mut again, mut copy) = (Staleness::new(refresh), BlockMatrix::zero(pattern.clone()));
        assert_eq!(again.restore(&words, &mut copy), (&[7, 8][..], true));
        assert_eq!((again.served, again.steps, &again.at), (Some(1), 0, &age.at));
        assert_eq!((copy.blocks(), copy.outside()), (matrix.blocks(), matrix.outside()));
        for end in 0..words.len() {
            let (_, whole) = again.restore(&words[..end], &mut copy);
            assert!(!whole && again.is_due(&[]), "{end}");
        }
        // As many blocks, but elsewhere.
        let elsewhere = Arc::new(BlockPattern::new(&[false; 3], &[[1, 2]]));
        assert!(!again.restore(&words, &mut BlockMatrix::zero(elsewhere)).1);
    }
}
