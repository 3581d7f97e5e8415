//! Every state that steps accept is audited by a program that shares no code with the engine: nothing passes anything on the way from one
//! to the next, and colliders are on time.

use crossing_audit::audit::{Audit, Findings};
use crossing_audit::record;
use supple::linear::Simd;
use supple::scene::Scene;
use supple::simulation::Simulation;

const SHEET: &str = r#"
[[body]]
name = "sheet"
shape = { grid = { size = [1, 1], vertices = [11, 11] } }
transform = { translate = [0, 1, 0], rotate = [90, 0, 0] }
[[pin]]
body = "sheet"
selection = { nearest = [[-0.5, 1.5, 0], [0.5, 1.5, 0]] }
"#;

const JELLY: &str = r#"
[[body]]
name = "jelly"
shape = { box = { size = [0.2, 0.2, 0.2] } }
cell = 0.1
model = "corotated"
material = "gelatin"
transform = { translate = [0, 1, 0] }
"#;

/// The same on a staggered lattice.
fn lattice_jelly() -> String {
    JELLY.replace("cell = 0.1", "cell = 0.05")
}

const STAGGERED: &str = "[solver]\nmethod = \"staggered\"\n";

/// A few frames of a scene with a body and a collider, in a folder for its meshes.
fn audited(folder: &str, text: &str, frames: u32) -> Findings {
    let scene = Scene::from_toml(text, "audit", folder).unwrap();
    let mut simulation = Simulation::with_simd(scene.clone(), Simd::Auto).unwrap();
    simulation.record_states(true);
    let mut audit = Audit::default();
    for frame in 1..=frames {
        simulation.step_frame(&scene.time, frame).unwrap();
        let bytes = simulation.take_states(frame).unwrap();
        audit.frame(&record::read(&bytes).unwrap());
    }
    audit.findings
}

fn assert_clean(text: &str, frames: u32) {
    let found = audited("", text, frames);
    assert!(found.is_clean(1e-6), "{found:#?}");
    assert!(found.pieces > frames as usize && found.steps >= frames as usize, "{found:#?}");
}

/// A collider that flies along z by 0.5 m at a speed in m/s.
fn flying(body: &str, shape: &str, speed: f64) -> String {
    let end = 0.5 / speed;
    format!(
        "{body}\n[[collider]]\nname = \"thing\"\nshape = {shape}\nmotion = {{ keyframes = [{{ time = 0, translate = [0, 0, 0] }}, \
         {{ time = {end}, translate = [0, 0, 0.5] }}] }}\n"
    )
}

#[test]
fn a_paddle_pushes_a_sheet() {
    assert_clean(&flying(SHEET, "{ box = { center = [0, 0.9, -0.1], size = [0.4, 0.4, 0.02] } }", 2.0), 6);
}

#[test]
fn a_wire_pushes_a_sheet() {
    assert_clean(
        &flying(
            SHEET,
            "{ capsule = { from = [-0.2, 0.9, -0.1], to = [0.2, 0.9, -0.1], radius = 0.001 } }",
            5.0,
        ),
        3,
    );
}

#[test]
fn a_cone_with_a_point_pushes_a_sheet() {
    let folder = tempfile::tempdir().unwrap();
    let cone = "v 0 0.9 -0.1\nv 0.05 0.9 -0.3\nv -0.03 0.94 -0.3\nv -0.03 0.86 -0.3\nf 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n";
    let path = folder.path().join("cone.obj");
    std::fs::write(&path, cone).unwrap();
    assert_clean(&flying(SHEET, &format!("{{ mesh = {:?} }}", path.to_str().unwrap()), 5.0), 3);
}

#[test]
fn a_jelly_is_hit_by_a_ball() {
    assert_clean(&flying(JELLY, "{ sphere = { center = [0, 1, -0.3], radius = 0.1 } }", 5.0), 3);
}

#[test]
fn a_cloth_lies_on_a_box_that_turns() {
    let text = r#"
[[body]]
name = "cloth"
shape = { grid = { size = [0.6, 0.6], vertices = [9, 9] } }
transform = { translate = [0, 0.205, 0] }
[[collider]]
name = "box"
shape = { box = { center = [0, 0, 0], size = [0.4, 0.4, 0.4] } }
motion = { keyframes = [{ time = 0, rotate = [0, 0, 0] }, { time = 0.3, rotate = [0, 90, 0] }] }
"#;
    assert_clean(text, 8);
}

#[test]
fn a_jelly_on_a_lattice_is_hit_by_a_ball_and_a_wire() {
    let shapes = [
        "{ sphere = { center = [0, 1, -0.25], radius = 0.1 } }",
        "{ capsule = { from = [-0.2, 1, -0.15], to = [0.2, 1, -0.15], radius = 0.001 } }",
    ];
    for shape in shapes {
        assert_clean(&(flying(&lattice_jelly(), shape, 5.0) + STAGGERED), 3);
    }
}

#[test]
fn a_jelly_on_a_lattice_with_smooth_normals_meets_an_edge() {
    let edge = "{ box = { center = [0, 1, -0.2], size = [0.3, 0.001, 0.1] } }";
    let smooth = "[solver.staggered]\ninterpolation = \"tricubic\"\n";
    assert_clean(&(flying(&lattice_jelly(), edge, 3.0) + STAGGERED + smooth), 3);
}

#[test]
fn a_jelly_on_a_lattice_lies_on_another_on_a_box_that_turns() {
    let upper = lattice_jelly().replace("\"jelly\"", "\"upper\"").replace("[0, 1, 0]", "[0.02, 0.535, 0.01]");
    let lower = lattice_jelly().replace("[0, 1, 0]", "[0, 0.305, 0]");
    let text = r#"
[[collider]]
name = "box"
shape = { box = { center = [0, 0, 0], size = [0.4, 0.4, 0.4] } }
motion = { keyframes = [{ time = 0, rotate = [0, 0, 0] }, { time = 0.3, rotate = [0, 45, 0] }] }
"#;
    assert_clean(&format!("{upper}{lower}{text}{STAGGERED}"), 6);
}

#[test]
fn a_pinned_jelly_on_a_lattice_is_driven_against_a_peg() {
    let driven = r#"
[[pin]]
body = "jelly"
selection = { plane = { point = [0, 1.099, 0], normal = [0, 1, 0] } }
follows = { keyframes = [{ time = 0, translate = [0, 0, 0] }, { time = 0.1, translate = [0, 0, 0.2] }] }
[[collider]]
name = "peg"
shape = { capsule = { from = [-0.2, 0.93, 0.12], to = [0.2, 0.93, 0.12], radius = 0.01 } }
"#;
    assert_clean(&format!("{}{driven}{STAGGERED}", lattice_jelly()), 4);
}

#[test]
fn recording_changes_no_bit() {
    let text = flying(SHEET, "{ box = { center = [0, 0.9, -0.1], size = [0.4, 0.4, 0.02] } }", 2.0);
    let positions = |record: bool| {
        let scene = Scene::from_toml(&text, "audit", "").unwrap();
        let mut simulation = Simulation::with_simd(scene.clone(), Simd::Auto).unwrap();
        simulation.record_states(record);
        (1..=4).for_each(|frame| drop(simulation.step_frame(&scene.time, frame).unwrap()));
        simulation.frame(4).bodies[0].positions.clone()
    };
    assert_eq!(positions(true), positions(false));
}
