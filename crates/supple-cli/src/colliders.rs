//! Colliders as meshes for pictures.

use glam::DVec3;
use supple::mesh::generate::SphereShape;
use supple::output::render::{ColliderMesh, Ground};
use supple::scene::{Collider, ColliderShape, Pose, Scene};

/// Cells along each icosahedron edge of a drawn sphere: round at any size of picture.
const SPHERE_CELLS: u32 = 24;

/// The colliders of a scene at a time; planes are not meshes.
pub(crate) fn collider_meshes(scene: &Scene, time: f64) -> Vec<ColliderMesh> {
    scene.colliders.iter().filter_map(|collider| collider_mesh(collider, time)).collect()
}

/// The ground of a picture: the scene's level plane, if it has one.
pub(crate) fn ground(scene: &Scene) -> Ground {
    let level = |collider: &Collider| match collider.shape {
        ColliderShape::Plane { point, normal } if normal.normalize_or_zero().y > 0.999 => Some(point.y),
        _ => None,
    };
    scene.colliders.iter().find_map(level).map_or(Ground::Lowest, Ground::Height)
}

fn collider_mesh(collider: &Collider, time: f64) -> Option<ColliderMesh> {
    let ColliderShape::Sphere { center, radius } = collider.shape else { return None };
    let surface = SphereShape { radius, cells: SPHERE_CELLS }.surface(1.0).ok()?;
    let pose = collider.motion.as_ref().map_or(Pose::IDENTITY, |motion| motion.pose(time));
    Some(ColliderMesh {
        name: collider.name.clone(),
        positions: surface.positions.iter().map(|p: &DVec3| pose.apply(center + *p)).collect(),
        triangles: surface.triangles(),
        color: None,
    })
}
