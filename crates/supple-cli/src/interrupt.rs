//! Ctrl-C (and what asks a program to end in other ways): the first lets the current frame be finished, the second
//! ends at once. Files have their names only when they are whole, so either leaves none damaged.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::arguments::Common;
use crate::print::notice;

/// The exit code of a program that was stopped by Ctrl-C (128 + SIGINT).
pub(crate) const STOPPED: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C waits for the current frame.
pub(crate) fn install_handler(common: &Common) {
    let quiet = common.quiet;
    // A second handler in one process (tests) is no failure: the first one serves.
    let _ = ctrlc::set_handler(move || {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(STOPPED));
        }
        if !quiet {
            notice("\nstopping after the current frame; Ctrl-C again stops at once");
        }
    });
}

/// From now on Ctrl-C ends a program that has nothing to lose, as soon as it looks.
pub(crate) fn install_immediate_handler() {
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(STOPPED));
        }
    });
}

/// Whether Ctrl-C was pressed.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// The same for work that is told by `ControlFlow`.
pub(crate) fn flow() -> ControlFlow<()> {
    if asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
