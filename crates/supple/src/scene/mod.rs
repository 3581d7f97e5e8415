//! The scene: the simulation's input, as plain data. One file per table of the scene file.

mod adjustable;
mod builder;
mod builtin;
mod check;
pub(crate) mod defaults;
mod meeting;
mod method;
mod model;
mod options;
mod read;
mod resolution;
mod shaped_body;
mod write;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use supple_core::Error;

pub use adjustable::{Adjustable, AdjustableValue};
pub use builder::SceneBuilder;
pub use builtin::builtin_scenes;
pub use check::Problem;
pub use meeting::{Meeting, Participant};
pub use method::{
    Declarations, LinearUse, Method, MethodName, MethodTraits, StepperDeclaration, Unsupported,
};
pub use model::body::{Axis, Bending, Body, Cuboid, Placement, Region, Shape, ShapeSource, Spread, Tear};
pub use model::closed_mesh::ClosedMesh;
pub use model::collider::{Collider, ColliderShape};
pub use model::contact::{Contact, ContactModel, ContactPair, FrictionModel, Pinch, Tangled, Truncation};
pub use model::elastic_model::Model;
pub use model::mesh_shape::MeshShape;
pub use model::motion::{Keyframe, Motion, MovingPose, Pose};
pub use model::pin::{Follow, Pin, PinStrength};
pub use model::seam::Seam;
pub use model::selection::{InsideTest, Selection, SelectionPoints};
pub use model::settings::{Air, Expect, Mode, Output, Time, World};
pub use model::solver::{ContactMatrix, Solver};
pub use options::{NamedOptions, OptionSet, OptionTable};
pub use read::document::Source;
pub use read::load::{SceneReader, linear_with_sets};
pub use read::paths::MeshFile;
pub use shaped_body::ShapedBody;
pub use supple_linear::{Levels, LinearKind, LinearOptions};

/// A whole scene.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scene {
    /// One-line description for the list of scenes.
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
    /// The colliders.
    #[serde(rename = "collider", skip_serializing_if = "Vec::is_empty")]
    pub colliders: Vec<Collider>,
    /// Contact of bodies with themselves and each other.
    pub contact: Contact,
    /// Method, linear solver and their options.
    pub solver: Solver,
    /// The output settings.
    pub output: Output,
    /// Bounds checked by the scene's own test.
    pub expect: Expect,
    /// The scene's name: its file's stem or the built-in name.
    #[serde(skip)]
    pub name: String,
    /// The base folder of relative file names.
    #[serde(skip)]
    pub folder: PathBuf,
    /// The file and lines it was read from, for messages.
    #[serde(skip)]
    pub source: Source,
}

impl Scene {
    /// An error about a place of the scene (dotted, array elements by number: `pin.0.selection`), with the file and
    /// line where it was written, if known.
    pub fn error_at(&self, place: &str, problem: impl Into<String>) -> Error {
        self.source.error(place, problem.into())
    }

    /// The same for a problem that is self-explanatory: without a file it stays unchanged.
    pub(crate) fn problem_at(&self, place: &str, problem: &str) -> Error {
        match self.source.prefix(place).as_str() {
            "" => Error::Invalid(problem.to_owned()),
            _ => self.error_at(place, problem),
        }
    }
}
