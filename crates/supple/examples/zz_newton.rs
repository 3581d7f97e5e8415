//! Trial.
use supple::scene::Scene;
use supple::simulation::Simulation;
fn main() {
    let name = std::env::args().nth(1).unwrap();
    let frames: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let mut scene = Scene::find(&name).unwrap();
    if let Some(t) = std::env::args().nth(3) {
        scene.solver.tolerance = t.parse().unwrap();
    }
    if let Some(t) = std::env::args().nth(4) {
        scene.solver.max_iterations = t.parse().unwrap();
    }
    if let Some(t) = std::env::args().nth(5) {
        scene.scale_resolution(t.parse().unwrap()).unwrap();
    }
    let (fps, sub) = (scene.time.fps, scene.time.substeps);
    let dt = 1.0 / fps / f64::from(sub);
    let mut sim = Simulation::new(scene).unwrap();
    let t = std::time::Instant::now();
    let mut total = 0;
    for f in 0..frames * sub as usize {
        let r = sim.step(dt).unwrap();
        total += r.nonlinear_iterations;
        let h: Vec<String> = sim.inspect().residuals.iter().map(|r| format!("{r:.1e}")).collect();
        println!("{f} it {} lin {} conv {} {:.2}s asm {:.2} solve {:.2} minvol {:?} {}", r.nonlinear_iterations, r.linear_iterations, r.converged, r.times.total, r.times.assembly, r.times.solve, sim.min_volume_ratio(), h.join(" "));
    }
    println!("total iterations {total}, {:.2} s", t.elapsed().as_secs_f64());
}
