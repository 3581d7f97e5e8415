//! The published solver families, one folder each; one word names a family everywhere.

pub mod hpbd;
pub mod octree;
pub mod staggered;
