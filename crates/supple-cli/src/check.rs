//! `supple check`: a mesh or a scene.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use supple::mesh::check::{Severity, check_surface, check_tets};
use supple::mesh::format::{self, Mesh};
use supple::scene::Scene;
use supple::simulation::Simulation;

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
    let report = match &loaded.mesh {
        Mesh::Surface(surface) => check_surface(surface),
        Mesh::Tets(tets) => check_tets(tets),
    };
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

/// Everything that `run` would refuse: the words, the files, the meshes, the selections.
fn check_scene(source: &str, common: &Common) -> Result<ExitCode, Failure> {
    let scene = Scene::find(source).map_err(Failure::usage)?;
    let mut problems: Vec<String> = scene.check().iter().map(|problem| problem.error.to_string()).collect();
    let mut notes = Vec::new();
    let mut size = None;
    if problems.is_empty() {
        match Simulation::new(scene.clone()) {
            Ok(simulation) => {
                notes = simulation.notes();
                size = Some(simulation.counts());
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    if common.json {
        let counts =
            size.map(|s| json!({ "vertices": s.vertices, "elements": s.elements, "unknowns": s.unknowns }));
        line(json!({ "scene": scene.name, "problems": problems, "notes": notes, "size": counts }));
    } else {
        notes.iter().for_each(|note| line(format!("note: {note}")));
        problems.iter().for_each(line);
        if let Some(size) = size {
            line(format!(
                "{}: {} vertices, {} elements, can be run",
                scene.name, size.vertices, size.elements
            ));
        }
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}
