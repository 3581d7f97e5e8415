//! The real page in a real browser, driven by Playwright. `check.sh` installs what it needs; without the variables the test says
//! so and does nothing.

use std::path::Path;
use std::process::Command;

use crate::program::Program;

/// The folder `node_modules` that has `playwright-core`.
const MODULES: &str = "SUPPLE_NODE_MODULES";
/// The browser.
const CHROMIUM: &str = "SUPPLE_CHROMIUM";

/// Runs a script of this folder on a page; `None` where there is no browser.
fn drive(script: &str, program: &Program, more: &[&str]) -> Option<()> {
    let (Some(modules), Some(chromium)) = (std::env::var_os(MODULES), std::env::var_os(CHROMIUM)) else {
        eprintln!(
            "\nSKIPPED: set {MODULES} to a node_modules with playwright-core, and {CHROMIUM} to a Chromium\n"
        );
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/viewer").join(script);
    let output = Command::new("node")
        .arg(script)
        .arg(&program.address)
        .args(more)
        .env(MODULES, modules)
        .env(CHROMIUM, chromium)
        .output()
        .expect("node starts");
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}");
    println!("{told}");
    Some(())
}

#[test]
fn a_person_drags_pins_changes_and_looks_inside() {
    drive("live.mjs", &Program::start(&["hanging-cloth", "--resolution", "0.06"]), &[]);
}

#[test]
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
fn a_person_sees_octants_and_stress_inside_flesh() {
    let program = Program::start(&["flesh-cube", "--resolution", "0.5"]);
    drive("inside.mjs", &program, &["octants of", "Smoother"]);
}

#[test]
fn a_person_sees_the_cells_of_a_lattice_and_stress_inside_rubber() {
    let program = Program::start(&["elastic-box", "--resolution", "0.7"]);
    drive("inside.mjs", &program, &["boundary", "Boundary sweeps"]);
}
