//! Boundaries sewn together hang, stretch and touch as one piece of cloth.

use glam::DVec3;
use supple::scene::{Body, Model, Pin, Scene, SceneBuilder, Seam, Selection};
use supple::simulation::Simulation;

const HALF: f64 = 0.25;

/// A cloth whose right or left side is at x = 0.
fn half(name: &str, side: f64, across: u32) -> Body {
    let mut body =
        Body::cloth(name).size([HALF, 0.2]).vertices([9, across]).at([0.5 * side * HALF, 0.0, 0.0]);
    body.model = Some(Model::Corotated);
    body
}

fn edge_at(x: f64) -> Selection {
    Selection::Box { min: DVec3::new(x, -1.0, -1.0), max: DVec3::new(x, 1.0, 1.0) }
}

fn sewn() -> Seam {
    Seam::new(("left", edge_at(0.0)), ("right", edge_at(0.0)))
}

fn held(body: &str, x: f64) -> Pin {
    Pin::hard(body, edge_at(x))
}

fn built(builder: SceneBuilder, seams: Vec<Seam>) -> Scene {
    let mut scene = builder.build().unwrap();
    scene.seams = seams;
    scene.solver.tolerance = Some(1e-6);
    scene.solver.max_iterations = 200;
    scene
}

fn halves(across: [u32; 2]) -> Scene {
    let builder = Scene::builder().body(half("left", -1.0, across[0])).body(half("right", 1.0, across[1]));
    built(builder.pin(held("left", -HALF)), vec![sewn()])
}

/// Positions of the seam of both bodies: sorted along z.
fn seam_points(simulation: &Simulation, body: &str) -> Vec<DVec3> {
    let scene_state = simulation.scene_state();
    let index = scene_state.bodies.iter().position(|b| b.name == body).unwrap();
    let now = simulation.body_positions(scene_state.body_ids[index]).unwrap();
    let start = &scene_state.bodies[index].surface_start;
    let mut on_seam: Vec<(f64, DVec3)> =
        start.iter().zip(now).filter(|(s, _)| s.x.abs() < 1e-9).map(|(s, n)| (s.z, *n)).collect();
    on_seam.sort_by(|a, b| a.0.total_cmp(&b.0));
    on_seam.into_iter().map(|(_, p)| p).collect()
}

fn run(scene: Scene, steps: u32) -> Simulation {
    let mut simulation = Simulation::new(scene).unwrap();
    for _ in 0..steps {
        simulation.step(0.01).unwrap();
    }
    simulation
}

#[test]
fn two_sewn_halves_hang_as_the_whole_does() {
    let sewn = run(halves([7, 7]), 40);
    let mut whole = Body::from(Body::cloth("whole").size([2.0 * HALF, 0.2]).vertices([17, 7]));
    whole.model = Some(Model::Corotated);
    let whole = run(built(Scene::builder().body(whole).pin(held("whole", -HALF)), Vec::new()), 40);
    let lowest = |s: &Simulation| s.positions().iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
    assert!(lowest(&whole) < -0.2, "it falls: {}", lowest(&whole));
    // The seam is a hinge: only its bending stiffness, which a cloth hardly has, is missing.
    let off = (lowest(&sewn) - lowest(&whole)).abs();
    assert!(off < 0.05 * lowest(&whole).abs(), "{} {}", lowest(&sewn), lowest(&whole));
    // Stitches are twenty times as stiff as cloth over an edge: gaps are a twentieth of what an edge is stretched by.
    let (left, right) = (seam_points(&sewn, "left"), seam_points(&sewn, "right"));
    let widest = left.iter().zip(&right).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    let edge = HALF / 8.0;
    assert!(left.len() == 7 && widest < 0.01 * edge, "{widest} of {edge}");
}

