//! The lattices from fine to coarse, and the cycle over them (Zhu 2010, algorithm 1).

use std::sync::Arc;
use std::time::Duration;

use crate::solvers::staggered::lattice::runs::Runs;
use crate::solvers::staggered::lattice::{Cell, Lattice};
use crate::solvers::staggered::multigrid::level::LatticeLevel;
use crate::solvers::staggered::operator::rows::Coefficients;
use supple_core::simd::Simd;
use supple_linear::{CycleTimes, cycle};

/// How lattices are coarsened and smoothed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatticeCycleOptions {
    /// Sweeps over the boundary before and after every interior sweep.
    pub boundary_sweeps: usize,
    /// Additional ones where the coarser lattice differs from the finer, before restriction and after prolongation.
    pub extra_sweeps: usize,
    /// Visits of the coarser lattice in a cycle: 1 is a V-cycle, 2 a W-cycle.
    pub cycle_index: usize,
    /// Lattices with fewer cells than twice this along their shortest side are not coarsened.
    pub coarsest_size: usize,
    /// Whether stresses of coarse cells are weighted by the fill fraction of the cells.
    pub weigh_by_fill: bool,
    /// Whether boundaries are smoothed by boxes (section 5.2) instead of equation by equation.
    pub boxes: bool,
    /// Whether pressures are unknowns (section 4.1). Without them nearly incompressible bodies converge slowly.
    pub augmented: bool,
}

impl Default for LatticeCycleOptions {
    fn default() -> Self {
        Self {
            boundary_sweeps: 1,
            extra_sweeps: 1,
            cycle_index: 2,
            coarsest_size: 2,
            weigh_by_fill: true,
            boxes: false,
            augmented: true,
        }
    }
}

/// All lattices with the equations of one material and step.
#[derive(Debug)]
pub struct Hierarchy {
    levels: Vec<LatticeLevel>,
    runs: Arc<Runs>,
    /// Times of its cycles.
    pub times: CycleTimes,
}

impl Hierarchy {
    /// The hierarchy of a finest lattice.
    pub fn new(
        finest: Lattice,
        coefficients: Coefficients,
        options: LatticeCycleOptions,
        simd: Simd,
    ) -> Self {
        let mut lattices = vec![(finest, None)];
        while let Some((lattice, fill)) = lattices.last() {
            let Some(coarser) = coarsened(lattice, &options) else { break };
            let fill = options.weigh_by_fill.then(|| lattice.coarser_fill(fill.as_deref(), &coarser));
            lattices.push((coarser, fill.filter(|_| !lattice.is_periodic())));
        }
        let mut levels: Vec<LatticeLevel> = Vec::new();
        let mut coefficients = coefficients;
        let mut rest = lattices.into_iter().peekable();
        while let Some((lattice, fill)) = rest.next() {
            let next = rest.peek().map(|next| &next.0);
            levels.push(LatticeLevel::new(lattice, fill, coefficients, options, next, simd));
            coefficients = coefficients.coarser();
        }
        if options.boxes {
            levels.iter_mut().for_each(LatticeLevel::smooth_by_boxes);
        }
        if let Some(coarsest) = levels.last_mut() {
            coarsest.solve_directly();
        }
        let runs = Arc::new(Runs::new(levels[0].unknown_runs()));
        Self { levels, runs, times: CycleTimes::default() }
    }

    /// The lattices, finest first.
    pub fn levels(&self) -> &[LatticeLevel] {
        &self.levels
    }

    /// The finest lattice.
    pub fn finest(&self) -> &LatticeLevel {
        &self.levels[0]
    }

    /// The same, mutable.
    pub fn finest_mut(&mut self) -> &mut LatticeLevel {
        &mut self.levels[0]
    }

    /// The runs of unknowns of the finest lattice.
    pub(crate) fn runs(&self) -> Arc<Runs> {
        Arc::clone(&self.runs)
    }

    /// The right-hand side and the unknowns of the finest lattice, in single precision.
    pub fn fields(&mut self) -> (&mut [f32], &mut [f32]) {
        let level = &mut self.levels[0];
        (&mut level.b, &mut level.u)
    }

    /// `b` minus the operator's product with the finest unknowns, in double precision.
    pub(crate) fn finest_residual(&mut self, b: &[f64], out: &mut [f64]) {
        let level = &mut self.levels[0];
        level.wrap_unknowns();
        level.residual_of(&level.u, b, out);
    }

    /// One cycle from zero.
    pub fn cycle(&mut self) {
        self.levels[0].u.fill(0.0);
        cycle(&mut self.levels, &mut self.times);
    }

    /// The part of the smoothing that was near the boundary (figure 22).
    pub fn boundary_time(&self) -> Duration {
        self.levels.iter().map(|level| level.boundary_time).sum()
    }

    /// Counts times from here.
    pub fn reset_times(&mut self) {
        self.times = CycleTimes::default();
        self.levels.iter_mut().for_each(|level| level.boundary_time = Duration::ZERO);
    }

    /// Memory in bytes: of the fields, and of everything else.
    pub fn bytes(&self) -> (usize, usize) {
        let parts = self.levels.iter().map(LatticeLevel::bytes);
        parts.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }
}

/// The next coarser lattice, if it is worth having.
fn coarsened(lattice: &Lattice, options: &LatticeCycleOptions) -> Option<Lattice> {
    let size = lattice.size();
    if size.iter().any(|n| *n < 2 * options.coarsest_size) {
        return None;
    }
    if lattice.is_periodic() && size.iter().any(|n| n % 4 != 0) {
        return None;
    }
    let coarser = lattice.coarser();
    let cells = 0..coarser.len();
    let has_unknowns =
        (0..3).any(|f| cells.clone().any(|c| c >= coarser.plane() && coarser.is_unknown(f, c)));
    let stays = lattice.interior_cells() <= LARGEST_COARSEST && is_thin(&coarser);
    (has_unknowns && !stays).then_some(coarser)
}

/// Lattices with more interior cells are coarsened even if that makes them thin. A lattice whose limbs are one or two cells
/// thick is several times too soft, so that cycles over it diverge; a direct solve of as many cells takes as long as a
/// few sweeps over the hundred times as many of a finest lattice.
const LARGEST_COARSEST: usize = 8000;
/// The fraction of cells in thin places above which a lattice is thin.
const THIN: f64 = 0.02;

/// Whether much of a body is one or two cells thick: such places carry little of the load of the finer lattice, or nothing.
fn is_thin(lattice: &Lattice) -> bool {
    if lattice.is_periodic() {
        return false;
    }
    let (cells, strides) = (lattice.cells(), lattice.strides());
    let body = |cell: usize| cells[cell] != Cell::Exterior;
    let interior: Vec<usize> = (0..lattice.len()).filter(|c| cells[*c] == Cell::Interior).collect();
    // A run of three cells through this one, on either side or around it.
    let thick = |cell: usize, stride: usize| match [body(cell - stride), body(cell + stride)] {
        [true, true] => true,
        [true, false] => body(cell - 2 * stride),
        [false, true] => body(cell + 2 * stride),
        [false, false] => false,
    };
    let thin = interior.iter().filter(|c| !strides.iter().all(|s| thick(**c, *s))).count();
    thin as f64 > THIN * interior.len() as f64
}
