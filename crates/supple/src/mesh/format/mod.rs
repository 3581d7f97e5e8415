//! Mesh files in and out, one file for each format. Every reader names the file and the line or byte of what is
//! wrong, and never allocates by a count it has not checked against the file's size.

mod scan;

use super::{SurfaceMesh, TetMesh};

/// What a mesh file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Mesh {
    /// Polygons.
    Surface(SurfaceMesh),
    /// Tetrahedra.
    Tets(TetMesh),
}

/// A mesh as read, with what the reader had to change or leave out.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedMesh {
    /// The mesh.
    pub mesh: Mesh,
    /// Sentences for the user: elements turned, lines ignored, cells of other kinds left out.
    pub notes: Vec<String>,
}
