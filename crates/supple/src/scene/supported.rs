//! What the engine can do now: the one list. Words of the scene format that stand here are simulated; all others are
//! read, and refused by [`Scene::check`] as not supported yet.

use serde::Serialize;

use crate::material::MaterialSpec;

use super::{Body, Follow, LinearKind, Method, Mode, Model, Pin, Scene};

impl Method {
    /// Those that exist.
    pub const SUPPORTED: [Self; 7] = [
        Self::Newton,
        Self::Projective,
        Self::Lbfgs,
        Self::NonlinearCg,
        Self::AcceleratedGradient,
        Self::Hpbd,
        Self::Staggered,
    ];
}

impl LinearKind {
    /// Those that exist.
    pub const SUPPORTED: [Self; 10] = [
        Self::Cholesky,
        Self::Jacobi,
        Self::Schwarz,
        Self::Ic0,
        Self::Ict,
        Self::GaussSeidel,
        Self::Chebyshev,
        Self::Galerkin,
        Self::GalerkinCycle,
        Self::Mas,
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

fn is_supported_follow(follow: &Follow) -> bool {
    matches!(follow, Follow::Keyframes(_))
}

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
    let kind = solver.linear.kind;
    word(LinearKind::SUPPORTED.contains(&kind), "solver.linear", "linear", word_of(&kind));
    if solver.method == Method::Hpbd {
        in_hpbd(scene, &mut found);
    }
    if solver.method == Method::Staggered {
        in_staggered(scene, &mut found);
    }
    scene.bodies.iter().enumerate().for_each(|(i, body)| in_body(body, &format!("body.{i}"), &mut found));
    scene.pins.iter().enumerate().for_each(|(i, pin)| in_pin(pin, &format!("pin.{i}"), &mut found));
    if !scene.seams.is_empty() {
        found.push(("seam".to_owned(), "`[[seam]]`".to_owned()));
    }
    found
}

/// What position based dynamics has not.
fn in_hpbd(scene: &Scene, found: &mut Vec<(String, String)>) {
    if scene.time.mode == Mode::Quasistatic {
        found.push(("time.mode".to_owned(), "`mode = \"quasistatic\"` with `hpbd`".to_owned()));
    }
    for (i, body) in scene.bodies.iter().enumerate() {
        let keys = [("pressure", body.pressure.is_some()), ("self_contact", body.self_contact)];
        for (key, _) in keys.iter().filter(|(_, said)| *said) {
            found.push((format!("body.{i}.{key}"), format!("`{key}` of body `{}` with `hpbd`", body.name)));
        }
    }
}

/// What staggered multigrid has not.
fn in_staggered(scene: &Scene, found: &mut Vec<(String, String)>) {
    for (i, body) in scene.bodies.iter().enumerate() {
        let keys = [
            ("model", body.model != Model::Linear),
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
    let woven = |material: &MaterialSpec| {
        let directions = material.stretch_stiffness.map(|stiffness| stiffness.directions());
        body.model != Model::BaraffWitkin && directions.is_some_and(|[warp, weft]| warp != weft)
    };
    for (i, region) in body.regions.iter().enumerate() {
        if region.material.as_ref().is_some_and(woven) {
            let what = format!(
                "a `stretch_stiffness` that differs between warp and weft in a region of body `{name}`"
            );
            found.push((format!("{place}.region.{i}.material.stretch_stiffness"), what));
        }
    }
    let keys = [
        ("interior", "`interior`", body.interior.is_some()),
        ("tear_stretch", "`tear_stretch`", body.tear_stretch.is_some()),
        (
            "material.stretch_stiffness",
            "a `stretch_stiffness` that differs between warp and weft",
            woven(&body.material),
        ),
    ];
    for (key, what, said) in keys {
        if said {
            found.push((format!("{place}.{key}"), format!("{what} of body `{name}`")));
        }
    }
}

fn in_pin(pin: &Pin, place: &str, found: &mut Vec<(String, String)>) {
    let Some(follow) = pin.follows.as_ref().filter(|follow| !is_supported_follow(follow)) else { return };
    let kind = match follow {
        Follow::Keyframes(_) => "keyframes",
        Follow::MeshSequence(_) => "mesh-sequence",
        Follow::GltfSkin(_) => "gltf-skin",
        Follow::Collider(_) => "collider",
    };
    found.push((format!("{place}.follows.{kind}"), format!("a pin that follows a `{kind}`")));
}

/// The word of the scene format for a unit variant.
fn word_of(variant: &impl Serialize) -> String {
    let value = toml::Value::try_from(variant).ok();
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
