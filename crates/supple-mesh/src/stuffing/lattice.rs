//! The body-centred cubic lattice: the corners and the centres of a grid of cubes.
//!
//! A point is a pair of cell and kind (corner or centre); its index is `2 * cell + kind`. Long edges (length
//! `cell`) join points of one kind, short ones (length `sqrt(3)/2 cell`) a corner with a centre. A tetrahedron has
//! one long edge between corners, one between centres, and four short edges.

use glam::{DVec3, IVec3};
use supple_core::parallel::prelude::*;

use super::SignedField;
use crate::check::scale_hint;
use supple_core::text::number::Brief;
use supple_core::{Error, memory};

/// Maximum size of the lattice.
pub const MAX_LATTICE_POINTS: f64 = 2e8;
/// Working memory per lattice point, in bytes: its side, its state and its number among the vertices.
const POINT_BYTES: f64 = 6.0;
/// Memory per lattice point inside the shape, in bytes: about six tetrahedra, twice while they are collected, and a vertex.
const INSIDE_BYTES: f64 = 250.0;

/// Inside the shape.
pub(super) const INSIDE: i8 = 1;
/// On its surface: the field is exactly zero, or the point was warped to it.
pub(super) const ON: i8 = 0;
/// Outside the shape.
pub(super) const OUTSIDE: i8 = -1;

/// The 14 edges at a lattice point in half cells: 6 long ones, then 8 short ones. `d ^ 1` is opposite to a long
/// `d`; `19 - d` is opposite to a short one.
pub(super) const DIRECTIONS: [IVec3; 14] = [
    IVec3::new(2, 0, 0),
    IVec3::new(-2, 0, 0),
    IVec3::new(0, 2, 0),
    IVec3::new(0, -2, 0),
    IVec3::new(0, 0, 2),
    IVec3::new(0, 0, -2),
    IVec3::new(-1, -1, -1),
    IVec3::new(1, -1, -1),
    IVec3::new(-1, 1, -1),
    IVec3::new(1, 1, -1),
    IVec3::new(-1, -1, 1),
    IVec3::new(1, -1, 1),
    IVec3::new(-1, 1, 1),
    IVec3::new(1, 1, 1),
];

/// How many of [`DIRECTIONS`] are long.
pub(super) const LONG_DIRECTIONS: usize = 6;

/// Cells along one side of the blocks whose side is tested as a whole.
const BLOCK: usize = 8;

/// A lattice that covers some bounds with at least one cell to spare on every side.
pub(super) struct BccLattice {
    /// Points of each kind along x, y and z.
    pub counts: [usize; 3],
    low: DVec3,
    half: f64,
    /// From a corner and from a centre to its neighbours, in indices of points.
    offsets: [[isize; 14]; 2],
}

impl BccLattice {
    /// A lattice with a corner in the middle of `bounds`, so that symmetric shapes give symmetric meshes.
    pub(super) fn new((low, high): (DVec3, DVec3), cell: f64) -> Result<Self, Error> {
        if !(cell.is_finite() && cell > 0.0) {
            return Err(Error::Invalid(format!("the cell is {cell} m; it must be a positive length")));
        }
        if !(low.is_finite() && high.is_finite() && low.cmple(high).all()) {
            return Err(Error::Invalid(format!(
                "the shape's bounds {low} to {high} are not finite and ordered"
            )));
        }
        let half_cells = (0.5 * (high - low) / cell).ceil() + 1.0;
        let points = 2.0 * (2.0 * half_cells + 1.0).to_array().iter().product::<f64>();
        let size = high - low;
        let what = format!(
            "a cell of {cell} m needs a lattice of {points:.3e} points for a shape of {} x {} x {} m",
            Brief(size.x),
            Brief(size.y),
            Brief(size.z)
        );
        let remedy = |excess: f64| {
            let least = cell * excess.cbrt();
            format!("use a cell of at least {least:.2e} m{}", scale_hint(size.max_element()))
        };
        if points > MAX_LATTICE_POINTS {
            let remedy = remedy(points / MAX_LATTICE_POINTS);
            return Err(Error::Invalid(format!("{what}; the limit is {MAX_LATTICE_POINTS:.0e}: {remedy}")));
        }
        memory::require(&format!("{what}, which"), POINT_BYTES * points, remedy)?;
        let counts = (2.0 * half_cells + 1.0).to_array().map(|n| n as usize);
        let center = 0.5 * (low + high);
        let offsets = [0, 1].map(|kind| DIRECTIONS.map(|d| index_offset(counts, kind, d)));
        Ok(Self { counts, low: center - half_cells * cell, half: 0.5 * cell, offsets })
    }

