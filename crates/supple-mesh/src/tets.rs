//! Tetrahedral meshes. A tetrahedron `[a, b, c, d]` has positive volume when `(b - a) x (c - a)` points to `d`.

use std::collections::HashMap;

use glam::DVec3;

use super::surface::{SurfaceMesh, bounds_of};

/// A tetrahedral mesh with an optional region number per element.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TetMesh {
    /// Vertex positions in metres (or the file's unit, before the scene's `scale`).
    pub positions: Vec<DVec3>,
    /// Four vertices per element.
    pub tets: Vec<[u32; 4]>,
    /// The file's region (physical group, reference, attribute) of each element.
    pub regions: Option<Vec<i32>>,
}

impl TetMesh {
    /// Signed volume of element `t` in cubic metres.
    pub fn volume(&self, t: usize) -> f64 {
        let [a, b, c, d] = self.tets[t].map(|v| self.positions[v as usize]);
        (b - a).cross(c - a).dot(d - a) / 6.0
    }

    /// Smallest and largest coordinates; `None` without vertices.
    pub fn bounds(&self) -> Option<(DVec3, DVec3)> {
        bounds_of(&self.positions)
    }

    /// The boundary triangles (faces of exactly one element), facing outward, in element order.
    pub fn boundary_triangles(&self) -> Vec<[u32; 3]> {
        let mut count: HashMap<[u32; 3], u32> = HashMap::with_capacity(2 * self.tets.len());
        for face in self.tets.iter().flat_map(|&tet| outward_faces(tet)) {
            *count.entry(sorted(face)).or_default() += 1;
        }
        let faces = self.tets.iter().flat_map(|&tet| outward_faces(tet));
        faces.filter(|&face| count[&sorted(face)] == 1).collect()
    }

    /// The boundary as a separate surface, with the tet vertex of each surface vertex.
    pub fn boundary_surface(&self) -> (SurfaceMesh, Vec<u32>) {
        let mut surface_vertex = vec![u32::MAX; self.positions.len()];
        let mut tet_vertex = Vec::new();
        let mut triangles = self.boundary_triangles();
        for v in triangles.as_flattened_mut() {
            let slot = &mut surface_vertex[*v as usize];
            if *slot == u32::MAX {
                *slot = tet_vertex.len() as u32;
                tet_vertex.push(*v);
            }
            *v = *slot;
        }
        let positions = tet_vertex.iter().map(|&v| self.positions[v as usize]).collect();
        (SurfaceMesh::from_triangles(positions, &triangles), tet_vertex)
    }
}

fn outward_faces([a, b, c, d]: [u32; 4]) -> [[u32; 3]; 4] {
    [[a, c, b], [a, b, d], [b, c, d], [a, d, c]]
}

fn sorted(mut face: [u32; 3]) -> [u32; 3] {
    face.sort_unstable();
    face
}
