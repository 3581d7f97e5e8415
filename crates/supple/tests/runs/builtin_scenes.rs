//! Every built-in scene runs at reduced size within the bounds of its own `[expect]` table.

use supple::linear::Simd;
use supple::scene::{Scene, builtin_scenes};
use supple::simulation::{Run, Simulation, StartMode};

/// Small enough for a test, large enough to fold.
const CLOTH: f64 = 0.25;
/// The octopus's arms must not fall between the cells.
const SOLID: f64 = 0.5;

fn violations(name: &str, resolution: f64) -> Vec<String> {
    violations_until(name, resolution, u32::MAX)
}

/// Those of the first frames.
fn violations_until(name: &str, resolution: f64, frames: u32) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut scene = Scene::builtin(name).unwrap();
    scene.time.frames = scene.time.frames.min(frames);
    scene.scale_resolution(resolution).unwrap();
    let mut run = Run::new(scene, folder.path(), StartMode::Fresh, Simd::Auto).unwrap();
    let mut reports = Vec::new();
    while !run.is_done() {
        reports.push(run.next_frame().unwrap());
    }
    assert!(reports.iter().all(|report| report.finite));
    run.scene().expect.violations(&reports)
}

#[test]
fn demo_holds_its_bounds() {
    assert_eq!(violations("demo", CLOTH), [""; 0]);
}

#[test]
fn hanging_cloth_holds_its_bounds() {
    assert_eq!(violations("hanging-cloth", CLOTH), [""; 0]);
}

#[test]
fn flag_holds_its_bounds() {
    assert_eq!(violations("flag", CLOTH), [""; 0]);
}

#[test]
fn cloth_on_sphere_holds_its_bounds() {
    assert_eq!(violations("cloth-on-sphere", CLOTH), [""; 0]);
}

#[test]
fn spring_octopus_holds_its_bounds() {
    assert_eq!(violations("spring-octopus", SOLID), [""; 0]);
}

#[test]
fn bar_holds_its_bounds() {
    assert_eq!(violations("bar", 0.4), [""; 0]);
}

#[test]
fn octopus_holds_its_bounds() {
    assert_eq!(violations("octopus", 0.75), [""; 0]);
}

#[test]
fn pachinko_holds_its_bounds() {
    assert_eq!(violations("pachinko", 0.6), [""; 0]);
}

#[test]
fn twist_holds_its_bounds() {
    assert_eq!(violations("twist", 0.5), [""; 0]);
}

#[test]
fn balloon_holds_its_bounds() {
    assert_eq!(violations("balloon", 0.5), [""; 0]);
}

#[test]
fn heterogeneous_bar_holds_its_bounds() {
    assert_eq!(violations("heterogeneous-bar", 0.5), [""; 0]);
}

#[test]
fn armadillo_bowl_holds_its_bounds() {
    assert_eq!(violations_until("armadillo-bowl", 0.5, 40), [""; 0]);
}

#[test]
fn t_shirt_is_sewn_and_holds_its_bounds() {
    assert_eq!(violations_until("t-shirt", 0.2, 40), [""; 0]);
}

#[test]
fn stacked_cloth_holds_its_bounds() {
    assert_eq!(violations_until("stacked-cloth", 0.1, 20), [""; 0]);
}

#[test]
fn cloth_drop_holds_its_bounds() {
    assert_eq!(violations_until("cloth-drop", 0.1, 60), [""; 0]);
}

#[test]
fn knot_holds_its_bounds() {
    assert_eq!(violations_until("knot", 0.06, 60), [""; 0]);
}

#[test]
fn flag_hpbd_holds_its_bounds() {
    assert_eq!(violations("flag-hpbd", CLOTH), [""; 0]);
}

#[test]
fn curtain_holds_its_bounds() {
    assert_eq!(violations("curtain", CLOTH), [""; 0]);
}

#[test]
fn dress_holds_its_bounds() {
    assert_eq!(violations("dress", CLOTH), [""; 0]);
}

#[test]
fn tear_holds_its_bounds() {
    assert_eq!(violations("tear", CLOTH), [""; 0]);
}

#[test]
fn tear_by_weight_holds_its_bounds() {
    assert_eq!(violations("tear-by-weight", CLOTH), [""; 0]);
}

