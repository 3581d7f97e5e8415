//! The controls of the page, with names, units and bounds: one list, rebuilt from the scene after every change.

use glam::DVec3;
use serde::Serialize;
use serde_json::{Value, json};
use supple::body::Elements;
use supple::material::{Material, MaterialSpec, presets};
use supple::scene::{Adjustable, AdjustableValue, LinearKind, LinearUse, Model, Scene, Solver};
use supple::simulation::{Registry, Simulation};

/// A value that can be changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Control {
    /// Its section on the page.
    group: String,
    /// Whether it is one of the details of its section, which are folded.
    detail: bool,
    /// Its `--set` path.
    path: String,
    label: &'static str,
    /// Empty for numbers without a unit.
    unit: &'static str,
    help: &'static str,
    #[serde(flatten)]
    kind: ControlKind,
}

/// The kind of control.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum ControlKind {
    /// A number; ranges over several powers of ten get a logarithmic slider.
    Number { value: f64, least: f64, most: f64, logarithmic: bool, whole: bool },
    /// One of several names: each with a title, and possibly an explanation.
    Choice { value: String, choices: Vec<Value> },
    /// Three numbers.
    Vector { value: DVec3 },
    /// Yes or no.
    Switch { value: bool },
}

fn number(value: f64, [least, most]: [f64; 2]) -> ControlKind {
    let logarithmic = least > 0.0 && most / least > 50.0;
    ControlKind::Number { value, least: least.min(value), most: most.max(value), logarithmic, whole: false }
}

fn count(value: u32, [least, most]: [u32; 2]) -> ControlKind {
    let [least, most] = [least.min(value), most.max(value)].map(f64::from);
    ControlKind::Number {
        value: f64::from(value),
        least,
        most,
        logarithmic: most / least.max(1.0) > 50.0,
        whole: true,
    }
}

/// Scenes with more bodies have the numbers of their materials among the details.
const MOST_UNFOLDED_BODIES: usize = 2;

/// All values that can currently be changed: what people know first, the details of the solver last.
pub(super) fn controls(scene: &Scene, simulation: &Simulation, steppers: &Registry) -> Vec<Control> {
    let bodies = 0..simulation.scene_state().bodies.len();
    let mut controls: Vec<Control> = bodies.flat_map(|index| body(scene, simulation, index)).collect();
    controls.extend(world(scene));
    controls.extend(solver(scene, &simulation.scene_state().solver, steppers));
    controls
}

/// A control of the solver.
fn of_solver(
    path: &str,
    label: &'static str,
    unit: &'static str,
    help: &'static str,
    kind: ControlKind,
) -> Control {
    Control { group: "Solver".into(), detail: true, path: path.into(), label, unit, help, kind }
}

fn solver(scene: &Scene, solver: &Solver, steppers: &Registry) -> Vec<Control> {
    let method = choice(solver.method.name(), steppers.methods().map(|m| (m.name(), m.title(), m.about())));
    let help = "How the motion of each time step is computed";
    let method = Control { detail: false, ..of_solver("solver.method", "Method", "", help, method) };
    let help = "Time steps per frame: more is slower and more accurate";
    let steps = of_solver("time.substeps", "Steps per frame", "", help, count(scene.time.substeps, [1, 64]));
    let mut list = vec![method, Control { detail: false, ..steps }];
    list.extend(of_method(solver));
    list
}

/// The options of the method: those of its stepper as it declares them.
fn of_method(solver: &Solver) -> Vec<Control> {
    let (method, traits) = (solver.method, solver.method.traits());
    let mut list = if traits.fixed_work { Vec::new() } else { until_done(solver) };
    if traits.linear != LinearUse::None {
        let kinds = LinearKind::ALL.iter().map(|kind| (kind.name(), kind.title(), ""));
        let help = "Solves or preconditions the linear systems of the method";
        let kind = choice(solver.linear().kind.name(), kinds);
        list.insert(0, of_solver("solver.linear", "Linear solver", "", help, kind));
        list.extend(of_linear(solver));
    }
    if let Some(table) = method.stepper().options() {
        let own = table.adjustable(&solver.options).into_iter();
        list.extend(own.map(|option| of_stepper(table.name(), option)));
    }
    list
}

