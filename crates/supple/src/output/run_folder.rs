//! The folder of a run (`--out DIR`): its owner, its contents and the process that writes to it.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::atomic::{create_folder, sweep, write_error, write_whole};
use supple_core::FileError;
use supple_linear::Simd;

const FORMAT: &str = "supple run";
const VERSION: u32 = 1;
const LOCK_NAME: &str = ".lock";
/// Longer than a lock probe takes.
const LOCK_PROBE: std::time::Duration = std::time::Duration::from_millis(30);

/// Metadata of a run that is not in its frames; stored in `frames/run.json`, which also marks a folder as a run of Supple.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The scene's name.
    pub scene: String,
    /// Frames per second.
    pub fps: f64,
    /// The instruction set it was started with, which determines its exact bits.
    #[serde(default)]
    pub simd: Simd,
}

#[derive(Serialize, Deserialize)]
struct RunRecord {
    format: String,
    version: u32,
    #[serde(flatten)]
    info: RunInfo,
}

/// Proof that this process alone writes to a run; released when dropped, or when the process dies.
#[derive(Debug)]
pub(super) struct WriterLock {
    _file: Option<File>,
}

/// The folder of frames inside a run.
pub(super) fn frames_folder(run: &Path) -> PathBuf {
    run.join("frames")
}

/// The folder of checkpoints inside a run.
pub(super) fn checkpoints_folder(run: &Path) -> PathBuf {
    run.join("checkpoints")
}

/// Whether `run` already contains a run of Supple. An error if it contains anything else, or a run of another version.
pub(super) fn is_run(run: &Path) -> Result<bool, FileError> {
    if info_path(run).exists() {
        return read_info(run).map(|_| true);
    }
    match first_foreign_entry(run)? {
        None => Ok(false),
        Some(name) => Err(FileError::whole(
            run,
            format!(
                "the folder is not empty and not a Supple run (it contains {name:?}); choose a new folder"
            ),
        )),
    }
}

/// Writes `frames/run.json`.
pub(super) fn write_info(run: &Path, info: &RunInfo) -> Result<(), FileError> {
    let path = info_path(run);
    if !(info.fps.is_finite() && info.fps > 0.0) {
        return Err(FileError::whole(&path, format!("fps must be greater than 0, found {}", info.fps)));
    }
    let record = RunRecord { format: FORMAT.into(), version: VERSION, info: info.clone() };
    write_whole(&path, |file| {
        serde_json::to_writer_pretty(&mut *file, &record)?;
        file.write_all(b"\n")
    })
}

/// Reads `frames/run.json`.
pub(super) fn read_info(run: &Path) -> Result<RunInfo, FileError> {
    let path = info_path(run);
    let text = fs::read_to_string(&path).map_err(|e| match e.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => FileError::whole(
            run,
            "this is not a Supple run (frames/run.json is missing); give the folder named by --out of a run",
        ),
        _ => FileError::io(&path, "read", &e),
    })?;
    let record: RunRecord = serde_json::from_str(&text).map_err(|e| {
        let problem = format!("not the description of a Supple run: {e}; choose another folder or run again");
        FileError::line(&path, e.line() as u64, problem)
    })?;
    check_record(&path, record)
}

fn check_record(path: &Path, record: RunRecord) -> Result<RunInfo, FileError> {
    let RunRecord { format, version, info } = record;
    if format != FORMAT {
        return Err(FileError::whole(
            path,
            format!("format {format:?} instead of {FORMAT:?}; choose another folder"),
        ));
    }
    if version != VERSION {
        let problem = format!(
            "the run has version {version}, but this program reads version {VERSION}; use a newer Supple"
        );
        return Err(FileError::whole(path, problem));
    }
    if !(info.fps.is_finite() && info.fps > 0.0) {
        return Err(FileError::whole(path, format!("fps must be greater than 0, found {}", info.fps)));
    }
    Ok(info)
}

/// Locks the run for writing and removes what a killed writer left.
pub(super) fn lock_for_writing(run: &Path) -> Result<WriterLock, FileError> {
    let frames = frames_folder(run);
    create_folder(&frames)?;
    let path = frames.join(LOCK_NAME);
    let file = File::create(&path).map_err(|e| write_error(&path, "create", &e))?;
    // A process that only checks whether the run is being written holds the lock for a moment.
    let locked = file.try_lock().or_else(|_| {
        std::thread::sleep(LOCK_PROBE);
        file.try_lock()
    });
    let file = match locked {
        Ok(()) => Some(file),
        Err(TryLockError::WouldBlock) => {
            let problem = "another process is writing this run; wait for it or choose another folder";
            return Err(FileError::whole(run, problem));
        }
        // Some network file systems have no locks; being able to run there is worth more than the guard.
        Err(TryLockError::Error(_)) => None,
    };
    for folder in [run, &frames, &checkpoints_folder(run)] {
        sweep(folder)?;
    }
    Ok(WriterLock { _file: file })
}

/// Whether a process is writing the run now. Always `false` where the file system has no locks.
pub fn is_being_written(run: &Path) -> bool {
    let Ok(file) = File::open(frames_folder(run).join(LOCK_NAME)) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// The numbers in the names `<prefix><number><suffix>` of a folder's files, sorted; none if there is no folder.
pub(super) fn numbered_files(folder: &Path, name: fn(u32) -> String) -> Result<Vec<u32>, FileError> {
    let mut numbers: Vec<u32> = names_in(folder)?.iter().filter_map(|found| number_in(found, name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The number for which `name` gives exactly `found`.
fn number_in(found: &str, name: fn(u32) -> String) -> Option<u32> {
    let digits = found.trim_start_matches(|c: char| !c.is_ascii_digit());
    let digits = digits.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|&number| name(number) == found)
}

/// The names in a folder that are valid text; none if there is no folder.
pub(super) fn names_in(folder: &Path) -> Result<Vec<String>, FileError> {
    let list_error = |e: &std::io::Error| FileError::io(folder, "list the folder", e);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(list_error(&e)),
    };
    let names = entries.map(|entry| entry.map(|e| e.file_name().to_string_lossy().into_owned()));
    names.collect::<Result<_, _>>().map_err(|e| list_error(&e))
}

fn info_path(run: &Path) -> PathBuf {
    frames_folder(run).join("run.json")
}

/// The first visible entry of the folder, by name, except an empty `frames` folder: a run killed at its very start.
fn first_foreign_entry(run: &Path) -> Result<Option<String>, FileError> {
    let mut names = names_in(run)?;
    names.sort();
    for name in names.into_iter().filter(|name| !name.starts_with('.')) {
        let entry = run.join(&name);
        let just_started = entry == frames_folder(run)
            && entry.is_dir()
            && names_in(&entry)?.iter().all(|inner| inner.starts_with('.'));
        if !just_started {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
