//! Where the surfaces' points are and how fast they move, as others may keep it.

use std::sync::Arc;

use glam::DVec3;

use super::{Setup, Simulation};

impl Simulation {
    /// [`Simulation::positions`] without copying them. They stay what they are: while somebody holds them the next step writes
    /// into another list, else into the same.
    pub fn shared_positions(&self) -> Arc<Vec<DVec3>> {
        Arc::clone(&self.positions)
    }

    /// Velocities in m/s of the points of [`Simulation::positions`].
    pub fn velocities(&self) -> Vec<DVec3> {
        let mut velocities = vec![DVec3::ZERO; self.positions.len()];
        self.stepper.surface_velocities(&self.setup, &mut velocities);
        velocities
    }

    /// Asks the stepper where the surfaces are now.
    pub(super) fn look_at_surfaces(&mut self) {
        let count = self.first_point[self.setup.bodies.len()];
        if Arc::get_mut(&mut self.positions).is_none() {
            self.positions = Arc::new(vec![DVec3::ZERO; count]);
        }
        let positions = Arc::get_mut(&mut self.positions).expect("nobody else holds it");
        positions.resize(count, DVec3::ZERO);
        self.stepper.surface_positions(positions);
    }
}

impl Setup {
    /// Values at the unknowns of all bodies, one body after the other, to the points of their surfaces.
    pub fn embed(&self, unknowns: &[DVec3], points: &mut [DVec3]) {
        let (mut first, mut point) = (0, 0);
        for body in &self.bodies {
            let own = &unknowns[first..first + body.start.len()];
            for p in 0..body.embedding.len() {
                let weights = body.embedding.weights(p);
                points[point + p] = weights.iter().map(|&(v, w)| w * own[v as usize]).sum();
            }
            first += body.start.len();
            point += body.embedding.len();
        }
    }
}
