//! Truncated steps: what is near one contact does not stop the rest, the objective falls in every iteration, and nothing crosses; by the
//! barrier and by the quadratic repulsion.

use glam::DVec3;
use supple::scene::{Body, Collider, ContactModel, FrictionModel, Pin, Scene, Selection, Truncation};
use supple::simulation::Simulation;

const STEP: f64 = 1.0 / 60.0;

/// A cloth that swings down from one edge, and far from it one that falls fast onto another, held at two edges.
fn swing_and_impact(truncation: Truncation) -> Scene {
    let cloth = |name: &str, size: f64, count: u32, at: [f64; 3]| {
        Body::cloth(name).size([size; 2]).vertices([count; 2]).at(at)
    };
    let edge = |body: &str, low: [f64; 3], high: [f64; 3]| Pin::hard(body, Selection::cuboid(low, high));
    let upper = cloth("upper", 0.3, 10, [3.0, 1.02, 0.0]).rotated([3.0, 20.0, 5.0]);
    let built = Scene::builder()
        .body(cloth("swing", 0.6, 16, [0.0, 1.0, 0.0]))
        .body(cloth("lower", 0.3, 10, [3.0, 1.0, 0.0]))
        .body(upper)
        .pin(edge("swing", [-0.31, 0.9, -0.31], [-0.29, 1.1, 0.31]))
        .pin(edge("lower", [2.84, 0.9, -0.16], [2.86, 1.1, 0.16]))
        .pin(edge("lower", [3.13, 0.9, -0.16], [3.16, 1.1, 0.16]));
    let mut scene = built.build().unwrap();
    scene.bodies[2].velocity = DVec3::new(0.0, -5.0, 0.0);
    scene.contact.truncation = truncation;
    scene
}

/// Iterations, cuts, and cuts for everything in 15 steps; in every iteration the objective must fall.
fn work(scene: Scene) -> [u32; 3] {
    let mut simulation = Simulation::new(scene).unwrap();
    simulation.record_iterations(true);
    let mut work = [0; 3];
    for _ in 0..15 {
        let report = simulation.step(STEP).unwrap();
        assert!(report.converged && report.crossings == Some(0));
        assert!(report.closest.is_none_or(|closest| closest > 0.0));
        let values: Vec<f64> = simulation.inspect().history.iter().map(|record| record.value).collect();
        for pair in values.windows(2) {
            // What the rounding of the objective's terms may hide.
            assert!(pair[1] <= pair[0] + 1e-9 * pair[0].abs(), "{values:?}");
        }
        let more = [report.nonlinear_iterations, report.cuts, report.global_cuts];
        work.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    work
}

#[test]
fn an_impact_does_not_stop_what_is_far_from_it() {
    let [global, island, vertex] = [Truncation::Global, Truncation::Island, Truncation::Vertex]
        .map(|truncation| work(swing_and_impact(truncation)));
    assert!(global[1] > 0 && global[2] == global[1], "{global:?}");
    for other in [island, vertex] {
        assert!(2 * other[2] < other[1], "most cuts leave the swinging cloth alone: {other:?}");
        assert!(10 * other[0] <= 11 * global[0], "{other:?} against {global:?}");
    }
}

#[test]
fn bits_of_truncated_steps_do_not_depend_on_the_number_of_threads() {
    for truncation in [Truncation::Vertex, Truncation::Island] {
        let hash = |threads: usize| {
            let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut simulation = Simulation::new(swing_and_impact(truncation)).unwrap();
                let cuts: u32 = (0..6).map(|_| simulation.step(STEP).unwrap().cuts).sum();
                assert!(cuts > 0);
                simulation.state_hash()
            })
        };
        assert_eq!(hash(1), hash(2), "{truncation:?}");
        assert_eq!(hash(1), hash(3), "{truncation:?}");
    }
}

/// Two cloths that fall on a ball and on each other.
fn pile(model: ContactModel, friction_model: FrictionModel) -> Scene {
    let cloth = |name: &str, y: f64, turn: f64| {
        let mut cloth = Body::cloth(name)
            .size([0.3; 2])
            .vertices([12; 2])
            .at([0.01 * y, y, 0.0])
            .rotated([0.0, turn, 0.0]);
        cloth.self_contact = Some(true);
        cloth.velocity = DVec3::new(0.0, -3.0, 0.0);
        cloth
    };
    let ball = Collider::sphere("ball", [0.0; 3], 0.1).friction(0.4);
    let mut scene = Scene::builder()
        .body(cloth("lower", 0.12, 0.0))
        .body(cloth("upper", 0.15, 30.0))
        .collider(ball)
        .build()
        .unwrap();
    scene.contact.thickness = Some(0.003);
    scene.contact.model = model;
    scene.contact.friction_model = friction_model;
    scene
}

#[test]
fn the_repulsion_holds_cloths_apart_with_every_friction_model() {
    for friction in [FrictionModel::Smooth, FrictionModel::Adhesive, FrictionModel::Impulse] {
        let mut simulation = Simulation::new(pile(ContactModel::Repulsion, friction)).unwrap();
        let mut pairs = 0;
        for _ in 0..25 {
            let report = simulation.step(STEP).unwrap();
            assert_eq!((report.crossings, report.penetration), (Some(0), 0.0), "{friction:?}");
            assert!(report.closest.is_none_or(|closest| closest > 0.0), "{friction:?}");
            pairs = report.pairs;
        }
        assert!(pairs > 0, "{friction:?}: they rest on each other");
        let inside = simulation.positions().iter().filter(|p| p.length() < 0.1).count();
        assert_eq!(inside, 0, "{friction:?}");
    }
}
