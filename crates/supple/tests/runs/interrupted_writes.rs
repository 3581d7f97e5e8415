//! Writers that are killed or run into a full disk: a second process of this very test program is the victim.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;

use supple::output::{AtomicFile, CheckpointStore, ExportFormat, FrameCache, export};

use crate::small_run::{ball, cloth, frame, write_run};

/// The run that a second process of this program is to write into, and be interrupted.
const RUN: &str = "SUPPLE_TEST_RUN";

/// Runs a test of this file again in its own process, after a line of shell; [`victims_run`] detects it.
fn run_victim(test: &str, run: &Path, before: &str) -> ExitStatus {
    let program = std::env::current_exe().unwrap();
    let script = format!("{before} exec \"$0\" --exact interrupted_writes::{test} --test-threads 1");
    Command::new("sh").arg("-c").arg(script).arg(program).env(RUN, run).status().unwrap()
}

/// The run, if this is the process of [`run_victim`].
fn victims_run() -> Option<PathBuf> {
    std::env::var_os(RUN).map(PathBuf::from)
}

fn all_files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(all_files(&path));
        } else {
            files.push((path.clone(), fs::read(path).unwrap()));
        }
    }
    files.sort();
    files
}

fn be_killed_while_writing(run: &Path) -> ! {
    let _lock = FrameCache::resume(run).unwrap();
    let mut file = AtomicFile::create(&run.join("frames/frame-000001.supf")).unwrap();
    file.write_all(&[7; 3_000_000]).unwrap();
    std::process::abort();
}

#[test]
fn a_killed_writer_leaves_whole_files_and_its_leftover_is_swept() {
    if let Some(run) = victims_run() {
        be_killed_while_writing(&run);
    }
    let dir = tempfile::tempdir().unwrap();
    drop(write_run(dir.path(), &[0], &[Arc::new(ball())]));
    let before = all_files(dir.path());
    assert!(
        !run_victim("a_killed_writer_leaves_whole_files_and_its_leftover_is_swept", dir.path(), "").success()
    );
    assert_eq!(all_files(dir.path()).len(), before.len() + 1, "the victim left its temporary");
    let cache = FrameCache::resume(dir.path()).unwrap();
    assert_eq!(cache.frames().unwrap(), [0]);
    assert_eq!(all_files(dir.path()), before);
}

fn meet_a_full_disk(run: &Path) {
    let surfaces = [Arc::new(cloth(100))];
    let mut cache = FrameCache::resume(run).unwrap();
    let mut problems = vec![cache.write(&frame(0, &surfaces)).unwrap_err().to_string()];
    let checkpoints = CheckpointStore::open(run, None);
    problems.push(checkpoints.write(0, 1, &[1; 100_000]).unwrap_err().to_string());
    for format in ExportFormat::ALL {
        problems.push(
            export(&cache, &[format], run, &mut |_, _| ControlFlow::Continue(())).unwrap_err().to_string(),
        );
    }
    for problem in problems {
        assert!(problem.contains("cannot write") && problem.contains("unchanged"), "{problem}");
    }
}

/// The shell's limit on file sizes simulates the full disk: the write fails at the same place in the same way.
#[test]
fn a_full_disk_leaves_every_file_whole() {
    if let Some(run) = victims_run() {
        return meet_a_full_disk(&run);
    }
    let dir = tempfile::tempdir().unwrap();
    let cache = write_run(dir.path(), &[0, 1], &[Arc::new(cloth(100))]);
    CheckpointStore::open(dir.path(), None).write(0, 1, b"state").unwrap();
    export(&cache, &ExportFormat::ALL, dir.path(), &mut |_, _| ControlFlow::Continue(())).unwrap();
    drop(cache);
    let before = all_files(dir.path());
    // In blocks of 512 bytes; without the signal, a write beyond the limit returns an error.
    let status = run_victim("a_full_disk_leaves_every_file_whole", dir.path(), "ulimit -f 40; trap '' XFSZ;");
    assert!(status.success());
    let after = all_files(dir.path());
    let names = |files: &[(PathBuf, Vec<u8>)]| files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(names(&after), names(&before));
    assert!(after == before, "a file changed");
}
