//! Everything up to the first step, for `supple check`: what would be simulated, or all that stands in the way.

use super::solver_change::can_take;
use super::{Counts, Setup, Simulation};
use crate::scene::Scene;
use supple_core::Error;
use supple_linear::Simd;

/// What a scene would become.
#[derive(Debug, Clone)]
pub struct DryRun {
    /// Everything that a run would refuse; empty if it can be run.
    pub problems: Vec<Error>,
    /// What the user should know about how the bodies are built.
    pub notes: Vec<String>,
    /// How large the simulation is, if it can be run.
    pub counts: Option<Counts>,
}

impl DryRun {
    /// Checks a scene and builds all of it that can be built: a problem in one body does not hide those of others.
    pub fn of(scene: &Scene) -> Self {
        let known = scene.check();
        let (setup, unbuildable) =
            Setup::build(scene, Simd::Auto, &known, &|body| can_take(scene.solver.method, body));
        let mut problems: Vec<Error> = known.into_iter().map(|problem| problem.error).collect();
        problems.extend(unbuildable);
        let mut notes = setup.notes();
        let counts = problems.is_empty().then(|| {
            let simulation = Simulation::from_setup(setup);
            notes = simulation.notes();
            simulation.counts()
        });
        Self { problems, notes, counts }
    }
}
