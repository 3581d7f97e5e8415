//! glTF 2.0, as text (`.gltf`) and binary (`.glb`): all triangles of the default scene in world space.
//!
//! `serde_json` parses the JSON; what it says is checked in `document`, the bounds of buffers and accessors where they
//! are read. In glTF `v` of texture coordinates points down, in all other formats up: it is converted to `1 - v`. A
//! skinned mesh is read as modelled, under its node's transform; animations, morph targets and textures are ignored.
//! [`load_skin`] reads the same surface with its skeleton and an animation.

mod accessor;
mod animation;
mod buffers;
mod document;
mod json;
mod skin;
mod write_figure;

use std::collections::HashMap;
use std::path::Path;

use glam::{DMat3, DMat4, DVec3};

use self::buffers::Buffers;
use self::document::{Accessor, Document, Mode, Primitive};
pub use self::skin::load_skin;
pub use self::write_figure::write_figure;
use super::LoadedMesh;
use super::builder::{self, CornerTrack, LabelTrack, finite_or_zero, fits, not_finite_note};
use crate::{LabelKind, SurfaceMesh};
use supple_core::{FileError, memory};

/// Maximum corners of the whole scene: a small file can instance one mesh in many nodes.
const MOST_CORNERS: usize = 1 << 28;
/// Memory per corner of a surface that is read and then checked or simulated, in bytes.
const CORNER_BYTES: f64 = 60.0;
/// Colour of vertices that have none in a file where others have one.
const WHITE: [f32; 4] = [1.0; 4];

/// Reads a glTF or GLB file from its bytes; its buffers are looked up in the folder of `path`.
pub fn read_gltf(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    let (document, blob) = buffers::parse(bytes, path)?;
    let notes = extension_notes(&document);
    let buffers = Buffers::load(&document, blob, path)?;
    let mut reader = GltfReader::new(&buffers, path, notes);
    let roots = reader.roots();
    reader.read_nodes(roots)?;
    reader.finish()
}

/// How the reader calls the objects that have the mesh of a name.
pub(super) fn objects_of_mesh(path: &Path, name: &str) -> Vec<String> {
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let Ok((document, _)) = buffers::parse(&bytes, path) else { return Vec::new() };
    let has_it = |node: &document::Node| {
        node.mesh.is_some_and(|mesh| document.meshes[mesh].name.as_deref() == Some(name))
    };
    let nodes = document.nodes.iter().enumerate().filter(|(_, node)| has_it(node));
    nodes.map(|(index, node)| object_name(index, node, &document)).collect()
}

/// The name of a node's object: that of the node, or else of its mesh.
fn object_name(index: usize, node: &document::Node, document: &Document) -> String {
    let of_mesh = || node.mesh.and_then(|mesh| document.meshes[mesh].name.clone());
    node.name.clone().or_else(of_mesh).unwrap_or_else(|| format!("node {index}"))
}

/// Notes for required extensions other than those about materials and textures.
fn extension_notes(document: &Document) -> Vec<String> {
    let harmless = ["KHR_mesh_quantization", "KHR_materials_", "KHR_texture_", "KHR_lights_", "EXT_texture_"];
    let mut notes = Vec::new();
    for extension in &document.extensions_required {
        let shown = extension.escape_debug();
        if !harmless.iter().any(|known| extension.starts_with(known)) {
            notes.push(format!("the file requires the extension {shown}, which is not supported"));
        }
    }
    notes
}

struct GltfReader<'a> {
    buffers: &'a Buffers<'a>,
    path: &'a Path,
    mesh: SurfaceMesh,
    uvs: CornerTrack<2>,
    normals: CornerTrack<3>,
    colors: Vec<[f32; 4]>,
    object: LabelTrack,
    material: LabelTrack,
    /// The first value of every texture coordinate accessor read.
    known_uvs: HashMap<usize, u32>,
    skipped_primitives: usize,
    skinned: usize,
    /// Where the vertices come from, in their order.
    ranges: Vec<VertexRange>,
    /// Normals and texture coordinates that were not finite.
    not_finite: usize,
    notes: Vec<String>,
}

/// Vertices that were read one after the other.
struct VertexRange {
    node: usize,
    /// Which primitive of the node's mesh.
    primitive: usize,
    count: usize,
}

