//! `supple check`: a mesh or a scene.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use supple::mesh::check::{MeshReport, Severity, check_surface, check_tets};
use supple::mesh::format::{self, Mesh};
use supple::scene::{MeshFile, Scene};
use supple::simulation::DryRun;

use crate::arguments::Common;
use crate::failure::Failure;
use crate::print::line;

/// Checks what `path` names: a scene if it ends in `.toml` or is a built-in name, else a mesh.
pub(crate) fn check(path: &Path, common: &Common) -> Result<ExitCode, Failure> {
    let is_scene_file = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    if is_scene_file || (path.extension().is_none() && !path.exists()) {
        check_scene(&path.to_string_lossy(), common)
    } else {
        check_mesh(path, common)
    }
}

fn check_mesh(path: &Path, common: &Common) -> Result<ExitCode, Failure> {
    let loaded = format::load(path).map_err(Failure::usage)?;
    let report = report_on(&loaded.mesh);
    if common.json {
        line(json!({ "file": path, "notes": loaded.notes, "report": report }));
    } else {
        line(path.display());
        loaded.notes.iter().for_each(|note| line(format!("note: {note}")));
        line(&report);
    }
    let bad = report.findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(if bad { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

fn report_on(mesh: &Mesh) -> MeshReport {
    match mesh {
        Mesh::Surface(surface) => check_surface(surface),
        Mesh::Tets(tets) => check_tets(tets),
    }
}

/// Everything that `run` would refuse (the words, the files, the meshes, the selections), and what is found in the
/// meshes. What is found alone is no failure: a mesh with faults may still be simulated.
fn check_scene(source: &str, common: &Common) -> Result<ExitCode, Failure> {
    let (scene, complaints) = Scene::find_leniently(source);
    let Some(scene) = scene else {
        let all: Vec<String> = complaints.iter().map(ToString::to_string).collect();
        return Err(Failure::usage(anyhow::anyhow!(all.join("\n"))));
    };
    let meshes: Vec<(MeshFile, MeshReport)> = scene.mesh_files().into_iter().filter_map(checked).collect();
    let mut dry = DryRun::of(&scene);
    if !complaints.is_empty() {
        dry.counts = None;
        dry.problems.splice(..0, complaints);
    }
    // What the reports on the meshes say is not said again.
    let findings = || meshes.iter().flat_map(|(_, report)| &report.findings);
    dry.notes.retain(|note| !findings().any(|finding| note.ends_with(&finding.message)));
    if common.json {
        print_json(&scene, &meshes, &dry);
    } else {
        for (file, report) in &meshes {
            line(format!("{}: {}", file.users.join(", "), file.path.display()));
            report.abridged().lines().for_each(|text| line(format!("  {text}")));
        }
        dry.notes.iter().for_each(|note| line(format!("note: {note}")));
        dry.problems.iter().for_each(line);
        if let Some(size) = dry.counts {
            line(format!(
                "{}: {} vertices, {} elements, can be run",
                scene.name, size.vertices, size.elements
            ));
        }
    }
    Ok(if dry.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// The report on a scene's mesh at its size in the scene; what cannot be read is one of the scene's problems.
fn checked(file: MeshFile) -> Option<(MeshFile, MeshReport)> {
    let mut mesh = format::load(&file.path).ok()?.mesh;
    let positions = match &mut mesh {
        Mesh::Surface(surface) => &mut surface.positions,
        Mesh::Tets(tets) => &mut tets.positions,
    };
    positions.iter_mut().for_each(|p| *p = file.to_metres * *p);
    let report = report_on(&mesh);
    Some((file, report))
}

fn print_json(scene: &Scene, meshes: &[(MeshFile, MeshReport)], dry: &DryRun) {
    let problems: Vec<String> = dry.problems.iter().map(ToString::to_string).collect();
    let counts =
        dry.counts.map(|s| json!({ "vertices": s.vertices, "elements": s.elements, "unknowns": s.unknowns }));
    let meshes: Vec<_> = meshes
        .iter()
        .map(|(file, report)| json!({ "file": file.path, "users": file.users, "report": report }))
        .collect();
    line(json!({
        "scene": scene.name, "problems": problems, "notes": dry.notes, "size": counts, "meshes": meshes
    }));
}
