//! Shapes made here: cloth grids and simple closed surfaces. Their parameters are what a scene file says.

use serde::{Deserialize, Serialize};

/// How a cloth grid is cut into triangles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GridPattern {
    /// Every cell along the same diagonal.
    #[default]
    Regular,
    /// Diagonals alternate from cell to cell.
    Crossed,
    /// A jittered Delaunay triangulation without preferred directions.
    Irregular,
}

/// A flat rectangular cloth in the x-z plane (y up), centred at the origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClothGrid {
    /// Side lengths along x and z in metres.
    pub size: [f64; 2],
    /// Vertices along x and z.
    pub vertices: [u32; 2],
    /// How cells are cut.
    #[serde(default)]
    pub pattern: GridPattern,
    /// Seed of the irregular pattern.
    #[serde(default)]
    pub seed: u64,
}

/// An axis-aligned box centred at the origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoxShape {
    /// Side lengths in metres.
    pub size: [f64; 3],
    /// Cells along each side.
    pub cells: [u32; 3],
}

/// A cylinder around the y axis, centred at the origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CylinderShape {
    /// Radius in metres.
    pub radius: f64,
    /// Height in metres.
    pub height: f64,
    /// Vertices around.
    pub segments: u32,
    /// Cells along the height.
    pub rings: u32,
    /// Closed by discs at both ends; an open one is a tube of cloth.
    #[serde(default = "yes")]
    pub closed: bool,
}

/// A sphere centred at the origin (a subdivided icosahedron).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SphereShape {
    /// Radius in metres.
    pub radius: f64,
    /// Cells along each edge of the icosahedron.
    pub cells: u32,
}

/// A torus around the y axis, centred at the origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TorusShape {
    /// From the centre to the middle of the tube, in metres.
    pub major_radius: f64,
    /// Radius of the tube in metres.
    pub minor_radius: f64,
    /// Vertices around the axis.
    pub segments: u32,
    /// Vertices around the tube.
    pub rings: u32,
}

fn yes() -> bool {
    true
}
