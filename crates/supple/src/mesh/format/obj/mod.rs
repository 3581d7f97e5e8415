//! Wavefront OBJ (appendix B1 of the Advanced Visualizer manual, with the usual vertex colours after the position).
//!
//! Polygons, texture coordinates, normals, colours, objects, groups, materials and smoothing groups are kept and
//! written back; points, lines, curves and free-form surfaces are left out with a note.

mod read;
mod write;

pub use read::read_obj;
pub use write::write_obj;
