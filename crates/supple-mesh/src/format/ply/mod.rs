//! PLY, the Stanford polygon format (Turk 1994): a text header that declares elements and their properties, then
//! their values as text or as binary numbers of either byte order.
//!
//! Kept: positions, normals, colours and texture coordinates of vertices; polygons with texture coordinates of their
//! corners (`texcoord`); triangle strips (`tristrips`). Other properties and elements are skipped.

mod body;
mod header;
mod read;
mod write;

pub use read::read_ply;
pub use write::{VertexProperties, write_ply, write_ply_with};

#[cfg(test)]
mod tests;
