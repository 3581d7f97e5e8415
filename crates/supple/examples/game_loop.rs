//! A bare game loop: a fixed budget per frame, positions into a vertex buffer, a collider that follows the player.

use std::time::Duration;

use supple::{Body, Collider, Pin, Scene, Selection, Simulation};

/// Ten frames of a curtain that a ball is pushed through.
pub fn main() -> Result<(), supple::Error> {
    let rail = Selection::plane([0.0, 1.99, 0.0], [0.0, 1.0, 0.0]);
    let curtain = Body::cloth("curtain")
        .size([1.0, 1.0])
        .vertices([17, 17])
        .rotated([90.0, 0.0, 0.0])
        .at([0.0, 1.5, 0.0]);
    let scene = Scene::builder().body(curtain).pin(Pin::hard("curtain", rail)).build()?;
    let mut simulation = Simulation::new(scene)?;
    let ball = |z: f64| Collider::sphere("player", [0.0, 1.4, z], 0.2);
    let player = simulation.add_collider(ball(0.6))?;
    let mut vertex_buffer = vec![0.0f32; 3 * simulation.positions().len()];

    for frame in 0..10 {
        simulation.set_collider(player, ball(0.6 - 0.05 * f64::from(frame)))?;
        // The best state that eight milliseconds allow; a slow machine gets a less accurate one.
        let report = simulation.step_within(1.0 / 60.0, Duration::from_millis(8))?;
        simulation.write_positions_f32(&mut vertex_buffer)?;
        println!(
            "frame {frame}: residual {:.1e}, {} contacts",
            report.residual.unwrap_or(0.0),
            report.contacts
        );
    }
    Ok(())
}
