//! Transfers between lattices (Zhu 2010, section 6): averages of residuals to the coarser one, trilinear corrections of
//! displacements and constant ones of pressures back.
//!
//! Corrections of displacements also depend on coarse traction variables. These follow from the unknowns by the
//! homogeneous traction conditions; where no condition determines them, they are the mean of their neighbours.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::solvers::staggered::lattice::classes::{Class, Classes};
use crate::solvers::staggered::lattice::{Lattice, MARGIN, PRESSURE, Variable};
use crate::solvers::staggered::operator::rows::{LatticeOperator, Row};
use crate::solvers::staggered::operator::stencils::{RowList, Stencils, apply};

/// The coarse position of which a fine one is a child, along one axis, margins included.
#[inline(always)]
pub(crate) fn parent(fine: usize) -> usize {
    fine / 2 + MARGIN / 2
}

/// The coarse positions that an entry depends on along one axis, with weights. `along`: on faces normal to this axis.
pub(crate) fn sources(fine: usize, along: bool) -> [(usize, f32); 2] {
    let parent = parent(fine);
    match (along, fine.is_multiple_of(2)) {
        (true, true) => [(parent, 1.0), (parent, 0.0)],
        (true, false) => [(parent, 0.5), (parent + 1, 0.5)],
        (false, true) => [(parent, 0.75), (parent - 1, 0.25)],
        (false, false) => [(parent, 0.75), (parent + 1, 0.25)],
    }
}

/// Fine positions whose residuals a coarse one gathers along one axis, with weights.
fn children(coarse: usize, along: bool) -> [(usize, f32); 3] {
    let first = 2 * coarse - MARGIN;
    if along {
        [(first - 1, 0.25), (first, 0.5), (first + 1, 0.25)]
    } else {
        [(first, 0.5), (first + 1, 0.5), (first, 0.0)]
    }
}

/// Sets a run of coarse cells of a field to the restricted residuals. `out` starts with the run.
pub(crate) fn restrict(
    field: usize,
    (fine, coarse): (&Lattice, &Lattice),
    cells: Range<usize>,
    residuals: &[f32],
    out: &mut [f32],
) {
    let [cx, cy, _] = coarse.dims();
    let [_, sy, sz] = fine.strides();
    let (x, y, z) = (cells.start % cx, cells.start / cx % cy, cells.start / (cx * cy));
    let first = 2 * x - MARGIN;
    out.fill(0.0);
    for (fz, wz) in children(z, field == 2) {
        for (fy, wy) in children(y, field == 1) {
            let weight = wy * wz;
            if weight == 0.0 {
                continue;
            }
            let row = &residuals[fz * sz + fy * sy..][..sy];
            if field == 0 {
                let pairs = row[first - 1..].windows(3).step_by(2);
                for (out, r) in out.iter_mut().zip(pairs) {
                    *out += weight * (0.25 * (r[0] + r[2]) + 0.5 * r[1]);
                }
            } else {
                for (out, r) in out.iter_mut().zip(row[first..].chunks_exact(2)) {
                    *out += weight * 0.5 * (r[0] + r[1]);
                }
            }
        }
    }
}

/// Adds the correction of a run of fine cells of a field. `out` starts with the run; `row` has the length of a coarse row.
pub(crate) fn prolong_add(
    field: usize,
    (fine, coarse): (&Lattice, &Lattice),
    cells: Range<usize>,
    corrections: &[f32],
    row: &mut [f32],
    out: &mut [f32],
) {
    let [fx, fy, _] = fine.dims();
    let [_, sy, sz] = coarse.strides();
    let (x, y, z) = (cells.start % fx, cells.start / fx % fy, cells.start / (fx * fy));
    if field == PRESSURE {
        let source = &corrections[parent(z) * sz + parent(y) * sy..][..sy];
        out.iter_mut().zip(x..).for_each(|(out, x)| *out += source[parent(x)]);
        return;
    }
    let range = parent(x) - 1..parent(x + cells.len() - 1) + 2;
    row[range.clone()].fill(0.0);
    for (cz, wz) in sources(z, field == 2) {
        for (cy, wy) in sources(y, field == 1) {
            if wy * wz != 0.0 {
                let source = &corrections[cz * sz + cy * sy..][range.clone()];
                row[range.clone()].iter_mut().zip(source).for_each(|(row, value)| *row += wy * wz * value);
            }
        }
    }
    for (out, x) in out.iter_mut().zip(x..) {
        let [(a, wa), (b, wb)] = sources(x, field == 0);
        *out += wa * row[a] + wb * row[b];
    }
}

/// How traction variables follow from unknowns, for homogeneous conditions.
#[derive(Debug, Default)]
pub(crate) struct Extrapolation {
    fields: [RowList; 3],
}

impl Extrapolation {
    /// For all entries next to an unknown of their field that are neither unknown nor prescribed.
    pub(crate) fn new(operator: &LatticeOperator<'_>, classes: &Classes, stencils: &mut Stencils) -> Self {
        let mut extrapolation = Self::default();
        if operator.lattice.is_periodic() {
            return extrapolation;
        }
        for (field, list) in extrapolation.fields.iter_mut().enumerate() {
            for cell in outside(operator.lattice, classes, field) {
                let row = extrapolated(operator, field, cell);
                list.push(cell, stencils.insert(&row, &Row::default(), 1.0));
            }
        }
        extrapolation
    }

