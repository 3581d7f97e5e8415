//! The times of a step's stages: each where it belongs, and together the whole.

use supple::scene::{Body, LinearKind, LinearOptions, Method, Pin, Scene, Selection, Solver};
use supple::simulation::{Simulation, StageTimes};

fn times(method: Method, linear: impl Into<LinearOptions>) -> StageTimes {
    let solver = Solver { method, linear: linear.into(), max_iterations: 4, ..Solver::default() };
    let pin = Pin::hard("cloth", Selection::Nearest(vec![[-0.5, 0.0, -0.5].into()]));
    let scene = Scene::builder().body(Body::cloth("cloth", 1.0, 1.0, [33, 33])).pin(pin).solver(solver);
    let mut simulation = Simulation::new(scene.build().unwrap()).unwrap();
    let mut sum = StageTimes::default();
    for _ in 0..2 {
        sum += simulation.step(1.0 / 60.0).unwrap().times;
    }
    sum
}

#[test]
fn stages_add_up_to_the_whole_and_only_multigrid_has_cycles() {
    let pairs = [
        (Method::NEWTON, LinearKind::Galerkin),
        (Method::NEWTON, LinearKind::Cholesky),
        (Method::PROJECTIVE, LinearKind::Galerkin),
        (Method::PROJECTIVE, LinearKind::Jacobi),
        (Method::LBFGS, LinearKind::Galerkin),
    ];
    for (method, kind) in pairs {
        let times = times(method, kind);
        let known: f64 = times.stages().iter().map(|(_, seconds)| seconds).sum();
        assert!(known <= times.total && known >= 0.95 * times.total, "{method:?} {kind:?} {times:?}");
        assert!(times.stages().iter().all(|(_, seconds)| *seconds >= 0.0), "{times:?}");
        let cycles = times.smoothing > 0.0 && times.coarsest > 0.0 && times.transfer > 0.0;
        assert_eq!(cycles, kind == LinearKind::Galerkin, "{method:?} {kind:?} {times:?}");
        assert!(times.evaluation > 0.0 && times.assembly > 0.0 && times.update > 0.0, "{times:?}");
    }
}
