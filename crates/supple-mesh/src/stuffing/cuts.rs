//! Cut points on the lattice's edges, and the warping of lattice points that a cut point comes too close to.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::SignedField;
use super::lattice::{BccLattice, INSIDE, LONG_DIRECTIONS, ON, OUTSIDE};

/// A cut point nearer to an end of its long edge than this fraction of the edge pulls that end onto the surface.
///
/// With this and [`ALPHA_SHORT`] all dihedral angles lie between 10.7 and 164.8 degrees, the paper's best bounds for
/// tetrahedra of one size. The three worst cases coincide at about (0.2851, 0.3988); away from it one of them gets
/// worse (0.24999 and 0.41189, also in use, give 9.3 and 161.7 degrees).
pub const ALPHA_LONG: f64 = 0.2851;
/// The same for short edges.
pub const ALPHA_SHORT: f64 = 0.3988;

/// In [`CutLattice::vertex_of_point`]: this lattice point is not a vertex of the mesh.
const NO_VERTEX: u32 = u32::MAX;

/// The lattice after warping, with its vertices numbered.
pub(super) struct CutLattice {
    /// Which side each lattice point is on; warped points are on the surface.
    pub states: Vec<i8>,
    /// The positions of the mesh's vertices: lattice points, then cut points, each in lattice order.
    pub positions: Vec<DVec3>,
    vertex_of_point: Vec<u32>,
    /// Sorted by point.
    rows: Vec<CutRow>,
}

/// The cut points on the edges from one point inside to its neighbours outside.
struct CutRow {
    point: usize,
    /// Fraction of the edge in each direction; NaN where the edge is not cut.
    fractions: [f64; 14],
    /// The mesh's vertex of the first cut that remains after warping.
    first_vertex: u32,
    /// A bit per direction whose cut remains.
    left: u16,
}

/// A lattice point's move to a cut point.
struct Warp {
    point: usize,
    distance: f64,
    position: DVec3,
}

impl CutLattice {
    /// Cuts the edges between `INSIDE` and `OUTSIDE`, warps, and numbers the remaining vertices.
    pub(super) fn new<F: SignedField + ?Sized>(lattice: &BccLattice, field: &F, sides: Vec<i8>) -> Self {
        let rows = cut_edges(lattice, field, &sides);
        let warps = find_warps(lattice, &rows);
        let mut cut = Self { states: sides, positions: Vec::new(), vertex_of_point: Vec::new(), rows };
        for warp in &warps {
            cut.states[warp.point] = ON;
        }
        cut.number_lattice_points(lattice, &warps);
        cut.number_cuts(lattice);
        cut
    }

    /// The vertex of a lattice point that is inside or on the surface.
    pub(super) fn lattice_vertex(&self, point: usize) -> u32 {
        self.vertex_of_point[point]
    }

    /// The vertex on the edge from a point inside in direction `d`, which ends outside.
    pub(super) fn cut_vertex(&self, inside: usize, d: usize) -> u32 {
        let row = self.rows.binary_search_by_key(&inside, |row| row.point).expect("cut edges start in a row");
        let row = &self.rows[row];
        row.first_vertex + (row.left & ((1 << d) - 1)).count_ones()
    }

    /// Vertices are the points inside, and those on the surface next to one inside.
    fn number_lattice_points(&mut self, lattice: &BccLattice, warps: &[Warp]) {
        self.vertex_of_point = vec![NO_VERTEX; self.states.len()];
        let mut warps = warps.iter().peekable();
        for point in 0..self.states.len() {
            let warp = warps.next_if(|warp| warp.point == point);
            let is_vertex = match self.states[point] {
                INSIDE => true,
                ON => (0..14).any(|d| self.states[lattice.neighbor(point, d)] == INSIDE),
                _ => false,
            };
            if is_vertex {
                self.vertex_of_point[point] = self.positions.len() as u32;
                self.positions.push(warp.map_or_else(|| lattice.position(point), |warp| warp.position));
            }
        }
    }

