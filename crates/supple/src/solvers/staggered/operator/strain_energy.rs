//! The energy of a deformation on the lattice, for reports: `mu F_ii^2` and `lambda/2 (div)^2` in cells, `mu/2 (2 eps_ij)^2`
//! on edges, for displacements.

use supple_core::parallel::prelude::*;

use crate::solvers::staggered::lattice::{Cell, Lattice, PRESSURE, Variable};
use crate::solvers::staggered::operator::rows::LatticeOperator;

/// Energy in units of the shear modulus times a cell's side, for displacements in metres.
pub(crate) fn strain_energy(operator: &LatticeOperator<'_>, fields: &[f64]) -> f64 {
    let lattice = operator.lattice;
    let plane = lattice.plane();
    let of_plane = |z: usize| -> f64 {
        (z * plane..(z + 1) * plane)
            .map(|cell| of_cell(operator, cell, fields) + of_edges(operator, cell, fields))
            .sum()
    };
    let planes: Vec<f64> = (1..lattice.dims()[2] - 1).into_par_iter().map(of_plane).collect();
    planes.iter().sum()
}

/// The stretch of a cell along an axis; half the pressure where a traction condition applies.
fn stretch(operator: &LatticeOperator<'_>, axis: usize, cell: usize, fields: &[f64]) -> f64 {
    let (len, stride) = (operator.lattice.len(), operator.lattice.strides()[axis]);
    if operator.normal_weight(axis, cell) == 0.0 {
        return 0.5 * fields[PRESSURE * len + cell];
    }
    fields[axis * len + cell + stride] - fields[axis * len + cell]
}

fn of_cell(operator: &LatticeOperator<'_>, cell: usize, fields: &[f64]) -> f64 {
    if operator.lattice.cells()[cell] != Cell::Interior {
        return 0.0;
    }
    let stretches = [0, 1, 2].map(|axis| stretch(operator, axis, cell, fields));
    let divergence: f64 = stretches.iter().sum();
    let squares: f64 = stretches.iter().map(|s| s * s).sum();
    squares + 0.5 * divergence * divergence / operator.coefficients.compressibility
}

fn of_edges(operator: &LatticeOperator<'_>, cell: usize, fields: &[f64]) -> f64 {
    let lattice = operator.lattice;
    let [_, ny, _] = lattice.dims();
    let (len, strides) = (lattice.len(), lattice.strides());
    if cell.is_multiple_of(strides[1]) || (cell / strides[1]).is_multiple_of(ny) {
        return 0.0;
    }
    let pairs = [(0, 1), (1, 2), (2, 0)];
    let energy = |(i, j): (usize, usize)| {
        if operator.shear_weight(i, j, cell) == 0.0 || !is_in_body(lattice, i, j, cell) {
            return 0.0;
        }
        let shear = fields[i * len + cell] - fields[i * len + cell - strides[j]] + fields[j * len + cell]
            - fields[j * len + cell - strides[i]];
        0.5 * shear * shear
    };
    pairs.into_iter().map(energy).sum()
}

/// Whether an unknown touches an edge.
fn is_in_body(lattice: &Lattice, i: usize, j: usize, cell: usize) -> bool {
    let strides = lattice.strides();
    let around = [(i, cell), (i, cell - strides[j]), (j, cell), (j, cell - strides[i])];
    around.iter().any(|(field, cell)| lattice.variable(*field, *cell) == Variable::Interior)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solvers::staggered::tests::{coefficients, product, random_fields, random_lattice, unknowns};

    /// Half the work of the forces that balance a displacement, once the pressures are those of the displacement.
    #[test]
    fn the_energy_is_the_work_of_the_forces() {
        let lattice = random_lattice(6, 4);
        let operator =
            LatticeOperator { lattice: &lattice, fill: None, coefficients: coefficients(0.4, 1.0, 0.0) };
        let mut fields = random_fields(&lattice, 3);
        for (_, cell) in unknowns(&lattice).into_iter().filter(|u| u.0 == PRESSURE) {
            let row = operator.row(PRESSURE, cell);
            let at = PRESSURE * lattice.len() + cell;
            fields[at] = 0.0;
            fields[at] = -product(&row, cell, &fields) / row.at(operator.offset(PRESSURE, 0));
        }
        let work = |(field, cell): &(usize, usize)| {
            -0.5 * fields[field * lattice.len() + cell]
                * product(&operator.row(*field, *cell), *cell, &fields)
        };
        let expected: f64 = unknowns(&lattice).iter().filter(|u| u.0 != PRESSURE).map(work).sum();
        let found = strain_energy(&operator, &fields);
        assert!(expected > 0.0 && (found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
    }
}
