//! A cloth held at two corners, one second in sixty steps.

use supple::{Body, Pin, Scene, Selection, Simulation};

/// Builds a scene, steps it, reads positions.
pub fn main() -> Result<(), supple::Error> {
    let corners = Selection::nearest([[-0.5, 2.0, -0.5], [0.5, 2.0, -0.5]]);
    let scene = Scene::builder()
        .body(Body::cloth("cloth").size([1.0, 1.0]).vertices([21, 21]).at([0.0, 2.0, 0.0]).material("silk"))
        .pin(Pin::hard("cloth", corners))
        .build()?;

    let mut simulation = Simulation::new(scene)?;
    for _ in 0..60 {
        simulation.step(1.0 / 60.0)?;
    }

    let lowest = simulation.positions().iter().map(|p| p.y).fold(f64::MAX, f64::min);
    println!("after {:.2} s the lowest point is at {lowest:.3} m", simulation.time());
    Ok(())
}
