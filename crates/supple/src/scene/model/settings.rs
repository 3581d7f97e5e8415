//! `[time]`, `[world]`, `[output]` and `[expect]`.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Dynamics or statics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// With inertia.
    #[default]
    Dynamic,
    /// Every frame is in equilibrium.
    Quasistatic,
}

/// Frames and steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Time {
    /// Frames per second.
    pub fps: f64,
    /// Number of frames after the start.
    pub frames: u32,
    /// Time steps per frame.
    pub substeps: u32,
    /// Dynamics or statics.
    pub mode: Mode,
}

impl Default for Time {
    fn default() -> Self {
        Self { fps: 30.0, frames: 60, substeps: 1, mode: Mode::Dynamic }
    }
}

/// Global forces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct World {
    /// Gravitational acceleration in m/s².
    pub gravity: DVec3,
    /// Velocity of the air in m/s [default: still air].
    pub wind: Option<DVec3>,
    /// Gusts: the wind speed varies by this fraction (0 to 1), with a period of about a second.
    pub gust: f64,
    /// Density of the air in kg/m³. Without it and without `wind` there is no air at all: no drag.
    pub air_density: Option<f64>,
}

/// Air at standard pressure and room temperature, in kg/m³.
const AIR_DENSITY: f64 = 1.2;

/// The surrounding air.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Air {
    /// Its velocity in m/s.
    pub velocity: DVec3,
    /// Its density in kg/m³.
    pub density: f64,
}

impl World {
    /// The air at a time in seconds; `None` if the scene has neither `wind` nor `air_density`, or a density of 0.
    /// The wind speed varies by the gust fraction with two incommensurate periods:
    ///
    /// ```text
    /// wind · (1 + gust · (0.6 sin(2π t / 1.1 s) + 0.4 sin(2π t / 0.37 s)))
    /// ```
    pub fn air(&self, time: f64) -> Option<Air> {
        if self.wind.is_none() && self.air_density.is_none() {
            return None;
        }
        let turn = std::f64::consts::TAU * time;
        let swing = 0.6 * (turn / 1.1).sin() + 0.4 * (turn / 0.37).sin();
        let velocity = self.wind.unwrap_or_default() * (1.0 + self.gust * swing);
        let density = self.air_density.unwrap_or(AIR_DENSITY);
        (density > 0.0).then_some(Air { velocity, density })
    }
}

impl Default for World {
    fn default() -> Self {
        Self { gravity: DVec3::new(0.0, -9.81, 0.0), wind: None, gust: 0.0, air_density: None }
    }
}

/// The output settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Export formats by name: those of [`ExportFormat`](crate::output::ExportFormat).
    pub formats: Vec<String>,
    /// The frame interval of output.
    pub every: u32,
    /// The frame interval of checkpoints [default: every frame while one is under 64 MB, else every
    /// tenth].
    pub checkpoint_every: Option<u32>,
    /// Whether every state that a step accepts is recorded, in `states`.
    pub record_states: bool,
    /// Whether a tight Newton step after every step measures how far that one ended from its solution.
    pub verify_steps: bool,
    /// Whether frames have the force and pressure of contact on every vertex.
    pub contact_forces: bool,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            formats: Vec::new(),
            every: 1,
            checkpoint_every: None,
            record_states: false,
            verify_steps: false,
            contact_forces: false,
        }
    }
}

/// Bounds checked at every frame (or at the last one, where stated).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Largest principal stretch of any triangle, at every frame.
    pub max_stretch: Option<f64>,
    /// 99th percentile of the stretch, at every frame.
    pub p99_stretch: Option<f64>,
    /// Nonlinear iterations of any step of any frame.
    pub iterations: Option<u32>,
    /// Residual of any step.
    pub residual: Option<f64>,
    /// Volume of any tetrahedron over its rest volume, at every frame: never below this.
    pub min_volume_ratio: Option<f64>,
    /// At the last frame no vertex of a triangle has a y coordinate below the first or above the second, in metres.
    pub height: Option<[f64; 2]>,
    /// Deepest penetration into a collider at the last frame, in metres.
    pub penetration: Option<f64>,
}