#[test]
fn flesh_cube_holds_its_bounds() {
    assert_eq!(violations("flesh-cube", 0.5), [""; 0]);
}

#[test]
fn jelly_stack_holds_its_bounds() {
    assert_eq!(violations_until("jelly-stack", 0.3, 30), [""; 0]);
}

#[test]
fn spike_holds_its_bounds() {
    assert_eq!(violations_until("spike", 0.3, 12), [""; 0]);
}

#[test]
fn hippo_like_holds_its_bounds() {
    assert_eq!(violations_until("hippo-like", 0.25, 20), [""; 0]);
}

#[test]
fn elastic_box_holds_its_bounds() {
    assert_eq!(violations("elastic-box", SOLID), [""; 0]);
}

#[test]
fn armadillo_pull_holds_its_bounds() {
    // Full-size cells: at half the resolution its arms would be a cell thick.
    assert_eq!(violations_until("armadillo-pull", 1.0, 10), [""; 0]);
}

#[test]
fn soft_car_holds_its_bounds() {
    assert_eq!(violations_until("soft-car", 0.6, 25), [""; 0]);
}

#[test]
fn human_like_holds_its_bounds() {
    // Full-size cells, as its arms need, and therefore few frames.
    assert_eq!(violations_until("human-like", 0.8, 6), [""; 0]);
}

#[test]
fn face_impact_holds_its_bounds() {
    assert_eq!(violations_until("face-impact", 0.6, 8), [""; 0]);
}

#[test]
fn bits_of_every_scene_are_the_same_for_one_two_and_three_threads() {
    for (name, _, _) in builtin_scenes() {
        let mut scene = Scene::builtin(name).unwrap();
        // Those with tens of thousands of vertices need fewer.
        let many = ["stacked-cloth", "cloth-drop", "knot", "t-shirt"].contains(name);
        scene.scale_resolution(if many { 0.15 } else { SOLID }).unwrap();
        let hashes = |threads: usize| {
            let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut simulation = Simulation::new(scene.clone()).unwrap();
                let step = 1.0 / scene.time.fps;
                [(); 2].map(|()| simulation.step(step).map(|_| simulation.state_hash()).unwrap())
            })
        };
        let one = hashes(1);
        assert_eq!(one, hashes(2), "{name}");
        assert_eq!(one, hashes(3), "{name}");
    }
}

#[test]
fn no_scene_is_without_bounds_or_a_test() {
    let tested = [
        "armadillo-bowl",
        "armadillo-pull",
        "balloon",
        "bar",
        "cloth-drop",
        "cloth-on-sphere",
        "curtain",
        "demo",
        "dress",
        "elastic-box",
        "face-impact",
        "flag",
        "flag-hpbd",
        "flesh-cube",
        "hanging-cloth",
        "heterogeneous-bar",
        "hippo-like",
        "human-like",
        "jelly-stack",
        "knot",
        "octopus",
        "pachinko",
        "soft-car",
        "spike",
        "spring-octopus",
        "stacked-cloth",
        "t-shirt",
        "tear",
        "tear-by-weight",
        "twist",
    ];
    let mut names: Vec<&str> = builtin_scenes().iter().map(|(name, _, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(names, tested);
    for (name, _, text) in builtin_scenes() {
        assert!(text.contains("[expect]"), "{name}");
    }
}

#[test]
fn a_violated_bound_is_reported_with_frame_and_value() {
    let folder = tempfile::tempdir().unwrap();
    let mut scene = Scene::builtin("hanging-cloth").unwrap();
    scene.scale_resolution(0.05).unwrap();
    scene.time.frames = 3;
    scene.expect.max_stretch = Some(0.5);
    scene.expect.height = Some([100.0, 200.0]);
    let mut run = Run::new(scene, folder.path(), StartMode::Fresh, Simd::Auto).unwrap();
    let reports: Vec<_> = (0..3).map(|_| run.next_frame().unwrap()).collect();
    let found = run.scene().expect.violations(&reports);
    assert_eq!(found.len(), 2);
    assert!(found[0].contains("frame 1") && found[0].contains("above 0.5"), "{found:?}");
}