/// An option of a stepper.
fn of_stepper(table: &str, option: Adjustable) -> Control {
    let kind = match option.value {
        AdjustableValue::Count(value, range) => count(value, range),
        AdjustableValue::Number(value, range) => number(value, range),
        AdjustableValue::Choice(value, choices) => {
            let choices = choices.iter().map(|(word, title)| json!({ "word": word, "title": title }));
            ControlKind::Choice { value: value.into(), choices: choices.collect() }
        }
        AdjustableValue::Switch(value) => ControlKind::Switch { value },
    };
    of_solver(&format!("solver.{table}.{}", option.key), option.label, "", option.help, kind)
}

/// The stopping criteria of a step.
fn until_done(solver: &Solver) -> Vec<Control> {
    let help = "The residual measures the imbalance of forces, relative to its value at the start of the step. \
                A step ends when it has fallen to this fraction: smaller is more accurate and slower";
    let tolerance = number(solver.gradient_tolerance(), [1e-8, 0.5]);
    let most = count(solver.max_iterations, [1, 500]);
    let speed = solver.velocity_tolerance.map(|speed| {
        let help = "A step also ends when an iteration would move no vertex faster than this";
        of_solver("solver.velocity_tolerance", "Velocity tolerance", "m/s", help, number(speed, [1e-4, 1.0]))
    });
    let help_most = "Maximum number of iterations per step";
    let mut list = vec![of_solver("solver.tolerance", "Tolerance", "", help, tolerance)];
    list.extend(speed);
    list.push(of_solver("solver.max_iterations", "Maximum iterations", "", help_most, most));
    list
}

/// The option of a linear solver that people try first.
fn of_linear(solver: &Solver) -> Option<Control> {
    let linear = &solver.linear();
    let add = |key: &str, label, unit, help, kind| {
        of_solver(&format!("solver.linear.{key}"), label, unit, help, kind)
    };
    if linear.kind.has_option("domain") {
        let (most, help) = match linear.kind {
            LinearKind::Mas => (128, "Nodes per domain of the finest level"),
            _ => (256, "Nodes per domain"),
        };
        Some(add("domain", "Domain", "nodes", help, count(linear.domain.unwrap_or(32), [4, most])))
    } else if linear.kind.has_option("sweeps") {
        let help = "Smoothing sweeps on the finest level before and after the coarser ones";
        Some(add("sweeps", "Sweeps", "", help, count(linear.sweeps.unwrap_or(1), [1, 10])))
    } else {
        None
    }
}

fn world(scene: &Scene) -> Vec<Control> {
    let add = |path: &str, label, unit, help, value| Control {
        group: "World".into(),
        detail: false,
        path: path.into(),
        label,
        unit,
        help,
        kind: ControlKind::Vector { value },
    };
    let wind = scene.world.wind.unwrap_or_default();
    vec![
        add("world.gravity", "Gravity", "m/s²", "Acceleration along x, y (up) and z", scene.world.gravity),
        add("world.wind", "Wind", "m/s", "Velocity of the air along x, y (up) and z", wind),
    ]
}

fn body(scene: &Scene, simulation: &Simulation, index: usize) -> Vec<Control> {
    let bodies = &simulation.scene_state().bodies;
    let body = &bodies[index];
    let is_cloth = matches!(body.elements, Elements::Triangles(_));
    let control = |key: &str, label, unit, help, kind| Control {
        group: format!("Body {}", body.name),
        detail: false,
        path: format!("body.{index}.{key}"),
        label,
        unit,
        help,
        kind,
    };
    let mut list = Vec::new();
    if let Some(spec) = scene.bodies.get(index).map(|body| &body.material) {
        let help = "A material by name, with all of its numbers";
        list.push(control("material", "Material", "", help, material(spec, is_cloth)));
    }
    if is_cloth {
        let help =
            "Whether the cloth's folds collide with each other: slower, and nothing passes through itself";
        let kind = ControlKind::Switch { value: body.self_contact };
        list.push(control("self_contact", "Self-contact", "", help, kind));
    }
    let numbers = if is_cloth {
        of_cloth(body.materials.main(), body.model == Model::BaraffWitkin)
    } else {
        of_solid(body.materials.main()).to_vec()
    };
    for (key, label, unit, help, value, range) in numbers.into_iter().chain(of_all(body.materials.main())) {
        let number = control(&format!("material.{key}"), label, unit, help, number(value, range));
        list.push(Control { detail: bodies.len() > MOST_UNFOLDED_BODIES, ..number });
    }
    list
}

