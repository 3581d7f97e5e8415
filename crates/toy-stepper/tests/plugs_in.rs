//! A stepper from another crate is read, rejected, simulated, saved and listed like the engine's own.

use std::path::Path;
use std::process::{Command, Output};

use glam::DVec3;
use supple::Error;
use supple::linear::Simd;
use supple::scene::{Body, Method, Scene, Solver};
use supple::simulation::{DryRun, Registry, Run, Simulation, StartMode, scene_of_run_with};
use toy_stepper::{FREE_FALL, FreeFallOptions, steppers};

const SCENE: &str = r#"
[time]
fps = 20
frames = 10

[[body]]
name = "cloth"
shape = { grid = { size = [1, 1], vertices = [4, 5] } }
velocity = [1, 2, 0]

[solver]
method = "free-fall"
free_fall = { drag = 0.5 }
"#;

const SEAM: &str = r#"
[[seam]]
bodies = ["cloth", "cloth"]
selections = [{ indices = [0] }, { indices = [3] }]
"#;

fn read(text: &str) -> Result<Scene, Error> {
    steppers().scene_reader().text(text, "falling", ".")
}

fn refused(text: &str) -> String {
    read(text).map(|scene| scene.name).unwrap_err().to_string()
}

fn simulation(text: &str) -> Simulation {
    Simulation::with_steppers(read(text).unwrap(), Simd::Auto, &steppers()).unwrap()
}

/// The position of a point that started with this velocity, after `t` seconds.
fn fallen(start: DVec3, velocity: DVec3, drag: f64, t: f64) -> DVec3 {
    let terminal = DVec3::new(0.0, -9.81, 0.0) / drag;
    start + terminal * t + (velocity - terminal) * (1.0 - (-drag * t).exp()) / drag
}

#[test]
fn positions_are_those_of_the_analytic_fall() {
    let mut simulation = simulation(SCENE);
    let start = simulation.positions().to_vec();
    for _ in 0..20 {
        simulation.step(0.05).unwrap();
    }
    for (start, end) in start.iter().zip(simulation.positions()) {
        let expected = fallen(*start, DVec3::new(1.0, 2.0, 0.0), 0.5, 1.0);
        assert!(end.distance(expected) < 1e-12, "{end} where {expected} is right");
    }
    assert_eq!(simulation.unknowns(), 60);
    assert_eq!(
        simulation.stress().unwrap_err().to_string(),
        "`free-fall` has no stress to show: nothing deforms"
    );
}

#[test]
fn a_scene_in_code_falls_without_drag_by_default() {
    let scene = Scene::builder()
        .body(Body::cloth("cloth").size([1.0, 1.0]).vertices([3, 3]))
        .solver(Solver { method: FREE_FALL, ..Solver::default() })
        .build()
        .unwrap();
    let mut simulation = Simulation::with_steppers(scene, Simd::Auto, &steppers()).unwrap();
    simulation.step(2.0).unwrap();
    assert!(simulation.positions().iter().all(|p| (p.y + 0.5 * 9.81 * 4.0).abs() < 1e-12));
}

#[test]
fn unknown_keys_words_and_tables_are_refused_with_the_nearest() {
    let mistyped = refused(&SCENE.replace("drag", "drga"));
    assert!(mistyped.contains("line 13") && mistyped.contains("did you mean `drag`"), "{mistyped}");
    let mistyped = refused(&SCENE.replace("free_fall", "free_fal"));
    assert!(mistyped.contains("is not a key of [solver]; did you mean `free_fall`?"), "{mistyped}");
    assert!(mistyped.contains("`hpbd`, `octree`, `staggered`, `free_fall`"), "{mistyped}");
    let mistyped = refused(&SCENE.replace("free-fall", "free-fell"));
    assert!(mistyped.contains("line 12") && mistyped.contains("did you mean `free-fall`"), "{mistyped}");
    assert!(mistyped.contains("`newton`"), "{mistyped}");
    let wrong = refused(&SCENE.replace("0.5", "\"much\""));
    assert!(wrong.contains("`solver.free_fall.drag` must be a number"), "{wrong}");
}

#[test]
fn values_out_of_range_and_what_it_cannot_do_are_refused() {
    let problem = read(&SCENE.replace("0.5", "-1")).unwrap().validate().unwrap_err().to_string();
    assert!(problem.contains("`free_fall.drag` is -1; it must be 0 to 1000"), "{problem}");
    let seam = read(&format!("{SCENE}{SEAM}")).unwrap().validate().unwrap_err().to_string();
    assert!(seam.contains("line 15: `[[seam]]` with `free-fall` is not supported yet"), "{seam}");
    let gas = SCENE.replace("velocity", "pressure = 100\nvelocity");
    let gas =
        gas.replace("grid = { size = [1, 1], vertices = [4, 5] }", "sphere = { radius = 1, cells = 4 }");
    let problems = DryRun::with_steppers(&read(&gas).unwrap(), &steppers()).problems;
    assert!(problems.iter().any(|p| p.to_string().contains("does not support gas")), "{problems:?}");
}

