//! The scene: what is simulated, as plain data. One file for each table of the scene file.

mod body;
mod boundary;
mod builder;
mod builtin;
mod check;
mod check_body;
mod check_part;
mod closed_mesh;
mod collider;
mod contact;
mod document;
mod load;
mod method;
mod motion;
mod options;
mod paths;
mod pin;
mod pin_table;
mod read_scene;
mod reader;
mod resolution;
mod seam;
mod selection;
mod sets;
mod settings;
mod shape_table;
mod solver;
mod solver_word;
mod supported;
mod write;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use supple_core::Error;

pub use body::{Axis, Bending, Body, Cuboid, Model, Placement, Region, Shape, ShapeSource, Spread, Tear};
pub use builder::SceneBuilder;
pub use builtin::builtin_scenes;
pub use check::Problem;
pub use closed_mesh::ClosedMesh;
pub use collider::{Collider, ColliderShape};
pub use contact::{Contact, FrictionModel, Tangled};
pub use document::Source;
pub use load::{SceneReader, linear_with_sets};
pub use method::{
    Declarations, LinearUse, Method, MethodName, MethodTraits, StepperDeclaration, Unsupported,
};
pub use motion::{Keyframe, Motion, MovingPose, Pose};
pub use options::{NamedOptions, OptionSet, OptionTable};
pub use paths::MeshFile;
pub use pin::{Follow, Pin, PinStrength};
pub use seam::Seam;
pub use selection::{InsideTest, Selection, SelectionPoints};
pub use settings::{Air, Expect, Mode, Output, Time, World};
pub use solver::Solver;
pub use supple_linear::{Levels, LinearKind, LinearOptions};
pub(crate) use supported::word_of;

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
    #[serde(rename = "body", skip_serializing_if = "Vec::is_empty")]
    pub bodies: Vec<Body>,
    /// Attachments.
    #[serde(rename = "pin", skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
    /// Boundaries sewn together.
    #[serde(rename = "seam", skip_serializing_if = "Vec::is_empty")]
    pub seams: Vec<Seam>,
    /// What bodies collide with.
    #[serde(rename = "collider", skip_serializing_if = "Vec::is_empty")]
    pub colliders: Vec<Collider>,
    /// Contact of bodies with themselves and each other.
    pub contact: Contact,
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
    /// The file and lines it was read from, for messages.
    #[serde(skip)]
    pub source: Source,
}

impl Scene {
    /// An error about a place of the scene (dotted, array elements by number: `pin.0.selection`), with the file and
    /// line that wrote it where they are known.
    pub fn error_at(&self, place: &str, problem: impl Into<String>) -> Error {
        self.source.error(place, problem.into())
    }

    /// The same for a problem that says on its own what it is about: without a file it stays as it is.
    pub(crate) fn problem_at(&self, place: &str, problem: &str) -> Error {
        match self.source.prefix(place).as_str() {
            "" => Error::Invalid(problem.to_owned()),
            _ => self.error_at(place, problem),
        }
    }
}
