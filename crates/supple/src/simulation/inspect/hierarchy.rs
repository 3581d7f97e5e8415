//! The hierarchy of the solver, for drawing.

use crate::simulation::{HierarchyLevel, Simulation, Slice};

impl Simulation {
    /// The levels of the solver's hierarchy, finest first; most solvers have none before the first step with
    /// something to solve, and some have none at all.
    ///
    /// ```
    /// use supple::{Body, Pin, Scene, Selection, Simulation, Solver, scene::LinearKind};
    /// let solver = Solver { linear: Some(LinearKind::Schwarz.into()), ..Solver::default() };
    /// let corner = Pin::hard("cloth", Selection::nearest([[0.5, 0.0, 0.5]]));
    /// let builder = Scene::builder().body(Body::cloth("cloth").vertices([9, 9])).pin(corner);
    /// let scene = builder.solver(solver).build()?;
    /// let mut simulation = Simulation::new(scene)?;
    /// simulation.step(0.01)?;
    /// let levels = simulation.hierarchy();
    /// assert_eq!((levels.len(), levels[0].regions), (1, 3));    // 80 free nodes in domains of 32
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn hierarchy(&self) -> Vec<HierarchyLevel> {
        self.hierarchy_in(&Slice::default())
    }

    /// The same, with another slice through the cells of solvers that have cells.
    pub fn hierarchy_in(&self, slice: &Slice) -> Vec<HierarchyLevel> {
        self.stepper.hierarchy(&self.scene_state, slice)
    }
}
