//! Dragging: a ray picks a surface point, a soft attachment pulls it.

use glam::DVec3;

use super::{Grab, Simulation, unknown};
use crate::error::Error;
use crate::geometry::{Ray, TriangleTree};

/// A grab in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GrabId(usize);

impl Simulation {
    /// Grabs the first surface point that a ray meets; `None` if it meets nothing.
    pub fn grab(&mut self, ray: &Ray) -> Option<GrabId> {
        let mut nearest: Option<(f64, Grab)> = None;
        for (index, body) in self.setup.bodies.iter().enumerate() {
            let tree = TriangleTree::new(self.body_range(index), body.surface_triangles.clone());
            let Some(hit) = tree.pick(ray) else { continue };
            if nearest.as_ref().is_some_and(|(distance, _)| *distance <= hit.distance) {
                continue;
            }
            let corners = body.surface_triangles[hit.triangle as usize];
            let weights = body.point_on_triangle(corners, hit.barycentric);
            let target = ray.origin + hit.distance * ray.direction.normalize_or_zero();
            nearest =
                Some((hit.distance, Grab { body: index, weights, target, stiffness: body.hold_stiffness() }));
        }
        let (_, grab) = nearest?;
        self.setup.grabs.push(Some(grab));
        Some(GrabId(self.setup.grabs.len() - 1))
    }

    /// Drags what is grabbed towards a point, in metres.
    pub fn move_to(&mut self, grab: GrabId, target: DVec3) -> Result<(), Error> {
        let grab = self.setup.grabs.get_mut(grab.0).and_then(Option::as_mut);
        grab.ok_or_else(|| unknown("grab"))?.target = target;
        Ok(())
    }

    /// Where a grab holds now.
    pub fn grabbed_point(&self, grab: GrabId) -> Option<DVec3> {
        let grab = self.setup.grabs.get(grab.0)?.as_ref()?;
        let first = self.stepper_first_unknown(grab.body);
        let x = self.stepper.unknown_positions();
        Some(grab.weights.iter().map(|&(v, w)| w * x[first + v as usize]).sum())
    }

    /// Lets go.
    pub fn release(&mut self, grab: GrabId) -> Result<(), Error> {
        let place = self.setup.grabs.get_mut(grab.0).ok_or_else(|| unknown("grab"))?;
        place.take().map(|_| ()).ok_or_else(|| unknown("grab"))
    }
}
