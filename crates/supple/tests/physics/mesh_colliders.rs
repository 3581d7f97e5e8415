//! Colliders that are meshes: their unit, axes and place, one object of a file, and what moves their vertices.

use std::fmt::Write;
use std::path::Path;

use crossing_audit::audit::Audit;
use crossing_audit::record;
use glam::{DVec3, dvec3};
use supple::contact::ColliderMeshes;
use supple::linear::Simd;
use supple::scene::{Collider, MeshShape, Scene};
use supple::simulation::{DryRun, Simulation};

use crate::skinned_bar::{save_bar, skinned};

/// A square, then a triangle a metre to the right, as two objects of a file.
const TWO_OBJECTS: &str = "o square\nv 0 0 0\nv 0 0 1\nv 1 0 1\nv 1 0 0\nf 1 2 3 4\n\
    o wedge\nv 2 0 0\nv 2 0 1\nv 3 0.5 0\nf 5 6 7\n";

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), bytes).unwrap();
}

/// The vertices of a mesh collider at a time, in a scene of ten frames per second.
fn vertices(folder: &Path, mesh: &MeshShape, time: f64) -> Vec<DVec3> {
    of_collider(folder, &Collider::mesh("thing", mesh.clone()), time)
}

fn of_collider(folder: &Path, collider: &Collider, time: f64) -> Vec<DVec3> {
    let mut meshes = ColliderMeshes::new(10.0);
    meshes.load(collider, folder, 0.0).unwrap();
    meshes.surface(collider, time).unwrap().unwrap().0
}

fn refused(folder: &Path, shape: &str) -> String {
    let text = format!(
        "[time]\nfps = 10\nframes = 2\n[[body]]\nname = \"sheet\"\nshape = {{ grid = {{ size = [1, 1], vertices = [3, 3] }} }}\n\
         transform = {{ translate = [0, 9, 0] }}\n[[collider]]\nname = \"thing\"\n{shape}\n"
    );
    match Scene::from_toml(&text, "scene", folder) {
        Ok(scene) => DryRun::of(&scene).problems.iter().map(|problem| format!("{problem}\n")).collect(),
        Err(error) => error.to_string(),
    }
}

fn distance(a: &[DVec3], b: &[DVec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

#[test]
fn a_mesh_collider_is_placed_as_the_shape_of_a_body_is() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "two.obj", TWO_OBJECTS);
    for object in ["", "object = \"wedge\", "] {
        let text = format!(
            "[[body]]\nname = \"body\"\nshape = {{ file = \"two.obj\", {object}scale = 0.01, up = \"z\" }}\n\
             transform = {{ translate = [1, 2, 3], rotate = [0, 90, 10], scale = 2 }}\n\
             [[collider]]\nname = \"thing\"\nshape = {{ mesh = \"two.obj\", {object}scale = 0.01, up = \"z\" }}\n\
             transform = {{ translate = [1, 2, 3], rotate = [0, 90, 10], scale = 2 }}\n"
        );
        let scene = Scene::from_toml(&text, "scene", folder.path()).unwrap();
        let simulation = Simulation::new(scene.clone()).unwrap();
        let body: Vec<DVec3> = simulation.positions().to_vec();
        assert_eq!(body.len(), if object.is_empty() { 7 } else { 3 });
        assert!(distance(&body, &of_collider(folder.path(), &scene.colliders[0], 0.0)) < 1e-12);
        assert_eq!(scene.mesh_files().len(), 1, "body and collider use the same mesh at the same size");
    }
}

#[test]
fn an_unknown_object_is_named_with_those_that_the_file_has() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "two.obj", TWO_OBJECTS);
    save_bar(folder.path(), |document| document["meshes"][0]["name"] = "beam".into());
    for (shape, parts) in [
        (
            "shape = { mesh = \"two.obj\", object = \"wegde\" }",
            &["`wegde`", "did you mean `wedge`", "`square`"][..],
        ),
        ("shape = { mesh = \"bar.glb\", object = \"rod\" }", &["`rod`", "`beam`"]),
        ("shape = { mesh = \"two.obj\", scale = 0 }", &["`scale` is 0", "above 0"]),
        ("shape = { mesh = \"two.obj\", loop = true }", &["two.obj does not move", "leave out `loop`"]),
        ("shape = { mesh = \"two.obj\", skin = true }", &["two.obj", ".glb or .gltf"]),
        ("shape = { mesh = \"two.obj\", cache = \"two.pc2\" }", &["two.pc2", "there is no file"]),
        ("shape = { mesh = \"two.obj\", blend_in = 1 }", &["`blend_in`", "`skin = true`"]),
        ("shape = { mesh = \"bar.glb\", animation = \"run\" }", &["`run`", "available: `bend`"]),
        (
            "shape = { sphere = { center = [0, 0, 0], radius = 1 }, scale = 2 }",
            &["`scale`", "belongs to `mesh`"],
        ),
        ("shape = { scale = 2 }", &["exactly one of the keys", "`mesh`"]),
        (
            "shape = { sphere = { center = [0, 0, 0], radius = 1 } }\ntransform = { scale = 2 }",
            &["`transform` places a `mesh`"],
        ),
    ] {
        let problem = refused(folder.path(), shape);
        assert!(parts.iter().all(|part| problem.contains(part)), "{shape}: {problem}");
    }
    assert_eq!(refused(folder.path(), "shape = { mesh = \"bar.glb\", object = \"beam\", skin = true }"), "");
}

