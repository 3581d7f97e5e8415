//! Starts that are not clean: what is inside colliders or crosses is named, comes out slowly, and stays out.

use std::collections::BTreeMap;

use glam::{DQuat, DVec3, dvec3};
use supple::mesh::SurfaceMesh;
use supple::mesh::format::write_obj;
use supple::mesh::generate::SphereShape;
use supple::mesh::geometry::{TriangleTree, WindingNumber};
use supple::mesh::implicit::{self, ImplicitShape};
use supple::scene::{Body, Collider, Keyframe, Method, Motion, Pin, Scene, Selection};
use supple::simulation::{Simulation, untangle};

const STEP: f64 = 1.0 / 30.0;
/// The stated bound of the speed at which things are pushed out, in m/s.
const BOUND: f64 = 0.3;

/// A grid of `n` by `n` vertices with sides of `size`, at heights that depend on the place.
fn grid(n: u32, size: f64, height: impl Fn(f64, f64) -> f64) -> SurfaceMesh {
    let along = |i: u32| size * (f64::from(i) / f64::from(n - 1) - 0.5);
    let positions = (0..n * n).map(|k| {
        let (x, z) = (along(k % n), along(k / n));
        dvec3(x, height(x, z), z)
    });
    let corners = (0..n * (n - 1)).filter(|k| k % n + 1 < n);
    let triangles = corners.flat_map(|k| [[k, k + n, k + 1], [k + 1, k + n, k + n + 1]]);
    SurfaceMesh::from_triangles(positions.collect(), &triangles.collect::<Vec<_>>())
}

fn cloth(mesh: SurfaceMesh) -> Body {
    Body::from_mesh("cloth", mesh).material("cotton")
}

fn weightless(body: Body, collider: Collider) -> Simulation {
    Simulation::new(Scene::builder().gravity(DVec3::ZERO).body(body).collider(collider).build().unwrap())
        .unwrap()
}

fn make_steps(simulation: &mut Simulation, count: u32) {
    for _ in 0..count {
        simulation.step(STEP).unwrap();
    }
}

/// The signed distance of a shape, in metres.
type Distance = fn(DVec3) -> f64;

/// Distances from a ball of 0.3 m about the origin, and from a box with that half height.
fn ball(p: DVec3) -> f64 {
    p.length() - 0.3
}

fn cuboid(p: DVec3) -> f64 {
    (p.abs() - DVec3::splat(0.3)).max_element()
}

#[test]
fn what_starts_inside_a_collider_is_named_and_comes_out_no_faster_than_stated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ball.obj");
    let mut bytes = Vec::new();
    write_obj(&SphereShape { radius: 0.3, cells: 16 }.surface(1.0).unwrap(), &mut bytes).unwrap();
    std::fs::write(&path, bytes).unwrap();
    // Flat faces of a mesh are inside the ball by up to a millimetre or two.
    let cases: [(Collider, Distance, f64); 3] = [
        (Collider::sphere("obstacle", DVec3::ZERO, 0.3), ball, 0.0),
        (Collider::cuboid("obstacle", DVec3::ZERO, DVec3::splat(0.6)), cuboid, 0.0),
        (Collider::mesh("obstacle", path), ball, 6e-3),
    ];
    for (collider, distance, flat) in cases {
        let mut simulation = weightless(cloth(grid(13, 0.3, |_, _| 0.28)), collider);
        let inside = simulation.positions().iter().filter(|p| distance(**p) < 0.0).count();
        let deepest = simulation.positions().iter().map(|p| -distance(*p)).fold(0.0, f64::max);
        let notes = simulation.notes().join("\n");
        assert!(inside > 20 && notes.contains("of `cloth` are inside `obstacle`, up to"), "{notes}");
        if flat == 0.0 {
            let expected =
                format!("{inside} vertices of `cloth` are inside `obstacle`, up to {:.0} mm", 1e3 * deepest);
            assert!(notes.contains(&expected), "{notes}; expected {expected}");
        }
        for _ in 0..30 {
            let before = simulation.positions().to_vec();
            simulation.step(STEP).unwrap();
            // Of what is pulled out: the rest swings freely.
            let pairs = before.iter().zip(simulation.positions()).filter(|(p, _)| distance(**p) < 0.0);
            let farthest = pairs.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            assert!(farthest <= BOUND * STEP, "{farthest}");
        }
        let nearest = simulation.positions().iter().map(|p| distance(*p)).fold(f64::INFINITY, f64::min);
        assert!(nearest > -flat, "{nearest}");
        assert_eq!(simulation.notes(), Vec::<String>::new());
    }
}

