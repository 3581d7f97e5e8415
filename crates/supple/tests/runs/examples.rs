//! Every example runs.

#![allow(unreachable_pub, reason = "each example is a program, and the tests call its `main`")]

#[path = "../../examples/ccd_trials.rs"]
mod ccd_trials;
#[path = "../../examples/drag_and_pin.rs"]
mod drag_and_pin;
#[path = "../../examples/first_steps.rs"]
mod first_steps;
#[path = "../../examples/frames_to_disk.rs"]
mod frames_to_disk;
#[path = "../../examples/game_loop.rs"]
mod game_loop;
#[path = "../../examples/own_mesh.rs"]
mod own_mesh;

#[test]
fn collision_detection_misses_nothing_in_a_few_thousand_trials() {
    ccd_trials::main().unwrap();
}

#[test]
fn first_steps_runs() {
    first_steps::main().unwrap();
}

#[test]
fn game_loop_runs() {
    game_loop::main().unwrap();
}

#[test]
fn drag_and_pin_runs() {
    drag_and_pin::main().unwrap();
}

#[test]
fn own_mesh_runs() {
    own_mesh::main().unwrap();
}

#[test]
fn frames_to_disk_runs() {
    frames_to_disk::main().unwrap();
}
