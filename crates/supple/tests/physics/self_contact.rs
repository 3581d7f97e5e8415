//! Surfaces do not pass through themselves or each other: shown by an independent intersection test, which shares nothing with
//! the detection, over scenes that fold, stack and knot.

use glam::DVec3;
use robust::{Coord3D, orient3d};
use supple::scene::LinearKind::{Cholesky, Jacobi};
use supple::scene::{
    Body, Collider, Cuboid, Keyframe, Method, Motion, Pin, Scene, Selection, ShapeSource, Solver, Tangled,
};
use supple::simulation::Simulation;

/// Position and vertex identity of a triangle: coincident vertices at the start are the same vertex.
struct Triangle {
    names: [[u64; 3]; 3],
    corners: [DVec3; 3],
}

fn triangles(simulation: &Simulation) -> Vec<Triangle> {
    let scene_state = simulation.scene_state();
    let mut all = Vec::new();
    for (body, id) in scene_state.bodies.iter().zip(&scene_state.body_ids) {
        let positions = simulation.body_positions(*id).unwrap();
        let name = |p: u32| body.surface_start[p as usize].to_array().map(|c| (c + 0.0).to_bits());
        let corner = |p: u32| positions[p as usize];
        all.extend(
            body.surface_triangles.iter().map(|t| Triangle { names: t.map(name), corners: t.map(corner) }),
        );
    }
    all
}

