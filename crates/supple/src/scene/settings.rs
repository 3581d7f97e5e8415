//! `[time]`, `[world]`, `[output]` and `[expect]`.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Dynamics or statics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Inertia counts.
    #[default]
    Dynamic,
    /// Every frame is in equilibrium.
    Quasistatic,
}

/// Frames and steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Time {
    /// Frames a second.
    pub fps: f64,
    /// Number of frames after the start.
    pub frames: u32,
    /// Time steps a frame.
    pub substeps: u32,
    /// Dynamics or statics.
    pub mode: Mode,
}

impl Default for Time {
    fn default() -> Self {
        Self { fps: 30.0, frames: 60, substeps: 1, mode: Mode::Dynamic }
    }
}

/// Forces on everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct World {
    /// Gravitational acceleration in m/s².
    pub gravity: DVec3,
    /// Velocity of the air in m/s.
    pub wind: DVec3,
    /// Gusts: the wind's strength swings by this fraction (0 to 1), with a period of about a second.
    pub gust: f64,
    /// Density of the air in kg/m³.
    pub air_density: f64,
}

impl Default for World {
    fn default() -> Self {
        Self { gravity: DVec3::new(0.0, -9.81, 0.0), wind: DVec3::ZERO, gust: 0.0, air_density: 1.2 }
    }
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Export formats by word: `pc2`, `mdd`, `usd`, `gltf`, `obj`, `ply`, `vtu`.
    pub formats: Vec<String>,
    /// Every how many frames one is written.
    pub every: u32,
    /// Every how many frames a checkpoint is written; without it every frame while one is under 64 MB, else every
    /// tenth.
    pub checkpoint_every: Option<u32>,
}

impl Default for Output {
    fn default() -> Self {
        Self { formats: Vec::new(), every: 1, checkpoint_every: None }
    }
}

/// Bounds that hold at every frame (or at the last one, where said).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Largest principal stretch of any triangle, at every frame.
    pub max_stretch: Option<f64>,
    /// 99th percentile of the stretch, at every frame.
    pub p99_stretch: Option<f64>,
    /// Nonlinear iterations of any step.
    pub iterations: Option<u32>,
    /// Residual of any step.
    pub residual: Option<f64>,
    /// At the last frame no vertex has a y coordinate below the first or above the second, in metres.
    pub height: Option<[f64; 2]>,
    /// Deepest penetration into a collider at the last frame, in metres.
    pub penetration: Option<f64>,
}
