//! Intersections: triangles at the start and in a frame, points inside closed bodies.

mod crossings;
pub(crate) mod inside;
pub(crate) mod tangle;
