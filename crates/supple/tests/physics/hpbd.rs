//! Hierarchical position based dynamics against theory, against plain sweeps, and against Newton's method.

use std::time::Duration;

use glam::DVec3;
use supple::material::{MaterialSpec, StretchStiffness};
use supple::mesh::generate::SphereShape;
use supple::scene::{
    Body, Collider, Cuboid, Keyframe, Method, Model, Motion, Pin, Region, Scene, Selection, Shape,
    ShapeSource, World,
};
use supple::simulation::Simulation;
use supple::solvers::hpbd::HpbdOptions;

/// A square metre of cloth, hung upright by its upper side half a metre up.
fn curtain(cells: u32, material: impl Into<MaterialSpec>) -> Scene {
    let vertices = [cells + 1, cells + 1];
    let mut cloth = Body::cloth("cloth").size([1.0, 1.0]).vertices(vertices).material(material);
    cloth.transform.rotate = 90.0 * DVec3::X;
    let side = Selection::Plane { point: DVec3::new(0.0, 0.499, 0.0), normal: DVec3::Y };
    let mut scene = Scene::builder().body(cloth).pin(Pin::hard("cloth", side)).build().unwrap();
    scene.solver.method = Method::HPBD;
    scene
}

fn run(scene: Scene, steps: u32, dt: f64) -> Simulation {
    let mut simulation = Simulation::new(scene).unwrap();
    for _ in 0..steps {
        simulation.step(dt).unwrap();
    }
    simulation
}

fn lowest(simulation: &Simulation) -> f64 {
    simulation.positions().iter().map(|p| p.y).fold(f64::INFINITY, f64::min)
}

#[test]
fn the_hierarchy_carries_corrections_across_the_cloth() {
    let strain = |levels: u32, sweeps: u32| {
        let mut scene = curtain(60, "cotton");
        scene.solver.options.set(HpbdOptions {
            levels,
            sweeps,
            stiffness: Some(1.0),
            ..HpbdOptions::default()
        });
        -0.5 - lowest(&run(scene, 90, 1.0 / 60.0))
    };
    // With only two sweeps the lower half does not feel the pins of the upper side; ten would be needed for this.
    let (with, without, ten) = (strain(16, 2), strain(0, 2), strain(0, 10));
    assert!(with < 0.15 * without && with < ten, "{with} {without} {ten}");
}

#[test]
fn a_hung_cloth_rests_where_newtons_method_has_it() {
    // Soft enough to be stretched by several per cent, damped enough to come to rest.
    let soft = MaterialSpec {
        preset: Some("cotton".into()),
        stretch_stiffness: Some(StretchStiffness::Uniform(20.0)),
        damping: Some(0.05),
        ..MaterialSpec::default()
    };
    let drop = |method: Method| {
        let mut scene = curtain(12, soft.clone());
        scene.solver.method = method;
        0.5 - lowest(&run(scene, 600, 1.0 / 60.0))
    };
    let (here, newton) = (drop(Method::HPBD), drop(Method::NEWTON));
    let (stretch, wanted) = (here - 1.0, newton - 1.0);
    assert!(wanted > 0.02, "{newton}");
    assert!(
        (stretch - wanted).abs() < 0.02 * newton && (stretch / wanted - 1.0).abs() < 0.2,
        "{here} {newton}"
    );
}

#[test]
fn a_bar_hangs_as_long_as_newtons_method_says() {
    let (length, young_modulus) = (1.0, 2e5);
    let shape = Shape::new(ShapeSource::Box(Cuboid { size: [length, 0.2, 0.2], cells: None }));
    let material = MaterialSpec {
        young_modulus: Some(young_modulus),
        poisson_ratio: Some(0.25),
        density: Some(1000.0),
        damping: Some(0.05),
        ..MaterialSpec::default()
    };
    let bar =
        Body { cell: Some(0.1), model: Some(Model::Spring), ..Body::new("bar", shape) }.material(material);
    let wall = Selection::Plane { point: DVec3::new(-0.499, 0.0, 0.0), normal: -DVec3::X };
    let mut scene = Scene::builder().body(bar).pin(Pin::hard("bar", wall)).build().unwrap();
    scene.world = World { gravity: 9.81 * DVec3::X, ..World::default() };
    let longer = |method: Method, levels: u32| {
        let mut scene = scene.clone();
        scene.solver.method = method;
        scene.solver.options.set(HpbdOptions { sweeps: 30, levels, ..HpbdOptions::default() });
        let bar = run(scene, 300, 1.0 / 60.0);
        bar.positions().iter().map(|p| p.x).fold(f64::NEG_INFINITY, f64::max) - 0.5
    };
    // Both have the same springs: a coarse network of them is stiffer than slender-bar theory.
    let newton = longer(Method::NEWTON, 0);
    let plain = longer(Method::HPBD, 0);
    assert!((plain / newton - 1.0).abs() < 0.02, "{plain} {newton}");
    // Limits represent rows of edges that zigzag through a solid, and yield less than straight ones.
    let with_levels = longer(Method::HPBD, 16);
    assert!((with_levels / newton - 1.0).abs() < 0.2, "{with_levels} {newton}");
}

