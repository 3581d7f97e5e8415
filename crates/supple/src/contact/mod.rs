//! Contact with colliders: where they are, how far a point is from them, how they move.

mod collider;
mod mesh_source;
mod shape;
mod signed_mesh;

#[cfg(test)]
mod tests;

pub use collider::{ColliderMeshes, PosedCollider, Separation, Surface};
