//! `[[contact.pair]]`: bodies that ignore each other or a collider, and friction of two of them.

use glam::{DVec3, dvec3};
use supple::scene::{Body, Collider, ContactPair, Cuboid, FrictionModel, Method, Model, Scene, ShapeSource};
use supple::simulation::Simulation;

const STEP: f64 = 1.0 / 60.0;
const SIDE: f64 = 0.1;

/// A block of foam whose lower side starts at a height in metres.
fn block(name: &str, height: f64) -> Body {
    let shape = ShapeSource::Box(Cuboid { size: [SIDE; 3], cells: None });
    let body =
        Body::new(name, shape).at([0.0, height + 0.5 * SIDE, 0.0]).solid(0.5 * SIDE).material("rubber");
    Body { model: Some(Model::Corotated), ..body }
}

fn floor() -> Collider {
    Collider::plane("floor", [0.0; 3], [0.0, 1.0, 0.0])
}

fn simulation(mut scene: Scene, method: Method) -> Simulation {
    scene.solver.method = method;
    Simulation::new(scene).unwrap()
}

/// The heights of the lowest points of all bodies after some seconds.
fn fall(simulation: &mut Simulation, seconds: f64) -> Vec<f64> {
    for _ in 0..(seconds / STEP) as u32 {
        simulation.step(STEP).unwrap();
    }
    let ids = simulation.scene_state().body_ids.clone();
    let lowest = |id| {
        let positions = simulation.body_positions(id).unwrap();
        positions.iter().map(|p| p.y).fold(f64::INFINITY, f64::min)
    };
    ids.into_iter().map(lowest).collect()
}

#[test]
fn blocks_that_ignore_each_other_pass_and_both_rest_on_the_floor() {
    for method in [Method::NEWTON, Method::HPBD, Method::OCTREE] {
        for (ignored, expected) in [(true, 0.0), (false, SIDE)] {
            let mut builder =
                Scene::builder().body(block("lower", 2e-3)).body(block("upper", 0.12)).collider(floor());
            if ignored {
                builder = builder.pair(ContactPair::ignore("upper", "lower"));
            }
            let mut simulation = simulation(builder.build().unwrap(), method);
            let heights = fall(&mut simulation, 0.5);
            assert!(heights[0].abs() < 3e-3, "{method:?}: {heights:?}");
            assert!((heights[1] - expected).abs() < 6e-3, "{method:?}, {ignored}: {heights:?}");
            let crossing = simulation.scene_state().surfaces().crossings(simulation.positions());
            assert!(crossing.is_empty() && simulation.notes().is_empty(), "{:?}", simulation.notes());
        }
    }
}

#[test]
fn a_body_falls_through_the_collider_that_it_ignores_and_rests_on_the_next() {
    let shelves = [
        Collider::cuboid("shelf", [0.0, 0.2, 0.0], [0.4, 0.02, 0.4]),
        Collider::sphere("shelf", [0.0, 0.1, 0.0], 0.1),
        Collider::cuboid("shelf", [0.0, 0.2, 0.0], [0.4, 0.02, 0.4]).soft(1e6),
    ];
    for shelf in shelves {
        for method in [Method::NEWTON, Method::HPBD, Method::OCTREE, Method::STAGGERED] {
            let shelf = shelf.clone().in_group("scenery");
            let scene = Scene::builder().body(block("block", 0.22)).collider(shelf).collider(floor());
            let scene = scene.pair(ContactPair::ignore("scenery", "block")).build().unwrap();
            let mut simulation = simulation(scene, method);
            let heights = fall(&mut simulation, 0.5);
            assert!(heights[0].abs() < 3e-3, "{method:?}: {heights:?}");
            assert!(simulation.released().is_empty());
            assert!(!simulation.notes().join("\n").contains("shelf"), "{:?}", simulation.notes());
        }
    }
}

#[test]
fn a_body_that_starts_inside_an_ignored_collider_is_neither_named_nor_pushed_out() {
    let scene = |ignored: bool| {
        let ball = Collider::sphere("ball", [0.0, 0.05, 0.0], 0.06);
        let builder = Scene::builder().gravity(DVec3::ZERO).body(block("block", 0.0)).collider(ball);
        if ignored { builder.pair(ContactPair::ignore("block", "ball")) } else { builder }
    };
    let mut free = simulation(scene(true).build().unwrap(), Method::NEWTON);
    let start = free.positions().to_vec();
    fall(&mut free, 0.1);
    assert!(free.notes().is_empty());
    assert!(free.positions().iter().zip(start).all(|(now, then)| now.distance(then) < 1e-9));
    assert!(!simulation(scene(false).build().unwrap(), Method::NEWTON).notes().is_empty());
}

/// How far a cloth slides in a second on an incline whose friction angle is that of 0.4, with these pairs.
fn slide(ground: Collider, pair: Option<ContactPair>, model: FrictionModel, method: Method) -> f64 {
    let tilt = 0.4_f64.atan();
    let gravity = 9.81 * dvec3(tilt.sin(), -tilt.cos(), 0.0);
    let cloth = Body::cloth("cloth").size([0.2, 0.2]).vertices([3, 3]).at([0.0, 1e-3, 0.0]);
    let mut builder = Scene::builder().gravity(gravity).body(cloth).collider(ground);
    if let Some(pair) = pair {
        builder = builder.pair(pair);
    }
    let mut scene = builder.build().unwrap();
    scene.contact.friction_model = model;
    let mut simulation = simulation(scene, method);
    let before = simulation.positions()[4];
    fall(&mut simulation, 1.0);
    (simulation.positions()[4] - before).x
}

