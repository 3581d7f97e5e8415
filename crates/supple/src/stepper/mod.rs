//! The interface of every solver family: a stepper.

mod hierarchy;
mod registry;
mod report;
mod step_system;

use std::borrow::Cow;
use std::time::Instant;

use glam::DVec3;

use crate::body::Split;
use crate::contact::forces::ContactForces;
use crate::scene_state::SceneState;
use supple_core::Error;
use supple_core::state::{StateReader, StateWriter};

pub(crate) use hierarchy::carried;
pub use hierarchy::{HierarchyLevel, NO_REGION, Slice, SlicedCell};
pub use registry::{Registry, StepperKind};
pub use report::{
    BodyForce, ColliderForce, Correction, EnergyReport, FrameCorrection, FrameReport, ReleasedVertices,
    StageTimes, StepReport, StretchReport,
};
pub use step_system::StepSystem;

/// A split from the stepper's view.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Torn<'a> {
    /// The split, in numbers of the last body.
    pub split: &'a Split,
    /// The unknowns that are its clones.
    pub clones: &'a [u32],
    /// The elements that stay with the split particle.
    pub left: &'a [u32],
}

/// The progress of a minimisation after an iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IterationRecord {
    /// Seconds since it started, without the time for this record.
    pub seconds: f64,
    /// The objective in joules.
    pub value: f64,
    /// Norm of the gradient over the reference.
    pub residual: f64,
}

/// Internals of a stepper.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Inspection {
    /// The residual at the start of every nonlinear iteration of the last step, and at its end.
    pub residuals: Vec<f64>,
    /// The progress of the last step after every iteration, if the scene state requests it.
    pub history: Vec<IterationRecord>,
    /// Memory of its matrices and factors in bytes.
    pub bytes: usize,
}

/// The drawable part of one level of a hierarchy of particles. Particles are numbered over all bodies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParticleLevel {
    /// Its particles.
    pub particles: Vec<u32>,
    /// Its triangles; those of the mesh itself are the bodies' own.
    pub triangles: Vec<[u32; 3]>,
    /// Pairs of particles that share a constraint.
    pub links: Vec<[u32; 2]>,
    /// Particles of the finer level that are not on this one, with the parents whose corrections they inherit.
    pub parents: Vec<[u32; 2]>,
}

/// A solver family: it owns the unknowns and advances them.
///
/// The scene state (pins, colliders, forces, options) is passed to every step, so that it may change between steps.
///
/// Positions, velocities and masses are requested only when needed: a stepper that has them in memory
/// lends them (`Cow::Borrowed`), one that keeps them on a device or in another precision copies them (`Cow::Owned`).
pub trait Stepper: Send {
    /// Advances by `dt` seconds from `scene_state.time`, giving up on accuracy at the deadline.
    fn step(
        &mut self,
        scene_state: &SceneState,
        dt: f64,
        deadline: Option<Instant>,
    ) -> Result<StepReport, Error>;
    /// The first linear system of a step; families without an assembled matrix have none.
    fn first_system(&mut self, _scene_state: &SceneState, _dt: f64) -> Result<StepSystem, Error> {
        Err(Error::NotSupported("an assembled matrix of this family".into()))
    }
    /// The current mesh and its coarser levels, in families that have levels of particles.
    fn particle_levels(&self) -> Vec<ParticleLevel> {
        Vec::new()
    }
    /// Positions of the surface points of all bodies, in the scene state's order.
    fn surface_positions(&self, positions: &mut [DVec3]);
    /// The states recorded since the last call if the scene state requests it, as the file of a frame (`docs/states.md`); `None` if the
    /// family records none.
    fn take_states(&mut self, _scene_state: &SceneState, _frame: u32) -> Option<Vec<u8>> {
        None
    }

    /// Their velocities, in m/s. Families whose surfaces do not depend on their unknowns by the bodies'
    /// embeddings override this.
    fn surface_velocities(&self, scene_state: &SceneState, velocities: &mut [DVec3]) {
        scene_state.embed(&self.unknown_velocities(), velocities);
    }
    /// Bodies were added or removed: `old_index[b]` is the previous index of body `b`, `None` if it is new.
    fn bodies_changed(&mut self, scene_state: &SceneState, old_index: &[Option<usize>]);
    /// Bodies have other materials, masses or rest shapes, but the same elements as before.
    fn materials_changed(&mut self, scene_state: &SceneState);
    /// A particle of the last body was split: its clones are at the end of the unknowns now. Called only for families whose
    /// scenes may tear.
    fn torn(&mut self, _scene_state: &SceneState, _torn: &Torn<'_>) {}
    /// All tears of this moment are done.
    fn after_tears(&mut self, _scene_state: &SceneState) {}
    /// The number of unknowns: points of three coordinates each. Cheap: nothing is copied.
    fn unknown_count(&self) -> usize;
    /// All unknown positions in metres, one body after the other.
    fn unknown_positions(&self) -> Cow<'_, [DVec3]>;
    /// Their velocities in m/s.
    fn unknown_velocities(&self) -> Cow<'_, [DVec3]>;
    /// Their masses in kg.
    fn masses(&self) -> Cow<'_, [f64]>;
    /// Writes everything that determines the exact bits of later steps.
    fn save(&self, state: &mut StateWriter);
    /// Reads it back.
    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error>;
    /// Notes for the user about the state.
    fn notes(&self, _scene_state: &SceneState) -> Vec<String> {
        Vec::new()
    }
    /// The vertices that are left out of contact with a collider now.
    fn released(&self, _scene_state: &SceneState) -> Vec<ReleasedVertices> {
        Vec::new()
    }
    /// The forces of contact in which the last step ended; `None` in families that know none.
    fn contact_forces(&self, _scene_state: &SceneState) -> Option<ContactForces> {
        None
    }
    /// How many vertices are inside colliders, and pairs of triangles cross; those that nothing can part are included.
    fn entangled(&self) -> usize {
        0
    }
    /// Data for plots.
    fn inspect(&self) -> Inspection;
    /// The levels of its hierarchy for drawing, finest first; none before the first step. Families with cells return those
    /// intersected by the slice.
    fn hierarchy(&self, _scene_state: &SceneState, _slice: &Slice) -> Vec<HierarchyLevel> {
        Vec::new()
    }
}
