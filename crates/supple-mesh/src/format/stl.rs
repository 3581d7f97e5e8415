//! STL, ascii and binary (3D Systems, 1989). The format lists triangles without shared vertices; corners at exactly
//! the same position become one vertex, so that the surface is connected.

use std::collections::HashMap;
use std::path::Path;

use glam::DVec3;

use super::LoadedMesh;
use super::builder::{self, LabelTrack, fits};
use crate::{LabelKind, SurfaceMesh};
use supple_core::FileError;
use supple_core::text::scan::{Scanner, name, shown};

const HEADER_SIZE: usize = 84;
const TRIANGLE_SIZE: usize = 50;

/// Reads an STL file from its bytes; `path` appears in errors.
pub fn read_stl(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    if declared_size(bytes).is_some_and(|size| size == bytes.len()) || !starts_with_solid(bytes) {
        read_binary(bytes, path)
    } else {
        read_ascii(bytes, path)
    }
}

/// The size that a binary file would have by its own count of triangles.
fn declared_size(bytes: &[u8]) -> Option<usize> {
    let count = bytes.get(80..HEADER_SIZE)?.try_into().map(u32::from_le_bytes).ok()?;
    (count as usize).checked_mul(TRIANGLE_SIZE)?.checked_add(HEADER_SIZE)
}

/// Many binary files start with `solid` too: only a file whose length does not match its count is treated as text.
fn starts_with_solid(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    text.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"solid"))
}

fn read_binary(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    let Some(size) = declared_size(bytes) else {
        let problem = "neither text (it does not start with `solid`) nor a binary STL (shorter than its header of 84 \
                       bytes)";
        return Err(FileError::whole(path, problem));
    };
    if bytes.len() < size {
        let problem = format!(
            "the header declares {} triangles, which take {size} bytes; the file has {} and is truncated, or is not STL",
            (size - HEADER_SIZE) / TRIANGLE_SIZE,
            bytes.len()
        );
        return Err(FileError::byte(path, bytes.len() as u64, problem));
    }
    let mut weld = Weld::default();
    for (t, triangle) in bytes[HEADER_SIZE..size].chunks_exact(TRIANGLE_SIZE).enumerate() {
        let corner = |k: usize| {
            let float =
                |i: usize| f32::from_le_bytes([0, 1, 2, 3].map(|b| triangle[12 + 12 * k + 4 * i + b]));
            DVec3::new(float(0).into(), float(1).into(), float(2).into())
        };
        weld.push_triangle([0, 1, 2].map(corner)).map_err(|problem| {
            FileError::byte(
                path,
                (HEADER_SIZE + t * TRIANGLE_SIZE) as u64,
                format!("triangle {t}: {problem}"),
            )
        })?;
    }
    let left = bytes.len() - size;
    let notes =
        if left > 0 { vec![format!("{left} bytes after the last triangle are ignored")] } else { Vec::new() };
    builder::finish(weld.mesh, notes, path)
}

fn read_ascii(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    let mut scan = Scanner::new(bytes, path);
    let mut weld = Weld::default();
    let mut solid = LabelTrack::new(LabelKind::Object);
    while let Some(word) = scan.token() {
        match word.to_ascii_lowercase().as_slice() {
            b"solid" => solid.set(name(scan.rest_of_line())),
            b"endsolid" => drop(scan.rest_of_line()),
            b"facet" => {
                solid.push_face(weld.mesh.face_count());
                let triangle = read_facet(&mut scan)?;
                weld.push_triangle(triangle).map_err(|problem| scan.error(problem))?;
            }
            _ => {
                let found = shown(word);
                return Err(scan
                    .error(format!("expected `facet` or `endsolid`, found {found}; is this an STL file?")));
            }
        }
    }
    weld.mesh.labels = solid.finish(weld.mesh.face_count()).into_iter().collect();
    builder::finish(weld.mesh, Vec::new(), path)
}

fn read_facet(scan: &mut Scanner<'_>) -> Result<[DVec3; 3], FileError> {
    expect(scan, "normal")?;
    // Normals follow from the corners, and files with NaN normals of thin triangles are common: not parsed.
    for _ in 0..3 {
        scan.token().ok_or_else(|| scan.clone().ended("a normal"))?;
    }
    expect(scan, "outer")?;
    expect(scan, "loop")?;
    let mut corners = [DVec3::ZERO; 3];
    for corner in &mut corners {
        expect(scan, "vertex")?;
        *corner = DVec3::new(scan.f64("x")?, scan.f64("y")?, scan.f64("z")?);
    }
    expect(scan, "endloop")?;
    expect(scan, "endfacet")?;
    Ok(corners)
}