#[test]
fn a_program_without_the_stepper_refuses_its_scenes() {
    let file = Scene::from_toml(SCENE, "falling", ".").unwrap_err().to_string();
    // The first error in the file, before the table that is unknown as well.
    assert!(file.contains("line 12: `free-fall` is not a value of `solver.method`"), "{file}");
    let scene = read(SCENE).unwrap();
    let problem = Simulation::new(scene.clone()).map(|_| ()).unwrap_err().to_string();
    assert!(problem.contains("no stepper for the method `free-fall`"), "{problem}");
    assert!(!DryRun::of(&scene).problems.is_empty());
}

#[test]
fn written_scenes_read_back_equal() {
    let scene = read(SCENE).unwrap();
    let text = scene.to_toml().unwrap();
    assert!(text.contains("free_fall = { drag = 0.5 }"), "{text}");
    assert_eq!(read(&text).unwrap(), scene);
    let plain = read(&SCENE.replace("free_fall = { drag = 0.5 }", "free_fall = {}")).unwrap();
    assert!(!plain.to_toml().unwrap().contains("free_fall"));
    assert_eq!(plain.solver.options.get::<FreeFallOptions>(), FreeFallOptions::default());
}

#[test]
fn a_saved_state_continues_bit_identically() {
    let mut through = simulation(SCENE);
    through.step(0.1).unwrap();
    let saved = through.save();
    through.step(0.1).unwrap();
    let mut resumed = simulation(SCENE);
    resumed.restore(&saved).unwrap();
    resumed.step(0.1).unwrap();
    assert_eq!(resumed.state_hash(), through.state_hash());
    assert!(resumed.restore(&saved[..saved.len() - 1]).is_err());
}

#[test]
fn a_run_on_disk_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut scene = read(SCENE).unwrap();
    let run = |scene: &Scene, begin| {
        let mut run = Run::with_steppers(scene.clone(), &out, begin, Simd::Auto, &steppers()).unwrap();
        while !run.is_done() {
            run.next_frame().unwrap();
        }
        run.simulation().state_hash()
    };
    let whole = run(&scene, StartMode::Fresh);
    scene.time.frames = 4;
    run(&scene, StartMode::Replace);
    scene.time.frames = 10;
    assert_eq!(run(&scene, StartMode::Resume), whole);
    assert_eq!(scene_of_run_with(&out, &steppers()).unwrap().solver, scene.solver);
}

#[test]
fn it_shares_its_state_with_no_other_method() {
    let mut simulation = simulation(SCENE);
    let other = Solver { method: Method::NEWTON, ..Solver::default() };
    assert!(simulation.set_solver(other).unwrap_err().to_string().contains("different discretisation"));
    let faster =
        Solver { method: FREE_FALL, ..Solver::default() }.with_options(FreeFallOptions { drag: 0.1 });
    simulation.set_solver(faster).unwrap();
}

#[test]
fn bodies_come_and_go() {
    let mut simulation = simulation(SCENE);
    simulation.step(0.1).unwrap();
    let before = simulation.positions().to_vec();
    let other = simulation.add_body(&Body::cloth("other").vertices([2, 2]).into()).unwrap();
    assert_eq!(simulation.positions()[..before.len()], before);
    simulation.remove_body(other).unwrap();
    assert_eq!(simulation.positions(), before);
}

fn toy(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_supple-toy")).args(arguments).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_program_runs_checks_and_lists_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("falling.toml"), SCENE).unwrap();
    std::fs::write(folder.path().join("sewn.toml"), format!("{SCENE}{SEAM}")).unwrap();
    let run = toy(folder.path(), &["run", "falling.toml", "--out", "out", "--json"]);
    assert!(run.status.success() && said(&run).contains("\"solver\":\"free-fall\""), "{}", said(&run));
    let resumed = toy(folder.path(), &["run", "--out", "out", "--resume", "--set", "time.frames=12"]);
    assert!(resumed.status.success(), "{}", said(&resumed));
    let fine = toy(folder.path(), &["check", "falling.toml"]);
    assert!(fine.status.success() && said(&fine).contains("can be run"), "{}", said(&fine));
    let sewn = toy(folder.path(), &["check", "sewn.toml"]);
    assert_eq!(sewn.status.code(), Some(2));
    assert!(said(&sewn).contains("`[[seam]]` with `free-fall` is not supported yet"), "{}", said(&sewn));
    let chosen =
        toy(folder.path(), &["run", "demo", "--solver", "free-fall", "--frames", "1", "--out", "demo"]);
    assert!(chosen.status.success(), "{}", said(&chosen));
    let help = toy(folder.path(), &["run", "--help"]);
    let words = said(&help).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("staggered, free-fall)"), "{words}");
    let wrong = toy(folder.path(), &["run", "demo", "--solver", "free-fell"]);
    assert!(said(&wrong).contains("staggered, free-fall, the linear solvers"), "{}", said(&wrong));
}

#[test]
fn the_engine_lists_it_after_its_own() {
    assert_eq!(steppers().method_names().last(), Some(&"free-fall"));
    assert_eq!(steppers().method_names().len(), Registry::builtin().method_names().len() + 1);
    assert_eq!(FREE_FALL.title(), "Free fall");
}
