//! Running the program in tests.

use std::path::Path;
use std::process::{Command, Output};

/// The program with some arguments.
pub(crate) fn supple(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_supple"));
    command.args(arguments);
    command
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    supple(arguments).output().expect("the program starts")
}

/// Runs the program and expects success; returns its standard output.
pub(crate) fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "supple {}: {:?}\n{errors}", arguments.join(" "), output.status);
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The values of a key in JSON lines.
pub(crate) fn values(lines: &str, key: &str) -> Vec<serde_json::Value> {
    let parsed = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect(line));
    parsed.filter_map(|line| line.get(key).cloned()).collect()
}

/// A path as text.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}
