//! Files dropped onto the page: kept in a temporary folder while the program runs, and opened as a scene. A dropped scene may
//! use only files that were dropped with it, so that a page on another device reads nothing else of this computer.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::{Mutex, PoisonError};

use glam::DVec3;
use serde_json::Value;
use supple::material::{Preset, presets};
use supple::mesh::check::MeshReport;
use supple::mesh::check::{check_surface, check_tets};
use supple::mesh::format::{self, FORMATS, Mesh};
use supple::scene::{Body, Collider, Method, Scene, Solver};
use supple::simulation::Registry;

/// Maximum size of a file in bytes; larger ones can be opened from the command line.
pub(super) const MAX_FILE_BYTES: usize = 128 << 20;
/// Maximum size of all dropped files.
const MAX_TOTAL_BYTES: u64 = 512 << 20;
/// Maximum number of files that are dropped together.
const MAX_FILES: usize = 64;
/// Maximum length of a file name.
const MAX_NAME_LENGTH: usize = 120;

/// The temporary folder of the dropped files.
#[derive(Default)]
pub(super) struct DroppedFiles(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// Created with the first file.
    folder: Option<tempfile::TempDir>,
    /// The sizes of the files, by drop and name.
    sizes: BTreeMap<(u32, String), u64>,
}

impl DroppedFiles {
    /// Keeps a file; the error says why not.
    pub(super) fn keep(&self, drop: u32, name: &str, bytes: &[u8]) -> Result<(), String> {
        check_name(name)?;
        check_buffers(name, bytes)?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (drop, name.to_owned());
        let others = || kept.sizes.iter().filter(|(known, _)| **known != key);
        let total: u64 = others().map(|(_, size)| size).sum();
        if total + bytes.len() as u64 > MAX_TOTAL_BYTES {
            let most = MAX_TOTAL_BYTES >> 20;
            return Err(format!(
                "more than {most} MB of files were dropped: open `{name}` by `supple view FILE`"
            ));
        }
        if others().filter(|((other, _), _)| *other == drop).count() >= MAX_FILES {
            return Err(format!("at most {MAX_FILES} files can be dropped together"));
        }
        let cannot = |error: std::io::Error| format!("cannot store `{name}` in a temporary folder: {error}");
        if kept.folder.is_none() {
            kept.folder = Some(tempfile::Builder::new().prefix("supple-view-").tempdir().map_err(cannot)?);
        }
        let folder = kept.folder.as_ref().expect("just created").path().join(drop.to_string());
        std::fs::create_dir_all(&folder).map_err(cannot)?;
        std::fs::write(folder.join(name), bytes).map_err(cannot)?;
        kept.sizes.insert(key, bytes.len() as u64);
        Ok(())
    }

    /// The scene of a dropped file: a scene, or a mesh that falls onto a floor.
    pub(super) fn open(&self, drop: u32, name: &str, steppers: &Registry) -> Result<Scene, String> {
        let folder = {
            let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let known = kept.sizes.contains_key(&(drop, name.to_owned()));
            let folder = kept.folder.as_ref().filter(|_| known).map(|folder| folder.path().to_owned());
            folder.ok_or_else(|| format!("`{name}` was not uploaded: drop it again"))?.join(drop.to_string())
        };
        let path = folder.join(name);
        let opened = match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("toml") => scene_of(&path, &folder, steppers),
            _ => mesh_on_a_floor(&path),
        };
        // The temporary folder means nothing to the user.
        opened.map_err(|problem| without_folder(&problem, &folder))
    }

    /// A text with the files of this computer's temporary folder named as the user knows them.
    pub(super) fn without_folders(&self, text: &str) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(folder) = &kept.folder else { return text.to_owned() };
        let drops = kept.sizes.keys().map(|(drop, _)| folder.path().join(drop.to_string()));
        drops.fold(text.to_owned(), |text, drop| without_folder(&text, &drop))
    }

    /// Removes all files.
    pub(super) fn remove(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }
}

fn without_folder(text: &str, folder: &Path) -> String {
    text.replace(&format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR), "")
}

