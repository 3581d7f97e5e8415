//! `supple scenes`: the built-in scenes, and scenes chosen by the other commands.

use std::process::ExitCode;

use serde_json::json;
use supple::scene::{Scene, builtin_scenes};

use crate::arguments::{Common, SceneChoice};
use crate::dropped_mesh::{is_mesh, scene_of};
use crate::failure::Failure;
use crate::print::line;

/// Lists the built-in scenes, or prints one.
pub(crate) fn scenes(name: Option<&str>, common: &Common) -> Result<ExitCode, Failure> {
    let Some(name) = name else {
        let width = builtin_scenes().iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
        for (name, description, _) in builtin_scenes() {
            if common.json {
                line(json!({ "scene": name, "description": description }));
            } else {
                line(format!("{name:<width$}  {description}"));
            }
        }
        return Ok(ExitCode::SUCCESS);
    };
    // An unknown name produces an error that suggests the nearest one.
    common.steppers.scene_reader().builtin(name).map_err(Failure::usage)?;
    for (_, description, text) in builtin_scenes().iter().filter(|(builtin, _, _)| *builtin == name) {
        match common.json {
            true => line(json!({ "scene": name, "description": description, "toml": text })),
            false => line(text.trim_end()),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A scene by file or name, with the changes from the command line.
pub(crate) fn choose(source: &str, choice: &SceneChoice, common: &Common) -> Result<Scene, Failure> {
    let mut scene = match is_mesh(source) {
        true => scene_of(source, &choice.sets, common)?,
        false => common.steppers.scene_reader().sets(&choice.sets).find(source).map_err(Failure::usage)?,
    };
    if let Some(word) = &choice.solver {
        let refused = |error| Failure::usage(anyhow::anyhow!("--solver: {error}"));
        scene.solver.choose_from(word, &common.steppers).map_err(refused)?;
    }
    if let Some(frames) = choice.frames {
        scene.time.frames = frames;
    }
    if let Some(resolution) = choice.resolution {
        scene.scale_resolution(resolution).map_err(Failure::usage)?;
    }
    scene.validate().map_err(Failure::usage)?;
    Ok(scene)
}
