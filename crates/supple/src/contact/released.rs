//! Which primitives of bodies are left out of contact with which colliders, since they are inside or cross them. Everything else of the same
//! body stays in contact with the same collider.

use super::distance::closest_points::PrimitivePair;
use super::surfaces::Surfaces;

/// Vertices, edges and triangles of bodies that do not meet a collider, by the collider's number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Released {
    points: Vec<[u32; 2]>,
    edges: Vec<[u32; 3]>,
    triangles: Vec<[u32; 4]>,
}

impl Released {
    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && self.edges.is_empty() && self.triangles.is_empty()
    }

    /// Releases nothing.
    pub fn clear(&mut self) {
        self.points.clear();
        self.edges.clear();
        self.triangles.clear();
    }

    /// Releases a vertex.
    pub fn add_point(&mut self, collider: u32, point: u32) {
        self.points.push([collider, point]);
    }

    /// Releases an edge.
    pub fn add_edge(&mut self, collider: u32, [a, b]: [u32; 2]) {
        self.edges.push([collider, a.min(b), a.max(b)]);
    }

    /// Releases a triangle.
    pub fn add_triangle(&mut self, collider: u32, triangle: [u32; 3]) {
        self.triangles.push(keyed(collider, triangle));
    }

    /// Releases the edges and triangles at released vertices, and puts everything in order.
    pub fn complete(&mut self, triangles: &[[u32; 3]]) {
        self.points.sort_unstable();
        self.points.dedup();
        for same in self.points.chunk_by(|a, b| a[0] == b[0]) {
            let collider = same[0][0];
            let is_released = |p: u32| same.binary_search(&[collider, p]).is_ok();
            for &t in triangles {
                let at = t.map(is_released);
                if !at.contains(&true) {
                    continue;
                }
                self.triangles.push(keyed(collider, t));
                for i in (0..3).filter(|&i| at[i] || at[(i + 1) % 3]) {
                    let [a, b] = [t[i], t[(i + 1) % 3]];
                    self.edges.push([collider, a.min(b), a.max(b)]);
                }
            }
        }
        self.edges.sort_unstable();
        self.edges.dedup();
        self.triangles.sort_unstable();
        self.triangles.dedup();
    }

    /// Collider and point of all released vertices, sorted.
    pub(crate) fn points(&self) -> &[[u32; 2]] {
        &self.points
    }

    /// All points that are released from a collider, or are corners of what is, sorted.
    pub(crate) fn all_points(&self) -> Vec<u32> {
        let corners = self.triangles.iter().flat_map(|[_, corners @ ..]| corners.iter().copied());
        let ends = self.edges.iter().flat_map(|[_, ends @ ..]| ends.iter().copied());
        let mut points: Vec<u32> =
            self.points.iter().map(|[_, point]| *point).chain(ends).chain(corners).collect();
        points.sort_unstable();
        points.dedup();
        points
    }

    /// Whether a vertex is released from a collider.
    pub fn has_point(&self, collider: u32, point: u32) -> bool {
        !self.points.is_empty() && self.points.binary_search(&[collider, point]).is_ok()
    }

    /// Whether a triangle is.
    pub fn has_triangle(&self, collider: u32, triangle: [u32; 3]) -> bool {
        !self.triangles.is_empty() && self.triangles.binary_search(&keyed(collider, triangle)).is_ok()
    }

    fn has_edge(&self, collider: u32, [a, b]: [u32; 2]) -> bool {
        self.edges.binary_search(&[collider, a.min(b), a.max(b)]).is_ok()
    }

    /// Whether a pair of primitives is one of a collider and of what is released from it.
    pub(super) fn has_pair(&self, kind: PrimitivePair, points: [u32; 4], surfaces: &Surfaces) -> bool {
        if self.is_empty() {
            return false;
        }
        let [p, q, r, s] = points;
        let collider = |point: u32| surfaces.collider(point).map(|collider| collider as u32);
        match (kind, collider(p), collider(s)) {
            (PrimitivePair::VertexTriangle, None, Some(c)) => self.has_point(c, p),
            (PrimitivePair::VertexTriangle, Some(c), None) => self.has_triangle(c, [q, r, s]),
            (PrimitivePair::EdgeEdge, None, Some(c)) => self.has_edge(c, [p, q]),
            (PrimitivePair::EdgeEdge, Some(c), None) => self.has_edge(c, [r, s]),
            _ => false,
        }
    }
}

fn keyed(collider: u32, mut triangle: [u32; 3]) -> [u32; 4] {
    triangle.sort_unstable();
    let [a, b, c] = triangle;
    [collider, a, b, c]
}
