//! What the engine can do now: the one list. Words of the scene format that stand here are simulated; all others are
//! read, and refused by [`Scene::check`] as not supported yet.

use serde::Serialize;

use super::{Body, FrictionModel, Method, Mode, Model, Scene};

impl Method {
    /// Those that exist.
    pub const SUPPORTED: [Self; 8] = [
        Self::Newton,
        Self::Projective,
        Self::Lbfgs,
        Self::NonlinearCg,
        Self::AcceleratedGradient,
        Self::Hpbd,
        Self::Octree,
        Self::Staggered,
    ];
}

const MODES: &[Mode] = &[Mode::Dynamic, Mode::Quasistatic];
const MODELS: &[Model] = &[
    Model::Spring,
    Model::Corotated,
    Model::NeoHookean,
    Model::BaraffWitkin,
    Model::Stvk,
    Model::Linear,
    Model::Arap,
];

/// The words and keys of a scene that nothing can do yet: the place, and what stands there.
pub(super) fn unsupported(scene: &Scene) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut word = |known: bool, place: &str, key: &str, word: String| {
        if !known {
            found.push((place.to_owned(), format!("`{key} = \"{word}\"`")));
        }
    };
    let (solver, mode) = (&scene.solver, scene.time.mode);
    word(MODES.contains(&mode), "time.mode", "mode", word_of(&mode));
    word(Method::SUPPORTED.contains(&solver.method), "solver.method", "method", word_of(&solver.method));
    // Equilibrium knows no velocity.
    if mode == Mode::Quasistatic && solver.velocity_tolerance.is_some() {
        let what = "`velocity_tolerance` with `mode = \"quasistatic\"`".to_owned();
        found.push(("solver.velocity_tolerance".to_owned(), what));
    }
    let model = scene.contact.friction_model;
    // Equilibrium knows no impulses; families with steps of their own have friction of their own.
    let without = match solver.method {
        Method::Hpbd | Method::Staggered if model != FrictionModel::Smooth => Some(word_of(&solver.method)),
        _ if model == FrictionModel::Impulse && mode == Mode::Quasistatic => Some(word_of(&mode)),
        _ => None,
    };
    if let Some(without) = without {
        let what = format!("`friction_model = \"{}\"` with `{without}`", word_of(&model));
        found.push(("contact.friction_model".to_owned(), what));
    }
    if solver.method == Method::Hpbd {
        in_hpbd(scene, &mut found);
    }
    if solver.method == Method::Staggered {
        in_staggered(scene, &mut found);
    }
    for (i, body) in scene.bodies.iter().enumerate() {
        in_body(body, &format!("body.{i}"), &mut found);
        let tears = solver.method == Method::Hpbd && i + 1 == scene.bodies.len();
        for (word, said) in [("tear_stretch", body.tear_stretch.is_some()), ("tear", !body.tears.is_empty())]
        {
            if said && !tears {
                let what = format!(
                    "`{word}` of body `{}` (only the last body tears, and only by `hpbd`)",
                    body.name
                );
                found.push((format!("body.{i}.{word}"), what));
            }
        }
        if body.interior.is_some() && solver.method != Method::Octree {
            let what = format!("`interior` of body `{}` without `method = \"octree\"`", body.name);
            found.push((format!("body.{i}.interior"), what));
        }
    }
    found
}

/// What position based dynamics has not.
fn in_hpbd(scene: &Scene, found: &mut Vec<(String, String)>) {
    if scene.time.mode == Mode::Quasistatic {
        found.push(("time.mode".to_owned(), "`mode = \"quasistatic\"` with `hpbd`".to_owned()));
    }
    if !scene.seams.is_empty() {
        found.push(("seam".to_owned(), "`[[seam]]` with `hpbd`".to_owned()));
    }
    for (i, body) in scene.bodies.iter().enumerate() {
        if body.pressure.is_some() {
            let what = format!("`pressure` of body `{}` with `hpbd`", body.name);
            found.push((format!("body.{i}.pressure"), what));
        }
    }
}

/// What staggered multigrid has not.
fn in_staggered(scene: &Scene, found: &mut Vec<(String, String)>) {
    for (i, body) in scene.bodies.iter().enumerate() {
        let keys = [
            ("model", !matches!(body.model, Model::Linear | Model::Corotated)),
            ("region", !body.regions.is_empty()),
            ("pressure", body.pressure.is_some()),
            ("self_contact", body.self_contact),
        ];
        for (key, _) in keys.iter().filter(|(_, said)| *said) {
            let what = match *key {
                "model" => format!("`model = \"{}\"`", word_of(&body.model)),
                key => format!("`{key}`"),
            };
            let problem = format!("{what} of body `{}` with `staggered`", body.name);
            found.push((format!("body.{i}.{key}"), problem));
        }
    }
    for (i, pin) in scene.pins.iter().enumerate().filter(|(_, pin)| pin.during.is_some()) {
        found.push((
            format!("pin.{i}.during"),
            format!("`during` of a pin on `{}` with `staggered`", pin.body),
        ));
    }
}

fn in_body(body: &Body, place: &str, found: &mut Vec<(String, String)>) {
    let name = &body.name;
    if !MODELS.contains(&body.model) {
        let what = format!("`model = \"{}\"` of body `{name}`", word_of(&body.model));
        found.push((format!("{place}.model"), what));
    }
}

/// The word of the scene format for a unit variant.
pub(super) fn word_of(variant: &impl Serialize) -> String {
    let value = toml::Value::try_from(variant).ok();
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
