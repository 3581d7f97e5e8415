//! Writes `.vtu` with appended raw arrays and 64-bit headers, as read by ParaView and meshio. All numbers round-trip
//! bit by bit.

use std::io::{self, BufWriter, Write};

use glam::DVec3;

use crate::format::vtk_cells::{POLYGON, QUAD, TETRA, TRIANGLE};
use crate::{SurfaceMesh, TetMesh};

/// The input of [`write_vtu`]: tetrahedra or polygons, at their own or other positions.
#[derive(Debug, Clone, Copy)]
pub struct VtuMesh<'a> {
    positions: &'a [DVec3],
    cells: VtuCells<'a>,
}

#[derive(Debug, Clone, Copy)]
enum VtuCells<'a> {
    Tets(&'a TetMesh),
    Faces(&'a SurfaceMesh),
}

impl<'a> From<&'a TetMesh> for VtuMesh<'a> {
    fn from(mesh: &'a TetMesh) -> Self {
        Self { positions: &mesh.positions, cells: VtuCells::Tets(mesh) }
    }
}

impl<'a> From<&'a SurfaceMesh> for VtuMesh<'a> {
    fn from(mesh: &'a SurfaceMesh) -> Self {
        Self { positions: &mesh.positions, cells: VtuCells::Faces(mesh) }
    }
}

impl<'a> VtuMesh<'a> {
    /// The same cells at other positions (a frame of a simulation), one per vertex.
    pub fn with_positions(self, positions: &'a [DVec3]) -> Self {
        Self { positions, ..self }
    }

    fn cell_count(&self) -> usize {
        match self.cells {
            VtuCells::Tets(mesh) => mesh.tets.len(),
            VtuCells::Faces(mesh) => mesh.face_count(),
        }
    }

    fn connectivity(&self) -> &'a [u32] {
        match self.cells {
            VtuCells::Tets(mesh) => mesh.tets.as_flattened(),
            VtuCells::Faces(mesh) => &mesh.corners,
        }
    }

    /// The end of the nodes of cell `i`.
    fn offset(&self, i: usize) -> i64 {
        match self.cells {
            VtuCells::Tets(_) => 4 * (i as i64 + 1),
            VtuCells::Faces(mesh) => i64::from(mesh.face_starts[i + 1]),
        }
    }

    fn vtk_type(&self, i: usize) -> u8 {
        let vtk_type = match self.cells {
            VtuCells::Tets(_) => TETRA,
            VtuCells::Faces(mesh) => match mesh.face(i).len() {
                3 => TRIANGLE,
                4 => QUAD,
                _ => POLYGON,
            },
        };
        vtk_type as u8
    }

    fn regions(&self) -> Option<&'a [i32]> {
        match self.cells {
            VtuCells::Tets(mesh) => mesh.regions.as_deref(),
            VtuCells::Faces(_) => None,
        }
    }
}

/// A named value per vertex.
#[derive(Debug, Clone, Copy)]
pub struct PointData<'a> {
    /// The name shown by ParaView.
    pub name: &'a str,
    /// The values, one per vertex.
    pub values: PointValues<'a>,
}

/// Values of [`PointData`].
#[derive(Debug, Clone, Copy)]
pub enum PointValues<'a> {
    /// A number per vertex.
    Scalars(&'a [f64]),
    /// A vector per vertex.
    Vectors(&'a [DVec3]),
}

impl PointValues<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Scalars(values) => values.len(),
            Self::Vectors(values) => values.len(),
        }
    }
}

/// Writes a tetrahedral or polygon mesh as VTK XML; regions become the cell array `region`. `point_data` needs one
/// value per vertex.
pub fn write_vtu<'a>(
    mesh: impl Into<VtuMesh<'a>>,
    point_data: &[PointData],
    out: &mut impl Write,
) -> io::Result<()> {
    let mesh = mesh.into();
    if let Some(data) = point_data.iter().find(|data| data.values.len() != mesh.positions.len()) {
        let (name, values, points) = (data.name, data.values.len(), mesh.positions.len());
        return Err(io::Error::other(format!(
            "point data \"{name}\" has {values} values for {points} vertices"
        )));
    }
    let mut out = BufWriter::new(out);
    write_xml(&mesh, point_data, &mut out)?;
    write_arrays(&mesh, point_data, &mut out)?;
    out.write_all(b"\n  </AppendedData>\n</VTKFile>\n")?;
    out.flush()
}

