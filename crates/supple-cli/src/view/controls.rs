//! The controls of the page, with names, units and bounds: one list, rebuilt from the scene after every change.

use glam::DVec3;
use serde::Serialize;
use serde_json::{Value, json};
use supple::body::Elements;
use supple::material::Material;
use supple::scene::{LinearKind, LinearUse, Method, Scene, Solver};
use supple::simulation::{Registry, Simulation};
use supple::solvers::{hpbd, octree, staggered};

/// A value that can be changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Control {
    /// Its section on the page.
    group: String,
    /// Its `--set` path.
    path: String,
    label: &'static str,
    /// Empty for numbers without a unit.
    unit: &'static str,
    help: &'static str,
    #[serde(flatten)]
    kind: Kind,
}

/// The kind of control.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Kind {
    /// A number; ranges over several powers of ten get a logarithmic slider.
    Number { value: f64, least: f64, most: f64, logarithmic: bool, whole: bool },
    /// One of several names.
    Choice { value: String, choices: Vec<Value> },
    /// Three numbers.
    Vector { value: DVec3 },
    /// Yes or no.
    Switch { value: bool },
}

fn number(value: f64, [least, most]: [f64; 2]) -> Kind {
    let logarithmic = least > 0.0 && most / least > 50.0;
    Kind::Number { value, least: least.min(value), most: most.max(value), logarithmic, whole: false }
}

fn count(value: u32, [least, most]: [u32; 2]) -> Kind {
    let [least, most] = [least.min(value), most.max(value)].map(f64::from);
    Kind::Number {
        value: f64::from(value),
        least,
        most,
        logarithmic: most / least.max(1.0) > 50.0,
        whole: true,
    }
}

/// All values that can currently be changed.
pub(super) fn controls(scene: &Scene, simulation: &Simulation, steppers: &Registry) -> Vec<Control> {
    let mut controls = solver(scene, steppers);
    controls.extend(world(scene));
    for index in 0..simulation.scene_state().bodies.len() {
        controls.extend(body(simulation, index));
    }
    controls
}

/// A control of the solver.
fn of_solver(path: &str, label: &'static str, unit: &'static str, help: &'static str, kind: Kind) -> Control {
    Control { group: "Solver".into(), path: path.into(), label, unit, help, kind }
}

fn solver(scene: &Scene, steppers: &Registry) -> Vec<Control> {
    let solver = &scene.solver;
    let methods: Vec<_> = steppers.methods().map(|method| (method.word(), method.title())).collect();
    let method = words(solver.method.word(), &methods);
    let mut list = vec![of_solver("solver.method", "Method", "", "Solver method of a time step", method)];
    list.extend(of_method(solver));
    let help = "Time steps per frame: more is slower and more accurate";
    list.push(of_solver("time.substeps", "Steps per frame", "", help, count(scene.time.substeps, [1, 64])));
    list
}

/// The options of the method. Options of steppers unknown to the page can only be changed in the scene file.
fn of_method(solver: &Solver) -> Vec<Control> {
    let (method, mut list) = (solver.method, until_done(solver));
    if method == Method::HPBD {
        return of_hpbd(&solver.options.get()).into();
    } else if method == Method::OCTREE {
        list.extend(of_octree(&solver.options.get()));
    } else if method == Method::STAGGERED {
        list.extend(of_staggered(&solver.options.get()));
    } else if method.traits().linear != LinearUse::None {
        let kinds = LinearKind::ALL.map(|kind| (kind.word(), title_of_linear(kind)));
        let help = "Solves or preconditions the linear systems of the method";
        let kind = words(solver.linear.kind.word(), &kinds);
        list.insert(0, of_solver("solver.linear", "Linear solver", "", help, kind));
        list.extend(of_linear(solver));
    }
    list
}

/// The stopping criteria of a step.
fn until_done(solver: &Solver) -> Vec<Control> {
    let help = "The residual measures the imbalance of forces, relative to its value at the start of the step. \
                A step ends when it has fallen to this part: smaller is more accurate and slower";
    let tolerance = number(solver.tolerance, [1e-8, 0.5]);
    let most = count(solver.max_iterations, [1, 500]);
    let speed = solver.velocity_tolerance.map(|speed| {
        let help = "A step also ends when an iteration would move no vertex faster than this";
        of_solver("solver.velocity_tolerance", "Velocity tolerance", "m/s", help, number(speed, [1e-4, 1.0]))
    });
    let help_most = "Maximum number of iterations per step";
    let mut list = vec![of_solver("solver.tolerance", "Tolerance", "", help, tolerance)];
    list.extend(speed);
    list.push(of_solver("solver.max_iterations", "Most iterations", "", help_most, most));
    list
}

