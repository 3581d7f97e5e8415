//! `supple untangle`: parts what crosses at the start, without simulating.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use supple::FileError;
use supple::mesh::SurfaceMesh;
use supple::mesh::format::{self, FORMATS, MeshFormat};
use supple::output::AtomicFile;
use supple::scene::Scene;
use supple::simulation::{Untangled, untangle};

use crate::arguments::{Common, Untangle};
use crate::failure::Failure;
use crate::print::{line, notice};

/// Parts the surfaces of a scene or mesh, and writes the meshes of its bodies.
pub(crate) fn untangle_command(options: &Untangle, common: &Common) -> Result<ExitCode, Failure> {
    let scene = scene_of(&options.source, common)?;
    let out = options.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-untangled.obj", scene.name)));
    let format = format_of(&out)?;
    let mut rounds = 0;
    let found = untangle(&scene, common.simd.into(), |left| {
        rounds += 1;
        if !common.quiet && !common.json && rounds % 10 == 0 {
            notice(format_args!("{left} vertices inside or crossing pairs after {rounds} rounds"));
        }
    })
    .map_err(Failure::of)?;
    let files: Vec<PathBuf> =
        found.meshes.iter().map(|(body, _)| file_for(&out, body, found.meshes.len())).collect();
    for ((_, mesh), file) in found.meshes.iter().zip(&files) {
        write(mesh, format, file)?;
    }
    report(&found, &files, common);
    Ok(ExitCode::SUCCESS)
}

/// A mesh is a scene without colliders whose body touches itself.
fn scene_of(source: &str, common: &Common) -> Result<Scene, Failure> {
    let mut scene = common.steppers.scene_reader().find(source).map_err(Failure::usage)?;
    if format::is_known(Path::new(source)) {
        scene.colliders.clear();
        scene.bodies.iter_mut().for_each(|body| body.self_contact = Some(true));
    }
    scene.validate().map_err(Failure::usage)?;
    Ok(scene)
}

fn format_of(out: &Path) -> Result<&'static MeshFormat, Failure> {
    MeshFormat::of(out).filter(|format| format.write_surface.is_some()).ok_or_else(|| {
        let known = format::extensions(FORMATS.iter().filter(|format| format.write_surface.is_some()));
        Failure::usage(FileError::whole(out, format!("the extension must be one of {known}")))
    })
}

/// The file of a body: the one that was named, or one per body.
fn file_for(out: &Path, body: &str, bodies: usize) -> PathBuf {
    if bodies == 1 {
        return out.to_path_buf();
    }
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    out.with_file_name(format!("{}-{body}.{}", part(out.file_stem()), part(out.extension())))
}

fn write(mesh: &SurfaceMesh, format: &MeshFormat, path: &Path) -> Result<(), Failure> {
    let mut file = AtomicFile::create(path).map_err(Failure::of)?;
    let Some(write) = format.write_surface else {
        return Err(Failure::running(FileError::io(
            path,
            "write",
            &io::Error::other("not a surface format"),
        )));
    };
    write(mesh, &mut file).map_err(|error| Failure::running(FileError::io(path, "write", &error)))?;
    file.commit().map_err(Failure::running)
}

fn report(found: &Untangled, files: &[PathBuf], common: &Common) {
    let Untangled { before, remains, rounds, moved, .. } = found;
    if common.json {
        line(
            json!({ "before": before, "remains": remains, "rounds": rounds, "moved": moved, "files": files }),
        );
        return;
    }
    before.iter().for_each(|note| notice(format_args!("before: {note}")));
    remains.iter().for_each(|note| notice(format_args!("remains: {note}")));
    if remains.is_empty() {
        line(format_args!("nothing crosses or is inside a collider, after {rounds} rounds"));
    }
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    line(format_args!("wrote {}; no vertex was moved by more than {:.1} mm", names.join(", "), 1e3 * moved));
}