#[test]
fn position_based_steps_name_what_starts_inside_and_bring_it_out() {
    let mut scene = Scene::builder()
        .gravity(DVec3::ZERO)
        .body(cloth(grid(13, 0.3, |_, _| 0.28)))
        .collider(Collider::sphere("obstacle", DVec3::ZERO, 0.3))
        .build()
        .unwrap();
    scene.solver.method = Method::HPBD;
    let mut simulation = Simulation::new(scene).unwrap();
    let notes = simulation.notes().join("\n");
    assert!(notes.contains("of `cloth` are inside `obstacle`, up to 20 mm"), "{notes}");
    make_steps(&mut simulation, 15);
    assert!(simulation.positions().iter().all(|p| ball(*p) > 0.0));
    assert_eq!(simulation.notes(), Vec::<String>::new());
}

/// The vertices on the boundary of a mesh, loop by loop.
fn openings(triangles: &[[u32; 3]]) -> Vec<Vec<u32>> {
    let edges: Vec<[u32; 2]> =
        triangles.iter().flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]]).collect();
    let single = |[a, b]: &&[u32; 2]| !edges.contains(&[*b, *a]);
    let mut left: BTreeMap<u32, u32> = edges.iter().filter(single).map(|[a, b]| (*a, *b)).collect();
    let mut loops = Vec::new();
    while let Some((&first, _)) = left.first_key_value() {
        loops.push(std::iter::successors(Some(first), |v| left.remove(v).filter(|w| *w != first)).collect());
        left.remove(&first);
    }
    loops
}

/// How often a closed polygon winds around a line along an axis through a point.
fn turns(polygon: impl Iterator<Item = DVec3> + Clone, axis: DVec3, through: DVec3) -> f64 {
    let across = axis.any_orthonormal_vector();
    let angle = |p: DVec3| (p - through).dot(axis.cross(across)).atan2((p - through).dot(across));
    let next = polygon.clone().skip(1).chain(polygon.clone().take(1));
    let turn = |(a, b): (DVec3, DVec3)| {
        let by = angle(b) - angle(a);
        (by + std::f64::consts::PI).rem_euclid(std::f64::consts::TAU) - std::f64::consts::PI
    };
    polygon.zip(next).map(turn).sum::<f64>() / std::f64::consts::TAU
}

