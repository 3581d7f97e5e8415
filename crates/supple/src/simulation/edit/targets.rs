//! Surface vertices driven by the caller: a pin whose points each have their own target, which may change every step.

use glam::DVec3;

use crate::scene::PinStrength;
use crate::simulation::{ActivePin, BodyId, PinId, PinPoint, Simulation, unknown};
use supple_core::Error;

impl Simulation {
    /// Pins vertices of a body's surface at their current positions, exactly or by a stiffness in N/m, in the order given. Unlike
    /// the points of [`Simulation::pin`], each can be driven by [`Simulation::set_targets`].
    ///
    /// ```
    /// use supple::{Body, PinStrength, Scene, Simulation};
    /// let scene = Scene::builder().body(Body::cloth("cloth").vertices([3, 3])).build()?;
    /// let mut simulation = Simulation::new(scene)?;
    /// let body = simulation.body("cloth").expect("the scene has it");
    /// let corner = simulation.hold_vertices(body, &[0], PinStrength::Hard)?;
    /// simulation.set_targets(corner, &[[-0.5, 0.1, -0.5].into()])?;
    /// simulation.step(0.01)?;
    /// assert!((simulation.positions()[0].y - 0.1).abs() < 1e-12);
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn hold_vertices(
        &mut self,
        body: BodyId,
        vertices: &[u32],
        hold: PinStrength,
    ) -> Result<PinId, Error> {
        let index = self.scene_state.body_index(body).ok_or_else(|| unknown("body"))?;
        let stiffness = match hold {
            PinStrength::Hard => None,
            PinStrength::Stiffness(stiffness) if stiffness > 0.0 && stiffness.is_finite() => Some(stiffness),
            PinStrength::Stiffness(stiffness) => {
                return Err(Error::Invalid(format!(
                    "a pin of {stiffness} N/m: it must be above 0 and finite"
                )));
            }
        };
        let points = vertices.iter().map(|&vertex| self.vertex_point(index, vertex, stiffness.is_none()));
        let points = points.collect::<Result<Vec<PinPoint>, Error>>()?;
        let id = PinId(self.new_id());
        let (driver, during, offset) = (None, None, DVec3::ZERO);
        let mut pin =
            ActivePin { id, body: index, points, stiffness, driver, during, active_since: None, offset };
        pin.begin(self.scene_state.time, &self.body_unknowns(index));
        self.scene_state.pins.push(pin);
        Ok(id)
    }

    /// Drives the vertices of a pin of [`Simulation::hold_vertices`]: their target positions in metres at the end of each
    /// step from now on.
    pub fn set_targets(&mut self, pin: PinId, targets: &[DVec3]) -> Result<(), Error> {
        let pin =
            self.scene_state.pins.iter_mut().find(|other| other.id == pin).ok_or_else(|| unknown("pin"))?;
        let (count, held) = (targets.len(), pin.points.len());
        if count != held {
            return Err(Error::Invalid(format!("{count} targets for a pin of {held} vertices")));
        }
        if let Some(i) = targets.iter().position(|target| !target.is_finite()) {
            return Err(Error::Invalid(format!("target {i} is {}: it must be a finite point", targets[i])));
        }
        for (point, target) in pin.points.iter_mut().zip(targets) {
            point.start = *target;
        }
        Ok(())
    }

    fn vertex_point(&self, body: usize, vertex: u32, hard: bool) -> Result<PinPoint, Error> {
        let built = &self.scene_state.bodies[body];
        let (name, count) = (&built.name, built.embedding.len());
        if vertex as usize >= count {
            return Err(Error::Invalid(format!(
                "vertex {vertex} of body `{name}`, which has {count} vertices, numbered from 0"
            )));
        }
        let weights = built.embedding.weights(vertex as usize).to_vec();
        if hard && weights.len() > 1 {
            return Err(Error::Invalid(format!(
                "body `{name}`: vertices of an embedded surface cannot be pinned exactly; give a stiffness in N/m, such as {:.0}",
                built.attachment_stiffness()
            )));
        }
        Ok(PinPoint::new(weights, DVec3::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Body, Scene};

    fn falling() -> (Simulation, BodyId) {
        let scene =
            Scene::builder().body(Body::cloth("cloth").size([1.0, 1.0]).vertices([3, 3])).build().unwrap();
        let simulation = Simulation::new(scene).unwrap();
        let body = simulation.body("cloth").unwrap();
        (simulation, body)
    }

    #[test]
    fn vertices_are_driven_in_the_order_given() {
        let (mut simulation, body) = falling();
        let pin = simulation.hold_vertices(body, &[8, 0], PinStrength::Hard).unwrap();
        let goal = [DVec3::new(0.5, 0.1, 0.5), DVec3::new(-0.5, 0.2, -0.5)];
        simulation.set_targets(pin, &goal).unwrap();
        simulation.step(0.01).unwrap();
        assert!(simulation.positions()[8].distance(goal[0]) < 1e-12);
        assert!(simulation.positions()[0].distance(goal[1]) < 1e-12);
        simulation.unpin(pin).unwrap();
        assert!(simulation.set_targets(pin, &goal).is_err());
    }

    #[test]
    fn targets_are_part_of_the_state() {
        let (mut simulation, body) = falling();
        let pin = simulation.hold_vertices(body, &[4], PinStrength::Stiffness(50.0)).unwrap();
        simulation.set_targets(pin, &[DVec3::Y]).unwrap();
        simulation.step(0.01).unwrap();
        let saved = simulation.save();
        simulation.step(0.01).unwrap();
        let expected = simulation.state_hash();
        simulation.set_targets(pin, &[DVec3::X]).unwrap();
        simulation.restore(&saved).unwrap();
        simulation.step(0.01).unwrap();
        assert_eq!(simulation.state_hash(), expected);
    }

    #[test]
    fn what_cannot_be_pinned_or_driven_is_refused() {
        let (mut simulation, body) = falling();
        for stiffness in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(simulation.hold_vertices(body, &[0], PinStrength::Stiffness(stiffness)).is_err());
        }
        let error = simulation.hold_vertices(body, &[9], PinStrength::Hard).unwrap_err().to_string();
        assert!(error.contains("vertex 9") && error.contains("9 vertices"), "{error}");
        let pin = simulation.hold_vertices(body, &[0], PinStrength::Hard).unwrap();
        assert!(simulation.set_targets(pin, &[]).is_err());
        assert!(simulation.set_targets(pin, &[DVec3::NAN]).is_err());
    }
}