#[test]
fn a_mesh_follows_its_skin_at_any_time() {
    let folder = tempfile::tempdir().unwrap();
    save_bar(folder.path(), |_| {});
    let modelled = vertices(folder.path(), &MeshShape::new("bar.glb"), 0.0);
    let bar = MeshShape::new("bar.glb").following_skin();
    for time in [0.0, 0.033, 0.1, 1.234, 2.0, 7.0] {
        let expected: Vec<DVec3> = modelled.iter().map(|p| 0.01 * skinned(*p, time)).collect();
        let found = vertices(folder.path(), &bar.clone().scaled(0.01), time);
        assert!(distance(&found, &expected) < 1e-8, "at {time} s");
    }
    let mut slow = bar;
    slow.blend_in = Some(1.0);
    assert!(distance(&vertices(folder.path(), &slow, 0.0), &modelled) < 1e-12);
    let expected: Vec<DVec3> = modelled.iter().map(|p| skinned(*p, 1.5)).collect();
    assert!(distance(&vertices(folder.path(), &slow, 1.5), &expected) < 1e-6);
}

/// Files of a triangle that is raised to these heights.
fn save_heights(folder: &Path, heights: &[f64]) {
    for (k, y) in heights.iter().enumerate() {
        write(folder, &format!("up_{k:02}.obj"), format!("v 0 {y} 0\nv 0 {y} 1\nv 1 {y} 0\nf 1 2 3\n"));
    }
}

#[test]
fn what_repeats_closes_continues_straight_or_jumps() {
    /// Heights of the frames, then pairs of a time in frames and the height there.
    type Case<'a> = (&'a [f64], &'a [(f64, f64)]);
    let cases: [Case<'_>; 3] = [
        // The last frame is the first one, up to a little that is spread over all frames.
        (
            &[0.0, 1.0, 2.0, 1.0, 0.04],
            &[(0.5, 0.495), (2.0, 1.98), (3.999, 0.00097), (4.0, 0.0), (9.0, 0.99)],
        ),
        // The last frame is the one before the first.
        (&[0.0, 1.0, 2.0, 1.0], &[(3.0, 1.0), (3.5, 0.5), (4.0, 0.0), (8.5, 0.5)]),
        (&[0.0, 1.0, 2.0, 3.0], &[(2.5, 2.5), (2.999, 2.999), (3.0, 0.0), (7.0, 1.0)]),
    ];
    for (heights, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        save_heights(folder.path(), heights);
        let mesh = MeshShape::new("up_##.obj").repeated();
        for (frames, height) in expected {
            let found = vertices(folder.path(), &mesh, 0.1 * frames)[0].y;
            assert!((found - height).abs() < 1e-9, "{heights:?} after {frames} frames: {found}");
        }
    }
}

#[test]
fn a_point_cache_moves_the_vertices_of_a_mesh() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "two.obj", TWO_OBJECTS);
    let mut bytes = b"POINTCACHE2\0".to_vec();
    [1_i32, 7].into_iter().for_each(|n| bytes.extend(n.to_le_bytes()));
    [0_f32, 2.0].into_iter().for_each(|n| bytes.extend(n.to_le_bytes()));
    bytes.extend(2_i32.to_le_bytes());
    let rest = vertices(folder.path(), &MeshShape::new("two.obj"), 0.0);
    for lift in [0.0, 3.0] {
        let moved = rest.iter().map(|p| *p + dvec3(0.0, 0.0, lift));
        moved.flat_map(|p| p.as_vec3().to_array()).for_each(|n| bytes.extend(n.to_le_bytes()));
    }
    write(folder.path(), "two.pc2", &bytes);
    // Two frames of a tenth of a second per sample; what is up in the file, along z, is up in the world.
    let mesh = MeshShape::new("two.obj").z_up().cached("two.pc2");
    let found = vertices(folder.path(), &mesh, 0.1);
    let expected: Vec<DVec3> = rest.iter().map(|p| dvec3(p.x, p.z + 1.5, -p.y)).collect();
    assert!(distance(&found, &expected) < 1e-6);
    let problem =
        refused(folder.path(), "shape = { mesh = \"two.obj\", object = \"wedge\", cache = \"two.pc2\" }");
    assert!(problem.contains("has 7 points") && problem.contains("has 3 vertices"), "{problem}");
}

