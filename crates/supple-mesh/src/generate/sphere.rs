//! Spheres: an icosahedron whose faces are subdivided into a triangular grid and projected to the sphere.

use glam::DVec3;

use super::{SphereShape, check_length, check_vertex_count, scaled};
use crate::SurfaceMesh;
use supple_core::Error;

/// The golden ratio.
const PHI: f64 = 1.618_033_988_749_895;

/// The icosahedron's faces, counter-clockwise seen from outside.
const FACES: [[u32; 3]; 20] = [
    [0, 11, 5],
    [0, 5, 1],
    [0, 1, 7],
    [0, 7, 10],
    [0, 10, 11],
    [1, 5, 9],
    [5, 11, 4],
    [11, 10, 2],
    [10, 7, 6],
    [7, 1, 8],
    [3, 9, 4],
    [3, 4, 2],
    [3, 2, 6],
    [3, 6, 8],
    [3, 8, 9],
    [4, 9, 5],
    [2, 4, 11],
    [6, 2, 10],
    [8, 6, 7],
    [9, 8, 1],
];

impl SphereShape {
    /// `20 cells^2` triangles on `10 cells^2 + 2` vertices.
    pub fn surface(&self, resolution: f64) -> Result<SurfaceMesh, Error> {
        check_length("sphere's radius", self.radius)?;
        let cells = scaled("the sphere's number of cells", self.cells, 1, resolution)?;
        check_vertex_count("sphere", 10.0 * f64::from(cells).powi(2) + 2.0)?;
        let grid = Icosphere { cells, edges: edges() };
        let positions = grid.directions().map(|direction| self.radius * direction.normalize()).collect();
        let triangles: Vec<[u32; 3]> = (0..20).flat_map(|face| grid.face_triangles(face)).collect();
        Ok(SurfaceMesh::from_triangles(positions, &triangles))
    }
}

struct Icosphere {
    cells: u32,
    edges: Vec<[u32; 2]>,
}

fn corner(v: u32) -> DVec3 {
    let s = |bit: u32| if v >> bit & 1 == 0 { -1.0 } else { 1.0 };
    match v / 4 {
        0 => DVec3::new(s(0), if v < 2 { PHI } else { -PHI }, 0.0),
        1 => DVec3::new(0.0, s(0), if v < 6 { PHI } else { -PHI }),
        _ => DVec3::new(if v < 10 { PHI } else { -PHI }, 0.0, s(0)),
    }
}

/// The 30 edges, each with its smaller vertex first, in order of first use.
fn edges() -> Vec<[u32; 2]> {
    let mut edges = Vec::with_capacity(30);
    for [a, b, c] in FACES {
        for [u, v] in [[a, b], [b, c], [c, a]] {
            let edge = [u.min(v), u.max(v)];
            if !edges.contains(&edge) {
                edges.push(edge);
            }
        }
    }
    edges
}

impl Icosphere {
    /// Points of the flat grid: the 12 corners, then the interior of each edge, then that of each face.
    fn directions(&self) -> impl Iterator<Item = DVec3> {
        let n = self.cells;
        let on_edge = move |&[a, b]: &[u32; 2]| {
            (1..n).map(move |k| corner(a).lerp(corner(b), f64::from(k) / f64::from(n)))
        };
        let in_face = move |[a, b, c]: [u32; 3]| {
            let point = move |i: u32, j: u32| {
                let [i, j, n] = [i, j, n].map(f64::from);
                (corner(a) * (n - i - j) + corner(b) * i + corner(c) * j) / n
            };
            (1..n).flat_map(move |j| (1..n - j).map(move |i| point(i, j)))
        };
        (0..12)
            .map(corner)
            .chain(self.edges.iter().flat_map(on_edge))
            .chain(FACES.into_iter().flat_map(in_face))
    }

    /// The vertex of a face `i` steps from its first corner towards the second and `j` towards the third.
    fn vertex(&self, face: usize, i: u32, j: u32) -> u32 {
        let (n, [a, b, c]) = (self.cells, FACES[face]);
        match (i, j, n - i - j) {
            (0, 0, _) => a,
            (_, 0, 0) => b,
            (0, _, 0) => c,
            (i, 0, _) => self.edge_vertex(a, b, i),
            (0, j, _) => self.edge_vertex(a, c, j),
            (_, j, 0) => self.edge_vertex(b, c, j),
            (i, j, _) => {
                // Rows `1..j` of the face contain `n - 2, n - 3, …` points.
                let before = (j - 1) * (n - 1) - (j - 1) * j / 2;
                12 + 30 * (n - 1) + face as u32 * ((n - 1) * (n - 2) / 2) + before + i - 1
            }
        }
    }

    fn edge_vertex(&self, from: u32, to: u32, steps: u32) -> u32 {
        let edge = [from.min(to), from.max(to)];
        let index = self.edges.iter().position(|e| *e == edge).expect("faces are made of edges") as u32;
        let steps = if from < to { steps } else { self.cells - steps };
        12 + index * (self.cells - 1) + steps - 1
    }

    fn face_triangles(&self, face: usize) -> impl Iterator<Item = [u32; 3]> {
        let n = self.cells;
        let at = move |i: u32, j: u32| self.vertex(face, i, j);
        (0..n).flat_map(move |j| {
            let up = (0..n - j).map(move |i| [at(i, j), at(i + 1, j), at(i, j + 1)]);
            let down = (0..n - j - 1).map(move |i| [at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
            up.chain(down)
        })
    }
}