#[test]
fn a_shirt_that_starts_inside_a_figure_comes_out_around_its_limbs() {
    let limb = |from: [f64; 3], to: [f64; 3], radius: f64| ImplicitShape::Capsule {
        from: from.into(),
        to: to.into(),
        radii: [radius; 2],
    };
    // Chest and arms; the shirt is 10 mm larger, and open at the neck, the hem and both sleeves.
    let figure = |more: f64| ImplicitShape::Union {
        of: vec![
            limb([0.0, -0.3, 0.0], [0.0, 0.3, 0.0], 0.11 + more),
            limb([-0.45, 0.1, 0.0], [0.45, 0.1, 0.0], 0.05 + more),
        ],
        blend: 0.03,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("figure.obj");
    let mut bytes = Vec::new();
    let body = implicit::surface(&figure(0.0), 0.035).unwrap();
    write_obj(&body, &mut bytes).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let whole = implicit::surface(&figure(0.01), 0.035).unwrap();
    let is_kept = |t: &[u32; 3]| {
        t.iter().all(|v| {
            let p = whole.positions[*v as usize];
            p.x.abs() < 0.32 && p.y.abs() < 0.24
        })
    };
    let kept: Vec<[u32; 3]> = whole.triangles().into_iter().filter(is_kept).collect();
    let mut used = kept.as_flattened().to_vec();
    used.sort_unstable();
    used.dedup();
    let number = |v: u32| used.partition_point(|w| *w < v) as u32;
    let triangles: Vec<[u32; 3]> = kept.iter().map(|t| t.map(number)).collect();
    let positions = used.iter().map(|v| whole.positions[*v as usize]).collect();
    let shirt = SurfaceMesh::from_triangles(positions, &triangles);
    let shirt = Body::from_mesh("shirt", shirt).material("jersey").at([0.0, -0.006, 0.028]);
    let mut simulation = weightless(shirt, Collider::mesh("figure", path));
    let around = WindingNumber::new(TriangleTree::new(&body.positions, body.triangles()));
    // Points along all edges, independent of the detection.
    let inside = |at: &[DVec3]| {
        let edges = triangles.iter().flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]]);
        let along = |[a, b]: [u32; 2]| (0..4).map(move |i| (a as usize, b as usize, f64::from(i) / 4.0));
        edges.flat_map(along).filter(|&(a, b, s)| around.is_inside(at[a].lerp(at[b], s))).count()
    };
    let started = inside(simulation.positions());
    assert!(started > 200, "{started}");
    for _ in 0..30 {
        if simulation.step(STEP).unwrap().crossings == Some(0) && simulation.notes().is_empty() {
            break;
        }
    }
    assert_eq!(simulation.notes(), Vec::<String>::new());
    assert_eq!(inside(simulation.positions()), 0);
    let stretch = simulation.stretch();
    assert!(stretch.p99 <= 1.1, "{stretch:?}");
    let loops = openings(&triangles);
    assert_eq!(loops.len(), 4);
    for opening in loops {
        let at = opening.iter().map(|v| simulation.positions()[*v as usize]);
        let wide = |axis: fn(DVec3) -> f64| {
            let values = at.clone().map(axis);
            values.clone().fold(f64::MIN, f64::max) - values.fold(f64::MAX, f64::min)
        };
        let (axis, through) = match wide(|p| p.x) < wide(|p| p.y) {
            true => (DVec3::X, dvec3(0.0, 0.1, 0.0)),
            false => (DVec3::Y, DVec3::ZERO),
        };
        let turned = turns(at.clone(), axis, through);
        assert!((turned.abs() - 1.0).abs() < 1e-9, "{turned}");
    }
}

#[test]
fn what_pierces_a_cloth_is_named_and_does_not_tear_it_open() {
    let post = Collider::cuboid("post", DVec3::ZERO, [0.12, 0.6, 0.12]);
    let mut simulation = weightless(cloth(grid(25, 0.6, |_, _| 0.003)), post);
    make_steps(&mut simulation, 45);
    let notes = simulation.notes().join("\n");
    assert!(notes.contains("`post` pierces `cloth` in 1 place"), "{notes}");
    let stretch = simulation.stretch();
    assert!(stretch.max < 2.0, "{stretch:?}");
}

#[test]
fn a_sheet_that_dips_through_another_at_a_small_angle_comes_back() {
    let lower = Body::from_mesh("lower", grid(21, 0.3, |_, _| 0.0)).material("cotton");
    let dip = grid(21, 0.3, |x, z| 3e-3 - 8e-3 * (-(x * x + z * z) / 0.0036).exp());
    let upper = Body::from_mesh("upper", dip).material("cotton").at([3e-4, 0.0, 2e-4]);
    let scene = Scene::builder().gravity(DVec3::ZERO).body(lower).body(upper).build().unwrap();
    let mut simulation = Simulation::new(scene.clone()).unwrap();
    assert!(crossing(&simulation) > 20, "{}", crossing(&simulation));
    make_steps(&mut simulation, 40);
    assert_eq!(crossing(&simulation), 0);
    let centre =
        |body: usize| simulation.positions()[441 * body..441 * (body + 1)].iter().map(|p| p.y).sum::<f64>();
    assert!(centre(1) > centre(0), "the upper sheet is above");
    // Without simulating, with the user's own vertices and faces.
    let found = untangle(&scene, supple::linear::Simd::Auto, |_| {}).unwrap();
    assert_eq!(found.remains, Vec::<String>::new());
    assert!(!found.before.is_empty() && found.moved > 0.0 && found.moved < 0.02);
    for ((name, mesh), body) in found.meshes.iter().zip(&scene.bodies) {
        assert_eq!((name, mesh.positions.len(), mesh.triangles().len()), (&body.name, 441, 800));
    }
}

