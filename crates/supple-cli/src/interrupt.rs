//! Ctrl-C (and other termination requests): the first lets the current frame finish, the second exits immediately.
//! Files get their final names only once complete, so neither leaves a damaged file.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::arguments::Common;
use crate::print::notice;

/// The exit code of a program that was interrupted by Ctrl-C (128 + SIGINT).
pub(crate) const STOPPED: u8 = 130;

/// Signals this close to each other are one request.
const SAME_REQUEST: Duration = Duration::from_millis(300);

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C waits for the current frame.
pub(crate) fn install_handler(common: &Common) {
    let quiet = common.quiet;
    // A second handler in one process (tests) is not an error: the first one stays in place.
    let mut first: Option<Instant> = None;
    let _ = ctrlc::set_handler(move || {
        // `timeout` and job systems signal the process and its group, so one request arrives twice.
        if first.is_some_and(|first| first.elapsed() < SAME_REQUEST) {
            return;
        }
        if REQUESTED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(STOPPED));
        }
        first = Some(Instant::now());
        if !quiet {
            notice("\nstopping after the current frame; press Ctrl-C again to stop immediately");
        }
    });
}

/// From now on Ctrl-C ends a program that has no results to lose, at its next check.
pub(crate) fn install_immediate_handler() {
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(STOPPED));
        }
    });
}

/// Whether Ctrl-C was pressed.
pub(crate) fn asked() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// The same for work that is controlled through `ControlFlow`.
pub(crate) fn flow() -> ControlFlow<()> {
    if asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
