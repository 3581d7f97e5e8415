//! What every solver family is: a stepper.

mod hierarchy;
mod registry;
mod report;
mod step_system;

use std::borrow::Cow;
use std::time::Instant;

use glam::DVec3;

use crate::body::Split;
use crate::scene_state::SceneState;
use supple_core::Error;
use supple_core::state::{StateReader, StateWriter};

pub(crate) use hierarchy::carried;
pub use hierarchy::{HierarchyLevel, NO_REGION, Slice, SlicedCell};
pub use registry::{Registry, StepperKind};
pub use report::{EnergyReport, FrameReport, StageTimes, StepReport, StretchReport};
pub use step_system::StepSystem;

/// A split as a stepper sees it.
#[derive(Debug, Clone, Copy)]
pub struct Torn<'a> {
    /// The split, in numbers of the last body.
    pub split: &'a Split,
    /// The unknowns that are its clones.
    pub clones: &'a [u32],
    /// The elements that stay with the split particle.
    pub left: &'a [u32],
}

/// Where a minimisation stood after an iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IterationRecord {
    /// Seconds since it began, without the time for keeping this record.
    pub seconds: f64,
    /// The objective in joules.
    pub value: f64,
    /// Norm of the gradient over the reference.
    pub residual: f64,
}

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

/// One level of a hierarchy of particles: what can be drawn of it. Particles are numbered over all bodies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParticleLevel {
    /// Its particles.
    pub particles: Vec<u32>,
    /// Its triangles; those of the mesh itself are the bodies' own.
    pub triangles: Vec<[u32; 3]>,
    /// Pairs of particles that have a constraint in common.
    pub links: Vec<[u32; 2]>,
    /// Particles of the finer level that are not on this one, with the parents whose corrections they take over.
    pub parents: Vec<[u32; 2]>,
}

/// A solver family: it owns the unknowns and advances them.
///
/// The setup (pins, colliders, forces, options) is given to every step, so that it may change between steps.
///
/// Positions, velocities and masses are asked for, and only when something needs them: a stepper that has them in memory as they
/// are lends them (`Cow::Borrowed`), one that keeps them on a device or in another precision copies them (`Cow::Owned`).
pub trait Stepper: Send {
    /// Advances by `dt` seconds from `setup.time`, giving up on accuracy at the deadline.
    fn step(&mut self, setup: &SceneState, dt: f64, deadline: Option<Instant>) -> Result<StepReport, Error>;
    /// The linear system that a step would solve first; families without an assembled matrix have none.
    fn first_system(&mut self, _setup: &SceneState, _dt: f64) -> Result<StepSystem, Error> {
        Err(Error::NotSupported("an assembled matrix of this family".into()))
    }
    /// The mesh and its coarser levels as they are now, in families that have levels of particles.
    fn particle_levels(&self) -> Vec<ParticleLevel> {
        Vec::new()
    }
    /// Where the surface points of all bodies are, in the setup's order.
    fn surface_positions(&self, positions: &mut [DVec3]);
    /// How fast they move there, in m/s. Families whose surfaces hang on their unknowns in another way than by the bodies'
    /// embeddings say it themselves.
    fn surface_velocities(&self, setup: &SceneState, velocities: &mut [DVec3]) {
        setup.embed(&self.unknown_velocities(), velocities);
    }
    /// Bodies came or went: `old_index[b]` is where body `b` was before, `None` if it is new.
    fn bodies_changed(&mut self, setup: &SceneState, old_index: &[Option<usize>]);
    /// Bodies have other materials, masses or rest shapes, but the same elements as before.
    fn materials_changed(&mut self, setup: &SceneState);
    /// A particle of the last body was split: it has clones at the end of the unknowns now. Only families whose scenes may
    /// tear are told.
    fn torn(&mut self, _setup: &SceneState, _torn: &Torn<'_>) {}
    /// All tears of this moment are done.
    fn after_tears(&mut self, _setup: &SceneState) {}
    /// The number of unknowns: points of three coordinates each. Cheap: nothing is copied for it.
    fn unknown_count(&self) -> usize;
    /// All unknown positions in metres, one body after the other.
    fn unknown_positions(&self) -> Cow<'_, [DVec3]>;
    /// Their velocities in m/s.
    fn unknown_velocities(&self) -> Cow<'_, [DVec3]>;
    /// Their masses in kg.
    fn masses(&self) -> Cow<'_, [f64]>;
    /// Writes everything on which later bits depend.
    fn save(&self, state: &mut StateWriter);
    /// Reads it back.
    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error>;
    /// What the user should know of the state.
    fn notes(&self, _setup: &SceneState) -> Vec<String> {
        Vec::new()
    }
    /// What plots show.
    fn inspect(&self) -> Inspection;
    /// The levels of its hierarchy for drawing, the finest first; none before the first step. Families with cells tell those
    /// that the slice goes through.
    fn hierarchy(&self, _setup: &SceneState, _slice: &Slice) -> Vec<HierarchyLevel> {
        Vec::new()
    }
}
