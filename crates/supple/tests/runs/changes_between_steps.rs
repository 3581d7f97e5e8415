//! Changes by a program between steps: rejected if invalid in a scene file, and handles that stay valid.

use glam::DVec3;
use supple::mesh::generate::SphereShape;
use supple::mesh::geometry::Ray;
use supple::scene::{
    Bending, Body, Collider, ColliderShape, Cuboid, Keyframe, LinearKind, Method, Model, Motion, Pin,
    PinStrength, Scene, Selection, ShapeSource, Solver, World,
};
use supple::simulation::{Simulation, StepReport};

const STEP: f64 = 1.0 / 60.0;

fn cloth() -> Body {
    Body::cloth("cloth").size([1.0, 1.0]).vertices([5, 5]).at([0.0, 1.0, 0.0])
}

fn falling() -> Simulation {
    Simulation::new(Scene::builder().body(cloth()).build().unwrap()).unwrap()
}

fn run(simulation: &mut Simulation, steps: u32) -> Vec<StepReport> {
    (0..steps).map(|_| simulation.step(STEP).unwrap()).collect()
}

/// Asserts that a change is rejected with a message, and that nothing changed.
fn assert_refused<T>(change: impl FnOnce(&mut Simulation) -> Result<T, supple::Error>, words: &[&str]) {
    let mut simulation = falling();
    let (before, world) = (simulation.save(), simulation.world().clone());
    let Err(error) = change(&mut simulation) else { panic!("accepted, without {words:?}") };
    let message = error.to_string();
    words.iter().for_each(|word| assert!(message.contains(word), "`{word}` is not in: {message}"));
    assert_eq!(simulation.save(), before);
    assert_eq!(simulation.world(), &world);
    let scene_state = simulation.scene_state();
    assert_eq!((scene_state.bodies.len(), scene_state.colliders.len(), scene_state.pins.len()), (1, 0, 0));
}

#[test]
fn a_world_that_no_file_may_say_is_refused() {
    let with = |world: World, words: &[&str]| assert_refused(|s| s.set_world(world), words);
    let nan = DVec3::new(0.0, f64::NAN, 0.0);
    with(World { gravity: nan, ..World::default() }, &["the world", "`gravity` is NaN", "finite"]);
    with(World { wind: Some(nan), ..World::default() }, &["`wind` is NaN"]);
    with(World { air_density: Some(-1.0), ..World::default() }, &["`air_density` is -1", "0 or above"]);
    with(World { gust: 2.0, ..World::default() }, &["`gust` is 2", "0 to 1"]);
}

#[test]
fn colliders_that_no_file_may_say_are_refused() {
    let ball = |radius: f64| Collider::sphere("ball", [0.0; 3], radius);
    let add = |collider: Collider, words: &[&str]| assert_refused(|s| s.add_collider(collider), words);
    add(ball(0.0), &["collider `ball`", "`radius` is 0", "above 0"]);
    add(Collider { stiffness: Some(-1.0), ..ball(1.0) }, &["`stiffness` is -1"]);
    add(Collider { thickness: f64::INFINITY, ..ball(1.0) }, &["`thickness` is inf"]);
    add(ball(1.0).friction(-0.5), &["`friction` is -0.5"]);
    add(Collider::plane("", [0.0; 3], [0.0, 1.0, 0.0]), &["needs a name"]);
    add(Collider::plane("p", [0.0; 3], [0.0; 3]), &["collider `p`", "`normal` is zero"]);
    add(ball(1.0).moving(Motion::default()), &["there is no keyframe"]);
    let center = DVec3::new(f64::NAN, 0.0, 0.0);
    add(Collider::new("c", ColliderShape::Sphere { center, radius: 1.0 }), &["`center` is NaN"]);

    let mut simulation = falling();
    let id = simulation.add_collider(ball(0.1)).unwrap();
    assert!(simulation.add_collider(ball(0.2)).unwrap_err().to_string().contains("called `ball` already"));
    assert!(simulation.set_collider(id, ball(-1.0)).is_err());
    assert_eq!(simulation.collider(id), Some(&ball(0.1)));
    simulation.set_collider(id, ball(0.3)).unwrap();
    assert_eq!(simulation.collider(id), Some(&ball(0.3)));
    simulation.remove_collider(id).unwrap();
    assert!(simulation.set_collider(id, ball(0.3)).is_err() && simulation.collider(id).is_none());
}

