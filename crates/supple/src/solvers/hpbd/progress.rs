//! How far a step has come, and whether its time budget allows what is still to do.
//!
//! When the budget runs out, the rest of the step is taken in one small step, however long, whose sweeps end early. The state
//! is then one that later steps can start from, only with more stretch than the options call for.

use std::time::{Duration, Instant};

use crate::dynamics::ContactProjection;

/// The small steps of one step.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Small steps in which the options want the step to be taken.
    pub(crate) planned: u32,
    /// Small steps that were taken.
    pub(crate) taken: u32,
    /// Sweeps of all of them over the level that is simulated.
    pub(crate) sweeps: u32,
    /// Whether the deadline has left out sweeps or small steps.
    pub(crate) is_truncated: bool,
    /// Wall time of the sweeps in seconds.
    pub(crate) solving: f64,
    /// Contacts that pushed in the last small step, and how often small steps were cut where something would meet.
    pub(crate) pushing: u32,
    pub(crate) cuts: u32,
    /// Points that were released since they had no room, summed over the small steps.
    pub(crate) pinched: u32,
    /// Sum of the squared lengths of the small steps in s².
    squared_lengths: f64,
    deadline: Option<Instant>,
    slowest: Duration,
}

impl Progress {
    pub(crate) fn new(planned: u32, deadline: Option<Instant>) -> Self {
        Self {
            planned,
            taken: 0,
            sweeps: 0,
            is_truncated: false,
            solving: 0.0,
            pushing: 0,
            cuts: 0,
            pinched: 0,
            squared_lengths: 0.0,
            deadline,
            slowest: Duration::ZERO,
        }
    }

    /// At which of the planned small steps the next one ends: one further, or the last one if no two of them would be done in
    /// time.
    pub(crate) fn next_end(&mut self, done: u32) -> u32 {
        if !self.is_due(2 * self.slowest) {
            return done + 1;
        }
        self.is_truncated |= done + 1 < self.planned;
        self.planned
    }

    /// Notes a small step of `length` seconds that started at this moment.
    pub(crate) fn finish_small_step(&mut self, length: f64, started: Instant) {
        self.taken += 1;
        self.squared_lengths += length * length;
        if self.deadline.is_some() {
            self.slowest = self.slowest.max(started.elapsed());
        }
    }

    /// Notes what contact did in a small step, and how many points had no room in it.
    pub(crate) fn note_contact(&mut self, contact: &ContactProjection, pinched: u32) {
        self.pushing = contact.pushing();
        self.cuts += contact.cuts();
        self.pinched += pinched;
    }

    /// Whether a sweep must be left out; it is then noted as such.
    pub(crate) fn leaves_out_sweep(&mut self) -> bool {
        let late = self.is_due(Duration::ZERO);
        self.is_truncated |= late;
        late
    }

    /// The mean length of the small steps of a step of `dt` seconds.
    pub(crate) fn mean_length(&self, dt: f64) -> f64 {
        dt / f64::from(self.taken)
    }

    /// The sum of the squared lengths of the small steps of a step of `dt` seconds: what turns the multipliers of all of them
    /// into a mean force.
    pub(crate) fn squared_lengths(&self, dt: f64) -> f64 {
        if self.is_truncated {
            return self.squared_lengths;
        }
        let length = self.mean_length(dt);
        length * length * f64::from(self.taken)
    }

    fn is_due(&self, ahead: Duration) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() + ahead > deadline)
    }
}
