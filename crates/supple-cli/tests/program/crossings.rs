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
    assert!(
        report.contains("not checked: self_contact of `lower` is off; self_contact of `upper` is off"),
        "{report}"
    );
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

/// A cloth that drops 1 cm onto a shelf of some shape.
fn onto_a_shelf(shape: &str, more: &str) -> String {
    format!(
        "[time]\nframes = 4\n[[body]]\nname = \"cloth\"\n\
         shape = {{ grid = {{ size = [0.4, 0.4], vertices = [7, 7] }} }}\ntransform = {{ translate = [0, 0.01, 0] }}\n\
         [[collider]]\nname = \"shelf\"\nshape = {{ {shape} }}\n{more}\n"
    )
}

#[test]
fn crossings_with_colliders_are_found_and_what_was_not_checked_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shelf.toml");
    let thin = "box = { center = [0, 0, 0], size = [0.2, 0.002, 0.2] }";
    let ball = "sphere = { center = [0, -0.1, 0], radius = 0.1 }";
    for (name, shape, kind) in [("box", thin, "cross"), ("ball", ball, "inside")] {
        let out = folder.path().join(name);
        fs::write(&file, onto_a_shelf(shape, "")).unwrap();
        succeed(&["run", text(&file), "--out", text(&out), "--quiet"]);
        let report = succeed(&["check", text(&out)]);
        assert!(report.contains("1 hard collider in 1 pairs with bodies: no intersections"), "{report}");
        // The same frames with the collider a centimetre higher: what was clear is crossed.
        let scene = fs::read_to_string(out.join("scene.toml")).unwrap();
        let raised = scene.replace(
            "[[collider]]\n",
            "[[collider]]\nmotion = { keyframes = [{ time = 0, translate = [0, 0.01, 0] }] }\n",
        );
        assert!(raised != scene);
        fs::write(out.join("scene.toml"), &raised).unwrap();
        let output = run(&["check", text(&out)]);
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{report}");
        assert!(report.contains("`cloth` cross `shelf`") && report.contains(kind), "{report}");
        // Unless they ignore each other.
        let ignored =
            format!("{raised}\n[[contact.pair]]\nbetween = [\"cloth\", \"shelf\"]\ncollide = false\n");
        fs::write(out.join("scene.toml"), ignored).unwrap();
        let report = succeed(&["check", text(&out)]);
        assert!(report.contains("`cloth` and `shelf` ignore each other"), "{report}");
    }
    let out = folder.path().join("soft");
    fs::write(&file, onto_a_shelf(ball, "stiffness = 1e5")).unwrap();
    succeed(&["run", text(&file), "--out", text(&out), "--quiet"]);
    let report = succeed(&["check", text(&out)]);
    assert!(report.contains("not checked: `shelf` is soft; self_contact of `cloth` is off"), "{report}");
}
