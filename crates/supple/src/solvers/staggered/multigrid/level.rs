//! One lattice of the hierarchy with its fields in single precision: smoothing, residuals and transfers.

use std::ops::Range;
use std::time::{Duration, Instant};

use supple_core::parallel::prelude::*;

use crate::solvers::staggered::lattice::classes::{Class, Classes, spans_with_ring};
use crate::solvers::staggered::lattice::spans::Spans;
use crate::solvers::staggered::lattice::{Lattice, MARGIN, PRESSURE};
use crate::solvers::staggered::multigrid::boundary_smoother::Band;
use crate::solvers::staggered::multigrid::box_smoother::BoxSmoother;
use crate::solvers::staggered::multigrid::coarsest::Coarsest;
use crate::solvers::staggered::multigrid::discrepancy::discrepancy;
use crate::solvers::staggered::multigrid::hierarchy::LatticeCycleOptions;
use crate::solvers::staggered::multigrid::planes::{
    DistributeDisplacement, DistributePressure, Distribution, ResidualPlanes,
};
use crate::solvers::staggered::multigrid::transfer::{self, Extrapolation};
use crate::solvers::staggered::operator::kernels::KernelGrid;
use crate::solvers::staggered::operator::rows::{Coefficients, LatticeOperator, Row};
use crate::solvers::staggered::operator::stencils::{RowList, Stencils, apply_each};
use supple_core::simd::{Simd, dispatch};
use supple_linear::{Direction, Level};

/// Chunks of planes per pass, and the smallest number of cells that is worth a chunk.
const CHUNKS: usize = 16;
const CHUNK_CELLS: usize = 1 << 14;

/// A lattice with its equations `L u = b`.
#[derive(Debug)]
pub struct LatticeLevel {
    lattice: Lattice,
    fill: Option<Vec<f32>>,
    grid: KernelGrid,
    simd: Simd,
    chunk: usize,
    /// Unknowns; rows of an unbounded body; those smoothed by the uniform distribution; where that is relaxed.
    unknowns: [Spans; 4],
    uniform: [Spans; 4],
    distributive: [Spans; 4],
    relaxed: Option<Spans>,
    stencils: Stencils,
    /// Rows that are not uniform.
    rows: [RowList; 4],
    /// Unknowns outside the uniform distribution, as entries of the four fields.
    near: Vec<u32>,
    boundary: Band,
    /// All equations, if pressures are eliminated everywhere.
    everything: Option<Band>,
    /// Replaces the boundary's own smoother.
    boxes: Option<BoxSmoother>,
    /// Solves the coarsest lattice.
    coarsest: Option<Coarsest>,
    options: LatticeCycleOptions,
    /// What sweeps near the boundary have taken in cycles.
    pub(crate) boundary_time: Duration,
    before_restriction: Band,
    after_prolongation: Band,
    extrapolation: Extrapolation,
    pub(crate) u: Vec<f32>,
    pub(crate) b: Vec<f32>,
    r: Vec<f32>,
    scratch: Vec<f32>,
    buffer: Vec<f32>,
}