#[test]
fn bodies_and_pins_that_no_file_may_say_are_refused() {
    let second = || Body { name: "second".into(), ..cloth() };
    let add = |body: Body, words: &[&str]| assert_refused(|s| s.add_body(&body), words);
    add(second().tuned(|m| m.density = Some(-3.0)), &["body `second`", "`density` is -3"]);
    add(second().at([0.0, f64::NAN, 0.0]), &["`translate` is NaN"]);
    add(second().material("coton"), &["did you mean `cotton`?"]);
    add(Body { tear_stretch: Some(3.0), ..second() }, &["not supported yet", "`tear_stretch`"]);
    add(Body { pressure: Some(3.0), ..second() }, &["`pressure`", "closed surface"]);
    add(Body::file("second", "nowhere.obj"), &["there is no file", "nowhere.obj"]);
    add(cloth(), &["a body called `cloth` already"]);
    let cells = Some([2, 2, 2]);
    let solid = Body::new("b", ShapeSource::Box(Cuboid { size: [1.0; 3], cells })).solid(0.5);
    add(solid, &["leave out `cells` for a solid box"]);

    let pin = |selection: Selection, hold: PinStrength, words: &[&str]| {
        assert_refused(|s| s.pin(s.body("cloth").unwrap(), &selection, hold), words);
    };
    pin(
        Selection::All {},
        PinStrength::Stiffness(-5.0),
        &["a pin on body `cloth`", "`stiffness` is -5", "above 0"],
    );
    pin(Selection::Sphere { center: DVec3::ZERO, radius: f64::NAN }, PinStrength::Hard, &["`radius` is NaN"]);
    pin(Selection::Indices(vec![99]), PinStrength::Hard, &["vertex 99"]);
    let mut simulation = falling();
    let body = simulation.body("cloth").unwrap();
    let pin = simulation.pin(body, &Selection::Indices(vec![0]), PinStrength::Hard).unwrap();
    assert!(simulation.move_pin(pin, DVec3::NAN).is_err());
}

#[test]
fn stepping_without_any_body_is_fine() {
    let mut simulation = falling();
    run(&mut simulation, 2);
    let body = simulation.body("cloth").unwrap();
    simulation.remove_body(body).unwrap();
    for report in run(&mut simulation, 3) {
        assert_eq!((report.residual, report.nonlinear_iterations, report.converged), (Some(0.0), 0, true));
        assert!(report.energy.kinetic == 0.0 && report.energy.elastic == 0.0);
    }
    assert!((simulation.time() - 5.0 * STEP).abs() < 1e-12 && simulation.positions().is_empty());
    simulation.add_body(&cloth()).unwrap();
    assert!(run(&mut simulation, 1)[0].energy.kinetic > 0.0);
}

#[test]
fn released_grabs_leave_nothing_behind_and_their_handles_stay_invalid() {
    let mut simulation = falling();
    let down = Ray { origin: [0.1, 3.0, 0.1].into(), direction: [0.0, -1.0, 0.0].into() };
    let mut released = Vec::new();
    for _ in 0..20 {
        let grab = simulation.grab(&down).unwrap();
        simulation.release(grab).unwrap();
        released.push(grab);
    }
    assert!(simulation.scene_state().grabs.is_empty());
    let held = simulation.grab(&down).unwrap();
    assert!(simulation.move_to(held, DVec3::NAN).is_err());
    for grab in released {
        assert_ne!(grab, held);
        assert!(simulation.move_to(grab, DVec3::ZERO).is_err() && simulation.release(grab).is_err());
        assert_eq!(simulation.grabbed_point(grab), None);
    }
    assert!(simulation.grabbed_point(held).unwrap().distance([0.1, 1.0, 0.1].into()) < 1e-9);
    simulation.remove_body(simulation.body("cloth").unwrap()).unwrap();
    assert!(simulation.grabbed_point(held).is_none());
}

