//! Resumed runs on disk: what they must refuse, and what they must restore.

use std::fs;
use std::path::Path;

use supple::linear::Simd;
use supple::scene::Scene;
use supple::simulation::{FrameReport, Run, StartMode};

const BODY: &str = "[time]\nfps = 60\nframes = 12\n[[body]]\nname = \"cloth\"\n\
    shape = { grid = { size = [1, 1], vertices = [5, 5] } }\n";

fn begin(scene: &Scene, folder: &Path, begin: StartMode, simd: Simd) -> Result<Run, supple::Error> {
    Run::new(scene.clone(), folder, begin, simd)
}

fn frames(run: &mut Run, count: u32) {
    (0..count).for_each(|_| drop(run.next_frame().unwrap()));
}

fn hashes(run: &Run) -> Vec<String> {
    run.reports().unwrap().into_iter().map(|report| report.state_hash).collect()
}

/// Asserts that a run which is interrupted after each of these numbers of frames is bit-identical to an uninterrupted one, and returns
/// reports.
fn assert_bit_identical(scene: &Scene, parts: &[u32]) -> Vec<FrameReport> {
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    let mut unbroken = begin(scene, &whole, StartMode::Fresh, Simd::Auto).unwrap();
    frames(&mut unbroken, parts.iter().sum());
    let mut done = 0;
    for &part in parts {
        let how = if done == 0 { StartMode::Fresh } else { StartMode::Resume };
        let mut run = begin(scene, &broken, how, Simd::Auto).unwrap();
        assert_eq!(run.frame(), done);
        frames(&mut run, part);
        done += part;
        assert_eq!(hashes(&run), hashes(&unbroken)[..done as usize], "{}, {parts:?}", scene.solver.name());
    }
    unbroken.reports().unwrap()
}

#[test]
fn a_run_resumed_while_a_late_pin_holds_is_bit_identical() {
    let pin = "[[pin]]\nbody = \"cloth\"\nselection = { indices = [0] }\nduring = [0.05, 1]\n";
    let scene = Scene::from_toml(&format!("{BODY}{pin}"), "late", ".").unwrap();
    // Before the pin becomes active, and while it is.
    assert_bit_identical(&scene, &[2, 5, 5]);
}

/// The hierarchy follows the stiffness, which changes as the cloth moves: it must be that of the start.
#[test]
fn a_resumed_multigrid_run_is_bit_identical() {
    let text = format!(
        "{}[[body.region]]\nselection = {{ box = {{ min = [0.1, -1, -1], max = [1, 1, 1] }} }}\n\
         material = {{ stretch_stiffness = 5000 }}\n\
         [[pin]]\nbody = \"cloth\"\nselection = {{ indices = [0] }}\nduring = [0.05, 1]\n\
         [solver]\nlinear = {{ kind = \"galerkin\", levels = [40, 8] }}\n",
        BODY.replace("[5, 5]", "[13, 13]")
    );
    assert_bit_identical(&Scene::from_toml(&text, "multigrid", ".").unwrap(), &[7, 5]);
}

/// Domains are rebuilt every fourth step, from the cloth's positions then: in between they must be saved.
#[test]
fn a_resumed_run_with_lagging_domains_is_bit_identical() {
    for method in ["newton", "projective", "lbfgs"] {
        let text = format!(
            "{}[[pin]]\nbody = \"cloth\"\nselection = {{ indices = [0] }}\n\
             [[pin]]\nbody = \"cloth\"\nselection = {{ indices = [12] }}\nduring = [0.1, 1]\n\
             [solver]\nmethod = \"{method}\"\nlinear = {{ kind = \"mas\", domain = 8, rebuild = 4 }}\n",
            BODY.replace("[5, 5]", "[13, 13]")
        );
        // In the middle of a domain's lifetime, just before the second pin becomes active, and after it.
        assert_bit_identical(&Scene::from_toml(&text, "domains", ".").unwrap(), &[3, 3, 3, 3]);
    }
}

/// A preconditioner that serves several steps is built from a matrix that no longer exists: checkpoints must contain it.
#[test]
fn a_resumed_run_with_a_factor_from_earlier_steps_is_bit_identical() {
    let kept =
        ["refresh_steps = 4", "refresh_steps = 5\nrefresh_moved = 0.02", "refresh_steps = 3\nrefresh = 4"];
    let solvers = ["newton", "newton", "lbfgs"].into_iter().zip(["\"cholesky\"", "\"mas\"", "\"ic0\""]);
    for ((method, linear), kept) in solvers.zip(kept) {
        let text = format!(
            "{}self_contact = true\n[[pin]]\nbody = \"cloth\"\nselection = {{ indices = [0] }}\n\
             [[pin]]\nbody = \"cloth\"\nselection = {{ indices = [12] }}\nduring = [0.1, 1]\n\
             [[collider]]\nname = \"ball\"\nshape = {{ sphere = {{ center = [0, -0.23, 0], radius = 0.2 }} }}\n\
             [solver]\nmethod = \"{method}\"\nlinear = {linear}\n{kept}\n",
            BODY.replace("[5, 5]", "[13, 13]")
        );
        let reports = assert_bit_identical(&Scene::from_toml(&text, "kept", ".").unwrap(), &[3, 3, 2, 4]);
        // The factor is really kept: later steps need iterations, not one solve each.
        if linear == "\"cholesky\"" {
            let more = |frame: usize| reports[frame].linear_iterations > reports[frame].nonlinear_iterations;
            assert!(more(2) && more(3), "{reports:?}");
        }
    }
}

