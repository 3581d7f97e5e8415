//! Geometry that meshes, contact and selections share: boxes, Morton codes, a bounding-volume hierarchy, closest
//! points, rays, exact intersection tests, winding numbers, and decompositions of small matrices. Everything gives the
//! same bits for any number of threads.

mod aabb;
pub mod bvh;
mod disjoint_sets;
mod far_field;
pub mod morton;
pub mod polar;
#[cfg(test)]
pub(crate) mod reference_eigenvalues;
pub mod stretch;
pub mod svd;
pub mod symmetric_eigen;
pub mod triangle;
pub mod triangle_overlap;
mod triangle_tree;
pub mod winding_number;

pub use aabb::Aabb;
pub use bvh::Bvh;
pub(crate) use disjoint_sets::DisjointSets;
pub use triangle::{ClosestOnTriangle, Ray};
pub use triangle_tree::{ClosestPoint, Hit, TriangleTree};
pub use winding_number::WindingNumber;
