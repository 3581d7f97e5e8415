//! Flesh on octrees that collides with itself and other bodies, by the springs that push back penetrations: checked by winding numbers.

use std::path::Path;

use glam::DVec3;
use supple::material::MaterialSpec;
use supple::scene::{Body, Keyframe, Method, Motion, Pin, Scene, Selection, Shape, ShapeSource, World};
use supple::simulation::Simulation;
use supple::solvers::octree::{self, SelfCollisionModel};

/// The side of the cubes that bodies consist of, in metres.
const CUBE: f64 = 0.0125;

fn flesh(friction: f64) -> MaterialSpec {
    MaterialSpec {
        young_modulus: Some(2e4),
        poisson_ratio: Some(0.4),
        density: Some(1000.0),
        damping: Some(0.02),
        friction: Some(friction),
        ..MaterialSpec::default()
    }
}

/// Writes the surface of some cubes `[x, y, z]` of a grid as a mesh without coincident vertices.
fn write_cubes(path: &Path, size: [i32; 3], is_full: impl Fn([i32; 3]) -> bool) {
    let full = |c: [i32; 3]| (0..3).all(|k| (0..size[k]).contains(&c[k])) && is_full(c);
    let (mut places, mut text, mut faces) = (std::collections::HashMap::new(), String::new(), String::new());
    let mut vertex = |p: [i32; 3]| {
        let next = places.len() + 1;
        *places.entry(p).or_insert_with(|| {
            let [x, y, z] = p.map(|c| f64::from(c) * CUBE);
            text += &format!("v {x} {y} {z}\n");
            next
        })
    };
    for x in 0..size[0] {
        for y in 0..size[1] {
            for z in 0..size[2] {
                for (axis, side) in (0..3).flat_map(|axis| [(axis, 0), (axis, 1)]) {
                    let cube = [x, y, z];
                    let mut next = cube;
                    next[axis] += 2 * side - 1;
                    if !full(cube) || full(next) {
                        continue;
                    }
                    let corner = |u: i32, v: i32| {
                        let mut p = cube;
                        p[axis] += side;
                        p[(axis + 1) % 3] += u;
                        p[(axis + 2) % 3] += v;
                        p
                    };
                    let mut quad = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)].map(&mut vertex);
                    if side == 0 {
                        quad.reverse();
                    }
                    let [a, b, c, d] = quad;
                    faces += &format!("f {a} {b} {c} {d}\n");
                }
            }
        }
    }
    std::fs::write(path, text + &faces).unwrap();
}

/// Two fingers on a palm, 4 cubes thick and 4 apart, that pins at their tips press into each other: at the pins' targets they
/// would overlap by 4 cubes.
fn fingers(folder: &Path, collision: SelfCollisionModel) -> Scene {
    let path = folder.join("fingers.obj");
    write_cubes(&path, [12, 24, 6], |[x, y, _]| y < 6 || !(4..8).contains(&x));
    let mut body = Body::new("fingers", Shape::new(ShapeSource::File(path))).material(flesh(0.2));
    body.cell = Some(CUBE);
    body.self_contact = Some(true);
    let tip = |low: f64| Selection::Box {
        min: DVec3::new((low + 1.0) * CUBE, 20.0 * CUBE, -1.0),
        max: DVec3::new((low + 3.0) * CUBE, 1.0, 1.0),
    };
    let towards = |way: f64| Motion {
        keyframes: vec![Keyframe::at(0.0), Keyframe::at(0.4).translate([4.0 * CUBE * way, 0.0, 0.0])],
        ..Motion::default()
    };
    let palm = Selection::Plane { point: DVec3::new(0.0, CUBE, 0.0), normal: -DVec3::Y };
    let mut scene = Scene::builder()
        .body(body)
        .pin(Pin::hard("fingers", palm))
        .pin(Pin::soft("fingers", tip(0.0), 0.5).following(towards(1.0)))
        .pin(Pin::soft("fingers", tip(8.0), 0.5).following(towards(-1.0)))
        .build()
        .unwrap();
    scene.world = World { gravity: DVec3::ZERO, ..World::default() };
    scene.contact.thickness = Some(0.003);
    scene.solver.method = Method::OCTREE;
    scene.solver.tolerance = Some(1e-3);
    scene.solver.options.get_mut::<octree::OctreeOptions>().self_collision = collision;
    scene
}

/// The largest number of consecutive steps that a vertex was inside another part, and how many are at the end.
fn longest_inside(simulation: &mut Simulation, steps: u32) -> (u32, usize) {
    let check = simulation.scene_state().inside_check();
    let mut since = vec![0; simulation.positions().len()];
    let (mut longest, mut last) = (0, 0);
    for _ in 0..steps {
        simulation.step(1.0 / 30.0).unwrap();
        let found = check.find(simulation.positions());
        for (v, since) in (0u32..).zip(&mut since) {
            *since = if found.contains(&v) { *since + 1 } else { 0 };
            longest = longest.max(*since);
        }
        last = found.len();
    }
    (longest, last)
}

