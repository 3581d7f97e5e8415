//! Geometry shared by meshes, contact and selections: boxes, Morton codes, a bounding-volume hierarchy, closest
//! points, rays, exact intersection tests, winding numbers, and decompositions of small matrices. All results are
//! bit-identical for any number of threads.

pub mod bvh;
mod disjoint_sets;
mod far_field;
pub mod stretch;
pub mod triangle;
pub mod triangle_overlap;
mod triangle_tree;
pub mod winding_number;

pub use bvh::Bvh;
pub use disjoint_sets::DisjointSets;
pub use supple_core::Aabb;
pub use triangle::{ClosestOnTriangle, Ray};
pub use triangle_tree::{ClosestPoint, RayHit, TriangleTree};
pub use winding_number::WindingNumber;
