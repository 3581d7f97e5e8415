//! Bodies on colliders: they rest, slide, and move along with moving ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use glam::{DMat3, DVec3, dvec3};
use supple::material::{MaterialSpec, StretchStiffness};
use supple::mesh::SurfaceMesh;
use supple::mesh::format::write_obj;
use supple::mesh::generate::{BoxShape, SphereShape};
use supple::output::{Frame, FrameBody, FrameCache, FrameSurface, RunInfo};
use supple::scene::{Body, Collider, Keyframe, Mode, Motion, Region, Scene, Selection, Solver};
use supple::simulation::Simulation;

const GRAVITY: f64 = 9.81;
const DENSITY: f64 = 0.2;

fn sheet() -> MaterialSpec {
    MaterialSpec {
        stretch_stiffness: Some(StretchStiffness::Uniform(1000.0)),
        area_density: Some(DENSITY),
        bend_stiffness: Some(0.0),
        damping: Some(0.0),
        ..MaterialSpec::default()
    }
}

fn precise() -> Solver {
    Solver { tolerance: Some(1e-9), max_iterations: 200, ..Solver::default() }
}

fn save(folder: &Path, name: &str, mesh: &SurfaceMesh) -> PathBuf {
    let path = folder.join(name);
    let mut bytes = Vec::new();
    write_obj(mesh, &mut bytes).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Of soft colliders, in Pa/m.
const STIFFNESS: f64 = 1e7;

/// A box of 4 x 1 x 4 m whose top is the plane y = 0.
fn slab(folder: &Path) -> [Collider; 2] {
    let mut mesh = BoxShape { size: [4.0, 1.0, 4.0], cells: [3, 1, 3] }.surface(1.0).unwrap();
    mesh.positions.iter_mut().for_each(|p| p.y -= 0.5);
    [
        Collider::cuboid("slab", [0.0, -0.5, 0.0], [4.0, 1.0, 4.0]).soft(STIFFNESS),
        Collider::mesh("slab", save(folder, "slab.obj", &mesh)).soft(STIFFNESS),
    ]
}

/// A small cloth on the top of `collider`, at the depth of static equilibrium where the top is tilted by `degrees`
/// about z, so that friction acts from the first step.
fn laid_on(collider: &Collider, degrees: f64) -> (Body, DVec3) {
    let tilt = degrees.to_radians();
    let distance = collider.thickness - DENSITY * GRAVITY * tilt.cos() / STIFFNESS;
    let start = distance * dvec3(tilt.sin(), tilt.cos(), 0.0);
    let cloth = Body::cloth("cloth")
        .size([0.2, 0.2])
        .vertices([3, 3])
        .rotated([0.0, 0.0, -degrees])
        .at(start)
        .material(sheet());
    (cloth, start)
}

fn simulation(body: Body, collider: Collider) -> Simulation {
    let scene = Scene::builder().frames(3).body(body).collider(collider).solver(precise()).build().unwrap();
    Simulation::new(scene).unwrap()
}

#[test]
fn friction_holds_on_tilted_boxes_and_meshes_below_its_angle_and_lets_slide_above() {
    let folder = tempfile::tempdir().unwrap();
    for slab in slab(folder.path()) {
        let slid = |degrees: f64| {
            let tilted = Motion {
                pivot: DVec3::ZERO,
                keyframes: vec![Keyframe::at(0.0).rotate([0.0, 0.0, -degrees])],
            };
            let (cloth, start) = laid_on(&slab, degrees);
            let mut simulation = simulation(cloth, slab.clone().moving(tilted).friction(0.5));
            (0..50).for_each(|_| {
                simulation.step(0.01).unwrap();
            });
            simulation.positions()[4].distance(start)
        };
        // tan 20° = 0.36 < 0.5 sticks: it creeps by less than the speed that counts as rest.
        assert!(slid(20.0) < 5e-4, "{}", slid(20.0));
        // Above the angle a = g (sin α - μ cos α); implicit Euler gives a h² n (n + 1) / 2.
        let acceleration = GRAVITY * (40f64.to_radians().sin() - 0.5 * 40f64.to_radians().cos());
        let expected = acceleration * 1e-4 * 50.0 * 51.0 / 2.0;
        assert!((slid(40.0) / expected - 1.0).abs() < 1e-3, "{} instead of {expected}", slid(40.0));
    }
}

#[test]
fn what_lies_on_a_moving_box_or_mesh_goes_along() {
    let folder = tempfile::tempdir().unwrap();
    for slab in slab(folder.path()) {
        let speed = 0.2;
        let drive = Motion {
            pivot: DVec3::ZERO,
            keyframes: vec![
                Keyframe::at(0.0).translate([0.0; 3]),
                Keyframe::at(1.0).translate([speed, 0.0, 0.0]),
            ],
        };
        let (cloth, start) = laid_on(&slab, 0.0);
        let mut simulation = simulation(cloth, slab.moving(drive).friction(0.8));
        (0..50).for_each(|_| {
            simulation.step(0.02).unwrap();
        });
        let moved = simulation.positions()[4] - start;
        // Friction accelerates it within v / (μ g), in which it falls behind by v² / (2 μ g).
        let behind = speed - moved.x;
        assert!(
            behind > 0.0 && behind < speed * speed / (2.0 * 0.8 * GRAVITY) + 2.0 * 0.02 * speed,
            "{behind}"
        );
        assert!(moved.y.abs() < 1e-6 && moved.z.abs() < 1e-6);
    }
}

#[test]
fn a_cloth_dropped_on_a_mesh_of_a_ball_ends_like_on_the_ball() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = SphereShape { radius: 0.3, cells: 16 }.surface(1.0).unwrap();
    let balls = [
        Collider::sphere("ball", [0.0; 3], 0.3),
        Collider::mesh("ball", save(folder.path(), "ball.obj", &mesh)),
    ];
    let [a, b] = balls.map(|ball| {
        let cloth =
            Body::cloth("cloth").size([0.3, 0.3]).vertices([7, 7]).at([0.0, 0.31, 0.0]).material(sheet());
        let mut simulation = simulation(cloth, ball.friction(0.9));
        (0..20).for_each(|_| {
            simulation.step(0.01).unwrap();
        });
        simulation.positions().to_vec()
    });
    let apart = a.iter().zip(&b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(apart < 5e-3, "{apart}");
}

/// A run of `frames` frames at 10 per second in which a square of 2 m rises by 1 cm per frame.
fn lift(folder: &Path, frames: u32) {
    let corners = [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]].map(|[x, z]| dvec3(x, 0.0, z));
    let mesh = SurfaceMesh::from_triangles(corners.to_vec(), &[[0, 1, 2], [0, 2, 3]]);
    let surface = Arc::new(FrameSurface { name: "lift".into(), mesh, file_from_world: DMat3::IDENTITY });
    let mut cache = FrameCache::create(
        folder,
        RunInfo { scene: "lift".into(), fps: 10.0, simd: Default::default() },
        false,
    )
    .unwrap();
    for index in 0..frames {
        let up = dvec3(0.0, 0.01 * f64::from(index), 0.0);
        let positions = corners.iter().map(|p| (*p + up).as_vec3()).collect();
        let bodies = vec![FrameBody { surface: surface.clone(), positions, contact: None }];
        cache.write(&Frame { index, time: f64::from(index) / 10.0, bodies }).unwrap();
    }
}

