//! Standard output.

use std::fmt::Display;
use std::io::Write;

/// Prints a line. Who reads may stop reading (`| head -1`): that ends the printing, not the work.
pub(crate) fn line(text: impl Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
