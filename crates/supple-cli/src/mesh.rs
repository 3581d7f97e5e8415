//! `supple mesh`: a closed surface to tetrahedra, or one mesh format to another.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use supple::FileError;
use supple::mesh::format::{self, Mesh as AnyMesh};
use supple::mesh::{SurfaceMesh, TetMesh};
use supple::output::AtomicFile;

use crate::arguments::{Common, Mesh};
use crate::failure::Failure;
use crate::print::{line, notice};

/// Tetrahedralises a surface, or converts a mesh.
pub(crate) fn mesh(options: &Mesh, common: &Common) -> Result<ExitCode, Failure> {
    let loaded = format::load(&options.surface).map_err(Failure::usage)?;
    let mut notes = loaded.notes;
    let extension = extension_for(&loaded.mesh, options)?;
    // Opened before the work, so that an unwritable path is reported immediately.
    let mut file = AtomicFile::create(&options.out).map_err(Failure::of)?;
    let result = match (loaded.mesh, options.cell) {
        (AnyMesh::Surface(surface), Some(cell)) => {
            let filled = supple::mesh::tetrahedralise(&surface, cell).map_err(Failure::usage)?;
            notes.extend(filled.notes);
            AnyMesh::Tets(filled.mesh)
        }
        (mesh, _) => mesh,
    };
    let disk_error = |error| Failure::running(FileError::io(&options.out, "write", &error));
    write_mesh(&result, &extension, &mut file).map_err(disk_error)?;
    file.commit().map_err(Failure::running)?;
    report(&result, &notes, options, common);
    Ok(ExitCode::SUCCESS)
}

/// The output's extension, if the requested conversion is possible and the format can store the result.
fn extension_for(mesh: &AnyMesh, options: &Mesh) -> Result<String, Failure> {
    let extension = options.out.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let refuse = |path: &Path, problem: &str| Err(Failure::usage(FileError::whole(path, problem)));
    match (mesh, extension.as_str()) {
        (AnyMesh::Tets(_), _) if options.cell.is_some() => {
            refuse(&options.surface, "already contains tetrahedra; omit --cell to convert it")
        }
        (AnyMesh::Surface(_), "msh") if options.cell.is_none() => {
            refuse(&options.out, "a .msh file stores tetrahedra: set --cell, the size of the tetrahedra")
        }
        (_, "msh" | "vtu" | "obj" | "ply") => Ok(extension),
        _ => refuse(&options.out, "the extension must be .msh, .vtu, .obj or .ply"),
    }
}

/// Surface formats receive the boundary of the tetrahedra.
fn write_mesh(mesh: &AnyMesh, extension: &str, file: &mut AtomicFile) -> io::Result<()> {
    match (mesh, extension) {
        (AnyMesh::Tets(tets), "msh") => format::write_msh22(tets, file),
        (AnyMesh::Tets(tets), "vtu") => format::write_vtu(tets, &[], file),
        (AnyMesh::Tets(tets), _) => write_surface(&tets.boundary_surface().0, extension, file),
        (AnyMesh::Surface(surface), _) => write_surface(surface, extension, file),
    }
}

fn write_surface(surface: &SurfaceMesh, extension: &str, file: &mut AtomicFile) -> io::Result<()> {
    match extension {
        "obj" => format::write_obj(surface, file),
        "ply" => format::write_ply(surface, file),
        _ => format::write_vtu(surface, &[], file),
    }
}

fn report(mesh: &AnyMesh, notes: &[String], options: &Mesh, common: &Common) {
    for note in notes {
        notice(format_args!("note: {note}"));
    }
    let boundary = options
        .out
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("obj") || e.eq_ignore_ascii_case("ply"));
    let (vertices, elements, kind) = match mesh {
        AnyMesh::Tets(tets) if boundary => {
            notice("note: the format only stores surfaces; wrote the boundary of the tetrahedra");
            let surface = tets.boundary_surface().0;
            (surface.positions.len(), surface.face_count(), "faces")
        }
        AnyMesh::Surface(surface) => (surface.positions.len(), surface.face_count(), "faces"),
        AnyMesh::Tets(TetMesh { positions, tets, .. }) => (positions.len(), tets.len(), "tetrahedra"),
    };
    if common.json {
        line(serde_json::json!({ "out": options.out, "vertices": vertices, kind: elements }));
    } else if !common.quiet {
        notice(format_args!("wrote {}: {vertices} vertices, {elements} {kind}", options.out.display()));
    }
}
