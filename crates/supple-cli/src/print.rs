//! Standard output and standard error.

use std::fmt::Display;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Milliseconds since [`origin`] at which something was printed last.
static PRINTED: AtomicU64 = AtomicU64::new(0);

/// Prints a line. The reader may close the pipe (`| head -1`): that ends the printing, not the work.
pub fn line(text: impl Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
    printed();
}

/// Prints a line to standard error. A full disk under a log, or a closed pipe, does not end the work either.
pub fn notice(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
    printed();
}

/// Something was printed, or begins.
pub(crate) fn printed() {
    PRINTED.store(origin().elapsed().as_millis() as u64, Ordering::Relaxed);
}

/// How long nothing has been printed.
pub(crate) fn silence() -> Duration {
    origin().elapsed().saturating_sub(Duration::from_millis(PRINTED.load(Ordering::Relaxed)))
}

fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}