#[test]
fn small_steps_keep_a_cloth_together_that_hangs_by_two_corners() {
    // Its own weight would stretch it far less: the rest is due to the sweeps.
    let mut scene = Scene::builtin("hanging-cloth").unwrap();
    scene.scale_resolution(0.25).unwrap();
    scene.solver.method = Method::HPBD;
    let simulation = run(scene, 30, 1.0 / 30.0);
    assert!(simulation.stretch().p99 < 1.05, "{:?}", simulation.stretch());
}

#[test]
fn a_long_step_is_taken_in_small_ones() {
    // Dampers act once per step, and limits update their lengths once per step, so there are none.
    let undamped = MaterialSpec { damping: Some(0.0), ..MaterialSpec::preset("cotton") };
    let scene = || {
        let mut scene = curtain(12, undamped.clone());
        scene.solver.options.get_mut::<HpbdOptions>().longest_step = Some(1.0 / 1024.0);
        scene.solver.options.get_mut::<HpbdOptions>().levels = 0;
        scene
    };
    let mut long = Simulation::new(scene()).unwrap();
    let report = long.step(1.0 / 128.0).unwrap();
    assert_eq!(report.nonlinear_iterations, 8 * HpbdOptions::default().sweeps);
    let short = run(scene(), 8, 1.0 / 1024.0);
    for (a, b) in long.positions().iter().zip(short.positions()) {
        assert!(a.distance(*b) < 1e-12, "{a} {b}");
    }
}

#[test]
fn what_flies_freely_keeps_its_momentum() {
    let mut scene = curtain(20, "cotton");
    scene.pins.clear();
    scene.world = World { gravity: DVec3::ZERO, ..World::default() };
    scene.bodies[0].velocity = DVec3::new(1.0, -2.0, 0.5);
    let mut simulation = Simulation::new(scene).unwrap();
    let before = simulation.momentum();
    for _ in 0..100 {
        simulation.step(1.0 / 60.0).unwrap();
    }
    // Velocities are differences of positions: some metres from the origin each small step (a third of a millisecond) rounds them by
    // 1e-12 m/s, and the mean over 441 particles drifts for some thousand steps.
    assert!((simulation.momentum() - before).length() < 1e-11 * before.length());
}

#[test]
fn fast_cloth_does_not_tunnel_through_a_thin_plate() {
    let mut scene = curtain(10, "cotton");
    scene.pins.clear();
    scene.bodies[0].transform.rotate = DVec3::ZERO;
    scene.bodies[0].velocity = DVec3::new(0.0, -300.0, 0.0);
    scene.bodies[0] = scene.bodies[0].clone().at([0.0, 1.0, 0.0]);
    let plate = Collider::cuboid("plate", [0.0, 0.0, 0.0], [3.0, 0.004, 3.0]);
    scene.colliders.push(plate);
    let simulation = run(scene, 30, 1.0 / 60.0);
    assert!(lowest(&simulation) > 0.0, "{}", lowest(&simulation));
}

#[test]
fn a_thin_plate_takes_along_a_cloth_that_nothing_else_moves() {
    let mut scene = curtain(10, "cotton");
    scene.pins.clear();
    scene.world.gravity = DVec3::ZERO;
    scene.bodies[0].transform.rotate = DVec3::ZERO;
    let mut plate = Collider::cuboid("plate", [0.0, 0.5, 0.0], [3.0, 0.004, 3.0]);
    let keyframe = |time, y| Keyframe::at(time).translate([0.0, y, 0.0]);
    plate.motion =
        Some(Motion { pivot: DVec3::ZERO, keyframes: vec![keyframe(0.0, 0.0), keyframe(0.5, -10.0)] });
    scene.colliders.push(plate);
    let simulation = run(scene, 30, 1.0 / 60.0);
    let highest = simulation.positions().iter().map(|p| p.y).fold(f64::NEG_INFINITY, f64::max);
    assert!(highest < -9.5, "{highest}");
}