fn expect(scan: &mut Scanner<'_>, word: &str) -> Result<(), FileError> {
    match scan.token() {
        Some(token) if token.eq_ignore_ascii_case(word.as_bytes()) => Ok(()),
        Some(token) => Err(scan.error(format!("expected `{word}`, found {}", shown(token)))),
        None => Err(scan.ended(&format!("`{word}`"))),
    }
}

/// A mesh under construction whose corners at equal positions share a vertex.
#[derive(Default)]
struct Weld {
    mesh: SurfaceMesh,
    known: HashMap<[u64; 3], u32>,
}

impl Weld {
    fn push_triangle(&mut self, corners: [DVec3; 3]) -> Result<(), String> {
        if let Some(p) = corners.iter().find(|p| !p.is_finite()) {
            return Err(format!("a corner is at ({}, {}, {}), which is not finite", p.x, p.y, p.z));
        }
        if !fits(self.mesh.corners.len(), 3) {
            return Err("more corners than 32-bit indices can address; split the file".to_owned());
        }
        let vertices = corners.map(|corner| self.vertex(corner));
        self.mesh.push_face(&vertices);
        Ok(())
    }

    fn vertex(&mut self, p: DVec3) -> u32 {
        // Adding zero makes -0 and 0 the same position.
        let key = (p + DVec3::ZERO).to_array().map(f64::to_bits);
        *self.known.entry(key).or_insert_with(|| {
            self.mesh.positions.push(p);
            self.mesh.positions.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Mesh;
    use super::*;

    fn read(bytes: &[u8]) -> (SurfaceMesh, Vec<String>) {
        let loaded = read_stl(bytes, Path::new("t.stl")).unwrap();
        match loaded.mesh {
            Mesh::Surface(mesh) => (mesh, loaded.notes),
            Mesh::Tets(_) => unreachable!("STL contains surfaces"),
        }
    }

    const TETRAHEDRON: [[[f32; 3]; 3]; 4] = [
        [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [-0.0, 0.0, 1.0]],
        [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, -0.0]],
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    ];

    fn binary(header: &[u8]) -> Vec<u8> {
        let mut bytes = header.to_vec();
        bytes.resize(80, b' ');
        bytes.extend(4u32.to_le_bytes());
        for triangle in TETRAHEDRON {
            bytes.extend([0; 12]);
            bytes.extend(triangle.as_flattened().iter().flat_map(|c| c.to_le_bytes()));
            bytes.extend([0; 2]);
        }
        bytes
    }

    fn text() -> String {
        let corner = |[x, y, z]: [f32; 3]| format!("VERTEX {x} {y} {z}\r\n");
        let facet = |t: [[f32; 3]; 3]| {
            let corners: String = t.map(corner).concat();
            format!("  facet normal nan 0 0\r\n outer loop\r\n{corners}endloop\r\n endfacet\r\n")
        };
        format!("solid my part\r\n{}endsolid my part\r\n", TETRAHEDRON.map(facet).concat())
    }

    #[test]
    fn corners_at_one_position_become_one_vertex_so_a_closed_surface_is_closed() {
        for bytes in [binary(b"made by hand"), binary(b"solid but binary"), text().into_bytes()] {
            let (mesh, _) = read(&bytes);
            assert_eq!((mesh.positions.len(), mesh.face_count()), (4, 4));
            for face in mesh.faces() {
                for (a, b) in [(0, 1), (1, 2), (2, 0)].map(|(i, j)| (face[i], face[j])) {
                    let back = mesh.faces().filter(|f| (0..3).any(|i| (f[i], f[(i + 1) % 3]) == (b, a)));
                    assert_eq!(back.count(), 1, "edge {a} {b} has one triangle on its other side");
                }
            }
        }
    }

    #[test]
    fn solids_of_a_text_are_objects() {
        let (mesh, _) = read(format!("{}{}", text(), text().replace("my part", "")).as_bytes());
        assert_eq!(mesh.labels[0].names, ["my part"]);
        assert_eq!(mesh.labels[0].label_of_face[..4], [0; 4]);
        assert_eq!((mesh.face_count(), mesh.positions.len()), (8, 4));
    }

    #[test]
    fn bytes_after_the_last_triangle_are_noted() {
        let (mesh, notes) = read(&[binary(b"x"), vec![7; 3]].concat());
        assert_eq!(mesh.face_count(), 4);
        assert!(notes[0].contains("3 bytes"));
    }
}
