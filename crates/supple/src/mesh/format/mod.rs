//! Mesh files in and out, one file for each format. Every reader names the file and the line or byte of what is
//! wrong, and never allocates by a count it has not checked against the file's size.

mod cells;
mod medit;
mod msh;
mod numbers;
mod scan;
mod tetgen;
mod vtk;
mod vtk_cells;
mod vtu;

pub use medit::read_medit;
pub use msh::{read_msh, write_msh22, write_msh22_binary};
pub use tetgen::{read_tetgen, read_tetgen_beside};
pub use vtk::read_vtk;
pub use vtu::{PointData, PointValues, VtuMesh, read_vtu, write_vtu};

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