/// The smallest distance between the two fingers along x at their tips, from the initial vertices on their inner sides.
fn gap(simulation: &Simulation) -> f64 {
    let start = &simulation.scene_state().bodies[0].surface_start;
    let inner = |x: f64| {
        let own = start.iter().zip(simulation.positions());
        let own = own.filter(move |(s, _)| (s.x - x * CUBE).abs() < 1e-6 && s.y > 23.9 * CUBE);
        own.map(|(_, p)| p.x)
    };
    inner(8.0).fold(f64::INFINITY, f64::min) - inner(4.0).fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn fingers_of_one_body_pressed_into_each_other_come_to_rest_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut simulation = Simulation::new(fingers(folder.path(), SelfCollisionModel::Intersection)).unwrap();
    let (longest, last) = longest_inside(&mut simulation, 24);
    assert!(longest <= 3 && last == 0, "inside for {longest} steps, {last} at the end");
    // They touch; rotated against each other, one may extend past the farthest point of the other, by the thickness at most.
    let gap = gap(&simulation);
    assert!((-0.003..0.006).contains(&gap), "they touch: {gap}");
    // Without contact they cross by far.
    let mut scene = fingers(folder.path(), SelfCollisionModel::Intersection);
    scene.bodies[0].self_contact = Some(false);
    let mut free = Simulation::new(scene).unwrap();
    for _ in 0..24 {
        free.step(1.0 / 30.0).unwrap();
    }
    assert!(self::gap(&free) < -0.01, "{}", self::gap(&free));
}

/// Two bars that start 2 cm deep in each other, crosswise, without pins.
fn tangled(folder: &Path) -> Scene {
    let path = folder.join("bar.obj");
    write_cubes(&path, [16, 6, 6], |_| true);
    let bar = |name: &str| {
        let mut body = Body::new(name, Shape::new(ShapeSource::File(path.clone()))).material(flesh(0.0));
        body.cell = Some(CUBE);
        body
    };
    let mut upper = bar("upper").at([0.0537, 0.0553, 0.0471]);
    upper.transform.rotate = DVec3::new(0.0, 37.0, 0.0);
    let mut scene = Scene::builder().body(bar("lower")).body(upper).build().unwrap();
    scene.world = World { gravity: DVec3::ZERO, ..World::default() };
    scene.contact.thickness = Some(0.002);
    scene.solver.method = Method::OCTREE;
    scene.solver.tolerance = Some(1e-3);
    scene.solver.options.get_mut::<octree::OctreeOptions>().self_collision = SelfCollisionModel::Intersection;
    scene
}

#[test]
fn bodies_that_start_in_each_other_are_pushed_apart_and_keep_their_momentum() {
    let folder = tempfile::tempdir().unwrap();
    let mut simulation = Simulation::new(tangled(folder.path())).unwrap();
    let check = simulation.scene_state().inside_check();
    assert!(check.find(simulation.positions()).len() > 20);
    let middle = |simulation: &Simulation| -> [DVec3; 2] {
        let half = simulation.positions().len() / 2;
        let (lower, upper) = simulation.positions().split_at(half);
        [lower, upper].map(|points| points.iter().sum::<DVec3>() / half as f64)
    };
    let before = middle(&simulation);
    let (_, last) = longest_inside(&mut simulation, 6);
    assert_eq!(last, 0);
    let after = middle(&simulation);
    let [down, up] = [0, 1].map(|body| (after[body] - before[body]).y);
    // The bars are equal: one goes up as far as the other goes down.
    assert!(up > 0.0 && (up + down).abs() < 0.05 * up, "{down} {up}");
}

#[test]
fn pushing_back_is_bit_identical_for_any_number_of_threads_and_from_a_saved_state() {
    let folder = tempfile::tempdir().unwrap();
    let scene = fingers(folder.path(), SelfCollisionModel::Intersection);
    let hashes = |threads: usize| {
        let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut simulation = Simulation::new(scene.clone()).unwrap();
            let mut pushed = 0;
            let mut saved = None;
            let mut hashes = Vec::new();
            for step in 0..12 {
                if step == 9 {
                    saved = Some(simulation.save());
                }
                pushed = simulation.step(1.0 / 30.0).unwrap().pairs;
                hashes.push(simulation.state_hash());
            }
            assert!(pushed > 0, "they must touch by now");
            let mut resumed = Simulation::new(scene.clone()).unwrap();
            resumed.restore(&saved.unwrap()).unwrap();
            for hash in &hashes[9..] {
                resumed.step(1.0 / 30.0).unwrap();
                assert_eq!(resumed.state_hash(), *hash);
            }
            hashes
        })
    };
    let one = hashes(1);
    assert_eq!(one, hashes(2));
    assert_eq!(one, hashes(3));
}
