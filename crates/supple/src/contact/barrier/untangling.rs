//! Springs that part surfaces which cross, and push points out of colliders.

use std::sync::PoisonError;

use glam::DVec3;

use super::{ContactProperties, ContactSystem, combine, place};
use crate::contact::Tangle;
use crate::contact::collider::obstacles::Solid;

/// A spring on `Σ wᵢ pᵢ` of an edge that passes through a triangle.
#[derive(Debug, Clone, Copy)]
pub(super) struct UntanglingSpring {
    pub(super) points: [u32; 5],
    pub(super) weights: [f64; 5],
    pub(super) target: DVec3,
    pub(super) stiffness: f64,
}

impl ContactSystem {
    /// Updates the intersections at `x`.
    pub fn update_tangle(&mut self, x: &[DVec3]) {
        let Self { properties, detection, tangle, .. } = self;
        let found = detection.get_mut().unwrap_or_else(PoisonError::into_inner);
        place(&properties.points, x, &self.driven, &mut found.at);
        *tangle = Tangle::find(&properties.surfaces, &mut found.candidates, &found.at);
        found.candidates.set_loose(&tangle.loose);
        found.known = false;
        self.tangled = !self.tangle.crossings.is_empty();
    }

    pub(super) fn find_untangling_springs(
        &self,
        at: &[DVec3],
        untangling_springs: &mut Vec<UntanglingSpring>,
    ) {
        let ContactProperties { surfaces, stiffness, thickness, .. } = &self.properties;
        for piercing in self.tangle.piercings(surfaces, at) {
            let of = piercing.points.map(|p| stiffness.get(p as usize).copied().unwrap_or(0.0));
            untangling_springs.push(UntanglingSpring {
                points: piercing.points,
                weights: piercing.weights,
                target: combine(&piercing.points, &piercing.weights, at) + *thickness * piercing.direction,
                stiffness: of.iter().sum::<f64>() / 5.0,
            });
        }
    }

    /// Releases the points that are inside spheres, capsules and planes from contact with them, and finds the springs that push them out.
    pub(super) fn release_from_solids(&mut self, x: &[DVec3], dt: f64, springs: &mut Vec<UntanglingSpring>) {
        let mut at = std::mem::take(&mut self.found_mut().to);
        place(&self.properties.points, x, &self.driven, &mut at);
        let ContactProperties { surfaces, stiffness, thickness, untangle, .. } = &self.properties;
        let bodies = surfaces.body_points();
        self.released.clear();
        let push = thickness.max(PUSH_SPEED * dt);
        for index in 0..self.obstacles.len() {
            let Some(solid) = self.obstacles.solid(index, &at[bodies..], self.pose) else { continue };
            for p in (0..bodies as u32).filter(|p| stiffness[*p as usize] > 0.0) {
                let found = solid.to_vertex(at[p as usize]);
                if found.distance > 0.0 {
                    continue;
                }
                self.released.push([index as u32, p]);
                if *untangle {
                    let out = (*thickness - found.distance).min(push);
                    springs.push(UntanglingSpring {
                        points: [p; 5],
                        weights: [1.0, 0.0, 0.0, 0.0, 0.0],
                        target: at[p as usize] + out * found.normal,
                        stiffness: stiffness[p as usize],
                    });
                }
            }
            if matches!(solid, Solid::Round { .. }) {
                for t in surfaces.body_triangles() {
                    let corners = t.map(|p| at[p as usize]);
                    if solid.to_triangle_if_near(&corners, 0.0).is_some_and(|found| found.distance <= 0.0) {
                        self.released.extend(t.map(|p| [index as u32, p]));
                    }
                }
            }
        }
        self.released.sort_unstable();
        self.released.dedup();
        self.found_mut().to = at;
    }
}

/// How fast points that are inside colliders are pushed out, in m/s.
const PUSH_SPEED: f64 = 0.3;
