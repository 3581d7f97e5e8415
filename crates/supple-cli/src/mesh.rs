//! `supple mesh`: a closed surface to tetrahedra, or one mesh format to another.

use std::path::Path;
use std::process::ExitCode;

use supple::FileError;
use supple::mesh::format::{self, Mesh as AnyMesh};
use supple::mesh::{SurfaceMesh, TetMesh};
use supple::output::write_whole;

use crate::arguments::{Common, Mesh};
use crate::failure::Failure;
use crate::print::line;

/// Tetrahedralises a surface, or converts a mesh.
pub(crate) fn mesh(options: &Mesh, common: &Common) -> Result<ExitCode, Failure> {
    let loaded = format::load(&options.surface).map_err(Failure::usage)?;
    let mut notes = loaded.notes;
    let result = match (loaded.mesh, options.cell) {
        (AnyMesh::Surface(surface), Some(cell)) => {
            let filled = supple::mesh::tetrahedralise(&surface, cell).map_err(Failure::usage)?;
            notes.extend(filled.notes);
            AnyMesh::Tets(filled.mesh)
        }
        (AnyMesh::Tets(_), Some(_)) => {
            let problem = "holds tetrahedra already; leave out --cell to convert it";
            return Err(Failure::usage(FileError::whole(&options.surface, problem)));
        }
        (mesh, None) => mesh,
    };
    write_mesh(&result, &options.out)?;
    report(&result, &notes, options, common);
    Ok(ExitCode::SUCCESS)
}

fn write_mesh(mesh: &AnyMesh, path: &Path) -> Result<(), Failure> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let written = match (mesh, extension.as_str()) {
        (AnyMesh::Tets(tets), "msh") => write_whole(path, |file| format::write_msh22(tets, file)),
        (AnyMesh::Tets(tets), "vtu") => write_whole(path, |file| format::write_vtu(tets, &[], file)),
        (AnyMesh::Tets(tets), "obj" | "ply") => write_surface(&tets.boundary_surface().0, &extension, path),
        (AnyMesh::Surface(surface), "obj" | "ply" | "vtu") => write_surface(surface, &extension, path),
        (AnyMesh::Surface(_), "msh") => {
            let problem = "a .msh holds tetrahedra: give --cell, the size of the tetrahedra";
            return Err(Failure::usage(FileError::whole(path, problem)));
        }
        _ => {
            let problem = "its extension must be .msh, .vtu, .obj or .ply";
            return Err(Failure::usage(FileError::whole(path, problem)));
        }
    };
    written.map_err(Failure::running)
}

fn write_surface(surface: &SurfaceMesh, extension: &str, path: &Path) -> Result<(), FileError> {
    write_whole(path, |file| match extension {
        "obj" => format::write_obj(surface, file),
        "ply" => format::write_ply(surface, file),
        _ => format::write_vtu(surface, &[], file),
    })
}

fn report(mesh: &AnyMesh, notes: &[String], options: &Mesh, common: &Common) {
    for note in notes {
        eprintln!("note: {note}");
    }
    let boundary = options
        .out
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("obj") || e.eq_ignore_ascii_case("ply"));
    let (vertices, elements, kind) = match mesh {
        AnyMesh::Tets(tets) if boundary => {
            eprintln!("note: the format holds surfaces only: the boundary of the tetrahedra was written");
            let surface = tets.boundary_surface().0;
            (surface.positions.len(), surface.face_count(), "faces")
        }
        AnyMesh::Surface(surface) => (surface.positions.len(), surface.face_count(), "faces"),
        AnyMesh::Tets(TetMesh { positions, tets, .. }) => (positions.len(), tets.len(), "tetrahedra"),
    };
    if common.json {
        line(serde_json::json!({ "out": options.out, "vertices": vertices, kind: elements }));
    } else if !common.quiet {
        eprintln!("wrote {}: {vertices} vertices, {elements} {kind}", options.out.display());
    }
}
