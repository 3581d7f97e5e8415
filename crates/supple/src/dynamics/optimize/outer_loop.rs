//! The outer loop of Newton's method, for every family: evaluate, test for termination (iteration limit and time budget included:
//! [`Stopping`]), solve and step. A family provides its step
//! rule: a line search where there is an objective, control of the residual where there is none (the mixed system of
//! `staggered`).

use std::time::{Duration, Instant};

use super::error::MinimiseError;
use super::objective::Termination;

/// How a family makes one iteration.
pub(crate) trait StepRule {
    /// Evaluates the current iterate and records its residual; `Some` ends the iteration there. Asks a [`Stopping`].
    fn check(&mut self) -> Result<Option<Termination>, MinimiseError>;

    /// Solves the linear system and steps as far as the rule allows; `Some` ends the iteration after it.
    fn step(&mut self) -> Result<Option<Termination>, MinimiseError>;
}

/// Iterates until something ends it.
pub(crate) fn iterate(rule: &mut dyn StepRule) -> Result<Termination, MinimiseError> {
    loop {
        if let Some(stop) = rule.check()? {
            return Ok(stop);
        }
        if let Some(stop) = rule.step()? {
            return Ok(stop);
        }
    }
}

/// When an iteration ends: limits of iterations and time, with the time that iterations have taken so far.
#[derive(Debug, Clone)]
pub(crate) struct Stopping {
    max_iterations: u32,
    /// When the budget ends; an iteration that would likely pass it is not begun.
    deadline: Option<Instant>,
    slowest: Duration,
    iteration_start: Instant,
}

impl Stopping {
    /// Limits of an iteration that begins now.
    pub(crate) fn begin(max_iterations: u32, deadline: Option<Instant>) -> Self {
        Self { max_iterations, deadline, slowest: Duration::ZERO, iteration_start: Instant::now() }
    }

    /// The iteration number `iterations` begins; gives the time.
    pub(crate) fn next(&mut self, iterations: u32) -> Instant {
        if iterations > 0 {
            self.slowest = self.slowest.max(self.iteration_start.elapsed());
        }
        self.iteration_start = Instant::now();
        self.iteration_start
    }

    /// Why to stop after this many iterations, if the iterate is not converged or stalled.
    pub(crate) fn limit(&self, iterations: u32) -> Option<Termination> {
        if iterations >= self.max_iterations {
            return Some(Termination::IterationLimit);
        }
        let late = self.deadline.is_some_and(|deadline| Instant::now() + self.slowest > deadline);
        late.then_some(Termination::Deadline)
    }
}
