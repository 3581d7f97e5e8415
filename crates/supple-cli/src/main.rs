//! The `supple` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    supple_cli::main()
}
