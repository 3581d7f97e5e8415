//! Output: the frame cache, exports and checkpoints.

mod atomic;
mod bytes;
mod checkpoint;
mod export;
mod frame;
mod frame_cache;
mod record;
mod run_folder;
mod topology;

pub(crate) use atomic::write_error;
pub use atomic::{AtomicFile, sweep, write_whole};
pub use checkpoint::{Checkpoint, CheckpointStore, FoundCheckpoint};
pub use export::{ExportFormat, export};
pub use frame::{Frame, FrameBody, FrameContact, FrameSurface};
pub use frame_cache::FrameCache;
pub use run_folder::{RunInfo, is_being_written};
