//! Many clients, including slow ones and ones that never read: the simulation continues and memory stays bounded.
//!
//! Tests that take minutes or need a quiet machine are ignored by default. On a release build:
//! `cargo test --release -p supple-cli --test viewer crowd -- --ignored --nocapture --test-threads 1`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::program::{Binary, Client, Program, Received};

/// Rounds in which memory may still grow.
const SETTLING: Duration = Duration::from_secs(1);
/// Tolerated variation of resident memory in bytes: allocators and thread stacks.
const SLACK: u64 = 24 << 20;
/// Clients that never read.
const IDLE: u64 = 8;

/// How many visits there were, and how long the longest took.
struct Visits {
    count: u32,
    longest: Duration,
}

/// Ten clients that connect, watch, drag and disconnect, repeatedly.
fn come_and_go(program: &Program, time: Duration) -> Visits {
    let started = Instant::now();
    let mut visits = Visits { count: 0, longest: Duration::ZERO };
    let mut clients: Vec<_> = (0..10).map(|_| program.connect()).collect();
    while started.elapsed() < time {
        let came = Instant::now();
        // The oldest client leaves, some without a closing handshake.
        clients.remove(0);
        clients.push(program.connect());
        visits.count += 1;
        let client = clients.last_mut().unwrap();
        let frame = client.frame();
        client.send(&json!({ "type": "grab", "origin": [0, 9, 0], "direction": [0, -1, 0] }));
        client.send(&json!({ "type": "drag", "target": [0, 2, f64::from(visits.count % 3)] }));
        client.frame_where(|later| later.time() > frame.time());
        visits.longest = visits.longest.max(came.elapsed());
    }
    visits
}

/// Memory must not have grown by more than `most` bytes; systems that do not report it are skipped.
fn assert_memory(program: &Program, before: Option<u64>, most: u64) {
    assert!(before.is_some() || !cfg!(target_os = "linux"), "Linux reports the memory of a process");
    if let (Some(before), Some(after)) = (before, program.memory()) {
        println!("{:.1} MiB before, {:.1} MiB after", mebibytes(before), mebibytes(after));
        assert!(after < before + most, "{before} bytes became {after}, more than {most} on top");
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn crowd(time: Duration) -> Visits {
    let program = Program::start(&["hanging-cloth", "--resolution", "0.15", "--solver", "hpbd"]);
    come_and_go(&program, SETTLING);
    let before = program.memory();
    let visits = come_and_go(&program, time);
    println!("{} visits, the longest {:?}", visits.count, visits.longest);
    assert_memory(&program, before, SLACK);
    let mut client = program.connect();
    let first = client.frame();
    client.frame_where(|frame| frame.time() > first.time());
    visits
}

#[test]
fn clients_that_come_and_go_leave_no_memory_behind() {
    crowd(Duration::from_secs(3));
}

/// The sizes in bytes of the topology and of a frame.
fn message_sizes(program: &Program) -> [u64; 2] {
    let mut client = program.connect();
    let mut sizes = [0; 2];
    while sizes.contains(&0) {
        match client.receive() {
            Received::Binary(message @ Binary { kind: 1 | 2, .. }) => {
                sizes[message.kind as usize - 1] = 4 * message.words().len() as u64;
            }
            Received::Closed => panic!("the connection was closed"),
            _ => {}
        }
    }
    sizes
}

/// Clients that never read occupy their own topology and at most two frames, however many frames pass by.
fn idle_clients_hold_two_frames(program: &Program, frames: u32) {
    let [topology, frame] = message_sizes(program);
    let mut watcher = program.connect();
    (0..10).for_each(|_| drop(watcher.frame()));
    let before = program.memory();
    let idle: Vec<Client> = (0..IDLE).map(|_| program.connect()).collect();
    (0..frames).for_each(|_| drop(watcher.frame()));
    // The test can detect a queue: far more was sent than may be retained.
    assert!(u64::from(frames) * frame * IDLE > 2 * (IDLE * (topology + 2 * frame) + SLACK));
    assert_memory(program, before, IDLE * (topology + 2 * frame) + SLACK);
    drop(idle);
}

#[test]
fn clients_that_never_read_hold_two_frames_and_stop_nobody() {
    let program = Program::start(&["hanging-cloth", "--resolution", "0.6", "--solver", "hpbd"]);
    program.connect().send(&json!({ "type": "speed", "factor": null }));
    idle_clients_hold_two_frames(&program, 60);
}

/// The current step: the frame that waits for a client is old.
fn step_now(client: &mut Client) -> (f64, Instant) {
    client.frame();
    client.frame();
    let frame = client.frame();
    (frame.header["step"].as_f64().unwrap(), Instant::now())
}

fn rate(before: (f64, Instant), after: (f64, Instant)) -> f64 {
    (after.0 - before.0) / (after.1 - before.1).as_secs_f64()
}

/// Steps per second with no client connected in between.
fn rate_alone(program: &Program, time: Duration) -> f64 {
    let before = step_now(&mut program.connect());
    std::thread::sleep(time);
    rate(before, step_now(&mut program.connect()))
}

/// The same with a client that reads as fast as it can.
fn rate_beside_reader(program: &Program, time: Duration) -> f64 {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = program.connect();
            while !done.load(Ordering::Relaxed) {
                client.frame();
            }
        });
        let rate = rate_alone(program, time);
        done.store(true, Ordering::Relaxed);
        rate
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Tests that `check.sh` leaves out: too long for every change, or meaningless on a busy machine.
mod by_hand {
    use super::*;

    #[test]
    #[ignore = "takes five minutes"]
    fn ten_clients_come_and_go_for_five_minutes() {
        let visits = crowd(Duration::from_secs(300));
        assert!(visits.longest < Duration::from_secs(5), "a visit stalled for {:?}", visits.longest);
    }

    #[test]
    #[ignore = "takes a minute of a quiet machine and a release build"]
    fn a_hundred_thousand_vertices_run_as_fast_beside_clients_as_alone() {
        let program = Program::start(&["hanging-cloth", "--resolution", "1.575", "--solver", "hpbd"]);
        let mut first = program.connect();
        first.send(&json!({ "type": "speed", "factor": null }));
        assert!(first.text("state")["vertices"].as_u64().unwrap() > 99_000);
        first.frame();
        drop(first);
        let time = Duration::from_secs(5);
        rate_alone(&program, SETTLING);
        let (mut with_reader, mut with_idle) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            // Each is compared with the one just before it: machines slow down as they warm up.
            let alone = rate_alone(&program, time);
            with_reader.push(rate_beside_reader(&program, time) / alone);
            let alone = rate_alone(&program, time);
            let idle: Vec<Client> = (0..IDLE).map(|_| program.connect()).collect();
            with_idle.push(rate_alone(&program, time) / alone);
            drop(idle);
            println!(
                "{alone:.2} steps/s alone; beside a reader {with_reader:.3?}, beside idle ones {with_idle:.3?}"
            );
        }
        let (reader, idle) = (median(with_reader), median(with_idle));
        assert!(reader >= 0.9, "{reader:.3} of the speed with a client that reads as fast as it can");
        // "Nothing", as far as it can be measured.
        assert!(idle >= 0.95, "{idle:.3} of the speed with clients that never read");
        idle_clients_hold_two_frames(&program, 60);
    }
}
