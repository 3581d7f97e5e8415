//! Triangle and tetrahedral meshes: the data, the file formats, generators, implicit shapes, checks and
//! tetrahedralisation.

pub mod check;
pub mod format;
pub mod generate;
mod groups;
pub mod implicit;
pub mod locate;
#[cfg(test)]
pub(crate) mod measure;
pub mod stuffing;
mod surface;
mod tetrahedralise;
mod tets;

pub use surface::{CornerAttribute, FaceLabels, LabelKind, NO_LABEL, NO_VALUE, SurfaceMesh};
pub use tetrahedralise::{Tetrahedralised, tetrahedralise};
pub use tets::TetMesh;
