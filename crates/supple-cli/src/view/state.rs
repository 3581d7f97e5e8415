//! The state sent to all clients: what a simulation and a run have in common.

use serde::Serialize;
use supple::scene::Scene;

use super::clock::Clock;

/// What is shown, and whether it is playing. The source adds its own fields.
#[derive(Serialize)]
pub(super) struct ViewState<'a, Own> {
    r#type: &'static str,
    mode: &'static str,
    scene: &'a str,
    description: &'a str,
    pub(super) solver: String,
    /// The method in the user's words.
    method: &'static str,
    running: bool,
    speed: Option<f64>,
    /// Seconds between two steps or frames.
    dt: f64,
    problem: &'a Option<String>,
    #[serde(flatten)]
    own: Own,
}

impl<'a, Own: Serialize> ViewState<'a, Own> {
    /// The state of a source of frames.
    pub(super) fn new(
        mode: &'static str,
        scene: &'a Scene,
        clock: &Clock,
        dt: f64,
        problem: &'a Option<String>,
        own: Own,
    ) -> Self {
        Self {
            r#type: "state",
            mode,
            scene: &scene.name,
            description: &scene.description,
            solver: scene.solver.name(),
            method: scene.solver.method.title(),
            running: clock.is_running,
            speed: clock.speed,
            dt,
            problem,
            own,
        }
    }

    /// The JSON text sent to clients.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("a state is plain data")
    }
}
