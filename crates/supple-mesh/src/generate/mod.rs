//! Generated shapes: cloth grids and simple closed surfaces. Their parameters are the keys of a scene file.
//!
//! Each has `surface(resolution)`, where `resolution` multiplies the numbers of cells. Closed shapes face outward,
//! cloth faces up; cloth, cylinders and tori have texture coordinates.

mod cloth;
mod cuboid;
mod cylinder;
mod delaunay;
mod knot;
mod panel;
mod sphere;
mod torus;

use serde::{Deserialize, Serialize};

use super::{CornerAttribute, SurfaceMesh};
use supple_core::{Error, memory};

/// The triangulation of a cloth grid.
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
    /// The triangulation.
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

/// A strip of cloth tied into an overhand knot, its ends pointing up, its middle line in the x-y plane where it can be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnotShape {
    /// Length of the strip in metres.
    pub length: f64,
    /// Its width in metres, at most an eightieth of the length.
    pub width: f64,
    /// Vertices along and across it.
    pub vertices: [u32; 2],
}

/// A flat piece of cloth cut along an outline in the x-y plane, facing +z: a panel of a garment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelShape {
    /// The corners of the outline in order, in metres.
    pub outline: Vec<[f64; 2]>,
    /// The approximate distance of neighbouring vertices in metres.
    pub spacing: f64,
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

/// Maximum vertices of a generated shape: corners, up to six per vertex, are counted with 32 bits.
pub const MAX_VERTICES: f64 = (1u64 << 29) as f64;

/// Rejects a length that is not positive and finite.
fn check_length(what: &str, metres: f64) -> Result<(), Error> {
    if metres.is_finite() && metres > 0.0 {
        return Ok(());
    }
    Err(Error::Invalid(format!("the {what} is {metres} m; it must be positive and finite")))
}

/// A number of cells times the resolution, at least `least`. The number before scaling must also be at least `least`.
fn scaled(what: &str, cells: u32, least: u32, resolution: f64) -> Result<u32, Error> {
    if cells < least {
        return Err(Error::Invalid(format!("{what} is {cells}; at least {least} are needed")));
    }
    if !(resolution.is_finite() && resolution > 0.0) {
        return Err(Error::Invalid(format!(
            "the resolution is {resolution}; it must be positive and finite"
        )));
    }
    let scaled = (f64::from(cells) * resolution).round();
    if scaled > MAX_VERTICES {
        return Err(Error::Invalid(format!(
            "{what} is {cells}, at resolution {resolution} {scaled:.3e}; the limit is {MAX_VERTICES:.3e}"
        )));
    }
    Ok((scaled as u32).max(least))
}

/// Memory per vertex of a generated mesh, in bytes: its position, its share of two triangles, texture coordinates.
const VERTEX_BYTES: f64 = 100.0;

fn check_vertex_count(what: &str, count: f64) -> Result<(), Error> {
    if count <= MAX_VERTICES {
        let remedy = |_| "use fewer cells or a lower resolution".to_owned();
        return memory::require(&format!("a {what} of {count:.2e} vertices"), VERTEX_BYTES * count, remedy);
    }
    Err(Error::Invalid(format!(
        "the {what} would have {count:.3e} vertices; the limit is {MAX_VERTICES:.3e}: use fewer cells or a lower \
         resolution"
    )))
}

/// Texture coordinates for a grid of quads closed around one or two directions: one value per grid point, so that the
/// seams have two. The corners are in the order of [`push_quads`].
fn grid_uvs(columns: u32, rows: u32) -> CornerAttribute<2> {
    let value = |i: u32, j: u32| [f64::from(i) / f64::from(columns), f64::from(j) / f64::from(rows)];
    let values = (0..=rows).flat_map(|j| (0..=columns).map(move |i| value(i, j))).collect();
    let at = |i: u32, j: u32| j * (columns + 1) + i;
    let quad = |i: u32, j: u32| [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
    let indices = (0..rows).flat_map(|j| (0..columns).flat_map(move |i| quad(i, j))).collect();
    CornerAttribute { values, indices }
}

/// Appends the quads of a grid of `columns` closed around, between row `j` and row `j + 1` for each of `rows`; `at`
/// numbers the vertices.
fn push_quads(mesh: &mut SurfaceMesh, columns: u32, rows: u32, at: impl Fn(u32, u32) -> u32) {
    for j in 0..rows {
        for i in 0..columns {
            mesh.push_face(&[at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
    }
}

#[cfg(test)]
mod tests;
