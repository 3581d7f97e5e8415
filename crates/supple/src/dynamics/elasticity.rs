//! The family-specific part of an implicit Euler stepper: the elements of its bodies, the method that minimises over them, and
//! contact if it does not use the barrier.

use std::sync::Arc;

use glam::DVec3;

use super::method::Nodes;
use super::optimize::{MinimiseError, Minimiser};
use crate::body::Embedding;
use crate::contact::barrier::ContactSummary;
use crate::energy::Energy;
use crate::scene_state::SceneState;
use crate::stepper::{HierarchyLevel, Slice};

/// A family's part of the implicit stepper.
pub(crate) trait Elasticity: Send {
    /// The energies of the elements of all bodies, over all unknowns; `first_unknown` has the first of each body. Called again when
    /// bodies or materials change.
    fn energies(&mut self, scene_state: &SceneState, first_unknown: &[u32]) -> Vec<Box<dyn Energy>>;

    /// The method that minimises over the free unknowns.
    fn minimiser(&self, scene_state: &SceneState, nodes: Nodes) -> Result<Box<dyn Minimiser>, MinimiseError>;

    /// Whether Hessians of its elements are assembled into a matrix.
    fn is_assembled(&self) -> bool {
        true
    }

    /// Contact in place of the barrier, given all surface points and the friction coefficient of each.
    fn contact(
        &self,
        _scene_state: &SceneState,
        _points: &Arc<Embedding>,
        _friction: &[f64],
    ) -> Option<Box<dyn ContactResponse>> {
        None
    }

    /// Adds cells to the levels that a viewer draws, with the unknowns at `x`.
    fn draw_cells(
        &self,
        _levels: &mut [HierarchyLevel],
        _scene_state: &SceneState,
        _x: &[DVec3],
        _slice: &Slice,
    ) {
    }
}

/// Contact specific to a family: an energy that is rebuilt for every step and after rounds of it.
pub(crate) trait ContactResponse: Send + Sync {
    /// Starts a step of `dt` seconds from `x`.
    fn begin_step(&mut self, x: &[DVec3], dt: f64);
    /// Detects intersections at `x`, where the step would end; returns whether there are any.
    fn update(&mut self, x: &[DVec3]) -> bool;
    /// Contact statistics at `x`.
    fn summary(&self, x: &[DVec3]) -> ContactSummary;
    /// Its contribution to the step's objective.
    fn energy(&self) -> &dyn Energy;
}