fn of_linear(solver: &Solver) -> Option<Control> {
    let linear = &solver.linear;
    let domain = |help, most| {
        let nodes = count(linear.domain.unwrap_or(32), [4, most]);
        of_solver("solver.linear.domain", "Domain", "nodes", help, nodes)
    };
    match linear.kind {
        LinearKind::Mas => Some(domain("Nodes per domain of the finest level", 128)),
        LinearKind::Schwarz => Some(domain("Nodes per domain", 256)),
        LinearKind::Galerkin | LinearKind::GalerkinCycle => {
            let help = "Smoothing sweeps on the finest level before and after the coarser ones";
            let sweeps = count(linear.sweeps.unwrap_or(1), [1, 10]);
            Some(of_solver("solver.linear.sweeps", "Sweeps", "", help, sweeps))
        }
        _ => None,
    }
}

fn of_hpbd(options: &hpbd::Options) -> [Control; 2] {
    let sweeps = "Sweeps over the constraints of the mesh per step";
    let levels = "Maximum number of coarse levels; 0 is plain position based dynamics";
    [
        of_solver("solver.hpbd.sweeps", "Sweeps", "", sweeps, count(options.sweeps, [1, 50])),
        of_solver("solver.hpbd.levels", "Coarse levels", "", levels, count(options.levels, [0, 16])),
    ]
}

fn of_octree(options: &octree::Options) -> [Control; 4] {
    let smoother = match options.smoother {
        octree::Smoother::Jacobi => "jacobi",
        octree::Smoother::Chebyshev => "chebyshev",
    };
    let smoothers = words(smoother, &[("jacobi", "Damped Jacobi"), ("chebyshev", "Chebyshev")]);
    let (levels, smooths) =
        ("Maximum number of octree levels; 1 means no coarse levels", "Smoother of every level");
    let tolerance =
        "Conjugate gradients stop when the residual of the linear system has fallen to this fraction";
    let most = "Maximum number of conjugate gradient iterations";
    [
        of_solver("solver.octree.levels", "Levels", "", levels, count(options.levels, [1, 32])),
        of_solver("solver.octree.smoother", "Smoother", "", smooths, smoothers),
        of_solver(
            "solver.octree.tolerance",
            "Linear tolerance",
            "",
            tolerance,
            number(options.tolerance, [1e-8, 0.5]),
        ),
        of_solver(
            "solver.octree.max_iterations",
            "Maximum linear iterations",
            "",
            most,
            count(options.max_iterations, [1, 1000]),
        ),
    ]
}

fn of_staggered(options: &staggered::Options) -> Vec<Control> {
    let interpolation = match options.interpolation {
        staggered::Interpolation::Trilinear => "trilinear",
        staggered::Interpolation::Tricubic => "tricubic",
    };
    let kinds = words(interpolation, &[("trilinear", "Trilinear"), ("tricubic", "Tricubic, smooth")]);
    let add =
        |key: &str, label, help, kind| of_solver(&format!("solver.staggered.{key}"), label, "", help, kind);
    let cycle_index = "Visits of the coarser lattice per cycle: 1 is a V-cycle, 2 a W-cycle";
    let padding = "Layers of cells around the body; changing it restarts the simulation";
    let cycles = "Maximum number per linear solve";
    let counts = [
        (
            "boundary_sweeps",
            "Boundary sweeps",
            "Before and after every sweep over the interior",
            options.boundary_sweeps,
            [1, 10],
        ),
        (
            "extra_sweeps",
            "Extra sweeps",
            "Additional sweeps where lattices differ",
            options.extra_sweeps,
            [0, 10],
        ),
        ("cycle_index", "Cycle index", cycle_index, options.cycle_index, [1, 2]),
        ("max_cycles", "Most cycles", cycles, options.max_cycles, [1, 200]),
        ("padding", "Padding", padding, options.padding, [0, 8]),
    ];
    let counts = counts.map(|(key, label, help, value, range)| add(key, label, help, count(value, range)));
    let krylov = Kind::Switch { value: options.krylov };
    let cycles_or_krylov = "Whether cycles precondition GMRES or are used alone, as in the paper";
    let others = [
        add("krylov", "GMRES", cycles_or_krylov, krylov),
        add("interpolation", "Surface", "How the surface follows the lattice", kinds),
    ];
    counts.into_iter().chain(others).collect()
}

