//! A collider at the start and the end of a step: signed distance, normal and surface displacement.

use std::path::Path;
use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::shape;
use crate::contact::collider::mesh_source::{FrameWindow, MeshSource};
use crate::contact::collider::signed_mesh::SignedMesh;
use crate::scene::{Collider, ColliderShape, Meeting, MeshShape, Placement, Pose};
use supple_core::Error;

/// How far a point is from a collider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Separation {
    /// Signed distance in metres, negative inside. For a point farther than the collider's thickness outside a mesh's
    /// box, a lower bound.
    pub distance: f64,
    /// Unit normal, away from the collider.
    pub normal: DVec3,
}

/// Positions in metres, and triangles.
pub type Surface = (Vec<DVec3>, Vec<[u32; 3]>);

/// The meshes of colliders, each read once.
#[derive(Debug, Clone, Default)]
pub struct ColliderMeshes {
    fps: f64,
    loaded: Vec<(MeshShape, Placement, Arc<MeshSource>)>,
}

impl ColliderMeshes {
    /// For a scene with `fps` frames per second, the rate of mesh file sequences.
    pub fn new(fps: f64) -> Self {
        Self { fps, loaded: Vec::new() }
    }

    /// Reads the mesh of a collider that has one, if it is not loaded yet; `folder` is the base of relative paths. One
    /// that changes in time must cover `until` seconds.
    pub fn load(&mut self, collider: &Collider, folder: &Path, until: f64) -> Result<(), Error> {
        let ColliderShape::Mesh(mesh) = &collider.shape else { return Ok(()) };
        if self.get(collider).is_some() {
            return Ok(());
        }
        let (user, placed) = (format!("collider `{}`", collider.name), collider.world_from_file());
        let source = MeshSource::open_until(folder, mesh, placed, [self.fps, until], &user)?;
        self.loaded.push((mesh.clone(), collider.transform.clone(), Arc::new(source)));
        Ok(())
    }

    /// Positions and triangles of a mesh collider at a time in seconds, for pictures; `None` for other shapes and meshes
    /// that were not loaded.
    pub fn surface(&self, collider: &Collider, time: f64) -> Result<Option<Surface>, Error> {
        let Some(source) = self.get(collider) else { return Ok(None) };
        let pose = collider.motion.as_ref().map_or(Pose::IDENTITY, |motion| motion.pose(time));
        let mut positions = source.positions(time, &mut FrameWindow::default())?;
        positions.iter_mut().for_each(|p| *p = pose.apply(*p));
        Ok(Some((positions, source.first().triangles().to_vec())))
    }

    /// Frames per second of mesh file sequences.
    pub(crate) fn fps(&self) -> f64 {
        self.fps
    }

    /// The mesh of a collider that has one, if it was loaded.
    pub(crate) fn source(&self, collider: &Collider) -> Option<&MeshSource> {
        self.get(collider).map(|source| &**source)
    }

    pub(super) fn get(&self, collider: &Collider) -> Option<&Arc<MeshSource>> {
        let ColliderShape::Mesh(mesh) = &collider.shape else { return None };
        let is_it = |(known, placed, _): &&(MeshShape, _, _)| known == mesh && *placed == collider.transform;
        self.loaded.iter().find(is_it).map(|(.., source)| source)
    }
}

/// Penalty stiffness in Pa/m of colliders that specify none, for families that have no barrier.
const PENALTY_STIFFNESS: f64 = 1e7;

/// A collider over one step.
#[derive(Debug, Clone)]
pub struct PosedCollider {
    shape: PosedShape,
    start: PreparedPose,
    end: PreparedPose,
    /// Penalty stiffness in Pa/m.
    pub stiffness: f64,
    /// Distance kept from the shape, in metres.
    pub thickness: f64,
    /// Friction coefficient, if the collider specifies it.
    friction: Option<f64>,
    /// For each body whether and how it meets it; empty if all do in the same way.
    pub(crate) meetings: Vec<Meeting>,
}

#[derive(Debug, Clone)]
enum PosedShape {
    Simple(ColliderShape),
    Mesh(PosedMesh),
}

/// A mesh at the start and the end of a step.
#[derive(Debug, Clone)]
struct PosedMesh {
    source: Arc<MeshSource>,
    start: Arc<SignedMesh>,
    end: Arc<SignedMesh>,
    end_time: f64,
    window: FrameWindow,
}

impl PosedCollider {
    /// The collider over the step from `start` to `end` (seconds). `meshes` must have been loaded for it; `before`, the
    /// same collider over the previous step, provides reusable buffers.
    pub fn new(
        collider: &Collider,
        meshes: &ColliderMeshes,
        [start, end]: [f64; 2],
        before: Option<Self>,
    ) -> Result<Self, Error> {
        let shape = match &collider.shape {
            ColliderShape::Mesh(_) => {
                let source = meshes.get(collider).ok_or_else(|| {
                    Error::Invalid(format!("the mesh of collider `{}` was not loaded", collider.name))
                })?;
                PosedShape::Mesh(PosedMesh::new(source, [start, end], before)?)
            }
            simple => PosedShape::Simple(simple.clone()),
        };
        let pose = |time| collider.motion.as_ref().map_or(Pose::IDENTITY, |motion| motion.pose(time));
        Ok(Self {
            shape,
            start: PreparedPose::new(&pose(start)),
            end: PreparedPose::new(&pose(end)),
            stiffness: collider.stiffness.unwrap_or(PENALTY_STIFFNESS),
            thickness: collider.thickness,
            friction: collider.friction,
            meetings: Vec::new(),
        })
    }

