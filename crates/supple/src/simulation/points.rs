//! Positions and velocities of the surfaces' points, shareable with other owners.

use std::sync::Arc;

use glam::DVec3;

use crate::simulation::Simulation;

impl Simulation {
    /// [`Simulation::positions`] without copying them. They do not change: while another owner exists the next step writes
    /// to another list, else to the same.
    pub fn shared_positions(&self) -> Arc<Vec<DVec3>> {
        Arc::clone(&self.positions)
    }

    /// Velocities in m/s of the points of [`Simulation::positions`].
    pub fn velocities(&self) -> Vec<DVec3> {
        let mut velocities = vec![DVec3::ZERO; self.positions.len()];
        self.stepper.surface_velocities(&self.scene_state, &mut velocities);
        velocities
    }

    /// Gets the current surface positions from the stepper.
    pub(crate) fn update_surface_positions(&mut self) {
        let count = self.first_point[self.scene_state.bodies.len()];
        if Arc::get_mut(&mut self.positions).is_none() {
            self.positions = Arc::new(vec![DVec3::ZERO; count]);
        }
        let positions = Arc::get_mut(&mut self.positions).expect("there is no other owner");
        positions.resize(count, DVec3::ZERO);
        self.stepper.surface_positions(positions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Body, Scene, ShapeSource};
    use supple_mesh::generate::SphereShape;

    /// A ball whose surface is embedded in coarser tetrahedra.
    fn ball() -> Simulation {
        let sphere = ShapeSource::Sphere(SphereShape { radius: 0.2, cells: 4 });
        let body = Body::new("ball", sphere).solid(0.1).material("flesh").moving([1.0, 0.0, 0.0]);
        Simulation::new(Scene::builder().body(body).build().unwrap()).unwrap()
    }

    #[test]
    fn shared_positions_stay_while_steps_go_on() {
        let mut simulation = ball();
        let before = simulation.shared_positions();
        let copy = before.as_ref().clone();
        simulation.step(0.01).unwrap();
        assert_eq!(*before, copy);
        assert_ne!(simulation.positions(), copy);
    }

    #[test]
    fn a_list_that_nobody_holds_is_used_again() {
        let mut simulation = ball();
        let place = simulation.shared_positions().as_ptr();
        simulation.step(0.01).unwrap();
        assert_eq!(simulation.positions().as_ptr(), place);
    }

    #[test]
    fn velocities_of_an_embedded_surface_are_the_change_of_its_positions() {
        let mut simulation = ball();
        let before = simulation.shared_positions();
        simulation.step(0.01).unwrap();
        for ((after, before), v) in
            simulation.positions().iter().zip(before.iter()).zip(simulation.velocities())
        {
            assert!(v.distance((*after - *before) / 0.01) < 1e-9);
        }
    }
}
