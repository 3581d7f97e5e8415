//! Frames, dragging and changes over the WebSocket.

use serde_json::{Value, json};

use crate::program::{Binary, Program, Received};

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt()
}

#[test]
fn a_client_gets_state_topology_and_frames_that_advance() {
    let program = Program::small_cloth();
    let mut client = program.connect();
    let state = client.text("state");
    assert_eq!((&state["mode"], &state["scene"]), (&json!("live"), &json!("hanging-cloth")));
    let vertices = state["vertices"].as_u64().unwrap() as usize;
    let topology = loop {
        match client.receive() {
            Received::Binary(message) if message.kind == 1 => break message,
            Received::Closed => panic!("the connection was closed"),
            _ => {}
        }
    };
    let body = &topology.header["bodies"][0];
    assert_eq!(body["vertices"].as_u64().unwrap() as usize, vertices);
    let triangles = 3 * body["triangles"].as_u64().unwrap() as usize;
    assert!(
        topology.words()[3 * vertices..3 * vertices + triangles].iter().all(|v| (*v as usize) < vertices)
    );
    let first = client.frame();
    let later = client.frame_where(|frame| frame.time() > first.time() + 0.2);
    assert_eq!(later.positions().len(), vertices);
    let lowest = |frame: &Binary| frame.positions().iter().map(|p| p[1]).fold(f32::MAX, f32::min);
    assert!(lowest(&later) < lowest(&first) - 0.05, "the cloth falls");
    let stages = later.header["report"]["stages"].as_array().unwrap();
    let assembly = stages.iter().find(|stage| stage[0] == "assembly").expect("a time by stage");
    assert!(assembly[1].as_f64().unwrap() > 0.0);
    assert!(!later.header["residuals"].as_array().unwrap().is_empty());
}

#[test]
fn frames_come_one_at_a_time_each_after_the_last_was_drawn() {
    let program = Program::small_cloth();
    let mut client = program.connect();
    let count_frames = |client: &mut crate::program::Client| {
        client.socket.get_ref().set_read_timeout(Some(std::time::Duration::from_millis(700))).unwrap();
        let mut count = 0;
        loop {
            match client.receive() {
                Received::Binary(message) if message.kind == 2 => count += 1,
                Received::Closed => return count,
                _ => {}
            }
        }
    };
    assert_eq!(count_frames(&mut client), 1);
    client.send(&json!({ "type": "drawn" }));
    assert_eq!(count_frames(&mut client), 1);
}

#[test]
fn a_dragged_point_follows_the_hand_and_is_let_go_when_its_client_leaves() {
    let program = Program::small_cloth();
    let (mut watcher, mut client) = (program.connect(), program.connect());
    client.send(&json!({ "type": "pause" }));
    client.text_where("state", |state| state["running"] == false);
    client.send(&json!({ "type": "reset" }));
    let start = client.frame_where(|frame| frame.header["step"] == 0);
    let middle = start.positions().len() / 2;
    let [x, y, z] = start.positions()[middle];
    client.send(&json!({ "type": "grab", "origin": [x, y + 1.0, z], "direction": [0, -1, 0] }));
    client.send(&json!({ "type": "drag", "target": [x, y + 0.5, z] }));
    client.send(&json!({ "type": "play" }));
    let target = [x, y + 0.5, z];
    client.frame_where(|frame| distance(frame.positions()[middle], target) < 0.1);
    watcher.frame_where(|frame| frame.header["grabs"].as_array().unwrap().len() == 1);
    drop(client);
    watcher.frame_where(|frame| frame.header["grabs"].as_array().unwrap().is_empty());
    // It falls back, no matter how fast it was moved last.
    watcher.frame_where(|frame| frame.positions()[middle][1] < y + 0.3);
}

#[test]
fn pause_step_reset_and_speed_do_what_they_say() {
    let program = Program::start(&["hanging-cloth", "--resolution", "0.06", "--paused"]);
    let mut client = program.connect();
    let state = client.text("state");
    assert_eq!(state["running"], false);
    let dt = state["dt"].as_f64().unwrap();
    // The first frame may have arrived before the state.
    for step in 1..=3 {
        client.send(&json!({ "type": "step" }));
        let frame = client.frame_where(|frame| frame.header["step"] == step);
        assert!((frame.time() - f64::from(step) * dt).abs() < 1e-9);
    }
    client.send(&json!({ "type": "reset" }));
    let frame = client.frame_where(|frame| frame.header["step"] == 0);
    assert_eq!(frame.time(), 0.0);
    client.send(&json!({ "type": "speed", "factor": 0.5 }));
    assert_eq!(client.text_where("state", |state| state["speed"] == 0.5)["running"], false);
    client.send(&json!({ "type": "speed", "factor": -1 }));
    assert!(client.text("error")["problem"].as_str().unwrap().contains("speed"));
}

fn control<'a>(state: &'a Value, path: &str) -> &'a Value {
    let controls = state["controls"].as_array().unwrap();
    controls.iter().find(|control| control["path"] == path).unwrap_or_else(|| panic!("no control {path}"))
}

