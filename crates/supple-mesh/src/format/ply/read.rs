//! Reading PLY: the elements in the header's order, each value through a [`PlySource`]; vertices and polygons of binary
//! files, which make up most of large files, in separate loops.

use std::collections::HashMap;
use std::path::Path;

use glam::DVec3;

use super::super::LoadedMesh;
use super::super::binary::{BinaryCursor, ByteOrder, NumberType, little};
use super::super::builder::{self, CornerTrack, finite_or_zero, fits, not_finite_note, unit_colors};
use super::body::PlySource;
use super::header::{Encoding, PlyElement, PlyHeader};
use crate::{CornerAttribute, SurfaceMesh};
use supple_core::FileError;
use supple_core::text::scan::Scanner;

const VERTEX_LISTS: [&str; 3] = ["vertex_indices", "vertex_index", "vertex_indexes"];

/// Reads a PLY file from its bytes; `path` appears in errors.
pub fn read_ply(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    let mut scan = Scanner::new(bytes, path);
    let header = PlyHeader::read(&mut scan, path)?;
    let mut reader = PlyReader::new(&header);
    let start = bytes.len() - scan.remaining().len();
    match header.encoding {
        Encoding::Ascii => reader.read_elements(&header, &mut scan)?,
        Encoding::Binary(order) => {
            let source = BinaryCursor::new(bytes, path, start, order);
            match order {
                ByteOrder::Little => reader.read_binary::<false>(&header, source)?,
                ByteOrder::Big => reader.read_binary::<true>(&header, source)?,
            }
        }
    }
    reader.finish(path)
}

/// The properties of the element `vertex` by their meaning, as indices in its list.
struct VertexLayout {
    position: [usize; 3],
    normal: Option<[usize; 3]>,
    color: Option<[usize; 3]>,
    alpha: Option<usize>,
    uv: Option<[usize; 2]>,
}

impl VertexLayout {
    fn has_attributes(&self) -> bool {
        self.normal.is_some() || self.color.is_some() || self.uv.is_some()
    }

    fn of(element: &PlyElement) -> Option<Self> {
        let find = |names: &[&str]| element.scalar(names);
        let three = |a: &[&str], b: &[&str], c: &[&str]| Some([find(a)?, find(b)?, find(c)?]);
        let two = |a: &str, b: &str| Some([find(&[a])?, find(&[b])?]);
        Some(Self {
            position: three(&["x"], &["y"], &["z"])?,
            normal: three(&["nx"], &["ny"], &["nz"]),
            color: three(
                &["red", "r", "diffuse_red"],
                &["green", "g", "diffuse_green"],
                &["blue", "b", "diffuse_blue"],
            ),
            alpha: find(&["alpha", "a", "diffuse_alpha"]),
            uv: two("s", "t").or_else(|| two("u", "v")).or_else(|| two("texture_u", "texture_v")),
        })
    }
}

/// The byte offsets of the values of an element without lists.
fn offsets(element: &PlyElement) -> impl Iterator<Item = usize> {
    element.properties.iter().scan(0, |end, property| {
        let offset = *end;
        *end += property.scalar.size();
        Some(offset)
    })
}

struct PlyReader {
    /// The number of vertices in the header: the limit of all indices.
    vertex_count: usize,
    mesh: SurfaceMesh,
    normals: Vec<[f64; 3]>,
    uvs: Vec<[f64; 2]>,
    colors: Vec<[f32; 4]>,
    has_alpha: bool,
    corner_uvs: CornerTrack<2>,
    known_corner_uvs: HashMap<(u32, [u64; 2]), u32>,
    /// Normals and texture coordinates that were not finite.
    not_finite: usize,
    notes: Vec<String>,
}

impl PlyReader {
    fn new(header: &PlyHeader) -> Self {
        let vertex_count = header.elements.iter().find(|e| e.name == "vertex").map_or(0, |e| e.count);
        Self {
            vertex_count,
            mesh: SurfaceMesh { face_starts: vec![0], ..SurfaceMesh::default() },
            normals: Vec::new(),
            uvs: Vec::new(),
            colors: Vec::new(),
            has_alpha: false,
            corner_uvs: CornerTrack::new(),
            known_corner_uvs: HashMap::new(),
            not_finite: 0,
            notes: Vec::new(),
        }
    }

    fn read_elements(&mut self, header: &PlyHeader, source: &mut impl PlySource) -> Result<(), FileError> {
        header.elements.iter().try_for_each(|element| self.read_element(element, source))
    }

