//! Closed components of a surface.

use std::collections::{HashMap, HashSet};

use crate::geometry::DisjointSets;
use supple_core::Error;

/// For each triangle whether its component has two triangles at every edge, or another even number.
pub fn closed_parts(triangles: &[[u32; 3]], vertices: usize) -> Vec<bool> {
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

/// Why a surface encloses no volume. Vertices are numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotClosed {
    /// An edge at which the surface ends.
    #[error("only one triangle has the edge {0}-{1}; it needs a closed surface")]
    Boundary(u32, u32),
    /// An edge whose triangles face opposite sides.
    #[error("two triangles traverse the edge {0}-{1} in the same direction; flip one of them")]
    Orientation(u32, u32),
}

impl From<NotClosed> for Error {
    fn from(fault: NotClosed) -> Self {
        Self::Invalid(fault.to_string())
    }
}

/// Reports where a surface is open or not oriented: every edge must have one triangle on each side, traversed in
/// opposite directions.
pub fn check_closed(triangles: &[[u32; 3]]) -> Result<(), NotClosed> {
    let directed = |t: &[u32; 3]| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])];
    let mut edges = HashSet::new();
    for t in triangles {
        for (a, b) in directed(t) {
            if !edges.insert((a, b)) {
                return Err(NotClosed::Orientation(a, b));
            }
        }
    }
    // In the order of the triangles, so that the message is deterministic.
    match triangles.iter().flat_map(directed).find(|&(a, b)| !edges.contains(&(b, a))) {
        Some((a, b)) => Err(NotClosed::Boundary(a, b)),
        None => Ok(()),
    }
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
        // Triangles welded to a line close the gap between their neighbours.
        let with_line = [&tetrahedron[..], &[[0, 0, 1]]].concat();
        assert_eq!(closed_parts(&with_line, 4), [true; 5]);
    }
}
