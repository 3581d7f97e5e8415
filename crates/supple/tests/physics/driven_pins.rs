//! Pins that follow a skinned character, a sequence of meshes or a collider: at the positions given by geometry, in every family
//! of solvers, and bit-identical after a restored state.

use std::f64::consts::FRAC_PI_4;
use std::fmt::Write;
use std::path::Path;

use glam::{DQuat, DVec3};
use serde_json::json;
use supple::scene::{Follow, Keyframe, Mode, Motion, Scene};
use supple::simulation::{DryRun, Simulation};

use crate::skinned_bar::{bar, save_bar, skinned};

fn scene(folder: &Path, text: &str) -> Scene {
    let text = format!("[time]\nfps = 10\nframes = 2\n[world]\ngravity = [0, 0, 0]\n{text}");
    Scene::from_toml(&text, "led", folder).unwrap()
}

/// A body of the bar with a pin on all of it, or on the selection of `pin`.
fn driven_bar(folder: &Path, [body, pin, solver]: [&str; 3]) -> Scene {
    scene(
        folder,
        &format!(
            "[[body]]\nname = \"bar\"\nshape = {{ file = \"bar.glb\" }}\n{body}\n\
             [[pin]]\nbody = \"bar\"\nfollows = {{ gltf-skin = \"bar.glb\" }}\n{pin}\n\
             [solver]\nmethod = \"{solver}\"\n"
        ),
    )
}

fn steps(simulation: &mut Simulation, count: u32, dt: f64) {
    for _ in 0..count {
        simulation.step(dt).unwrap();
    }
}

fn problems(scene: &Scene) -> String {
    DryRun::of(scene).problems.iter().map(|problem| format!("{problem}\n")).collect()
}

const SOLID: &str = "cell = 0.125\nmaterial = { density = 1000, young_modulus = 1e5, poisson_ratio = 0.4 }\n\
    model = \"corotated\"";

#[test]
fn held_points_of_every_family_are_where_the_skin_has_them() {
    let folder = tempfile::tempdir().unwrap();
    save_bar(folder.path(), |_| {});
    let all = "selection = \"all\"";
    for [body, solver] in
        [["", "newton"], ["", "hpbd"], [SOLID, "newton"], [SOLID, "projective"], [SOLID, "octree"]]
    {
        let mut simulation = Simulation::new(driven_bar(folder.path(), [body, all, solver])).unwrap();
        for time in [0.1, 0.2] {
            simulation.step(0.1).unwrap();
            assert!(simulation.pinned_points().count() > 0);
            for point in simulation.pinned_points() {
                let expected = skinned(point.start, time);
                assert!(point.target.distance(expected) < 1e-6, "{solver}: {point:?} {expected}");
            }
            let start = simulation.scene_state().bodies[0].surface_start.clone();
            for (start, now) in start.iter().zip(simulation.positions()) {
                assert!(now.distance(skinned(*start, time)) < 5e-3, "{solver}: {start} {now}");
            }
        }
    }
}

/// Where only one bone acts, its skin moves like keyframes of the same rotation.
#[test]
fn a_lattice_is_turned_by_the_skin_that_holds_its_end_as_by_keyframes() {
    let folder = tempfile::tempdir().unwrap();
    save_bar(folder.path(), |_| {});
    let pin = "selection = { box = { min = [1.6, -1, -1], max = [3, 1, 1] } }";
    let mut scene = driven_bar(folder.path(), [SOLID, pin, "staggered"]);
    scene.time.mode = Mode::Quasistatic;
    let mut by_skin = Simulation::new(scene.clone()).unwrap();
    let keys = [(0.0, 0.0), (2.0, 90.0)].map(|(time, angle)| Keyframe::at(time).rotate([0.0, 0.0, angle]));
    scene.pins[0].follows = Some(Follow::Keyframes(Motion { pivot: DVec3::X, keyframes: keys.to_vec() }));
    let mut by_keyframes = Simulation::new(scene).unwrap();
    steps(&mut by_skin, 2, 0.1);
    steps(&mut by_keyframes, 2, 0.1);
    let start = by_skin.scene_state().bodies[0].surface_start.clone();
    let turn = DQuat::from_rotation_z(9_f64.to_radians());
    for (start, now) in start.iter().zip(by_skin.positions()) {
        let turned = DVec3::X + turn * (*start - DVec3::X);
        assert!(now.distance(turned) < 1e-4, "{start}: {now} {turned}");
    }
    for (now, expected) in by_skin.positions().iter().zip(by_keyframes.positions()) {
        assert!(now.distance(*expected) < 1e-5, "{now} {expected}");
    }
}

