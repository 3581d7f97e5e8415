//! A run that is killed, truncated or stopped resumes bit-identically to one that was never interrupted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use crate::common::{run, succeed, supple, text, values};

/// One scene for each stepper: `hanging-cloth` at 51 x 51 vertices.
const SCENES: [&[&str]; 1] = [&["hanging-cloth", "--resolution", "0.25"]];
const FRAMES: &str = "60";

fn arguments<'a>(scene: &[&'a str], out: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["run"];
    arguments.extend(scene);
    arguments.extend(["--frames", FRAMES, "--json", "--quiet", "--out", text(out)]);
    arguments.extend(more);
    arguments
}

fn logged_hashes(out: &Path) -> Vec<serde_json::Value> {
    values(&fs::read_to_string(out.join("reports.jsonl")).unwrap(), "state_hash")
}

/// Moments of a run, as fractions of its length: different every time, and printed when a test fails.
struct Moments(u64);

impl Moments {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Self(now.as_nanos() as u64)
    }

    /// SplitMix64 (Steele et al. 2014).
    fn next_share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    }
}

/// Starts or resumes a run, and kills it after a while. A run killed before its first frame starts again.
fn kill_after(scene: &[&str], out: &Path, wait: Duration) {
    let has_started = out.join("frames/frame-000000.supf").exists();
    let more: &[&str] = if has_started { &["--resume"] } else { &[] };
    let mut child = supple(&arguments(scene, out, more)).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(wait);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn every_frame_is_bit_identical_for_any_threads_and_after_kills() {
    for scene in SCENES {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("one-thread");
        let started = Instant::now();
        let expected = values(&succeed(&arguments(scene, &whole, &["--threads", "1"])), "state_hash");
        let length = started.elapsed();
        assert_eq!(expected.len(), 60);
        for threads in ["2", "3"] {
            let out = folder.path().join(threads);
            let hashes = values(&succeed(&arguments(scene, &out, &["--threads", threads])), "state_hash");
            assert_eq!(hashes, expected, "{scene:?}, {threads} threads");
        }
        let killed = folder.path().join("killed");
        let mut moments = Moments::new();
        let waits: [Duration; 4] = std::array::from_fn(|_| length.mul_f64(0.5 * moments.next_share()));
        for wait in waits {
            kill_after(scene, &killed, wait);
        }
        // In its first moments the program has only partly created its folder.
        kill_after(scene, &folder.path().join("early"), length.mul_f64(0.02 * moments.next_share()));
        kill_after(scene, &folder.path().join("early"), length.mul_f64(0.1 * moments.next_share()));
        let started = killed.join("frames/frame-000000.supf").exists();
        let output = run(&arguments(scene, &killed, if started { &["--resume"] } else { &[] }));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{scene:?}, killed after {waits:?}: {message}");
        assert_eq!(logged_hashes(&killed), expected, "{scene:?}, killed after {waits:?}");
        assert_same_frames(&killed, &whole);
    }
}

fn assert_same_frames(one: &Path, other: &Path) {
    for frame in 0..=60 {
        let name = format!("frames/frame-{frame:06}.supf");
        assert_eq!(fs::read(one.join(&name)).unwrap(), fs::read(other.join(&name)).unwrap(), "{name}");
    }
}

/// A short run to damage.
fn short_run(folder: &Path) -> (PathBuf, Vec<serde_json::Value>) {
    let out = folder.join("run");
    let lines = succeed(&[
        "run",
        "demo",
        "--resolution",
        "0.2",
        "--frames",
        "6",
        "--json",
        "--quiet",
        "--out",
        text(&out),
    ]);
    (out, values(&lines, "state_hash"))
}

fn cut_short(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() - 5]).unwrap();
}

#[test]
fn a_frame_or_checkpoint_cut_short_is_noticed_and_redone() {
    for damaged in ["frames/frame-000004.supf", "checkpoints/checkpoint-000006.supc", "reports.jsonl"] {
        let folder = tempfile::tempdir().unwrap();
        let (out, expected) = short_run(folder.path());
        cut_short(&out.join(damaged));
        let output = run(&["run", "--out", text(&out), "--resume", "--json"]);
        assert!(output.status.success(), "{damaged}: {}", String::from_utf8_lossy(&output.stderr));
        if damaged != "reports.jsonl" {
            assert!(String::from_utf8_lossy(&output.stderr).contains("recomputing it"), "{damaged}");
        }
        let (fresh, _) = short_run(&folder.path().join("fresh"));
        for frame in 0..=6 {
            let name = format!("frames/frame-{frame:06}.supf");
            assert_eq!(
                fs::read(out.join(&name)).unwrap(),
                fs::read(fresh.join(&name)).unwrap(),
                "{damaged}: {name}"
            );
        }
        let logged = logged_hashes(&out);
        assert_eq!(logged.last(), expected.last(), "{damaged}");
    }
}

