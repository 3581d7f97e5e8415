//! Contact forces against statics: they carry weights, hold on inclines, and act in both directions.

use glam::DVec3;
use supple::scene::{
    Body, Collider, Cuboid, FrictionModel, Method, Scene, SceneBuilder, ShapeSource, Solver,
};
use supple::simulation::{ContactForces, Simulation};

const GRAVITY: f64 = 9.81;
const STEP: f64 = 1.0 / 30.0;

/// A block of rubber of 20 x 10 x 20 cm whose lower side is at a height.
fn block(name: &str, height: f64) -> Body {
    let shape = ShapeSource::Box(Cuboid { size: [0.2, 0.1, 0.2], cells: None });
    Body::new(name, shape).solid(0.05).material("rubber").at([0.0, 0.05 + height, 0.0])
}

fn precise() -> Solver {
    Solver { tolerance: Some(1e-8), max_iterations: 200, ..Solver::default() }
}

fn steps(simulation: &mut Simulation, count: u32) {
    (0..count).for_each(|_| _ = simulation.step(STEP).unwrap());
}

fn total(forces: &ContactForces) -> DVec3 {
    forces.on_points.iter().sum()
}

#[test]
fn forces_on_a_body_at_rest_carry_its_weight() {
    let grounds = [
        Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]),
        Collider::cuboid("ground", [0.0, -0.5, 0.0], [2.0, 1.0, 2.0]),
        Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]).soft(1e8),
    ];
    for ground in grounds {
        let scene = Scene::builder().body(block("block", 5e-4)).collider(ground).solver(precise());
        let mut simulation = Simulation::new(scene.build().unwrap()).unwrap();
        steps(&mut simulation, 120);
        let (forces, weight) = (simulation.contact_forces().unwrap(), GRAVITY * simulation.mass());
        let carried = total(&forces);
        assert!((carried.y / weight - 1.0).abs() < 1e-3, "{carried} N, {weight} N");
        assert!(carried.x.hypot(carried.z) < 1e-3 * weight, "{carried} N, {weight} N");
        let on_ground = forces.on_colliders[0];
        assert!(on_ground.force.distance(-carried) < 1e-9 * weight, "{on_ground:?}");
        // The block stands in the middle: no torque about the origin.
        assert!(on_ground.torque.length() < 1e-3 * weight, "{on_ground:?}");
    }
}

#[test]
fn with_default_settings_forces_at_rest_are_the_weight_on_average() {
    let ground = Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]);
    let scene = Scene::builder().body(block("block", 5e-4)).collider(ground);
    let mut simulation = Simulation::new(scene.build().unwrap()).unwrap();
    steps(&mut simulation, 60);
    let mut mean = 0.0;
    for _ in 0..30 {
        simulation.step(STEP).unwrap();
        mean += total(&simulation.contact_forces().unwrap()).y / 30.0;
    }
    let weight = GRAVITY * simulation.mass();
    assert!((mean / weight - 1.0).abs() < 0.02, "{mean} N, {weight} N");
}

#[test]
fn forces_on_an_incline_hold_the_weight_and_its_slope() {
    let slope = 15.0_f64.to_radians();
    for model in [FrictionModel::Adhesive, FrictionModel::Smooth] {
        let ground = Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]).friction(0.5);
        let gravity = GRAVITY * DVec3::new(slope.sin(), -slope.cos(), 0.0);
        let scene =
            Scene::builder().body(block("block", 5e-4)).collider(ground).solver(precise()).gravity(gravity);
        let mut scene = scene.build().unwrap();
        scene.contact.friction_model = model;
        let mut simulation = Simulation::new(scene).unwrap();
        steps(&mut simulation, 120);
        let (carried, weight) = (total(&simulation.contact_forces().unwrap()), GRAVITY * simulation.mass());
        assert!(
            (carried.y / (weight * slope.cos()) - 1.0).abs() < 5e-3,
            "{model:?}: {carried} N of {weight} N"
        );
        assert!(
            (carried.x / (-weight * slope.sin()) - 1.0).abs() < 5e-3,
            "{model:?}: {carried} N of {weight} N"
        );
    }
}