#[test]
fn boundaries_with_other_numbers_of_vertices_stay_together() {
    for across in [[7, 11], [11, 7]] {
        let sewn = run(halves(across), 25);
        let (left, right) = (seam_points(&sewn, "left"), seam_points(&sewn, "right"));
        // Ends are sewn to ends; the vertices between them are on the other side's edges.
        for (a, b) in [(left[0], right[0]), (left[left.len() - 1], right[right.len() - 1])] {
            assert!(a.distance(b) < 3e-4, "{}", a.distance(b));
        }
        let (fine, coarse) = if left.len() > right.len() { (left, right) } else { (right, left) };
        let to_segment = |p: DVec3, a: DVec3, b: DVec3| {
            let t = ((p - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0);
            p.distance(a + t * (b - a))
        };
        for p in fine {
            let off = coarse.windows(2).map(|e| to_segment(p, e[0], e[1])).fold(f64::INFINITY, f64::min);
            assert!(off < 3e-4, "{off}");
        }
    }
}

#[test]
fn a_seam_that_closes_draws_its_sides_together_evenly() {
    let apart = half("right", 1.0, 7).at([0.5 * HALF, 0.0, 0.1]);
    let builder = Scene::builder().body(half("left", -1.0, 7)).body(apart).gravity([0.0; 3]);
    let seam = sewn().closing(0.3);
    let mut simulation = Simulation::new(built(builder, vec![seam])).unwrap();
    let gap = |s: &Simulation| {
        let (left, right) = (seam_points(s, "left"), seam_points(s, "right"));
        left.iter().zip(&right).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
    };
    for step in 1..=40 {
        simulation.step(0.01).unwrap();
        let left = (1.0 - f64::from(step) / 30.0).max(0.0);
        assert!((gap(&simulation) - 0.1 * left).abs() < 0.005, "{step}: {}", gap(&simulation));
    }
}

#[test]
fn what_is_sewn_does_not_push_itself_apart_and_crosses_nothing() {
    let mut scene = halves([7, 7]);
    scene.bodies.iter_mut().for_each(|body| body.self_contact = Some(true));
    scene.contact.thickness = Some(0.005);
    let mut simulation = Simulation::new(scene).unwrap();
    let first = simulation.step(0.01).unwrap();
    assert_eq!(
        (first.pairs, first.crossings),
        (0, Some(0)),
        "at the start only sewn pieces are near each other"
    );
    let surfaces = simulation.scene_state().surfaces();
    for _ in 0..30 {
        simulation.step(0.01).unwrap();
        assert_eq!(surfaces.crossings(simulation.positions()), Vec::<[u32; 2]>::new());
    }
    let (left, right) = (seam_points(&simulation, "left"), seam_points(&simulation, "right"));
    assert!(left.iter().zip(&right).all(|(a, b)| a.distance(*b) < 3e-4));
}

#[test]
fn a_tube_is_sewn_to_a_tube_whatever_vertex_each_begins_with() {
    let tube = |name: &str, y: f64, turn: f64| {
        let shape = supple::mesh::generate::CylinderShape {
            radius: 0.1,
            height: 0.2,
            segments: 16,
            rings: 4,
            closed: false,
        };
        let mut body = Body::new(name, supple::scene::ShapeSource::Cylinder(shape)).at([0.0, y, 0.0]);
        body.transform.rotate = DVec3::new(0.0, turn, 0.0);
        body.model = Some(Model::Corotated);
        body
    };
    let at = |y: f64| Selection::Box { min: DVec3::new(-1.0, y, -1.0), max: DVec3::new(1.0, y, 1.0) };
    let builder = Scene::builder().body(tube("upper", 0.1, 0.0)).body(tube("lower", -0.1, 90.0));
    let seam = Seam::new(("upper", at(0.0)), ("lower", at(0.0)));
    let simulation = run(built(builder.gravity([0.0; 3]), vec![seam]), 3);
    let moved =
        simulation.scene_state().bodies.iter().flat_map(|b| &b.surface_start).zip(simulation.positions());
    let farthest = moved.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(farthest < 1e-9, "they coincide already: {farthest}");
}

#[test]
fn bits_are_the_same_for_any_number_of_threads_and_from_a_saved_state() {
    let scene = || {
        let mut scene = halves([7, 9]);
        scene.bodies.iter_mut().for_each(|body| body.self_contact = Some(true));
        scene.seams[0].closes = 0.05;
        scene.solver.linear = Some(supple::scene::LinearKind::Mas.into());
        scene
    };
    let hashes = |simulation: &mut Simulation, steps: u32| -> Vec<u64> {
        (0..steps).map(|_| simulation.step(0.01).map(|_| simulation.state_hash()).unwrap()).collect()
    };
    let with_threads = |threads: usize| {
        let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| hashes(&mut Simulation::new(scene()).unwrap(), 6))
    };
    let one = with_threads(1);
    assert_eq!(one, with_threads(2));
    assert_eq!(one, with_threads(3));
    let mut broken = Simulation::new(scene()).unwrap();
    hashes(&mut broken, 3);
    let mut resumed = Simulation::new(scene()).unwrap();
    resumed.restore(&broken.save()).unwrap();
    assert_eq!(hashes(&mut resumed, 3), one[3..]);
}

