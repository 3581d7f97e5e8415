//! Stress against theory for uniform deformations.

use glam::DVec3;
use supple::scene::{Body, Cuboid, Method, Mode, Model, Pin, Scene, Selection, ShapeSource, Solver};
use supple::simulation::{Simulation, StressUnit};

/// A tall column of this method, clamped at its lower end, under its own weight.
fn column(method: Method) -> Simulation {
    let block = ShapeSource::Box(Cuboid { size: [0.5, 2.0, 0.5], cells: None });
    let body =
        Body { model: Some(Model::Corotated), ..Body::new("column", block).solid(0.0625) }.tuned(|m| {
            m.young_modulus = Some(1e6);
            m.poisson_ratio = Some(0.3);
            m.density = Some(1000.0);
        });
    let foot = Selection::Plane { point: DVec3::new(0.0, -0.999, 0.0), normal: -DVec3::Y };
    let solver = Solver { method, tolerance: Some(1e-6), max_iterations: 100, ..Solver::default() };
    let mut scene =
        Scene::builder().body(body).pin(Pin::hard("column", foot)).solver(solver).build().unwrap();
    scene.time.mode = Mode::Quasistatic;
    let mut simulation = Simulation::new(scene).unwrap();
    simulation.step(0.1).unwrap();
    simulation
}

#[test]
fn a_column_bears_the_weight_above_it_in_every_family() {
    for method in [Method::NEWTON, Method::OCTREE, Method::STAGGERED] {
        let simulation = column(method);
        let stress = simulation.stress().unwrap();
        assert_eq!(stress.bodies, [(StressUnit::Pascal, simulation.positions().len())]);
        // ρ g h away from both ends; the mean over a height, since the rim differs from the middle.
        let start = &simulation.scene_state().bodies[0].surface_start;
        for height in [-0.5, 0.0, 0.5] {
            let near = start.iter().zip(&stress.of_point).filter(|(p, _)| (p.y - height).abs() < 0.07);
            let near: Vec<f64> = near.map(|(_, stress)| *stress).collect();
            let mean = near.iter().sum::<f64>() / near.len() as f64;
            let theory = 1000.0 * 9.81 * (1.0 - height);
            assert!((mean / theory - 1.0).abs() < 0.12, "{method:?} at {height}: {mean} of {theory}");
        }
    }
}

#[test]
fn position_based_dynamics_says_that_it_has_no_stress() {
    let scene = Scene::builder()
        .body(Body::cloth("cloth").size([1.0, 1.0]).vertices([5, 5]))
        .solver(Solver { method: Method::HPBD, ..Solver::default() });
    let simulation = Simulation::new(scene.build().unwrap()).unwrap();
    assert!(simulation.stress().unwrap_err().to_string().contains("elastic law"));
}