/// A cloth that falls freely until a pin catches one corner.
fn caught(hold: PinStrength, motion: Option<Motion>) -> Simulation {
    let pin = Pin { hold, ..Pin::hard("cloth", Selection::Indices(vec![0])).during(0.1, 0.3) };
    let pin = motion.into_iter().fold(pin, Pin::following);
    Simulation::new(Scene::builder().body(cloth()).pin(pin).build().unwrap()).unwrap()
}

#[test]
fn a_pin_that_begins_later_holds_its_points_where_they_are_then() {
    let mut simulation = caught(PinStrength::Hard, None);
    run(&mut simulation, 6);
    let at_begin = simulation.positions()[0];
    // Free fall of implicit Euler after n steps: g h² n (n + 1) / 2.
    assert!((1.0 - at_begin.y - 9.81 * STEP * STEP * 21.0).abs() < 1e-9, "{at_begin}");
    run(&mut simulation, 12);
    assert_eq!(simulation.positions()[0], at_begin);
    assert!(simulation.positions()[24].y < at_begin.y - 0.1, "the rest keeps falling");
    run(&mut simulation, 2);
    assert!(simulation.positions()[0].y < at_begin.y, "it is released");
}

#[test]
fn a_soft_pin_that_begins_later_pulls_to_where_its_points_were_then() {
    let mut simulation = caught(PinStrength::Stiffness(500.0), None);
    run(&mut simulation, 6);
    let at_begin = simulation.positions()[0];
    run(&mut simulation, 12);
    let distance = simulation.positions()[0].distance(at_begin);
    // 0.15 kg of cloth on 500 N/m, with the momentum of its fall, against 0.1 m of fall until then.
    assert!(distance < 0.02, "{distance}");
}

#[test]
fn a_later_pin_is_carried_by_what_its_motion_changes_since() {
    let keyframes =
        vec![Keyframe::at(0.0).translate([5.0, 0.0, 0.0]), Keyframe::at(1.0).translate([5.0, 1.0, 2.0])];
    let mut simulation = caught(PinStrength::Hard, Some(Motion { keyframes, ..Motion::default() }));
    run(&mut simulation, 6);
    let at_begin = simulation.positions()[0];
    for step in 1..=6 {
        run(&mut simulation, 1);
        let moved = f64::from(step) * STEP * DVec3::new(0.0, 1.0, 2.0);
        assert!(simulation.positions()[0].distance(at_begin + moved) < 1e-12);
    }
}

#[test]
fn what_a_later_pin_holds_is_part_of_the_saved_state() {
    let mut unbroken = caught(PinStrength::Hard, None);
    run(&mut unbroken, 3);
    let before_it_began = unbroken.save();
    run(&mut unbroken, 7);
    let while_it_holds = unbroken.save();
    run(&mut unbroken, 5);
    for (saved, steps) in [(&while_it_holds, 5), (&before_it_began, 12)] {
        let mut resumed = caught(PinStrength::Hard, None);
        resumed.restore(saved).unwrap();
        run(&mut resumed, steps);
        assert_eq!(resumed.state_hash(), unbroken.state_hash());
        // Back in time the pin is not active, and captures its points again.
        resumed.restore(&before_it_began).unwrap();
        run(&mut resumed, 12);
        assert_eq!(resumed.state_hash(), unbroken.state_hash());
    }
    // A pin that is not in the saved state captures the current positions of its points.
    let pins = [0, 4].map(|v| Pin::hard("cloth", Selection::Indices(vec![v])).during(0.1, 0.3));
    let [one, other] = pins;
    let scene = Scene::builder().body(cloth()).pin(one).pin(other).build().unwrap();
    let mut changed = Simulation::new(scene).unwrap();
    changed.restore(&while_it_holds).unwrap();
    let (corner, held) = (changed.positions()[4], changed.positions()[0]);
    run(&mut changed, 3);
    assert_eq!((changed.positions()[4], changed.positions()[0]), (corner, held));
}

#[test]
fn a_budget_that_is_used_up_at_once_is_no_failure() {
    for nanoseconds in [0, 1, 1000, 20_000, 100_000, 300_000] {
        let mut simulation = falling();
        let report = simulation.step_within(0.01, std::time::Duration::from_nanos(nanoseconds)).unwrap();
        assert!(report.residual.is_some_and(f64::is_finite) && simulation.first_non_finite().is_none());
    }
}

