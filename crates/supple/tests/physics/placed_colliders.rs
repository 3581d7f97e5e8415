//! Colliders that jump, and colliders that the program places between steps.

use glam::{DVec3, dvec3};
use supple::scene::{
    Body, Collider, Cuboid, FrictionModel, Keyframe, Method, Model, Motion, Pin, Pose, Scene, Selection,
    ShapeSource,
};
use supple::simulation::Simulation;

const STEP: f64 = 1.0 / 60.0;
const RADIUS: f64 = 0.05;

fn steps(simulation: &mut Simulation, count: u32) {
    for _ in 0..count {
        simulation.step(STEP).unwrap();
    }
}

/// A sheet of 40 cm in the plane z = 0, held at its two upper corners.
fn hung_sheet(method: Method, collider: Option<Collider>) -> Simulation {
    let mut sheet = Body::cloth("sheet").size([0.4, 0.4]).vertices([11, 11]).material("cotton");
    sheet.transform.rotate = 90.0 * DVec3::X;
    let corners = [dvec3(-0.2, 0.2, 0.0), dvec3(0.2, 0.2, 0.0)];
    let builder = Scene::builder().body(sheet).pin(Pin::hard("sheet", Selection::Nearest(corners.to_vec())));
    let mut scene = collider.into_iter().fold(builder, |builder, one| builder.collider(one)).build().unwrap();
    scene.solver.method = method;
    Simulation::new(scene).unwrap()
}

