//! What every solver family is: a stepper.

use std::time::Instant;

use glam::DVec3;

use super::{HierarchyLevel, Setup, StateReader, StateWriter, StepReport, StepSystem};
use crate::error::Error;
use crate::nonlinear::IterationRecord;

/// What a stepper shows of its inside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inspection {
    /// The residual at the start of every nonlinear iteration of the last step, and at its end.
    pub residuals: Vec<f64>,
    /// Where the last step stood after every iteration, if the setup asks for it.
    pub history: Vec<IterationRecord>,
    /// Memory of its matrices and factors in bytes.
    pub bytes: usize,
}

/// A solver family: it owns the unknowns and advances them.
///
/// The setup (pins, colliders, forces, options) is given to every step, so that it may change between steps.
pub trait Stepper: Send {
    /// Advances by `dt` seconds from `setup.time`, giving up on accuracy at the deadline.
    fn step(&mut self, setup: &Setup, dt: f64, deadline: Option<Instant>) -> Result<StepReport, Error>;
    /// The linear system that a step would solve first; families without an assembled matrix have none.
    fn first_system(&mut self, _setup: &Setup, _dt: f64) -> Result<StepSystem, Error> {
        Err(Error::NotSupported("an assembled matrix of this family".into()))
    }
    /// Where the surface points of all bodies are, in the setup's order.
    fn surface_positions(&self, positions: &mut [DVec3]);
    /// Bodies came or went: `old_index[b]` is where body `b` was before, `None` if it is new.
    fn bodies_changed(&mut self, setup: &Setup, old_index: &[Option<usize>]);
    /// Bodies have other materials, masses or rest shapes, but the same elements as before.
    fn materials_changed(&mut self, setup: &Setup);
    /// All unknown positions, one body after the other.
    fn unknown_positions(&self) -> &[DVec3];
    /// Their velocities.
    fn unknown_velocities(&self) -> &[DVec3];
    /// Their masses in kg.
    fn masses(&self) -> &[f64];
    /// Writes everything on which later bits depend.
    fn save(&self, state: &mut StateWriter);
    /// Reads it back.
    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error>;
    /// What the user should know of the state.
    fn notes(&self, _setup: &Setup) -> Vec<String> {
        Vec::new()
    }
    /// What plots show.
    fn inspect(&self) -> Inspection;
    /// The levels of its hierarchy for drawing, the finest first; none before the first step.
    fn hierarchy(&self) -> Vec<HierarchyLevel> {
        Vec::new()
    }
}
