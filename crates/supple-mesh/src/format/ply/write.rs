//! Writing PLY: binary, little endian, with the property types that Blender and MeshLab read.

use std::io::{self, BufWriter, Write};

use crate::{CornerAttribute, NO_VALUE, SurfaceMesh};

/// Writes a mesh as binary little-endian PLY: positions, polygons, colours, and texture coordinates and normals if
/// they are unique per vertex; texture coordinates with seams are stored in the faces (`texcoord`, as in MeshLab).
///
/// Colours are bytes (rounded by at most 1/510) and texture coordinates single precision, as other programs
/// expect them; positions and normals are single precision if that is exact, else double. PLY has no face names:
/// labels are omitted.
pub fn write_ply(mesh: &SurfaceMesh, out: &mut impl Write) -> io::Result<()> {
    write_ply_with(mesh, Vec::new(), out)
}

/// The same with more properties of vertices.
pub fn write_ply_with(
    mesh: &SurfaceMesh,
    properties: Vec<VertexProperties>,
    out: &mut impl Write,
) -> io::Result<()> {
    let out = &mut BufWriter::new(out);
    let mut columns = columns(mesh);
    for VertexProperties { names, values } in properties {
        let (found, expected) = (values.len(), names.len() * mesh.positions.len());
        if found != expected {
            return Err(io::Error::other(format!(
                "properties {names:?}: {found} values instead of {expected}"
            )));
        }
        columns.push(PlyColumn::exact(names, values));
    }
    let seams = mesh.uvs.as_ref().filter(|uvs| vertex_values(mesh, uvs).is_none());
    let wide_lists = mesh.faces().any(|face| face.len() > usize::from(u8::MAX) / 2);
    write_header(mesh, &columns, seams, wide_lists, out)?;
    for v in 0..mesh.positions.len() {
        columns.iter().try_for_each(|column| column.write(v, out))?;
    }
    let length = |n: usize| if wide_lists { (n as u32).to_le_bytes().to_vec() } else { vec![n as u8] };
    let mut corner = 0;
    for face in mesh.faces() {
        out.write_all(&length(face.len()))?;
        out.write_all(index_bytes(face).as_slice())?;
        if let Some(uvs) = seams {
            out.write_all(&length(2 * face.len()))?;
            for &index in &uvs.indices[corner..corner + face.len()] {
                let uv = uvs.values.get(index as usize).copied().unwrap_or_default();
                uv.iter().try_for_each(|&c| out.write_all(&single(c).to_le_bytes()))?;
            }
        }
        corner += face.len();
    }
    out.flush()
}

/// Named numbers of each vertex for [`write_ply_with`].
#[derive(Debug, Clone, PartialEq)]
pub struct VertexProperties {
    /// The names of the numbers.
    pub names: &'static [&'static str],
    /// Those of the first vertex, then those of the second, and so forth.
    pub values: Vec<f64>,
}

fn index_bytes(face: &[u32]) -> Vec<u8> {
    face.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn write_header(
    mesh: &SurfaceMesh,
    columns: &[PlyColumn],
    seams: Option<&CornerAttribute<2>>,
    wide_lists: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "ply\nformat binary_little_endian 1.0\nelement vertex {}", mesh.positions.len())?;
    for column in columns {
        for name in column.names {
            writeln!(out, "property {} {name}", column.kind.name())?;
        }
    }
    let length = if wide_lists { "uint" } else { "uchar" };
    writeln!(out, "element face {}\nproperty list {length} int vertex_indices", mesh.face_count())?;
    if seams.is_some() {
        writeln!(out, "property list {length} float texcoord")?;
    }
    writeln!(out, "end_header")
}

/// The number type of a group of properties.
#[derive(Clone, Copy)]
enum PlyNumberKind {
    Byte,
    Float,
    Double,
}

impl PlyNumberKind {
    fn name(self) -> &'static str {
        match self {
            Self::Byte => "uchar",
            Self::Float => "float",
            Self::Double => "double",
        }
    }
}

/// Properties of vertices with a common type.
struct PlyColumn {
    names: &'static [&'static str],
    kind: PlyNumberKind,
    /// The values of all vertices, in sequence.
    values: Vec<f64>,
}

impl PlyColumn {
    /// A group in single precision if that is exact, else in double.
    fn exact(names: &'static [&'static str], values: Vec<f64>) -> Self {
        let single = values.iter().all(|&v| f64::from(v as f32) == v);
        Self { names, kind: if single { PlyNumberKind::Float } else { PlyNumberKind::Double }, values }
    }

    /// Colours as bytes.
    fn colors(colors: &[[f32; 4]]) -> Self {
        let byte = |c: &f32| f64::from((255.0 * c).round().clamp(0.0, 255.0));
        let values = colors.as_flattened().iter().map(byte).collect();
        Self { names: &["red", "green", "blue", "alpha"], kind: PlyNumberKind::Byte, values }
    }

    /// Texture coordinates in single precision.
    fn uvs(uvs: &[[f64; 2]]) -> Self {
        Self { names: &["s", "t"], kind: PlyNumberKind::Float, values: uvs.as_flattened().to_vec() }
    }

    fn write(&self, vertex: usize, out: &mut impl Write) -> io::Result<()> {
        let width = self.names.len();
        self.values[width * vertex..width * (vertex + 1)].iter().try_for_each(|&value| match self.kind {
            PlyNumberKind::Byte => out.write_all(&[value as u8]),
            PlyNumberKind::Float => out.write_all(&single(value).to_le_bytes()),
            PlyNumberKind::Double => out.write_all(&value.to_le_bytes()),
        })
    }
}

/// The nearest finite number of single precision.
fn single(value: f64) -> f32 {
    (value as f32).clamp(f32::MIN, f32::MAX)
}

fn columns(mesh: &SurfaceMesh) -> Vec<PlyColumn> {
    let positions = mesh.positions.iter().flat_map(|p| p.to_array()).collect();
    let mut columns = vec![PlyColumn::exact(&["x", "y", "z"], positions)];
    if let Some(normals) = mesh.normals.as_ref().and_then(|normals| vertex_values(mesh, normals)) {
        columns.push(PlyColumn::exact(&["nx", "ny", "nz"], normals.as_flattened().to_vec()));
    }
    if let Some(colors) = &mesh.colors {
        columns.push(PlyColumn::colors(colors));
    }
    if let Some(uvs) = mesh.uvs.as_ref().and_then(|uvs| vertex_values(mesh, uvs)) {
        columns.push(PlyColumn::uvs(&uvs));
    }
    columns
}

/// One value for each vertex, if no vertex has two; unused vertices get the value of their own index, or zero.
fn vertex_values<const N: usize>(
    mesh: &SurfaceMesh,
    attribute: &CornerAttribute<N>,
) -> Option<Vec<[f64; N]>> {
    let mut index_of_vertex = vec![NO_VALUE; mesh.positions.len()];
    for (&vertex, &index) in mesh.corners.iter().zip(&attribute.indices) {
        let known = &mut index_of_vertex[vertex as usize];
        if index == NO_VALUE || (*known != NO_VALUE && *known != index) {
            return None;
        }
        *known = index;
    }
    let value = |(vertex, index): (usize, u32)| {
        let index = if index == NO_VALUE { vertex } else { index as usize };
        attribute.values.get(index).copied().unwrap_or([0.0; N])
    };
    Some(index_of_vertex.into_iter().enumerate().map(value).collect())
}
