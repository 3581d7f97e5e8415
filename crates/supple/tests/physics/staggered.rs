//! Staggered multigrid against the theory of elasticity, against Newton's method on tetrahedra, and in contact.

use std::time::Duration;

use glam::DVec3;
use supple::material::MaterialSpec;
use supple::mesh::geometry::Ray;
use supple::scene::{
    Body, Collider, Cuboid, FrictionModel, Keyframe, Method, Mode, Model, Motion, Pin, Scene, Selection,
    Shape, ShapeSource, World,
};
use supple::simulation::Simulation;
use supple::solvers::staggered;

use crate::bars::end_displacement;

fn material(young_modulus: f64, poisson_ratio: f64, damping: f64) -> MaterialSpec {
    MaterialSpec {
        young_modulus: Some(young_modulus),
        poisson_ratio: Some(poisson_ratio),
        density: Some(1000.0),
        damping: Some(damping),
        ..MaterialSpec::default()
    }
}

/// A box from x = 0 to its length.
fn bar(size: [f64; 3], cell: f64, material: MaterialSpec) -> Body {
    let shape = Shape::new(ShapeSource::Box(Cuboid { size, cells: None }));
    let body = Body { cell: Some(cell), model: Some(Model::Linear), ..Body::new("bar", shape) };
    body.at([0.5 * size[0], 0.0, 0.0]).material(material)
}

fn clamp() -> Pin {
    Pin::hard("bar", Selection::Plane { point: DVec3::new(1e-6, 0.0, 0.0), normal: -DVec3::X })
}

fn scene_of(body: Body, pins: Vec<Pin>) -> Scene {
    let mut scene = Scene::builder().body(body).build().unwrap();
    scene.pins = pins;
    scene.solver.method = Method::STAGGERED;
    scene.solver.tolerance = Some(1e-6);
    scene
}

/// At rest under `gravity`, clamped at x = 0.
fn at_rest(body: Body, gravity: DVec3, method: Method) -> Simulation {
    let mut scene = scene_of(body, vec![clamp()]);
    scene.time.mode = Mode::Quasistatic;
    scene.world = World { gravity, ..World::default() };
    scene.solver.method = method;
    let mut simulation = Simulation::new(scene).unwrap();
    let report = simulation.step(1.0 / 30.0).unwrap();
    assert!(report.converged, "{:?}", simulation.inspect().residuals);
    simulation
}

#[test]
fn a_tiny_budget_ends_a_step_early_and_is_reported() {
    let falling = || {
        let mut scene = scene_of(bar([1.0, 0.2, 0.2], 0.05, material(1e5, 0.45, 0.0)), vec![clamp()]);
        scene.solver.tolerance = Some(1e-9);
        Simulation::new(scene).unwrap()
    };
    let mut whole = falling();
    let unlimited = whole.step(0.02).unwrap();
    assert!(unlimited.converged && unlimited.linear_iterations > 1, "{unlimited:?}");
    let mut cut = falling();
    let report = cut.step_within(0.02, Duration::from_nanos(1)).unwrap();
    assert!(!report.converged && report.residual.is_some_and(|residual| residual > 1e-9), "{report:?}");
    assert_eq!((report.nonlinear_iterations, report.linear_iterations), (1, 1));
    let fall = |simulation: &Simulation| {
        end_displacement(simulation, 1.0).z.min(end_displacement(simulation, 1.0).y)
    };
    assert!(fall(&cut) < 0.2 * fall(&whole), "{} {}", fall(&cut), fall(&whole));
    assert!(cut.step_within(0.02, Duration::from_secs(100)).unwrap().converged);
}

#[test]
fn a_hanging_bar_is_stretched_as_theory_says() {
    // u = rho g L^2 / (2 E); almost without lateral contraction the clamp changes nothing.
    let (young_modulus, gravity) = (1e6, 2.0);
    let theory = 1000.0 * gravity / (2.0 * young_modulus);
    let body = bar([1.0, 0.4, 0.4], 0.05, material(young_modulus, 0.001, 0.0));
    let measured = end_displacement(&at_rest(body, gravity * DVec3::X, Method::STAGGERED), 1.0).x;
    // The traction condition is of first order: it is half a cell of twenty off.
    assert!((measured / theory - 1.0).abs() < 0.06, "{measured} {theory}");
}

