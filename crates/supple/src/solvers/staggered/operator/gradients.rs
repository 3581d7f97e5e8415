//! Full gradients of displacements, one for every interior cell (Zhu 2010, section 7): `D_i phi_i` is located in the cell,
//! `D_j phi_i` is the mean over the cell's edges.
//!
//! Only stresses that are equations of the lattice have a gradient: where a traction condition prescribes `P_ii`, or where all
//! four edges touch exterior cells, the gradient is that of the nearest cell that has one. So constant gradients are
//! reproduced exactly, up to the surface.

use glam::DMat3;
use supple_core::parallel::prelude::*;

use crate::solvers::staggered::lattice::{Cell, Lattice};
use crate::solvers::staggered::operator::rows::LatticeOperator;

/// The planes of the off-diagonal gradients.
pub(crate) const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];
/// In the map from cells to slots.
const EXTERIOR: u32 = u32::MAX;
const HELD: u32 = u32::MAX - 1;
/// How many cells away a gradient may be borrowed.
const FARTHEST: i32 = 3;

/// A gradient that a cell takes from another one.
#[derive(Debug, Clone, Copy)]
struct Borrowed {
    to: u32,
    from: u32,
    row: u8,
    column: u8,
}

/// The interior cells of a lattice, each with a slot, and the sources of their gradients.
#[derive(Debug)]
pub(crate) struct CellGradients {
    pub(crate) strides: [usize; 3],
    pub(crate) len: usize,
    /// The cell of each slot, in order.
    pub(crate) cells: Vec<u32>,
    /// The slots of each plane normal to z start here.
    pub(crate) plane_start: Vec<u32>,
    slot_of: Vec<u32>,
    /// Which stresses of a cell are equations: the three `P_ii`, then four edges for each pair of axes.
    kept: Vec<u16>,
    borrowed: Vec<Borrowed>,
}

impl CellGradients {
    pub(crate) fn new(operator: &LatticeOperator<'_>) -> Self {
        let lattice = operator.lattice;
        let (len, plane) = (lattice.len(), lattice.plane());
        let mut slot_of = vec![EXTERIOR; len];
        let mut cells = Vec::with_capacity(lattice.interior_cells());
        let mut plane_start = vec![0];
        for (cell, kind) in lattice.cells().iter().enumerate() {
            match kind {
                Cell::Exterior => {}
                Cell::Dirichlet => slot_of[cell] = HELD,
                Cell::Interior => {
                    slot_of[cell] = cells.len() as u32;
                    cells.push(cell as u32);
                }
            }
            if (cell + 1) % plane == 0 {
                plane_start.push(cells.len() as u32);
            }
        }
        let kept =
            cells.par_iter().with_min_len(1024).map(|c| kept_stresses(operator, *c as usize)).collect();
        let mut gradients =
            Self { strides: lattice.strides(), len, cells, plane_start, slot_of, kept, borrowed: Vec::new() };
        gradients.borrowed = gradients.find_borrowed(lattice);
        gradients
    }

    /// The slot of an interior cell.
    #[inline]
    pub(crate) fn slot(&self, cell: usize) -> Option<usize> {
        let slot = self.slot_of[cell];
        (slot < HELD).then_some(slot as usize)
    }

    /// The slots of the interior cells around the edge at the lower faces `i` and `j` of a cell, and how many there are;
    /// `None` where the edge touches an exterior cell.
    #[inline]
    pub(crate) fn around_edge(&self, i: usize, j: usize, cell: usize) -> Option<([usize; 4], usize)> {
        let (si, sj) = (self.strides[i], self.strides[j]);
        let (mut slots, mut count) = ([0; 4], 0);
        for near in [cell, cell - si, cell - sj, cell - si - sj] {
            match self.slot_of[near] {
                EXTERIOR => return None,
                HELD => {}
                slot => {
                    slots[count] = slot as usize;
                    count += 1;
                }
            }
        }
        Some((slots, count))
    }

    /// The fraction of a gradient's locations whose stress is an equation: one, or none, or some quarters.
    #[inline]
    pub(crate) fn share(&self, slot: usize, row: usize, column: usize) -> f64 {
        let kept = self.kept[slot];
        if row == column {
            return f64::from(kept >> row & 1);
        }
        f64::from((kept >> first_edge(row + column - 1) & 15).count_ones()) / 4.0
    }

