//! Boxes: their surface as quads, their interior as tetrahedra.

use glam::DVec3;

use super::{BoxShape, check_length, check_vertex_count, scaled};
use crate::{SurfaceMesh, TetMesh};
use supple_core::Error;

impl BoxShape {
    /// The six sides as grids of quads that share their border vertices.
    pub fn surface(&self, resolution: f64) -> Result<SurfaceMesh, Error> {
        let grid = self.grid(resolution)?;
        let [nx, ny, nz] = grid.cells.map(f64::from);
        check_vertex_count("box", 2.0 * (nx * ny + ny * nz + nz * nx + 1.0))?;
        let mut mesh = SurfaceMesh { positions: grid.surface_positions(), ..SurfaceMesh::default() };
        for axis in 0..3 {
            grid.push_side(&mut mesh, axis, false);
            grid.push_side(&mut mesh, axis, true);
        }
        Ok(mesh)
    }

    /// Five tetrahedra per cell, mirrored from cell to cell so that neighbours match and no direction is preferred.
    pub fn tets(&self, resolution: f64) -> Result<TetMesh, Error> {
        let grid = self.grid(resolution)?;
        let [nx, ny, nz] = grid.cells;
        let count: f64 = grid.cells.iter().map(|&n| f64::from(n) + 1.0).product();
        check_vertex_count("box", count)?;
        let points = lattice(nx + 1, ny + 1, nz + 1).map(|at| grid.position(at)).collect();
        let tets = lattice(nx, ny, nz).flat_map(|at| grid.cell_tets(at)).collect();
        Ok(TetMesh { positions: points, tets, regions: None })
    }

    fn grid(&self, resolution: f64) -> Result<BoxGrid, Error> {
        let mut cells = [0; 3];
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            check_length(&format!("box's size along {name}"), self.size[axis])?;
            let what = format!("the box's number of cells along {name}");
            cells[axis] = scaled(&what, self.cells[axis], 1, resolution)?;
        }
        Ok(BoxGrid { size: DVec3::from_array(self.size), cells })
    }
}

struct BoxGrid {
    size: DVec3,
    cells: [u32; 3],
}

/// All triples below the given counts, the first fastest.
fn lattice(nx: u32, ny: u32, nz: u32) -> impl Iterator<Item = [u32; 3]> {
    (0..nz).flat_map(move |k| (0..ny).flat_map(move |j| (0..nx).map(move |i| [i, j, k])))
}

impl BoxGrid {
    fn position(&self, at: [u32; 3]) -> DVec3 {
        let fraction = |axis: usize| f64::from(at[axis]) / f64::from(self.cells[axis]) - 0.5;
        self.size * DVec3::new(fraction(0), fraction(1), fraction(2))
    }

    fn surface_positions(&self) -> Vec<DVec3> {
        let [nx, ny, nz] = self.cells;
        let mut positions = Vec::new();
        for k in 0..=nz {
            if k == 0 || k == nz {
                positions.extend(lattice(nx + 1, ny + 1, 1).map(|[i, j, _]| self.position([i, j, k])));
            } else {
                positions.extend((0..nx).map(|i| self.position([i, 0, k])));
                positions.extend((0..ny).map(|j| self.position([nx, j, k])));
                positions.extend((0..nx).map(|i| self.position([nx - i, ny, k])));
                positions.extend((0..ny).map(|j| self.position([0, ny - j, k])));
            }
        }
        positions
    }

    /// The number of a grid point on the surface: full layers at both ends of z, rings between them.
    fn surface_vertex(&self, [i, j, k]: [u32; 3]) -> u32 {
        let [nx, ny, nz] = self.cells;
        let (plane, ring) = ((nx + 1) * (ny + 1), 2 * (nx + ny));
        let in_plane = j * (nx + 1) + i;
        match k {
            0 => in_plane,
            k if k == nz => plane + (nz - 1) * ring + in_plane,
            k => {
                let around = match (i, j) {
                    (i, 0) => i,
                    (i, j) if i == nx => nx + j,
                    (i, j) if j == ny => nx + ny + (nx - i),
                    (_, j) => 2 * nx + ny + (ny - j),
                };
                plane + (k - 1) * ring + around
            }
        }
    }

    /// The quads of the side at the low or high end of `axis`, facing outward.
    fn push_side(&self, mesh: &mut SurfaceMesh, axis: usize, high: bool) {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let vertex = |a: u32, b: u32| {
            let mut at = [0; 3];
            at[axis] = if high { self.cells[axis] } else { 0 };
            (at[u], at[v]) = (a, b);
            self.surface_vertex(at)
        };
        for b in 0..self.cells[v] {
            for a in 0..self.cells[u] {
                let mut quad = [vertex(a, b), vertex(a + 1, b), vertex(a + 1, b + 1), vertex(a, b + 1)];
                if !high {
                    quad.reverse();
                }
                mesh.push_face(&quad);
            }
        }
    }

    /// One tetrahedron between every second corner, and one at each of the other corners. Corner `c` has the bits of
    /// its x, y and z.
    fn cell_tets(&self, [i, j, k]: [u32; 3]) -> [[u32; 4]; 5] {
        let [nx, ny, _] = self.cells;
        let vertex = |c: u32| ((k + (c >> 2)) * (ny + 1) + j + (c >> 1 & 1)) * (nx + 1) + i + (c & 1);
        let tets = if (i + j + k) % 2 == 0 {
            [[0, 5, 3, 6], [1, 0, 5, 3], [2, 3, 6, 0], [4, 5, 0, 6], [7, 6, 3, 5]]
        } else {
            [[7, 4, 2, 1], [0, 1, 2, 4], [3, 2, 1, 7], [5, 4, 7, 1], [6, 7, 4, 2]]
        };
        tets.map(|tet: [u32; 4]| tet.map(vertex))
    }
}
