//! Selections: predicates in rest space, evaluated on what a family has (vertices, element centres, cells).

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Which points of a body, by their rest position (world metres, after the body's transform) or by the file's own
/// words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Selection {
    /// Every point.
    All {},
    /// Points in an axis-aligned box.
    Box {
        /// Smallest corner.
        min: DVec3,
        /// Largest corner.
        max: DVec3,
    },
    /// Points in a ball.
    Sphere {
        /// Centre.
        center: DVec3,
        /// Radius in metres.
        radius: f64,
    },
    /// Points on the side of a plane to which its normal points.
    Plane {
        /// A point of the plane.
        point: DVec3,
        /// The normal.
        normal: DVec3,
    },
    /// The point nearest to each of these.
    Nearest(Vec<DVec3>),
    /// Vertices of the user's mesh by number, from 0.
    Indices(Vec<u32>),
    /// The boundary loop (counted from 0, longest first).
    BoundaryLoop(u32),
    /// Points inside a closed mesh file.
    InsideMesh(std::path::PathBuf),
    /// Vertices of a group, object or material of the file.
    Group(String),
    /// Vertices with this colour in the file (red, green, blue from 0 to 1), within 0.02.
    Color([f32; 3]),
}
