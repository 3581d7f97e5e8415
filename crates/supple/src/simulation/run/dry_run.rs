//! Everything up to the first step, for `supple check`: what would be simulated, or all that prevents it.

use crate::body::Body;
use crate::scene::Scene;
use crate::simulation::{Counts, Registry, SceneState, Simulation};
use supple_core::Error;
use supple_linear::Simd;

/// The result of a dry run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DryRun {
    /// Everything that a run would refuse; empty if it can be run.
    pub problems: Vec<Error>,
    /// Notes for the user about how the bodies are built.
    pub notes: Vec<String>,
    /// The size of the simulation, if it can be run.
    pub counts: Option<Counts>,
}

impl DryRun {
    /// Checks a scene and builds all of it that can be built: a problem in one body does not hide those of others.
    pub fn of(scene: &Scene) -> Self {
        Self::with_steppers(scene, &Registry::builtin())
    }

    /// The same for these steppers.
    pub fn with_steppers(scene: &Scene, steppers: &Registry) -> Self {
        let (known, method) = (scene.check(), scene.solver.method);
        let kind = steppers.kind(method);
        let refuse = |body: &Body| kind.as_ref().map_or(Ok(()), |kind| kind.can_take(method, body));
        let (scene_state, unbuildable) = SceneState::build(scene, Simd::Auto, &known, &refuse);
        let mut problems: Vec<Error> = known.into_iter().map(|problem| problem.error).collect();
        problems.extend(unbuildable);
        let notes = scene_state.notes();
        match kind {
            Ok(kind) if problems.is_empty() => {
                Self::of_simulation(Simulation::from_scene_state(scene_state, kind), notes)
            }
            kind => {
                problems.extend(kind.err());
                Self { problems, notes, counts: None }
            }
        }
    }

    fn of_simulation(built: Result<Simulation, Error>, notes: Vec<String>) -> Self {
        match built {
            Ok(simulation) => {
                let (notes, counts) = (simulation.notes(), Some(simulation.counts()));
                Self { problems: Vec::new(), notes, counts }
            }
            Err(problem) => Self { problems: vec![problem], notes, counts: None },
        }
    }
}