#[test]
fn a_limb_that_pierces_a_cloth_is_named_by_its_part_of_the_mesh() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("body.obj");
    let mut text = Vec::new();
    write_obj(&prism(12, 0.05, 0.3), &mut text).unwrap();
    let mut text = format!("g arm\n{}g far\n", String::from_utf8(text).unwrap());
    // A small closed piece elsewhere.
    text.push_str("v 5 0 0\nv 5.1 0 0\nv 5 0.1 0\nv 5 0 0.1\n");
    let first = 2 * 12 + 3;
    for [a, b, c] in [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]] {
        text.push_str(&format!("f {} {} {}\n", first + a, first + b, first + c));
    }
    std::fs::write(&path, text).unwrap();
    let simulation = weightless(cloth(grid(25, 0.6, |_, _| 0.003)), Collider::mesh("figure", path));
    let notes = simulation.notes().join("\n");
    assert!(
        notes.contains("`figure` pierces `cloth` in 1 place") && notes.contains("`arm` of `figure`"),
        "{notes}"
    );
}

/// A closed prism around the y axis.
fn prism(sides: u32, radius: f64, half: f64) -> SurfaceMesh {
    let mut positions = vec![dvec3(0.0, -half, 0.0), dvec3(0.0, half, 0.0)];
    let mut triangles = Vec::new();
    for i in 0..sides {
        let angle = std::f64::consts::TAU * f64::from(i) / f64::from(sides);
        let [x, z] = [radius * angle.cos(), radius * angle.sin()];
        positions.extend([dvec3(x, -half, z), dvec3(x, half, z)]);
        let [a, b] = [2 + 2 * i, 2 + 2 * ((i + 1) % sides)];
        triangles.extend([[a, a + 1, b], [a + 1, b + 1, b], [0, a, b], [1, b + 1, a + 1]]);
    }
    SurfaceMesh::from_triangles(positions, &triangles)
}

#[test]
fn a_waistband_inside_a_moving_body_keeps_its_targets_and_the_skirt_stays_outside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("body.obj");
    let (sides, radius) = (24, 0.15);
    let mut bytes = Vec::new();
    write_obj(&prism(sides, radius, 0.5), &mut bytes).unwrap();
    std::fs::write(&path, bytes).unwrap();
    // A skirt whose waist is 5 mm inside, and which flares out.
    let rows = 9;
    let place = |k: u32| {
        let (row, angle) =
            (k / sides, std::f64::consts::TAU * (f64::from(k % sides) + 0.5) / f64::from(sides));
        let inner = radius * (std::f64::consts::PI / f64::from(sides)).cos() - 5e-3;
        let r = inner + 8e-3 * f64::from(row);
        dvec3(r * angle.cos(), 0.2 - 0.03 * f64::from(row), r * angle.sin())
    };
    let quads = (0..sides * (rows - 1)).map(|k| [k, k / sides * sides + (k + 1) % sides]);
    let triangles = quads.flat_map(|[a, b]| [[a, b, a + sides], [b, b + sides, a + sides]]);
    let skirt =
        SurfaceMesh::from_triangles((0..sides * rows).map(place).collect(), &triangles.collect::<Vec<_>>());
    let walk = || Motion {
        keyframes: (0..=8)
            .map(|i| {
                Keyframe::at(0.125 * f64::from(i)).translate([
                    0.06 * f64::from(i),
                    0.01 * f64::from(i % 2),
                    0.0,
                ])
            })
            .collect(),
        ..Motion::default()
    };
    let scene = Scene::builder()
        .body(Body::from_mesh("skirt", skirt).material("cotton"))
        .pin(Pin::hard("skirt", Selection::Indices((0..sides).collect())).following(walk()))
        .collider(Collider::mesh("body", path).moving(walk()))
        .build()
        .unwrap();
    let mut simulation = Simulation::new(scene).unwrap();
    let notes = simulation.notes().join("\n");
    assert!(notes.contains("24 hard-pinned vertices of `skirt` on or inside `body`"), "{notes}");
    let apothem = radius * (std::f64::consts::PI / f64::from(sides)).cos();
    for step in 1..=24 {
        simulation.step(STEP).unwrap();
        let moved = walk().pose(f64::from(step) * STEP).translate;
        for (k, p) in (0..).zip(simulation.positions()) {
            if k < sides {
                assert!(p.distance(place(k) + moved) < 1e-6, "pin {k} in step {step}");
                continue;
            }
            let q = *p - moved;
            let sector = std::f64::consts::TAU / f64::from(sides);
            let angle = (q.z.atan2(q.x).rem_euclid(sector)) - 0.5 * sector;
            assert!(q.x.hypot(q.z) * angle.cos() > apothem, "vertex {k} in step {step}: {q}");
        }
    }
}

