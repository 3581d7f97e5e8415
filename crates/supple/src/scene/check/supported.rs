//! Combinations that the scene format allows and the engine does not support: those of settings with each other, and those that the
//! scene's stepper declares.

use serde::Serialize;

use crate::scene::{FrictionModel, Mode, Scene, Unsupported};

/// The parts of a scene that are not supported yet.
pub(crate) fn unsupported(scene: &Scene) -> Vec<Unsupported> {
    let mut found = Vec::new();
    let (solver, mode) = (&scene.solver, scene.time.mode);
    let (method, traits) = (solver.method.name(), solver.method.traits());
    // Equilibrium has no velocity.
    if mode == Mode::Quasistatic && solver.velocity_tolerance.is_some() {
        let what = "`velocity_tolerance` with `mode = \"quasistatic\"`";
        found.push(Unsupported::new("solver.velocity_tolerance", what));
    }
    let model = scene.contact.friction_model;
    // Equilibrium has no impulses; solver families with their own steps have their own friction.
    let without = if traits.own_friction && model != FrictionModel::Smooth {
        Some(method.to_owned())
    } else {
        let rests = model == FrictionModel::Impulse && mode == Mode::Quasistatic;
        rests.then(|| variant_name(&mode))
    };
    if let Some(without) = without {
        let what = format!("`friction_model = \"{}\"` with `{without}`", variant_name(&model));
        found.push(Unsupported::new("contact.friction_model", what));
    }
    found.extend(solver.method.stepper().unsupported(scene));
    for (i, body) in scene.bodies.iter().enumerate() {
        let tears = traits.tears && i + 1 == scene.bodies.len();
        for (key, is_set) in [("tear_stretch", body.tear_stretch.is_some()), ("tear", !body.tears.is_empty())]
        {
            if is_set && !tears {
                let what = format!(
                    "`{key}` of body `{}` (only the last body can tear, and only with `hpbd`)",
                    body.name
                );
                found.push(Unsupported::new(format!("body.{i}.{key}"), what));
            }
        }
        if body.interior.is_some() && !traits.octants {
            let what = format!("`interior` of body `{}` without `method = \"octree\"`", body.name);
            found.push(Unsupported::new(format!("body.{i}.interior"), what));
        }
    }
    found
}

/// The scene-file name of a unit variant.
pub(crate) fn variant_name(variant: &impl Serialize) -> String {
    let value = variant.serialize(toml_edit::ser::ValueSerializer::new()).ok();
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
