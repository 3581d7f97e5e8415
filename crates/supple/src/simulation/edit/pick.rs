//! Dragging: a ray picks a surface point, a soft attachment pulls it.

use glam::DVec3;

use crate::simulation::{Grab, GrabId, Simulation, unknown};
use supple_core::Error;
use supple_mesh::geometry::{Ray, TriangleTree};

/// A surface point hit by a ray.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Picked {
    /// Index of its body.
    pub body: usize,
    /// The triangle that contains it, as vertices of the body's surface.
    pub corners: [u32; 3],
    /// The weights of the corners.
    pub barycentric: [f64; 3],
    /// The point in metres.
    pub point: DVec3,
    /// Its distance from the ray's origin in metres.
    pub distance: f64,
}

impl Picked {
    /// The corner nearest to the point.
    pub fn vertex(&self) -> u32 {
        let [a, b, c] = self.barycentric;
        self.corners[if a >= b && a >= c {
            0
        } else if b >= c {
            1
        } else {
            2
        }]
    }
}

impl Simulation {
    /// The first surface point hit by a ray; `None` if there is none.
    pub fn pick(&self, ray: &Ray) -> Option<Picked> {
        let mut nearest: Option<Picked> = None;
        for (index, body) in self.scene_state.bodies.iter().enumerate() {
            let tree = TriangleTree::new(self.body_range(index), body.surface_triangles.clone());
            let Some(hit) = tree.pick(ray) else { continue };
            if nearest.as_ref().is_none_or(|nearest| hit.distance < nearest.distance) {
                let corners = body.surface_triangles[hit.triangle as usize];
                let point = ray.origin + hit.distance * ray.direction.normalize_or_zero();
                let (distance, barycentric) = (hit.distance, hit.barycentric);
                nearest = Some(Picked { body: index, corners, barycentric, point, distance });
            }
        }
        nearest
    }

    /// Grabs the first surface point hit by a ray; `None` if there is none.
    pub fn grab(&mut self, ray: &Ray) -> Option<GrabId> {
        let Picked { body: index, corners, barycentric, point, .. } = self.pick(ray)?;
        let body = &self.scene_state.bodies[index];
        let weights = body.point_on_triangle(corners, barycentric);
        let stiffness = body.attachment_stiffness();
        let id = GrabId(self.new_id());
        self.scene_state.grabs.push(Grab { id, body: index, weights, target: point, stiffness });
        Some(id)
    }

    /// Drags a grabbed point towards a position, in metres.
    pub fn move_to(&mut self, grab: GrabId, target: DVec3) -> Result<(), Error> {
        let grab = self.scene_state.grabs.iter_mut().find(|other| other.id == grab);
        let grab = grab.ok_or_else(|| unknown("grab"))?;
        if !target.is_finite() {
            return Err(Error::Invalid(format!("a grab dragged to {target}: it must be a finite point")));
        }
        grab.target = target;
        Ok(())
    }

    /// The current position of a grabbed point.
    pub fn grabbed_point(&self, grab: GrabId) -> Option<DVec3> {
        let grab = self.scene_state.grabs.iter().find(|other| other.id == grab)?;
        let x = self.body_unknowns(grab.body);
        Some(grab.weights.iter().map(|&(v, w)| w * x[v as usize]).sum())
    }

    /// Releases a grab.
    pub fn release(&mut self, grab: GrabId) -> Result<(), Error> {
        crate::simulation::remove_where(&mut self.scene_state.grabs, |other| other.id == grab)
            .ok_or_else(|| unknown("grab"))
    }
}