    pub(super) fn point_count(&self) -> usize {
        2 * self.counts.iter().product::<usize>()
    }

    /// The length of an edge in direction `d`.
    pub(super) fn edge_length(&self, d: usize) -> f64 {
        self.half * if d < LONG_DIRECTIONS { 2.0 } else { 3f64.sqrt() }
    }

    /// A point's coordinates in half cells: all even for corners, all odd for centres.
    pub(super) fn coordinates(&self, point: usize) -> IVec3 {
        let (cell, kind) = (point / 2, (point % 2) as i32);
        let [nx, ny, _] = self.counts;
        2 * IVec3::new((cell % nx) as i32, (cell / nx % ny) as i32, (cell / (nx * ny)) as i32) + kind
    }

    pub(super) fn position(&self, point: usize) -> DVec3 {
        self.low + self.half * self.coordinates(point).as_dvec3()
    }

    /// The neighbour of a point in direction `d`. The point must not lie in the outermost layers.
    pub(super) fn neighbor(&self, point: usize, d: usize) -> usize {
        point.wrapping_add_signed(self.offsets[point % 2][d])
    }

    fn cell_index(&self, x: usize, y: usize, z: usize) -> usize {
        (z * self.counts[1] + y) * self.counts[0] + x
    }

    /// True where some neighbour would fall off the lattice.
    fn is_on_border(&self, point: usize) -> bool {
        let at = self.coordinates(point);
        let last = 2 * IVec3::from_array(self.counts.map(|n| n as i32 - 1));
        at.cmplt(IVec3::splat(2)).any() || at.cmpgt(last - 2).any()
    }

    /// The side of every point. Blocks known to lie on one side are filled at once.
    pub(super) fn sides<F: SignedField + ?Sized>(&self, field: &F) -> Result<Vec<i8>, Error> {
        let mut sides = vec![OUTSIDE; self.point_count()];
        let layer = 2 * self.counts[0] * self.counts[1];
        sides.par_chunks_mut(BLOCK * layer).enumerate().try_for_each(|(slab, sides)| {
            let mut writer = SideWriter { lattice: self, field, sides, first: slab * BLOCK * layer };
            writer.fill_slab(slab * BLOCK)
        })?;
        let inside = sides.par_iter().filter(|&&side| side != OUTSIDE).count() as f64;
        let what = format!("tetrahedra of {} m around {inside:.2e} lattice points", 2.0 * self.half);
        let remedy =
            |excess: f64| format!("use a cell of at least {:.2e} m", 2.0 * self.half * excess.cbrt());
        memory::require(&what, INSIDE_BYTES * inside, remedy)?;
        match self.first_not_outside_on_border(&sides) {
            None => Ok(sides),
            Some(point) => Err(Error::Invalid(format!(
                "the shape reaches beyond its bounds at {} (metres); give larger bounds",
                self.position(point)
            ))),
        }
    }

    fn first_not_outside_on_border(&self, sides: &[i8]) -> Option<usize> {
        (0..sides.len())
            .into_par_iter()
            .find_first(|&point| sides[point] != OUTSIDE && self.is_on_border(point))
    }

    /// Calls `visit` for every tetrahedron of one layer of cells that has a point inside: its four points, corners
    /// first, with positive volume.
    pub(super) fn for_each_tet_in_layer(
        &self,
        layer: usize,
        states: &[i8],
        mut visit: impl FnMut([usize; 4]),
    ) {
        let [nx, ny, nz] = self.counts;
        for y in 0..ny - 1 {
            for x in 0..nx - 1 {
                let cell = self.cell_index(x, y, layer);
                for axis in 0..3 {
                    if [x, y, layer][axis] + 2 < [nx, ny, nz][axis] && layer + 1 < nz {
                        self.for_each_tet_across_face(cell, axis, states, &mut visit);
                    }
                }
            }
        }
    }

