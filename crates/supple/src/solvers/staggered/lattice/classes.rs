//! Which equation is smoothed how (Zhu 2010, sections 5.2 and 5.3).
//!
//! The paper smooths everything near the boundary by Gauss-Seidel with eliminated pressures. That fails for nearly
//! incompressible materials where the boundary is prescribed, because the eliminated pressure is divided by the
//! compressibility there; next to a traction boundary the divisor is at least one half. So equations whose neighbourhood
//! has prescribed values but no traction are smoothed by distribution, restricted to unknowns (the last sentence of
//! section 5.3).

use supple_core::parallel::prelude::*;

use crate::solvers::staggered::lattice::spans::Spans;
use crate::solvers::staggered::lattice::{Lattice, MARGIN};
use crate::solvers::staggered::operator::rows::LatticeOperator;

/// How an equation is smoothed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub(crate) enum Class {
    /// Not an equation.
    #[default]
    None,
    /// By the uniform distribution: all its neighbours are unknowns.
    Distributive,
    /// By the distribution restricted to unknowns: some neighbours are prescribed.
    Restricted,
    /// By Gauss-Seidel with eliminated pressures: its row lacks a stress, or is weighted.
    Eliminated,
}

/// The class of every entry of the four fields.
#[derive(Debug)]
pub(crate) struct Classes {
    of: Vec<Class>,
    len: usize,
}

impl Classes {
    /// By the rows of the operator; all eliminated for the form of section 3 without pressures.
    pub(crate) fn new(operator: &LatticeOperator<'_>, augmented: bool) -> Self {
        let lattice = operator.lattice;
        let (len, plane) = (lattice.len(), lattice.plane());
        let mut of = vec![Class::None; 4 * len];
        of.par_chunks_mut(plane).enumerate().for_each(|(chunk, classes)| {
            let (field, first) = (chunk * plane / len, chunk * plane % len);
            for (cell, class) in (first..).zip(classes) {
                if in_core(lattice, cell) && lattice.is_unknown(field, cell) {
                    *class = if augmented { class_of(operator, field, cell) } else { Class::Eliminated };
                }
            }
        });
        Self { of, len }
    }

    #[inline]
    pub(crate) fn at(&self, field: usize, cell: usize) -> Class {
        self.of[field * self.len + cell]
    }

    /// The cells of a field, in order, whose class is chosen.
    pub(crate) fn cells(&self, field: usize, chosen: impl Fn(Class) -> bool) -> impl Iterator<Item = usize> {
        let of = &self.of[field * self.len..(field + 1) * self.len];
        of.iter().enumerate().filter(move |(_, class)| chosen(**class)).map(|(cell, _)| cell)
    }

    /// The runs of the same.
    pub(crate) fn spans(
        &self,
        lattice: &Lattice,
        field: usize,
        chosen: impl Fn(Class) -> bool + Sync,
    ) -> Spans {
        let [width, _, planes] = lattice.dims();
        Spans::new(planes, lattice.plane(), width, |cell| chosen(self.at(field, cell)))
    }
}

fn in_core(lattice: &Lattice, cell: usize) -> bool {
    let (at, size) = (lattice.coordinates(cell), lattice.size());
    (0..3).all(|a| at[a] >= 0 && at[a] < size[a] as i32)
}

fn class_of(operator: &LatticeOperator<'_>, field: usize, cell: usize) -> Class {
    if !operator.is_uniform(field, cell) {
        return Class::Eliminated;
    }
    let lattice = operator.lattice;
    let free = |c: usize| lattice.is_unknown(field, c);
    let inside = lattice.strides().iter().all(|s| free(cell - s) && free(cell + s));
    if inside { Class::Distributive } else { Class::Restricted }
}

/// The runs of a periodic lattice's cells with one layer of its margin.
pub(crate) fn spans_with_ring(lattice: &Lattice) -> Spans {
    let [width, _, planes] = lattice.dims();
    let size = lattice.size();
    const { assert!(MARGIN > 1) }
    Spans::new(planes, lattice.plane(), width, |cell| {
        let at = lattice.coordinates(cell);
        (0..3).all(|a| at[a] >= -1 && at[a] <= size[a] as i32)
    })
}
