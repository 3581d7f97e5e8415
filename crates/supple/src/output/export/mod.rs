//! Exports the frames of a run to the formats of other programs. Every exporter streams frame by frame and writes each file
//! whole or not at all.
//!
//! Bare point caches (PC2, MDD) are in the unit and axes of the user's own file, since they are applied to it;
//! all other formats are complete scenes in metres, y up.

mod gltf;
mod job;
mod mdd;
mod names;
mod pc2;
mod point_cache;
mod sequence;
mod usd;
mod vtu;

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use self::job::Job;
use super::frame_cache::FrameCache;
use supple_core::Error;

/// An export format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum ExportFormat {
    /// PointCache2, one `.pc2` file per body.
    Pc2,
    /// MDD point cache, one `.mdd` file per body.
    Mdd,
    /// One binary USD file (`.usdc`) with every body.
    Usd,
    /// One binary glTF file (`.glb`) with every body, animated by morph targets.
    Gltf,
    /// Wavefront OBJ, one file per body and frame.
    Obj,
    /// Binary PLY, one file per body and frame.
    Ply,
    /// VTK XML, one `.vtu` file per body and frame, and a `.pvd` per body.
    Vtu,
}

impl ExportFormat {
    /// Every format.
    pub const ALL: [Self; 7] = [Self::Pc2, Self::Mdd, Self::Usd, Self::Gltf, Self::Obj, Self::Ply, Self::Vtu];

    /// Its name on the command line and in scene files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pc2 => "pc2",
            Self::Mdd => "mdd",
            Self::Usd => "usd",
            Self::Gltf => "gltf",
            Self::Obj => "obj",
            Self::Ply => "ply",
            Self::Vtu => "vtu",
        }
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for ExportFormat {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|format| format.word() == word).ok_or_else(|| unknown_format(word))
    }
}

impl TryFrom<String> for ExportFormat {
    type Error = Error;

    fn try_from(word: String) -> Result<Self, Error> {
        word.parse()
    }
}

impl From<ExportFormat> for &'static str {
    fn from(format: ExportFormat) -> Self {
        format.word()
    }
}

/// Writes every frame of `cache` in each of `formats` into `folder`, which is created if it does not exist, and
/// returns every file written. `progress` gets the frames done and the total, over all formats, and may
/// interrupt: the export then ends with [`Error::Stopped`]; complete files stay, and no partial file is left. Data that a
/// format cannot represent is an error after all others are written.
pub fn export(
    cache: &FrameCache,
    formats: &[ExportFormat],
    folder: &Path,
    progress: &mut dyn FnMut(u32, u32) -> ControlFlow<()>,
) -> Result<Vec<PathBuf>, Error> {
    let mut job = Job::start(cache, formats.len() as u32, folder, progress)?;
    let (mut written, mut refused) = (Vec::new(), Vec::new());
    for (number, format) in formats.iter().enumerate() {
        match export_one(&mut job, *format) {
            Ok(files) => written.extend(files),
            Err(Error::Invalid(problem)) => refused.push(problem),
            Err(other) => return Err(other),
        }
        job.finish_formats(number + 1);
    }
    if refused.is_empty() { Ok(written) } else { Err(Error::Invalid(refused.join("\n"))) }
}

fn export_one(job: &mut Job, format: ExportFormat) -> Result<Vec<PathBuf>, Error> {
    match format {
        ExportFormat::Pc2 => pc2::export(job),
        ExportFormat::Mdd => mdd::export(job),
        ExportFormat::Usd => usd::export(job),
        ExportFormat::Gltf => gltf::export(job),
        ExportFormat::Obj => sequence::export_obj(job),
        ExportFormat::Ply => sequence::export_ply(job),
        ExportFormat::Vtu => vtu::export(job),
    }
}

fn unknown_format(word: &str) -> Error {
    let words = ExportFormat::ALL.map(ExportFormat::word);
    let lower = word.to_ascii_lowercase();
    let nearest = match lower.as_str() {
        "usda" | "usdc" | "usdz" => Some("usd"),
        "glb" => Some("gltf"),
        "vtk" | "vtp" | "pvd" | "paraview" => Some("vtu"),
        _ => words
            .into_iter()
            .filter(|w| strsim::damerau_levenshtein(w, &lower) <= 2)
            .min_by_key(|w| strsim::damerau_levenshtein(w, &lower)),
    };
    let hint = nearest.map_or(String::new(), |nearest| format!("; did you mean `{nearest}`?"));
    Error::Invalid(format!("unknown export format `{word}`{hint} (formats: {})", words.join(", ")))
}
