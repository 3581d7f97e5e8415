//! The direct solver of the coarsest lattice: pressures eliminated, then a Cholesky factorisation with a skyline.
//!
//! Coarse cells of thin features may be unsupported (a rod of one cell carries no shear), so the matrix may be singular.
//! A pivot that is lost to rounding fixes its unknown at zero: the determined part is still solved exactly.

use crate::solvers::staggered::lattice::{Lattice, PRESSURE};
use crate::solvers::staggered::operator::rows::LatticeOperator;
use supple_linear::vectors::serial_dot;

/// A pivot below this fraction of its diagonal entry is zero.
const LOST: f64 = 1e-10;

/// The factors of the coarsest operator.
#[derive(Debug, Default)]
pub(crate) struct Coarsest {
    /// Entry of the fields for each unknown displacement, in elimination order.
    displacements: Vec<u32>,
    /// Cells with a pressure, with the inverse of its diagonal.
    pressures: Vec<(u32, f64)>,
    /// For each pressure its entries `(unknown, coefficient)`.
    gradients: Vec<Vec<(u32, f64)>>,
    /// First column of each row of the factor, and where its entries start.
    first: Vec<usize>,
    start: Vec<usize>,
    factor: Vec<f64>,
    solution: Vec<f64>,
}

impl Coarsest {
    /// Eliminates the pressures and factorises.
    pub(crate) fn new(operator: &LatticeOperator<'_>) -> Self {
        let lattice = operator.lattice;
        let order = order(lattice);
        let mut index = vec![u32::MAX; 3 * lattice.len()];
        order.iter().enumerate().for_each(|(n, entry)| index[*entry as usize] = n as u32);
        let mut coarsest = Self { displacements: order, ..Self::default() };
        coarsest.collect_pressures(operator, &index);
        let rows = coarsest.assemble(operator, &index);
        coarsest.factorise(&rows);
        coarsest.solution = vec![0.0; coarsest.displacements.len()];
        coarsest
    }

    fn collect_pressures(&mut self, operator: &LatticeOperator<'_>, index: &[u32]) {
        let lattice = operator.lattice;
        let own = operator.offset(PRESSURE, 0);
        for cell in unknowns(lattice, PRESSURE) {
            let row = operator.row(PRESSURE, cell);
            let mut gradient: Vec<(u32, f64)> = Vec::new();
            for &(offset, value) in row.entries.iter().filter(|e| e.0 != own) {
                let (field, at) = operator.place(cell, offset);
                gradient.push((index[field * lattice.len() + lattice.twin(at)], value));
            }
            self.pressures.push((cell as u32, 1.0 / row.at(own)));
            self.gradients.push(gradient);
        }
    }

    /// Rows of `-L_phi + G D^-1 G^T` up to the diagonal.
    fn assemble(&self, operator: &LatticeOperator<'_>, index: &[u32]) -> Vec<Vec<(u32, f64)>> {
        let lattice = operator.lattice;
        let len = lattice.len();
        let mut rows = vec![Vec::new(); self.displacements.len()];
        for (n, &entry) in self.displacements.iter().enumerate() {
            let (field, cell) = (entry as usize / len, entry as usize % len);
            for &(offset, value) in &operator.row(field, cell).entries {
                let (of, at) = operator.place(cell, offset);
                if of != PRESSURE {
                    let m = index[of * len + lattice.twin(at)];
                    if m <= n as u32 {
                        rows[n].push((m, -value));
                    }
                }
            }
        }
        for (gradient, (_, inverse)) in self.gradients.iter().zip(&self.pressures) {
            for &(n, a) in gradient {
                rows[n as usize]
                    .extend(gradient.iter().filter(|e| e.0 <= n).map(|&(m, b)| (m, a * b * inverse)));
            }
        }
        rows
    }

