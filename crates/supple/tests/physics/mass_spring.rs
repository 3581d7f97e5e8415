//! The mass-spring cloth against theory: hanging under its own weight, free flight, rest.

use glam::DVec3;
use supple::material::MaterialSpec;
use supple::mesh::SurfaceMesh;
use supple::mesh::generate::{ClothGrid, GridPattern};
use supple::scene::{Body, Pin, Scene, Selection, Shape, ShapeSource, Solver};
use supple::simulation::Simulation;

const GRAVITY: f64 = 9.81;

fn grid(size: [f64; 2], vertices: [u32; 2], pattern: GridPattern) -> Shape {
    Shape::new(ShapeSource::Grid(ClothGrid { size, vertices, pattern, seed: 1 }))
}

/// A cloth of 0.2 kg/m² with a given stretch stiffness in N/m.
fn sheet(stretch_stiffness: f64) -> MaterialSpec {
    MaterialSpec {
        stretch_stiffness: Some(supple::material::StretchStiffness::Uniform(stretch_stiffness)),
        area_density: Some(0.2),
        bend_stiffness: Some(0.0),
        damping: Some(0.0),
        ..MaterialSpec::default()
    }
}

fn precise() -> Solver {
    Solver { tolerance: Some(1e-9), max_iterations: 200, ..Solver::default() }
}

/// The length of a vertical strip, 1 m long and 0.1 m wide at rest, hung from its upper edge, in equilibrium.
fn hung_length(pattern: GridPattern, stretch_stiffness: f64) -> f64 {
    let strip = Body::new("strip", grid([0.1, 1.0], [5, 41], pattern))
        .rotated([90.0, 0.0, 0.0])
        .material(sheet(stretch_stiffness));
    let top = Selection::Plane { point: DVec3::new(0.0, 0.499, 0.0), normal: DVec3::Y };
    let scene = Scene::builder().body(strip).pin(Pin::hard("strip", top)).solver(precise()).build().unwrap();
    let mut simulation = Simulation::new(scene).unwrap();
    // Implicit Euler with long steps damps: after these the strip is at rest.
    for _ in 0..40 {
        simulation.step(0.5).unwrap();
    }
    let (low, high) = simulation
        .positions()
        .iter()
        .fold((f64::MAX, f64::MIN), |(low, high), p| (low.min(p.y), high.max(p.y)));
    high - low
}

#[test]
fn a_strip_hung_under_its_own_weight_has_the_analytic_length() {
    // Every cross-section carries the weight below it: dL = ρ g L² / (2 S).
    let stiffness = 100.0;
    let elongation = 0.2 * GRAVITY / (2.0 * stiffness);
    for pattern in [GridPattern::Regular, GridPattern::Crossed, GridPattern::Irregular] {
        let measured = hung_length(pattern, stiffness);
        let (length_error, elongation_error) =
            ((measured / (1.0 + elongation) - 1.0).abs(), ((measured - 1.0) / elongation - 1.0).abs());
        assert!(length_error < 0.0005, "{pattern:?}: length {measured}, analytic {}", 1.0 + elongation);
        let allowed = if pattern == GridPattern::Irregular { 0.1 } else { 0.03 };
        assert!(elongation_error < allowed, "{pattern:?}: elongation {} of {elongation}", measured - 1.0);
    }
}

/// A free cloth that is stretched at the start, so that it swings while it flies.
fn swinging(gravity: DVec3) -> Simulation {
    let mut cloth = Body::new("cloth", grid([1.0, 1.0], [12, 12], GridPattern::Crossed))
        .rotated([20.0, 40.0, 10.0])
        .moving([1.0, 2.0, -0.5])
        .material(sheet(200.0));
    cloth.rest = Some(grid([0.8, 0.9], [12, 12], GridPattern::Crossed));
    Simulation::new(Scene::builder().gravity(gravity).body(cloth).solver(precise()).build().unwrap()).unwrap()
}

#[test]
fn a_free_cloth_keeps_its_momentum_without_gravity() {
    let mut simulation = swinging(DVec3::ZERO);
    let start = simulation.momentum();
    for _ in 0..60 {
        simulation.step(1.0 / 60.0).unwrap();
        assert!((simulation.momentum() - start).length() < 1e-12 * start.length());
    }
    // It did swing: the distance of opposite corners changed.
    let x = simulation.positions();
    assert!(x[0].distance(x[143]) < 1.35, "{}", x[0].distance(x[143]));
}

#[test]
fn a_free_cloth_gains_mass_times_gravity_times_time() {
    let gravity = DVec3::new(0.5, -GRAVITY, 0.1);
    let mut simulation = swinging(gravity);
    let (start, mass) = (simulation.momentum(), simulation.mass());
    for _ in 0..60 {
        simulation.step(1.0 / 60.0).unwrap();
        let expected = start + mass * gravity * simulation.time();
        assert!((simulation.momentum() - expected).length() < 1e-12 * expected.length());
    }
}

#[test]
fn energy_never_grows_without_forces() {
    let mut simulation = swinging(DVec3::ZERO);
    let mut last = f64::INFINITY;
    for _ in 0..100 {
        let report = simulation.step(1.0 / 60.0).unwrap();
        let energy = report.energy.kinetic + report.energy.elastic;
        assert!(energy <= last * (1.0 + 1e-9), "{energy} after {last}");
        last = energy;
    }
}

