//! `supple export`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use supple::output::{ExportFormat, FrameCache};

use crate::arguments::{Common, Export};
use crate::failure::Failure;
use crate::interrupt;
use crate::print::{line, notice};
use crate::progress::Progress;

/// Writes the frames of a run in other formats.
pub(crate) fn export(options: &Export, common: &Common) -> Result<ExitCode, Failure> {
    let formats = parse_formats(&options.format)?;
    let cache = FrameCache::open(&options.folder).map_err(Failure::usage)?;
    interrupt::install_handler(common);
    let folder = options.out.clone().unwrap_or_else(|| options.folder.join("exports"));
    export_frames(&cache, &formats, &folder, common)?;
    Ok(ExitCode::SUCCESS)
}

/// Parses the format names.
pub(crate) fn parse_formats(words: &[String]) -> Result<Vec<ExportFormat>, Failure> {
    let parsed = words.iter().map(|word| word.trim().parse());
    parsed.collect::<Result<_, supple::Error>>().map_err(Failure::usage)
}

/// Exports with a progress line, and lists the files written.
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
            notice(format_args!("wrote {}", path.display()));
        }
    }
    if formats.contains(&ExportFormat::Obj) {
        note_material_files(cache, &folder.join(ExportFormat::Obj.name()))?;
    }
    Ok(())
}

/// OBJ files refer to the material files of the user's meshes, which are not part of the run.
fn note_material_files(cache: &FrameCache, folder: &Path) -> Result<(), Failure> {
    let Some(&first) = cache.frames().map_err(Failure::of)?.first() else { return Ok(()) };
    let frame = cache.read(first).map_err(Failure::of)?;
    let named = frame.bodies.iter().flat_map(|body| &body.surface.mesh.material_libraries);
    let missing: BTreeSet<&String> = named.filter(|name| !folder.join(name.as_str()).exists()).collect();
    for name in missing {
        notice(format_args!(
            "note: the OBJ files refer to the material file {name}; copy it from the folder of your mesh to {}",
            folder.display()
        ));
    }
    Ok(())
}

/// An interrupted export reports what it has written.
fn export_failure(error: supple::Error, formats: &[ExportFormat], folder: &Path) -> Failure {
    if !matches!(error, supple::Error::Stopped { .. }) {
        return Failure::of(error);
    }
    let words: Vec<&str> = formats.iter().map(|format| format.name()).collect();
    Failure::of(error).with_advice(format!(
        "the export to {} in {} is incomplete, but every file in it is valid",
        words.join(","),
        folder.display()
    ))
}