#[test]
fn a_changed_scene_is_refused_by_resume_and_taken_by_from() {
    let folder = tempfile::tempdir().unwrap();
    let (out, before) = short_run(folder.path());
    let changed = [
        "run",
        "demo",
        "--resolution",
        "0.2",
        "--frames",
        "6",
        "--set",
        "world.gravity=[0,-5,0]",
        "--quiet",
        "--json",
    ];
    let refused = run(&[&changed[..], &["--out", text(&out), "--resume"]].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--from"));
    let taken = succeed(&[&changed[..], &["--out", text(&out), "--from", "3"]].concat());
    assert_eq!(values(&taken, "frame").len(), 3);
    let after = logged_hashes(&out);
    assert_eq!(after[..3], before[..3]);
    assert_ne!(after[3], before[3]);
}

#[test]
fn a_folder_that_holds_something_else_is_never_touched() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("thesis.txt");
    fs::write(&precious, "years of work").unwrap();
    let output = run(&["run", "demo", "--resolution", "0.1", "--frames", "1", "--out", text(folder.path())]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let (out, _) = short_run(&folder.path().join("sub"));
    let again = run(&["run", "demo", "--resolution", "0.2", "--frames", "6", "--out", text(&out)]);
    assert_eq!(again.status.code(), Some(2), "an earlier run is not overwritten silently");
}

#[test]
fn a_damaged_start_never_makes_resume_replace_another_scenes_run() {
    let folder = tempfile::tempdir().unwrap();
    let (out, expected) = short_run(folder.path());
    cut_short(&out.join("frames/frame-000000.supf"));
    let foreign =
        ["run", "hanging-cloth", "--resolution", "0.05", "--frames", "2", "--quiet", "--out", text(&out)];
    let refused = run(&[&foreign[..], &["--resume"]].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
    assert_eq!(logged_hashes(&out), expected, "nothing was touched");
    // With its own scene, only the damaged frame is rewritten.
    succeed(&["run", "--out", text(&out), "--resume", "--quiet"]);
    assert_eq!(logged_hashes(&out), expected);
    succeed(&["export", text(&out), "--format", "pc2", "--quiet"]);
}

#[test]
fn a_run_continued_with_a_changed_scene_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let (out, _) = short_run(folder.path());
    let changed = ["run", "--out", text(&out), "--from", "3", "--set", "world.gravity=[0,-1,0]", "--quiet"];
    succeed(&changed);
    let expected = logged_hashes(&out);
    for lost in 4..=6 {
        fs::remove_file(out.join(format!("checkpoints/checkpoint-{lost:06}.supc"))).unwrap();
    }
    succeed(&["run", "--out", text(&out), "--resume", "--quiet"]);
    assert_eq!(logged_hashes(&out), expected);
}

#[test]
fn a_reader_that_stops_reading_does_not_stop_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let arguments =
        ["run", "demo", "--resolution", "0.2", "--frames", "6", "--json", "--quiet", "--out", text(&out)];
    let mut child = supple(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(logged_hashes(&out).len(), 6);
}

#[test]
fn a_run_resumed_with_other_instructions_is_refused_by_the_options_name() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let start = ["run", "demo", "--resolution", "0.1", "--frames", "2", "--quiet", "--out", text(&out)];
    succeed(&[&start[..], &["--simd", "baseline"]].concat());
    let resume = ["run", "--out", text(&out), "--resume", "--quiet", "--set", "time.frames=3"];
    let refused = run(&resume);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("with `--simd baseline`"));
    succeed(&[&resume[..], &["--simd", "baseline"]].concat());
    assert_eq!(logged_hashes(&out).len(), 3);
}

#[test]
fn a_resumed_run_tells_of_expectations_broken_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    // The stretch is never below zero: every frame violates it, starting with the first.
    let bound = ["--set", "expect.max_stretch=0.5"];
    let start = ["run", "demo", "--resolution", "0.1", "--frames", "2", "--quiet", "--out", text(&out)];
    succeed(&[&start[..], &bound].concat());
    let output =
        run(&[&["run", "--out", text(&out), "--resume", "--set", "time.frames=3"][..], &bound].concat());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("max_stretch") && message.contains("at frame 1, above 0.5"), "{message}");
}

#[test]
fn asking_for_fewer_frames_than_there_are_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (out, expected) = short_run(folder.path());
    let scene = fs::read_to_string(out.join("scene.toml")).unwrap();
    let output = run(&["run", "--out", text(&out), "--resume", "--frames", "4"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    assert!(message.contains("already has 6 frames"), "{message}");
    assert_eq!(fs::read_to_string(out.join("scene.toml")).unwrap(), scene);
    assert_eq!(logged_hashes(&out), expected);
    assert!(out.join("frames/frame-000006.supf").exists());
    // Resuming from a frame beyond the last is rejected before anything is removed.
    let refused = run(&["run", "--out", text(&out), "--from", "5", "--frames", "4"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(logged_hashes(&out), expected);
}