#[test]
fn a_sagging_box_rests_where_newtons_method_has_it() {
    for ratio in [0.3, 0.45] {
        let body = || bar([1.0, 0.5, 0.5], 0.0625, material(1e6, ratio, 0.0));
        let sag = |method| -end_displacement(&at_rest(body(), 2.0 * DVec3::NEG_Y, method), 1.0).y;
        let (here, tetrahedra) = (sag(Method::STAGGERED), sag(Method::NEWTON));
        // Eight cells across: tetrahedra are too stiff, free faces of the lattice half a cell too soft.
        assert!((here / tetrahedra - 1.0).abs() < 0.25, "{ratio}: {here} {tetrahedra}");
    }
}

#[test]
fn what_falls_freely_falls_as_backward_euler_does_and_keeps_its_shape() {
    let mut scene = scene_of(bar([0.4, 0.4, 0.4], 0.1, material(1e5, 0.45, 0.01)), Vec::new());
    scene.bodies[0].velocity = DVec3::new(1.0, 2.0, -0.5);
    scene.world = World { gravity: 9.81 * DVec3::NEG_Y, ..World::default() };
    scene.solver.tolerance = Some(1e-9);
    let mut simulation = Simulation::new(scene).unwrap();
    let start = simulation.positions().to_vec();
    let (dt, steps) = (1.0 / 60.0, 12u32);
    for _ in 0..steps {
        simulation.step(dt).unwrap();
    }
    let n = f64::from(steps);
    let flown = n * dt * DVec3::new(1.0, 2.0, -0.5) - 0.5 * n * (n + 1.0) * dt * dt * 9.81 * DVec3::Y;
    for (before, after) in start.iter().zip(simulation.positions()) {
        assert!((*after - *before - flown).length() < 1e-6, "{after} {before} {flown}");
    }
}

/// A body without weight whose clamp follows keyframes, quasi-statically.
fn driven(body: Body, keyframes: [Keyframe; 2]) -> Simulation {
    let mut scene = scene_of(body, Vec::new());
    scene.pins = vec![clamp().following(Motion { keyframes: keyframes.to_vec(), ..Motion::default() })];
    scene.time.mode = Mode::Quasistatic;
    scene.world = World { gravity: DVec3::ZERO, ..World::default() };
    Simulation::new(scene).unwrap()
}

#[test]
fn kinematic_cells_carry_a_body_along() {
    let way = [Keyframe::at(0.0).translate([0.0; 3]), Keyframe::at(1.0).translate([0.0, 0.3, 0.1])];
    let mut simulation = driven(bar([0.4, 0.2, 0.2], 0.05, material(1e6, 0.49, 0.0)), way);
    let start = simulation.positions().to_vec();
    simulation.step(0.5).unwrap();
    // A translation gives no stress: the whole body follows.
    for (before, after) in start.iter().zip(simulation.positions()) {
        assert!((*after - *before - DVec3::new(0.0, 0.15, 0.05)).length() < 1e-5, "{before} {after}");
    }
}

/// A body that is rotated far relative to its lattice, at Poisson's ratio 0.49: without stress it keeps its shape.
#[test]
fn a_co_rotational_body_turned_by_a_quarter_keeps_its_shape() {
    let mut body = bar([0.4, 0.2, 0.2], 0.05, material(1e6, 0.49, 0.0));
    body.model = Some(Model::Corotated);
    let turn = [Keyframe::at(0.0).rotate([0.0; 3]), Keyframe::at(1.0).rotate([0.0, 0.0, 90.0])];
    let mut simulation = driven(body, turn);
    let start = simulation.positions().to_vec();
    for _ in 0..4 {
        let report = simulation.step(0.25).unwrap();
        assert!(report.converged, "{:?}", simulation.inspect().residuals);
    }
    for (before, after) in start.iter().zip(simulation.positions()) {
        let turned = DVec3::new(-before.y, before.x, before.z);
        assert!((*after - turned).length() < 1e-4, "{before} {after}");
    }
}

/// A body that is turned upside down keeps its shape, and its steps converge as if it had not been rotated.
#[test]
fn a_body_that_turns_takes_its_frame_along() {
    let mut body = bar([0.4, 0.2, 0.2], 0.05, material(1e6, 0.49, 0.0));
    body.model = Some(Model::Corotated);
    let turn = [Keyframe::at(0.0).rotate([0.0; 3]), Keyframe::at(1.0).rotate([0.0, 0.0, 180.0])];
    let mut simulation = driven(body, turn);
    let start = simulation.positions().to_vec();
    let mut iterations = Vec::new();
    for _ in 0..12 {
        let report = simulation.step(1.0 / 12.0).unwrap();
        assert!(report.converged, "{:?}", simulation.inspect().residuals);
        iterations.push(report.linear_iterations);
    }
    for (before, after) in start.iter().zip(simulation.positions()) {
        let turned = DVec3::new(-before.x, -before.y, before.z);
        assert!((*after - turned).length() < 1e-4, "{before} {after}");
    }
    // Steps of 15 degrees: the last ones, upside down, are no harder than the first ones, in which the frame did not rotate.
    assert!(iterations[11] <= iterations[1] + 2, "{iterations:?}");
}

