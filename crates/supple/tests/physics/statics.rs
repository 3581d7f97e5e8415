//! Solids and sheets in equilibrium against the theory of elasticity.

use glam::DVec3;
use supple::material::MaterialSpec;
use supple::scene::{
    Body, Cuboid, Mode, Model, Pin, Scene, Selection, Shape, ShapeSource, Solver, Time, World,
};
use supple::simulation::Simulation;

use crate::bars::{elastic, end_displacement};

/// A box from x = 0 to its length, clamped at x = 0, in equilibrium under `gravity`.
fn clamped(size: [f64; 3], cell: f64, model: Model, material: MaterialSpec, gravity: DVec3) -> Simulation {
    let shape = Shape::new(ShapeSource::Box(Cuboid { size, cells: None }));
    let body = Body { cell: Some(cell), model: Some(model), ..Body::new("bar", shape) }
        .at([0.5 * size[0], 0.0, 0.0])
        .material(material);
    let wall = Selection::Plane { point: DVec3::new(1e-6, 0.0, 0.0), normal: -DVec3::X };
    let mut scene = Scene::builder()
        .body(body)
        .pin(Pin::hard("bar", wall))
        .solver(Solver { tolerance: Some(1e-6), max_iterations: 60, ..Solver::default() })
        .build()
        .unwrap();
    scene.time = Time { mode: Mode::Quasistatic, ..Time::default() };
    scene.world = World { gravity, ..World::default() };
    let mut simulation = Simulation::new(scene).unwrap();
    let report = simulation.step(1.0 / 30.0).unwrap();
    assert!(report.converged, "{:?}", simulation.inspect().residuals);
    simulation
}

#[test]
fn a_hanging_bar_is_stretched_as_theory_says() {
    // Every cross-section carries the weight below it: u = ρ g L² / (2 E). Without lateral contraction the clamp changes
    // nothing.
    let (length, young_modulus, gravity) = (1.0, 1e6, 2.0);
    let theory = 1000.0 * gravity * length * length / (2.0 * young_modulus);
    let laws =
        [Model::Corotated, Model::Linear, Model::NeoHookean, Model::Stvk, Model::Arap].map(|law| (law, 0.0));
    // As rigid as possible never contracts, and keeps Young's modulus whatever Poisson's ratio is.
    for (model, poisson_ratio) in laws.into_iter().chain([(Model::Arap, 0.45)]) {
        let size = [length, 0.2, 0.2];
        let bar = clamped(size, 0.1, model, elastic(young_modulus, poisson_ratio), gravity * DVec3::X);
        let measured = end_displacement(&bar, length).x;
        assert!((measured / theory - 1.0).abs() < 0.01, "{model:?}: {measured}, theory {theory}");
    }
}

/// The sag of a slender clamped bar over that of Timoshenko's beam, with `cells` cells across.
fn sag_ratio(model: Model, poisson_ratio: f64, cells: f64) -> f64 {
    let (length, side, young_modulus, gravity) = (1.0, 0.1, 1e6, 1e-3);
    let size = [length, side, side];
    let bar = clamped(size, side / cells, model, elastic(young_modulus, poisson_ratio), -gravity * DVec3::Y);
    let load = 1000.0 * gravity * side * side;
    let (inertia, shear_modulus) = (side.powi(4) / 12.0, young_modulus / (2.0 * (1.0 + poisson_ratio)));
    // Cowper 1966, for a rectangle.
    let shear_factor = 10.0 * (1.0 + poisson_ratio) / (12.0 + 11.0 * poisson_ratio);
    let bending = load * length.powi(4) / (8.0 * young_modulus * inertia);
    let shearing = load * length * length / (2.0 * shear_factor * shear_modulus * side * side);
    -end_displacement(&bar, length).y / (bending + shearing)
}

#[test]
fn a_slender_bar_sags_as_timoshenko_says_in_the_limit_of_small_cells() {
    for (model, poisson_ratio) in [(Model::Linear, 0.0), (Model::Corotated, 0.3), (Model::NeoHookean, 0.3)] {
        let ratios = [2.0, 4.0, 8.0].map(|cells| sag_ratio(model, poisson_ratio, cells));
        // Linear tetrahedra are too stiff in bending, by an error that falls with the square of the cell once it is small.
        let errors = ratios.map(|ratio| 1.0 - ratio);
        assert!(errors[0] > errors[1] && errors[1] > errors[2], "{model:?}: {ratios:?}");
        let order = ((ratios[1] - ratios[0]) / (ratios[2] - ratios[1])).log2();
        assert!((1.2..2.6).contains(&order), "{model:?}: order {order} of {ratios:?}");
        let limit = ratios[2] + (ratios[2] - ratios[1]) / 3.0;
        assert!((limit - 1.0).abs() < 0.02, "{model:?}: {limit} from {ratios:?}");
    }
}

#[test]
fn a_slender_bar_of_a_fine_mesh_sags_as_timoshenko_says() {
    let ratio = sag_ratio(Model::Linear, 0.3, 14.0);
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

#[test]
fn newton_converges_quadratically_where_the_hessian_is_definite() {
    let size = [1.0, 0.2, 0.2];
    let bar = clamped(size, 0.1, Model::NeoHookean, elastic(1e4, 0.3), 5.0 * DVec3::X);
    let residuals = bar.inspect().residuals;
    let small: Vec<f64> = residuals.iter().copied().filter(|r| (1e-12..0.5).contains(r)).collect();
    assert!(small.len() >= 3, "{residuals:?}");
    // r' <= C r², with one C for all.
    assert!(small.windows(2).all(|r| r[1] <= 5.0 * r[0] * r[0]), "{residuals:?}");
}
