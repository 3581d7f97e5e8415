//! The program behind `supple reproduce`.

use std::process::ExitCode;

use clap::Parser;
use supple_cli::{Common, Reproduce, in_pool};

/// Figures and tables of papers, measured here and compared with the papers' own numbers.
#[derive(Debug, Parser)]
#[command(name = "supple-reproduce", version, about, max_term_width = 110)]
struct ReproduceArguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    options: Reproduce,
}

fn main() -> ExitCode {
    let ReproduceArguments { common, options } = ReproduceArguments::parse();
    match in_pool(&common, || supple_reproduce::reproduce(&options, &common)) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
