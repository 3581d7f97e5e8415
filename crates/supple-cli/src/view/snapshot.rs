//! What the page draws, as messages: a topology once until it changes, and frames with positions only.

use std::sync::Arc;

use axum::body::Bytes;
use glam::{DVec3, Vec3};
use serde::Serialize;
use supple::output::FrameSurface;
use supple::scene::{ColliderShape, Scene};
use supple_render::{ColliderMesh, Ground};

use super::message::{BinaryKind, BinaryMessage};
use crate::colliders::{DrawnColliders, ground};

/// Encoded meshes without the positions that change.
pub(super) struct EncodedTopology {
    pub(super) id: u64,
    pub(super) message: Bytes,
}

/// An encoded frame.
pub(super) struct Snapshot {
    pub(super) topology: Arc<EncodedTopology>,
    pub(super) message: Bytes,
}

#[derive(Serialize)]
struct BodyHeader<'a> {
    name: &'a str,
    vertices: usize,
    triangles: usize,
    edges: usize,
}

#[derive(Serialize)]
struct ColliderHeader<'a> {
    name: &'a str,
    vertices: usize,
    triangles: usize,
    moves: bool,
}

#[derive(Serialize)]
struct PlaneHeader {
    point: DVec3,
    normal: DVec3,
}

#[derive(Serialize)]
struct TopologyHeader<'a> {
    id: u64,
    /// Counts the scenes that have been shown: a new one needs another view.
    scene: u64,
    bodies: Vec<BodyHeader<'a>>,
    colliders: Vec<ColliderHeader<'a>>,
    /// Planes that are not the ground.
    planes: Vec<PlaneHeader>,
    /// The height of the ground in metres, if the scene defines it.
    ground: Option<f64>,
}

/// The header of a frame.
#[derive(Serialize)]
struct FrameHeader<'a, T> {
    topology: u64,
    time: f64,
    vertices: usize,
    pins: usize,
    #[serde(flatten)]
    more: &'a T,
}

/// Encodes frames as messages, and topologies when they change.
pub(super) struct Drawer {
    colliders: DrawnColliders,
    planes: Vec<(DVec3, DVec3)>,
    ground: Option<f64>,
    /// The surfaces of the current topology.
    surfaces: Vec<Arc<FrameSurface>>,
    topology: Option<Arc<EncodedTopology>>,
    topologies: u64,
    scenes: u64,
}

impl Drawer {
    /// For the colliders of a scene; `first` numbers its first topology.
    pub(super) fn new(scene: &Scene, first: u64) -> Self {
        let height = match ground(scene) {
            Ground::Height(height) => Some(height),
            Ground::Lowest | Ground::Hidden => None,
        };
        let plane = |shape: &ColliderShape| match *shape {
            ColliderShape::Plane { point, normal } => Some((point, normal.normalize_or_zero())),
            _ => None,
        };
        let planes = scene.colliders.iter().filter_map(|collider| plane(&collider.shape));
        let is_ground =
            |&(point, normal): &(DVec3, DVec3)| normal.y > 0.999 && height.is_some_and(|y| y == point.y);
        Self {
            colliders: DrawnColliders::new(scene),
            planes: planes.filter(|plane| !is_ground(plane)).collect(),
            ground: height,
            surfaces: Vec::new(),
            topology: None,
            topologies: first,
            scenes: 1,
        }
    }

    /// For the colliders of a scene that replaces the current one.
    pub(super) fn with_scene(&self, scene: &Scene) -> Self {
        Self { scenes: self.scenes, ..Self::new(scene, self.topologies) }
    }

    /// What follows is another scene to look at.
    pub(super) fn begin_scene(&mut self) {
        self.scenes += 1;
    }

    /// The number that the next topology would have.
    pub(super) fn next_topology(&self) -> u64 {
        self.topologies
    }

