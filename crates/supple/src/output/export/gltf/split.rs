//! A surface in the form that graphics hardware needs: triangles, one UV per vertex, so that vertices on UV seams are split.

use std::collections::HashMap;
use std::sync::Arc;

use glam::Vec3;

use crate::output::FrameSurface;
use supple_mesh::{LabelKind, NO_LABEL, NO_VALUE, SurfaceMesh};

/// A triangle mesh with one UV per vertex.
pub(super) struct SplitMesh {
    surface: Arc<FrameSurface>,
    /// The user's vertex of each vertex here.
    vertices: Vec<u32>,
    /// The UV of each vertex here, if the surface has UVs.
    uvs: Option<Vec<[f32; 2]>>,
    parts: Vec<Part>,
}

/// The triangles of one material, in order of its first use.
struct Part {
    /// `None`: triangles without a material.
    material: Option<String>,
    triangles: Vec<[u32; 3]>,
}

impl SplitMesh {
    /// Triangulates polygons and splits vertices where their UVs differ.
    pub(super) fn new(surface: &Arc<FrameSurface>) -> Self {
        let mesh = &surface.mesh;
        let (mut vertices, vertex_of_corner) = split_vertices(mesh);
        let parts = triangles_by_material(mesh, &vertex_of_corner);
        if parts.is_empty() {
            // glTF does not allow meshes without triangles; empty ones are left out of the file.
            vertices.clear();
        }
        let uvs = mesh.uvs.as_ref().map(|uvs| {
            // A vertex that no face uses has no UV, like a corner without one.
            let mut values = vec![[0.0, 0.0]; vertices.len()];
            for (corner, &vertex) in vertex_of_corner.iter().enumerate() {
                let uv = uvs.values.get(uvs.indices[corner] as usize).copied().unwrap_or_default();
                // glTF measures v from the top of the image.
                values[vertex as usize] = [uv[0] as f32, (1.0 - uv[1]) as f32];
            }
            values
        });
        Self { surface: Arc::clone(surface), vertices, uvs, parts }
    }

    /// The user's vertex of each vertex here.
    pub(super) fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// The body's name.
    pub(super) fn name(&self) -> &str {
        &self.surface.name
    }

    /// Whether vertices have UVs.
    pub(super) fn has_uvs(&self) -> bool {
        self.uvs.is_some()
    }

    /// Whether vertices have colours.
    pub(super) fn has_colors(&self) -> bool {
        self.surface.mesh.colors.is_some()
    }

    /// Material and triangle count of each part.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Option<&str>, usize)> {
        self.parts.iter().map(|part| (part.material.as_deref(), part.triangles.len()))
    }

    /// Triangles of every part, then UVs, then colours.
    pub(super) fn topology_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for vertex in self.parts.iter().flat_map(|part| part.triangles.as_flattened()) {
            bytes.extend_from_slice(&vertex.to_le_bytes());
        }
        for uv in self.uvs.iter().flatten() {
            bytes.extend_from_slice(uv.map(f32::to_le_bytes).as_flattened());
        }
        if let Some(colors) = &self.surface.mesh.colors {
            for &vertex in &self.vertices {
                bytes.extend_from_slice(colors[vertex as usize].map(f32::to_le_bytes).as_flattened());
            }
        }
        bytes
    }

    /// Values of the user's vertices expanded to the vertices here, as bytes.
    pub(super) fn gather(&self, values: &[Vec3]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(12 * self.vertices.len());
        for &vertex in &self.vertices {
            let value = values[vertex as usize].to_array();
            bytes.extend_from_slice(value.map(f32::to_le_bytes).as_flattened());
        }
        bytes
    }
}

/// The user's vertices in their order, each first with the UV of its first corner; then the copies
/// needed at seams, in corner order; and the new vertex of every corner.
fn split_vertices(mesh: &SurfaceMesh) -> (Vec<u32>, Vec<u32>) {
    let mut vertices: Vec<u32> = (0..mesh.positions.len() as u32).collect();
    let Some(uvs) = &mesh.uvs else { return (vertices, mesh.corners.clone()) };
    let first_equal = first_equal_values(&uvs.values);
    let mut first_uv: Vec<Option<u32>> = vec![None; vertices.len()];
    let mut copies: HashMap<(u32, u32), u32> = HashMap::new();
    let mut vertex_of_corner = Vec::with_capacity(mesh.corners.len());
    for (&vertex, &index) in mesh.corners.iter().zip(&uvs.indices) {
        let uv = first_equal.get(index as usize).copied().unwrap_or(NO_VALUE);
        let first = *first_uv[vertex as usize].get_or_insert(uv);
        vertex_of_corner.push(if first == uv {
            vertex
        } else {
            *copies.entry((vertex, uv)).or_insert_with(|| {
                vertices.push(vertex);
                vertices.len() as u32 - 1
            })
        });
    }
    (vertices, vertex_of_corner)
}

