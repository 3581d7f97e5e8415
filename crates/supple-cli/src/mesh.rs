//! `supple mesh`: a closed surface to tetrahedra, or one mesh format to another.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use supple::FileError;
use supple::mesh::TetMesh;
use supple::mesh::format::{self, FORMATS, Mesh as AnyMesh, MeshFormat};
use supple::output::AtomicFile;

use crate::alive;
use crate::arguments::{Common, Mesh};
use crate::failure::Failure;
use crate::print::{line, notice};

/// Tetrahedralises a surface, or converts a mesh.
pub(crate) fn mesh(options: &Mesh, common: &Common) -> Result<ExitCode, Failure> {
    let loaded = format::load(&options.surface).map_err(Failure::usage)?;
    let mut notes = loaded.notes;
    let format = format_for(&loaded.mesh, options)?;
    // Opened before the work, so that an unwritable path is reported immediately.
    let mut file = AtomicFile::create(&options.out).map_err(Failure::of)?;
    let result = match (loaded.mesh, options.cell) {
        (AnyMesh::Surface(surface), Some(cell)) => {
            alive::now_at(|| format!("filling {} with cells of {cell} m", options.surface.display()));
            let filled = supple::mesh::tetrahedralise(&surface, cell).map_err(Failure::usage)?;
            notes.extend(filled.notes);
            AnyMesh::Tets(filled.mesh)
        }
        (mesh, _) => mesh,
    };
    let disk_error = |error| Failure::running(FileError::io(&options.out, "write", &error));
    // Surface formats receive the boundary of the tetrahedra.
    let result = match result {
        AnyMesh::Tets(tets) if format.write_tets.is_none() => {
            notes.push("the format only stores surfaces; wrote the boundary of the tetrahedra".to_owned());
            AnyMesh::Surface(tets.boundary_surface().0)
        }
        other => other,
    };
    alive::now_at(|| format!("writing {}", options.out.display()));
    write_mesh(&result, format, &mut file).map_err(disk_error)?;
    file.commit().map_err(Failure::running)?;
    report(&result, &notes, options, common);
    Ok(ExitCode::SUCCESS)
}

/// The output's format, if the requested conversion is possible and the format can store the result.
fn format_for(mesh: &AnyMesh, options: &Mesh) -> Result<&'static MeshFormat, Failure> {
    let refuse = |path: &Path, problem: &str| Err(Failure::usage(FileError::whole(path, problem)));
    let writes = |format: &MeshFormat| format.write_surface.is_some() || format.write_tets.is_some();
    let Some(format) = MeshFormat::of(&options.out).filter(|format| writes(format)) else {
        let known = format::extensions(FORMATS.iter().filter(|format| writes(format)));
        return refuse(&options.out, &format!("the extension must be one of {known}"));
    };
    match mesh {
        AnyMesh::Tets(_) if options.cell.is_some() => {
            refuse(&options.surface, "already contains tetrahedra; omit --cell to convert it")
        }
        AnyMesh::Surface(_) if options.cell.is_none() && format.write_surface.is_none() => {
            refuse(&options.out, "the format stores tetrahedra: set --cell, the size of the tetrahedra")
        }
        _ => Ok(format),
    }
}

fn write_mesh(mesh: &AnyMesh, format: &MeshFormat, file: &mut AtomicFile) -> io::Result<()> {
    match (mesh, format.write_surface, format.write_tets) {
        (AnyMesh::Surface(surface), Some(write), _) => write(surface, file),
        (AnyMesh::Tets(tets), _, Some(write)) => write(tets, file),
        _ => Err(io::Error::other("the format cannot store this mesh")),
    }
}

fn report(mesh: &AnyMesh, notes: &[String], options: &Mesh, common: &Common) {
    for note in notes {
        notice(format_args!("note: {note}"));
    }
    let (vertices, elements, kind) = match mesh {
        AnyMesh::Surface(surface) => (surface.positions.len(), surface.face_count(), "faces"),
        AnyMesh::Tets(TetMesh { positions, tets, .. }) => (positions.len(), tets.len(), "tetrahedra"),
    };
    if common.json {
        line(serde_json::json!({ "out": options.out, "vertices": vertices, kind: elements }));
    } else if !common.quiet {
        notice(format_args!("wrote {}: {vertices} vertices, {elements} {kind}", options.out.display()));
    }
}
