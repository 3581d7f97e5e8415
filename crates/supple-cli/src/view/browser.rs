//! Opening the page in the user's browser.

use std::process::{Command, Stdio};

/// Asks the system to open an address; without a browser, the printed address can be opened elsewhere.
pub(super) fn open(address: &str) {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(target_os = "windows") {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        // Reaped when it ends, so that no zombie remains.
        std::thread::spawn(move || child.wait());
    }
}