#[test]
fn seams_that_join_nothing_are_refused_with_what_they_picked() {
    let refused = |seam: Seam, bodies: [Body; 2]| {
        let [a, b] = bodies;
        let scene = built(Scene::builder().body(a).body(b), vec![seam]);
        Simulation::new(scene).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let cloths = || [half("left", -1.0, 7), half("right", 1.0, 7)];
    let both = Selection::Any(vec![edge_at(-HALF), edge_at(0.0)]);
    let error = refused(Seam::new(("left", both), ("right", edge_at(0.0))), cloths());
    assert!(error.contains("2 pieces of the boundary of body `left`"), "{error}");
    let error = refused(Seam::new(("left", Selection::BoundaryLoop(0)), ("right", edge_at(0.0))), cloths());
    assert!(error.contains("joins a closed loop to a piece with two ends"), "{error}");
    let middle = Selection::Sphere { center: DVec3::new(-0.5 * HALF, 0.0, 0.0), radius: 0.04 };
    let error = refused(Seam::new(("left", middle), ("right", edge_at(0.0))), cloths());
    assert!(error.contains("no edge of the boundary of body `left`"), "{error}");
    let solid = Body::new(
        "right",
        supple::scene::ShapeSource::Sphere(supple::mesh::generate::SphereShape { radius: 0.1, cells: 2 }),
    );
    let error = refused(sewn(), [half("left", -1.0, 7), solid.solid(0.05)]);
    assert!(error.contains("body `right` is a solid"), "{error}");
}

#[test]
fn a_boundary_path_goes_the_shorter_way_or_past_the_points_between() {
    let simulation =
        Simulation::new(built(Scene::builder().body(half("left", -1.0, 7)), Vec::new())).unwrap();
    let body = &simulation.scene_state().bodies[0];
    let points = supple::scene::SelectionPoints {
        body: "left",
        positions: &body.surface_start,
        surface: Some(&body.surface.mesh),
        inside: None,
    };
    let corner = |x: f64, z: f64| DVec3::new(x * HALF, 0.0, 0.1 * z);
    let picked = |path: Vec<DVec3>| Selection::BoundaryPath(path).evaluate(&points).unwrap().len();
    assert_eq!(picked(vec![corner(0.0, -1.0), corner(0.0, 1.0)]), 7);
    assert_eq!(picked(vec![corner(0.0, -1.0), corner(-1.0, 0.0), corner(0.0, 1.0)]), 9 + 7 + 9 - 2);
    assert!(Selection::BoundaryPath(vec![DVec3::ZERO]).evaluate(&points).is_err());
}
