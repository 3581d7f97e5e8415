//! Geometry that no single part of the engine owns: what triangles, points and meshes are to each other.

pub mod stretch;
