//! Sweeps over the equations near a boundary (Zhu 2010, section 5.3), from a table of rows.
//!
//! Rows of one field couple to those of the other colour of a red-black pattern and to other fields only, so each colour
//! of each field is computed at once and then written: results are bit-identical for any number of threads.

use supple_core::parallel::prelude::*;

use crate::solvers::staggered::lattice::PRESSURE;
use crate::solvers::staggered::lattice::classes::{Class, Classes};
use crate::solvers::staggered::operator::rows::{LatticeOperator, Row};
use crate::solvers::staggered::operator::stencils::{ROWS, RowList, Stencils, apply_each, groups};

/// Rows of one colour that are smoothed by distribution, each with the kind of its column of the distribution matrix.
#[derive(Debug, Default)]
struct Distributed {
    rows: RowList,
    columns: Vec<u32>,
}

/// A set of equations near the boundary with the data for sweeps.
#[derive(Debug, Default)]
pub(crate) struct Band {
    restricted: [[Distributed; 2]; 4],
    eliminated: [[RowList; 2]; 3],
    pressures: RowList,
}

impl Band {
    /// The equations near the boundary, smoothed by their classes.
    pub(crate) fn boundary(
        operator: &LatticeOperator<'_>,
        classes: &Classes,
        stencils: &mut Stencils,
    ) -> Self {
        let near = |class| matches!(class, Class::Restricted | Class::Eliminated);
        let whole = Classes::new(operator, true);
        Self::new(operator, classes, stencils, |field| whole.cells(field, near).collect())
    }

    /// Any set of equations, given by the cells of each field.
    pub(crate) fn new(
        operator: &LatticeOperator<'_>,
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
        band.group();
        band
    }

    /// Groups rows of one kind.
    fn group(&mut self) {
        for list in self.restricted.iter_mut().flatten() {
            let rows = list.rows.iter().zip(&list.columns);
            let mut rows: Vec<(u32, u32, u32)> =
                rows.map(|((cell, kind), column)| (kind, *column, cell)).collect();
            rows.sort_unstable();
            list.columns = rows.iter().map(|row| row.1).collect();
            list.rows.kinds = rows.iter().map(|row| row.0).collect();
            list.rows.cells = rows.iter().map(|row| row.2).collect();
        }
        let eliminated = self.eliminated.iter_mut().flatten();
        eliminated.chain([&mut self.pressures]).for_each(RowList::cut_into_tasks);
    }

    /// One sweep: distribution in the order of algorithm 2, then Gauss-Seidel and the pressures that it eliminated.
    pub(crate) fn sweep(
        &self,
        stencils: &Stencils,
        len: usize,
        u: &mut [f32],
        b: &[f32],
        buffer: &mut Vec<f32>,
    ) {
        let pass = Pass { stencils, b };
        for (field, colours) in self.restricted.iter().enumerate() {
            for list in colours {
                pass.values(&list.rows, field * len, u, buffer);
                for ((cell, column), delta) in list.rows.cells.iter().zip(&list.columns).zip(buffer.iter()) {
                    let (offsets, values) = stencils.unknowns(*column);
                    for (offset, value) in offsets.iter().zip(values) {
                        u[(*cell as i32 + offset) as usize] += delta * value;
                    }
                }
            }
        }
        for (field, colours) in self.eliminated.iter().enumerate() {
            for list in colours {
                pass.values(list, field * len, u, buffer);
                list.set_each(&mut u[field * len..(field + 1) * len], buffer, |own, delta| *own += delta);
            }
        }
        pass.values(&self.pressures, PRESSURE * len, u, buffer);
        self.pressures.set_each(&mut u[PRESSURE * len..], buffer, |own, value| *own = value);
    }

    /// Number of equations.
    pub(crate) fn len(&self) -> usize {
        let restricted = self.restricted.iter().flatten().map(|d| d.rows.len()).sum::<usize>();
        restricted + self.eliminated.iter().flatten().map(RowList::len).sum::<usize>() + self.pressures.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        12 * self.len()
    }
}

/// The input of the rows of a sweep.
struct Pass<'a> {
    stencils: &'a Stencils,
    b: &'a [f32],
}

impl Pass<'_> {
    /// `scale (b - row)` of every row of a list, of a field whose entries start at `own`. Rows of a list are independent of each
    /// other, so all are computed before any is written.
    fn values(&self, rows: &RowList, own: usize, u: &[f32], buffer: &mut Vec<f32>) {
        buffer.resize(rows.len(), 0.0);
        let (cells, kinds) = (rows.cells.par_chunks(ROWS), rows.kinds.par_chunks(ROWS));
        buffer.par_chunks_mut(ROWS).zip(cells.zip(kinds)).for_each(|(out, (cells, kinds))| {
            for group in groups(kinds) {
                self.group(kinds[group.start], own, u, &cells[group.clone()], &mut out[group]);
            }
        });
    }

    fn group(&self, kind: u32, own: usize, u: &[f32], cells: &[u32], out: &mut [f32]) {
        let stencils = self.stencils;
        let known = stencils.known(kind);
        out.iter_mut().zip(cells).for_each(|(out, cell)| *out = self.b[own + *cell as usize]);
        if !known.0.is_empty() {
            apply_each(known, self.b, cells, |n, value: f32| out[n] += value);
        }
        let scale = stencils.scale(kind);
        apply_each(stencils.unknowns(kind), u, cells, |n, value: f32| out[n] = scale * (out[n] - value));
    }
}

fn parity(operator: &LatticeOperator<'_>, cell: usize) -> usize {
    operator.lattice.coordinates(cell).iter().sum::<i32>().rem_euclid(2) as usize
}

/// The row of an eliminated pressure: `p = scale (b - row)`.
fn pressure_kind(operator: &LatticeOperator<'_>, cell: usize, stencils: &mut Stencils) -> u32 {
    let own = operator.offset(PRESSURE, 0);
    let mut row = operator.row(PRESSURE, cell);
    let scale = 1.0 / row.at(own);
    row.entries.retain(|e| e.0 != own);
    stencils.insert(&row, &Row::default(), scale)
}

/// The row of `L_phi - G D^-1 G^T` with the eliminated pressures, its right-hand side `- G D^-1 b_p`, and its diagonal.
fn eliminated_kind(
    operator: &LatticeOperator<'_>,
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
    operator: &LatticeOperator<'_>,
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
pub(crate) fn column(operator: &LatticeOperator<'_>, field: usize, cell: usize) -> Row {
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