fn side(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> f64 {
    let [a, b, c, d] = [a, b, c, d].map(|p| Coord3D { x: p.x, y: p.y, z: p.z });
    orient3d(a, b, c, d)
}

/// Whether the open edge passes through the closed triangle, without rounding. An edge in the triangle's plane is not
/// counted: it is the limit of others that are.
fn pierces([p, q]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> bool {
    let (before, after) = (side(a, b, c, p), side(a, b, c, q));
    if before == 0.0 || after == 0.0 || (before > 0.0) == (after > 0.0) {
        return false;
    }
    let turns = [side(p, q, a, b), side(p, q, b, c), side(p, q, c, a)];
    turns.iter().all(|t| *t >= 0.0) || turns.iter().all(|t| *t <= 0.0)
}

/// The number of triangle pairs without a common vertex of which an edge of one passes through the other: by sorting along x.
fn crossings(all: &[Triangle]) -> usize {
    let range = |t: &Triangle, axis: usize| {
        let [a, b, c] = t.corners.map(|p| p[axis]);
        (a.min(b).min(c), a.max(b).max(c))
    };
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&i, &j| range(&all[i], 0).0.total_cmp(&range(&all[j], 0).0));
    let mut count = 0;
    for (place, &i) in order.iter().enumerate() {
        let first = &all[i];
        for &j in &order[place + 1..] {
            let second = &all[j];
            if range(second, 0).0 > range(first, 0).1 {
                break;
            }
            let apart = |axis: usize| {
                let (a, b) = (range(first, axis), range(second, axis));
                a.1 < b.0 || b.1 < a.0
            };
            if !apart(1) && !apart(2) && cross(first, second) {
                count += 1;
            }
        }
    }
    count
}

fn cross(first: &Triangle, second: &Triangle) -> bool {
    if first.names.iter().any(|name| second.names.contains(name)) {
        return false;
    }
    let through = |one: &Triangle, other: &Triangle| {
        (0..3).any(|i| pierces([one.corners[i], one.corners[(i + 1) % 3]], other.corners))
    };
    through(first, second) || through(second, first)
}

/// Runs a built-in scene at reduced size; checks for intersections after every frame. Returns how many frames had surfaces in
/// contact.
fn never_crosses(name: &str, resolution: f64, frames: u32, sets: &[&str]) -> u32 {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let mut scene = Scene::builtin_with(name, &sets).unwrap();
    scene.scale_resolution(resolution).unwrap();
    let (step, steps) = (1.0 / scene.time.fps / f64::from(scene.time.substeps), scene.time.substeps);
    let mut simulation = Simulation::new(scene).unwrap();
    assert_eq!(crossings(&triangles(&simulation)), 0, "{name} at the start");
    let mut touched = 0;
    for frame in 1..=frames {
        let reports: Vec<_> = (0..steps).map(|_| simulation.step(step).unwrap()).collect();
        touched += u32::from(reports.iter().any(|report| report.pairs > 0));
        assert!(reports.iter().all(|report| report.crossings == Some(0)), "{name}, frame {frame}");
        assert!(reports.iter().filter_map(|report| report.closest).all(|closest| closest > 0.0));
        assert_eq!(crossings(&triangles(&simulation)), 0, "{name}, frame {frame}");
    }
    assert_eq!(simulation.first_non_finite(), None);
    touched
}

#[test]
fn ten_stacked_cloths_never_cross() {
    assert!(never_crosses("stacked-cloth", 0.1, 24, &["solver.linear=\"cholesky\""]) > 10);
}

#[test]
fn a_knot_pulled_tight_never_crosses() {
    let sets = ["contact.thickness=0.004", "time.fps=30"];
    assert!(never_crosses("knot", 0.06, 95, &sets) > 20);
}

#[test]
fn a_cloth_wound_up_by_a_ball_never_crosses() {
    let sets = ["solver.linear=\"cholesky\"", "contact.thickness=0.01", "time.fps=50"];
    assert!(never_crosses("cloth-drop", 0.1, 75, &sets) > 5);
}

/// A ball that is about to hit a cloth, with one corner of the cloth pulled along: for all methods.
fn busy(method: Method) -> Scene {
    let mut cloth = Body::cloth("cloth").size([0.6, 0.6]).vertices([11, 11]).at([0.0, 0.5, 0.0]);
    cloth.transform.rotate = DVec3::new(3.0, 0.0, 5.0);
    cloth.self_contact = Some(true);
    let ball = Body::new(
        "ball",
        supple::scene::ShapeSource::Sphere(supple::mesh::generate::SphereShape { radius: 0.1, cells: 2 }),
    )
    .at([0.0, 0.606, 0.03])
    .solid(0.1)
    .material("foam");
    // It comes from above, faster than the cloth falls.
    let ball = Body { velocity: DVec3::new(0.0, -2.0, 0.0), ..ball };
    let corner = Selection::nearest([[-0.3, 0.5, -0.3]]);
    let pulled = Motion {
        keyframes: vec![Keyframe::at(0.0), Keyframe::at(1.0).translate([0.5, 0.0, 0.2])],
        ..Motion::default()
    };
    let mut scene = Scene::builder()
        .body(cloth)
        .body(ball)
        .pin(Pin::hard("cloth", corner).following(pulled))
        .collider(Collider::plane("ground", [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]).friction(0.3))
        .build()
        .unwrap();
    scene.contact.thickness = Some(0.02);
    scene.solver.method = method;
    scene.solver.tolerance = Some(1e-3);
    scene.solver.max_iterations = if method == Method::NEWTON { 60 } else { 25 };
    let first_order = method == Method::NONLINEAR_CG || method == Method::ACCELERATED_GRADIENT;
    scene.solver.linear = Some(if first_order { Jacobi.into() } else { Cholesky.into() });
    scene
}

const METHODS: [Method; 5] =
    [Method::NEWTON, Method::PROJECTIVE, Method::LBFGS, Method::NONLINEAR_CG, Method::ACCELERATED_GRADIENT];

#[test]
fn no_method_lets_surfaces_cross() {
    for method in METHODS {
        let mut simulation = Simulation::new(busy(method)).unwrap();
        let mut pairs = 0;
        for step in 0..20 {
            pairs += simulation.step(1.0 / 60.0).unwrap().pairs;
            assert_eq!(crossings(&triangles(&simulation)), 0, "{method:?}, step {step}");
        }
        assert!(pairs > 0, "{method:?}: nothing touched, so nothing was tested");
    }
}

#[test]
fn bits_are_the_same_for_any_number_of_threads_and_from_a_saved_state() {
    for method in METHODS {
        let hashes = |simulation: &mut Simulation, steps: u32| -> Vec<u64> {
            let mut step = || simulation.step(1.0 / 60.0).map(|_| simulation.state_hash()).unwrap();
            (0..steps).map(|_| step()).collect()
        };
        let with_threads = |threads: usize| {
            let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| hashes(&mut Simulation::new(busy(method)).unwrap(), 7))
        };
        let one = with_threads(1);
        assert_eq!(one, with_threads(2), "{method:?}");
        assert_eq!(one, with_threads(3), "{method:?}");
        let mut broken = Simulation::new(busy(method)).unwrap();
        hashes(&mut broken, 4);
        let saved = broken.save();
        let mut resumed = Simulation::new(busy(method)).unwrap();
        resumed.restore(&saved).unwrap();
        assert_eq!(hashes(&mut resumed, 3), one[4..], "{method:?}, resumed");
    }
}

