//! The models of friction against Coulomb's law on an incline, at colliders and between surfaces.

use glam::DVec3;
use supple::material::{MaterialSpec, StretchStiffness};
use supple::scene::{
    Body, Collider, Cuboid, FrictionModel, Mode, Model, Pin, Scene, Selection, ShapeSource, Solver,
};
use supple::simulation::Simulation;

const GRAVITY: f64 = 9.81;
const DENSITY: f64 = 0.2;
const FRICTION: f64 = 0.5;
const STEP: f64 = 0.01;
const MODELS: [FrictionModel; 3] = [FrictionModel::Smooth, FrictionModel::Adhesive, FrictionModel::Impulse];

fn sheet() -> MaterialSpec {
    MaterialSpec {
        stretch_stiffness: Some(StretchStiffness::Uniform(1000.0)),
        area_density: Some(DENSITY),
        bend_stiffness: Some(1e-4),
        friction: Some(FRICTION),
        damping: Some(0.0),
        ..MaterialSpec::default()
    }
}

/// Of a soft ground, in Pa/m.
const STIFFNESS: f64 = 1e7;

/// Gravity on objects resting on the ground if the ground is tilted about z.
fn tilted(degrees: f64) -> DVec3 {
    let tilt = degrees.to_radians();
    GRAVITY * DVec3::new(tilt.sin(), -tilt.cos(), 0.0)
}

fn on_ground(body: Body, degrees: f64, model: FrictionModel) -> Simulation {
    let ground = Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]).friction(FRICTION).soft(STIFFNESS);
    let solver = Solver { tolerance: Some(1e-9), max_iterations: 200, ..Solver::default() };
    let built =
        Scene::builder().frames(1).gravity(tilted(degrees)).body(body).collider(ground).solver(solver);
    let mut scene = built.build().unwrap();
    scene.contact.friction_model = model;
    Simulation::new(scene).unwrap()
}

/// A cloth on the ground at the depth of static equilibrium, so that friction acts from the first step.
fn cloth_on_ground(degrees: f64, model: FrictionModel) -> Simulation {
    let ground = Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]);
    let pressed = ground.thickness + DENSITY * tilted(degrees).y / STIFFNESS;
    on_ground(
        Body::cloth("cloth").size([0.2, 0.2]).vertices([3, 3]).at([0.0, pressed, 0.0]).material(sheet()),
        degrees,
        model,
    )
}

fn advance(simulation: &mut Simulation, steps: u32) -> DVec3 {
    let middle = |simulation: &Simulation| {
        let positions = simulation.positions();
        positions.iter().sum::<DVec3>() / positions.len() as f64
    };
    let before = middle(simulation);
    for _ in 0..steps {
        simulation.step(STEP).unwrap();
    }
    middle(simulation) - before
}

/// The slip over `ε` at which `f'` balances the tangent `slope` below sliding.
fn holding(degrees: f64) -> f64 {
    1.0 - (1.0 - degrees.to_radians().tan() / FRICTION).sqrt()
}

#[test]
fn below_the_angle_smooth_friction_creeps_as_its_law_says_and_the_others_do_not() {
    let degrees = 20.0;
    let mut smooth = cloth_on_ground(degrees, FrictionModel::Smooth);
    advance(&mut smooth, 50);
    let creep = advance(&mut smooth, 100).x;
    let expected = 1e-3 * holding(degrees);
    assert!((creep / expected - 1.0).abs() < 0.01, "{creep} instead of {expected}");

    // It yields by a fraction of a tenth of the thickness, and then rests.
    let mut adhesive = cloth_on_ground(degrees, FrictionModel::Adhesive);
    let thickness = adhesive.scene_state().contact.thickness();
    let given = advance(&mut adhesive, 50).x;
    let expected = 0.1 * thickness * holding(degrees);
    assert!((given / expected - 1.0).abs() < 0.01, "{given} instead of {expected}");
    let creep = advance(&mut adhesive, 100).x;
    assert!(creep.abs() < 1e-4 * expected, "{creep}");

    let slip = advance(&mut cloth_on_ground(degrees, FrictionModel::Impulse), 100).x;
    assert!(slip.abs() < 1e-9, "{slip}");
}

