//! The published solver families, one folder each; one word names a family everywhere.

pub mod galerkin;
pub mod hpbd;
pub mod mas;
pub mod octree;
pub mod staggered;
