//! The time steps of a frame.

use crate::scene::Time;
use crate::simulation::run::frame_report;
use crate::simulation::{FrameReport, Simulation, StepReport};
use supple_core::Error;

impl Simulation {
    /// Takes the time steps from the previous frame to frame `frame` (counted from 1). Afterwards the time is
    /// exactly that of the frame, without accumulated rounding, and all positions have been checked to be finite.
    pub fn step_frame(&mut self, time: &Time, frame: u32) -> Result<Vec<StepReport>, Error> {
        let (fps, substeps) = (time.fps, time.substeps);
        let dt = 1.0 / (fps * f64::from(substeps));
        let mut steps = Vec::with_capacity(substeps as usize);
        for step in 1..=substeps {
            steps.push(self.step(dt).map_err(|error| in_frame(frame, error))?);
            let frames = f64::from(frame.saturating_sub(1)) + f64::from(step) / f64::from(substeps);
            self.set_time(frames / fps);
        }
        self.check_finite(frame)?;
        Ok(steps)
    }
}

/// Adds the frame to the error of a failed step.
fn in_frame(frame: u32, error: Error) -> Error {
    match error {
        Error::Failed { time, problem } => {
            Error::Failed { time, problem: format!("in frame {frame}, {problem}") }
        }
        other => other,
    }
}

impl FrameReport {
    /// The report of a completed frame.
    pub fn new(simulation: &Simulation, frame: u32, steps: &[StepReport], wall_seconds: f64) -> Self {
        frame_report(simulation, frame, steps, wall_seconds)
    }
}
