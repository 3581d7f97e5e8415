//! OFF, the Object File Format of Geomview (text only): `[ST][C][N]OFF`, the counts, the vertices, the polygons.
//!
//! The prefix declares the values after each position: `N` a normal, `C` a colour, `ST` texture coordinates, in this
//! order. Many files do not match their prefix, so the first vertex's line decides, and all others must agree with
//! it.

use std::path::Path;

use glam::DVec3;

use super::LoadedMesh;
use super::builder::{self, fits, unit_colors};
use crate::{CornerAttribute, SurfaceMesh};
use supple_core::FileError;
use supple_core::text::scan::{Scanner, parse_u32, shown};

/// Reads an OFF file from its bytes; `path` appears in errors.
pub fn read_off(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    let mut reader = OffReader {
        scan: Scanner::new(bytes, path).with_comment(b'#'),
        mesh: SurfaceMesh { face_starts: vec![0], ..SurfaceMesh::default() },
        normals: Vec::new(),
        uvs: Vec::new(),
        colors: Colors::default(),
        notes: Vec::new(),
    };
    let prefix = reader.header()?;
    let (vertices, faces) = reader.counts()?;
    reader.vertices(prefix, vertices)?;
    reader.faces(faces)?;
    reader.finish(path)
}

/// The values after the position of a vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OffVertexLayout {
    normal: bool,
    color: bool,
    texture: bool,
}

struct OffReader<'a> {
    scan: Scanner<'a>,
    mesh: SurfaceMesh,
    normals: Vec<[f64; 3]>,
    uvs: Vec<[f64; 2]>,
    colors: Colors,
    notes: Vec<String>,
}

