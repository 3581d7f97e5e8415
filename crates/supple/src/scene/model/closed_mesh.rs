//! The mesh file of an `inside-mesh` selection: a file name, or a table with its unit and up axis.

use std::fmt;
use std::path::PathBuf;

use glam::DMat3;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::scene::Axis;

/// A closed mesh in a file, placed in the world.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClosedMesh {
    /// The file, relative to the scene.
    pub file: PathBuf,
    /// Metres per unit of the file.
    pub scale: f64,
    /// The file's up axis.
    pub up: Axis,
}

impl ClosedMesh {
    /// A file in metres with y up.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), scale: 1.0, up: Axis::Y }
    }

    /// The matrix that maps points of the file to world metres.
    pub fn world_from_file(&self) -> DMat3 {
        self.up.matrix() * self.scale
    }
}

/// The table form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClosedMeshTable {
    file: PathBuf,
    scale: Option<f64>,
    up: Option<Axis>,
}

impl<'de> Deserialize<'de> for ClosedMesh {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

/// Reads `"name"` as `{ file = "name" }`.
struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = ClosedMesh;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file name in quotes, or a table")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<ClosedMesh, E> {
        Ok(ClosedMesh::new(name))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<ClosedMesh, A::Error> {
        let table = ClosedMeshTable::deserialize(MapAccessDeserializer::new(table))?;
        Ok(ClosedMesh {
            file: table.file,
            scale: table.scale.unwrap_or(1.0),
            up: table.up.unwrap_or_default(),
        })
    }
}
