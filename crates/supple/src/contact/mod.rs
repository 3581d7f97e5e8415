//! Contact with colliders: where they are, how far a point is from them, how they move.

mod collider;

pub use collider::{PosedCollider, Separation};