/// Mass and stiffness change under a run; the multigrid keeps its levels, the direct solver has none to keep.
#[test]
fn another_material_agrees_between_solvers_and_keeps_place_and_velocity() {
    let block = |young_modulus: f64, density: f64| {
        let shape = ShapeSource::Box(Cuboid { size: [1.0, 0.4, 0.4], cells: None });
        let body = Body { model: Some(Model::NeoHookean), ..Body::new("block", shape).solid(0.1) };
        body.tuned(|m| (m.young_modulus, m.density) = (Some(young_modulus), Some(density)))
    };
    let ends = [LinearKind::Cholesky, LinearKind::Galerkin].map(|kind| {
        let solver = Solver { linear: Some(kind.into()), tolerance: Some(1e-9), ..Solver::default() };
        let left = Selection::Plane { point: DVec3::new(-0.49, 0.0, 0.0), normal: DVec3::NEG_X };
        let scene = Scene::builder().body(block(1e5, 1000.0)).pin(Pin::hard("block", left)).solver(solver);
        let mut simulation = Simulation::new(scene.build().unwrap()).unwrap();
        run(&mut simulation, 2);
        let (before, velocity) = (simulation.positions().to_vec(), simulation.momentum() / simulation.mass());
        simulation.change_body(simulation.body("block").unwrap(), &block(3e5, 500.0)).unwrap();
        assert_eq!(simulation.positions(), before);
        assert!((simulation.mass() - 500.0 * 0.16).abs() < 1e-9, "{}", simulation.mass());
        assert!((simulation.momentum() / simulation.mass()).distance(velocity) < 1e-12);
        for dt in [STEP, 0.3 * STEP, 2.0 * STEP] {
            simulation.step(dt).unwrap();
        }
        simulation.positions().to_vec()
    });
    let apart = ends[0].iter().zip(&ends[1]).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(apart < 1e-6, "{apart}");
}

#[test]
fn another_rest_shape_moves_a_cloth_that_was_at_rest() {
    let mut simulation =
        Simulation::new(Scene::builder().gravity([0.0; 3]).body(cloth()).build().unwrap()).unwrap();
    run(&mut simulation, 1);
    let before = simulation.positions().to_vec();
    let small = Body::from(Body::cloth("cloth").size([0.9, 0.9]).vertices([5, 5]));
    let shrunk = Body { rest: Some(small.shape), ..cloth() };
    simulation.change_body(simulation.body("cloth").unwrap(), &shrunk).unwrap();
    assert_eq!(simulation.positions(), before);
    run(&mut simulation, 1);
    let side = |x: &[DVec3]| x[0].distance(x[4]);
    assert!(side(simulation.positions()) < 0.999 * side(&before));
}

/// A cloth whose half from x = 0.1 m on has another stiffness, under the multigrid.
fn halves(stretch_stiffness: f64, damping: f64, size: f64) -> Scene {
    let text = format!(
        "[time]\nfps = 60\n[[body]]\nname = \"cloth\"\n\
         shape = {{ grid = {{ size = [{size}, {size}], vertices = [13, 13] }} }}\n\
         material = {{ damping = {damping} }}\n\
         [[body.region]]\nselection = {{ box = {{ min = [0.1, -1, -1], max = [1, 1, 1] }} }}\n\
         material = {{ stretch_stiffness = {stretch_stiffness} }}\n\
         [[pin]]\nbody = \"cloth\"\nselection = {{ indices = [0] }}\n\
         [[pin]]\nbody = \"cloth\"\nselection = {{ indices = [12] }}\nduring = [0.15, 9]\n\
         [solver]\nlinear = {{ kind = \"galerkin\", levels = [40, 8] }}\n"
    );
    Scene::from_toml(&text, "halves", ".").unwrap()
}

