//! Standard output and standard error.

use std::fmt::Display;
use std::io::Write;

/// Prints a line. The reader may close the pipe (`| head -1`): that ends the printing, not the work.
pub fn line(text: impl Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints a line to standard error. A full disk under a log, or a closed pipe, does not end the work either.
pub fn notice(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
