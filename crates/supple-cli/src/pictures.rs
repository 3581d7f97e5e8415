//! Colliders and the ground as the program draws them, for other renderers.

use supple::scene::Scene;
use supple_render::{ColliderMesh, Ground};

use crate::colliders::DrawnColliders;

/// The colliders of a scene at a time in seconds; planes are not meshes, and missing files are skipped.
pub fn drawn_colliders(scene: &Scene, time: f64) -> Vec<ColliderMesh> {
    DrawnColliders::new(scene).at(time)
}

/// The ground: the scene's level plane, if it has one.
pub fn drawn_ground(scene: &Scene) -> Ground {
    crate::colliders::ground(scene)
}
