//! Cells from triangle meshes (Zhu 2010, section 5.1): a cell that overlaps the body is interior, a fixed one is
//! Dirichlet, and layers of padding around the body smooth the embedded surface (section 9.3, figure 17).

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::solvers::staggered::lattice::{Cell, Lattice, MARGIN};
use supple_mesh::geometry::{Aabb, TriangleTree, WindingNumber};
use supple_mesh::weld::distinct_triangles;

/// Differences below this fraction of a cell count as equal: a face of the body along a face of cells touches those on one side only.
pub(crate) const ROUNDING: f64 = 1e-6;

/// Placement of a lattice in the rest state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatticePlacement {
    /// The lower corner of the first cell inside the margin, in metres.
    pub origin: DVec3,
    /// The side of a cell in metres.
    pub cell: f64,
}

impl LatticePlacement {
    /// The centre of a cell in metres.
    pub fn centre(&self, at: [i32; 3]) -> DVec3 {
        self.origin + self.cell * (DVec3::from(at.map(f64::from)) + 0.5)
    }

    /// A point in cells from the origin.
    pub fn in_cells(&self, point: DVec3) -> DVec3 {
        (point - self.origin) / self.cell
    }

    /// The position of an entry of a displacement, in metres.
    pub fn of_entry(&self, lattice: &Lattice, field: usize, entry: usize) -> DVec3 {
        let mut point = self.centre(lattice.coordinates(entry));
        if field < 3 {
            point[field] -= 0.5 * self.cell;
        }
        point
    }
}

/// The body may have at most this many cells along a side.
pub(crate) const MOST_CELLS_PER_SIDE: u32 = 4096;

/// The lattice around a closed mesh, with layers of padding. `None` for a mesh without extent, a cell that is not
/// positive, or more cells than fields can index.
pub fn voxelise(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    cell: f64,
    padding: usize,
    fixed: impl Fn(DVec3) -> bool + Sync,
) -> Option<(Lattice, LatticePlacement)> {
    let bounds = Aabb::of_points(positions);
    let extent = bounds.high - bounds.low;
    if bounds.is_empty() || !extent.is_finite() || cell.is_nan() || cell <= 0.0 {
        return None;
    }
    let core = (extent / cell - ROUNDING).ceil().max(DVec3::ONE);
    if core.max_element() > f64::from(MOST_CELLS_PER_SIDE) {
        return None;
    }
    let size = core.to_array().map(|n| n as usize + 2 * padding);
    if 4 * size.iter().map(|n| n + 2 * MARGIN).product::<usize>() > i32::MAX as usize {
        return None;
    }
    let origin = bounds.center() - 0.5 * cell * DVec3::from(size.map(|n| n as f64));
    let placement = LatticePlacement { origin, cell };
    let mut inside = Inside::new(size);
    let triangles = distinct_triangles(triangles.to_vec());
    inside.mark_surface(positions, &triangles, &placement);
    let tree = TriangleTree::new(positions, triangles);
    inside.fill(&WindingNumber::new(tree), &placement);
    (0..padding).for_each(|_| inside.grow());
    let kind = |at: [i32; 3]| match inside.at(at) {
        false => Cell::Exterior,
        true if fixed(placement.centre(at)) => Cell::Dirichlet,
        true => Cell::Interior,
    };
    Some((Lattice::new(size, kind), placement))
}

/// Which cells belong to the body.
struct Inside {
    size: [usize; 3],
    cells: Vec<bool>,
}

impl Inside {
    fn new(size: [usize; 3]) -> Self {
        Self { size, cells: vec![false; size.iter().product()] }
    }

    fn at(&self, at: [i32; 3]) -> bool {
        let exists = (0..3).all(|a| at[a] >= 0 && (at[a] as usize) < self.size[a]);
        exists && self.cells[at[0] as usize + self.size[0] * (at[1] as usize + self.size[1] * at[2] as usize)]
    }

    /// Marks the cells that a triangle intersects.
    fn mark_surface(&mut self, positions: &[DVec3], triangles: &[[u32; 3]], placement: &LatticePlacement) {
        let [nx, ny, _] = self.size;
        for triangle in triangles {
            let corners = triangle.map(|v| placement.in_cells(positions[v as usize]));
            let bounds = Aabb::of_points(&corners);
            if bounds.is_empty() {
                continue;
            }
            let last = self.size.map(|n| n as f64 - 1.0);
            let clamp = |p: DVec3| p.floor().max(DVec3::ZERO).min(last.into()).to_array().map(|x| x as usize);
            let (low, high) = (clamp(bounds.low), clamp(bounds.high));
            for z in low[2]..=high[2] {
                for y in low[1]..=high[1] {
                    for x in low[0]..=high[0] {
                        let centre = DVec3::new(x as f64, y as f64, z as f64) + 0.5;
                        let cell = &mut self.cells[x + nx * (y + ny * z)];
                        *cell |= meets_cube(corners.map(|p| p - centre));
                    }
                }
            }
        }
    }

    /// Marks the inside between cells of the surface: a run without surface is inside as a whole or not at all.
    fn fill(&mut self, winding: &WindingNumber, placement: &LatticePlacement) {
        let [nx, ny, _] = self.size;
        self.cells.par_chunks_mut(nx).enumerate().for_each(|(row, cells)| {
            let (y, z) = ((row % ny) as i32, (row / ny) as i32);
            let mut start = 0;
            while start < nx {
                let length = cells[start..].iter().take_while(|c| !**c).count();
                if length > 0 {
                    let middle = (start + length / 2) as i32;
                    let inside = winding.is_inside(placement.centre([middle, y, z]));
                    cells[start..start + length].fill(inside);
                }
                start += length.max(1);
            }
        });
    }