    /// The four tetrahedra between the centres of `cell` and of its next neighbour along `axis`.
    fn for_each_tet_across_face(
        &self,
        cell: usize,
        axis: usize,
        states: &[i8],
        visit: &mut impl FnMut([usize; 4]),
    ) {
        let step = [1, self.counts[0], self.counts[0] * self.counts[1]];
        let (u, v) = (step[(axis + 1) % 3], step[(axis + 2) % 3]);
        let base = cell + step[axis];
        let ring = [base, base + u, base + u + v, base + v];
        let centers = [2 * cell + 1, 2 * base + 1];
        for edge in 0..4 {
            let tet = [2 * ring[edge], 2 * ring[(edge + 1) % 4], centers[0], centers[1]];
            if tet.iter().any(|&point| states[point] == INSIDE) {
                visit(tet);
            }
        }
    }
}

/// The index offset from a point (0 a corner, 1 a centre) to its neighbour in `direction`.
fn index_offset([nx, ny, _]: [usize; 3], kind: i32, direction: IVec3) -> isize {
    let to = direction + kind;
    let cell: IVec3 = to >> 1i32;
    let cells = cell.x as isize + nx as isize * (cell.y as isize + ny as isize * cell.z as isize);
    2 * cells + (to.x & 1) as isize - kind as isize
}

/// Writes the sides of the points of one slab of cells.
struct SideWriter<'a, F: ?Sized> {
    lattice: &'a BccLattice,
    field: &'a F,
    sides: &'a mut [i8],
    /// The index of the point of `sides[0]`.
    first: usize,
}

impl<F: SignedField + ?Sized> SideWriter<'_, F> {
    fn fill_slab(&mut self, z: usize) -> Result<(), Error> {
        let [nx, ny, _] = self.lattice.counts;
        for y in (0..ny).step_by(BLOCK) {
            for x in (0..nx).step_by(BLOCK) {
                self.fill([x, y, z], BLOCK)?;
            }
        }
        Ok(())
    }

    /// Fills a block of `size` cells per side: at once if it lies on one side, else by its octants.
    fn fill(&mut self, low: [usize; 3], size: usize) -> Result<(), Error> {
        if (0..3).any(|a| low[a] >= self.lattice.counts[a]) {
            return Ok(());
        }
        if size == 1 {
            return self.fill_cell(low);
        }
        // The block's points span from its first corner to its last centre: `size - 1/2` cells.
        let extent = self.lattice.half * (size as f64 - 0.5);
        let center = self.lattice.position(2 * self.lattice.cell_index(low[0], low[1], low[2])) + extent;
        match self.field.side_of_ball(center, 1.0001 * 3f64.sqrt() * extent) {
            Some(true) => self.fill_block(low, size),
            Some(false) => {}
            None => {
                let half = size / 2;
                for octant in 0..8 {
                    let corner = [0, 1, 2].map(|a| low[a] + half * (octant >> a & 1));
                    self.fill(corner, half)?;
                }
            }
        }
        Ok(())
    }

    fn fill_block(&mut self, low: [usize; 3], size: usize) {
        let high = [0, 1, 2].map(|a| (low[a] + size).min(self.lattice.counts[a]));
        for z in low[2]..high[2] {
            for y in low[1]..high[1] {
                let from = 2 * self.lattice.cell_index(low[0], y, z) - self.first;
                self.sides[from..from + 2 * (high[0] - low[0])].fill(INSIDE);
            }
        }
    }

    fn fill_cell(&mut self, [x, y, z]: [usize; 3]) -> Result<(), Error> {
        let corner = 2 * self.lattice.cell_index(x, y, z);
        for point in [corner, corner + 1] {
            let position = self.lattice.position(point);
            let value = self.field.value(position);
            if value.is_nan() {
                return Err(Error::Invalid(format!("the signed field is NaN at {position} (metres)")));
            }
            self.sides[point - self.first] = if value < 0.0 {
                INSIDE
            } else if value > 0.0 {
                OUTSIDE
            } else {
                ON
            };
        }
        Ok(())
    }
}
