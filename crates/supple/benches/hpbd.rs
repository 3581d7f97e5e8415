//! `hpbd` on two threads: frames per second at 11,592 and 160,000 triangles, a cloth of 40,401 vertices hung by two corners, a
//! curtain at four resolutions with and without the hierarchy, and a step that tears against one that does not.
//! The argument `rates`, `hanging`, `curtain` or `tear` runs that part alone.

use std::time::Instant;

use supple::mesh::generate::{ClothGrid, GridPattern};
use supple::scene::{Method, Scene, ShapeSource};
use supple::simulation::Simulation;
use supple::solvers::hpbd::HpbdOptions;

fn main() {
    let pool =
        supple_core::parallel::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool of threads");
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let parts: [(&str, fn()); 4] =
        [("rates", rates), ("hanging", hanging), ("curtain", curtain), ("tear", tear)];
    for (name, part) in parts {
        if asked.is_empty() || asked.iter().any(|word| word == name) {
            pool.install(part);
        }
    }
}

/// The curtain without its draught, one step per frame with the paper's stiffness and two sweeps, and this many cells.
fn still_curtain(cells: [u32; 2], levels: u32) -> Scene {
    let mut scene = Scene::builtin("curtain").expect("a built-in scene");
    let size = [3.0 * f64::from(cells[0]) / f64::from(cells[1]), 3.0];
    let vertices = cells.map(|n| n + 1);
    scene.bodies[0].shape.source =
        ShapeSource::Grid(ClothGrid { size, vertices, pattern: GridPattern::default(), seed: 0 });
    scene.world.wind = None;
    scene.solver.options.set(HpbdOptions {
        levels,
        sweeps: 2,
        stiffness: Some(1.0),
        ..HpbdOptions::default()
    });
    scene
}

/// Runs frames of a scene; returns the simulation and the mean seconds per frame after the first tenth.
fn run(scene: Scene, fps: f64, frames: u32) -> (Simulation, f64) {
    let mut simulation = Simulation::new(scene).expect("a valid scene");
    let mut seconds = 0.0;
    for frame in 0..frames {
        let started = Instant::now();
        simulation.step(1.0 / fps).expect("it stays finite");
        seconds += if 10 * frame >= frames { started.elapsed().as_secs_f64() } else { 0.0 };
    }
    (simulation, seconds / (0.9 * f64::from(frames)))
}

fn rates() {
    for (cells, self_contact, frames, asked) in
        [([46, 126], false, 60, 300.0), ([46, 126], true, 60, 120.0), ([200, 400], false, 30, 30.0)]
    {
        let mut scene = still_curtain(cells, 16);
        scene.bodies[0].self_contact = Some(self_contact);
        let (simulation, seconds) = run(scene, 60.0, frames);
        let triangles = simulation.counts().elements;
        let contact = if self_contact { "with" } else { "without" };
        println!(
            "{triangles} triangles {contact} self-collision: {:.0} frames per second (required: {asked})",
            1.0 / seconds
        );
    }
}

fn hanging() {
    let mut scene = Scene::builtin("hanging-cloth").expect("a built-in scene");
    scene.solver.method = Method::HPBD;
    let (simulation, seconds) = run(scene, 30.0, 30);
    let stretch = simulation.stretch();
    println!(
        "{} vertices hung by two corners, after 1 s: p99 stretch {:.4} (target 1.05), largest {:.3}, {seconds:.3} s per frame (target 0.2)",
        simulation.positions().len(),
        stretch.p99,
        stretch.max
    );
}

/// The length of a hanging curtain over its rest length, minus one: the maximum over the second of two seconds.
fn strain(scene: Scene) -> f64 {
    let mut simulation = Simulation::new(scene).expect("a valid scene");
    let mut largest = 0.0_f64;
    for frame in 0..120 {
        simulation.step(1.0 / 60.0).expect("it stays finite");
        if frame >= 60 {
            let lowest = simulation.positions().iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
            largest = largest.max((3.0 - lowest) / 3.0 - 1.0);
        }
    }
    largest
}

fn curtain() {
    let mut first = [0.0; 3];
    for (k, cells) in [[16, 44], [25, 70], [40, 111], [64, 176]].into_iter().enumerate() {
        let mut small_steps = still_curtain(cells, 16);
        small_steps.solver.options.set(HpbdOptions::default());
        let found = [strain(small_steps), strain(still_curtain(cells, 16)), strain(still_curtain(cells, 0))];
        if k == 0 {
            first = found;
        }
        let ratio: Vec<String> = found.iter().zip(&first).map(|(a, b)| format!("{:.2}", a / b)).collect();
        let percent = found.map(|strain| format!("{:.2} %", 100.0 * strain));
        println!(
            "curtain of {} x {} cells, strain with small steps, with hierarchy, without: {} (over the coarsest {})",
            cells[0],
            cells[1],
            percent.join(", "),
            ratio.join(", ")
        );
    }
}

/// A sheet that is pulled apart until it tears, at 40,000 triangles.
fn tear() {
    let mut scene = Scene::builtin("tear").expect("a built-in scene");
    let pattern = GridPattern::Crossed;
    scene.bodies[0].shape.source =
        ShapeSource::Grid(ClothGrid { size: [1.2, 1.2], vertices: [142, 142], pattern, seed: 0 });
    let dt = 1.0 / (scene.time.fps * f64::from(scene.time.substeps));
    let mut simulation = Simulation::new(scene).expect("a valid scene");
    let (mut plain, mut torn) = (Vec::new(), Vec::new());
    for _ in 0..240 {
        let before = simulation.positions().len();
        let started = Instant::now();
        simulation.step(dt).expect("it stays finite");
        let seconds = started.elapsed().as_secs_f64();
        let tears = simulation.positions().len() > before;
        if tears { torn.push(seconds) } else { plain.push(seconds) }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let (of_plain, of_torn) = (median(&mut plain), median(&mut torn));
    println!(
        "{} triangles: a step {:.2} ms, one that tears {:.2} ms ({} of them), {:.2} times as much (target 2)",
        simulation.counts().elements,
        1e3 * of_plain,
        1e3 * of_torn,
        torn.len(),
        of_torn / of_plain
    );
}