    /// `D_j phi_i` times the spacing, of fields of the whole lattice.
    pub(crate) fn find(&self, fields: &[f64], out: &mut [DMat3]) {
        out.par_iter_mut().with_min_len(1024).enumerate().for_each(|(slot, out)| {
            *out = self.own(slot, fields);
        });
        for b in &self.borrowed {
            let value = out[b.from as usize].col(b.column.into())[usize::from(b.row)];
            out[b.to as usize].col_mut(b.column.into())[usize::from(b.row)] = value;
        }
    }

    /// The gradient from the cell's own values.
    #[inline]
    fn own(&self, slot: usize, fields: &[f64]) -> DMat3 {
        let (cell, kept) = (self.cells[slot] as usize, self.kept[slot]);
        let mut gradient = DMat3::ZERO;
        for i in (0..3).filter(|i| kept >> i & 1 == 1) {
            let at = i * self.len + cell;
            gradient.col_mut(i)[i] = fields[at + self.strides[i]] - fields[at];
        }
        for (pair, (i, j)) in PAIRS.into_iter().enumerate() {
            let (si, sj) = (self.strides[i], self.strides[j]);
            let (mut sum, mut count) = ([0.0; 2], 0.0);
            for (n, edge) in [cell, cell + si, cell + sj, cell + si + sj].into_iter().enumerate() {
                if kept >> (first_edge(pair) + n) & 1 == 1 {
                    let (a, b) = (i * self.len + edge, j * self.len + edge);
                    sum[0] += fields[a] - fields[a - sj];
                    sum[1] += fields[b] - fields[b - si];
                    count += 1.0;
                }
            }
            if count > 0.0 {
                gradient.col_mut(j)[i] = sum[0] / count;
                gradient.col_mut(i)[j] = sum[1] / count;
            }
        }
        gradient
    }

    fn find_borrowed(&self, lattice: &Lattice) -> Vec<Borrowed> {
        let near = near_cells();
        let mut borrowed = Vec::new();
        for (to, cell) in self.cells.iter().enumerate() {
            for (row, column) in (0..9).map(|n| (n / 3, n % 3)) {
                if self.share(to, row, column) > 0.0 {
                    continue;
                }
                let at = lattice.coordinates(*cell as usize);
                let from = near.iter().find_map(|by| {
                    let slot = self.slot_within(lattice, [at[0] + by[0], at[1] + by[1], at[2] + by[2]])?;
                    (self.share(slot, row, column) > 0.0).then_some(slot)
                });
                borrowed.extend(from.map(|from| Borrowed {
                    to: to as u32,
                    from: from as u32,
                    row: row as u8,
                    column: column as u8,
                }));
            }
        }
        borrowed
    }

    fn slot_within(&self, lattice: &Lattice, at: [i32; 3]) -> Option<usize> {
        let size = lattice.size();
        let inside = (0..3).all(|a| at[a] >= 0 && at[a] < size[a] as i32);
        inside.then(|| self.slot(lattice.index(at))).flatten()
    }

    pub(crate) fn bytes(&self) -> usize {
        4 * self.slot_of.len() + 6 * self.cells.len() + 12 * self.borrowed.len()
    }
}

/// The bit of the first edge of a pair of axes.
fn first_edge(pair: usize) -> usize {
    3 + 4 * pair
}

fn kept_stresses(operator: &LatticeOperator<'_>, cell: usize) -> u16 {
    let strides = operator.lattice.strides();
    let normal = (0..3).map(|i| u16::from(operator.normal_weight(i, cell) > 0.0) << i);
    let mut kept = normal.sum();
    for (pair, (i, j)) in PAIRS.into_iter().enumerate() {
        let (si, sj) = (strides[i], strides[j]);
        for (n, edge) in [cell, cell + si, cell + sj, cell + si + sj].into_iter().enumerate() {
            kept |= u16::from(operator.shear_weight(i, j, edge) > 0.0) << (first_edge(pair) + n);
        }
    }
    kept
}

/// The offsets of nearby cells, nearest first.
fn near_cells() -> Vec<[i32; 3]> {
    let side = 2 * FARTHEST + 1;
    let step = |n: i32| [n % side, n / side % side, n / (side * side)].map(|x| x - FARTHEST);
    let mut near: Vec<[i32; 3]> = (0..side.pow(3)).map(step).collect();
    near.sort_by_key(|by| by.iter().map(|x| x * x).sum::<i32>());
    near
}
