//! Complete states from which a run is resumed: `checkpoints/checkpoint-000012.supc`, one record each.

use std::fs;
use std::path::{Path, PathBuf};

use super::atomic::{create_folder, write_error};
use super::bytes::{Number, PayloadReader};
use super::record::{self, RecordKind};
use super::run_folder::{checkpoints_folder, numbered_files};
use supple_core::FileError;

const CHECKPOINT: RecordKind =
    RecordKind { code: *b"CHKP", version: 4, name: "checkpoint", remedy: "resume from an earlier one" };
/// Frame and fingerprint, preceding the state itself.
const HEAD_BYTES: usize = 4 + 8;
/// A checkpoint below this size is written every frame, unless the scene specifies otherwise.
const SMALL_BYTES: u64 = 64_000_000;
/// How often a larger one is written.
const EVERY_WHEN_LARGE: u32 = 10;
/// The newest ones are kept whatever their frame: if one is damaged, the other is near.
const ALWAYS_KEPT: usize = 2;

/// A complete state read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The frame after which it was taken.
    pub frame: u32,
    /// Fingerprint of the scene that wrote it.
    pub scene_fingerprint: u64,
    /// The encoded state of the simulation.
    pub payload: Vec<u8>,
}

/// The newest valid checkpoint, and the damaged ones that were skipped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FoundCheckpoint {
    /// `None` if there is no valid one.
    pub checkpoint: Option<Checkpoint>,
    /// One error per damaged file, newest first.
    pub damaged: Vec<FileError>,
}

/// The checkpoints of one run. The writer keeps the run's [`FrameCache`](super::FrameCache) open for writing.
#[derive(Debug, Clone)]
pub struct CheckpointStore {
    folder: PathBuf,
    every: Option<u32>,
}

impl CheckpointStore {
    /// The checkpoints of the run in `dir`, one every `every` frames; `None`: every frame while one is under 64 MB,
    /// otherwise every tenth.
    pub fn open(dir: &Path, every: Option<u32>) -> Self {
        Self { folder: checkpoints_folder(dir), every: every.map(|n| n.max(1)) }
    }

    /// Whether a checkpoint of `bytes` bytes is due after `frame`.
    pub fn is_due(&self, frame: u32, bytes: u64) -> bool {
        frame.is_multiple_of(self.interval(bytes))
    }

    /// The frames that have a checkpoint, sorted.
    pub fn frames(&self) -> Result<Vec<u32>, FileError> {
        numbered_files(&self.folder, checkpoint_name)
    }

    /// Writes a checkpoint, whole or not at all, and then removes those that were written out of schedule (at the end
    /// of a run or on an interrupt), except the newest two.
    pub fn write(&self, frame: u32, scene_fingerprint: u64, payload: &[u8]) -> Result<(), FileError> {
        create_folder(&self.folder)?;
        let mut head = Vec::with_capacity(HEAD_BYTES);
        frame.put(&mut head);
        scene_fingerprint.put(&mut head);
        record::write(&self.path(frame), CHECKPOINT, &[&head, payload])?;
        self.prune(payload.len() as u64)
    }

    /// The newest valid checkpoint, at or before a frame if one is given.
    pub fn newest_valid(&self, at_or_before: Option<u32>) -> Result<FoundCheckpoint, FileError> {
        let mut found = FoundCheckpoint::default();
        let newest = at_or_before.unwrap_or(u32::MAX);
        for frame in self.frames()?.into_iter().rev().filter(|&frame| frame <= newest) {
            match self.read(frame) {
                Ok(checkpoint) => {
                    found.checkpoint = Some(checkpoint);
                    break;
                }
                Err(error) => found.damaged.push(error),
            }
        }
        Ok(found)
    }

    /// Reads the checkpoint of one frame.
    pub fn read(&self, frame: u32) -> Result<Checkpoint, FileError> {
        let path = self.path(frame);
        let mut payload = record::read(&path, CHECKPOINT)?;
        let mut reader = PayloadReader::new(&path, &payload);
        let (stored, scene_fingerprint) = (reader.number::<u32>()?, reader.number()?);
        if stored != frame {
            return Err(
                reader.error(format!("the file contains frame {stored}; it was renamed: restore its name"))
            );
        }
        payload.drain(..HEAD_BYTES);
        Ok(Checkpoint { frame, scene_fingerprint, payload })
    }

