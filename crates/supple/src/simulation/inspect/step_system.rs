//! The linear system of a step.

use crate::simulation::{Simulation, StepSystem};
use supple_core::Error;

impl Simulation {
    /// The first linear system of a step of `dt` seconds from now. Nothing moves.
    ///
    /// ```
    /// use supple::{Body, Scene, Simulation};
    /// let scene = Scene::builder().body(Body::cloth("cloth").vertices([5, 5])).build()?;
    /// let system = Simulation::new(scene)?.step_system(0.01)?;
    /// assert_eq!((system.rhs.len(), system.positions.len()), (25, 25));
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn step_system(&mut self, dt: f64) -> Result<StepSystem, Error> {
        self.begin_pins()?;
        self.scene_state.load_colliders(0.0)?;
        self.stepper.first_system(&self.scene_state, dt)
    }
}
