//! `supple scenes`: the built-in scenes, and scenes chosen by the other commands.

use std::process::ExitCode;

use serde_json::json;
use supple::Error;
use supple::scene::{LinearKind, Method, Scene, builtin_scenes};

use crate::arguments::{Common, SceneChoice};
use crate::failure::Failure;
use crate::print::line;

/// Lists the built-in scenes, or prints one.
pub(crate) fn scenes(name: Option<&str>, common: &Common) -> Result<ExitCode, Failure> {
    let Some(name) = name else {
        for (name, description, _) in builtin_scenes() {
            if common.json {
                line(json!({ "scene": name, "description": description }));
            } else {
                line(format!("{name:<16} {description}"));
            }
        }
        return Ok(ExitCode::SUCCESS);
    };
    // An unknown name gets the error with the nearest one.
    Scene::builtin(name).map_err(Failure::usage)?;
    for (_, description, text) in builtin_scenes().iter().filter(|(builtin, _, _)| *builtin == name) {
        match common.json {
            true => line(json!({ "scene": name, "description": description, "toml": text })),
            false => line(text.trim_end()),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A scene by file or name, with the command line's changes.
pub(crate) fn choose(source: &str, choice: &SceneChoice) -> Result<Scene, Failure> {
    let of_solver = choice.solver.as_deref().map_or(Ok(Vec::new()), solver_sets)?;
    let usage = |error| Failure::usage(blame_solver(error, choice, &of_solver));
    let sets = [&choice.sets[..], &of_solver[..]].concat();
    let mut scene = Scene::find_with(source, &sets).map_err(usage)?;
    if let Some(frames) = choice.frames {
        scene.time.frames = frames;
    }
    if let Some(resolution) = choice.resolution {
        scene.scale_resolution(resolution).map_err(Failure::usage)?;
    }
    scene.validate().map_err(usage)?;
    Ok(scene)
}

/// The error with the option that was given in place of the changes that it stands for.
fn blame_solver(error: Error, choice: &SceneChoice, sets: &[String]) -> Error {
    let solver = choice.solver.as_deref().unwrap_or_default();
    let reworded = |text: String| {
        sets.iter().fold(text, |text, set| match text.strip_prefix(&format!("--set {set}: ")) {
            Some(problem) => format!("--solver {solver}: {problem}"),
            None => text,
        })
    };
    match error {
        Error::Invalid(text) => Error::Invalid(reworded(text)),
        Error::NotSupported(text) => Error::NotSupported(reworded(text)),
        other => other,
    }
}

/// A solver's word as changes of the scene: a method, a linear solver under the scene's method, or both as
/// `lbfgs+jacobi`.
fn solver_sets(word: &str) -> Result<Vec<String>, Failure> {
    let methods = Method::ALL.map(Method::word);
    let linears = LinearKind::ALL.map(LinearKind::word);
    let method_set = |word: &str| format!("solver.method=\"{word}\"");
    let linear_set = |word: &str| format!("solver.linear.kind=\"{word}\"");
    match word.split_once('+') {
        Some((method, linear)) if methods.contains(&method) && linears.contains(&linear) => {
            Ok(vec![method_set(method), linear_set(linear)])
        }
        None if methods.contains(&word) => Ok(vec![method_set(word)]),
        None if linears.contains(&word) => Ok(vec![linear_set(word)]),
        _ => Err(Failure::usage(anyhow::anyhow!(
            "--solver {word}: no such solver; there are the methods {}, the linear solvers {}, and both together as \
             `lbfgs+jacobi`",
            Method::SUPPORTED.map(Method::word).join(", "),
            LinearKind::ALL.map(LinearKind::word).join(", ")
        ))),
    }
}
