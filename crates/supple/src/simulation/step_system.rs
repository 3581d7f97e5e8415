//! The linear system of a step, for studies of linear solvers on the systems that simulations really make.

use std::sync::Arc;

use glam::DVec3;

use super::Simulation;
use supple_core::Error;
use supple_linear::BlockMatrix;

/// What the first iteration of a step solves, over the vertices that are not held.
pub struct StepSystem {
    /// The matrix of projective dynamics if that is the scene's method, else the projected Hessian.
    pub matrix: BlockMatrix,
    /// Minus the gradient where the step starts, in newtons.
    pub rhs: Vec<DVec3>,
    /// Where the vertices were when the simulation began, in metres.
    pub positions: Arc<[DVec3]>,
    /// Where they are now: what contacts join is near here, and perhaps far there.
    pub current: Arc<[DVec3]>,
}

impl Simulation {
    /// The linear system that a step of `dt` seconds from now would solve first. Nothing moves.
    ///
    /// ```
    /// use supple::{scene::{Body, Scene}, simulation::Simulation};
    /// let scene = Scene::builder().body(Body::cloth("cloth", 1.0, 1.0, [5, 5])).build()?;
    /// let system = Simulation::new(scene)?.step_system(0.01)?;
    /// assert_eq!((system.rhs.len(), system.positions.len()), (25, 25));
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn step_system(&mut self, dt: f64) -> Result<StepSystem, Error> {
        self.begin_pins()?;
        self.setup.load_colliders(0.0)?;
        self.stepper.first_system(&self.setup, dt)
    }
}