/// A lattice is softer than tetrahedra, at large bending about as much as for small loads, and the less the finer both are: from 4 to 6 cells
/// across, the difference nearly halves.
#[test]
fn a_far_bent_bar_rests_where_newtons_method_has_it() {
    let tip = |cell, method, model, gravity: f64| {
        let mut body = bar([1.2, 0.3, 0.3], cell, material(1e5, 0.45, 0.0));
        body.model = Some(model);
        end_displacement(&at_rest(body, gravity * DVec3::NEG_Y, method), 1.2)
    };
    let softer = |cell, gravity, model| {
        tip(cell, Method::STAGGERED, model, gravity).y / tip(cell, Method::NEWTON, model, gravity).y - 1.0
    };
    let [coarse, fine] =
        [0.075, 0.05].map(|cell| [softer(cell, 0.02, Model::Linear), softer(cell, 1.5, Model::Corotated)]);
    for (coarse, fine) in coarse.into_iter().zip(fine) {
        assert!(fine > 0.0 && fine < 0.6 * coarse, "{coarse} {fine}");
    }
    assert!((fine[1] - fine[0]).abs() < 0.03, "{fine:?}");
    // It bends instead of growing: a bar that sinks by a third of its length comes nearer to the wall.
    let here = tip(0.05, Method::STAGGERED, Model::Corotated, 1.5);
    assert!(here.y < -0.3 && here.x < -0.05, "{here}");
}

#[test]
fn a_nearly_incompressible_body_rests_on_a_plane() {
    let cell = 0.05;
    let body = bar([0.3, 0.3, 0.3], cell, material(1e5, 0.49, 0.02)).at([0.0, 0.17, 0.0]);
    let mut scene = scene_of(body, Vec::new());
    scene.solver.tolerance = Some(1e-4);
    scene.colliders.push(Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]));
    let mut simulation = Simulation::new(scene).unwrap();
    for _ in 0..90 {
        simulation.step(1.0 / 60.0).unwrap();
    }
    let lowest = simulation.positions().iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
    assert!(lowest > -0.1 * cell && lowest < 0.1 * cell, "{lowest}");
    assert!(simulation.momentum().length() < 0.02 * simulation.mass(), "{}", simulation.momentum());
}

#[test]
fn a_dragged_point_follows_its_target() {
    let body = bar([0.4, 0.4, 0.4], 0.05, material(2e4, 0.45, 0.05));
    let mut scene = scene_of(body, vec![clamp()]);
    scene.world = World { gravity: DVec3::ZERO, ..World::default() };
    scene.solver.tolerance = Some(1e-4);
    let mut simulation = Simulation::new(scene).unwrap();
    let ray = Ray { origin: DVec3::new(2.0, 0.02, 0.03), direction: -DVec3::X };
    let grab = simulation.grab(&ray).unwrap();
    let target = simulation.grabbed_point(grab).unwrap() + DVec3::new(0.02, 0.05, 0.0);
    simulation.move_to(grab, target).unwrap();
    for _ in 0..40 {
        simulation.step(1.0 / 60.0).unwrap();
    }
    let off = simulation.grabbed_point(grab).unwrap().distance(target);
    assert!(off < 0.01 * 0.4, "{off}");
}

#[test]
fn what_lattices_cannot_do_is_refused_with_the_reason() {
    let mut scene = scene_of(bar([0.4, 0.4, 0.4], 0.1, material(1e5, 0.3, 0.0)), Vec::new());
    scene.bodies[0].model = Some(Model::NeoHookean);
    let problem = Simulation::new(scene).err().unwrap().to_string();
    assert!(problem.contains("neo-hookean") && problem.contains("staggered"), "{problem}");
    let mut scene = scene_of(bar([0.4, 0.4, 0.4], 0.1, material(1e5, 0.3, 0.0)), Vec::new());
    scene.solver.options.get_mut::<staggered::StaggeredOptions>().cell = Some(-1.0);
    let problem = Simulation::new(scene).err().unwrap().to_string();
    assert!(problem.contains("staggered.cell"), "{problem}");
}