#[test]
fn friction_holds_a_cloth_on_a_slope_below_its_angle_and_not_above() {
    let slid = |friction: f64| {
        let mut scene = curtain(10, "cotton");
        scene.pins.clear();
        scene.bodies[0].transform.rotate = DVec3::ZERO;
        let slope = 20_f64.to_radians();
        scene.world.gravity = 9.81 * DVec3::new(slope.sin(), -slope.cos(), 0.0);
        scene.bodies[0] = scene.bodies[0].clone().at([0.0, 0.002, 0.0]);
        let ground = Collider { thickness: 0.002, ..Collider::plane("ground", [0.0; 3], [0.0, 1.0, 0.0]) };
        scene.colliders.push(ground.friction(friction));
        let simulation = run(scene, 60, 1.0 / 60.0);
        simulation.positions().iter().map(|p| p.x).sum::<f64>() / simulation.positions().len() as f64
    };
    // tan 20° = 0.364.
    assert!(slid(0.5) < 1e-3, "{}", slid(0.5));
    // Beyond it the cloth slides by ½ g (sin - μ cos) t².
    let theory = 0.5 * 9.81 * (20_f64.to_radians().sin() - 0.2 * 20_f64.to_radians().cos());
    assert!((slid(0.2) / theory - 1.0).abs() < 0.05, "{} {theory}", slid(0.2));
}

#[test]
fn a_cloth_that_falls_onto_another_stays_above_it() {
    let mut scene = curtain(30, "cotton");
    scene.bodies[0].transform.rotate = DVec3::ZERO;
    let side = |normal: DVec3| Selection::Plane { point: 0.499 * normal, normal };
    scene.pins = vec![Pin::hard("cloth", side(DVec3::X)), Pin::hard("cloth", side(-DVec3::X))];
    let mut falling =
        Body::cloth("falling").size([0.4, 0.4]).vertices([21, 21]).material("cotton").at([0.03, 0.05, 0.02]);
    falling.velocity = DVec3::new(0.0, -2.0, 0.0);
    scene.bodies.push(falling);
    scene.contact.thickness = Some(0.005);
    let mut simulation = Simulation::new(scene).unwrap();
    for step in 0..480 {
        simulation.step(1.0 / 480.0).unwrap();
        if step % 24 != 0 {
            continue;
        }
        let (lower, upper) = simulation.positions().split_at(31 * 31);
        for p in upper.iter().filter(|p| p.x.abs() < 0.45 && p.z.abs() < 0.45) {
            let flat = |q: &DVec3| (*q - *p).with_y(0.0).length_squared();
            let below = lower.iter().min_by(|a, b| flat(a).total_cmp(&flat(b))).unwrap();
            // The nearest vertex is up to 24 mm away; the sag over the half metre is gentle.
            assert!(p.y > below.y - 0.012, "{p} {below}");
        }
    }
}

#[test]
fn a_coarser_level_hangs_like_the_mesh_and_what_it_leaves_out_lies_between() {
    let mut simulation = Simulation::new(curtain(32, "cotton")).unwrap();
    simulation.set_level(2).unwrap();
    for _ in 0..240 {
        simulation.step(1.0 / 240.0).unwrap();
    }
    assert!((lowest(&simulation) + 0.5).abs() < 0.03, "{}", lowest(&simulation));
    let levels = simulation.particle_levels();
    let x = simulation.positions();
    for level in &levels[1..3] {
        for parents in level.parents.chunk_by(|a, b| a[0] == b[0]) {
            let middle: DVec3 =
                parents.iter().map(|[_, p]| x[*p as usize]).sum::<DVec3>() / parents.len() as f64;
            assert!((x[parents[0][0] as usize] - middle).length() < 1e-12 || parents[0][0] < 33);
        }
    }
    // Back on the mesh it continues from there.
    simulation.set_level(0).unwrap();
    for _ in 0..120 {
        simulation.step(1.0 / 240.0).unwrap();
    }
    assert!((lowest(&simulation) + 0.5).abs() < 0.03, "{}", lowest(&simulation));
}

