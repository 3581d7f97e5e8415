//! STL, ascii and binary (3D Systems, 1989). The format lists triangles without shared vertices; corners at exactly
//! the same position become one vertex, so that the surface holds together.

use std::collections::HashMap;
use std::path::Path;

use glam::DVec3;

use super::LoadedMesh;
use super::builder::{self, LabelTrack, fits};
use super::scan::{Scanner, name, shown};
use crate::error::FileError;
use crate::mesh::{LabelKind, SurfaceMesh};

const HEADER_SIZE: usize = 84;
const TRIANGLE_SIZE: usize = 50;

/// Reads an STL file from its bytes; `path` stands in errors.
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

/// Many binary files start with `solid` too: only a file that is not as long as its count says is taken for text.
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
            "the header says {} triangles, which take {size} bytes; the file has {} and is cut off, or is no STL",
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
    // Normals follow from the corners, and files with NaN normals of thin triangles are common: not even parsed.
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
            return Err("more corners than 32-bit indices can number; split the file".to_owned());
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
