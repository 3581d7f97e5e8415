//! A collider at the start and the end of a step: signed distance, normal and how its surface has moved.

use glam::DVec3;

use crate::error::Error;
use crate::scene::{Collider, ColliderShape, Pose};

/// How far a point is from a collider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Separation {
    /// Signed distance in metres, negative inside.
    pub distance: f64,
    /// Unit normal, away from the collider.
    pub normal: DVec3,
}

/// A collider over one step.
#[derive(Debug, Clone)]
pub struct PosedCollider {
    shape: ColliderShape,
    start: Pose,
    end: Pose,
    /// Penalty stiffness in Pa/m.
    pub stiffness: f64,
    /// Distance kept from the shape, in metres.
    pub thickness: f64,
    /// Friction coefficient, if the collider decides it.
    pub friction: Option<f64>,
}

impl PosedCollider {
    /// The collider over the step from `start` to `end` (seconds). Shapes that nothing can do yet are refused.
    pub fn new(collider: &Collider, start: f64, end: f64) -> Result<Self, Error> {
        if !matches!(collider.shape, ColliderShape::Plane { .. } | ColliderShape::Sphere { .. }) {
            return Err(Error::NotSupported(format!("the shape of collider `{}`", collider.name)));
        }
        let pose = |time| collider.motion.as_ref().map_or(Pose::IDENTITY, |motion| motion.pose(time));
        Ok(Self {
            shape: collider.shape.clone(),
            start: pose(start),
            end: pose(end),
            stiffness: collider.stiffness,
            thickness: collider.thickness,
            friction: collider.friction,
        })
    }

    /// Distance and normal at the step's end.
    pub fn separation(&self, point: DVec3) -> Separation {
        self.separation_at(&self.end, point)
    }

    /// Distance and normal at the step's start.
    pub fn start_separation(&self, point: DVec3) -> Separation {
        self.separation_at(&self.start, point)
    }

    /// Where a point that rides on the collider since the step's start is at its end.
    pub fn carry(&self, point: DVec3) -> DVec3 {
        self.end.apply(self.start.apply_inverse(point))
    }

    fn separation_at(&self, pose: &Pose, point: DVec3) -> Separation {
        let local = self.local_separation(pose.apply_inverse(point));
        Separation { distance: pose.scale * local.distance, normal: pose.rotation() * local.normal }
    }

    fn local_separation(&self, point: DVec3) -> Separation {
        match self.shape {
            ColliderShape::Plane { point: origin, normal } => {
                let normal = normal.normalize_or(DVec3::Y);
                Separation { distance: normal.dot(point - origin), normal }
            }
            ColliderShape::Sphere { center, radius } => {
                let offset = point - center;
                Separation { distance: offset.length() - radius, normal: offset.normalize_or(DVec3::Y) }
            }
            _ => Separation { distance: f64::INFINITY, normal: DVec3::Y },
        }
    }
}
