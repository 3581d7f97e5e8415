//! Colliders: exact shapes and meshes over a step, and the penalty that keeps points outside of them.

pub(crate) mod blend_in;
mod mesh_frames;
pub(crate) mod mesh_source;
pub(crate) mod obstacles;
pub mod penalty;
pub(crate) mod posed;
mod posed_skin;
mod shape;
pub(crate) mod signed_mesh;
