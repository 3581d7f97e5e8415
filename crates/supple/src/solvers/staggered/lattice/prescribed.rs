//! Prescribed displacements (Zhu 2010, sections 5.1 and 8): faces of fixed cells move as prescribed, and their terms of
//! the equations go to the right-hand side.

use std::collections::BTreeMap;

use crate::solvers::staggered::lattice::{Cell, Lattice, Variable};
use crate::solvers::staggered::operator::rows::LatticeOperator;

/// An entry of a displacement whose value is prescribed, with its pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrescribedEntry {
    /// The displacement.
    pub field: usize,
    /// The entry of its field.
    pub entry: usize,
    /// The index of the pin that fixes its cell.
    pub pin: u32,
}

/// All prescribed entries, and the coefficients of those that equations use.
#[derive(Debug, Clone, Default)]
pub struct Prescribed {
    /// The entries.
    pub entries: Vec<PrescribedEntry>,
    /// Row, prescribed entry, coefficient; both as entries of the four fields.
    couplings: Vec<(u32, u32, f64)>,
}

impl Prescribed {
    /// The faces of fixed cells; `pin` is the pin of a cell. A face between two belongs to the smaller index.
    pub fn new(operator: &LatticeOperator<'_>, pin: impl Fn(usize) -> u32) -> Self {
        let lattice = operator.lattice;
        let mut pins: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        let held = |cell: &usize| lattice.cells()[*cell] == Cell::Dirichlet && touches_core(lattice, *cell);
        for cell in (0..lattice.len()).filter(held) {
            let of_cell = pin(cell);
            for (field, stride) in lattice.strides().into_iter().enumerate() {
                for entry in [cell, cell + stride] {
                    let known = pins.entry((field, entry)).or_insert(of_cell);
                    *known = of_cell.min(*known);
                }
            }
        }
        let held = pins.iter().map(|(&(field, entry), &pin)| PrescribedEntry { field, entry, pin }).collect();
        Self { entries: held, couplings: couplings(operator, &pins) }
    }

    /// Subtracts the prescribed values of `fields` times their coefficients from a right-hand side.
    pub fn subtract(&self, fields: &[f64], right: &mut [f64]) {
        for &(row, entry, coefficient) in &self.couplings {
            right[row as usize] -= coefficient * fields[entry as usize];
        }
    }
}

/// Equations extend no farther than one cell into the margin.
fn touches_core(lattice: &Lattice, cell: usize) -> bool {
    let (at, size) = (lattice.coordinates(cell), lattice.size());
    (0..3).all(|a| at[a] >= -1 && at[a] <= size[a] as i32)
}

/// Every row that uses a prescribed entry is next to it.
fn couplings(operator: &LatticeOperator<'_>, held: &BTreeMap<(usize, usize), u32>) -> Vec<(u32, u32, f64)> {
    let lattice = operator.lattice;
    let mut rows: Vec<(usize, usize)> = Vec::new();
    for &(_, entry) in held.keys() {
        for near in neighbourhood(lattice, entry) {
            rows.extend((0..4).filter(|f| lattice.is_unknown(*f, near)).map(|f| (f, near)));
        }
    }
    rows.sort_unstable();
    rows.dedup();
    let mut couplings = Vec::new();
    for (field, cell) in rows {
        let row = (field * lattice.len() + cell) as u32;
        for &(offset, value) in &operator.full_row(field, cell).entries {
            let (of, at) = operator.place(cell, offset);
            if of < 3 && lattice.variable(of, at) == Variable::Dirichlet {
                couplings.push((row, (of * lattice.len() + at) as u32, value));
            }
        }
    }
    couplings
}

/// A cell of the core and its 26 neighbours, as far as they are in the core.
fn neighbourhood(lattice: &Lattice, cell: usize) -> impl Iterator<Item = usize> + '_ {
    let (at, size) = (lattice.coordinates(cell), lattice.size());
    (0..27).filter_map(move |n| {
        let near = [at[0] + n % 3 - 1, at[1] + n / 3 % 3 - 1, at[2] + n / 9 - 1];
        let exists = (0..3).all(|a| near[a] >= 0 && near[a] < size[a] as i32);
        exists.then(|| lattice.index(near))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solvers::staggered::tests::{coefficients, product, random_fields, random_lattice, unknowns};

    #[test]
    fn prescribed_values_leave_the_equations_for_the_right_hand_side() {
        let lattice = random_lattice(6, 8);
        let operator =
            LatticeOperator { lattice: &lattice, fill: None, coefficients: coefficients(0.4, 1.0, 0.1) };
        let prescribed = Prescribed::new(&operator, |_| 0);
        let free = random_fields(&lattice, 3);
        let mut all = free.clone();
        for (n, held) in prescribed.entries.iter().enumerate() {
            let at = held.field * lattice.len() + held.entry;
            assert_eq!(std::mem::replace(&mut all[at], 1.0 + n as f64), 0.0);
        }
        let mut right = vec![0.0; all.len()];
        prescribed.subtract(&all, &mut right);
        for (field, cell) in unknowns(&lattice) {
            let expected = product(&operator.full_row(field, cell), cell, &all);
            let found =
                product(&operator.row(field, cell), cell, &free) - right[field * lattice.len() + cell];
            assert!((found - expected).abs() < 1e-9, "{field} {cell}: {found} {expected}");
        }
    }
}
