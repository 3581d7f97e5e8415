//! Convergence that is true: steps that are reported as converged are solved, whatever the linear solver and its tolerance.

use glam::DVec3;
use supple::scene::{
    Body, Cuboid, LinearKind, LinearOptions, Method, Mode, Model, Pin, Scene, Selection, Shape, ShapeSource,
    Solver,
};
use supple::simulation::{Correction, Simulation};

use crate::bars::elastic;

const STEP: f64 = 1.0 / 30.0;

/// A cloth that hangs from two corners and folds while it swings.
fn hanging(solver: Solver) -> Scene {
    let cloth =
        Body::cloth("cloth").size([0.6, 0.6]).vertices([16, 16]).at([0.0, 1.0, 0.0]).rotated([5.0, 0.0, 3.0]);
    let corner = |x: f64| {
        let low = [x - 0.02, 0.9, -0.32];
        Pin::hard("cloth", Selection::cuboid(low, [x + 0.02, 1.1, -0.28]))
    };
    Scene::builder().body(cloth).pin(corner(-0.3)).pin(corner(0.3)).solver(solver).build().unwrap()
}

/// Twelve steps: how many are reported as converged, and their corrections.
fn corrections(scene: Scene) -> (usize, Vec<Correction>) {
    let mut simulation = Simulation::new(scene).unwrap();
    simulation.verify_steps(true);
    let reports: Vec<_> = (0..12).map(|_| simulation.step(STEP).unwrap()).collect();
    let converged: Vec<_> = reports.iter().filter(|report| report.converged).collect();
    (converged.len(), converged.iter().map(|report| report.correction.unwrap()).collect())
}

#[test]
fn steps_that_are_reported_as_converged_are_solved_by_any_linear_solver() {
    use LinearKind::{Cholesky, Galerkin, Jacobi, Mas};
    let cases = [(Cholesky, None), (Galerkin, None), (Mas, Some(0.3)), (Jacobi, Some(0.9)), (Jacobi, None)];
    for (kind, tolerance) in cases {
        let linear = LinearOptions { tolerance, ..LinearOptions::from(kind) };
        let (converged, found) = corrections(hanging(Solver { linear: Some(linear), ..Solver::default() }));
        assert!(converged >= 10, "{kind:?} {tolerance:?}: {converged}");
        for correction in found {
            assert!(correction.is_solved(), "{kind:?} {tolerance:?}: {correction:?}");
            // 0.05 m/s over a step of 1/30 s.
            assert!((correction.limit - 0.05 * STEP).abs() < 1e-12);
        }
    }
}

#[test]
fn a_gradient_of_a_hundredth_may_leave_everything_to_do() {
    // Inertia alone is solved: one Jacobi iteration at a loose linear tolerance, stopped by a loose gradient.
    let linear = LinearOptions { tolerance: Some(0.9), ..LinearOptions::from(LinearKind::Jacobi) };
    let (_, loose) =
        corrections(hanging(Solver { linear: Some(linear), tolerance: Some(0.5), ..Solver::default() }));
    assert!(loose.iter().any(|correction| !correction.is_solved()), "{loose:?}");
    let tight = Solver { tolerance: Some(1e-10), max_iterations: 200, ..Solver::default() };
    let (converged, tight) = corrections(hanging(tight));
    assert!(
        converged >= 11 && tight.iter().all(|correction| correction.distance < 1e-3 * correction.limit),
        "{tight:?}"
    );
}

#[test]
fn verification_changes_nothing() {
    for method in [Method::NEWTON, Method::PROJECTIVE, Method::LBFGS, Method::OCTREE] {
        let [plain, verified] = [false, true].map(|verify| {
            let scene = match method == Method::OCTREE {
                true => jelly(method),
                false => hanging(Solver { method, ..Solver::default() }),
            };
            let mut simulation = Simulation::new(scene).unwrap();
            simulation.verify_steps(verify);
            for _ in 0..5 {
                assert_eq!(simulation.step(STEP).unwrap().correction.is_some(), verify, "{method:?}");
            }
            simulation.state_hash()
        });
        assert_eq!(plain, verified, "{method:?}");
    }
}

/// A cube that hangs from its top, in cells of a quarter of its size.
fn jelly(method: Method) -> Scene {
    let shape = Shape::new(ShapeSource::Box(Cuboid { size: [0.2; 3], cells: None }));
    let cube = Body { cell: Some(0.05), model: Some(Model::Corotated), ..Body::new("cube", shape) };
    let top = Selection::Plane { point: DVec3::new(0.0, 0.1 - 1e-6, 0.0), normal: DVec3::Y };
    let built = Scene::builder().body(cube.material(elastic(2e4, 0.3))).pin(Pin::hard("cube", top));
    built.solver(Solver { method, ..Solver::default() }).build().unwrap()
}

#[test]
fn the_limit_is_in_proportion_to_short_steps_and_one_percent_of_an_edge_at_rest() {
    let mut simulation = Simulation::new(jelly(Method::NEWTON)).unwrap();
    simulation.verify_steps(true);
    for dt in [1.0 / 30.0, 1.0 / 60.0, 1.0 / 300.0] {
        let limit = simulation.step(dt).unwrap().correction.unwrap().limit;
        assert!((limit - 0.05 * 30.0 * dt * dt).abs() < 1e-12, "{dt}: {limit}");
    }
    let mut scene = jelly(Method::NEWTON);
    scene.time.mode = Mode::Quasistatic;
    let mut simulation = Simulation::new(scene).unwrap();
    simulation.verify_steps(true);
    let report = simulation.step(STEP).unwrap();
    let correction = report.correction.unwrap();
    // Every triangle of the surface has two sides along the cells and a diagonal of a cell's face.
    let (edge, diagonal) = (0.05, 0.05 * 2f64.sqrt());
    assert!((correction.limit - 0.01 * (2.0 * edge + diagonal) / 3.0).abs() < 1e-9, "{correction:?}");
    assert!(report.converged && correction.is_solved(), "{report:?}");
}