#[test]
fn above_the_angle_all_slide_as_coulomb_says() {
    let tilt = 40f64.to_radians();
    for model in MODELS {
        let slid = advance(&mut cloth_on_ground(40.0, model), 50).x;
        // a = g (sin α - μ cos α); implicit Euler gives a h² n (n + 1) / 2.
        let acceleration = GRAVITY * (tilt.sin() - FRICTION * tilt.cos());
        let expected = acceleration * STEP * STEP * 50.0 * 51.0 / 2.0;
        assert!((slid / expected - 1.0).abs() < 2e-3, "{model:?}: {slid} instead of {expected}");
    }
}

/// A block of foam on the ground.
fn block(degrees: f64, model: FrictionModel) -> Simulation {
    let shape = ShapeSource::Box(Cuboid { size: [0.1, 0.1, 0.1], cells: None });
    let body = Body::new("block", shape).at([0.0, 0.0505, 0.0]).solid(0.05).material("foam");
    on_ground(Body { model: Some(Model::Corotated), ..body }, degrees, model)
}

#[test]
fn an_elastic_block_is_held_by_adhesion_below_the_angle_and_slides_above() {
    let mut held = block(15.0, FrictionModel::Adhesive);
    advance(&mut held, 200);
    let creep = advance(&mut held, 100).length();
    assert!(creep < 1e-7, "{creep}");
    // Once it slides, its centre accelerates like a point, apart from leaning and swaying.
    let tilt = 40f64.to_radians();
    for model in [FrictionModel::Adhesive, FrictionModel::Smooth] {
        let mut sliding = block(40.0, model);
        advance(&mut sliding, 50);
        let [first, second] = [0; 2].map(|_| advance(&mut sliding, 25).x);
        let gained = (second - first) / (25.0 * STEP * 25.0 * STEP);
        let expected = GRAVITY * (tilt.sin() - FRICTION * tilt.cos());
        assert!((gained / expected - 1.0).abs() < 0.02, "{model:?}: {gained} instead of {expected}");
    }
}

/// A cloth on another that is pinned everywhere.
fn cloth_on_cloth(degrees: f64, model: FrictionModel) -> Simulation {
    let lower = Body::cloth("lower").size([3.0, 1.0]).vertices([13, 5]).material(sheet());
    let upper =
        Body::cloth("upper").size([0.3, 0.3]).vertices([4, 4]).at([-1.0, 0.00193, 0.01]).material(sheet());
    let solver = Solver { tolerance: Some(1e-9), max_iterations: 200, ..Solver::default() };
    let built = Scene::builder().frames(1).gravity(tilted(degrees)).body(lower).body(upper).solver(solver);
    let mut scene = built.pin(Pin::hard("lower", Selection::All {})).build().unwrap();
    scene.contact.thickness = Some(0.002);
    scene.contact.friction_model = model;
    Simulation::new(scene).unwrap()
}

/// How far the upper cloth moves along the lower one.
fn slide(simulation: &mut Simulation, steps: u32) -> f64 {
    let upper = simulation.scene_state().body_ids[1];
    let middle = |simulation: &Simulation| {
        let positions = simulation.body_positions(upper).unwrap();
        positions.iter().map(|p| p.x).sum::<f64>() / positions.len() as f64
    };
    let before = middle(simulation);
    let pairs: u32 = (0..steps).map(|_| simulation.step(STEP).unwrap().pairs).sum();
    assert!(pairs > 0, "they do not touch");
    middle(simulation) - before
}

