//! Checks of one part of a scene, for programs that add or change it while a simulation runs.

use std::path::Path;

use crate::scene::check::Checker;
use crate::scene::{Body, Collider, Pin, Scene, Solver, World};
use supple_core::Error;

impl World {
    /// Rejects anything that is not valid in a scene file.
    pub fn validate(&self) -> Result<(), Error> {
        let scene = Scene { world: self.clone(), ..Scene::default() };
        first_problem(&scene, "the world", |checker| checker.settings())
    }
}

impl Solver {
    /// Rejects anything that is not valid in a scene file.
    pub fn validate(&self) -> Result<(), Error> {
        let scene = Scene { solver: self.clone(), ..Scene::default() };
        first_problem(&scene, "the solver", |checker| checker.settings())
    }
}

impl Body {
    /// Rejects anything that is not valid in a scene file; relative file names start at `folder`.
    pub fn validate(&self, folder: &Path) -> Result<(), Error> {
        let scene = Scene { bodies: vec![self.clone()], folder: folder.into(), ..Scene::default() };
        first_problem(&scene, &format!("body `{}`", self.name), |checker| checker.bodies())
    }
}

impl Collider {
    /// Rejects anything that is not valid in a scene file; relative file names start at `folder`.
    pub fn validate(&self, folder: &Path) -> Result<(), Error> {
        let scene = Scene { colliders: vec![self.clone()], folder: folder.into(), ..Scene::default() };
        first_problem(&scene, &format!("collider `{}`", self.name), |checker| checker.colliders())
    }
}

impl Pin {
    /// Rejects anything that is not valid in a scene file, except a missing body of its name; relative file names start
    /// at `folder`.
    pub fn validate(&self, folder: &Path) -> Result<(), Error> {
        let scene = Scene { pins: vec![self.clone()], folder: folder.into(), ..Scene::default() };
        let check = |checker: &mut Checker<'_>| checker.pin("pin.0", self);
        first_problem(&scene, &format!("a pin on body `{}`", self.body), check)
    }
}

/// The first problem of a scene that contains only one part, reported by the part's name.
fn first_problem(scene: &Scene, name: &str, check: impl FnOnce(&mut Checker<'_>)) -> Result<(), Error> {
    let mut scene = scene.clone();
    scene.resolve_paths();
    let Some(problem) = scene.check_by(check).into_iter().next() else { return Ok(()) };
    Err(match problem.error {
        Error::Invalid(text) => {
            let sentence = text.strip_prefix(&format!("{}: ", problem.place)).unwrap_or(&text);
            Error::Invalid(format!("{name}: {sentence}"))
        }
        other => other,
    })
}