/// A plain name of a file, which cannot leave its folder.
fn check_name(name: &str) -> Result<(), String> {
    let is_plain = Path::new(name).components().count() == 1
        && matches!(Path::new(name).components().next(), Some(Component::Normal(_)));
    if name.is_empty() || name.len() > MAX_NAME_LENGTH {
        Err(format!("a file name must have 1 to {MAX_NAME_LENGTH} bytes: rename the file"))
    } else if !is_plain
        || name.starts_with('.')
        || name.contains(|c: char| c.is_control() || "/\\:".contains(c))
    {
        Err(format!("`{}` is not a plain file name: rename the file", name.escape_debug()))
    } else {
        Ok(())
    }
}

/// A glTF file may take its buffers from files beside it, and from nowhere else.
fn check_buffers(name: &str, bytes: &[u8]) -> Result<(), String> {
    let extension = Path::new(name).extension().unwrap_or_default();
    let json = if extension.eq_ignore_ascii_case("gltf") {
        Some(bytes)
    } else if extension.eq_ignore_ascii_case("glb") {
        // A header of 12 bytes, and the length and kind of the first chunk, which is the JSON.
        let length = bytes.get(12..16).and_then(|length| length.try_into().ok()).map(u32::from_le_bytes);
        length.and_then(|length| bytes.get(20..)?.get(..length as usize))
    } else {
        return Ok(());
    };
    let document: Option<Value> = json.and_then(|json| serde_json::from_slice(json).ok());
    let document = document.ok_or_else(|| format!("`{name}` is not a glTF file: export it again"))?;
    let buffers = document["buffers"].as_array().into_iter().flatten();
    for uri in buffers.filter_map(|buffer| buffer["uri"].as_str()) {
        let leaves = ["/", "\\", "%2f", "%5c"].iter().any(|sign| uri.to_lowercase().contains(sign));
        if leaves && !uri.starts_with("data:") {
            return Err(format!(
                "`{name}` takes a buffer from another folder (`{}`): save it with its buffers, as .glb",
                uri.escape_debug()
            ));
        }
    }
    Ok(())
}

/// A dropped scene; files that it names by a path are those of the same name dropped with it.
fn scene_of(path: &Path, folder: &Path, steppers: &Registry) -> Result<Scene, String> {
    let source = path.to_str().ok_or("the temporary folder has a name that is not Unicode")?;
    let mut scene = steppers.scene_reader().find(source).map_err(|error| error.to_string())?;
    scene.resolve_paths();
    let mut missing = Vec::new();
    scene.for_each_file(|file| {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        *file = folder.join(&name);
        if !file.is_file() && !missing.contains(&name) {
            missing.push(name);
        }
    });
    if missing.is_empty() {
        return Ok(scene);
    }
    let missing: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
    Err(format!("the scene uses {}: drop the scene and its files together", missing.join(", ")))
}

/// The size in metres that a mesh gets if its own is outside of [`SIZES`].
const WANTED_SIZE: f64 = 1.0;
/// Sizes in metres that are taken as they are.
const SIZES: std::ops::RangeInclusive<f64> = 0.05..=5.0;
/// Cells along the longest side of a solid.
const CELLS: f64 = 16.0;

/// A mesh alone falls onto a floor: closed ones as soft solids, others as cloth.
fn mesh_on_a_floor(path: &Path) -> Result<Scene, String> {
    if !format::is_known(path) {
        return Err(format!(
            "{} is neither a scene (.toml) nor a mesh ({})",
            path.display(),
            format::extensions(&FORMATS)
        ));
    }
    let loaded = format::load(path).map_err(|error| error.to_string())?;
    let (report, is_tets) = match &loaded.mesh {
        Mesh::Surface(surface) => (check_surface(surface), false),
        Mesh::Tets(tets) => (check_tets(tets), true),
    };
    let name = path.file_stem().map_or_else(|| "mesh".into(), |stem| stem.to_string_lossy());
    let (scale, unit) = scale_of(&report);
    let [low, high] = report.bounds.ok_or_else(|| format!("{} has no vertices", path.display()))?;
    let size = scale * report.size;
    let middle = 0.5 * scale * (low + high);
    let mut body = Body::file("mesh", path);
    body.shape.scale = scale;
    body.transform.translate = DVec3::new(-middle.x, 0.3 * size - scale * low.y, -middle.z);
    let mut solver = Solver::default();
    let kind = if is_tets {
        body = body.material(softest_solid(size));
        "a soft solid"
    } else if report.closed {
        body = body.material(softest_solid(size)).solid(size / CELLS);
        solver.method = Method::OCTREE;
        "a soft solid"
    } else {
        body.self_contact = Some(true);
        "cloth"
    };
    let mut scene = Scene::builder()
        .name(name.as_ref())
        .folder(path.parent().unwrap_or(Path::new("")))
        .body(body)
        .collider(Collider::plane("floor", DVec3::ZERO, DVec3::Y))
        .solver(solver)
        .build()
        .map_err(|error| error.to_string())?;
    scene.description = format!("{name} falls onto a floor as {kind}{unit}");
    Ok(scene)
}