#[test]
fn changes_are_applied_announced_to_everybody_and_saved() {
    let program = Program::small_cloth();
    let (mut client, mut other) = (program.connect(), program.connect());
    client.frame_where(|frame| frame.time() > 0.1);
    client.send(&json!({ "type": "set", "path": "body.0.material.stretch_stiffness", "value": "123" }));
    client.send(&json!({ "type": "set", "path": "solver.linear", "value": "\"mas\"" }));
    let state = other.text_where("state", |state| state["solver"] == "newton+mas");
    assert_eq!(control(&state, "body.0.material.stretch_stiffness")["value"], 123.0);
    client.send(&json!({ "type": "save" }));
    let scene = client.text("scene");
    let toml = scene["toml"].as_str().unwrap();
    assert!(toml.contains("mas") && toml.contains("stretch_stiffness = 123"), "{toml}");
    let before = client.frame().time();
    client.frame_where(|frame| frame.time() > before);
    client.send(&json!({ "type": "set", "path": "solver.method", "value": "hpbd" }));
    assert!(client.text("note")["text"].as_str().unwrap().contains("was restarted"));
    client.frame_where(|frame| frame.time() < before);
    client.send(&json!({ "type": "set", "path": "solver.tolerance", "value": "lots" }));
    assert!(client.text("error")["problem"].as_str().unwrap().contains("tolerance"));
    client.frame_where(|frame| frame.time() > 0.2);
}

#[test]
fn the_hierarchy_covers_every_vertex_of_every_level() {
    let program =
        Program::start(&["hanging-cloth", "--resolution", "0.2", "--solver", "galerkin", "--paused"]);
    let mut client = program.connect();
    let vertices = client.text("state")["vertices"].as_u64().unwrap() as usize;
    client.frame();
    client.send(&json!({ "type": "step" }));
    client.frame_where(|frame| frame.header["step"] == 1);
    client.send(&json!({ "type": "hierarchy", "slice": { "axis": 2, "share": 0.5 } }));
    let message = loop {
        match client.receive() {
            Received::Binary(message) if message.kind == 3 => break message,
            Received::Closed => panic!("the connection was closed"),
            _ => {}
        }
    };
    let levels = message.header["levels"].as_array().unwrap();
    assert!(!levels.is_empty());
    let words = message.words();
    let mut at = 0;
    for level in levels {
        let count = |key: &str| level[key].as_u64().unwrap() as usize;
        assert_eq!(count("points"), vertices);
        let regions = &words[at..at + vertices];
        // The two pinned corners belong to no region.
        assert_eq!(regions.iter().filter(|region| **region == u32::MAX).count(), 2);
        let used: std::collections::BTreeSet<u32> =
            regions.iter().copied().filter(|r| *r != u32::MAX).collect();
        assert_eq!(used.len(), count("nodes"), "every coarse node has its region");
        at += vertices + 3 * count("nodes") + 6 * count("links") + 13 * count("cells");
    }
    assert_eq!(at, words.len());
}

#[test]
fn stress_is_reported_per_vertex_with_its_unit_and_refused_where_there_is_none() {
    let program = Program::start(&["hanging-cloth", "--resolution", "0.06", "--paused"]);
    let mut client = program.connect();
    let state = client.text("state");
    assert_eq!(state["has_stress"], true);
    client.frame();
    client.send(&json!({ "type": "step" }));
    client.frame_where(|frame| frame.header["step"] == 1);
    client.send(&json!({ "type": "stress" }));
    let message = loop {
        match client.receive() {
            Received::Binary(message) if message.kind == 4 => break message,
            Received::Closed => panic!("the connection was closed"),
            _ => {}
        }
    };
    assert_eq!(message.header["units"], json!(["N/m"]));
    let stress: Vec<f32> = message.words().into_iter().map(f32::from_bits).collect();
    assert_eq!(Some(stress.len() as u64), state["vertices"].as_u64());
    assert!(stress.iter().all(|stress| stress.is_finite() && *stress >= 0.0));
    assert!(stress.iter().any(|stress| *stress > 1e-3), "the cloth hangs on its corners");
    client.send(&json!({ "type": "set", "path": "solver.method", "value": "\"hpbd\"" }));
    client.text_where("state", |state| state["has_stress"] == false);
    client.send(&json!({ "type": "stress" }));
    assert!(client.text("error")["problem"].as_str().unwrap().contains("elastic law"));
}

#[test]
fn a_long_step_is_announced_while_it_lasts() {
    let program = Program::with_long_steps();
    let mut client = program.connect();
    client.frame();
    let early = client.text_where("work", |message| message["work"] == "step");
    let later = client.text_where("work", |message| message["work"] == "step");
    let seconds = |message: &Value| message["seconds"].as_f64().unwrap();
    assert!(seconds(&early) >= 0.5 && seconds(&later) > seconds(&early));
    client.text_where("work", |message| message["work"].is_null());
    let step = client.frame_where(|frame| frame.header["step"] != 0);
    let rate = step.header["rate"].as_f64().unwrap();
    assert!(rate > 0.0 && rate < 1.0, "{rate}");
}

#[test]
fn another_scene_replaces_the_current_one_and_one_that_cannot_does_not() {
    let program = Program::small_cloth();
    let mut client = program.connect();
    client.frame();
    client.send(&json!({ "type": "open", "scene": "no-such-scene" }));
    assert!(client.text("error")["problem"].as_str().unwrap().contains("no-such-scene"));
    let before = client.frame().header["topology"].clone();
    client.send(&json!({ "type": "open", "scene": "flag-hpbd" }));
    let state = client.text_where("state", |state| state["scene"] == "flag-hpbd");
    assert_eq!(state["method"], "Fast, approximate");
    let frame = client.frame_where(|frame| frame.header["topology"] != before);
    assert_eq!(frame.header["vertices"], state["vertices"]);
    client.send(&json!({ "type": "resolution", "factor": 0.5 }));
    client.text_where("state", |coarser| coarser["vertices"].as_u64() < state["vertices"].as_u64());
    client.send(&json!({ "type": "resolution", "factor": -1 }));
    client.text("error");
}