    /// Whether a body meets it.
    pub fn meets(&self, body: u32) -> bool {
        self.meetings.get(body as usize).is_none_or(|meeting| meeting.collides)
    }

    /// Its friction coefficient with a body, unless the body's material decides.
    pub fn friction(&self, body: u32) -> Option<f64> {
        self.meetings.get(body as usize).and_then(|meeting| meeting.friction).or(self.friction)
    }

    /// Distance and normal at the step's end.
    pub fn separation(&self, point: DVec3) -> Separation {
        self.separation_at(&self.end, |mesh| &mesh.end, point)
    }

    /// Distance and normal at the end of the step, of a point that was at `from` at its start. A point that passed through an
    /// open mesh during the step counts as behind it, however deep.
    pub fn separation_after(&self, from: DVec3, point: DVec3) -> Separation {
        match &self.shape {
            PosedShape::Mesh(mesh) if mesh.end.is_open() => {
                let (came, local) = (self.end.inverse(self.carry(from)), self.end.inverse(point));
                let found = mesh.end.separation_after(came, local, self.thickness / self.end.scale);
                self.end.place(found)
            }
            _ => self.separation(point),
        }
    }

    /// Distance and normal at the step's start.
    pub fn start_separation(&self, point: DVec3) -> Separation {
        self.separation_at(&self.start, |mesh| &mesh.start, point)
    }

    /// The end position of a point that moves with the collider from the step's start.
    pub fn carry(&self, point: DVec3) -> DVec3 {
        let mut local = self.start.inverse(point);
        if let PosedShape::Mesh(mesh) = &self.shape
            && mesh.source.deforms()
        {
            local += mesh.start.displacement(&mesh.end, local);
        }
        self.end.apply(local)
    }

    /// Whether it is the same at the step's start and end.
    pub fn rests(&self) -> bool {
        let same_shape = match &self.shape {
            PosedShape::Simple(_) => true,
            PosedShape::Mesh(mesh) => !mesh.source.deforms(),
        };
        same_shape && self.start == self.end
    }

    fn separation_at(
        &self,
        placement: &PreparedPose,
        at: impl Fn(&PosedMesh) -> &Arc<SignedMesh>,
        point: DVec3,
    ) -> Separation {
        let local = placement.inverse(point);
        let found = match &self.shape {
            PosedShape::Simple(simple) => shape::separation(simple, local),
            PosedShape::Mesh(mesh) => at(mesh).separation(local, self.thickness / placement.scale),
        };
        placement.place(found)
    }
}

impl PosedMesh {
    fn new(
        source: &Arc<MeshSource>,
        [start, end]: [f64; 2],
        before: Option<PosedCollider>,
    ) -> Result<Self, Error> {
        let same = |before: PosedCollider| match before.shape {
            PosedShape::Mesh(mesh) if Arc::ptr_eq(&mesh.source, source) => Some(mesh),
            _ => None,
        };
        let mut mesh = before.and_then(same).unwrap_or_else(|| Self {
            source: source.clone(),
            start: source.first().clone(),
            end: source.first().clone(),
            end_time: f64::NAN,
            window: FrameWindow::default(),
        });
        if source.deforms() {
            // In a step in which it jumps it is there from the start.
            let start = source.jump_within([start, end]).map_or(start, |jump| start.max(jump));
            let continues = mesh.end_time == start;
            std::mem::swap(&mut mesh.start, &mut mesh.end);
            if !continues {
                let positions = source.positions(start, &mut mesh.window)?;
                Arc::make_mut(&mut mesh.start).refit(&positions);
            }
            let positions = source.positions(end, &mut mesh.window)?;
            Arc::make_mut(&mut mesh.end).refit(&positions);
            mesh.end_time = end;
        }
        Ok(mesh)
    }
}

/// A pose with its precomputed rotation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PreparedPose {
    pivot: DVec3,
    moved_pivot: DVec3,
    rotation: DQuat,
    scale: f64,
}

impl PreparedPose {
    fn new(pose: &Pose) -> Self {
        Self {
            pivot: pose.pivot,
            moved_pivot: pose.pivot + pose.translate,
            rotation: pose.rotation(),
            scale: pose.scale,
        }
    }

    fn apply(&self, point: DVec3) -> DVec3 {
        self.moved_pivot + self.rotation * (self.scale * (point - self.pivot))
    }

    fn inverse(&self, point: DVec3) -> DVec3 {
        self.pivot + self.rotation.inverse() * (point - self.moved_pivot) / self.scale
    }

    /// A result in the collider's own coordinates, transformed to the world's.
    fn place(&self, found: Separation) -> Separation {
        Separation { distance: self.scale * found.distance, normal: self.rotation * found.normal }
    }
}
