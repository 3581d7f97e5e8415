//! Another solver between two steps.

use crate::scene::Solver;
use crate::scene_state::choose_linear;
use crate::simulation::Simulation;
use supple_core::Error;

impl Simulation {
    /// Changes the method, the linear solver or their options between steps; positions and velocities are kept. Solver data
    /// derived from the mesh is rebuilt. A method with another discretisation is rejected: it needs a
    /// new simulation.
    ///
    /// ```
    /// use supple::{Body, Scene, Simulation, Solver, scene::Method};
    /// let scene = Scene::builder().body(Body::cloth("cloth").vertices([9, 9])).build()?;
    /// let mut simulation = Simulation::new(scene)?;
    /// simulation.step(0.01)?;
    /// let before = simulation.positions().to_vec();
    /// simulation.set_solver(Solver { method: Method::LBFGS, ..Solver::default() })?;
    /// assert_eq!(simulation.positions(), before);
    /// assert!(simulation.set_solver(Solver { method: Method::HPBD, ..Solver::default() }).is_err());
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn set_solver(&mut self, mut solver: Solver) -> Result<(), Error> {
        let (before, after) = (self.scene_state.solver.method, solver.method);
        if !after.shares_state_with(before) {
            return Err(Error::Invalid(format!(
                "`{}` uses a different discretisation from `{}` and cannot continue from its state: start a new simulation",
                after.name(),
                before.name()
            )));
        }
        solver.validate()?;
        self.scene_state.bodies.iter().try_for_each(|body| self.kind.can_take(after, body))?;
        choose_linear(&mut solver, &self.scene_state.bodies);
        self.scene_state.solver = solver;
        let kept: Vec<Option<usize>> = (0..self.scene_state.bodies.len()).map(Some).collect();
        self.rebuild(&kept);
        Ok(())
    }
}