#[test]
fn an_unclean_start_is_bit_identical_for_any_threads_and_after_a_restored_state() {
    let start = || {
        weightless(cloth(grid(13, 0.3, |x, _| 0.28 + 0.02 * x)), Collider::sphere("ball", DVec3::ZERO, 0.3))
    };
    let run = |threads: usize| {
        let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut simulation = start();
            make_steps(&mut simulation, 8);
            simulation.state_hash()
        })
    };
    let hash = run(1);
    assert_eq!([run(2), run(3)], [hash; 2]);
    let mut first = start();
    make_steps(&mut first, 3);
    let mut second = start();
    second.restore(&first.save()).unwrap();
    make_steps(&mut second, 5);
    assert_eq!(second.state_hash(), hash);
}

/// The pairs of triangles that cross, by an independent test.
fn crossing(simulation: &Simulation) -> usize {
    simulation.scene_state().surfaces().crossings(simulation.positions()).len()
}

/// Two equal sheets that cross along their middle at an angle in degrees: both are divided into equal halves.
fn crossed_sheets(degrees: f64) -> Scene {
    const SIDE: u32 = 26;
    // In the plane by a tenth of an edge, and out of it by a hundredth, so that nothing coincides.
    let noise = |k: u32| f64::from(k.wrapping_mul(0x9e37_79b9) >> 16) / 65536.0 - 0.5;
    let sheet = |name: &str, first: u32, angle: f64| {
        let mut mesh = grid(SIDE, 0.5, |_, _| 0.0);
        for (p, k) in mesh.positions.iter_mut().zip(first..) {
            let off = dvec3(noise(3 * k), 0.1 * noise(3 * k + 1), noise(3 * k + 2));
            *p = DQuat::from_rotation_z(angle) * (*p + 2e-3 * off);
        }
        Body::from_mesh(name, mesh).material("cotton")
    };
    let half = 0.5 * degrees.to_radians();
    let [one, other] = [sheet("one", 0, -half), sheet("other", 5000, half)];
    Scene::builder().gravity(DVec3::ZERO).body(one).body(other).build().unwrap()
}

/// The crossings of sheets after at most 100 steps, and the fastest that a vertex of one moved before they were apart, in m/s.
fn part(scene: Scene) -> (usize, f64) {
    let mut simulation = Simulation::new(scene).unwrap();
    assert!(crossing(&simulation) > 50, "{}", crossing(&simulation));
    let mut fastest = 0.0f64;
    for _ in 0..100 {
        let before = simulation.positions().to_vec();
        let crossed = crossing(&simulation) > 0;
        simulation.step(STEP).unwrap();
        let moves = before.iter().zip(simulation.positions()).map(|(a, b)| a.distance(*b));
        if crossed {
            fastest = fastest.max(moves.fold(0.0, f64::max) / STEP);
        }
    }
    (crossing(&simulation), fastest)
}

#[test]
fn equal_sheets_that_cross_along_their_middle_part_slowly() {
    for degrees in [2.0, 5.0] {
        let (left, fastest) = part(crossed_sheets(degrees));
        assert_eq!(left, 0, "at {degrees} degrees");
        // Relative to each other they are bounded; each may swing by that itself.
        assert!(fastest <= 2.0 * BOUND, "{fastest} m/s at {degrees} degrees");
    }
}

#[test]
fn sheets_that_cross_along_their_middle_are_parted_without_simulating() {
    let scene = crossed_sheets(2.0);
    let found = untangle(&scene, supple::linear::Simd::Auto, |_| {}).unwrap();
    assert!(!found.before.is_empty());
    assert_eq!(found.remains, Vec::<String>::new());
}