#[test]
fn friction_of_a_pair_decides_whether_a_cloth_slides_on_an_incline() {
    let cases = [
        (FrictionModel::Smooth, Method::NEWTON),
        (FrictionModel::Adhesive, Method::NEWTON),
        (FrictionModel::Impulse, Method::NEWTON),
        (FrictionModel::Smooth, Method::HPBD),
    ];
    for (model, method) in cases {
        for soft in [false, true] {
            // The collider by itself would do the opposite.
            for (pair, collider) in [(0.6, 0.2), (0.2, 0.6)] {
                let ground = floor().friction(collider);
                let ground = if soft { ground.soft(1e7) } else { ground };
                let pair = Some(ContactPair::friction("floor", "cloth", pair));
                let slid = slide(ground, pair, model, method);
                // g (sin α - μ cos α) / 2 = 0.91 m at half the friction of the incline.
                let slides = collider > 0.4;
                let context = format!("{model:?} with {method:?}, soft: {soft}: {slid} m");
                assert!(if slides { slid > 0.8 && slid < 1.0 } else { slid < 0.02 }, "{context}");
            }
        }
    }
}

/// How far a cloth slides in half a second on a pinned sheet that is tilted by the friction angle of 0.4.
fn slide_on_a_body(friction: f64, method: Method) -> f64 {
    let tilt = 0.4_f64.atan();
    let gravity = 9.81 * dvec3(tilt.sin(), -tilt.cos(), 0.0);
    let table = Body::cloth("table").size([2.0, 1.0]).vertices([9, 5]);
    let cloth = Body::cloth("cloth").size([0.2, 0.2]).vertices([4, 4]).at([0.0, 1.1e-3, 0.0]);
    let scene = Scene::builder()
        .gravity(gravity)
        .body(table)
        .body(cloth)
        .pin(supple::scene::Pin::hard("table", supple::scene::Selection::All {}))
        .pair(ContactPair::friction("cloth", "table", friction));
    let mut simulation = simulation(scene.build().unwrap(), method);
    let before = simulation.positions()[45];
    fall(&mut simulation, 0.5);
    (simulation.positions()[45] - before).x
}

#[test]
fn friction_of_two_bodies_is_that_of_their_pair() {
    for method in [Method::NEWTON, Method::HPBD] {
        let [low, high] = [0.2, 0.6].map(|friction| slide_on_a_body(friction, method));
        // g (sin α - μ cos α) t²/2 = 0.23 m, and a little before they touch; the material's 0.4 would hold it at this angle.
        assert!(low > 0.2 && low < 0.27 && high < 0.02, "{method:?}: {low} and {high} m");
    }
}

#[test]
fn a_pair_of_a_body_with_itself_turns_its_self_contact_on_and_off() {
    let strip = |self_contact: bool, pair: Option<ContactPair>| {
        let mut strip: Body = Body::cloth("strip").size([0.4, 0.1]).vertices([9, 3]).into();
        strip.self_contact = Some(self_contact);
        let builder = Scene::builder().body(strip);
        let scene = pair.into_iter().fold(builder, |builder, pair| builder.pair(pair)).build().unwrap();
        let surfaces = Simulation::new(scene).unwrap().scene_state().surfaces();
        !surfaces.triangles.is_empty() && surfaces.may_touch(0, 0)
    };
    assert!(!strip(false, None) && strip(true, None));
    assert!(strip(false, Some(ContactPair::collide("strip", "strip"))));
    assert!(!strip(true, Some(ContactPair::ignore("strip", "strip"))));
}

#[test]
fn the_check_of_a_frame_finds_what_crosses_colliders_unless_ignored_or_released() {
    let shapes = [
        Collider::cuboid("shelf", [0.0, 0.0, 0.0], [0.2, 0.002, 0.2]),
        Collider::sphere("shelf", [0.0, -0.1, 0.0], 0.1),
        Collider::plane("shelf", [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
    ];
    for (number, shelf) in shapes.into_iter().enumerate() {
        let cloth = Body::cloth("cloth").size([0.4, 0.4]).vertices([9, 9]).at([0.0, 2e-3, 0.0]);
        let scene = || Scene::builder().body(cloth.clone()).collider(shelf.clone());
        let free = Simulation::new(scene().build().unwrap()).unwrap();
        let mut check = free.scene_state().collider_check().unwrap();
        assert_eq!(check.find(free.positions(), 0.0, &[]).unwrap(), vec![]);
        // One corner of the cloth goes below: through the edge of the box, into the ball or the plane.
        let tilted = |p: &DVec3| *p + (-2e-3 - 0.1 * (p.x + 0.07)) * DVec3::Y;
        let at: Vec<DVec3> = free.positions().iter().map(tilted).collect();
        let found = check.find(&at, 0.0, &[]).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].triangles.is_empty(), found[0].inside.is_empty()),
            [(false, true), (false, false), (true, false)][number],
            "{number}"
        );
        let all = ("shelf".to_owned(), (0..81).collect());
        assert_eq!(check.find(&at, 0.0, &[all]).unwrap(), vec![]);
        let ignored =
            Simulation::new(scene().pair(ContactPair::ignore("cloth", "shelf")).build().unwrap()).unwrap();
        assert_eq!(ignored.scene_state().collider_check().unwrap().find(&at, 0.0, &[]).unwrap(), vec![]);
    }
}