    fn factorise(&mut self, rows: &[Vec<(u32, f64)>]) {
        for (n, row) in rows.iter().enumerate() {
            let first = row.iter().map(|e| e.0 as usize).min().unwrap_or(n);
            self.first.push(first);
            self.start.push(self.factor.len());
            self.factor.resize(self.factor.len() + n - first + 1, 0.0);
            for &(m, value) in row {
                self.factor[self.start[n] + m as usize - first] += value;
            }
            self.factor_row(n);
        }
    }

    /// The row of the factor; its last entry is the inverse of the diagonal, zero for a zero pivot.
    fn factor_row(&mut self, n: usize) {
        let (done, row) = self.factor.split_at_mut(self.start[n]);
        let first = self.first[n];
        let diagonal = row[n - first];
        for m in first..n {
            let common = first.max(self.first[m]);
            let other = &done[self.start[m]..];
            let known = serial_dot(
                &row[common - first..m - first],
                &other[common - self.first[m]..m - self.first[m]],
            );
            row[m - first] = (row[m - first] - known) * other[m - self.first[m]];
        }
        let rest = diagonal - serial_dot(&row[..n - first], &row[..n - first]);
        row[n - first] = if rest > LOST * diagonal { 1.0 / rest.sqrt() } else { 0.0 };
    }

    /// Solves for all unknowns of the fields.
    pub(crate) fn solve(&mut self, u: &mut [f32], b: &[f32]) {
        let pressure = PRESSURE * u.len() / 4;
        for (x, entry) in self.solution.iter_mut().zip(&self.displacements) {
            *x = -f64::from(b[*entry as usize]);
        }
        for ((cell, inverse), gradient) in self.pressures.iter().zip(&self.gradients) {
            let value = inverse * f64::from(b[pressure + *cell as usize]);
            gradient.iter().for_each(|(n, g)| self.solution[*n as usize] += g * value);
        }
        self.substitute();
        for (x, entry) in self.solution.iter().zip(&self.displacements) {
            u[*entry as usize] = *x as f32;
        }
        for ((cell, inverse), gradient) in self.pressures.iter().zip(&self.gradients) {
            let divergence: f64 = gradient.iter().map(|(n, g)| g * self.solution[*n as usize]).sum();
            let at = pressure + *cell as usize;
            u[at] = (inverse * (f64::from(b[at]) - divergence)) as f32;
        }
    }

    fn substitute(&mut self) {
        let x = &mut self.solution;
        for n in 0..x.len() {
            let (first, row) = (self.first[n], &self.factor[self.start[n]..]);
            x[n] = (x[n] - serial_dot(&row[..n - first], &x[first..n])) * row[n - first];
        }
        for n in (0..x.len()).rev() {
            let (first, row) = (self.first[n], &self.factor[self.start[n]..]);
            x[n] *= row[n - first];
            let value = x[n];
            for (x, l) in x[first..n].iter_mut().zip(row) {
                *x -= l * value;
            }
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        8 * self.factor.len()
    }
}

/// The entries of the unknown displacements, layer by layer along the longest axis.
fn order(lattice: &Lattice) -> Vec<u32> {
    let longest = (0..3).max_by_key(|a| lattice.size()[*a]).unwrap_or(2);
    let mut entries: Vec<u32> = (0..3)
        .flat_map(|field| unknowns(lattice, field).map(move |cell| (field * lattice.len() + cell) as u32))
        .collect();
    entries.sort_by_key(|entry| {
        let (field, cell) = (*entry as usize / lattice.len(), *entry as usize % lattice.len());
        (lattice.coordinates(cell)[longest], cell, field)
    });
    entries
}

/// Cells of the core whose entry of a field is an unknown.
fn unknowns(lattice: &Lattice, field: usize) -> impl Iterator<Item = usize> + '_ {
    let size = lattice.size();
    (0..lattice.len()).filter(move |cell| {
        let at = lattice.coordinates(*cell);
        (0..3).all(|a| at[a] >= 0 && at[a] < size[a] as i32) && lattice.is_unknown(field, *cell)
    })
}
