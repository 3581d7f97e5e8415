//! The Galerkin multigrid under the nonlinear methods: the motion must be that of the direct solver.

use glam::DVec3;
use supple::scene::{Levels, LinearKind, LinearOptions, Method, Scene, Solver};
use supple::simulation::Simulation;

/// A bar of soft and stiff slices, clamped at one end and dragged at the other.
const BAR: &str = r#"
[[body]]
name = "bar"
shape = { box = { size = [1.2, 0.3, 0.3] } }
cell = 0.1
model = "corotated"
material = { density = 1000, young_modulus = 1e5, poisson_ratio = 0.3 }

[[body.region]]
selection = { box = { min = [-0.2, -1, -1], max = [0.2, 1, 1] } }
material = { density = 1000, young_modulus = 1e7, poisson_ratio = 0.3 }

[[pin]]
body = "bar"
selection = { plane = { point = [-0.599, 0, 0], normal = [-1, 0, 0] } }

[[pin]]
body = "bar"
selection = { plane = { point = [0.599, 0, 0], normal = [1, 0, 0] } }
stiffness = 1e4
follows = { keyframes = [{ time = 0, translate = [0, 0, 0] }, { time = 1, translate = [0, 1, 0] }] }

[[collider]]
name = "ball"
shape = { sphere = { center = [0.3, -0.36, 0], radius = 0.2 } }
"#;

/// Positions after six steps of the bar.
pub(crate) fn moved(method: Method, linear: LinearOptions, tolerance: f64) -> Vec<DVec3> {
    let mut scene = Scene::from_toml(BAR, "bar", ".").unwrap();
    scene.solver = Solver {
        method,
        linear: Some(linear),
        tolerance: Some(tolerance),
        max_iterations: 1000,
        ..Solver::default()
    };
    let mut simulation = Simulation::new(scene).unwrap();
    for _ in 0..6 {
        let report = simulation.step(1.0 / 60.0).unwrap();
        assert!(report.converged, "{method:?} {report:?}");
    }
    simulation.positions().to_vec()
}

#[test]
fn motion_is_that_of_the_direct_solver_under_every_method() {
    let direct = moved(Method::NEWTON, LinearKind::Cholesky.into(), 1e-6);
    let levels = Some(Levels::Counts(vec![20, 5]));
    // Projective dynamics converges very slowly where stiffnesses differ, whatever solves its linear systems.
    for (method, kind, tolerance) in [
        (Method::NEWTON, LinearKind::Galerkin, 1e-6),
        (Method::NEWTON, LinearKind::GalerkinCycle, 1e-6),
        (Method::PROJECTIVE, LinearKind::Galerkin, 1e-4),
        (Method::LBFGS, LinearKind::Galerkin, 1e-6),
        (Method::NONLINEAR_CG, LinearKind::Galerkin, 1e-6),
    ] {
        let ours = moved(method, LinearOptions { levels: levels.clone(), ..kind.into() }, tolerance);
        let apart = ours.iter().zip(&direct).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(apart < 100.0 * tolerance, "{method:?} {kind:?}: {apart} m");
    }
}
