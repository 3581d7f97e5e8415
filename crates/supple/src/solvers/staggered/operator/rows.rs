//! Rows of the discrete operator (Zhu 2010, sections 4.1 and 5.3), built from stresses:
//!
//! ```text
//! P_ii = 2 D_i phi_i - p,   P_ij = D_j phi_i + D_i phi_j          D: central differences over the spacing
//! phi_i:  sum_j D_j P_ij - inertia mass phi_i = f_i
//! p:      sum_i D_i phi_i + compressibility p = g
//! ```
//!
//! A stress that touches a traction variable is known and drops out of the equations of the unknowns: its weight here is zero.
//! Where `P_ii` is known, `D_i phi_i` becomes `p / 2` in the pressure's equation. So the matrix is symmetric, its upper
//! left part negative definite, its lower right part diagonal and positive.
//!
//! Inertia is lumped ([`LatticeOperator::mass`]): the sum of a component's masses is the mass of the body, also where the displacements on its
//! outermost faces have no equation.
//!
//! Lengths are in cells of the finest lattice and stresses in shear moduli, so that the shear modulus and the finest
//! spacing are 1. Beyond the paper, a stress of a coarse cell is weighted by the fill fraction of the cell.

use crate::solvers::staggered::lattice::{Cell, Lattice, PRESSURE, Variable};

/// The parameters of the equations from the material and the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficients {
    /// Spacing of the lattice in finest cells.
    pub spacing: f64,
    /// The shear modulus over Lamé's first parameter, `mu / lambda = (1 - 2 nu) / (2 nu)`.
    pub compressibility: f64,
    /// `h^2 / mu` times the density over the square of the step; zero for statics.
    pub inertia: f64,
}

impl Coefficients {
    /// Statics of a material with a Poisson's ratio, on the finest lattice.
    pub fn of_poisson_ratio(ratio: f64) -> Self {
        Self { spacing: 1.0, compressibility: (1.0 - 2.0 * ratio) / (2.0 * ratio), inertia: 0.0 }
    }

    /// The same on the next coarser lattice.
    pub fn coarser(self) -> Self {
        Self { spacing: 2.0 * self.spacing, ..self }
    }
}

/// A linear combination of entries of the four fields, by their offset from a cell's first entry.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// Offsets and coefficients, sorted, without duplicates once [`Row::finish`] was called.
    pub entries: Vec<(i64, f64)>,
}

impl Row {
    pub(crate) fn add(&mut self, offset: i64, value: f64) {
        self.entries.push((offset, value));
    }

    /// Adds a multiple of another row whose cell is `shift` away.
    pub(crate) fn add_row(&mut self, row: &Row, shift: i64, scale: f64) {
        self.entries.extend(row.entries.iter().map(|&(o, v)| (o + shift, scale * v)));
    }

    /// Sorts, merges duplicates and drops zeros.
    pub fn finish(&mut self) {
        self.entries.sort_by_key(|e| e.0);
        self.entries.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        self.entries.retain(|e| e.1 != 0.0);
    }

    /// The coefficient at an offset.
    pub fn at(&self, offset: i64) -> f64 {
        self.entries.iter().filter(|e| e.0 == offset).map(|e| e.1).sum()
    }
}

/// The operator of one lattice.
#[derive(Debug, Clone, Copy)]
pub struct LatticeOperator<'a> {
    /// The cells.
    pub lattice: &'a Lattice,
    /// The fill fraction of each cell, `None` if all are full.
    pub fill: Option<&'a [f32]>,
    /// Material and step.
    pub coefficients: Coefficients,
}

