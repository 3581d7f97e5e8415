//! An implicit shape prepared for many evaluations: bounding boxes allow distant parts of unions to be skipped, and
//! rotations are computed once. Results are bit-identical to those of the shape itself.

use glam::{DQuat, DVec3};

use super::distance::SmoothMinimum;
use super::{ImplicitShape, rotation};
use crate::stuffing::SignedField;
use supple_core::Aabb;

pub(super) struct Prepared<'a> {
    bounds: Aabb,
    node: PreparedNode<'a>,
}

enum PreparedNode<'a> {
    Primitive(&'a ImplicitShape),
    Union { parts: Vec<Prepared<'a>>, blend: f64 },
    Transform { of: Box<Prepared<'a>>, translate: DVec3, back: DQuat, scale: f64 },
}

impl<'a> Prepared<'a> {
    pub(super) fn new(shape: &'a ImplicitShape) -> Self {
        let (low, high) = shape.bounds();
        let node = match shape {
            ImplicitShape::Union { of, blend } => {
                PreparedNode::Union { parts: of.iter().map(Self::new).collect(), blend: *blend }
            }
            ImplicitShape::Transform { of, translate, rotate, scale } => PreparedNode::Transform {
                of: Box::new(Self::new(of)),
                translate: *translate,
                back: rotation(*rotate).inverse(),
                scale: *scale,
            },
            primitive => PreparedNode::Primitive(primitive),
        };
        Self { bounds: Aabb { low, high }, node }
    }

    pub(super) fn bounds(&self) -> (DVec3, DVec3) {
        (self.bounds.low, self.bounds.high)
    }
}

impl SignedField for Prepared<'_> {
    fn value(&self, point: DVec3) -> f64 {
        match &self.node {
            PreparedNode::Primitive(shape) => shape.value(point),
            PreparedNode::Union { parts, blend } => {
                let mut minimum = SmoothMinimum::new(*blend);
                for part in parts {
                    // Outside its box no field is less than the distance to the box.
                    let distance_squared = part.bounds.distance_squared(point);
                    if distance_squared == 0.0 || distance_squared < minimum.reach_squared() {
                        minimum.push(part.value(point));
                    }
                }
                minimum.finish()
            }
            PreparedNode::Transform { of, translate, back, scale } => {
                scale * of.value(*back * (point - *translate) / *scale)
            }
        }
    }

    fn side_of_ball(&self, center: DVec3, radius: f64) -> Option<bool> {
        let value = self.value(center);
        (value.abs() > radius).then_some(value < 0.0)
    }
}