/// The XML up to the `_`; arrays are declared in the order of [`write_arrays`].
fn write_xml(mesh: &VtuMesh, point_data: &[PointData], out: &mut impl Write) -> io::Result<()> {
    let (points, cells) = (mesh.positions.len(), mesh.cell_count());
    let mut offset = 0;
    let mut array = |name: &str, kind: &str, components: usize, bytes: usize| {
        // Omitted for scalars, so that NumPy readers return 1D arrays for them.
        let components = match components {
            1 => String::new(),
            several => format!(" NumberOfComponents=\"{several}\""),
        };
        let line = format!(
            "        <DataArray type=\"{kind}\" Name=\"{name}\"{components} format=\"appended\" offset=\"{offset}\"/>\n"
        );
        offset += 8 + bytes;
        line
    };
    let mut xml = format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" \
         header_type=\"UInt64\">\n  <UnstructuredGrid>\n    <Piece NumberOfPoints=\"{points}\" \
         NumberOfCells=\"{cells}\">\n      <Points>\n"
    );
    xml += &array("Points", "Float64", 3, 24 * points);
    xml += "      </Points>\n      <Cells>\n";
    xml += &array("connectivity", "Int64", 1, 8 * mesh.connectivity().len());
    xml += &array("offsets", "Int64", 1, 8 * cells);
    xml += &array("types", "UInt8", 1, cells);
    xml += "      </Cells>\n";
    if mesh.regions().is_some() {
        xml += "      <CellData Scalars=\"region\">\n";
        xml += &array("region", "Int32", 1, 4 * cells);
        xml += "      </CellData>\n";
    }
    if !point_data.is_empty() {
        xml += "      <PointData>\n";
        for data in point_data {
            let components = if matches!(data.values, PointValues::Scalars(_)) { 1 } else { 3 };
            xml += &array(&escaped(data.name), "Float64", components, 8 * components * points);
        }
        xml += "      </PointData>\n";
    }
    xml += "    </Piece>\n  </UnstructuredGrid>\n  <AppendedData encoding=\"raw\">\n   _";
    out.write_all(xml.as_bytes())
}

/// Each array as its length in bytes and its numbers.
fn write_arrays(mesh: &VtuMesh, point_data: &[PointData], out: &mut impl Write) -> io::Result<()> {
    let cells = mesh.cell_count();
    write_floats(mesh.positions.iter().flat_map(DVec3::to_array), 3 * mesh.positions.len(), out)?;
    let connectivity = mesh.connectivity();
    write_array(connectivity.iter().map(|&node| i64::from(node).to_le_bytes()), 8 * connectivity.len(), out)?;
    write_array((0..cells).map(|i| mesh.offset(i).to_le_bytes()), 8 * cells, out)?;
    write_array((0..cells).map(|i| [mesh.vtk_type(i)]), cells, out)?;
    if let Some(regions) = mesh.regions() {
        write_array(regions.iter().map(|region| region.to_le_bytes()), 4 * cells, out)?;
    }
    for data in point_data {
        match data.values {
            PointValues::Scalars(values) => write_floats(values.iter().copied(), values.len(), out)?,
            PointValues::Vectors(values) => {
                write_floats(values.iter().flat_map(DVec3::to_array), 3 * values.len(), out)?;
            }
        }
    }
    Ok(())
}

fn write_floats(values: impl Iterator<Item = f64>, count: usize, out: &mut impl Write) -> io::Result<()> {
    write_array(values.map(f64::to_le_bytes), 8 * count, out)
}

fn write_array<const N: usize>(
    mut values: impl Iterator<Item = [u8; N]>,
    bytes: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(&(bytes as u64).to_le_bytes())?;
    values.try_for_each(|value| out.write_all(&value))
}

/// Text escaped for an attribute.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