#[test]
fn a_region_has_its_own_poisson_ratio() {
    let shape = || Shape::new(ShapeSource::Box(Cuboid { size: [1.0, 0.2, 0.2], cells: None }));
    let material = |poisson_ratio: f64| MaterialSpec {
        young_modulus: Some(2e5),
        poisson_ratio: Some(poisson_ratio),
        density: Some(1000.0),
        ..MaterialSpec::default()
    };
    let positions = |bar: Body| {
        let wall = Selection::Plane { point: DVec3::new(-0.499, 0.0, 0.0), normal: -DVec3::X };
        let mut scene = Scene::builder().body(bar).pin(Pin::hard("bar", wall)).build().unwrap();
        scene.solver.method = Method::HPBD;
        run(scene, 10, 1.0 / 60.0).positions().to_vec()
    };
    let bar = |poisson_ratio: f64| {
        Body { cell: Some(0.1), ..Body::new("bar", shape()) }.material(material(poisson_ratio))
    };
    let region = Region { selection: Selection::All {}, material: Some(material(0.45)), random: None };
    assert_eq!(positions(Body { regions: vec![region], ..bar(0.25) }), positions(bar(0.45)));
}

#[test]
fn what_is_near_is_found_again_after_a_state_is_restored() {
    // A sheet that crumples on the floor.
    let scene = {
        let mut cloth = Body::cloth("cloth").size([0.6, 0.6]).vertices([25, 25]).material("silk");
        cloth.transform.rotate = DVec3::new(80.0, 10.0, 0.0);
        cloth.transform.translate = 0.35 * DVec3::Y;
        cloth.self_contact = Some(true);
        let floor = Collider::cuboid("floor", [0.0, -0.5, 0.0], [4.0, 1.0, 4.0]);
        let mut scene = Scene::builder().body(cloth).collider(floor).build().unwrap();
        scene.solver.method = Method::HPBD;
        scene
    };
    let mut simulation = Simulation::new(scene.clone()).unwrap();
    let mut pairs = 0;
    for _ in 0..24 {
        pairs += simulation.step(1.0 / 60.0).unwrap().pairs;
    }
    let mut resumed = Simulation::new(scene).unwrap();
    resumed.restore(&simulation.save()).unwrap();
    for simulation in [&mut simulation, &mut resumed] {
        for _ in 0..6 {
            pairs += simulation.step(1.0 / 60.0).unwrap().pairs;
        }
    }
    assert!(pairs > 0, "it touches itself");
    assert_eq!(simulation.state_hash(), resumed.state_hash());
}

#[test]
fn the_surface_of_a_solid_that_is_filled_by_cells_rests_on_a_collider() {
    // A ball whose lattice neither fits its surface nor ends at it.
    let ball = Shape::new(ShapeSource::Sphere(SphereShape { radius: 0.2, cells: 8 }));
    let material = MaterialSpec {
        young_modulus: Some(1e6),
        poisson_ratio: Some(0.3),
        density: Some(500.0),
        damping: Some(0.05),
        ..MaterialSpec::default()
    };
    let ball = Body { cell: Some(0.12), ..Body::new("ball", ball) }.material(material).at([0.0, 0.22, 0.0]);
    let floor = Collider::cuboid("floor", [0.0, -0.5, 0.0], [4.0, 1.0, 4.0]);
    let mut scene = Scene::builder().body(ball).collider(floor).build().unwrap();
    scene.solver.method = Method::HPBD;
    let mut deepest = 0.0_f64;
    let mut simulation = Simulation::new(scene).unwrap();
    for _ in 0..120 {
        deepest = deepest.max(simulation.step(1.0 / 60.0).unwrap().penetration);
    }
    let thickness = simulation.scene_state().contact.thickness();
    assert!(deepest < 1e-3, "{deepest}");
    assert!((lowest(&simulation) - thickness).abs() < 4e-3, "{} {thickness}", lowest(&simulation));
}

#[test]
fn a_solid_that_is_filled_by_cells_rests_on_a_cloth() {
    let ball = Shape::new(ShapeSource::Sphere(SphereShape { radius: 0.15, cells: 8 }));
    let material = MaterialSpec {
        young_modulus: Some(1e6),
        poisson_ratio: Some(0.3),
        density: Some(100.0),
        damping: Some(0.05),
        ..MaterialSpec::default()
    };
    let ball = Body { cell: Some(0.09), ..Body::new("ball", ball) }.material(material).at([0.0, 0.2, 0.0]);
    let mut scene = curtain(30, "denim");
    scene.bodies[0].transform.rotate = DVec3::ZERO;
    let side = |normal: DVec3| Selection::Plane { point: 0.499 * normal, normal };
    scene.pins = [DVec3::X, -DVec3::X, DVec3::Z, -DVec3::Z].map(|n| Pin::hard("cloth", side(n))).into();
    scene.bodies.push(ball);
    let simulation = run(scene, 60, 1.0 / 60.0);
    let (cloth, ball) = simulation.positions().split_at(31 * 31);
    let lowest = |points: &[DVec3]| points.iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
    // It would have fallen by 4.9 m. The ball rests in the hollow that its weight of 14 N makes, on edges between vertices.
    let (sag, ball) = (lowest(cloth), lowest(ball));
    assert!(sag < -1e-3 && sag > -0.3, "{sag}");
    assert!(ball > sag - 0.01, "{ball} {sag}");
}