/// Solvers make mesh-dependent choices for the scene's own step, whatever the current step.
#[test]
fn a_state_restored_into_steps_of_another_length_continues_bit_identically() {
    let steps = [STEP, 0.01 * STEP, 0.02 * STEP, 3.0 * STEP, 4.0 * STEP, 0.05 * STEP];
    let mut unbroken = Simulation::new(halves(5000.0, 0.02, 1.0)).unwrap();
    let mut saved = Vec::new();
    for dt in steps {
        unbroken.step(dt).unwrap();
        saved.push(unbroken.save());
    }
    for (done, state) in (1..).zip(&saved) {
        let mut resumed = Simulation::new(halves(5000.0, 0.02, 1.0)).unwrap();
        resumed.restore(state).unwrap();
        for &dt in &steps[done..] {
            resumed.step(dt).unwrap();
        }
        assert_eq!(resumed.state_hash(), unbroken.state_hash(), "{done}");
    }
}

/// The levels are kept when a material changes; so are those of a simulation in which it was changed before its first step.
#[test]
fn a_state_restored_after_a_body_was_changed_continues_bit_identically() {
    let fresh = || Simulation::new(halves(5000.0, 0.0, 1.0)).unwrap();
    let change = |simulation: &mut Simulation, scene: &Scene| {
        let body = simulation.body("cloth").unwrap();
        simulation.change_body(body, &scene.bodies[0]).unwrap();
    };
    let (softer, smaller) = (halves(2.0, 0.01, 1.0), halves(900.0, 0.0, 0.95));
    let mut unbroken = fresh();
    run(&mut unbroken, 3);
    change(&mut unbroken, &softer);
    run(&mut unbroken, 3);
    let softened = unbroken.save();
    run(&mut unbroken, 1);
    change(&mut unbroken, &smaller);
    run(&mut unbroken, 1);
    let shrunk = unbroken.save();
    // The second pin becomes active during the run: the method is selected again.
    run(&mut unbroken, 5);
    let mut resumed = fresh();
    change(&mut resumed, &softer);
    resumed.restore(&softened).unwrap();
    run(&mut resumed, 1);
    change(&mut resumed, &smaller);
    run(&mut resumed, 6);
    assert_eq!(resumed.state_hash(), unbroken.state_hash());
    let mut resumed = fresh();
    change(&mut resumed, &softer);
    change(&mut resumed, &smaller);
    resumed.restore(&shrunk).unwrap();
    run(&mut resumed, 5);
    assert_eq!(resumed.state_hash(), unbroken.state_hash());
}

/// Anything invalid in a scene file under projective dynamics is rejected between steps, too.
#[test]
fn bodies_that_projective_dynamics_cannot_take_are_refused() {
    let springs =
        |shape: ShapeSource| Body { bending: Some(Bending::Quadratic), ..Body::new("cloth", shape) };
    let flat = springs(cloth().shape.source);
    let ball = ShapeSource::Sphere(SphereShape { radius: 0.5, cells: 4 });
    let projective = Solver { method: Method::PROJECTIVE, ..Solver::default() };
    let scene = |body: Body| Scene::builder().body(body).solver(projective.clone());
    let mut simulation = Simulation::new(scene(flat.clone()).build().unwrap()).unwrap();
    run(&mut simulation, 1);
    let error = Simulation::new(scene(springs(ball.clone())).build().unwrap()).err().unwrap().to_string();
    assert!(error.contains("curved at rest"), "{error}");
    let error = simulation.add_body(&Body { name: "ball".into(), ..springs(ball) }).unwrap_err().to_string();
    assert!(error.contains("curved at rest") && error.contains("`ball`"), "{error}");
    let stretchy = Body { model: Some(Model::Stvk), ..flat };
    let body = simulation.body("cloth").unwrap();
    let error = simulation.change_body(body, &stretchy).unwrap_err().to_string();
    assert!(error.contains("`model`"), "{error}");
    run(&mut simulation, 1);
}

#[test]
fn a_body_cannot_become_another_one() {
    let other = Body::cloth("cloth").size([1.0, 1.0]).vertices([4, 5]).into();
    assert_refused(|s| s.change_body(s.body("cloth").unwrap(), &other), &["`cloth`", "other elements"]);
    let renamed = Body { name: "flag".into(), ..cloth() };
    assert_refused(|s| s.change_body(s.body("cloth").unwrap(), &renamed), &["another name"]);
}
