//! Mesh files in and out, one module per format. Errors give the file and the line or byte of the problem; no reader
//! allocates by a count it has not checked against the file's size.

mod binary;
mod builder;
mod cells;
mod gltf;
mod medit;
mod msh;
mod numbers;
mod obj;
mod off;
mod ply;
mod stl;
mod tetgen;
mod vtk;
mod vtk_cells;
mod vtu;

use std::path::Path;

use super::{SurfaceMesh, TetMesh};
use supple_core::FileError;

pub use gltf::{load_skin, read_gltf};
pub use medit::read_medit;
pub use msh::{read_msh, write_msh22, write_msh22_binary};
pub use obj::{read_obj, write_obj};
pub use off::read_off;
pub use ply::{read_ply, write_ply};
pub use stl::read_stl;
pub use tetgen::{read_tetgen, read_tetgen_beside};
pub use vtk::read_vtk;
pub use vtu::{PointData, PointValues, VtuMesh, read_vtu, write_vtu};

/// The file extensions supported by [`load`], for messages.
pub const EXTENSIONS: &str = ".obj .off .ply .stl .gltf .glb .msh .vtk .vtu .vtp .mesh .meshb .node .ele";

/// The contents of a mesh file.
#[derive(Debug, Clone, PartialEq)]
pub enum Mesh {
    /// Polygons.
    Surface(SurfaceMesh),
    /// Tetrahedra.
    Tets(TetMesh),
}

/// A mesh as read, with notes on changes and omissions.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedMesh {
    /// The mesh.
    pub mesh: Mesh,
    /// Notes for the user: elements flipped, lines ignored, cells of other kinds skipped.
    pub notes: Vec<String>,
}

/// Reads a mesh file; its extension determines the format.
pub fn load(path: &Path) -> Result<LoadedMesh, FileError> {
    let metadata = std::fs::metadata(path).map_err(|error| FileError::io(path, "open", &error))?;
    if metadata.is_dir() {
        return Err(FileError::whole(path, "is a folder; choose a mesh file inside it"));
    }
    if !is_known(path) {
        return Err(unknown_extension(path));
    }
    let bytes = std::fs::read(path).map_err(|error| FileError::io(path, "read", &error))?;
    read(&bytes, path)
}

/// Reads a mesh from the bytes of a file; `path` determines the format, appears in errors, and is the base of files
/// that the mesh refers to.
pub fn read(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    if bytes.is_empty() && is_known(path) {
        return Err(FileError::whole(path, "the file is empty; export the mesh again"));
    }
    match extension(path).as_str() {
        "obj" => read_obj(bytes, path),
        "off" => read_off(bytes, path),
        "ply" => read_ply(bytes, path),
        "stl" => read_stl(bytes, path),
        "gltf" | "glb" => read_gltf(bytes, path),
        "msh" => read_msh(bytes, path),
        "vtk" => read_vtk(bytes, path),
        "vtu" | "vtp" => read_vtu(bytes, path),
        "mesh" | "meshb" => read_medit(bytes, path),
        "node" | "ele" => read_tetgen_beside(bytes, path),
        _ => Err(unknown_extension(path)),
    }
}

/// Reads a mesh file as polygons, with the reader's notes; for tetrahedra the boundary is used, with a note.
pub fn load_surface(path: &Path) -> Result<(SurfaceMesh, Vec<String>), FileError> {
    let LoadedMesh { mesh, mut notes } = load(path)?;
    match mesh {
        Mesh::Surface(surface) => Ok((surface, notes)),
        Mesh::Tets(tets) => {
            let (surface, _) = tets.boundary_surface();
            notes.push(format!(
                "the file contains {} tetrahedra; their boundary of {} triangles is used",
                tets.tets.len(),
                surface.face_count()
            ));
            Ok((surface, notes))
        }
    }
}

fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// Whether the extension is one of [`EXTENSIONS`].
pub fn is_known(path: &Path) -> bool {
    let extension = extension(path);
    EXTENSIONS.split(' ').any(|known| known[1..] == extension)
}

fn unknown_extension(path: &Path) -> FileError {
    let problem = match extension(path).as_str() {
        "" => format!("the file name has no extension to determine the format; supported: {EXTENSIONS}"),
        other => {
            format!("`.{}` is not a supported mesh format; supported: {EXTENSIONS}", other.escape_debug())
        }
    };
    FileError::whole(path, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_whatever_its_case() {
        let triangle = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
        assert_eq!(read(triangle, Path::new("a.OBJ")), read(triangle, Path::new("b.c/a.obj")));
        assert!(read(triangle, Path::new("a.OBJ")).is_ok());
    }

    #[test]
    fn what_is_not_a_mesh_file_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let problem = |name: &str| load(&folder.path().join(name)).unwrap_err().problem;
        std::fs::write(folder.path().join("a.blend"), b"x").unwrap();
        std::fs::write(folder.path().join("bare"), b"x").unwrap();
        std::fs::write(folder.path().join("empty.ply"), b"").unwrap();
        std::fs::create_dir(folder.path().join("folder.obj")).unwrap();
        assert!(problem("a.blend").contains("`.blend`") && problem("a.blend").contains(".obj .off .ply"));
        assert!(problem("bare").contains("no extension"));
        assert!(problem("empty.ply").contains("empty"));
        assert!(problem("folder.obj").contains("folder"));
        assert!(problem("missing.obj").contains("cannot open"));
    }

    #[test]
    fn every_listed_extension_has_a_reader() {
        for known in EXTENSIONS.split(' ') {
            let error = read(b"\xFF\x00noise", Path::new(&format!("a{known}"))).unwrap_err();
            assert!(!error.problem.contains("not a supported mesh format"), "{known}: {error}");
        }
    }
}
