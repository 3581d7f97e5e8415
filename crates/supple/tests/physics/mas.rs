//! Multilevel additive Schwarz under the nonlinear methods: the motion must be that of the direct solver, however old
//! the domains are, and domains between two constructions are part of the state.

use glam::DVec3;
use supple::linear::mas::Layout;
use supple::scene::{Body, Collider, LinearKind, LinearOptions, Method, Pin, Scene, Selection, Solver};
use supple::simulation::Simulation;

use crate::galerkin;

fn apart(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

#[test]
fn motion_is_that_of_the_direct_solver_under_every_method() {
    let direct = galerkin::moved(Method::NEWTON, LinearKind::Cholesky.into(), 1e-6);
    let mas = |modes, layout| LinearOptions {
        domain: Some(16),
        modes: Some(modes),
        layout: Some(layout),
        ..LinearKind::Mas.into()
    };
    // Projective dynamics converges very slowly where stiffnesses differ, whatever solves its linear systems.
    // L-BFGS finds no lower energy below a residual of 2e-6, with inverses in 16 bits as its initial guess.
    for (method, linear, tolerance) in [
        (Method::NEWTON, mas(3, Layout::I16), 1e-6),
        (Method::NEWTON, mas(6, Layout::F32), 1e-6),
        (Method::NEWTON, mas(12, Layout::I16), 1e-6),
        (Method::PROJECTIVE, mas(3, Layout::I16), 1e-4),
        (Method::LBFGS, mas(3, Layout::I16), 1e-5),
    ] {
        let ours = galerkin::moved(method, linear.clone(), tolerance);
        let apart = apart(&ours, &direct);
        assert!(apart < 100.0 * tolerance, "{method:?} {linear:?}: {apart} m");
    }
}

fn domains(rebuild: u32) -> LinearOptions {
    LinearOptions { domain: Some(8), rebuild: Some(rebuild), ..LinearKind::Mas.into() }
}

/// On the bar, whose steps have one minimum each: thin cloth may buckle to either side, whatever the tolerance.
#[test]
fn domains_cut_many_steps_ago_do_not_change_the_motion() {
    let direct = galerkin::moved(Method::NEWTON, LinearKind::Cholesky.into(), 1e-6);
    for rebuild in [1, 4, 100] {
        let apart = apart(&galerkin::moved(Method::NEWTON, domains(rebuild), 1e-6), &direct);
        assert!(apart < 1e-4, "domains of {rebuild} steps: {apart} m");
    }
}

/// A cloth held at a corner that falls on a ball.
fn draped(linear: LinearOptions) -> Simulation {
    let scene = Scene::builder()
        .body(Body::cloth("cloth").size([1.0, 1.0]).vertices([17, 17]).at([0.0, 0.27, 0.0]))
        .pin(Pin::hard("cloth", Selection::nearest([[-0.5, 0.27, -0.5]])))
        .collider(Collider::sphere("ball", [0.0, 0.0, 0.0], 0.25))
        .solver(Solver { linear: Some(linear), ..Solver::default() });
    Simulation::new(scene.build().unwrap()).unwrap()
}

#[test]
fn domains_between_two_constructions_are_saved_and_restored() {
    let hashes = |simulation: &mut Simulation| -> Vec<u64> {
        let mut step = || {
            simulation.step(1.0 / 60.0).unwrap();
            simulation.state_hash()
        };
        (0..6).map(|_| step()).collect()
    };
    let mut unbroken = draped(domains(5));
    hashes(&mut unbroken);
    // After six steps the domains are one step old, and are rebuilt in the middle of the next six.
    let saved = unbroken.save();
    let expected = hashes(&mut unbroken);
    let mut resumed = draped(domains(5));
    resumed.restore(&saved).unwrap();
    assert_eq!(hashes(&mut resumed), expected);
    // Other domains would show: they change the rounding.
    let mut recut = draped(domains(1));
    recut.restore(&saved).unwrap();
    assert_ne!(hashes(&mut recut), expected);
}
