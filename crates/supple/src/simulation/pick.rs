//! Dragging: a ray picks a surface point, a soft attachment pulls it.

use glam::DVec3;

use super::{Grab, Simulation, unknown};
use crate::error::Error;
use crate::geometry::{Ray, TriangleTree};

/// A grab in progress. A released one's handle is never given to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GrabId(pub(super) u32);

impl Simulation {
    /// Grabs the first surface point that a ray meets; `None` if it meets nothing.
    pub fn grab(&mut self, ray: &Ray) -> Option<GrabId> {
        let mut nearest: Option<(f64, Grab)> = None;
        let id = GrabId(self.next_id + 1);
        for (index, body) in self.setup.bodies.iter().enumerate() {
            let tree = TriangleTree::new(self.body_range(index), body.surface_triangles.clone());
            let Some(hit) = tree.pick(ray) else { continue };
            if nearest.as_ref().is_some_and(|(distance, _)| *distance <= hit.distance) {
                continue;
            }
            let corners = body.surface_triangles[hit.triangle as usize];
            let weights = body.point_on_triangle(corners, hit.barycentric);
            let target = ray.origin + hit.distance * ray.direction.normalize_or_zero();
            let stiffness = body.hold_stiffness();
            nearest = Some((hit.distance, Grab { id, body: index, weights, target, stiffness }));
        }
        let (_, grab) = nearest?;
        self.next_id += 1;
        self.setup.grabs.push(grab);
        Some(id)
    }

    /// Drags what is grabbed towards a point, in metres.
    pub fn move_to(&mut self, grab: GrabId, target: DVec3) -> Result<(), Error> {
        let grab = self.setup.grabs.iter_mut().find(|other| other.id == grab);
        let grab = grab.ok_or_else(|| unknown("grab"))?;
        if !target.is_finite() {
            return Err(Error::Invalid(format!("a grab dragged to {target}: it must be a finite point")));
        }
        grab.target = target;
        Ok(())
    }

    /// Where a grab holds now.
    pub fn grabbed_point(&self, grab: GrabId) -> Option<DVec3> {
        let grab = self.setup.grabs.iter().find(|other| other.id == grab)?;
        let x = self.body_unknowns(grab.body);
        Some(grab.weights.iter().map(|&(v, w)| w * x[v as usize]).sum())
    }

    /// Lets go.
    pub fn release(&mut self, grab: GrabId) -> Result<(), Error> {
        super::remove_where(&mut self.setup.grabs, |other| other.id == grab).ok_or_else(|| unknown("grab"))
    }
}
