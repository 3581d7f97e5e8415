//! A step allocates nothing once contacts have stopped growing: every allocation is counted.

#![allow(unsafe_code, reason = "an allocator that counts is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use supple::mesh::generate::SphereShape;
use supple::mesh::implicit::Character;
use supple::scene::LinearKind::*;
use supple::scene::{
    Bending, Body, Collider, Keyframe, LinearKind, LinearOptions, Method, Model, Motion, Pin, Scene,
    Selection, Shape, ShapeSource,
};
use supple::simulation::Simulation;

/// The system's allocator, counting the calls that request memory.
struct Counting;

thread_local! {
    /// Calls of this thread: others, such as a test runner's watchdog, do not count.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A terminating thread has no count any more.
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
}

// SAFETY: every call is forwarded to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the contract of the system's allocator.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the contract of the system's allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn cloth(model: Model) -> Body {
    Body {
        model: Some(model),
        ..Body::cloth("body").size([0.6, 0.6]).vertices([12, 12]).at([0.0, 0.32, 0.0])
    }
}

fn solid(model: Model) -> Body {
    let ball = ShapeSource::Character(Character::SpikyBall);
    Body { model: Some(model), ..Body::new("body", ball).at([0.0, 0.3, 0.0]).solid(0.15).material("foam") }
}

/// A body on a ball in the wind, with one soft pin and one moving hard pin.
fn scene(body: Body, method: Method, kind: LinearKind) -> Scene {
    let near = |x: f64| Selection::nearest([[x, 0.32, -0.3]]);
    let moving = Motion {
        keyframes: vec![Keyframe::at(0.0), Keyframe::at(1.0).translate([0.0, 0.05, 0.0])],
        ..Motion::default()
    };
    let mut scene = Scene::builder()
        .wind([1.0, 0.0, 0.5])
        .body(body)
        .pin(Pin::hard("body", near(0.3)).following(moving))
        .pin(Pin::soft("body", near(-0.3), 100.0))
        .collider(Collider::sphere("ball", [0.0, 0.0, 0.0], 0.3).friction(0.4))
        .build()
        .unwrap();
    scene.solver.method = method;
    scene.solver.linear = Some(LinearOptions::from(kind));
    scene
}

fn advance(simulation: &mut Simulation, steps: u32) {
    for _ in 0..steps {
        simulation.step(0.02).unwrap();
    }
}

/// Allocations in ten steps, after two seconds in which everything has settled.
fn allocations(scene: Scene) -> usize {
    let mut simulation = Simulation::new(scene).unwrap();
    // The bodies rest on the ball then: contacts have stopped growing.
    advance(&mut simulation, 100);
    let before = ASKED.get();
    advance(&mut simulation, 10);
    ASKED.get() - before
}

/// Incomplete Cholesky is left out: the fill of its factor is known only
/// when it is computed.
#[test]
fn a_step_allocates_nothing_once_contacts_have_stopped_growing() {
    // With one thread, so that the thread scheduler is idle.
    let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let cloths = [
        (Model::Spring, Method::NEWTON, Cholesky),
        (Model::BaraffWitkin, Method::NEWTON, Jacobi),
        (Model::Corotated, Method::NEWTON, Schwarz),
        (Model::Stvk, Method::NEWTON, GaussSeidel),
        (Model::Spring, Method::NEWTON, Chebyshev),
        (Model::Spring, Method::PROJECTIVE, Jacobi),
        (Model::Spring, Method::PROJECTIVE, Cholesky),
        (Model::Spring, Method::LBFGS, Cholesky),
        (Model::Spring, Method::NONLINEAR_CG, Jacobi),
        (Model::Spring, Method::ACCELERATED_GRADIENT, Jacobi),
    ];
    for (model, method, kind) in cloths {
        let found = pool.install(|| allocations(scene(cloth(model), method, kind)));
        assert_eq!(found, 0, "{model:?} cloth by {method:?} with {kind:?}");
    }
    let folding = Body { bending: Some(Bending::Dihedral), ..cloth(Model::Corotated) };
    let ball = Shape::new(ShapeSource::Sphere(SphereShape { radius: 0.2, cells: 8 }));
    let blown = Body { pressure: Some(50.0), ..Body::new("body", ball).at([0.0, 0.5, 0.0]) };
    for (name, body) in [("folding", folding), ("blown", blown)] {
        let found = pool.install(|| allocations(scene(body, Method::NEWTON, Cholesky)));
        assert_eq!(found, 0, "{name} cloth");
    }
    for model in [Model::NeoHookean, Model::Arap, Model::Linear] {
        let found = pool.install(|| allocations(scene(solid(model), Method::NEWTON, Cholesky)));
        assert_eq!(found, 0, "{model:?} solid");
    }
}
