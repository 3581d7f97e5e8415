//! Drag against theory: terminal velocity in still air, spheres, sheets and bags.

use glam::DVec3;
use supple::material::{MaterialSpec, StretchStiffness};
use supple::mesh::SurfaceMesh;
use supple::mesh::generate::SphereShape;
use supple::scene::{Body, Mode, Pin, Scene, Selection, ShapeSource, Solver, Time};
use supple::simulation::Simulation;

/// Across and along the flow.
const NORMAL: f64 = 2.0;
const TANGENTIAL: f64 = 0.05;

fn material() -> MaterialSpec {
    MaterialSpec {
        stretch_stiffness: Some(StretchStiffness::Uniform(1e5)),
        area_density: Some(0.2),
        damping: Some(0.0),
        ..MaterialSpec::default()
    }
}

fn precise() -> Solver {
    Solver { tolerance: Some(1e-9), max_iterations: 200, ..Solver::default() }
}

/// The force in N of a wind of 3 m/s along x on a resting body, from the momentum that a short step gives it.
fn force_of_wind(body: Body) -> DVec3 {
    let builder = Scene::builder().gravity(DVec3::ZERO).wind([3.0, 0.0, 0.0]).air_density(1.2);
    let scene = builder.body(body.material(material())).build().unwrap();
    let mut simulation = Simulation::new(scene).unwrap();
    let dt = 1e-5;
    simulation.step(dt).unwrap();
    simulation.momentum() / dt
}

fn dynamic_pressure() -> f64 {
    0.5 * 1.2 * 9.0
}

#[test]
fn a_sheet_falls_through_still_air_at_its_terminal_velocity() {
    let fall = |density: Option<f64>| {
        let sheet = Body::cloth("sheet").size([1.0, 1.0]).vertices([5, 5]).material(material());
        let builder = Scene::builder().body(sheet).solver(precise());
        let scene = density.into_iter().fold(builder, |b, density| b.air_density(density)).build().unwrap();
        let mut simulation = Simulation::new(scene).unwrap();
        for _ in 0..200 {
            simulation.step(0.01).unwrap();
        }
        -simulation.momentum().y / simulation.mass()
    };
    // Weight 0.2 g against ½ ρ v² Cₙ per square metre.
    let terminal = (0.2 * 9.81 / (0.5 * 1.2 * NORMAL)).sqrt();
    assert!((fall(Some(1.2)) / terminal - 1.0).abs() < 1e-3, "{} instead of {terminal}", fall(Some(1.2)));
    assert!((fall(None) - 9.81 * 2.0).abs() < 1e-9, "without air it falls freely");
    assert!((fall(Some(0.0)) - 9.81 * 2.0).abs() < 1e-9);
}

#[test]
fn a_sphere_feels_the_air_on_its_outside_only() {
    let sphere = Body::new("ball", ShapeSource::Sphere(SphereShape { radius: 0.5, cells: 8 }));
    let force = force_of_wind(sphere);
    // Half of ∫ q (Cₙ cos² + Cₜ sin²) dA over the whole sphere.
    let area = 4.0 * std::f64::consts::PI * 0.25;
    let expected = 0.5 * dynamic_pressure() * area * (NORMAL / 3.0 + TANGENTIAL * 2.0 / 3.0);
    assert!((force.x / expected - 1.0).abs() < 0.02, "{} instead of {expected}", force.x);
    assert!(force.y.abs() < 1e-6 * expected && force.z.abs() < 1e-6 * expected);
}

#[test]
fn a_flat_bag_feels_what_a_sheet_of_its_outline_feels() {
    let corners = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]];
    let sheet = [[0, 1, 2], [0, 2, 3]];
    let mesh =
        |triangles: &[[u32; 3]]| SurfaceMesh::from_triangles(corners.map(DVec3::from).to_vec(), triangles);
    let bag = [&sheet[..], &[[0, 2, 1], [0, 3, 2]]].concat();
    let on_sheet = force_of_wind(Body::from_mesh("sheet", mesh(&sheet)));
    let on_bag = force_of_wind(Body::from_mesh("bag", mesh(&bag)));
    // Within the step it gains a little speed and so loses a little force.
    assert!((on_sheet.x / (dynamic_pressure() * NORMAL) - 1.0).abs() < 1e-3, "{on_sheet}");
    assert!((on_bag - on_sheet).length() < 1e-3 * on_sheet.length(), "{on_bag} against {on_sheet}");
}

#[test]
fn a_quasi_static_sheet_in_the_wind_hangs_where_its_forces_balance() {
    // A sheet hung along its top rotates as a plate about that edge: weight and drag balance on it, so that
    // σ g sin a = ½ ρ |w| Cₙ w·n with w·n = |w| cos a for an angle a from the vertical; the edge carries the tangential part.
    let material = MaterialSpec { bend_stiffness: Some(10.0), ..material() };
    let body =
        Body::cloth("sheet").size([1.0, 1.0]).vertices([5, 5]).rotated([90.0, 0.0, 0.0]).material(material);
    let top = Selection::Plane { point: DVec3::new(0.0, 0.49, 0.0), normal: DVec3::Y };
    let builder = Scene::builder().wind([0.0, 0.0, 1.0]).air_density(1.2).body(body).solver(precise());
    let mut scene = builder.pin(Pin::hard("sheet", top)).build().unwrap();
    scene.time = Time { mode: Mode::Quasistatic, ..Time::default() };
    let mut simulation = Simulation::new(scene).unwrap();
    let lowest = |simulation: &Simulation| {
        let low = simulation.positions().iter().copied().min_by(|a, b| a.y.total_cmp(&b.y)).unwrap();
        (low.z / (0.5 - low.y)).atan()
    };
    simulation.step(1.0 / 30.0).unwrap();
    let first = lowest(&simulation);
    simulation.step(1.0 / 30.0).unwrap();
    assert!((lowest(&simulation) - first).abs() < 1e-6, "the first frame was not in equilibrium");
    let theory = (0.5 * 1.2 * NORMAL / (0.2 * 9.81)).atan();
    assert!((first / theory - 1.0).abs() < 0.02, "{first}, theory {theory}");
}
