//! Colliders as meshes for pictures.

use glam::DVec3;
use supple::contact::{ColliderMeshes, Surface};
use supple::mesh::generate::{BoxShape, SphereShape};
use supple::scene::{Collider, ColliderShape, Pose, Scene};
use supple_render::{ColliderMesh, Ground};

/// Cells along each icosahedron edge of a drawn sphere; looks round at any picture size.
const SPHERE_CELLS: u32 = 24;

/// Round colliders are drawn slightly smaller than they are: the flat triangles of a cloth resting on one would dip
/// into it.
const DRAWN_SIZE: f64 = 0.99;

/// The colliders of a scene, with the files of mesh colliders.
pub(crate) struct DrawnColliders {
    colliders: Vec<Collider>,
    meshes: ColliderMeshes,
}

impl DrawnColliders {
    /// Reads all mesh files; a mesh that no longer exists is not drawn.
    pub(crate) fn new(scene: &Scene) -> Self {
        let mut meshes = ColliderMeshes::new(scene.time.fps);
        for collider in &scene.colliders {
            let _ = meshes.load(collider, &scene.folder, 0.0);
        }
        Self { colliders: scene.colliders.clone(), meshes }
    }

    /// The colliders at a time; planes are not meshes.
    pub(crate) fn at(&self, time: f64) -> Vec<ColliderMesh> {
        self.colliders.iter().filter_map(|collider| self.mesh(collider, time)).collect()
    }

    /// The same, each with a flag that says whether it moves.
    pub(crate) fn all_at(&self, time: f64) -> Vec<(ColliderMesh, bool)> {
        let drawn = |collider: &Collider| Some((self.mesh(collider, time)?, moves(collider)));
        self.colliders.iter().filter_map(drawn).collect()
    }

    /// Only the moving ones, in the same order.
    pub(crate) fn moving_at(&self, time: f64) -> Vec<ColliderMesh> {
        let moving = self.colliders.iter().filter(|collider| moves(collider));
        moving.filter_map(|collider| self.mesh(collider, time)).collect()
    }

    fn mesh(&self, collider: &Collider, time: f64) -> Option<ColliderMesh> {
        let (positions, triangles) = match solid(&collider.shape) {
            Some((mut positions, triangles)) => {
                let pose = collider.motion.as_ref().map_or(Pose::IDENTITY, |motion| motion.pose(time));
                positions.iter_mut().for_each(|p| *p = pose.apply(*p));
                (positions, triangles)
            }
            None => self.meshes.surface(collider, time).ok()??,
        };
        Some(ColliderMesh { name: collider.name.clone(), positions, triangles, color: None })
    }
}

/// Whether a collider moves, as a whole or its vertices.
fn moves(collider: &Collider) -> bool {
    let deforms = matches!(&collider.shape, ColliderShape::Mesh(mesh) if mesh.deforms());
    collider.motion.is_some() || deforms
}

/// The ground of a picture: the scene's level plane, if it has one.
pub(crate) fn ground(scene: &Scene) -> Ground {
    let level = |collider: &Collider| match collider.shape {
        ColliderShape::Plane { point, normal } if normal.normalize_or_zero().y > 0.999 => Some(point.y),
        _ => None,
    };
    scene.colliders.iter().find_map(level).map_or(Ground::Lowest, Ground::Height)
}

/// Spheres, capsules and boxes in their rest position.
fn solid(shape: &ColliderShape) -> Option<Surface> {
    let (from, to, radius) = match *shape {
        ColliderShape::Sphere { center, radius } => (center, center, radius),
        ColliderShape::Capsule { from, to, radius } => (from, to, radius),
        ColliderShape::Box { center, size } => {
            let surface = BoxShape { size: size.to_array(), cells: [1; 3] }.surface(1.0).ok()?;
            let positions = surface.positions.iter().map(|p| center + *p).collect();
            return Some((positions, surface.triangles()));
        }
        ColliderShape::Plane { .. } | ColliderShape::Mesh(_) => return None,
    };
    let ball = SphereShape { radius: DRAWN_SIZE * radius, cells: SPHERE_CELLS }.surface(1.0).ok()?;
    // Each hemisphere moves to its end; the triangles between the hemispheres become the sides.
    let end = |p: DVec3| if p.dot(to - from) > 0.0 { to } else { from };
    Some((ball.positions.iter().map(|p| end(*p) + *p).collect(), ball.triangles()))
}
