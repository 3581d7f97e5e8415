//! The built-in scenes: files of the folder `scenes`, embedded.

use std::sync::OnceLock;

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../scenes/", $name, ".toml")))),*]
    };
}

const SCENES: [(&str, &str); 30] = embedded![
    "demo",
    "hanging-cloth",
    "flag",
    "cloth-on-sphere",
    "spring-octopus",
    "bar",
    "octopus",
    "pachinko",
    "twist",
    "balloon",
    "heterogeneous-bar",
    "stacked-cloth",
    "cloth-drop",
    "knot",
    "armadillo-bowl",
    "t-shirt",
    "flag-hpbd",
    "curtain",
    "dress",
    "tear",
    "tear-by-weight",
    "flesh-cube",
    "jelly-stack",
    "spike",
    "hippo-like",
    "elastic-box",
    "armadillo-pull",
    "soft-car",
    "human-like",
    "face-impact",
];

/// Every built-in scene: name, one-line description, and its TOML.
pub fn builtin_scenes() -> &'static [(&'static str, String, &'static str)] {
    static WITH_DESCRIPTIONS: OnceLock<Vec<(&str, String, &str)>> = OnceLock::new();
    WITH_DESCRIPTIONS
        .get_or_init(|| SCENES.iter().map(|&(name, text)| (name, description(text), text)).collect())
}

fn description(text: &str) -> String {
    let table: Option<toml::Table> = text.parse().ok();
    table.and_then(|table| Some(table.get("description")?.as_str()?.to_owned())).unwrap_or_default()
}
