//! Every variant of the tetrahedral mesh formats, from files hand-written to the published layouts (never by
//! our own writers), and round trips and properties of our writers.

mod medit;
mod msh;
mod properties;
mod tetgen;
mod vtk;
mod vtu;

use std::path::Path;

use glam::DVec3;
use supple_core::FileError;
use supple_mesh::format::{LoadedMesh, Mesh};
use supple_mesh::{SurfaceMesh, TetMesh};

/// Two tetrahedra on five points, most of which have no short exact decimal.
fn two_tets() -> TetMesh {
    TetMesh {
        positions: vec![
            DVec3::ZERO,
            DVec3::new(1.0, 0.0, -0.0),
            DVec3::new(0.1, 1.0 / 3.0, 1e-300),
            DVec3::new(0.0, 0.0, 12_345.678_901_234_567),
            DVec3::new(1e10, 0.7, 5e-324),
        ],
        tets: vec![[0, 1, 2, 3], [2, 1, 4, 3]],
        regions: None,
    }
}

/// The same with coordinates that are exact in 32-bit floats.
fn two_tets_in_single_precision() -> TetMesh {
    let mut mesh = two_tets();
    for position in &mut mesh.positions {
        *position = position.as_vec3().as_dvec3();
    }
    mesh
}

fn with_regions(mut mesh: TetMesh, regions: &[i32]) -> TetMesh {
    mesh.regions = Some(regions.to_vec());
    mesh
}

fn tets(loaded: LoadedMesh) -> TetMesh {
    match loaded.mesh {
        Mesh::Tets(mesh) => mesh,
        Mesh::Surface(_) => panic!("a tetrahedral mesh was expected"),
    }
}

fn surface(loaded: LoadedMesh) -> SurfaceMesh {
    match loaded.mesh {
        Mesh::Surface(mesh) => mesh,
        Mesh::Tets(_) => panic!("a surface was expected"),
    }
}

fn has_note(loaded: &LoadedMesh, words: &str) -> bool {
    loaded.notes.iter().any(|note| note.contains(words))
}

/// A reader that takes bytes.
type Read = fn(&[u8], &Path) -> Result<LoadedMesh, FileError>;

fn read(reader: Read, bytes: impl AsRef<[u8]>) -> LoadedMesh {
    reader(bytes.as_ref(), Path::new("test.file")).unwrap_or_else(|error| panic!("{error}"))
}

fn problem(reader: Read, bytes: impl AsRef<[u8]>) -> String {
    reader(bytes.as_ref(), Path::new("test.file")).expect_err("the file should be refused").to_string()
}

/// The text with Windows line ends.
fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// Bytes of a binary file, number by number.
struct Bytes {
    bytes: Vec<u8>,
    big_endian: bool,
}

macro_rules! push_numbers {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(mut self, values: impl IntoIterator<Item = $type>) -> Self {
            for value in values {
                let bytes = if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
                self.bytes.extend(bytes);
            }
            self
        })*
    };
}

impl Bytes {
    fn new(big_endian: bool) -> Self {
        Self { bytes: Vec::new(), big_endian }
    }

    fn text(mut self, text: &str) -> Self {
        self.bytes.extend(text.as_bytes());
        self
    }

    push_numbers!(u8: u8, i32: i32, i64: i64, u32: u32, u64: u64, f32: f32, f64: f64);
}

fn coordinates(mesh: &TetMesh) -> impl Iterator<Item = f64> {
    mesh.positions.iter().flat_map(|p| p.to_array())
}

/// `x y z` lines.
fn coordinate_text(mesh: &TetMesh) -> String {
    mesh.positions.iter().map(|p| format!("{:?} {:?} {:?}\n", p.x, p.y, p.z)).collect()
}