impl LatticeLevel {
    /// The equations of a lattice. Not augmented: Gauss-Seidel with eliminated pressures everywhere.
    pub fn new(
        lattice: Lattice,
        fill: Option<Vec<f32>>,
        coefficients: Coefficients,
        options: LatticeCycleOptions,
        coarser: Option<&Lattice>,
        simd: Simd,
    ) -> Self {
        let augmented = options.augmented;
        let operator = LatticeOperator { lattice: &lattice, fill: fill.as_deref(), coefficients };
        let classes = Classes::new(&operator, augmented);
        let mut stencils = Stencils::default();
        let spans =
            |chosen: fn(Class) -> bool| [0, 1, 2, 3].map(|field| classes.spans(&lattice, field, chosen));
        let mut rows = mixed_rows(&operator, &classes, &mut stencils);
        let boundary = Band::boundary(&operator, &classes, &mut stencils);
        let everything = (!augmented).then(|| {
            let all = |field: usize| classes.cells(field, |class| class != Class::None).collect();
            Band::new(&operator, &classes, &mut stencils, all)
        });
        let discrepancies = coarser.map(|coarser| {
            [true, false].map(|before| discrepancy(&operator, &classes, coarser, before, &mut stencils))
        });
        let [before_restriction, after_prolongation] = discrepancies.unwrap_or_default();
        let extrapolation = Extrapolation::new(&operator, &classes, &mut stencils);
        stencils.close();
        let len = lattice.len();
        let near = |class| matches!(class, Class::Restricted | Class::Eliminated);
        let near = (0..4).flat_map(|field| classes.cells(field, near).map(move |c| (field * len + c) as u32));
        let planes = lattice.dims()[2];
        let chunk = planes.div_ceil(CHUNKS).max(CHUNK_CELLS.div_ceil(lattice.plane()));
        rows.iter_mut().for_each(|rows| rows.group(chunk * lattice.plane()));
        Self {
            grid: KernelGrid::new(&lattice, coefficients),
            simd,
            chunk,
            unknowns: spans(|class| class != Class::None),
            uniform: spans(|class| matches!(class, Class::Distributive | Class::Restricted)),
            distributive: spans(|class| class == Class::Distributive),
            relaxed: lattice.is_periodic().then(|| spans_with_ring(&lattice)),
            stencils,
            rows,
            near: near.collect(),
            boundary,
            everything,
            boxes: None,
            coarsest: None,
            options,
            boundary_time: Duration::ZERO,
            before_restriction,
            after_prolongation,
            extrapolation,
            u: vec![0.0; 4 * len],
            b: vec![0.0; 4 * len],
            r: vec![0.0; 4 * len],
            scratch: vec![0.0; 3 * lattice.plane() * planes.div_ceil(chunk)],
            buffer: Vec::new(),
            lattice,
            fill,
        }
    }

    /// Whether a cell has an unknown that the uniform distribution does not smooth, since the boundary is near.
    pub fn is_near_boundary(&self, cell: usize) -> bool {
        let has =
            |field: usize| self.near.binary_search(&((field * self.lattice.len() + cell) as u32)).is_ok();
        (0..4).any(has)
    }

