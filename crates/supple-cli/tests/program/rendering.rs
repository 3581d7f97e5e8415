//! `supple render`: pictures and animations of scenes and runs, and options rejected before any work is done.

use std::fs;

use crate::common::{run, succeed, text};

const SMALL: [&str; 8] = ["render", "demo", "--resolution", "0.15", "--size", "64x48", "--frames", "7"];

/// The number of pictures in a GIF: each has its own graphic control extension (GIF89a, section 23).
fn pictures(gif: &[u8]) -> usize {
    gif.windows(3).filter(|bytes| bytes == b"\x21\xf9\x04").count()
}

#[test]
fn a_scene_and_its_run_give_the_same_animation() {
    let folder = tempfile::tempdir().unwrap();
    let [gif, of_run, every] = ["scene.gif", "run.gif", "every.gif"].map(|name| folder.path().join(name));
    succeed(&[&SMALL[..], &["--quiet", "--out", text(&gif)]].concat());
    let out = folder.path().join("run");
    succeed(&["run", "demo", "--resolution", "0.15", "--frames", "7", "--quiet", "--out", text(&out)]);
    succeed(&["render", text(&out), "--size", "64x48", "--quiet", "--out", text(&of_run)]);
    let bytes = fs::read(&gif).unwrap();
    assert_eq!(pictures(&bytes), 8);
    assert_eq!(bytes, fs::read(&of_run).unwrap());
    succeed(&["render", text(&out), "--size", "64x48", "--every", "3", "--quiet", "--out", text(&every)]);
    assert_eq!(pictures(&fs::read(&every).unwrap()), 3);
}

#[test]
fn a_picture_shows_the_frame_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let [of_scene, of_run] = ["scene.png", "run.png"].map(|name| folder.path().join(name));
    succeed(&[&SMALL[..], &["--frame", "4", "--quiet", "--out", text(&of_scene)]].concat());
    let out = folder.path().join("run");
    succeed(&["run", "demo", "--resolution", "0.15", "--frames", "5", "--quiet", "--out", text(&out)]);
    succeed(&["render", text(&out), "--frame", "4", "--size", "64x48", "--quiet", "--out", text(&of_run)]);
    assert_eq!(fs::read(&of_scene).unwrap(), fs::read(&of_run).unwrap());
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nowhere/x.gif");
    let in_the_way = folder.path().join("folder.gif");
    fs::create_dir(&in_the_way).unwrap();
    let picture = folder.path().join("x.png");
    // Running these would take hours: the test ends only if they are rejected first.
    let scene = ["render", "demo", "--resolution", "2", "--frames", "100000"];
    let cases: &[(&[&str], &[&str])] = &[
        (&["--out", text(&missing)], &["nowhere", "folder"]),
        (&["--out", text(&in_the_way)], &["folder.gif", "in the way"]),
        (&["--out", text(&picture), "--every", "5"], &["--every", ".gif", "--frame"]),
        (&["--out", text(&picture), "--size", "0x10"], &["width", "0"]),
        (&["--out", text(&picture), "--camera", "1,2,3"], &["six numbers"]),
    ];
    for (more, words) in cases {
        let output = run(&[&scene[..], more].concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {message}");
        for word in *words {
            assert!(message.contains(word), "`{word}` is not in: {message}");
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn slices_and_stress_are_drawn_of_scenes_and_refused_of_runs() {
    let folder = tempfile::tempdir().unwrap();
    let draw = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        let scene =
            ["render", "flesh-cube", "--resolution", "0.3", "--frame", "1", "--size", "96x72", "--quiet"];
        succeed(&[&scene[..], more, &["--out", text(&out)]].concat());
        fs::read(&out).unwrap()
    };
    let hierarchy = ["--color", "hierarchy"];
    let pictures = [
        draw("plain.png", &[]),
        draw("stress.png", &["--color", "stress"]),
        draw("finest.png", &hierarchy),
        draw("coarser.png", &[&hierarchy[..], &["--level", "2"]].concat()),
        draw("across.png", &[&hierarchy[..], &["--slice", "x:0.3"]].concat()),
    ];
    for (i, picture) in pictures.iter().enumerate() {
        assert!(pictures[..i].iter().all(|other| other != picture), "picture {i} is like one before");
    }
    let out = folder.path().join("run");
    succeed(&["run", "demo", "--resolution", "0.15", "--frames", "1", "--quiet", "--out", text(&out)]);
    let picture = folder.path().join("x.png");
    for (source, more, word) in [
        (text(&out), ["--color", "stress"], "positions"),
        ("demo", ["--slice", "w:0.5"], "axis"),
        ("demo", ["--slice", "x:2"], "axis"),
        ("flag-hpbd", ["--color", "stress"], "elastic law"),
    ] {
        let end = ["--resolution", "0.15", "--frame", "1", "--out", text(&picture)];
        let sized = if source == text(&out) { &end[2..] } else { &end[..] };
        let output = run(&[&["render", source], &more[..], sized].concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}

#[test]
fn contact_is_drawn_of_scenes_and_of_runs_that_stored_it() {
    let folder = tempfile::tempdir().unwrap();
    let [bare, stored, of_scene, of_run, plain] =
        ["bare", "stored", "scene.png", "run.png", "plain.png"].map(|name| folder.path().join(name));
    let small = ["demo", "--resolution", "0.15", "--frames", "20", "--quiet"];
    let draw = |source: &[&str], color: &str, out: &std::path::Path| {
        run(&[&["render"], source, &["--color", color, "--size", "96x72", "--quiet", "--out", text(out)]]
            .concat())
    };
    succeed(&[&["run"], &small[..], &["--out", text(&bare)]].concat());
    let output = draw(&[text(&bare)], "contact", &of_run);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("--contact-forces"), "{message}");
    assert!(!of_run.exists());
    succeed(&[&["run"], &small[..], &["--contact-forces", "--out", text(&stored)]].concat());
    assert!(draw(&[text(&stored)], "contact", &of_run).status.success());
    assert!(draw(&[text(&stored)], "plain", &plain).status.success());
    assert!(draw(&small[..5], "contact", &of_scene).status.success());
    let [of_run, of_scene, plain] = [of_run, of_scene, plain].map(|path| fs::read(path).unwrap());
    assert_eq!(of_run, of_scene);
    assert_ne!(of_run, plain);
    // The frames differ in nothing else.
    let frame = "frames/frame-000000.supf";
    assert_eq!(fs::read_to_string(bare.join("reports.jsonl")).unwrap().lines().count(), 20);
    assert!(fs::read(stored.join(frame)).unwrap().len() < fs::read(bare.join(frame)).unwrap().len() + 64);
}
