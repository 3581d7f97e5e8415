//! Closest points of vertices, edges and triangles.

pub(crate) mod closest_points;
pub(crate) mod lane_triangles;
pub(crate) mod solids;