#[test]
fn a_run_is_resumed_only_with_the_instruction_set_it_was_started_with() {
    let scene = Scene::from_toml(BODY, "simd", ".").unwrap();
    let folder = tempfile::tempdir().unwrap();
    frames(&mut begin(&scene, folder.path(), StartMode::Fresh, Simd::Baseline).unwrap(), 2);
    for how in [StartMode::Resume, StartMode::From(1)] {
        let error = begin(&scene, folder.path(), how, Simd::Auto).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("started with `--simd baseline`") && error.contains("resume"), "{error}");
    }
    let mut run = begin(&scene, folder.path(), StartMode::Resume, Simd::Baseline).unwrap();
    assert_eq!(run.frame(), 2);
    frames(&mut run, 1);
}

/// A box from -1 to 1 along x and y, and of a height along z, in the file's unit.
/// The engine's choices are explicit in `scene.toml`, and one that a newer version would make otherwise stays.
#[test]
fn a_run_records_what_the_engine_chose_and_keeps_it_when_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::from_toml(BODY, "chosen", ".").unwrap();
    assert_eq!((scene.solver.linear.as_ref(), scene.bodies[0].model), (None, None));
    let started = begin(&scene, folder.path(), StartMode::Fresh, Simd::Auto).unwrap();
    assert!(
        started.simulation().choices().starts_with("newton+cholesky; "),
        "{}",
        started.simulation().choices()
    );
    drop(started);
    let path = folder.path().join("scene.toml");
    let recorded = Scene::find(path.to_str().unwrap()).unwrap();
    assert!(recorded.bodies[0].model.is_some() && recorded.bodies[0].self_contact.is_some());
    assert!(recorded.contact.thickness.is_some());

    let other = Scene::from_toml(&format!("{BODY}[solver]\nlinear = \"jacobi\"\n"), "chosen", ".").unwrap();
    let older = folder.path().join("older");
    frames(&mut begin(&other, &older, StartMode::Fresh, Simd::Auto).unwrap(), 1);
    let resumed = begin(&scene, &older, StartMode::Resume, Simd::Auto).unwrap();
    assert_eq!(resumed.scene().solver.name(), "newton+jacobi");
    assert_eq!(resumed.frame(), 1);
}

fn write_box(path: &Path, unit: f64, height: f64) {
    let corners = (0..8).map(|i| [i & 1, i >> 1 & 1, i >> 2].map(|bit| f64::from(2 * bit - 1)));
    let vertices: String =
        corners.map(|[x, y, z]| format!("v {} {} {}\n", x * unit, y * unit, z * unit * height)).collect();
    let faces = "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n";
    fs::write(path, vertices + faces).unwrap();
}

#[test]
fn selections_inside_a_mesh_know_its_unit_and_notice_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    // In centimetres and z up: |z| of the world, which is y of the file, is at most 0.3 m.
    let file = folder.path().join("region.obj");
    write_box(&file, 30.0, 5.0);
    let pin = "[[pin]]\nbody = \"cloth\"\n\
        selection = { inside-mesh = { file = \"region.obj\", scale = 0.01, up = \"z\" } }\n";
    let scene = Scene::from_toml(&format!("{BODY}{pin}"), "inside", folder.path()).unwrap();
    let out = folder.path().join("run");
    let mut run = begin(&scene, &out, StartMode::Fresh, Simd::Auto).unwrap();
    let picked: Vec<u32> =
        run.simulation().scene_state().pins[0].points.iter().map(|p| p.weights[0].0).collect();
    // Vertices at -0.5, -0.25, 0, 0.25, 0.5 m: the inner three of five in both directions.
    assert_eq!(picked, [6, 7, 8, 11, 12, 13, 16, 17, 18]);
    frames(&mut run, 2);
    drop(run);
    begin(&scene, &out, StartMode::Resume, Simd::Auto).unwrap();
    write_box(&file, 20.0, 5.0);
    let error = begin(&scene, &out, StartMode::Resume, Simd::Auto).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("differs from what this run was made with"), "{error}");
    // With y up, the file's z is the world's.
    write_box(&file, 30.0, 0.5);
    let text = format!("{BODY}{}", pin.replace("up = \"z\"", "up = \"y\""));
    let turned = Scene::from_toml(&text, "inside", folder.path()).unwrap();
    let run = begin(&turned, &folder.path().join("turned"), StartMode::Fresh, Simd::Auto).unwrap();
    assert_eq!(run.simulation().scene_state().pins[0].points.len(), 3, "|z| at most 0.15 m");
}

