//! The `supple` program with one additional stepper.

use std::process::ExitCode;

fn main() -> ExitCode {
    supple_cli::main_with_steppers(std::env::args_os(), toy_stepper::steppers())
}