fn world(scene: &Scene) -> Vec<Control> {
    let add = |path: &str, label, unit, help, value| Control {
        group: "World".into(),
        path: path.into(),
        label,
        unit,
        help,
        kind: Kind::Vector { value },
    };
    let wind = scene.world.wind.unwrap_or_default();
    vec![
        add("world.gravity", "Gravity", "m/s²", "Acceleration along x, y (up) and z", scene.world.gravity),
        add("world.wind", "Wind", "m/s", "Velocity of the air along x, y (up) and z", wind),
    ]
}

fn body(simulation: &Simulation, index: usize) -> Vec<Control> {
    let body = &simulation.scene_state().bodies[index];
    let numbers = match body.elements {
        Elements::Triangles(_) => of_cloth(body.materials.main()).to_vec(),
        Elements::Tets(_) | Elements::Octants(_) => of_solid(body.materials.main()).to_vec(),
    };
    let numbers = numbers.into_iter().chain(of_all(body.materials.main()));
    let control = |(key, label, unit, help, value, range): Number| Control {
        group: format!("Body {}", body.name),
        path: format!("body.{index}.material.{key}"),
        label,
        unit,
        help,
        kind: number(value, range),
    };
    numbers.map(control).collect()
}

/// A number of a material: its key, label, unit and help, its value and its range.
type Number = (&'static str, &'static str, &'static str, &'static str, f64, [f64; 2]);

fn of_cloth(material: &Material) -> [Number; 3] {
    let [stretch, _] = material.stretch_stiffness;
    let (bend, mass) = (material.bend_stiffness, material.area_density);
    let width = "Force for each metre of width at unit strain";
    [
        ("stretch_stiffness", "Stretch stiffness", "N/m", width, stretch, around(stretch)),
        ("bend_stiffness", "Bend stiffness", "N·m", "Resistance to bending", bend, around(bend)),
        ("area_density", "Mass", "kg/m²", "Mass of a square metre", mass, [mass / 30.0, mass * 30.0]),
    ]
}

fn of_solid(material: &Material) -> [Number; 2] {
    let (young, mass) = (material.young_modulus, material.density);
    [
        ("young_modulus", "Young's modulus", "Pa", "Stress at unit strain", young, around(young)),
        ("density", "Density", "kg/m³", "Mass of a cubic metre", mass, [mass / 30.0, mass * 30.0]),
    ]
}

fn of_all(material: &Material) -> [Number; 3] {
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

fn words(value: &str, choices: &[(&str, &str)]) -> Kind {
    let choices = choices.iter().map(|(word, title)| json!({ "word": word, "title": title })).collect();
    Kind::Choice { value: value.into(), choices }
}

fn title_of_linear(kind: LinearKind) -> &'static str {
    match kind {
        LinearKind::Cholesky => "Sparse Cholesky",
        LinearKind::Jacobi => "CG, block Jacobi",
        LinearKind::Schwarz => "CG, additive Schwarz",
        LinearKind::Ic0 => "CG, incomplete Cholesky",
        LinearKind::Ict => "CG, incomplete Cholesky with threshold",
        LinearKind::GaussSeidel => "Gauss-Seidel",
        LinearKind::Chebyshev => "Chebyshev",
        LinearKind::Galerkin => "CG, Galerkin multigrid (Xian 2019)",
        LinearKind::GalerkinCycle => "Galerkin multigrid alone (Xian 2019)",
        LinearKind::Mas => "CG, multilevel Schwarz (Wu 2022)",
    }
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
                    Kind::Number { value, least, most, .. } => {
                        assert!(least <= value && value <= most, "{name} {}", control.path);
                        value.to_string()
                    }
                    Kind::Choice { value, choices } => {
                        assert!(choices.iter().any(|choice| choice["word"] == **value));
                        value.clone()
                    }
                    Kind::Vector { value } => format!("{:?}", value.to_array()),
                    Kind::Switch { value } => value.to_string(),
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
