//! Bars: their material and how far their ends move.

use glam::DVec3;
use supple::material::MaterialSpec;
use supple::simulation::Simulation;

/// An elastic material of the density of water without damping.
pub(crate) fn elastic(young_modulus: f64, poisson_ratio: f64) -> MaterialSpec {
    MaterialSpec {
        young_modulus: Some(young_modulus),
        poisson_ratio: Some(poisson_ratio),
        density: Some(1000.0),
        damping: Some(0.0),
        ..MaterialSpec::default()
    }
}

/// The mean displacement of the free end of a bar from x = 0 to its length.
pub(crate) fn end_displacement(simulation: &Simulation, length: f64) -> DVec3 {
    let start = &simulation.scene_state().bodies[0].surface_start;
    let end = start.iter().zip(simulation.positions()).filter(|(s, _)| s.x > length - 1e-6);
    let moved: Vec<DVec3> = end.map(|(s, x)| *x - *s).collect();
    moved.iter().sum::<DVec3>() / moved.len() as f64
}
