//! `supple check`: a mesh, a scene, or the frames of a run.

use std::path::Path;
use std::process::ExitCode;

use glam::DVec3;
use serde_json::json;
use supple::FileError;
use supple::contact::{InsideCheck, Surfaces};
use supple::linear::Simd;
use supple::mesh::check::{MeshReport, Severity, check_surface, check_tets};
use supple::mesh::format::{self, Mesh};
use supple::output::FrameCache;
use supple::scene::{MeshFile, Method, Scene};
use supple::simulation::{DryRun, Simulation, scene_of_run_with};
use supple::solvers::octree::{self, SelfCollisionModel};

use crate::alive;
use crate::arguments::Common;
use crate::collider_crossings::CollidersOfRun;
use crate::failure::Failure;
use crate::print::line;

/// Checks what `path` names: a run if it is a folder, a scene if it ends in `.toml` or is a built-in name, else a mesh.
pub(crate) fn check(path: &Path, common: &Common) -> Result<ExitCode, Failure> {
    let is_scene_file = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    if path.is_dir() {
        check_run(path, common)
    } else if is_scene_file || (path.extension().is_none() && !path.exists()) {
        check_scene(&path.to_string_lossy(), common)
    } else {
        check_mesh(path, common)
    }
}

/// Frames for which a vertex may be inside another body part when penetrations are resolved gradually.
const FRAMES_INSIDE: u32 = 3;

