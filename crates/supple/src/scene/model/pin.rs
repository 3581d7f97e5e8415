//! `[[pin]]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::scene::model::pin_table::{FollowTable, PinTable};
use crate::scene::{Motion, Selection};

/// How a pin holds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum PinStrength {
    /// Exactly: the vertices leave the unknowns.
    #[default]
    Hard,
    /// By a spring of this stiffness in N/m for each vertex.
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
        /// Seconds in which the points go from where the body starts over into the sequence; without it half a second, or none
        /// where the sequence starts as the body does.
        blend_in: Option<f64>,
    },
    /// A skinned, animated glTF.
    GltfSkin {
        /// The file.
        file: PathBuf,
        /// The name of one of its animations; without it the first.
        animation: Option<String>,
        /// Seconds in which the points go from where they were modelled over into the animation; without it half a second,
        /// or none where the animation starts as modelled.
        blend_in: Option<f64>,
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
    /// What the points follow; they stay where they start without it.
    pub follows: Option<Follow>,
    /// From when to when it holds, in seconds; always without it.
    pub during: Option<[f64; 2]>,
}
