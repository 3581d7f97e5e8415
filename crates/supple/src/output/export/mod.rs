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

/// The properties of a format.
struct Declaration {
    format: ExportFormat,
    /// On the command line and in scene files.
    name: &'static str,
    /// Extensions of its files, without the dot.
    extensions: &'static [&'static str],
    /// Whether one file holds all frames.
    animated: bool,
    /// Other names that people try.
    aliases: &'static [&'static str],
    export: fn(&mut Job) -> Result<Vec<PathBuf>, Error>,
}

/// Every format, in the order of [`ExportFormat`].
const FORMATS: [Declaration; 7] = [
    Declaration {
        format: ExportFormat::Pc2,
        name: "pc2",
        extensions: &["pc2"],
        animated: true,
        aliases: &[],
        export: pc2::export,
    },
    Declaration {
        format: ExportFormat::Mdd,
        name: "mdd",
        extensions: &["mdd"],
        animated: true,
        aliases: &[],
        export: mdd::export,
    },
    Declaration {
        format: ExportFormat::Usd,
        name: "usd",
        extensions: &["usd", "usdc"],
        animated: true,
        aliases: &["usda", "usdc", "usdz"],
        export: usd::export,
    },
    Declaration {
        format: ExportFormat::Gltf,
        name: "gltf",
        extensions: &["glb"],
        animated: true,
        aliases: &["glb"],
        export: gltf::export,
    },
    Declaration {
        format: ExportFormat::Obj,
        name: "obj",
        extensions: &["obj"],
        animated: false,
        aliases: &[],
        export: sequence::export_obj,
    },
    Declaration {
        format: ExportFormat::Ply,
        name: "ply",
        extensions: &["ply"],
        animated: false,
        aliases: &[],
        export: sequence::export_ply,
    },
    Declaration {
        format: ExportFormat::Vtu,
        name: "vtu",
        extensions: &["vtu"],
        animated: false,
        aliases: &["vtk", "vtp", "pvd", "paraview"],
        export: vtu::export,
    },
];

impl ExportFormat {
    /// Every format.
    pub const ALL: [Self; FORMATS.len()] = supple_core::all_declared!(FORMATS, format);

    /// Its name on the command line and in scene files.
    pub fn name(self) -> &'static str {
        self.declaration().name
    }

    /// Extensions of its files, without the dot.
    pub fn extensions(self) -> &'static [&'static str] {
        self.declaration().extensions
    }

    /// Whether one file holds all frames.
    pub fn is_animated(self) -> bool {
        self.declaration().animated
    }

    fn declaration(self) -> &'static Declaration {
        &FORMATS[self as usize]
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ExportFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| unknown_format(name))
    }
}

impl TryFrom<String> for ExportFormat {
    type Error = Error;

    fn try_from(name: String) -> Result<Self, Error> {
        name.parse()
    }
}

impl From<ExportFormat> for &'static str {
    fn from(format: ExportFormat) -> Self {
        format.name()
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
        match (format.declaration().export)(&mut job) {
            Ok(files) => written.extend(files),
            Err(Error::Invalid(problem)) => refused.push(problem),
            Err(other) => return Err(other),
        }
        job.finish_formats(number + 1);
    }
    if refused.is_empty() { Ok(written) } else { Err(Error::Invalid(refused.join("\n"))) }
}

fn unknown_format(name: &str) -> Error {
    let names = ExportFormat::ALL.map(ExportFormat::name);
    let lower = name.to_ascii_lowercase();
    let meant = FORMATS.iter().find(|format| format.aliases.contains(&lower.as_str()));
    let nearest = meant.map(|format| format.name).or_else(|| {
        let near = names.into_iter().map(|w| (strsim::damerau_levenshtein(w, &lower), w));
        near.filter(|(distance, _)| *distance <= 2).min_by_key(|(distance, _)| *distance).map(|(_, w)| w)
    });
    let hint = nearest.map_or(String::new(), |nearest| format!("; did you mean `{nearest}`?"));
    Error::Invalid(format!("unknown export format `{name}`{hint} (formats: {})", names.join(", ")))
}