    /// The cells.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// The operator of this level.
    pub fn operator(&self) -> LatticeOperator<'_> {
        LatticeOperator {
            lattice: &self.lattice,
            fill: self.fill.as_deref(),
            coefficients: self.grid.coefficients,
        }
    }

    /// Unknowns of each field: displacements, then pressures.
    pub fn unknowns(&self) -> [usize; 4] {
        [0, 1, 2, 3].map(|field| self.unknowns[field].cells())
    }

    /// The entries of all unknowns in the four fields, in runs.
    pub fn unknown_runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let len = self.lattice.len();
        (0..4).flat_map(move |f| self.unknowns[f].iter().map(move |s| f * len + s.start..f * len + s.end))
    }

    /// Memory in bytes: of the fields, and of everything else.
    pub fn bytes(&self) -> (usize, usize) {
        let fields = 4 * (self.u.len() + self.b.len() + self.r.len() + self.scratch.len());
        let spans = self
            .unknowns
            .iter()
            .chain(&self.uniform)
            .chain(&self.distributive)
            .map(Spans::bytes)
            .sum::<usize>();
        let rows = self.rows.iter().map(RowList::bytes).sum::<usize>() + self.stencils.bytes();
        let bands = [&self.boundary, &self.before_restriction, &self.after_prolongation].map(Band::bytes);
        let rest =
            self.lattice.len() * (1 + 4 * usize::from(self.fill.is_some())) + self.extrapolation.bytes();
        let coarsest = self.coarsest.as_ref().map_or(0, Coarsest::bytes);
        (fields, spans + rows + rest + coarsest + bands.iter().sum::<usize>() + 4 * self.near.len())
    }

    /// One sweep over the equations inside: distributive, or Gauss-Seidel where pressures are eliminated.
    pub fn interior_sweep(&mut self) {
        let Self { everything, stencils, u, b, buffer, lattice, .. } = self;
        match everything {
            Some(everything) => everything.sweep(stencils, lattice.len(), u, b, buffer),
            None => (0..4).for_each(|field| self.distributive_sweep(field)),
        }
    }

    /// Smooths the boundary by boxes (section 5.2) from now on.
    pub fn smooth_by_boxes(&mut self) {
        self.boxes = Some(BoxSmoother::new(&self.operator()));
    }

    /// Solves this lattice, the coarsest, by a factor.
    pub(crate) fn solve_directly(&mut self) {
        self.coarsest = Some(Coarsest::new(&self.operator()));
    }

    /// One sweep over the equations near the boundary.
    pub fn boundary_sweep(&mut self) {
        let Self { boundary, boxes, stencils, u, b, buffer, lattice, .. } = self;
        match boxes {
            Some(boxes) => boxes.sweep(u, b),
            None => boundary.sweep(stencils, lattice.len(), u, b, buffer),
        }
    }

    /// The uniform distributive sweep of one field (section 4.2).
    pub fn distributive_sweep(&mut self, field: usize) {
        self.wrap_unknowns();
        let (len, plane) = (self.lattice.len(), self.lattice.plane());
        let (grid, u, simd) = (&self.grid, &self.u, self.simd);
        let right = &self.b[field * len..(field + 1) * len];
        let residuals = &mut self.r[field * len..(field + 1) * len];
        let spans = &self.distributive[field];
        residuals.par_chunks_mut(self.chunk * plane).enumerate().for_each(|(chunk, out)| {
            let planes = chunk * self.chunk..chunk * self.chunk + out.len() / plane;
            dispatch(simd, ResidualPlanes { grid, field, spans, planes, u, b: right, out });
        });
        wrap(&self.lattice, residuals);
        self.distribute(field);
    }

    fn distribute(&mut self, field: usize) {
        let (len, size) = (self.lattice.len(), self.chunk * self.lattice.plane());
        let plane = self.lattice.plane();
        let (grid, simd) = (&self.grid, self.simd);
        let residuals = &self.r[field * len..(field + 1) * len];
        let distribution = Distribution {
            grid,
            field,
            relaxed: self.relaxed.as_ref().unwrap_or(&self.distributive[field]),
            unknowns: &self.unknowns,
            residuals,
        };
        let (displacements, pressures) = self.u.split_at_mut(PRESSURE * len);
        let scratch = self.scratch.par_chunks_mut(3 * plane);
        let planes = |chunk: usize, out: &[f32]| chunk * self.chunk..chunk * self.chunk + out.len() / plane;
        if field == PRESSURE {
            let (x, rest) = displacements.split_at_mut(len);
            let (y, z) = rest.split_at_mut(len);
            let chunks = x.par_chunks_mut(size).zip(y.par_chunks_mut(size)).zip(z.par_chunks_mut(size));
            let chunks = chunks.zip(pressures.par_chunks_mut(size)).zip(scratch).enumerate();
            chunks.for_each(|(chunk, ((((x, y), z), p), scratch))| {
                let planes = planes(chunk, p);
                dispatch(
                    simd,
                    DistributePressure { of: &distribution, planes, fields: [x, y, z, p], scratch },
                );
            });
        } else {
            let own = &mut displacements[field * len..(field + 1) * len];
            let chunks =
                own.par_chunks_mut(size).zip(pressures.par_chunks_mut(size)).zip(scratch).enumerate();
            chunks.for_each(|(chunk, ((own, p), scratch))| {
                let planes = planes(chunk, p);
                dispatch(
                    simd,
                    DistributeDisplacement { of: &distribution, planes, own, pressure: p, scratch },
                );
            });
        }
    }

    /// Work near the boundary, timed.
    fn near_boundary(&mut self, work: impl FnOnce(&mut Self)) {
        let started = Instant::now();
        work(self);
        self.boundary_time += started.elapsed();
    }

    /// `out = b - L u` in double precision for any fields; entries without an equation are unchanged.
    pub fn residual_of<T: Copy + Into<f64> + Sync>(&self, u: &[T], b: &[f64], out: &mut [f64]) {
        self.residual_in(0..4, u, b, out);
    }

    /// The same for some of the fields' equations.
    pub fn residual_in<T: Copy + Into<f64> + Sync>(
        &self,
        fields: Range<usize>,
        u: &[T],
        b: &[f64],
        out: &mut [f64],
    ) {
        let (len, plane) = (self.lattice.len(), self.lattice.plane());
        let (grid, simd, stencils) = (&self.grid, self.simd, &self.stencils);
        for field in fields {
            let right = &b[field * len..(field + 1) * len];
            let (spans, rows) = (&self.uniform[field], &self.rows[field]);
            let out = &mut out[field * len..(field + 1) * len];
            out.par_chunks_mut(self.chunk * plane).enumerate().for_each(|(chunk, out)| {
                let planes = chunk * self.chunk..chunk * self.chunk + out.len() / plane;
                let first = planes.start * plane;
                let cells = first..planes.end * plane;
                dispatch(simd, ResidualPlanes { grid, field, spans, planes, u, b: right, out: &mut *out });
                for (kind, cells) in rows.within(cells) {
                    apply_each(stencils.wide_unknowns(kind), u, cells, |n, value: f64| {
                        let cell = cells[n] as usize;
                        out[cell - first] = right[cell] - value;
                    });
                }
            });
        }
    }

    pub(crate) fn wrap_unknowns(&mut self) {
        if self.lattice.is_periodic() {
            let len = self.lattice.len();
            self.u.chunks_mut(len).for_each(|field| wrap(&self.lattice, field));
        }
    }

    /// The residuals of the last call of `residual`, before restriction.
    pub fn residuals(&self) -> &[f32] {
        &self.r
    }
}