impl OffReader<'_> {
    /// The keyword, which is optional in Geomview.
    fn header(&mut self) -> Result<OffVertexLayout, FileError> {
        let mut ahead = self.scan.clone();
        let word = ahead.token().unwrap_or_default();
        if parse_u32(word).is_some() {
            return Ok(OffVertexLayout { normal: false, color: false, texture: false });
        }
        let Some(mut prefix) = word.strip_suffix(b"OFF") else {
            return Err(ahead.error(format!(
                "an OFF file starts with `OFF`, found {}; is this an OFF file?",
                shown(word)
            )));
        };
        self.scan = ahead;
        let mut takes = |mark: &[u8]| {
            let rest = prefix.strip_prefix(mark);
            prefix = rest.unwrap_or(prefix);
            rest.is_some()
        };
        let layout = OffVertexLayout { texture: takes(b"ST"), color: takes(b"C"), normal: takes(b"N") };
        if !prefix.is_empty() {
            let kinds = "three coordinates (OFF, NOFF, COFF, STOFF and their combinations)";
            return Err(self.scan.error(format!("{} is not supported: only text with {kinds}", shown(word))));
        }
        if self.scan.clone().token_in_line() == Some(b"BINARY") {
            return Err(self.scan.error("binary OFF is not supported; save the mesh as text, or as PLY"));
        }
        Ok(layout)
    }

    fn counts(&mut self) -> Result<(usize, usize), FileError> {
        let vertices = self.scan.u32("the number of vertices")? as usize;
        let faces = self.scan.u32("the number of faces")? as usize;
        // The number of edges, which is not used and missing in some files.
        while self.scan.token_in_line().is_some() {}
        let (remaining_bytes, wanted) =
            (self.scan.remaining().len(), vertices.saturating_add(faces).saturating_mul(6));
        if wanted > remaining_bytes.saturating_add(1) {
            return Err(self.scan.error(format!(
                "{vertices} vertices and {faces} faces take at least {wanted} bytes, but only {remaining_bytes} are left; is it \
                 truncated?"
            )));
        }
        Ok((vertices, faces))
    }

    fn vertices(&mut self, prefix: OffVertexLayout, count: usize) -> Result<(), FileError> {
        self.mesh.positions.reserve(count);
        let mut layout = None;
        let mut more = Vec::new();
        for _ in 0..count {
            let x = self.scan.f64("the x coordinate of a vertex")?;
            let y = self.scan.f64("the y coordinate of a vertex")?;
            let z = self.scan.f64("the z coordinate of a vertex")?;
            self.mesh.positions.push(DVec3::new(x, y, z));
            more.clear();
            while let Some(token) = self.scan.token_in_line() {
                self.colors.fractions |= token.contains(&b'.');
                more.push(self.scan.to_f64(token, "a value after a vertex's position")?);
            }
            let &mut (layout, length) = match &mut layout {
                Some(known) => known,
                None => layout.insert((self.layout(prefix, more.len())?, more.len())),
            };
            if more.len() != length {
                let problem = format!(
                    "this vertex has {} numbers, but the first one has {}",
                    3 + more.len(),
                    3 + length
                );
                return Err(self.scan.error(problem));
            }
            self.push_attributes(layout, &more);
        }
        Ok(())
    }

    /// The meaning of the `length` numbers after the first position.
    fn layout(&mut self, prefix: OffVertexLayout, length: usize) -> Result<OffVertexLayout, FileError> {
        let plain = OffVertexLayout { normal: false, color: false, texture: false };
        let fixed = 3 * usize::from(prefix.normal) + 2 * usize::from(prefix.texture);
        match length.checked_sub(fixed) {
            Some(0) if !prefix.color => Ok(prefix),
            Some(3 | 4) if prefix.color => Ok(prefix),
            Some(3 | 4) if prefix == plain => {
                self.notes
                    .push(format!("{length} numbers follow each position; read as colours, as in COFF"));
                Ok(OffVertexLayout { color: true, ..plain })
            }
            _ if length == 0 => {
                self.notes.push(
                    "the header declares more than positions, but the vertices have no other values"
                        .to_owned(),
                );
                Ok(plain)
            }
            _ => Err(self.scan.error(format!(
                "according to the header a vertex has {} numbers{}, but this one has {}",
                3 + fixed,
                if prefix.color { " and a colour of 3 or 4" } else { "" },
                3 + length
            ))),
        }
    }

    fn push_attributes(&mut self, layout: OffVertexLayout, mut more: &[f64]) {
        if layout.normal {
            self.normals.push([more[0], more[1], more[2]]);
            more = &more[3..];
        }
        if layout.texture {
            let (rest, uv) = more.split_at(more.len() - 2);
            self.uvs.push([uv[0], uv[1]]);
            more = rest;
        }
        if layout.color {
            self.colors.has_alpha = more.len() == 4;
            let alpha = more.get(3).map_or(1.0, |&a| a as f32);
            self.colors.values.push([more[0] as f32, more[1] as f32, more[2] as f32, alpha]);
        }
    }

    fn faces(&mut self, count: usize) -> Result<(), FileError> {
        let mut colored = 0;
        for face in 0..count {
            let corners = self.scan.u32("the number of corners of a face")?;
            if corners < 3 {
                return Err(self
                    .scan
                    .error(format!("a face needs at least 3 corners, face {face} has {corners}")));
            }
            for _ in 0..corners {
                let vertex = self.scan.u32("a vertex index")?;
                let vertices = self.mesh.positions.len();
                if vertex as usize >= vertices {
                    return Err(self.scan.error(format!(
                        "vertex index {vertex} of face {face} is out of range: the file has {vertices} vertices, \
                         counted from 0"
                    )));
                }
                self.mesh.corners.push(vertex);
            }
            if !fits(self.mesh.corners.len(), 0) {
                return Err(self
                    .scan
                    .error("more face corners than 32-bit indices can address; split the file"));
            }
            self.mesh.face_starts.push(self.mesh.corners.len() as u32);
            colored += usize::from(self.scan.token_in_line().is_some());
            while self.scan.token_in_line().is_some() {}
        }
        if colored > 0 {
            self.notes.push(format!("the colours of {colored} faces were skipped"));
        }
        Ok(())
    }

    fn finish(mut self, path: &Path) -> Result<LoadedMesh, FileError> {
        if let Some(token) = self.scan.token() {
            self.notes.push(format!(
                "everything from {} on line {} onwards is ignored",
                shown(token),
                self.scan.line()
            ));
        }
        self.mesh.normals = per_vertex(self.normals, &self.mesh.corners);
        self.mesh.uvs = per_vertex(self.uvs, &self.mesh.corners);
        self.mesh.colors = self.colors.finish();
        builder::finish(self.mesh, self.notes, path)
    }
}