    fn number_cuts(&mut self, lattice: &BccLattice) {
        for row in self.rows.iter_mut().filter(|row| self.states[row.point] == INSIDE) {
            row.first_vertex = self.positions.len() as u32;
            for d in (0..14).filter(|&d| !row.fractions[d].is_nan()) {
                if self.states[lattice.neighbor(row.point, d)] == OUTSIDE {
                    row.left |= 1 << d;
                    self.positions.push(cut_position(lattice, row, d));
                }
            }
        }
    }
}

fn cut_edges<F: SignedField + ?Sized>(lattice: &BccLattice, field: &F, sides: &[i8]) -> Vec<CutRow> {
    let inside = (0..sides.len()).into_par_iter().filter(|&point| sides[point] == INSIDE);
    inside.filter_map(|point| cut_edges_at(lattice, field, sides, point)).collect()
}

fn cut_edges_at<F: SignedField + ?Sized>(
    lattice: &BccLattice,
    field: &F,
    sides: &[i8],
    point: usize,
) -> Option<CutRow> {
    let mut fractions = [f64::NAN; 14];
    let mut any = false;
    for (d, fraction) in fractions.iter_mut().enumerate() {
        let neighbor = lattice.neighbor(point, d);
        if sides[neighbor] == OUTSIDE {
            let crossing = field.crossing(lattice.position(point), lattice.position(neighbor));
            *fraction = crossing.clamp(0.0, 1.0);
            any = true;
        }
    }
    any.then_some(CutRow { point, fractions, first_vertex: 0, left: 0 })
}

fn cut_position(lattice: &BccLattice, row: &CutRow, d: usize) -> DVec3 {
    lattice.position(row.point).lerp(lattice.position(lattice.neighbor(row.point, d)), row.fractions[d])
}

/// The nearest violating cut point of every violated lattice point, sorted by point.
fn find_warps(lattice: &BccLattice, rows: &[CutRow]) -> Vec<Warp> {
    let mut warps: Vec<Warp> = rows.par_iter().flat_map_iter(|row| warps_of_row(lattice, row)).collect();
    // A stable sort: of equally distant cut points the first in lattice order is used.
    warps.par_sort_by(|a, b| a.point.cmp(&b.point).then(a.distance.total_cmp(&b.distance)));
    warps.dedup_by_key(|warp| warp.point);
    warps
}

fn warps_of_row(lattice: &BccLattice, row: &CutRow) -> impl Iterator<Item = Warp> {
    (0..14).filter_map(move |d| {
        let (fraction, alpha) =
            (row.fractions[d], if d < LONG_DIRECTIONS { ALPHA_LONG } else { ALPHA_SHORT });
        let (point, from_point) = if fraction < alpha {
            (row.point, fraction)
        } else if 1.0 - fraction < alpha {
            (lattice.neighbor(row.point, d), 1.0 - fraction)
        } else {
            return None;
        };
        let distance = from_point * lattice.edge_length(d);
        Some(Warp { point, distance, position: cut_position(lattice, row, d) })
    })
}

/// The root in 0..1 of a function that is negative at 0 and positive at 1: secant steps safeguarded by bisection,
/// so that it also converges at a jump. `length` is the length of the segment, in the unit of the function if that is a
/// distance.
pub fn find_root(f: impl Fn(f64) -> f64, length: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let (mut f_low, mut f_high) = (f(0.0), f(1.0));
    let small = 1e-13 * length;
    for step in 0..100 {
        let secant = low + (high - low) * (f_low / (f_low - f_high));
        let t = if step % 3 == 2 || !(secant > low && secant < high) { 0.5 * (low + high) } else { secant };
        let value = f(t);
        if value.abs() <= small || high - low < 1e-14 {
            return t;
        }
        // The retained end loses half its weight (the Illinois rule), so that both ends converge.
        if value < 0.0 {
            (low, f_low, f_high) = (t, value, 0.5 * f_high);
        } else {
            (high, f_high, f_low) = (t, value, 0.5 * f_low);
        }
    }
    0.5 * (low + high)
}
