//! What every stepper holds: the same bits for any number of threads, from a saved state as without the break, and
//! for the second of two equal runs. A new stepper adds its scene to [`scenes`].

use supple::mesh::implicit::Character;
use supple::scene::{
    Body, Collider, Keyframe, Levels, Linear, LinearKind, Motion, Pin, Scene, Selection, ShapeSource,
};
use supple::simulation::Simulation;

/// One scene for each stepper and kind of body: pins that move, contact, friction and wind in each.
fn scenes() -> Vec<(&'static str, Scene)> {
    let cloth = Body::cloth("body", 1.0, 1.0, [14, 14]).at([0.0, 0.27, 0.0]);
    let solid = Body::new("body", ShapeSource::Character(Character::SpikyBall))
        .at([0.0, 0.3, 0.0])
        .solid(0.15)
        .material("foam");
    let multigrid = |body: Body| {
        let levels = Some(Levels::Counts(vec![30, 8]));
        let mut scene = busy_scene(body);
        scene.solver.linear = Linear { levels, ..LinearKind::Galerkin.into() };
        scene
    };
    vec![
        ("newton with galerkin, cloth", multigrid(cloth.clone())),
        ("newton with galerkin, solid", multigrid(solid.clone())),
        ("newton, cloth", busy_scene(cloth)),
        ("newton, solid", busy_scene(solid)),
    ]
}

fn busy_scene(body: Body) -> Scene {
    let corner = Selection::Nearest(vec![[-0.5, 1.0, -0.5].into()]);
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
fn bits_do_not_depend_on_the_number_of_threads() {
    for (name, scene) in scenes() {
        let with_threads = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| hashes(&mut Simulation::new(scene.clone()).unwrap(), 12))
        };
        let one = with_threads(1);
        assert_eq!(one, with_threads(2), "{name}");
        assert_eq!(one, with_threads(3), "{name}");
    }
}

#[test]
fn a_restored_state_goes_on_bit_for_bit() {
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
        let mut simulation = Simulation::new(scene).unwrap();
        for _ in 0..20 {
            let report = simulation.step(1.0 / 60.0).unwrap();
            assert!(report.converged && report.residual <= 1e-4, "{name}: {report:?}");
        }
        assert_eq!(simulation.first_non_finite(), None, "{name}");
    }
}