    fn read_binary<const BIG_ENDIAN: bool>(
        &mut self,
        header: &PlyHeader,
        mut source: BinaryCursor<'_>,
    ) -> Result<(), FileError> {
        for element in &header.elements {
            check_capacity(element, &source)?;
            if element.name == "vertex" && !element.has_lists() {
                self.read_binary_vertices::<BIG_ENDIAN>(element, &mut source)?;
            } else if is_plain_face(element) {
                self.read_binary_faces::<BIG_ENDIAN>(element, &mut source)?;
            } else {
                self.read_element(element, &mut source)?;
            }
        }
        let left = source.rest().len();
        if left > 0 {
            self.notes.push(format!("{left} bytes after the last element are ignored"));
        }
        Ok(())
    }

    fn read_element(&mut self, element: &PlyElement, source: &mut impl PlySource) -> Result<(), FileError> {
        check_capacity(element, source)?;
        match element.name.as_str() {
            "vertex" => self.read_vertices(element, source),
            "face" => self.read_faces(element, source),
            "tristrips" => self.read_strips(element, source),
            _ => self.skip(element, source),
        }
    }

    fn read_vertices(&mut self, element: &PlyElement, source: &mut impl PlySource) -> Result<(), FileError> {
        let layout = vertex_layout(element, source)?;
        let mut row = vec![0.0; element.properties.len()];
        for _ in 0..element.count {
            for (value, property) in row.iter_mut().zip(&element.properties) {
                match property.list_length {
                    None => *value = source.number(property.scalar)?,
                    Some(length) => skip_list(source, length, property.scalar)?,
                }
            }
            source.end_of_element(element)?;
            let p = DVec3::from(layout.position.map(|i| row[i]));
            if !p.is_finite() {
                return Err(source.error(not_finite(self.mesh.positions.len(), p)));
            }
            self.mesh.positions.push(p);
            self.push_vertex_attributes(element, &layout, |i| row[i]);
        }
        Ok(())
    }

    fn push_vertex_attributes(
        &mut self,
        element: &PlyElement,
        layout: &VertexLayout,
        value: impl Fn(usize) -> f64,
    ) {
        if let Some(normal) = layout.normal {
            self.normals.push(finite_or_zero(normal.map(&value), &mut self.not_finite));
        }
        if let Some(uv) = layout.uv {
            self.uvs.push(finite_or_zero(uv.map(&value), &mut self.not_finite));
        }
        if let Some([r, g, b]) = layout.color {
            let component = |i: usize| color_component(value(i) as f32, element.properties[i].scalar);
            let alpha = layout.alpha.map_or(1.0, component);
            self.has_alpha |= layout.alpha.is_some();
            self.colors.push([component(r), component(g), component(b), alpha]);
        }
    }

    /// Vertices whose values have fixed offsets. Positions first, in a loop without a branch where they are three
    /// floats at the start, as in nearly all files.
    fn read_binary_vertices<const BIG_ENDIAN: bool>(
        &mut self,
        element: &PlyElement,
        source: &mut BinaryCursor<'_>,
    ) -> Result<(), FileError> {
        let layout = vertex_layout(element, source)?;
        let (size, start) = (element.smallest_size(), source.at());
        let rows = source.take(size * element.count, "the vertices")?.chunks_exact(size);
        let places: Vec<_> = offsets(element).zip(element.properties.iter().map(|p| p.scalar)).collect();
        let value = |row: &[u8], i: usize| places[i].1.float_in::<BIG_ENDIAN>(&row[places[i].0..]);
        if layout.position.map(|i| places[i]) == [0, 4, 8].map(|offset| (offset, NumberType::F32)) {
            let component = |row: &[u8; 12], at| NumberType::F32.float_in::<BIG_ENDIAN>(&row[at..at + 4]);
            let first = rows.clone().filter_map(|row| row.first_chunk::<12>());
            let position = |row| DVec3::new(component(row, 0), component(row, 4), component(row, 8));
            self.mesh.positions.reserve(element.count);
            self.mesh.positions.extend(first.map(position));
        } else {
            let position = |row| DVec3::from(layout.position.map(|i| value(row, i)));
            self.mesh.positions.extend(rows.clone().map(position));
        }
        if let Some(v) = self.mesh.positions.iter().position(|p| !p.is_finite()) {
            let problem = not_finite(v, self.mesh.positions[v]);
            return Err(source.error_at(start + v * size, problem));
        }
        if layout.has_attributes() {
            rows.for_each(|row| self.push_vertex_attributes(element, &layout, |i| value(row, i)));
        }
        Ok(())
    }