    /// Writes the values.
    pub(crate) fn set(&self, stencils: &Stencils, u: &mut [f32]) {
        let len = u.len() / 4;
        for (field, list) in self.fields.iter().enumerate() {
            for (cell, kind) in list.iter() {
                u[field * len + cell as usize] = apply(stencils.unknowns(kind), u, cell);
            }
        }
    }

    /// Clears them.
    pub(crate) fn clear(&self, u: &mut [f32]) {
        let len = u.len() / 4;
        for (field, list) in self.fields.iter().enumerate() {
            list.cells.iter().for_each(|cell| u[field * len + *cell as usize] = 0.0);
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.fields.iter().map(RowList::bytes).sum()
    }
}

/// Entries next to unknowns that are neither unknown nor prescribed.
fn outside(lattice: &Lattice, classes: &Classes, field: usize) -> BTreeSet<usize> {
    let near = |class| matches!(class, Class::Restricted | Class::Eliminated);
    let mut found = BTreeSet::new();
    for cell in classes.cells(field, near) {
        let around = around(lattice, cell);
        found.extend(
            around.filter(|c| matches!(lattice.variable(field, *c), Variable::Traction | Variable::Inactive)),
        );
    }
    found
}

/// The 26 neighbours of a cell.
fn around(lattice: &Lattice, cell: usize) -> impl Iterator<Item = usize> + use<> {
    let [sx, sy, sz] = lattice.strides().map(|s| s as i64);
    (0..27).filter(|n| *n != 13).map(move |n| {
        let step = (n % 3 - 1) * sx + (n / 3 % 3 - 1) * sy + (n / 9 - 1) * sz;
        (cell as i64 + step) as usize
    })
}

fn extrapolated(operator: &LatticeOperator<'_>, field: usize, cell: usize) -> Row {
    let by_condition =
        normal_condition(operator, field, cell).or_else(|| shear_condition(operator, field, cell));
    by_condition.unwrap_or_else(|| mean_of_neighbours(operator, field, cell))
}

/// `P_ii = 0` in the interior cell next to a face: `phi_out = phi_in +- h p / 2`.
fn normal_condition(operator: &LatticeOperator<'_>, i: usize, face: usize) -> Option<Row> {
    let lattice = operator.lattice;
    if lattice.variable(i, face) != Variable::Traction {
        return None;
    }
    let stride = lattice.strides()[i];
    let below = lattice.variable(PRESSURE, face - stride) == Variable::Interior;
    let (cell, inner, sign) =
        if below { (face - stride, face - stride, 1.0) } else { (face, face + stride, -1.0) };
    let mut row = Row::default();
    match lattice.variable(i, inner) {
        Variable::Interior => row.add(operator.offset(i, inner as i64 - face as i64), 1.0),
        Variable::Dirichlet => {}
        _ => return None,
    }
    let half = 0.5 * sign * operator.coefficients.spacing;
    row.add(operator.offset(PRESSURE, cell as i64 - face as i64), half);
    row.finish();
    Some(row)
}

/// `P_ij = 0` on the edges between a face and an unknown of its field: the mean over those unknowns.
fn shear_condition(operator: &LatticeOperator<'_>, i: usize, face: usize) -> Option<Row> {
    let lattice = operator.lattice;
    let mut row = Row::default();
    let mut found = 0.0;
    for j in (0..3).filter(|j| *j != i) {
        let stride = lattice.strides()[j];
        for (inner, edge, sign) in [(face - stride, face, -1.0), (face + stride, face + stride, 1.0)] {
            if lattice.variable(i, inner) != Variable::Interior {
                continue;
            }
            found += 1.0;
            row.add(operator.offset(i, inner as i64 - face as i64), 1.0);
            let sides = [(edge, sign), (edge - lattice.strides()[i], -sign)];
            let conditions = sides.map(|(side, sign)| (side, sign, normal_condition(operator, j, side)));
            if let [(a, sa, Some(ra)), (b, sb, Some(rb))] = &conditions {
                row.add_row(ra, *a as i64 - face as i64, *sa);
                row.add_row(rb, *b as i64 - face as i64, *sb);
            }
        }
    }
    row.entries.iter_mut().for_each(|e| e.1 /= found);
    row.finish();
    (found > 0.0).then_some(row)
}

/// The mean of the known values around a face.
fn mean_of_neighbours(operator: &LatticeOperator<'_>, i: usize, face: usize) -> Row {
    let lattice = operator.lattice;
    let known = |c: &usize| matches!(lattice.variable(i, *c), Variable::Interior | Variable::Dirichlet);
    let neighbours: Vec<usize> = around(lattice, face).filter(known).collect();
    let weight = 1.0 / neighbours.len().max(1) as f64;
    let mut row = Row::default();
    for neighbour in neighbours.iter().filter(|c| lattice.variable(i, **c) == Variable::Interior) {
        row.add(operator.offset(i, *neighbour as i64 - face as i64), weight);
    }
    row.finish();
    row
}
