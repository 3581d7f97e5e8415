//! Which parts of a surface are closed: the air is on one side of them only.

use std::collections::HashMap;

use super::{Body, Elements};
use supple_mesh::geometry::DisjointSets;

impl Body {
    /// For each surface triangle whether it belongs to a closed surface: all of a solid's, and of a cloth those whose
    /// connected part has no boundary once vertices at the same place are one.
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

/// For each triangle whether its connected part has two triangles at every edge, or another even number.
fn closed_parts(triangles: &[[u32; 3]], vertices: usize) -> Vec<bool> {
    let mut parts = DisjointSets::new(vertices);
    let mut edges: HashMap<[u32; 2], u32> = HashMap::new();
    let is_flat = |[a, b, c]: [u32; 3]| a == b || b == c || c == a;
    for &[a, b, c] in triangles.iter().filter(|t| !is_flat(**t)) {
        parts.join(a as usize, b as usize);
        parts.join(b as usize, c as usize);
        for [from, to] in [[a, b], [b, c], [c, a]] {
            *edges.entry([from.min(to), from.max(to)]).or_default() += 1;
        }
    }
    let mut open = vec![false; vertices];
    for ([vertex, _], _) in edges.into_iter().filter(|(_, count)| count % 2 == 1) {
        open[parts.find(vertex as usize).0] = true;
    }
    triangles.iter().map(|t| !open[parts.find(t[0] as usize).0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_closed_when_no_edge_is_left_alone() {
        let tetrahedron = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
        let sheet = [[4, 5, 6], [5, 7, 6]];
        let both = [&tetrahedron[..], &sheet[..]].concat();
        assert_eq!(closed_parts(&both, 8), [true, true, true, true, false, false]);
        assert_eq!(closed_parts(&tetrahedron[..3], 4), [false; 3]);
        // What was welded to a line closes the gap between its neighbours.
        let with_line = [&tetrahedron[..], &[[0, 0, 1]]].concat();
        assert_eq!(closed_parts(&with_line, 4), [true; 5]);
    }
}
