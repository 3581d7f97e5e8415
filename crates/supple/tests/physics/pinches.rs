//! Cloth between colliders that close to nothing: the colliders win, or stop if the scene says so.

use glam::DVec3;
use supple::scene::{Body, Collider, Keyframe, Method, Motion, Pin, Pinch, Scene, Selection};
use supple::simulation::{Simulation, StepReport};

const STEP: f64 = 1.0 / 30.0;

fn closing(sign: f64) -> Motion {
    let keyframe = |(time, z): (f64, f64)| Keyframe {
        time,
        translate: Some(sign * z * DVec3::Z),
        ..Keyframe::default()
    };
    let keyframes = [(0.0, 0.0), (0.4, 0.06), (0.7, 0.06), (1.0, -0.2)].map(keyframe).to_vec();
    Motion { pivot: DVec3::ZERO, keyframes }
}

/// A sheet held at two corners between two boxes that close from 10 cm apart to 2 cm inside each other, and open again after 0.7 s.
fn scene(pinch: Pinch) -> Scene {
    let mut sheet = Body::cloth("sheet").size([0.4, 0.4]).vertices([13, 13]).material("cotton");
    sheet.transform.rotate = 90.0 * DVec3::X;
    let corners = [DVec3::new(-0.2, 0.2, 0.0), DVec3::new(0.2, 0.2, 0.0)];
    let held = Pin::hard("sheet", Selection::Nearest(corners.to_vec()));
    let jaw = |name: &str, sign: f64| {
        Collider::cuboid(name, [0.0, 0.0, -0.15 * sign], DVec3::splat(0.2)).moving(closing(sign))
    };
    let built =
        Scene::builder().body(sheet).pin(held).collider(jaw("left", 1.0)).collider(jaw("right", -1.0));
    let mut scene = built.build().unwrap();
    scene.contact.pinch = pinch;
    scene
}

fn run(scene: Scene, mut each: impl FnMut(&Simulation, &StepReport)) -> Simulation {
    let mut simulation = Simulation::new(scene).unwrap();
    for _ in 0..33 {
        let report = simulation.step(STEP).unwrap();
        each(&simulation, &report);
    }
    simulation
}

fn assert_colliders_win(scene: Scene) {
    let (mut pinched, mut named) = (0, 0);
    let simulation = run(scene, |simulation, report| {
        assert!(report.lag < 1e-6, "{} m late", report.lag);
        pinched += report.pinched;
        for released in simulation.released() {
            assert_eq!((&*released.body, &*released.collider), ("sheet", "right"), "the later one yields");
            named = named.max(released.vertices.len());
        }
    });
    assert!(pinched > 0 && named > 10, "{pinched} pinched, {named} named");
    // They have opened: what was released has come out.
    assert!(simulation.released().is_empty(), "{:?}", simulation.released());
    assert!(simulation.notes().is_empty(), "{:?}", simulation.notes());
}

#[test]
fn colliders_that_close_are_on_time_and_release_what_has_no_room() {
    assert_colliders_win(scene(Pinch::Release));
}

#[test]
fn colliders_that_close_win_by_position_based_dynamics_too() {
    let mut scene = scene(Pinch::Release);
    scene.solver.method = Method::HPBD;
    assert_colliders_win(scene);
}

#[test]
fn colliders_stop_short_where_the_scene_says_so() {
    let (mut latest, mut pinched) = (0.0_f64, 0);
    let simulation = run(scene(Pinch::Stop), |simulation, report| {
        latest = latest.max(report.lag);
        pinched += report.pinched;
        assert!(simulation.released().is_empty());
    });
    assert!(latest > 0.005 && pinched == 0, "{latest} m, {pinched}");
    assert!(simulation.notes().is_empty(), "{:?}", simulation.notes());
}

#[test]
fn the_collider_of_higher_priority_keeps_its_contact() {
    let mut scene = scene(Pinch::Release);
    scene.colliders[1].priority = 1;
    run(scene, |simulation, _| {
        for released in simulation.released() {
            assert_eq!(released.collider, "left");
        }
    });
}

#[test]
fn a_pinch_is_bit_identical_for_any_threads_and_after_a_restored_state() {
    for pinch in [Pinch::Release, Pinch::Stop] {
        let hash = |threads: usize| {
            let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut simulation = Simulation::new(scene(pinch)).unwrap();
                (0..16).for_each(|_| _ = simulation.step(STEP).unwrap());
                simulation.state_hash()
            })
        };
        let first = hash(1);
        assert_eq!([hash(2), hash(3)], [first; 2], "{pinch:?}");
        let mut before = Simulation::new(scene(pinch)).unwrap();
        (0..13).for_each(|_| _ = before.step(STEP).unwrap());
        let mut after = Simulation::new(scene(pinch)).unwrap();
        after.restore(&before.save()).unwrap();
        (0..3).for_each(|_| _ = after.step(STEP).unwrap());
        assert_eq!(after.state_hash(), first, "{pinch:?}");
    }
}