#[test]
fn a_finished_run_lifts_what_lies_on_it() {
    let folder = tempfile::tempdir().unwrap();
    lift(folder.path(), 11);
    let lift = Collider { thickness: 0.01, ..Collider::mesh("lift", folder.path()).soft(STIFFNESS) };
    let (cloth, start) = laid_on(&lift, 0.0);
    let scene = Scene::builder().fps(10.0).frames(10).body(cloth).collider(lift).solver(precise());
    let mut simulation = Simulation::new(scene.build().unwrap()).unwrap();
    (0..50).for_each(|_| {
        simulation.step(0.02).unwrap();
    });
    for p in simulation.positions() {
        assert!((p.y - start.y - 0.1).abs() < 1e-4, "{}", p.y - start.y);
    }
}

#[test]
fn a_run_with_too_few_frames_is_refused_before_anything_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    lift(folder.path(), 4);
    let cloth = Body::cloth("cloth").size([0.2, 0.2]).vertices([3, 3]);
    let scene =
        Scene::builder().fps(10.0).frames(10).body(cloth).collider(Collider::mesh("lift", folder.path()));
    let problem = Simulation::new(scene.build().unwrap()).err().expect("0.3 s of 1 s").to_string();
    assert!(problem.contains("collider `lift`") && problem.contains("needs 1.0000 s"), "{problem}");
}