/// A node's transform, and the first value of every accessor already read under it, so that primitives of one mesh
/// which share vertices continue to share them.
struct Instance {
    to_world: DMat4,
    normal_to_world: DMat3,
    mirrored: bool,
    known_positions: HashMap<usize, u32>,
    known_normals: HashMap<usize, u32>,
}

impl Instance {
    fn new(to_world: DMat4) -> Self {
        let linear = DMat3::from_mat4(to_world);
        let determinant = linear.determinant();
        Self {
            to_world,
            normal_to_world: if determinant == 0.0 { linear } else { linear.inverse().transpose() },
            mirrored: determinant < 0.0,
            known_positions: HashMap::new(),
            known_normals: HashMap::new(),
        }
    }
}

impl<'a> GltfReader<'a> {
    fn new(buffers: &'a Buffers<'a>, path: &'a Path, notes: Vec<String>) -> Self {
        Self {
            buffers,
            path,
            mesh: SurfaceMesh { face_starts: vec![0], ..SurfaceMesh::default() },
            uvs: CornerTrack::new(),
            normals: CornerTrack::new(),
            colors: Vec::new(),
            object: LabelTrack::new(LabelKind::Object),
            material: LabelTrack::new(LabelKind::Material),
            known_uvs: HashMap::new(),
            skipped_primitives: 0,
            skinned: 0,
            ranges: Vec::new(),
            not_finite: 0,
            notes,
        }
    }

    /// The nodes to start from: those of the default scene, otherwise of the first, otherwise all nodes without a parent.
    fn roots(&mut self) -> Vec<usize> {
        let document = self.buffers.document;
        if let Some(scene) = document.scenes.get(document.scene.unwrap_or(0)) {
            return scene.clone();
        }
        self.notes.push("the file has no scene; all its nodes are used".to_owned());
        let mut is_child = vec![false; document.nodes.len()];
        for &child in document.nodes.iter().flat_map(|node| &node.children) {
            is_child[child] = true;
        }
        (0..document.nodes.len()).filter(|&node| !is_child[node]).collect()
    }

    fn read_nodes(&mut self, mut roots: Vec<usize>) -> Result<(), FileError> {
        let nodes = &self.buffers.document.nodes;
        let mut seen = vec![false; nodes.len()];
        roots.reverse();
        let mut open: Vec<_> = roots.into_iter().map(|node| (node, DMat4::IDENTITY)).collect();
        while let Some((node, parent)) = open.pop() {
            if std::mem::replace(&mut seen[node], true) {
                let problem =
                    format!("node {node} has two parents or is its own ancestor; nodes must form a tree");
                return Err(FileError::whole(self.path, problem));
            }
            let to_world = parent * nodes[node].matrix();
            self.read_node(node, to_world)?;
            open.extend(nodes[node].children.iter().rev().map(|&child| (child, to_world)));
        }
        Ok(())
    }

    fn read_node(&mut self, index: usize, to_world: DMat4) -> Result<(), FileError> {
        let document = self.buffers.document;
        let node = &document.nodes[index];
        let Some(mesh) = node.mesh else { return Ok(()) };
        let mesh = &document.meshes[mesh];
        self.skinned += usize::from(node.skin.is_some());
        self.object.set(object_name(index, node, document));
        let mut instance = Instance::new(to_world);
        for (number, primitive) in mesh.primitives.iter().enumerate() {
            let before = self.mesh.positions.len();
            self.read_primitive(primitive, &mut instance)?;
            let count = self.mesh.positions.len() - before;
            if count > 0 {
                self.ranges.push(VertexRange { node: index, primitive: number, count });
            }
        }
        Ok(())
    }

