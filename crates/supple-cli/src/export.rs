//! `supple export`.

use std::path::Path;
use std::process::ExitCode;

use supple::output::{ExportFormat, FrameCache};

use crate::arguments::{Common, Export};
use crate::failure::Failure;
use crate::interrupt;
use crate::print::line;
use crate::progress::Progress;

/// Writes the frames of a run in other formats.
pub(crate) fn export(options: &Export, common: &Common) -> Result<ExitCode, Failure> {
    let formats = parse_formats(&options.format)?;
    let cache = FrameCache::open(&options.folder).map_err(Failure::usage)?;
    interrupt::heed(common);
    let folder = options.out.clone().unwrap_or_else(|| options.folder.join("exports"));
    export_frames(&cache, &formats, &folder, common)?;
    Ok(ExitCode::SUCCESS)
}

/// Formats by their words.
pub(crate) fn parse_formats(words: &[String]) -> Result<Vec<ExportFormat>, Failure> {
    let parsed = words.iter().map(|word| word.trim().parse());
    parsed.collect::<Result<_, supple::Error>>().map_err(Failure::usage)
}

/// Exports with a progress line, and says which files there are.
pub(crate) fn export_frames(
    cache: &FrameCache,
    formats: &[ExportFormat],
    folder: &Path,
    common: &Common,
) -> Result<(), Failure> {
    if formats.is_empty() {
        return Ok(());
    }
    let progress = Progress::work(common, "exporting");
    let written = supple::output::export(cache, formats, folder, &mut |done, of| {
        progress.set(done, of);
        interrupt::flow()
    });
    progress.end();
    for path in written.map_err(|error| export_failure(error, formats, folder))? {
        if common.json {
            line(serde_json::json!({ "export": path }));
        } else if !common.quiet {
            eprintln!("wrote {}", path.display());
        }
    }
    Ok(())
}

/// A stopped export says what is there.
fn export_failure(error: supple::Error, formats: &[ExportFormat], folder: &Path) -> Failure {
    if !matches!(error, supple::Error::Stopped { .. }) {
        return Failure::of(error);
    }
    let words: Vec<&str> = formats.iter().map(|format| format.word()).collect();
    Failure::of(error).with_advice(format!(
        "the export to {} in {} is not complete, every file in it is whole",
        words.join(","),
        folder.display()
    ))
}