#[test]
fn a_region_may_be_slippery() {
    let moved = |friction: f64| {
        let tilted =
            Motion { keyframes: vec![Keyframe::at(0.0).rotate([0.0, 0.0, -20.0])], ..Motion::default() };
        let slab = Collider::cuboid("slab", [0.0, -0.5, 0.0], [4.0, 1.0, 4.0]).moving(tilted);
        let (cloth, start) = laid_on(&slab, 20.0);
        let everywhere = Selection::Plane { point: DVec3::splat(-10.0), normal: DVec3::ONE };
        let material = MaterialSpec { friction: Some(friction), ..sheet() };
        let region = Region { selection: everywhere, material: Some(material), random: None };
        let mut simulation = simulation(Body { regions: vec![region], ..cloth }, slab);
        for _ in 0..50 {
            simulation.step(0.01).unwrap();
        }
        simulation.positions()[4].distance(start)
    };
    // tan 20° = 0.36.
    assert!(moved(0.8) < 0.01 && moved(0.0) > 0.3, "{} {}", moved(0.8), moved(0.0));
}

#[test]
fn quasi_statics_lays_a_falling_cloth_on_what_is_below_it() {
    let cloth = Body::cloth("cloth").size([0.3, 0.3]).vertices([7, 7]).at([0.0, 0.8, 0.0]).material(sheet());
    let ground = Collider::plane("ground", [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]).friction(0.5);
    let solver = Solver { tolerance: Some(1e-6), ..precise() };
    let mut scene = Scene::builder().body(cloth).collider(ground).solver(solver).build().unwrap();
    scene.time.mode = Mode::Quasistatic;
    let mut simulation = Simulation::new(scene).unwrap();
    let report = simulation.step(0.02).unwrap();
    assert!(report.converged, "{report:?}");
    assert!(simulation.positions().iter().all(|p| p.y.abs() < 0.01), "{:?}", simulation.positions());
}

#[test]
fn bits_on_a_mesh_do_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = SphereShape { radius: 0.3, cells: 8 }.surface(1.0).unwrap();
    let path = save(folder.path(), "ball.obj", &mesh);
    let hash = |threads| {
        let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let cloth = Body::cloth("cloth")
                .size([0.4, 0.4])
                .vertices([20, 20])
                .at([0.0, 0.302, 0.0])
                .material(sheet());
            let mut simulation = simulation(cloth, Collider::mesh("ball", &path).friction(0.3));
            (0..5).for_each(|_| {
                simulation.step(0.02).unwrap();
            });
            simulation.state_hash()
        })
    };
    assert_eq!(hash(1), hash(3));
}

#[test]
fn what_rests_on_an_open_mesh_does_not_fall_through_it_in_long_steps() {
    let folder = tempfile::tempdir().unwrap();
    let corners = [[-5.0, 0.0, -5.0], [5.0, 0.0, -5.0], [5.0, 0.0, 5.0], [-5.0, 0.0, 5.0]].map(DVec3::from);
    let floor = SurfaceMesh::from_triangles(corners.to_vec(), &[[0, 2, 1], [0, 3, 2]]);
    let collider = Collider::mesh("floor", save(folder.path(), "floor.obj", &floor));
    // The fall of one step of 1/30 s is ten times the thickness of the shell, also where the cloth comes from above.
    for lifted in [0.0, 0.3] {
        let (cloth, start) = laid_on(&collider, 0.0);
        let cloth = cloth.at(start + lifted * DVec3::Y);
        let scene =
            Scene::builder().body(cloth).collider(collider.clone()).solver(precise()).build().unwrap();
        let mut simulation = Simulation::new(scene).unwrap();
        for _ in 0..40 {
            simulation.step(1.0 / 30.0).unwrap();
        }
        let lowest = simulation.positions().iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
        assert!(lowest > 0.0, "lifted by {lifted}: {lowest}");
    }
}