/// For each UV the first that is equal to it in single precision: many files list one per corner.
fn first_equal_values(uvs: &[[f64; 2]]) -> Vec<u32> {
    let mut first: HashMap<[u32; 2], u32> = HashMap::with_capacity(uvs.len());
    let bits = uvs.iter().map(|uv| uv.map(|x| (x as f32).to_bits()));
    bits.zip(0..).map(|(bits, index)| *first.entry(bits).or_insert(index)).collect()
}

fn triangles_by_material(mesh: &SurfaceMesh, vertex_of_corner: &[u32]) -> Vec<Part> {
    let materials = mesh.labels.iter().find(|labels| labels.kind == LabelKind::Material);
    let label_of = |face: usize| materials.map_or(NO_LABEL, |labels| labels.label_of_face[face]);
    let mut parts: Vec<(u32, Vec<[u32; 3]>)> = Vec::new();
    for face in 0..mesh.face_count() {
        let label = label_of(face);
        let part = parts.iter().position(|(other, _)| *other == label).unwrap_or_else(|| {
            parts.push((label, Vec::new()));
            parts.len() - 1
        });
        cut_face(mesh, face, vertex_of_corner, &mut parts[part].1);
    }
    parts.retain(|(_, triangles)| !triangles.is_empty());
    let name = |label: u32| materials.and_then(|labels| labels.names.get(label as usize).cloned());
    parts.into_iter().map(|(label, triangles)| Part { material: name(label), triangles }).collect()
}

/// Triangulates a face like [`SurfaceMesh::triangles`], but by its corners.
fn cut_face(mesh: &SurfaceMesh, face: usize, vertex_of_corner: &[u32], triangles: &mut Vec<[u32; 3]>) {
    let corners = &vertex_of_corner[mesh.face_starts[face] as usize..mesh.face_starts[face + 1] as usize];
    let position = |i: usize| mesh.positions[mesh.face(face)[i] as usize];
    if let [a, b, c, d] = *corners
        && position(1).distance_squared(position(3)) < position(0).distance_squared(position(2))
    {
        triangles.extend([[a, b, d], [b, c, d]]);
    } else {
        triangles.extend((2..corners.len()).map(|i| [corners[0], corners[i - 1], corners[i]]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::topology::tests::decorated;

    #[test]
    fn a_seam_splits_its_vertices_and_keeps_the_others_in_place() {
        let surface = Arc::new(decorated("dress"));
        let split = SplitMesh::new(&surface);
        // Vertices 1 and 2 are shared by the square and the triangle, whose UVs differ.
        assert_eq!(split.vertices(), [0, 1, 2, 3, 4, 1, 2]);
        let uvs = split.uvs.as_ref().unwrap();
        assert_eq!(uvs[1], [1.0, 1.0]);
        assert_eq!(uvs[5], [0.25, 1.0]);
        assert_eq!(uvs[6], [0.25, 0.0]);
    }

    #[test]
    fn triangles_through_the_split_are_those_of_the_surface() {
        let surface = Arc::new(decorated("dress"));
        let split = SplitMesh::new(&surface);
        let materials: Vec<_> = split.parts().collect();
        assert_eq!(materials, [(Some("silk"), 2), (None, 1)]);
        let triangles = split.parts.iter().flat_map(|part| &part.triangles);
        let back: Vec<[u32; 3]> = triangles.map(|t| t.map(|v| split.vertices[v as usize])).collect();
        assert_eq!(back, surface.mesh.triangles());
    }

    #[test]
    fn without_uvs_nothing_is_split() {
        let mut surface = decorated("dress");
        surface.mesh.uvs = None;
        assert_eq!(SplitMesh::new(&Arc::new(surface)).vertices(), [0, 1, 2, 3, 4]);
    }
}
