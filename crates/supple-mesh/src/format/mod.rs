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
mod point_cache;
mod stl;
mod tetgen;
mod vtk;
mod vtk_cells;
mod vtu;

use std::io::{self, Write};
use std::path::Path;

use super::{MeshObject, SurfaceMesh, TetMesh};
use supple_core::FileError;
use supple_core::text::suggest::{did_you_mean, list};

pub use gltf::{load_skin, read_gltf, write_figure};
pub use medit::read_medit;
pub use msh::{read_msh, write_msh22, write_msh22_binary};
pub use obj::{read_obj, write_obj};
pub use off::read_off;
pub use ply::{VertexProperties, read_ply, write_ply, write_ply_with};
pub use point_cache::PointCache;
pub use stl::read_stl;
pub use tetgen::{read_tetgen, read_tetgen_pair_of};
pub use vtk::read_vtk;
pub use vtu::{PointData, PointValues, VtuMesh, read_vtu, write_vtu};

/// A format of mesh files.
#[derive(Debug)]
pub struct MeshFormat {
    /// File extensions, without the dot, in lower case.
    pub extensions: &'static [&'static str],
    /// The reader. Files that the mesh refers to are looked up in the folder of the path.
    pub read: fn(&[u8], &Path) -> Result<LoadedMesh, FileError>,
    /// The writer of surfaces.
    pub write_surface: Option<WriteSurface>,
    /// The writer of tetrahedra.
    pub write_tets: Option<WriteTets>,
}

/// Writes polygons.
pub type WriteSurface = fn(&SurfaceMesh, &mut dyn Write) -> io::Result<()>;
/// Writes tetrahedra.
pub type WriteTets = fn(&TetMesh, &mut dyn Write) -> io::Result<()>;

impl MeshFormat {
    /// A format that is only read.
    const fn reader(
        extensions: &'static [&'static str],
        read: fn(&[u8], &Path) -> Result<LoadedMesh, FileError>,
    ) -> Self {
        Self { extensions, read, write_surface: None, write_tets: None }
    }

    /// The format indicated by a file's extension.
    pub fn of(path: &Path) -> Option<&'static Self> {
        let extension = extension(path);
        FORMATS.iter().find(|format| format.extensions.contains(&extension.as_str()))
    }
}

/// Every format.
pub const FORMATS: [MeshFormat; 10] = [
    MeshFormat {
        write_surface: Some(|mesh, mut out| write_obj(mesh, &mut out)),
        ..MeshFormat::reader(&["obj"], read_obj)
    },
    MeshFormat::reader(&["off"], read_off),
    MeshFormat {
        write_surface: Some(|mesh, mut out| write_ply(mesh, &mut out)),
        ..MeshFormat::reader(&["ply"], read_ply)
    },
    MeshFormat::reader(&["stl"], read_stl),
    MeshFormat::reader(&["gltf", "glb"], read_gltf),
    MeshFormat {
        write_tets: Some(|mesh, mut out| write_msh22(mesh, &mut out)),
        ..MeshFormat::reader(&["msh"], read_msh)
    },
    MeshFormat::reader(&["vtk"], read_vtk),
    MeshFormat {
        write_surface: Some(|mesh, mut out| write_vtu(mesh, &[], &mut out)),
        write_tets: Some(|mesh, mut out| write_vtu(mesh, &[], &mut out)),
        ..MeshFormat::reader(&["vtu", "vtp"], read_vtu)
    },
    MeshFormat::reader(&["mesh", "meshb"], read_medit),
    MeshFormat::reader(&["node", "ele"], read_tetgen_pair_of),
];

/// The extensions of these formats for messages: `.obj .off`.
pub fn extensions(formats: impl IntoIterator<Item = &'static MeshFormat>) -> String {
    let extensions = formats.into_iter().flat_map(|format| format.extensions);
    extensions.map(|extension| format!(".{extension}")).collect::<Vec<_>>().join(" ")
}

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
    let format = MeshFormat::of(path).ok_or_else(|| unknown_extension(path))?;
    if bytes.is_empty() {
        return Err(FileError::whole(path, "the file is empty; export the mesh again"));
    }
    (format.read)(bytes, path)
}

/// Reads one object of a mesh file, by the name of an object or group, or of a glTF node or mesh; without a name the whole file.
pub fn load_object(path: &Path, object: Option<&str>) -> Result<LoadedMesh, FileError> {
    let LoadedMesh { mesh, notes } = load(path)?;
    let Some(name) = object else { return Ok(LoadedMesh { mesh, notes }) };
    match mesh {
        Mesh::Surface(whole) => {
            let found = find_object(&whole, name, path)?;
            Ok(LoadedMesh { mesh: Mesh::Surface(found.surface), notes })
        }
        Mesh::Tets(_) => {
            let problem =
                format!("it has tetrahedra, which have no objects; leave out `object = \"{name}\"`");
            Err(FileError::whole(path, problem))
        }
    }
}

/// The object of a name in a mesh that was read from a file.
fn find_object(whole: &SurfaceMesh, name: &str, path: &Path) -> Result<MeshObject, FileError> {
    let is_gltf = matches!(extension(path).as_str(), "gltf" | "glb");
    let by_mesh = || if is_gltf { gltf::objects_of_mesh(path, name) } else { Vec::new() };
    let found = whole.object(&[name]).or_else(|| {
        let nodes = by_mesh();
        whole.object(&nodes.iter().map(String::as_str).collect::<Vec<_>>())
    });
    found.ok_or_else(|| {
        let (shown, names) = (name.escape_debug(), whole.object_names());
        let problem = match names.is_empty() {
            true => format!("there is no object `{shown}`: the file names no objects; leave out `object`"),
            false => {
                let hint = did_you_mean(name, names.iter().copied());
                format!("there is no object `{shown}`{hint} Available: {}", list(names))
            }
        };
        FileError::whole(path, problem)
    })
}

/// Reads a mesh file as polygons, with the reader's notes; for tetrahedra the boundary is used, with a note.
pub fn load_surface(path: &Path) -> Result<(SurfaceMesh, Vec<String>), FileError> {
    load_surface_object(path, None)
}

/// The same for one object of the file.
pub fn load_surface_object(
    path: &Path,
    object: Option<&str>,
) -> Result<(SurfaceMesh, Vec<String>), FileError> {
    let LoadedMesh { mesh, mut notes } = load_object(path, object)?;
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

/// Whether [`load`] knows the extension.
pub fn is_known(path: &Path) -> bool {
    MeshFormat::of(path).is_some()
}

fn unknown_extension(path: &Path) -> FileError {
    let known = extensions(&FORMATS);
    let problem = match extension(path).as_str() {
        "" => format!("the file name has no extension to determine the format; supported: {known}"),
        other => {
            let shown = other.escape_debug();
            format!("`.{shown}` is not a supported mesh format; supported: {known}")
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
}