/// A block of jelly of 20 cm whose lower side is at a height.
fn jelly(name: &str, height: f64) -> Body {
    let shape = Shape::new(ShapeSource::Box(Cuboid { size: [0.2; 3], cells: None }));
    let body = Body { cell: Some(0.05), model: Some(Model::Corotated), ..Body::new(name, shape) };
    body.at([0.0, 0.1 + height, 0.0]).material(material(2e4, 0.45, 0.005))
}

#[test]
fn a_table_carries_the_weight_of_what_rests_on_it() {
    let table = Collider::cuboid("table", [0.0, -0.025, 0.0], [1.0, 0.05, 1.0]);
    let mut scene = Scene::builder().body(jelly("jelly", 5e-4)).collider(table).build().unwrap();
    scene.solver.method = Method::STAGGERED;
    scene.solver.tolerance = Some(1e-8);
    let mut simulation = Simulation::new(scene).unwrap();
    for _ in 0..80 {
        simulation.step(1.0 / 30.0).unwrap();
    }
    let (forces, weight) = (simulation.contact_forces().unwrap(), 9.81 * simulation.mass());
    let carried: DVec3 = forces.on_points.iter().sum();
    assert!(carried.distance(weight * DVec3::Y) < 1e-3 * weight, "{carried} N, {weight} N");
    assert!(forces.on_colliders[0].force.distance(-carried) < 1e-9 * weight);
    let lowest = simulation.positions().iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
    assert!(lowest > 0.0 && lowest < 1e-3, "{lowest}");
}

/// What falls on a table jumps back, to less than where it came from, and in one piece.
#[test]
fn a_jelly_bounces_off_a_table() {
    let table = Collider::cuboid("table", [0.0, -0.025, 0.0], [1.0, 0.05, 1.0]);
    let body = jelly("jelly", 0.01).moving(-2.0 * DVec3::Y);
    let mut scene = Scene::builder().body(body).collider(table).build().unwrap();
    scene.solver.method = Method::STAGGERED;
    let mut simulation = Simulation::new(scene).unwrap();
    let mut fastest = f64::NEG_INFINITY;
    for _ in 0..30 {
        simulation.step(1.0 / 120.0).unwrap();
        fastest = fastest.max(simulation.momentum().y / simulation.mass());
    }
    assert!(fastest > 0.2 && fastest < 2.0, "{fastest} m/s");
}

#[test]
fn bodies_that_collide_exchange_momentum() {
    let mut scene = Scene::builder()
        .body(jelly("left", 0.0).moving(DVec3::Y))
        .body(jelly("right", 0.21).moving(-0.5 * DVec3::Y))
        .build()
        .unwrap();
    scene.solver.method = Method::STAGGERED;
    scene.solver.tolerance = Some(1e-6);
    scene.world = World { gravity: DVec3::ZERO, ..World::default() };
    let mut simulation = Simulation::new(scene).unwrap();
    let (before, mass) = (simulation.momentum(), simulation.mass());
    for _ in 0..8 {
        simulation.step(1.0 / 60.0).unwrap();
    }
    // The sum stays, and neither has passed the other.
    assert!(simulation.momentum().distance(before) < 5e-2 * mass, "{} {before}", simulation.momentum());
    let count = simulation.scene_state().bodies[0].surface_start.len();
    let (left, right) = simulation.positions().split_at(count);
    let top = left.iter().map(|p| p.y).fold(f64::NEG_INFINITY, f64::max);
    let bottom = right.iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
    assert!(top < bottom, "{top} {bottom}");
}

#[test]
fn a_step_in_contact_continues_bit_identically_after_a_restore() {
    let way = [Keyframe::at(0.0).translate([0.0; 3]), Keyframe::at(0.2).translate([0.0, 0.4, 0.0])];
    let paddle = Collider::cuboid("paddle", [0.03, -0.03, 0.0], [0.1, 0.02, 0.1])
        .moving(Motion { keyframes: way.to_vec(), ..Motion::default() });
    let mut scene = Scene::builder().body(jelly("jelly", 0.0)).collider(paddle).build().unwrap();
    scene.solver.method = Method::STAGGERED;
    scene.contact.friction_model = FrictionModel::Adhesive;
    let mut simulation = Simulation::new(scene.clone()).unwrap();
    for _ in 0..3 {
        simulation.step(1.0 / 30.0).unwrap();
    }
    let mut resumed = Simulation::new(scene).unwrap();
    resumed.restore(&simulation.save()).unwrap();
    for _ in 0..2 {
        simulation.step(1.0 / 30.0).unwrap();
        resumed.step(1.0 / 30.0).unwrap();
    }
    assert_eq!(simulation.positions(), resumed.positions());
}
