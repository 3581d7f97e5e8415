//! The scene: what is simulated, as plain data. One file for each table of the scene file.

mod body;
mod collider;
mod motion;
mod pin;
mod selection;
mod settings;
mod solver;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use body::{Axis, Bending, Body, Model, Placement, Region, Shape, ShapeSource, Spread};
pub use collider::{Collider, ColliderShape};
pub use motion::{Keyframe, Motion, Pose};
pub use pin::{Follow, Hold, Pin, Seam};
pub use selection::Selection;
pub use settings::{Expect, Mode, Output, Time, World};
pub use solver::{Linear, LinearKind, Method, Solver};

/// A whole scene.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scene {
    /// One line for the list of scenes.
    pub description: String,
    /// Frames and steps.
    pub time: Time,
    /// Gravity and wind.
    pub world: World,
    /// The bodies.
    #[serde(rename = "body")]
    pub bodies: Vec<Body>,
    /// Attachments.
    #[serde(rename = "pin")]
    pub pins: Vec<Pin>,
    /// Boundaries sewn together.
    #[serde(rename = "seam")]
    pub seams: Vec<Seam>,
    /// What bodies collide with.
    #[serde(rename = "collider")]
    pub colliders: Vec<Collider>,
    /// Method, linear solver and their options.
    pub solver: Solver,
    /// What is written.
    pub output: Output,
    /// Bounds that the scene's own test checks.
    pub expect: Expect,
    /// The scene's name: its file's stem or the built-in name.
    #[serde(skip)]
    pub name: String,
    /// Where relative file names start.
    #[serde(skip)]
    pub folder: PathBuf,
}
