//! `[[pin]]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::pin_table::{FollowTable, PinTable};
use super::{Motion, Selection};

/// How a pin holds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Hold {
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
    MeshSequence(PathBuf),
    /// A skinned, animated glTF.
    GltfSkin(PathBuf),
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
    pub hold: Hold,
    /// What the points follow; they stay where they start without it.
    pub follows: Option<Follow>,
    /// From when to when it holds, in seconds; always without it.
    pub during: Option<[f64; 2]>,
}
