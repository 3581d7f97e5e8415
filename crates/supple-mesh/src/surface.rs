//! A polygon mesh as authored: vertex order, polygons, UVs, normals, colours and names are preserved.

use glam::{DVec2, DVec3};

/// In [`CornerAttribute::indices`]: this corner has no value.
pub const NO_VALUE: u32 = u32::MAX;
/// In [`FaceLabels::label_of_face`]: this face has no label.
pub const NO_LABEL: u32 = u32::MAX;

/// Values attached to face corners through a separate index list, as for UVs and normals in OBJ; a seam is a
/// vertex whose corners have different indices.
#[derive(Debug, Clone, PartialEq)]
pub struct CornerAttribute<const N: usize> {
    /// The values in the file's order.
    pub values: Vec<[f64; N]>,
    /// One index into `values` per corner of the mesh, or [`NO_VALUE`].
    pub indices: Vec<u32>,
}

/// The meaning of a set of face labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelKind {
    /// OBJ `o`, a glTF node or mesh.
    Object,
    /// OBJ `g`, a Gmsh physical surface.
    Group,
    /// OBJ `usemtl`, a glTF material.
    Material,
    /// OBJ `s`.
    Smoothing,
}

/// One name per face, of one [`LabelKind`].
#[derive(Debug, Clone, PartialEq)]
pub struct FaceLabels {
    /// The kind of the names.
    pub kind: LabelKind,
    /// The distinct names in order of first use.
    pub names: Vec<String>,
    /// For each face an index into `names`, or [`NO_LABEL`].
    pub label_of_face: Vec<u32>,
}

/// A polygon mesh with all data of its file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SurfaceMesh {
    /// Vertex positions in metres (or the file's unit, before the scene's `scale`).
    pub positions: Vec<DVec3>,
    /// Face `f` has the corners `corners[face_starts[f] as usize..face_starts[f + 1] as usize]`. Always starts with
    /// 0; an empty mesh has `[0]` or an empty list.
    pub face_starts: Vec<u32>,
    /// The vertex of every corner.
    pub corners: Vec<u32>,
    /// Texture coordinates.
    pub uvs: Option<CornerAttribute<2>>,
    /// Normals given by the file (kept for writing back; the simulation computes its own).
    pub normals: Option<CornerAttribute<3>>,
    /// One RGBA colour per vertex, components 0 to 1.
    pub colors: Option<Vec<[f32; 4]>>,
    /// Names of faces: objects, groups, materials, smoothing groups.
    pub labels: Vec<FaceLabels>,
    /// Material libraries (OBJ `mtllib`), as written in the file.
    pub material_libraries: Vec<String>,
    /// Vertices added by tearing are at the end; each is a clone of this earlier one, and coincides with it until
    /// they separate.
    pub clone_of: Vec<u32>,
}

impl SurfaceMesh {
    /// A triangle mesh without attributes.
    pub fn from_triangles(positions: Vec<DVec3>, triangles: &[[u32; 3]]) -> Self {
        Self {
            positions,
            face_starts: (0..=triangles.len() as u32).map(|f| 3 * f).collect(),
            corners: triangles.as_flattened().to_vec(),
            ..Self::default()
        }
    }

    /// The number of polygons.
    pub fn face_count(&self) -> usize {
        self.face_starts.len().saturating_sub(1)
    }

    /// The vertices of face `f`, counter-clockwise seen from outside.
    pub fn face(&self, f: usize) -> &[u32] {
        &self.corners[self.face_starts[f] as usize..self.face_starts[f + 1] as usize]
    }

    /// All faces in order.
    pub fn faces(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.face_count()).map(|f| self.face(f))
    }

    /// Appends a clone of a vertex with its colour.
    pub fn clone_vertex(&mut self, vertex: u32) {
        self.positions.push(self.positions[vertex as usize]);
        self.clone_of.push(vertex);
        if let Some(colors) = &mut self.colors {
            colors.push(colors[vertex as usize]);
        }
    }

    /// Appends a polygon without attributes.
    pub fn push_face(&mut self, vertices: &[u32]) {
        if self.face_starts.is_empty() {
            self.face_starts.push(0);
        }
        self.corners.extend_from_slice(vertices);
        self.face_starts.push(self.corners.len() as u32);
    }

    /// All polygons as triangles, in face order: a fan from the first corner, except quads, which are split
    /// along their shorter diagonal.
    pub fn triangles(&self) -> Vec<[u32; 3]> {
        let mut triangles = self.triangle_corners();
        triangles.iter_mut().flatten().for_each(|corner| *corner = self.corners[*corner as usize]);
        triangles
    }

    /// The corners (indices into `corners`) of every triangle of [`triangles`](Self::triangles).
    pub fn triangle_corners(&self) -> Vec<[u32; 3]> {
        let mut triangles = Vec::with_capacity(self.corners.len().saturating_sub(2 * self.face_count()));
        for (f, face) in self.faces().enumerate() {
            let first = self.face_starts[f];
            if face.len() == 4 && self.second_diagonal_is_shorter(face) {
                triangles.extend([[first, first + 1, first + 3], [first + 1, first + 2, first + 3]]);
            } else {
                triangles.extend((2..face.len() as u32).map(|i| [first, first + i - 1, first + i]));
            }
        }
        triangles
    }

    /// The texture coordinates of a triangle's corners, if all three have one.
    pub fn texture_of(&self, corners: [u32; 3]) -> Option<[DVec2; 3]> {
        let uvs = self.uvs.as_ref()?;
        let indices = corners.map(|corner| uvs.indices[corner as usize]);
        let known = indices.iter().all(|index| *index != NO_VALUE);
        known.then(|| indices.map(|index| DVec2::from(uvs.values[index as usize])))
    }

    /// The vertices of all faces labelled `name` (an object, group or material), sorted; `None` if no label has
    /// that name.
    pub fn vertices_labelled(&self, name: &str) -> Option<Vec<u32>> {
        let mut found = None;
        for labels in &self.labels {
            let Some(label) = labels.names.iter().position(|n| n == name) else { continue };
            let vertices: &mut Vec<u32> = found.get_or_insert_default();
            for f in 0..self.face_count() {
                if labels.label_of_face[f] == label as u32 {
                    vertices.extend_from_slice(self.face(f));
                }
            }
        }
        found.map(|mut vertices| {
            vertices.sort_unstable();
            vertices.dedup();
            vertices
        })
    }

    /// Smallest and largest coordinates; `None` without vertices.
    pub fn bounds(&self) -> Option<(DVec3, DVec3)> {
        bounds_of(&self.positions)
    }

    fn second_diagonal_is_shorter(&self, quad: &[u32]) -> bool {
        let p = |i: usize| self.positions[quad[i] as usize];
        p(1).distance_squared(p(3)) < p(0).distance_squared(p(2))
    }
}

/// Smallest and largest coordinates of some points; `None` for none.
pub(crate) fn bounds_of(points: &[DVec3]) -> Option<(DVec3, DVec3)> {
    let first = *points.first()?;
    Some(points.iter().fold((first, first), |(low, high), &p| (low.min(p), high.max(p))))
}