    fn attribute(&self, primitive: &Primitive, name: &str) -> Option<&'a Accessor> {
        primitive.attribute(name).map(|index| self.buffers.accessor(index))
    }

    fn read_primitive(&mut self, primitive: &Primitive, instance: &mut Instance) -> Result<(), FileError> {
        let triangles: fn(usize, usize) -> [usize; 3] = match primitive.mode {
            Mode::Triangles => |_, t| [3 * t, 3 * t + 1, 3 * t + 2],
            Mode::TriangleStrip => |_, t| [t, t + 1 + t % 2, t + 2 - t % 2],
            Mode::TriangleFan => |_, t| [t + 1, t + 2, 0],
            Mode::PointsOrLines => {
                self.skipped_primitives += 1;
                return Ok(());
            }
        };
        let Some(positions) = self.attribute(primitive, "POSITION") else {
            self.skipped_primitives += 1;
            return Ok(());
        };
        let count = positions.count;
        let first_vertex = self.read_positions(positions, instance)?;
        let first_normal = self.read_normals(primitive, count, instance)?;
        let first_uv = self.read_uvs(primitive, count)?;
        self.read_colors(primitive, count, first_vertex)?;
        let material = primitive.material.and_then(|index| self.buffers.document.materials[index].clone());
        self.material.set(material.unwrap_or_default());
        let indices = self.indices(primitive, count)?;
        let triangle_count = match primitive.mode {
            Mode::Triangles => indices.len() / 3,
            _ => indices.len().saturating_sub(2),
        };
        if primitive.mode == Mode::Triangles && indices.len() % 3 != 0 {
            self.notes.push(format!(
                "a list of triangles has {} indices; the last ones are ignored",
                indices.len()
            ));
        }
        self.check_capacity(3 * triangle_count)?;
        for t in 0..triangle_count {
            let mut corners = triangles(indices.len(), t).map(|i| indices[i]);
            if instance.mirrored {
                corners.swap(1, 2);
            }
            self.push_triangle(corners, first_vertex, first_normal, first_uv);
        }
        Ok(())
    }

    fn push_triangle(&mut self, corners: [u32; 3], vertex: u32, normal: Option<u32>, uv: Option<u32>) {
        let face = self.mesh.face_count();
        self.object.push_face(face);
        self.material.push_face(face);
        for index in corners {
            let corner = self.mesh.corners.len();
            self.mesh.corners.push(vertex + index);
            if let Some(normal) = normal {
                self.normals.set(corner, normal + index);
            }
            if let Some(uv) = uv {
                self.uvs.set(corner, uv + index);
            }
        }
        self.mesh.face_starts.push(self.mesh.corners.len() as u32);
    }

    fn check_capacity(&self, corners: usize) -> Result<(), FileError> {
        let total = self.mesh.corners.len().saturating_add(corners);
        if total > MOST_CORNERS || !fits(self.mesh.positions.len(), 0) {
            let problem = format!("the scene has more than {} triangles; split the file", MOST_CORNERS / 3);
            return Err(FileError::whole(self.path, problem));
        }
        let what = format!("a scene of {} triangles", total / 3);
        let remedy = |_| "the file uses its meshes many times; export fewer of them".to_owned();
        memory::require(&what, CORNER_BYTES * total as f64, remedy)
            .map_err(|problem| FileError::whole(self.path, problem.to_string()))
    }

    /// Appends the positions in world space, unless this accessor was read under this node before; returns the first.
    fn read_positions(&mut self, accessor: &Accessor, instance: &mut Instance) -> Result<u32, FileError> {
        if let Some(&first) = instance.known_positions.get(&accessor.index) {
            return Ok(first);
        }
        let first = self.mesh.positions.len();
        let values = self.buffers.read::<3>(accessor, "POSITION")?;
        self.check_capacity(0)?;
        if first + values.len() > MOST_CORNERS {
            let problem = format!("the scene has more than {MOST_CORNERS} vertices; split the file");
            return Err(FileError::whole(self.path, problem));
        }
        for (v, value) in values.into_iter().enumerate() {
            let p = instance.to_world.transform_point3(DVec3::from(value));
            if !p.is_finite() {
                let [x, y, z] = value;
                let place = format!("vertex {v} of accessor {}", accessor.index);
                let problem = format!(
                    "{place} is at ({x}, {y}, {z}), which its node's transform takes to {p}: not finite"
                );
                return Err(FileError::whole(self.path, problem));
            }
            self.mesh.positions.push(p);
        }
        instance.known_positions.insert(accessor.index, first as u32);
        Ok(first as u32)
    }

    fn read_normals(
        &mut self,
        primitive: &Primitive,
        count: usize,
        instance: &mut Instance,
    ) -> Result<Option<u32>, FileError> {
        let Some(accessor) = self.attribute(primitive, "NORMAL") else { return Ok(None) };
        self.check_count(accessor, "NORMAL", count)?;
        if let Some(&first) = instance.known_normals.get(&accessor.index) {
            return Ok(Some(first));
        }
        let first = self.normals.values.len() as u32;
        let values = self.buffers.read::<3>(accessor, "NORMAL")?;
        for normal in values {
            let turned = instance.normal_to_world * DVec3::from(normal);
            self.normals
                .values
                .push(finite_or_zero(turned.normalize_or_zero().to_array(), &mut self.not_finite));
        }
        instance.known_normals.insert(accessor.index, first);
        Ok(Some(first))
    }

    fn read_uvs(&mut self, primitive: &Primitive, count: usize) -> Result<Option<u32>, FileError> {
        let Some(accessor) = self.attribute(primitive, "TEXCOORD_0") else { return Ok(None) };
        self.check_count(accessor, "TEXCOORD_0", count)?;
        if let Some(&first) = self.known_uvs.get(&accessor.index) {
            return Ok(Some(first));
        }
        let first = self.uvs.values.len() as u32;
        let values = self.buffers.read::<2>(accessor, "TEXCOORD_0")?;
        let turned = values.into_iter().map(|[u, v]| finite_or_zero([u, 1.0 - v], &mut self.not_finite));
        self.uvs.values.extend(turned);
        self.known_uvs.insert(accessor.index, first);
        Ok(Some(first))
    }

    fn read_colors(&mut self, primitive: &Primitive, count: usize, first: u32) -> Result<(), FileError> {
        let Some(accessor) = self.attribute(primitive, "COLOR_0") else { return Ok(()) };
        self.check_count(accessor, "COLOR_0", count)?;
        let colors = match accessor.shape.components() {
            3 => self
                .buffers
                .read::<3>(accessor, "COLOR_0")?
                .into_iter()
                .map(|[r, g, b]| [r, g, b, 1.0])
                .collect(),
            _ => self.buffers.read::<4>(accessor, "COLOR_0")?,
        };
        self.colors.resize(self.mesh.positions.len(), WHITE);
        for (slot, color) in self.colors[first as usize..].iter_mut().zip(colors) {
            *slot = color.map(|c| if c.is_nan() { 0.0 } else { c.clamp(0.0, 1.0) as f32 });
        }
        Ok(())
    }

    fn check_count(&self, accessor: &Accessor, what: &str, positions: usize) -> Result<(), FileError> {
        if accessor.count == positions {
            return Ok(());
        }
        let problem = format!(
            "accessor {} ({what}) has {} values for {positions} vertices",
            accessor.index, accessor.count
        );
        Err(FileError::whole(self.path, problem))
    }

    fn indices(&self, primitive: &Primitive, vertices: usize) -> Result<Vec<u32>, FileError> {
        let Some(index) = primitive.indices else { return Ok((0..vertices as u32).collect()) };
        let accessor = self.buffers.accessor(index);
        let indices = self.buffers.read_indices(accessor)?;
        match indices.iter().position(|&index| index as usize >= vertices) {
            Some(place) => {
                let problem = format!(
                    "index {place} of accessor {} is {}, out of range: the mesh has {vertices} vertices, counted from 0",
                    accessor.index, indices[place]
                );
                Err(FileError::whole(self.path, problem))
            }
            None => Ok(indices),
        }
    }

    fn finish(mut self) -> Result<LoadedMesh, FileError> {
        let (corners, faces) = (self.mesh.corners.len(), self.mesh.face_count());
        self.mesh.uvs = self.uvs.finish(corners);
        self.mesh.normals = self.normals.finish(corners);
        if !self.colors.is_empty() {
            self.colors.resize(self.mesh.positions.len(), WHITE);
            self.mesh.colors = Some(self.colors);
        }
        self.mesh.labels = [self.object, self.material].into_iter().filter_map(|t| t.finish(faces)).collect();
        if self.skipped_primitives > 0 {
            self.notes.push(format!("{} primitives without triangles were skipped", self.skipped_primitives));
        }
        self.notes.extend(not_finite_note(self.not_finite));
        if self.skinned > 0 {
            let meshes = if self.skinned == 1 { "skinned mesh was" } else { "skinned meshes were" };
            self.notes
                .push(format!("{} {meshes} read as modelled; a pin can follow their skeleton", self.skinned));
        }
        builder::finish(self.mesh, self.notes, self.path)
    }
}

#[cfg(test)]
mod tests;