/// Checks every frame of a run for intersecting triangles where contact should keep them apart, for vertices of
/// solids that stay inside another body part, and for what crosses or is inside hard colliders.
fn check_run(folder: &Path, common: &Common) -> Result<ExitCode, Failure> {
    let cache = FrameCache::open(folder).map_err(Failure::usage)?;
    let simulation = simulation_of_run(folder, common)?;
    let scene_state = simulation.scene_state();
    let surfaces = scene_state.surfaces();
    let mut stays = PenetrationDuration::new(scene_state.inside_check(), surfaces.start.len());
    let mut colliders = CollidersOfRun::new(folder, scene_state)?;
    let (mut frames, mut bad) = (0, 0);
    for index in cache.frames().map_err(Failure::usage)? {
        alive::now_at(|| format!("checking frame {index} of {}", folder.display()));
        let at = frame_positions(&cache, index, surfaces.start.len())?;
        let crossings = surfaces.crossings(&at);
        frames += 1;
        let in_colliders = colliders.look(index, &at)?;
        bad += u32::from(!crossings.is_empty() || !in_colliders.is_empty());
        let inside = stays.look(index, &at);
        report_frame(index, &crossings, inside, &surfaces, common);
        in_colliders.iter().for_each(|found| colliders.report(index, found, common));
    }
    let pushed_back = scene_state.solver.method == Method::OCTREE
        && scene_state.solver.options.get::<octree::OctreeOptions>().self_collision
            == SelfCollisionModel::Intersection;
    let fine =
        if pushed_back { stays.longest <= FRAMES_INSIDE && colliders.bad_frames == 0 } else { bad == 0 };
    let skipped = colliders.not_checked();
    let triangles = surfaces.triangles.len();
    if common.json {
        line(json!({ "summary": { "frames": frames, "triangles": triangles, "frames_with_crossings": bad,
            "longest_inside": stays.longest, "colliders": colliders.check.colliders(), "pairs": colliders.pairs(),
            "frames_with_crossed_colliders": colliders.bad_frames, "not_checked": skipped } }));
    } else if bad == 0 && stays.longest == 0 {
        line(format!(
            "{frames} frames of {triangles} triangles in contact, and {}: no intersections",
            colliders.checked()
        ));
    } else {
        line(format!("{bad} of {frames} frames have intersecting triangles"));
        line(stays.to_string());
        line(format!(
            "{} of {frames} frames have bodies that cross {}",
            colliders.bad_frames,
            colliders.checked()
        ));
    }
    if !common.json && !skipped.is_empty() {
        line(format!("not checked: {}", skipped.join("; ")));
    }
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The simulation of a run, at its start.
fn simulation_of_run(folder: &Path, common: &Common) -> Result<Simulation, Failure> {
    let scene = scene_of_run_with(folder, &common.steppers).map_err(Failure::usage)?;
    Simulation::with_steppers(scene, Simd::Auto, &common.steppers).map_err(Failure::of)
}

/// The positions of all vertices in a frame.
fn frame_positions(cache: &FrameCache, index: u32, expected: usize) -> Result<Vec<DVec3>, Failure> {
    let frame = cache.read(index).map_err(Failure::usage)?;
    let at: Vec<DVec3> = frame.bodies.iter().flat_map(|b| b.positions.iter().map(|p| p.as_dvec3())).collect();
    if at.len() == expected {
        return Ok(at);
    }
    let problem = format!("has {} vertices, but the scene in its folder has {expected}", at.len());
    Err(Failure::usage(FileError::whole(&cache.frame_path(index), problem)))
}

fn report_frame(index: u32, crossings: &[[u32; 2]], inside: usize, surfaces: &Surfaces, common: &Common) {
    if crossings.is_empty() && inside == 0 {
        return;
    }
    let count = crossings.len();
    if common.json {
        line(json!({ "frame": index, "crossings": count, "inside": inside }));
        return;
    }
    let first = crossings.first().map_or_else(String::new, |first| {
        let [a, b] = first.map(|t| surfaces.triangles[t as usize]);
        format!(", the first at vertices {a:?} and {b:?}")
    });
    line(format!(
        "frame {index}: {count} pairs of triangles intersect{first}; {inside} vertices are inside another part"
    ));
}

/// Tracks how long vertices stay inside another body part.
struct PenetrationDuration {
    check: InsideCheck,
    /// Per vertex, the number of consecutive frames up to the latest one.
    since: Vec<u32>,
    longest: u32,
    /// The vertex that stays longest, and the last frame of that period.
    worst: (usize, u32),
}

impl PenetrationDuration {
    fn new(check: InsideCheck, vertices: usize) -> Self {
        Self { check, since: vec![0; vertices], longest: 0, worst: (0, 0) }
    }

    /// Adds a frame; returns how many of its vertices are inside.
    fn look(&mut self, index: u32, at: &[DVec3]) -> usize {
        let found = self.check.find(at);
        let mut is_inside = vec![false; at.len()];
        found.iter().for_each(|&v| is_inside[v as usize] = true);
        for (v, (since, inside)) in self.since.iter_mut().zip(is_inside).enumerate() {
            *since = if inside { *since + 1 } else { 0 };
            if *since > self.longest {
                (self.longest, self.worst) = (*since, (v, index));
            }
        }
        found.len()
    }
}

impl std::fmt::Display for PenetrationDuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.longest {
            0 => write!(f, "no vertex is inside another part"),
            longest => {
                let (vertex, frame) = self.worst;
                write!(
                    f,
                    "longest inside another part: vertex {vertex}, for {longest} consecutive frames (last: {frame})"
                )
            }
        }
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

/// Checks everything that `run` would reject (keys, files, meshes, selections), and lists defects of the meshes. Mesh
/// defects alone are not a failure: a defective mesh may still be simulated.
fn check_scene(source: &str, common: &Common) -> Result<ExitCode, Failure> {
    let (scene, complaints) = common.steppers.scene_reader().find_leniently(source);
    let Some(scene) = scene else {
        let all: Vec<String> = complaints.iter().map(ToString::to_string).collect();
        return Err(Failure::usage(anyhow::anyhow!(all.join("\n"))));
    };
    let meshes: Vec<(MeshFile, MeshReport)> = scene.mesh_files().into_iter().filter_map(checked).collect();
    let mut dry = DryRun::with_steppers(&scene, &common.steppers);
    if !complaints.is_empty() {
        dry.counts = None;
        dry.problems.splice(..0, complaints);
    }
    // Problems already listed in the mesh reports are not repeated.
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

/// The report on a scene's mesh at its size in the scene; unreadable files are listed with the scene's problems.
fn checked(file: MeshFile) -> Option<(MeshFile, MeshReport)> {
    let mut mesh = format::load_object(&file.path, file.object.as_deref()).ok()?.mesh;
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
