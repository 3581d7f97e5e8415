//! `supple view DIR`.

use std::process::Command;

use serde_json::json;

use crate::program::Program;

#[test]
fn a_finished_run_is_played_and_scrubbed_and_nothing_in_it_can_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let run = run.to_str().unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_supple"))
        .args(["run", "demo", "--resolution", "0.25", "--frames", "12", "--quiet", "--out", run])
        .status();
    assert!(made.unwrap().success());
    let program = Program::start(&[run]);
    let mut client = program.connect();
    let state = client.text("state");
    assert_eq!((&state["mode"], &state["places"]), (&json!("playback"), &json!(13)));
    client.frame_where(|frame| frame.header["place"] == 3);
    for place in [12, 0, 7, 7, 2] {
        client.send(&json!({ "type": "seek", "place": place }));
        let frame = client.frame_where(|frame| frame.header["place"] == place);
        assert!((frame.time() - f64::from(place) / 30.0).abs() < 1e-6);
        assert_eq!(frame.header["report"].is_null(), place == 0);
    }
    client.send(&json!({ "type": "seek", "place": 9999 }));
    client.frame_where(|frame| frame.header["place"] == 12);
    client.send(&json!({ "type": "set", "path": "world.gravity", "value": "[0,0,0]" }));
    assert!(client.text("error")["problem"].as_str().unwrap().contains("recorded"));
}

#[test]
fn a_run_grows_on_the_timeline_for_as_long_as_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let text = run.to_str().unwrap();
    let simulation = |frames: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_supple"));
        command.args(["run", "demo", "--resolution", "0.2", "--quiet", "--out", text, "--frames", frames]);
        command.args(more);
        command
    };
    assert!(simulation("3", &[]).status().unwrap().success());
    let program = Program::start(&[text]);
    let mut client = program.connect();
    let state = client.text("state");
    assert_eq!((&state["places"], &state["growing"]), (&json!(4), &json!(false)), "it is complete at once");
    let mut writer = simulation("100000", &["--resume"]).spawn().unwrap();
    client.text_where("state", |state| state["growing"] == true && state["places"].as_u64() > Some(6));
    client.frame_where(|frame| frame.header["frame"].as_u64() > Some(5));
    writer.kill().unwrap();
    writer.wait().unwrap();
    client.text_where("state", |state| state["growing"] == false);
}

#[test]
fn what_is_no_run_is_refused_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_supple"))
        .args(["view", "--no-open", folder.path().to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a Supple run"));
}
