//! A mesh file in place of a scene: it is dropped on a floor, as cotton, or as gelatin if it has tetrahedra.

use std::path::Path;

use supple::mesh::check::size_finding;
use supple::mesh::format::{self, Mesh, MeshFormat};
use supple::scene::Scene;

use crate::arguments::Common;
use crate::failure::Failure;
use crate::print::notice;

/// How high its lowest point is at the start, as a fraction of its largest side.
const HEIGHT: f64 = 0.2;

/// Whether a name is that of a mesh file.
pub(crate) fn is_mesh(source: &str) -> bool {
    MeshFormat::of(Path::new(source)).is_some()
}

/// The scene in which a mesh file falls, with changes by `--set`.
pub(crate) fn scene_of(source: &str, sets: &[String], common: &Common) -> Result<Scene, Failure> {
    let path = Path::new(source);
    let loaded = format::load(path).map_err(Failure::usage)?;
    let name = body_name(path);
    let file = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let text = scene_text(&name, &file, &loaded.mesh);
    let reader = common.steppers.scene_reader().sets(sets);
    let mut scene = reader.text(&text, &name, "").map_err(Failure::usage)?;
    lift(&mut scene, &loaded.mesh);
    if !common.quiet {
        announce(&scene, &name);
    }
    Ok(scene)
}

/// The name of the body: that of the file, if it can be part of a path for `--set`.
fn body_name(path: &Path) -> String {
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !stem.is_empty() && stem.chars().all(is_plain) && stem != "floor" {
        true => stem,
        false => "mesh".to_owned(),
    }
}

fn scene_text(name: &str, file: &Path, mesh: &Mesh) -> String {
    // Strings of JSON are strings of TOML.
    let file = serde_json::Value::from(file.to_string_lossy()).to_string();
    let kind = match mesh {
        Mesh::Surface(_) => "material = \"cotton\"\nself_contact = true",
        Mesh::Tets(_) => "material = \"gelatin\"\nmodel = \"corotated\"",
    };
    format!(
        "description = \"A mesh that falls on a floor\"\n[[body]]\nname = \"{name}\"\nshape = {{ file = {file} }}\n{kind}\n\
         [[collider]]\nname = \"floor\"\nshape = {{ plane = {{ normal = [0, 1, 0] }} }}\n"
    )
}

/// Places the body above the floor, unless `--set` has placed it.
fn lift(scene: &mut Scene, mesh: &Mesh) {
    let Some(body) = scene.bodies.first_mut().filter(|body| body.transform.translate == glam::DVec3::ZERO)
    else {
        return;
    };
    let to_metres = body.shape.to_metres();
    let positions = match mesh {
        Mesh::Surface(surface) => &surface.positions,
        Mesh::Tets(tets) => &tets.positions,
    };
    let at = positions.iter().map(|p| body.transform.apply(to_metres * *p)).filter(|p| p.is_finite());
    let Some((low, high)) = at.map(|p| (p, p)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return };
    let middle = 0.5 * (low + high);
    let lift = HEIGHT * (high - low).max_element() - low.y;
    body.transform.translate = glam::DVec3::new(-middle.x, lift, -middle.z);
}

/// Says what was made of the mesh, and what its size suggests.
fn announce(scene: &Scene, name: &str) {
    let Some(body) = scene.bodies.first() else { return };
    let material = body.material.preset.as_deref().unwrap_or("cotton");
    notice(format_args!(
        "`{name}` is {material} and falls on a floor; `--set body.{name}.material=silk` and the like change it"
    ));
    let as_given = scene.mesh_files().into_iter().filter(|file| file.path.is_file());
    for file in as_given {
        if let Some(note) = size_note(&file.path, &file.to_metres) {
            notice(format_args!("note: {note}; here by `--set body.{name}.shape.scale=…`"));
        }
    }
}

fn size_note(path: &Path, to_metres: &glam::DMat3) -> Option<String> {
    let (surface, _) = format::load_surface(path).ok()?;
    let (low, high) = surface.bounds()?;
    let size = to_metres.determinant().cbrt() * (high - low).max_element();
    size_finding(size).map(|finding| finding.message)
}