    fn read_faces(&mut self, element: &PlyElement, source: &mut impl PlySource) -> Result<(), FileError> {
        let Some(vertices) = element.list(&VERTEX_LISTS) else {
            return match element.count {
                0 => Ok(()),
                _ => Err(source.error("the element `face` has no list `vertex_indices`".to_owned())),
            };
        };
        let texture = element.list(&["texcoord"]);
        let (mut indices, mut uvs) = (Vec::new(), Vec::new());
        for face in 0..element.count {
            for (i, property) in element.properties.iter().enumerate() {
                match property.list_length {
                    None => drop(source.number(property.scalar)?),
                    Some(length) if i == vertices => {
                        read_list(source, length, property.scalar, &mut indices)?
                    }
                    Some(length) if Some(i) == texture => {
                        read_list(source, length, property.scalar, &mut uvs)?
                    }
                    Some(length) => skip_list(source, length, property.scalar)?,
                }
            }
            source.end_of_element(element)?;
            self.push_face(&indices, face, source)?;
            self.push_corner_uvs(&uvs);
        }
        Ok(())
    }

    fn push_face(&mut self, indices: &[f64], face: usize, source: &impl PlySource) -> Result<(), FileError> {
        if indices.len() < 3 {
            return Err(source.error(too_few_corners(face, indices.len())));
        }
        for &index in indices {
            let vertex = self.vertex(index, face).map_err(|problem| source.error(problem))?;
            self.mesh.corners.push(vertex);
        }
        if !fits(self.mesh.corners.len(), 0) {
            return Err(
                source.error("more face corners than 32-bit indices can address; split the file".to_owned())
            );
        }
        self.mesh.face_starts.push(self.mesh.corners.len() as u32);
        Ok(())
    }

    fn vertex(&self, index: f64, face: usize) -> Result<u32, String> {
        if index >= 0.0 && index < self.vertex_count as f64 && index.fract() == 0.0 {
            Ok(index as u32)
        } else {
            Err(out_of_range(index, face, self.vertex_count))
        }
    }

    /// Texture coordinates of the last face's corners: equal ones at a vertex are merged, so that only seams separate.
    fn push_corner_uvs(&mut self, uvs: &[f64]) {
        let first = self.mesh.face_starts[self.mesh.face_count() - 1] as usize;
        if uvs.len() != 2 * (self.mesh.corners.len() - first) {
            return;
        }
        for (corner, &uv) in (first..).zip(uvs.as_chunks::<2>().0) {
            let uv = finite_or_zero(uv, &mut self.not_finite);
            let next = self.corner_uvs.values.len() as u32;
            let key = (self.mesh.corners[corner], uv.map(f64::to_bits));
            let value = *self.known_corner_uvs.entry(key).or_insert_with(|| {
                self.corner_uvs.values.push(uv);
                next
            });
            self.corner_uvs.set(corner, value);
        }
    }

    /// Polygons that only consist of a list of 4-byte indices after a 1-byte length, as in nearly all files.
    fn read_binary_faces<const BIG_ENDIAN: bool>(
        &mut self,
        element: &PlyElement,
        source: &mut BinaryCursor<'_>,
    ) -> Result<(), FileError> {
        self.mesh.face_starts.reserve(element.count);
        self.mesh.corners.reserve(source.rest().len().min(13 * element.count) / 4);
        let index = |bytes: &[u8]| u32::from_le_bytes(little::<4, BIG_ENDIAN>(bytes));
        for face in 0..element.count {
            let row = source.rest().first_chunk::<13>().filter(|row| row[0] == 3);
            if let Some(row) = row {
                let triangle = [index(&row[1..5]), index(&row[5..9]), index(&row[9..13])];
                if triangle.iter().all(|&v| (v as usize) < self.vertex_count)
                    && fits(self.mesh.corners.len(), 3)
                {
                    self.mesh.corners.extend_from_slice(&triangle);
                    self.mesh.face_starts.push(self.mesh.corners.len() as u32);
                    source.skip(row.len());
                    continue;
                }
            }
            let length = usize::from(source.rest().first().copied().unwrap_or_default());
            let row = source.take(1 + 4 * length, "a face")?;
            let signed = element.properties[0].scalar == NumberType::I32;
            let number = |v: u32| if signed { f64::from(v as i32) } else { f64::from(v) };
            let indices: Vec<_> = row[1..].chunks_exact(4).map(|bytes| number(index(bytes))).collect();
            self.push_face(&indices, face, source)?;
        }
        Ok(())
    }

    /// Strips in one list, separated by -1; every second triangle of a strip is flipped.
    fn read_strips(&mut self, element: &PlyElement, source: &mut impl PlySource) -> Result<(), FileError> {
        let vertices = element.list(&VERTEX_LISTS);
        let mut indices = Vec::new();
        for strip in 0..element.count {
            for (i, property) in element.properties.iter().enumerate() {
                match property.list_length {
                    None => drop(source.number(property.scalar)?),
                    Some(length) if Some(i) == vertices => {
                        read_list(source, length, property.scalar, &mut indices)?
                    }
                    Some(length) => skip_list(source, length, property.scalar)?,
                }
            }
            source.end_of_element(element)?;
            for run in indices.split(|&index| index == -1.0) {
                for (i, triple) in run.windows(3).enumerate() {
                    let [a, b, c] = [triple[0], triple[1], triple[2]];
                    let turned = if i % 2 == 0 { [a, b, c] } else { [b, a, c] };
                    self.push_face(&turned, strip, source)?;
                }
            }
        }
        Ok(())
    }

