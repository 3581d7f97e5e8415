//! When a step counts as solved: when one Newton step from its end, solved tightly, would change no velocity noticeably.

use super::implicit::ImplicitStepper;
use super::optimize::{MinimiseError, TightNewton};
use crate::scene::Mode;
use crate::scene_state::SceneState;
use crate::stepper::Correction;
use supple_core::Error;

/// The change of a velocity, in m/s, below which a step of [`LONG_STEP`] counts as solved if the scene does not specify one. That of a
/// shorter step is proportional to its duration: gravity adds to a velocity in the same proportion, and a step that ignored it must not pass.
const VELOCITY_TOLERANCE: f64 = 0.05;
/// A step in seconds.
const LONG_STEP: f64 = 1.0 / 30.0;
/// The same for quasi-statics, which has no velocities: a distance over the mean length of an edge.
const EDGE_FRACTION: f64 = 0.01;

/// The farthest that a Newton step from the end of a step of `dt` seconds may move a vertex of a solved one, in metres.
pub(super) fn solved_distance(scene_state: &SceneState, dt: f64) -> f64 {
    if scene_state.mode == Mode::Quasistatic {
        return EDGE_FRACTION * mean_edge(scene_state);
    }
    let usual = VELOCITY_TOLERANCE * (dt / LONG_STEP).min(1.0);
    scene_state.solver.velocity_tolerance.unwrap_or(usual) * dt
}

/// How far the last direction of a step may still move a vertex, in metres; zero if the gradient alone ends a step.
pub(super) fn step_tolerance(scene_state: &SceneState, dt: f64) -> f64 {
    let solver = &scene_state.solver;
    // A scene that asks for a gradient gets it.
    let is_usual = solver.tolerance.is_none() && solver.method.traits().velocity_tolerance;
    match solver.velocity_tolerance.is_some() || is_usual {
        true => solved_distance(scene_state, dt),
        false => 0.0,
    }
}

/// The mean length of the surfaces' edges at rest, in metres.
fn mean_edge(scene_state: &SceneState) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for body in &scene_state.bodies {
        let edges = 3.0 * body.surface_triangles.len() as f64;
        sum += edges * body.mean_edge();
        count += edges;
    }
    sum / f64::max(count, 1.0)
}

impl ImplicitStepper {
    /// How far `work.next` is from the solution of a step of `dt` seconds, if steps are verified.
    pub(super) fn verify(&mut self, scene_state: &SceneState, dt: f64) -> Result<Option<Correction>, Error> {
        if !scene_state.verify_steps {
            return Ok(None);
        }
        let found =
            self.correction(scene_state).map_err(|problem| scene_state.failed(problem.to_string()))?;
        Ok(found.map(|distance| Correction::new(distance, solved_distance(scene_state, dt))))
    }

    /// The farthest that a Newton step from `work.next` would move a vertex, in metres; `None` where nothing is known about it.
    fn correction(&mut self, scene_state: &SceneState) -> Result<Option<f64>, MinimiseError> {
        let Self { verifier, unknowns, minimiser, system, work, .. } = self;
        let Some(minimiser) = minimiser else { return Ok(None) };
        if !self.elasticity.is_assembled() {
            return minimiser.correction(system, &work.next);
        }
        let Some((pattern, positions)) = unknowns else { return Ok(None) };
        let verifier = match verifier {
            Some(known) => known,
            None => verifier.insert(TightNewton::new(pattern.clone(), positions.clone(), scene_state.simd)?),
        };
        verifier.distance(system, &work.next).map(Some)
    }
}
