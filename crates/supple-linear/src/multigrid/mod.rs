//! Multigrid: one cycle over any hierarchy of levels, and Galerkin multigrid with skinning-space coarse nodes.

pub mod cycle;
pub mod galerkin;
