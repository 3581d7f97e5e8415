//! Many clients, slow ones and ones that never read: the simulation goes on and memory stays.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::program::Program;

/// Rounds in which memory may still settle.
const SETTLING: Duration = Duration::from_secs(1);
/// What resident memory may vary by, in bytes: allocators and thread stacks.
const SLACK: u64 = 24 << 20;

/// Ten clients that come, look, drag and go, over and over. Gives how often one came.
fn come_and_go(program: &Program, time: Duration) -> u32 {
    let begun = Instant::now();
    let mut visits = 0;
    let mut clients: Vec<_> = (0..10).map(|_| program.connect()).collect();
    while begun.elapsed() < time {
        // The one that has been there longest leaves, some without a word.
        clients.remove(0);
        clients.push(program.connect());
        visits += 1;
        let client = clients.last_mut().unwrap();
        let frame = client.frame();
        client.send(&json!({ "type": "grab", "origin": [0, 9, 0], "direction": [0, -1, 0] }));
        client.send(&json!({ "type": "drag", "target": [0, 2, f64::from(visits % 3)] }));
        client.frame_where(|later| later.time() > frame.time());
    }
    visits
}

fn crowd(time: Duration) {
    let program = Program::start(&["hanging-cloth", "--resolution", "0.15", "--solver", "hpbd"]);
    come_and_go(&program, SETTLING);
    let before = program.memory();
    let visits = come_and_go(&program, time);
    let after = program.memory();
    println!("{visits} visits; memory {before:?} before, {after:?} after");
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after < before + SLACK, "{before} bytes became {after}");
    }
    let mut client = program.connect();
    let first = client.frame();
    client.frame_where(|frame| frame.time() > first.time());
}

#[test]
fn clients_that_come_and_go_leave_no_memory_behind() {
    crowd(Duration::from_secs(3));
}

/// The long form: `cargo test --release -p supple-cli --test viewer five_minutes -- --ignored --nocapture`.
#[test]
#[ignore = "takes five minutes"]
fn ten_clients_come_and_go_for_five_minutes() {
    crowd(Duration::from_secs(300));
}

/// Seconds that 20 steps take, as fast as possible, told by the frames of a client that asks for few.
fn steps_a_second(program: &Program, time: Duration) -> f64 {
    let mut client = program.connect();
    let first = client.frame();
    let begun = Instant::now();
    let step = |frame: &crate::program::Binary| frame.header["step"].as_f64().unwrap();
    std::thread::sleep(time);
    // The frame that waited is old; the next one is of now.
    client.frame();
    let last = client.frame();
    (step(&last) - step(&first)) / begun.elapsed().as_secs_f64()
}

/// Measured, not asserted, since rates mean little on a busy machine:
/// `cargo test --release -p supple-cli --test viewer rates -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn rates_of_a_large_simulation_with_and_without_clients() {
    let start = || {
        let program = Program::start(&["hanging-cloth", "--resolution", "1.575", "--solver", "hpbd"]);
        program.connect().send(&json!({ "type": "speed", "factor": null }));
        program
    };
    let program = start();
    let vertices = program.connect().text("state")["vertices"].as_u64().unwrap();
    let time = Duration::from_secs(10);
    steps_a_second(&program, SETTLING);
    for round in 0..3 {
        let alone = steps_a_second(&program, time);
        let memory = program.memory();
        let idle: Vec<_> = (0..4).map(|_| program.connect()).collect();
        let beside_idle = steps_a_second(&program, time);
        let held = program.memory().zip(memory).map(|(after, before)| after as i64 - before as i64);
        drop(idle);
        let (stop, reading) = (std::sync::atomic::AtomicBool::new(false), &program);
        let (beside_reader, frames) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut client = reading.connect();
                let mut frames = 0;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    client.frame();
                    frames += 1;
                }
                frames
            });
            let rate = steps_a_second(&program, time);
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            (rate, reader.join().unwrap())
        });
        println!(
            "round {round}, {vertices} vertices: alone {alone:.2} steps/s, four clients that never read {:.3} of it \
             ({held:?} bytes), one that reads all {:.3} of it ({frames} frames)",
            beside_idle / alone,
            beside_reader / alone
        );
    }
}