/// A solid keeps its shape if its stiffness is at least this many times the pressure of its own weight.
const STIFFNESS_OVER_WEIGHT: f64 = 5.0;

/// The material that yields most to its own weight in a solid of this size in metres, yet keeps its shape.
fn softest_solid(size: f64) -> &'static str {
    let over_weight = |preset: &&Preset| {
        let material = preset.material();
        material.young_modulus / (material.density * 9.81 * size)
    };
    let mut solids: Vec<&Preset> = presets().iter().filter(|preset| !preset.is_fabric()).collect();
    solids.sort_by(|a, b| over_weight(a).total_cmp(&over_weight(b)));
    let softest = solids.iter().find(|preset| over_weight(preset) >= STIFFNESS_OVER_WEIGHT);
    softest.or(solids.last()).map_or("rubber", |preset| preset.name)
}

/// Metres per unit of a mesh, and what to say about it.
fn scale_of(report: &MeshReport) -> (f64, String) {
    if SIZES.contains(&report.size) || !(report.size.is_finite() && report.size > 0.0) {
        return (1.0, String::new());
    }
    // A unit is a power of ten.
    let scale = 10f64.powf((WANTED_SIZE / report.size).log10().round());
    (
        scale,
        format!(
            "; its largest side is {:.3} units, taken as {:.3} m (scale = {scale})",
            report.size,
            scale * report.size
        ),
    )
}

#[cfg(test)]
mod tests {
    use supple::material::MaterialSpec;
    use supple::simulation::Simulation;

    use super::*;

    const SHEET: &str = "v 0 0 0\nv 100 0 0\nv 100 0 100\nv 0 0 100\nf 4 3 2 1\n";
    const TETRAHEDRON: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

    #[test]
    fn a_mesh_falls_onto_a_floor_in_a_plausible_size() {
        let files = DroppedFiles::default();
        files.keep(1, "sheet.obj", SHEET.as_bytes()).unwrap();
        files.keep(2, "solid.obj", TETRAHEDRON.as_bytes()).unwrap();
        let steppers = Registry::builtin();
        let sheet = files.open(1, "sheet.obj", &steppers).unwrap();
        assert_eq!((sheet.bodies[0].shape.scale, sheet.bodies[0].self_contact), (0.01, Some(true)));
        assert!(sheet.description.contains("scale = 0.01"), "{}", sheet.description);
        let solid = files.open(2, "solid.obj", &steppers).unwrap();
        assert!(solid.bodies[0].cell.is_some());
        for scene in [sheet, solid] {
            let mut simulation = Simulation::new(scene).unwrap();
            let lowest = |simulation: &Simulation| {
                simulation.positions().iter().map(|p| p.y).fold(f64::INFINITY, f64::min)
            };
            let before = lowest(&simulation);
            assert!(before > 0.0);
            for _ in 0..3 {
                simulation.step(1.0 / 30.0).unwrap();
            }
            assert!(lowest(&simulation) < before);
        }
    }

