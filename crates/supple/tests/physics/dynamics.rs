//! Invariants of motion: momentum, energy that never grows, recovery from any deformation.

use glam::DVec3;
use supple::linear::{BlockJacobi, ConjugateGradient, Preconditioner, StopRule};
use supple::material::MaterialSpec;
use supple::mesh::TetMesh;
use supple::scene::{
    Body, Collider, Cuboid, Follow, Keyframe, Method, Mode, Model, Motion, Pin, PinStrength, Scene,
    Selection, Shape, ShapeSource, Solver, World,
};
use supple::simulation::Simulation;

const SOLIDS: [Model; 4] = [Model::NeoHookean, Model::Arap, Model::Corotated, Model::Spring];

fn block(model: Model, young_modulus: f64) -> Body {
    let shape = Shape::new(ShapeSource::Box(Cuboid { size: [0.4, 0.2, 0.2], cells: None }));
    let material = MaterialSpec {
        young_modulus: Some(young_modulus),
        poisson_ratio: Some(0.3),
        density: Some(1000.0),
        damping: Some(0.0),
        ..MaterialSpec::default()
    };
    Body { cell: Some(0.1), model: Some(model), ..Body::new("block", shape) }.material(material)
}

fn scene(body: Body, pins: Vec<Pin>) -> Scene {
    let solver = Solver { tolerance: Some(1e-9), max_iterations: 200, ..Solver::default() };
    let mut scene = pins.into_iter().fold(Scene::builder().body(body), |scene, pin| scene.pin(pin));
    scene = scene.solver(solver);
    let mut scene = scene.build().unwrap();
    scene.world = World { gravity: DVec3::ZERO, ..World::default() };
    scene
}

fn everything() -> Selection {
    Selection::Plane { point: DVec3::splat(-10.0), normal: DVec3::ONE }
}

/// A block rotated by 90 degrees in the first half second and then released, with the given step.
fn thrown(model: Model, step: f64) -> Simulation {
    let turn = Motion {
        pivot: DVec3::ZERO,
        keyframes: vec![
            Keyframe::at(0.0).rotate(DVec3::ZERO).translate(DVec3::ZERO),
            Keyframe::at(0.5).rotate([0.0, 0.0, 90.0]).translate([0.5, 0.0, 0.0]),
        ],
    };
    let mut hold = Pin::hard("block", everything());
    hold.follows = Some(Follow::Keyframes(turn));
    hold.during = Some([0.0, 0.5]);
    let mut simulation = Simulation::new(scene(block(model, 1e6), vec![hold])).unwrap();
    while simulation.time() < 0.5 - 1e-9 {
        simulation.step(step).unwrap();
    }
    simulation
}

#[test]
fn a_thrown_block_keeps_its_momentum_for_a_thousand_steps() {
    for model in SOLIDS {
        let mut block = thrown(model, 0.01);
        block.step(0.01).unwrap();
        let before = block.momentum();
        for _ in 0..1000 {
            block.step(0.01).unwrap();
        }
        let lost = (block.momentum() - before).length() / before.length();
        assert!(lost < 1e-8, "{model:?}: {lost}");
    }
}

#[test]
fn angular_momentum_is_kept_to_the_integrators_order() {
    let lost = |step: f64| {
        let mut block = thrown(Model::NeoHookean, step);
        block.step(step).unwrap();
        let before = block.angular_momentum().length();
        let until = block.time() + 0.2;
        while block.time() < until - 1e-9 {
            block.step(step).unwrap();
        }
        1.0 - block.angular_momentum().length() / before
    };
    let losses = [0.01, 0.005, 0.0025].map(lost);
    // First order: half the step, half the loss.
    assert!(losses[0] > 0.0 && losses[0] < 0.2, "{losses:?}");
    for pair in losses.windows(2) {
        assert!((1.6..2.6).contains(&(pair[0] / pair[1])), "{losses:?}");
    }
}