/// The presets that suit a body. A material with numbers of its own is no preset; it can be left, but not chosen.
fn material(spec: &MaterialSpec, is_cloth: bool) -> ControlKind {
    let start = spec.preset.as_deref().unwrap_or(presets()[0].name);
    let is_changed = *spec != MaterialSpec::preset(start) && *spec != MaterialSpec::default();
    let is_current = |name: &str| !is_changed && name == start;
    let offered =
        presets().iter().filter(|preset| is_cloth || !preset.is_fabric() || is_current(preset.name));
    let mut choices: Vec<Value> = offered
        .map(|preset| {
            let about = format!("{}: {}", preset.name, preset.about);
            json!({ "word": preset.name, "title": preset.name, "about": about })
        })
        .collect();
    if is_changed {
        let title = match &spec.preset {
            Some(start) => format!("{start}, with other numbers"),
            None => "other numbers".into(),
        };
        choices.insert(0, json!({ "word": OWN_NUMBERS, "title": title, "disabled": true }));
    }
    let value = if is_changed { OWN_NUMBERS } else { start };
    ControlKind::Choice { value: value.into(), choices }
}

/// Stands for a material that is no preset.
const OWN_NUMBERS: &str = "";

/// A number of a material: its key, label, unit and help, its value and its range.
type MaterialNumber = (&'static str, &'static str, &'static str, &'static str, f64, [f64; 2]);

fn of_cloth(material: &Material, is_woven: bool) -> Vec<MaterialNumber> {
    let [stretch, _] = material.stretch_stiffness;
    let (bend, mass) = (material.bend_stiffness, material.area_density);
    let width = "Force for each metre of width at unit strain";
    let shear = material.shear_stiffness;
    let threads = "Force for each metre of width and radian between warp and weft";
    let mut numbers = vec![
        ("stretch_stiffness", "Stretch stiffness", "N/m", width, stretch, around(stretch)),
        ("shear_stiffness", "Shear stiffness", "N/m", threads, shear, around(shear)),
        ("bend_stiffness", "Bend stiffness", "N·m", "Resistance to bending", bend, around(bend)),
        ("area_density", "Mass", "kg/m²", "Mass of a square metre", mass, [mass / 30.0, mass * 30.0]),
    ];
    numbers.retain(|(key, ..)| is_woven || *key != "shear_stiffness");
    numbers
}

fn of_solid(material: &Material) -> [MaterialNumber; 2] {
    let (young, mass) = (material.young_modulus, material.density);
    [
        ("young_modulus", "Young's modulus", "Pa", "Stress at unit strain", young, around(young)),
        ("density", "Density", "kg/m³", "Mass of a cubic metre", mass, [mass / 30.0, mass * 30.0]),
    ]
}

fn of_all(material: &Material) -> [MaterialNumber; 3] {
    let narrows = "How much it narrows when stretched; 0.5 keeps the volume";
    let damping = "Time in which stretching is damped";
    [
        ("poisson_ratio", "Poisson's ratio", "", narrows, material.poisson_ratio, [0.0, 0.49]),
        ("damping", "Damping", "s", damping, material.damping, [0.0, 0.1]),
        ("friction", "Friction", "", "Coulomb's coefficient", material.friction, [0.0, 1.5]),
    ]
}

/// A thousandth to a thousand times the power of ten nearest to a value.
fn around(value: f64) -> [f64; 2] {
    let value = if value > 0.0 { value } else { 1.0 };
    let power = 10f64.powf(value.log10().round());
    [power * 1e-3, power * 1e3]
}