/// Vertex colours: integers from 0 to 255, or fractions from 0 to 1.
#[derive(Default)]
struct Colors {
    values: Vec<[f32; 4]>,
    has_alpha: bool,
    fractions: bool,
}

impl Colors {
    fn finish(self) -> Option<Vec<[f32; 4]>> {
        let mut values = self.values;
        if !self.fractions {
            let components = if self.has_alpha { 4 } else { 3 };
            values.iter_mut().for_each(|color| color[..components].iter_mut().for_each(|c| *c /= 255.0));
        }
        (!values.is_empty()).then(|| unit_colors(values, self.has_alpha))
    }
}

fn per_vertex<const N: usize>(values: Vec<[f64; N]>, corners: &[u32]) -> Option<CornerAttribute<N>> {
    (!values.is_empty()).then(|| CornerAttribute { values, indices: corners.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::super::Mesh;
    use super::*;

    fn read(text: &str) -> (SurfaceMesh, Vec<String>) {
        let loaded = read_off(text.as_bytes(), Path::new("t.off")).unwrap();
        match loaded.mesh {
            Mesh::Surface(mesh) => (mesh, loaded.notes),
            Mesh::Tets(_) => unreachable!("OFF contains surfaces"),
        }
    }

    #[test]
    fn comments_free_lines_and_a_missing_key_word_make_no_difference() {
        let (plain, _) = read("OFF\n4 1 4\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n");
        assert_eq!((plain.positions.len(), plain.corners.as_slice()), (4, &[0, 1, 2, 3][..]));
        for text in [
            "# c\nOFF # c\n# c\n4 1 4 # c\n\n0 0 0 # c\n#\n1 0 0\r\n1 1 0\r\n0 1 0\n\n4 0 1 2 3 # c",
            "OFF 4 1 4\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3",
            "4 1\n0 0 0\n1 0 0\n1 1 0\n0 1\n0\n4 0 1\n2 3\n",
        ] {
            assert_eq!(read(text).0, plain, "{text}");
        }
    }

    #[test]
    fn prefixes_bring_normals_colours_and_texture_coordinates() {
        let (mesh, notes) = read(
            "STCNOFF\n3 1 0\n0 0 0 0 0 1 255 0 51 255 0.5 0.25\n1 0 0 0 0 1 0 0 0 255 0 0\n\
                                  0 1 0 0 0 1 0 0 0 255 1 1\n3 0 1 2 255 0 0\n",
        );
        assert_eq!(mesh.normals.unwrap().values, [[0.0, 0.0, 1.0]; 3]);
        assert_eq!(mesh.uvs.unwrap().values, [[0.5, 0.25], [0.0, 0.0], [1.0, 1.0]]);
        assert_eq!(mesh.colors.unwrap()[0], [1.0, 0.0, 0.2, 1.0]);
        assert!(notes[0].contains("colours of 1 faces"));
    }

    #[test]
    fn whole_colours_count_to_255_and_fractions_to_one() {
        assert_eq!(read("COFF\n1 0 0\n0 0 0 1 0 0\n").0.colors.unwrap(), [[1.0 / 255.0, 0.0, 0.0, 1.0]]);
        assert_eq!(read("COFF\n1 0 0\n0 0 0 1.0 0 0 0.5\n").0.colors.unwrap(), [[1.0, 0.0, 0.0, 0.5]]);
    }

    #[test]
    fn a_header_that_promises_too_much_or_too_little_is_noted() {
        let (mesh, notes) = read("NOFF\n1 0 0\n0 0 0\n");
        assert!(mesh.normals.is_none() && notes[0].contains("header"));
        let (mesh, notes) = read("OFF\n1 0 0\n0 0 0 255 0 0\n");
        assert!(mesh.colors.is_some() && notes[0].contains("colours"));
    }
}