fn farthest(a: &Simulation, b: &Simulation) -> f64 {
    let pairs = a.positions().iter().zip(b.positions());
    pairs.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

/// A box behind the sheet that comes to its other side in the fourth step, through a jump or not.
fn box_to_the_other_side(jump: bool) -> Collider {
    let arrive = Keyframe { jump, ..Keyframe::at(3.5 * STEP).translate([0.0, 0.0, 0.4]) };
    let keyframes = vec![Keyframe::at(3.0 * STEP).translate([0.0; 3]), arrive];
    let motion = Motion { pivot: DVec3::ZERO, keyframes };
    Collider::cuboid("box", [0.0, 0.0, -0.2], [0.1; 3]).moving(motion)
}

#[test]
fn a_collider_that_jumps_to_the_other_side_of_a_sheet_does_not_touch_it() {
    for method in [Method::NEWTON, Method::HPBD] {
        let mut simulations = [
            hung_sheet(method, None),
            hung_sheet(method, Some(box_to_the_other_side(true))),
            hung_sheet(method, Some(box_to_the_other_side(false))),
        ];
        simulations.iter_mut().for_each(|simulation| steps(simulation, 6));
        let [free, jumped, pushed] = &simulations;
        assert!(farthest(free, jumped) < 1e-6, "{method:?}: {}", farthest(free, jumped));
        assert!(farthest(free, pushed) > 0.1, "{method:?}: {}", farthest(free, pushed));
    }
}

#[test]
fn what_a_collider_jumps_into_is_named_and_comes_out() {
    let keyframes = vec![
        Keyframe::at(0.0).translate([0.0, -1.0, 0.0]),
        Keyframe::at(2.0 * STEP).translate([0.0; 3]).jump(),
    ];
    let ball =
        Collider::sphere("ball", [0.0, -0.07, 0.0], 0.1).moving(Motion { pivot: DVec3::ZERO, keyframes });
    let cloth = Body::cloth("cloth").size([0.3, 0.3]).vertices([13, 13]);
    let scene = Scene::builder().gravity(DVec3::ZERO).body(cloth).collider(ball).build().unwrap();
    let mut simulation = Simulation::new(scene).unwrap();
    let inside = |simulation: &Simulation| {
        simulation.positions().iter().filter(|p| p.distance(dvec3(0.0, -0.07, 0.0)) < 0.1).count()
    };
    steps(&mut simulation, 2);
    let notes = simulation.notes().join("\n");
    assert!(inside(&simulation) > 10 && notes.contains("`cloth` are inside `ball`"), "{notes}");
    let highest = simulation.positions().iter().map(|p| p.y).fold(f64::MIN, f64::max);
    assert!(highest < 0.5 * STEP, "no faster than 0.3 m/s and a little: {highest}");
    steps(&mut simulation, 30);
    assert_eq!((inside(&simulation), simulation.notes()), (0, vec![]));
}

#[test]
fn pins_do_not_jump() {
    let keyframes =
        vec![Keyframe::at(0.0).translate([0.0; 3]), Keyframe::at(1.0).translate([1.0, 0.0, 0.0]).jump()];
    let pin = Pin::hard("sheet", Selection::All {}).following(Motion { pivot: DVec3::ZERO, keyframes });
    let scene = Scene::builder().body(Body::cloth("sheet").vertices([3, 3])).pin(pin).build();
    let problem = scene.unwrap_err().to_string();
    assert!(problem.contains("pinned points cannot `jump`, as the motion does at 1 s"), "{problem}");
}

/// How far a triangle of the sheet is from a point.
fn nearest(simulation: &Simulation, point: DVec3) -> f64 {
    let at = simulation.positions();
    let of = |t: &[u32; 3]| {
        supple::mesh::geometry::triangle::closest_point(&t.map(|v| at[v as usize]), point)
            .point
            .distance(point)
    };
    simulation.scene_state().bodies[0].surface_triangles.iter().map(of).fold(f64::INFINITY, f64::min)
}

/// How many triangles of the sheet the line through a height `z` parallel to the z axis meets below and above it.
fn layers(simulation: &Simulation, z: f64) -> [usize; 2] {
    let at = simulation.positions();
    let side = |a: DVec3, b: DVec3| a.x * b.y - a.y * b.x > 0.0;
    let mut count = [0; 2];
    for t in &simulation.scene_state().bodies[0].surface_triangles {
        let [a, b, c] = t.map(|v| at[v as usize]);
        if side(a, b) == side(b, c) && side(b, c) == side(c, a) {
            count[usize::from((a.z + b.z + c.z) / 3.0 > z)] += 1;
        }
    }
    count
}

/// Moves a ball by 5 cm per step through a sheet.
fn push_through(method: Method, place: impl Fn(&mut Simulation, f64)) {
    let start = -0.2;
    let mut simulation = hung_sheet(method, Some(Collider::sphere("ball", [0.0, 0.0, start], RADIUS)));
    for step in 1..=7 {
        let z = start + 0.05 * f64::from(step);
        place(&mut simulation, z);
        let report = simulation.step(STEP).unwrap();
        let clear = nearest(&simulation, z * DVec3::Z);
        assert!(clear > RADIUS, "{method:?}, step {step}: {clear} m from the centre");
        assert!(report.lag < 1e-9, "{method:?}, step {step}: {} m late", report.lag);
    }
    let [behind, ahead] = layers(&simulation, start + 0.05 * 7.0);
    assert!(behind == 0 && ahead > 0, "{method:?}: {behind} layers behind the ball, {ahead} ahead");
}

#[test]
fn a_ball_that_is_placed_step_by_step_pushes_a_sheet_and_does_not_pass_it() {
    for method in [Method::NEWTON, Method::HPBD] {
        push_through(method, |simulation, z| {
            let ball = simulation.collider_id("ball").unwrap();
            let translate = dvec3(0.0, 0.0, z + 0.2);
            simulation.set_collider_pose(ball, Pose { translate, ..Pose::IDENTITY }).unwrap();
        });
        push_through(method, |simulation, z| {
            let ball = simulation.collider_id("ball").unwrap();
            simulation.set_collider(ball, Collider::sphere("ball", z * DVec3::Z, RADIUS)).unwrap();
        });
    }
}

#[test]
fn a_plate_that_is_placed_step_by_step_drags_a_block_along() {
    let (speed, friction, count) = (0.2, 0.8, 30);
    let cases = [
        (Method::NEWTON, FrictionModel::Smooth),
        (Method::NEWTON, FrictionModel::Impulse),
        (Method::HPBD, FrictionModel::Smooth),
        (Method::STAGGERED, FrictionModel::Smooth),
    ];
    for (method, model) in cases {
        let shape = ShapeSource::Box(Cuboid { size: [0.1; 3], cells: None });
        let block = Body::new("block", shape).at([0.0, 0.051, 0.0]).solid(0.05).material("foam");
        let plate = Collider::cuboid("plate", [0.0, -0.05, 0.0], [1.0, 0.1, 1.0]).friction(friction);
        let builder = Scene::builder().body(Body { model: Some(Model::Corotated), ..block }).collider(plate);
        let mut scene = builder.build().unwrap();
        scene.solver.method = method;
        scene.contact.friction_model = model;
        let mut simulation = Simulation::new(scene).unwrap();
        let plate = simulation.collider_id("plate").unwrap();
        let middle = |simulation: &Simulation| {
            simulation.positions().iter().sum::<DVec3>().x / simulation.positions().len() as f64
        };
        let before = middle(&simulation);
        for step in 1..=count {
            let translate = dvec3(speed * STEP * f64::from(step), 0.0, 0.0);
            simulation.set_collider_pose(plate, Pose { translate, ..Pose::IDENTITY }).unwrap();
            simulation.step(STEP).unwrap();
        }
        // It falls behind by v²/(2 μ g) until it goes along, and the smooth model's creep.
        let behind = speed * STEP * f64::from(count) - (middle(&simulation) - before);
        let most = speed * speed / (2.0 * friction * 9.81) + 3.0 * STEP * speed;
        assert!(behind > -1e-3 && behind < most, "{method:?}, {model:?}: {behind} m, at most {most}");
    }
}

#[test]
fn a_collider_that_is_placed_after_a_state_was_restored_does_not_sweep() {
    let ball = Collider::sphere("ball", [0.0, 0.0, -0.2], RADIUS);
    let mut simulation = hung_sheet(Method::NEWTON, Some(ball));
    let id = simulation.collider_id("ball").unwrap();
    let saved = simulation.save();
    let other_side = Pose { translate: 0.4 * DVec3::Z, ..Pose::IDENTITY };
    simulation.restore(&saved).unwrap();
    simulation.set_collider_pose(id, other_side).unwrap();
    steps(&mut simulation, 1);
    let mut free = hung_sheet(Method::NEWTON, None);
    steps(&mut free, 1);
    assert!(farthest(&simulation, &free) < 1e-6);
    for bad in [Pose { scale: 0.0, ..other_side }, Pose { translate: DVec3::NAN, ..other_side }] {
        assert!(simulation.set_collider_pose(id, bad).is_err());
    }
}