    /// A frame at a time: the positions of all surfaces in sequence, and pinned points. `more` is added to its header.
    pub(super) fn draw<T: Serialize>(
        &mut self,
        surfaces: &[Arc<FrameSurface>],
        time: f64,
        positions: impl ExactSizeIterator<Item = Vec3>,
        pins: &[Vec3],
        more: &T,
    ) -> Snapshot {
        let topology = self.topology_of(surfaces, time);
        let moving = self.colliders.moving_at(time);
        let (vertices, id) = (positions.len(), topology.id);
        let header = FrameHeader { topology: id, time, vertices, pins: pins.len(), more };
        let collider_points: usize = moving.iter().map(|mesh| mesh.positions.len()).sum();
        let mut message =
            BinaryMessage::new(BinaryKind::Frame, &header, 3 * (vertices + pins.len() + collider_points));
        message.points(positions);
        message.points(pins.iter().copied());
        for mesh in &moving {
            message.points(mesh.positions.iter().map(|p| p.as_vec3()));
        }
        Snapshot { topology, message: message.finish() }
    }

    fn topology_of(&mut self, surfaces: &[Arc<FrameSurface>], time: f64) -> Arc<EncodedTopology> {
        let is_known = |(a, b): (&Arc<FrameSurface>, &Arc<FrameSurface>)| Arc::ptr_eq(a, b);
        let same = surfaces.len() == self.surfaces.len() && surfaces.iter().zip(&self.surfaces).all(is_known);
        if let Some(topology) = self.topology.as_ref().filter(|_| same) {
            return topology.clone();
        }
        let topology =
            Arc::new(EncodedTopology { id: self.topologies, message: self.encode(surfaces, time) });
        self.topologies += 1;
        self.surfaces = surfaces.to_vec();
        self.topology = Some(topology.clone());
        topology
    }

    fn encode(&self, surfaces: &[Arc<FrameSurface>], time: f64) -> Bytes {
        let meshes: Vec<SurfaceParts<'_>> =
            surfaces.iter().map(|surface| SurfaceParts::new(surface)).collect();
        let colliders = self.colliders.all_at(time);
        let header = TopologyHeader {
            id: self.topologies,
            scene: self.scenes,
            bodies: meshes.iter().map(SurfaceParts::header).collect(),
            colliders: colliders.iter().map(|(mesh, moves)| collider_header(mesh, *moves)).collect(),
            planes: self.planes.iter().map(|&(point, normal)| PlaneHeader { point, normal }).collect(),
            ground: self.ground,
        };
        let mut message = BinaryMessage::new(BinaryKind::Topology, &header, 0);
        for mesh in &meshes {
            message.points(mesh.surface.mesh.positions.iter().map(|p| p.as_vec3()));
            message.words(mesh.triangles.as_flattened().iter().copied());
            message.words(mesh.edges.as_flattened().iter().copied());
        }
        for (mesh, _) in &colliders {
            message.points(mesh.positions.iter().map(|p| p.as_vec3()));
            message.words(mesh.triangles.as_flattened().iter().copied());
        }
        message.finish()
    }
}

fn collider_header(mesh: &ColliderMesh, moves: bool) -> ColliderHeader<'_> {
    ColliderHeader {
        name: &mesh.name,
        vertices: mesh.positions.len(),
        triangles: mesh.triangles.len(),
        moves,
    }
}

/// A surface split into drawable parts.
struct SurfaceParts<'a> {
    surface: &'a FrameSurface,
    triangles: Vec<[u32; 3]>,
    edges: Vec<[u32; 2]>,
}

impl<'a> SurfaceParts<'a> {
    fn new(surface: &'a FrameSurface) -> Self {
        Self { surface, triangles: surface.mesh.triangles(), edges: polygon_edges(surface) }
    }

    fn header(&self) -> BodyHeader<'a> {
        BodyHeader {
            name: &self.surface.name,
            vertices: self.surface.mesh.positions.len(),
            triangles: self.triangles.len(),
            edges: self.edges.len(),
        }
    }
}

/// The edges of a mesh's polygons, each once.
fn polygon_edges(surface: &FrameSurface) -> Vec<[u32; 2]> {
    let mut edges: Vec<[u32; 2]> = Vec::new();
    for face in surface.mesh.faces() {
        let next = face.iter().cycle().skip(1);
        edges.extend(face.iter().zip(next).map(|(&a, &b)| [a.min(b), a.max(b)]));
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}