#[test]
fn a_turning_block_stays_nearly_unstressed_and_energy_never_grows() {
    for model in SOLIDS {
        let mut block = thrown(model, 0.01);
        let mut last = f64::INFINITY;
        for _ in 0..1000 {
            let energy = block.step(0.01).unwrap().energy;
            let total = energy.kinetic + energy.elastic;
            assert!(total <= last * (1.0 + 1e-9), "{model:?}: {total} after {last}");
            // The energy stored by the centrifugal force is of the order of (ρ ω² L²)² / E, tiny relative to the motion.
            assert!(energy.elastic < 0.05 * total, "{model:?}: {energy:?}");
            last = total;
        }
    }
}

/// A block whose every vertex is moved to `shape` of its position and pinned there until it has no velocity, then dropped
/// 0.2 m to the ground.
fn dropped(model: Model, shape: impl Fn(DVec3) -> DVec3) -> Simulation {
    let mut scene = scene(block(model, 1e5), Vec::new());
    scene.world.gravity = DVec3::new(0.0, -9.81, 0.0);
    scene.colliders.push(Collider::plane("ground", [0.0, -0.3, 0.0], [0.0, 1.0, 0.0]));
    let mut simulation = Simulation::new(scene).unwrap();
    let body = simulation.body("block").unwrap();
    let start = simulation.scene_state().bodies[0].start.clone();
    let mut pins = Vec::new();
    for x in start {
        let pin = simulation.pin(body, &Selection::nearest([x]), PinStrength::Hard).unwrap();
        simulation.move_pin(pin, shape(x) - x).unwrap();
        pins.push(pin);
    }
    simulation.step(0.01).unwrap();
    simulation.step(0.01).unwrap();
    pins.into_iter().for_each(|pin| simulation.unpin(pin).unwrap());
    simulation
}

#[test]
fn a_block_dropped_flat_or_inside_out_recovers() {
    for model in [Model::NeoHookean, Model::Arap] {
        let flat = |x: DVec3| DVec3::new(x.x, 0.0, x.z);
        let mirrored = |x: DVec3| DVec3::new(x.x, -x.y, x.z);
        for (name, mut block) in [("flat", dropped(model, flat)), ("inside out", dropped(model, mirrored))] {
            for _ in 0..300 {
                block.step(0.01).unwrap();
            }
            let ratio = block.min_volume_ratio().unwrap();
            assert!(block.first_non_finite().is_none());
            assert!((0.9..1.1).contains(&ratio), "{model:?}, {name}: smallest volume ratio {ratio}");
        }
    }
}

/// The built-in `twist` with large cells, its end rotated to these angles (degrees) at these times (s).
fn twisted(model: Model, turns: &[(f64, f64)]) -> Simulation {
    let mut scene = Scene::builtin("twist").unwrap();
    scene.bodies[0].model = Some(model);
    scene.bodies[0].cell = Some(0.25);
    let keyframe = |&(time, angle): &(f64, f64)| Keyframe::at(time).rotate([angle, 0.0, 0.0]);
    let motion = Motion { pivot: DVec3::ZERO, keyframes: turns.iter().map(keyframe).collect() };
    scene.pins[1].follows = Some(Follow::Keyframes(motion));
    Simulation::new(scene).unwrap()
}

#[test]
fn a_bar_twisted_two_turns_and_back_is_straight_again() {
    let mut bar = twisted(Model::NeoHookean, &[(0.0, 0.0), (2.0, 720.0), (4.0, 0.0), (5.0, 0.0)]);
    let start = bar.positions().to_vec();
    while bar.time() < 5.0 - 1e-9 {
        bar.step(1.0 / 60.0).unwrap();
        assert!(bar.min_volume_ratio().unwrap() > 0.0, "at {} s", bar.time());
    }
    let off = start.iter().zip(bar.positions()).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    // It still swings a little; one turn too few or too many would be a metre.
    assert!(off < 0.05, "{off} m from where it started");
}

