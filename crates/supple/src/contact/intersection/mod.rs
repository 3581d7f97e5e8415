//! Intersections: triangles at the start and in a frame, points inside closed bodies and colliders.

pub(crate) mod collider_check;
mod contours;
mod crossings;
pub(crate) mod enclosure;
mod extension;
pub(crate) mod inside;
pub(crate) mod islands;
pub(crate) mod tangle;
