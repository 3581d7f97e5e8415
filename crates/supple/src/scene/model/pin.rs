//! `[[pin]]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::scene::model::pin_table::{FollowTable, PinTable};
use crate::scene::{Motion, Selection};

/// The strength of a pin.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum PinStrength {
    /// Exact: the vertices are eliminated from the unknowns.
    #[default]
    Hard,
    /// A spring of this stiffness in N/m per vertex.
    Stiffness(f64),
}

/// What a pin follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FollowTable", into = "FollowTable")]
pub enum Follow {
    /// Keyframes.
    Keyframes(Motion),
    /// A sequence of meshes with the body's vertices.
    MeshSequence {
        /// A folder of mesh files, a pattern such as `name_####.obj`, or the folder of a run.
        files: PathBuf,
        /// Seconds over which the points blend from the body's start into the sequence [default: half a second, or none
        /// if the sequence starts like the body].
        blend_in: Option<f64>,
        /// Whether it repeats.
        repeats: bool,
    },
    /// A skinned, animated glTF.
    GltfSkin {
        /// The file.
        file: PathBuf,
        /// The name of one of its animations [default: the first].
        animation: Option<String>,
        /// Seconds over which the points blend from the modelled pose into the animation [default: half a second,
        /// or none if the animation starts as modelled].
        blend_in: Option<f64>,
        /// Whether the animation repeats.
        repeats: bool,
    },
    /// A collider, by name.
    Collider(String),
}

/// An attachment of some points of a body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PinTable", into = "PinTable")]
pub struct Pin {
    /// The body's name.
    pub body: String,
    /// Which points.
    pub selection: Selection,
    /// Hard (the default) or by a stiffness.
    pub hold: PinStrength,
    /// What the points follow; without it they stay where they start.
    pub follows: Option<Follow>,
    /// The interval in which it is active, in seconds [default: always].
    pub during: Option<[f64; 2]>,
}