impl Level for LatticeLevel {
    fn cycle_index(&self) -> usize {
        self.options.cycle_index
    }

    /// One smoothing, the same before and after the coarser lattices: boundary sweeps, the interior sweep, boundary sweeps
    /// (section 5.2).
    fn smooth(&mut self, _direction: Direction) {
        let sweeps = self.options.boundary_sweeps;
        self.near_boundary(|level| (0..sweeps).for_each(|_| level.boundary_sweep()));
        self.interior_sweep();
        self.near_boundary(|level| (0..sweeps).for_each(|_| level.boundary_sweep()));
    }

    /// Sweeps where the coarser lattice differs.
    fn before_restriction(&mut self) {
        self.near_boundary(|level| {
            let Self { before_restriction, stencils, u, b, buffer, lattice, options, .. } = level;
            let sweep = |_| before_restriction.sweep(stencils, lattice.len(), u, b, buffer);
            (0..options.extra_sweeps).for_each(sweep);
        });
    }

    /// `r = b - L u`.
    fn residual(&mut self) {
        self.wrap_unknowns();
        let (len, plane) = (self.lattice.len(), self.lattice.plane());
        let (grid, u, simd, stencils) = (&self.grid, &self.u, self.simd, &self.stencils);
        for field in 0..4 {
            let right = &self.b[field * len..(field + 1) * len];
            let (spans, rows) = (&self.uniform[field], &self.rows[field]);
            let residuals = &mut self.r[field * len..(field + 1) * len];
            residuals.par_chunks_mut(self.chunk * plane).enumerate().for_each(|(chunk, out)| {
                let planes = chunk * self.chunk..chunk * self.chunk + out.len() / plane;
                let first = planes.start * plane;
                let cells = first..planes.end * plane;
                dispatch(simd, ResidualPlanes { grid, field, spans, planes, u, b: right, out: &mut *out });
                for (kind, cells) in rows.within(cells) {
                    apply_each(stencils.unknowns(kind), u, cells, |n, value: f32| {
                        let cell = cells[n] as usize;
                        out[cell - first] = right[cell] - value;
                    });
                }
            });
            wrap(&self.lattice, residuals);
        }
    }