/// Without a volume term, elements on the axis invert in between; they must recover.
#[test]
fn a_bar_without_a_cost_of_volume_survives_two_turns() {
    let mut bar = twisted(Model::Arap, &[(0.0, 0.0), (2.0, 720.0), (3.0, 720.0)]);
    while bar.time() < 3.0 - 1e-9 {
        bar.step(1.0 / 60.0).unwrap();
        assert!(bar.first_non_finite().is_none());
    }
    assert!(bar.min_volume_ratio().unwrap() > 0.3, "{:?}", bar.min_volume_ratio());
}

#[test]
fn a_block_that_falls_on_the_ground_never_has_more_energy_than_it_began_with() {
    for friction in [0.0, 0.8] {
        let mut scene = scene(block(Model::NeoHookean, 1e5).at([0.0, 0.6, 0.0]), Vec::new());
        scene.world.gravity = DVec3::new(0.0, -9.81, 0.0);
        scene.bodies[0].velocity = DVec3::new(1.0, 0.0, 0.3);
        let ground = Collider::plane("ground", [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]).friction(friction);
        scene.colliders.push(ground);
        let mut block = Simulation::new(scene).unwrap();
        let speed_squared = 1.0 + 0.09;
        let begin = block.mass() * (9.81 * 0.6 + 0.5 * speed_squared);
        for _ in 0..1000 {
            let energy = block.step(0.01).unwrap().energy;
            let total = energy.kinetic + energy.elastic + energy.potential;
            assert!(total <= begin * (1.0 + 1e-9), "friction {friction}: {total} of {begin}");
        }
    }
}

#[test]
fn a_preconditioner_that_is_kept_for_several_iterations_leads_to_the_same_motion() {
    let moved = |refresh: Option<u32>| {
        let mut scene = scene(block(Model::NeoHookean, 1e4), vec![Pin::hard("block", everything_left())]);
        scene.world.gravity = DVec3::new(0.0, -9.81, 0.0);
        scene.solver.refresh = refresh;
        let mut simulation = Simulation::new(scene).unwrap();
        let mut linear = 0;
        for _ in 0..10 {
            let report = simulation.step(0.02).unwrap();
            assert!(report.converged, "{report:?}");
            linear += report.linear_iterations;
        }
        (simulation.positions().to_vec(), linear)
    };
    let ((fresh, few), (kept, more)) = (moved(None), moved(Some(5)));
    let apart = fresh.iter().zip(&kept).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(apart < 1e-7, "{apart}");
    // A factor of the current matrix solves it in one iteration; an older one takes some iterations, but not many.
    assert!(more > few && more < 40 * few, "{few} {more}");
}

#[test]
fn a_step_that_is_solved_to_a_velocity_is_about_that_near_to_the_exact_one() {
    const SPEED: f64 = 0.01;
    let step = |velocity_tolerance: Option<f64>| {
        let mut scene = scene(block(Model::NeoHookean, 1e4), vec![Pin::hard("block", everything_left())]);
        scene.world.gravity = DVec3::new(0.0, -9.81, 0.0);
        scene.solver.velocity_tolerance = velocity_tolerance;
        scene.solver.tolerance = velocity_tolerance.is_none().then_some(1e-8);
        let mut simulation = Simulation::new(scene).unwrap();
        let report = simulation.step(0.05).unwrap();
        assert!(report.converged, "{report:?}");
        (simulation.positions().to_vec(), report.nonlinear_iterations, report.residual.unwrap())
    };
    let ((exact, many, small), (settled, few, larger)) = (step(None), step(Some(SPEED)));
    let apart = exact.iter().zip(&settled).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(few < many && larger > small, "{few} of {many} iterations, residuals {larger} and {small}");
    // The last iteration moved less than that, and Newton's method was already quadratic.
    assert!(apart > 0.0 && apart < 0.05 * SPEED, "{apart}");
}

#[test]
fn a_velocity_tolerance_is_positive_and_for_newton() {
    let refused = |solver: Solver| solver.check().unwrap_err().to_string();
    let said = refused(Solver { velocity_tolerance: Some(-0.1), ..Solver::default() });
    assert!(said.contains("-0.1") && said.contains("m/s"), "{said}");
    let said = refused(Solver { velocity_tolerance: Some(0.1), method: Method::LBFGS, ..Solver::default() });
    assert!(said.contains("lbfgs"), "{said}");
    let mut resting = scene(block(Model::NeoHookean, 1e4), vec![Pin::hard("block", everything_left())]);
    resting.time.mode = Mode::Quasistatic;
    resting.solver.velocity_tolerance = Some(0.1);
    let said = format!("{:?}", resting.check());
    assert!(said.contains("velocity_tolerance") && said.contains("quasistatic"), "{said}");
}

