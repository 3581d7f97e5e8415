//! The cell types of VTK (`vtkCellType.h`, listed in the VTK file formats guide), shared by `.vtk` and `.vtu`.

use super::cells::{CellShape, Cells};

/// The type number of a lone vertex or several.
pub(super) const VERTICES: i64 = 2;
/// The type number of a chain of lines.
pub(super) const POLYLINE: i64 = 4;
/// The type number of a triangle.
pub(super) const TRIANGLE: i64 = 5;
/// The type number of a strip of triangles.
pub(super) const STRIP: i64 = 6;
/// The type number of a polygon.
pub(super) const POLYGON: i64 = 7;
/// The type number of a quad.
pub(super) const QUAD: i64 = 9;
/// The type number of a tetrahedron.
pub(super) const TETRA: i64 = 10;

const PIXEL: i64 = 8;

/// Adds a cell of a VTK type; an error if it has too few nodes for its type.
pub(super) fn push(cells: &mut Cells, vtk_type: i64, nodes: &[u32], region: i32) -> Result<(), String> {
    let shape = shape_of(vtk_type);
    if shape.corner_count().is_some_and(|corners| nodes.len() < corners) {
        return Err(format!("{} (VTK type {vtk_type}) with only {} nodes", shape.counted(1), nodes.len()));
    }
    match (vtk_type, nodes) {
        (STRIP, _) => {
            for (i, triangle) in nodes.windows(3).enumerate() {
                let [a, b, c] = [triangle[0], triangle[1], triangle[2]];
                let triangle = if i % 2 == 0 { [a, b, c] } else { [b, a, c] };
                cells.push(CellShape::Triangle, &triangle, region);
            }
        }
        (PIXEL, &[a, b, c, d, ..]) => cells.push(CellShape::Quad, &[a, b, d, c], region),
        _ => cells.push(shape, nodes, region),
    }
    Ok(())
}

fn shape_of(vtk_type: i64) -> CellShape {
    match vtk_type {
        1 | VERTICES => CellShape::Point,
        3 | POLYLINE | 21 | 35 | 68 | 75 => CellShape::Line,
        TRIANGLE | STRIP | 22 | 34 | 69 | 76 => CellShape::Triangle,
        POLYGON => CellShape::Polygon,
        PIXEL | QUAD | 23 | 28 | 30 | 70 | 77 => CellShape::Quad,
        TETRA | 24 | 71 | 78 => CellShape::Tet,
        11 | 12 | 25 | 29 | 33 | 72 | 79 => CellShape::Hex,
        13 | 26 | 31 | 32 | 73 | 80 => CellShape::Prism,
        14 | 27 | 37 | 74 | 81 => CellShape::Pyramid,
        _ => CellShape::Other,
    }
}
