//! The real page in a real browser, driven by Playwright. `check.sh` installs the prerequisites; elsewhere these
//! tests are ignored.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::program::Program;

/// The folder `node_modules` that contains `playwright-core`.
const MODULES: &str = "SUPPLE_NODE_MODULES";
/// The browser.
const CHROMIUM: &str = "SUPPLE_CHROMIUM";

fn variable(name: &str) -> OsString {
    std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set: see check.sh"))
}

/// Runs a script from this folder on a page.
fn drive(script: &str, program: &Program, more: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/viewer").join(script);
    let output = Command::new("node")
        .arg(script)
        .arg(&program.address)
        .args(more)
        .env(MODULES, variable(MODULES))
        .env(CHROMIUM, variable(CHROMIUM))
        .output()
        .expect("node starts");
    let report =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{report}");
    println!("{report}");
}

#[test]
#[ignore = "needs Playwright in SUPPLE_NODE_MODULES and a browser in SUPPLE_CHROMIUM"]
fn a_person_drags_pins_changes_and_looks_inside() {
    drive("live.mjs", &Program::start(&["hanging-cloth", "--resolution", "0.06"]), &[]);
}

#[test]
#[ignore = "needs Playwright in SUPPLE_NODE_MODULES and a browser in SUPPLE_CHROMIUM"]
fn a_person_plays_and_scrubs_a_finished_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let run = run.to_str().unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_supple"))
        .args(["run", "demo", "--resolution", "0.3", "--frames", "12", "--quiet", "--out", run])
        .status();
    assert!(made.unwrap().success());
    drive("recorded.mjs", &Program::start(&[run]), &[]);
}

#[test]
#[ignore = "needs Playwright in SUPPLE_NODE_MODULES and a browser in SUPPLE_CHROMIUM"]
fn the_ground_of_a_run_is_just_below_its_bodies() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let run = run.to_str().unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_supple"))
        .args(["run", "hanging-cloth", "--resolution", "0.06", "--frames", "12", "--quiet", "--out", run])
        .status();
    assert!(made.unwrap().success());
    drive("ground.mjs", &Program::start(&[run]), &[]);
}

#[test]
#[ignore = "needs Playwright in SUPPLE_NODE_MODULES and a browser in SUPPLE_CHROMIUM"]
fn a_person_sees_octants_and_stress_inside_flesh() {
    let program = Program::start(&["flesh-cube", "--resolution", "0.5"]);
    drive("inside.mjs", &program, &["octants of", "Smoother"]);
}

#[test]
#[ignore = "needs Playwright in SUPPLE_NODE_MODULES and a browser in SUPPLE_CHROMIUM"]
fn a_person_sees_the_cells_of_a_lattice_and_stress_inside_rubber() {
    let program = Program::start(&["elastic-box", "--resolution", "0.7"]);
    drive("inside.mjs", &program, &["boundary", "Boundary sweeps"]);
}

#[test]
#[ignore = "needs Playwright in SUPPLE_NODE_MODULES and a browser in SUPPLE_CHROMIUM"]
fn a_person_waits_for_a_step_and_opens_other_scenes_and_files() {
    drive("files.mjs", &Program::with_long_steps(), &[]);
}

/// A sheet held at two corners between two boxes that close to less than nothing.
const PINCH: &str = "[time]\nframes = 20\n[[body]]\nname = \"sheet\"\ntransform = { rotate = [90, 0, 0] }\nmaterial = \"cotton\"\n\
    shape = { grid = { size = [0.4, 0.4], vertices = [13, 13] } }\n\
    [[pin]]\nbody = \"sheet\"\nselection = { nearest = [[-0.2, 0.2, 0], [0.2, 0.2, 0]] }\n\
    [[collider]]\nname = \"left\"\nshape = { box = { center = [0, 0, -0.15], size = [0.2, 0.2, 0.2] } }\n\
    motion = { keyframes = [{ time = 0, translate = [0, 0, 0] }, { time = 0.4, translate = [0, 0, 0.06] }] }\n\
    [[collider]]\nname = \"right\"\nshape = { box = { center = [0, 0, 0.15], size = [0.2, 0.2, 0.2] } }\n\
    motion = { keyframes = [{ time = 0, translate = [0, 0, 0] }, { time = 0.4, translate = [0, 0, -0.06] }] }\n";

#[test]
#[ignore = "needs Playwright in SUPPLE_NODE_MODULES and a browser in SUPPLE_CHROMIUM"]
fn a_person_sees_contact_and_what_was_released() {
    let folder = tempfile::tempdir().unwrap();
    let (scene, run) = (folder.path().join("pinch.toml"), folder.path().join("run"));
    std::fs::write(&scene, PINCH).unwrap();
    let [scene, run] = [&scene, &run].map(|path| path.to_str().unwrap());
    let made = Command::new(env!("CARGO_BIN_EXE_supple"))
        .args(["run", scene, "--contact-forces", "--quiet", "--out", run])
        .status();
    assert!(made.unwrap().success());
    drive("contact.mjs", &Program::start(&[run]), &["recorded"]);
    drive("contact.mjs", &Program::start(&[scene, "--paused"]), &["live"]);
}
