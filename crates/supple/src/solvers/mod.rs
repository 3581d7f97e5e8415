//! The published solver families, one folder each; each has one name everywhere.

pub mod hpbd;
pub mod octree;
pub mod staggered;