    /// Sets the coarser level's right-hand side to the restricted residual, and its unknowns to zero.
    fn restrict(&mut self, coarser: &mut Self) {
        let (fine_len, len, plane) = (self.lattice.len(), coarser.lattice.len(), coarser.lattice.plane());
        let chunk = coarser.chunk;
        for field in 0..4 {
            let residuals = &self.r[field * fine_len..(field + 1) * fine_len];
            let (lattices, spans) = ((&self.lattice, &coarser.lattice), &coarser.unknowns[field]);
            let right = &mut coarser.b[field * len..(field + 1) * len];
            right.par_chunks_mut(chunk * plane).enumerate().for_each(|(number, out)| {
                let first = number * chunk * plane;
                for z in number * chunk..number * chunk + out.len() / plane {
                    for cells in spans.plane(z) {
                        let out = &mut out[cells.start - first..cells.end - first];
                        transfer::restrict(field, lattices, cells, residuals, out);
                    }
                }
            });
        }
        self.near.iter().for_each(|entry| self.r[*entry as usize] = 0.0);
        coarser.u.fill(0.0);
    }

    /// Adds the coarser level's correction.
    fn prolong_add(&mut self, coarser: &mut Self) {
        coarser.extrapolation.set(&coarser.stencils, &mut coarser.u);
        coarser.wrap_unknowns();
        let (len, coarse_len, plane) = (self.lattice.len(), coarser.lattice.len(), self.lattice.plane());
        let coarse_row = coarser.lattice.dims()[0];
        let chunk = self.chunk;
        for field in 0..4 {
            let corrections = &coarser.u[field * coarse_len..(field + 1) * coarse_len];
            let (lattices, spans) = ((&self.lattice, &coarser.lattice), &self.unknowns[field]);
            let own = &mut self.u[field * len..(field + 1) * len];
            let chunks =
                own.par_chunks_mut(chunk * plane).zip(self.scratch.par_chunks_mut(3 * plane)).enumerate();
            chunks.for_each(|(number, (out, scratch))| {
                let first = number * chunk * plane;
                let row = &mut scratch[..coarse_row];
                for z in number * chunk..number * chunk + out.len() / plane {
                    for cells in spans.plane(z) {
                        let out = &mut out[cells.start - first..cells.end - first];
                        transfer::prolong_add(field, lattices, cells, corrections, row, out);
                    }
                }
                row.fill(0.0);
            });
        }
        coarser.extrapolation.clear(&mut coarser.u);
    }

    /// Sweeps where the coarser lattice differs.
    fn after_prolongation(&mut self) {
        self.near_boundary(|level| {
            let Self { after_prolongation, stencils, u, b, buffer, lattice, options, .. } = level;
            let sweep = |_| after_prolongation.sweep(stencils, lattice.len(), u, b, buffer);
            (0..options.extra_sweeps).for_each(sweep);
        });
    }

    fn solve_coarsest(&mut self) {
        if let Some(coarsest) = &mut self.coarsest {
            coarsest.solve(&mut self.u, &self.b);
        }
    }
}

/// Fills the margin of a periodic field.
pub(crate) fn wrap<T: Copy>(lattice: &Lattice, field: &mut [T]) {
    if !lattice.is_periodic() {
        return;
    }
    let (dims, size, strides) = (lattice.dims(), lattice.size(), lattice.strides());
    for axis in 0..3 {
        let stride = strides[axis];
        let lines = (0..lattice.len()).filter(|c| c / stride % dims[axis] == 0).collect::<Vec<_>>();
        for line in lines {
            for layer in 0..MARGIN {
                field[line + layer * stride] = field[line + (layer + size[axis]) * stride];
                let far = MARGIN + size[axis] + layer;
                field[line + far * stride] = field[line + (far - size[axis]) * stride];
            }
        }
    }
}

/// The rows that are not uniform.
fn mixed_rows(operator: &LatticeOperator<'_>, classes: &Classes, stencils: &mut Stencils) -> [RowList; 4] {
    [0, 1, 2, 3].map(|field| {
        let mut list = RowList::default();
        for cell in classes.cells(field, |class| class == Class::Eliminated) {
            list.push(cell, stencils.insert(&operator.row(field, cell), &Row::default(), 1.0));
        }
        list
    })
}
