//! Signs of life: what the program is at, on standard error, whenever nothing else has been printed for a while. They come from a
//! thread of their own, so they come in the middle of a long step too.

use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use crate::arguments::Common;
use crate::print::{notice, printed, silence};

/// Nothing is silent for longer than ten seconds: this, and the time between two looks.
const SILENCE: Duration = Duration::from_secs(8);
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// What the program is at and since when; `None` if nothing is to be printed.
static WORK: Mutex<Option<Work>> = Mutex::new(None);

struct Work {
    what: String,
    since: Instant,
}

/// Ends the signs of life when it is dropped.
pub(crate) struct AtWork;

/// From now on the program says that it is at `what` ("checking shirt.obj"), unless it is to be quiet.
pub(crate) fn begin(common: &Common, what: String) -> AtWork {
    static THREAD: Once = Once::new();
    if !common.quiet {
        printed();
        *lock() = Some(Work { what, since: Instant::now() });
        THREAD.call_once(|| {
            std::thread::spawn(watch);
        });
    }
    AtWork
}

/// The program has come to something else; without effect where it is quiet.
pub(crate) fn now_at(what: impl FnOnce() -> String) {
    if let Some(work) = lock().as_mut() {
        *work = Work { what: what(), since: Instant::now() };
    }
}

/// A progress bar on a terminal shows what is needed: nothing more is printed.
pub(crate) fn shown_by_a_bar() {
    *lock() = None;
}

impl Drop for AtWork {
    fn drop(&mut self) {
        *lock() = None;
    }
}

fn watch() {
    loop {
        std::thread::sleep(BETWEEN_LOOKS);
        if silence() < SILENCE {
            continue;
        }
        let text = lock()
            .as_ref()
            .map(|work| format!("still {}, for {} s", work.what, work.since.elapsed().as_secs()));
        // Printed without the lock: a reader that does not read must not stop the work.
        if let Some(text) = text {
            notice(text);
        }
    }
}

fn lock() -> std::sync::MutexGuard<'static, Option<Work>> {
    WORK.lock().unwrap_or_else(PoisonError::into_inner)
}
