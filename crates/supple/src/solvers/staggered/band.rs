//! Sweeps over the equations near a boundary (Zhu 2010, section 5.3), from a table of rows.
//!
//! Rows of one field couple to those of the other colour of a red-black pattern and to other fields only, so each colour
//! of each field is computed at once and then written: any number of threads gives the same bits.

use rayon::prelude::*;

use super::classes::{Class, Classes};
use super::lattice::PRESSURE;
use super::rows::{Operator, Row};
use super::stencils::{RowList, Stencils, apply};

/// Rows handled by one task.
const CHUNK: usize = 2048;

/// Rows of one colour that are smoothed by distribution, each with the kind of its column of the distribution matrix.
#[derive(Debug, Default)]
struct Distributed {
    rows: RowList,
    columns: Vec<u32>,
}

/// A set of equations near the boundary with what a sweep over them needs.
#[derive(Debug, Default)]
pub(super) struct Band {
    restricted: [[Distributed; 2]; 4],
    eliminated: [[RowList; 2]; 3],
    pressures: RowList,
}

impl Band {
    /// The equations of the classes near the boundary.
    pub(super) fn boundary(operator: &Operator<'_>, classes: &Classes, stencils: &mut Stencils) -> Self {
        let near = |class| matches!(class, Class::Restricted | Class::Eliminated);
        Self::new(operator, classes, stencils, |field| classes.cells(field, near).collect())
    }

    /// Any set of equations, given by the cells of each field.
    pub(super) fn new(
        operator: &Operator<'_>,
        classes: &Classes,
        stencils: &mut Stencils,
        cells: impl Fn(usize) -> Vec<usize>,
    ) -> Self {
        let mut band = Self::default();
        for field in 0..4 {
            for cell in cells(field) {
                match classes.at(field, cell) {
                    Class::None => {}
                    Class::Eliminated if field == PRESSURE => {
                        band.pressures.push(cell, pressure_kind(operator, cell, stencils));
                    }
                    Class::Eliminated => {
                        let kind = eliminated_kind(operator, classes, (field, cell), stencils);
                        band.eliminated[field][parity(operator, cell)].push(cell, kind);
                    }
                    Class::Distributive | Class::Restricted => {
                        let list = &mut band.restricted[field][parity(operator, cell)];
                        let (row, column) = restricted_kinds(operator, field, cell, stencils);
                        list.rows.push(cell, row);
                        list.columns.push(column);
                    }
                }
            }
        }
        band
    }

    /// One sweep: distribution in the order of algorithm 2, then Gauss-Seidel and the pressures that it eliminated.
    pub(super) fn sweep(
        &self,
        stencils: &Stencils,
        len: usize,
        u: &mut [f32],
        b: &[f32],
        buffer: &mut Vec<f32>,
    ) {
        for (field, colours) in self.restricted.iter().enumerate() {
            for list in colours {
                let own = field * len;
                let step = |u: &[f32], cell: u32, kind: u32| {
                    stencils.scale(kind) * (b[own + cell as usize] - apply(stencils.unknowns(kind), u, cell))
                };
                let write = |u: &mut [f32], row: usize, cell: u32, delta: f32| {
                    let (offsets, values) = stencils.unknowns(list.columns[row]);
                    for (offset, value) in offsets.iter().zip(values) {
                        u[(cell as i32 + offset) as usize] += delta * value;
                    }
                };
                relax(&list.rows, u, buffer, step, write);
            }
        }
        for (field, colours) in self.eliminated.iter().enumerate() {
            for list in colours {
                let own = field * len;
                let step = |u: &[f32], cell: u32, kind: u32| {
                    let right = b[own + cell as usize] + apply(stencils.known(kind), b, cell);
                    stencils.scale(kind) * (right - apply(stencils.unknowns(kind), u, cell))
                };
                relax(list, u, buffer, step, |u, _, cell, delta| u[own + cell as usize] += delta);
            }
        }
        let own = PRESSURE * len;
        let step = |u: &[f32], cell: u32, kind: u32| {
            stencils.scale(kind) * (b[own + cell as usize] - apply(stencils.unknowns(kind), u, cell))
        };
        relax(&self.pressures, u, buffer, step, |u, _, cell, value| u[own + cell as usize] = value);
    }

    /// Number of equations.
    pub(super) fn len(&self) -> usize {
        let restricted = self.restricted.iter().flatten().map(|d| d.rows.len()).sum::<usize>();
        restricted + self.eliminated.iter().flatten().map(RowList::len).sum::<usize>() + self.pressures.len()
    }

    pub(super) fn bytes(&self) -> usize {
        12 * self.len()
    }
}

