//! `supple check` of a run's folder: which frames have intersecting surfaces.

use std::fs;

use crate::common::{run, succeed, text};

/// Two cloths, the upper one falling through the lower one unless contact keeps them apart.
fn scene(between_bodies: bool, tilt: f64) -> String {
    let cloth = |name: &str, height: f64, tilt: f64| {
        format!(
            "[[body]]\nname = \"{name}\"\nshape = {{ grid = {{ size = [0.4, 0.4], vertices = [7, 7] }} }}\n\
             transform = {{ translate = [0, {height}, 0.011], rotate = [{tilt}, 0, 0] }}\n"
        )
    };
    format!(
        "[time]\nframes = 2\n{}{}[contact]\nbetween_bodies = {between_bodies}\n",
        cloth("lower", 0.0, 0.0),
        cloth("upper", 0.01, tilt)
    )
}

#[test]
fn a_run_without_crossings_is_distinguished_from_one_with() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.toml");
    let out = |name: &str| folder.path().join(name);
    let simulate = |text_of_scene: String, name: &str| {
        fs::write(&file, text_of_scene).unwrap();
        succeed(&["run", text(&file), "--out", text(&out(name)), "--quiet"]);
    };
    simulate(scene(true, 0.0), "apart");
    let report = succeed(&["check", text(&out("apart"))]);
    assert!(report.contains("3 frames of 144 triangles") && report.contains("no intersections"), "{report}");
    // A tangled start that is left alone: every frame has it.
    let ignored = scene(true, 30.0).replace("[contact]\n", "[contact]\ntangled = \"ignore\"\n");
    simulate(ignored, "crossed");
    let output = run(&["check", text(&out("crossed"))]);
    assert_eq!(output.status.code(), Some(1));
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        report.contains("frame 0: ") && report.contains("3 of 3 frames have intersecting triangles"),
        "{report}"
    );
    // Bodies that do not collide may intersect.
    simulate(scene(false, 30.0), "free");
    assert!(succeed(&["check", text(&out("free"))]).contains("0 triangles in contact"));
    let nothing = run(&["check", text(folder.path())]);
    assert_eq!(nothing.status.code(), Some(2));
}