#[test]
fn expectations_of_a_resumed_run_cover_the_frames_before_it() {
    let mut scene = Scene::from_toml(BODY, "expect", ".").unwrap();
    scene.expect.iterations = Some(0);
    let folder = tempfile::tempdir().unwrap();
    frames(&mut begin(&scene, folder.path(), StartMode::Fresh, Simd::Auto).unwrap(), 3);
    let mut run = begin(&scene, folder.path(), StartMode::Resume, Simd::Auto).unwrap();
    frames(&mut run, 2);
    let mut reports = run.reports().unwrap();
    assert_eq!(reports.iter().map(|report| report.frame).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(reports[4].time, 5.0 / 60.0);
    // The hardest step counts, not the mean: 9 iterations in one of frame 2's steps.
    reports.iter_mut().for_each(|report| report.max_step_iterations = 0);
    assert!(scene.expect.violations(&reports).is_empty());
    (reports[1].max_step_iterations, reports[1].nonlinear_iterations, reports[1].steps) = (9, 9, 10);
    scene.expect.iterations = Some(8);
    assert_eq!(scene.expect.violations(&reports), ["iterations is 9 at frame 2, above 8"]);
}

#[test]
fn the_hardest_step_of_a_frame_is_reported() {
    let text = BODY.replace("frames = 12", "frames = 2\nsubsteps = 3")
        + "[[pin]]\nbody = \"cloth\"\nselection = { indices = [0] }\n";
    let scene = Scene::from_toml(&text, "steps", ".").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut run = begin(&scene, folder.path(), StartMode::Fresh, Simd::Auto).unwrap();
    for _ in 0..2 {
        let report = run.next_frame().unwrap();
        assert!(report.max_step_iterations <= report.nonlinear_iterations);
        assert!(3 * report.max_step_iterations >= report.nonlinear_iterations, "{report:?}");
    }
}

#[test]
fn vertices_of_no_face_count_neither_for_height_nor_for_penetration() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("sheet.obj"),
        "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nv 0 -50 0\nv 0 70 0\nf 4 3 2 1\n",
    )
    .unwrap();
    let text = "[time]\nframes = 1\n[[body]]\nname = \"sheet\"\nshape = { file = \"sheet.obj\" }\n\
        transform = { translate = [0, 1, 0] }\n[[collider]]\nname = \"ground\"\nshape = { plane = { normal = [0, 1, 0] } }\n";
    let scene = Scene::from_toml(text, "loose", folder.path()).unwrap();
    let mut run = begin(&scene, &folder.path().join("run"), StartMode::Fresh, Simd::Auto).unwrap();
    let report = run.next_frame().unwrap();
    let fallen = 1.0 - 9.81 / 900.0;
    assert!((report.height[0] - fallen).abs() < 1e-9 && (report.height[1] - fallen).abs() < 1e-9);
    assert_eq!((report.contacts, report.penetration), (0, 0.0));
}

/// Frames with contact forces are bit-identical too, and their forces carry the weight.
#[test]
fn contact_forces_in_frames_carry_the_weight_and_are_bit_identical_when_resumed() {
    for (solver, allowed) in [("tolerance = 1e-8", 2e-3), ("method = \"hpbd\"", 2e-3)] {
        let text = format!(
            "[time]\nframes = 40\n[[body]]\nname = \"cloth\"\ntransform = {{ translate = [0, 0.001, 0] }}\n\
             shape = {{ grid = {{ size = [0.5, 0.5], vertices = [6, 6] }} }}\n\
             [[collider]]\nname = \"table\"\nshape = {{ plane = {{ normal = [0, 1, 0] }} }}\n\
             [solver]\n{solver}\n[output]\ncontact_forces = true\n"
        );
        let scene = Scene::from_toml(&text, "lying", ".").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
        let mut run = begin(&scene, &whole, StartMode::Fresh, Simd::Auto).unwrap();
        frames(&mut run, 40);
        let weight = 9.81 * run.simulation().mass();
        let mut carried = 0.0;
        for frame in 31..=40 {
            let frame = run.cache().read(frame).unwrap();
            let contact = frame.bodies[0].contact.as_ref().unwrap();
            assert!(contact.pressure.iter().any(|pressure| *pressure > 0.0), "{solver}");
            carried += 0.1 * contact.force.iter().map(|force| f64::from(force.y)).sum::<f64>();
        }
        assert!((carried / weight - 1.0).abs() < allowed, "{solver}: {carried} N of {weight} N");
        frames(&mut begin(&scene, &broken, StartMode::Fresh, Simd::Auto).unwrap(), 17);
        frames(&mut begin(&scene, &broken, StartMode::Resume, Simd::Auto).unwrap(), 23);
        for frame in 0..=40 {
            let [a, b] = [&whole, &broken]
                .map(|run| fs::read(run.join(format!("frames/frame-{frame:06}.supf"))).unwrap());
            assert!(a == b, "{solver}: frame {frame}");
        }
    }
}