#[test]
fn contact_keeps_momentum() {
    let mut scene = busy(Method::NEWTON);
    (scene.pins, scene.colliders) = (Vec::new(), Vec::new());
    scene.world.gravity = DVec3::ZERO;
    scene.bodies[1].velocity = DVec3::new(0.0, -2.0, 0.0);
    scene.solver.tolerance = Some(1e-8);
    let mut simulation = Simulation::new(scene).unwrap();
    let before = simulation.momentum();
    let (mut pairs, mut size) = (0, 0.0_f64);
    for _ in 0..20 {
        pairs += simulation.step(1.0 / 60.0).unwrap().pairs;
        size = size.max(before.length());
        assert!(simulation.momentum().distance(before) < 1e-4 * size, "{} {before}", simulation.momentum());
    }
    assert!(pairs > 0 && size > 0.0);
}

const THICKNESS: f64 = 0.001;

/// A block at this height above a pinned one.
fn block_on_block(gap: f64) -> Simulation {
    let above = Selection::Plane { point: DVec3::new(0.0, -1.0, 0.0), normal: DVec3::Y };
    let built = Scene::builder().body(block("lower", 0.0)).body(block("upper", 0.1 + gap));
    let mut scene = built.pin(Pin::hard("lower", above)).build().unwrap();
    scene.contact.thickness = Some(THICKNESS);
    Simulation::new(scene).unwrap()
}

fn block(name: &str, y: f64) -> Body {
    let shape = ShapeSource::Box(Cuboid { size: [0.2, 0.1, 0.2], cells: None });
    Body::new(name, shape).solid(0.05).material("rubber").at([0.0, y, 0.0])
}

/// Steps whose end leaves the upper block at the distance of its thickness: 1 cm per second lifts it, from which nothing flies as high as a
/// tenth of the thickness.
fn is_not_thrown(simulation: &mut Simulation, steps: u32, what: &str) {
    let upper = simulation.scene_state().body_ids[1];
    for step in 0..steps {
        let report = simulation.step(1.0 / 120.0).unwrap();
        assert!(report.converged, "{what}, step {step}: {report:?}");
        let heights = simulation.body_positions(upper).unwrap().iter().map(|p| p.y);
        let height = heights.fold(f64::INFINITY, f64::min) - 0.05;
        assert!((0.0..1.1 * THICKNESS).contains(&height), "{what}, step {step}: {height}");
        assert!(step < 59 || height > 0.5 * THICKNESS, "{what}: the thickness keeps it up");
    }
}

#[test]
fn bodies_that_start_almost_touching_are_not_thrown_apart() {
    for gap in [1e-8, 1e-4, 6e-4] {
        is_not_thrown(&mut block_on_block(gap), 60, &format!("gap {gap}"));
    }
}

#[test]
fn bodies_that_start_almost_touching_stay_calm_after_changes_and_restores() {
    let mut simulation = block_on_block(1e-8);
    is_not_thrown(&mut simulation, 2, "first steps");
    let saved = simulation.save();
    let mut resumed = block_on_block(1e-8);
    resumed.restore(&saved).unwrap();
    is_not_thrown(&mut resumed, 3, "resumed");
    is_not_thrown(&mut simulation, 3, "unbroken");
    assert_eq!(simulation.state_hash(), resumed.state_hash());
    simulation.set_solver(Solver { linear: Some(Jacobi.into()), ..Solver::default() }).unwrap();
    is_not_thrown(&mut simulation, 2, "another solver");
    simulation.add_body(&block("far", 5.0)).unwrap();
    is_not_thrown(&mut simulation, 60, "another body");
}

