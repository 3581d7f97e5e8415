//! Contact with colliders: where they are, how far a point is from them, how they move. Contact of bodies with themselves
//! and each other: which pieces of their surfaces come near, when they would touch, what crosses already.

mod candidates;
mod closeness;
mod collider;
mod crossings;
mod drift;
mod inside;
mod lane_triangles;
mod mesh_source;
mod patches;
mod sewn_points;
mod shape;
mod signed_mesh;
mod single_lanes;
mod surfaces;
mod sweep;
mod tangle;
mod time_of_impact;

#[cfg(test)]
mod tests;

pub use candidates::{Candidate, Candidates};
pub use closeness::{Closeness, Kind};
pub use collider::{ColliderMeshes, PosedCollider, Separation, Surface};
pub use inside::InsideCheck;
pub(crate) use mesh_source::MeshSource;
pub use surfaces::Surfaces;
pub use tangle::{Piercing, Tangle};
pub use time_of_impact::free_fraction;
