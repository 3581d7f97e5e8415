//! Triangle and tetrahedral meshes: the data, the file formats, generators, implicit shapes, checks and
//! tetrahedralisation.

pub mod check;
pub mod closed;
mod cycle;
pub mod format;
pub mod generate;
pub mod geometry;
mod groups;
pub mod implicit;
pub mod locate;
mod object;
pub mod octree;
pub mod skin;
pub mod stuffing;
mod surface;
#[cfg(test)]
mod test_measure;
#[doc(hidden)]
pub mod test_support;
mod tetrahedralise;
mod tets;
pub mod weld;

pub use cycle::Cycle;
pub use object::MeshObject;
pub use surface::{CornerAttribute, FaceLabels, LabelKind, NO_LABEL, NO_VALUE, SurfaceMesh};
pub use tetrahedralise::{Tetrahedralised, tetrahedralise};
pub use tets::TetMesh;