    #[test]
    fn solids_of_any_size_yield_to_their_weight_and_keep_their_shape() {
        let over_weight = |size: f64| {
            let material = MaterialSpec::preset(softest_solid(size)).resolve().unwrap();
            material.young_modulus / (material.density * 9.81 * size)
        };
        // Presets are at most this far apart.
        let jump = 15.0;
        for size in [0.1, 0.3, 1.0, 3.0, 5.0] {
            let found = over_weight(size);
            assert!(
                (STIFFNESS_OVER_WEIGHT..=jump * STIFFNESS_OVER_WEIGHT).contains(&found),
                "{size}: {found}"
            );
        }
    }

    #[test]
    fn a_scene_uses_only_what_was_dropped_with_it() {
        let files = DroppedFiles::default();
        let steppers = Registry::builtin();
        let scene =
            "[[body]]\nname = \"sheet\"\nshape = { file = \"/home/somebody/sheet.obj\", scale = 0.01 }\n";
        files.keep(1, "scene.toml", scene.as_bytes()).unwrap();
        let problem = files.open(1, "scene.toml", &steppers).unwrap_err();
        assert!(problem.contains("`sheet.obj`") && problem.contains("together"), "{problem}");
        files.keep(1, "sheet.obj", SHEET.as_bytes()).unwrap();
        let opened = files.open(1, "scene.toml", &steppers).unwrap();
        Simulation::new(opened.clone()).unwrap();
        let saved = files.without_folders(&opened.to_toml().unwrap());
        assert!(saved.contains("file = \"sheet.obj\""), "{saved}");
        // The same name in another drop is another file.
        files.keep(2, "scene.toml", scene.as_bytes()).unwrap();
        assert!(files.open(2, "scene.toml", &steppers).is_err());
    }

    #[test]
    fn a_gltf_file_reads_no_buffers_from_other_folders() {
        let files = DroppedFiles::default();
        let gltf = |uri: &str| format!("{{\"buffers\": [{{\"byteLength\": 4, \"uri\": \"{uri}\"}}]}}");
        for uri in ["../a.bin", "\\u002e./a.bin", "%2e%2e%2Fa.bin", "x/../../a.bin", "..\\\\a.bin"] {
            assert!(files.keep(1, "a.gltf", gltf(uri).as_bytes()).is_err(), "{uri}");
            let json = gltf(uri);
            let mut glb = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
            glb.extend((json.len() as u32).to_le_bytes());
            glb.extend(b"JSON");
            glb.extend(json.bytes());
            assert!(files.keep(1, "a.GLB", &glb).is_err(), "{uri}");
        }
        for uri in ["a.bin", "my%20a.bin", "data:application/octet-stream;base64,AA/A"] {
            assert!(files.keep(1, "a.gltf", gltf(uri).as_bytes()).is_ok(), "{uri}");
        }
        assert!(files.keep(1, "a.glb", b"glTF").is_err() && files.keep(1, "a.gltf", b"{").is_err());
    }

    #[test]
    fn bad_files_are_refused_by_name_and_without_the_temporary_folder() {
        let (files, steppers) = (DroppedFiles::default(), Registry::builtin());
        for name in
            ["", ".", "..", "../x.obj", "a/b.obj", "/etc/passwd", "a\\b.obj", ".hidden", "a\nb", "c:x.obj"]
        {
            assert!(files.keep(1, name, b"v").is_err(), "{name:?}");
        }
        assert!(files.keep(1, &"x".repeat(200), b"v").is_err());
        for (name, text, words) in [
            ("bad.obj", "v 1 2\n", "bad.obj"),
            ("empty.stl", "", "empty"),
            ("bad.toml", "[[bodyy]]\n", "bodyy"),
            ("notes.txt", "hello", "neither a scene"),
        ] {
            files.keep(1, name, text.as_bytes()).unwrap();
            let problem = files.open(1, name, &steppers).unwrap_err();
            assert!(problem.contains(words) && !problem.contains("supple-view-"), "{name}: {problem}");
        }
        assert!(files.open(1, "never.obj", &steppers).is_err());
        let too_many = (0..=MAX_FILES).map(|k| files.keep(9, &format!("{k}.obj"), b"v")).find(Result::is_err);
        assert!(too_many.unwrap().unwrap_err().contains("at most"));
    }
}
