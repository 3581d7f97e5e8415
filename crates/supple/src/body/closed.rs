//! Which triangles of a body belong to closed surfaces: the air is on one side of them only.

use super::{Body, Elements};
use supple_mesh::closed::closed_parts;

impl Body {
    /// For each surface triangle whether it belongs to a closed surface: all of a solid's, and of a cloth those whose
    /// connected component has no boundary once coincident vertices are merged.
    pub fn closed_triangles(&self) -> Vec<bool> {
        match self.elements {
            Elements::Tets(_) | Elements::Octants(_) => vec![true; self.surface_triangles.len()],
            Elements::Triangles(_) => {
                let unknown = |point: u32| self.embedding.weights(point as usize)[0].0;
                let welded: Vec<[u32; 3]> = self.surface_triangles.iter().map(|t| t.map(unknown)).collect();
                closed_parts(&welded, self.start.len())
            }
        }
    }
}
