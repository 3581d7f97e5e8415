//! `crossing-audit [--json] FOLDER_OR_FILE ...`: audits the records of a run, `DIR/states`, and exits with 1 if anything is wrong.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use crossing_audit::audit::Audit;
use crossing_audit::record;

/// How far colliders and pins may be from where they belong, in metres.
const LATENESS: f64 = 1e-6;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<bool> {
    let paths: Vec<&String> = arguments.iter().filter(|a| *a != "--json").collect();
    ensure!(!paths.is_empty(), "usage: crossing-audit [--json] FOLDER_OR_FILE ...");
    let mut audit = Audit::default();
    for path in paths.iter().map(Path::new) {
        for file in files(path)? {
            let named = || file.display().to_string();
            let bytes = std::fs::read(&file).with_context(named)?;
            audit.frame(&record::read(&bytes).with_context(named)?);
        }
    }
    let findings = audit.findings;
    ensure!(findings.frames > 0, "there is no record: run with `--record-states`");
    let clean = findings.is_clean(LATENESS);
    if arguments.iter().any(|a| a == "--json") {
        println!("{}", serde_json::to_string(&findings)?);
        return Ok(clean);
    }
    findings.descriptions.iter().for_each(|line| println!("{line}"));
    println!(
        "{} frames, {} steps, {} pieces, {} restarts: {} events, {} crossings at ends, {} inside, {} jumps; colliders within {:.2e} m, \
         pins within {:.2e} m; {} points released",
        findings.frames,
        findings.steps,
        findings.pieces,
        findings.restarts,
        findings.events,
        findings.crossings,
        findings.inside,
        findings.jumps,
        findings.collider_lateness,
        findings.pin_lateness,
        findings.released.len()
    );
    Ok(clean)
}

/// The records in a folder, by name; or the file itself.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).with_context(|| path.display().to_string())?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "states"));
    files.sort();
    Ok(files)
}