fn everything_left() -> Selection {
    Selection::Plane { point: DVec3::new(-0.199, 0.0, 0.0), normal: -DVec3::X }
}

#[test]
fn a_block_that_has_come_to_rest_costs_nothing_more() {
    for model in SOLIDS {
        let mut body = block(model, 1e6).at([0.0, 0.1008, 0.0]);
        body.material.damping = Some(0.05);
        let builder =
            Scene::builder().body(body).collider(Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]));
        let mut simulation = Simulation::new(builder.build().unwrap()).unwrap();
        for _ in 0..120 {
            simulation.step(1.0 / 30.0).unwrap();
        }
        // Until displacements are below the rounding of the objective.
        for _ in 0..60 {
            let report = simulation.step(1.0 / 30.0).unwrap();
            let residual = report.residual.unwrap();
            assert!(report.converged && report.nonlinear_iterations <= 2, "{model:?}: {report:?}");
            assert!(residual <= 1e-4, "{model:?}: {residual}");
        }
    }
}

/// A soft cube that flies through wind past a ball, pulled by a spring: all forces that act on points. All its vertices are on
/// its surface.
fn pulled_cube() -> Simulation {
    let corner = |k: u32| 0.2 * DVec3::new(f64::from(k & 1), f64::from(k >> 1 & 1), f64::from(k >> 2));
    let tets = vec![[0, 1, 2, 4], [3, 2, 1, 7], [5, 4, 7, 1], [6, 7, 4, 2], [1, 2, 4, 7]];
    let mesh = TetMesh { positions: (0..8).map(corner).collect(), tets, ..TetMesh::default() };
    let mut body = Body::from_tets("cube", mesh).material(block(Model::Linear, 1e4).material);
    body.model = Some(Model::Linear);
    body.velocity = DVec3::new(3.0, 1.0, 0.0);
    let scene = Scene::builder()
        .wind([5.0, 0.0, 1.0])
        .body(body)
        .pin(Pin::soft("cube", Selection::nearest([DVec3::splat(0.2)]), 0.5))
        .collider(Collider::sphere("ball", [0.1, -0.3, 0.1], 0.25))
        .solver(Solver { tolerance: Some(1e-10), ..Solver::default() });
    Simulation::new(scene.build().unwrap()).unwrap()
}

#[test]
fn the_system_of_a_step_is_the_one_that_the_step_solves() {
    for before in [0, 1, 7] {
        let mut simulation = pulled_cube();
        for _ in 0..before {
            simulation.step(0.01).unwrap();
        }
        let (at, moving) = (simulation.positions().to_vec(), simulation.velocities().to_vec());
        let system = simulation.step_system(0.01).unwrap();
        let mut preconditioner = BlockJacobi::default();
        preconditioner.update(&system.matrix).unwrap();
        let mut change = vec![DVec3::ZERO; system.rhs.len()];
        let stop = StopRule::tolerance(1e-13, 2000);
        ConjugateGradient::default().solve(
            &system.matrix,
            &mut preconditioner,
            &system.rhs,
            &mut change,
            &stop,
        );
        // Little resists its motion, so the step starts at the free-flight position.
        let fall = DVec3::new(0.0, -9.81, 0.0) * 1e-4;
        simulation.step(0.01).unwrap();
        for (unknown, change) in system.current.iter().zip(&change) {
            // Points of the surface are in another order.
            let point = at.iter().position(|x| x == unknown).unwrap();
            let solved = *unknown + 0.01 * moving[point] + fall + *change;
            let end = simulation.positions()[point];
            assert!(solved.distance(end) < 1e-9, "{before}: {solved} {end}");
        }
    }
}
