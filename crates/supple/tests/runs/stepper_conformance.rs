//! Properties of every stepper: bit-identical results for any number of threads, after restoring a saved state, and
//! when repeated. A new stepper of the registry is included automatically.

use supple::mesh::implicit::Character;
use supple::scene::LinearKind::{Cholesky, Jacobi};
use supple::scene::{
    Body, Collider, Cuboid, Keyframe, Levels, LinearKind, LinearOptions, LinearUse, Method, Model, Motion,
    Pin, Scene, Selection, ShapeSource,
};
use supple::simulation::{DryRun, Registry, Simulation};

/// One scene per method and linear solver of implicit dynamics and per solver family, on cloth and on solids: with moving
/// pins, contact, friction and wind in each.
fn scenes() -> Vec<(String, Scene)> {
    let cloth = Body::cloth("body").size([1.0, 1.0]).vertices([14, 14]).at([0.0, 0.27, 0.0]);
    let solid = Body::new("body", ShapeSource::Character(Character::SpikyBall))
        .at([0.0, 0.3, 0.0])
        .solid(0.15)
        .material("foam");
    // Families that fill surfaces with cells, thousands of points for a few cells: a coarse surface, and enough cells for
    // several levels and several blocks of them.
    let block = Body::new("body", ShapeSource::Box(Cuboid { size: [0.5, 0.4, 0.4], cells: None }))
        .at([0.0, 0.47, 0.0])
        .solid(0.05)
        .material("foam");
    let linears = LinearKind::ALL.map(|kind| (Method::NEWTON, kind));
    let methods = [
        (Method::PROJECTIVE, Cholesky),
        (Method::LBFGS, Cholesky),
        (Method::NONLINEAR_CG, Jacobi),
        (Method::ACCELERATED_GRADIENT, Jacobi),
    ];
    let solvers = linears.into_iter().chain(methods);
    let own_steps = own_steps([&[cloth.clone()][..], &models_of(&block)].concat());
    solvers
        .flat_map(|(method, kind)| {
            let bodies = [("cloth", cloth.clone()), ("solid", solid.clone())];
            bodies.into_iter().map(move |(what, body)| {
                let mut scene = busy_scene(body);
                scene.solver.method = method;
                // Several levels, although the bodies are small.
                let levels = kind.has_option("levels").then(|| Levels::Counts(vec![30, 8]));
                scene.solver.linear = Some(LinearOptions { levels, ..kind.into() });
                // First-order methods do not converge here: their state after a few iterations must be reproduced.
                scene.solver.max_iterations = if method == Method::NEWTON { 200 } else { 20 };
                (format!("{method:?} with {kind:?}, {what}"), scene)
            })
        })
        .chain(own_steps)
        .collect()
}

/// A solid with each model that some stepper takes.
fn models_of(solid: &Body) -> [Body; 2] {
    [Model::Linear, Model::Corotated].map(|model| Body { model: Some(model), ..solid.clone() })
}

/// Every stepper without linear solvers, with each of the bodies that it can take.
fn own_steps(bodies: Vec<Body>) -> Vec<(String, Scene)> {
    let mut scenes = Vec::new();
    for method in Registry::builtin().methods().filter(|method| method.traits().linear == LinearUse::None) {
        let before = scenes.len();
        for body in &bodies {
            let mut scene = busy_scene(body.clone());
            scene.solver.method = method;
            scene.solver.max_iterations = 20;
            if DryRun::of(&scene).problems.is_empty() {
                scenes.push((format!("{method:?}, {:?} of {:?}", body.model, body.shape.source), scene));
            }
        }
        assert!(scenes.len() > before, "no scene fits {method:?}: add a body that it can take");
    }
    scenes
}

fn busy_scene(body: Body) -> Scene {
    let corner = Selection::nearest([[-0.5, 1.0, -0.5]]);
    let lifted = Motion {
        keyframes: vec![Keyframe::at(0.0), Keyframe::at(1.0).translate([0.3, 0.5, 0.0])],
        ..Motion::default()
    };
    Scene::builder()
        .wind([2.0, 0.0, 1.0])
        .body(body)
        .pin(Pin::hard("body", corner).following(lifted))
        .collider(Collider::sphere("ball", [0.0, -0.05, 0.0], 0.3).friction(0.4))
        .collider(Collider::plane("ground", [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]))
        .build()
        .unwrap()
}

fn hashes(simulation: &mut Simulation, steps: u32) -> Vec<u64> {
    (0..steps)
        .map(|_| {
            simulation.step(1.0 / 60.0).unwrap();
            simulation.state_hash()
        })
        .collect()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for (name, scene) in scenes() {
        let with_threads = |threads: usize| {
            let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| hashes(&mut Simulation::new(scene.clone()).unwrap(), 6))
        };
        let one = with_threads(1);
        assert_eq!(one, with_threads(2), "{name}");
        assert_eq!(one, with_threads(3), "{name}");
    }
}

#[test]
fn a_restored_state_continues_bit_identically() {
    for (name, scene) in scenes() {
        let mut unbroken = Simulation::new(scene.clone()).unwrap();
        hashes(&mut unbroken, 6);
        let saved = unbroken.save();
        let expected = hashes(&mut unbroken, 6);
        let mut other = Simulation::new(scene).unwrap();
        hashes(&mut other, 2);
        other.restore(&saved).unwrap();
        assert_eq!(hashes(&mut other, 6), expected, "{name}");
    }
}

#[test]
fn a_damaged_state_is_refused_and_changes_nothing() {
    for (name, scene) in scenes() {
        let mut simulation = Simulation::new(scene).unwrap();
        hashes(&mut simulation, 2);
        let (saved, before) = (simulation.save(), simulation.state_hash());
        for cut in [0, 7, 8, 20, saved.len() / 2, saved.len() - 1] {
            assert!(simulation.restore(&saved[..cut]).is_err(), "{name}: cut at {cut}");
        }
        let mut longer = saved.clone();
        longer.push(0);
        assert!(simulation.restore(&longer).is_err(), "{name}");
        assert_eq!(simulation.state_hash(), before, "{name}");
    }
}

#[test]
fn the_state_stays_finite_and_the_report_says_what_was_reached() {
    for (name, scene) in scenes() {
        let method = scene.solver.method;
        let mut simulation = Simulation::new(scene).unwrap();
        simulation.verify_steps(true);
        for _ in 0..20 {
            let report = simulation.step(1.0 / 60.0).unwrap();
            match report.correction {
                // It ends steps by how far the next one would move, verified here by an independent, tight solve.
                Some(correction) if method == Method::NEWTON => {
                    assert!(correction.is_solved(), "{name}: {report:?}")
                }
                _ => assert_eq!(
                    report.converged,
                    report.residual.is_none_or(|residual| residual <= 1e-4),
                    "{name}: {report:?}"
                ),
            }
            assert!(report.converged || method != Method::NEWTON, "{name}: {report:?}");
        }
        assert_eq!(simulation.first_non_finite(), None, "{name}");
    }
}
