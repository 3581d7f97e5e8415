//! The general box smoother (Zhu 2010, section 5.2): around every cell of the outermost layer, all equations of a box that is
//! two cells wide are solved at once. It converges for any boundary and costs far more than the smoother of section 5.3,
//! so it serves as a reference.

use std::collections::HashMap;

use crate::solvers::staggered::lattice::PRESSURE;
use crate::solvers::staggered::lattice::classes::{Class, Classes};
use crate::solvers::staggered::operator::rows::LatticeOperator;

/// A pivot below this fraction of the largest is zero.
const LOST: f64 = 1e-10;

/// Boxes of equal equations.
#[derive(Debug)]
struct BoxKind {
    /// Offsets of its unknowns from the first entry of the box's cell.
    unknowns: Vec<i64>,
    /// The rows of those unknowns, on all unknowns.
    rows: Vec<Vec<(i64, f64)>>,
    /// The inverse of their matrix, row by row.
    inverse: Vec<f64>,
}

/// Boxes around the cells of a boundary.
#[derive(Debug, Default)]
pub struct BoxSmoother {
    boxes: Vec<(u32, u32)>,
    kinds: Vec<BoxKind>,
    residuals: Vec<f64>,
}

impl BoxSmoother {
    /// The boxes of an operator.
    pub fn new(operator: &LatticeOperator<'_>) -> Self {
        let classes = Classes::new(operator, true);
        let mut smoother = Self::default();
        let mut known: HashMap<Vec<u64>, u32> = HashMap::new();
        let near = |class| matches!(class, Class::Restricted | Class::Eliminated);
        for cell in classes.cells(PRESSURE, near) {
            let unknowns = unknowns_of_box(operator, cell);
            let rows: Vec<Vec<(i64, f64)>> =
                unknowns.iter().map(|offset| row_of(operator, cell, *offset)).collect();
            let mut key: Vec<u64> = unknowns.iter().map(|offset| *offset as u64).collect();
            key.extend(rows.iter().flatten().flat_map(|(offset, value)| [*offset as u64, value.to_bits()]));
            let kind = *known.entry(key).or_insert_with(|| {
                let inverse = inverse_of(&unknowns, &rows);
                smoother.kinds.push(BoxKind { unknowns, rows, inverse });
                smoother.kinds.len() as u32 - 1
            });
            smoother.boxes.push((cell as u32, kind));
        }
        smoother
    }

    /// Solves the equations of every box, one after the other.
    pub fn sweep(&mut self, u: &mut [f32], b: &[f32]) {
        for &(cell, kind) in &self.boxes {
            let BoxKind { unknowns, rows, inverse } = &self.kinds[kind as usize];
            let at = |offset: i64| (i64::from(cell) + offset) as usize;
            self.residuals.clear();
            self.residuals.extend(unknowns.iter().zip(rows).map(|(own, row)| {
                let product: f64 = row.iter().map(|(offset, value)| value * f64::from(u[at(*offset)])).sum();
                f64::from(b[at(*own)]) - product
            }));
            for (own, row) in unknowns.iter().zip(inverse.chunks(unknowns.len())) {
                let change: f64 = row.iter().zip(&self.residuals).map(|(a, r)| a * r).sum();
                u[at(*own)] += change as f32;
            }
        }
    }

    /// Boxes, and kinds of them.
    pub fn counts(&self) -> (usize, usize) {
        (self.boxes.len(), self.kinds.len())
    }
}

/// The unknowns at most one cell from a cell's centre along every axis.
fn unknowns_of_box(operator: &LatticeOperator<'_>, cell: usize) -> Vec<i64> {
    let lattice = operator.lattice;
    let strides = lattice.strides().map(|s| s as i64);
    let mut found = Vec::new();
    for field in 0..4 {
        for n in 0..27 {
            let steps = [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1];
            // Faces along their own axis are half a cell before their cells' centres.
            if field < 3 && steps[field] < 0 {
                continue;
            }
            let step: i64 = (0..3).map(|a| steps[a] * strides[a]).sum();
            if lattice.is_unknown(field, (cell as i64 + step) as usize) {
                found.push(operator.offset(field, step));
            }
        }
    }
    found
}

fn row_of(operator: &LatticeOperator<'_>, cell: usize, offset: i64) -> Vec<(i64, f64)> {
    let (field, at) = operator.place(cell, offset);
    let shift = at as i64 - cell as i64;
    operator.row(field, at).entries.iter().map(|&(o, v)| (o + shift, v)).collect()
}

/// The inverse of a box's matrix by Gauss-Jordan elimination with column pivoting; zero pivots leave zeros.
fn inverse_of(unknowns: &[i64], rows: &[Vec<(i64, f64)>]) -> Vec<f64> {
    let n = unknowns.len();
    let mut matrix = vec![0.0; n * 2 * n];
    for (i, row) in rows.iter().enumerate() {
        for (offset, value) in row {
            if let Some(j) = unknowns.iter().position(|u| u == offset) {
                matrix[i * 2 * n + j] = *value;
            }
        }
        matrix[i * 2 * n + n + i] = 1.0;
    }
    let largest = matrix.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let mut solved = vec![usize::MAX; n];
    let mut next = 0;
    for (column, solved) in solved.iter_mut().enumerate() {
        let at = |row: usize| row * 2 * n + column;
        let best = (next..n).max_by(|a, b| matrix[at(*a)].abs().total_cmp(&matrix[at(*b)].abs()));
        let Some(best) = best.filter(|row| matrix[at(*row)].abs() > LOST * largest) else { continue };
        (0..2 * n).for_each(|k| matrix.swap(best * 2 * n + k, next * 2 * n + k));
        let scale = 1.0 / matrix[at(next)];
        (0..2 * n).for_each(|k| matrix[next * 2 * n + k] *= scale);
        for row in (0..n).filter(|row| *row != next) {
            let factor = matrix[at(row)];
            if factor != 0.0 {
                (0..2 * n).for_each(|k| matrix[row * 2 * n + k] -= factor * matrix[next * 2 * n + k]);
            }
        }
        *solved = next;
        next += 1;
    }
    let mut inverse = vec![0.0; n * n];
    for (unknown, row) in solved.into_iter().enumerate().filter(|(_, row)| *row != usize::MAX) {
        inverse[unknown * n..(unknown + 1) * n].copy_from_slice(&matrix[row * 2 * n + n..(row + 1) * 2 * n]);
    }
    inverse
}
