//! Where a lattice and its coarser one do not agree on the boundary (Zhu 2010, section 6 and figure 8).

use supple_core::parallel::prelude::*;

use crate::solvers::staggered::lattice::classes::{Class, Classes};
use crate::solvers::staggered::lattice::{Lattice, MARGIN, PRESSURE, Variable};
use crate::solvers::staggered::multigrid::boundary_smoother::Band;
use crate::solvers::staggered::multigrid::transfer;
use crate::solvers::staggered::operator::rows::LatticeOperator;
use crate::solvers::staggered::operator::stencils::Stencils;

/// The equations that the coarser lattice represents badly (figure 8): before restriction those whose residual goes to a
/// prescribed coarse variable, after prolongation those that depend on any coarse variable that is not an unknown; with
/// the pressures of the adjacent cells.
pub(crate) fn discrepancy(
    operator: &LatticeOperator<'_>,
    classes: &Classes,
    coarser: &Lattice,
    before: bool,
    stencils: &mut Stencils,
) -> Band {
    let lattice = operator.lattice;
    if lattice.is_periodic() {
        return Band::default();
    }
    let (len, strides) = (lattice.len(), lattice.strides());
    let mut faces: [Vec<usize>; 4] = Default::default();
    for (field, faces) in faces.iter_mut().take(3).enumerate() {
        let bad = |cell: &usize| {
            classes.at(field, *cell) != Class::None && is_discrepant(lattice, coarser, field, *cell, before)
        };
        *faces = (0..len).into_par_iter().with_min_len(4096).filter(bad).collect();
    }
    let mut cells: Vec<usize> =
        (0..3).flat_map(|field| faces[field].iter().flat_map(move |c| [*c, c - strides[field]])).collect();
    cells.sort_unstable();
    cells.dedup();
    faces[PRESSURE] = cells;
    Band::new(operator, classes, stencils, |field| faces[field].clone())
}

fn is_discrepant(fine: &Lattice, coarser: &Lattice, field: usize, cell: usize, before: bool) -> bool {
    let at = fine.coordinates(cell).map(|x| (x + MARGIN as i32) as usize);
    let strides = coarser.strides();
    let sources: [[(usize, f32); 2]; 3] = std::array::from_fn(|axis| {
        let sources = transfer::sources(at[axis], axis == field);
        if before && axis != field { [(sources[0].0, 1.0), (sources[0].0, 0.0)] } else { sources }
    });
    (0..8).any(|corner| {
        let chosen: [(usize, f32); 3] = std::array::from_fn(|axis| sources[axis][corner >> axis & 1]);
        let coarse = (0..3).map(|axis| chosen[axis].0 * strides[axis]).sum();
        let bad = match coarser.variable(field, coarse) {
            Variable::Dirichlet => true,
            Variable::Interior => false,
            _ => !before,
        };
        bad && chosen.iter().all(|source| source.1 > 0.0)
    })
}