#[test]
fn surfaces_hold_each_other_below_the_angle_and_slide_above() {
    // Impulse sweeps leave a little of each step's slip: no more than a thousandth of the frictionless slip.
    let free = 0.5 * tilted(15.0).x;
    for (model, creep) in [(FrictionModel::Adhesive, 1e-7), (FrictionModel::Impulse, 1e-3 * free)] {
        let mut held = cloth_on_cloth(15.0, model);
        slide(&mut held, 200);
        let crept = slide(&mut held, 100);
        assert!(crept.abs() < creep, "{model:?}: {crept}");
    }
    let tilt = 40f64.to_radians();
    for model in MODELS {
        let mut sliding = cloth_on_cloth(40.0, model);
        slide(&mut sliding, 20);
        let [first, second] = [0; 2].map(|_| slide(&mut sliding, 20));
        let gained = (second - first) / (20.0 * STEP * 20.0 * STEP);
        let expected = GRAVITY * (tilt.sin() - FRICTION * tilt.cos());
        assert!((gained / expected - 1.0).abs() < 0.02, "{model:?}: {gained} instead of {expected}");
    }
}

/// Two cloths and a tilted ground, all of which slide on each other.
fn sliding_pile(model: FrictionModel) -> Scene {
    let cloth = |name: &str, x: f64, height: f64| {
        let cloth =
            Body::cloth(name).size([0.3, 0.3]).vertices([6, 6]).at([x, height, 0.01]).material(sheet());
        cloth.rotated([0.0, 100.0 * x, 0.0])
    };
    let ground = Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]).friction(FRICTION);
    let built = Scene::builder().gravity(tilted(25.0)).collider(ground);
    let mut scene = built.body(cloth("lower", 0.0, 0.002)).body(cloth("upper", 0.1, 0.0045)).build().unwrap();
    scene.bodies[1].velocity = DVec3::new(0.5, 0.0, 0.3);
    scene.contact.thickness = Some(0.003);
    scene.contact.friction_model = model;
    scene
}

#[test]
fn bits_are_the_same_for_any_number_of_threads_and_from_a_saved_state() {
    for model in MODELS {
        let hashes = |simulation: &mut Simulation, steps: u32| -> Vec<u64> {
            (0..steps).map(|_| simulation.step(STEP).map(|_| simulation.state_hash()).unwrap()).collect()
        };
        let with_threads = |threads: usize| {
            let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| hashes(&mut Simulation::new(sliding_pile(model)).unwrap(), 12))
        };
        let one = with_threads(1);
        assert_eq!(one, with_threads(2), "{model:?}");
        assert_eq!(one, with_threads(3), "{model:?}");
        let mut broken = Simulation::new(sliding_pile(model)).unwrap();
        hashes(&mut broken, 7);
        let mut resumed = Simulation::new(sliding_pile(model)).unwrap();
        resumed.restore(&broken.save()).unwrap();
        assert_eq!(hashes(&mut resumed, 5), one[7..], "{model:?}, resumed");
    }
}

#[test]
fn friction_between_bodies_keeps_momentum() {
    for model in MODELS {
        let mut scene = sliding_pile(model);
        scene.colliders.clear();
        scene.world.gravity = DVec3::ZERO;
        // They approach each other, so that they press.
        scene.bodies[1].velocity = DVec3::new(0.5, -0.2, 0.3);
        scene.solver.tolerance = Some(1e-9);
        let mut simulation = Simulation::new(scene).unwrap();
        let before = simulation.momentum();
        let mut pairs = 0;
        for _ in 0..20 {
            pairs += simulation.step(STEP).unwrap().pairs;
        }
        let change = simulation.momentum().distance(before);
        assert!(pairs > 0 && change < 1e-5 * before.length(), "{model:?}: {change} of {}", before.length());
    }
}

#[test]
fn models_that_a_method_does_not_have_are_refused() {
    let refused = |change: &dyn Fn(&mut Scene)| {
        let mut scene = sliding_pile(FrictionModel::Impulse);
        change(&mut scene);
        Simulation::new(scene).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let problem = refused(&|scene| scene.solver.method = supple::scene::Method::HPBD);
    assert!(problem.contains("friction_model") && problem.contains("hpbd"), "{problem}");
    let problem = refused(&|scene| scene.time.mode = Mode::Quasistatic);
    assert!(problem.contains("friction_model") && problem.contains("quasistatic"), "{problem}");
}
