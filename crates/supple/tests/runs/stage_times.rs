//! The times of a step's stages: each in its place, and together no more than the whole.

use supple::scene::{Body, LinearKind, LinearOptions, Method, Pin, Scene, Selection, Solver};
use supple::simulation::{Simulation, StageTimes};

fn times(method: Method, linear: impl Into<LinearOptions>) -> StageTimes {
    let solver = Solver { method, linear: Some(linear.into()), max_iterations: 4, ..Solver::default() };
    let pin = Pin::hard("cloth", Selection::nearest([[-0.5, 0.0, -0.5]]));
    let scene = Scene::builder()
        .body(Body::cloth("cloth").size([1.0, 1.0]).vertices([33, 33]))
        .pin(pin)
        .solver(solver);
    let mut simulation = Simulation::new(scene.build().unwrap()).unwrap();
    let mut sum = StageTimes::default();
    for _ in 0..2 {
        sum += simulation.step(1.0 / 60.0).unwrap().times;
    }
    sum
}

#[test]
fn stages_that_happened_took_time_and_together_no_more_than_the_whole() {
    let pairs = [
        (Method::NEWTON, LinearKind::Galerkin),
        (Method::NEWTON, LinearKind::Cholesky),
        (Method::PROJECTIVE, LinearKind::Galerkin),
        (Method::PROJECTIVE, LinearKind::Jacobi),
        (Method::LBFGS, LinearKind::Galerkin),
    ];
    for (method, kind) in pairs {
        let times = times(method, kind);
        let stages = times.stages();
        assert!(stages.iter().all(|(_, seconds)| seconds.is_finite() && *seconds >= 0.0), "{times:?}");
        // Differences of clock readings are summed in another order than the whole.
        let known: f64 = stages.iter().map(|(_, seconds)| seconds).sum();
        assert!(known <= times.total + 1e-9, "{method:?} {kind:?} {times:?}");
        for (name, seconds) in stages {
            let of_cycles = ["smoothing", "coarsest", "transfer"].contains(&name);
            let happened = !of_cycles || kind == LinearKind::Galerkin;
            assert_eq!(seconds > 0.0, happened, "{name} by {method:?} with {kind:?}: {times:?}");
        }
    }
}