impl LatticeOperator<'_> {
    fn filled(&self, cell: usize) -> f64 {
        self.fill.map_or(1.0, |fill| f64::from(fill[cell]))
    }

    /// The weight of `P_ii` in an interior cell: zero where a traction condition prescribes it.
    pub fn normal_weight(&self, axis: usize, cell: usize) -> f64 {
        let (cells, step) = (self.lattice.cells(), self.lattice.strides()[axis]);
        let known = cells[cell - step] == Cell::Exterior || cells[cell + step] == Cell::Exterior;
        if known { 0.0 } else { self.filled(cell) }
    }

    /// The weight of `P_ij` on the edge at the lower faces `i` and `j` of a cell.
    pub fn shear_weight(&self, i: usize, j: usize, cell: usize) -> f64 {
        let strides = self.lattice.strides();
        let around = [cell, cell - strides[i], cell - strides[j], cell - strides[i] - strides[j]];
        if around.iter().any(|c| self.lattice.cells()[*c] == Cell::Exterior) {
            return 0.0;
        }
        if self.fill.is_none() { 1.0 } else { around.iter().map(|c| self.filled(*c)).sum::<f64>() / 4.0 }
    }

    /// The mass at the displacement of an unknown, over that of a full cell. Each cell gives half of its mass to either face normal to an axis.
    /// A face with a traction condition has no equation: the opposite one takes both halves. Where both have, as on a ridge of one cell,
    /// the cells beside it take its mass. So the mass of a body is exact along each axis, unless a part has no displacement along it at all.
    pub fn mass(&self, axis: usize, cell: usize) -> f64 {
        self.mass_per_face(axis, cell) + self.mass_per_face(axis, cell - self.lattice.strides()[axis])
    }

    /// What an interior cell gives to each of its faces normal to an axis that have an equation or are prescribed.
    fn mass_per_face(&self, axis: usize, cell: usize) -> f64 {
        let is_ridge = |beside: &usize| self.faces(axis, *beside) == 0;
        let given = |ridge: usize| {
            let takers = self.beside(axis, ridge).filter(|beside| !is_ridge(beside)).count();
            self.filled(ridge) / takers as f64
        };
        let of_ridges: f64 = self.beside(axis, cell).filter(is_ridge).map(given).sum();
        (self.filled(cell) + of_ridges) / self.faces(axis, cell) as f64
    }

    /// How many faces of an interior cell normal to an axis have no traction condition.
    fn faces(&self, axis: usize, cell: usize) -> usize {
        let (cells, step) = (self.lattice.cells(), self.lattice.strides()[axis]);
        [cell - step, cell + step].iter().filter(|next| cells[**next] != Cell::Exterior).count()
    }

    /// The interior cells beside a cell, across an axis.
    fn beside(&self, axis: usize, cell: usize) -> impl Iterator<Item = usize> + '_ {
        let (cells, strides) = (self.lattice.cells(), self.lattice.strides());
        let all =
            (0..3).filter(move |j| *j != axis).flat_map(move |j| [cell - strides[j], cell + strides[j]]);
        all.filter(move |beside| cells[*beside] == Cell::Interior)
    }

    /// Whether the row of an unknown is that of an unbounded body, with prescribed values counted as zeros.
    pub fn is_uniform(&self, field: usize, cell: usize) -> bool {
        let strides = self.lattice.strides();
        if field == PRESSURE {
            return (0..3).all(|i| self.normal_weight(i, cell) == 1.0);
        }
        let normal = [cell, cell - strides[field]].iter().all(|c| self.normal_weight(field, *c) == 1.0);
        let shear =
            |j: usize| [cell, cell + strides[j]].iter().all(|c| self.shear_weight(field, j, *c) == 1.0);
        normal && (0..3).filter(|j| *j != field).all(shear)
    }

    /// The row of an unknown, with prescribed values in it.
    pub fn full_row(&self, field: usize, cell: usize) -> Row {
        let mut row = Row::default();
        if field == PRESSURE {
            self.add_pressure_row(cell, &mut row)
        } else {
            self.add_row(field, cell, &mut row)
        }
        row.finish();
        row
    }

    /// The row of an unknown on unknowns alone.
    pub fn row(&self, field: usize, cell: usize) -> Row {
        let mut row = self.full_row(field, cell);
        row.entries.retain(|&(offset, _)| {
            let (field, cell) = self.place(cell, offset);
            self.lattice.variable(field, cell) == Variable::Interior
        });
        row
    }

    /// The field and cell of an entry at an offset from a cell's first entry.
    pub fn place(&self, cell: usize, offset: i64) -> (usize, usize) {
        let len = self.lattice.len();
        let at = (cell as i64 + offset) as usize;
        (at / len, at % len)
    }

    /// The offset of entry `cell + step` of a field.
    pub fn offset(&self, field: usize, step: i64) -> i64 {
        (field * self.lattice.len()) as i64 + step
    }

    fn add_row(&self, i: usize, cell: usize, row: &mut Row) {
        let strides = self.lattice.strides().map(|s| s as i64);
        let shifted = |step: i64| (cell as i64 + step) as usize;
        let h = self.coefficients.spacing;
        for (step, sign) in [(0, 1.0), (-strides[i], -1.0)] {
            let weight = sign * self.normal_weight(i, shifted(step)) / h;
            row.add(self.offset(i, step + strides[i]), 2.0 * weight / h);
            row.add(self.offset(i, step), -2.0 * weight / h);
            row.add(self.offset(PRESSURE, step), -weight);
        }
        for j in (0..3).filter(|j| *j != i) {
            for (step, sign) in [(strides[j], 1.0), (0, -1.0)] {
                let weight = sign * self.shear_weight(i, j, shifted(step)) / (h * h);
                row.add(self.offset(i, step), weight);
                row.add(self.offset(i, step - strides[j]), -weight);
                row.add(self.offset(j, step), weight);
                row.add(self.offset(j, step - strides[i]), -weight);
            }
        }
        row.add(self.offset(i, 0), -self.coefficients.inertia * self.mass(i, cell));
    }

    fn add_pressure_row(&self, cell: usize, row: &mut Row) {
        let strides = self.lattice.strides().map(|s| s as i64);
        let mut diagonal = self.coefficients.compressibility;
        for (i, &stride) in strides.iter().enumerate() {
            let weight = self.normal_weight(i, cell) / self.coefficients.spacing;
            if weight == 0.0 {
                diagonal += 0.5;
            }
            row.add(self.offset(i, stride), weight);
            row.add(self.offset(i, 0), -weight);
        }
        row.add(self.offset(PRESSURE, 0), self.filled(cell) * diagonal);
    }
}