/// Names with titles and explanations; a title is followed by its name, which scene files and the manual use.
fn choice<'a>(value: &str, choices: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> ControlKind {
    let choices = choices.map(
        |(word, title, about)| json!({ "word": word, "title": format!("{title} ({word})"), "about": about }),
    );
    ControlKind::Choice { value: value.into(), choices: choices.collect() }
}

#[cfg(test)]
mod tests {
    use supple::scene::builtin_scenes;

    use super::*;

    #[test]
    fn every_control_of_every_scene_is_accepted_at_its_own_value() {
        let others = ["flesh-cube", "elastic-box", "flag-hpbd"];
        let first = builtin_scenes().iter().map(|scene| scene.0).take(6);
        for name in first.chain(others) {
            let mut scene = Scene::builtin(name).unwrap();
            scene.scale_resolution(0.1).unwrap();
            let simulation = Simulation::new(scene.clone()).unwrap();
            let text = scene.to_toml().unwrap();
            for control in controls(&scene, &simulation, &Registry::builtin()) {
                let value = match &control.kind {
                    ControlKind::Number { value, least, most, .. } => {
                        assert!(least <= value && value <= most, "{name} {}", control.path);
                        value.to_string()
                    }
                    ControlKind::Choice { value, choices } => {
                        let chosen = choices.iter().find(|choice| choice["word"] == **value);
                        if chosen.unwrap_or_else(|| panic!("{name} {}", control.path))["disabled"] == true {
                            continue;
                        }
                        value.clone()
                    }
                    ControlKind::Vector { value } => format!("{:?}", value.to_array()),
                    ControlKind::Switch { value } => value.to_string(),
                };
                let set = format!("{}={value}", control.path);
                let changed = Scene::from_toml_with(&text, name, "", std::slice::from_ref(&set));
                changed
                    .and_then(|scene| scene.validate())
                    .unwrap_or_else(|error| panic!("{name} {set}: {error}"));
            }
        }
    }

    #[test]
    fn materials_come_before_the_details_of_the_solver() {
        let scene = Scene::builtin("demo").unwrap();
        let simulation = Simulation::new(scene.clone()).unwrap();
        let controls = controls(&scene, &simulation, &Registry::builtin());
        let place = |path: &str| controls.iter().position(|control| control.path == path).unwrap();
        assert_eq!((place("body.0.material"), place("body.0.self_contact")), (0, 1));
        assert!(place("body.0.material.friction") < place("solver.method"));
        let folded = |control: &Control| control.detail;
        assert!(controls[..=place("solver.method")].iter().all(|control| !control.detail));
        assert!(controls.iter().any(folded) && controls[place("solver.linear")].detail);
    }

    #[test]
    fn a_changed_preset_is_no_preset_until_one_is_chosen() {
        let value = |spec: &MaterialSpec| match material(spec, true) {
            ControlKind::Choice { value, choices } => (value, choices.len()),
            other => panic!("{other:?}"),
        };
        let all = presets().len();
        assert_eq!(value(&MaterialSpec::preset("silk")), ("silk".into(), all));
        assert_eq!(value(&MaterialSpec::default()), (presets()[0].name.into(), all));
        let changed = MaterialSpec { friction: Some(0.1), ..MaterialSpec::preset("silk") };
        assert_eq!(value(&changed), (OWN_NUMBERS.into(), all + 1));
        assert!(matches!(material(&MaterialSpec::preset("rubber"), false),
            ControlKind::Choice { choices, .. } if choices.iter().all(|choice| choice["word"] != "cotton")));
    }

    #[test]
    fn every_method_has_options_of_its_own() {
        for (name, own) in [("flesh-cube", "solver.octree."), ("elastic-box", "solver.staggered.")] {
            let mut scene = Scene::builtin(name).unwrap();
            scene.scale_resolution(0.2).unwrap();
            let simulation = Simulation::new(scene.clone()).unwrap();
            let controls = controls(&scene, &simulation, &Registry::builtin());
            assert!(controls.iter().filter(|control| control.path.starts_with(own)).count() >= 4, "{name}");
            assert!(controls.iter().any(|control| control.path == "solver.tolerance"), "{name}");
            assert!(!controls.iter().any(|control| control.path == "solver.linear"), "{name}");
        }
    }
}
