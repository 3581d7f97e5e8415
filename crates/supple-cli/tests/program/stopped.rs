//! Ctrl-C: the first lets the current frame finish, the second exits immediately; no file is left half written. A
//! closed pipe on the output stops nothing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{run, succeed, supple, text};

fn press_ctrl_c(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

fn start(arguments: &[&str]) -> Child {
    supple(arguments).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until `is_there`, or the program has ended by itself.
fn wait_until(child: &mut Child, is_there: impl Fn() -> bool) {
    while !is_there() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Expects exit code 130, and returns the message.
fn message_of_stopped(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{message}");
    message
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_run_continues_when_nobody_reads_its_messages() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut child =
        start(&["run", "hanging-cloth", "--resolution", "0.2", "--frames", "3", "--out", text(&out)]);
    drop(child.stderr.take());
    assert!(child.wait().unwrap().success());
    assert!(out.join("checkpoints/checkpoint-000003.supc").exists());
}

#[test]
fn a_run_ends_after_the_current_frame_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut child =
        start(&["run", "hanging-cloth", "--resolution", "0.2", "--frames", "500", "--out", text(&out)]);
    wait_until(&mut child, || out.join("checkpoints/checkpoint-000002.supc").exists());
    press_ctrl_c(&child);
    let message = message_of_stopped(child);
    assert!(message.contains("stopped after frame") && message.contains("--resume"), "{message}");
}

#[test]
fn a_second_ctrl_c_ends_in_the_middle_of_a_frame() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    // On a busy machine the signal can arrive before the first frame has started; then the run ends in order, and the
    // test retries with a longer delay.
    let ended_in_a_frame = [1, 10, 60].into_iter().any(|seconds| {
        let _ = fs::remove_dir_all(&out);
        ends_in_a_frame(&out, Duration::from_secs(seconds))
    });
    assert!(ended_in_a_frame);
    assert_eq!(names_in(&out.join("checkpoints")), ["checkpoint-000000.supc"]);
    succeed(&["export", text(&out), "--format", "pc2", "--quiet"]);
}

/// Presses Ctrl-C twice after this delay from when the run was ready; returns whether that ended it without finishing
/// a frame.
fn ends_in_a_frame(out: &Path, patience: Duration) -> bool {
    // A frame that takes minutes.
    let mut child =
        start(&["run", "hanging-cloth", "--set", "time.substeps=1000", "--frames", "5", "--out", text(out)]);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    // The size of the scene is printed when the run is ready.
    lines.find(|line| line.contains("unknowns")).unwrap();
    std::thread::sleep(patience);
    press_ctrl_c(&child);
    lines.find(|line| line.contains("Ctrl-C again")).unwrap();
    // Signals at the same moment are one request.
    std::thread::sleep(Duration::from_millis(400));
    press_ctrl_c(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    lines.all(|line| !line.contains("stopped after frame"))
}

#[test]
fn an_export_ends_after_the_current_frame_and_keeps_whole_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let start_words = ["run", "hanging-cloth", "--resolution", "0.15", "--frames", "40", "--quiet", "--out"];
    succeed(&[&start_words[..], &[text(&out)]].concat());
    let exports = folder.path().join("exports");
    let mut child =
        start(&["export", text(&out), "--format", "obj,vtu,usd,gltf,ply", "--out", text(&exports)]);
    wait_until(&mut child, || exports.join("obj/cloth_000001.obj").exists());
    press_ctrl_c(&child);
    let message = message_of_stopped(child);
    assert!(message.contains("interrupted") && message.contains("incomplete"), "{message}");
    for name in names_in(&exports.join("obj")) {
        let file = exports.join("obj").join(&name);
        assert_eq!(run(&["check", text(&file)]).status.code(), Some(0), "{name} is whole");
    }
    assert!(!exports.join("ply").exists(), "exports that were not started do not exist");
}

#[test]
fn rendering_ends_after_the_current_frame_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let gif = folder.path().join("cloth.gif");
    let mut child =
        start(&["render", "hanging-cloth", "--resolution", "0.2", "--frames", "900", "--out", text(&gif)]);
    wait_until(&mut child, || !names_in(folder.path()).is_empty());
    press_ctrl_c(&child);
    let message = message_of_stopped(child);
    assert!(message.contains("stopped after simulating frame"), "{message}");
    assert!(message.contains("was not written"), "{message}");
    assert_eq!(names_in(folder.path()), Vec::<String>::new());
}

#[test]
fn a_request_to_stop_that_arrives_twice_at_once_still_lets_the_frame_finish() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut child =
        start(&["run", "hanging-cloth", "--resolution", "0.2", "--frames", "500", "--out", text(&out)]);
    wait_until(&mut child, || out.join("checkpoints/checkpoint-000002.supc").exists());
    // `timeout` signals the program, and then its group.
    press_ctrl_c(&child);
    press_ctrl_c(&child);
    let message = message_of_stopped(child);
    assert!(message.contains("stopped after frame"), "{message}");
}