#[test]
fn a_body_on_another_presses_it_with_its_weight() {
    let ground = Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]);
    let scene = Scene::builder()
        .body(block("lower", 5e-4))
        .body(block("upper", 0.1 + 1e-3))
        .collider(ground)
        .solver(precise());
    let mut simulation = Simulation::new(scene.build().unwrap()).unwrap();
    steps(&mut simulation, 150);
    let forces = simulation.contact_forces().unwrap();
    let weight = 0.5 * GRAVITY * simulation.mass();
    let [(bodies, wrench)] = forces.between_bodies[..] else { panic!("{:?}", forces.between_bodies) };
    assert_eq!(bodies, [0, 1]);
    assert!((wrench.force.y / -weight - 1.0).abs() < 1e-3, "{wrench:?}, {weight} N");
    assert!(
        (forces.on_colliders[0].force.y / (-2.0 * weight) - 1.0).abs() < 1e-3,
        "{:?}",
        forces.on_colliders
    );
    let pressure: f64 = forces.pressure.iter().copied().fold(0.0, f64::max);
    // Weight over area, more at the edges.
    assert!(pressure > weight / 0.04, "{pressure} Pa");
}

/// The forces of a position based scene over a second at rest: the means of those on all points, on each collider, and between bodies.
fn mean_forces(scene: Scene) -> (Simulation, DVec3, Vec<DVec3>, DVec3) {
    let mut simulation = Simulation::new(scene).unwrap();
    steps(&mut simulation, 45);
    let colliders = simulation.scene_state().colliders.len();
    let (mut on_points, mut on_colliders) = (DVec3::ZERO, vec![DVec3::ZERO; colliders]);
    let mut between = DVec3::ZERO;
    for _ in 0..30 {
        simulation.step(STEP).unwrap();
        let forces = simulation.contact_forces().unwrap();
        on_points += total(&forces) / 30.0;
        for (sum, wrench) in on_colliders.iter_mut().zip(&forces.on_colliders) {
            *sum += wrench.force / 30.0;
        }
        between += forces.between_bodies.iter().map(|(_, wrench)| wrench.force).sum::<DVec3>() / 30.0;
    }
    (simulation, on_points, on_colliders, between)
}

fn position_based(body: Body, ground: Collider) -> SceneBuilder {
    let solver = Solver { method: Method::HPBD, ..Solver::default() };
    Scene::builder().body(body).collider(ground).solver(solver)
}

#[test]
fn position_based_cloth_at_rest_presses_a_box_with_its_weight() {
    for vertices in [9, 25] {
        let cloth = Body::cloth("cloth").vertices([vertices; 2]).at([0.0, 0.002, 0.0]);
        let table = Collider::cuboid("table", [0.0, -0.25, 0.0], [1.5, 0.5, 1.5]);
        let scene = position_based(cloth, table).build().unwrap();
        let (simulation, carried, on_colliders, _) = mean_forces(scene);
        let weight = GRAVITY * simulation.mass();
        assert!((carried.y / weight - 1.0).abs() < 1e-3, "{carried} N, {weight} N");
        assert!(carried.x.hypot(carried.z) < 1e-3 * weight, "{carried} N, {weight} N");
        assert!(on_colliders[0].distance(-carried) < 1e-9 * weight, "{on_colliders:?}");
        let pressure = simulation.contact_forces().unwrap().pressure;
        // A square metre: the mean pressure is the weight, but vertices at edges weigh less than their springs carry.
        let mean = pressure.iter().sum::<f64>() / pressure.len() as f64;
        assert!((mean / weight - 1.0).abs() < 0.1, "{mean} Pa, {weight} N");
    }
}

#[test]
fn position_based_bodies_press_each_other_with_their_weight() {
    let sheet = |name: &str, height: f64| Body::cloth(name).vertices([13, 13]).at([0.0, height, 0.0]);
    let table = Collider::plane("table", [0.0; 3], [0.0, 1.0, 0.0]);
    let scene = position_based(sheet("lower", 0.002), table).body(sheet("upper", 0.006));
    let (simulation, _, on_colliders, between) = mean_forces(scene.build().unwrap());
    let weight = GRAVITY * simulation.mass();
    assert!((on_colliders[0].y / -weight - 1.0).abs() < 5e-3, "{on_colliders:?} N, {weight} N");
    assert!((between.y / (-0.5 * weight) - 1.0).abs() < 5e-3, "{between} N, {weight} N");
}

#[test]
fn a_position_based_solid_presses_the_ground_with_its_weight() {
    let ground = Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]);
    let (simulation, carried, on_colliders, _) =
        mean_forces(position_based(block("block", 1e-3), ground).build().unwrap());
    let weight = GRAVITY * simulation.mass();
    assert!((carried.y / weight - 1.0).abs() < 5e-3, "{carried} N, {weight} N");
    assert!(on_colliders[0].distance(-carried) < 1e-9 * weight, "{on_colliders:?}");
}