#[test]
fn sheets_thrown_at_each_other_do_not_pass_in_long_steps() {
    // Two sheets are thrown at each other, by one edge length per step.
    let mut cloth = Body::cloth("cloth").size([0.4, 0.4]).vertices([21, 21]).material("cotton");
    cloth.self_contact = Some(true);
    let other = Body { velocity: DVec3::new(0.0, 0.6, 0.0), ..cloth.clone() }.at([0.003, -0.03, 0.004]);
    cloth.velocity = DVec3::new(0.0, -0.6, 0.0);
    let other = Body { name: "other".into(), ..other };
    let mut scene = Scene::builder().body(cloth).body(other).build().unwrap();
    scene.world.gravity = DVec3::ZERO;
    scene.solver.method = Method::HPBD;
    scene.solver.options.set(HpbdOptions { sweeps: 2, stiffness: Some(1.0), ..HpbdOptions::default() });
    let mut simulation = Simulation::new(scene).unwrap();
    let mut touched = 0;
    for _ in 0..60 {
        touched += simulation.step(1.0 / 60.0).unwrap().pairs;
        let (upper, lower) = simulation.positions().split_at(441);
        for p in upper.iter().filter(|p| p.x.abs() < 0.17 && p.z.abs() < 0.17) {
            let flat = |q: &DVec3| (*q - *p).with_y(0.0).length_squared();
            let below = lower.iter().min_by(|a, b| flat(a).total_cmp(&flat(b))).unwrap();
            // The nearest vertex is up to 14 mm away.
            assert!(p.y > below.y - 0.007, "{p} {below}");
        }
    }
    assert!(touched > 0, "they meet");
}

#[test]
fn a_used_up_budget_is_reported_and_leaves_a_valid_state() {
    let damped =
        MaterialSpec { preset: Some("cotton".into()), damping: Some(0.05), ..MaterialSpec::default() };
    let [mut full, mut short, mut restored] =
        [(); 3].map(|()| Simulation::new(curtain(12, damped.clone())).unwrap());
    for _ in 0..30 {
        let whole = full.step(1.0 / 60.0).unwrap();
        let report = short.step_within(1.0 / 60.0, Duration::ZERO).unwrap();
        assert!(whole.converged && !report.converged);
        assert!(report.nonlinear_iterations < whole.nonlinear_iterations, "{report:?}");
        assert!(short.first_non_finite().is_none() && short.stretch().max < 1.5, "{:?}", short.stretch());
    }
    assert_eq!(short.time(), full.time());
    restored.restore(&short.save()).unwrap();
    for simulation in [&mut full, &mut short, &mut restored] {
        (0..30).for_each(|_| assert!(simulation.step(1.0 / 60.0).unwrap().converged));
    }
    assert_eq!(short.state_hash(), restored.state_hash());
    // Half a second of whole steps takes back the stretch that short ones have left.
    assert!(short.stretch().max < 1.02, "{:?}", short.stretch());
    let (short, full) = (lowest(&short), lowest(&full));
    assert!((short - full).abs() < 0.005, "{short} m after steps that were cut short, {full} m otherwise");
}

#[test]
fn sweeps_end_with_the_budget() {
    let mut scene = curtain(24, "cotton");
    scene.solver.options.set(HpbdOptions {
        sweeps: 10_000,
        longest_step: Some(1.0),
        ..HpbdOptions::default()
    });
    let mut simulation = Simulation::new(scene).unwrap();
    let report = simulation.step_within(1.0 / 60.0, Duration::from_millis(1)).unwrap();
    assert!(!report.converged && (1..10_000).contains(&report.nonlinear_iterations), "{report:?}");
}

#[test]
fn a_budget_that_is_not_used_up_changes_nothing() {
    let [mut with, mut without] = [(), ()].map(|()| Simulation::new(curtain(12, "silk")).unwrap());
    for _ in 0..5 {
        assert!(with.step_within(1.0 / 60.0, Duration::from_secs(3600)).unwrap().converged);
        without.step(1.0 / 60.0).unwrap();
    }
    assert_eq!(with.state_hash(), without.state_hash());
}