    /// Removes every checkpoint from frame `index` on, last first.
    pub fn remove_from(&self, index: u32) -> Result<(), FileError> {
        let frames = self.frames()?;
        frames.into_iter().rev().take_while(|&frame| frame >= index).try_for_each(|frame| self.remove(frame))
    }

    fn prune(&self, bytes: u64) -> Result<(), FileError> {
        let frames = self.frames()?;
        let older = &frames[..frames.len().saturating_sub(ALWAYS_KEPT)];
        older.iter().filter(|&&frame| !self.is_due(frame, bytes)).try_for_each(|&frame| self.remove(frame))
    }

    fn remove(&self, frame: u32) -> Result<(), FileError> {
        let path = self.path(frame);
        fs::remove_file(&path).map_err(|e| write_error(&path, "remove", &e))
    }

    fn interval(&self, bytes: u64) -> u32 {
        self.every.unwrap_or(if bytes < SMALL_BYTES { 1 } else { EVERY_WHEN_LARGE })
    }

    fn path(&self, frame: u32) -> PathBuf {
        self.folder.join(checkpoint_name(frame))
    }
}

fn checkpoint_name(frame: u32) -> String {
    format!("checkpoint-{frame:06}.supc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_whole_checkpoint_is_found_and_damaged_ones_are_named() {
        let run = tempfile::tempdir().unwrap();
        let store = CheckpointStore::open(run.path(), None);
        assert_eq!(store.newest_valid(None).unwrap(), FoundCheckpoint::default());
        for frame in 0..6 {
            store.write(frame, 7, &[frame as u8; 5]).unwrap();
        }
        fs::write(store.path(5), b"").unwrap();
        let whole = fs::read(store.path(4)).unwrap();
        fs::write(store.path(4), &whole[..whole.len() - 3]).unwrap();
        let found = store.newest_valid(None).unwrap();
        let expected = Checkpoint { frame: 3, scene_fingerprint: 7, payload: vec![3; 5] };
        assert_eq!(found.checkpoint, Some(expected));
        let damaged: Vec<_> = found.damaged.iter().map(|e| e.path.clone()).collect();
        assert_eq!(damaged, [store.path(5), store.path(4)]);
        assert_eq!(store.newest_valid(Some(2)).unwrap().checkpoint.unwrap().frame, 2);
    }

    #[test]
    fn a_checkpoint_cut_at_any_byte_or_with_any_bit_flipped_is_passed_over() {
        let run = tempfile::tempdir().unwrap();
        let store = CheckpointStore::open(run.path(), None);
        store.write(1, 2, b"state").unwrap();
        let whole = fs::read(store.path(1)).unwrap();
        for length in 0..whole.len() {
            fs::write(store.path(1), &whole[..length]).unwrap();
            assert!(store.newest_valid(None).unwrap().checkpoint.is_none(), "{length}");
        }
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(store.path(1), &flipped).unwrap();
            assert_eq!(store.newest_valid(None).unwrap().damaged.len(), 1, "bit {bit}");
        }
    }

    #[test]
    fn a_checkpoint_under_another_name_is_refused() {
        let run = tempfile::tempdir().unwrap();
        let store = CheckpointStore::open(run.path(), None);
        store.write(1, 2, b"state").unwrap();
        fs::rename(store.path(1), store.path(9)).unwrap();
        assert!(store.read(9).unwrap_err().problem.contains("contains frame 1"));
    }

    #[test]
    fn small_ones_come_every_frame_and_large_ones_every_tenth() {
        let store = CheckpointStore::open(Path::new("run"), None);
        assert!((0..30).all(|frame| store.is_due(frame, 63_999_999)));
        let due: Vec<u32> = (0..30).filter(|&frame| store.is_due(frame, 64_000_000)).collect();
        assert_eq!(due, [0, 10, 20]);
        let store = CheckpointStore::open(Path::new("run"), Some(7));
        let due: Vec<u32> = (0..30).filter(|&frame| store.is_due(frame, 1)).collect();
        assert_eq!(due, [0, 7, 14, 21, 28]);
    }

    #[test]
    fn those_in_turn_are_kept_and_of_the_others_the_newest_two() {
        let run = tempfile::tempdir().unwrap();
        let store = CheckpointStore::open(run.path(), Some(4));
        for frame in [0, 3, 4, 6, 7, 8] {
            store.write(frame, 0, b"state").unwrap();
        }
        assert_eq!(store.frames().unwrap(), [0, 4, 7, 8]);
        store.remove_from(5).unwrap();
        assert_eq!(store.frames().unwrap(), [0, 4]);
    }
}