/// Two cloths that intersect like the sheets of a half-open book pushed through each other.
fn crossed(tangled: Tangled) -> Scene {
    let lower = Body::cloth("lower").size([0.5, 0.5]).vertices([9, 9]);
    let mut upper = Body::cloth("upper").size([0.5, 0.5]).vertices([9, 9]).at([0.32, 0.02, 0.01]);
    upper.transform.rotate = DVec3::new(3.0, 0.0, 25.0);
    let mut scene = Scene::builder().body(lower).body(upper).build().unwrap();
    scene.world.gravity = DVec3::ZERO;
    scene.contact.thickness = Some(0.005);
    scene.contact.tangled = tangled;
    scene
}

#[test]
fn a_tangled_start_is_reported_and_separated() {
    let mut simulation = Simulation::new(crossed(Tangled::Push)).unwrap();
    let start = crossings(&triangles(&simulation));
    assert!(start > 0);
    let notes = simulation.notes().join("\n");
    let pairs = if start == 1 { "pair of triangles intersects" } else { "pairs of triangles intersect" };
    assert!(notes.contains(&format!("{start} {pairs} at the start")), "{notes}");
    assert!(notes.contains("`lower` at vertices") && notes.contains("separated gradually"), "{notes}");
    assert_eq!(simulation.step(1.0 / 60.0).unwrap().crossings, Some(start as u32));
    let mut apart = None;
    for step in 0..200 {
        simulation.step(1.0 / 60.0).unwrap();
        if crossings(&triangles(&simulation)) == 0 {
            apart = Some(step);
            break;
        }
    }
    assert!(apart.is_some(), "still {} crossings", crossings(&triangles(&simulation)));
    // Once apart they stay apart.
    for _ in 0..20 {
        simulation.step(1.0 / 60.0).unwrap();
        assert_eq!(crossings(&triangles(&simulation)), 0);
    }
}

#[test]
fn a_body_of_another_material_is_still_tangled() {
    let scene = crossed(Tangled::Ignore);
    let stiffer = scene.bodies[0].clone().material("denim");
    let mut simulation = Simulation::new(scene).unwrap();
    let start = crossings(&triangles(&simulation));
    simulation.step(1.0 / 60.0).unwrap();
    let lower = simulation.body("lower").unwrap();
    simulation.change_body(lower, &stiffer).unwrap();
    assert_eq!(simulation.step(1.0 / 60.0).unwrap().crossings, Some(start as u32), "nothing moves them");
}

#[test]
fn a_tangled_start_may_be_ignored() {
    let mut simulation = Simulation::new(crossed(Tangled::Ignore)).unwrap();
    let start = crossings(&triangles(&simulation));
    assert!(simulation.notes().join("\n").contains("pass through each other"));
    for _ in 0..5 {
        let report = simulation.step(1.0 / 60.0).unwrap();
        assert_eq!(report.crossings, Some(start as u32), "nothing moves them");
    }
    assert_eq!(simulation.first_non_finite(), None);
}

#[test]
fn sheets_that_do_not_touch_do_not_move_each_other() {
    let lower = Body::cloth("lower").size([0.5, 0.5]).vertices([9, 9]);
    let mut upper = Body::cloth("upper").size([0.5, 0.5]).vertices([9, 9]).at([0.0, 0.001, 0.0]);
    upper.velocity = DVec3::new(0.0, 0.5, 0.0);
    let mut scene = Scene::builder().body(lower).body(upper).build().unwrap();
    scene.world.gravity = DVec3::ZERO;
    scene.contact.thickness = Some(0.0009);
    let mut simulation = Simulation::new(scene).unwrap();
    let lower = simulation.scene_state().body_ids[0];
    let start = simulation.body_positions(lower).unwrap().to_vec();
    for _ in 0..5 {
        simulation.step(1.0 / 60.0).unwrap();
    }
    assert_eq!(simulation.body_positions(lower).unwrap(), start);
}