/// Computes `step` of every row, then writes it: rows of a list do not see each other.
fn relax(
    rows: &RowList,
    u: &mut [f32],
    buffer: &mut Vec<f32>,
    step: impl Fn(&[f32], u32, u32) -> f32 + Sync,
    mut write: impl FnMut(&mut [f32], usize, u32, f32),
) {
    if rows.len() <= CHUNK {
        for (row, (cell, kind)) in rows.iter().enumerate() {
            let value = step(u, cell, kind);
            write(u, row, cell, value);
        }
        return;
    }
    buffer.resize(rows.len(), 0.0);
    let (cells, kinds) = (rows.cells.par_chunks(CHUNK), rows.kinds.par_chunks(CHUNK));
    let values: &[f32] = u;
    buffer.par_chunks_mut(CHUNK).zip(cells.zip(kinds)).for_each(|(out, (cells, kinds))| {
        for (out, (cell, kind)) in out.iter_mut().zip(cells.iter().zip(kinds)) {
            *out = step(values, *cell, *kind);
        }
    });
    for (row, (cell, value)) in rows.cells.iter().zip(buffer.iter()).enumerate() {
        write(u, row, *cell, *value);
    }
}

fn parity(operator: &Operator<'_>, cell: usize) -> usize {
    operator.lattice.coordinates(cell).iter().sum::<i32>().rem_euclid(2) as usize
}

/// The row of an eliminated pressure: `p = scale (b - row)`.
fn pressure_kind(operator: &Operator<'_>, cell: usize, stencils: &mut Stencils) -> u32 {
    let own = operator.offset(PRESSURE, 0);
    let mut row = operator.row(PRESSURE, cell);
    let scale = 1.0 / row.at(own);
    row.entries.retain(|e| e.0 != own);
    stencils.insert(&row, &Row::default(), scale)
}

/// The row of `L_phi - G D^-1 G^T` with the eliminated pressures, its right-hand side `- G D^-1 b_p`, and its diagonal.
fn eliminated_kind(
    operator: &Operator<'_>,
    classes: &Classes,
    (field, cell): (usize, usize),
    stencils: &mut Stencils,
) -> u32 {
    let (mut row, mut known) = (Row::default(), Row::default());
    for &(offset, value) in &operator.row(field, cell).entries {
        let (of, at) = operator.place(cell, offset);
        if of != PRESSURE || classes.at(PRESSURE, at) != Class::Eliminated {
            row.add(offset, value);
            continue;
        }
        let mut pressure = operator.row(PRESSURE, at);
        let own = operator.offset(PRESSURE, 0);
        let factor = -value / pressure.at(own);
        pressure.entries.retain(|e| e.0 != own);
        row.add_row(&pressure, at as i64 - cell as i64, factor);
        known.add(offset, factor);
    }
    row.finish();
    known.finish();
    let diagonal = row.at(operator.offset(field, 0));
    let scale = if diagonal == 0.0 { 0.0 } else { 1.0 / diagonal };
    stencils.insert(&row, &known, scale)
}

/// The row of an equation and the column of its unknown in the distribution matrix, restricted to unknowns.
fn restricted_kinds(
    operator: &Operator<'_>,
    field: usize,
    cell: usize,
    stencils: &mut Stencils,
) -> (u32, u32) {
    let row = operator.row(field, cell);
    let column = column(operator, field, cell);
    let product: f64 = column.entries.iter().map(|&(offset, value)| value * row.at(offset)).sum();
    let row = stencils.insert(&row, &Row::default(), 1.0 / product);
    (row, stencils.insert(&column, &Row::default(), 1.0))
}

/// The column of an unknown in the distribution matrix (equation 6), restricted to unknowns: the Laplacian becomes that
/// of the cells alone.
pub(super) fn column(operator: &Operator<'_>, field: usize, cell: usize) -> Row {
    let lattice = operator.lattice;
    let h = operator.coefficients.spacing;
    let strides = lattice.strides();
    let mut column = Row::default();
    if field != PRESSURE {
        column.add(operator.offset(field, 0), 1.0);
        column.add(operator.offset(PRESSURE, -(strides[field] as i64)), 1.0 / h);
        column.add(operator.offset(PRESSURE, 0), -1.0 / h);
        return column;
    }
    column.add(operator.offset(PRESSURE, 0), operator.coefficients.inertia);
    for (axis, &stride) in strides.iter().enumerate() {
        for (face, neighbour, sign) in [(cell, -(stride as i64), -1.0), (cell + stride, stride as i64, 1.0)] {
            if lattice.is_unknown(axis, face) {
                column.add(operator.offset(axis, (face - cell) as i64), sign / h);
                column.add(operator.offset(PRESSURE, neighbour), -2.0 / (h * h));
                column.add(operator.offset(PRESSURE, 0), 2.0 / (h * h));
            }
        }
    }
    column.finish();
    column
}
