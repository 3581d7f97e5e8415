//! Passes of the uniform kernels over whole planes, compiled for several instruction sets: residuals, and the distribution of
//! relaxed fields (Zhu 2010, equation 6).

use std::ops::Range;

use crate::solvers::staggered::lattice::PRESSURE;
use crate::solvers::staggered::lattice::spans::Spans;
use crate::solvers::staggered::operator::kernels::{self, KernelGrid};
use supple_core::simd::Kernel;

/// Residuals of a field in some planes; `out` starts with the first plane.
pub(crate) struct ResidualPlanes<'a, I, A> {
    pub(crate) grid: &'a KernelGrid,
    pub(crate) field: usize,
    pub(crate) spans: &'a Spans,
    pub(crate) planes: Range<usize>,
    pub(crate) u: &'a [I],
    pub(crate) b: &'a [A],
    pub(crate) out: &'a mut [A],
}

impl<I: Copy + Into<A>, A: kernels::KernelReal> Kernel for ResidualPlanes<'_, I, A> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let first = self.planes.start * self.grid.strides[2];
        for z in self.planes {
            for cells in self.spans.plane(z) {
                let out = &mut self.out[cells.start - first..cells.end - first];
                kernels::residual(self.grid, self.field, cells.clone(), self.u, &self.b[cells], out);
            }
        }
    }
}

/// A relaxed field to be distributed.
pub(crate) struct Distribution<'a> {
    pub(crate) grid: &'a KernelGrid,
    pub(crate) field: usize,
    pub(crate) relaxed: &'a Spans,
    pub(crate) unknowns: &'a [Spans; 4],
    pub(crate) residuals: &'a [f32],
}

impl Distribution<'_> {
    /// Relaxes a plane; it must be zero before.
    #[inline(always)]
    fn relax(&self, z: usize, plane: &mut [f32]) {
        let first = z * self.grid.strides[2];
        for cells in self.relaxed.plane(z) {
            let out = &mut plane[cells.start - first..cells.end - first];
            kernels::relax(self.grid, self.field, cells, self.residuals, out);
        }
    }

    /// Clears a plane.
    #[inline(always)]
    fn clear(&self, z: usize, plane: &mut [f32]) {
        let first = z * self.grid.strides[2];
        self.relaxed.plane(z).for_each(|cells| plane[cells.start - first..cells.end - first].fill(0.0));
    }

    fn planes(&self) -> usize {
        self.residuals.len() / self.grid.strides[2]
    }
}

/// `phi_i += delta`, `p += D_i delta`.
pub(crate) struct DistributeDisplacement<'a> {
    pub(crate) of: &'a Distribution<'a>,
    pub(crate) planes: Range<usize>,
    pub(crate) own: &'a mut [f32],
    pub(crate) pressure: &'a mut [f32],
    pub(crate) scratch: &'a mut [f32],
}

impl Kernel for DistributeDisplacement<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { of, planes, own, pressure, scratch } = self;
        let plane = of.grid.strides[2];
        let (mut here, rest) = scratch.split_at_mut(plane);
        let mut above = &mut rest[..plane];
        let scale = (1.0 / of.grid.coefficients.spacing) as f32;
        let step = of.grid.strides[of.field];
        let vertical = of.field == 2;
        of.relax(planes.start, here);
        for z in planes.clone() {
            let next = z + 1;
            if vertical && next < of.planes() {
                of.relax(next, above);
            }
            let (field, chunk) = (z * plane, planes.start * plane);
            for cells in of.unknowns[of.field].plane(z) {
                let out = &mut own[cells.start - chunk..cells.end - chunk];
                kernels::add(out, &here[cells.start - field..]);
            }
            for cells in of.unknowns[PRESSURE].plane(z) {
                let at = cells.start - field;
                let upper = if vertical { &above[at..] } else { &here[at + step..] };
                let out = &mut pressure[cells.start - chunk..cells.end - chunk];
                kernels::add_difference(out, upper, &here[at..], scale);
            }
            of.clear(z, here);
            if vertical {
                std::mem::swap(&mut here, &mut above);
            } else if next < planes.end {
                of.relax(next, here);
            }
        }
        if vertical && planes.end < of.planes() {
            of.clear(planes.end, here);
        }
    }
}

/// `phi -= grad delta`, `p += -2 Laplacian(delta)`.
pub(crate) struct DistributePressure<'a> {
    pub(crate) of: &'a Distribution<'a>,
    pub(crate) planes: Range<usize>,
    pub(crate) fields: [&'a mut [f32]; 4],
    pub(crate) scratch: &'a mut [f32],
}

impl Kernel for DistributePressure<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { of, planes, mut fields, scratch } = self;
        let plane = of.grid.strides[2];
        let (mut below, rest) = scratch.split_at_mut(plane);
        let (mut here, mut above) = rest.split_at_mut(plane);
        if planes.start > 0 {
            of.relax(planes.start - 1, below);
        }
        of.relax(planes.start, here);
        for z in planes.clone() {
            if z + 1 < of.planes() {
                of.relax(z + 1, above);
            }
            distribute_plane(of, z, planes.start * plane, &mut fields, [below, here, above]);
            if z > 0 {
                of.clear(z - 1, below);
            }
            (below, here, above) = (here, above, below);
        }
        of.clear(planes.end - 1, below);
        if planes.end < of.planes() {
            of.clear(planes.end, here);
        }
    }
}

#[inline(always)]
fn distribute_plane(
    of: &Distribution<'_>,
    z: usize,
    chunk: usize,
    fields: &mut [&mut [f32]; 4],
    [below, here, above]: [&[f32]; 3],
) {
    let plane = of.grid.strides[2];
    let first = z * plane;
    let scale = (-1.0 / of.grid.coefficients.spacing) as f32;
    for axis in 0..3 {
        for cells in of.unknowns[axis].plane(z) {
            let at = cells.start - first;
            let lower = if axis == 2 { &below[at..] } else { &here[at - of.grid.strides[axis]..] };
            let out = &mut fields[axis][cells.start - chunk..cells.end - chunk];
            kernels::add_difference(out, &here[at..], lower, scale);
        }
    }
    for cells in of.unknowns[PRESSURE].plane(z) {
        let at = cells.start - first;
        let out = &mut fields[PRESSURE][cells.start - chunk..cells.end - chunk];
        kernels::add_distributed_pressure(of.grid, out, [&below[at..], &above[at..]], here, at);
    }
}
