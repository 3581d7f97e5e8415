//! Blocks on inclines and on moving plates against Coulomb's law: they hold below the angle of friction, and slide with the
//! acceleration of textbooks above it.

use glam::DVec3;
use supple::scene::{
    Body, Collider, Cuboid, FrictionModel, Keyframe, Method, Model, Motion, Scene, ShapeSource, Solver,
};
use supple::simulation::Simulation;

const GRAVITY: f64 = 9.81;
const FRICTION: f64 = 0.5;
const STEP: f64 = 0.01;

/// Solvers with default tolerance and with a small one.
fn solvers() -> [Solver; 2] {
    [Solver::default(), Solver { tolerance: Some(1e-8), max_iterations: 200, ..Solver::default() }]
}

fn plane() -> Collider {
    Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0])
}

/// A box whose top is the same plane.
fn slab() -> Collider {
    Collider::cuboid("ground", [0.0, -0.1, 0.0], [6.0, 0.2, 1.0])
}

/// A block of rubber of 10 cm on a ground, with gravity as on a slope in radians that falls along x.
fn block_on(ground: Collider, friction: f64, slope: f64, solver: Solver) -> Scene {
    let shape = ShapeSource::Box(Cuboid { size: [0.1, 0.1, 0.1], cells: None });
    let body = Body::new("block", shape).at([0.02, 0.0505, 0.013]).solid(0.05).material("rubber");
    let gravity = GRAVITY * DVec3::new(slope.sin(), -slope.cos(), 0.0);
    let built = Scene::builder().gravity(gravity).collider(ground.friction(friction)).solver(solver);
    let mut scene = built.body(Body { model: Some(Model::Corotated), ..body }).build().unwrap();
    scene.contact.friction_model = FrictionModel::Adhesive;
    scene
}

fn place(simulation: &Simulation) -> f64 {
    let positions = simulation.positions();
    positions.iter().map(|p| p.x).sum::<f64>() / positions.len() as f64
}

/// How far the block moves along x in a number of steps.
fn advance(simulation: &mut Simulation, steps: u32) -> f64 {
    let before = place(simulation);
    (0..steps).for_each(|_| _ = simulation.step(STEP).unwrap());
    place(simulation) - before
}

#[test]
fn below_the_angle_of_friction_a_block_holds_and_above_it_slides() {
    let angle = FRICTION.atan();
    for ground in [plane, slab] {
        for solver in solvers() {
            let tolerance = solver.tolerance;
            let scene = |share: f64| block_on(ground(), FRICTION, share * angle, solver.clone());
            let mut held = Simulation::new(scene(0.98)).unwrap();
            advance(&mut held, 90);
            let speed = advance(&mut held, 10) / (10.0 * STEP);
            assert!(speed.abs() < 5e-3, "{tolerance:?}: {speed} m/s");
            let creep = advance(&mut held, 50) / (50.0 * STEP);
            assert!(creep.abs() < 1e-4, "{tolerance:?}: {creep} m/s");
            let mut sliding = Simulation::new(scene(1.02)).unwrap();
            advance(&mut sliding, 90);
            let speed = advance(&mut sliding, 10) / (10.0 * STEP);
            assert!(speed > 5e-3, "{tolerance:?}: {speed} m/s");
        }
    }
}

/// The acceleration over half a second, after half a second in which it begins to slide.
fn acceleration(simulation: &mut Simulation) -> f64 {
    advance(simulation, 50);
    let [first, second] = [0; 2].map(|_| advance(simulation, 25));
    (second - first) / (25.0 * STEP).powi(2)
}

#[test]
fn a_sliding_block_accelerates_by_the_difference_of_weight_and_friction() {
    let (slope, friction) = (30f64.to_radians(), 0.3);
    let expected = GRAVITY * (slope.sin() - friction * slope.cos());
    for ground in [plane, slab] {
        for solver in solvers() {
            let tolerance = solver.tolerance;
            let mut simulation = Simulation::new(block_on(ground(), friction, slope, solver)).unwrap();
            let found = acceleration(&mut simulation);
            assert!((found / expected - 1.0).abs() < 0.01, "{tolerance:?}: {found} instead of {expected}");
        }
    }
}

/// A plate that accelerates along x from rest.
fn accelerated(plate: Collider, acceleration: f64) -> Collider {
    let frames = (0..=120).map(|k| {
        let time = f64::from(k) * STEP;
        Keyframe::at(time).translate([0.5 * acceleration * time * time, 0.0, 0.0])
    });
    plate.moving(Motion { keyframes: frames.collect(), ..Motion::default() })
}

#[test]
fn a_block_follows_an_accelerated_plate_as_far_as_friction_carries_it() {
    let limit = FRICTION * GRAVITY;
    for ground in [plane, slab] {
        for solver in solvers() {
            let tolerance = solver.tolerance;
            for share in [0.9, 1.5] {
                let plate = accelerated(ground(), share * limit);
                let mut simulation = Simulation::new(block_on(plate, FRICTION, 0.0, solver.clone())).unwrap();
                let found = acceleration(&mut simulation);
                let expected = f64::min(share, 1.0) * limit;
                assert!(
                    (found / expected - 1.0).abs() < 0.01,
                    "{share}, {tolerance:?}: {found} instead of {expected}"
                );
            }
        }
    }
}

#[test]
fn projective_dynamics_slides_as_far_as_newtons_method() {
    let slope = 30f64.to_radians();
    let slide = |method: Method, tolerance: f64| {
        let solver = Solver { method, tolerance: Some(tolerance), max_iterations: 1000, ..Solver::default() };
        let scene = block_on(plane(), 0.3, slope, solver);
        advance(&mut Simulation::new(scene).unwrap(), 60)
    };
    let expected = slide(Method::NEWTON, 1e-8);
    for tolerance in [1e-4, 1e-6] {
        let found = slide(Method::PROJECTIVE, tolerance);
        assert!((found / expected - 1.0).abs() < 0.01, "{tolerance:?}: {found} m instead of {expected} m");
    }
}
