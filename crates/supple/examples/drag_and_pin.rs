//! Picking a cloth with a ray, dragging it, pinning it, releasing it.

use supple::mesh::geometry::Ray;
use supple::{Body, Collider, PinStrength, Scene, Selection, Simulation};

/// Lifts a cloth off the floor by its middle and hangs it up.
pub fn main() -> Result<(), supple::Error> {
    let scene = Scene::builder()
        .body(
            Body::cloth("towel").size([0.8, 0.8]).vertices([17, 17]).at([0.0, 0.01, 0.0]).material("cotton"),
        )
        .collider(Collider::plane("floor", [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]))
        .build()?;
    let mut simulation = Simulation::new(scene)?;

    let down = Ray { origin: [0.03, 2.0, 0.02].into(), direction: [0.0, -1.0, 0.0].into() };
    let Some(grab) = simulation.grab(&down) else {
        return Err(supple::Error::Invalid("the ray missed the towel".into()));
    };
    for step in 0..40 {
        simulation.move_to(grab, [0.03, 0.02 * f64::from(step), 0.02].into())?;
        simulation.step(1.0 / 60.0)?;
    }
    simulation.release(grab)?;

    // The highest vertex is hung on a hook, exactly where it is.
    let positions = simulation.positions();
    let highest =
        (0..positions.len()).max_by(|&a, &b| positions[a].y.total_cmp(&positions[b].y)).unwrap_or(0);
    let towel = simulation.body("towel").ok_or_else(|| supple::Error::Invalid("no towel".into()))?;
    let hook = simulation.pin(towel, &Selection::indices([highest as u32]), PinStrength::Hard)?;
    for _ in 0..30 {
        simulation.step(1.0 / 60.0)?;
    }
    println!("hanging at {:.3} m", simulation.positions()[highest].y);
    simulation.unpin(hook)
}