/// A sheet that lies across the way of the bar, or in it.
fn swept_sheet(height: f64, shape: &str) -> String {
    let mut text = String::from("[time]\nfps = 30\nframes = 60\n[world]\ngravity = [0, 0, 0]\n");
    write!(
        text,
        "[[body]]\nname = \"sheet\"\nshape = {{ grid = {{ size = [0.6, 0.6], vertices = [9, 9] }} }}\n\
         transform = {{ translate = [1.9, {height}, 0] }}\n[[collider]]\nname = \"bar\"\nshape = {shape}\n"
    )
    .unwrap();
    text
}

#[test]
fn a_limb_sweeps_a_sheet_along_and_nothing_passes() {
    let folder = tempfile::tempdir().unwrap();
    save_bar(folder.path(), |_| {});
    let text = swept_sheet(0.4, "{ mesh = \"bar.glb\", skin = true }");
    let scene = Scene::from_toml(&text, "scene", folder.path()).unwrap();
    let mut simulation = Simulation::with_simd(scene.clone(), Simd::Auto).unwrap();
    simulation.record_states(true);
    let mut audit = Audit::default();
    for frame in 1..=12 {
        simulation.step_frame(&scene.time, frame).unwrap();
        audit.frame(&record::read(&simulation.take_states(frame).unwrap()).unwrap());
    }
    assert!(audit.findings.is_clean(1e-6), "{:#?}", audit.findings);
    let mean = simulation.positions().iter().map(|p| p.y).sum::<f64>() / 81.0;
    assert!(mean > 0.45, "the limb has carried the sheet along: {mean}");
}

#[test]
fn pins_do_not_follow_an_animation_that_jumps() {
    let folder = tempfile::tempdir().unwrap();
    save_bar(folder.path(), |_| {});
    for follows in ["gltf-skin = \"bar.glb\", loop = true", "collider = \"bar\""] {
        let mut text = swept_sheet(2.0, "{ mesh = \"bar.glb\", animation = \"bend\", loop = true }");
        write!(text, "[[pin]]\nbody = \"sheet\"\nselection = \"all\"\nfollows = {{ {follows} }}\n").unwrap();
        let scene = Scene::from_toml(&text, "scene", folder.path()).unwrap();
        let problems: String = DryRun::of(&scene).problems.iter().map(ToString::to_string).collect();
        assert!(problems.contains("jumps where it repeats"), "{follows}: {problems}");
    }
}

#[test]
fn a_seam_that_jumps_sweeps_nothing_on_its_way() {
    let folder = tempfile::tempdir().unwrap();
    // A plate passes below a sheet, beside it and above it, and jumps back through it.
    let way = (0..8).map(|k| [f64::from(k), 0.0]).chain((0..4).map(|k| [8.0, f64::from(k)]));
    for (k, [x, y]) in way.chain((0..9).rev().map(|k| [f64::from(k), 4.0])).enumerate() {
        let [x, y] = [0.25 * x, 0.25 * y];
        let square = format!("v {x} {y} 0\nv {x} {y} 1\nv {0} {y} 1\nv {0} {y} 0\nf 1 2 3 4\n", x + 1.0);
        write(folder.path(), &format!("plate_{k:02}.obj"), square);
    }
    let shape = "{ mesh = \"plate_##.obj\", loop = true }\ntransform = { translate = [-0.5, 0, -0.5] }";
    let text = swept_sheet(0.5, shape)
        .replace("translate = [1.9,", "translate = [0,")
        .replace("fps = 30", "fps = 10");
    let mut simulation = Simulation::new(Scene::from_toml(&text, "scene", folder.path()).unwrap()).unwrap();
    let start = simulation.positions().to_vec();
    for _ in 0..23 {
        simulation.step(0.1).unwrap();
    }
    assert!(distance(&start, simulation.positions()) < 1e-9);
    let plate = of_collider(folder.path(), &simulation.scene_state().colliders[0].1, 2.0)[0];
    assert!(plate.distance(dvec3(-0.5, 0.0, -0.5)) < 1e-9, "{plate}");
}
