//! `supple new`: a commented scene and a small mesh, or a dress on a figure that walks, to start from.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use supple::FileError;
use supple::mesh::SurfaceMesh;
use supple::mesh::format::{load_skin, load_surface, write_figure, write_obj};
use supple::mesh::generate::{ClothGrid, GridPattern};
use supple::mesh::skin::{dress_around, walking_figure};
use supple::output::AtomicFile;

use crate::arguments::Common;
use crate::failure::Failure;
use crate::print::notice;

/// The scene; `MESH` stands for the name of the mesh file.
const SCENE: &str = include_str!("new_scene.toml");
/// The scene with a figure; the names in braces stand for those of its files and for their unit.
const FIGURE_SCENE: &str = include_str!("new_figure.toml");
/// Edges of the generated figure, in metres.
const FIGURE_EDGE: f64 = 0.025;
/// Edges of a dress, over the height of its figure.
const DRESS_EDGE: f64 = 0.0125;
/// A figure that is taller than this many units is in centimetres.
const TALLEST: f64 = 10.0;
/// Frames of a scene whose figure repeats its animation, and frames per second.
const FRAMES: u32 = 100;
const FPS: f64 = 30.0;

/// Writes `NAME.toml` with `NAME.obj`, or with the dress of a figure; files that exist are left alone.
pub(crate) fn new_scene(
    name: &str,
    figure: Option<Option<&Path>>,
    common: &Common,
) -> Result<ExitCode, Failure> {
    let base = base_name(name)?;
    let scene = PathBuf::from(format!("{base}.toml"));
    let written = match figure {
        None => write_cloth(&base, &scene)?,
        Some(file) => write_dress(&base, &scene, file)?,
    };
    if !common.quiet {
        let written: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        let scene = scene.display();
        notice(format_args!("wrote {scene}, {}; now: supple view {scene}", written.join(", ")));
    }
    Ok(ExitCode::SUCCESS)
}

fn write_cloth(base: &str, scene: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mesh = PathBuf::from(format!("{base}.obj"));
    refuse_existing(&[scene, &mesh])?;
    let cloth = ClothGrid { size: [1.0; 2], vertices: [41; 2], pattern: GridPattern::Regular, seed: 0 };
    let cloth = cloth.surface(1.0).map_err(Failure::usage)?;
    write(&mesh, |file| write_obj(&cloth, file))?;
    let text = SCENE.replace("MESH", &file_name(&mesh));
    write(scene, |file| file.write_all(text.as_bytes()))?;
    Ok(vec![mesh])
}

/// A dress on the user's figure, or on a generated one.
fn write_dress(base: &str, scene: &Path, file: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let (dress, own) =
        (PathBuf::from(format!("{base}-dress.obj")), PathBuf::from(format!("{base}-figure.glb")));
    let mut written = vec![dress.clone()];
    refuse_existing(&[scene, &dress])?;
    let mut once = None;
    let (surface, figure) = match file {
        Some(file) => {
            let (surface, frames) = users_figure(file)?;
            once = frames;
            (surface, std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf()))
        }
        None => {
            refuse_existing(&[&own])?;
            let figure = walking_figure(FIGURE_EDGE).map_err(Failure::usage)?;
            write(&own, |out| write_figure(&figure, "Figure", out))?;
            written.push(own.clone());
            (figure.surface, PathBuf::from(file_name(&own)))
        }
    };
    let height = surface.bounds().map_or(0.0, |(low, high)| high.y - low.y);
    let scale = if height > TALLEST { ", scale = 0.01" } else { "" };
    let cloth = dress_around(&surface, DRESS_EDGE * height).map_err(Failure::usage)?;
    write(&dress, |out| write_obj(&cloth, out))?;
    // Strings of JSON are strings of TOML.
    let figure = serde_json::Value::from(figure.to_string_lossy()).to_string();
    let text = FIGURE_SCENE.replace("{scale}", scale).replace("{dress}", &file_name(&dress));
    let text = text.replace("{frames}", &once.unwrap_or(FRAMES).to_string());
    let text = text.replace("{loop}", if once.is_none() { ", loop = true" } else { "" });
    let text = text.replace("{figure}", &figure);
    write(scene, |out| out.write_all(text.as_bytes()))?;
    Ok(written)
}

/// The surface of a file that has a skin and an animation; with the frames of the animation if it cannot repeat, since it does not end as
/// it starts.
fn users_figure(file: &Path) -> Result<(SurfaceMesh, Option<u32>), Failure> {
    let skin = load_skin(file, None, None).map_err(Failure::usage)?.repeated();
    let (surface, _) = load_surface(file).map_err(Failure::usage)?;
    let end = skin.key_times().last().copied().unwrap_or(0.0);
    let frames = (FPS * end).ceil().clamp(1.0, f64::from(FRAMES)) as u32;
    Ok((surface, skin.jumps().then_some(frames)))
}

fn refuse_existing(files: &[&Path]) -> Result<(), Failure> {
    match files.iter().find(|path| path.exists()) {
        Some(taken) => {
            let problem = format!("{} exists; choose another name, or remove it", taken.display());
            Err(Failure::usage(anyhow!(problem)))
        }
        None => Ok(()),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The start of all file names for a name, which may end in `.toml` and have a folder.
fn base_name(name: &str) -> Result<String, Failure> {
    let base = name.strip_suffix(".toml").unwrap_or(name);
    let stem = Path::new(base).file_name().map(|stem| stem.to_string_lossy());
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    match stem {
        Some(stem) if stem.chars().all(is_plain) && !base.ends_with(['/', '\\']) => Ok(base.to_owned()),
        _ => Err(Failure::usage(anyhow!(
            "`{}` is not a name for a scene; use letters, digits, `-` and `_`: supple new tablecloth",
            name.escape_debug()
        ))),
    }
}

fn write(path: &Path, content: impl FnOnce(&mut AtomicFile) -> std::io::Result<()>) -> Result<(), Failure> {
    let mut file = AtomicFile::create(path).map_err(Failure::usage)?;
    content(&mut file).map_err(|error| Failure::running(FileError::io(path, "write", &error)))?;
    file.commit().map_err(Failure::running)
}
