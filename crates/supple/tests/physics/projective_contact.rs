//! Contact in the matrix of projective dynamics: the same Hessians as under Newton's method, on top of its own constant matrix.

use std::time::Duration;

use glam::DVec3;
use supple::linear::BlockMatrix;
use supple::material::{MaterialSpec, StretchStiffness};
use supple::scene::{
    Bending, Body, Collider, ContactMatrix, FrictionModel, LinearKind, Method, Model, Scene, Solver,
};
use supple::simulation::{Comparison, Simulation};

const STEP: f64 = 1.0 / 60.0;

fn projective(linear: LinearKind, contact_matrix: ContactMatrix) -> Solver {
    Solver {
        method: Method::PROJECTIVE,
        linear: Some(linear.into()),
        contact_matrix: Some(contact_matrix),
        max_iterations: 30,
        ..Solver::default()
    }
}

/// A heavy cloth of weak springs at a height: what presses it on the ball is stiffer than itself.
fn cloth(name: &str, height: f64) -> Body {
    let material = MaterialSpec {
        area_density: Some(1.0),
        stretch_stiffness: Some(StretchStiffness::Uniform(10.0)),
        bend_stiffness: Some(1e-4),
        damping: Some(0.0),
        ..MaterialSpec::default()
    };
    let body =
        Body::cloth(name).size([0.5, 0.5]).vertices([11, 11]).at([0.01, height, 0.02]).material(material);
    Body { model: Some(Model::Spring), bending: Some(Bending::Quadratic), ..body }
}

/// Two cloths on a ball.
fn draped(solver: Solver) -> Scene {
    let ball = Collider::sphere("ball", [0.0; 3], 0.2).friction(0.4);
    let built = Scene::builder().body(cloth("lower", 0.2008)).body(cloth("upper", 0.2015)).collider(ball);
    let mut scene = built.solver(solver).build().unwrap();
    scene.contact.friction_model = FrictionModel::Adhesive;
    scene
}

/// The matrix of the first iteration without gravity, so that it is that of the start, where all is at rest.
fn first_matrix(solver: Solver, touches: bool) -> BlockMatrix {
    let mut scene = draped(solver);
    scene.world.gravity = DVec3::ZERO;
    if !touches {
        scene.colliders.clear();
        scene.contact.between_bodies = false;
    }
    Simulation::new(scene).unwrap().step_system(STEP).unwrap().matrix
}

#[test]
fn contact_adds_the_same_to_the_matrix_as_under_newtons_method() {
    let newton = || Solver { method: Method::NEWTON, ..Solver::default() };
    let blocks = || projective(LinearKind::Cholesky, ContactMatrix::Blocks);
    let matrices =
        [newton(), blocks()].map(|solver| [true, false].map(|touches| first_matrix(solver.clone(), touches)));
    assert!(!matrices[1][0].outside().is_empty(), "the cloths do not touch");
    let d: Vec<DVec3> =
        (0..242).map(f64::from).map(|k| DVec3::new(k.sin(), (2.0 * k).cos(), (3.0 * k).sin())).collect();
    let [expected, found] = matrices.map(|[with, without]| {
        let products = [with.multiply(&d), without.multiply(&d)];
        let [with, without] = &products;
        with.iter().zip(without).map(|(a, b)| *a - *b).collect::<Vec<DVec3>>()
    });
    let size = expected.iter().map(|v| v.length()).fold(0.0, f64::max);
    let error = expected.iter().zip(&found).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(size > 0.0 && error < 1e-9 * size, "{error} of {size}");
}

#[test]
fn contact_in_the_matrix_takes_at_most_half_the_iterations_of_a_bound() {
    let matrices = [ContactMatrix::Blocks, ContactMatrix::Bound];
    let kinds = [LinearKind::Cholesky, LinearKind::Mas];
    let solvers = kinds
        .into_iter()
        .flat_map(|kind| matrices.map(|matrix| (kind.name().to_owned(), projective(kind, matrix))));
    let comparison = Comparison {
        frame: 4,
        solvers: solvers.collect(),
        budget: Duration::from_secs(60),
        tolerance: 1e-3,
        reference_budget: None,
    };
    let scene = draped(Solver::default());
    let compared = comparison.run(&scene, supple::linear::Simd::Auto).unwrap();
    assert!(compared.contacts > 20, "{}", compared.contacts);
    for pair in compared.curves.chunks(2) {
        let [blocks, bound] = [0, 1].map(|k| pair[k].iterations_to(1e-2).unwrap());
        assert!(2 * blocks <= bound, "{}: {blocks} against {bound}", pair[0].name);
    }
}

#[test]
fn bits_are_the_same_for_any_number_of_threads_and_from_a_saved_state() {
    for kind in [LinearKind::Cholesky, LinearKind::Galerkin, LinearKind::Mas] {
        let create = || Simulation::new(draped(projective(kind, ContactMatrix::Blocks))).unwrap();
        let hashes = |simulation: &mut Simulation, steps: u32| -> Vec<u64> {
            (0..steps).map(|_| simulation.step(STEP).map(|_| simulation.state_hash()).unwrap()).collect()
        };
        let with_threads = |threads: usize| {
            let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| hashes(&mut create(), 8))
        };
        let one = with_threads(1);
        assert_eq!(one, with_threads(3), "{kind:?}");
        let mut broken = create();
        hashes(&mut broken, 4);
        let mut resumed = create();
        resumed.restore(&broken.save()).unwrap();
        assert_eq!(hashes(&mut resumed, 4), one[4..], "{kind:?}, resumed");
    }
}

#[test]
fn without_any_contact_both_matrices_are_one() {
    for kind in [LinearKind::Cholesky, LinearKind::Galerkin] {
        let hash = |matrix: ContactMatrix| {
            let mut scene = draped(projective(kind, matrix));
            // It falls beside the ball.
            scene.bodies.truncate(1);
            scene.bodies[0].transform.translate.x = 2.0;
            let mut simulation = Simulation::new(scene).unwrap();
            (0..3).for_each(|_| _ = simulation.step(STEP).unwrap());
            simulation.state_hash()
        };
        assert_eq!(hash(ContactMatrix::Blocks), hash(ContactMatrix::Bound), "{kind:?}");
    }
}
