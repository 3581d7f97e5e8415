//! Contact: everything that keeps surfaces apart.
//!
//! | folder | what it is |
//! | --- | --- |
//! | `collider` | colliders over a step: distance, normal, how they carry points in contact; the penalty that keeps points outside |
//! | `broad_phase` | which primitives may come near: swept boxes, patches of triangles, cached candidate pairs |
//! | `distance` | closest points of a vertex and a triangle, and of two edges |
//! | `ccd` | when two primitives would touch on a straight displacement |
//! | `barrier` | the barrier between surfaces, as an energy |
//! | `forces` | contact forces on points, colliders and between bodies |
//! | `friction` | smooth, adhesive and impulse friction |
//! | `intersection` | intersections: at the start, in a frame, points inside closed bodies |
//! | `released` | what is left out of contact with a collider, since it is inside |
//! | `surfaces` | the surfaces of all bodies as triangles, edges and vertices over points |
//!
//! `hpbd` has constraints of its own before the surfaces and detection here (`dynamics/contact_projection.rs`), and `octree` can resolve penetrations: both are with their solver family.

pub mod barrier;
mod broad_phase;
mod ccd;
mod coincident_points;
pub mod collider;
mod distance;
pub mod forces;
pub mod friction;
mod intersection;
mod pair_memory;
mod released;
mod surfaces;

#[cfg(test)]
pub(crate) mod tests;

pub use broad_phase::candidates::{Candidate, Candidates};
pub use ccd::time_of_impact::{time_of_impact, time_of_impact_within};
pub(crate) use collider::blend_in::{blend_in, blend_weight, size_of};
pub(crate) use collider::mesh_source::MeshSource;
pub use collider::posed::{ColliderMeshes, PosedCollider, Separation, Surface};
pub use distance::closest_points::{ClosestPoints, PrimitivePair};
pub use intersection::collider_check::{ColliderCheck, ColliderCrossing};
pub(crate) use intersection::enclosure::{EnclosedSpot, EnclosingMeshes, Enclosures, Parts};
pub use intersection::inside::InsideCheck;
pub(crate) use intersection::islands::Islands;
pub use intersection::tangle::{Looseness, Piercing, Tangle};
pub(crate) use pair_memory::check_pair_memory;
pub use released::Released;
pub use surfaces::Surfaces;