#[test]
fn flesh_on_soft_pins_follows_in_the_unit_axes_and_place_of_its_body() {
    let folder = tempfile::tempdir().unwrap();
    save_bar(folder.path(), |_| {});
    let text = format!(
        "[[body]]\nname = \"bar\"\nshape = {{ file = \"bar.glb\", scale = 0.1, up = \"z\" }}\n{}\n\
         transform = {{ translate = [1, 2, 3], rotate = [0, 90, 0] }}\n\
         [[pin]]\nbody = \"bar\"\nselection = \"all\"\nstiffness = 1000\nfollows = {{ gltf-skin = \"bar.glb\" }}\n\
         [solver]\nmethod = \"octree\"\n",
        SOLID.replace("0.125", "0.0125")
    );
    let mut scene = scene(folder.path(), &text);
    scene.time.mode = Mode::Quasistatic;
    let mut simulation = Simulation::new(scene).unwrap();
    steps(&mut simulation, 2, 0.5);
    // z becomes y, y becomes -z; then a quarter turn about y takes x to -z and -z to -x.
    let placed = |p: DVec3| DVec3::new(1.0, 2.0, 3.0) + 0.1 * DVec3::new(-p.y, p.z, -p.x);
    for (p, now) in bar().0.iter().zip(simulation.positions()) {
        let p = glam::Vec3::from(*p).as_dvec3();
        let expected = placed(skinned(p, 1.0));
        assert!(now.distance(expected) < 5e-3, "{p}: {now} {expected}");
    }
}

/// The file's animation is bent by a right angle all the time: the body starts as modelled and moves there without a jump.
#[test]
fn an_animation_that_starts_elsewhere_is_blended_in() {
    let folder = tempfile::tempdir().unwrap();
    save_bar(folder.path(), |document| {
        // Of the two keys only the second rotation is left.
        document["accessors"][6]["count"] = json!(1);
        document["accessors"][6]["byteOffset"] = json!(16);
        document["accessors"][5]["count"] = json!(1);
    });
    let all = "selection = \"all\"";
    let mut simulation = Simulation::new(driven_bar(folder.path(), ["", all, "newton"])).unwrap();
    let moved = |simulation: &Simulation| {
        simulation.pinned_points().map(|p| p.start.distance(p.target)).fold(0.0, f64::max)
    };
    assert!(moved(&simulation) < 1e-12);
    simulation.step(0.01).unwrap();
    assert!(moved(&simulation) < 3e-3, "{}", moved(&simulation));
    steps(&mut simulation, 5, 0.1);
    for point in simulation.pinned_points() {
        assert!(point.target.distance(skinned(point.start, 2.0)) < 1e-6, "{point:?}");
    }
}

#[test]
fn a_restored_state_continues_bit_identically_though_a_pin_started_late() {
    let folder = tempfile::tempdir().unwrap();
    save_bar(folder.path(), |_| {});
    save_sheets(folder.path());
    let pin = "selection = { box = { min = [1.2, -1, -1], max = [3, 1, 1] } }\nstiffness = 50\nduring = [0.05, 9]\n\
        [[pin]]\nbody = \"bar\"\nselection = { indices = [0, 1] }\nfollows = { collider = \"sheet\" }\nduring = [0.05, 9]\n\
        [[collider]]\nname = \"sheet\"\nshape = { mesh = \"sheet_#.obj\" }\n";
    let scene = driven_bar(folder.path(), ["", pin, "newton"]);
    let mut whole = Simulation::new(scene.clone()).unwrap();
    steps(&mut whole, 4, 0.03);
    let saved = whole.save();
    steps(&mut whole, 2, 0.03);
    let mut resumed = Simulation::new(scene).unwrap();
    resumed.restore(&saved).unwrap();
    steps(&mut resumed, 2, 0.03);
    assert_eq!(resumed.state_hash(), whole.state_hash());
}

/// A sheet of four vertices in three frames: its side at x = 1 rises by 0.1 m per frame, and it moves by 0.2 m per frame along z.
fn sheet(frame: f64) -> [DVec3; 4] {
    [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]
        .map(|[x, z]| DVec3::new(x, 0.1 * frame * x, z + 0.2 * frame))
}

fn save_sheets(folder: &Path) {
    for frame in 0..3 {
        let mut text = String::new();
        for p in sheet(f64::from(frame)) {
            writeln!(text, "v {} {} {}", p.x, p.y, p.z).unwrap();
        }
        text.push_str("f 1 2 3\nf 1 3 4\n");
        std::fs::write(folder.join(format!("sheet_{frame}.obj")), text).unwrap();
    }
}

fn driven_sheet(folder: &Path, follows: &str) -> Scene {
    scene(
        folder,
        &format!(
            "[[body]]\nname = \"sheet\"\nshape = {{ file = \"sheet_0.obj\", scale = 2 }}\n\
             transform = {{ translate = [0, 5, 0] }}\n\
             [[pin]]\nbody = \"sheet\"\nselection = \"all\"\nfollows = {{ {follows} }}\n\
             [[collider]]\nname = \"ball\"\nshape = {{ sphere = {{ center = [9, 9, 9], radius = 1 }} }}\n\
             motion = {{ pivot = [1, 0, 0], keyframes = [\n\
             {{ time = 0, rotate = [0, 90, 0], translate = [0, 1, 0] }}, {{ time = 2, rotate = [0, 180, 0], translate = [0, 3, 0] }}] }}\n\
             [[collider]]\nname = \"waving\"\nshape = {{ mesh = \"sheet_#.obj\" }}\n\
             motion = {{ keyframes = [{{ time = 0, translate = [0, 5, 0] }}, {{ time = 1, translate = [0, 6, 0] }}] }}\n"
        ),
    )
}