#[test]
fn a_cloth_at_rest_stays_at_rest() {
    let cloth = Body::new("cloth", grid([1.0, 1.0], [9, 9], GridPattern::Irregular)).material(sheet(1000.0));
    let scene = Scene::builder().gravity(DVec3::ZERO).body(cloth).build().unwrap();
    let mut simulation = Simulation::new(scene).unwrap();
    let start = simulation.positions().to_vec();
    for _ in 0..10 {
        simulation.step(0.1).unwrap();
    }
    let moved = simulation.positions().iter().zip(&start).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(moved < 1e-12, "{moved}");
}

#[test]
fn a_flat_cloth_on_the_ground_presses_with_its_weight() {
    let cloth = Body::cloth("cloth")
        .size([1.0, 1.0])
        .vertices([11, 11])
        .at([0.0, 0.0005, 0.0])
        .material(sheet(1000.0));
    let stiffness = 1e7;
    let ground = supple::scene::Collider::plane("ground", [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]).soft(stiffness);
    let thickness = ground.thickness;
    let scene = Scene::builder().body(cloth).collider(ground).solver(precise()).build().unwrap();
    let mut simulation = Simulation::new(scene).unwrap();
    for _ in 0..20 {
        simulation.step(0.1).unwrap();
    }
    // Pressure per metre of depth: depth = ρ g / k below the kept distance.
    let expected = thickness - 0.2 * GRAVITY / stiffness;
    for p in simulation.positions() {
        assert!((p.y - expected).abs() < 1e-10, "{} instead of {expected}", p.y);
    }
}

#[test]
fn a_soft_pin_sags_by_the_weight_over_its_stiffness() {
    let cloth = Body::cloth("cloth").size([0.2, 0.2]).vertices([2, 2]).material(sheet(1e5));
    let pin = Pin::soft("cloth", Selection::All {}, 50.0);
    let scene = Scene::builder().body(cloth).pin(pin).solver(precise()).build().unwrap();
    let mut simulation = Simulation::new(scene).unwrap();
    for _ in 0..40 {
        simulation.step(0.5).unwrap();
    }
    let mean: f64 = simulation.positions().iter().map(|p| p.y).sum::<f64>() / 4.0;
    let expected = -simulation.mass() * GRAVITY / (4.0 * 50.0);
    assert!((mean - expected).abs() < 1e-9, "{mean} instead of {expected}");
}

#[test]
fn friction_holds_on_a_slope_below_its_angle_and_slides_above_it() {
    let slide = |friction: f64, degrees: f64| {
        let slope = degrees.to_radians();
        let normal = DVec3::new(slope.sin(), slope.cos(), 0.0);
        let stiffness = 1e7;
        let ground =
            supple::scene::Collider::plane("slope", DVec3::ZERO, normal).friction(friction).soft(stiffness);
        // It starts at the depth of static equilibrium, so that friction acts from the first step.
        let distance = ground.thickness - 0.2 * GRAVITY * slope.cos() / stiffness;
        let start = distance * normal;
        let cloth = Body::cloth("cloth")
            .size([0.2, 0.2])
            .vertices([3, 3])
            .rotated([0.0, 0.0, -degrees])
            .at(start)
            .material(sheet(1000.0));
        let scene = Scene::builder().body(cloth).collider(ground).solver(precise()).build().unwrap();
        let mut simulation = Simulation::new(scene).unwrap();
        for _ in 0..100 {
            simulation.step(0.01).unwrap();
        }
        simulation.positions()[4].distance(start)
    };
    // tan 20° = 0.36 < 0.5 sticks: it creeps by less than the speed that counts as rest.
    assert!(slide(0.5, 20.0) < 1e-3, "{}", slide(0.5, 20.0));
    // Above the angle it slides with a = g (sin α - μ cos α); implicit Euler gives a h² n (n + 1) / 2.
    let acceleration = GRAVITY * (40f64.to_radians().sin() - 0.5 * 40f64.to_radians().cos());
    let (slid, expected) = (slide(0.5, 40.0), acceleration * 1e-4 * 5050.0);
    assert!((slid / expected - 1.0).abs() < 1e-3, "{slid} instead of {expected}");
}

#[test]
fn panels_sewn_where_they_start_and_apart_at_rest_are_unstressed() {
    // Two unit squares that share an edge by coincident vertices; their rest shapes are ten metres apart.
    let panels = |shift: f64| {
        let corners =
            [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0]];
        let place = |(i, [x, z]): (usize, [f64; 2])| DVec3::new(if i < 4 { x } else { x + shift }, 0.0, z);
        let positions = corners.into_iter().enumerate().map(place).collect();
        SurfaceMesh::from_triangles(positions, &[[0, 2, 1], [0, 3, 2], [4, 6, 5], [4, 7, 6]])
    };
    let mut body = Body::from_mesh("panels", panels(0.0)).material(sheet(100.0));
    body.rest = Some(Shape::new(ShapeSource::Mesh(panels(10.0).into())));
    let scene = Scene::builder().gravity(DVec3::ZERO).body(body).build().unwrap();
    let mut simulation = Simulation::new(scene).unwrap();
    assert_eq!(simulation.unknowns(), 3 * 6, "the seam is one");
    let report = simulation.step(0.1).unwrap();
    assert!(report.energy.elastic < 1e-20, "{:?}", report.energy);
    assert!((simulation.stretch().max - 1.0).abs() < 1e-12);
}