    fn skip(&mut self, element: &PlyElement, source: &mut impl PlySource) -> Result<(), FileError> {
        if element.properties.is_empty() || element.count == 0 {
            return Ok(());
        }
        for _ in 0..element.count {
            for property in &element.properties {
                match property.list_length {
                    None => drop(source.number(property.scalar)?),
                    Some(length) => skip_list(source, length, property.scalar)?,
                }
            }
            source.end_of_element(element)?;
        }
        self.notes.push(format!("{} elements `{}` were skipped", element.count, element.name.escape_debug()));
        Ok(())
    }

    fn finish(mut self, path: &Path) -> Result<LoadedMesh, FileError> {
        let corners = self.mesh.corners.len();
        self.mesh.normals = per_vertex(self.normals, &self.mesh.corners);
        self.mesh.uvs = self.corner_uvs.finish(corners).or_else(|| per_vertex(self.uvs, &self.mesh.corners));
        if !self.colors.is_empty() {
            self.mesh.colors = Some(unit_colors(self.colors, self.has_alpha));
        }
        self.notes.extend(not_finite_note(self.not_finite));
        builder::finish(self.mesh, self.notes, path)
    }
}

fn vertex_layout(element: &PlyElement, source: &impl PlySource) -> Result<VertexLayout, FileError> {
    VertexLayout::of(element)
        .ok_or_else(|| source.error("the element `vertex` has no properties `x`, `y` and `z`".to_owned()))
}

fn is_plain_face(element: &PlyElement) -> bool {
    let [property] = element.properties.as_slice() else { return false };
    element.name == "face"
        && VERTEX_LISTS.contains(&property.name.as_str())
        && property.list_length == Some(NumberType::U8)
        && matches!(property.scalar, NumberType::I32 | NumberType::U32)
}

/// Rejects a count that does not fit in the rest of the file, before allocating.
fn check_capacity(element: &PlyElement, source: &impl PlySource) -> Result<(), FileError> {
    let remaining_bytes = source.max_elements(element);
    if element.properties.is_empty() || element.count <= remaining_bytes {
        return Ok(());
    }
    Err(source.error(format!(
        "the header (line {}) declares {} elements `{}`, but at most {remaining_bytes} fit in the file; is it truncated?",
        element.line,
        element.count,
        element.name.escape_debug()
    )))
}

fn list_length(source: &mut impl PlySource, scalar: NumberType) -> Result<u64, FileError> {
    let length = source.number(scalar)?;
    if length < 0.0 || length.fract() != 0.0 {
        return Err(source.error(format!("the length of a list is {length}")));
    }
    Ok(length as u64)
}

fn read_list(
    source: &mut impl PlySource,
    length: NumberType,
    scalar: NumberType,
    values: &mut Vec<f64>,
) -> Result<(), FileError> {
    values.clear();
    for _ in 0..list_length(source, length)? {
        values.push(source.number(scalar)?);
    }
    Ok(())
}

fn skip_list(source: &mut impl PlySource, length: NumberType, scalar: NumberType) -> Result<(), FileError> {
    for _ in 0..list_length(source, length)? {
        source.number(scalar)?;
    }
    Ok(())
}

fn color_component(value: f32, scalar: NumberType) -> f32 {
    match scalar {
        NumberType::U8 => value / f32::from(u8::MAX),
        NumberType::U16 => value / f32::from(u16::MAX),
        _ if value.is_finite() => value,
        _ => 0.0,
    }
}

fn per_vertex<const N: usize>(values: Vec<[f64; N]>, corners: &[u32]) -> Option<CornerAttribute<N>> {
    (!values.is_empty()).then(|| CornerAttribute { values, indices: corners.to_vec() })
}

fn not_finite(vertex: usize, p: DVec3) -> String {
    format!("vertex {vertex} is at ({}, {}, {}), which is not finite", p.x, p.y, p.z)
}

fn too_few_corners(face: usize, corners: usize) -> String {
    format!("a face needs at least 3 corners, face {face} has {corners}")
}

fn out_of_range(index: f64, face: usize, vertices: usize) -> String {
    format!(
        "vertex index {index} of face {face} is out of range: the file has {vertices} vertices, counted from 0"
    )
}