    /// Adds all 26 neighbours.
    fn grow(&mut self) {
        let [nx, ny, _] = self.size;
        let has_neighbour = |cell: usize| {
            let at = [cell % nx, cell / nx % ny, cell / (nx * ny)].map(|x| x as i32);
            (0..27).any(|n| self.at([at[0] + n % 3 - 1, at[1] + n / 3 % 3 - 1, at[2] + n / 9 - 1]))
        };
        self.cells = (0..self.cells.len()).into_par_iter().with_min_len(4096).map(has_neighbour).collect();
    }
}

/// Whether a triangle intersects the interior of the cube of side 1 around the origin (Akenine-Möller 2001: thirteen separating
/// axes).
fn meets_cube(corners: [DVec3; 3]) -> bool {
    let [a, b, c] = corners;
    let edges = [b - a, c - b, a - c];
    let apart_along = |axis: DVec3| {
        if axis == DVec3::ZERO {
            return false;
        }
        let along = corners.map(|p| p.dot(axis));
        let reach = (0.5 - ROUNDING) * axis.abs().element_sum();
        along.iter().all(|x| *x >= reach) || along.iter().all(|x| *x <= -reach)
    };
    let box_axes = DVec3::AXES.into_iter();
    let normal = edges[0].cross(edges[1]);
    let crosses = DVec3::AXES.into_iter().flat_map(|axis| edges.map(|edge| axis.cross(edge)));
    !box_axes.chain([normal]).chain(crosses).any(apart_along)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The octahedron `|x| + |y| + |z| <= 1`, rotated so that no face is along the cells.
    fn octahedron() -> (Vec<DVec3>, Vec<[u32; 3]>, glam::DQuat) {
        let turn = glam::DQuat::from_euler(glam::EulerRot::XYZ, 0.3, 0.5, -0.2);
        let corners = DVec3::AXES.into_iter().flat_map(|axis| [axis, -axis]).map(|p| turn * p).collect();
        let mut triangles = Vec::new();
        for signs in 0..8u32 {
            let [x, y, z] = [signs & 1, 2 + (signs >> 1 & 1), 4 + (signs >> 2 & 1)];
            triangles.push(if signs.count_ones() % 2 == 0 { [x, y, z] } else { [x, z, y] });
        }
        (corners, triangles, turn)
    }

    #[test]
    fn a_cell_is_interior_exactly_where_it_overlaps_the_body() {
        let (corners, triangles, turn) = octahedron();
        let (lattice, placement) = voxelise(&corners, &triangles, 0.11, 0, |_| false).unwrap();
        let half = 0.055;
        // The extent of a cube along the normal of a face, in the metric of `|x| + |y| + |z|`.
        let depth = |p: DVec3| (turn.inverse() * p).abs().element_sum() - 1.0;
        for (cell, kind) in lattice.cells().iter().enumerate() {
            let centre = placement.centre(lattice.coordinates(cell));
            if depth(centre) <= 0.0 {
                assert_eq!(*kind, Cell::Interior);
            }
            if depth(centre) > 3f64.sqrt() * 3f64.sqrt() * half {
                assert_eq!(*kind, Cell::Exterior);
            }
        }
        let volume = lattice.interior_cells() as f64 * 0.11f64.powi(3);
        assert!(volume > 4.0 / 3.0 && volume < 4.0 / 3.0 + 4.0 * 3f64.sqrt() * 0.11 * 3f64.sqrt());
    }

    #[test]
    fn padding_surrounds_every_point_of_the_surface_with_body() {
        let (corners, triangles, _) = octahedron();
        let (lattice, placement) = voxelise(&corners, &triangles, 0.2, 1, |p| p.x > 0.5).unwrap();
        for corner in corners {
            let at = placement.in_cells(corner).floor().to_array().map(|x| x as i32);
            for n in 0..27 {
                let near = [at[0] + n % 3 - 1, at[1] + n / 3 % 3 - 1, at[2] + n / 9 - 1];
                assert_ne!(lattice.cells()[lattice.index(near)], Cell::Exterior);
            }
        }
        let fixed = |c: usize| placement.centre(lattice.coordinates(c)).x > 0.5;
        let kinds = lattice.cells().iter().enumerate().filter(|(_, k)| **k != Cell::Exterior);
        assert!(kinds.into_iter().all(|(c, k)| (*k == Cell::Dirichlet) == fixed(c)));
    }

    #[test]
    fn a_box_along_the_cells_fills_exactly_its_own() {
        let corners: Vec<DVec3> = (0..8)
            .map(|n| DVec3::new((n & 1) as f64, 0.5 * (n >> 1 & 1) as f64, 0.3 * (n >> 2) as f64))
            .collect();
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles: Vec<[u32; 3]> =
            quads.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
        for padding in [0, 1] {
            let (lattice, _) = voxelise(&corners, &triangles, 0.1, padding, |_| false).unwrap();
            let grown = |n: usize| n + 2 * padding;
            assert_eq!(lattice.size(), [grown(10), grown(5), grown(3)]);
            assert_eq!(lattice.interior_cells(), grown(10) * grown(5) * grown(3));
        }
    }

    #[test]
    fn meshes_without_extent_and_impossible_cells_are_refused() {
        let (corners, triangles, _) = octahedron();
        assert!(voxelise(&[], &[], 0.1, 1, |_| false).is_none());
        for cell in [0.0, -1.0, f64::NAN, 1e-9] {
            assert!(voxelise(&corners, &triangles, cell, 1, |_| false).is_none());
        }
    }
}