#[test]
fn vertices_follow_their_sequence_half_way_between_its_frames() {
    let folder = tempfile::tempdir().unwrap();
    save_sheets(folder.path());
    let scene = driven_sheet(folder.path(), "mesh-sequence = \"sheet_#.obj\"");
    let mut simulation = Simulation::new(scene).unwrap();
    for frame in [0.5, 1.0, 1.5] {
        simulation.step(0.05).unwrap();
        for (place, now) in sheet(frame).iter().zip(simulation.positions()) {
            let expected = 2.0 * *place + 5.0 * DVec3::Y;
            assert!(now.distance(expected) < 1e-12, "frame {frame}: {now} {expected}");
        }
    }
}

#[test]
fn points_ride_on_a_rigid_collider_from_where_they_start() {
    let folder = tempfile::tempdir().unwrap();
    save_sheets(folder.path());
    let mut simulation = Simulation::new(driven_sheet(folder.path(), "collider = \"ball\"")).unwrap();
    let start = simulation.positions().to_vec();
    steps(&mut simulation, 4, 0.25);
    // After one of two seconds half of the 90 degrees and half of the 2 m: the initial pose does not count.
    let turn = DQuat::from_rotation_y(FRAC_PI_4);
    let pivot = DVec3::new(1.0, 1.0, 0.0);
    for (start, now) in start.iter().zip(simulation.positions()) {
        let expected = pivot + DVec3::Y + turn * (*start - pivot);
        assert!(now.distance(expected) < 1e-12, "{start}: {now} {expected}");
    }
    // A collider that is moved takes them along; one that is removed releases them.
    let (id, mut ball) = simulation.scene_state().colliders[0].clone();
    for key in &mut ball.motion.as_mut().unwrap().keyframes {
        *key.translate.as_mut().unwrap() += DVec3::X;
    }
    simulation.set_collider(id, ball).unwrap();
    let target = simulation.pinned_points().next().unwrap().target;
    assert!(target.distance(simulation.positions()[0] + DVec3::X) < 1e-12);
    simulation.remove_collider(id).unwrap();
    assert_eq!(simulation.pinned_points().count(), 0);
}

#[test]
fn points_move_with_the_nearest_face_of_a_collider_that_changes_its_shape() {
    let folder = tempfile::tempdir().unwrap();
    save_sheets(folder.path());
    let mut scene = driven_sheet(folder.path(), "collider = \"waving\"");
    scene.bodies[0].transform.translate.y = 5.5;
    let mut simulation = Simulation::new(scene).unwrap();
    let start = simulation.positions().to_vec();
    steps(&mut simulation, 2, 0.1);
    // Vertex 0 is half a metre above the corner of the collider at the origin, whose faces tilt about z there.
    let normal = DVec3::new(-0.2, 1.0, 0.0).normalize();
    let expected = DVec3::new(0.0, 5.0 + 0.2, 0.4) + 0.5 * normal;
    assert!(
        simulation.positions()[0].distance(expected) < 1e-9,
        "{} {}",
        start[0],
        simulation.positions()[0]
    );
}

#[test]
fn what_cannot_be_followed_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    save_sheets(folder.path());
    save_bar(folder.path(), |document| drop(document.as_object_mut().unwrap().remove("animations")));
    let all = "selection = \"all\"";
    let of_bar = || problems(&driven_bar(folder.path(), ["", all, "newton"]));
    assert!(of_bar().contains("bar.glb: the file has no animation; export"), "{}", of_bar());
    save_bar(folder.path(), |document| {
        document["nodes"][0].as_object_mut().unwrap().remove("skin");
    });
    assert!(of_bar().contains("bar.glb: no mesh of its scene has a skin; export"), "{}", of_bar());
    save_bar(folder.path(), |_| {});
    let of_sheet = |follows: &str| problems(&driven_sheet(folder.path(), follows));
    for (follows, parts) in [
        ("mesh-sequence = \"bar.glb\"", &["bar.glb", "20 vertices", "`sheet` has 4", "export"][..]),
        ("mesh-sequence = \"none_##.obj\"", &["none_##.obj", "there are no mesh files"]),
        ("gltf-skin = \"sheet_0.obj\"", &["sheet_0.obj", ".glb or .gltf"]),
        ("gltf-skin = \"bar.glb\", animation = \"run\"", &["`run`", "available: `bend`"]),
        ("gltf-skin = \"bar.glb\", blend_in = -1.0", &["`blend_in` is -1", "0 or above"]),
        ("collider = \"bal\"", &["`bal`", "`ball`"]),
    ] {
        let problem = of_sheet(follows);
        assert!(parts.iter().all(|part| problem.contains(part)), "{follows}: {problem}");
    }
    let mut long = driven_sheet(folder.path(), "mesh-sequence = \"sheet_#.obj\"");
    long.colliders.clear();
    long.time.frames = 30;
    let problem = problems(&long);
    assert!(
        problem.contains("a pin on body `sheet`") && problem.contains("ends after 0.2000 s"),
        "{problem}"
    );
}
